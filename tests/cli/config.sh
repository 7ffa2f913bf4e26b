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
# From standard input; and training takes what the library takes, with the networks' own options.
echo '{"rows": 5, "quiet": true}' | llapdiff synth --config - | wc -l | grep -qx '[12][0-9]' && echo "from standard input"
llapdiff synth --entities 1 --variables 1 --rows 300 --seed 3 -o data.csv
cat >run.json <<'END'
{"context": "1d", "horizon": "6h", "size": "tiny", "steps": 2, "batch": 4, "lr": 0.001, "no_climate": true, "quiet": true,
 "split": "time", "network": {"sampling": {"steps": 9}}, "training": {"anchor": {"steps": 10}}}
END
llapdiff train data.csv --config run.json -o m.safetensors >/dev/null && echo trained
llapdiff info m.safetensors --json | grep -c '"steps": 9'
llapdiff train data.csv --config run.json -o n.safetensors --network '{"sampling": {"stps": 9}}'
echo "exit $?"
# What is wrong in a file is told with its place, also deep inside; of a file and the command line together there is none.
cat >bad.json <<'END'
{"context": "1d", "horizon": "6h", "size": "tiny",
 "network": {"sampling": {"steps": 9,
                          "stps": 9}},
 "training": {"anchor": {"steps": 0}}}
END
train_bad() {
    llapdiff train data.csv -q --config bad.json -o n.safetensors "$@"
    echo "exit $?"
}
train_bad
train_bad --network '{}'
sed -i 's/"steps": 0/"steps": 10/' bad.json
train_bad
sed -i 's/{"sampling.*/9,/; /stps/d' bad.json
train_bad
llapdiff train data.csv -q -c 1d --horizon 6h --size tiny -o n.safetensors --network bad.json
echo "exit $?"
rm -f n.safetensors.state

# How networks are trained: every number is an option, the model keeps it, and what it keeps is a --config for the same model again.
rm -f *.state
more='{"anchor": {"steps": 10}, "networks": {"lr": 0.002, "weight_decay": 0.1, "check_rows": 8}}'
llapdiff train data.csv --config run.json -o n.safetensors --lr 0.002 --training "$more" --json >n.json && echo trained
sed -n '/^  "report"/,$p' n.json | sed -E 's/("(best_after|validation|seconds|peak_memory_bytes)": )[0-9.e+-]+/\1N/'
cmp -s m.safetensors n.safetensors || echo "another model"
llapdiff train data.csv -q --config run.json -o q.safetensors --training '{"anchor": {"steps": 10}, "networks": {"lr": 0.01}}' --lr 0.01 --steps 30 >/dev/null
llapdiff info q.safetensors --json | grep -E '^ {8}"(check_every|warmup)"' # they follow the steps
llapdiff info n.safetensors --json | awk '/^  "run": / { print "{"; on = 1; next } on && /^  }/ { print "}"; exit } on' >again.json
grep -E '^ {8}"(lr|weight_decay|check_rows|steps)"' again.json
llapdiff train data.csv -q --config again.json -o o.safetensors >/dev/null
cmp n.safetensors o.safetensors && echo "the same model from what it keeps"
refused() {
    llapdiff train data.csv -q --config run.json -o p.safetensors "$@"
    echo "exit $?"
}
refused --training '{"networks": {"weight_decy": 0.1}}'
refused --training '{"networks": {"lr": 7}}'
refused --training '{"vae": {"lr": 0.001}}'
refused --training '[1'
refused --network '{"sampling": {"steps": 9,}}'
refused --steps 3 --training '{"anchor": {"steps": 10}, "networks": {"steps": 4}}'
refused --training '{"anchor": {"steps": 10}, "networks": {"lr": 0.5}}'
refused --size anchor --network '{}'
refused --network '{"denoiser": {"summary_pool_mode": "attn"}}'
llapdiff train data.csv -q -c 1d --horizon 6h --size anchor --training '{"networks": {"steps": 4}}' -o p.safetensors
echo "exit $?"

# The anchor by itself has its numbers, too.
llapdiff train data.csv -q -c 1d --horizon 6h --size anchor --training '{"anchor": {"steps": 20, "kappa": 7}}' -o a.safetensors >/dev/null
llapdiff info a.safetensors --json | awk '/^  "run": / { print "{"; on = 1; next } on && /^  }/ { print "}"; exit } on' >anchor.json
grep -E '"(steps|kappa|size)"' anchor.json
llapdiff train data.csv -q --config anchor.json -o b.safetensors >/dev/null
cmp a.safetensors b.safetensors && echo "the same anchor"
llapdiff train data.csv -q -c 1d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o c.safetensors >/dev/null
cmp -s a.safetensors c.safetensors || echo "another anchor"

# Which part of the data trains, and how sure one must be of networks, are numbers too; the model keeps them.
llapdiff info n.safetensors --json | grep -E '"(guard_days|guard_price|fill_gain|fill_errors|shares)"'
llapdiff train data.csv -q --config run.json -o s.safetensors --shares 60,20,20 --training '{"anchor": {"steps": 10}, "networks": {"guard_days": 0, "guard_price": 0.2, "fill_gain": 0.5}}' >/dev/null
llapdiff info s.safetensors --json | grep -E '"(guard_days|guard_price|fill_gain|fill_errors|shares)"'
refused --shares 60,20
refused --training '{"networks": {"fill_gain": 2}}'
refused --training '{"networks": {"guard_price": -1}}'

# What the command line gives is not overridden by a file, also where it is the default; what the file gives is not by a default.
echo '{"entities": 1, "variables": 1, "rows": 9, "seed": 7}' >seed.json
made() { llapdiff synth -q "$@" | cksum; }
plain="--entities 1 --variables 1 --rows 9"
[ "$(made --config seed.json)" = "$(made $plain --seed 7)" ] && echo "the file's seed"
[ "$(made --config seed.json --seed 1)" = "$(made $plain)" ] && echo "seed 1 of the command line"
[ "$(made --config seed.json --seed 0)" = "$(made $plain --seed 0)" ] && echo "seed 0 too"
[ "$(made $plain --seed 0)" != "$(made $plain)" ] && echo "which is another than 1"
echo '{"context": "1d", "horizon": "6h", "size": "tiny", "view": "rows", "seed": 7, "training": {"anchor": {"steps": 5}}}' >words.json
llapdiff train data.csv -q --config words.json --seed 0 --size anchor --view auto -o w.safetensors --json >w.json
grep -E '^ {4}"(size|view|seed)"' w.json
