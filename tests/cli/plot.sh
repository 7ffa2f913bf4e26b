# inspect --plot draws where --version says that there are pictures, and else says why not.
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff inspect data.csv -q --plot map.gif
echo "exit $?"
llapdiff inspect data.csv -q --plot map.svg >report 2>message
if llapdiff --version | grep -q '^  pictures *yes'; then
    [ -s report ] && [ ! -s message ] && grep -q '^Coverage$' map.svg && echo "as the version says"
else
    [ ! -f map.svg ] && grep -q 'map.svg: no pictures: built without cairo' message && echo "as the version says"
fi
