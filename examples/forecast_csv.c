/* Trains on a CSV file and prints what comes next.
 *
 *     cc forecast_csv.c $(pkg-config --cflags --libs llapdiff) -o forecast_csv
 *     ./forecast_csv air.csv PM2.5 14d 48h */
#include <llapdiff/llapdiff.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: forecast_csv FILE TARGET CONTEXT HORIZON\n");
        return 2;
    }
    llap_read_opts     read = { 0 };
    llap_train_opts    train = { 0 };
    llap_forecast_opts ask = { 0 };
    llap_panel        *panel = NULL;
    llap_model        *model = NULL;
    llap_answer       *answer = NULL;
    const char        *file = argv[1];
    train.target = argv[2];
    train.context = argv[3];
    train.horizon = argv[4];
    train.size = LLAP_TRAIN_SIZE_ANCHOR; /* in seconds; networks on top take minutes */

    llap_status st = llap_panel_read(&file, 1, &read, &panel);
    if (st == LLAP_OK) st = llap_train(panel, &train, &model);
    if (st == LLAP_OK) st = llap_forecast(model, panel, &ask, &answer);
    if (st == LLAP_OK) st = llap_answer_write(answer, "-");
    if (st != LLAP_OK) fprintf(stderr, "forecast_csv: %s\n", llap_error_detail());

    llap_answer_destroy(answer);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return llap_status_exit_code(st);
}
