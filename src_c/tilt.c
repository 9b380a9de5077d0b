#include "tilt.h"

#include <float.h>
#include <math.h>

#include "dispatch.h"
#include "vector_math.h"

#define LN2 0.69314718055994530942
#define LANES 8

/* A mass that is not 0 leaves its exponent halved below this; without the cap a mass of 0 could meet
 * infinity. */
#define FAR 400.0

/* An upper estimate of log(mass) by the exponent alone; -infinity-like for 0. */
static inline double log_estimate(double mass)
{
    /* The exponent becomes the low bits of 2^52: no conversion of integers, which would not vectorise. */
    const double exponent = prv_vm_from_bits((prv_vm_bits(mass) >> 52) | 0x4330000000000000u) - 0x1p52;
    return mass > 0.0 ? (exponent - 1022.0) * LN2 : -1e300;
}

PRV_VECTOR static double greatest_term(const double *loss, const double *mass, size_t length,
                                       double lam)
{
    double best[LANES];
    for (size_t j = 0; j < LANES; j++) best[j] = -1e300;
    size_t i = 0;
    for (; i + LANES <= length; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            const double term = lam * loss[i + j] + log_estimate(mass[i + j]);
            best[j] = term > best[j] ? term : best[j];
        }
    for (; i < length; i++) best[0] = fmax(best[0], lam * loss[i] + log_estimate(mass[i]));
    for (size_t j = 1; j < LANES; j++) best[0] = fmax(best[0], best[j]);
    return best[0];
}

/* Sums of w, w x, w x^2 for w = mass e^(lam x - reference), x measured from `origin`. Eight running sums
 * keep the additions independent and their rounding at length / 8 units of the blocks below. */
PRV_VECTOR static void weigh(const double *restrict loss, const double *restrict mass, size_t length,
                             double lam, double reference, double origin, double *restrict weight,
                             double sums[3])
{
    double s0[LANES] = {0}, s1[LANES] = {0}, s2[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= length; i += LANES) {
        double w[LANES];
        for (size_t j = 0; j < LANES; j++) {
            /* Two factors: e^(lam x - reference) may overflow where the mass is tiny. */
            const double half = 0.5 * (lam * loss[i + j] - reference);
            const double root = prv_vm_exp(half < FAR ? half : FAR);
            w[j] = mass[i + j] * root * root;
        }
        for (size_t j = 0; j < LANES; j++) {
            const double x = loss[i + j] - origin;
            s0[j] += w[j];
            s1[j] += w[j] * x;
            s2[j] += w[j] * x * x;
        }
        if (weight != NULL)
            for (size_t j = 0; j < LANES; j++) weight[i + j] = w[j];
    }
    for (; i < length; i++) {
        const double half = 0.5 * (lam * loss[i] - reference);
        const double root = prv_vm_exp(half < FAR ? half : FAR);
        const double w = mass[i] * root * root, x = loss[i] - origin;
        s0[0] += w;
        s1[0] += w * x;
        s2[0] += w * x * x;
        if (weight != NULL) weight[i] = w;
    }
    for (size_t j = 0; j < LANES; j++) {
        sums[0] += s0[j];
        sums[1] += s1[j];
        sums[2] += s2[j];
    }
}

#define BLOCK 512 /* at most 64 additions in a row, so that sums round by 64 u at most */

prv_moments prv_tilt(const double *loss, const double *mass, size_t length, double lam,
                     double *weight)
{
    const double reference = greatest_term(loss, mass, length, lam);
    prv_moments r = {-HUGE_VAL, 0.0, 0.0};
    if (!(reference > -1e299)) {
        for (size_t i = 0; weight != NULL && i < length; i++) weight[i] = 0.0;
        return r;
    }
    const double origin = loss[length / 2];
    long double total[3] = {0.0L, 0.0L, 0.0L};
    for (size_t start = 0; start < length; start += BLOCK) {
        const size_t n = length - start < BLOCK ? length - start : BLOCK;
        double sums[3] = {0.0, 0.0, 0.0};
        weigh(loss + start, mass + start, n, lam, reference, origin,
              weight != NULL ? weight + start : NULL, sums);
        for (size_t j = 0; j < 3; j++) total[j] += (long double)sums[j];
    }
    const long double mean = total[1] / total[0];
    r.log_moment = (double)(logl(total[0]) + (long double)reference);
    r.mean = origin + (double)mean;
    r.variance = fmax((double)(total[2] / total[0] - mean * mean), 0.0);
    if (weight != NULL) {
        const double scale = (double)(1.0L / total[0]);
        for (size_t i = 0; i < length; i++) weight[i] *= scale;
    }
    return r;
}

double prv_tilt_error(const double *loss, size_t length, double lam, double log_moment)
{
    if (length == 0) return 0.0;
    const double reach = fmax(fabs(loss[0]), fabs(loss[length - 1]));
    return 0.5 * DBL_EPSILON * (96.0 + 4.0 * fabs(lam) * reach + 4.0 * fabs(log_moment));
}
