#include "plot/picture.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

llap_status ll_picture_of(const char *path, ll_picture *out)
{
    static const char *const ends[] = {
        [LL_PICTURE_PNG] = ".png",
        [LL_PICTURE_SVG] = ".svg",
        [LL_PICTURE_PDF] = ".pdf",
    };
    const size_t n = strlen(path);
    for (int i = 0; i < 3; i++)
        if (n > 4 && strcasecmp(path + n - 4, ends[i]) == 0) {
            *out = (ll_picture)i;
            return LLAP_OK;
        }
    return ll_fail(LLAP_EOPTION, "%s: a picture's name ends in .png, .svg or .pdf",
                   ll_text_show(path).text);
}

ll_colour ll_colour_scale(double share)
{
    static const double at[5][3] = {
        { 255, 234, 70 }, { 188, 175, 111 }, { 124, 123, 120 }, { 65, 77, 107 }, { 0, 32, 77 },
    };
    const double x = 4 * fmin(fmax(share, 0), 1);
    const int    i = x < 4 ? (int)x : 3;
    ll_colour    c = 0;
    for (int k = 0; k < 3; k++)
        c = c << 8 | (ll_colour)lround(at[i][k] + (x - i) * (at[i + 1][k] - at[i][k]));
    return c;
}
