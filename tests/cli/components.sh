# What a forecast is made of: demand that goes by the temperature and by the day, in numbers and drawn.
awk 'BEGIN { srand(3); for (i = 0; i < 1524; i++) { w = .95 * w + rand() - .5; e = .9 * e + (rand() - .5) / 4
    printf "%s%d,%s,%.2f", i == 0 ? "time,demand,temperature\n" : "", 1704067200 + 3600 * i, i < 1500 ? sprintf("%.2f", 3 * sin(i / 24 * 6.2832) - 2 * w + e) : "", 10 + w
    print "" } }' >demand.csv
llapdiff train demand.csv --target demand --known temperature --context 4d --horizon 24h --size anchor --transform none --training '{"anchor": {"steps": 60, "rows": 24}}' -o demand.safetensors -q >log.txt
llapdiff forecast demand.safetensors demand.csv --quantiles 0.5 -q -o next.csv --components parts.csv
sed -n '1p' parts.csv
sed -n '2s/,data,.*/,data/p;$s/,data,.*/,data/p' parts.csv
wc -l <parts.csv
# They add up, and the sum of the hours ahead is the mean that is forecast.
awk -F, 'NR > 1 { sum = 0; for (i = 8; i <= NF; i++) sum += $i; d = sum - $7; if (d < 0) d = -d; if (d > 1e-4) print "row", NR, sum, $7 }' parts.csv
awk -F, 'NR == FNR { if (FNR > 1) mean[$2] = $4; next } FNR > 1 && $3 > $2 { n++; d = mean[$3] - $7; if (d < 0) d = -d; if (d > 1e-4) print $3, mean[$3], $7 } END { print n, "hours ahead" }' next.csv parts.csv
# A degree more is 2 less of demand.
awk -F, 'NR == FNR { if (FNR > 1) t[$1] = $3; next } FNR == 1 { for (i = 8; i <= NF; i++) if ($i == "temperature") c = i; next }
    { n++; x = t[$3]; y = $c; sx += x; sy += y; sxx += x * x; sxy += x * y } END { b = (n * sxy - sx * sy) / (n * sxx - sx * sx); print (b < -1.8 && b > -2.2 ? "slope is right" : b) }' demand.csv parts.csv
llapdiff forecast demand.safetensors demand.csv -q -o next.csv --components parts.svg
grep -oE "^(What the forecast is made of|level|daily|temperature|rest|measured and sum, in units of the data)$" parts.svg
llapdiff forecast demand.safetensors demand.csv -q -o next.csv --components parts.txt
echo $?
llapdiff forecast demand.safetensors demand.csv -q -o next.csv --components next.csv
echo $?
llapdiff forecast demand.safetensors demand.csv -q -o next.csv --components demand.csv
echo $?
llapdiff forecast demand.safetensors demand.csv -q --with demand.safetensors -o next.csv --components parts.csv
echo $?
llapdiff forecast demand.safetensors demand.csv -q --total -o next.csv --components parts.csv
echo $?
