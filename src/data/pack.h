/* Packed panels: a panel in a file, or in a folder of shards, whose times, values and bits are
 * mapped, not read. Opening costs the names and nothing a row; pages come when they are looked at.
 *
 *     ll_pack_writer *w;
 *     st = ll_pack_writer_open("set.panel", 0, &w);
 *     st = ll_pack_writer_begin(w, n_vars);
 *     st = ll_pack_writer_row(w, time, values);            sorted, as often as needed
 *     st = ll_pack_writer_panel(w, &draft, &panel);        what was written so far, mapped
 *     st = ll_pack_writer_commit(w, panel);                its names, and the file is there
 *     ll_pack_writer_close(w);                             before commit: leaves nothing behind
 *
 *     st = ll_pack_open("set.panel", &panel);              a llap_panel like others
 *     st = ll_panel_verify(panel, first, end);             once for the rows that are looked at
 *
 * The format (version 1). All numbers are little-endian.
 *
 *     header   128 bytes, see below
 *     blocks   from byte 65536 on: block b has rows b * R .. b * R + R - 1 of the panel, in three
 *              sections, each filled up with zeros to a multiple of 65536 bytes:
 *                  time      int64 of each row
 *                  value     float32 [rows,variables], NaN where missing
 *                  observed  a bit for each cell, in words of 64, the first cell lowest
 *     index    at the first byte behind the blocks:
 *                  start     int64 [entities + 1], first row of each
 *                  sums      uint32 [blocks][3], CRC-32 (that of zlib) of each section, unfilled
 *                  text      strings closed by a NUL: zone, format, unit of the axis; the
 *                            variables; their units, where flag 1 is set; the entities; of each
 *                            column of words its name, what changes ("": nothing) and, of each
 *                            entity, "" (none) or "=" and the word; the levels
 *
 * The header: offset, type, meaning.
 *
 *     0   char[8]  "llappack"            56  int64  R, a power of two, at least 524288
 *     8   uint32   1, the version        64  int64  bytes of the index
 *     12  uint32   CRC-32 of 16 .. 127   72  int64  blocks of a shard; 0: all in this file
 *     16  int64    rows                  80  uint32 CRC-32 of the index
 *     24  int64    variables             84  uint32 kind of the axis: 0 calendar, 1 number
 *     32  int64    entities              88  int64  unit_ns of the axis
 *     40  int64    columns of words      96  int64  bytes of all blocks
 *     48  int64    levels                104 int64  flags
 *
 * A folder has a file `index` (header, then at byte 65536 the index) and the blocks in shards,
 * 00000.rows, 00001.rows and so on, from their byte 0 on. R times 1 variable is a whole number of
 * 65536 bytes in every section, so blocks lie behind one another in memory whatever the page size
 * is.
 *
 * Files are taken as hostile: what opening does not look at, the blocks, is checked by
 * ll_panel_verify before anything relies on it. */
#ifndef LL_DATA_PACK_H
#define LL_DATA_PACK_H

#include "data/panel.h"

typedef struct ll_pack        ll_pack; /* a mapping */
typedef struct ll_pack_writer ll_pack_writer;

/* Whether the path is that of a packed panel, file or folder, by its first bytes. */
bool ll_pack_detect(const char *path);

/* Caller owns *out. LLAP_EFORMAT: not one, cut, or changed; the detail names file and place. */
llap_status ll_pack_open(const char *path, llap_panel **out);

/* Looks once at every block that has one of the rows: sums, times that increase, values that are
 * finite where they were observed. Nothing to do for panels in memory. Any number of threads. */
llap_status ll_panel_verify(const llap_panel *p, int64_t first, int64_t end);

/* Of all of its rows. */
llap_status ll_panel_verify_all(const llap_panel *p);

/* ---- writing ---- */

/* shard_rows: at most so many rows a file, at least a block, in a folder; 0: one file. Nothing is
 * at the path before commit. Caller owns *out. */
llap_status ll_pack_writer_open(const char *path, int64_t shard_rows, ll_pack_writer **out);
void        ll_pack_writer_close(ll_pack_writer *w); /* NULL is fine */
const char *ll_pack_writer_path(const ll_pack_writer *w);

llap_status ll_pack_writer_begin(ll_pack_writer *w, int64_t n_vars);
bool        ll_pack_writer_begun(const ll_pack_writer *w);

/* The next row: every finite value is observed. values [n_vars] */
llap_status ll_pack_writer_row(ll_pack_writer *w, int64_t time, const float *values);

/* All rows of a panel with the bits it has. */
llap_status ll_pack_writer_rows_of(ll_pack_writer *w, const llap_panel *p);

/* The panel of what was written: names from d, whose start is that of the rows. It may be given
 * units and words before commit. Borrows d until return; caller owns *out. */
llap_status ll_pack_writer_panel(ll_pack_writer *w, ll_panel_draft *d, llap_panel **out);

/* Writes the index as p has it, and puts all in its place. */
llap_status ll_pack_writer_commit(ll_pack_writer *w, const llap_panel *p);

#endif
