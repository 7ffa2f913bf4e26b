# Static inputs, as docs/user.md has them: shops whose sales go by their kind, and one that opens.
awk 'BEGIN { srand(3); split("kiosk,shop,market,centre", k, ","); m[1] = 2; m[2] = 8; m[3] = 32; m[4] = 128
    print "entity,time,kind,sales"; print "entity,kind,area" >"shops.csv"
    for (e = 0; e < 24; e++) { j = 1 + e % 4; l = m[j] * exp((rand() - .5) / 5); x = 0
        printf "s%02d,%s,%d\n", e, k[j], 50 + 10 * j >"shops.csv"
        for (i = 0; i < 120; i++) { x = .7 * x + (rand() - .5) / 2
            printf "s%02d,%d,%s,%.3f\n", e, 1704067200 + 86400 * i, k[j], l * exp(x) } } }' >sales.csv
printf 'entity,time,kind,sales\nnew,1714435200,market,\nodd,1714435200,stall,\n' >new.csv
# a file, or columns of the data
llapdiff train sales.csv --target sales --static shops.csv --context 14d --horizon 7d --size anchor -o shops.safetensors -q |
    grep -oE "static inputs: level of new entities; variance of the log level of one left out 0.0[0-9]"
llapdiff info shops.safetensors --json | grep -oE '"static": \["kind", ?"area"\]'
llapdiff train sales.csv --target sales --static kind --context 14d --horizon 7d --size anchor -o kinds.safetensors -q >info.txt
llapdiff forecast kinds.safetensors new.csv --at 2024-04-30 --step 1d --horizon 1d --quantiles 0.5 -o next.csv
awk -F, 'NR > 1 { print $1, ($5 > 20 && $5 < 50) ? "a market" : "unknown" }' next.csv
printf 'entity,kind,area\nnew,centre,90\nodd,centre,90\n' >more.csv
llapdiff forecast shops.safetensors new.csv --static more.csv --at 2024-04-30 --step 1d --horizon 1d --quantiles 0.5 -q |
    awk -F, 'NR > 1 { print $1, ($5 > 80 && $5 < 200) ? "a centre" : "unknown" }'
llapdiff impute kinds.safetensors new.csv --quantiles 0.5 -q | awk -F, 'NR == 2 { print $1, ($NF > 20 && $NF < 50) ? "a market" : "unknown" }'
# entities that are left for testing
llapdiff train sales.csv --target sales --static shops.csv --split entity --context 3d --horizon 7d --size anchor -o apart.safetensors -q |
    grep -o "static inputs: level of every entity"
llapdiff evaluate apart.safetensors sales.csv --bootstrap 0 --json -q | grep -oE '"values": ?[0-9]+' | head -1
# mistakes
printf 'entity,kind\ns00,shop\ns01,shop\ns00,kiosk\n' >twice.csv
for s in twice.csv kin sales none.csv; do
    llapdiff train sales.csv --target sales --static $s --context 14d --horizon 7d --size anchor -o no.safetensors -q 2>&1 >/dev/null |
        grep -v '^warning: column'
done
llapdiff forecast kinds.safetensors new.csv --static kind
echo $?
llapdiff forecast kinds.safetensors new.csv --with kinds.safetensors -q
echo $?
sed 's/,/\t/g' shops.csv >shops.tsv
llapdiff train sales.csv --target sales --static shops.tsv --context 14d --horizon 7d --size anchor -o tabs.safetensors -q | grep -c "static inputs: level"
# a number that stands for a missing one is a word, not a level
sed '2s/,60$/,1.7e308/' shops.csv >huge.csv
llapdiff train sales.csv --target sales --static huge.csv --context 14d --horizon 7d --size anchor -o huge.safetensors -q | grep -c "static inputs: level"
llapdiff info huge.safetensors | grep -c "static inputs: level"
