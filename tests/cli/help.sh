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
