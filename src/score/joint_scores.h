/* Whether the model's paths belong together: over entities at common times, beside what each value
 * is like alone. A watcher of the scoring (scoring_watch).
 *
 *     ll_joint_scores j;
 *     st = ll_joint_scores_init(&j, &input, by_entity);
 *     input.watch[0] = (scoring_watch){ ll_joint_scores_see, &j };
 *     ... scoring_run ...
 *     ll_pit_test t = ll_pit_test_of(j.of[target].fair_sums);
 *     ll_joint_scores_deinit(&j);
 *
 * Windows of one origin are a group; its common times are those of its longest window. A test needs
 * values that do not lean on each other, so it takes one of each group, drawn by the seed, and of
 * groups only those that begin where the horizon of the last one taken has ended. */
#ifndef LL_SCORE_JOINT_SCORES_H
#define LL_SCORE_JOINT_SCORES_H

#include "score/scoring.h"

typedef struct ll_joint_sums {
    double sums[TALLY_BINS];                                /* PIT of sums over entities */
    double fair_sums[TALLY_BINS], fair_margins[TALLY_BINS]; /* of those that are tested */
    double n_energy, energy, energy_apart; /* times; with draws as they are, and independent */
} ll_joint_sums;

typedef struct ll_joint_scores {
    const scoring_input *in;    /* borrowed */
    bool                 apart; /* entities are independent: each has horizons of its own */
    int64_t       *until; /* [n_entities + 1] end of the horizon taken last; the last: of all */
    ll_joint_sums *of;    /* [n_targets + 1]; the last: energy over all targets */
    double        *path, *truth; /* scratch */
    int64_t        room;
} ll_joint_scores;

llap_status ll_joint_scores_init(ll_joint_scores *j, const scoring_input *in, bool apart);
void        ll_joint_scores_deinit(ll_joint_scores *j); /* { 0 } is fine */
llap_status ll_joint_scores_see(void *self, const scoring_block *b);

/* Is a histogram flat? Bins are joined until each expects five values; with fewer than 25 values
 * there is no test: n_bins 0, p NaN. */
typedef struct ll_pit_test {
    int64_t n, n_bins;
    double  chi_square, p; /* p: that a flat one is as uneven */
} ll_pit_test;
ll_pit_test ll_pit_test_of(const double bins[TALLY_BINS]);

#endif
