# Daily readings that go by the weekday: the week is found without being asked for, and not with --periods none.
awk 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
     BEGIN { s = 7; print "time,y"
         for (i = 0; i < 700; i++) printf "%d,%.2f\n", 1577836800 + 86400 * i, (i % 7 == 4 ? 20 : 100) + 10 * u() }' >days.csv
quick='{"anchor":{"steps":20,"rows":16}}'
train() { llapdiff train days.csv -t y -c 60d --horizon 14d --size anchor --training "$quick" -q "$@" -o m; }
train | grep -oE "climate of periods|no climate"
train --periods none | grep -oE "climate of periods|no climate"
