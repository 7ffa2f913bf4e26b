# What reading decides can be overruled, and nothing is lost without being counted.
printf 'station report\n# 2024\ntime,a,note\n1,-9999,x\n2,5,y\n2,6,x\n1,7,y\n' >a.csv
llapdiff inspect a.csv --skip-lines 2 --json | sed -n '/"reading"/,$p'
llapdiff inspect a.csv --skip-lines 2 -q --codes keep --words code | sed -n 's/^  \(a\|note\) .*/\1/p; s/^read: //p'
llapdiff inspect a.csv --skip-lines 2 --duplicates error
llapdiff inspect a.csv --skip-lines 2 --unordered error
llapdiff inspect a.csv --skip-lines 2 --words error
llapdiff inspect a.csv --skip-lines 2 --words nowhere
printf 'time,a\n1,2\n2,off\n3,4\n' >b.csv
llapdiff inspect b.csv
llapdiff inspect b.csv --bad missing --json | grep -c '"bad_cells": 1'
printf '1,2\n3,4\n' >c.csv
llapdiff inspect c.csv -q --header no --time c1 | tail -1 | cut -c 1-5
printf 'time,variable,value\n1,x,2\n2,y,3\n' >d.csv
llapdiff inspect d.csv -q --form wide --words code | tail -2 | cut -c 1-12
printf "time;a\n1;'2'\n3;'4'\n" >e.csv
llapdiff inspect e.csv -q --quote "'" | tail -1 | cut -c 1-5
printf 'time,a\n2024-01-01T00:00Z,1\n2024-01-01T01:00Z,2\n2024-01-01T01:10Z,3\n2024-01-01T02:00Z,4\n' >f.csv
llapdiff inspect f.csv --grid 1h --bin exact | head -1
llapdiff inspect f.csv --grid 1h | head -1
printf 'entity,time,a,b\nx,2024-01-01T00:00Z,1,2.0001\nx,2024-01-01T01:00Z,,3\nx,2024-01-01T02:00Z,,\ny,2024-01-01T00:00Z,4,\n' >g.csv
llapdiff inspect g.csv --fill forward | sed -n 3p
llapdiff inspect g.csv --row-min 0.6 | head -1
llapdiff inspect g.csv --columns-kept common | tail -1 | cut -c 1-12
llapdiff inspect g.csv --half yes -q | tail -1 | awk '{ print $1, $3 }'
llapdiff inspect g.csv --row-min 2
llapdiff inspect g.csv --fill backward
printf 'time,a\n2024-01-01T00:00Z,1\n2024-01-01T00:00Z,2\n' >h.csv
llapdiff inspect h.csv --duplicates error
printf 'time,a\n2024-10-27 02:30,1\n2024-10-27 04:00,2\n' >i.csv
llapdiff inspect i.csv --zone Europe/Rome
llapdiff inspect i.csv -q --zone Europe/Rome --twice earlier | sed -n 's/gaps: least \([^,]*\),.*/\1/p'
llapdiff inspect i.csv -q --zone Europe/Rome --twice later | sed -n 's/gaps: least \([^,]*\),.*/\1/p'
llapdiff synth --entities 1 --variables 2 --rows 3 --form long | sed 1q
llapdiff synth --form tall
true
