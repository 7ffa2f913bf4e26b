#include "train/run/budget.h"

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time/duration.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define USUAL 600.0 /* seconds after which a training without a budget is warned of */

double ll_work_seconds(ll_work w, const ll_work_cost *c)
{
    if (w.networks == 0) return 0;
    return (double)w.networks * ((double)w.steps * c->step + c->checks) + c->rest;
}

static bool fits(ll_work w, const ll_work_cost *c, double left)
{
    return ll_work_seconds(w, c) <= left;
}

ll_work ll_work_that_fits(ll_work asked, ll_work_less less, const ll_work_cost *c, double left)
{
    ll_work w = asked;
    assert(asked.networks > 0 && asked.steps > 0);
    while (less.networks && w.networks > 1 && !fits(w, c, left)) w.networks--;
    for (int i = 0; i < 2 && less.steps && w.steps > 1 && !fits(w, c, left); i++) w.steps /= 2;
    return fits(w, c, left) ? w : (ll_work){ 0 };
}

llap_status ll_budget_seconds(const llap_train_opts *o, double *seconds)
{
    int64_t ns;
    *seconds = 0;
    if (o->budget == NULL) return LLAP_OK;
    const llap_status st = ll_duration_parse(o->budget, strlen(o->budget), &ns);
    if (st != LLAP_OK || ns <= 0)
        return ll_fail(LLAP_EOPTION, "budget: expected a time such as 10m or 2h, found '%s'",
                       ll_text_show(o->budget).text);
    *seconds = 1e-9 * (double)ns;
    return LLAP_OK;
}

/* ---- the note ---- */

enum { NOTE = 40 };

static void name_note(const char *name, char out[NOTE]) { snprintf(out, NOTE, "work.%s", name); }

bool ll_work_settled(const ll_training_run *run, const char *name, ll_work *w)
{
    char   note[NOTE];
    double v[2];
    name_note(name, note);
    if (!ll_training_run_find(run, note, v, 2)) return false;
    if (!(v[0] >= 0 && v[0] <= 1e9 && v[1] >= 0 && v[1] <= 1e9)) return false;
    *w = (ll_work){ (int64_t)v[0], (int64_t)v[1] };
    return true;
}

static llap_status keep(ll_training_run *run, const char *name, ll_work w)
{
    char         note[NOTE];
    const double v[] = { (double)w.networks, (double)w.steps };
    name_note(name, note);
    return ll_training_run_keep(run, note, v, 2);
}

/* ---- what is said ---- */

typedef struct text {
    char t[24];
} text;

static text time_text(double seconds)
{
    text t;
    if (seconds < 100) snprintf(t.t, sizeof t.t, "%.0f s", ceil(seconds));
    else if (seconds < 7200) snprintf(t.t, sizeof t.t, "%.0f minutes", seconds / 60);
    else snprintf(t.t, sizeof t.t, "%.1f hours", seconds / 3600);
    return t;
}

/* So much is trained, of what was asked for; left: seconds of the budget, INFINITY without one. */
static void say(const llap_log *log, const ll_work_question *q, const ll_work_cost *c, double left,
                ll_work w)
{
    const double all = ll_work_seconds(q->asked, c);
    if (w.networks == q->asked.networks && w.steps == q->asked.steps) {
        const bool warn = isinf(left) && all > USUAL;
        ll_logf(log, warn ? LLAP_LOG_WARNING : LLAP_LOG_INFO, "%s: at most %s more here%s; %s%s",
                q->name, time_text(all).t, isinf(left) ? "" : ", within the budget", q->without,
                warn ? "; `budget` 10m trains what fits into ten minutes" : "");
        return;
    }
    const text      took = time_text(ll_work_seconds(w, c));
    const long long n = w.networks, steps = w.steps;
    char            what[240] = "they are left out (the same: `size` anchor)";
    if (n > 0 && q->of_stack)
        snprintf(
            what, sizeof what,
            "fewer are trained, at most %s (the same: `training` {\"stack\": {\"seeds\": %lld, "
            "\"steps\": %lld}})",
            took.t, n, steps);
    else if (n > 0)
        snprintf(what, sizeof what,
                 "fewer are trained, at most %s (the same: `members` %lld, `steps` %lld)", took.t,
                 n, steps);
    ll_logf(log, LLAP_LOG_WARNING, "%s: at most %s more here, %s are left of the budget: %s; %s",
            q->name, time_text(all).t, time_text(fmax(left, 0)).t, what, q->without);
}

llap_status ll_work_settle(ll_training_run *run, const llap_train_opts *o,
                           const ll_work_question *q, const ll_work_cost *c, ll_work *w)
{
    double      budget;
    llap_status st = ll_budget_seconds(o, &budget);
    if (st != LLAP_OK) return st;
    const double left = budget > 0 ? budget - ll_training_run_spent(run) : INFINITY;
    *w = ll_work_that_fits(q->asked, q->less, c, left);
    say(o->log, q, c, left, *w);
    return keep(run, q->name, *w);
}
