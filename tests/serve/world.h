/* A model, its data as CSV, and a server of it in this process. */
#ifndef LLAP_TESTS_SERVE_WORLD_H
#define LLAP_TESTS_SERVE_WORLD_H

#include "client.h"

#include <llapdiff/llapdiff.h>
#include <llapdiff/unstable.h>

typedef struct world {
    llap_model *model;
    char       *csv;
    size_t      n_csv;
    char        model_path[128], csv_path[128];
} world;

static world w;

#ifndef LLAP_TESTS_FOLDER_H
static char folder[] = "/tmp/llap-serve-XXXXXX";

/* A path in the test's own folder; the caller's until the next call but three. */
static inline const char *in_folder(const char *name)
{
    static char path[4][128];
    static int  i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", folder, name);
    return path[i];
}
#endif

static inline char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n + 1);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    bytes[*n] = '\0';
    fclose(f);
    return bytes;
}

static inline int make_world(void **state)
{
    const llap_synth_sizes sizes = { .entities = 2, .variables = 1, .rows = 300, .seed = 3 };
    const llap_train_opts  how = { .context = "2d",
                                   .horizon = "6h",
                                   .size = LLAP_TRAIN_SIZE_ANCHOR,
                                   .training = "{\"anchor\": {\"steps\": 20}}" };
    llap_panel            *p = NULL;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(w.model_path, sizeof w.model_path, "%s/air.safetensors", folder);
    snprintf(w.csv_path, sizeof w.csv_path, "%s/air.csv", folder);
    CHECK_OK(llap_panel_synth(&sizes, &p));
    CHECK_OK(llap_panel_write(p, w.csv_path));
    CHECK_OK(llap_train(p, &how, &w.model));
    CHECK_OK(llap_model_save(w.model, w.model_path));
    w.csv = read_all(w.csv_path, &w.n_csv);
    llap_panel_destroy(p);
    return 0;
}

static inline int remove_world(void **state)
{
    llap_model_destroy(w.model);
    free(w.csv);
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* On any free port. */
static inline llap_server *serve(llap_serve_opts o)
{
    llap_server *s = NULL;
    const char  *models[] = { w.model_path };
    o.port = LLAP_ZERO;
    CHECK_OK(llap_server_start(models, 1, &o, &s));
    return s;
}

static inline reply post_csv(int port, const char *path, const char *accept)
{
    char headers[128];
    snprintf(headers, sizeof headers, "Content-Type: text/csv\r\nAccept: %s\r\n", accept);
    return ask(port, "POST", path, headers, w.csv, w.n_csv);
}

#endif
