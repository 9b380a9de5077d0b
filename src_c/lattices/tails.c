#include "lattices/tails.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/vector_math.h"

/* The losses are N(mu^2/2, mu^2) under Q and N(-mu^2/2, mu^2) under P. */
PRV_VECTOR static void gaussian_tails(double mu, const double *restrict y, size_t length,
                                      double *restrict tail_q, double *restrict tail_p)
{
    const double inverse = 1.0 / mu, half = 0.5 * mu;
    for (size_t i = 0; i < length; i++) {
        const double ratio = y[i] * inverse, zq = ratio - half, zp = ratio + half;
        const double q = PRV_INV_SQRT_2PI * prv_vm_normal_density_exponent(zq) * prv_vm_mills(fabs(zq));
        const double p = PRV_INV_SQRT_2PI * prv_vm_normal_density_exponent(zp) * prv_vm_mills(fabs(zp));
        tail_q[i] = copysign(q, zq);
        tail_p[i] = copysign(p, zp);
    }
}

/* The density of Q times the Mills ratio of P, since e^y phi(y/mu + mu/2) is phi(y/mu - mu/2). */
PRV_VECTOR static void gaussian_scaled_tails(double mu, const double *restrict y, size_t length,
                                             double *restrict scaled)
{
    const double inverse = 1.0 / mu, half = 0.5 * mu;
    for (size_t i = 0; i < length; i++) {
        const double ratio = y[i] * inverse;
        const double q = prv_vm_normal_density_exponent(ratio - half);
        scaled[i] = PRV_INV_SQRT_2PI * q * prv_vm_mills(fabs(ratio + half));
    }
}

/* Under Q the loss has the density e^(-(mu - y)/2) / 4 on (-mu, mu) and atoms 1/2 at mu and e^(-mu)/2 at -mu;
 * P is its mirror image. */
PRV_VECTOR static void laplace_tails(double mu, const double *restrict y, size_t length,
                                     double *restrict tail_q, double *restrict tail_p)
{
    for (size_t i = 0; i < length; i++) {
        const double below = y[i] < -mu ? 1.0 : 0.0, above = y[i] >= mu ? 1.0 : 0.0;
        const double at = prv_vm_min(prv_vm_max(y[i], -mu), mu);
        const double lower_q = 0.5 * prv_vm_exp(0.5 * (at - mu));
        const double upper_p = 0.5 * prv_vm_exp(-0.5 * (at + mu));
        tail_q[i] = above > 0.0 ? 0.0 : below > 0.0 ? -0.0 : -lower_q;
        tail_p[i] = above > 0.0 ? 0.0 : below > 0.0 ? -0.0 : upper_p;
    }
}

/* Under Q the loss has the density e^((mu + y) / 2) / (2 (e^mu - 1)) on (-mu, mu); P is its mirror image. */
PRV_VECTOR static void bounded_range_tails(double mu, const double *restrict y, size_t length,
                                           double *restrict tail_q, double *restrict tail_p)
{
    const double whole = -expm1(-mu);
    for (size_t i = 0; i < length; i++) {
        const double at = prv_vm_min(prv_vm_max(y[i], -mu), mu);
        const double low = -prv_vm_expm1(-0.5 * (mu + at)) / whole;  /* P's lower tail */
        const double high = -prv_vm_expm1(-0.5 * (mu - at)) / whole; /* Q's upper tail */
        const double lower_q = low * prv_vm_exp(0.5 * (at - mu));
        const double upper_p = high * prv_vm_exp(-0.5 * (at + mu));
        tail_q[i] = lower_q < high ? -lower_q : high;
        tail_p[i] = low <= upper_p ? -low : upper_p;
    }
}

static void bounded_range_scaled_tails(double mu, const double *y, size_t length, double *scaled)
{
    for (size_t i = 0; i < length; i++)
        scaled[i] = y[i] >= mu ? 0.0 : exp(0.5 * (y[i] - mu)) * (expm1(0.5 * (y[i] - mu)) / expm1(-mu));
}

static void laplace_scaled_tails(double mu, const double *y, size_t length, double *scaled)
{
    for (size_t i = 0; i < length; i++) scaled[i] = y[i] >= mu ? 0.0 : 0.5 * exp(0.5 * (y[i] - mu));
}

/* The caller's cdfs, checked: values that rounding explains are made monotone and at most 1. */
static prv_status callback_tails(const prv_mechanism *m, const double *y, size_t length, double *tail_q,
                                 double *tail_p)
{
    if (m->cdfs(m->context, y, length, tail_q, tail_p) != 0) return PRV_ERR_CALLBACK;
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    const double slack = 8.0 * DBL_EPSILON; /* rounding that a caller's cdfs may have */
    double last_q = 0.0, last_p = 0.0;
    for (size_t i = 0; i < length; i++) {
        const double q = tail_q[i], p = tail_p[i];
        if (!(q >= last_q - slack && q <= 1.0 - m->mass_at_infinity + slack)) return PRV_ERR_CDF;
        if (!(p >= last_p - slack && p <= 1.0 + slack)) return PRV_ERR_CDF;
        last_q = fmax(last_q, fmin(q, 1.0));
        last_p = fmax(last_p, fmin(p, 1.0));
        tail_q[i] = last_q <= 0.5 ? -last_q : 1.0 - last_q;
        tail_p[i] = last_p <= 0.5 ? -last_p : 1.0 - last_p;
    }
    return PRV_OK;
}

/* Errors from here on are refused: the contract of cells.h needs tail_error below 2^-10. */
#define TOO_MUCH_ERROR 0x1p-12

/* Signed tails that fall but for rounding, from the lower ones to the upper ones. */
static bool are_tails(const double *tail, size_t length, double error)
{
    for (size_t i = 0; i < length; i++) {
        if (!(fabs(tail[i]) <= 0.5 + error)) return false;
        if (i == 0) continue;
        const bool low = signbit(tail[i]), before_low = signbit(tail[i - 1]);
        if (low && !before_low) return false;
        if (low == before_low && !(tail[i] <= tail[i - 1] + 4.0 * error * fabs(tail[i - 1]) + DBL_MIN))
            return false;
    }
    return true;
}

/* The tails that the caller's callback gives, checked. */
static prv_status told_tails(const prv_mechanism *m, bool reversed, const double *y, size_t length,
                             double *tail_q, double *tail_p, double *scaled, double *error)
{
    *error = length > 0 ? NAN : 0.0;
    if (length > 0 && m->tails(m->context, reversed, y, length, tail_q, tail_p, scaled, error) != 0)
        return PRV_ERR_CALLBACK;
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(*error >= 0.0 && *error < TOO_MUCH_ERROR)) return PRV_ERR_CDF;
    return are_tails(tail_q, length, *error) && are_tails(tail_p, length, *error) ? PRV_OK : PRV_ERR_CDF;
}

static prv_status told_base_tails(const prv_mechanism *m, bool reversed, const double *y, size_t length,
                                  double *tail_q, double *tail_p, double *error)
{
    double *scaled = prv_allocate(length, sizeof *scaled);
    if (scaled == NULL) return PRV_ERR_MEMORY;
    const prv_status status = told_tails(m, reversed, y, length, tail_q, tail_p, scaled, error);
    prv_release(scaled);
    return status;
}

static prv_status told_scaled_tails(const prv_mechanism *m, bool reversed, const double *y, size_t length,
                                    double *scaled)
{
    double error, *tails = prv_allocate(2 * length, sizeof *tails);
    if (tails == NULL) return PRV_ERR_MEMORY;
    prv_status status = told_tails(m, reversed, y, length, tails, tails + length, scaled, &error);
    for (size_t i = 0; i < length && status == PRV_OK; i++)
        if (!(scaled[i] >= 0.0 && scaled[i] <= 2.0)) status = PRV_ERR_CDF_PAIR;
    prv_release(tails);
    return status;
}

prv_status prv_base_tails(const prv_mechanism *m, bool reversed, double *y, size_t length, double *tail_q,
                          double *tail_p, double *error)
{
    *error = 0.0;
    switch (m->base) {
    case PRV_BASE_TAILS: return told_base_tails(m, reversed, y, length, tail_q, tail_p, error);
    case PRV_BASE_GAUSSIAN: gaussian_tails(m->mu, y, length, tail_q, tail_p); return PRV_OK;
    case PRV_BASE_LAPLACE: laplace_tails(m->mu, y, length, tail_q, tail_p); return PRV_OK;
    case PRV_BASE_BOUNDED_RANGE: bounded_range_tails(m->mu, y, length, tail_q, tail_p); return PRV_OK;
    default: break;
    }
    if (!reversed) return callback_tails(m, y, length, tail_q, tail_p);
    /* In the reverse pair P(loss > y) is Q(Y < -y): its upper tails are the lower ones of the base, which the
     * sign convention makes a negation. y is mirrored, the cdfs are called, and y is mirrored back. */
    for (size_t i = 0, j = length; i < j; i++) {
        j--;
        const double low = y[i];
        y[i] = -y[j];
        y[j] = -low;
    }
    const prv_status status = callback_tails(m, y, length, tail_p, tail_q);
    for (size_t i = 0, j = length; i < j; i++) {
        j--;
        const double q = tail_q[i], p = tail_p[i], low = y[i];
        tail_q[i] = -tail_q[j];
        tail_p[i] = -tail_p[j];
        tail_q[j] = -q;
        tail_p[j] = -p;
        y[i] = -y[j];
        y[j] = -low;
    }
    return status;
}

prv_status prv_base_scaled_tails(const prv_mechanism *m, bool reversed, const double *y, size_t length,
                                 const prv_options *options, double *scaled)
{
    switch (m->base) {
    case PRV_BASE_TAILS: return told_scaled_tails(m, reversed, y, length, scaled);
    case PRV_BASE_GAUSSIAN: gaussian_scaled_tails(m->mu, y, length, scaled); return PRV_OK;
    case PRV_BASE_LAPLACE: laplace_scaled_tails(m->mu, y, length, scaled); return PRV_OK;
    case PRV_BASE_BOUNDED_RANGE: bounded_range_scaled_tails(m->mu, y, length, scaled); return PRV_OK;
    default: return prv_gaussian_mixture_scaled_tails(m->mixture, y, length, options, scaled);
    }
}
