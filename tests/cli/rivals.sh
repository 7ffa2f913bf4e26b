# Published models: trained, interrupted and resumed, asked, scored side by side; what is not for them.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 400 --seed 3 -o data.csv 2>/dev/null
train() {
    llapdiff train data.csv -t v0 -c 1d --horizon 6h --quiet "$@" || echo exit $?
}
train --rival dlinear --steps 60 -o dlinear.safetensors
train --rival patchtst --rival-options '{"width": 8, "heads": 2, "ff": 8, "layers": 1}' --steps 20 -o patchtst.safetensors
train --rival csdi --rival-options '{"channels": 4, "heads": 1, "blocks": 1, "noise_steps": 4, "time_width": 4, "step_width": 4}' \
    --training '{"rival": {"check_rows": 4, "check_samples": 2}}' --steps 4 --batch 2 -o csdi.safetensors
llapdiff info dlinear.safetensors --quiet | tail -1
llapdiff info csdi.safetensors --json | tr -d ' \n' | grep -o '"rival":{"model":"csdi","rows":[0-9]*,"steps":[0-9]*'
echo
llapdiff forecast dlinear.safetensors data.csv --quiet -o a.csv
llapdiff forecast dlinear.safetensors data.csv --quiet -j 1 -o b.csv
cmp a.csv b.csv && wc -l <a.csv | tr -d ' '
llapdiff impute csdi.safetensors data.csv --quiet --samples 4 -o filled.csv && head -1 filled.csv
llapdiff evaluate dlinear.safetensors data.csv --quiet --samples 20 --against patchtst.safetensors,csdi.safetensors >scores
awk '$1 ~ /^(model|patchtst|csdi|climatology)$/ { print $1, ($2 > 0 && $2 < 3 ? "scored" : $2) }' scores
cp dlinear.safetensors once
train --rival dlinear --steps 60 -o dlinear.safetensors --resume
cmp dlinear.safetensors once
train --rival lstm -o x
train --rival dlinear --size small -o x
train --rival mtan --rival-config adapter -o x
llapdiff impute dlinear.safetensors data.csv --quiet
llapdiff detect dlinear.safetensors data.csv --quiet 2>&1 | head -1
llapdiff train data.csv -t v1 -c 1d --horizon 6h --quiet --rival dlinear --steps 2 -o other.safetensors
llapdiff evaluate dlinear.safetensors data.csv --quiet --against other.safetensors
llapdiff evaluate dlinear.safetensors data.csv --quiet --against other.safetensors --task impute
test ! -e x
