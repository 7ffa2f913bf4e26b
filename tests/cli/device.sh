# Where to compute: words that name no device or precision are one line each.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o m.safetensors -q >/dev/null
try() {
    llapdiff "$@" -q >/dev/null
    echo "exit $?"
}
try forecast m.safetensors data.csv --device gpu
try forecast m.safetensors data.csv --device cuda:x
try forecast m.safetensors data.csv --precision half
try train data.csv -c 2d --horizon 6h -o n.safetensors --device cuda:
try evaluate m.safetensors data.csv --device 0
try forecast m.safetensors data.csv --device cpu --precision bf16
