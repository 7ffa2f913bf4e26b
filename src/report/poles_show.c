/* Poles for people and as JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "predict/view/span.h"
#include "report/poles.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586

static double total_energy(const llap_pole_set *s)
{
    double sum = 0.0;
    for (int64_t k = 0; k < s->n; k++) sum += s->energy[k];
    return sum;
}

/* ---- JSON ---- */

static void put_numbers(ll_json_writer *w, const char *key, const double *v, int64_t n)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, v[i]);
    ll_json_close(w, ']');
}

static void pole_json(ll_json_writer *w, const llap_pole_set *s, int64_t k)
{
    assert((s->n_gaps > 0) == (s->multiplier != NULL));
    ll_json_open(w, NULL, '{');
    ll_json_put_double(w, "rho", s->rho[k]);
    ll_json_put_double(w, "omega", s->omega[k]);
    ll_json_put_double(w, "half_life", s->half_life[k]); /* null: it never decays */
    ll_json_put_double(w, "period", s->period[k]);       /* null: it never turns */
    ll_json_put_double(w, "cosine", s->cosine[k]);
    ll_json_put_double(w, "sine", s->sine[k]);
    ll_json_put_double(w, "energy", s->energy[k]);
    if (s->n_gaps > 0) {
        ll_json_open(w, "event", '{');
        put_numbers(w, "multiplier", s->multiplier + 2 * k, 2);
        put_numbers(w, "log_pole", s->log_pole + 2 * k, 2);
        put_numbers(w, "second_order", s->second_order + 2 * k, 2);
        ll_json_put_bool(w, "stable", s->event_stable[k]);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

/* x' = A x + B u, y = C x; A in rows. */
static void realisation_json(ll_json_writer *w, const llap_pole_set *s)
{
    const int64_t n = 2 * s->n;
    ll_json_open(w, "realisation", '{');
    ll_json_open(w, "A", '[');
    for (int64_t i = 0; i < n; i++) put_numbers(w, NULL, s->A + i * n, n);
    ll_json_close(w, ']');
    put_numbers(w, "B", s->B, n);
    put_numbers(w, "C", s->C, n);
    ll_json_close(w, '}');
}

static void set_json(ll_json_writer *w, const llap_pole_set *s)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "of", s->name);
    ll_json_put_string(w, "energy_is", s->energy_is);
    ll_json_put_bool(w, "stable", s->stable);
    if (s->n_gaps > 0) {
        ll_json_put_int(w, "gaps", s->n_gaps);
        ll_json_put_double(w, "mean_gap", s->mean_gap);
    }
    ll_json_open(w, "poles", '[');
    for (int64_t k = 0; k < s->n; k++) pole_json(w, s, k);
    ll_json_close(w, ']');
    if (s->n_transfer > 0) ll_json_open(w, "transfer", '[');
    for (int64_t i = 0; i < s->n_transfer; i++) {
        ll_json_open(w, NULL, '{');
        ll_json_put_double(w, "omega", s->transfer[3 * i]);
        put_numbers(w, "G", s->transfer + 3 * i + 1, 2);
        ll_json_close(w, '}');
    }
    if (s->n_transfer > 0) ll_json_close(w, ']');
    if (s->n_impulse > 0) ll_json_open(w, "impulse", '[');
    for (int64_t i = 0; i < s->n_impulse; i++) put_numbers(w, NULL, s->impulse + 2 * i, 2);
    if (s->n_impulse > 0) ll_json_close(w, ']');
    if (s->A != NULL) realisation_json(w, s);
    ll_json_close(w, '}');
}

llap_status llap_pole_sets_json(const llap_pole_sets *p, char **text)
{
    ll_json_writer w = { .indent = 2 };
    size_t         n;
    ll_json_open(&w, NULL, '{');
    ll_json_put_int(&w, "unit_ns", p->info.unit_ns);
    if (!isnan(p->info.noise)) ll_json_put_double(&w, "noise", p->info.noise);
    ll_json_open(&w, "sets", '[');
    for (int64_t i = 0; i < p->info.n_sets; i++) set_json(&w, &p->set[i]);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}

/* ---- text ---- */

/* Poles with most energy first. */
static int64_t *by_energy(const llap_pole_set *s)
{
    int64_t *order = ll_new((size_t)s->n + 1, sizeof *order);
    for (int64_t k = 0; order != NULL && k < s->n; k++) {
        int64_t at = k;
        for (; at > 0 && s->energy[order[at - 1]] < s->energy[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
    return order;
}

static void pole_text(FILE *f, const llap_model *m, const llap_pole_set *s, int64_t k, double total)
{
    assert(k >= 0 && k < s->n && (s->n_gaps > 0) == (s->event_stable != NULL));
    fprintf(f, "  %11.4g %11.4g  %-12s %-12s", s->rho[k], s->omega[k],
            ll_span_of_units(m, s->half_life[k]).text, ll_span_of_units(m, s->period[k]).text);
    if (total > 0) fprintf(f, " %6.1f %%", 100.0 * s->energy[k] / total);
    if (s->n_gaps > 0)
        fprintf(f, "  %8.4f  %+.4f%+.4fi  %+.4f%+.4fi%s",
                hypot(s->multiplier[2 * k], s->multiplier[2 * k + 1]), s->log_pole[2 * k],
                s->log_pole[2 * k + 1], s->second_order[2 * k], s->second_order[2 * k + 1],
                s->event_stable[k] ? "" : "  not stable");
    fputc('\n', f);
}

static void requested_text(FILE *f, const llap_model *m, const llap_pole_set *s)
{
    if (s->n_transfer > 0) fprintf(f, "  %-12s %11s %11s\n", "period", "|G|", "phase");
    for (int64_t i = 0; i < s->n_transfer; i++) {
        const double *g = s->transfer + 3 * i;
        fprintf(f, "  %-12s %11.4g %11.4f\n", ll_span_of_units(m, TWO_PI / g[0]).text,
                hypot(g[1], g[2]), atan2(g[2], g[1]));
    }
    if (s->n_impulse > 0) fprintf(f, "  %-12s %11s\n", "after", "response");
    for (int64_t i = 0; i < s->n_impulse; i++)
        fprintf(f, "  %-12s %11.4g\n", ll_span_of_units(m, s->impulse[2 * i]).text,
                s->impulse[2 * i + 1]);
    assert((s->A == NULL) == (s->B == NULL) && (s->A == NULL) == (s->C == NULL));
    if (s->A == NULL) return;
    fprintf(f,
            "  x' = A x + B u, y = C x, with blocks [-rho -omega; omega -rho]\n  %11s %11s %11s "
            "%11s %11s %11s\n",
            "-rho", "omega", "B", "B", "C", "C");
    for (int64_t k = 0; k < s->n; k++) {
        const double *block = s->A + 4 * k * s->n + 2 * k, *B = s->B + 2 * k, *C = s->C + 2 * k;
        fprintf(f, "  %11.4g %11.4g %11.4g %11.4g %11.4g %11.4g\n", block[0], block[2 * s->n], B[0],
                B[1], C[0], C[1]);
    }
}

static llap_status set_text(FILE *f, const llap_model *m, const llap_pole_set *s)
{
    const double total = total_energy(s);
    int64_t     *order = by_energy(s);
    if (order == NULL) return LLAP_ENOMEM;
    fprintf(f, "%s: %lld poles, %s", s->name, (long long)s->n,
            s->stable ? "all stable" : "not all stable");
    if (s->n_gaps > 0)
        fprintf(f, "; from reading to reading over %lld gaps, %s on average", (long long)s->n_gaps,
                ll_span_of_units(m, s->mean_gap).text);
    fprintf(f, "\n  %11s %11s  %-12s %-12s", "rho", "omega", "half-life", "period");
    if (total > 0) fprintf(f, " %8s", "energy");
    if (s->n_gaps > 0) fprintf(f, "  %8s  %-15s  %-15s", "|lambda|", "log-pole", "second order");
    fputc('\n', f);
    for (int64_t k = 0; k < s->n; k++) pole_text(f, m, s, order[k], total);
    requested_text(f, m, s);
    ll_free(order);
    return LLAP_OK;
}

llap_status llap_pole_sets_text(const llap_pole_sets *p, char **text)
{
    size_t         n;
    ll_memory_file to;
    llap_status    st = ll_memory_file_open(&to);
    for (int64_t i = 0; i < p->info.n_sets && st == LLAP_OK; i++) {
        if (i > 0) fputc('\n', to.stream);
        st = set_text(to.stream, p->m, &p->set[i]);
    }
    return ll_memory_file_close(&to, st, text, &n);
}

llap_status llap_model_poles(const llap_model *m, const llap_panel *panel,
                             const llap_pole_opts *given, int json, char **text)
{
    *text = NULL;
    llap_pole_sets *p = NULL;
    llap_status     st = llap_pole_sets_create(m, panel, given, &p);
    if (st == LLAP_OK) st = json ? llap_pole_sets_json(p, text) : llap_pole_sets_text(p, text);
    llap_pole_sets_destroy(p);
    return st;
}
