#include "mqtt/payload.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "base/time/time.h"
#include "data/csv/sample.h"
#include "data/text/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct message {
    const ll_payload_form *f;
    const char            *topic;
    int64_t                now;
    ll_payload_row        *out;
    int64_t                variable; /* that the topic names, or the only one; -1: none */
    bool                   any;      /* something was a variable */
    bool                   timed;
} message;

/* ---- the topic ------------------------------------------------------------------------------ */

static int64_t find_variable(const ll_payload_form *f, const char *name, size_t n)
{
    for (int64_t v = 0; v < f->n_variables; v++)
        if (strlen(f->variable[v]) == n && memcmp(f->variable[v], name, n) == 0) return v;
    return -1;
}

static llap_status set_entity(message *m, const char *text, size_t n)
{
    if (n == 0) text = "series", n = strlen(text);
    if (n > LL_PAYLOAD_ENTITY_MOST)
        return ll_fail(LLAP_ELIMIT, "an entity of %zu bytes, at most %d are taken", n,
                       LL_PAYLOAD_ENTITY_MOST);
    if (memchr(text, '\0', n) != NULL || ll_utf8_prefix(text, n) < n)
        return ll_fail(LLAP_EFORMAT, "the entity is not UTF-8");
    memcpy(m->out->entity, text, n);
    m->out->entity[n] = '\0';
    return LLAP_OK;
}

/* Goes through topic and filter level by level. */
static llap_status read_topic(message *m)
{
    char        entity[LL_PAYLOAD_ENTITY_MOST + 2];
    size_t      n = 0, last;
    const char *t = m->topic, *f = m->f->filter;
    bool        fits = true, more = true;
    const char *slash = strrchr(t, '/'), *name = slash == NULL ? t : slash + 1;
    m->variable = find_variable(m->f, name, strlen(name));
    const bool named = m->variable >= 0;
    if (!named && m->f->n_variables == 1) m->variable = 0;
    while (more && fits) {
        last = strcspn(t, "/");
        const size_t level = strcspn(f, "/");
        const bool   wild = *f == '+' || *f == '#';
        fits = wild || (level == last && memcmp(f, t, last) == 0);
        if (wild && !(named && t == name) && n < sizeof entity) {
            if (n > 0) entity[n++] = '/';
            const size_t room = sizeof entity - n;
            memcpy(entity + n, t, last < room ? last : room);
            n += last < room ? last : room;
        }
        more = t[last] == '/';
        /* # also stands for no level at all */
        if (!more && f[level] == '/') fits = fits && strcmp(f + level, "/#") == 0;
        else if (more && *f != '#') fits = fits && f[level] == '/';
        t += last + more;
        if (*f != '#') f += level + (f[level] == '/');
    }
    if (!fits) return ll_fail(LLAP_EFORMAT, "the topic is none of '%s'", m->f->filter);
    return set_entity(m, entity, n);
}

/* ---- cells ---------------------------------------------------------------------------------- */

static int64_t unit_of(double x)
{
    const double size = fabs(x);
    return size < 1e11 ? INT64_C(1000000000) : size < 1e14 ? 1000000 : size < 1e17 ? 1000 : 1;
}

/* Empty: of now. */
static llap_status read_time(message *m, ll_csv_field text)
{
    double     x;
    const bool number =
        ll_number_double(text.text, text.len, '.', &x) == LL_NUMBER_FINITE && text.len > 0;
    const int64_t unit = m->f->is_number ? m->f->unit_ns : number ? unit_of(x) : 1;
    if (ll_csv_is_missing_word(text)) return LLAP_OK;
    m->timed = true;
    if (number)
        return ll_number_ticks(text.text, text.len, '.', unit, &m->out->time)
                   ? LLAP_OK
                   : ll_fail(LLAP_ELIMIT, "time '%s' is out of range", ll_csv_show(text).text);
    if (m->f->is_number)
        return ll_fail(LLAP_EFORMAT, "expected a time that is a number, found '%s'",
                       ll_csv_show(text).text);
    return ll_time_parse(text.text, text.len, NULL, LL_WALL_ERROR, &m->out->time);
}

/* As readings are: single precision, infinite is missing. */
static void put_value(message *m, int64_t variable, double x)
{
    const float y = (float)x;
    m->out->value[variable] = isfinite(y) ? (double)y : (double)NAN;
    m->any = true;
}

static llap_status read_value(message *m, int64_t variable, ll_csv_field text)
{
    double               x = (double)NAN;
    const ll_number_kind kind = ll_number_double(text.text, text.len, '.', &x);
    if (kind == LL_NUMBER_NONE && !ll_csv_is_missing_word(text))
        return ll_fail(LLAP_EFORMAT, "'%s': expected a number, found '%s'",
                       ll_text_show(m->f->variable[variable]).text, ll_csv_show(text).text);
    put_value(m, variable, kind == LL_NUMBER_FINITE ? x : (double)NAN);
    return LLAP_OK;
}

/* ---- payloads ------------------------------------------------------------------------------- */

static const char *name_of_time(const ll_payload_form *f)
{
    return f->time == NULL ? "time" : f->time;
}

static const char *name_of_entity(const ll_payload_form *f)
{
    return f->entity == NULL ? "entity" : f->entity;
}

static llap_status read_member(message *m, int64_t variable, const ll_json_value *v)
{
    if (v->kind == LL_JSON_STRING)
        return read_value(m, variable,
                          ll_csv_trim((ll_csv_field){ (char *)(uintptr_t)v->text,
                                                      (uint32_t)strlen(v->text), false }));
    if (v->kind == LL_JSON_OTHER)
        return ll_fail(LLAP_EFORMAT, "'%s': expected a number, found an array or object",
                       ll_text_show(m->f->variable[variable]).text);
    put_value(m, variable, v->kind == LL_JSON_NULL ? (double)NAN : v->real);
    return LLAP_OK;
}

static llap_status read_json_time(message *m, const ll_json_value *v)
{
    char   room[LL_DOUBLE_TEXT];
    size_t n = 0;
    if (v->kind == LL_JSON_STRING)
        return read_time(m, ll_csv_trim((ll_csv_field){ (char *)(uintptr_t)v->text,
                                                        (uint32_t)strlen(v->text), false }));
    if (v->kind == LL_JSON_OTHER)
        return ll_fail(LLAP_EFORMAT, "'%s': expected a time, found an array or object",
                       ll_text_show(name_of_time(m->f)).text);
    if (v->kind == LL_JSON_INTEGER)
        n = (size_t)snprintf(room, sizeof room, "%lld", (long long)v->integer);
    if (v->kind == LL_JSON_REAL) n = ll_text_double(v->real, room);
    return read_time(m, (ll_csv_field){ room, (uint32_t)n, false });
}

static llap_status read_object(message *m, const ll_json *j)
{
    const ll_json_value time = ll_json_member(j, name_of_time(m->f));
    const ll_json_value entity = ll_json_member(j, name_of_entity(m->f));
    const ll_json_value value = ll_json_member(j, "value");
    llap_status         st = read_json_time(m, &time);
    if (st == LLAP_OK && entity.kind == LL_JSON_STRING)
        st = set_entity(m, entity.text, strlen(entity.text));
    if (st == LLAP_OK && entity.kind == LL_JSON_INTEGER) {
        char room[32];
        st = set_entity(m, room,
                        (size_t)snprintf(room, sizeof room, "%lld", (long long)entity.integer));
    }
    for (int64_t v = 0; v < m->f->n_variables && st == LLAP_OK; v++) {
        const ll_json_value x = ll_json_member(j, m->f->variable[v]);
        if (x.kind != LL_JSON_ABSENT) st = read_member(m, v, &x);
    }
    if (st == LLAP_OK && !m->any && m->variable >= 0 && value.kind != LL_JSON_ABSENT)
        st = read_member(m, m->variable, &value);
    return st;
}

static llap_status read_json(message *m, ll_csv_field p)
{
    const ll_json_limits limits = { .n_bytes = LL_PAYLOAD_MOST, .n_values = 8192, .depth = 16 };
    ll_json             *j = NULL;
    llap_status          st = ll_json_parse(p.text, p.len, "payload", &limits, &j);
    if (st == LLAP_OK) st = read_object(m, j);
    ll_json_destroy(j);
    return st;
}

/* The next field of the line; quotes are text. */
static ll_csv_field next_field(const char **text, size_t *n)
{
    const char  *comma = memchr(*text, ',', *n);
    const size_t length = comma == NULL ? *n : (size_t)(comma - *text);
    ll_csv_field out = { (char *)(uintptr_t)*text, (uint32_t)length, false };
    *text += length + (comma != NULL);
    *n -= length + (comma != NULL);
    return ll_csv_trim(out);
}

static llap_status read_column(message *m, ll_csv_field name, ll_csv_field cell)
{
    const char *time = name_of_time(m->f), *entity = name_of_entity(m->f);
    if (strlen(time) == name.len && memcmp(time, name.text, name.len) == 0)
        return read_time(m, cell);
    if (strlen(entity) == name.len && memcmp(entity, name.text, name.len) == 0)
        return set_entity(m, cell.text, cell.len);
    const int64_t v = find_variable(m->f, name.text, name.len);
    return v < 0 ? LLAP_OK : read_value(m, v, cell);
}

static size_t count_fields(const char *text, size_t n)
{
    size_t fields = 1;
    for (size_t i = 0; i < n; i++) fields += text[i] == ',';
    return fields;
}

static llap_status read_line(message *m, const char *text, size_t n)
{
    const char  *columns = m->f->columns;
    const size_t found = count_fields(text, n);
    if (columns == NULL) {
        if (found != 2)
            return ll_fail(LLAP_EFORMAT,
                           "expected TIME,VALUE, found %zu fields: name the "
                           "`columns` in the address",
                           found);
        llap_status st = read_time(m, next_field(&text, &n));
        if (st == LLAP_OK && m->variable >= 0)
            st = read_value(m, m->variable, next_field(&text, &n));
        return st;
    }
    size_t       left = strlen(columns);
    const size_t wanted = count_fields(columns, left);
    if (found != wanted)
        return ll_fail(LLAP_EFORMAT, "expected %zu fields, found %zu", wanted, found);
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < found && st == LLAP_OK; i++) {
        const ll_csv_field name = next_field(&columns, &left);
        st = read_column(m, name, next_field(&text, &n));
    }
    return st;
}

/* Blanks and line ends around it are none of it. */
static ll_csv_field trim(const char *p, size_t n)
{
    while (n > 0 && (unsigned char)*p <= ' ' && *p != '\0') p++, n--;
    while (n > 0 && (unsigned char)p[n - 1] <= ' ' && p[n - 1] != '\0') n--;
    return (ll_csv_field){ (char *)(uintptr_t)p, (uint32_t)n, false };
}

static llap_status read_payload(message *m, const char *payload, size_t n)
{
    if (n > LL_PAYLOAD_MOST)
        return ll_fail(LLAP_ELIMIT, "a payload of %zu bytes, at most %d are read", n,
                       LL_PAYLOAD_MOST);
    const ll_csv_field p = trim(payload, n);
    if (memchr(p.text, '\0', p.len) != NULL || ll_utf8_prefix(p.text, p.len) < p.len)
        return ll_fail(LLAP_EFORMAT, "the payload is not text in UTF-8");
    if (p.len == 0) return LLAP_OK;
    if (p.text[0] == '{') return read_json(m, p);
    if (m->f->columns != NULL || memchr(p.text, ',', p.len) != NULL)
        return read_line(m, p.text, p.len);
    return m->variable < 0 ? LLAP_OK : read_value(m, m->variable, p);
}

llap_status ll_payload_read(const ll_payload_form *f, const char *topic, const char *payload,
                            size_t n, int64_t now, ll_payload_row *out, ll_payload_kind *kind)
{
    message m = { .f = f, .topic = topic, .now = now, .out = out };
    assert(f->n_variables > 0 && f->filter[0] != '\0');
    *kind = LL_PAYLOAD_OTHER;
    out->time = now;
    for (int64_t v = 0; v < f->n_variables; v++) out->value[v] = (double)NAN;
    llap_status st = read_topic(&m);
    if (st == LLAP_OK) st = read_payload(&m, payload, n);
    if (st == LLAP_OK && m.any && !m.timed && f->is_number)
        st = ll_fail(LLAP_EFORMAT, "no time, and those of the model are numbers");
    if (st == LLAP_OK && m.any) *kind = LL_PAYLOAD_ROW;
    if (st == LLAP_OK || st == LLAP_ENOMEM) return st;
    return ll_fail_in(st == LLAP_ELIMIT ? st : LLAP_EFORMAT, "topic '%s'",
                      ll_text_show(topic).text);
}
