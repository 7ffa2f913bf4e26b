# Mistakes that people make: each is answered by one line that says what is wrong and what to do.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor -o m.safetensors -q >/dev/null
number=0
try() {
    number=$((number + 1))
    llapdiff "$@" -q >out 2>err
    code=$?
    lines=$(grep -c . err)
    echo "$number: exit $code, $lines line"
    sed 's/^/   /' err
}
try train data.csv --target v00 -c 2d --horizon 6h -o x
try train data.csv --target v0 -c 2d --horizon 900d -o x
try train data.csv --targt v0 -c 2d --horizon 6h -o x
try trian data.csv
try train -c 2d --horizon 6h -o x
try train data.csv -c 2d -o x
try train data.csv -c 2 days --horizon 6h -o x
try train data.csv -t v0 -c 2d --horizon 6h -o .
try train data.csv -t v0 -c 2d --horizon 6h -o no/folder/x
try forecast data.csv data.csv
try forecast m.safetensors m.safetensors
try forecast m.safetensors data.csv --columns v1
try forecast m.safetensors data.csv --samples -5
try forecast m.safetensors data.csv --quantiles 1.5
try forecast m.safetensors data.csv --quantiles 10,50,90
try forecast m.safetensors data.csv --threads 0
try forecast m.safetensors data.csv --horizon 0
try forecast m.safetensors data.csv --at tomorrow
try forecast m.safetensors data.csv --every 0h
try forecast m.safetensors data.csv --times none.csv
try forecast m.safetensors data.csv -o /dev/full
try forecast m.safetensors data.csv --plot next.jpeg
try forecast none.safetensors data.csv
try forecast m.safetensors
head -c 300 m.safetensors >half.safetensors
try info half.safetensors
printf 'time,a\n2024-01-01T00:00Z,1\n' >one.csv
try train one.csv -c 2 --horizon 1 -o x
: >empty.csv
try inspect empty.csv
printf 'time,a,a\n1,2,3\n2,3,4\n' >twice.csv
try inspect twice.csv
printf 'time,a\n2024-01-01T00:00+01:00,1\n2024-01-01 01:00,2\n' >zones.csv
try inspect zones.csv
printf 'time,a\n' >header.csv
try inspect header.csv
printf 'time,a,b\n' >missing.csv
for h in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19; do echo "2024-01-01T$h:00Z,NA,1" >>missing.csv; done
try train missing.csv -t a -c 4h --horizon 2h -o x
printf 'a,b\nx,y\nz,w\n' >words.csv
try inspect words.csv
printf 'time;a\n1;2,5\n2;x\n' >comma.csv
try inspect comma.csv
printf 'time,a\n1,2\n2\n' >short.csv
try inspect short.csv
mkdir empty
try inspect empty
try inspect none.csv
try evaluate m.safetensors data.csv --split tst
try plot data.csv -o x.png
try synth --rows 1
try demo data.csv
ls x 2>/dev/null
true
