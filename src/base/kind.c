#include "base/kind.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

const char *const ll_kind_names[LL_KINDS + 1] = {
    "any", "count", "whole", "share", "positive", NULL
};

static const double MANY_ZEROS = .05, SOME_ZEROS = .01, LOW_MEAN = 20.0, AS_NOISY = .8;
enum { ENOUGH = 20, ENOUGH_ZEROS = 10 };
/* A value in single precision has no fraction from here on, whatever was measured. */
static const double FRACTIONS_END = 8388608.0;

void ll_kind_start(ll_kind_look *k) { k->n_last = 0; }

void ll_kind_add(ll_kind_look *k, double y)
{
    if (isnan(y)) return;
    if (k->n == 0.0) k->least = k->most = y;
    k->least = fmin(k->least, y);
    k->most = fmax(k->most, y);
    k->n += 1.0;
    k->sum += y;
    k->zeros += y == 0.0;
    k->fractions += y != floor(y);
    if (k->n_last == 2) {
        const double bend = y - 2.0 * k->last[0] + k->last[1];
        k->bend_sum += bend * bend;
        k->bends += 1.0;
    }
    k->last[1] = k->last[0];
    k->last[0] = y;
    if (k->n_last < 2) k->n_last++;
}

/* Independent noise of variance s^2 has second differences of variance 6 s^2, and a Poisson count
 * has the variance of its mean. What moves slowly, or is measured and rounded, has less. */
static bool is_noisy(const ll_kind_look *k)
{
    return k->bends > 0.0 && k->bend_sum / k->bends / 6.0 >= AS_NOISY * (k->sum / k->n);
}

static bool has_many_zeros(const ll_kind_look *k) { return k->zeros > MANY_ZEROS * k->n; }

ll_kind ll_kind_found(const ll_kind_look *k)
{
    if (k->n < ENOUGH) return LL_KIND_ANY;
    const bool whole = k->fractions == 0.0 && k->least < FRACTIONS_END;
    if (whole && k->least >= 0.0 &&
        (has_many_zeros(k) || (k->sum < LOW_MEAN * k->n && is_noisy(k))))
        return LL_KIND_COUNT;
    if (whole) return LL_KIND_WHOLE;
    if (k->least >= 0.0 && k->most <= 1.0 && k->least < .1 && k->most > .9) return LL_KIND_SHARE;
    return k->least >= 0.0 && has_many_zeros(k) ? LL_KIND_POSITIVE : LL_KIND_ANY;
}

bool ll_kind_floored(const ll_kind_look *k, ll_kind kind)
{
    if (kind == LL_KIND_SHARE || kind == LL_KIND_POSITIVE) return true;
    if (kind == LL_KIND_ANY || !(k->least >= 0.0)) return false;
    return has_many_zeros(k) ||
           (k->zeros >= ENOUGH_ZEROS && k->zeros >= SOME_ZEROS * k->n && is_noisy(k));
}

bool ll_kind_percentage(const ll_kind_look *k, ll_kind kind)
{
    if (k->n < ENOUGH || k->least < 0.0 || k->most > 100.0) return false;
    return k->most == 100.0 || (kind != LL_KIND_COUNT && k->least < 10.0 && k->most > 90.0);
}

const char *ll_kind_words(ll_kind k)
{
    static const char *const words[LL_KINDS] = { "numbers", "counts", "whole numbers", "shares",
                                                 "numbers that are never negative" };
    assert((int)k >= 0 && (int)k < (int)LL_KINDS);
    return words[k];
}
