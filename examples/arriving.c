/* Observations arrive; after each the model says what the next hour will be, and is then told. The
 * model stays as it is: only what it looks at grows.
 *
 *     cc arriving.c $(pkg-config --cflags --libs llapdiff) -lm -o arriving
 *     ./arriving */
#include <llapdiff/llapdiff.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 400, NEW = 12 };

#define HOUR INT64_C(3600000000000)

static const char *const var[] = { "temperature" };

static float reading(int hour) { return (float)(15 + 6 * cos(hour * 0.2618) + sin(hour * 78.233)); }

static llap_status arrive(llap_panel *panel, int64_t time, float value)
{
    const llap_arrays more = {
        .n_rows = 1, .n_vars = 1, .var = var, .time = &time, .value = &value
    };
    return llap_panel_append(panel, &more);
}

int main(void)
{
    static int64_t    time[ROWS];
    static float      value[ROWS];
    const llap_arrays rows = {
        .n_rows = ROWS, .n_vars = 1, .var = var, .time = time, .value = value
    };
    llap_train_opts    train = { 0 };
    llap_forecast_opts ask = { 0 };
    llap_panel        *panel = NULL;
    llap_model        *model = NULL;
    llap_sampler      *sampler = NULL; /* keeps what forecasts need again and again */
    int                inside = 0;
    train.context = "2d";
    train.horizon = "6h";
    train.size = LLAP_TRAIN_SIZE_ANCHOR; /* seconds; networks take longer */
    ask.horizon = "1h";
    ask.quantiles = "0.1,0.5,0.9";
    for (int i = 0; i < ROWS; i++) time[i] = i * HOUR, value[i] = reading(i);

    llap_status st = llap_panel_from_arrays(&rows, &panel);
    if (st == LLAP_OK) st = llap_train(panel, &train, &model);
    if (st == LLAP_OK) st = llap_sampler_create(model, NULL, LLAP_GPU_DEFAULT, &sampler);
    for (int i = ROWS; st == LLAP_OK && i < ROWS + NEW; i++) {
        llap_answer *a = NULL;
        st = llap_sampler_forecast(sampler, panel, &ask, &a);
        if (st != LLAP_OK) break;
        const double *x = llap_answer_view(a)->number, y = (double)reading(i); /* mean, quantiles */
        inside += y >= x[1] && y <= x[3];
        printf("hour %d: %.1f (%.1f to %.1f), then %.1f\n", i, x[2], x[1], x[3], y);
        llap_answer_destroy(a);
        st = arrive(panel, i * HOUR, reading(i));
    }
    if (st == LLAP_OK) printf("%d of %d within the 80 %% interval\n", inside, NEW);
    else fprintf(stderr, "arriving: %s\n", llap_error_detail());

    llap_sampler_destroy(sampler);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return llap_status_exit_code(st);
}
