# Known inputs, as docs/user.md has them: demand that goes by the temperature, which is forecast for a day more.
awk 'BEGIN { srand(3); for (i = 0; i < 1524; i++) { w = .95 * w + rand() - .5; e = .9 * e + (rand() - .5) / 4
    printf "%s%d,%s,%.2f", i == 0 ? "time,demand,temperature\n" : "", 1704067200 + 3600 * i, i < 1500 ? sprintf("%.2f", 50 - 2 * w + e) : "", 10 + w
    print "" } }' >demand.csv
llapdiff train demand.csv --target demand --known temperature --context 4d --horizon 24h --size anchor -o demand.safetensors -q |
    grep -o "known inputs: temperature"
llapdiff forecast demand.safetensors demand.csv --quantiles 0.5 -o next.csv
sed -n '1p;2s/,demand.*/,demand/p' next.csv
wc -l <next.csv
cut -d, -f1,2 demand.csv >lacking.csv
llapdiff forecast demand.safetensors lacking.csv
echo $?
head -1501 demand.csv >short.csv
llapdiff forecast demand.safetensors short.csv -o short-next.csv
llapdiff train demand.csv --target demand --known demand --context 4d --horizon 24h -o no.safetensors
echo $?
llapdiff train demand.csv --target demand --known temperatur --context 4d --horizon 24h -o no.safetensors
echo $?
# A glitch among known values counts as missing.
mkdir glitch
awk -F, -v OFS=, 'NR == 1471 { $3 = 65535 } { print }' demand.csv >glitch/demand.csv
llapdiff forecast demand.safetensors glitch/demand.csv --quantiles 0.5 -q | awk -F, 'NR > 1 && ($4 < 35 || $4 > 65)'
# Rows of known inputs alone are no gaps: 24 of them stand behind the last reading.
awk -F, -v OFS=, 'NR == 1400 { $2 = "" } { print }' demand.csv >gap.csv
llapdiff impute demand.safetensors gap.csv -q | cut -d, -f3,4
# Single far readings are no other unit.
awk -F, -v OFS=, 'NR == 700 || NR == 900 { $2 = 65535 } { print }' demand.csv >far.csv
llapdiff forecast demand.safetensors far.csv -q 2>&1 >/dev/null | grep -c "another unit"
# Periods and known inputs are tried in one training.
awk 'BEGIN { srand(5); print "time,y,x"; for (i = 0; i < 900; i++) { w = .9 * w + rand() - .5
    printf "%d,%.3f,%.3f\n", i, sin(i * 6.2832 / 11.3) + w + (rand() - .5) / 5, w } }' >numbers.csv
llapdiff train numbers.csv --target y --known x --context 60 --horizon 12 --size anchor -o numbers.safetensors -q |
    grep -oE "known inputs: x|11\.3"
