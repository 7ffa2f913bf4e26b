/* Trains on numbers in memory, with a progress callback and a signal that stops it, and prints
 * quantiles.
 *
 *     cc train_arrays.c $(pkg-config --cflags --libs llapdiff) -lm -o train_arrays
 *     ./train_arrays */
#include <llapdiff/llapdiff.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>

enum { ROWS = 600, VARS = 2 };

#define HOUR INT64_C(3600000000000)

static llap_trainer *trainer; /* for the signal handler */

static void on_signal(int number)
{
    (void)number;
    llap_trainer_stop(trainer); /* run then says LLAP_ECANCELLED */
}

/* Called often from the training thread; anything but 0 stops it too. */
static int on_progress(void *user, const llap_progress_event *e)
{
    (void)e;
    return ++*(int64_t *)user > 1000000;
}

/* Two pumps, measured about every hour, a tenth of the readings lost. */
static void fill(const char **entity, int64_t *time, float *value)
{
    for (int i = 0; i < ROWS; i++) {
        const double h = i / 2 + 0.3 * sin(i * 12.9898); /* jitter */
        entity[i] = i % 2 == 0 ? "pump-1" : "pump-2";
        time[i] = (int64_t)(h * (double)HOUR);
        value[i * VARS] = (float)(20 + 5 * cos(h * 0.2618) + sin(i * 78.233));
        value[i * VARS + 1] = i % 10 == 3 ? NAN : (float)(3 + 0.01 * h);
    }
}

/* The columns of the answer are borrowed: nothing to allocate, nothing to free. */
static void print_answer(const llap_answer_columns *c)
{
    for (int64_t i = 0; i < c->n_rows; i++) {
        const double *x = c->number + i * c->n_numbers; /* the mean, then the quantiles */
        printf("%s +%.0f h: %.1f (%.1f to %.1f)\n", c->entities[c->entity[i]],
               (double)(c->time[i] - c->origin[i]) / (double)HOUR, x[2], x[1], x[3]);
    }
}

int main(void)
{
    static const char *const var[VARS] = { "temperature", "pressure" };
    static const char       *entity[ROWS];
    static int64_t           time[ROWS];
    static float             value[ROWS * VARS];
    const llap_arrays        rows = {
               .n_rows = ROWS, .n_vars = VARS, .var = var, .entity = entity, .time = time, .value = value
    };
    int64_t            calls = 0;
    llap_train_opts    train = { 0 };
    llap_forecast_opts ask = { 0 };
    llap_panel        *panel = NULL;
    llap_model        *model = NULL;
    llap_answer       *answer = NULL;
    train.target = "temperature";
    train.context = "2d";
    train.horizon = "6h";
    train.size = LLAP_TRAIN_SIZE_ANCHOR; /* seconds; networks take longer */
    train.step = "1h";
    train.progress = (llap_progress){ on_progress, &calls };
    ask.quantiles = "0.1,0.5,0.9";

    fill(entity, time, value);
    llap_status st = llap_panel_from_arrays(&rows, &panel);
    if (st == LLAP_OK) st = llap_trainer_create(panel, &train, &trainer); /* checks, no work yet */
    if (st == LLAP_OK) {
        signal(SIGINT, on_signal);
        st = llap_trainer_run(trainer);
        signal(SIGINT, SIG_DFL);
    }
    if (st == LLAP_OK) st = llap_trainer_take(trainer, &model);
    if (st == LLAP_OK) st = llap_forecast(model, panel, &ask, &answer);
    if (st == LLAP_OK) print_answer(llap_answer_view(answer));
    else fprintf(stderr, "train_arrays: %s\n", llap_error_detail());

    llap_answer_destroy(answer);
    llap_trainer_destroy(trainer);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return llap_status_exit_code(st);
}
