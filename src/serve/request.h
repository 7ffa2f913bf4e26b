/* A request, as those see it who answer. */
#ifndef LL_SERVE_REQUEST_H
#define LL_SERVE_REQUEST_H

#include "base/json/json.h"
#include "serve/serve.h"

#define LL_TYPE_ARROW "application/vnd.apache.arrow.stream"

/* ---- what is answered ---- */

typedef enum ll_where { LL_AT_ONCE, LL_BY_WORKER, LL_BY_WRITER } ll_where;

/* Parameters of a route: a table of options with the names that a request may give. */
typedef struct ll_parameters {
    const llap_option *(*table)(void);
    const char *const *name; /* closed by NULL */
} ll_parameters;

typedef struct ll_own_parameter {
    const char *name, *help, *schema; /* NULL ends; schema: JSON */
} ll_own_parameter;

typedef struct ll_route {
    const char *method, *path; /* "/v1/models/{model}/forecast": one {name} at most */
    ll_right    right;
    ll_where    where;
    llap_status (*run)(struct ll_request *r); /* what it answers but LLAP_OK becomes the reply */
    /* for the document */
    const char             *id, *summary;
    const char *const      *takes;  /* content types of the body, closed by NULL; NULL: no body */
    const char *const      *gives;  /* content types of the answer */
    const char             *schema; /* of the JSON of the answer, JSON */
    const char             *takes_schema; /* of that of the body; NULL: data and parameters */
    const ll_own_parameter *own;
    ll_parameters           parameters[3]; /* { 0 } ends */
    int                     made;          /* status of success where that is not 200 */
    bool                    upload;        /* its body is a model */
} ll_route;

extern const ll_route ll_routes[]; /* run NULL ends */

/* ---- the request ---- */

typedef struct ll_argument {
    const char *name, *value;
} ll_argument;

enum { LL_ARGUMENTS_MAX = 100, LL_REPLY_HEADERS = 4 };

typedef struct ll_reply {
    int         status; /* 0: there is none yet */
    const char *type;
    char       *body; /* ll_free, unless it is fixed */
    size_t      n;
    bool        fixed;                       /* static memory */
    const char *header[LL_REPLY_HEADERS][2]; /* static, or the request's */
    char        etag[24];                    /* "": none */
    /* In the place of a body: asked again and again, with body, until it says that it ends. */
    ssize_t (*reader)(void *body, uint64_t at, char *to, size_t room);
    void (*reader_end)(void *body);
} ll_reply;

typedef struct ll_request {
    llap_server           *server;
    struct MHD_Connection *connection;
    ll_connection         *from;
    struct ll_request     *next;  /* that waits */
    const ll_route        *route; /* NULL: none */
    const char            *method, *path;
    const char            *name; /* the path's {name}; NULL: it has none */
    ll_arena               arena;
    ll_argument            argument[LL_ARGUMENTS_MAX]; /* of the query */
    size_t                 n_arguments;
    bool                   arguments_wrong;
    const char  *accept, *content_type, *content_encoding, *if_none_match, *idempotency_key;
    const char  *inference; /* its id in the body; NULL: none */
    const char **wanted;    /* tensors that it asks for, closed by NULL; NULL: all */
    const char  *who;       /* whose token it is; NULL: nobody's */
    ll_right     right;     /* what its client may */
    char         client[64];
    uint64_t     number;
    int64_t      most; /* bytes of a body */
    char        *body;
    size_t       n_body, room, n_swallowed, n_bytes; /* n_bytes: that came */
    int64_t      n_held;   /* bytes of the answer that count among those of all bodies */
    bool         is_large; /* it is the one large request of the writers */
    ll_reply     reply;
    atomic_bool  done; /* by a worker */
    int64_t      begun, deadline;
} ll_request;

/* The value of a parameter of the query, NULL: it is not given. */
const char *ll_request_argument(const ll_request *r, const char *name);

/* "text/csv; charset=utf-8" is "text/csv". */
bool ll_type_is(const char *header, const char *type);
/* The type of these (closed by NULL) that the Accept header likes best; the first where it likes
 * all or is not there; -1: none of them. */
int ll_accepts(const char *accept, const char *const *types);

/* ---- replies ---- */

enum { LL_PROBLEM_MAX = 2048 };

/* Takes text (ll_free). */
void ll_reply_take(ll_request *r, int status, const char *type, char *text, size_t n);
/* text is static. */
void ll_reply_fixed(ll_request *r, int status, const char *type, const char *text, size_t n);
void ll_reply_header(ll_request *r, const char *name, const char *value);
/* RFC 9457. code: LLAP_OK where the status list has none for it. */
void ll_reply_problem(ll_request *r, int status, llap_status code, const char *fmt, ...)
    LLAP_PRINTF(4, 5);
/* What failed, by llap_error_detail. */
void ll_reply_failure(ll_request *r, llap_status st);

/* ---- what is in the request ---- */

/* Options in the place of the tables of a route's parameters. */
typedef struct ll_asked {
    void *options[3];
} ll_asked;

/* Gives the options their values from the query, and those of a JSON body, which then has nothing
 * else but data; and makes a panel of the data. Texts are the arena's. levels: of the model. Caller
 * owns *out. */
llap_status ll_body_read(ll_request *r, const ll_asked *asked, llap_read_opts *how,
                         llap_panel **out);
/* Only the options of the query; other parameters than the route's are refused. */
llap_status ll_query_read(ll_request *r, const ll_asked *asked);
/* The body unpacked, where it is gzip: it takes the place of what came. */
llap_status ll_body_unpack(ll_request *r);
/* Many writers wait for the store at once, and each may hold what it reads: of requests with more
 * than this only one is worked on. LLAP_EUNAVAILABLE: there is one. */
enum { LL_LARGE_BYTES = 4 << 20, LL_LARGE_ROWS = 100000 };
llap_status ll_request_large(ll_request *r);
void        ll_request_done(ll_request *r); /* by its worker */

/* Its JSON, within limits. Caller owns *out. */
llap_status ll_body_parse(ll_request *r, ll_json **out);
/* Takes text [n] in the place of the body. */
void ll_body_replace(ll_request *r, char *text, size_t n);
/* The body of an inference as that of a question about a table (tensors.c). */
llap_status ll_tensors_read(ll_request *r);

/* Asks whether the time of the request is over: for llap_progress. */
llap_progress ll_request_progress(ll_request *r);

/* LLAP_ELIMIT: more paths than are drawn at once. */
llap_status ll_check_samples(int64_t samples);

/* LLAP_ELIMIT: an answer of more rows than one may have; LLAP_ECANCELLED: its time is over. */
llap_status ll_answer_check(const ll_request *r, const llap_answer *a);
/* JSON, CSV or Arrow, as the client likes it. */
llap_status ll_reply_answer(ll_request *r, const llap_answer *a);

/* ---- who answers ---- */

llap_status ll_answer_forecast(ll_request *r);
llap_status ll_answer_impute(ll_request *r);
llap_status ll_answer_detect(ll_request *r);
llap_status ll_answer_infer(ll_request *r);
llap_status ll_answer_server(ll_request *r);
llap_status ll_answer_model_metadata(ll_request *r);
llap_status ll_answer_model_ready(ll_request *r);
llap_status ll_answer_models(ll_request *r);
llap_status ll_answer_model(ll_request *r);
llap_status ll_answer_put_model(ll_request *r);
llap_status ll_answer_delete_model(ll_request *r);
llap_status ll_answer_live(ll_request *r);
llap_status ll_answer_ready(ll_request *r);
llap_status ll_answer_metrics(ll_request *r);
llap_status ll_answer_openapi(ll_request *r);
llap_status ll_answer_page(ll_request *r);
/* The document; caller owns *text (ll_free). */
llap_status ll_openapi_text(char **text, size_t *n);
/* Whether a page has that path; its number. */
int ll_page_find(const char *path);

#endif
