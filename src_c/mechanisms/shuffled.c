/* Gaussian noise on the batches of shuffled records, by the pair that two data sets have: it is for lower
 * bounds alone, and dominates nothing. prvcore.h has the constructor, PAIRS.md the proof. */
#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/constants.h"
#include "numerics/rounding.h"
#include "mechanisms/noise.h"

/* The pair is that of the slice that the largest output lies in: fewer slices give a lower bound that is less
 * tight. */
enum { SLICES = 6000 };

/* The logarithm of a probability, <= 0, and its absolute error, at most. */
typedef struct logarithm {
    long double value;
    double error;
} logarithm;

/* log P(N(0, 1) <= z), where z is rounded by its last bit. */
static logarithm log_normal_below(long double z)
{
    const long double t = fabsl(z) * PRV_SQRT_HALF_LONG;
    const long double value = z < 0.0L ? logl(0.5L * erfcl(t)) : log1pl(-0.5L * erfcl(t));
    /* t has two roundings, and -t erfc'(t) / erfc(t) <= 2 t^2 + 1. Half of erfc is the argument of the
     * logarithm, or is subtracted from 1 and then at most 1/2, so that the relative error of erfc counts once
     * or, times the logarithm, twice. */
    const double square = (double)(t * t),
                 erfc_error = PRV_WIDE_LIBM_ERFC_ERROR + 2.0 * PRV_LONG_EPSILON * (2.0 * square + 1.0);
    const double size = fabs((double)value), logarithm_error = PRV_WIDE_LIBM_ERROR * size;
    return (logarithm){value, logarithm_error + (z < 0.0L ? erfc_error : 2.0 * erfc_error * size)};
}

/* log P(max <= x) for `batches` independent normal variables, one of mean `mean`, the others of mean 0. */
static logarithm log_below(long double x, long double mean, long double batches)
{
    const logarithm one = log_normal_below(x - mean), other = log_normal_below(x);
    const long double rest = batches - 1.0L;
    const long double value = rest > 0.0L ? one.value + rest * other.value : one.value;
    const double error = rest > 0.0L ? one.error + (double)rest * other.error : one.error;
    return (logarithm){value, error + 2.0 * PRV_LONG_EPSILON * fabs((double)value)};
}

/* Masses of the SLICES + 1 slices of the maximum, whose edges are first, first + width, ...: mass[0] is that
 * below all edges. Returns the greatest relative error of any mass that is a normal number. */
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
        /* |x e^x / (e^x - 1)| <= 1 for x <= 0: the second factor has at most the relative error of the rise.
         */
        if (mass[i] >= DBL_MIN) {
            const double of_rise = isinf(last.value) ? 0.0 : (last.error + here.error) / -(double)rise;
            worst = fmax(worst, here.error + of_rise);
        }
        last = here;
    }
    mass[SLICES] = (double)-expm1l(last.value);
    if (mass[SLICES] >= DBL_MIN) worst = fmax(worst, last.error / -(double)last.value);
    /* The errors of the three functions are added, and four roundings, one of them to double. */
    return worst + 2.0 * PRV_WIDE_LIBM_ERROR + PRV_WIDE_LIBM_EXPM1_ERROR(0.0) + 4.0 * PRV_LONG_EPSILON +
           PRV_UNIT;
}

prv_status prv_mechanism_shuffled_from_below(double noise_multiplier, uint64_t batches, int replaced,
                                             prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (!prv_is_size(batches)) return PRV_ERR_BATCHES;
    const double mu = prv_separation(1.0, noise_multiplier);
    if (prv_noiseless(mu)) return prv_mechanism_gaussian(0.0, mechanism); /* no noise hides the record */
    double *q = prv_allocate(2 * (SLICES + 1), sizeof *q);
    if (q == NULL) return PRV_ERR_MEMORY;
    double *p = q + SLICES + 1;
    const long double mean = 2.0L * (long double)mu, n = (long double)batches;
    const long double first = -4.0L, width = (42.0L + mean) / SLICES;
    const double q_error = slices(mean, n, first, width, q);
    const double p_error = slices(replaced ? 0.0L : 0.5L * mean, n, first, width, p);
    /* Masses below normal numbers have no relative error. They are rounded up to DBL_MIN, which is far below
     * every delta that bounds are promised for. */
    for (size_t i = 0; i <= SLICES; i++) {
        q[i] = fmax(q[i], DBL_MIN);
        p[i] = fmax(p[i], DBL_MIN);
    }
    const prv_status status = prv_mechanism_outcomes(q, p, SLICES + 1, mechanism);
    if (status == PRV_OK) (*mechanism)->density_error = fmax(q_error, p_error);
    prv_release(q);
    return status;
}
