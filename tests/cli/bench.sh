# bench: a table and JSON of the same measurements; what has no name is refused.
llapdiff bench --size tiny --samples 2 --horizon 6 --batch 2 --seconds 0 -j 1 >table
sed -n 's/^\([a-z][a-z0-9_ ]*[a-z]\) *[0-9]* *[0-9.]* *[0-9.]* *[0-9.]* *3 .*/\1/p' table
grep -c '^size tiny, 1 threads' table
LLAP_ISA=portable llapdiff bench --size tiny --only 'training step' --batch 2 --horizon 6 --seconds 0 -j 1 | sed -n 's/, cpu; bare.*//p'
llapdiff bench --size tiny --only 'training step' --batch 2 --horizon 6 --seconds 0 --json -j 1 >out.json
grep -c '"gflops"' out.json
grep -c '"share_of_products"' out.json
llapdiff bench --only nothing
echo "exit $?"
llapdiff bench --size huge
echo "exit $?"
