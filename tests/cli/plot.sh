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
llapdiff train data.csv --size anchor --target v0 --context 3d --horizon 12h -o model.safetensors -q >/dev/null
llapdiff forecast model.safetensors data.csv -q --plot fan.gif
echo "exit $?"
llapdiff forecast model.safetensors data.csv -q --plot fan.svg -o next.csv 2>message
llapdiff impute model.safetensors data.csv -q --plot gaps.svg -o filled.csv 2>>message
if llapdiff --version | grep -q '^  pictures *yes'; then
    [ ! -s message ] && grep -q '^Forecast$' fan.svg && grep -q '^95 %$' fan.svg && grep -q '^Filled gaps$' gaps.svg &&
        echo "as the version says"
else
    [ ! -f fan.svg ] && [ ! -f next.csv ] && grep -q 'built without cairo' message && echo "as the version says"
fi
