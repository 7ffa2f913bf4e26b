# Readings that cannot be are said when training starts, with their number and places.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
awk 'BEGIN { print "time,v"
    for (i = 0; i < 400; i++) printf "2024-01-%02dT%02d:00Z,%s\n", 1 + i / 24, i % 24, i == 50 || i == 90 ? 65535 : i == 120 ? "1e10" : i == 200 ? -500 : sprintf("%.2f", 20 + 3 * sin(i / 4) + (i * 7 % 11) / 20) }' >data.csv
quick='-c 24 --horizon 6 --size anchor --training {"anchor":{"steps":5}} -q'
llapdiff train data.csv $quick -o m.st 2>&1 >about | grep -v seed
llapdiff train data.csv $quick -o k.st --glitches keep 2>&1 >about | grep -v seed
llapdiff train data.csv $quick -o k.st --glitches maybe
sed 's/,65535$/,20/; s/,1e10$/,20/; s/,-500$/,20/' data.csv >clean.csv
llapdiff train clean.csv $quick -o c.st 2>&1 >about | grep -v seed
cmp -s m.st k.st || echo other
true
