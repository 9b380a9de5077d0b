#include "binomial.h"

#include <float.h>
#include <math.h>

#define LOG_TWO_PI 1.8378770664093454835606594728112L

/* log(n!) - log(sqrt(2 pi n) (n / e)^n). */
static long double stirling_error(long double n)
{
    if (n < 16.0L) {
        long double factorial = 1.0L;
        for (long double i = 2.0L; i <= n; i += 1.0L) factorial *= i;
        return logl(factorial) - ((n + 0.5L) * logl(n) - n + 0.5L * LOG_TWO_PI);
    }
    const long double s = 1.0L / (n * n);
    const long double c3 = 1.0L / 1188.0L - s * (691.0L / 360360.0L - s * (1.0L / 156.0L));
    return (1.0L / 12.0L - s * (1.0L / 360.0L - s * (1.0L / 1260.0L - s * (1.0L / 1680.0L - s * c3)))) / n;
}

/* x log(x / m) + m - x, without the cancellation where x is near m. */
static long double deviance(long double x, long double m)
{
    const long double d = x - m;
    if (fabsl(d) > 0.1L * (x + m)) return x * logl(x / m) - d;
    const long double v = d / (x + m), square = v * v;
    long double sum = d * v, power = 2.0L * x * v;
    for (long double j = 3.0L;; j += 2.0L) {
        power *= square;
        const long double next = sum + power / j;
        if (next == sum) return sum;
        sum = next;
    }
}

/* P(X = k), by Loader's saddle-point form ("Fast and accurate computation of binomial probabilities", 2000). */
static long double probability(long double n, long double p, long double k)
{
    const long double rest = 1.0L - p;
    if (k == 0.0L) return expl(n * log1pl(-p));
    if (k == n) return expl(n * logl(p));
    const long double exponent = stirling_error(n) - stirling_error(k) - stirling_error(n - k) -
                                 deviance(k, n * p) - deviance(n - k, n * rest);
    return expl(exponent - 0.5L * (LOG_TWO_PI + logl(k) + log1pl(-k / n)));
}

/* The sum from k outwards, upwards or downwards, away from the mode. */
static long double tail(long double n, long double p, long double k, int upwards)
{
    long double term = probability(n, p, k), sum = term;
    const long double odds = p / (1.0L - p);
    while (term > 0.0L && (upwards ? k < n : k > 0.0L)) {
        const long double ratio = upwards ? (n - k) / (k + 1.0L) * odds : k / ((n - k + 1.0L) * odds);
        term *= ratio;
        sum += term;
        /* Ratios fall from here on. */
        if (ratio < 1.0L && term * ratio / (1.0L - ratio) < 0.25L * LDBL_EPSILON * sum) break;
        k += upwards ? 1.0L : -1.0L;
    }
    return sum;
}

double prv_binomial_upper_tail(uint64_t n, double p, uint64_t k)
{
    if (k == 0) return 1.0;
    if (k > n || p == 0.0) return 0.0;
    if (p == 1.0) return 1.0;
    const long double draws = (long double)n, from = (long double)k, q = (long double)p;
    if (from > draws * q) return (double)tail(draws, q, from, 1);
    return (double)fmaxl(1.0L - tail(draws, q, from - 1.0L, 0), 0.0L);
}

/* Of a few hundred thousand terms in long double, or of the exponent, whichever long double is. */
double prv_binomial_error(double tail_mass)
{
    const double wide = (double)LDBL_EPSILON;
    return 2.0 * DBL_EPSILON + wide * (1e6 + 64.0 * fabs(log(fmax(tail_mass, DBL_MIN))));
}
