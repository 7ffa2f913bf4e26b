# The value of an option that cannot be is wrong usage (2) in every command, and the message names the option; what is in a
# file, or does not fit the data, is a failure (1), and names the file or the data.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 10}}' -o m.safetensors -q >/dev/null
try() {
    expected=$1
    shift
    llapdiff "$@" -q >out 2>err
    code=$?
    echo "$code $(cat err)"
    [ $code = $expected ] || echo "   expected $expected: llapdiff $*"
    [ ! -s out ] || echo "   and an answer"
}
ask() { try 2 forecast m.safetensors data.csv "$@"; }
ask --quantiles abc
ask --quantiles nan
ask --quantiles ''
ask --at nonsense
ask --horizon -3
ask --horizon 0h
ask --horizon 99999999999999999999
ask --step 1ns
ask --step x
ask --every -1
ask --every 1h --times data.csv
ask --device gpu
ask --precision fp8
ask --samples nan
ask --plot next.gif
ask -o ''
ask --time-unit parsec
ask --time-format noon
ask --time-format %Q
ask --zone Mars/Base
ask --zone +99:00
ask --grid -1h
ask --grid 0
ask --bin high
ask --row-min nan
ask --columns =a
ask --columns ,
ask --decimal x
ask --with m.safetensors,
ask --config ''
ask --qui
try 2 forecast m.safetensors ''
try 2 impute m.safetensors data.csv --quantiles 0.5,0.5
try 2 evaluate m.safetensors data.csv --stride 0
try 2 evaluate m.safetensors data.csv --stride -1d
try 2 evaluate m.safetensors data.csv --device tpu
try 2 poles m.safetensors --noise nan
try 2 bench --size huge
try 2 bench --only nothing --size tiny
try 2 inspect data.csv --agg median
try 2 plot m.safetensors -o x
try 2 synth --form tall
try 2 synth --kind weather --variables 7
# before anything is fitted: there is no log at the end
fit() { try 2 train data.csv -c 2d --horizon 6h --size tiny -o x --log x.log "$@"; }
fit --transform sqrt
fit --transform v0=sqrt
fit --min low
fit --min 3 --max v0=2
fit --context 0
fit --step -1
fit --step 100d
fit --step 3d --horizon 4d
fit --target ''
fit --target v0,v0
fit --device gpu
fit --network '{"denoiser": {"hiden": 3}}'
fit --network '{"sampling": {"steps": "many"}}'
fit --network '[]'
fit --network '{'
fit --network ''
fit --network '{"patches": {"tokens": 3}}'
fit --network '{"vae": {}}'
fit --network '{"targets": 3}'
fit --network '{"entities": 3}'
fit --network '{"denoiser": {"num_heads": 5}}'
fit --network '{"sampling": {"first": 1}}'
fit --network '{"sampling": {"last": 0}}'
fit --network '{"features": {"calibration_edge": [3, 2]}}'
fit --profile reference --network '{"options": {"latent_rows": 2}}'
fit --training '{"anchor": {"stps": 3}}'
fit --training '{"anchor": {"steps": 0}}'
fit --training '{"vae": {}}'
fit --steps 3 --training '{"anchor": {"steps": 3}, "networks": {"steps": 4}}'
fit --parts data.csv --split time
fit --profile reference --size anchor
fit --profile reference --link
fit --size anchor --network '{}'
# Of files, and of data
echo '{"quantiles": "abc"}' >c.json
try 1 forecast m.safetensors data.csv --config c.json
try 2 forecast m.safetensors data.csv --config c.json --quantiles abc
echo '{"horizon": -3, "at": "nonsense"}' >c.json
try 1 forecast m.safetensors data.csv --config c.json
try 1 forecast m.safetensors data.csv --config c.json --at 2024-01-05
try 1 train data.csv -c 2d --horizon 6h -o x --target v7
try 1 train data.csv -c 2d --horizon 900d -o x
try 1 train data.csv -c 2d --horizon 6h -o x --transform v9=none
try 1 train data.csv -c 2d --horizon 6h -o x --network c.json
try 1 train data.csv -c 2d --horizon 6h -o x --network none.json
fast='{"anchor": {"steps": 3}, "networks": {"final_rows": 4}}'
llapdiff train data.csv -c 2d --horizon 6h --size tiny --view rows --steps 1 --training "$fast" -o n.safetensors -q >/dev/null
try 1 train data.csv -c 2d --horizon 6h --size tiny --view entity -o x --log x.log --from n.safetensors
try 1 train data.csv -c 2d --horizon 6h -o x --log x.log --from m.safetensors
try 1 poles m.safetensors data.csv --of nobody
try 1 poles m.safetensors data.csv --at nonsense
try 1 inspect data.csv --time noon
try 1 inspect data.csv --columns v0,v0=v1
try 1 demo data.csv
head -c 100 m.safetensors >t.csv
try 1 plot t.csv data.csv -o t.svg
ls
