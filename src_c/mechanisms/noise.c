#include "mechanisms/noise.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/rounding.h"

/* Atoms whose mass has a logarithm below this are cut off: 2^53 times such a mass stays below 1e-300, the
 * smallest delta that bounds are promised for. */
#define CUT_OFF_LOG_MASS (-735.0)

bool prv_separation(double sensitivity, double noise, double *separation)
{
    *separation = noise == 0.0 ? HUGE_VAL : sensitivity / noise;
    return noise == 0.0 || (*separation >= DBL_MIN && *separation < PRV_MOST_SEPARATION);
}

prv_status prv_mechanism_additive(prv_base base, double mu, prv_mechanism **mechanism)
{
    if (mu == HUGE_VAL) return prv_mechanism_disjoint(mechanism);
    prv_mechanism *m = prv_mechanism_new(base);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->mu = mu;
    m->replacement = base == PRV_BASE_BOUNDED_RANGE ? PRV_REPLACED_ALIKE : PRV_REPLACED_TWICE;
    *mechanism = m;
    return PRV_OK;
}

static prv_status make_gaussian(double noise_multiplier, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    double mu;
    if (!prv_separation(1.0, noise_multiplier, &mu)) return PRV_ERR_NOISE_MULTIPLIER;
    const prv_status status = prv_mechanism_additive(PRV_BASE_GAUSSIAN, mu, mechanism);
    return prv_with_noise(status, PRV_NOISE_GAUSSIAN, noise_multiplier, mechanism);
}

prv_status prv_mechanism_gaussian(double noise_multiplier, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_GAUSSIAN,
        .noise = noise_multiplier,
    };
    return prv_described(make_gaussian(noise_multiplier, mechanism), &made, mechanism);
}

/* Densities of N(mu, 1) over those of N(mu', 1), |mu' - mu| <= e mu, are e^(e mu |z| + e mu^2) at most, and
 * z lies within 40 of 0 or of mu where one of them is no less than the least normal double. */
static double density_error(double mu, double error)
{
    const double log_error = error * mu * (2.0 * mu + 40.0);
    return log_error <= 0.2 ? log_error * PRV_SECOND_ORDER + log_error * log_error : HUGE_VAL;
}

prv_status prv_mechanism_gaussian_rounded(double noise_multiplier, double error, prv_mechanism **mechanism)
{
    const prv_status status = prv_mechanism_gaussian(noise_multiplier, mechanism);
    if (status != PRV_OK || prv_is_disjoint(*mechanism) || error == 0.0) return status;
    (*mechanism)->scale_error = error;
    (*mechanism)->density_error = density_error((*mechanism)->mu, error);
    return PRV_OK;
}

/* The sum of (least / noise)^2, which is 1 or more: each quotient, square, product and sum is rounded once.
 */
static long double sum_of_precisions(const double *noise_multipliers, const uint64_t *counts, size_t length,
                                     double least)
{
    long double sum = 0.0L;
    for (size_t i = 0; i < length; i++) {
        const long double ratio = (long double)least / (long double)noise_multipliers[i];
        if (counts[i] > 0) sum += (long double)counts[i] * (ratio * ratio);
    }
    return sum;
}

static prv_status make_gaussians(const double *noise_multipliers, const uint64_t *counts, size_t length,
                                 prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    uint64_t total = 0;
    double least = HUGE_VAL; /* noise */
    for (size_t i = 0; i < length; i++) {
        const double noise = noise_multipliers[i];
        if (!(noise >= 0.0 && isfinite(noise))) return PRV_ERR_NOISE_MULTIPLIER;
        if (counts[i] > PRV_MOST_STEPS - total) return PRV_ERR_COUNT;
        total += counts[i];
        if (counts[i] > 0) least = fmin(least, noise);
    }
    if (total == 0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    if (total == 1 || least == 0.0) return prv_mechanism_gaussian(least, mechanism);
    const long double sum = sum_of_precisions(noise_multipliers, counts, length, least);
    /* The root halves the error of the sum, whose terms have 5 roundings each (one of them of the count) and
     * are added up; then the root, the quotient, and the rounding to a double. */
    const double error = (0.5 * ((double)length + 5.0) + 2.0) * PRV_LONG_EPSILON + PRV_UNIT;
    return prv_mechanism_gaussian_rounded((double)((long double)least / sqrtl(sum)), error * PRV_SECOND_ORDER,
                                          mechanism);
}

prv_status prv_mechanism_gaussians(const double *noise_multipliers, const uint64_t *counts, size_t length,
                                   prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_GAUSSIANS,
        .length = length,
        .values = noise_multipliers,
        .counts = counts,
    };
    return prv_described(make_gaussians(noise_multipliers, counts, length, mechanism), &made, mechanism);
}

static prv_status make_laplace(double scale, double sensitivity, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(scale >= 0.0 && isfinite(scale))) return PRV_ERR_SCALE;
    if (!(sensitivity > 0.0 && isfinite(sensitivity))) return PRV_ERR_SENSITIVITY;
    double mu;
    if (!prv_separation(sensitivity, scale, &mu)) return PRV_ERR_SCALE;
    const prv_status status = prv_mechanism_additive(PRV_BASE_LAPLACE, mu, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->sensitivity = sensitivity;
    return prv_with_noise(status, PRV_NOISE_LAPLACE, scale, mechanism);
}

prv_status prv_mechanism_laplace(double scale, double sensitivity, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_LAPLACE,
        .noise = scale,
        .sensitivity = sensitivity,
    };
    return prv_described(make_laplace(scale, sensitivity, mechanism), &made, mechanism);
}

/* ---- Mixtures -------------------------------------------------------------------------------- */

prv_status prv_mechanism_of_mixture(const double *centers, const double *weights, size_t length,
                                    bool mirrored, prv_mechanism **mechanism)
{
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_MIXTURE);
    if (m == NULL) return PRV_ERR_MEMORY;
    if (mirrored) m->replacement = PRV_REPLACED_ALIKE;
    const prv_status status = prv_gaussian_mixture_new(centers, weights, length, mirrored, &m->mixture);
    return prv_mechanism_finish(status, m, mechanism);
}

static prv_status make_gaussian_mixture(double noise_multiplier, const double *sensitivities,
                                        const double *probabilities, size_t length, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (length > PRV_MAX_COMPONENTS) return PRV_ERR_COMPONENTS;
    long double sum = 0.0L, same = 0.0L, apart = 0.0L;
    for (size_t i = 0; i < length; i++) {
        if (!(sensitivities[i] >= 0.0 && isfinite(sensitivities[i]))) return PRV_ERR_COMPONENTS;
        /* A subnormal weight would have no relative accuracy. */
        const bool rare = probabilities[i] > 0.0 && probabilities[i] < DBL_MIN;
        if (rare || !(probabilities[i] >= 0.0 && probabilities[i] <= 2.0)) return PRV_ERR_COMPONENTS;
        sum += (long double)probabilities[i];
        *(sensitivities[i] == 0.0 ? &same : &apart) += (long double)probabilities[i];
    }
    if (!(fabsl(sum - 1.0L) <= 1e-9L)) return PRV_ERR_COMPONENTS;
    double *centers = prv_allocate(length, sizeof *centers);
    if (centers == NULL) return PRV_ERR_MEMORY;
    bool in_range = true;
    for (size_t i = 0; i < length; i++) {
        centers[i] = 0.0;
        if (sensitivities[i] > 0.0 && !prv_separation(sensitivities[i], noise_multiplier, &centers[i]))
            in_range = false;
    }
    prv_status status;
    if (!in_range)
        status = PRV_ERR_COMPONENTS;
    else if (apart > 0.0L && noise_multiplier > 0.0)
        status = prv_with_noise(prv_mechanism_of_mixture(centers, probabilities, length, 0, mechanism),
                                PRV_NOISE_MIXTURE, noise_multiplier, mechanism);
    else
        status = prv_with_replacement(
            apart > 0.0L ? prv_mechanism_apart((double)(apart / sum), (double)(same / sum), mechanism)
                         : prv_mechanism_approximate_dp(0.0, 0.0, mechanism), /* the identity */
            PRV_REPLACED_UNKNOWN, mechanism);
    prv_release(centers);
    return status;
}

prv_status prv_mechanism_gaussian_mixture(double noise_multiplier, const double *sensitivities,
                                          const double *probabilities, size_t length,
                                          prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_GAUSSIAN_MIXTURE,
        .noise = noise_multiplier,
        .length = length,
        .values = sensitivities,
        .probabilities = probabilities,
    };
    return prv_described(
        make_gaussian_mixture(noise_multiplier, sensitivities, probabilities, length, mechanism), &made,
        mechanism);
}

/* ---- Discrete noise -------------------------------------------------------------------------- */

static prv_status discrete_gaussian(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    const double shift = (double)sensitivity, reach = ceil(scale * sqrt(-2.0 * CUT_OFF_LOG_MASS));
    /* Outcomes x lie from -reach to shift + reach; beyond, both masses underflow. Q is centred on the shift,
     * and the loss is ((2x - shift) shift) / (2 scale^2). */
    const double outcomes = 2.0 * reach + shift + 1.0;
    if (!(outcomes <= (double)PRV_MAX_ATOMS)) return PRV_ERR_SUPPORT;
    prv_atoms *a = prv_atoms_new(prv_size_of(outcomes));
    if (a == NULL) return PRV_ERR_MEMORY;
    /* Weights are those of -x too, and Q's are P's from the other end. */
    const size_t middle = prv_size_of(reach), length = a->length;
    double *p = a->p + middle;
    for (size_t i = 0; i < length - middle; i++) {
        const double z = (double)i / scale;
        p[i] = exp(-0.5 * z * z);
    }
    long double normaliser = 0.0L;
    for (size_t i = middle; i > 0; i--) normaliser += 2.0L * (long double)p[i];
    normaliser += 1.0L;
    for (size_t i = 0; i < length - middle; i++) p[i] = (double)((long double)p[i] / normaliser);
    for (size_t i = 0; i < middle; i++) a->p[i] = a->p[2 * middle - i];
    for (size_t i = 0; i < length; i++) {
        const double x = (double)i - reach;
        a->loss[i] = 0.5 * (2.0 * x - shift) / scale * (shift / scale);
        a->q[i] = a->p[length - 1 - i];
    }
    a->unbounded = true;
    a->loss_error = 4.0 * PRV_UNIT;
    return prv_mechanism_of_atoms(a, mechanism);
}

static prv_status discrete_laplace(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    if ((uint64_t)sensitivity >= PRV_MAX_ATOMS) return PRV_ERR_SUPPORT;
    const size_t last = (size_t)sensitivity;
    /* The loss (|x| - |x - shift|) / scale takes the values (2i - shift) / scale, i = 0..shift: each inner
     * value at one outcome, the two outermost on the whole geometric tails x <= 0 and x >= shift. With r =
     * e^(-1/scale) the probability of x is (1-r)/(1+r) r^|x|, and a tail from 0 on has 1/(1+r). */
    const double rate = 1.0 / scale, r = exp(-rate), inner = -expm1(-rate) / (1.0 + r);
    prv_atoms *a = prv_atoms_new(last + 1);
    if (a == NULL) return PRV_ERR_MEMORY;
    for (size_t i = 0; i <= last; i++) {
        const double below = (double)i, above = (double)(last - i);
        const double weight = i == 0 || i == last ? 1.0 / (1.0 + r) : inner;
        a->loss[i] = (below - above) * rate;
        a->p[i] = weight * exp(-below * rate);
        a->q[i] = weight * exp(-above * rate);
    }
    a->loss_error = 2.0 * PRV_UNIT;
    if (last == 1) a->response = rate;
    return prv_mechanism_of_atoms(a, mechanism);
}

prv_status prv_mechanism_discrete_noise(prv_noise noise, double scale, int64_t sensitivity,
                                        prv_mechanism **mechanism)
{
    if (!(scale > 0.0 && isfinite(scale))) return PRV_ERR_SCALE;
    if (sensitivity < 1) return PRV_ERR_SENSITIVITY;
    double separation;
    if (!prv_separation((double)sensitivity, scale, &separation)) return PRV_ERR_SCALE;
    const bool gaussian = noise == PRV_NOISE_DISCRETE_GAUSSIAN;
    prv_status status = gaussian ? discrete_gaussian(scale, sensitivity, mechanism)
                                 : discrete_laplace(scale, sensitivity, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->integer_sensitivity = sensitivity;
    status = prv_with_replacement(status, PRV_REPLACED_TWICE, mechanism);
    return prv_with_noise(status, noise, scale, mechanism);
}

static prv_status make_discrete_gaussian(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    return prv_mechanism_discrete_noise(PRV_NOISE_DISCRETE_GAUSSIAN, scale, sensitivity, mechanism);
}

prv_status prv_mechanism_discrete_gaussian(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_DISCRETE_GAUSSIAN,
        .noise = scale,
        .sensitivity = (double)sensitivity,
    };
    return prv_described(make_discrete_gaussian(scale, sensitivity, mechanism), &made, mechanism);
}

static prv_status make_discrete_laplace(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    return prv_mechanism_discrete_noise(PRV_NOISE_DISCRETE_LAPLACE, scale, sensitivity, mechanism);
}

prv_status prv_mechanism_discrete_laplace(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_DISCRETE_LAPLACE,
        .noise = scale,
        .sensitivity = (double)sensitivity,
    };
    return prv_described(make_discrete_laplace(scale, sensitivity, mechanism), &made, mechanism);
}
