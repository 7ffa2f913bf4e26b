/* Poles for people and as JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "predict/span.h"
#include "report/poles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586

/* ---- what is asked for beside the poles ---- */

/* Frequency number i of n: from one turn in four horizons to half a turn in a step, evenly in the
 * logarithm; per unit of the model's time. */
static double frequency(const llap_model *m, int64_t i, int64_t n)
{
    const double unit = (double)m->frame.unit;
    const double low = TWO_PI / (4.0 * (double)m->frame.horizon / unit);
    const double high = 0.5 * TWO_PI / ((double)m->frame.step / unit);
    return n < 2 ? low : low * pow(high / low, (double)i / (double)(n - 1));
}

/* Time number i of n, from 0 to the horizon, in the model's unit. */
static double moment(const llap_model *m, int64_t i, int64_t n)
{
    const double horizon = (double)m->frame.horizon / (double)m->frame.unit;
    return n < 2 ? 0.0 : horizon * (double)i / (double)(n - 1);
}

static double total_energy(const ll_pole_set *s)
{
    double sum = 0.0;
    for (int64_t k = 0; k < s->n; k++) sum += s->energy[k];
    return sum;
}

/* ---- JSON ---- */

static void put_complex(ll_json_writer *w, const char *key, ll_complex z)
{
    ll_json_open(w, key, '(');
    ll_json_put_double(w, NULL, z.re);
    ll_json_put_double(w, NULL, z.im);
    ll_json_close(w, ']');
}

static void pole_json(ll_json_writer *w, const ll_pole_set *s, int64_t k)
{
    const ll_mode *p = &s->mode[k];
    ll_json_open(w, NULL, '{');
    ll_json_put_double(w, "rho", p->rho);
    ll_json_put_double(w, "omega", p->omega);
    ll_json_put_double(w, "half_life", ll_mode_half_life(*p)); /* null: it never decays */
    ll_json_put_double(w, "period", ll_mode_period(*p));       /* null: it never turns */
    ll_json_put_double(w, "cosine", p->c);
    ll_json_put_double(w, "sine", p->b);
    ll_json_put_double(w, "energy", s->energy[k]);
    if (s->event != NULL) {
        const ll_event_pole *e = &s->event[k];
        ll_json_open(w, "event", '{');
        put_complex(w, "multiplier", e->multiplier);
        put_complex(w, "log_pole", e->log_pole);
        put_complex(w, "second_order", e->second);
        ll_json_put_bool(w, "stable", e->stable);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

static void put_numbers(ll_json_writer *w, const char *key, const double *v, int64_t n)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, v[i]);
    ll_json_close(w, ']');
}

/* x' = A x + B u, y = C x; A in rows. */
static llap_status realisation_json(ll_json_writer *w, const ll_pole_set *s)
{
    const size_t n = 2 * (size_t)s->n;
    double      *A = ll_new(n * n + 2 * n, sizeof *A);
    if (A == NULL) return LLAP_ENOMEM;
    double *B = A + n * n, *C = B + n;
    ll_modes_realise(s->mode, s->n, A, B, C);
    ll_json_open(w, "realisation", '{');
    ll_json_open(w, "A", '[');
    for (size_t i = 0; i < n; i++) put_numbers(w, NULL, A + i * n, (int64_t)n);
    ll_json_close(w, ']');
    put_numbers(w, "B", B, (int64_t)n);
    put_numbers(w, "C", C, (int64_t)n);
    ll_json_close(w, '}');
    ll_free(A);
    return LLAP_OK;
}

static llap_status set_json(ll_json_writer *w, const llap_model *m, const ll_pole_set *s,
                            const llap_pole_opts *o)
{
    llap_status st = LLAP_OK;
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "of", s->name);
    ll_json_put_string(w, "energy_is", s->energy_is);
    ll_json_put_bool(w, "stable", ll_modes_stable(s->mode, s->n));
    if (s->event != NULL) {
        ll_json_put_int(w, "gaps", s->n_gaps);
        ll_json_put_double(w, "mean_gap", s->gap);
    }
    ll_json_open(w, "poles", '[');
    for (int64_t k = 0; k < s->n; k++) pole_json(w, s, k);
    ll_json_close(w, ']');
    if (o->transfer > 0) ll_json_open(w, "transfer", '[');
    for (int64_t i = 0; i < o->transfer; i++) {
        const double omega = frequency(m, i, o->transfer);
        ll_json_open(w, NULL, '{');
        ll_json_put_double(w, "omega", omega);
        put_complex(w, "G", ll_modes_transfer(s->mode, s->n, (ll_complex){ 0, omega }));
        ll_json_close(w, '}');
    }
    if (o->transfer > 0) ll_json_close(w, ']');
    if (o->impulse > 0) ll_json_open(w, "impulse", '[');
    for (int64_t i = 0; i < o->impulse; i++) {
        const double t = moment(m, i, o->impulse);
        const double pair[] = { t, ll_modes_response(s->mode, s->n, t) };
        put_numbers(w, NULL, pair, 2);
    }
    if (o->impulse > 0) ll_json_close(w, ']');
    if (o->realisation) st = realisation_json(w, s);
    ll_json_close(w, '}');
    return st;
}

static llap_status all_json(const llap_model *m, const ll_pole_report *p, const llap_pole_opts *o,
                            char **text)
{
    ll_json_writer w = { .indent = 2 };
    size_t         n;
    llap_status    st = LLAP_OK;
    ll_json_open(&w, NULL, '{');
    ll_json_put_int(&w, "unit_ns", m->frame.unit);
    if (m->network != NULL && !o->base) ll_json_put_double(&w, "noise", o->noise);
    ll_json_open(&w, "sets", '[');
    for (int i = 0; i < p->n && st == LLAP_OK; i++) st = set_json(&w, m, &p->set[i], o);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    const llap_status end = ll_json_finish(&w, text, &n);
    if (st != LLAP_OK && end == LLAP_OK) {
        ll_free(*text);
        *text = NULL;
    }
    return st != LLAP_OK ? st : end;
}

/* ---- text ---- */

/* Poles with most energy first. */
static int64_t *by_energy(const ll_pole_set *s)
{
    int64_t *order = ll_new((size_t)s->n + 1, sizeof *order);
    for (int64_t k = 0; order != NULL && k < s->n; k++) {
        int64_t at = k;
        for (; at > 0 && s->energy[order[at - 1]] < s->energy[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
    return order;
}

static void pole_text(FILE *f, const llap_model *m, const ll_pole_set *s, int64_t k, double total)
{
    const ll_mode *p = &s->mode[k];
    fprintf(f, "  %11.4g %11.4g  %-12s %-12s", p->rho, p->omega,
            ll_span_of_units(m, ll_mode_half_life(*p)).text,
            ll_span_of_units(m, ll_mode_period(*p)).text);
    if (total > 0) fprintf(f, " %6.1f %%", 100.0 * s->energy[k] / total);
    if (s->event != NULL) {
        const ll_event_pole *e = &s->event[k];
        fprintf(f, "  %8.4f  %+.4f%+.4fi  %+.4f%+.4fi%s", hypot(e->multiplier.re, e->multiplier.im),
                e->log_pole.re, e->log_pole.im, e->second.re, e->second.im,
                e->stable ? "" : "  not stable");
    }
    fputc('\n', f);
}

static void requested_text(FILE *f, const llap_model *m, const ll_pole_set *s,
                           const llap_pole_opts *o)
{
    if (o->transfer > 0) fprintf(f, "  %-12s %11s %11s\n", "period", "|G|", "phase");
    for (int64_t i = 0; i < o->transfer; i++) {
        const double     omega = frequency(m, i, o->transfer);
        const ll_complex g = ll_modes_transfer(s->mode, s->n, (ll_complex){ 0, omega });
        fprintf(f, "  %-12s %11.4g %11.4f\n", ll_span_of_units(m, TWO_PI / omega).text,
                hypot(g.re, g.im), atan2(g.im, g.re));
    }
    if (o->impulse > 0) fprintf(f, "  %-12s %11s\n", "after", "response");
    for (int64_t i = 0; i < o->impulse; i++) {
        const double t = moment(m, i, o->impulse);
        fprintf(f, "  %-12s %11.4g\n", ll_span_of_units(m, t).text,
                ll_modes_response(s->mode, s->n, t));
    }
    if (!o->realisation) return;
    fprintf(f,
            "  x' = A x + B u, y = C x, with blocks [-rho -omega; omega -rho]\n  %11s %11s %11s "
            "%11s %11s %11s\n",
            "-rho", "omega", "B", "B", "C", "C");
    for (int64_t k = 0; k < s->n; k++) {
        double A[4], B[2], C[2];
        ll_modes_realise(&s->mode[k], 1, A, B, C);
        fprintf(f, "  %11.4g %11.4g %11.4g %11.4g %11.4g %11.4g\n", A[0], A[2], B[0], B[1], C[0],
                C[1]);
    }
}

static llap_status set_text(FILE *f, const llap_model *m, const ll_pole_set *s,
                            const llap_pole_opts *o)
{
    const double total = total_energy(s);
    int64_t     *order = by_energy(s);
    if (order == NULL) return LLAP_ENOMEM;
    fprintf(f, "%s: %lld poles, %s", s->name, (long long)s->n,
            ll_modes_stable(s->mode, s->n) ? "all stable" : "not all stable");
    if (s->event != NULL)
        fprintf(f, "; from reading to reading over %lld gaps, %s on average", (long long)s->n_gaps,
                ll_span_of_units(m, s->gap).text);
    fprintf(f, "\n  %11s %11s  %-12s %-12s", "rho", "omega", "half-life", "period");
    if (total > 0) fprintf(f, " %8s", "energy");
    if (s->event != NULL) fprintf(f, "  %8s  %-15s  %-15s", "|lambda|", "log-pole", "second order");
    fputc('\n', f);
    for (int64_t k = 0; k < s->n; k++) pole_text(f, m, s, order[k], total);
    requested_text(f, m, s, o);
    ll_free(order);
    return LLAP_OK;
}

static llap_status all_text(const llap_model *m, const ll_pole_report *p, const llap_pole_opts *o,
                            char **text)
{
    char       *buffer = NULL;
    size_t      n = 0;
    FILE       *f = open_memstream(&buffer, &n);
    llap_status st = f == NULL ? ll_fail(LLAP_ENOMEM, "out of memory") : LLAP_OK;
    for (int i = 0; i < p->n && st == LLAP_OK; i++) {
        if (i > 0) fputc('\n', f);
        st = set_text(f, m, &p->set[i], o);
    }
    if (f != NULL && fclose(f) != 0 && st == LLAP_OK) st = ll_fail(LLAP_ENOMEM, "out of memory");
    if (st == LLAP_OK && (*text = ll_strndup(buffer, n)) == NULL) st = LLAP_ENOMEM;
    free(buffer);
    return st;
}

llap_status llap_model_poles(const llap_model *m, const llap_panel *panel, const llap_pole_opts *o,
                             int json, char **text)
{
    ll_pole_report p;
    *text = NULL;
    llap_status st = ll_pole_report_init(&p, m, panel, o);
    if (st == LLAP_OK) st = json ? all_json(m, &p, o, text) : all_text(m, &p, o, text);
    ll_pole_report_deinit(&p);
    return st;
}
