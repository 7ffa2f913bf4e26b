/* The default profile's networks against the same steps by hand: the order of the rows, tokens and
 * queries from the panel's values, what training varies, noise, loss, rate, clipping, AdamW and the
 * moving average in obvious loops and double precision. Only the laws of the anchor, and loss and
 * gradient of the networks (on the ref backend), come from the program. */
#include "folder.h"
#include "hand.h"
#include "sensors.h"

#include "base/rng/rng.h"
#include "networks/denoiser.h"
#include "networks/patches.h"

#include <unistd.h>

/* Of the networks; a line of the log is the mean of two steps. */
enum {
    N = 2,
    CONTEXT = 60,
    QUERIES = 6,
    STEPS = 16,
    TEN = 10,
    WARM = 2,
    BATCH = 4,
    SEED = 9,
    EACH = 2
};
enum { HOURS = 480, P = 2, S = CONTEXT / P, CALENDAR = 10, MOST = 1000, WIDTH = 64 };
static const double AUGMENT = 0.6, RATE = 2e-3;

static llap_panel *panel;

/* ---- the data: value by value ---- */

typedef struct sensors {
    const llap_model *m;
    bool              joint;
    double            u[N][HOURS], wind[N][HOURS];         /* NaN: missing */
    int64_t           n;                                   /* training rows of the networks */
    int64_t           origin[MOST];                        /* hours */
    int               entity[MOST];                        /* rows of one series */
    int               n_query[MOST], query[MOST][QUERIES]; /* hours from the origin */
    uint64_t          id[MOST];
    int               shifted, shortened, strangers, dropped; /* how often each was seen */
} sensors;

static uint64_t row_id(int64_t origin, const char *entity, int64_t target)
{
    const int64_t ticks = origin * HOUR;
    uint64_t      h = ll_hash(0, &ticks, sizeof ticks);
    if (entity != NULL) h = ll_hash(h, entity, strlen(entity));
    return ll_hash(h, &target, sizeof target);
}

static void add_row(sensors *s, int64_t origin, int entity)
{
    const int64_t k = s->n;
    assert_true(k < MOST);
    s->origin[k] = origin;
    s->entity[k] = entity;
    s->id[k] = s->joint ? row_id(origin, NULL, -1) : row_id(origin, panel->entity[entity], 0);
    for (int q = 1; q <= QUERIES; q++)
        if (s->joint || !isnan(s->u[entity][origin + q])) s->query[k][s->n_query[k]++] = q;
    if (s->n_query[k] > 0) s->n++; /* a series without a reading has no row */
}

static void sensors_init(sensors *s, const llap_model *m, bool joint)
{
    const ll_chain *chain = m->anchor[0]->chain;
    const float    *mean = ll_params_find(m->network->params, "scale.x.mean")->data;
    const float    *std = ll_params_find(m->network->params, "scale.x.std")->data;
    const int64_t   last = m->frame.val_start / HOUR; /* of validation is the first query */
    *s = (sensors){ .m = m, .joint = joint };
    for (size_t e = 0; e < N; e++)
        for (int64_t i = 0; i < HOURS; i++) {
            const float *x = panel->value + ((int64_t)e * HOURS + i) * 2;
            const double z = ll_chain_z(chain, e, (double)x[0]);
            s->u[e][i] = isnan(x[0]) ? NAN : ll_chain_u(chain, e, (double)i, z);
            s->wind[e][i] = fmax(-5, fmin(5, ((double)x[1] - (double)mean[e]) / (double)std[e]));
        }
    /* the record reaches over a whole context, and training over all queries */
    for (int e = 0; e < (joint ? 1 : N); e++)
        for (int64_t t = CONTEXT; t + QUERIES < last; t++) add_row(s, t, e);
}

/* ---- a row as the networks see it ---- */

typedef struct seen {
    double token[S][WIDTH], dropped[S]; /* dropped: no token */
    double tq[QUERIES], f[QUERIES][WIDTH], asked[QUERIES];
    double z0[QUERIES][N], mask[QUERIES][N];
    int    embedding;
} seen;

/* Level and scale of what a context has read, docs/spec/anchor.md 2.5. */
static void level(const double *x, int64_t origin, double kappa, double *m, double *s)
{
    double n = 0, sum = 0, squares = 0;
    for (int64_t i = origin - CONTEXT + 1; i <= origin; i++)
        if (!isnan(x[i])) n += 1, sum += x[i];
    *m = sum / (n + kappa);
    for (int64_t i = origin - CONTEXT + 1; i <= origin; i++)
        if (!isnan(x[i])) squares += (x[i] - *m) * (x[i] - *m);
    *s = sqrt((squares + 8) / (n + 8));
}

/* The hour that a slot holds, and its value on the scale of the context. */
static double scaled(const double *x, int64_t origin, double kappa, int slot)
{
    double m, s;
    level(x, origin, kappa, &m, &s);
    return (x[origin - CONTEXT + 1 + slot] - m) / s;
}

static int put_calendar(double t, double *to)
{
    static const struct {
        double period;
        int    n;
    } cycle[] = { { 24, 3 }, { 168, 2 } };
    int at = 0;
    for (int c = 0; c < 2; c++)
        for (int k = 1; k <= cycle[c].n; k++) {
            to[at++] = sin(2 * acos(-1) * k * t / cycle[c].period);
            to[at++] = cos(2 * acos(-1) * k * t / cycle[c].period);
        }
    return at;
}

/* Hours since the last reading at the end of a token. */
static double age(const double *x, int64_t origin, int token, double shift)
{
    const int64_t end = origin - (int64_t)(S - 1 - token) * P, start = origin - CONTEXT;
    int64_t       last = start - 24;
    for (int64_t i = start + 1; i <= end; i++)
        if (!isnan(x[i])) last = i;
    return log1p((double)(end - last) + shift);
}

/* Mean over the entities of the row of the input's means in a token. */
static double wind_of(const sensors *s, int64_t row, int token, double kappa)
{
    double sum = 0, n = 0;
    for (int e = 0; e < N; e++) {
        double mean = 0;
        if (!s->joint && e != s->entity[row]) continue;
        for (int k = 0; k < P; k++) {
            const double w = scaled(s->wind[e], s->origin[row], kappa, token * P + k);
            mean += fmax(-5, fmin(5, w)) / P;
        }
        sum += mean, n += 1;
    }
    return sum / n;
}

static int put_token(const sensors *s, int64_t row, int token, double shift, double *to)
{
    const double  kappa = s->m->anchor[0]->kappa;
    const int64_t o = s->origin[row];
    int           at = 0;
    for (int e = 0; e < N; e++) { /* readings slot by slot */
        if (!s->joint && e != s->entity[row]) continue;
        for (int k = 0; k < P; k++) {
            const double w = scaled(s->u[e], o, kappa, token * P + k);
            to[at++] = isnan(w) ? 0 : w;
        }
    }
    for (int e = 0; e < N; e++) { /* how many: of every slot, or of the token */
        double share = 0;
        if (!s->joint && e != s->entity[row]) continue;
        for (int k = 0; k < P; k++) {
            const double here = !isnan(s->u[e][o - CONTEXT + 1 + token * P + k]);
            share += here / P;
            if (!s->joint) to[at++] = here;
        }
        if (s->joint) to[at++] = share;
    }
    for (int e = 0; e < N; e++)
        if (s->joint || e == s->entity[row]) to[at++] = age(s->u[e], o, token, shift);
    for (int k = 0; k < P && !s->joint; k++) { /* mean of all entities */
        double sum = 0, n = 0;
        for (int e = 0; e < N; e++) {
            const double w = scaled(s->u[e], o, kappa, token * P + k);
            if (!isnan(w)) sum += w, n += 1;
        }
        to[at++] = n > 0 ? sum / n : 0;
    }
    to[at++] = wind_of(s, row, token, kappa);
    if (!s->joint) to[at++] = 1; /* the input is never missing */
    if (s->m->network->config.features.calendar)
        at += put_calendar((double)o - P * ((double)(S - token) - 0.5), to + at);
    return at;
}

/* Queries: what is known about them, and the residual of the anchor's answer. */
static int put_queries(const sensors *s, int64_t row, double shift, seen *x)
{
    const ll_anchor_model *a = s->m->anchor[0];
    const int64_t          o = s->origin[row];
    const int              n = s->n_query[row], Z = s->joint ? N : 1;
    static double          hour[HOURS], y[N][HOURS];
    ll_law                 law[N][QUERIES];
    ll_series              series[N];
    double                 t[QUERIES];
    int                    at = 0;
    for (int q = 0; q < n; q++) t[q] = (double)(o + s->query[row][q]);
    for (int e = 0; e < N; e++) {
        for (int64_t i = 0; i < HOURS; i++) {
            hour[i] = (double)i;
            y[e][i] = (double)panel->value[((int64_t)e * HOURS + i) * 2];
        }
        series[e] = (ll_series){ .n = HOURS, .t = hour, .y = y[e] };
    }
    for (int e = 0; e < N; e++) {
        const ll_anchor_request r = { .history = series[e],
                                      .series = (size_t)e,
                                      .origin = (double)o,
                                      .n_query = (size_t)n,
                                      .t_query = t,
                                      .law = law[e],
                                      .all = series };
        CHECK_OK(ll_anchor_model_forecast(a, &r, 1));
    }
    for (int q = 0; q < n; q++) {
        const double tq = fmax(0, t[q] - (double)o - shift);
        double       m[N], scale[N];
        x->tq[q] = tq;
        x->asked[q] = 1;
        x->f[q][0] = tq / QUERIES;
        x->f[q][1] = log1p(tq) / 5;
        for (int z = 0; z < Z; z++) {
            const int     e = s->joint ? z : s->entity[row];
            const ll_law *l = &law[e][q];
            level(s->u[e], o, a->kappa, &m[z], &scale[z]);
            x->f[q][2 + z] = (l->mean - m[z]) / scale[z];
            x->f[q][2 + Z + z] = log(l->sd / scale[z]);
            const double r = (s->u[e][o + s->query[row][q]] - l->mean) / l->sd;
            x->mask[q][z] = !isnan(r);
            x->z0[q][z] = isnan(r) ? 0 : fmax(-6, fmin(6, r));
        }
        at = 2 + 2 * Z;
        if (s->m->network->config.features.calendar) at += put_calendar(t[q], x->f[q] + at);
        assert_false(s->m->network->config.features.level); /* less than two years of data */
    }
    return at;
}

/* What training varies, each draw by its name (seed, row, what for, step). */
static void see(sensors *s, int64_t row, uint64_t seed, uint32_t step, seen *x)
{
    enum { OF_ROW, OF_DROP, OF_NOISE, OF_QUERY, OF_UNKNOWN };
    const int Z = s->joint ? N : 1, n = s->n_query[row];
    ll_rng    r[OF_UNKNOWN + 1];
    *x = (seen){ 0 };
    for (uint32_t k = 0; k <= OF_UNKNOWN; k++)
        r[k] = ll_rng_make(seed, LL_STREAM_MASK, s->id[row], k, step);
    const bool   shifted = (double)ll_rng_uniform(&r[OF_ROW], 1) < 0.1;
    const double shift = shifted ? 0.999 * (double)ll_rng_uniform(&r[OF_ROW], 3) : 0;
    const bool   strange = (double)ll_rng_uniform(&r[OF_ROW], 0) < 0.05;
    x->embedding = strange ? N : s->entity[row];
    for (int j = 0; j < S; j++) {
        const int F = put_token(s, row, j, shift, x->token[j]);
        for (int k = 0; k < F; k++)
            x->token[j][k] +=
                0.3 * AUGMENT * (double)ll_rng_normal(&r[OF_NOISE], (uint64_t)(j * F + k));
        x->dropped[j] =
            j + 1 < S && (double)ll_rng_uniform(&r[OF_DROP], (uint64_t)j) < 0.5 * AUGMENT;
        s->dropped += x->dropped[j] > 0;
    }
    put_queries(s, row, shift, x);
    for (int q = 0; q < n; q++)
        for (int z = 0; z < Z; z++)
            if (x->mask[q][z] == 0)
                x->z0[q][z] = (double)ll_rng_normal(&r[OF_UNKNOWN], (uint64_t)(q * Z + z));
    const bool few = (double)ll_rng_uniform(&r[OF_ROW], 2) < 0.1;
    for (int q = 1; q < n && few; q++) {
        if (ll_rng_uniform(&r[OF_QUERY], (uint64_t)q) >= ll_rng_uniform(&r[OF_QUERY], 0)) continue;
        x->asked[q] = 0;
        for (int z = 0; z < Z; z++) x->mask[q][z] = 0;
    }
    s->shifted += shifted, s->shortened += few, s->strangers += strange;
}

/* ---- a member by hand ---- */

typedef struct result {
    double loss[STEPS], *ema[STEPS + 1]; /* averaged weights, before and after each step */
    int    clipped;
    hand   h; /* its names */
} result;

typedef struct inputs {
    double  *tokens, *token_pad, *z, *time, *tq, *f, *pad, *v, *weight;
    int32_t *entity;
} inputs;

/* Loss: sum of weight (prediction - v)^2; what z, v and weight are is the caller's. */
static inputs describe(hand *h, const ll_network_config *c, uint64_t seed)
{
    static int32_t entity[BATCH];
    const int64_t  B = BATCH, F = c->patches.token_dim, Q = c->denoiser.query_features;
    const int64_t  Z = c->denoiser.data_dim;
    const ll_shape values = LL_SHAPE(B, QUERIES, Z);
    CHECK_OK(ll_graph_create(&h->g));
    ll_graph   *g = h->g;
    ll_tensor  *pad = ll_input(g, "token_pad", LL_SHAPE(B, S));
    ll_patch_in p = { .tokens = ll_input(g, "tokens", LL_SHAPE(B, S, F)),
                      .pad = pad,
                      .training = true };
    if (c->patches.entities > 0) p.entity = ll_input_int(g, "entity", LL_SHAPE(B));
    ll_scope_push(g, "summarizer");
    ll_tensor *E = ll_patch_summary(g, &c->patches, &p);
    ll_scope_pop(g);
    const ll_denoiser_in d = { .z = ll_input(g, "z", values),
                               .time = ll_input(g, "time", LL_SHAPE(B)),
                               .tq = ll_input(g, "tq", LL_SHAPE(B, QUERIES)),
                               .f = ll_input(g, "f", LL_SHAPE(B, QUERIES, Q)),
                               .pad = ll_input(g, "pad", LL_SHAPE(B, QUERIES)),
                               .E = E,
                               .E_pad = pad,
                               .training = true };
    ll_scope_push(g, "denoiser");
    ll_tensor *prediction = ll_denoiser(g, &c->denoiser, &d);
    ll_scope_pop(g);
    ll_tensor *error = ll_sub(g, prediction, ll_input(g, "v", values));
    ll_tensor *weight = ll_input(g, "weight", values);
    hand_init(h, ll_sum(g, ll_mul(g, weight, ll_square(g, error)), LL_ALL_AXES), seed);
    CHECK_OK(ll_denoiser_init_calendar(h->p, "denoiser.", seed, 1.0));
    hand_start_ema(h);
    if (p.entity != NULL) CHECK_OK(ll_run_bind(h->run, "entity", entity, B));
    return (inputs){ .tokens = hand_in(h, "tokens", B * S * F),
                     .token_pad = hand_in(h, "token_pad", B * S),
                     .z = hand_in(h, "z", B * QUERIES * Z),
                     .time = hand_in(h, "time", B),
                     .tq = hand_in(h, "tq", B * QUERIES),
                     .f = hand_in(h, "f", B * QUERIES * Q),
                     .pad = hand_in(h, "pad", B * QUERIES),
                     .v = hand_in(h, "v", B * QUERIES * Z),
                     .weight = hand_in(h, "weight", B * QUERIES * Z),
                     .entity = entity };
}

/* Row b of the batch: noise of its own, a time from its own part of (0, 1). Values that are known.
 */
static double put_row(const ll_network_config *c, const seen *x, uint64_t seed, uint64_t id,
                      int step, int b, const inputs *in)
{
    const int    F = (int)c->patches.token_dim, Q = (int)c->denoiser.query_features;
    const int    Z = (int)c->denoiser.data_dim;
    const ll_rng when = ll_rng_make(seed, LL_STREAM_DIFFUSE, 0, 1, (uint32_t)step);
    const ll_rng noise = ll_rng_make(seed, LL_STREAM_DIFFUSE, id, 0, (uint32_t)step);
    const double t = 0.003 + 0.994 * (b + (double)ll_rng_uniform(&when, (uint64_t)b)) / BATCH;
    const double alpha = cos(acos(-1) / 2 * t), sigma = sin(acos(-1) / 2 * t);
    double       known = 0;
    in->time[b] = t;
    in->entity[b] = x->embedding;
    for (int j = 0; j < S; j++) {
        in->token_pad[b * S + j] = x->dropped[j];
        for (int k = 0; k < F; k++) in->tokens[(b * S + j) * F + k] = x->token[j][k];
    }
    for (int q = 0; q < QUERIES; q++) {
        const int at = b * QUERIES + q;
        in->tq[at] = x->tq[q];
        in->pad[at] = 1 - x->asked[q];
        for (int k = 0; k < Q; k++) in->f[at * Q + k] = x->f[q][k];
        for (int z = 0; z < Z; z++) {
            const double e = (double)ll_rng_normal(&noise, (uint64_t)(q * Z + z));
            in->z[at * Z + z] = alpha * x->z0[q][z] + sigma * e;
            in->v[at * Z + z] = alpha * e - sigma * x->z0[q][z];
            in->weight[at * Z + z] = x->mask[q][z];
            known += x->mask[q][z];
        }
    }
    return known;
}

static double rate(int step)
{
    if (step < WARM) return RATE * (step + 1) / WARM;
    const double part = (double)(step - WARM) / (STEPS - WARM);
    return RATE * (0.02 + 0.98 * 0.5 * (1 + cos(acos(-1) * part)));
}

static void train_by_hand(sensors *s, int member, result *out)
{
    static seen              x;
    const ll_network_config *c = &s->m->network->config;
    const uint64_t           seed = SEED + (uint64_t)member * 1000003;
    const inputs             in = describe(&out->h, c, seed);
    const int                Z = (int)c->denoiser.data_dim;
    int32_t                 *rng = ll_params_find(out->h.p, "rng")->data;
    uint32_t                 order[MOST];
    int64_t                  count = 0;
    for (int i = 0; i < ll_params_count(out->h.p); i++) count += ll_params_at(out->h.p, i)->count;
    out->ema[0] = ll_new((size_t)count, sizeof **out->ema);
    memcpy(out->ema[0], out->h.ema, (size_t)count * sizeof **out->ema);
    assert_true(s->n > STEPS * BATCH); /* one epoch */
    const ll_rng shuffle = ll_rng_make(seed, LL_STREAM_SHUFFLE, 0, 0, 0);
    ll_rng_permute(&shuffle, (size_t)s->n, order);
    for (int step = 0; step < STEPS; step++) {
        double known = 0;
        for (int b = 0; b < BATCH; b++) {
            const int64_t row = order[step * BATCH + b];
            see(s, row, seed, (uint32_t)step, &x);
            known += put_row(c, &x, seed, s->id[row], step, b, &in);
        }
        for (int i = 0; i < BATCH * QUERIES * Z; i++) in.weight[i] /= known;
        rng[0] = (int32_t)seed, rng[1] = rng[3] = 0; /* of dropout; [2] is the step */
        out->loss[step] = hand_step(&out->h, step, rate(step),
                                    (hand_optim){ .beta2 = 0.98, .decay = 0.02, .ema = 0.99 });
        out->clipped += out->h.norm > 1;
        out->ema[step + 1] = ll_new((size_t)count, sizeof **out->ema);
        memcpy(out->ema[step + 1], out->h.ema, (size_t)count * sizeof **out->ema);
    }
}

/* ---- the comparison ---- */

/* After how many steps the program kept the weights: its last line that was better. */
static int kept_step(const char *log, const char *stage)
{
    char  *text;
    size_t size;
    int    line = -1, best = -1;
    CHECK_OK(ll_file_read(log, 1 << 20, &text, &size));
    for (char *x = strtok(text, "\n"); x != NULL; x = strtok(NULL, "\n")) {
        if (strstr(x, stage) == NULL) continue;
        line++;
        if (strstr(x, "\"better\":true") != NULL) best = line;
    }
    ll_free(text);
    return (best + 1) * EACH;
}

static void check_member(sensors *s, const char *log, int member)
{
    char    stage[16];
    double  found[TEN / EACH];
    result *r = ll_new(1, sizeof *r);
    snprintf(stage, sizeof stage, "member.%d", member);
    train_by_hand(s, member, r);
    read_losses(log, stage, found, TEN / EACH);
    for (int i = 0; i < TEN / EACH; i++) {
        const double mean = (r->loss[EACH * i] + r->loss[EACH * i + 1]) / 2;
        /* single against double precision, through the steps of Adam */
        if (fabs(found[i] - mean) > 2e-4 * fabs(mean))
            fail_msg("%s, line %d: expected a loss of %.7g, found %.7g", stage, i, mean, found[i]);
    }
    assert_true(r->clipped > 0);
    const int     kept = kept_step(log, stage);
    const double *ema = r->ema[kept], *before = r->ema[0];
    double        apart = 0, moved = 0; /* sums of squares */
    for (int i = 0; i < ll_params_count(r->h.p); i++) {
        const ll_param_info *x = ll_params_at(r->h.p, i);
        char                 name[128];
        snprintf(name, sizeof name, "%s.%s", stage, x->name);
        const ll_param_info *y = ll_params_find(s->m->network->params, name);
        for (int64_t k = 0; y != NULL && k < x->count; k++) {
            apart += pow(ema[k] - (double)((const float *)y->data)[k], 2);
            moved += pow(ema[k] - before[k], 2);
        }
        ema += x->count;
        before += x->count;
    }
    print_message("%s: %d steps moved the weights by %.1e, %.1e from those by hand\n", stage, kept,
                  sqrt(moved), sqrt(apart));
    /* most of it in the biases of keys, whose gradient is 0 and in single precision chance */
    assert_true(apart < 2e-3 * 2e-3 * moved);
    for (int i = 0; i <= STEPS; i++) ll_free(r->ema[i]);
    hand_deinit(&r->h);
    ll_free(r);
}

static void check_steps(llap_train_view view)
{
    char            log[64], config[64];
    llap_train_opts o = { 0 };
    llap_model     *m;
    sensors        *s = ll_new(1, sizeof *s);
    snprintf(log, sizeof log, "%s/%d.log", folder, (int)view);
    snprintf(config, sizeof config, "%s/config", folder);
    FILE *f = fopen(config, "w");
    fprintf(f,
            "{ \"network\": { \"features\": { \"augment\": %g } }, "
            "\"training\": { \"networks\": { \"check_rows\": 8, \"final_rows\": 8 } } }",
            AUGMENT);
    fclose(f);
    o.target = "no2", o.context = "60h", o.horizon = "6";
    o.size = LLAP_TRAIN_SIZE_TINY, o.view = view, o.members = 2;
    o.steps = STEPS, o.batch = BATCH, o.lr = RATE, o.seed = SEED;
    o.config = config, o.history = log;
    CHECK_OK(llap_train(panel, &o, &m));
    sensors_init(s, m, view == LLAP_TRAIN_VIEW_JOINT);
    for (int member = 0; member < 2; member++) check_member(s, log, member);
    assert_true(s->shifted > 0 && s->shortened > 0 && s->strangers > 0 && s->dropped > 0);
    ll_free(s);
    llap_model_destroy(m);
}

static void steps_of_joint_rows(void **state)
{
    (void)state;
    check_steps(LLAP_TRAIN_VIEW_JOINT);
}

static void steps_of_single_rows(void **state)
{
    (void)state;
    check_steps(LLAP_TRAIN_VIEW_ROWS);
}

/* The keys of dropout, which the comparison above shares with the program. */
static void dropout_is_named_by_seed_op_step_and_element(void **state)
{
    (void)state;
    enum { n = 100 };
    const uint64_t seed = UINT64_C(0x123456789abcdef0), step = UINT64_C(0x300000005);
    hand           h = { 0 };
    CHECK_OK(ll_graph_create(&h.g));
    ll_tensor *x = ll_input(h.g, "x", LL_SHAPE(n));
    ll_output(h.g, "0", ll_dropout(h.g, x, 0.3));
    ll_tensor *y = ll_dropout(h.g, x, 0.3);
    ll_output(h.g, "1", y);
    hand_init(&h, ll_sum(h.g, y, LL_ALL_AXES), 1);
    double  *in = hand_in(&h, "x", n);
    int32_t *rng = ll_params_find(h.p, "rng")->data;
    for (int i = 0; i < 2; i++) {
        rng[i] = (int32_t)(uint32_t)(seed >> 32 * i);
        rng[2 + i] = (int32_t)(uint32_t)(step >> 32 * i);
    }
    for (int i = 0; i < n; i++) in[i] = 7;
    CHECK_OK(ll_run_exec(h.run));
    for (uint64_t op = 0; op < 2; op++) {
        const double *out = ll_run_output(h.run, op == 0 ? "0" : "1", NULL);
        const ll_rng  r = ll_rng_make(seed, LL_STREAM_DROPOUT, op, 3, 5);
        for (uint64_t i = 0; i < n; i++)
            assert_float_equal(out[i], ll_rng_uniform(&r, i) < 0.3f ? 0 : 10, 1e-12);
    }
    hand_deinit(&h);
}

static int set_up(void **state)
{
    panel = make_rows_on(&LL_AXIS_UTC, "no2", "wind", N, HOURS);
    return make_folder(state);
}

static int tear_down(void **state)
{
    llap_panel_destroy(panel);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_joint_rows),
        cmocka_unit_test(steps_of_single_rows),
        cmocka_unit_test(dropout_is_named_by_seed_op_step_and_element),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
