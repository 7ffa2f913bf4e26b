# Mistakes that people make: each is answered by one line that says what is wrong and what to do.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -t v0 -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o m.safetensors -q >/dev/null
number=0
try() {
    number=$((number + 1))
    llapdiff "$@" -q >out 2>err
    code=$?
    lines=$(grep -c . err)
    echo "$number: exit $code, $lines line"
    sed "s/^/   /; s/header of ${size:-0} bytes/header of N bytes/" err
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
size=$(od -An -tu8 -N8 half.safetensors | tr -d ' ') # of the header, which has digits of the fit
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
printf 'time,a,b\n1,2,5,3\n2,3,5,4\n' >decimals.csv
try inspect decimals.csv
try inspect data.csv --separator ';'
try train data.csv -c 900d --horizon 6h -o x
try train data.csv -c 2d --horizon 10s --size anchor --training '{"anchor": {"steps": 20}}' -o x
try train data.csv -c 2d --horizon -6h -o x
try train data.csv -c 2d --horizon 6h --time tiem -o x
try train data.csv -c 2d --horizon 6h --entity station -o x
try train data.csv -t v0,v0 -c 2d --horizon 6h -o x
try train data.csv -c 2d --horizon 6h --size big -o x
try train data.csv -c 2d --horizon 6h --seed abc -o x
try train m.safetensors -c 2d --horizon 6h -o x
try forecast . data.csv
try forecast m.safetensors data.csv --json -o next.csv
{
    cat data.csv
    for h in 1 2 3; do echo "ghost,2000-01-01T0$h:00:00Z,NA,NA"; done
} >ghost.csv
try forecast m.safetensors ghost.csv # an entity without a value
try forecast m.safetensors data.csv --at 1990-01-01
try impute data.csv m.safetensors
try poles m.safetensors --target v1
try inspect data.csv --zone Rome
printf 'time,a\n01/02/2024 10:00,1\n02/03/2024 11:00,2\n' >ambiguous.csv
try inspect ambiguous.csv
gzip -c data.csv | head -c 500 >cut.csv.gz
try inspect cut.csv.gz
echo '{"horizn": "6h"}' >c.json
try forecast m.safetensors data.csv --config c.json
try import . -o x
try evaluate m.safetensors data.csv --windows -
try evaluate m.safetensors data.csv --windows no/folder/w.csv
try evaluate m.safetensors none.csv --plot fit.gif # said before the data is read
try forecast m.safetensors none.csv -o no/folder/next.csv
try impute m.safetensors none.csv --plot gaps.gif
try export m.safetensors folder

# Fifty more: files that a spreadsheet or a logger spoilt, options that do not fit, names that are not there.
printf 'time;a\n1;1,234\n2;5,678\n' >thousand.csv
try inspect thousand.csv
printf 'time,a,b\n1,5,75 %%\n2,6,80 %%\n' >percent.csv
try inspect percent.csv
printf 'time;a;b;c\n1;1,25;7.5;2,5\n2;5,67;8.25;3,5\n' >points.csv
try inspect points.csv
printf 'time,a\n1,2\nTotal,2\n2,3\n3,4\n' >total.csv
try inspect total.csv
printf 'time,a\n1,2\n2,3\nlater,5\n' >later.csv
try inspect later.csv
printf '5\n6\n7\n' >lone.csv
try inspect lone.csv
try inspect lone.csv --start 2024-01-01
try inspect lone.csv --every 1h
try inspect lone.csv --start soon --every 1h
try inspect lone.csv --start 2024-01-01 --every soon
try inspect lone.csv --start 2024-01-01 --every 0h
try inspect data.csv --time time --start 2024-01-01 --every 1h
printf 'a\n5\n\n6\n' >hole.csv
try inspect hole.csv --start 2024-01-01 --every 1h
printf '1,5\n2,5\n' >one-or-two.csv
try inspect one-or-two.csv --start 2024-01-01 --every 1h
printf 'time,a\n2024-10-27 02:30,1\n2024-10-27 04:00,2\n' >autumn.csv
try inspect autumn.csv --zone Europe/Rome
printf 'time,a\n2024-03-31 02:30,1\n2024-03-31 04:00,2\n' >spring.csv
try inspect spring.csv --zone Europe/Rome
try inspect data.csv --twice never
printf 'time,a\n2024-01-01,1\n2024-01-03,2\n' >p1.csv
printf 'time,a\n2024-01-02,1\n2024-01-04,2\n' >p2.csv
try inspect p1.csv p2.csv --join yes
try inspect p1.csv p2.csv --join maybe
try inspect data.csv --comment '###'
try inspect data.csv --decimal x
try inspect data.csv --separator ab
try inspect data.csv --columns v0,v7
try inspect data.csv --drop v7
try inspect data.csv --coded v7
try inspect data.csv --circular v7
try inspect data.csv --time-format nonsense
try inspect data.csv --time-unit fortnight
try inspect data.csv --grid 0h
try inspect data.csv --grid soon
try inspect data.csv --skip-lines 100000
try inspect data.csv --header maybe
printf 'time,a\n1,"2\n3,4\n' >quote.csv
try inspect quote.csv
printf 'time,a\n1,2\0\n' >nul.csv
try inspect nul.csv
printf 'entity,time,a\nx,1,2\n,2,3\n' >nobody.csv
try inspect nobody.csv
try inspect data.csv data.csv none.csv
try train data.csv -t v0 -c 2d --horizon 6h --glitches maybe -o x
try train data.csv -t v0 -c 2d --horizon 6h --known zebra -o x
try train data.csv -t v0 -c 2d --horizon 6h --known v0 -o x
try train data.csv -t v0 -c 2d --horizon 6h --static zebra -o x
try train data.csv -t v0 -c 2d --horizon 6h --shares 50,50 -o x
try train data.csv -t v0 -c 2d --horizon 6h --min v0=abc -o x
try train data.csv -t v0 -c 2d --horizon 6h --kind v0=colour -o x
try train data.csv -t v0 -c 2d --horizon 6h --periods soon -o x
try train data.csv -t v0 -c 2d --horizon 6h --holidays XX -o x
try forecast m.safetensors data.csv --horizon soon
try forecast m.safetensors data.csv --step 0h
try forecast m.safetensors data.csv --times data.csv --at 2000-01-05
try impute m.safetensors data.csv --quantiles 0.5,0.5
try evaluate m.safetensors data.csv --season soon
try evaluate m.safetensors data.csv --by colour
try plot m.safetensors data.csv -o x.png

# No permission. The superuser may do everything, so somebody else tries, if that can be.
nobody=
open=$(mktemp -d)
cp data.csv m.safetensors "$open"
if [ "$(id -u)" = 0 ]; then
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chmod 755 "$open"
fi
chmod 0 "$open/data.csv"
if $nobody llapdiff version >/dev/null 2>&1; then
    number=$((number + 1))
    $nobody llapdiff inspect "$open/data.csv" -q 2>&1 | sed "s|$open|FOLDER|; s/^/$number: /"
    number=$((number + 1))
    chmod 555 "$open"
    $nobody llapdiff synth -q --rows 3 -o "$open/x" 2>&1 | sed "s|$open|FOLDER|; s/^/$number: /"
else
    echo "$((number + 1)): llapdiff inspect: FOLDER/data.csv: Permission denied"
    echo "$((number + 2)): llapdiff synth: FOLDER/x: cannot create a file in its folder: Permission denied"
fi
rm -rf "$open"
ls x folder 2>/dev/null
true
