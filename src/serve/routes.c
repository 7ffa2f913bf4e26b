/* The table of what is answered. */
#include "serve/jobs.h"
#include "serve/streams.h"

#include <llapdiff/detect.h>

static const char *const json[] = { "application/json", NULL };
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
#define TEXT255 "{\"type\":\"string\",\"maxLength\":255}"
#define TEXT64 "{\"type\":\"string\",\"maxLength\":64}"
#define NUMBER "{\"type\":\"number\"}"
static const ll_own_parameter past_chart[] = {
    { "entity", "of this one (default: the only one)", TEXT255 },
    { "variable", "this one (default: the only one)", TEXT255 },
    { "from", "where it begins, a number as the answer has them", NUMBER },
    { "to", "where it ends", NUMBER },
    { "points", "further rows become the least, mean and greatest of a stretch (default: 800)",
      "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000}" },
    { NULL, NULL, NULL },
};
static const ll_own_parameter listening[] = {
    { "forecasts", "false: alarms alone", "{\"type\":\"boolean\"}" },
    { NULL, NULL, NULL },
};

/* Of data that is held by a name. What names a file is left out here too. */
static const char *const training[] = {
    "target", "known",     "inputs", "context", "horizon",    "step",     "split",   "shares",
    "size",   "transform", "min",    "max",     "kind",       "glitches", "members", "steps",
    "seed",   "periods",   "link",   "budget",  "no_climate", NULL,
};
static const char *const scoring[] = { "part", "stride", "by",      "bootstrap", "units",
                                       "seed", "season", "samples", "only",      NULL };
static const char *const fanning[] = { "horizon", "step", "quantiles", "samples", "seed", NULL };
static const ll_own_parameter with_data[] = {
    { "data", "the data set", TEXT64 },
    { NULL, NULL, NULL },
};
static const ll_own_parameter charting[] = {
    { "entity", "only of this one", TEXT255 },
    { "variable", "only this one", TEXT255 },
    { "from", "where it begins, a number as the answer has them", NUMBER },
    { "to", "where it ends", NUMBER },
    { "points",
      "of a series: further rows become the least, mean and greatest of a stretch (default: 800)",
      "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000}" },
    { "model", "fills the gaps of the entity", TEXT64 },
    { NULL, NULL, NULL },
};
static const ll_own_parameter of_fan[] = {
    { "model", "of data sets: who forecasts", TEXT64 },
    { "entity", "only of this one", TEXT255 },
    { "variable", "only this one", TEXT255 },
    { "at", "when it is made, a number as the answer has them (default: the last row)", NUMBER },
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
      .summary = "the readings, by time", .gives = answers, .schema = ROWS, .own = past },
    { .method = "GET", .path = "/v1/streams/{stream}/history/chart", .right = LL_RIGHT_READ, .where = LL_BY_WRITER, .run = ll_answer_history_chart,
      .id = "history_chart", .summary = "all stored readings of a series, as the chart of a data set", .gives = json, .schema = OBJECT, .own = past_chart },
    { .method = "GET", .path = "/v1/streams/{stream}/events", .right = LL_RIGHT_READ, .run = ll_answer_events, .id = "events",
      .summary = "server-sent events: alarm when one begins and ends, forecast when readings came", .gives = events, .own = listening },
    { .method = "POST", .path = "/v1/inspect", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_inspect, .id = "inspect",
      .summary = "how the data in the request is understood, and what it is like", .takes = tables, .gives = json, .schema = OBJECT,
      .own = series, .parameters = { { llap_read_options, reading } } },
    { .method = "GET", .path = "/v1/data", .right = LL_RIGHT_READ, .run = ll_answer_sets, .id = "data_sets", .summary = "the data sets",
      .gives = json, .schema = OBJECT },
    { .method = "PUT", .path = "/v1/data/{data}", .right = LL_RIGHT_WRITE, .where = LL_BY_WORKER, .run = ll_answer_put_set, .id = "put_data",
      .summary = "holds data by a name, in memory, for charts and training; says what inspect says", .takes = tables, .gives = json,
      .schema = OBJECT, .own = series, .parameters = { { llap_read_options, reading } }, .made = 201 },
    { .method = "GET", .path = "/v1/data/{data}", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_set, .id = "data_set",
      .summary = "what a data set is like", .gives = json, .schema = OBJECT },
    { .method = "DELETE", .path = "/v1/data/{data}", .right = LL_RIGHT_WRITE, .run = ll_answer_delete_set, .id = "delete_data",
      .summary = "forgets a data set", .gives = json, .made = 204 },
    { .method = "GET", .path = "/v1/data/{data}/coverage", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_coverage, .id = "coverage",
      .summary = "observed share of the cells by time: of the variables of an entity, or of the entities", .gives = json, .schema = OBJECT, .own = charting },
    { .method = "GET", .path = "/v1/data/{data}/chart", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_set_chart, .id = "chart",
      .summary = "series in as many points as a screen shows, and their filled gaps", .gives = json, .schema = OBJECT, .own = charting },
    { .method = "GET", .path = "/v1/data/{data}/fan", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_set_fan, .id = "fan",
      .summary = "a forecast by quantiles, series by series", .gives = json, .schema = OBJECT, .own = of_fan,
      .parameters = { { llap_forecast_options, fanning } } },
    { .method = "GET", .path = "/v1/streams/{stream}/chart", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_stream_chart, .id = "stream_chart",
      .summary = "the rows that forecasts look at, as the chart of a data set", .gives = json, .schema = OBJECT, .own = charting },
    { .method = "GET", .path = "/v1/streams/{stream}/fan", .right = LL_RIGHT_READ, .where = LL_BY_WORKER, .run = ll_answer_stream_fan, .id = "stream_fan",
      .summary = "its forecast by quantiles", .gives = json, .schema = OBJECT, .own = of_fan, .parameters = { { llap_forecast_options, fanning } } },
    { .method = "POST", .path = "/v1/models/{model}/train", .right = LL_RIGHT_ADMIN, .where = LL_BY_WORKER, .run = ll_answer_train, .id = "train",
      .summary = "trains that model of a data set, size anchor unless told: a job", .gives = json, .schema = OBJECT, .own = with_data,
      .parameters = { { llap_train_options, training } }, .made = 202 },
    { .method = "POST", .path = "/v1/models/{model}/evaluate", .right = LL_RIGHT_WRITE, .where = LL_BY_WORKER, .run = ll_answer_evaluate, .id = "evaluate",
      .summary = "scores it and its opponents on a data set: a job", .gives = json, .schema = OBJECT, .own = with_data,
      .parameters = { { llap_evaluate_options, scoring } }, .made = 202 },
    { .method = "GET", .path = "/v1/jobs", .right = LL_RIGHT_READ, .run = ll_answer_jobs, .id = "jobs", .summary = "the jobs", .gives = json, .schema = OBJECT },
    { .method = "GET", .path = "/v1/jobs/{job}", .right = LL_RIGHT_READ, .run = ll_answer_job, .id = "job", .summary = "how far it is",
      .gives = json, .schema = OBJECT },
    { .method = "GET", .path = "/v1/jobs/{job}/result", .right = LL_RIGHT_READ, .run = ll_answer_job_result, .id = "job_result",
      .summary = "what llapdiff evaluate --json says, once it is done", .gives = json, .schema = OBJECT },
    { .method = "DELETE", .path = "/v1/jobs/{job}", .right = LL_RIGHT_WRITE, .run = ll_answer_delete_job, .id = "delete_job",
      .summary = "cancels it; that of a training needs the right admin", .gives = json, .schema = OBJECT },
    { .run = NULL },
};
/* clang-format on */
