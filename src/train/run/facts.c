#include "train/run/facts.h"

#include "base/alloc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void ll_facts_add(ll_fact_list *l, const char *name, const char *value)
{
    assert(name != NULL && l->n <= l->capacity);
    if (l->status == LLAP_OK && l->n == l->capacity) {
        const size_t more = l->capacity == 0 ? 32 : 2 * l->capacity;
        ll_run_fact *fact = ll_grow(l->fact, more, sizeof *fact);
        if (fact == NULL) l->status = LLAP_ENOMEM;
        else l->fact = fact, l->capacity = more;
    }
    if (l->status != LLAP_OK) return;
    l->fact[l->n++] = (ll_run_fact){ .name = name, .value = value == NULL ? "not given" : value };
}

void ll_facts_addf(ll_fact_list *l, const char *name, const char *fmt, ...)
{
    char    text[256];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < sizeof text); /* numbers and hashes */
    const char *kept = ll_arena_strndup(&l->arena, text, (size_t)n);
    if (kept == NULL && l->status == LLAP_OK) l->status = LLAP_ENOMEM;
    ll_facts_add(l, name, kept);
}

void ll_facts_may_differ(ll_fact_list *l)
{
    if (l->status != LLAP_OK) return;
    assert(l->n > 0);
    l->fact[l->n - 1].may_differ = true;
}

void ll_facts_deinit(ll_fact_list *l)
{
    ll_free(l->fact);
    ll_arena_deinit(&l->arena);
    *l = (ll_fact_list){ 0 };
}
