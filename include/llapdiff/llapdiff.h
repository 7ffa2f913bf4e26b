/* libllapdiff: probabilistic forecasts and gap filling for irregular, incomplete, multivariate time
 * series, by Latent Laplace Diffusion.
 *
 *     llap_panel_read, llap_train, llap_forecast, llap_answer_write
 *
 * Three tiers. This header has the first two, which keep their promises within a major version
 * (below 1.0: a minor one); docs/api.md says which they are.
 *
 *   simple     data in, answers out: panel.h (read, write, arrays), arrow.h
 *              (data frames), model.h (train, save, load,
 *              forecast, impute, evaluate), answer.h (results as columns, CSV or JSON).
 *   handles    what is kept between calls, and results as numbers: trainer.h (stopped, continued),
 *              sampler.h (asked again and again), stream.h and
 *              detect.h (readings that arrive, what is unusual), scores.h,
 *              components.h, poles.h, inspection.h, description.h.
 *   unstable   <llapdiff/unstable.h>, to be included by name: may change in any version.
 *
 * Beside them: status.h (how functions fail), log.h, progress.h, text.h, version.h.
 *
 * Every function that can fail returns an llap_status; llap_error_detail() then says in one line
 * what went wrong. The library never ends the process and never prints. Handles are opaque; who
 * owns what is said at each declaration as "caller owns", "borrows until" or "takes". */
#ifndef LLAPDIFF_LLAPDIFF_H
#define LLAPDIFF_LLAPDIFF_H

/* simple */
#include <llapdiff/answer.h>
#include <llapdiff/arrow.h>
#include <llapdiff/model.h>
#include <llapdiff/options.h>
#include <llapdiff/panel.h>

/* handles */
#include <llapdiff/components.h>
#include <llapdiff/description.h>
#include <llapdiff/detect.h>
#include <llapdiff/inspection.h>
#include <llapdiff/poles.h>
#include <llapdiff/sampler.h>
#include <llapdiff/scores.h>
#include <llapdiff/stream.h>
#include <llapdiff/trainer.h>

#include <llapdiff/log.h>
#include <llapdiff/progress.h>
#include <llapdiff/ranks.h>
#include <llapdiff/status.h>
#include <llapdiff/text.h>
#include <llapdiff/version.h>

#endif
