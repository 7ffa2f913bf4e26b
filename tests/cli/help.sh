# Every command has help with an example and a manual page; both come from the tables.
llapdiff help | sed -n 's/^  \([a-z]*\)  *.*/\1/p' | while read -r c; do
    llapdiff $c --help >h || echo "$c: no help"
    llapdiff help $c | diff - h
    grep -q '^example:' h || echo "$c: no example"
    llapdiff help --man $c | grep -q '^.SH EXAMPLE' || echo "$c: no manual page"
done
llapdiff help --completion bash >c.bash && bash -n c.bash && echo "bash completion parses"
llapdiff help --completion bash | grep -c 'version)'
llapdiff help --completion zsh | head -1
# Help shows a few options of reading, --help-reading all of them; together they are those of the manual page.
names() { sed -n 's/^  *\(-[a-z], \)*\(--[a-z-]*\).*/\2/p' "$@" | sort -u; }
for c in inspect train forecast impute evaluate poles plot; do
    llapdiff $c --help >h
    llapdiff $c --help-reading >r
    names h r >shown
    llapdiff help --man $c | sed -n 's/.*\\-\\-\([a-z\\-]*\)\\fR.*/--\1/p' | sed 's/\\-/-/g;s/\\$//' | sort -u | diff - shown || echo "$c: not all options are shown"
    [ "$(names r | grep -c .)" -gt 30 ] || echo "$c: few options of reading"
    grep -q '^ *--separator' h && echo "$c: --separator among the common ones"
    grep -q '^ *--separator' r || echo "$c: --separator is not shown"
done
llapdiff train --help | sed -n 's/^  .*\(--[a-z]*\) .*/\1/p' | head -4 | tr '\n' ' '
echo
llapdiff info --help-reading | tail -1
llapdiff info --help | grep -c help-reading
true
