#include "page/page.h"

static const char hello[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>llapdiff</title>\n"
    "<p>A server of <a href=\"/openapi.json\">forecasts</a>.\n</html>\n";

const ll_page ll_pages[] = {
    { "/", "text/html; charset=utf-8", hello, sizeof hello - 1 },
    { NULL, NULL, NULL, 0 },
};
