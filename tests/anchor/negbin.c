/* The negative binomial law: against SciPy's numbers, against plain sums, and back again. */
#include "anchor/chain/negbin.h"

#include "check.h"

#include <math.h>
#include <stdbool.h>

static void check_near(const char *what, double m, double r, double y, double x, double expected,
                       double off)
{
    if (!(fabs(x - expected) <= off))
        fail_msg("%s, mean %g, r %g, at %g: %.12g, expected %.12g", what, m, r, y, x, expected);
}

/* docs/spec/anchor.md 9. */
static void check_values(void **state)
{
    (void)state;
    const ll_negbin law = { 1.2, 1.5 };
    const double    u[] = { -.816723, .131008, .728438, 1.1915 };
    for (int y = 0; y < 4; y++)
        check_near("score", 1.2, 1.5, y, ll_negbin_score(&law, y, .5), u[y], 1e-5);
}

static const struct {
    double m, r, y, density, below, above;
} scipy[] = {
    { 1.2, 1.5, 1, -1.28714510546, -0.370854373587, -1.1716490175 },
    { 1.2, 1.5, 2, -1.87493177036, -0.170183678125, -1.85476232566 },
    { 1.2, 1.5, 8, -6.1636089714, -0.00184769110666, -6.29474217311 },
    { 0.05, 0.1, 0, -0.0405465108108, -0.0405465108108, -3.22551030424 },
    { 0.05, 0.1, 0, -0.0405465108108, -0.0405465108108, -3.22551030424 },
    { 0.05, 0.1, 1, -3.44174389247, -0.00775668798783, -4.86307567866 },
    { 0.05, 10000, 0, -0.0499998749995, -0.0499998749995, -3.02063054709 },
    { 0.05, 10000, 0, -0.0499998749995, -0.0499998749995, -3.02063054709 },
    { 0.05, 10000, 1, -3.04573714855, -0.00120994892502, -6.71778204446 },
    { 15, 0.1, 15, -5.29438040904, -0.186287134383, -1.77216409346 },
    { 15, 0.1, 62, -6.88155059496, -0.0725463932267, -2.65958293063 },
    { 15, 0.1, 252, -9.40553024515, -0.00885521329468, -4.73117325992 },
    { 15, 3, 15, -3.19744687386, -0.515259294729, -0.909676866649 },
    { 15, 3, 24, -3.96717058841, -0.161101847801, -1.9051882681 },
    { 15, 3, 62, -9.07034429972, -0.000693483050759, -7.27413048014 },
    { 15, 10000, 7, -4.56596377843, -4.01380938912, -0.0182296036188 },
    { 15, 10000, 15, -2.27926781784, -0.5654761354, -0.839537107587 },
    { 15, 10000, 18, -2.65099151299, -0.199289100667, -1.71098899962 },
    { 15, 10000, 34, -11.4908062706, -7.44226225221e-06, -11.8083394103 },
    { 800, 0.5, 800, -8.10386272832, -0.381493751203, -1.14835095941 },
    { 800, 0.5, 1931, -9.25101618257, -0.128128717435, -2.11810032732 },
    { 800, 0.5, 6458, -12.6831028281, -0.00450828521843, -5.40409171116 },
    { 800, 50, 566, -7.84499829513, -4.22995626686, -0.0146599610253 },
    { 800, 50, 800, -5.67952384096, -0.652918920292, -0.735061831244 },
    { 800, 50, 916, -6.26388573353, -0.172149848184, -1.84423038456 },
    { 800, 50, 1383, -14.826383718, -1.34593658696e-05, -11.2158420767 },
    { 800, 10000, 741, -6.32851489738, -3.80799174133, -0.0224426661146 },
    { 800, 10000, 800, -4.29982970155, -0.67450479471, -0.712143717636 },
    { 800, 10000, 829, -4.79945707319, -0.171712774625, -1.84656024884 },
    { 800, 10000, 946, -15.9866843341, -6.54761096523e-07, -14.2389957334 },
    { 100000, 0.1, 100000, -14.0958971261, -0.189283167873, -1.75766033359 },
    { 100000, 0.1, 416227, -15.6955781647, -0.0724470208488, -2.66090456065 },
    { 100000, 0.1, 1681139, -18.2168858827, -0.0088173151761, -4.7354432752 },
    { 100000, 10, 36751, -13.9726366197, -5.3741427357, -0.0046456647663 },
    { 100000, 10, 100000, -11.2889520125, -0.6123480684, -0.781053228397 },
    { 100000, 10, 131624, -11.9782893303, -0.168841830031, -1.8620263012 },
    { 100000, 10, 258121, -18.5662125804, -0.000129213120835, -8.95411202319 },
    { 1e+07, 0.1, 10000000, -18.7010668113, -0.189283619416, -1.75765816501 },
    { 1e+07, 0.1, 41622776, -20.3007507164, -0.0724469514346, -2.66090548098 },
    { 1e+07, 0.1, 168113883, -22.8220564048, -0.00881731364018, -4.73544343954 },
    { 1e+07, 7, 2440707, -19.2462504716, -6.25143891875, -0.00192953873021 },
    { 1e+07, 7, 10000000, -16.0759761518, -0.597311690871, -0.799150116759 },
    { 1e+07, 7, 13779646, -16.7980831215, -0.167362478681, -1.87010770791 },
    { 1e+07, 7, 28898230, -22.9375623666, -0.000216422856804, -8.43838460329 },
    { 1e+07, 10000, 9799900, -14.4392430564, -3.80731177589, -0.0224581042477 },
    { 1e+07, 10000, 10000000, -12.4323720619, -0.690487117262, -0.695814338674 },
    { 1e+07, 10000, 10100049, -12.9390039928, -0.172750411613, -1.84103950249 },
    { 1e+07, 10000, 10500249, -24.5794758495, -4.27596609614e-07, -14.6650858005 },
};

/* scipy.stats.nbinom(r, r/(r + m)): logpmf, logcdf, logsf. */
static void like_scipy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scipy / sizeof *scipy; i++) {
        const ll_negbin       law = { scipy[i].m, scipy[i].r };
        const ll_negbin_tails t = ll_negbin_at(&law, scipy[i].y);
        check_near("density", scipy[i].m, scipy[i].r, scipy[i].y, t.density, scipy[i].density,
                   2e-8 * (1 - scipy[i].density));
        check_near("below", scipy[i].m, scipy[i].r, scipy[i].y, t.below, scipy[i].below,
                   2e-8 * (1 - scipy[i].below));
        check_near("above", scipy[i].m, scipy[i].r, scipy[i].y, t.above, scipy[i].above,
                   2e-8 * (1 - scipy[i].above));
    }
}

/* Where the mean is so many times r, 1 - mean/(mean + r) has lost its last digits. */
static double off_by(const ll_negbin *law, double y)
{
    return law->mean >= 1e5 * law->r ? floor(1e-7 * y) : 0;
}

/* Its ppf at the normal scores -4, -1.5, 0, .5, 2, 4, 6.5. */
static void quantiles_like_scipy(void **state)
{
    (void)state;
    static const double x[] = { -4, -1.5, 0, .5, 2, 4, 6.5 };
    static const struct {
        double m, r, y[7];
    } at[] = {
        { 1.2, 1.5, { 0, 0, 1, 2, 5, 14, 31 } },
        { 0.05, 0.1, { 0, 0, 0, 0, 1, 6, 17 } },
        { 15, 3, { 0, 4, 13, 18, 39, 82, 164 } },
        { 15, 10000, { 2, 9, 15, 17, 23, 33, 46 } },
        { 800, 0.5, { 0, 5, 364, 830, 4151, 13856, 34895 } },
        { 800, 10000, { 685, 756, 800, 815, 859, 920, 999 } },
        { 100000, 10, { 19087, 57334, 96687, 113032, 172658, 278771, 457615 } },
        { 1e+07, 0.1, { 0, 0, 59339, 1538677, 103687003, 632806045, 1899162238 } },
        { 1e+07, 10000, { 9604792, 9850344, 9999667, 10049774, 10201099, 10405212, 10664145 } },
    };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (int k = 0; k < 7; k++) {
            const ll_negbin law = { at[i].m, at[i].r };
            check_near("quantile", at[i].m, at[i].r, x[k], ll_negbin_quantile(&law, x[k]),
                       at[i].y[k], off_by(&law, at[i].y[k]));
        }
}

/* The slow way: densities by their ratio, added up. */
static void like_sums(void **state)
{
    (void)state;
    static const double means[] = { 1e-3, .2, 3, 40 }, rs[] = { .1, 1, 30, 1e4 };
    for (int i = 0; i < 16; i++) {
        const ll_negbin law = { means[i / 4], rs[i % 4] };
        const double    q = law.mean / (law.mean + law.r);
        double          p = pow(law.r / (law.r + law.mean), law.r), sum = 0;
        for (int y = 0; y < 200 && sum < 1 - 1e-9; y++) {
            const ll_negbin_tails t = ll_negbin_at(&law, y);
            sum += p;
            check_near("density", law.mean, law.r, y, exp(t.density), p, 1e-12);
            check_near("below", law.mean, law.r, y, exp(t.below), sum, 1e-12);
            check_near("above", law.mean, law.r, y, exp(t.above), 1 - sum, 1e-12);
            p *= (law.r + y) / (y + 1.0) * q;
        }
    }
}

/* Any score within the share of a count comes back as that count; scores rise with counts. */
static void there_and_back(void **state)
{
    (void)state;
    static const double means[] = { 1e-9, .05, 1.2, 49, 51, 3e3, 1e7 },
                        rs[] = { .1, 1.5, 200, 1e4 };
    static const double shares[] = { 1e-3, .5, .999 };
    for (int i = 0; i < 28; i++) {
        const ll_negbin law = { means[i / 4], rs[i % 4] };
        double          before = -INFINITY;
        for (double y = 0; y < 1e9; y = y < 5 ? y + 1 : floor(y * 1.7)) {
            for (int k = 0; k < 3; k++) {
                const double u = ll_negbin_score(&law, y, shares[k]);
                assert_true(isfinite(u) && u > before);
                before = u;
                check_near("back", law.mean, law.r, u, ll_negbin_quantile(&law, u), y,
                           off_by(&law, y));
            }
        }
        assert_true(ll_negbin_quantile(&law, -1e300) == 0);
        assert_true(isfinite(ll_negbin_quantile(&law, 1e300)));
    }
    assert_true(isnan(ll_negbin_score(&(ll_negbin){ 1, 1 }, NAN, .5)));
    assert_true(isnan(ll_negbin_quantile(&(ll_negbin){ 1, 1 }, NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_values),         cmocka_unit_test(like_scipy),
        cmocka_unit_test(quantiles_like_scipy), cmocka_unit_test(like_sums),
        cmocka_unit_test(there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
