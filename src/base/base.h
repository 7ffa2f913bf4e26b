/* src/base: what every other layer stands on, and what knows nothing about series or networks:
 * status and error detail, memory, files, text, safetensors, log and progress. It never
 * prints and never ends the process.
 *
 *   error.h                   one line of detail per thread; include/llapdiff/status.h has the
 *                             codes
 *   alloc.h, account.h        the only allocator; limits that threads share
 *   arena.h                   blocks that end together
 *   file.h, scratch.h         mapping, atomic writing; arrays larger than the memory
 *   text.h, percent.h         UTF-8 and "did you mean"; %41 in addresses
 *   safetensors.h             the file format of models
 *   sort.h, bisect.h          sorting of numbers, and by bytes; places in sorted ones
 *   crps.h, normal.h          the one CRPS of members; quantiles of the normal law
 *   log.h, progress.h, cpu.h  what the caller hears; what the processor can do
 *
 * Inside it: json, time (times, zones, durations) and rng (random numbers).
 * May touch: nothing. */
