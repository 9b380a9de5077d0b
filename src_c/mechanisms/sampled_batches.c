/* Gaussian noise on batches that are drawn in other ways than by plain Poisson sampling. */
#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/binomial.h"
#include "numerics/constants.h"
#include "numerics/rounding.h"
#include "mechanisms/noise.h"

static int is_size(uint64_t n)
{
    return n >= 1 && n <= (uint64_t)1 << 32;
}

/* ---- Truncated Poisson samples -------------------------------------------------------------- */

static prv_status sampled_gaussian(double noise_multiplier, double p, prv_mechanism **mechanism)
{
    prv_mechanism *base = NULL;
    prv_status status = prv_mechanism_gaussian(noise_multiplier, &base);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(base, p, mechanism);
    prv_mechanism_free(base);
    return status;
}

prv_status prv_mechanism_truncated_poisson_gaussian(double noise_multiplier, double p, uint64_t dataset_size,
                                                    uint64_t maximum_batch_size, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(p >= 0.0 && p <= 1.0)) return PRV_ERR_SAMPLING_PROBABILITY;
    if (!is_size(dataset_size) || !is_size(maximum_batch_size)) return PRV_ERR_BATCHES;
    const double most = (double)maximum_batch_size, n = (double)dataset_size;
    /* Whether at least as many of the others are drawn as are kept; and with that, that the record is
     * kept. */
    const prv_binomial_tails full = prv_binomial_tails_at(dataset_size - 1, p, maximum_batch_size);
    const prv_binomial_tails fuller = prv_binomial_tails_at(dataset_size, p, maximum_batch_size + 1);
    if (!(full.from >= DBL_MIN && fuller.from >= DBL_MIN))
        return sampled_gaussian(noise_multiplier, p, mechanism);
    const double error = 2.0 * (full.error + fuller.error) + 8.0 * PRV_UNIT;
    /* From above: a record that is kept more often is less private, while 1 - kept, which decides the losses
     * of 'add', is not known relatively where it is small. */
    const double kept = fmin(most * fuller.from / (n * full.from) * (1.0 + error), 1.0);

    prv_mechanism *part[2] = {NULL, NULL};
    prv_status status = sampled_gaussian(noise_multiplier, p, &part[0]);
    if (status == PRV_OK) status = sampled_gaussian(0.5 * noise_multiplier, kept, &part[1]);
    const double weights[2] = {full.below, full.from};
    /* Where all others are 0, only how often the record is kept is seen. Less often is less privacy loss. */
    const double seen = (p * full.below + most * fuller.from / n) * (1.0 - error);
    prv_mechanism *attained = NULL;
    if (status == PRV_OK) status = sampled_gaussian(noise_multiplier, seen, &attained);
    status = prv_mechanism_choice(status, part, weights, error, attained, mechanism);
    if (status == PRV_OK) {
        (*mechanism)->scale = noise_multiplier;
        (*mechanism)->replacement = PRV_REPLACED_CHOICE;
    }
    return status;
}

/* ---- Shuffled batches, from below ----------------------------------------------------------- */

enum { SLICES = 6000 };

/* A logarithm of a probability, <= 0, and what it may be off by. */
typedef struct logarithm {
    long double value;
    double error;
} logarithm;

/* log P(N(0, 1) <= z), z off by its last bit. */
static logarithm log_normal_below(long double z)
{
    const long double t = fabsl(z) * PRV_SQRT_HALF_LONG;
    const long double value = z < 0.0L ? logl(0.5L * erfcl(t)) : log1pl(-0.5L * erfcl(t));
    /* t is off by two steps of itself, and -t erfc'(t) / erfc(t) <= 2 t^2 + 1. Half of erfc is the argument
     * of the logarithm, or taken from 1 and then at most 1/2, so that the logarithm is off by no more than
     * twice that part. */
    const double square = (double)(t * t),
                 erfc_error = PRV_WIDE_LIBM_ERFC_ERROR + 2.0 * PRV_LONG_EPSILON * (2.0 * square + 1.0);
    const double size = fabs((double)value), logarithm_error = PRV_WIDE_LIBM_ERROR * size;
    return (logarithm){value, logarithm_error + (z < 0.0L ? erfc_error : 2.0 * erfc_error * size)};
}

/* log P(max <= x) of `batches` normal variables, one of mean `mean`. */
static logarithm log_below(long double x, long double mean, long double batches)
{
    const logarithm one = log_normal_below(x - mean), other = log_normal_below(x);
    const long double rest = batches - 1.0L;
    const long double value = rest > 0.0L ? one.value + rest * other.value : one.value;
    const double error = rest > 0.0L ? one.error + (double)rest * other.error : one.error;
    return (logarithm){value, error + 2.0 * PRV_LONG_EPSILON * fabs((double)value)};
}

/* Masses of the slices of the maximum between the edges, and above and below them all. Returns what any of
 * those that are normal numbers may be off by, relatively. */
static double slices(long double mean, long double batches, long double first, long double width,
                     double *mass)
{
    logarithm last = log_below(first, mean, batches);
    mass[0] = (double)expl(last.value);
    double worst = mass[0] >= DBL_MIN ? last.error : 0.0;
    for (int i = 1; i < SLICES; i++) {
        const logarithm here = log_below(first + width * (long double)i, mean, batches);
        const long double rise = last.value - here.value; /* e^here (1 - e^rise) */
        mass[i] = isinf(here.value) ? 0.0 : (double)(expl(here.value) * -expm1l(rise));
        /* |x e^x / (e^x - 1)| <= 1 for x <= 0: an error of the rise moves the second factor by no more than
         * its part of the rise. */
        if (mass[i] >= DBL_MIN) {
            const double of_rise = isinf(last.value) ? 0.0 : (last.error + here.error) / -(double)rise;
            worst = fmax(worst, here.error + of_rise);
        }
        last = here;
    }
    mass[SLICES] = (double)-expm1l(last.value);
    if (mass[SLICES] >= DBL_MIN) worst = fmax(worst, last.error / -(double)last.value);
    /* The three functions, and four roundings, one of them to double. */
    return worst + 2.0 * PRV_WIDE_LIBM_ERROR + PRV_WIDE_LIBM_EXPM1_ERROR(0.0) + 4.0 * PRV_LONG_EPSILON +
           PRV_UNIT;
}

prv_status prv_mechanism_shuffled_from_below(double noise_multiplier, uint64_t batches, int replaced,
                                             prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (!is_size(batches)) return PRV_ERR_BATCHES;
    const double mu = prv_separation(1.0, noise_multiplier);
    if (prv_noiseless(mu)) return prv_mechanism_gaussian(0.0, mechanism); /* sums without noise tell all */
    double *q = prv_allocate(2 * (SLICES + 1), sizeof *q);
    if (q == NULL) return PRV_ERR_MEMORY;
    double *p = q + SLICES + 1;
    const long double mean = 2.0L * (long double)mu, n = (long double)batches;
    const long double first = -4.0L, width = (42.0L + mean) / SLICES;
    const double q_error = slices(mean, n, first, width, q);
    const double p_error = slices(replaced ? 0.0L : 0.5L * mean, n, first, width, p);
    /* Less than that may be off by all of it, which is far below every delta that bounds are promised for. */
    for (size_t i = 0; i <= SLICES; i++) {
        q[i] = fmax(q[i], DBL_MIN);
        p[i] = fmax(p[i], DBL_MIN);
    }
    const prv_status status = prv_mechanism_outcomes(q, p, SLICES + 1, mechanism);
    if (status == PRV_OK) (*mechanism)->weight_error = fmax(q_error, p_error);
    prv_release(q);
    return status;
}
