# A packed panel stands for the files that it was made of: the same model and answers, byte by byte.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 3 --variables 2 --rows 300 --seed 3 -q -o data.csv
llapdiff pack data.csv -q -o data.panel
llapdiff pack data.panel -q --shard-rows 524288 -o shards
ls shards
how='-q -c 2d --horizon 6h --size anchor'
for d in data.csv data.panel shards; do
    llapdiff train $d $how --training '{"anchor": {"steps": 5}}' -o $d.st >/dev/null
    llapdiff forecast $d.st $d -q -o $d.answer
    llapdiff impute $d.st $d -q -o $d.filled
    llapdiff evaluate $d.st $d -q -n 20 --bootstrap 0 --json >$d.scores
    llapdiff inspect $d -q --grid 1h | head -1 >$d.grid
done
for what in st answer filled scores grid; do cmp data.csv.$what data.panel.$what && cmp data.csv.$what shards.$what && echo same $what; done
llapdiff synth --entities 3 --variables 2 --rows 300 --seed 3 -q -o made.panel
cmp data.panel made.panel && echo same panel
llapdiff pack data.csv --json -o other.panel 2>/dev/null
# mistakes
say() { "$@" 2>&1 >/dev/null | grep -E '^(warning|llapdiff|  )'; }
say llapdiff pack data.csv
say llapdiff pack data.csv -o data.csv
say llapdiff pack data.csv -o new.panel --grid 1h
say llapdiff pack missing.csv -o new.panel
say llapdiff inspect data.panel --entity station
say llapdiff inspect data.panel data.csv
say llapdiff pack data.csv --shard-rows 524288 -o shards
printf x | dd of=data.panel bs=1 seek=65600 conv=notrunc 2>/dev/null
say llapdiff forecast data.csv.st data.panel -q
head -c 100000 other.panel >cut.panel
say llapdiff inspect cut.panel
rm shards/00000.rows
say llapdiff evaluate shards.st shards -q
ls | grep new
true
