# No command: the overview, and exit code 2. As `help`: the same text, exit code 0.
llapdiff
echo "exit $?"
llapdiff help >help.txt
llapdiff | diff - help.txt && echo same
llapdiff --help | diff - help.txt && echo same
