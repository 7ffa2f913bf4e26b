/* What all pictures share: file formats, told by the end of the name, and colours. */
#ifndef LL_PLOT_PICTURE_H
#define LL_PLOT_PICTURE_H

#include <llapdiff/status.h>
#include <stdint.h>

typedef enum ll_picture { LL_PICTURE_PNG, LL_PICTURE_SVG, LL_PICTURE_PDF } ll_picture;

/* LLAP_EOPTION names the known ends; upper case is the same. */
llap_status ll_picture_of(const char *path, ll_picture *out);

typedef uint32_t ll_colour; /* 0xRRGGBB */

/* Told apart with every kind of colour vision (Okabe and Ito), and greys. */
#define LL_COLOUR_BLUE 0x0072b2u
#define LL_COLOUR_ORANGE 0xd55e00u
#define LL_COLOUR_GREEN 0x009e73u
#define LL_COLOUR_SKY 0x56b4e9u
#define LL_COLOUR_PINK 0xcc79a7u
#define LL_COLOUR_AMBER 0xe69f00u
#define LL_COLOUR_INK 0x222222u
#define LL_COLOUR_GREY 0x666666u
#define LL_COLOUR_LINE 0xbbbbbbu
#define LL_COLOUR_PALE 0xe4e4e4u

/* From yellow (0) to dark blue (1) in even steps of lightness. */
ll_colour ll_colour_scale(double share);

#endif
