/* Readings of an MQTT broker into a stream. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "mqtt/mqtt.h"
#include "stream/stream.h"

#include <llapdiff/broker.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TOLD_MOST = 20 };

struct llap_broker {
    llap_stream       *s;
    ll_mqtt_address    address;
    ll_mqtt_client    *client;
    ll_payload_form    form;
    atomic_bool        stop; /* never: who waits, waits in pieces */
    llap_log           log;
    double            *value; /* [n_variables] of one message, as it is read and as it is taken */
    float             *row;
    llap_broker_counts counts;
};

static uint64_t mix(uint64_t h, const char *text)
{
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h * UINT64_C(0x9e3779b97f4a7c15);
}

static llap_status prepare(llap_broker *b, const char *address, const char *name)
{
    char               id[40];
    const char *const *variable = llap_stream_variables(b->s);
    int64_t            n = 0;
    llap_status        st = ll_mqtt_address_init(&b->address, address);
    if (st == LLAP_OK && (b->address.stream != NULL || b->address.model != NULL))
        st = ll_fail(LLAP_EINVAL, "%s: stream and model are options of a server", b->address.name);
    if (st != LLAP_OK) return st;
    while (variable[n] != NULL) n++;
    b->form = (ll_payload_form){ .filter = b->address.filter,
                                 .columns = b->address.columns,
                                 .time = b->address.time,
                                 .entity = b->address.entity,
                                 .variable = variable,
                                 .n_variables = n,
                                 .is_number = b->s->axis.kind == LL_AXIS_NUMBER,
                                 .unit_ns = b->s->axis.unit_ns };
    b->value = ll_new((size_t)n, sizeof *b->value);
    b->row = ll_new((size_t)n, sizeof *b->row);
    if (b->value == NULL || b->row == NULL) return LLAP_ENOMEM;
    const uint64_t h = mix(mix(0, b->address.filter), name == NULL ? "" : name);
    snprintf(id, sizeof id, "llapdiff-stream-%012llx", (unsigned long long)(h >> 16));
    return ll_mqtt_open(&b->address, id, &b->stop, NULL, &b->client);
}

llap_status llap_broker_open(llap_stream *s, const char *address, const char *name,
                             const llap_log *log, llap_broker **out)
{
    llap_broker *b = *out = ll_new(1, sizeof *b);
    if (b == NULL) return LLAP_ENOMEM;
    b->s = s;
    if (log != NULL) b->log = *log;
    const llap_status st = prepare(b, address, name);
    if (st == LLAP_OK) return st;
    llap_broker_close(b);
    *out = NULL;
    return st;
}

void llap_broker_close(llap_broker *b)
{
    if (b == NULL) return;
    ll_mqtt_close(b->client);
    ll_mqtt_address_deinit(&b->address);
    ll_free(b->value);
    ll_free(b->row);
    ll_free(b);
}

static void refuse(llap_broker *b)
{
    if (b->counts.refused++ < TOLD_MOST)
        ll_logf(&b->log, LLAP_LOG_WARNING, "%s%s", llap_error_detail(),
                b->counts.refused == TOLD_MOST ? " (further ones are only counted)" : "");
}

static int64_t wall_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static llap_status take_message(llap_broker *b, const ll_mqtt_message *m)
{
    ll_payload_row  row = { .value = b->value };
    ll_payload_kind kind = LL_PAYLOAD_OTHER;
    llap_status     st = m->retained ? LLAP_OK
                                     : ll_payload_read(&b->form, m->topic, m->payload, m->n,
                                                       wall_clock(), &row, &kind);
    if (st == LLAP_OK && kind == LL_PAYLOAD_OTHER) {
        b->counts.passed++;
        return st;
    }
    for (int64_t v = 0; st == LLAP_OK && v < b->form.n_variables; v++)
        b->row[v] = (float)b->value[v];
    if (st == LLAP_OK)
        st = llap_stream_take(b->s, row.entity, row.time, b->row, b->form.n_variables);
    if (st == LLAP_ENOMEM) return st;
    if (st == LLAP_OK) b->counts.rows++;
    else refuse(b);
    return LLAP_OK;
}

llap_status llap_broker_take(llap_broker *b, int wait_ms, int64_t *n)
{
    const ll_mqtt_message *m;
    size_t                 some = 0;
    llap_status            st = ll_mqtt_receive(b->client, wait_ms, &m, &some);
    *n = 0;
    for (size_t i = 0; st == LLAP_OK && i < some; i++) st = take_message(b, &m[i]);
    if (st == LLAP_OK) {
        *n = (int64_t)some;
        b->counts.messages += *n;
    } else if (st == LLAP_ENOMEM) {
        ll_mqtt_drop(b->client); /* they come again */
    }
    return st;
}

llap_status llap_broker_acknowledge(llap_broker *b) { return ll_mqtt_acknowledge(b->client); }

void llap_broker_count(const llap_broker *b, llap_broker_counts *out) { *out = b->counts; }
