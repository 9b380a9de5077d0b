#include "numerics/binomial.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "numerics/constants.h"
#include "numerics/rounding.h"

/* log(n!) - log(sqrt(2 pi n) (n / e)^n). */
static long double stirling_error(long double n)
{
    if (n < 16.0L) {
        long double factorial = 1.0L;
        for (long double i = 2.0L; i <= n; i += 1.0L) factorial *= i;
        return logl(factorial) - ((n + 0.5L) * logl(n) - n + 0.5L * PRV_LOG_2PI_LONG);
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

/* P(X = k), by the saddle-point form of Loader, "Fast and accurate computation of binomial probabilities",
 * 2000. */
static long double probability(long double n, long double p, long double k)
{
    const long double rest = 1.0L - p;
    if (k == 0.0L) return expl(n * log1pl(-p));
    if (k == n) return expl(n * logl(p));
    const long double exponent = stirling_error(n) - stirling_error(k) - stirling_error(n - k) -
                                 deviance(k, n * p) - deviance(n - k, n * rest);
    return expl(exponent - 0.5L * (PRV_LOG_2PI_LONG + logl(k) + log1pl(-k / n)));
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
        if (ratio < 1.0L && term * ratio / (1.0L - ratio) < 0.25L * (long double)PRV_LONG_EPSILON * sum)
            break;
        k += upwards ? 1.0L : -1.0L;
    }
    return sum;
}

/* Of each term by the ratios that lead to it, at most 40 sqrt(n) of them, which round as long double does;
 * and of the exponent of the first, whose logarithms are off by what libm's are. A logarithm of deviance() is
 * below 11 times the deviance where it is used, and those of the Stirling errors of n < 16 come to less
 * than 90. The caller takes all of it 8 times. */
static double error_of(long double draws, double tail_mass)
{
    const double terms = 4.0 * (40.0 * sqrt((double)draws) + 16.0), exponent = -log(fmax(tail_mass, DBL_MIN));
    return DBL_EPSILON + PRV_LONG_EPSILON * terms + PRV_WIDE_LIBM_UNIT * (16.0 * exponent + 64.0);
}

prv_binomial_tails prv_binomial_tails_at(uint64_t n, double p, uint64_t k)
{
    prv_binomial_tails t = {0.0, 1.0, 0.0};
    if (k == 0 || p == 1.0) {
        if (k > n) t = (prv_binomial_tails){1.0, 0.0, 0.0};
        return t;
    }
    if (k > n || p == 0.0) return (prv_binomial_tails){1.0, 0.0, 0.0};
    const long double draws = (long double)n, from = (long double)k, q = (long double)p;
    const int above = from > draws * q;
    /* The smaller one is summed, or nearly. */
    const long double sum = fminl(tail(draws, q, above ? from : from - 1.0L, above), 1.0L);
    t.from = (double)(above ? sum : 1.0L - sum);
    t.below = (double)(above ? 1.0L - sum : sum);
    t.error = 8.0 * error_of(draws, (double)sum);
    return t;
}

double prv_log_binomial_tail_above(uint64_t n, double p, uint64_t k)
{
    const long double from = (long double)k, below = (long double)(n - k), q = (long double)p;
    const long double mean = (long double)n * q, rest = (long double)n * (1.0L - q);
    const long double exponent = deviance(from, mean) + (k < n ? deviance(below, rest) : rest);
    /* Both terms are >= 0, and are off as error_of says; a mean is off by roundings of itself, which moves
     * its term by as many parts of the distance. */
    const double error = 64.0 * PRV_WIDE_LIBM_UNIT * (double)exponent +
                         8.0 * PRV_LONG_EPSILON * (double)fabsl(from - mean);
    return prv_above(-((double)exponent - error) * (1.0 - DBL_EPSILON));
}

/* Divides by their sum. Below the normal doubles masses have no relative accuracy: these are left out. */
static bool normalise(double *masses, size_t length, long double sum)
{
    bool complete = true;
    for (size_t k = 0; k < length; k++) {
        masses[k] = (double)((long double)masses[k] / sum);
        if (masses[k] >= DBL_MIN) continue;
        masses[k] = 0.0;
        complete = false;
    }
    return complete;
}

bool prv_binomial_probabilities(size_t n, double p, double rest, double *masses)
{
    const long double drawn = (long double)p + (long double)rest;
    const long double odds = drawn / ((1.0L - (long double)p) - (long double)rest);
    const size_t mode = prv_size_of(fmin((double)n, floor(((double)n + 1.0) * p)));
    long double sum = 1.0L, term = 1.0L;
    masses[mode] = 1.0;
    for (size_t k = mode; k < n; k++) {
        term *= odds * (long double)(n - k) / (long double)(k + 1);
        masses[k + 1] = (double)term;
        sum += term;
    }
    term = 1.0L;
    for (size_t k = mode; k > 0; k--) {
        term *= (long double)k / (odds * (long double)(n - k + 1));
        masses[k - 1] = (double)term;
        sum += term;
    }
    return normalise(masses, n + 1, sum);
}

/* P(K = k + 1) / P(K = k). */
static long double hypergeometric_ratio(uint64_t size, uint64_t marked, uint64_t drawn, uint64_t k)
{
    return (long double)(marked - k) * (long double)(drawn - k) /
           ((long double)(k + 1) * (long double)(size - marked - drawn + k + 1));
}

bool prv_hypergeometric_probabilities(uint64_t size, uint64_t marked, uint64_t drawn, double *masses)
{
    const size_t most = (size_t)(marked < drawn ? marked : drawn);
    const double about = (double)marked * ((double)drawn / (double)size);
    const size_t mode = prv_size_of(fmin(floor(about), (double)most));
    long double sum = 1.0L, term = 1.0L;
    masses[mode] = 1.0;
    for (size_t k = mode; k < most; k++) {
        term *= hypergeometric_ratio(size, marked, drawn, k);
        masses[k + 1] = (double)term;
        sum += term;
    }
    term = 1.0L;
    for (size_t k = mode; k > 0; k--) {
        term /= hypergeometric_ratio(size, marked, drawn, k - 1);
        masses[k - 1] = (double)term;
        sum += term;
    }
    return normalise(masses, most + 1, sum);
}
