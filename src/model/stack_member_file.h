/* One member of the stack in a model file (model/stack_file.h), and what its readers share. */
#ifndef LL_MODEL_STACK_MEMBER_FILE_H
#define LL_MODEL_STACK_MEMBER_FILE_H

#include "base/json/json.h"
#include "base/safetensors.h"
#include "model/model.h"

/* A tensor of finite numbers, borrowed from the file. */
llap_status ll_stack_file_floats(const ll_tensors *t, const char *name, int rank,
                                 const int64_t *shape, size_t *n_tensors, const float **out);
/* The n numbers between low and high at path. */
llap_status ll_stack_file_doubles(const ll_json *j, const char *path, double low, double high,
                                  size_t n, double *out);

/* Adds the tensors of one member; caller owns *kept, which the writer borrows as it does m. */
llap_status ll_stack_member_save(const ll_stack_member *m, int kind, float **kept,
                                 ll_tensors_writer *w);
/* Where the file has the member, it is read into s and used. */
llap_status ll_stack_member_load(const ll_tensors *t, const ll_json *j, int kind, ll_stack *s,
                                 size_t *n_tensors);

#endif
