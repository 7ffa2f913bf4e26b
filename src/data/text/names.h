/* Names to small numbers: a set of strings that remembers the order in which they came.
 *
 *     ll_names names = { 0 };
 *     uint32_t   id;
 *     st = ll_names_add(&names, "Beijing", 7, &id);       0, and 0 again when asked again
 *     ll_names_deinit(&names);
 *
 * The texts are copied, closed by a NUL, and never move. Names hold no NUL themselves. Not
 * thread-safe. */
#ifndef LL_DATA_TEXT_NAMES_H
#define LL_DATA_TEXT_NAMES_H

#include "base/arena.h"

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ll_names {
    const char **name; /* [n], in order of arrival; borrowed from the set */
    uint32_t     n;
    uint32_t     n_slots; /* a power of two, 0 when empty */
    uint32_t    *slot;    /* id + 1, 0 = free */
    uint32_t    *hash;    /* [capacity of name] */
    uint32_t     capacity;
    ll_arena     text;
} ll_names;

/* Finds text[0..len), or adds it. LLAP_ENOMEM. */
llap_status ll_names_add(ll_names *names, const char *text, size_t len, uint32_t *id);
bool        ll_names_find(const ll_names *names, const char *text, size_t len, uint32_t *id);
void        ll_names_deinit(ll_names *names); /* then empty and usable again */

/* The ids in byte order of their names. Caller owns *order (ll_free), [n]. */
llap_status ll_names_sorted(const ll_names *names, uint32_t **order);

#endif
