#include "lattices/tail_cells.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"
#include "lattices/tails.h"

/* Above this loss (nats) the product of e^loss and P's mass is formed without either factor, which might
 * leave the range of double. Tightness alone depends on it. */
#define SCALED_LOSS 30.0

/* ---- Masses between tails ------------------------------------------------------------------ */

/* The number of lower tails, which come first. */
static size_t lower_tails(const double *tail, size_t length)
{
    size_t low = 0, high = length;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (signbit(tail[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

PRV_VECTOR static void differences(const double *restrict tail, size_t length, double *restrict mass)
{
    for (size_t i = 0; i < length; i++) mass[i] = tail[i] - tail[i + 1];
}

/* Rounding may leave tails that rise. True tails fall, so that the greater of two neighbours is as close to
 * the truth as both were. Of falling tails no difference is negative, and sums of differences are tails
 * again. */
static void make_monotone(double *tail, size_t knots, size_t lower)
{
    for (size_t i = 1; i < lower; i++) tail[i] = prv_vm_min(tail[i], tail[i - 1]);
    for (size_t i = knots; i-- > lower + 1;) tail[i - 1] = prv_vm_max(tail[i - 1], tail[i]);
}

/* The masses between neighbouring tails, which are two upper or two lower ones but for one cell. */
static void masses_between(double *tail, size_t knots, double *mass)
{
    const size_t lower = lower_tails(tail, knots);
    make_monotone(tail, knots, lower);
    differences(tail, knots - 1, mass);
    if (lower > 0 && lower < knots) mass[lower - 1] = (tail[lower - 1] - tail[lower]) + 1.0;
}

/* mass becomes p mass + (1 - p) mass_p; neither stays negative. */
PRV_VECTOR static void mix(double p, size_t length, double *restrict mass, double *restrict mass_p)
{
    const double rest = 1.0 - p;
    for (size_t i = 0; i < length; i++) {
        mass[i] = prv_vm_max(p * mass[i] + rest * mass_p[i], 0.0);
        mass_p[i] = prv_vm_max(mass_p[i], 0.0);
    }
}

/* relative[i] = mass_p[i] e^(x[i]). */
PRV_VECTOR static void scale_masses(const double *restrict x, const double *restrict mass_p, size_t length,
                                    double *restrict relative)
{
    for (size_t i = 0; i < length; i++) relative[i] = prv_vm_exp(prv_vm_min(x[i], 700.0)) * mass_p[i];
}

/* ---- Base losses of sampled pairs ---------------------------------------------------------- */

/* The number of knots up to a loss. */
static size_t knots_up_to(double loss, const double *x, size_t length)
{
    while (length > 0 && x[length - 1] > loss) length--;
    return length;
}

/* The greatest loss of near_base_losses: (e^x - 1) / p is at most 2^1023. It is above 1, as p >= 2^-1022. */
static double nearest_far_loss(double p)
{
    return fmin(SCALED_LOSS, log1p(p * 0x1p1023));
}

/* y = prv_base_loss(x, p) of knots x up to nearest_far_loss(p). */
PRV_VECTOR static void near_base_losses(const double *restrict x, double p, size_t length, double *restrict y)
{
    const double inverse = 1.0 / p;
    for (size_t i = 0; i < length; i++) {
        const double ratio = prv_vm_expm1_near(prv_vm_max(x[i], -64.0)) * inverse;
        y[i] = ratio > -1.0 ? prv_vm_log1p_near(ratio) : -HUGE_VAL;
    }
    /* 1 + ratio has the roundings of e^x - 1, which are small against x unless p is near 1. */
    if (p < 0.5) return;
    for (size_t i = 0; i < length && x[i] < -0.25; i++) y[i] = prv_base_loss(x[i], p);
}

/* y = prv_base_loss(x, p) of knots x above nearest_far_loss(p), where 1 - e^-x does not cancel. */
PRV_VECTOR static void far_base_losses(const double *restrict x, double p, size_t length, double *restrict y)
{
    const double log_p = log(p);
    for (size_t i = 0; i < length; i++) y[i] = x[i] - log_p + prv_vm_log1p((p - 1.0) * prv_vm_exp(-x[i]));
}

/* ---- Masses of the cells ------------------------------------------------------------------- */

/* relative[i] of the cells from `first` on of a 'remove' pair, where e^x or P's mass alone may leave the
 * range of double. With y the base losses at the knots, e^x = (1 - p) + p e^y. `scaled` is scratch; `error`
 * gets the relative error that the differences add to P's tails. */
static prv_status scaled_cells(const prv_mechanism *m, bool reversed, size_t first, const double *y,
                               size_t length, const double *mass_p, const prv_options *options,
                               double *scaled, double *relative, double *error)
{
    const double p = m->base == PRV_BASE_MIXTURE ? 1.0 : m->sampling_probability;
    const double *from = y + first - 1;
    double *to = scaled + first - 1;
    *error = 0.0;
    const prv_status status = prv_base_scaled_tails(m, reversed, from, length - first + 1, options, to);
    if (status != PRV_OK) return status;
    /* Differences of tails that are carried down by exponentials do not telescope: each difference has an
     * error of 4 u times the tail carried down, and is carried down itself. `off` bounds the error of the sum
     * of all cells above. */
    double above = 0.0, off = 0.0;
    for (size_t i = length; i >= first; i--) {
        const double here = scaled[i - 1];
        const double decay = above > 0.0 ? prv_vm_exp(y[i - 1] - y[i]) : 0.0, rest = decay * above;
        relative[i] = (1.0 - p) * mass_p[i] + p * (here - rest);
        off = decay * off + 4.0 * PRV_UNIT * rest;
        if (here > DBL_MIN) *error = prv_vm_max(*error, off / here);
        above = here;
    }
    return PRV_OK;
}

/* Q's and P's masses of the cells of (P, (1-p)P + pQ) at increasing knots x: mass, mass_p double[length + 1].
 * If `reversed`, P and Q are those of the reverse of the base. y gets the base losses at the knots; y, tail_q
 * and tail_p have room for `length`. */
static prv_status forward_cells(const prv_mechanism *m, bool reversed, const double *x, size_t length,
                                const prv_options *options, double *mass, double *mass_p, double *y,
                                double *tail_q, double *tail_p, double *error)
{
    const double p = m->sampling_probability;
    *error = 0.0;
    if (m->base == PRV_BASE_MIXTURE) {
        memcpy(y, x, length * sizeof *y);
        return prv_gaussian_mixture_masses(m->mixture, x, length, options, mass, mass_p);
    }
    if (p < 1.0) {
        const size_t near = knots_up_to(nearest_far_loss(p), x, length);
        near_base_losses(x, p, near, y);
        far_base_losses(x + near, p, length - near, y + near);
    } else {
        memcpy(y, x, length * sizeof *y);
    }
    const prv_status status = prv_base_tails(m, reversed, y, length, tail_q, tail_p, error);
    if (status != PRV_OK) return status;
    const size_t top = length - 1;
    const double infinite = reversed ? 0.0 : m->mass_at_infinity;
    masses_between(tail_p, length, mass_p + 1);
    masses_between(tail_q, length, mass + 1);
    mix(p, top, mass + 1, mass_p + 1);
    mass_p[0] = prv_lower_tail(tail_p[0]);
    mass[0] = p == 1.0 ? prv_lower_tail(tail_q[0]) : (1.0 - p) * mass_p[0] + p * prv_lower_tail(tail_q[0]);
    mass_p[length] = prv_upper_tail(tail_p[top]);
    const double q_top = fmax(prv_upper_tail(tail_q[top]) - infinite, 0.0);
    mass[length] = p == 1.0 ? q_top : (1.0 - p) * mass_p[length] + p * q_top;
    return PRV_OK;
}

/* The pair in the order of its base, or if `reversed` of the reverse of the base: of an unsampled or
 * symmetric pair, or of 'remove'. */
static prv_status forward(const prv_mechanism *m, bool reversed, double *work, prv_cells *cells,
                          double *error)
{
    const size_t length = cells->length;
    const double *x = cells->knots;
    double *y = work, *tail_q = y + length, *tail_p = tail_q + length, *mass_p = tail_p + length;
    double told, scaled = 0.0;
    prv_status status = forward_cells(m, reversed, x, length, cells->options, cells->mass, mass_p, y, tail_q,
                                      tail_p, &told);
    if (status != PRV_OK) return status;
    *error = told;
    cells->relative[0] = mass_p[0] > 0.0 ? mass_p[0] * exp(x[0]) : 0.0;
    scale_masses(x, mass_p + 1, length, cells->relative + 1);
    if (m->base == PRV_BASE_CDFS) return PRV_OK; /* a callback has no tails relative to e^x */
    status = scaled_cells(m, reversed, knots_up_to(SCALED_LOSS, x, length) + 1, y, length, mass_p,
                          cells->options, tail_q, cells->relative, &scaled);
    *error += scaled;
    return status;
}

static void exchange(double *a, double *b)
{
    const double before = *a;
    *a = *b;
    *b = before;
}

/* 'add' of a sampled pair: the reverse of the sampled reverse of the base. Knots are mirrored, so that the
 * cell (x[i-1], x[i]] becomes [-x[i], -x[i-1]). Either end may count to it, since an atom on a knot is placed
 * on that knot from either side. */
static prv_status backward(const prv_mechanism *m, double *work, prv_cells *cells, double *error)
{
    const size_t length = cells->length;
    const double *x = cells->knots;
    double *y = work, *tail_q = y + length, *tail_p = tail_q + length, *mass_p = tail_p + length;
    double *mirrored = mass_p + length + 1; /* [length] */
    for (size_t i = 0; i < length; i++) mirrored[i] = -x[length - 1 - i];
    const prv_status status = forward_cells(m, true, mirrored, length, cells->options, cells->relative,
                                            cells->mass, y, tail_q, tail_p, error);
    if (status != PRV_OK) return status;
    for (size_t i = 0, j = length; i < j; i++, j--) {
        exchange(&cells->mass[i], &cells->mass[j]);
        exchange(&cells->relative[i], &cells->relative[j]);
    }
    const double lowest = cells->relative[0];
    cells->relative[0] = lowest > 0.0 ? lowest * exp(fmin(x[0], 700.0)) : 0.0;
    memcpy(mass_p, cells->relative + 1, length * sizeof *mass_p);
    scale_masses(x, mass_p, length, cells->relative + 1);
    return PRV_OK;
}

/* tail_error before clipping: errors of the functions (32 u, of which test_cells.c measures less than half),
 * of the knots' own rounding and of the map to the noise (a few u of |x|), and of e^(-z^2/2): z is rounded by
 * u |z|, twice where a centre is taken off, which moves the tail by z^2 u each, and z^2 <= -2 log T for the
 * smallest tail T in use. */
static double functions_error(const prv_mechanism *m, const prv_cells *cells)
{
    const double *x = cells->knots;
    const double deepest = fmax(cells->mass[cells->length], DBL_MIN);
    const double reach = fmax(fabs(x[0]), fabs(x[cells->length - 1]));
    const double mixture = m->base == PRV_BASE_MIXTURE ? prv_gaussian_mixture_error(m->mixture) : 0.0;
    /* Base losses reach log(1/p) farther, and their rounding counts as far as losses follow them. */
    const double farther = -log(m->sampling_probability) * fmin(reach, 1.0);
    return PRV_UNIT * (32.0 + 8.0 * (reach + farther) - 4.0 * log(deepest) + mixture);
}

/* ---- Uncertain cdfs ------------------------------------------------------------------------ */

/* A callback's cdfs have an absolute error, which e^x magnifies once P's tail is below it. A pair with less
 * of P above each loss dominates, and one with more of P is dominated; the ends of the cells bound the
 * change. The error of Q's cdf is counted elsewhere: prv_absolute_cdf_error. */
static prv_status allow_for_cdf_errors(double error, prv_side side, prv_cells *cells)
{
    const double sign = side == PRV_DOMINATING ? -1.0 : 1.0;
    for (size_t i = 1; i <= cells->length; i++) {
        const double mass = cells->mass[i], x = cells->knots[i - 1];
        const double least_relative = i < cells->length ? mass * exp(x - cells->knots[i]) : 0.0;
        const double each = error * (1.0 + exp(x)); /* of two differences of two values */
        double *relative = &cells->relative[i];
        if (*relative - 16.0 * each > mass || *relative + 16.0 * each < least_relative)
            return PRV_ERR_CDF_PAIR;
        *relative = fmax(*relative + sign * 1.5 * each, 0.0);
    }
    return PRV_OK;
}

/* ---- The cells ------------------------------------------------------------------------------ */

/* Whether Q's masses sum to 1: later stages would take a mass that is no number for none. */
static bool are_whole(const prv_cells *cells)
{
    double sum = cells->infinite_mass;
    for (size_t i = 0; i <= cells->length; i++) sum += cells->mass[i];
    return fabs(sum - 1.0) <= 4.0 * cells->tail_error + PRV_UNIT * (double)cells->length;
}

prv_status prv_tail_cells(const prv_mechanism *m, bool add, prv_side side, prv_cells *cells)
{
    double *work = prv_allocate(5 * cells->length + 2, sizeof *work);
    if (work == NULL) return PRV_ERR_MEMORY;
    double error = 0.0; /* of the callback's tails, and of scaled ones */
    const bool other = add && !prv_is_symmetric(m);
    /* Tails that are told are also told of the reverse pair, whose losses may be large if it is not sampled.
     */
    const bool reversed = other && m->base == PRV_BASE_TAILS && m->sampling_probability == 1.0;
    prv_status status = other && !reversed ? backward(m, work, cells, &error)
                                           : forward(m, reversed, work, cells, &error);
    if (status != PRV_OK) goto done;
    cells->infinite_mass = prv_infinite_mass(m, add);
    cells->tail_error = functions_error(m, cells) + error;
    if (!are_whole(cells)) status = PRV_ERR_BOUNDS;
    if (m->base == PRV_BASE_CDFS && status == PRV_OK)
        status = allow_for_cdf_errors(prv_absolute_cdf_error(m), side, cells);
done:
    prv_release(work);
    return status;
}
