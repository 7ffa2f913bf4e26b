# Columns of scores do not run together, however long the names and large the numbers are.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -q |
    awk -F, 'NR > 1 { sub("s000", "the_first_station_of_the_upper_valley", $1); $3 = $3 == "" ? "" : sprintf("%.6g", $3 * 3e8) } 1' OFS=, >data.csv
llapdiff train data.csv -q -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 5}}' -o m.st >about
for by in all entity step; do
    llapdiff evaluate m.st data.csv -q -n 50 --bootstrap 0 --units --by $by >$by.txt
done
# Rows of the table: name, CRPS, MSE, MAE, three shares, and by how much the model is better.
sed -n 's/^  \([a-z_0-9]* .*\)/\1/p' all.txt | grep -v '^energy\|^the model\|CRPS' | awk '{ print NF }' | sort -u | tr '\n' ' '
echo
for by in entity step; do
    sed -n '/^\(entity\|steps ahead\) /,/^no intervals/p' $by.txt | grep -v '^no intervals' |
        awk 'NR == 1 { sub("steps ahead", "steps"); sub("  CRPS.*", " within"); n = NF } NF != n { print "runs together:", $0 }'
done
grep -o 'CRPS, in standard deviations.*' entity.txt
# One of each is one; too few days say so where no interval is shown.
awk -F, 'NR == 1 || $1 == "s001"' data.csv >one.csv
llapdiff inspect one.csv -q | grep -o '^1 entity\|of 1 file '
llapdiff evaluate m.st one.csv -q -n 50 >few.txt
grep -c '\[' few.txt
grep -o 'too little data to be sure\|no intervals of differences: [0-9]* day' few.txt | sort -u
