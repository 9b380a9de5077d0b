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
 * all, each off by a few k u; terms from k = 18 on are below u / 1000 of the sum. Of the 32 u the sum takes
 * 18 (15 additions, and its terms), its factors 3, a rounding of y 3. */
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

/* log f(e^y), and what it is off by at most, for a y that was rounded once. With b = (alpha - 1) y, f = e^y
 * (e^b - 1) - (alpha - 1) (e^y - 1): near alpha = 1 nothing is lost, as both parts have the factor alpha - 1,
 * which is exact. */
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
     * is off by at most 6 u of `parts`, one of them for y, and is above parts / 64 wherever |a| > 1/4. */
    const double relative = 8.0 * PRV_UNIT * parts / value;
    if (!(value > 0.0 && relative < 0.25)) {
        *error = HUGE_VAL;
        return log_unit;
    }
    const double logarithm = log(value);
    /* A logarithm, or a product and y, take 2 u of their size; the sum, and adding the error to it, one each.
     */
    *error = -log1p(-relative) + PRV_UNIT * (4.0 + 4.0 * (fabs(logarithm) + fabs(log_unit)));
    return log_unit + logarithm;
}

/* f falls up to y = 0 and rises from there, faster above 0 than below. So over all y within the error, f is
 * least at the one nearest 0 and greatest at the farthest one; if the error reaches across 0, f at the
 * farthest size, taken above 0, is an upper bound. */
void prv_excess_bounds_at(double y, double y_error, double alpha, double *lower, double *upper)
{
    const double size = fabs(y);
    const double sign = y < 0.0 && size > y_error ? -1.0 : 1.0;
    double error;
    *lower = size > y_error ? log_f(sign * (size - y_error), alpha, &error) : -HUGE_VAL;
    if (size > y_error) *lower -= error;
    *upper = -HUGE_VAL;
    if (size + y_error > 0.0) {
        *upper = isfinite(y_error) ? log_f(sign * (size + y_error), alpha, &error) : HUGE_VAL;
        if (isfinite(y_error)) *upper += error;
    }
}

void prv_excess_bounds_of_cell(double log_mass, double mass_error, double y, double y_error, double low,
                               double high, double alpha, double *lower, double *upper)
{
    prv_excess_bounds_at(y, y_error, alpha, lower, upper);
    *lower = prv_below(*lower + prv_below(log_mass - mass_error));
    const double power = (alpha - 2.0) * (alpha < 2.0 ? low : high);
    const double half = log(0.125 * alpha * (alpha - 1.0));
    /* Of the chord's term: log(r_b - r_a) = low + log(e^d - 1), which is at most `high`. In units of u, d is
     * off by d, so e^d - 1 by 1 + d of itself, and by 2 more; `spread` by 3 + d <= 7 and 2 of its size.
     * Doubled, and with the sums, this is 14, 8 of its size, and 4 of that of the others; in `half` there are
     * 2 more. The last sum is counted by prv_log_sum_above, which counts one of the greatest term more than
     * it makes. */
    const double d = fmax(high - low, 0.0), spread = d < 4.0 ? log(expm1(d)) : 0.0;
    const double gap = half + power + 2.0 * (d < 4.0 ? low + spread : high);
    const double sizes = fabs(half) + fabs(power) + fabs(d < 4.0 ? low : high) + fabs(spread);
    prv_log_sum sum = PRV_EMPTY_LOG_SUM;
    prv_log_sum_add(&sum, *upper);
    prv_log_sum_add(&sum, gap + PRV_UNIT * (16.0 + 8.0 * sizes));
    *upper = prv_above(prv_log_sum_above(&sum) + prv_above(log_mass + mass_error));
}
