# Scenarios: demand that goes by the temperature, for a cold day and a warm one to come.
awk 'BEGIN { srand(3); for (i = 0; i < 1500; i++) { w = .95 * w + rand() - .5; e = .9 * e + (rand() - .5) / 4
    printf "%s%d,%.2f,%.2f\n", i == 0 ? "time,demand,temperature\n" : "", 1704067200 + 3600 * i, 3 * sin(i / 24 * 6.2832) - 2 * w + e, 10 + w } }' >demand.csv
for t in 8 12; do awk -v t=$t 'BEGIN { print "time,temperature"; for (i = 1498; i < 1524; i++) printf "%d,%d\n", 1704067200 + 3600 * i, t }' >to$t.csv; done
mv to8.csv cold.csv
mv to12.csv warm.csv
llapdiff train demand.csv --target demand --known temperature --context 4d --horizon 24h --size anchor --transform none --training '{"anchor": {"steps": 60, "rows": 24}}' -o m -q >log.txt
llapdiff forecast m demand.csv --scenario cold=cold.csv --scenario warm=warm.csv --quantiles 0.1,0.5,0.9 -o next.csv -q
head -1 next.csv
cut -d, -f1 next.csv | uniq -c | awk 'NR > 1 { print $2, $1 }'
# Four degrees less are eight of demand more, at every hour and quantile.
awk -F, '$1 == "cold" { for (i = 5; i <= NF; i++) cold[$3, i] = $i } $1 == "warm" { for (i = 5; i <= NF; i++) { d = cold[$3, i] - $i; n++; if (d < 7 || d > 9) print $3, i, d } } END { print n, "differences" }' next.csv
# The same draws: paths of the two differ by the effect alone.
llapdiff forecast m demand.csv --scenario cold=cold.csv,warm=warm.csv --keep-samples -n 20 -q -o paths.csv
awk -F, '$1 == "cold" { cold[$3, $5] = $6 } $1 == "warm" { d = cold[$3, $5] - $6; if (!($3 in first)) first[$3] = d; e = d - first[$3]; if (e < 0) e = -e; if (e > 1e-4) print $3, $5, d, first[$3] }' paths.csv
# Totals, JSON, a picture, and the picture of what was saved.
llapdiff forecast m demand.csv --scenario cold.csv --scenario warm.csv --total -n 50 -q --quantiles 0.5 | cut -d, -f1-4
llapdiff forecast m demand.csv --scenario cold.csv --horizon 1 --quantiles 0.5 -q --json | grep scenario
llapdiff forecast m demand.csv --scenario cold=cold.csv,warm=warm.csv -q -o next.csv --plot next.svg
grep -oE "^(cold|warm|median, and 95 % between thin lines)$" next.svg
llapdiff plot next.csv demand.csv -o again.svg -q
grep -oE "^(cold|warm)$" again.svg
# Columns that are no known input, and rows that not all scenarios have.
awk -F, -v OFS=, 'NR == 1 { print $0, "demand" } NR > 1 { print $0, 1 }' cold.csv >more.csv
llapdiff forecast m demand.csv --scenario cold=more.csv -o more.out
sed '$d' next.csv >cut.csv
llapdiff plot cut.csv demand.csv -o cut.svg -q
echo $?
# Mistakes.
try() { llapdiff forecast m demand.csv -q "$@" >/dev/null; echo $?; }
try --scenario cold=none.csv
try --scenario =cold.csv
try --scenario cold=cold.csv,cold=warm.csv
sed 's/temperature/price/' cold.csv >price.csv
try --scenario price=price.csv
head -3 cold.csv >past.csv
try --scenario past=past.csv
sed '5s/8$/abc/' cold.csv >word.csv
try --scenario word=word.csv
head -10 cold.csv >short.csv
try --scenario short=short.csv
try --scenario cold=cold.csv --every 1d
try --scenario cold=cold.csv --components parts.csv
try --scenario cold=cold.csv -o cold.csv
llapdiff train demand.csv --target demand --context 4d --horizon 24h --size anchor --transform none --training '{"anchor": {"steps": 60, "rows": 24}}' -o plain -q >log.txt
llapdiff forecast plain demand.csv --scenario cold=cold.csv -q
echo $?
