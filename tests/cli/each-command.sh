# Every command: an option that does not exist, input that is not there, output that cannot be written.
# Exit codes 2, 1, 1, and one line each. Interruptions: cli/interrupt.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o m.safetensors -q >/dev/null
printf '{"stage":"a","step":1,"loss":2.0}\n' >run.log
pictures=$(llapdiff --version | grep -c '^  pictures *yes')
try() {
    want=$1
    shift
    llapdiff "$@" -q >/dev/null 2>err
    code=$?
    [ $code = "$want" ] || echo "llapdiff $*: exit $code, expected $want"
    [ "$(grep -vc '^warning' err)" = 1 ] || { echo "llapdiff $*: not one line:"; cat err; }
}
full() { # of commands that print: standard output on a full disk
    llapdiff "$@" -q >/dev/full 2>err
    code=$?
    [ $code = 1 ] || echo "llapdiff $* >/dev/full: exit $code"
}
for c in $(llapdiff help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do try 2 "$c" --nonsense; done
# No command has two options of one name.
for c in $(llapdiff help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do
    llapdiff "$c" --help | sed -n 's/^  *\(-[a-z], \)*\(--[a-z-]*\).*/\2/p' | sort | uniq -d | sed "s/^/$c: twice /"
done
try 1 inspect none.csv
try 1 train none.csv -c 2d --horizon 6h -o x
try 1 forecast none data.csv
try 1 forecast m.safetensors none.csv
try 1 impute none data.csv
try 1 impute m.safetensors none.csv
try 1 evaluate none data.csv
try 1 evaluate m.safetensors none.csv
try 1 info none
try 1 detect none data.csv
try 1 detect m.safetensors none.csv
try 1 watch none none.csv
try 1 watch m.safetensors none.csv
try 1 serve none
try 2 serve m.safetensors --address 0.0.0.0
try 1 serve m.safetensors --tokens none
try 1 poles none
try 1 plot none -o x.png
try 1 plot none data.csv -o x.png
try 1 import none -o x --horizon 6
try 1 import . -o x --horizon 6
try 1 export none folder
for c in demo inspect train forecast impute evaluate detect watch serve info poles plot import export synth bench version help; do
    try 1 $c --config none.json
done
try 1 train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o no/x
try 1 forecast m.safetensors data.csv -o no/x
try 1 forecast m.safetensors data.csv -o /dev/full
try 1 impute m.safetensors data.csv -o no/x
try 1 impute m.safetensors data.csv -o /dev/full
try 2 synth --kind weather --variables 3
try 2 synth --json
try 1 synth -o no/x
try 1 synth -o /dev/full
try 1 demo no/folder
try 1 demo data.csv
llapdiff synth --entities 2 --variables 1 --rows 200 -q -o few.csv
llapdiff train few.csv -q -c 24 --horizon 6 --profile reference --steps 1 -o r.safetensors >/dev/null
try 1 export r.safetensors no/folder
try 1 export r.safetensors data.csv
try 1 export m.safetensors folder # of the default profile
llapdiff export r.safetensors folder --json
try 1 import folder -o no/x
try 1 import folder -o /dev/full
if [ "$pictures" = 1 ]; then
    try 1 inspect data.csv --plot no/x.png
    try 1 forecast m.safetensors data.csv --plot no/x.png
    try 1 impute m.safetensors data.csv --plot no/x.png
    try 1 poles m.safetensors --plot no/x.png
    try 1 detect m.safetensors data.csv --plot no/x.png
    try 1 evaluate m.safetensors data.csv -n 4 --plot no/x.png
    try 1 plot run.log -o no/x.png
fi
full inspect data.csv
full forecast m.safetensors data.csv
full impute m.safetensors data.csv
full evaluate m.safetensors data.csv -n 4
full train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o -
full import folder -o -
full bench --size tiny --only summarizer --samples 2 --horizon 6 --batch 2 --seconds 0
full export r.safetensors folder --json
full synth -o y.csv --json
full info m.safetensors
full detect m.safetensors data.csv
full poles m.safetensors
full version
full help
full synth
ls x no 2>/dev/null
rm -f y.csv
echo "every command"
