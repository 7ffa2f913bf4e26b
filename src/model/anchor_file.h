/* What the files of an anchor's part in a model file share; not for others. */
#ifndef LL_MODEL_ANCHOR_FILE_H
#define LL_MODEL_ANCHOR_FILE_H

#include "anchor/model.h"
#include "base/json/json.h"
#include "base/safetensors.h"

void        anchor_file_put_doubles(ll_json_writer *w, const char *key, const double *v, int64_t n);
llap_status anchor_file_add_tensor(ll_tensors_writer *w, int64_t i, const char *of,
                                   const char *what, int rank, const int64_t *shape,
                                   const double *data);

/* A number at "anchors[i].key". */
typedef struct anchor_number {
    const char *key;
    double      min, max;
    double     *v;
    bool        optional; /* absent leaves *v */
} anchor_number;

/* "GROUP.inputs[n].name", and the same behind "anchors[i].". */
typedef struct anchor_input_path {
    char text[96], key[64];
} anchor_input_path;
anchor_input_path anchor_file_input_path(int64_t i, const char *group, int32_t n, const char *name);

llap_status anchor_file_get_numbers(const ll_json *j, int64_t i, const anchor_number *numbers,
                                    size_t n);
llap_status anchor_file_get_array(const ll_json *j, int64_t i, const char *key, double min,
                                  double max, size_t n, double *out);
/* A tensor of finite numbers, copied; caller owns *out. */
llap_status anchor_file_get_tensor(const ll_tensors *t, int64_t i, const char *of, const char *what,
                                   int rank, const int64_t *shape, double **out);

/* What a kind of values has of its own (kind_file.c): keys, tensors, and both again. Absent: any
 * kind. */
void        anchor_file_put_kind(ll_json_writer *w, const ll_chain *c);
llap_status anchor_file_save_counts(ll_tensors_writer *w, int64_t i, const ll_chain *c);
llap_status anchor_file_get_kind(const ll_tensors *t, const ll_json *j, int64_t i,
                                 const int64_t *shape, ll_chain *c);

/* The chain: its numbers in the JSON object that is open, its tensors, and how many they are. */
void        anchor_file_put_chain(ll_json_writer *w, const ll_chain *c);
llap_status anchor_file_save_chain(ll_tensors_writer *w, int64_t i, ll_chain *c);
size_t      anchor_file_chain_tensors(ll_chain *c);

/* Its known inputs, where there are any: of n_columns columns. */
void        anchor_file_put_known(ll_json_writer *w, const ll_known *k);
llap_status anchor_file_save_known(ll_tensors_writer *w, int64_t i, const ll_known *k);
llap_status anchor_file_get_known(const ll_tensors *t, const ll_json *j, int64_t i,
                                  int64_t n_columns, ll_chain *c); /* into c->known */
/* Its static inputs, likewise. */
void        anchor_file_put_static(ll_json_writer *w, const ll_statics *s);
llap_status anchor_file_save_static(ll_tensors_writer *w, int64_t i, const ll_chain *c);
size_t      anchor_file_static_tensors(const ll_chain *c);
llap_status anchor_file_get_static(const ll_tensors *t, const ll_json *j, int64_t i,
                                   int64_t n_columns, ll_chain *c); /* into c->statics */
llap_status anchor_file_get_chain(const ll_tensors *t, const ll_json *j, int64_t i,
                                  int64_t n_entities, ll_chain **out); /* caller owns */

#endif
