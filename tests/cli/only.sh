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
# Gaps of some entities are filled as among all.
llapdiff impute m.st data.csv -q >gaps.csv
llapdiff impute m.st data.csv -q --only 's00[37]' >some.csv
cut -d, -f1 some.csv | sort -u | tr '\n' ' '
echo
grep '^s00[37],' gaps.csv | diff - some.csv | grep -v '^1a2\|^0a1' | head -3
llapdiff impute m.st data.csv -q --only north
llapdiff impute m.st data.csv -q --only s003 --times times.csv
# And scored.
llapdiff evaluate m.st data.csv -q -n 50 --bootstrap 0 --by entity | grep '^s01[01] ' >all.txt
llapdiff evaluate m.st data.csv -q -n 50 --bootstrap 0 --by entity --only 's01[01]' >few.txt
grep '^s0' few.txt | diff all.txt - && echo "scored as among all"
llapdiff evaluate m.st data.csv -q -n 50 --only south
llapdiff evaluate m.st data.csv -q --task impute --by entity --only s010 | grep -c '^s0'
# Pictures: of some, on pages, in a folder.
if llapdiff --version | grep -q '^  pictures *yes'; then
    llapdiff plot all.csv data.csv -q --only s003,s004 -o two.svg && grep -c '^s0' two.svg
    llapdiff forecast m.st data.csv -q --plot pages.pdf -o all.csv
    grep -ac '/Type /Page ' pages.pdf
    llapdiff forecast m.st data.csv -q --plot each/ -o all.csv && ls each | wc -l | tr -d ' ' && ls each | head -1
    llapdiff plot all.csv data.csv -q --only s007 -o each && grep -c '^s007, v0$' each/s007.svg
    llapdiff forecast m.st data.csv -q --plot no/such/ -o none.csv || test ! -e none.csv
    sed '2,$s/^s000,/a\/b <c>,/' data.csv >odd.csv
    llapdiff impute m.st odd.csv -q --plot odd/ -o all.csv 2>err && ls odd | head -1
    # What a forecast is made of: three series a page, or a picture of each entity.
    llapdiff forecast m.st data.csv -q -o all.csv --components parts.pdf 2>err && grep -ac '/Type /Page ' parts.pdf
    llapdiff forecast m.st data.csv -q -o all.csv --only 's00[123]' --components parts/ 2>err && ls parts | tr '\n' ' '
    grep -c '^s002, v0$' parts/s002.svg
    llapdiff forecast m.st data.csv -q -o all.csv --components first.svg 2>err && grep -o 'first 3 of 20 series' first.svg
    # The data itself: of some entities, each, or sixty lines a page after the first.
    llapdiff inspect data.csv -q --plot two.svg --only s003,s004 >about && grep -o '^2 entities, [0-9]* rows' two.svg
    llapdiff inspect data.csv -q --plot seen/ --only 's00?' >about && ls seen | wc -l | tr -d ' ' && grep -o '^1 entity' seen/s009.svg
    llapdiff inspect data.csv -q --plot seen.pdf >about && grep -ac '/Type /Page ' seen.pdf
    llapdiff synth --entities 130 --variables 1 --rows 5 -q -o many.csv
    llapdiff inspect many.csv -q --plot many.pdf >about && grep -ac '/Type /Page ' many.pdf
    llapdiff inspect data.csv -q --plot two.svg --only north >about
else
    printf '2\n2\n20\ns000.svg\n1\na_b__c_+0.svg\n7\ns001.svg s002.svg s003.svg 1\nfirst 3 of 20 series\n2 entities, 516 rows\n10\n1 entity\n1\n4\n'
    echo "llapdiff forecast: no/such/: No such file or directory" >&2
    echo "llapdiff inspect: only: no entity is called 'north'; there are 's000', 's001', 's002', 's003', 's004' and others" >&2
fi
llapdiff inspect data.csv -q --only s003
llapdiff plot run.log -q --only s003 -o x.svg
true
