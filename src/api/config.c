#include <llapdiff/config.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"

#include <string.h>

enum { TEXT = 4096 };

llap_status llap_config_read(const char *path, const char *const *names,
                             llap_status (*set)(void *user, const char *name, const char *text,
                                                const char *place),
                             void *user)
{
    ll_json    *j = NULL;
    char        place[LL_DETAIL_MAX];
    char       *text = ll_new(TEXT, 1);
    llap_status st = text == NULL
                         ? LLAP_ENOMEM
                         : ll_json_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, NULL, &j);
    if (st == LLAP_OK) st = ll_json_keys(j, "", names);
    for (size_t i = 0; st == LLAP_OK && names[i] != NULL; i++) {
        if (!ll_json_has(j, names[i])) continue;
        st = ll_json_text(j, names[i], text, TEXT);
        ll_json_place(j, names[i], place, sizeof place);
        if (st == LLAP_OK) st = set(user, names[i], text, place);
    }
    ll_json_destroy(j);
    ll_free(text);
    return st;
}
