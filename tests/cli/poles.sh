# Poles of an anchor: table, what is asked for beside it, JSON, picture. Numbers may differ in the last digits from machine to
# machine, so only what is stable is shown.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20, "cycles": 0}}' -o m.safetensors -q >/dev/null
llapdiff poles m.safetensors | sed -n '1,2p'
llapdiff poles m.safetensors | sed 1,2d | wc -l
llapdiff poles m.safetensors data.csv -q | sed -n 's/.*over \([0-9]*\) gaps, .*/readings follow each other/p; s/.*lambda.*/multipliers/p'
llapdiff poles m.safetensors --transfer 3 --impulse 4 --realisation | sed 1,9d | wc -l
llapdiff poles m.safetensors data.csv -q --json --transfer 3 --impulse 4 --realisation | grep -c '"log_pole"\|"G"\|"A"'
if llapdiff --version | grep -q 'pictures *yes'; then
    llapdiff poles m.safetensors --plot p.svg >/dev/null && grep -c 'half-life' p.svg
else
    echo 1
fi
# mistakes
llapdiff poles m.safetensors --at 2024-01-01; echo "exit $?"
llapdiff poles m.safetensors -t v1; echo "exit $?"
llapdiff poles m.safetensors --noise 2; echo "exit $?"
llapdiff poles m.safetensors --plot p.gif >/dev/null; echo "exit $?"
