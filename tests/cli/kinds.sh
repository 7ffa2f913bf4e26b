# Kinds of values: found, said, kept, and what becomes of answers. A generator of our own, since the
# random numbers of awk differ.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
awk 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
     function poisson(m,  t, y) { t = -log(u()); y = 0; while (t <= m) { t -= log(u()); y++ } return y }
     BEGIN { s = 7; print "entity,time,sales,stock,fill,warm"
         for (e = 0; e < 3; e++) for (i = 0; i < 500; i++) {
             x = .9 * x + u() - .5
             printf "s%d,%d,", e, 1546300800 + 86400 * i
             if (i % 23 == 5) printf ",,,\n"
             else printf "%d,%d,%.4f,%.2f\n", e == 2 ? 0 : poisson((e + .3) * (i % 7 == 2 ? 3 : 1)),
                 500 + 40 * x + 9 * u(), 1 / (1 + exp(-3 * x)), 9 + 4 * x + u() } }' >data.csv
quick='{"anchor":{"steps":20,"rows":16}}'
llapdiff inspect data.csv -q | awk '$1 == "sales" || $1 == "stock" || $1 == "fill" || $1 == "warm" { print $1, $8, $9 }'
llapdiff inspect data.csv -q --json | grep -o '"kind": "[a-z]*"'
train() { llapdiff train data.csv -c 28d --horizon 7d --size anchor --training "$quick" -q "$@"; }
train -o m >/dev/null
llapdiff info m | grep '^  values: [cs]'
llapdiff info m --json | grep -c '"kind"'
# whole where it must be, and within bounds, in quantiles, samples and fills
whole() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
    { for (i = 4; i <= NF; i++) if (name[i] != "observed" && name[i] != "mean" && name[i] != "outside" && $i != "") {
        if (($3 == "sales" || $3 == "stock") && $i != int($i)) bad[$3]++
        if ($3 == "sales" && $i < 0 || $3 == "fill" && ($i < 0 || $i > 1)) out[$3]++
        seen[$3]++ } }
    END { print (seen["sales"] > 0), bad["sales"] + bad["stock"] + 0, out["sales"] + out["fill"] + 0 }'; }
llapdiff forecast m data.csv -q 2>/dev/null | whole
llapdiff forecast m data.csv -q -n 40 --total 2>/dev/null | grep -v ",fill," | whole
llapdiff impute m data.csv -q 2>/dev/null | whole
llapdiff forecast m data.csv -q --json --quantiles 0.05,0.5,0.95 2>/dev/null | grep -c '"q0.5"'
llapdiff evaluate m data.csv -q -n 20 --bootstrap 0 2>/dev/null | grep -c '^  model '
# said otherwise, and mistakes
train -t sales,fill --kind sales=whole,fill=any -o n >/dev/null && llapdiff info n | grep '^  values:'
train -t stock --min 0 --max 1000 -o n >/dev/null && llapdiff info n | grep -o '^  values: [^;]*'
train -t stock --min 500 --max 1000 -o n 2>&1 >/dev/null | grep -o '^warning: stock.*'
awk -F, -v OFS=, '{ $6 = NR == 1 ? "humid" : $5 == "" ? "" : 100 * $5; print }' data.csv >humid.csv
llapdiff inspect humid.csv -q | grep -o '^humid:.*\|percentages?$'
train -t sales --kind sales=any -o n >/dev/null && llapdiff info n | grep -c '^  values:'
for wrong in "-t fill --kind count" "-t sales --kind number" "-t sales --kind fill=any" "-t stock --kind share"; do
    train $wrong -o n >/dev/null && echo "no mistake: $wrong"
done
exit 0
