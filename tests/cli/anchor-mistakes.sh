OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training '{"anchor":{"steps":20}}' -o m.safetensors -q >/dev/null
try() {
    llapdiff "$@" -q
    echo "exit $?"
}
try train data.csv -c 2d --horizon 6h
try train data.csv -o x
try train none.csv -c 2d --horizon 6h --size anchor -o x
try train data.csv -t v7 -c 2d --horizon 6h --size anchor -o x
try train data.csv -c 2d --horizon 900d -o x
try train data.csv -c 2months --horizon 6h --size anchor -o x
try train data.csv -t v0 -c 2d --horizon 6h --size anchor -o no/such/folder/x
try train data.csv -t v0 -c 2d --horizon 6h --size anchor -o .
try train data.csv -c 2d --horizon 6h --size anchor -o x --entities both
try train data.csv -c 2d --horizon 6h --size anchor -o x --separator ab
try train data.csv -c 2d --horizon 6h --size anchor -o x --zone Mars/Base
try train data.csv -c 2d --horizon 6h --size anchor -o x --grid often
try train data.csv -t v0 -c 2d --horizon 6h --size anchor -o x --min vo=0
try train data.csv -t v0 -c 2d --horizon 6h --size anchor -o x --transform v1=log1p
try train data.csv -t v0,v1 -c 2d --horizon 6h --size anchor -o x --max 7,9
try forecast m.safetensors
try forecast data.csv data.csv
try forecast m.safetensors m.safetensors
try forecast m.safetensors data.csv --quantiles 1.5
try forecast m.safetensors data.csv --samples -4
try forecast m.safetensors data.csv --at noon
try forecast m.safetensors data.csv --columns v1
try forecast m.safetensors data.csv -o /dev/full
try forecast m.safetensors data.csv --json -o f.json
try forecast m.safetensors data.csv --step 1ns
try evaluate m.safetensors data.csv --split training
try evaluate m.safetensors data.csv --stride x
try impute m.safetensors data.csv --quantiles 0.9,0.1
try info data.csv
printf '8\n\0\0\0\0\0\0{' >broken # a header's length, of printable bytes, and its beginning
try info broken
mkdir empty
try inspect empty
try synth --rows 1
ls
