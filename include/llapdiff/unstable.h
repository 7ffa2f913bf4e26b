/* What may change in any version, also by vanishing: measuring this machine, the files of the
 * reference implementation, help for programs with options, the server, brokers. The library
 * exports it, because the llapdiff program needs it; whoever else includes this header recompiles
 * with every version. Nothing in <llapdiff/llapdiff.h> needs it. */
#ifndef LLAPDIFF_UNSTABLE_H
#define LLAPDIFF_UNSTABLE_H

#include <llapdiff/artefacts.h>
#include <llapdiff/bench.h>
#include <llapdiff/broker.h>
#include <llapdiff/config.h>
#include <llapdiff/serve.h>

#endif
