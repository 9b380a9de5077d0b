#include "lattices/cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "numerics/wide.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"

/* Above this loss e^loss times P's mass is formed without either factor. */
#define SCALED_LOSS 30.0

prv_status prv_cells_new(size_t length, prv_cells *cells)
{
    memset(cells, 0, sizeof *cells);
    cells->length = length;
    cells->knots = prv_allocate(4 * length + 3, sizeof(double));
    if (cells->knots == NULL) return PRV_ERR_MEMORY;
    cells->mass = cells->knots + length;
    cells->relative = cells->mass + length + 1;
    cells->excess = cells->relative + length + 1;
    return PRV_OK;
}

void prv_cells_free(prv_cells *cells)
{
    prv_release(cells->knots);
    cells->knots = NULL;
}

/* fmin and fmax are calls that keep loops from being vectorised; nothing here is nan. */
static inline double least(double a, double b)
{
    return a < b ? a : b;
}
static inline double most(double a, double b)
{
    return a > b ? a : b;
}

/* A tail is held as the smaller of the two sides: +T for the upper tail, -F (or -0.0) for the lower
 * one. Differences of neighbouring knots then keep relative accuracy in both tails. */
static inline double upper_tail(double t)
{
    return signbit(t) ? 1.0 + t : t;
}
static inline double lower_tail(double t)
{
    return signbit(t) ? -t : 1.0 - t;
}

/* How many of the first tails are lower ones. */
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

/* ---- Tails of the base pairs -------------------------------------------------------------- */

/* N(mu^2/2, mu^2) and N(-mu^2/2, mu^2), the losses under Q and P. */
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

/* e^y times P's upper tail: the density of Q times the Mills ratio of P, since e^y phi(y/mu + mu/2) is
 * phi(y/mu - mu/2). */
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

/* Density e^(-(mu - y)/2) / 4 on (-mu, mu) under Q, atoms 1/2 at mu and e^(-mu)/2 at -mu; P mirrored. */
PRV_VECTOR static void laplace_tails(double mu, const double *restrict y, size_t length,
                                     double *restrict tail_q, double *restrict tail_p)
{
    for (size_t i = 0; i < length; i++) {
        const double below = y[i] < -mu ? 1.0 : 0.0, above = y[i] >= mu ? 1.0 : 0.0;
        const double at = least(most(y[i], -mu), mu);
        const double lower_q = 0.5 * prv_vm_exp(0.5 * (at - mu));
        const double upper_p = 0.5 * prv_vm_exp(-0.5 * (at + mu));
        tail_q[i] = above > 0.0 ? 0.0 : below > 0.0 ? -0.0 : -lower_q;
        tail_p[i] = above > 0.0 ? 0.0 : below > 0.0 ? -0.0 : upper_p;
    }
}

/* Density e^((mu + y) / 2) / (2 (e^mu - 1)) on (-mu, mu) under Q; P mirrored. */
PRV_VECTOR static void bounded_range_tails(double mu, const double *restrict y, size_t length,
                                           double *restrict tail_q, double *restrict tail_p)
{
    const double whole = -expm1(-mu);
    for (size_t i = 0; i < length; i++) {
        const double at = least(most(y[i], -mu), mu);
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

/* The caller's cdfs, checked. `work` has room for 2 * length. */
static prv_status callback_tails(const prv_mechanism *m, const double *y, size_t length, double *tail_q,
                                 double *tail_p)
{
    if (m->cdfs(m->context, y, length, tail_q, tail_p) != 0) return PRV_ERR_CALLBACK;
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    const double slack = 8.0 * DBL_EPSILON;
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

/* The base pair's tails at increasing y; `reversed` asks for its reverse (losses negated, P and Q
 * exchanged), which for the built-in bases is the base itself. */
static prv_status base_tails(const prv_mechanism *m, int reversed, double *y, size_t length, double *tail_q,
                             double *tail_p)
{
    switch (m->base) {
    case PRV_BASE_GAUSSIAN: gaussian_tails(m->mu, y, length, tail_q, tail_p); return PRV_OK;
    case PRV_BASE_LAPLACE: laplace_tails(m->mu, y, length, tail_q, tail_p); return PRV_OK;
    case PRV_BASE_BOUNDED_RANGE: bounded_range_tails(m->mu, y, length, tail_q, tail_p); return PRV_OK;
    default: break;
    }
    if (!reversed) return callback_tails(m, y, length, tail_q, tail_p);
    /* Under the reverse P(loss > y) is Q(Y < -y): its upper tails are the lower ones, which the
     * sign convention makes a negation. Mirror y, evaluate, mirror back. */
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

/* ---- Cells from tails --------------------------------------------------------------------- */

/* relative[i] for the cells from first on of an unsampled or subsampled 'remove' pair, where e^x or P's mass
 * alone may leave the range of double. With y the base losses at the knots, e^x = (1-p) + p e^y. */
static prv_status scaled_cells(const prv_mechanism *m, size_t first, const double *y, size_t length,
                               const double *mass_p, const prv_options *options, double *scaled,
                               double *relative, double *error)
{
    const double p = m->base == PRV_BASE_MIXTURE ? 1.0 : m->sampling_probability;
    const double *from = y + first - 1;
    double *to = scaled + first - 1;
    prv_status status = PRV_OK;
    if (m->base == PRV_BASE_GAUSSIAN)
        gaussian_scaled_tails(m->mu, from, length - first + 1, to);
    else if (m->base == PRV_BASE_LAPLACE)
        laplace_scaled_tails(m->mu, from, length - first + 1, to);
    else if (m->base == PRV_BASE_BOUNDED_RANGE)
        bounded_range_scaled_tails(m->mu, from, length - first + 1, to);
    else
        status = prv_gaussian_mixture_scaled_tails(m->mixture, from, length - first + 1, options, to);
    /* Differences of tails that are carried down by exponentials are no telescoping sum: each is off by 4 u
     * of what was carried, which is carried down itself. `off` is what that makes of the sum of those above.
     */
    double above = 0.0, off = 0.0;
    *error = 0.0;
    for (size_t i = length; i >= first && status == PRV_OK; i--) {
        const double here = scaled[i - 1];
        const double decay = above > 0.0 ? prv_vm_exp(y[i - 1] - y[i]) : 0.0, rest = decay * above;
        relative[i] = (1.0 - p) * mass_p[i] + p * (here - rest);
        off = decay * off + 4.0 * PRV_UNIT * rest;
        if (here > DBL_MIN) *error = most(*error, off / here);
        above = here;
    }
    return status;
}

/* How many of the first knots are at most SCALED_LOSS. */
static size_t plain_knots(const double *x, size_t length)
{
    while (length > 0 && x[length - 1] > SCALED_LOSS) length--;
    return length;
}

/* prv_base_loss of knots up to SCALED_LOSS. */
PRV_VECTOR static void near_base_losses(const double *restrict x, double p, size_t length, double *restrict y)
{
    const double inverse = 1.0 / p;
    for (size_t i = 0; i < length; i++) {
        const double ratio = prv_vm_expm1_near(most(x[i], -64.0)) * inverse;
        y[i] = ratio > -1.0 ? prv_vm_log1p_near(ratio) : -HUGE_VAL;
    }
    if (p < 0.5) return; /* 1 + ratio is off by roundings of e^x - 1, which are small against x */
    for (size_t i = 0; i < length && x[i] < -0.25; i++) y[i] = prv_base_loss(x[i], p);
}

PRV_VECTOR static void far_base_losses(const double *restrict x, double p, size_t length, double *restrict y)
{
    const double log_p = log(p);
    for (size_t i = 0; i < length; i++) y[i] = x[i] - log_p + prv_vm_log1p((p - 1.0) * prv_vm_exp(-x[i]));
}

PRV_VECTOR static void differences(const double *restrict tail, size_t length, double *restrict mass)
{
    for (size_t i = 0; i < length; i++) mass[i] = tail[i] - tail[i + 1];
}

/* Rounding may leave tails that do not fall. True ones do, so that the greater of two such tails is as close
 * to the truth as both were; and sums of differences of tails that fall are these tails again, none of them
 * being negative. */
static void make_monotone(double *tail, size_t knots, size_t lower)
{
    for (size_t i = 1; i < lower; i++) tail[i] = least(tail[i], tail[i - 1]);
    for (size_t i = knots; i-- > lower + 1;) tail[i - 1] = most(tail[i - 1], tail[i]);
}

/* Masses between neighbouring tails: two upper ones or two lower ones, but for one cell. */
static void masses_between(double *tail, size_t knots, double *mass)
{
    const size_t lower = lower_tails(tail, knots);
    make_monotone(tail, knots, lower);
    differences(tail, knots - 1, mass);
    if (lower > 0 && lower < knots) mass[lower - 1] = (tail[lower - 1] - tail[lower]) + 1.0;
}

/* Q's masses with those of P mixed in; rounding makes none negative. */
PRV_VECTOR static void mix(double p, size_t length, double *restrict mass, double *restrict mass_p)
{
    const double rest = 1.0 - p;
    for (size_t i = 0; i < length; i++) {
        mass[i] = most(p * mass[i] + rest * mass_p[i], 0.0);
        mass_p[i] = most(mass_p[i], 0.0);
    }
}

/* relative[i] = mass_p[i] e^(x[i]). */
PRV_VECTOR static void scale_masses(const double *restrict x, const double *restrict mass_p, size_t length,
                                    double *restrict relative)
{
    for (size_t i = 0; i < length; i++) relative[i] = prv_vm_exp(least(x[i], 700.0)) * mass_p[i];
}

/* ---- Cells of a privacy curve -------------------------------------------------------------- */

/* What the caller's values, and those made of them below, may be off by. */
#define VALUE_ERROR (4.0 * DBL_EPSILON)

/* delta at increasing losses x of the pair asked. Subsampling: p delta(base loss) above log(1 - p), 1 - e^x
 * below; the reverse of a pair: 1 - e^x + e^x delta(-x); and so 'add', the reverse of the subsampled reverse:
 * (1 - (1 - p) e^x) delta(-(base loss of -x)) below -log(1 - p), 0 above. */
static prv_status curve_values(const prv_mechanism *m, int add, const double *x, size_t length, double *work,
                               double *delta)
{
    const double p = m->sampling_probability;
    const int backward = add && p < 1.0;
    const double edge = backward ? -log1p(-p) : p < 1.0 ? log1p(-p) : -HUGE_VAL;
    /* The base is asked where it matters: above the edge, or below it when reversed. */
    size_t first = 0, end = length;
    if (backward)
        while (end > 0 && x[end - 1] >= edge) end--;
    else
        while (first < length && x[first] <= edge) first++;
    for (size_t i = first; i < end; i++)
        work[i] = backward ? -prv_base_loss(-x[i], p) : prv_base_loss(x[i], p);
    if (end > first && m->curve(m->context, work + first, end - first, delta + first) != 0)
        return PRV_ERR_CALLBACK;
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    double last = 1.0;
    for (size_t i = 0; i < length; i++) {
        double value;
        if (i < first) {
            value = -expm1(x[i]);
        } else if (i >= end) {
            value = 0.0;
        } else {
            const double base = delta[i];
            if (!(base >= -VALUE_ERROR && base <= 1.0 + VALUE_ERROR)) return PRV_ERR_CURVE;
            value = base;
            if (backward) {
                /* The reverse of the subsampled reverse, in which all terms of the size of e^x cancel. */
                value = -expm1(x[i] - edge) * base;
            } else if (p < 1.0) {
                value = p * base;
            }
        }
        if (!(value <= last + 64.0 * VALUE_ERROR)) return PRV_ERR_CURVE;
        last = fmin(last, fmax(value, 0.0));
        delta[i] = last;
    }
    return PRV_OK;
}

/* The pair whose curve is piecewise linear in e^eps between the knots, with slopes that never fall towards
 * the left, so that it lies on or above the values however they are rounded. What the values themselves may
 * be off by is left to prv_absolute_cdf_error: as mass above the last knot it would be the heaviest of all
 * jumps. */
static void cells_above(const double *x, const double *delta, size_t length, double infinite, double *slope,
                        prv_cells *cells)
{
    double *mass = cells->mass, *relative = cells->relative;
    const size_t top = length - 1;
    double value = delta[top];
    mass[length] = fmax(value - infinite, 0.0);
    relative[length] = 0.0;
    slope[top] = 0.0; /* slope[i] is P's mass above x[i], times e^(x[i]) */
    for (size_t i = top; i-- > 0;) {
        const double width = x[i + 1] - x[i];
        const double least = slope[i + 1] * -expm1(-width); /* as steep as the cell above */
        const double rise = fmax(delta[i] - value, least);
        slope[i] = rise / expm1(width); /* 0 where e^width overflows, as it should */
        value += rise;
        mass[i + 1] = fmax(rise + slope[i] - slope[i + 1], 0.0);
        relative[i + 1] = mass[i + 1] * exp(-width); /* all of it at the upper knot */
    }
    mass[0] = relative[0] = fmax(1.0 - value - slope[0], 0.0);
}

/* What the curve's slope, times e^(x[first]), is at least everywhere below that knot, whatever the values are
 * off by: the steepest secant from there that is sure. */
static double least_slope(const double *x, const double *delta, size_t length, size_t first)
{
    double slope = 0.0;
    for (size_t i = first + 1; i < length; i++)
        slope = fmax(slope, (delta[first] - delta[i] - 2.0 * VALUE_ERROR) / expm1(x[i] - x[first]));
    return slope;
}

/* A pair below a convex curve of which only values are known: the secants of the cells on either side,
 * extended into a cell, lie below the curve and meet at a point; the greatest convex function below these
 * points is taken, with the slope of its own secant beyond the first and the last of them (steeper, or
 * shallower, than anything the curve may do there). Masses are differences of its slopes. Where knots lie so
 * close that the values' errors make slopes uncertain, these would grow without bound below the first knot:
 * slopes end at one that is sure. */
static prv_status cells_below(const double *x, const double *delta, size_t length, double infinite,
                              prv_cells *cells)
{
    memset(cells->mass, 0, (length + 1) * sizeof *cells->mass);
    memset(cells->relative, 0, (length + 1) * sizeof *cells->relative);
    if (length < 6) return PRV_OK;
    double *y = prv_allocate(3 * length, sizeof *y);
    size_t *cell = prv_allocate(length, sizeof *cell);
    if (y == NULL || cell == NULL) {
        prv_release(y);
        prv_release(cell);
        return PRV_ERR_MEMORY;
    }
    double *value = y + length, *slope = value + length;
    size_t count = 0;
    for (size_t i = 1; i + 2 < length; i++) {
        /* In t = e^(x - x[i]), from 1 to `end`: the lines from the left and from the right. */
        const double width = x[i + 1] - x[i], end = exp(width);
        /* Neighbouring points have a chord below the curve, others need not: one run of cells. */
        if (!(width < 30.0 && x[i] - x[i - 1] < 30.0 && x[i + 2] - x[i + 1] < 30.0)) {
            if (count > 0) break;
            continue;
        }
        const double left = (delta[i - 1] - delta[i]) / -expm1(x[i - 1] - x[i]);
        const double right = (delta[i + 1] - delta[i + 2]) / expm1(x[i + 2] - x[i + 1]) / end;
        double t = 0.5 * (1.0 + end);
        if (left > right) t = 1.0 + (delta[i] - delta[i + 1] - right * (end - 1.0)) / (left - right);
        t = fmin(fmax(t, 1.0), end);
        double at = x[i] + log(t);
        const double low = fmin(delta[i] - left * (t - 1.0), delta[i + 1] + right * (end - t));
        /* Lines through values that are off by an error, extended by about a cell, are off by a few. */
        double v = fmax(low - 8.0 * VALUE_ERROR, infinite);
        if (count > 0 && !(at > y[count - 1])) { /* both on the knot between: the lower one */
            count--;
            at = y[count];
            v = fmin(v, value[count]);
        }
        /* The lower hull: the last point goes while it lies above the line past it. slope[j] runs from point
         * j to j + 1, times e^(y[j]). */
        while (count > 1) {
            const double to = (value[count - 1] - v) / expm1(at - y[count - 1]);
            if (slope[count - 2] * exp(y[count - 1] - y[count - 2]) >= to) break;
            count--;
        }
        if (count > 0) slope[count - 1] = (value[count - 1] - v) / expm1(at - y[count - 1]);
        y[count] = at;
        value[count] = v;
        cell[count++] = i;
    }
    const double steepest = count > 0 ? least_slope(x, delta, length, cell[0]) : 0.0;
    for (size_t j = 0; j < count; j++) {
        const size_t i = cell[j];
        const double limit = steepest > 0.0 ? steepest * exp(y[j] - x[cell[0]]) : 0.0;
        /* Its own secant, times e^(y[j]): the slope beyond the ends. */
        const double own = fmax(delta[i] - delta[i + 1], 0.0) / expm1(x[i + 1] - x[i]) * exp(y[j] - x[i]);
        const double before = fmin(j > 0 ? slope[j - 1] * exp(y[j] - y[j - 1]) : own, limit);
        const double after = fmin(j + 1 < count ? slope[j] : own, limit);
        const double mass = fmax(before - after, 0.0);
        cells->mass[i + 1] += mass;
        cells->relative[i + 1] += mass * exp(x[i] - y[j]);
    }
    prv_release(y);
    prv_release(cell);
    return PRV_OK;
}

static prv_status cells_from_curve(const prv_mechanism *m, int add, prv_side side, prv_cells *cells)
{
    const size_t length = cells->length;
    double *delta = prv_allocate(2 * length, sizeof *delta);
    if (delta == NULL) return PRV_ERR_MEMORY;
    const double infinite = prv_infinite_mass(m, add);
    prv_status status = curve_values(m, add, cells->knots, length, delta + length, delta);
    if (status == PRV_OK && side == PRV_DOMINATING)
        cells_above(cells->knots, delta, length, infinite, delta + length, cells);
    else if (status == PRV_OK)
        status = cells_below(cells->knots, delta, length, infinite, cells);
    prv_release(delta);
    cells->infinite_mass = infinite;
    const double reach = fmax(fabs(cells->knots[0]), fabs(cells->knots[length - 1]));
    /* Values and slopes are sums over the knots above, of terms that are off by 4 u each. */
    cells->tail_error = PRV_UNIT * (64.0 + 8.0 * reach + 4.0 * (double)length);
    return status;
}

/* e^(-loss) lies between its values at the ends of a cell; rounding may not lead out of it. */
PRV_VECTOR static void clip_relative(const double *restrict x, const double *restrict mass, size_t length,
                                     double *restrict relative)
{
    for (size_t i = 0; i < length; i++) {
        const double low = mass[i] * prv_vm_exp_near(most(x[i] - x[i + 1], -700.0));
        relative[i] = least(most(relative[i], low), mass[i]);
    }
}

/* The cells of ((1-p)P + pQ, P) at increasing knots x, in the order of the knots. Where `reversed`, of
 * the subsampled reverse of the base. mass_p is P's plain mass. */
static prv_status forward_cells(const prv_mechanism *m, int reversed, const double *x, size_t length,
                                const prv_options *options, double *mass, double *mass_p, double *y,
                                double *tail_q, double *tail_p)
{
    const double p = m->sampling_probability;
    if (m->base == PRV_BASE_MIXTURE) {
        memcpy(y, x, length * sizeof *y);
        return prv_gaussian_mixture_masses(m->mixture, x, length, options, mass, mass_p);
    }
    if (p < 1.0) {
        const size_t near = plain_knots(x, length);
        near_base_losses(x, p, near, y);
        far_base_losses(x + near, p, length - near, y + near);
    } else {
        memcpy(y, x, length * sizeof *y);
    }
    const prv_status status = base_tails(m, reversed, y, length, tail_q, tail_p);
    if (status != PRV_OK) return status;
    const size_t top = length - 1;
    const double infinite = reversed ? 0.0 : m->mass_at_infinity;
    masses_between(tail_p, length, mass_p + 1);
    masses_between(tail_q, length, mass + 1);
    mix(p, top, mass + 1, mass_p + 1);
    mass_p[0] = lower_tail(tail_p[0]);
    mass[0] = p == 1.0 ? lower_tail(tail_q[0]) : (1.0 - p) * mass_p[0] + p * lower_tail(tail_q[0]);
    mass_p[length] = upper_tail(tail_p[top]);
    const double q_top = fmax(upper_tail(tail_q[top]) - infinite, 0.0);
    mass[length] = p == 1.0 ? q_top : (1.0 - p) * mass_p[length] + p * q_top;
    return PRV_OK;
}

static prv_status cells_from_tails(const prv_mechanism *m, int add, prv_cells *cells)
{
    const size_t length = cells->length;
    const double *x = cells->knots;
    double *work = prv_allocate(5 * length + 2, sizeof *work);
    if (work == NULL) return PRV_ERR_MEMORY;
    double *y = work, *tail_q = y + length, *tail_p = tail_q + length, *other = tail_p + length;
    const int backward = add && !prv_is_symmetric(m);
    prv_status status;
    double scaled_error = 0.0;
    if (!backward) {
        status = forward_cells(m, 0, x, length, cells->options, cells->mass, other, y, tail_q, tail_p);
        if (status == PRV_OK) {
            cells->relative[0] = other[0] > 0.0 ? other[0] * exp(x[0]) : 0.0;
            scale_masses(x, other + 1, length, cells->relative + 1);
            const size_t plain = plain_knots(x, length);
            if (m->base != PRV_BASE_CDFS)
                status = scaled_cells(m, plain + 1, y, length, other, cells->options, tail_q, cells->relative,
                                      &scaled_error);
        }
    } else {
        /* Mirrored knots; the cell (x[i-1], x[i]] becomes [-x[i], -x[i-1]): which end belongs to it does
         * not matter, since an atom on a knot is placed on that knot from either side. */
        double *mirrored = other + length + 1; /* [length] */
        for (size_t i = 0; i < length; i++) mirrored[i] = -x[length - 1 - i];
        status = forward_cells(m, 1, mirrored, length, cells->options, cells->relative, cells->mass, y,
                               tail_q, tail_p);
        if (status == PRV_OK) {
            for (size_t i = 0, j = length; i < j; i++, j--) {
                const double low = cells->mass[i], low_q = cells->relative[i];
                cells->mass[i] = cells->mass[j];
                cells->mass[j] = low;
                cells->relative[i] = cells->relative[j];
                cells->relative[j] = low_q;
            }
            const double n = cells->relative[0];
            cells->relative[0] = n > 0.0 ? n * exp(fmin(x[0], 700.0)) : 0.0;
            memcpy(other, cells->relative + 1, length * sizeof *other);
            scale_masses(x, other, length, cells->relative + 1);
        }
    }
    prv_release(work);
    if (status != PRV_OK) return status;
    cells->infinite_mass = prv_infinite_mass(m, add);
    /* Errors of the functions (32 u, of which test_cells.c measures less than half), of the knots' own
     * rounding and of the map to the noise (a few u of |x|), and of e^(-z^2/2): z is rounded by u |z|, twice
     * where a centre is taken off, which moves the tail by z^2 u each, and z^2 <= -2 log T for the smallest
     * tail T in use. */
    const double deepest = fmax(cells->mass[length], DBL_MIN);
    const double reach = fmax(fabs(x[0]), fabs(x[length - 1]));
    const double mixture = m->base == PRV_BASE_MIXTURE ? prv_gaussian_mixture_error(m->mixture) : 0.0;
    /* Base losses reach log(1/p) farther, and their rounding counts as far as losses follow them. */
    const double farther = -log(m->sampling_probability) * fmin(reach, 1.0);
    cells->tail_error = PRV_UNIT * (32.0 + 8.0 * (reach + farther) - 4.0 * log(deepest) + mixture) +
                        scaled_error;
    return PRV_OK;
}

/* ---- Cells of samples without replacement --------------------------------------------------- */

/* Cells with knots at 0 and at those of `count` knots from `from` on, of one direction. */
static prv_status cells_of_side(const prv_mechanism *m, int add, prv_side side, const double *from,
                                size_t count, prv_cells *cells)
{
    prv_mechanism direction = *m;
    direction.folded = 0;
    prv_status status = prv_cells_new(count + 1, cells);
    if (status != PRV_OK) return status;
    cells->knots[add ? count : 0] = 0.0;
    memcpy(cells->knots + (add ? 0 : 1), from, count * sizeof *from);
    status = prv_cells_compute(&direction, add, side, cells);
    if (status != PRV_OK) prv_cells_free(cells);
    return status;
}

/* Wide, so that the error of a sum of doubles is that of its terms and one rounding, however many there are.
 */
static double sum_of(const double *values, size_t length)
{
    prv_wide sum = prv_wide_of(0.0);
    for (size_t i = length; i-- > 0;) sum = prv_wide_add(sum, prv_wide_of(values[i]));
    return prv_wide_value(sum);
}

/* The cells above 0 of 'remove', those below 0 of 'add', and at 0 the rest of the mass, as much under P as
 * under Q. */
static prv_status cells_folded(const prv_mechanism *m, prv_side side, prv_cells *cells)
{
    const double *x = cells->knots;
    const size_t length = cells->length;
    size_t below = 0;
    while (below < length && x[below] < 0.0) below++;
    const size_t zero = below < length && x[below] == 0.0 ? 1 : 0;
    prv_cells low, high;
    prv_status status = cells_of_side(m, 1, side, x, below, &low);
    if (status != PRV_OK) return status;
    status = cells_of_side(m, 0, side, x + below + zero, length - below - zero, &high);
    if (status != PRV_OK) {
        prv_cells_free(&low);
        return status;
    }
    const size_t above = length - below - zero; /* knots; high has one cell more above 0 */
    const double outside = sum_of(low.mass, below + 1) + sum_of(high.mass + 1, above + 1) +
                           high.infinite_mass;
    const double rest = fmax(1.0 - outside, 0.0);
    memcpy(cells->mass, low.mass, (below + 1) * sizeof *low.mass);
    memcpy(cells->relative, low.relative, (below + 1) * sizeof *low.relative);
    memcpy(cells->excess, low.excess, (below + 1) * sizeof *low.excess);
    /* The cell that 0 belongs to is anchored at the last knot below it, or at the first knot of all. */
    const double lowest = below > 0 ? x[below - 1] : x[0], anchor = exp(lowest),
                 above_anchor = -expm1(lowest);
    if (below == 0) cells->relative[0] *= anchor;
    cells->mass[below] += rest;
    cells->relative[below] += rest * anchor;
    cells->excess[below] += rest * above_anchor;
    if (zero == 0) {
        cells->mass[below] += high.mass[1];
        cells->relative[below] += high.relative[1] * anchor;
        cells->excess[below] += high.excess[1] + high.relative[1] * above_anchor;
    }
    const size_t taken = zero == 0 ? 2 : 1, left = length - below;
    memcpy(cells->mass + below + 1, high.mass + taken, left * sizeof *high.mass);
    memcpy(cells->relative + below + 1, high.relative + taken, left * sizeof *high.relative);
    memcpy(cells->excess + below + 1, high.excess + taken, left * sizeof *high.excess);
    cells->infinite_mass = high.infinite_mass;
    /* Q's mass above 0 is at least P's, which is Q's below 0: so at least half of what `outside` is not off
     * by more than the parts are counts in every tail below 0. */
    cells->tail_error = 2.0 * fmax(low.tail_error, high.tail_error) + 8.0 * PRV_UNIT;
    cells->least_width = fmax(low.least_width, high.least_width);
    prv_cells_free(&low);
    prv_cells_free(&high);
    return PRV_OK;
}

/* ---- Cells of a choice ---------------------------------------------------------------------- */

/* The sum of those of its parts. */
static prv_status cells_of_choice(const prv_mechanism *m, int add, prv_side side, prv_cells *cells)
{
    const size_t length = cells->length;
    memset(cells->mass, 0, (length + 1) * sizeof *cells->mass);
    memset(cells->relative, 0, (length + 1) * sizeof *cells->relative);
    memset(cells->excess, 0, (length + 1) * sizeof *cells->excess);
    cells->infinite_mass = cells->tail_error = cells->least_width = 0.0;
    for (int i = 0; i < 2; i++) {
        const double weight = m->part_weight[i];
        prv_cells part;
        prv_status status = prv_cells_new(length, &part);
        if (status != PRV_OK) return status;
        memcpy(part.knots, cells->knots, length * sizeof *part.knots);
        part.options = cells->options;
        status = prv_cells_compute(m->part[i], add, side, &part);
        for (size_t j = 0; j <= length && status == PRV_OK; j++) {
            cells->mass[j] += weight * part.mass[j];
            cells->relative[j] += weight * part.relative[j];
            cells->excess[j] += weight * part.excess[j];
        }
        cells->infinite_mass += weight * part.infinite_mass;
        cells->tail_error = fmax(cells->tail_error, part.tail_error);
        cells->least_width = fmax(cells->least_width, part.least_width);
        prv_cells_free(&part);
        if (status != PRV_OK) return status;
    }
    cells->tail_error += m->part_error + 4.0 * PRV_UNIT;
    return PRV_OK;
}

/* ---- Cells of discrete losses ------------------------------------------------------------- */

/* Sums over the atoms of one cell. */
typedef struct cell_sums {
    prv_wide mass, relative, excess;
    size_t atoms;
} cell_sums;

static void put_sums(const cell_sums *s, size_t cell, prv_cells *cells, size_t *most_atoms)
{
    cells->mass[cell] = prv_wide_value(s->mass);
    cells->relative[cell] = prv_wide_value(s->relative);
    cells->excess[cell] = prv_wide_value(s->excess);
    if (s->atoms > *most_atoms) *most_atoms = s->atoms;
}

static prv_status cells_from_atoms(const prv_mechanism *m, int add, prv_cells *cells)
{
    const prv_atoms *a = m->atoms[add];
    const double *x = cells->knots;
    const size_t length = cells->length;
    const double reach = fmax(fabs(x[0]), fabs(x[length - 1]));
    /* A knot that was meant for an atom is off by rounding, of anchor + step * index and of the loss. If the
     * atom lies above it by no more than that, it counts as on it: above a knot no bound may miss it, and a
     * mesh cell higher it would be a jump that is not there. */
    const double snap = (8.0 * PRV_UNIT + a->loss_error) * reach;
    size_t cell = 0, most_atoms = 0;
    memset(cells->mass, 0, (length + 1) * sizeof *cells->mass);
    memset(cells->relative, 0, (length + 1) * sizeof *cells->relative);
    memset(cells->excess, 0, (length + 1) * sizeof *cells->excess);
    const cell_sums none = {prv_wide_of(0.0), prv_wide_of(0.0), prv_wide_of(0.0), 0};
    cell_sums s = none;
    if (a->p_only > 0.0) s.relative = prv_wide_of(a->p_only * exp(x[0]));
    for (size_t i = 0; i < a->length; i++) {
        const double loss = a->loss[i], q = a->q[i];
        if (cell < length && loss > x[cell] + snap) {
            put_sums(&s, cell, cells, &most_atoms);
            s = none;
            while (cell < length && loss > x[cell] + snap) cell++;
        }
        s.mass = prv_wide_add(s.mass, prv_wide_of(q));
        s.atoms++;
        if (cell == 0) {
            s.relative = prv_wide_add(s.relative, prv_wide_of(a->p[i] * exp(x[0])));
            continue;
        }
        /* Both of each atom by itself: m - r of the sums would hide an atom of little mass behind another one
         * of much mass that lies on the knot below. */
        const double down = x[cell - 1] - (cell < length ? least(loss, x[cell]) : loss);
        s.relative = prv_wide_add(s.relative, prv_wide_of(q * exp(down)));
        s.excess = prv_wide_add(s.excess, prv_wide_of(q * -expm1(down)));
    }
    put_sums(&s, cell, cells, &most_atoms);
    cells->infinite_mass = a->q_infinity;
    /* The masses of discrete mechanisms are exponentials of at most |CUT_OFF_LOG_MASS|. */
    const double masses = a->unbounded ? 4.0 * 740.0 : 0.0;
    cells->tail_error = PRV_UNIT * (32.0 + 8.0 * reach + masses) + 2.0 * a->loss_error * reach +
                        (double)most_atoms * PRV_WIDE_UNIT;
    return PRV_OK;
}

/* ---- Uncertain cdfs ------------------------------------------------------------------------ */

/* Cdfs of a callback are off absolutely, and where P's tail falls below that, e^x makes much of
 * it. A pair with less of P above each loss lies above, one with more of it below; what the cells
 * allow bounds the change. What Q's cdf is off by on top is left to prv_absolute_cdf_error. */
static prv_status allow_for_cdf_errors(double error, prv_side side, prv_cells *cells)
{
    const double sign = side == PRV_DOMINATING ? -1.0 : 1.0;
    for (size_t i = 1; i <= cells->length; i++) {
        const double mass = cells->mass[i], x = cells->knots[i - 1];
        const double least_relative = i < cells->length ? mass * exp(x - cells->knots[i]) : 0.0;
        const double each = error * (1.0 + exp(x)); /* of a difference of two values, twice */
        double *relative = &cells->relative[i];
        if (*relative - 16.0 * each > mass || *relative + 16.0 * each < least_relative)
            return PRV_ERR_CDF_PAIR;
        *relative = fmax(*relative + sign * 1.5 * each, 0.0);
    }
    return PRV_OK;
}

/* ---- Excess of cells from tails -------------------------------------------------------------- */

PRV_VECTOR static void decays(const double *restrict x, size_t length, double *restrict decay)
{
    for (size_t i = 0; i < length; i++) decay[i] = prv_vm_exp_near(most(x[i] - x[i + 1], -700.0));
}

/* excess[i] is negative (or -0.0) in cells that have `outwards` of their mass more. */
PRV_VECTOR static void round_outwards(double outwards, const double *restrict mass, size_t length,
                                      double *restrict excess)
{
    for (size_t i = 0; i < length; i++)
        excess[i] = signbit(excess[i]) ? outwards * mass[i] - excess[i] : excess[i];
}

/* Clips P's masses to what the ends of each cell allow, and forms the excesses. Clipping changes sums that
 * differences of tails left alone: by how much is measured, as a part of Q's tail. And if a cell holds more
 * than 1/12 of Q's mass above its upper knot, or is narrow, so much of it may lie just above a knot that the
 * rounding of the tails exceeds the excess of all that is higher: it gets 3 a of its mass more. Both of
 * bounds.rst, "Cells". */
static void finish_tails(const prv_mechanism *m, prv_cells *cells)
{
    const size_t n = cells->length;
    const double *x = cells->knots, *mass = cells->mass;
    double *relative = cells->relative, *excess = cells->excess;
    decays(x, n - 1, excess + 1);
    relative[n] = least(relative[n], mass[n]);
    double tail = 0.0, raised = 0.0, lowered = 0.0, moved = 0.0;
    const double least_width = 64.0 * cells->tail_error;
    /* While all cells from the top down are clipped to the same end, sums of P's masses are sums of Q's,
     * times a factor that falls from cell to cell, and so as close to the truth as Q's tails. There P's
     * masses may be no doubles at all. */
    int top_raised = 1, top_lowered = 1;
    for (size_t i = n - 1; i > 0; i--) {
        const double decay = excess[i], q = mass[i], low = q * decay, r = relative[i];
        const int heavy = 12.0 * q > tail || x[i] - x[i - 1] < least_width;
        tail += q;
        raised *= decay;
        lowered *= decay;
        double clipped = r;
        if (r < low || r > q) {
            clipped = r < low ? low : q;
            if (!top_raised) raised += most(clipped - r, 0.0);
            if (!top_lowered) lowered += most(r - clipped, 0.0);
            moved = most(moved, most(raised, lowered) / most(tail, DBL_MIN));
            if (q > 0.0 && (top_raised || top_lowered)) moved = most(moved, cells->tail_error);
        }
        if (q > 0.0) {
            top_raised = top_raised && r < low;
            top_lowered = top_lowered && r > q;
        }
        relative[i] = clipped;
        excess[i] = heavy ? clipped - q : q - clipped;
        if (heavy && excess[i] == 0.0) excess[i] = -0.0;
    }
    /* Values of callbacks are off absolutely, which is counted as such: prv_absolute_cdf_error. */
    if (m->base != PRV_BASE_CDFS) cells->tail_error += moved;
    round_outwards(3.0 * cells->tail_error, mass + 1, n - 1, excess + 1);
    cells->least_width = 64.0 * cells->tail_error;
}

/* ---- The stage ---------------------------------------------------------------------------- */

prv_rounding prv_cells_rounding(const prv_cells *cells)
{
    const prv_rounding r = {1.5 * cells->tail_error, 2.5 * cells->tail_error};
    return r;
}

prv_status prv_cells_compute(const prv_mechanism *m, int add, prv_side side, prv_cells *cells)
{
    cells->infinite_error = prv_infinite_mass_error(m, add);
    if (m->base == PRV_BASE_CHOICE) return cells_of_choice(m, add, side, cells);
    if (m->folded) return cells_folded(m, side, cells);
    /* Densities that are off by a factor of 1 +- e, e <= 1/4, make masses so, and move losses by -log(1 - e)
     * < 2 e. */
    const double weights = 2.0 * m->weight_error;
    if (m->base == PRV_BASE_ATOMS) {
        const prv_status status = cells_from_atoms(m, add, cells);
        cells->tail_error += weights;
        clip_relative(cells->knots, cells->mass + 1, cells->length - 1, cells->relative + 1);
        return status;
    }
    prv_status status = m->base == PRV_BASE_CURVE ? cells_from_curve(m, add, side, cells)
                                                  : cells_from_tails(m, add, cells);
    if (status == PRV_OK && m->base == PRV_BASE_CDFS)
        status = allow_for_cdf_errors(prv_absolute_cdf_error(m), side, cells);
    if (status != PRV_OK) return status;
    cells->tail_error += weights;
    finish_tails(m, cells);
    return PRV_OK;
}
