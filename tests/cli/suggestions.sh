# What inspect suggests is what train accepts, on this very file; what train refuses comes with what works.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
hours() { awk -v n=$1 'BEGIN { print "time,v"
    for (i = 0; i < n; i++) printf "2024-%02d-%02dT%02d:00Z,%.2f\n", 1 + i / 672, 1 + i / 24 % 28, i % 24, 20 + 3 * sin(i / 4) + (i * 7 % 11) / 20 }'; }
quick='--size anchor --training {"anchor":{"steps":2}} -q'
for n in 12 20 40 60 100 200 500 1500; do
    hours $n >data.csv
    try=$(llapdiff inspect data.csv -q | sed -n 's/^try: llapdiff train DATA \(.*\) -o MODEL$/\1/p')
    llapdiff train data.csv $try $quick -o m.st >about 2>err && echo "$n: $try: trained" || { echo "$n: $try: refused"; cat err; }
done
awk 'BEGIN { print "entity,time,v"; for (e = 0; e < 10; e++) for (i = 0; i < 90; i++) printf "e%d,%d,%.2f\n", e, e * 1000 + i, sin(i / 5) + i % 3 }' >apart.csv
llapdiff inspect apart.csv -q | grep -E '^try|overlap'
llapdiff train apart.csv $(llapdiff inspect apart.csv -q | sed -n 's/^try: llapdiff train DATA \(.*\) -o MODEL$/\1/p') $quick -o m.st >about && echo trained
hours 100 >data.csv
llapdiff train data.csv -c 24 --horizon 24 $quick -o m.st
llapdiff train data.csv --context 18h --horizon 9h $quick -o m.st
awk 'BEGIN { print "entity,time,v"; for (e = 0; e < 5; e++) for (i = 0; i < 60; i++) printf "e%d,%d,%.2f\n", e, i, sin(i / 5) + i % 3 }' >many.csv
llapdiff train many.csv -c 10 --horizon 10 $quick -o m.st
true
