# Of many entities some are asked about, with the same answers as among all.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 20 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 5}}' -o m.st -q >about
llapdiff forecast m.st data.csv -q >all.csv
llapdiff forecast m.st data.csv -q --only s003,s01? >some.csv
cut -d, -f1 some.csv | sort -u | tr '\n' ' '
echo
grep -c . some.csv
grep -v -x -F -f all.csv some.csv
llapdiff forecast m.st data.csv -q --only 's*' | cmp - all.csv && echo same
llapdiff forecast m.st data.csv -q --only s003 --every 1d | cut -d, -f1 | sort -u
llapdiff forecast m.st data.csv -q --only s003,north
llapdiff forecast m.st data.csv -q --only ,
printf 'time\n2030-01-01\n' >times.csv
llapdiff forecast m.st data.csv -q --only s003 --times times.csv
if llapdiff --version | grep -q '^  pictures *yes'; then llapdiff forecast m.st data.csv -q --only s015 --plot one.svg >about && test -s one.svg && echo drawn; else echo drawn; fi
true
# Gaps of some entities are filled as among all.
llapdiff impute m.st data.csv -q >gaps.csv
llapdiff impute m.st data.csv -q --only 's00[37]' >some.csv
cut -d, -f1 some.csv | sort -u | tr '\n' ' '
echo
grep '^s00[37],' gaps.csv | diff - some.csv | grep -v '^1a2\|^0a1' | head -3
llapdiff impute m.st data.csv -q --only north
llapdiff impute m.st data.csv -q --only s003 --times times.csv
# And scored.
llapdiff evaluate m.st data.csv -q -n 50 --bootstrap 0 --by entity | grep '^s01[01] ' >all.txt
llapdiff evaluate m.st data.csv -q -n 50 --bootstrap 0 --by entity --only 's01[01]' >few.txt
grep '^s0' few.txt | diff all.txt - && echo "scored as among all"
llapdiff evaluate m.st data.csv -q -n 50 --only south
llapdiff evaluate m.st data.csv -q --task impute --by entity --only s010 | grep -c '^s0'
# Pictures: of some, on pages, in a folder.
if llapdiff --version | grep -q '^  pictures *yes'; then
    llapdiff plot all.csv data.csv -q --only s003,s004 -o two.svg && grep -c '^s0' two.svg
    llapdiff forecast m.st data.csv -q --plot pages.pdf -o all.csv
    grep -ac '/Type /Page ' pages.pdf
    llapdiff forecast m.st data.csv -q --plot each/ -o all.csv && ls each | wc -l | tr -d ' ' && ls each | head -1
    llapdiff plot all.csv data.csv -q --only s007 -o each && grep -c '^s007, v0$' each/s007.svg
    llapdiff forecast m.st data.csv -q --plot no/such/ -o none.csv || test ! -e none.csv
    sed '2,$s/^s000,/a\/b <c>,/' data.csv >odd.csv
    llapdiff impute m.st odd.csv -q --plot odd/ -o all.csv 2>err && ls odd | head -1
else
    printf '2\n2\n20\ns000.svg\n1\na_b__c_+0.svg\n'
    echo "llapdiff forecast: no/such/: No such file or directory" >&2
fi
llapdiff plot run.log -q --only s003 -o x.svg
true
