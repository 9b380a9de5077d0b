#include "numerics/log_sum.h"

#include <math.h>

#include "numerics/rounding.h"

void prv_log_sum_add(prv_log_sum *s, double logarithm)
{
    if (!(logarithm > -HUGE_VAL)) return;
    s->terms += 1.0;
    if (logarithm == HUGE_VAL || s->greatest == HUGE_VAL) { /* the difference of infinities is no number */
        s->greatest = HUGE_VAL;
        s->sum = 1.0;
    } else if (logarithm > s->greatest) {
        s->sum = s->sum * exp(s->greatest - logarithm) + 1.0;
        s->greatest = logarithm;
    } else {
        s->sum += exp(logarithm - s->greatest);
    }
}

double prv_log_sum_value(const prv_log_sum *s)
{
    return s->sum > 0.0 ? s->greatest + log(s->sum) : -HUGE_VAL;
}

/* The error of prv_log_sum_value, at most. Each addition multiplies the sum before it by an exponential of a
 * rounded difference d <= 0 (2 u + |d| u), with a product and a sum (2 u). A term that is e^-D of the
 * greatest has been through differences that add up to D, so k additions leave the term off by (4 k + D) u.
 * Weighted by the terms' shares of the sum, D is at most the entropy of the shares, which is at most log k <=
 * k. */
static double error_of(const prv_log_sum *s)
{
    if (!isfinite(s->greatest)) return 0.0;
    return PRV_UNIT * (5.0 * s->terms + 4.0 + 2.0 * fabs(s->greatest) + 4.0 * log(s->sum));
}

double prv_log_sum_below(const prv_log_sum *s)
{
    return prv_log_sum_value(s) - error_of(s);
}

double prv_log_sum_above(const prv_log_sum *s)
{
    return prv_log_sum_value(s) + error_of(s);
}

double prv_log_difference(double a, double b)
{
    return a > b ? a + log(-expm1(b - a)) : -HUGE_VAL;
}

/* The difference b - a is off by u |b - a|, which moves 1 - e^(b - a), relatively, by d e^-d / (1 - e^-d) u
 * <= u for d = |b - a|; expm1 adds 2 u; the logarithm and the sum are off by u of their sizes. */
double prv_log_difference_below(double a, double b)
{
    const double difference = prv_log_difference(a, b);
    return difference - PRV_UNIT * (8.0 + 4.0 * fabs(difference - a) + 2.0 * fabs(difference));
}
