# Two symbols that walk; no weekends.
awk 'BEGIN { srand(2); print "symbol,time,close"
    for (s = 0; s < 2; s++) { p = 100
        for (i = 0; i < 560; i++) { p *= exp(.01 * (rand() + rand() + rand() - 1.5)); if (i % 7 > 4) continue
            printf "%s,%d,%.2f\n", s ? "XYZ" : "ABC", 1640995200 + 86400 * (i + 2), p } } }' >prices.csv
