#include "numerics/normal.h"

#include <math.h>

#include "numerics/constants.h"
#include "numerics/rounding.h"

double prv_upper_tail(double x)
{
    return 0.5 * erfc(x * PRV_SQRT_HALF);
}

double prv_mills_ratio(double x)
{
    if (x < 2.0) return PRV_SQRT_HALF_PI * exp(0.5 * x * x) * erfc(x * PRV_SQRT_HALF);
    /* Laplace's continued fraction x + 1 / (x + 2 / (x + 3 / ...)). A tail of the fraction is about sqrt(n),
     * so each level multiplies errors by about n / (sqrt(n) + x / 2)^2 = 1 - x / sqrt(n): n levels leave
     * e^(-2 x sqrt(n)), e^-43 here. */
    double tail = x;
    for (double n = 8.0 + floor(480.0 / (x * x)); n > 0.0; n -= 1.0) tail = x + n / tail;
    return 1.0 / tail;
}

long double prv_wide_mills_ratio(long double x)
{
    /* The fraction above. Each level that is left out multiplies errors by 1 - x / tail: together by less
     * than a unit from x = 3 on. Errors of the last levels, of half a unit each, shrink likewise. */
    const long double levels = PRV_WIDE_LIBM_UNIT < 0x1p-64 ? 40.0L + 2600.0L / (x * x)
                                                            : 10.0L + 1000.0L / (x * x);
    long double tail = x;
    for (long double n = floorl(levels); n > 0.0L; n -= 1.0L) tail = x + n / tail;
    return 1.0L / tail;
}

double prv_log_upper_tail(double x)
{
    if (x < 2.0) return log(prv_upper_tail(x));
    return log(prv_mills_ratio(x)) - 0.5 * x * x - PRV_LOG_SQRT_2PI;
}

double prv_log_between(double a, double b)
{
    if (b <= 0.0) return prv_log_between(-b, -a);
    if (a < 0.0) return log(0.5 * (erf(b * PRV_SQRT_HALF) - erf(a * PRV_SQRT_HALF)));
    const double tail = prv_log_upper_tail(a);
    if (!isfinite(b)) return tail;
    /* The ratio of both tails, without their logarithms. */
    const double ratio = 0.5 * (a - b) * (a + b) + log(prv_mills_ratio(b) / prv_mills_ratio(a));
    return tail + log(-expm1(ratio));
}
