# The paper's three stages: the same model for any threads, with and without prefetching, stopped, killed
# and resumed; then forecasts from it.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
# A few steps of sampling: under the sanitizers each costs a second.
train() { llapdiff train data.csv -t v0 -c 24 --horizon 6 --profile reference --steps 45 --network '{"sampling": {"steps": 3}}' "$@"; }
train -o m.safetensors --log m.log 2>&1 | sed 's/peak memory .*/peak memory/; s/ *[0-9.]* s$/ SECONDS/' | tail -9
cut -d, -f1 m.log | uniq -c
train -q -o n.safetensors -j 1 --prefetch 0 --log n.log --json >n.json && cmp m.safetensors n.safetensors && cmp m.log n.log && echo "the same model and log"
sed -n '/^  "report"/,$p' n.json | sed -E 's/("(best_after|validation|seconds|peak_memory_bytes)": )[0-9.e+-]+/\1N/'
llapdiff info n.safetensors --json | grep '"report"' # it has no clock times

# A signal: the step is finished, the state saved, and the run ends in the same bytes.
cat >run <<'END' # signals must reach the program, not a shell around it
exec llapdiff train data.csv -t v0 -c 24 --horizon 6 --profile reference --steps 45 --network '{"sampling": {"steps": 3}}' -q "$@"
END
sh run -o s.safetensors --log s.log >/dev/null 2>said &
pid=$!
for i in $(seq 500); do if [ -s s.log ]; then break; fi; sleep 0.02; done
kill -TERM $pid
wait $pid
echo "exit $?"
sed 's/step [0-9]* of [0-9]*/step N/; s/train: [a-z]*: stopped/train: STAGE: stopped/' said
train -q -o s.safetensors
train -q --horizon 12 --resume -o s.safetensors
train -q --seed 2 --resume -o s.safetensors
train -q --batch 3 --resume -o s.safetensors
train -q -o s.safetensors --resume --log s.log >/dev/null && cmp m.safetensors s.safetensors && cmp m.log s.log && echo "the same after a signal"
[ -e s.safetensors.state ] || echo "no state is left"

# Killed at some moment, a few times.
for wait in 0.2 0.35 0.5; do
    sh run -o k.safetensors --resume --save-every 0.01 --log k.log >/dev/null 2>&1 &
    pid=$!
    sleep $wait
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
done 2>/dev/null
train -q -o k.safetensors --resume --log k.log >/dev/null 2>&1 && cmp m.safetensors k.safetensors && cmp m.log k.log && echo "the same after kills"

llapdiff forecast m.safetensors data.csv -q --quantiles 0.1,0.9 | cut -d, -f1,3 | sort | uniq -c
llapdiff evaluate m.safetensors data.csv -q --samples 20 | sed -n 's/^  \(model\|climatology\) .*/\1/p'
grep -v ',2000-01-0' data.csv >late.csv
llapdiff impute m.safetensors late.csv -q --all | cut -d, -f1,3,4 | sort | uniq -c
llapdiff evaluate m.safetensors late.csv -q --task impute | sed -n 's/^  \(model\|model_causal\|linear\) .*/\1/p'
