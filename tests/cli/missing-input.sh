# A model asked without a column that it was trained to look at says which, and what that costs.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
awk 'BEGIN { srand(7); print "time,river,rain,dice"
    for (i = 0; i < 1500; i++) { r[i] = .9 * r[i - 1] + rand() - .5
        printf "%d,%.3f,%.3f,%.3f\n", 1704067200 + 3600 * i, (i > 5 ? r[i - 5] : 0) + .05 * rand(), r[i], rand() } }' >river.csv
llapdiff train river.csv -t river -c 2d --horizon 6h -o m.st -q \
    --training '{"anchor": {"steps": 20}, "stack": {"rows": 2000, "seeds": 1, "steps": 150, "batch": 128}}' >about
sed -n 's/^\(  CRPS is higher, at most, without .rain.\) .*/\1/p' about
asked() { cut -d, -f$1 river.csv >less.csv && llapdiff forecast m.st less.csv -q -o next.csv; }
asked 1-2,4 2>&1 | grep -oE "does not have: 'rain' \(in training CRPS was up to [0-9]{2,}"
asked 1-3 2>&1 | grep -oE "does not have: 'dice' \(([a-z ]*CRPS was up to [0-9.]{1,3} |it gained nothing)" | sed 's/in training.*/less than ten per cent/; s/it gained.*/less than ten per cent/'
llapdiff info m.st --json | grep -oE '"cost": ?\[[^]]*\]' | awk -F, '{ print NF }'
# One series is one series, whatever it is called.
llapdiff evaluate m.st river.csv -q -n 20 --bootstrap 0 >about && echo scored
