/* What all pictures share: file formats, told by the end of the name, and colours. */
#ifndef LLAP_PLOT_PICTURE_H
#define LLAP_PLOT_PICTURE_H

#include <llapdiff/status.h>
#include <stdint.h>

typedef enum llap_picture { LLAP_PICTURE_PNG, LLAP_PICTURE_SVG, LLAP_PICTURE_PDF } llap_picture;

/* LLAP_EOPTION names the known ends; upper case is the same. */
llap_status llap_picture_of(const char *path, llap_picture *out);

typedef uint32_t llap_colour; /* 0xRRGGBB */

/* Told apart with every kind of colour vision (Okabe and Ito), and greys. */
#define LLAP_COLOUR_BLUE 0x0072b2u
#define LLAP_COLOUR_ORANGE 0xd55e00u
#define LLAP_COLOUR_GREEN 0x009e73u
#define LLAP_COLOUR_SKY 0x56b4e9u
#define LLAP_COLOUR_PINK 0xcc79a7u
#define LLAP_COLOUR_AMBER 0xe69f00u
#define LLAP_COLOUR_INK 0x222222u
#define LLAP_COLOUR_GREY 0x666666u
#define LLAP_COLOUR_LINE 0xbbbbbbu
#define LLAP_COLOUR_PALE 0xe4e4e4u

/* From yellow (0) to dark blue (1) in even steps of lightness. */
llap_colour llap_colour_scale(double share);

#endif
