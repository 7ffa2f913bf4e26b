# Every command that the demo's report prints makes the files beside it again, to the byte.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff demo made --size anchor --rows 400 -q >said
mkdir again
sed 's/<\/code>/\n/g' made/report.html | sed -n 's/.*<code>\(llapdiff [a-z]* .*\)/\1/p' >commands
sed 's/^llapdiff \([a-z]*\) .*/\1/' commands
cd again || exit
while read -r command; do eval "$command -q" >out 2>err || { echo "failed: $command"; cat err; }; done <../commands
cd .. || exit
for file in made/*; do
    [ "$file" = made/report.html ] || cmp "$file" "again/${file#made/}" || echo "differs: $file"
done
# What evaluate prints is the report's, and long lines are wrapped, not cut.
grep -c 'the model is better\|the model is worse\|the model may' made/report.html
grep -c 'white-space:pre-wrap' made/report.html
