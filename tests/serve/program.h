/* A model, its data as CSV, and `llapdiff serve` as a process of its own. */
#ifndef LLAP_TESTS_SERVE_PROGRAM_H
#define LLAP_TESTS_SERVE_PROGRAM_H

#include "world.h"

#include "process.h"

#endif
