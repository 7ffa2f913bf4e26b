#include "train/run/targets.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "data/panel_words.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which ---- */

/* Which of n names the first len bytes of text are; -1: none. */
static int64_t find(const char *text, size_t len, const char *const *names, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (strlen(names[i]) == len && memcmp(text, names[i], len) == 0) return i;
    return -1;
}

/* "a, b" */
static void list_name(char *list, size_t room, const char *name)
{
    const size_t at = strlen(list);
    snprintf(list + at, room - at, "%s%s", at == 0 ? "" : ", ", ll_text_show(name).text);
}

static llap_status unknown(const char *what, const char *of, const char *text, size_t len,
                           const char *const *names, int64_t n)
{
    char        *name = ll_strndup(text, len);
    const char **all = ll_new((size_t)n + 1, sizeof *all); /* closed by NULL */
    llap_status  st = name == NULL || all == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        for (int64_t i = 0; i < n; i++) all[i] = names[i];
        const char *nearest = llap_text_nearest(name, (const char *const *)all);
        char        list[600] = "";
        for (int64_t i = 0; i < n; i++) list_name(list, sizeof list, names[i]);
        st = ll_fail(LLAP_EINVAL, "%s: %s '%s'%s%s%s; %s %s", what, of, ll_text_show(name).text,
                     nearest ? " (did you mean '" : "", nearest ? ll_text_show(nearest).text : "",
                     nearest ? "'?)" : "", n == 1 ? "there is" : "there are", list);
    }
    ll_free((void *)all);
    ll_free(name);
    return st;
}

/* The variables that an option names; NULL: all. */
static llap_status parse_names(const char *what, const llap_panel *p, const char *text,
                               int64_t **out, int64_t *n)
{
    *n = 0;
    *out = ll_new((size_t)p->n_vars + 1, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    if (text == NULL) {
        for (*n = 0; *n < p->n_vars; (*n)++) (*out)[*n] = *n;
        return LLAP_OK;
    }
    for (const char *s = text; *s != '\0';) {
        const size_t  len = strcspn(s, ",");
        const int64_t v = find(s, len, (const char *const *)p->var, p->n_vars);
        if (v < 0)
            return unknown(what, "the data has no column", s, len, (const char *const *)p->var,
                           p->n_vars);
        for (int64_t i = 0; i < *n; i++)
            if ((*out)[i] == v)
                return ll_fail(LLAP_EOPTION, "%s: '%s' is given twice", what,
                               ll_text_show(p->var[v]).text);
        assert(*n < p->n_vars);
        (*out)[(*n)++] = v;
        s += len + (s[len] == ',');
    }
    return *n > 0 ? LLAP_OK : ll_fail(LLAP_EOPTION, "%s: no name given", what);
}

llap_status ll_targets_parse(const llap_panel *p, const char *text, const llap_log *log,
                             int64_t **out, int64_t *n)
{
    llap_status st = parse_names("target", p, text, out, n);
    if (st != LLAP_OK || text != NULL) return st;
    char    codes[300] = "", fixed[300] = "";
    int64_t kept = 0;
    for (int64_t i = 0; i < *n; i++) {
        const int64_t v = (*out)[i];
        if (ll_panel_find_words(p, p->var[v]) >= 0) list_name(codes, sizeof codes, p->var[v]);
        else if (ll_panel_is_static(p, v)) list_name(fixed, sizeof fixed, p->var[v]);
        else (*out)[kept++] = v;
    }
    *n = kept;
    if (kept == 0)
        return ll_fail(LLAP_EINVAL, "target: all columns are categories or never change within an "
                                    "entity: name what to forecast");
    if (codes[0] != '\0')
        ll_logf(log, LLAP_LOG_INFO, "not forecast, as they are categories: %s", codes);
    if (fixed[0] != '\0')
        ll_logf(log, LLAP_LOG_INFO, "not forecast, as they never change within an entity: %s",
                fixed);
    return LLAP_OK;
}

llap_status ll_known_parse(const llap_panel *p, const llap_train_opts *o, int64_t *target,
                           int64_t *n_targets, int64_t **out, int64_t *n)
{
    *out = NULL;
    *n = 0;
    if (o->known == NULL) return LLAP_OK;
    const llap_status st = parse_names("known", p, o->known, out, n);
    if (st != LLAP_OK) return st;
    if (*n > LL_KNOWN_COLUMNS)
        return ll_fail(LLAP_EOPTION, "known: %lld columns, more than %d", (long long)*n,
                       LL_KNOWN_COLUMNS);
    int64_t kept = 0;
    for (int64_t i = 0; i < *n_targets; i++) {
        bool known = false;
        for (int64_t k = 0; k < *n; k++) known = known || (*out)[k] == target[i];
        if (known && o->target != NULL)
            return ll_fail(LLAP_EOPTION, "known: '%s' is a target: what is forecast is not known",
                           ll_text_show(p->var[target[i]]).text);
        if (!known) target[kept++] = target[i];
    }
    *n_targets = kept;
    return kept > 0 ? LLAP_OK : ll_fail(LLAP_EOPTION, "known: no column is left to forecast");
}

llap_status ll_inputs_parse(const llap_panel *p, const char *text, const int64_t *var,
                            int64_t n_targets, int64_t **out, int64_t *n)
{
    int64_t           others = 0;
    const llap_status st = parse_names("inputs", p, text, out, n);
    for (int64_t i = 0; i < *n && st == LLAP_OK; i++) {
        bool target = false;
        for (int64_t c = 0; c < n_targets; c++) target = target || var[c] == (*out)[i];
        if (target && text != NULL)
            return ll_fail(LLAP_EOPTION, "inputs: '%s' is a target, which is looked at anyway",
                           ll_text_show(p->var[(*out)[i]]).text);
        if (!target) (*out)[others++] = (*out)[i];
    }
    *n = others;
    return st;
}

/* ---- what is said about them ---- */

/* What an option says about a target, "value" or "name=value,name=value": NULL where nothing, else
 * *n bytes. */
static const char *said_of(const char *text, const char *name, size_t *n)
{
    const char *all = NULL;
    size_t      n_all = 0;
    while (text != NULL && *text != '\0') {
        const size_t len = strcspn(text, ",");
        const char  *equals = memchr(text, '=', len);
        if (equals == NULL) {
            all = text;
            n_all = len;
        } else if (find(text, (size_t)(equals - text), &name, 1) == 0) {
            *n = len - (size_t)(equals + 1 - text);
            return equals + 1;
        }
        text += len + (text[len] == ',');
    }
    *n = n_all;
    return all;
}

llap_status ll_target_transform(const char *text, const char *name, ll_transform *out)
{
    static const char *const names[] = { "none", "yeo-johnson", "log1p", "asinh" };
    size_t                   n;
    const char              *said = said_of(text, name, &n);
    if (said == NULL) return LLAP_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(said, names[i], n) == 0) {
            *out = (ll_transform)i;
            return LLAP_OK;
        }
    return ll_fail(LLAP_EOPTION,
                   "transform: expected none, log1p, asinh or yeo-johnson, found '%s'",
                   ll_text_show(text).text);
}

llap_status ll_target_kind(const char *text, const char *name, ll_kind *out, bool *given)
{
    size_t      n;
    const char *said = said_of(text, name, &n);
    *given = false;
    if (said == NULL || (n == 4 && strncmp(said, "auto", n) == 0)) return LLAP_OK;
    for (int i = 0; i < LL_KINDS; i++)
        if (strlen(ll_kind_names[i]) == n && strncmp(said, ll_kind_names[i], n) == 0) {
            *out = (ll_kind)i;
            *given = true;
            return LLAP_OK;
        }
    return ll_fail(LLAP_EOPTION,
                   "kind: expected count, whole, share, positive, any or auto, found '%s'",
                   ll_text_show(text).text);
}

llap_status ll_target_bound(const char *what, const char *text, const char *name, double *out)
{
    size_t      n;
    char       *end;
    const char *said = said_of(text, name, &n);
    if (said == NULL) return LLAP_OK;
    *out = strtod(said, &end);
    if (n > 0 && end == said + n && isfinite(*out)) return LLAP_OK;
    return ll_fail(LLAP_EOPTION, "%s: expected a number for '%s', found '%s'", what,
                   ll_text_show(name).text, ll_text_show(text).text);
}

/* A name that is no target would be said to nobody. */
static llap_status check_names(const char *what, const char *text, const char *const *target,
                               int64_t n)
{
    int n_for_all = 0;
    while (text != NULL && *text != '\0') {
        const size_t len = strcspn(text, ",");
        const char  *equals = memchr(text, '=', len);
        const size_t size = equals == NULL ? 0 : (size_t)(equals - text);
        n_for_all += equals == NULL;
        if (equals != NULL && find(text, size, target, n) < 0)
            return unknown(what, "no target is called", text, size, target, n);
        text += len + (text[len] == ',');
    }
    if (n_for_all > 1)
        return ll_fail(LLAP_EOPTION, "%s: several values for all targets: give NAME=VALUE each",
                       what);
    return LLAP_OK;
}

llap_status ll_targets_check(const llap_train_opts *o, const char *const *target, int64_t n)
{
    llap_status st = check_names("transform", o->transform, target, n);
    if (st == LLAP_OK) st = check_names("min", o->min, target, n);
    if (st == LLAP_OK) st = check_names("max", o->max, target, n);
    if (st == LLAP_OK) st = check_names("kind", o->kind, target, n);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        ll_transform transform;
        double       least = -INFINITY, most = INFINITY;
        ll_kind      kind;
        bool         given;
        st = ll_target_transform(o->transform, target[i], &transform);
        if (st == LLAP_OK) st = ll_target_bound("min", o->min, target[i], &least);
        if (st == LLAP_OK) st = ll_target_bound("max", o->max, target[i], &most);
        if (st == LLAP_OK) st = ll_target_kind(o->kind, target[i], &kind, &given);
        if (st == LLAP_OK && !(least <= most))
            st = ll_fail(LLAP_EOPTION, "min: %g is above the %g of max for '%s'", least, most,
                         ll_text_show(target[i]).text);
    }
    return st;
}

static const char *name_at(const ll_model_frame *f, int64_t i)
{
    return i < f->n_targets ? f->target[i] : "nothing";
}

void ll_targets_compare(const llap_train_opts *o, const ll_model_frame *from,
                        const ll_model_frame *f)
{
    for (int64_t i = 0; i < from->n_targets || i < f->n_targets; i++)
        if (strcmp(name_at(from, i), name_at(f, i)) != 0)
            ll_logf(o->log, LLAP_LOG_WARNING,
                    "from: the networks of %s forecast %s where these are to forecast %s", o->from,
                    ll_text_show(name_at(from, i)).text, ll_text_show(name_at(f, i)).text);
}
