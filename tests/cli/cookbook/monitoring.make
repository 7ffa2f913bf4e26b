# Two hosts, a reading a minute with jitter, one overflow; the last half hour of web1 is slow.
awk 'BEGIN { srand(4); print "time,host,load,latency"
    for (i = 0; i < 2160; i++) for (h = 1; h <= 2; h++) { x[h] = .9 * x[h] + rand() - .5; t = 1709424000 + 60 * i; s = t % 86400
        printf("2024-03-%02dT%02d:%02d:%02dZ,web%d,%.2f,%s\n", 3 + int((t - 1709424000) / 86400), int(s / 3600), int(s % 3600 / 60), 0, h, 1 + .2 * x[h],
            i == 700 && h == 2 ? "65535" : sprintf("%.1f", 40 + 3 * x[h] + (h == 1 && i > 2135 ? 60 : 0))) } }' >metrics.csv
