# Questions at the borders: quantiles close to each other, long names, centuries, files that are not ours.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
name=$(printf 'e%.0s' $(seq 300))
awk -v name="$name" 'BEGIN { print "entity,time,v"
    for (i = 0; i < 200; i++) printf "%s,1700-01-%02dT%02d:00Z,%.2f\n", name, 1 + i / 24, i % 24, 5 + 3 * sin(i / 4) + (i * 7 % 11) / 20 }' >data.csv
quick='--size anchor --training {"anchor":{"steps":5}} -q'
llapdiff train data.csv -c 24 --horizon 6 $quick -o m.st >about
llapdiff forecast m.st data.csv -q --quantiles 0.0000001,0.1234567,0.12345678,0.9999999 | sed 1q
llapdiff forecast m.st data.csv -q --quantiles 0.1234567,0.12345678 --json | grep -c '"q0.1234567'

# a name of 300 bytes is found, and a time more than 292 years ahead is a time as others are
printf 'entity,time\n%s,1700-01-09T12:00Z\n%s,2262-01-01\n' $name $name >times.csv
llapdiff forecast m.st data.csv -q --times times.csv -o next.csv && cut -d, -f2,3 next.csv
if llapdiff --version | grep -q '^  pictures *yes'; then llapdiff plot next.csv data.csv -q -o next.svg && echo drawn; else echo drawn; fi
llapdiff forecast m.st data.csv -q --at 2261-01-01 -o next.csv && sed -n '2s/^e*,//p' next.csv | cut -d, -f1
printf 'entity,time\n%sx,2261-01-01\n' $name >other.csv
llapdiff forecast m.st data.csv -q --times other.csv 2>&1 | sed 's/e\{50,\}/eee/'
llapdiff forecast m.st data.csv -q --horizon 99999999999999

# a byte-order mark, as spreadsheets write it
printf '\357\273\277time\r\n1700-01-09T12:00Z\r\n' >marked.csv
llapdiff forecast m.st data.csv -q --times marked.csv | wc -l

# times that no model can hold
printf 'time,a\n2024-01-01,1\n2024-01-02,2\n9999-12-31,3\n' >late.csv
llapdiff inspect late.csv -q

# what is not the state of this training stays
echo mine >mine
llapdiff train data.csv -c 24 --horizon 6 $quick -q -o n.st --state mine >about || cat mine
llapdiff train data.csv -c 24 --horizon 6 --size tiny --steps 2 --training '{"anchor":{"steps":5}}' -q -o t.st --state ./t.st >about
ls *.st

# a bound without a number, a transform without a name
llapdiff train data.csv -c 24 --horizon 6 $quick -o x --min v=
llapdiff train data.csv -c 24 --horizon 6 $quick -o x --transform v=

# what is read is not written over, by whatever name
ln -s data.csv link
cp data.csv kept
llapdiff train data.csv -c 24 --horizon 6 $quick -o ./data.csv
llapdiff forecast m.st data.csv -q -o link
llapdiff impute m.st data.csv -q -o m.st
llapdiff evaluate m.st data.csv -q --windows data.csv
llapdiff train data.csv -c 24 --horizon 6 $quick -o x --log data.csv
llapdiff forecast m.st data.csv -q --times times.csv -o times.csv
mkdir folder && cp data.csv folder/a.csv
llapdiff train folder -c 24 --horizon 6 $quick -o folder/a.csv
(cd folder && llapdiff train . -c 24 --horizon 6 $quick -o a.csv)
cmp data.csv kept && cmp folder/a.csv kept && llapdiff info m.st >about

# nor does the log take the place of what the training reads or writes, and a model is not read from a pipe twice
cp m.st from.st
train="llapdiff train data.csv -c 24 --horizon 6 --size tiny --steps 2 -q"
$train -o x --from from.st --log from.st
$train -o x --log ./from.st --from from.st
$train -o x --log x
$train -o x --log x.state
$train -o x --from - <from.st
$train -o x --state none --resume
echo '{"anchor": {"steps": 5}}' >config.json
$train -o config.json --training config.json
$train -o x --log config.json --training config.json
cmp m.st from.st && rm from.st

# a state is not what lies there by chance
llapdiff train data.csv -c 24 --horizon 6 --size tiny --steps 2 --training '{"anchor":{"steps":5}}' -q -o x --state kept

# options of networks from a pipe, which can be read once
echo '{"training": {"anchor": {"steps": 5}}}' | cat >config.json
cat config.json | llapdiff train data.csv -c 24 --horizon 6 --size anchor -q --config /dev/stdin -o p.st >about && cmp p.st m.st

# two columns are not one variable, and every variable has a name
printf 'time,a,b\n1,2,3\n2,3,4\n' >ab.csv
llapdiff inspect ab.csv -q --columns q=a,q=b
llapdiff inspect ab.csv -q --columns b=a,b
llapdiff inspect ab.csv -q --columns =a
llapdiff inspect ab.csv -q --columns b=a,a=b | tail -2 | cut -c 1-30
sed s/a,b/b,c/ ab.csv >bc.csv
llapdiff inspect ab.csv bc.csv -q --columns q=a,q=c | tail -1 | cut -c 1-30
llapdiff inspect ab.csv bc.csv -q --columns q=a,q=c,b | tail -2 | cut -c 1-30
printf 'time,variable,value\n1,a,2\n1,b,3\n2,a,3\n2,b,4\n' >long.csv
llapdiff inspect long.csv -q --columns q=a,q=b
llapdiff inspect long.csv -q --columns q=a,b | tail -2 | cut -c 1-30
grep -v ,b, long.csv >la.csv && grep -v ,a, long.csv >lb.csv
llapdiff inspect la.csv lb.csv -q --columns q=a,q=b --duplicates last | tail -1 | cut -c 1-30

# names of files and entities that no table and no JSON can hold
bad=$(printf 'z\303\274\377\303.csv')
llapdiff synth --rows 2 --entities 1 -q --json -o "$bad" | cut -d, -f1
awk 'BEGIN { print "entity,time,v"
    for (i = 0; i < 200; i++) printf "\"two\nlines\",2024-01-%02dT%02d:00Z,%.2f\n", 1 + i / 24, i % 24, 5 + 3 * sin(i / 4) }' >lines.csv
llapdiff train lines.csv -c 24 --horizon 6 $quick -o l.st >about
llapdiff evaluate l.st lines.csv -q -n 4 --by entity --bootstrap 0 | grep -c '^two.x0alines'

# a disk that is full is said to be that, however much was to be written
llapdiff synth --rows 500 -q -o /dev/full
llapdiff synth --rows 2 -q -o /dev/full

# an opponent that is never wrong leaves no share of its score; those of a target that validation has no value of stay
awk 'BEGIN { print "time,a,b,flat"
    for (i = 0; i < 600; i++) printf "2024-01-%02dT%02d:00Z,%.2f,%s,5\n", 1 + i / 24, i % 24, sin(i / 4) + i * 7 % 11 / 9, (i >= 400 && i < 490 ? "" : cos(i / 5) + i * 5 % 7 / 9) }' >three.csv
llapdiff train three.csv -c 2d --horizon 6h $quick -o three.st >about 2>&1
llapdiff evaluate three.st three.csv -q >scores
grep -c '^ *ar1 \|^ *residual_bar ' scores
grep -c 'has a CRPS of 0: the model cannot be compared' scores
grep -c 'inf' scores

# steps since the reading before are those of the variable itself
awk 'BEGIN { print "time,a,b"
    for (i = 0; i < 720; i++) printf "2024-01-%02dT%02d:00Z,%s,%.2f\n", 1 + i / 24, i % 24, (i % 12 ? "" : sin(i / 9) + i * 7 % 11 / 9), cos(i / 5) + i * 5 % 7 / 9 }' >sparse.csv
llapdiff train sparse.csv -c 2d --horizon 24h $quick -o sparse.st >about
llapdiff evaluate sparse.st sparse.csv -q --task impute --by step --bootstrap 0 | awk '/^[ab]$/ { of = $1 } NF == 7 && $1 ~ /^[0-9]+$/ { print of, $1, $2 }'
true
