# Every command: an option that does not exist, input that is not there, output that cannot be written.
# Exit codes 2, 1, 1, and one line each. Interruptions: cli/reference.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor -o m.safetensors -q >/dev/null
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
try 1 inspect none.csv
try 1 train none.csv -c 2d --horizon 6h -o x
try 1 forecast none data.csv
try 1 forecast m.safetensors none.csv
try 1 impute none data.csv
try 1 impute m.safetensors none.csv
try 1 evaluate none data.csv
try 1 evaluate m.safetensors none.csv
try 1 info none
try 1 poles none
try 1 plot none -o x.png
try 1 train data.csv -c 2d --horizon 6h --size anchor -o no/x
try 1 forecast m.safetensors data.csv -o no/x
try 1 forecast m.safetensors data.csv -o /dev/full
try 1 impute m.safetensors data.csv -o no/x
try 1 impute m.safetensors data.csv -o /dev/full
try 1 synth -o no/x
try 1 synth -o /dev/full
try 1 demo no/folder
if [ "$pictures" = 1 ]; then
    try 1 inspect data.csv --plot no/x.png
    try 1 forecast m.safetensors data.csv --plot no/x.png
    try 1 impute m.safetensors data.csv --plot no/x.png
    try 1 poles m.safetensors --plot no/x.png
fi
full inspect data.csv
full forecast m.safetensors data.csv
full impute m.safetensors data.csv
full info m.safetensors
full poles m.safetensors
full version
full help
full synth
ls x no 2>/dev/null
echo "every command"
