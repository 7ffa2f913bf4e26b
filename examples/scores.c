/* Trains on a CSV file and says how good the model is on what it has not seen, beside everything
 * that costs nothing: as numbers, without reading any text.
 *
 *     cc scores.c $(pkg-config --cflags --libs llapdiff) -o scores
 *     ./scores air.csv PM2.5 14d 48h */
#include <llapdiff/llapdiff.h>
#include <stdio.h>

static void print_scores(const llap_scores *s)
{
    const llap_scores_info *about = llap_scores_about(s);
    for (int64_t i = 0; i < about->n_forecasters; i++) {
        const llap_score_row        *x = llap_scores_at(s, i, LLAP_ALL);
        const llap_score_difference *d = llap_scores_against(s, i, LLAP_ALL);
        printf("%-13s CRPS %.4f, %.0f %% within 80 %%", about->forecasters[i], x->crps,
               100 * x->coverage[1]);
        if (d != NULL) printf(", model better by %.1f %%", 100 * d->skill.value);
        printf("\n");
    }
    const llap_score_columns *c = llap_scores_by_step(s, 0, 0);
    for (int64_t i = 0; i < c->n_rows; i++) printf("step %d: %.4f\n", (int)i + 1, c->crps[i]);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: scores FILE TARGET CONTEXT HORIZON\n");
        return 2;
    }
    llap_read_opts     read = { 0 };
    llap_train_opts    train = { 0 };
    llap_evaluate_opts how = { 0 };
    llap_panel        *panel = NULL;
    llap_model        *model = NULL;
    llap_scores       *scores = NULL;
    const char        *file = argv[1];
    train.target = argv[2];
    train.context = argv[3];
    train.horizon = argv[4];
    train.size = LLAP_TRAIN_SIZE_ANCHOR;

    llap_status st = llap_panel_read(&file, 1, &read, &panel);
    if (st == LLAP_OK) st = llap_train(panel, &train, &model);
    if (st == LLAP_OK) st = llap_scores_create(model, panel, &how, &scores);
    if (st == LLAP_OK) print_scores(scores);
    else fprintf(stderr, "scores: %s\n", llap_error_detail());

    llap_scores_destroy(scores);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return llap_status_exit_code(st);
}
