# A boiler, every five minutes.
awk 'BEGIN { srand(3); print "time,temperature"
    for (i = 0; i < 1440; i++) { x = .9 * x + rand() - .5
        printf "%d,%.1f\n", 1704067200 + 300 * i, 60 + 8 * sin(i * 6.2832 / 288) + x } }' >boiler.csv
