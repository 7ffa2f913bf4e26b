#include "data/text/names.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a with a final mix; the keys come from the user's own file, so no secret is needed. */
static uint32_t hash_of(const char *text, size_t len)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32);
}

/* The slot that holds the text, or the free one where it belongs. n_slots > 0. */
static uint32_t slot_of(const ll_names *names, const char *text, size_t len, uint32_t hash)
{
    const uint32_t mask = names->n_slots - 1;
    for (uint32_t s = hash & mask;; s = (s + 1) & mask) {
        const uint32_t id = names->slot[s];
        if (id == 0) return s;
        const char *other = names->name[id - 1];
        if (names->hash[id - 1] == hash && strncmp(other, text, len) == 0 && other[len] == '\0')
            return s;
    }
}

static llap_status grow_slots(ll_names *names)
{
    const uint32_t n_slots = names->n_slots == 0 ? 16 : names->n_slots * 2;
    uint32_t      *slot = ll_new(n_slots, sizeof *slot);
    if (slot == NULL) return LLAP_ENOMEM;
    for (uint32_t id = 0; id < names->n; id++) {
        uint32_t s = names->hash[id] & (n_slots - 1);
        while (slot[s] != 0) s = (s + 1) & (n_slots - 1);
        slot[s] = id + 1;
    }
    ll_free(names->slot);
    names->slot = slot;
    names->n_slots = n_slots;
    return LLAP_OK;
}

static llap_status grow_names(ll_names *names)
{
    const uint32_t capacity = names->capacity == 0 ? 8 : names->capacity * 2;
    void          *p = ll_grow(names->name, capacity, sizeof *names->name);
    if (p == NULL) return LLAP_ENOMEM;
    names->name = p;
    p = ll_grow(names->hash, capacity, sizeof *names->hash);
    if (p == NULL) return LLAP_ENOMEM;
    names->hash = p;
    names->capacity = capacity;
    return LLAP_OK;
}

bool ll_names_find(const ll_names *names, const char *text, size_t len, uint32_t *id)
{
    if (names->n == 0) return false;
    const uint32_t s = slot_of(names, text, len, hash_of(text, len));
    if (names->slot[s] == 0) return false;
    *id = names->slot[s] - 1;
    return true;
}

llap_status ll_names_add(ll_names *names, const char *text, size_t len, uint32_t *id)
{
    const uint32_t hash = hash_of(text, len);
    if (names->n_slots > 0) {
        const uint32_t s = slot_of(names, text, len, hash);
        if (names->slot[s] != 0) {
            *id = names->slot[s] - 1;
            return LLAP_OK;
        }
    }
    if (names->n >= INT32_MAX / 2)
        return ll_fail(LLAP_ELIMIT, "more than a thousand million names");
    if (names->n == names->capacity && grow_names(names) != LLAP_OK) return LLAP_ENOMEM;
    if (names->n >= names->n_slots / 2 && grow_slots(names) != LLAP_OK) return LLAP_ENOMEM;
    const char *copy = ll_arena_strndup(&names->text, text, len);
    if (copy == NULL) return LLAP_ENOMEM;
    names->name[names->n] = copy;
    names->hash[names->n] = hash;
    const uint32_t s = slot_of(names, text, len, hash);
    names->slot[s] = ++names->n;
    *id = names->n - 1;
    return LLAP_OK;
}

void ll_names_deinit(ll_names *names)
{
    ll_free(names->name);
    ll_free(names->slot);
    ll_free(names->hash);
    ll_arena_deinit(&names->text);
    *names = (ll_names){ 0 };
}

typedef struct named {
    const char *name;
    uint32_t    id;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

llap_status ll_names_sorted(const ll_names *names, uint32_t **order)
{
    *order = ll_new(names->n, sizeof **order);
    named *list = ll_new(names->n, sizeof *list);
    if (*order == NULL || list == NULL) {
        ll_free(*order);
        ll_free(list);
        *order = NULL;
        return LLAP_ENOMEM;
    }
    for (uint32_t i = 0; i < names->n; i++) list[i] = (named){ names->name[i], i };
    if (names->n > 1) qsort(list, names->n, sizeof *list, by_name);
    for (uint32_t i = 0; i < names->n; i++) (*order)[i] = list[i].id;
    ll_free(list);
    return LLAP_OK;
}
