# --plot draws where --version says that there are pictures, and else says why not.
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff inspect data.csv -q --plot map.gif
echo "exit $?"
llapdiff inspect data.csv -q --plot map.svg >report 2>message
if llapdiff --version | grep -q '^  pictures *yes'; then
    [ -s report ] && [ ! -s message ] && grep -q '^Coverage$' map.svg && echo "as the version says"
else
    [ ! -f map.svg ] && grep -q 'map.svg: no pictures: built without cairo' message && echo "as the version says"
fi
llapdiff train data.csv --size anchor --training '{"anchor": {"steps": 20}}' --target v0 --context 3d --horizon 12h -o model.safetensors -q >/dev/null
llapdiff forecast model.safetensors data.csv -q --plot fan.gif
echo "exit $?"
llapdiff forecast model.safetensors data.csv -q --plot fan.svg -o next.csv 2>message
llapdiff impute model.safetensors data.csv -q --plot gaps.svg -o filled.csv 2>>message
if llapdiff --version | grep -q '^  pictures *yes'; then
    ! grep -qv '^warning: ' message && grep -q '^Forecast$' fan.svg && grep -q '^95 %$' fan.svg && grep -q '^Filled gaps$' gaps.svg &&
        echo "as the version says"
else
    [ ! -f fan.svg ] && [ ! -f next.csv ] && grep -q 'built without cairo' message && echo "as the version says"
fi
# Logs, scores and tables of answers are drawn too.
printf '{"stage":"a","step":1,"loss":2.0}\n{"stage":"a","step":2,"loss":1.5,"score":0.5}\n' >run.log
echo '{"targets": [{"name": "no2", "scores": [{"pit": [0.25, 0.25, 0.5]}]}]}' >scores.json
printf 'entity,time,variable,mean,q0.5\nnowhere,2000-02-01T00:00:00Z,v0,1,1\n' >next.csv
printf '{"stage":1}\n' >bad.log
try() {
    llapdiff plot "$@"
    echo "exit $?"
}
try run.log
try run.log -o x.gif
try bad.log -o x.svg
try data.csv -o x.svg
try none.log -o x.svg
try next.csv data.csv -q -o x.svg
try data.csv data.csv -q -o x.svg
if llapdiff --version | grep -q '^  pictures *yes'; then
    llapdiff plot run.log -o run.svg --json &&  grep -c '^\(Training\|a: loss\|a: score\|step\|score on validation\)$' run.svg
    llapdiff plot - -o scores.svg <scores.json && grep -c '^no2: \(PIT\|reliability\)$' scores.svg
    llapdiff plot run.log -o /dev/full 2>/dev/null
    echo "exit $?"
else
    printf '{"picture": "run.svg"}\n6\n2\nexit 1\n'
fi
