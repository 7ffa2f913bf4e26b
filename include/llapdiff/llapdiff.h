/* libllapdiff: probabilistic forecasts and gap filling for irregular, incomplete, multivariate time
 * series, by Latent Laplace Diffusion.
 *
 * Every function that can fail returns an llap_status; llap_error_detail() then says in one line
 * what went wrong. The library never ends the process and never prints. Handles are opaque; who
 * owns what is said at each declaration as "caller owns", "borrows until" or "takes". */
#ifndef LLAPDIFF_LLAPDIFF_H
#define LLAPDIFF_LLAPDIFF_H

#include <llapdiff/bench.h>
#include <llapdiff/config.h>
#include <llapdiff/log.h>
#include <llapdiff/model.h>
#include <llapdiff/panel.h>
#include <llapdiff/progress.h>
#include <llapdiff/sampler.h>
#include <llapdiff/status.h>
#include <llapdiff/text.h>
#include <llapdiff/trainer.h>
#include <llapdiff/version.h>

#endif
