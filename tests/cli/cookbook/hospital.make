# Patients with vital signs at odd times; new.csv has others.
ward() {
    awk -v from="$1" -v to="$2" -v seed="$3" 'BEGIN { srand(seed); print "patient,time,age,sex,pulse,pressure"
        for (p = from; p < to; p++) { x = 0; t = 1704067200 + 3600 * int(rand() * 100); age = 30 + int(rand() * 50)
            for (i = 0; i < 60; i++) { t += 600 + int(rand() * 3000); x = .8 * x + rand() - .5
                printf("bed%02d,%d,%d,%s,%s,%s\n", p, t, age, p % 2 ? "M" : "F",
                    rand() < .1 ? "" : sprintf("%.0f", 60 + age / 4 + 6 * x), rand() < .6 ? "" : sprintf("%.0f", 120 + 8 * x)) } } }'
}
ward 0 24 1 >ward.csv
ward 10 16 2 >new.csv
