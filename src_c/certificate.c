#include "certificate.h"

#include <float.h>
#include <math.h>

#include "wide.h"

#define UNIT (0.5 * DBL_EPSILON)

double prv_kernel_maximum(double lam)
{
    if (!(lam > 0.0)) return 1.0;
    return exp(-lam * log1p(1.0 / lam) - log1p(lam));
}

prv_slack_parts prv_certificate(const prv_composed *c, double cell_error)
{
    const double g = prv_kernel_maximum(c->tilt), n = (double)c->length;
    const double smooth = c->tilt > 0.0 ? 1.0 / (c->step * c->tilt * (c->tilt + 1.0)) + g : HUGE_VAL;
    const double reach = fmax(fabs((double)c->lowest), fabs((double)c->lowest + n * c->step));
    prv_slack_parts p;
    p.outside = g * c->outside;
    p.transforms = c->rounding * fmin(smooth, n * g);
    p.slack.additive = p.outside + p.transforms;
    /* The recurrences use rounded decay factors, hence n u; scales are exponentials of double logs. */
    p.slack.relative = c->relative_error + cell_error + n * (2.0 * UNIT + 4.0 * PRV_WIDE_UNIT) +
                       8.0 * UNIT * (8.0 + fabs(c->log_moment) + c->tilt * reach);
    p.slack.relative = fmin(p.slack.relative, 0.5);
    p.slack.shift = 2.0 * cell_error + 4.0 * UNIT * reach;
    return p;
}
