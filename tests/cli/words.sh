# Words become coded inputs where they are few; neither they nor what belongs to an entity is forecast unless named.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
awk 'BEGIN { print "patient,time,sex,age,pulse,note"
    for (p = 0; p < 4; p++) for (i = 0; i < 200; i++)
        printf "p%d,2024-01-%02dT%02d:00Z,%s,%d,%.2f,n%d\n", p, 1 + i / 24, i % 24, p % 2 ? "M" : "F", 30 + 7 * p, 60 + p + 5 * sin(i / 4) + (i * 7 % 11) / 20, i * 13 % 97 }' >data.csv
llapdiff inspect data.csv 2>&1 | grep -E '^(time|warning)|^  (sex|age|pulse|note) ' | cut -c 1-150
quick='-c 24 --horizon 6 --size anchor --training {"anchor":{"steps":5}}'
llapdiff train data.csv $quick -o m.st 2>&1 | grep -E 'not forecast|^target'
llapdiff info m.st --json | grep -c '"name": "pulse"'
llapdiff train data.csv $quick -t age -o a.st -q >about && echo asked
llapdiff train data.csv $quick --static sex -o s.st -q | grep -i static
llapdiff train data.csv $quick --columns sex,age -o x -q
llapdiff inspect data.csv -q --words ignore | grep -cE '^  (sex|note) '
llapdiff inspect data.csv -q --words code | grep -cE '^  (sex|note) '
# codes are those of training, whatever words a later file has
awk -F, 'NR == 1 || $3 == "M"' data.csv >men.csv
sed 's/,F,/,D,/' data.csv >other.csv
llapdiff forecast m.st men.csv 2>&1 >next.csv | grep -o 'words as codes: [^;]*'
llapdiff forecast m.st other.csv 2>&1 >next.csv | grep 'not seen'
true
