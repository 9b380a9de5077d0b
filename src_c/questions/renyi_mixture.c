#include "questions/renyi_mixture.h"

#include <math.h>

#include "numerics/log_sum.h"
#include "numerics/normal.h"
#include "numerics/rounding.h"

/* Relative error of weights: sums normalised, and binomial weights multiplied up from the mode. */
static double weight_error(const prv_components *c)
{
    return PRV_UNIT * (8.0 * (double)c->length + 16.0);
}

/* The logarithm of a sum of w_i e^(x_i) whose weights add up to 1.
 *
 * If no x is large and the sum is not small, the sum is formed as 1 + above, above = sum of w_i (e^(x_i) -
 * 1), so that rare components keep their digits; else the logarithm is log_of_all, formed from the terms
 * themselves. The choice is by the greatest x, since components with large x are left out of `above`.
 * x_error: the error of each x that is not 0 exactly; moved: the sum of w_i max(1, e^(x_i)) over these x. */
static double log_of_mixture(const prv_components *c, double greatest, double above, double log_of_all,
                             double moved, double x_error, double *error)
{
    const double sums = weight_error(c) + 8.0 * PRV_UNIT * (double)c->length;
    if (greatest < PRV_LARGE_LOGARITHM && above > -0.5) {
        const double off = moved * (expm1(x_error) + sums) / (1.0 + above), value = log1p(above);
        *error = off < 0.5 ? -log1p(-off) + 4.0 * PRV_UNIT * fabs(value) : HUGE_VAL;
        return value;
    }
    *error = x_error + sums + PRV_UNIT * (16.0 + 4.0 * (fabs(greatest) + fabs(log_of_all)));
    return log_of_all;
}

prv_tangent prv_mixture_log_density(const prv_components *c, double sign, double z)
{
    double above = 0.0, moved = 0.0, greatest = -HUGE_VAL;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i];
        greatest = fmax(greatest, center * (z - 0.5 * center));
    }
    double sum = 0.0, moment = 0.0;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i], exponent = center * (z - 0.5 * center);
        if (greatest < PRV_LARGE_LOGARITHM) {
            above += c->weight[i] * expm1(exponent);
            if (center != 0.0) moved += c->weight[i] * exp(fmax(exponent, 0.0));
        }
        const double part = c->weight[i] * exp(exponent - greatest);
        sum += part;
        moment += part * center;
    }
    prv_tangent t;
    /* center (z - center / 2): two roundings, and one of the centre, which moves the product by
     * center (z - center). */
    const double x_error = PRV_UNIT * 4.0 * c->reach * (fabs(z) + c->reach);
    t.value = log_of_mixture(c, greatest, above, greatest + log(sum), moved, x_error, &t.error);
    t.slope = moment / sum;
    /* The slope is a mean of centres, all of one sign, under weights that are off. */
    t.slope_error = fabs(t.slope) *
                    (2.0 * expm1(x_error) + 2.0 * weight_error(c) + 16.0 * PRV_UNIT * (double)c->length);
    return t;
}

double prv_mixture_log_mass(const prv_components *c, double sign, double a, double b, double normal,
                            double single_error, double *error)
{
    double above = 0.0, moved = 0.0, greatest = -HUGE_VAL;
    prv_log_sum sum = PRV_EMPTY_LOG_SUM;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i];
        const double ratio = center == 0.0 ? 0.0 : prv_log_between(a - center, b - center) - normal;
        greatest = fmax(greatest, ratio);
        prv_log_sum_add(&sum, log(c->weight[i]) + ratio);
        if (!(ratio < PRV_LARGE_LOGARITHM)) continue; /* then `above` is not used */
        above += c->weight[i] * expm1(ratio);
        if (center != 0.0) moved += c->weight[i] * exp(fmax(ratio, 0.0));
    }
    return log_of_mixture(c, greatest, above, prv_log_sum_value(&sum), moved, 2.0 * single_error, error);
}
