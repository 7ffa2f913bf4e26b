# A given split of independent entities: the model keeps it, and evaluate goes by it.
llapdiff synth --entities 6 --variables 1 --rows 150 --seed 3 -o data.csv
cat >parts.csv <<END
entity,part
s000,train
s001,train
s002,validation
s003,test
s004,test
elsewhere,test
END
brief='{"anchor": {"steps": 10}}'
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training "$brief" --parts parts.csv -o m.safetensors 2>&1 >/dev/null | grep parts
llapdiff evaluate m.safetensors data.csv -q --by entity -n 20 --bootstrap 0 | sed -n 's/^\(s00[0-9]\) .*/\1 is tested/p'
echo '{"parts": "parts.csv", "training": {"anchor": {"steps": 10}}}' >run.json
llapdiff train data.csv -c 2d --horizon 6h --size anchor --config run.json -q -o n.safetensors >/dev/null && cmp m.safetensors n.safetensors && echo "the same model"
# Of the file the model keeps what it said, not where it was.
grep -c parts.csv m.safetensors
llapdiff info m.safetensors --json | sed -n '/"parts"/,/}/p'
llapdiff info m.safetensors --json | awk '/^  "run": / { print "{"; on = 1; next } on && /^  }/ { print "}"; exit } on' >again.json
mv parts.csv elsewhere.csv
llapdiff train data.csv --config again.json --parts elsewhere.csv -q -o o.safetensors >/dev/null && cmp m.safetensors o.safetensors && echo "the same model again"
mv elsewhere.csv parts.csv
echo 's005,tset' >>parts.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --parts parts.csv -q -o m.safetensors
echo "exit $?"
llapdiff train data.csv -c 2d --horizon 6h --size anchor --parts parts.csv --split time -q -o m.safetensors
echo "exit $?"
