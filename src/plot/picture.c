#include "plot/picture.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

llap_status llap_picture_of(const char *path, llap_picture *out)
{
    static const char *const ends[] = {
        [LLAP_PICTURE_PNG] = ".png",
        [LLAP_PICTURE_SVG] = ".svg",
        [LLAP_PICTURE_PDF] = ".pdf",
    };
    const size_t n = strlen(path);
    for (int i = 0; i < 3; i++)
        if (n > 4 && strcasecmp(path + n - 4, ends[i]) == 0) {
            *out = (llap_picture)i;
            return LLAP_OK;
        }
    return llap_fail(LLAP_EOPTION, "%s: a picture's name ends in .png, .svg or .pdf",
                     llap_text_show(path).text);
}

llap_colour llap_colour_scale(double share)
{
    static const double at[5][3] = {
        { 255, 234, 70 }, { 188, 175, 111 }, { 124, 123, 120 }, { 65, 77, 107 }, { 0, 32, 77 },
    };
    const double x = 4 * fmin(fmax(share, 0), 1);
    const int    i = x < 4 ? (int)x : 3;
    llap_colour  c = 0;
    for (int k = 0; k < 3; k++)
        c = c << 8 | (llap_colour)lround(at[i][k] + (x - i) * (at[i + 1][k] - at[i][k]));
    return c;
}
