/* Models by name, each shared by the requests that use it. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "base/text.h"
#include "serve/serve.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool ll_name_is_good(const char *name)
{
    size_t n = 0;
    for (; name[n] != '\0'; n++) {
        const unsigned char c = (unsigned char)name[n];
        const bool          letter = c < 128 && isalnum(c);
        if (!letter && (n == 0 || strchr("._-", c) == NULL)) return false;
    }
    return n > 0 && n <= LL_NAME_MAX;
}

void ll_served_release(ll_served *s)
{
    if (s == NULL || atomic_fetch_sub(&s->holders, 1) > 1) return;
    llap_model_destroy(s->model);
    ll_free(s);
}

/* Where the name is, or would be. */
static size_t place(const ll_models *all, const char *name, bool *found)
{
    size_t low = 0, high = all->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (strcmp(all->model[mid]->name, name) < 0) low = mid + 1;
        else high = mid;
    }
    *found = low < all->n && strcmp(all->model[low]->name, name) == 0;
    return low;
}

static llap_status make(const char *name, llap_model *m, ll_served **out)
{
    char       *bytes = NULL;
    size_t      n = 0;
    ll_served  *s = ll_new(1, sizeof *s);
    llap_status st = s == NULL ? LLAP_ENOMEM : llap_model_save_memory(m, &bytes, &n);
    if (st == LLAP_OK) {
        snprintf(s->name, sizeof s->name, "%s", name);
        s->hash = ll_hash(0, bytes, n);
        s->n_bytes = n;
        s->model = m;
        atomic_store(&s->holders, 1);
        *out = s;
    } else {
        llap_model_destroy(m);
        ll_free(s);
    }
    ll_free(bytes);
    return st;
}

llap_status ll_models_put(ll_models *all, const char *name, llap_model *m, bool *replaced)
{
    ll_served  *s = NULL, *before = NULL;
    llap_status st = make(name, m, &s);
    if (st != LLAP_OK) return st;
    bool found;
    (void)pthread_mutex_lock(&all->lock);
    const size_t at = place(all, name, &found);
    if (found) {
        before = all->model[at];
        all->model[at] = s;
    } else if (all->n < LL_MODELS_MAX) {
        memmove(all->model + at + 1, all->model + at, (all->n - at) * sizeof(ll_served *));
        all->model[at] = s;
        all->n++;
    } else {
        before = s;
        st = ll_fail(LLAP_ELIMIT, "there are %d models already", LL_MODELS_MAX);
    }
    (void)pthread_mutex_unlock(&all->lock);
    ll_served_release(before);
    if (replaced != NULL) *replaced = found;
    return st;
}

bool ll_models_remove(ll_models *all, const char *name)
{
    ll_served *gone = NULL;
    bool       found;
    (void)pthread_mutex_lock(&all->lock);
    const size_t at = place(all, name, &found);
    if (found) {
        gone = all->model[at];
        all->n--;
        memmove(all->model + at, all->model + at + 1, (all->n - at) * sizeof(ll_served *));
    }
    (void)pthread_mutex_unlock(&all->lock);
    ll_served_release(gone);
    return found;
}

static ll_served *hold(ll_served *s)
{
    if (s != NULL) atomic_fetch_add(&s->holders, 1);
    return s;
}

ll_served *ll_models_get(ll_models *all, const char *name)
{
    bool found;
    (void)pthread_mutex_lock(&all->lock);
    const size_t at = place(all, name, &found);
    ll_served   *s = hold(found ? all->model[at] : NULL);
    (void)pthread_mutex_unlock(&all->lock);
    return s;
}

ll_served *ll_models_at(ll_models *all, size_t i)
{
    (void)pthread_mutex_lock(&all->lock);
    ll_served *s = hold(i < all->n ? all->model[i] : NULL);
    (void)pthread_mutex_unlock(&all->lock);
    return s;
}

void ll_models_deinit(ll_models *all)
{
    for (size_t i = 0; i < all->n; i++) ll_served_release(all->model[i]);
    all->n = 0;
}

/* "air" of "data/air.safetensors", or what stands before the first '='. */
static llap_status name_of(const char *given, char name[LL_NAME_MAX + 1], const char **path)
{
    static const char end[] = ".safetensors";
    const char       *equal = strchr(given, '='), *slash = strrchr(given, '/');
    const char       *from = given;
    size_t            n;
    if (equal != NULL) {
        n = (size_t)(equal - given);
        *path = equal + 1;
    } else {
        *path = given;
        from = slash != NULL ? slash + 1 : given;
        n = strlen(from);
        if (n > sizeof end - 1 && strcmp(from + n - (sizeof end - 1), end) == 0)
            n -= sizeof end - 1;
    }
    snprintf(name, LL_NAME_MAX + 1, "%.*s", (int)(n > LL_NAME_MAX ? LL_NAME_MAX : n), from);
    if (n > LL_NAME_MAX || !ll_name_is_good(name))
        return ll_fail(
            LLAP_EINVAL,
            "%s: a model's name has up to %d letters, digits, '.', '_' and '-': give one, "
            "NAME=%s",
            ll_text_show(given).text, LL_NAME_MAX, ll_text_show(*path).text);
    return LLAP_OK;
}

llap_status ll_models_load(ll_models *all, const char *name_and_path)
{
    char        name[LL_NAME_MAX + 1];
    const char *path;
    llap_model *m = NULL;
    llap_status st = name_of(name_and_path, name, &path);
    if (st != LLAP_OK) return st;
    ll_served *there = ll_models_get(all, name);
    ll_served_release(there);
    if (there != NULL)
        return ll_fail(LLAP_EINVAL, "two models are called '%s': NAME=FILE gives another name",
                       name);
    st = llap_model_load(path, &m);
    return st == LLAP_OK ? ll_models_put(all, name, m, NULL) : st;
}
