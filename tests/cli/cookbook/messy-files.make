# The files that the page tells of.
{
    echo 'Datum;Zeit;NO2;O3;'
    echo ';;ug/m3;ug/m3;'
    awk 'BEGIN { for (i = 0; i < 96; i++) printf "%02d/03/2024;%02d.00;%s;%d,%d;\n", 10 + int(i / 24), i % 24, i % 9 ? 20 + i % 7 ",5" : "-200", 40 + i % 5, i % 10 }'
} >export.csv
awk 'BEGIN { print "time;value"; for (i = 0; i < 60; i++) printf "2024-01-%02dT%02d:00:00Z;%s\n", 1 + i / 24, i % 24, i == 7 ? "below limit" : i == 9 ? "defekt" : "1.5" i % 10 "8,65" }' >lab.csv
for y in 2022 2023; do
    awk -v y=$y 'BEGIN { print "time,flow"; for (d = 1; d < 29; d++) printf "%d-02-%02d,%d\n", y, d, d * 3 % 11 }' >year$y.csv
done
awk 'BEGIN { print "time,parameter,result"; for (i = 0; i < 48; i++) for (k = 0; k < 2; k++) printf "2024-01-%02dT%02d:00:00Z,%s,%d\n", 1 + i / 24, i % 24, k ? "pH" : "flow", i % 7 + k }' >long.csv
awk 'BEGIN { print "level"; for (i = 0; i < 50; i++) print i % 7 + .5 }' >values.txt
awk 'BEGIN { print "time,power"; for (h = 0; h < 3; h++) print "2024-10-27 0" h ":00:00," h; print "2024-10-27 02:00:00,9"; for (h = 3; h < 10; h++) print "2024-10-27 0" h ":00:00," h }' >local.csv
awk 'BEGIN { print "date,sales"; for (m = 1; m < 4; m++) for (d = 1; d < 13; d++) printf "%02d/%02d/2024,%d\n", m, d, d * 7 % 5 }' >us.csv
