#include "lattices/tilt.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "numerics/wide.h"

#define LN2 0.69314718055994530942
/* Loops over LANES are compiled to vectors, being too long to be unrolled before. */
#define LANES 16
#define BLOCK 512 /* at most 16 + 5 additions in a row, so that sums round by 21 u at most */

/* A mass that is not 0 leaves its halved exponent below this; without the cap a mass of 0 could meet
 * infinity. As far down, the square of e^-FAR is 0. */
#define FAR 400.0

/* lam x + log(mass), the logarithm from above by the exponent alone. */
static inline double term_estimate(double loss, double mass, double lam)
{
    /* The exponent becomes the low bits of 2^52: no conversion of integers, which would not vectorise. */
    const double exponent = prv_vm_from_bits((prv_vm_bits(mass) >> 52) | 0x4330000000000000u) - 0x1p52;
    return lam * loss + (mass > 0.0 ? exponent * LN2 - 1022.0 * LN2 : -1e300);
}

/* The greatest estimate, -1e300 or less if all masses are 0. The length is a multiple of LANES. */
PRV_VECTOR static double greatest_term(const double *restrict loss, const double *restrict mass,
                                       size_t length, double lam)
{
    double best[LANES];
    for (size_t j = 0; j < LANES; j++) best[j] = -1e300;
    for (size_t i = 0; i < length; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            const double term = term_estimate(loss[i + j], mass[i + j], lam);
            best[j] = term > best[j] ? term : best[j];
        }
    for (size_t n = LANES / 2; n > 0; n /= 2)
        for (size_t j = 0; j < n; j++) best[j] = best[j + n] > best[j] ? best[j + n] : best[j];
    return best[0];
}

/* w = mass e^(lam x - reference), and the sums of w, w x, w x^2, x measured from `origin`. Each sum runs in
 * LANES parts, which keeps the additions independent and few in a row. Lengths as above. */
PRV_VECTOR static void weigh(const double *restrict loss, const double *restrict mass, size_t length,
                             double lam, double reference, double origin, double far, double *restrict weight,
                             double sums[3])
{
    const double half_lam = 0.5 * lam, half_reference = 0.5 * reference;
    double s0[LANES] = {0}, s1[LANES] = {0}, s2[LANES] = {0};
    for (size_t i = 0; i < length; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            /* Two factors: e^(lam x - reference) may overflow where the mass is tiny. */
            const double half = half_lam * loss[i + j] - half_reference;
            const double low = half > -far ? half : -far;
            const double root = prv_vm_exp_near(low < far ? low : far);
            const double w = mass[i + j] * root * root, x = loss[i + j] - origin;
            weight[i + j] = w;
            s0[j] += w;
            s1[j] += w * x;
            s2[j] += w * x * x;
        }
    for (size_t n = LANES / 2; n > 0; n /= 2)
        for (size_t j = 0; j < n; j++) {
            s0[j] += s0[j + n];
            s1[j] += s1[j + n];
            s2[j] += s2[j + n];
        }
    sums[0] = s0[0];
    sums[1] = s1[0];
    sums[2] = s2[0];
}

PRV_VECTOR static void multiply(double *weight, size_t length, double scale)
{
    for (size_t i = 0; i < length; i++) weight[i] *= scale;
}

prv_moments prv_tilt(const double *loss, const double *mass, size_t length, double lam, double *weight)
{
    prv_moments r = {-HUGE_VAL, 0.0, 0.0};
    /* The last block is filled up with masses 0. */
    double last_loss[BLOCK], last_mass[BLOCK], block_weight[BLOCK];
    const size_t whole = length / BLOCK * BLOCK, rest = length - whole;
    const size_t filled = (rest + LANES - 1) / LANES * LANES;
    memcpy(last_loss, loss + whole, rest * sizeof *loss);
    memcpy(last_mass, mass + whole, rest * sizeof *mass);
    for (size_t i = rest; i < filled; i++) last_loss[i] = last_mass[i] = 0.0;

    double reference = greatest_term(last_loss, last_mass, filled, lam);
    for (size_t start = 0; start < whole; start += BLOCK)
        reference = fmax(reference, greatest_term(loss + start, mass + start, BLOCK, lam));
    if (!(reference > -1e299)) {
        for (size_t i = 0; weight != NULL && i < length; i++) weight[i] = 0.0;
        return r;
    }
    const double origin = loss[length / 2];
    /* Wide, as there may be many blocks; on some machines long double is double. */
    prv_wide sum[3] = {prv_wide_of(0.0), prv_wide_of(0.0), prv_wide_of(0.0)};
    for (size_t start = 0; start < length; start += BLOCK) {
        const bool is_last = start == whole;
        double sums[3];
        weigh(is_last ? last_loss : loss + start, is_last ? last_mass : mass + start,
              is_last ? filled : BLOCK, lam, reference, origin, FAR, block_weight, sums);
        if (weight != NULL) memcpy(weight + start, block_weight, (is_last ? rest : BLOCK) * sizeof *weight);
        for (size_t j = 0; j < 3; j++) sum[j] = prv_wide_add(sum[j], prv_wide_of(sums[j]));
    }
    const long double total[3] = {prv_wide_long(sum[0]), prv_wide_long(sum[1]), prv_wide_long(sum[2])};
    const long double mean = total[1] / total[0];
    r.log_moment = (double)(logl(total[0]) + (long double)reference);
    r.mean = origin + (double)mean;
    r.variance = fmax((double)(total[2] / total[0] - mean * mean), 0.0);
    if (weight != NULL) multiply(weight, length, (double)(1.0L / total[0]));
    return r;
}

double prv_log_moment_above(const double *loss, const double *mass, size_t length, double lam)
{
    const double moment = prv_tilt(loss, mass, length, lam, NULL).log_moment;
    if (moment == -HUGE_VAL) return moment;
    return prv_above(moment + prv_tilt_error(loss, length, lam, moment) * PRV_SECOND_ORDER);
}

double prv_tilt_error(const double *loss, size_t length, double lam, double log_moment)
{
    if (length == 0) return 0.0;
    const double reach = fmax(fabs(loss[0]), fabs(loss[length - 1]));
    return 0.5 * DBL_EPSILON * (96.0 + 4.0 * fabs(lam) * reach + 4.0 * fabs(log_moment));
}
