/* Unstable (see unstable.h): models from and to the files of the reference implementation.
 *
 *     llap_import_opts how = { 0 };
 *     how.horizon = "168", how.step = "1h";
 *     llap_model *m = NULL;
 *     llap_status st = llap_model_import("artefacts", &how, &m); */
#ifndef LLAPDIFF_ARTEFACTS_H
#define LLAPDIFF_ARTEFACTS_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llap_import_prediction {
    LLAP_IMPORT_PREDICTION_DEFAULT,
    LLAP_IMPORT_PREDICTION_STATED, /* "stated": the denoiser's file says it; the default */
    LLAP_IMPORT_PREDICTION_V,      /* "v" */
    LLAP_IMPORT_PREDICTION_X0,     /* "x0" */
    LLAP_IMPORT_PREDICTION_EPS,    /* "eps" */
} llap_import_prediction;

typedef enum llap_import_t_token {
    LLAP_IMPORT_T_TOKEN_DEFAULT,
    LLAP_IMPORT_T_TOKEN_BOTH,     /* "both", the default */
    LLAP_IMPORT_T_TOKEN_RESIDUAL, /* "residual" */
    LLAP_IMPORT_T_TOKEN_BIAS,     /* "bias" */
} llap_import_t_token;

/* Of a folder with the reference's three artefacts as safetensors files: denoiser.safetensors and,
 * unless the model has none, vae.safetensors and summarizer.safetensors, with its state-dict names
 * (tools/pt2safetensors.py makes them of its checkpoints). statistics.safetensors is what
 * llap_model_export adds: with it everything below is known, and the options are not looked at. */
typedef struct llap_import_opts {
    const char *horizon;  /* rows ahead, or a duration; needed */
    const char *step;     /* from row to row, a duration, "1h"; NULL: times are plain numbers */
    const char *targets;  /* names, separated by commas, in the order of training; */
    const char *inputs;   /* the same for the features of the history; */
    const char *entities; /* and for the entities, in the order of their embedding */
    llap_import_prediction prediction; /* needed where the denoiser does not say it */
    llap_import_t_token    t_token;    /* of the summarizer */
    int64_t                heads;      /* of attention; 0: 4 */
    int64_t         context; /* rows looked back, where no tensor tells; 0: as many as tokens */
    const llap_log *log;
} llap_import_opts;

/* A model of the `reference` profile. Strict, as loading a model file is. Caller owns *out. */
LLAP_API llap_status llap_model_import(const char *folder, const llap_import_opts *o,
                                       llap_model **out);
/* The reverse; makes the folder if it is not there. LLAP_EUNSUPPORTED for other profiles. */
LLAP_API llap_status llap_model_export(const llap_model *m, const char *folder);

#ifdef __cplusplus
}
#endif

#endif
