#include "base/time/timefmt.h"

#include "base/error.h"
#include "base/time/timetext.h"

#include <string.h>

/* What conversions read and write. YEAR2 and HOUR12 stand beside what they mean. */
typedef enum field {
    YEAR,
    YEAR2,
    MONTH,
    DAY,
    YDAY,
    HOUR,
    HOUR12,
    HALF, /* 0 AM, 1 PM */
    MINUTE,
    SECOND,
    WEEKDAY,
    UTC, /* which of its names */
    N_FIELDS
} field;

typedef struct stamp {
    int32_t  v[N_FIELDS];
    int32_t  ns, offset_s;
    int      digits;   /* of the fraction, when writing */
    bool     negative; /* of the epoch number, which is sign and magnitude */
    uint64_t epoch_s;
} stamp;

/* Fields of which a format may have one each. */
enum {
    HAS_YEAR = 1 << 0,
    HAS_MONTH = 1 << 1,
    HAS_DAY = 1 << 2,
    HAS_YDAY = 1 << 3,
    HAS_HOUR = 1 << 4,
    HAS_HALF = 1 << 5,
    HAS_MINUTE = 1 << 6,
    HAS_SECOND = 1 << 7,
    HAS_FRACTION = 1 << 8,
    HAS_WEEKDAY = 1 << 9,
    HAS_ZONE = 1 << 10,
    HAS_EPOCH = 1 << 11
};

typedef struct conversion conversion;
struct conversion {
    char     letter;
    uint32_t has;
    bool     varies; /* in width as written, and ends with a digit */
    bool     digits; /* begins with one */
    field    where;  /* numbers and names */
    llap_status (*read)(const conversion *c, ll_scan *s, stamp *x);
    char *(*write)(const conversion *c, char *p, const stamp *x);
    ll_number          rule;  /* numbers */
    const char *const *names; /* names, rule.low .. rule.high */
};

/* ---- the conversions ---- */

static llap_status read_number(const conversion *c, ll_scan *s, stamp *x)
{
    return ll_scan_number(s, &c->rule, &x->v[c->where]);
}

static char *write_number(const conversion *c, char *p, const stamp *x)
{
    return ll_put_digits(p, (uint64_t)x->v[c->where], c->rule.max);
}

static llap_status read_padded(const conversion *c, ll_scan *s, stamp *x)
{
    ll_scan_skip_blanks(s);
    return read_number(c, s, x);
}

static char *write_padded(const conversion *c, char *p, const stamp *x)
{
    char *end = write_number(c, p, x);
    if (*p == '0') *p = ' ';
    return end;
}

static llap_status read_name(const conversion *c, ll_scan *s, stamp *x)
{
    for (int32_t i = c->rule.low; i <= c->rule.high; i++) {
        if (!ll_scan_take_word(s, c->names[i - c->rule.low])) continue;
        x->v[c->where] = i;
        return LLAP_OK;
    }
    return ll_scan_expected(s, "%s", c->rule.name);
}

static char *write_name(const conversion *c, char *p, const stamp *x)
{
    return ll_put_text(p, c->names[x->v[c->where] - c->rule.low]);
}

static llap_status read_fraction(const conversion *c, ll_scan *s, stamp *x)
{
    (void)c;
    return ll_scan_fraction(s, &x->ns);
}

static char *write_fraction(const conversion *c, char *p, const stamp *x)
{
    (void)c;
    return ll_put_fraction(p, (uint32_t)x->ns, 9, x->digits);
}

static llap_status read_offset(const conversion *c, ll_scan *s, stamp *x)
{
    (void)c;
    return ll_scan_take_word(s, "Z") ? LLAP_OK : ll_scan_offset(s, 2, &x->offset_s);
}

static char *write_offset(const conversion *c, char *p, const stamp *x)
{
    (void)c;
    return ll_put_offset(p, x->offset_s, false);
}

static llap_status read_epoch(const conversion *c, ll_scan *s, stamp *x)
{
    (void)c;
    x->negative = ll_scan_take(s, '-');
    if (!x->negative) (void)ll_scan_take(s, '+');
    const size_t start = s->at;
    for (; ll_is_digit(ll_scan_peek(s)) && x->epoch_s < UINT64_C(10000000000); s->at++)
        x->epoch_s = x->epoch_s * 10 + (uint64_t)(s->text[s->at] - '0');
    if (s->at == start) return ll_scan_expected(s, "seconds since 1970");
    return ll_is_digit(ll_scan_peek(s)) ? ll_scan_fail_range(s) : LLAP_OK;
}

static char *write_epoch(const conversion *c, char *p, const stamp *x)
{
    (void)c;
    if (x->negative) *p++ = '-';
    return ll_put_number(p, x->epoch_s);
}

static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };
static const char *const months3[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
static const char *const weekdays[] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday" };
static const char *const weekdays3[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
static const char *const halves[] = { "AM", "PM" };
static const char *const utc_names[] = { "UTC", "GMT", "Z" };

#define NUMBER(letter, has, where, name, min, max, low, high)                                      \
    {                                                                                              \
        letter, has, false, true, where, read_number, write_number, { name, min, max, low, high }, \
            NULL                                                                                   \
    }
#define NAME(letter, has, where, text, low, high, names)                                          \
    {                                                                                             \
        letter, has, false, false, where, read_name, write_name, { text, 0, 0, low, high }, names \
    }

/* clang-format off */
static const conversion conversions[] = {
    NUMBER('Y', HAS_YEAR,    YEAR,    "year",            4, 4, 0, 9999),
    NUMBER('y', HAS_YEAR,    YEAR2,   "year",            2, 2, 0, 99),
    NUMBER('m', HAS_MONTH,   MONTH,   "month",           1, 2, 1, 12),
    NAME(  'b', HAS_MONTH,   MONTH,   "a month, Jan to Dec", 1, 12, months3),
    NAME(  'B', HAS_MONTH,   MONTH,   "a month, January to December", 1, 12, months),
    NUMBER('d', HAS_DAY,     DAY,     "day",             1, 2, 1, 31),
    { 'e', HAS_DAY, true, true, DAY, read_padded, write_padded, { "day", 1, 2, 1, 31 }, NULL },
    NUMBER('j', HAS_YDAY,    YDAY,    "day of the year", 1, 3, 1, 366),
    NUMBER('H', HAS_HOUR,    HOUR,    "hour",            1, 2, 0, 24),
    NUMBER('I', HAS_HOUR,    HOUR12,  "hour",            1, 2, 1, 12),
    NAME(  'p', HAS_HALF,    HALF,    "AM or PM", 0, 1, halves),
    NUMBER('M', HAS_MINUTE,  MINUTE,  "minute",          1, 2, 0, 59),
    NUMBER('S', HAS_SECOND,  SECOND,  "second",          1, 2, 0, 60),
    NAME(  'a', HAS_WEEKDAY, WEEKDAY, "a day, Mon to Sun", 0, 6, weekdays3),
    NAME(  'A', HAS_WEEKDAY, WEEKDAY, "a day, Monday to Sunday", 0, 6, weekdays),
    NAME(  'Z', HAS_ZONE,    UTC,     "UTC, GMT or Z", 0, 2, utc_names),
    { 'f', HAS_FRACTION, true, true,  N_FIELDS, read_fraction, write_fraction, { 0 }, NULL },
    { 'z', HAS_ZONE,    false, false, N_FIELDS, read_offset,   write_offset,   { 0 }, NULL },
    { 's', HAS_EPOCH,   true,  true,  N_FIELDS, read_epoch,    write_epoch,    { 0 }, NULL },
};
/* clang-format on */

#define N_CONVERSIONS (sizeof conversions / sizeof *conversions)
#define LITERAL 0xff /* steps that are no conversion */
#define BLANK 0xfe

static const struct {
    char        letter;
    const char *text;
} shorthands[] = { { 'F', "%Y-%m-%d" }, { 'D', "%m/%d/%y" }, { 'T', "%H:%M:%S" },
                   { 'R', "%H:%M" },    { 'n', "\n" },       { 't', "\t" } };

/* Whether the format has the conversion. */
static bool uses(const ll_timefmt *f, char letter)
{
    size_t i = 0;
    while (conversions[i].letter != letter) i++;
    return (f->used >> i & 1) != 0;
}

/* ---- checking a format ---- */

static bool ends_open(const ll_timefmt *f) /* the last step swallows digits behind it */
{
    if (f->n == 0) return false;
    const uint8_t last = f->step[f->n - 1];
    return last < N_CONVERSIONS && conversions[last].varies;
}

static llap_status add_step(ll_timefmt *f, const ll_scan *s, uint8_t step, char literal)
{
    const bool digit = step < N_CONVERSIONS ? conversions[step].digits : ll_is_digit(literal);
    if (digit && ends_open(f))
        return ll_scan_expected(s, "no digits behind %%%c, whose width varies",
                                conversions[f->step[f->n - 1]].letter);
    if (f->n == LL_TIMEFMT_MAX)
        return ll_scan_fail(s, LLAP_ELIMIT, "expected at most %d characters and conversions",
                            LL_TIMEFMT_MAX);
    f->step[f->n] = step;
    f->literal[f->n++] = literal;
    return LLAP_OK;
}

static llap_status add_literal(ll_timefmt *f, const ll_scan *s, char c)
{
    return add_step(f, s, ll_is_blank((unsigned char)c) ? BLANK : LITERAL, c);
}

static llap_status add_conversion(ll_timefmt *f, const ll_scan *s, char letter)
{
    for (uint8_t i = 0; i < N_CONVERSIONS; i++) {
        const conversion *c = &conversions[i];
        if (c->letter != letter) continue;
        if ((f->fields & c->has) != 0)
            return ll_scan_expected(s,
                                    "each part of a time once, without a second %%%c or what "
                                    "stands for it",
                                    letter);
        f->fields |= c->has;
        f->used |= 1u << i;
        return add_step(f, s, i, 0);
    }
    return ll_scan_expected(s, "a conversion out of YymbBdejHIpMSfaAzZsFDTRnt%% behind a %%");
}

static llap_status add_shorthand(ll_timefmt *f, const ll_scan *s, const char *text)
{
    llap_status st = LLAP_OK;
    for (; *text != '\0' && st == LLAP_OK; text++)
        st = *text == '%' ? add_conversion(f, s, *++text) : add_literal(f, s, *text);
    return st;
}

static llap_status add_percent(ll_timefmt *f, const ll_scan *s, char letter)
{
    if (letter == '%') return add_literal(f, s, '%');
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
        if (shorthands[i].letter == letter) return add_shorthand(f, s, shorthands[i].text);
    return add_conversion(f, s, letter);
}

/* Whether what the format has names an instant; the rows are read downwards. */
static llap_status check_fields(const ll_timefmt *f, const ll_scan *s)
{
    const uint32_t has = f->fields;
    const uint32_t with_epoch = HAS_EPOCH | HAS_FRACTION;
    const struct {
        bool        wrong;
        const char *why;
    } rows[] = {
        { (has & HAS_EPOCH) != 0 && (has & ~with_epoch) != 0, "%s goes with %f only" },
        { (has & (HAS_EPOCH | HAS_YEAR)) == 0, "expected a year, %Y or %y" },
        { (has & HAS_YDAY) != 0 && (has & (HAS_MONTH | HAS_DAY)) != 0,
          "%j goes without month and day" },
        { (has & (HAS_EPOCH | HAS_YDAY | HAS_MONTH)) == 0, "expected a month, %m, %b or %B" },
        { (has & (HAS_EPOCH | HAS_YDAY | HAS_DAY)) == 0, "expected a day, %d or %e" },
        { uses(f, 'I') != ((has & HAS_HALF) != 0), "%I and %p go together" },
        { (has & HAS_MINUTE) != 0 && (has & HAS_HOUR) == 0, "%M needs an hour, %H or %I" },
        { (has & HAS_SECOND) != 0 && (has & HAS_MINUTE) == 0, "%S needs a minute, %M" },
        { (has & HAS_FRACTION) != 0 && (has & (HAS_SECOND | HAS_EPOCH)) == 0,
          "%f needs a second, %S or %s" },
        { uses(f, 'z') && (has & HAS_MINUTE) == 0, "%z needs a minute, %M" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].wrong) return ll_scan_fail(s, s->code, "%s", rows[i].why);
    return LLAP_OK;
}

llap_status ll_timefmt_init(ll_timefmt *f, const char *text, size_t n)
{
    *f = (ll_timefmt){ 0 };
    ll_scan s = { text, n, 0, "time format", LLAP_EINVAL };
    for (; s.at < n; s.at++) {
        llap_status st;
        if (text[s.at] != '%') {
            st = add_literal(f, &s, text[s.at]);
        } else {
            st = add_percent(f, &s, s.at + 1 < n ? text[s.at + 1] : '\0');
            s.at++;
        }
        if (st != LLAP_OK) return st;
    }
    return check_fields(f, &s);
}

/* ---- reading ---- */

static llap_status read_step(const ll_timefmt *f, size_t i, ll_scan *s, stamp *x)
{
    const uint8_t step = f->step[i];
    if (step < N_CONVERSIONS) return conversions[step].read(&conversions[step], s, x);
    if (step == BLANK) {
        const bool goes_on = i > 0 && f->step[i - 1] == BLANK;
        if (!goes_on && !ll_is_blank(ll_scan_peek(s))) return ll_scan_expected(s, "a blank");
        ll_scan_skip_blanks(s);
        return LLAP_OK;
    }
    if (ll_scan_take(s, f->literal[i])) return LLAP_OK;
    const unsigned char c = (unsigned char)f->literal[i];
    if (c < ' ' || c >= 0x7f) return ll_scan_expected(s, "byte 0x%02x", c);
    return ll_scan_expected(s, "'%c'", c);
}

static llap_status resolve(const ll_timefmt *f, const ll_scan *s, const stamp *x,
                           const ll_zone *zone, ll_wall wall, int64_t *out)
{
    const int32_t year2 = x->v[YEAR2];
    ll_reading    r = { .year = x->v[YEAR],
                        .month = x->v[MONTH],
                        .day = x->v[DAY],
                        .hour = x->v[HOUR],
                        .minute = x->v[MINUTE],
                        .second = x->v[SECOND],
                        .ns = x->ns,
                        .zoned = (f->fields & HAS_ZONE) != 0,
                        .offset_s = x->offset_s };
    if (uses(f, 'y')) r.year = year2 + (year2 < 69 ? 2000 : 1900);
    if (uses(f, 'I')) r.hour = x->v[HOUR12] % 12 + 12 * x->v[HALF];
    ll_civil date = { 0 };
    if (uses(f, 'j')) {
        ll_date_from_days(ll_days_from_date(r.year, 1, x->v[YDAY]), &date);
        if (date.year != r.year)
            return ll_scan_fail(s, s->code, "%04d has 365 days, found day 366", (int)r.year);
        r.month = date.month;
        r.day = date.day;
    }
    const llap_status st = ll_reading_resolve(s, &r, zone, wall, out);
    if (st != LLAP_OK || (f->fields & HAS_WEEKDAY) == 0) return st;
    ll_date_from_days(ll_days_from_date(r.year, r.month, r.day), &date);
    if (date.weekday != x->v[WEEKDAY])
        return ll_scan_fail(s, s->code, "%04d-%02d-%02d is a %s, found %s", (int)r.year,
                            (int)r.month, (int)r.day, weekdays[date.weekday],
                            weekdays[x->v[WEEKDAY]]);
    return LLAP_OK;
}

llap_status ll_timefmt_parse(const ll_timefmt *f, const char *text, size_t n, const ll_zone *zone,
                             ll_wall wall, int64_t *out)
{
    ll_scan     s = { text, n, 0, "time", LLAP_EFORMAT };
    stamp       x = { 0 };
    llap_status st = LLAP_OK;
    int64_t     t = 0;
    for (size_t i = 0; i < f->n && st == LLAP_OK; i++) st = read_step(f, i, &s, &x);
    if (st == LLAP_OK && s.at < n) st = ll_scan_expected(&s, "the end");
    if (st != LLAP_OK) return st;
    if ((f->fields & HAS_EPOCH) == 0) {
        st = resolve(f, &s, &x, zone, wall, &t);
    } else {
        const int64_t sign = x.negative ? -1 : 1;
        if (!ll_ns_from_parts(sign * (int64_t)x.epoch_s, sign * x.ns, &t))
            st = ll_scan_fail_range(&s);
    }
    if (st == LLAP_OK) *out = t;
    return st;
}

/* ---- writing ---- */

static stamp stamp_at(const ll_timefmt *f, int64_t t, const ll_zone *zone)
{
    int32_t offset_s = 0; /* %Z knows UTC only */
    if (!uses(f, 'Z')) offset_s = ll_zone_at(zone, ll_floor_s(t)).offset_s;
    if (uses(f, 'z')) offset_s = offset_s / 60 * 60; /* so that the clock agrees with the offset */
    const ll_civil c = ll_civil_at_offset(t, offset_s);
    const uint64_t size = t < 0 ? 0 - (uint64_t)t : (uint64_t)t;
    stamp          x = {
                 .ns = c.ns, .offset_s = offset_s, .negative = t < 0, .epoch_s = size / (uint64_t)LL_NS_PER_S
    };
    if ((f->fields & HAS_EPOCH) != 0) x.ns = (int32_t)(size % (uint64_t)LL_NS_PER_S);
    const int32_t v[N_FIELDS] = {
        [YEAR] = c.year,
        [YEAR2] = c.year % 100,
        [MONTH] = c.month,
        [DAY] = c.day,
        [YDAY] = c.yday,
        [HOUR] = c.hour,
        [HOUR12] = (c.hour + 11) % 12 + 1,
        [HALF] = c.hour / 12,
        [MINUTE] = c.minute,
        [SECOND] = c.second,
        [WEEKDAY] = c.weekday,
    };
    memcpy(x.v, v, sizeof v);
    return x;
}

llap_status ll_timefmt_write(const ll_timefmt *f, int64_t t, const ll_zone *zone, int digits,
                             char out[LL_TIMEFMT_TEXT_MAX], size_t *len)
{
    stamp x = stamp_at(f, t, zone);
    x.digits = digits < 1 ? -2 : digits; /* -2: exact, at least one */
    if (uses(f, 'y') && (x.v[YEAR] < 1969 || x.v[YEAR] > 2068))
        return ll_fail(LLAP_ELIMIT, "%%y writes the years 1969..2068, not %d", (int)x.v[YEAR]);
    char *p = out;
    for (size_t i = 0; i < f->n; i++) {
        const uint8_t step = f->step[i];
        if (step < N_CONVERSIONS) p = conversions[step].write(&conversions[step], p, &x);
        else *p++ = f->literal[i];
    }
    *p = '\0';
    *len = (size_t)(p - out);
    return LLAP_OK;
}
