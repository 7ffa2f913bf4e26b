# Sums scored as forecast --total answers them: three series with noise in common, some rows missing.
awk 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
     function g() { return sqrt(-2 * log(u())) * cos(6.283185307 * u()) }
     BEGIN { s = 7; print "entity,time,x"
         for (i = 0; i < 1500; i++) { c = g(); for (e = 0; e < 3; e++) { x[e] = .9 * x[e] + .85 * c + .5 * g()
             if (!(e == 1 && i % 97 == 5)) printf "s%d,%d,%.3f\n", e, 1704067200 + 3600 * i, 5 * e + x[e] } } }' >joint.csv
llapdiff train joint.csv -t x -c 2d --horizon 6 --size anchor --transform none --training '{"anchor": {"steps": 60, "rows": 24}}' -o m -q >log.txt
for total in horizon entities both; do
    llapdiff evaluate m joint.csv --stride 7 --total $total --keep $total.csv -q >$total.txt
    grep -oE "^x: [0-9]+ test sums of [0-9]+ windows|^sums over.*|PIT, chi-square of one value a horizon" $total.txt
    # With draws that belong together intervals hold what they say; with independent ones they do not.
    awk '$1 == "model" { m = $6; c = $2 } $1 == "independent" { print (m > 70 && m < 90), ($6 < 65), (c < $2) }' $total.txt
    # The same sums as forecast answers them, where no row is missing that forecast asks about.
    llapdiff forecast m joint.csv -q --every 7h --at "$(sed -n 2p $total.csv | cut -d, -f2)" --total $total -o asked.csv 2>err.txt
    awk -F, -v at=$total 'NR == FNR { if (FNR > 1 && $5 != "") mean[$1, $2, $3] = $6; rows[$1, $2]++; next } FNR > 1 && ($1, $2, $3) in mean && (at != "entities" || rows[$1, $2] == 6) { n++; d = mean[$1, $2, $3] - $5; if (d < 0) d = -d; if (d > 1e-4) off++ }
        END { print at, (n > 0 ? "compared" : "nothing to compare"), off + 0 }' $total.csv asked.csv
done
llapdiff evaluate m joint.csv --total both --json -q | grep -E '"total"|"sums|"origins'
llapdiff evaluate m joint.csv --total --against both.csv -q
echo $?
llapdiff evaluate m joint.csv --total --task impute -q
echo $?
