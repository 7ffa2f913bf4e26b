# Shops whose sales go by kind, area and weekday.
awk 'BEGIN { srand(1); print "shop,day,kind,area,sales"; split("kiosk,market,centre", k, ","); split("31,29,31,30", n, ",")
    for (s = 0; s < 14; s++) { i = 0; for (mo = 1; mo <= 4; mo++) for (d = 1; d <= n[mo] && i < 119; d++) { i++
        m = int((3 + 9 * (s % 3)) * (i % 7 == 6 ? .2 : 1) * (.7 + .6 * rand()) + rand())
        printf "%s%d,2024-%02d-%02d,%s,%d,%d\n", s % 2 ? "north" : "south", s, mo, d, k[1 + s % 3], 50 + 100 * (s % 3), m } } }' >sales.csv
printf 'shop,day,kind,area,sales\neast1,2024-04-28,market,150,\n' >opening.csv
