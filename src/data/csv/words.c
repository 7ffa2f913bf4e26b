#include "data/csv/words.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

const char *const ll_csv_time_words[] = {
    "timestamp",
    "datetime",
    "time",
    "date",
    "ds",
    "timestamputc",
    "datetimeutc",
    "timeutc",
    "dateutc",
    "utc",
    "valid",
    "validtime",
    "obstime",
    "observationtime",
    "localtime",
    "charttime",
    "eventtime",
    "t",
    "ts",
    "datum",
    "zeit",
    "fecha",
    "minutes",
    "hours",
    "seconds",
    "days",
    "timemin",
    "timeminutes",
    "timeh",
    "timehours",
    "timesec",
    "timeseconds",
    "timedays",
    "epoch",
    "unixtime",
    "unix",
    "zeitstempel",
    "zeitpunkt",
    "datumzeit",
    "buchungstag",
    "horodatage",
    "dateheure",
    "fechahora",
    "dataora",
    "tijdstip",
    "datetijd",
    "marcatemporal",
    NULL,
};
const char *const ll_csv_date_words[] = { "date", "datum", "fecha", "data", "dato", "jour", NULL };
const char *const ll_csv_clock_words[] = { "time", "hour",    "hr",   "hh",    "timeofday",
                                           "zeit", "uhrzeit", "hora", "ora",   "heure",
                                           "tijd", "tid",     "klok", "clock", NULL };
/* A number of these has this unit. */
static const char *const unit_words[][2] = {
    { "minutes", "min" }, { "hours", "h" },         { "seconds", "s" },  { "days", "d" },
    { "timemin", "min" }, { "timeminutes", "min" }, { "timeh", "h" },    { "timehours", "h" },
    { "timesec", "s" },   { "timeseconds", "s" },   { "timedays", "d" },
};
const char *const ll_csv_entity_words[] = {
    "entity",     "entityid",   "station",    "stationid", "stationname", "site",     "siteid",
    "sitename",   "sensor",     "sensorid",   "device",    "deviceid",    "uniqueid", "seriesid",
    "series",     "patient",    "patientid",  "subject",   "subjectid",   "recordid", "stayid",
    "icustayid",  "hadmid",     "ticker",     "symbol",    "asset",       "coin",     "item",
    "itemid",     "location",   "locationid", "city",      "store",       "storeid",  "customer",
    "customerid", "unitid",     "unitnumber", "machine",   "machineid",   "meter",    "meterid",
    "building",   "buildingid", "host",       "hostname",  "region",      "country",  "node",
    "nodeid",     "turbine",    "turbineid",  "well",      "plant",       "group",    "id",
    NULL
};
const char *const ll_csv_variable_words[] = {
    "variable",      "variablename", "var",     "parameter", "param",
    "parametername", "channel",      "feature", "metric",    "signal",
    "measure",       "measurement",  "element", "quantity",  "indicator",
    "attribute",     "pollutant",    "tag",     "label",     NULL
};
const char *const ll_csv_value_words[] = { "value",    "val",    "reading",       "values",
                                           "valuenum", "result", "measuredvalue", NULL };
const char *const ll_csv_counter_words[] = { "",    "no",     "nr",    "num", "index",
                                             "row", "rownum", "rowid", "id",  "unnamed0",
                                             "obs", "number", "n",     NULL };
const char *const ll_csv_part_words[LL_CLOCK_PARTS_MAX][6] = {
    { "year", "yyyy", "yr", "yy", NULL },        { "month", "mm", "mo", "mon", NULL },
    { "day", "dd", "dom", "mday", NULL },        { "hour", "hh", "hr", NULL },
    { "minute", "min", "mn", "mi", "mm", NULL }, { "second", "sec", "ss", NULL },
};

int ll_csv_word(const char *name, const char *const *words)
{
    char   plain[32];
    size_t n = 0;
    if (strcmp(name, "T") == 0) return -1; /* t is time, T is temperature */
    for (const char *p = name; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && (unsigned char)*p < 128) continue;
        if (n + 1 == sizeof plain) return -1;
        plain[n++] = (char)tolower((unsigned char)*p);
    }
    plain[n] = '\0';
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(plain, words[i]) == 0) return i;
    return -1;
}

const char *ll_csv_unit_of(const char *name)
{
    for (size_t i = 0; i < sizeof unit_words / sizeof unit_words[0]; i++) {
        const char *const word[] = { unit_words[i][0], NULL };
        if (ll_csv_word(name, word) >= 0) return unit_words[i][1];
    }
    return "";
}
