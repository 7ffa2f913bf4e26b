# Several models that answer as one.
llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o a.safetensors -q >/dev/null
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' --no-climate --transform none -o b.safetensors -q >/dev/null
llapdiff train data.csv -c 1d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o c.safetensors -q >/dev/null
llapdiff forecast a.safetensors data.csv --with b.safetensors -q -n 4 --keep-samples --horizon 1h | cut -d, -f1,4
llapdiff forecast a.safetensors data.csv --with b.safetensors -q -n 4 -j 1 >one
llapdiff forecast a.safetensors data.csv --with b.safetensors -q -n 4 -j 3 | cmp - one && echo "the same for any number of threads"
llapdiff evaluate a.safetensors data.csv --with b.safetensors,a.safetensors -q -n 20 --bootstrap 0 | grep -c '^  model '
llapdiff forecast a.safetensors data.csv -q --with c.safetensors
echo "exit $?"
llapdiff evaluate a.safetensors data.csv -q --with b.safetensors,nowhere.safetensors
echo "exit $?"
llapdiff forecast a.safetensors data.csv -q --with b.safetensors -n 1
echo "exit $?"
llapdiff forecast a.safetensors data.csv -q --with ''
echo "exit $?"
