# What is unusual, in a file and as lines come: the same alarms. A spike, a stuck sensor and a silent one are put into the
# last part of made-up data.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 1 --rows 1500 --seed 3 -q -o whole.csv
llapdiff train whole.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o m.safetensors -q >/dev/null
awk -F, 'NR == 1 { print; next } $1 != e { e = $1; n = 0 } { n++ }
    n == 1300 && e ~ /0$/ { $3 = "99" }
    n > 1310 && n < 1340 && e ~ /0$/ { $3 = "0.125" }
    n > 1250 && n < 1350 && e ~ /1$/ { next }
    { print $1 "," $2 "," $3 }' whole.csv >faults.csv
llapdiff detect m.safetensors faults.csv -q >table
awk 'NR > 2 { print $4 ? $3 : "", $5 }' table | sort | uniq -c | awk '{ print $2, $3, ($1 >= 1 ? "found" : "") }' | grep -E 'stuck|silent|unusual' | sort -u
llapdiff detect m.safetensors faults.csv -q --json | grep -c '"condition"' >n_json
[ "$(awk 'NR > 2' table | wc -l)" = "$(cat n_json)" ] && echo "table and JSON have as many"
llapdiff detect m.safetensors faults.csv -q --fail >/dev/null
echo "exit $?"
if llapdiff --version | grep -q 'pictures *yes'; then
    llapdiff detect m.safetensors faults.csv -q --plot a.svg >/dev/null && grep -c 'What was unusual' a.svg
else
    echo 1
fi
# The same rows as lines, in two runs.
from=$(llapdiff detect m.safetensors faults.csv -q --json | sed -n 's/^  "from": "\(.*\)",/\1/p')
awk -F, -v f="$from" 'NR == 1 || $2 < f' faults.csv >past.csv
awk -F, -v f="$from" 'NR > 1 && $2 >= f' faults.csv | sort -t, -k2,2 -s >rows.csv
head -1 faults.csv >live1.csv
head -1 faults.csv >live2.csv
head -200 rows.csv >>live1.csv
tail -n +201 rows.csv >>live2.csv
llapdiff watch m.safetensors live1.csv --history past.csv --state s.stream -q >alarms
llapdiff watch m.safetensors live2.csv --state s.stream -q --fail >>alarms
echo "exit $?"
[ "$(grep -vc ended alarms)" -ge "$(cat n_json)" ] && echo "as many begin"
tail -5 live2.csv | sed 's/,[^,]*$/,x/' | cat live1.csv - | llapdiff watch m.safetensors - 2>err >/dev/null
grep -c '^warning: line .*expected a number' err
# mistakes
llapdiff watch m.safetensors live1.csv --history past.csv --state s.stream; echo "exit $?"
printf 'a,b\n' | llapdiff watch m.safetensors -; echo "exit $?"
llapdiff watch m.safetensors --late soon </dev/null; echo "exit $?"
llapdiff detect m.safetensors faults.csv --rate 3; echo "exit $?"
llapdiff detect m.safetensors faults.csv --from 1950-01-01; echo "exit $?"
