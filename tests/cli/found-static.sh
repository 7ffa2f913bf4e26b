# Columns that never change within an entity are static inputs by themselves: used where they help, and said.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
awk 'BEGIN { srand(3); split("kiosk,shop,market,centre", k, ","); m[1] = 2; m[2] = 8; m[3] = 32; m[4] = 128
    print "entity,time,kind,area,manager,sales"
    for (e = 0; e < 24; e++) { j = 1 + e % 4; l = m[j] * exp((rand() - .5) / 5); x = 0
        for (i = 0; i < 120; i++) { x = .7 * x + (rand() - .5) / 2
            printf "s%02d,%d,%s,%d,m%02d,%.3f\n", e, 1704067200 + 86400 * i, k[j], 50 + 10 * j, e, l * exp(x) } } }' >sales.csv
awk -F, 'BEGIN { srand(5) } NR > 1 && !($1 in l) { l[$1] = 1 + int(9 * rand()) } { print $1 "," $2 "," (NR == 1 ? "lot" : l[$1]) "," $6 }' sales.csv >idle.csv
printf 'entity,time,kind,area,sales\nnew,1714435200,market,80,\n' >new.csv
quick='--context 14d --horizon 7d --size anchor'
llapdiff train sales.csv $quick -o found.st 2>&1 >info.txt | grep -E 'static|not forecast'
grep -c 'static inputs: level of new entities' info.txt
llapdiff info found.st --json | grep -oE '"static": \["area", ?"kind"\]'
asked() { llapdiff forecast $1 new.csv --at 2024-04-30 --step 1d --horizon 1d --quantiles 0.5 -q 2>&1 | awk -F, '/^new/ { print ($5 > 20 && $5 < 50) ? "a market" : "unknown" }'; }
asked found.st
# not where the user says so, not of few entities, and not where they tell nothing
llapdiff train sales.csv $quick --static none -o none.st 2>&1 | grep -c 'static inputs'
llapdiff train idle.csv $quick -o idle.st 2>&1 | grep -oE 'static inputs, found in the data: lot|not used: they do not tell the level'
awk -F, 'NR == 1 || $1 < "s06"' sales.csv >few.csv
llapdiff train few.csv $quick -o few.st 2>&1 | grep -c 'static inputs'
# a target is not its own input
llapdiff train sales.csv $quick -t area,sales -o both.st 2>&1 | grep -oE 'found in the data: [^;]*'
true
