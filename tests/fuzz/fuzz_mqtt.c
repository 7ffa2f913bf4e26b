/* Messages of a broker on arbitrary bytes: filter, topic and columns in a line each, then the
 * payload. A row keeps its promises, or the detail says why there is none. */
#include "mqtt/address.h"
#include "mqtt/payload.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define must(true_) \
    if (!(true_)) abort()

static const char *const two[] = { "pulse", "spo2", NULL };

/* A line without its end, as a string; the rest stays. */
static char *take_line(const uint8_t **data, size_t *n)
{
    const uint8_t *end = *n == 0 ? NULL : memchr(*data, '\n', *n);
    const size_t   length = end == NULL ? *n : (size_t)(end - *data);
    char          *line = calloc(1, length + 1);
    if (length > 0) memcpy(line, *data, length);
    *data += length + (end != NULL);
    *n -= length + (end != NULL);
    return line;
}

static void look(const ll_payload_form *f, const char *topic, const uint8_t *data, size_t n)
{
    double          value[2] = { INFINITY, INFINITY };
    ll_payload_row  row = { .value = value };
    ll_payload_kind kind;
    char           *copy = malloc(n + (n == 0));
    if (n > 0) memcpy(copy, data, n);
    const llap_status st = ll_payload_read(f, topic, copy, n, 7, &row, &kind);
    free(copy);
    if (st != LLAP_OK) {
        must((st == LLAP_EFORMAT || st == LLAP_ELIMIT) && llap_error_detail()[0] != '\0');
        return;
    }
    if (kind == LL_PAYLOAD_OTHER) return;
    for (int v = 0; v < 2; v++)
        must(!isinf(value[v]) && (isnan(value[v]) || (double)(float)value[v] == value[v]));
    const size_t length = strlen(row.entity);
    must(length > 0 && ll_utf8_prefix(row.entity, length) == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char           *filter = take_line(&data, &n), *topic = take_line(&data, &n);
    char           *columns = take_line(&data, &n), *address = calloc(1, strlen(filter) + 20);
    ll_mqtt_address a;
    sprintf(address, "mqtt://h/%s", filter);
    if (ll_mqtt_address_init(&a, address) == LLAP_OK) {
        ll_payload_form f = { .filter = a.filter,
                              .columns = *columns == '\0' ? NULL : columns,
                              .variable = two,
                              .n_variables = 2,
                              .unit_ns = 1000000000 };
        for (int k = 0; k < 2; k++) {
            f.is_number = k == 1;
            look(&f, topic, data, n);
        }
    } else {
        must(llap_error_detail()[0] != '\0');
    }
    ll_mqtt_address_deinit(&a);
    free(filter);
    free(topic);
    free(columns);
    free(address);
    return 0;
}
