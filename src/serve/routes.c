/* The table of what is answered. */
#include "serve/streams.h"

#include <llapdiff/detect.h>

static const char *const json[] = { "application/json", NULL };
static const char *const json_or_csv[] = { "application/json", "text/csv", NULL };
static const char *const answers[] = { "application/json", "text/csv", LL_TYPE_ARROW, NULL };
static const char *const tables[] = { "text/csv", "application/json", LL_TYPE_ARROW, NULL };
static const char *const json_or_text[] = { "application/json", "text/plain", NULL };
static const char *const text[] = { "text/plain", NULL };
static const char *const bytes[] = { "application/octet-stream", NULL };
static const char *const events[] = { "text/event-stream", NULL };
static const char *const anything[] = { "*/*", NULL };

/* Of tables of options: what a request may give. Left out is what names a file, a device, or other
 * inputs. */
static const char *const reading[] = {
    "entity", "time",         "variable",  "value",   "time_format", "time_unit",  "zone",
    "start",  "row_every",    "separator", "decimal", "quote",       "comment",    "columns",
    "drop",   "missing",      "circular",  "coded",   "grid",        "bin",        "agg",
    "form",   "header",       "codes",     "words",   "bad",         "duplicates", "unordered",
    "fill",   "columns_kept", "half",      "twice",   "skip_lines",  "row_min",    NULL,
};
static const char *const forecasting[] = { "only",         "at",        "horizon",
                                           "step",         "quantiles", "samples",
                                           "keep_samples", "seed",      "every",
                                           "total",        NULL };
static const char *const ahead[] = { "only",    "at",           "horizon", "step",  "quantiles",
                                     "samples", "keep_samples", "seed",    "total", NULL };
static const char *const imputing[] = { "only",    "quantiles",    "causal", "all",
                                        "samples", "keep_samples", "seed",   NULL };
static const char *const detecting[] = { "rate", "from", "only", NULL };

static const ll_own_parameter series[] = {
    { "series", "what data without a column of entities is called (default: data)",
      "{\"type\":\"string\",\"maxLength\":255}" },
    { NULL, NULL, NULL },
};

static const ll_own_parameter arriving[] = {
    { "model", "of a new stream: its model (default: the one of its name, or the only one)",
      "{\"type\":\"string\",\"maxLength\":64}" },
    { "series", "what data without a column of entities is called (default: data)",
      "{\"type\":\"string\",\"maxLength\":255}" },
    { NULL, NULL, NULL },
};
static const ll_own_parameter past[] = {
    { "entity", "only of this one", "{\"type\":\"string\",\"maxLength\":255}" },
    { "from", "no earlier rows", "{\"type\":\"string\"}" },
    { "to", "rows before this time", "{\"type\":\"string\"}" },
    { "limit", "readings at most (default: 10000)",
      "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000000}" },
    { NULL, NULL, NULL },
};
static const ll_own_parameter listening[] = {
    { "forecasts", "false: alarms alone", "{\"type\":\"boolean\"}" },
    { NULL, NULL, NULL },
};

#define OBJECT "{\"type\":\"object\"}"
#define ROWS                                                                                \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"entity\",\"time\"," \
    "\"variable\"]}}"
/* Of the Open Inference Protocol. */
#define TENSOR_HEAD                                                                            \
    "\"name\":{\"type\":\"string\"},\"shape\":{\"type\":\"array\",\"items\":{\"type\":"        \
    "\"integer\"}},\"datatype\":{\"type\":\"string\",\"enum\":[\"BOOL\",\"UINT8\",\"UINT16\"," \
    "\"UINT32\",\"UINT64\",\"INT8\",\"INT16\",\"INT32\",\"INT64\",\"FP16\",\"FP32\",\"FP64\"," \
    "\"BYTES\"]}"
#define TENSORS                                                                            \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"shape\"," \
    "\"datatype\",\"data\"],\"properties\":{" TENSOR_HEAD ",\"data\":{\"type\":\"array\"}}}}"
#define METADATA                                                                           \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"shape\"," \
    "\"datatype\"],\"properties\":{" TENSOR_HEAD "}}}"
#define MODEL                                                                                    \
    "{\"type\":\"object\",\"required\":[\"name\",\"bytes\",\"hash\"],\"properties\":{\"name\":{" \
    "\"type\":\"string\"},"                                                                      \
    "\"bytes\":{\"type\":\"integer\"},\"hash\":{\"type\":\"string\"}}}"

/* clang-format off */
const ll_route ll_routes[] = {
    { .method = "GET", .path = "/", .run = ll_answer_page, .id = "page",
      .summary = "the page, and the files that it needs", .gives = anything },
    { .method = "GET", .path = "/openapi.json", .run = ll_answer_openapi, .id = "openapi",
      .summary = "this document", .gives = json, .schema = OBJECT },
    { .method = "GET", .path = "/v2/health/live", .run = ll_answer_live, .id = "live",
      .summary = "whether the server runs", .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"live\"],\"properties\":{\"live\":{\"type\":\"boolean\"}}}" },
    { .method = "GET", .path = "/v2/health/ready", .where = LL_BY_WRITER, .run = ll_answer_ready, .id = "ready",
      .summary = "whether it answers", .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"ready\"],\"properties\":{\"ready\":{\"type\":\"boolean\"}}}" },
    { .method = "GET", .path = "/v2", .run = ll_answer_server, .id = "server", .summary = "what serves (Open Inference Protocol)", .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"name\",\"version\",\"extensions\"]}" },
    { .method = "GET", .path = "/v2/models/{model}", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_model_metadata,
      .id = "model_metadata", .summary = "the tensors that a model takes and gives (Open Inference Protocol)", .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"name\",\"platform\",\"inputs\",\"outputs\"],\"properties\":{\"inputs\":" METADATA
                ",\"outputs\":" METADATA "}}" },
    { .method = "GET", .path = "/v2/models/{model}/ready", .right = LL_RIGHT_READ, .run = ll_answer_model_ready, .id = "model_ready",
      .summary = "whether a model answers (Open Inference Protocol)", .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"name\",\"ready\"],\"properties\":{\"name\":{\"type\":\"string\"},\"ready\":{\"type\":\"boolean\"}}}" },
    { .method = "POST", .path = "/v2/models/{model}/infer", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_infer, .id = "infer",
      .summary = "what comes next, of a window in tensors (Open Inference Protocol)", .takes = json, .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"model_name\",\"outputs\"],\"properties\":{\"model_name\":{\"type\":\"string\"},\"id\":{"
                "\"type\":\"string\"},\"outputs\":" TENSORS "}}",
      .takes_schema = "{\"type\":\"object\",\"required\":[\"inputs\"],\"additionalProperties\":false,\"properties\":{\"id\":{\"type\":\"string\"},"
                      "\"parameters\":{\"type\":\"object\"},\"inputs\":" TENSORS ",\"outputs\":{\"type\":\"array\",\"items\":{\"type\":"
                      "\"object\",\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\"}}}}}}",
      .own = series, .parameters = { { llap_forecast_options, forecasting }, { llap_read_options, reading } } },
    { .method = "GET", .path = "/metrics", .right = LL_RIGHT_READ, .run = ll_answer_metrics, .id = "metrics",
      .summary = "counters for Prometheus", .gives = text },
    { .method = "GET", .path = "/v1/models", .right = LL_RIGHT_READ, .run = ll_answer_models, .id = "models",
      .summary = "the models", .gives = json,
      .schema = "{\"type\":\"object\",\"required\":[\"models\"],\"properties\":{\"models\":{\"type\":\"array\",\"items\":" MODEL "}}}" },
    { .method = "GET", .path = "/v1/models/{model}", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_model, .id = "model",
      .summary = "what a model is: targets, spans, poles", .gives = json, .schema = OBJECT },
    { .method = "PUT", .path = "/v1/models/{model}", .right = LL_RIGHT_ADMIN, .where = LL_BY_WORKER, .run = ll_answer_put_model, .id = "put_model",
      .summary = "adds a model, or replaces one: requests that use it go on with what it was", .takes = bytes, .gives = json, .schema = MODEL,
      .made = 201, .upload = true },
    { .method = "DELETE", .path = "/v1/models/{model}", .right = LL_RIGHT_ADMIN, .run = ll_answer_delete_model, .id = "delete_model",
      .summary = "removes a model", .gives = json, .made = 204 },
    { .method = "POST", .path = "/v1/models/{model}/forecast", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_forecast,
      .id = "forecast", .summary = "what comes next, of the data in the request", .takes = tables, .gives = answers, .schema = ROWS,
      .own = series, .parameters = { { llap_forecast_options, forecasting }, { llap_read_options, reading } } },
    { .method = "POST", .path = "/v1/models/{model}/impute", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_impute,
      .id = "impute", .summary = "what is missing in the data in the request", .takes = tables, .gives = answers, .schema = ROWS,
      .own = series, .parameters = { { llap_impute_options, imputing }, { llap_read_options, reading } } },
    { .method = "POST", .path = "/v1/models/{model}/detect", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_detect,
      .id = "detect", .summary = "what is unusual in the data in the request", .takes = tables, .gives = json_or_text, .schema = OBJECT,
      .own = series, .parameters = { { llap_detect_options, detecting }, { llap_read_options, reading } } },
    { .method = "GET", .path = "/v1/streams", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_streams, .id = "streams",
      .summary = "the streams of readings", .gives = json, .schema = OBJECT },
    { .method = "GET", .path = "/v1/streams/{stream}", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_stream, .id = "stream",
      .summary = "one of them", .gives = json, .schema = OBJECT },
    { .method = "POST", .path = "/v1/streams/{stream}/readings", .right = LL_RIGHT_WRITE, .where = LL_BY_WRITER, .run = ll_answer_readings, .id = "readings",
      .summary = "takes readings, answered when they are durable; with the header Idempotency-Key a request that is repeated counts once",
      .takes = tables, .gives = json, .schema = OBJECT, .own = arriving, .parameters = { { llap_read_options, reading } } },
    { .method = "GET", .path = "/v1/streams/{stream}/forecast", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_stream_forecast,
      .id = "stream_forecast", .summary = "what comes next", .gives = answers, .schema = ROWS, .parameters = { { llap_forecast_options, ahead } } },
    { .method = "GET", .path = "/v1/streams/{stream}/history", .right = LL_RIGHT_READ, .where = LL_BY_WRITER, .run = ll_answer_history, .id = "history",
      .summary = "the readings, by time", .gives = json_or_csv, .schema = ROWS, .own = past },
    { .method = "GET", .path = "/v1/streams/{stream}/events", .right = LL_RIGHT_READ, .run = ll_answer_events, .id = "events",
      .summary = "server-sent events: alarm when one begins and ends, forecast when readings came", .gives = events, .own = listening },
    { .run = NULL },
};
/* clang-format on */
