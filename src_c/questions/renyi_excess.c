#include "questions/renyi_excess.h"

#include <math.h>

#include "numerics/rounding.h"

void prv_excess_add(prv_excess *e, double lower, double upper)
{
    prv_log_sum_add(&e->lower, lower);
    prv_log_sum_add(&e->upper, upper);
}

/* log f for |alpha y| <= 1/4, by the series f = alpha (alpha - 1) y^2 sum over k >= 2 of t_k / k!, t_k =
 * y^(k-2) (1 + alpha + ... + alpha^(k-2)). The sum is 0.5 and terms of at most 0.25^(k-2) (k-1) / k!: 0.05 in
 * all, each off by a few k u; terms from k = 18 on are below u / 1000 of the sum. */
static double log_f_by_series(double y, double alpha, double *error)
{
    const double a = alpha * y, rest = alpha - 1.0;
    double t = 1.0, power = a, factorial = 2.0, sum = 0.5;
    for (double k = 3.0; k < 18.0; k += 1.0) {
        t = t * y + power;
        power *= a;
        factorial *= k;
        sum += t / factorial;
    }
    const double scale = log(alpha * rest * sum), size = 2.0 * log(fabs(y));
    *error = PRV_UNIT * (32.0 + 4.0 * (fabs(scale) + fabs(size)));
    return scale + size;
}

/* log f(e^y), and what it is off by at most. With b = (alpha - 1) y, f = e^y (e^b - 1) - (alpha - 1) (e^y -
 * 1): near alpha = 1 nothing is lost, as both parts have the factor alpha - 1, which is exact. */
static double log_f(double y, double alpha, double *error)
{
    const double a = alpha * y, rest = alpha - 1.0, b = rest * y;
    *error = 0.0;
    if (y == 0.0) return -HUGE_VAL;
    if (fabs(a) <= 0.25) return log_f_by_series(y, alpha, error);
    double value, parts, log_unit;
    if (b > 30.0) {
        /* f = e^a (1 - e^-b (1 + (alpha - 1) (1 - e^-y))), and the subtracted part is at most e^-b (1 + b).
         */
        log_unit = a;
        value = 1.0 - exp(-b) * (1.0 - rest * expm1(-y));
        parts = 1.0;
    } else if (y > 0.0) {
        /* f = e^y (e^b - 1 - (alpha - 1) (1 - e^-y)) */
        const double first = expm1(b), second = rest * expm1(-y);
        log_unit = y;
        value = first + second;
        parts = first + b * (first + 1.0) - second;
    } else {
        const double first = exp(y) * expm1(b), second = rest * expm1(y);
        log_unit = 0.0;
        value = first - second;
        parts = (1.0 - y) * -first + -b * exp(b + y) - second;
    }
    /* `parts` sums, over the terms, their sizes, and b times their derivatives by b, as b is rounded: value
     * is off by at most 4 u of `parts`, and is above parts / 64 wherever |a| > 1/4. */
    const double relative = 8.0 * PRV_UNIT * parts / value;
    if (!(value > 0.0 && relative < 0.25)) {
        *error = HUGE_VAL;
        return log_unit;
    }
    const double logarithm = log(value);
    *error = -log1p(-relative) + PRV_UNIT * (4.0 + 2.0 * fabs(logarithm) + 4.0 * fabs(log_unit));
    return log_unit + logarithm;
}

/* f falls up to y = 0 and rises from there, faster above 0 than below. So over all y within the error, f is
 * least at the one nearest 0 and greatest at the farthest one; if the error reaches across 0, f at the
 * farthest size, taken above 0, is an upper bound. */
void prv_excess_bounds_at(double y, double y_error, double alpha, double *lower, double *upper)
{
    const double size = fabs(y);
    const double off = y_error + 4.0 * PRV_UNIT * (size + y_error); /* the second term for size +- off */
    const double sign = y < 0.0 && size > off ? -1.0 : 1.0;
    double error;
    *lower = size > off ? log_f(sign * (size - off), alpha, &error) : -HUGE_VAL;
    if (size > off) *lower -= error;
    *upper = -HUGE_VAL;
    if (size + off > 0.0) {
        *upper = isfinite(off) ? log_f(sign * (size + off), alpha, &error) : HUGE_VAL;
        if (isfinite(off)) *upper += error;
    }
}

void prv_excess_bounds_of_cell(double log_mass, double mass_error, double y, double y_error, double low,
                               double high, double alpha, double *lower, double *upper)
{
    prv_excess_bounds_at(y, y_error, alpha, lower, upper);
    const double rounding = 2.0 * PRV_UNIT * fabs(log_mass);
    *lower += log_mass - mass_error - rounding;
    *lower -= 2.0 * PRV_UNIT * fabs(*lower);
    const double power = (alpha - 2.0) * (alpha < 2.0 ? low : high);
    const double half = log(0.125 * alpha * (alpha - 1.0));
    const double spread = log(expm1(fmax(high - low, 0.0)));
    /* Of the chord's term: log(r_b - r_a) = low + log(e^(high - low) - 1). The difference high - low is off
     * by u of itself, so its expm1 by (1 + high - low) u. */
    const double gap = half + power + 2.0 * (low + spread);
    prv_log_sum sum = PRV_EMPTY_LOG_SUM;
    prv_log_sum_add(&sum, *upper);
    const double sizes = fabs(half) + fabs(power) + fabs(low) + fabs(spread) + fmax(high - low, 0.0);
    prv_log_sum_add(&sum, gap + PRV_UNIT * (16.0 + 8.0 * sizes));
    *upper = prv_log_sum_above(&sum) + log_mass + mass_error + rounding;
    *upper += 2.0 * PRV_UNIT * fabs(*upper);
}
