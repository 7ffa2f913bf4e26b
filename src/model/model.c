#include "model/model.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

static llap_status copy_names(ll_arena *a, const char *const *names, int64_t n,
                              const char *const **out)
{
    const char **copy = ll_arena_new(a, (size_t)n, sizeof *copy);
    if (copy == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        if ((copy[i] = ll_arena_strndup(a, names[i], strlen(names[i]))) == NULL) return LLAP_ENOMEM;
    *out = copy;
    return LLAP_OK;
}

static void destroy_anchors(ll_anchor_model **anchor, int64_t n)
{
    for (int64_t i = 0; anchor != NULL && i < n; i++) ll_anchor_model_destroy(anchor[i]);
    ll_free(anchor);
}

/* The levels once more, closed by NULL. */
static llap_status close_levels(llap_model *m)
{
    const size_t n = (size_t)m->frame.n_levels;
    const char **list = ll_arena_new(&m->arena, n + 1, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) list[i] = m->frame.levels[i];
    m->levels = (const char *const *)list;
    return LLAP_OK;
}

const char *const *llap_model_levels(const llap_model *m) { return m->levels; }

llap_status ll_model_create(const ll_model_frame *frame, ll_anchor_model **anchor, llap_model **out)
{
    *out = NULL;
    assert(!frame->by_entity || frame->part != NULL);
    assert(frame->n_targets >= 1 && frame->unit > 0);
    for (int64_t i = 1; i < frame->n_entities; i++) /* ll_model_entity looks them up by halves */
        assert(strcmp(frame->entity[i - 1], frame->entity[i]) < 0);
    llap_model *m = ll_new(1, sizeof *m);
    if (m == NULL) {
        destroy_anchors(anchor, frame->n_targets);
        return LLAP_ENOMEM;
    }
    m->frame = *frame;
    m->frame.part = NULL;
    m->anchor = anchor;
    llap_status st = copy_names(&m->arena, frame->target, frame->n_targets, &m->frame.target);
    if (st == LLAP_OK)
        st = copy_names(&m->arena, frame->entity, frame->n_entities, &m->frame.entity);
    if (st == LLAP_OK) st = copy_names(&m->arena, frame->known, frame->n_known, &m->frame.known);
    if (st == LLAP_OK)
        st = copy_names(&m->arena, frame->statics, frame->n_statics, &m->frame.statics);
    if (st == LLAP_OK) st = copy_names(&m->arena, frame->levels, frame->n_levels, &m->frame.levels);
    if (st == LLAP_OK) st = close_levels(m);
    if (st == LLAP_OK && frame->by_entity) {
        uint8_t *part = ll_arena_new(&m->arena, (size_t)frame->n_entities, 1);
        if (part == NULL) st = LLAP_ENOMEM;
        else memcpy(part, frame->part, (size_t)frame->n_entities);
        m->frame.part = part;
    }
    if (st == LLAP_OK) *out = m;
    else llap_model_destroy(m);
    return st;
}

void llap_model_destroy(llap_model *m)
{
    if (m == NULL) return;
    destroy_anchors(m->anchor, m->frame.n_targets);
    ll_joint_destroy(m->joint);
    ll_network_destroy(m->network);
    ll_stack_destroy(m->stack);
    ll_rival_model_destroy(m->rival);
    ll_filling_destroy(m->filling);
    ll_free(m->training);
    ll_free(m->report);
    ll_arena_deinit(&m->arena);
    ll_free(m);
}

/* Where a name is among n that are sorted bytewise, as panels are; -1: nowhere. */
static int64_t find(const char *const *names, int64_t n, const char *name)
{
    int64_t lo = 0, hi = n;
    assert(name != NULL);
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        const int     c = strcmp(names[mid], name);
        if (c == 0) return mid;
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return -1;
}

int64_t ll_model_entity(const llap_model *m, const char *name)
{
    return find(m->frame.entity, m->frame.n_entities, name);
}

size_t ll_model_series(const llap_model *m, const char *name)
{
    const int64_t known = ll_model_entity(m, name);
    if (known >= 0) return (size_t)known;
    const int64_t more = find(m->more, m->n_more, name);
    return more < 0 ? SIZE_MAX : (size_t)(m->frame.n_entities + 1 + more);
}

const ll_statics *ll_model_statics(const llap_model *m)
{
    for (int64_t i = 0; m->anchor != NULL && i < m->frame.n_targets; i++)
        if (m->anchor[i]->chain->statics != NULL) return m->anchor[i]->chain->statics;
    return NULL;
}

static bool is_the_one(const llap_model *m, const llap_panel *p)
{
    return m->frame.n_entities == 1 && p->n_entities == 1 && m->n_more == 0;
}

int64_t ll_model_entity_of(const llap_model *m, const llap_panel *p, int64_t entity)
{
    return is_the_one(m, p) ? 0 : ll_model_entity(m, p->entity[entity]);
}

size_t ll_model_series_of(const llap_model *m, const llap_panel *p, int64_t entity)
{
    return is_the_one(m, p) ? 0 : ll_model_series(m, p->entity[entity]);
}

int64_t ll_model_target(const llap_model *m, const char *name)
{
    for (int64_t i = 0; i < m->frame.n_targets; i++)
        if (strcmp(m->frame.target[i], name) == 0) return i;
    return -1;
}
