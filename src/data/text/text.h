/* src/data/text: what every reader of text begins with.
 *
 *   source.h  bytes of a file, of gzip or of standard input
 *   utf8.h    the same as valid text
 *   number.h  numbers as files write them
 *   names.h   names of entities and variables, by their place
 *
 * May touch: base. */
