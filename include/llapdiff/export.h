/* Marks what libllapdiff.so exports; everything else stays hidden. Include <llapdiff/llapdiff.h>.
 */
#ifndef LLAPDIFF_EXPORT_H
#define LLAPDIFF_EXPORT_H

#define LLAP_API __attribute__((visibility("default")))
#define LLAP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#endif
