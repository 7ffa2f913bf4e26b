#include "graph/graph.h"

#include "base/alloc.h"
#include "base/error.h"
#include "graph/node.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Far above any model, far below where byte counts overflow. */
#define MAX_ELEMENTS ((int64_t)1 << 40)

llap_status ll_graph_create(ll_graph **out)
{
    *out = ll_new(1, sizeof **out);
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

void ll_graph_destroy(ll_graph *g)
{
    if (g == NULL) return;
    ll_free(g->node);
    ll_free(g->tensor);
    ll_free(g->output);
    ll_free(g->note);
    ll_arena_deinit(&g->arena);
    ll_free(g);
}

llap_status ll_graph_status(const ll_graph *g)
{
    if (g->status == LLAP_OK) return LLAP_OK;
    return ll_fail(g->status, "%s", g->detail == NULL ? "out of memory" : g->detail);
}

static void fail_with(ll_graph *g, llap_status code, const char *text)
{
    if (g->status != LLAP_OK) return;
    g->status = code;
    g->detail = ll_arena_strndup(&g->arena, text, strlen(text));
}

void ll_graph_fail(ll_graph *g, llap_status code, const char *fmt, ...)
{
    char    text[LL_DETAIL_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fail_with(g, code, text);
}

bool ll_node_fail(ll_graph *g, const ll_node *n, const char *fmt, ...)
{
    char    text[LL_DETAIL_MAX / 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *label = n->label == NULL ? "" : n->label;
    const char *quote = *label == '\0' ? "" : "'";
    ll_graph_fail(g, LLAP_EINVAL, "%s%s%s%s%s: %s", ll_op_name(n->op), *label ? " " : "", quote,
                  label, quote, text);
    return false;
}

static void *no_memory(ll_graph *g)
{
    fail_with(g, LLAP_ENOMEM, "out of memory");
    return NULL;
}

/* Room for one more in a grown array of pointers or pairs. */
static bool reserve(ll_graph *g, void *array, int n, int *cap, size_t size)
{
    assert(n <= *cap);
    if (n < *cap) return true;
    const int want = *cap == 0 ? 64 : 2 * *cap;
    void    **at = array;
    void     *grown = ll_grow(*at, (size_t)want, size);
    if (grown == NULL) return no_memory(g);
    *at = grown;
    *cap = want;
    return true;
}

const char *ll_scoped(ll_graph *g, const char *name)
{
    assert(g->depth >= 0 && g->depth <= LL_SCOPE_DEPTH);
    const char *scope = g->depth == 0 ? "" : g->scope[g->depth - 1];
    const char *dot = *scope != '\0' && *name != '\0' ? "." : "";
    const char *full = ll_arena_printf(&g->arena, "%s%s%s", scope, dot, name);
    return full != NULL ? full : no_memory(g);
}

void ll_scope_push(ll_graph *g, const char *name)
{
    if (g->status != LLAP_OK) return;
    if (g->depth == LL_SCOPE_DEPTH) {
        ll_graph_fail(g, LLAP_EINVAL, "scope '%s': more than %d levels", name, LL_SCOPE_DEPTH);
        return;
    }
    const char *path = ll_scoped(g, name);
    if (path != NULL) g->scope[g->depth++] = path;
}

void ll_scope_pushf(ll_graph *g, const char *fmt, ...)
{
    char    name[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    ll_scope_push(g, name);
}

void ll_scope_pop(ll_graph *g)
{
    if (g->status != LLAP_OK) return;
    assert(g->depth > 0);
    g->depth--;
}

ll_shape ll_shape_of(const ll_tensor *x) { return x == NULL ? LL_SCALAR : x->shape; }

int64_t ll_dim(const ll_tensor *x, int axis)
{
    if (x == NULL) return 0;
    if (axis < 0) axis += x->shape.rank;
    return axis < 0 || axis >= x->shape.rank ? 0 : x->shape.dim[axis];
}

const char *ll_tensor_name(const ll_tensor *x)
{
    return x == NULL || x->name == NULL ? "" : x->name;
}

void ll_dense_strides(const ll_shape *s, int64_t *stride)
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= s->dim[i];
    }
}

ll_view ll_tensor_view(const ll_tensor *t)
{
    ll_view v = { .present = t != NULL };
    if (t == NULL) return v;
    v.elem = t->elem;
    v.shape = t->shape;
    memcpy(v.stride, t->stride, sizeof v.stride);
    return v;
}

static bool sane_shape(ll_graph *g, const ll_shape *s)
{
    int64_t n = 1;
    if (s->rank < 0 || s->rank > LL_MAX_RANK) {
        ll_graph_fail(g, LLAP_EINVAL, "rank %d: expected 0 to %d", s->rank, LL_MAX_RANK);
        return false;
    }
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0 || s->dim[i] > MAX_ELEMENTS || (n *= s->dim[i]) > MAX_ELEMENTS) {
            char text[LL_SHAPE_TEXT];
            ll_graph_fail(g, LLAP_EINVAL, "shape %s: negative or too large",
                          ll_shape_text(s, text));
            return false;
        }
        if (n == 0) n = 1; /* an empty tensor must still have sane other dims */
    }
    return true;
}

ll_tensor *ll_tensor_add(ll_graph *g, ll_elem elem, const ll_shape *shape)
{
    if (g->status != LLAP_OK || !sane_shape(g, shape)) return NULL;
    if (!reserve(g, &g->tensor, g->n_tensors, &g->tensors_cap, sizeof *g->tensor)) return NULL;
    ll_tensor *t = ll_arena_new(&g->arena, 1, sizeof *t);
    if (t == NULL) return no_memory(g);
    t->graph = g;
    t->id = g->n_tensors;
    t->elem = elem;
    t->shape = *shape;
    t->base = t;
    ll_dense_strides(shape, t->stride);
    g->tensor[g->n_tensors++] = t;
    return t;
}

/* The name of operand i: the i-th word of the descriptor's list, or its last one. */
static const char *operand_name(const ll_op_desc *d, int i, char *buf, size_t size)
{
    const char *word = d->operands;
    for (; i > 0 && strchr(word, ' ') != NULL; i--) word = strchr(word, ' ') + 1;
    snprintf(buf, size, "%.*s", (int)strcspn(word, " "), word);
    return buf;
}

bool ll_node_expect(ll_graph *g, const ll_node *n, int i, ll_shape expected)
{
    assert(i < n->n_in && n->in[i] != NULL);
    const ll_shape *found = &n->in[i]->shape;
    if (ll_shape_equal(found, &expected)) return true;
    char name[32], e[LL_SHAPE_TEXT], f[LL_SHAPE_TEXT];
    return ll_node_fail(g, n, "%s expected %s, found %s",
                        operand_name(ll_op_desc_of(n->op), i, name, sizeof name),
                        ll_shape_text(&expected, e), ll_shape_text(found, f));
}

bool ll_node_rank(ll_graph *g, const ll_node *n, int i, int min_rank)
{
    assert(i < n->n_in && n->in[i] != NULL);
    if (n->in[i]->shape.rank >= min_rank) return true;
    char name[32], f[LL_SHAPE_TEXT];
    return ll_node_fail(g, n, "%s expected %d axes or more, found %s",
                        operand_name(ll_op_desc_of(n->op), i, name, sizeof name), min_rank,
                        ll_shape_text(&n->in[i]->shape, f));
}

static char letter_of(const char *layout, int i)
{
    const int n = (int)strlen(layout);
    assert(n > 0 && i >= 0);
    return layout[i < n ? i : n - 1];
}

/* The operand as the kernels want it: itself, or a dense copy. */
static ll_tensor *laid_out(ll_graph *g, ll_tensor *t, char layout)
{
    const ll_view v = ll_tensor_view(t);
    const int     r = t->shape.rank;
    if (layout == 'a' || layout == 'i') return t;
    assert(layout == 'r' || layout == 'd');
    if (layout == 'r' && (r == 0 || t->stride[r - 1] == 1 || t->shape.dim[r - 1] <= 1)) return t;
    if (ll_view_dense(&v)) return t;
    return ll_node_add1(g, LL_OP_COPY, NULL, &t, 1);
}

static bool check_operands(ll_graph *g, const ll_node *n, const ll_op_desc *d)
{
    char name[32];
    for (int i = 0; i < n->n_in; i++) {
        const ll_tensor *t = n->in[i];
        if (t == NULL && i >= d->n_required) continue;
        if (t == NULL)
            return ll_node_fail(g, n, "%s is missing", operand_name(d, i, name, sizeof name));
        if (t->graph != g)
            return ll_node_fail(g, n, "%s belongs to another graph",
                                operand_name(d, i, name, sizeof name));
        const bool whole = letter_of(d->layout, i) == 'i';
        if (whole != (t->elem == LL_INT))
            return ll_node_fail(g, n, "%s expected %s numbers",
                                operand_name(d, i, name, sizeof name), whole ? "whole" : "real");
    }
    return true;
}

/* A node with room for its operands and outputs, not yet in the graph. */
static ll_node *node_new(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *const *in, int n_in,
                         int n_out)
{
    ll_node *n = ll_arena_new(&g->arena, 1, sizeof *n);
    if (n == NULL) return no_memory(g);
    n->op = op;
    if (attr != NULL) n->attr = *attr;
    n->label = g->depth == 0 ? NULL : g->scope[g->depth - 1];
    n->n_in = n_in;
    n->n_out = n_out;
    n->in = ll_arena_new(&g->arena, (size_t)(n_in + n_out), sizeof *n->in);
    if (n->in == NULL) return no_memory(g);
    n->out = n->in + n_in;
    for (int i = 0; i < n_in; i++) n->in[i] = in[i];
    return n;
}

/* Gives the node its outputs and a place in the graph. */
static ll_node *node_finish(ll_graph *g, ll_node *n, ll_elem elem, const ll_shape *shape)
{
    for (int i = 0; i < n->n_out; i++) {
        n->out[i] = ll_tensor_add(g, elem, &shape[i]);
        if (n->out[i] == NULL) return NULL;
        n->out[i]->node = n;
        n->out[i]->out = i;
    }
    if (g->status != LLAP_OK) return NULL;
    if (!reserve(g, &g->node, g->n_nodes, &g->nodes_cap, sizeof *g->node)) return NULL;
    n->id = g->n_nodes;
    g->node[g->n_nodes++] = n;
    return n;
}

ll_node *ll_node_add(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *const *in, int n_in)
{
    if (g->status != LLAP_OK) return NULL;
    const ll_op_desc *d = ll_op_desc_of(op);
    ll_node          *n = node_new(g, op, attr, in, n_in, d->n_out);
    ll_shape          shape[LL_MAX_OUT] = { { 0 } };
    assert(d->infer != NULL && d->n_out >= 1 && d->n_out <= LL_MAX_OUT); /* not a view */
    if (n == NULL || !check_operands(g, n, d) || !d->infer(g, n, shape)) return NULL;
    for (int i = 0; i < n_in; i++)
        if (n->in[i] != NULL) n->in[i] = laid_out(g, n->in[i], letter_of(d->layout, i));
    return node_finish(g, n, d->whole ? LL_INT : LL_REAL, shape);
}

ll_node *ll_view_add(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *x,
                     const ll_shape *shape, int n_parts)
{
    if (g->status != LLAP_OK) return NULL;
    assert(ll_op_is_view(op) && n_parts >= 1);
    assert(x->base->base == x->base && x->base->offset == 0);
    ll_node  *n = node_new(g, op, attr, &x, 1, n_parts);
    ll_shape *all = ll_arena_new(&g->arena, (size_t)n_parts, sizeof *all);
    if (n == NULL || all == NULL) return no_memory(g);
    for (int i = 0; i < n_parts; i++) all[i] = *shape;
    n = node_finish(g, n, x->elem, all);
    for (int i = 0; n != NULL && i < n_parts; i++) {
        n->out[i]->base = x->base;
        n->out[i]->offset = x->offset;
    }
    return n;
}

ll_tensor *ll_node_add1(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *const *in, int n_in)
{
    ll_node *n = ll_node_add(g, op, attr, in, n_in);
    return n == NULL ? NULL : n->out[0];
}

ll_tensor *ll_note(ll_graph *g, const char *name, ll_tensor *x)
{
    if (g->status != LLAP_OK || x == NULL) return NULL;
    if (!reserve(g, &g->note, g->n_notes, &g->notes_cap, sizeof *g->note)) return NULL;
    const char *full = ll_scoped(g, name == NULL ? "" : name);
    if (full == NULL) return NULL;
    g->note[g->n_notes++] = (ll_named){ full, x, false };
    return x;
}

ll_tensor *ll_noted(const ll_graph *g, const char *full_name)
{
    for (int i = g->n_notes - 1; i >= 0; i--)
        if (strcmp(g->note[i].name, full_name) == 0) return g->note[i].tensor;
    return NULL;
}

static void output(ll_graph *g, const char *name, ll_tensor *x, bool half)
{
    if (g->status != LLAP_OK) return;
    if (x == NULL) {
        ll_graph_fail(g, LLAP_EINVAL, "output '%s' is missing", name);
        return;
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (strcmp(g->output[i].name, name) == 0) {
            ll_graph_fail(g, LLAP_EINVAL, "output '%s' is given twice", name);
            return;
        }
    if (!reserve(g, &g->output, g->n_outputs, &g->outputs_cap, sizeof *g->output)) return;
    const ll_view v = ll_tensor_view(x);
    /* Results are handed out as dense arrays that the run owns. */
    if (!ll_view_dense(&v) || x->base->leaf != LL_LEAF_NONE)
        x = ll_node_add1(g, LL_OP_COPY, NULL, &x, 1);
    const char *kept = ll_arena_strndup(&g->arena, name, strlen(name));
    if (kept == NULL) (void)no_memory(g);
    if (x == NULL || kept == NULL) return;
    g->output[g->n_outputs++] = (ll_named){ kept, x, half };
}

void ll_output(ll_graph *g, const char *name, ll_tensor *x) { output(g, name, x, false); }

void ll_output_half(ll_graph *g, const char *name, ll_tensor *x) { output(g, name, x, true); }

void ll_update(ll_graph *g, ll_tensor *leaf, ll_tensor *value)
{
    if (g->status != LLAP_OK || leaf == NULL || value == NULL) return;
    if (leaf->leaf != LL_LEAF_PARAM && leaf->leaf != LL_LEAF_STATE)
        ll_graph_fail(g, LLAP_EINVAL, "update of '%s': not a parameter or state",
                      ll_tensor_name(leaf));
    else if (!ll_shape_equal(&leaf->shape, &value->shape) || leaf->elem != value->elem) {
        char e[LL_SHAPE_TEXT], f[LL_SHAPE_TEXT];
        ll_graph_fail(g, LLAP_EINVAL, "update of '%s': expected %s, found %s", leaf->name,
                      ll_shape_text(&leaf->shape, e), ll_shape_text(&value->shape, f));
    } else {
        const ll_view v = ll_tensor_view(value);
        if (!ll_view_dense(&v) || value->base->leaf != LL_LEAF_NONE)
            value = ll_node_add1(g, LL_OP_COPY, NULL, &value, 1);
        leaf->update = value;
    }
}
