#include "curve/certificate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "numerics/rounding.h"
#include "numerics/wide.h"
#include "composition/kernel.h"
#include "composition/spectrum_sum.h"

prv_slack_parts prv_certificate(const prv_composed *c, const prv_rounding *cells)
{
    const prv_tilted *t = &c->tilted;
    const double g = prv_kernel_maximum(t->tilt);
    prv_slack_parts p;
    memset(&p, 0, sizeof p);
    double reach, sums = 0.0, place = 0.0;
    if (c->engine == PRV_ENGINE_SPECTRUM) {
        const prv_spectrum *s = c->spectral.spectrum;
        p.slack.images = prv_spectrum_images(c, &p.slack.low, &p.slack.high);
        p.slack.imaged = 1;
        p.slack.apart = s->apart;
        p.slack.bulk = s->bulk;
        p.slack.bulk_low = s->bulk_low;
        p.outside = s->left_out;
        /* Weights that are no normal doubles: fewer than 2^40 atoms of each step, DBL_MIN of each. */
        p.transforms = s->rounding + 0x1p40 * DBL_MIN * t->total;
        place = (double)(c->spectral.laws + 4) * PRV_LONG_EPSILON * c->spectral.place_size;
        reach = fabs((double)c->lowest) + s->points * c->spacing;
    } else {
        const double n = (double)c->convolved.length;
        const double smooth = t->tilt > 0.0 ? 1.0 / (c->spacing * t->tilt * (t->tilt + 1.0)) + g : HUGE_VAL;
        p.outside = g * c->convolved.outside;
        /* Where the tilt's weight lies on a few atoms, those of others underflow, and products with them: by
         * less than DBL_MIN each. */
        p.transforms = c->convolved.rounding * fmin(smooth, n * g) + n * (t->total + 4.0) * DBL_MIN;
        reach = fmax(fabs((double)c->lowest), fabs((double)c->lowest + n * c->spacing));
        /* The recurrences use rounded decay factors. */
        sums = n * (2.0 * PRV_UNIT + 4.0 * PRV_WIDE_UNIT);
    }
    p.slack.additive = p.outside + p.transforms;
    p.outside += p.slack.images + p.slack.bulk;
    /* Scales are exponentials of double logs. */
    p.slack.relative = t->relative_error + cells->relative + sums +
                       8.0 * PRV_UNIT * (8.0 + fabs(t->log_moment) + t->tilt * reach);
    /* The true value lies within a factor of exp(that) either way: of 1 + relative, infinite where no double
     * is it. */
    p.slack.relative = expm1(p.slack.relative);
    p.slack.shift = cells->shift + 4.0 * PRV_UNIT * reach + place;
    return p;
}
