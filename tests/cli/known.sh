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
