#include "curve/untilted.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/wide.h"
#include "composition/convolution.h"

prv_untilted_curve prv_untilted_curve_of(const prv_composed *c, double floor, double *sums)
{
    double *mass = c->convolved.mass;
    const size_t length = c->convolved.length;
    const double below = (floor - (double)c->lowest) / c->spacing - 2.0;
    const size_t bottom = prv_size_of(fmin(below, (double)length - 1.0));
    const prv_untilted_curve curve = {c, bottom, sums, mass};
    const prv_wide decay = prv_wide_of(exp(-c->spacing)), drop = prv_wide_of(-expm1(-c->spacing));
    prv_wide d = prv_wide_of(0.0), b = prv_wide_of(0.0);
    double greatest = 0.0;
    size_t at = (c->convolved.start + length - 1) % length;
    for (size_t point = length; point-- > bottom;) {
        d = prv_wide_add(d, prv_wide_mul(drop, b));
        b = prv_wide_add(prv_wide_mul(decay, b), prv_wide_of(mass[at]));
        const double value = prv_wide_value(d);
        greatest = value > greatest ? value : greatest;
        sums[point] = greatest;
        curve.reverse[at] = prv_wide_value(b);
        at = at > 0 ? at - 1 : length - 1;
    }
    return curve;
}

static double reverse_at(const prv_untilted_curve *curve, size_t point)
{
    const prv_composed *c = curve->composed;
    const size_t at = c->convolved.start + point, length = c->convolved.length;
    return curve->reverse[at < length ? at : at - length];
}

double prv_untilted_delta(const prv_untilted_curve *curve, double epsilon, double *slope)
{
    const prv_composed *c = curve->composed;
    const double last = (double)c->convolved.length - 1.0;
    const double top = prv_composed_loss(c, c->convolved.length - 1), above = epsilon - (double)c->lowest;
    *slope = 0.0;
    if (epsilon >= top) return 0.0;
    size_t point = curve->bottom;
    if (above > 0.0) point = prv_size_of(fmin(fmax(above / c->spacing, (double)point), last));
    while (point > curve->bottom && prv_composed_loss(c, point - 1) > epsilon) point--;
    while (prv_composed_loss(c, point) <= epsilon) point++;
    const double v = epsilon - prv_composed_loss(c, point), b = reverse_at(curve, point);
    *slope = b * exp(v);
    return curve->sums[point] - b * expm1(v);
}

double prv_untilted_epsilon(const prv_untilted_curve *curve, double level)
{
    const prv_composed *c = curve->composed;
    if (!(level > 0.0)) return HUGE_VAL;
    size_t low = curve->bottom, high = c->convolved.length - 1; /* sums[high] = 0 < level */
    if (curve->sums[low] < level) {
        const double b = reverse_at(curve, low);
        const double ratio = b > 0.0 ? (curve->sums[low] - level) / b : -1.0;
        return ratio > -1.0 ? prv_composed_loss(c, low) + log1p(ratio) : -HUGE_VAL;
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (curve->sums[middle] >= level)
            low = middle;
        else
            high = middle;
    }
    const double b = reverse_at(curve, high);
    const double ratio = b > 0.0 ? (curve->sums[high] - level) / b : 0.0;
    const double v = ratio > -1.0 ? log1p(ratio) : -HUGE_VAL;
    return prv_composed_loss(c, high) + fmin(fmax(v, -c->spacing), 0.0);
}
