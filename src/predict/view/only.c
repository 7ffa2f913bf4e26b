#include "predict/view/only.h"

#include "base/error.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN = 512 };

/* The next pattern of the list, cut at PATTERN bytes; NULL: there is none. */
static const char *next_pattern(const char *list, char out[PATTERN])
{
    list += strspn(list, ",");
    const size_t len = strcspn(list, ",");
    if (len == 0) return NULL;
    snprintf(out, PATTERN, "%.*s", (int)(len < PATTERN ? len : PATTERN - 1), list);
    return list + len;
}

bool ll_only_has(const char *list, const char *name)
{
    char pattern[PATTERN];
    if (list == NULL) return true;
    while ((list = next_pattern(list, pattern)) != NULL)
        if (strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0) return true;
    return false;
}

static llap_status fail_none(const char *pattern, const llap_panel *p)
{
    char   some[300] = "";
    size_t at = 0;
    for (int64_t e = 0; e < p->n_entities && e < 5 && at < sizeof some; e++)
        at += (size_t)snprintf(some + at, sizeof some - at, "%s'%s'", e == 0 ? "" : ", ",
                               ll_text_show(p->entity[e]).text);
    return ll_fail(LLAP_EINVAL, "only: no entity is called '%s'; there %s %s%s",
                   ll_text_show(pattern).text, p->n_entities == 1 ? "is" : "are", some,
                   p->n_entities > 5 ? " and others" : "");
}

llap_status ll_only_check(const char *list, const llap_panel *p)
{
    char pattern[PATTERN];
    bool any = false;
    if (list == NULL) return LLAP_OK;
    while ((list = next_pattern(list, pattern)) != NULL) {
        bool found = false;
        for (int64_t e = 0; e < p->n_entities && !found; e++)
            found = ll_only_has(pattern, p->entity[e]);
        if (!found) return fail_none(pattern, p);
        any = true;
    }
    return any ? LLAP_OK : ll_fail(LLAP_EOPTION, "only: no entity given");
}
