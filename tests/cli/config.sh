# Any option may come from a JSON object; the command line wins.
echo '{"entities": 1, "variables": 2, "rows": 5, "seed": 7, "output": "a.csv"}' >c.json
llapdiff synth --config c.json && head -1 a.csv
llapdiff synth --config=c.json --variables 1 -o - | head -1
llapdiff synth --entities 1 --variables 2 --rows 5 --seed 7 | cmp - a.csv && echo "the same"
echo '{"rows": 5, "quiet": true, "json": false}' >d.json
llapdiff synth --config d.json | wc -l | grep -qx '[12][0-9]' && echo "flags too"
try() {
    llapdiff synth --config "$1"
    echo "exit $?"
}
echo '{"row": 5}' >e.json
try e.json
echo '{"rows": "many"}' >e.json
try e.json
echo '{"quiet": 1}' >e.json
try e.json
echo '{"rows": }' >e.json
try e.json
try none.json
