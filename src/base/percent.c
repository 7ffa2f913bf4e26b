#include "base/percent.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

llap_status ll_percent_decode(const char *text, size_t n, const char *what, char **out)
{
    char *to = *out = ll_new(n + 1, 1);
    if (to == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            const int a = i + 1 < n ? digit(text[i + 1]) : -1;
            const int b = i + 2 < n ? digit(text[i + 2]) : -1;
            if (a < 0 || b < 0 || a + b == 0)
                return ll_fail(LLAP_EINVAL, "%s: byte %zu: %% is followed by no code: write %%25",
                               what, i + 1);
            c = 16 * a + b;
            i += 2;
        }
        *to++ = (char)c;
    }
    const size_t length = (size_t)(to - *out);
    if (ll_utf8_prefix(*out, length) < length)
        return ll_fail(LLAP_EINVAL, "%s: byte %zu is not UTF-8: write %% as %%25", what,
                       ll_utf8_prefix(*out, length) + 1);
    return LLAP_OK;
}
