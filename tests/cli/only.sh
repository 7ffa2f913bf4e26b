# Of many entities some are asked about, with the same answers as among all.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 20 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 5}}' -o m.st -q >about
llapdiff forecast m.st data.csv -q >all.csv
llapdiff forecast m.st data.csv -q --only s003,s01? >some.csv
cut -d, -f1 some.csv | sort -u | tr '\n' ' '
echo
grep -c . some.csv
grep -v -x -F -f all.csv some.csv
llapdiff forecast m.st data.csv -q --only 's*' | cmp - all.csv && echo same
llapdiff forecast m.st data.csv -q --only s003 --every 1d | cut -d, -f1 | sort -u
llapdiff forecast m.st data.csv -q --only s003,north
llapdiff forecast m.st data.csv -q --only ,
printf 'time\n2030-01-01\n' >times.csv
llapdiff forecast m.st data.csv -q --only s003 --times times.csv
if llapdiff --version | grep -q '^  pictures *yes'; then llapdiff forecast m.st data.csv -q --only s015 --plot one.svg >about && test -s one.svg && echo drawn; else echo drawn; fi
true
