# Hourly load that falls with the temperature; the last two days have the temperature alone.
load() {
    awk -v from="$1" -v to="$2" -v shift="$3" -v what="$4" 'BEGIN { srand(1); print what == "load" ? "time,load,temperature" : "time,temperature"
        for (i = 0; i < to; i++) { warm = 8 + 6 * sin(i * 6.2832 / 24) + 4 * sin(i / 90); d = int(i / 24) % 7; n = rand()
            if (i < from) continue
            day = 1 + int(i / 24)
            load = what != "load" ? "" : i < 1032 ? sprintf(",%.1f", 80 - 2 * warm - (d > 4 ? 10 : 0) + 3 * n) : ","
            printf("2024-%02d-%02dT%02d:00:00Z%s,%.1f\n", day > 31 ? 2 : 1, day > 31 ? day - 31 : day, i % 24, load, warm + shift) } }'
}
load 0 1080 0 load >load.csv
load 1032 1080 -5 temperature >cold.csv
load 1032 1080 5 temperature >warm.csv
