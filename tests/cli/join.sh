# A series that was cut over several files is one again, where the files show it.
part() { awk -v a=$1 -v b=$2 'BEGIN { print "time,x"; for (h = a; h < b; h++) printf "2024-01-%02dT%02d:00Z,%d\n", 1 + h / 24, h % 24, h }' >$3; }
part 0 100 air_1.csv
part 100 200 air_2.csv
part 203 300 air_3.csv
part 50 150 over.csv
part 500 600 later.csv
show() { llapdiff inspect "$@" 2>err | head -1; grep -E '^(warning|llapdiff)' err; }
show air_3.csv air_1.csv air_2.csv
llapdiff inspect air_1.csv air_2.csv -q --json | grep -c '"entities": 1'
show air_1.csv air_2.csv --join no
show air_1.csv over.csv
show air_1.csv over.csv --join yes
show air_1.csv over.csv --entity ''
show air_1.csv later.csv
show air_1.csv later.csv --join yes
cp air_1.csv station7_202401.csv && cp air_2.csv station9_202401.csv
show station7_202401.csv station9_202401.csv
sed s/x/y/ air_2.csv >other.csv
show air_1.csv other.csv
# other names are other stations, though one goes on where the other ends
cp air_1.csv 071690-99999-2016.csv && cp air_2.csv 317540-99999-2017.csv
show 071690-99999-2016.csv 317540-99999-2017.csv
part 648 744 december.csv && sed s/2024-01/2023-12/ december.csv >wind-2023-12.csv && cp air_1.csv wind-2024-01.csv
show wind-2023-12.csv wind-2024-01.csv
mkdir months && mv air_?.csv months
show months
awk 'BEGIN { print "entity,time,x"; for (h = 0; h < 9; h++) printf "a,2024-01-01T%02d:00Z,%d\n", h, h }' >named.csv
show named.csv --join yes
# names of whole characters, and one where none is left
part 0 100 café1.csv && part 100 200 café2.csv && part 0 100 1.csv && part 100 200 2.csv
show café1.csv café2.csv
show 1.csv 2.csv
# numbers of one file and words of another under one name: the numbers are no words
awk 'BEGIN { print "time,a"; for (h = 0; h < 20; h++) printf "2024-01-01T%02d:00Z,%d\n", h, 5000 - 700 * h }' >numbers.csv
awk 'BEGIN { print "time,b"; for (h = 0; h < 20; h++) printf "2024-01-01T%02d:00Z,%s\n", h, h % 2 ? "ok" : "bad" }' >words.csv
show numbers.csv words.csv --columns x=a,x=b
true
