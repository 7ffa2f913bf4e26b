# From a made-up panel to answers. Numbers may differ in the last digits from machine to machine, so
# only what is stable is shown.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 400 --seed 3 -o data.csv && head -1 data.csv
llapdiff synth --entities 2 --variables 2 --rows 400 --seed 3 | cmp - data.csv && echo "the same again"
quick='{"anchor":{"steps":20,"rows":16}}'
llapdiff inspect data.csv --json -q | grep -c '"name"'
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training "$quick" -o m.safetensors 2>notes | head -1
cat notes | sed 's/CRPS [0-9.]*/CRPS N/; s/^\(anchor  *[0-9]*\).*/\1 .../; s/errors [0-9.-]* on average, [0-9.-]* at/errors N on average, N at/; s/[0-9.]* GB/N GB/'
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training "$quick" -o n.safetensors -q -j 1 >/dev/null && cmp m.safetensors n.safetensors && echo "the same model"
OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='thread %n' llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training "$quick" -o n.safetensors -q -j 3 2>&1 |
    grep -o 'thread [0-9]*' | sort -u
llapdiff info m.safetensors | sed -n 's/^v0: anchor: validation CRPS.*/poles of v0/p'
llapdiff info m.safetensors --json | sed -n '/"split"/,/^  }/p'
llapdiff forecast m.safetensors data.csv -q --quantiles 0.1,0.9 -o f.csv && head -1 f.csv && wc -l <f.csv
llapdiff forecast m.safetensors data.csv -q -n 3 --keep-samples --horizon 2h | cut -d, -f1,3,4 | sort | uniq -c
llapdiff forecast m.safetensors - -q --json --quantiles 0.5 <data.csv | grep -c '"q0.5"'
llapdiff impute m.safetensors data.csv -q --quantiles 0.5 | cut -d, -f4 | sort | uniq -c | sed 's/[0-9]* 0$/N 0/; s/^ *//'
llapdiff impute m.safetensors data.csv -q --causal -a -o all.csv && test "$(wc -l <all.csv)" -gt 400 && echo "all cells"
llapdiff evaluate m.safetensors data.csv -q --stride 3 | sed -n 's/^  \(model\|climatology\) .*/\1/p; s/^intervals.*/intervals/p'
llapdiff evaluate m.safetensors data.csv -q --task impute --bootstrap 0 | sed -n 's/^  \([a-z_]*\)  .*[0-9]$/\1/p'
llapdiff evaluate m.safetensors data.csv -q --json -n 20 -j 1 >one && llapdiff evaluate m.safetensors data.csv -q --json -n 20 -j 3 | cmp - one && echo "the same scores"
llapdiff evaluate m.safetensors data.csv -q --by step -n 20 | grep -c '^[1-6] '
# Data that begins after training: what needs training windows is left out.
(head -1 data.csv && tail -80 data.csv) >late.csv
llapdiff evaluate m.safetensors late.csv -q | sed -n 's/^  \(climatology\|ar1\) .*/\1 of late data/p'
if llapdiff --version | grep -q 'netcdf *yes'; then
    llapdiff synth --rows 50 -o x.nc && llapdiff inspect x.nc -q | head -1 | cut -d, -f1
else
    echo "6 entities"
fi

# A sensor that is stuck is a target as others are.
awk -F, 'NR == 1 { print $0 ",stuck" } NR > 1 { print $0 ",5" }' data.csv >stuck.csv
llapdiff train stuck.csv -q -t stuck -c 2d --horizon 6h --size anchor --training "$quick" -o stuck.safetensors >/dev/null
llapdiff forecast stuck.safetensors stuck.csv -q --quantiles 0.1,0.9 | awk -F, 'NR > 1 { n += $4 > 4.99 && $4 < 5.01 && $5 <= $4 && $4 <= $6 } END { print n " of " NR - 1 " are stuck" }'
sed 's/,5$/,6/' stuck.csv >moved.csv # said of others, not of the same
llapdiff forecast stuck.safetensors moved.csv -q >/dev/null

# What is said of networks changes nothing without them, and is told in one line.
fast="--size anchor --training $quick"
idle() {
    llapdiff train data.csv -t v0 -c 2d --horizon 6h $fast -o idle.safetensors "$@" 2>&1 >/dev/null | grep 'no effect' || echo "nothing to say"
}
idle
idle --members 2 --steps 9 --batch 4 --view rows --from none --lr 0.1
# Its fits have lines in the log, and a state while they last.
llapdiff train data.csv -t v0 -c 2d --horizon 6h $fast -o logged.safetensors --log x.log --resume --save-every 0.001 -q >/dev/null
cmp logged.safetensors idle.safetensors && ls logged* x.log
sed -n 's/\(loss\|score\|terms\)":[0-9.]\+/\1":N/g; 1p; 11p; $p' x.log
llapdiff plot x.log -q -o x.svg && grep -c 'anchors\? that w[a-z]* tried' x.svg
llapdiff train data.csv -t v0 -c 2d --horizon 6h $fast -o idle.safetensors --steps 9 -q >/dev/null

# Draws of what was missing and of totals; at any times; the same for any number of threads.
cat >times.csv <<'END'
time,entity
2000-01-03T00:30:00Z,s000
1999-06-01T00:00:00Z,s001
END
llapdiff impute m.safetensors data.csv -q --times times.csv --quantiles 0.5 | cut -d, -f1-4
llapdiff impute m.safetensors data.csv -q --times times.csv --keep-samples -n 2 -j 1 >one.csv
llapdiff impute m.safetensors data.csv -q --times times.csv --keep-samples -n 2 -j 2 >two.csv
cmp one.csv two.csv && cut -d, -f1-5 one.csv
llapdiff impute m.safetensors data.csv -q --times times.csv --keep-samples -n 2 --seed 2 >three.csv
cmp -s one.csv three.csv || echo "another seed"
llapdiff impute m.safetensors data.csv -q --times times.csv --plot x.svg
echo "exit $?"
llapdiff impute m.safetensors data.csv -q --keep-samples -n 3 --json | grep -c '"sample": 2'
llapdiff impute m.safetensors data.csv -q | tail -n +2 | wc -l
llapdiff forecast m.safetensors data.csv -q --total --keep-samples -n 2 | cut -d, -f1-4
