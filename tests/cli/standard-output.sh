# Standard output that is a file keeps what others write to it, before and after.
{
    echo before
    llapdiff synth --entities 1 --variables 1 --rows 3 | head -1
    llapdiff synth --entities 1 --variables 1 --rows 3
    echo after
} >all
sed -n '1,3p;$p' all
echo first >more
llapdiff synth --entities 1 --variables 1 --rows 3 >>more
head -2 more
llapdiff synth --entities 1 --variables 1 --rows 3 >&-
echo "exit $?"
