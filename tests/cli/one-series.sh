# What the only series is called makes no difference; names that are not there come with those that are.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
awk 'BEGIN { print "time,v,w"
    for (i = 0; i < 400; i++) printf "2024-01-%02dT%02d:00Z,%.2f,%d\n", 1 + i / 24, i % 24, 20 + 3 * sin(i / 4) + (i * 7 % 11) / 20, i % 7 }' >one.csv
cp one.csv other.csv
quick='-c 24 --horizon 6 --training {"anchor":{"steps":5}} -q'
llapdiff train one.csv $quick -t v --size anchor -o m.st >about
llapdiff forecast m.st one.csv -q >a.csv
llapdiff forecast m.st other.csv -q >b.csv
sed 's/^other,/one,/' b.csv | cmp - a.csv && echo same
llapdiff evaluate m.st other.csv -q --bootstrap 0 | grep -c '^ *model'
llapdiff impute m.st other.csv -q --all | sed -n 2p | cut -d, -f1,2
# several series are still told apart
(sed 's/^/a,/; 1s/^a,/entity,/' one.csv; sed '1d; s/^/b,/' one.csv) >two.csv
llapdiff forecast m.st two.csv -q 2>&1 >about | cut -c 1-60
# names
llapdiff train one.csv $quick -t zebra --size anchor -o x
llapdiff train one.csv $quick --known vv --size anchor -o x
llapdiff poles m.st -t w
# an input that networks were trained with
llapdiff train one.csv $quick -t v --size tiny --steps 2 -o n.st >about
cut -d, -f1,2 one.csv >less.csv
llapdiff forecast n.st less.csv -q 2>&1 >about
# rows that hold known inputs alone: the forecast begins behind the last observed target
llapdiff train one.csv $quick -t v --known w --size anchor -o k.st >about
awk -F, 'BEGIN { OFS = "," } NR > 395 { $2 = "" } { print }' one.csv >plan.csv
llapdiff forecast k.st plan.csv -q | sed -n 2p | cut -d, -f1,2
true
