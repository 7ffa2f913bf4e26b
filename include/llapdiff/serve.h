/* Unstable (see unstable.h): a server over HTTP of trained models and of readings that arrive.
 *
 *     llap_serve_opts o = { .port = 8080 };
 *     llap_server    *s = NULL;
 *     llap_status     st = llap_server_start((const char *[]){ "air.safetensors" }, 1, &o, &s);
 *     ...                                       curl --data-binary @air.csv -H 'Content-Type:
 * text/csv' llap_server_stop(s); http://127.0.0.1:8080/v1/models/air/forecast
 *
 * docs/serve.md has what it answers, /openapi.json of a running server every option. libmicrohttpd
 * is found when a server starts. */
#ifndef LLAPDIFF_SERVE_H
#define LLAPDIFF_SERVE_H

#include <llapdiff/log.h>
#include <llapdiff/options.h>
#include <llapdiff/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_serve_opts {
    const char *address;  /* to listen on; NULL: 127.0.0.1. Others than this machine's own need
                           * tokens, or `insecure` */
    int64_t     port;     /* 0: 8080; LLAP_ZERO: any that is free */
    const char *tokens;   /* file of who may do what: lines "NAME read|write|admin TOKEN" */
    int         insecure; /* anyone may read and write, whoever reaches the port */
    const char *certificate, *key; /* PEM files: HTTPS */
    const char *store;             /* where readings of streams are kept: a file of SQLite, or
                                    * "postgresql://..."; NULL: there are no streams */
    const char *keep;              /* how long, "90d"; NULL: for ever */
    int         page;              /* llap_server_page has a token with the right admin, made for
                                    * this run: whoever opens the page by it may train */
    const char *mqtt;              /* "mqtt://host/ward/#": readings from a broker, into a stream of
                                    * the store (docs/serve.md); NULL: from requests alone */
    /* limits */
    int64_t max_body;        /* MB of one request, also once it is unpacked; 0: 64 */
    int64_t max_upload;      /* MB of a model; 0: 512 */
    int64_t max_header;      /* kB of request line and headers; 0: 16 */
    int64_t max_rows;        /* of one request; 0: 1000000 */
    int64_t max_series;      /* entities by variables of one request; 0: 10000 */
    int64_t max_memory;      /* MB that one request may take while it is answered; 0: 1024 */
    int64_t max_seconds;     /* that a request may be worked on; 0: 60 */
    int64_t max_requests;    /* waiting or worked on; further ones are 503; 0: 256 */
    int64_t max_connections; /* 0: 1000 */
    int64_t patience; /* seconds for a request to arrive or an answer to be fetched, beside what
                       * 16 kB a second take; 0: 30 */
    int64_t workers;  /* threads that answer; 0: one for each processor */
    int64_t max_job_seconds; /* that training or scoring may take; 0: 3600 */
    /* Gets JSON objects, one a line: requests at LLAP_LOG_INFO, what is wrong above it. */
    const llap_log *log;
} llap_serve_opts;

LLAP_API const llap_option *llap_serve_options(void);

typedef struct llap_server llap_server;

/* Answers until it is stopped. models [n]: files, each served under its name without folder and
 * end, "air" of "data/air.safetensors", or as "NAME=FILE" says. The options, and what they point
 * to, are borrowed until it is stopped. Caller owns *out (llap_server_stop). */
LLAP_API llap_status llap_server_start(const char *const *models, size_t n,
                                       const llap_serve_opts *o, llap_server **out);
LLAP_API int         llap_server_port(const llap_server *s);
/* The address of its page, with the token where `page` says so, as snprintf does. */
LLAP_API size_t llap_server_page(const llap_server *s, char *out, size_t room);
/* Reads tokens and certificate again; what is wrong with them leaves those before in force. */
LLAP_API llap_status llap_server_reload(llap_server *s);
/* Takes s: no further requests, those that came are answered, at most for max_seconds and patience.
 * NULL is fine. */
LLAP_API void llap_server_stop(llap_server *s);

#ifdef __cplusplus
}
#endif

#endif
