/* Renyi divergences, D_alpha = log(M) / (alpha - 1) with M = E_P[(dQ/dP)^alpha] for each step.
 *
 * M - 1 = E_P[f(r)], r = dQ/dP, f(r) = r^alpha - 1 - alpha (r - 1), since P and Q have mass 1: f is convex
 * and >= 0, so that nothing cancels however close to 1 the ratios are. In a cell with masses m and n of Q
 * and P, whose ratios lie between r_a and r_b,
 *     n f(m / n)  <=  E_P[f(r); cell]  <=  n f(m / n) + n alpha (alpha - 1) s (r_b - r_a)^2 / 8,
 *     s = max(r_a^(alpha - 2), r_b^(alpha - 2)),
 * by Jensen's inequality and by the chord of f. Cells are those of the noise where it is Gaussian, with
 * logarithms of masses, which never underflow, and a closed form beyond the last one; cells of the loss
 * (cells.h) where that is bounded; and the atoms themselves where it is discrete. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "allocate.h"
#include "cells.h"
#include "normal.h"
#include "properties.h"
#include "query.h"

#define UNIT (0.5 * DBL_EPSILON)
/* How far apart the cells may leave the bounds of M - 1, relatively. */
#define TOLERANCE 5e-5
#define GREATEST_ORDER 1e6
enum { MOST_CELLS = 1 << 18, MOST_KNOTS = 1 << 16, MOST_ROUNDS = 20 };

/* ---- Sums of exponentials -------------------------------------------------------------------- */

typedef struct log_sum {
    double greatest, sum; /* e^greatest sum */
} log_sum;

static const log_sum nothing = {-HUGE_VAL, 0.0};

static void add(log_sum *s, double logarithm)
{
    if (!(logarithm > -HUGE_VAL)) return;
    if (logarithm > s->greatest) {
        s->sum = s->sum * exp(s->greatest - logarithm) + 1.0;
        s->greatest = logarithm;
    } else {
        s->sum += exp(logarithm - s->greatest);
    }
}

static double log_of(const log_sum *s)
{
    return s->sum > 0.0 ? s->greatest + log(s->sum) : -HUGE_VAL;
}

/* log(e^a - e^b), -infinity where that is not positive. */
static double log_difference(double a, double b)
{
    return a > b ? a + log(-expm1(b - a)) : -HUGE_VAL;
}

/* Bounds of the logarithm of M - 1, or of a part of it. */
typedef struct excess {
    log_sum lower, upper;
} excess;

static const excess no_excess = {{-HUGE_VAL, 0.0}, {-HUGE_VAL, 0.0}};

static void add_excess(excess *e, double lower, double upper)
{
    add(&e->lower, lower);
    add(&e->upper, upper);
}

/* ---- f, of y = log r ------------------------------------------------------------------------- */

/* log f, to *error absolutely. */
static double log_f(double y, double alpha, double *error)
{
    const double a = alpha * y;
    *error = 0.0;
    if (y == 0.0) return -HUGE_VAL;
    if (fabs(a) <= 0.25) {
        /* f = alpha (alpha - 1) y^2 sum over k >= 2 of t_k / k!, t_k = y^(k-2) (1 + alpha + ... +
         * alpha^(k-2)). */
        double t = 1.0, power = a, factorial = 2.0, sum = 0.5;
        for (double k = 3.0; k < 18.0; k += 1.0) {
            t = t * y + power;
            power *= a;
            factorial *= k;
            sum += t / factorial;
        }
        *error = 64.0 * UNIT;
        return log(alpha * (alpha - 1.0) * sum) + 2.0 * log(fabs(y));
    }
    if (a > 30.0) {
        const double rest = alpha * (exp(y - a) - exp(-a)) + exp(-a), part = 1.0 - rest;
        *error = UNIT * (16.0 + 4.0 * a + (8.0 + 8.0 * fabs(y - a)) * rest / part);
        return part > 0.0 ? a + log(part) : -HUGE_VAL;
    }
    const double first = expm1(a), second = alpha * expm1(y), f = first - second;
    if (!(f > 0.0)) return -HUGE_VAL;
    *error = UNIT * (16.0 + 8.0 * ((1.0 + fabs(a)) * fabs(first) + (1.0 + fabs(y)) * fabs(second)) / f);
    return log(f);
}

/* Bounds of log f at y, which is off by y_error. f falls up to 0 and rises from there. */
static void bounds_of_f(double y, double y_error, double alpha, double *lower, double *upper)
{
    const double size = fabs(y), sign = y < 0.0 ? -1.0 : 1.0;
    double error;
    *lower = log_f(sign * fmax(size - y_error, 0.0), alpha, &error);
    *lower -= error;
    *upper = log_f(sign * (size + y_error), alpha, &error);
    /* Where rounding leaves nothing of it: f is at most alpha (alpha - 1) y^2 max(1, e^a) / 2. */
    const double most =
        log(0.5 * alpha * (alpha - 1.0)) + 2.0 * log(size + y_error) + fmax(alpha * (y + y_error), 0.0);
    *upper = error < 0.5 && *upper > -HUGE_VAL ? *upper + error : most + 1e-9;
    if (size + y_error == 0.0) *upper = -HUGE_VAL;
}

/* One cell of n = e^log_mass of P whose ratios are e^y on average, e^low to e^high at its ends. */
static void cell_bounds(double log_mass, double mass_error, double y, double y_error, double low, double high,
                        double alpha, double *lower, double *upper)
{
    bounds_of_f(y, y_error, alpha, lower, upper);
    *lower += log_mass - mass_error;
    const double power = (alpha - 2.0) * (alpha < 2.0 ? low : high);
    const double spread = low + log(expm1(fmax(high - low, 0.0)));
    const double gap = log(0.125 * alpha * (alpha - 1.0)) + power + 2.0 * spread;
    log_sum sum = nothing;
    add(&sum, *upper);
    add(&sum, gap + 1e-9 + 16.0 * UNIT * (fabs(power) + fabs(low)));
    *upper = log_of(&sum) + log_mass + mass_error;
}

/* ---- Gaussian noise -------------------------------------------------------------------------- */

/* P = sum p_j N(sign b_j, 1) and Q = sum q_i N(sign a_i, 1), sign b_j <= 0 <= sign a_i: the loss rises with
 * z. */
typedef struct noise {
    const prv_components *q, *p;
    double sign, alpha;
    int exchanged; /* E_Q[f(1 / r)] instead of E_P[f(r)] */
} noise;

/* log of the density of the components against N(0, 1), and its derivative. It is convex in z. */
static double log_density(const prv_components *c, double sign, double z, double *slope)
{
    double above = 0.0, greatest = -HUGE_VAL;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i], exponent = center * (z - 0.5 * center);
        greatest = fmax(greatest, exponent);
    }
    double sum = 0.0, moment = 0.0;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i], exponent = center * (z - 0.5 * center);
        if (greatest < 30.0) above += c->weight[i] * expm1(exponent);
        const double part = c->weight[i] * exp(exponent - greatest);
        sum += part;
        moment += part * center;
    }
    *slope = moment / sum;
    return greatest < 30.0 ? log1p(above) : greatest + log(sum);
}

/* log of the components' mass between a and b relative to that of N(0, 1), and how much of it is off by the
 * error of single masses. */
static double log_mass_ratio(const prv_components *c, double sign, double a, double b, double normal,
                             double *share)
{
    double above = 0.0, off = 0.0;
    log_sum sum = nothing;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i];
        const double ratio = center == 0.0 ? 0.0 : prv_log_between(a - center, b - center) - normal;
        add(&sum, log(c->weight[i]) + ratio);
        if (ratio < 30.0) {
            above += c->weight[i] * expm1(ratio);
            if (center != 0.0) off += c->weight[i] * exp(ratio);
        }
    }
    if (log_of(&sum) < 29.0) {
        *share = fmin(off / (1.0 + above), 1.0);
        return log1p(above);
    }
    *share = 1.0;
    return log_of(&sum);
}

typedef struct line {
    double value, slope; /* at a */
} line;

static line combined(double of_q, const line *q, double of_p, const line *p)
{
    return (line){of_q * q->value + of_p * p->value, of_q * q->slope + of_p * p->slope};
}

/* log of the integral of phi(z) e^line from a to b, b may be infinite. */
static double log_integral(const line *l, double a, double b)
{
    return l->value + l->slope * (0.5 * l->slope - a) + prv_log_between(a - l->slope, b - l->slope);
}

/* What z between a and b adds, a and b finite. */
static void noise_cell(const noise *s, double a, double b, double *lower, double *upper)
{
    const double alpha = s->alpha, reach = fmax(s->q->reach, s->p->reach), normal = prv_log_between(a, b);
    const double far = fmax(fabs(a), fabs(b)) + reach, width = fmin(b - a, 1.0);
    const double error = UNIT * (128.0 + 16.0 * far * far + 64.0 * (1.0 + far) / width);
    double share_q, share_p, slope[2];
    double m = log_mass_ratio(s->q, s->sign, a, b, normal, &share_q);
    double n = log_mass_ratio(s->p, s->sign, a, b, normal, &share_p);
    double q_low = log_density(s->q, s->sign, a, slope), q_high = log_density(s->q, s->sign, b, slope);
    double p_low = log_density(s->p, s->sign, a, slope), p_high = log_density(s->p, s->sign, b, slope);
    const double y = m - n, y_error = error * (share_q + share_p) + 8.0 * UNIT * fabs(y);
    const double low = q_low - p_low, high = q_high - p_high;
    if (s->exchanged)
        cell_bounds(normal + m, error, -y, y_error, -high, -low, alpha, lower, upper);
    else
        cell_bounds(normal + n, error, y, y_error, low, high, alpha, lower, upper);

    /* Far out, where r^alpha is all of f, its logarithm is what is nearly linear: with A and B the log
     * densities of Q and P, phi r^alpha dP = e^(alpha A + (1 - alpha) B), of which convex terms lie between
     * tangents and chords. */
    const double of_q = s->exchanged ? 1.0 - alpha : alpha, of_p = s->exchanged ? alpha : 1.0 - alpha;
    const double middle = 0.5 * (a + b), half = middle - a;
    const double q_middle = log_density(s->q, s->sign, middle, &slope[0]);
    const double p_middle = log_density(s->p, s->sign, middle, &slope[1]);
    const line q_chord = {q_low, (q_high - q_low) / (b - a)};
    const line p_chord = {p_low, (p_high - p_low) / (b - a)};
    const line q_tangent = {q_middle - slope[0] * half, slope[0]};
    const line p_tangent = {p_middle - slope[1] * half, slope[1]};
    const line *q_above = of_q > 0.0 ? &q_chord : &q_tangent, *q_below = of_q > 0.0 ? &q_tangent : &q_chord;
    const line *p_above = of_p > 0.0 ? &p_chord : &p_tangent, *p_below = of_p > 0.0 ? &p_tangent : &p_chord;
    const line above = combined(of_q, q_above, of_p, p_above), below = combined(of_q, q_below, of_p, p_below);
    const double steep = fmax(fabs(above.slope), fabs(below.slope)) + 2.0 * alpha * reach;
    const double logarithms = fabs(q_low) + fabs(q_high) + fabs(p_low) + fabs(p_high);
    const double rounding = UNIT * (128.0 + 32.0 * alpha * logarithms + 32.0 * steep * (steep + far) +
                                    64.0 * (1.0 + steep + far) / width);
    /* f = r^alpha - (1 + alpha (r - 1)): the integral of the latter is n + alpha (m - n). */
    const double of_one = s->exchanged ? normal + m : normal + n, of_r = s->exchanged ? normal + n : normal + m;
    log_sum rest = nothing;
    add(&rest, of_one);
    add(&rest, log(alpha) + of_r);
    /* + (alpha - 1) of_one is not more than what `rest` says twice over. */
    const double power_below = log_integral(&below, a, b) - rounding;
    *lower = fmax(*lower, log_difference(power_below, log_of(&rest) + error + 1e-12));
    log_sum top = nothing;
    add(&top, log_integral(&above, a, b) + rounding);
    add(&top, log(alpha - 1.0) + of_one + error);
    *upper = fmin(*upper, log_of(&top));
}

/* Halves the cell until its bounds are close. */
static void refine(const noise *s, double a, double b, double most_gap, size_t *budget, excess *sum)
{
    double lower, upper;
    noise_cell(s, a, b, &lower, &upper);
    const double middle = 0.5 * (a + b);
    if (*budget == 0 || !(a < middle && middle < b) || b - a < 1e-6 * (1.0 + fabs(a)) ||
        log_difference(upper, lower) <= most_gap) {
        add_excess(sum, lower, upper);
        return;
    }
    --*budget;
    refine(s, a, middle, most_gap - 0.69314718055994530942, budget, sum);
    refine(s, middle, b, most_gap - 0.69314718055994530942, budget, sum);
}

/* The whole from z = start on: -infinity, or where the ratio is 1. */
static excess noise_excess(const noise *s, double start)
{
    excess sum = no_excess;
    double slope;
    /* Beyond `end` the integrand of r^alpha falls like a Gaussian. */
    double end = 12.0 + (s->exchanged ? s->q->reach : s->alpha * s->q->reach);
    log_density(s->p, s->sign, end, &slope);
    const double steep = s->alpha * s->q->reach - (s->alpha - 1.0) * slope;
    if (!s->exchanged) end = fmax(end, steep + 12.0);
    const double first = isfinite(start) ? start : -12.0 - s->p->reach;
    const double cells = fmin(ceil(4.0 * (end - first)), 0.25 * MOST_CELLS), step = (end - first) / cells;
    log_sum coarse = nothing;
    for (double i = 0.0; i < cells; i += 1.0) {
        double lower, upper;
        noise_cell(s, first + step * i, first + step * (i + 1.0), &lower, &upper);
        add(&coarse, lower);
    }
    size_t budget = MOST_CELLS;
    const double most_gap = log_of(&coarse) + log(TOLERANCE / cells);
    for (double i = 0.0; i < cells; i += 1.0)
        refine(s, first + step * i, first + step * (i + 1.0), most_gap, &budget, &sum);

    /* Below the first cell ratios lie between 0 and that at its end, and f below its values there. */
    if (!isfinite(start)) {
        double lower, upper;
        const double y = log_density(s->q, s->sign, first, &slope) - log_density(s->p, s->sign, first, &slope);
        bounds_of_f(y, 1e-9 * (1.0 + fabs(y)), s->alpha, &lower, &upper);
        add(&sum.upper, prv_log_upper_tail(-first - s->p->reach) + fmax(upper, log(s->alpha - 1.0)) + 1e-9);
    }
    if (s->exchanged) {
        add(&sum.upper, prv_log_upper_tail(end - s->q->reach) + log(s->alpha - 1.0) + 1e-9);
        return sum;
    }
    double p_slope;
    const double a = log_density(s->q, s->sign, end, &slope), b = log_density(s->p, s->sign, end, &p_slope);
    const line above = {s->alpha * a + (1.0 - s->alpha) * b,
                        s->alpha * s->q->reach - (s->alpha - 1.0) * p_slope};
    const double rounding = 128.0 + 32.0 * s->alpha * (fabs(a) + fabs(b)) + 32.0 * (above.slope + end) * end;
    add(&sum.upper, log_integral(&above, end, HUGE_VAL) + UNIT * rounding);
    add(&sum.upper, prv_log_upper_tail(end) + log(s->alpha - 1.0) + 1e-9);
    return sum;
}

/* Where the loss is 0, from below. */
static double even_outcome(const noise *s)
{
    double slope, low = -s->p->reach - 1.0, high = s->q->reach + 1.0;
    for (int i = 0; i < 80; i++) {
        const double middle = 0.5 * (low + high);
        if (log_density(s->q, s->sign, middle, &slope) > log_density(s->p, s->sign, middle, &slope))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static excess gaussian_excess(const prv_components *q, const prv_components *p, int add_direction, int folded,
                              double alpha)
{
    noise s = {q, p, 1.0, alpha, 0};
    if (q->length == 1 && p->length == 1) {
        const double mu = q->center[0] - p->center[0], log_moment = 0.5 * alpha * (alpha - 1.0) * mu * mu;
        const double log_excess =
            log_moment > 30.0 ? log_moment + log1p(-exp(-log_moment)) : log(expm1(log_moment));
        const double error = UNIT * (16.0 + 8.0 * log_moment);
        excess e = no_excess;
        add_excess(&e, log_excess - error, log_excess + error);
        return e;
    }
    if (folded) {
        const double start = even_outcome(&s);
        excess up = noise_excess(&s, start);
        s.exchanged = 1;
        const excess down = noise_excess(&s, start);
        add_excess(&up, log_of(&down.lower), log_of(&down.upper));
        return up;
    }
    if (add_direction) s = (noise){p, q, -1.0, alpha, 0};
    return noise_excess(&s, -HUGE_VAL);
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

/* Discrete Gaussian noise was cut off where its mass is below e^-735 times the greatest: from there on Q's
 * atoms fall by more than this many standard deviations of the noise, and losses rise by sensitivity /
 * scale^2 each at most. */
#define CUT_OFF 38.0
#define LOG_CUT_MASS (-667.0) /* of all that was cut off, were the atom next to it the first of it */

/* log((1-p) + p e^x), x >= 0. */
static double log_of_sample(double p, double x)
{
    return x < 30.0 ? log1p(p * expm1(x)) : x + log(p) + log1p((1.0 - p) / p * exp(-x));
}

static void add_cut_off(const prv_mechanism *m, int add_direction, const prv_atoms *a, double alpha, excess *e)
{
    const int replaced = m->without_replacement; /* such a pair is that of noise on twice the change */
    const double p = m->sampling_probability, change = (double)m->integer_sensitivity;
    const double shift = (replaced ? 2.0 : 1.0) * change / m->scale, rise = shift / m->scale;
    const double greatest = prv_greatest_loss(m, add_direction);
    const double log_ratio = isfinite(greatest) ? 0.0 : (alpha - 1.0) * rise - CUT_OFF / m->scale;
    if (isfinite(greatest)) {
        add(&e->upper, LOG_CUT_MASS + (alpha - 1.0) * fmax(greatest, 0.0));
    } else if (log_ratio < -1e-9) {
        const double top = fmax(a->loss[a->length - 1], 0.0) + rise;
        add(&e->upper, LOG_CUT_MASS + (alpha - 1.0) * top - log(-expm1(log_ratio)));
    } else {
        add(&e->upper, HUGE_VAL);
    }
    add(&e->upper, LOG_CUT_MASS + log(alpha - 1.0));
    /* And without looking at atoms: the moment of noise that is not sampled is at most that of Gaussian
     * noise, as the sum of e^(-(x - alpha s)^2 / (2 scale^2)) over the integers is greatest where alpha s
     * is one; with a sample, by Minkowski's inequality, |(1-p) + p r| <= (1-p) + p |r| in the norm of order
     * alpha, or if exchanged by convexity. Losses below 0 of a sample of fixed size add at most alpha - 1. */
    const double one = 0.5 * (alpha - 1.0) * shift * shift;
    log_sum whole = nothing;
    const double of_sample = add_direction && !replaced ? one : log_of_sample(p, one);
    add(&whole, alpha * of_sample * (1.0 + 64.0 * UNIT) + 1e-12);
    if (replaced) add(&whole, log(alpha - 1.0));
    if (log_of(&whole) < log_of(&e->upper)) e->upper = whole;
}

/* The logarithm of a mass, and what rounding of masses that are hardly doubles does to it. */
static double log_mass_of(double mass, double *error)
{
    *error += mass < DBL_MIN ? 2.0 * DBL_TRUE_MIN / mass : 0.0;
    return log(mass);
}

static excess atoms_excess(const prv_mechanism *m, int add_direction, double alpha)
{
    const prv_atoms *a = m->atoms[add_direction];
    excess e = no_excess;
    for (size_t i = 0; i < a->length; i++) {
        const double y = a->loss[i], q = a->q[i], p = a->p[i];
        if (!(q > 0.0 || p > 0.0)) continue;
        const double of_masses = a->unbounded ? 4.0 * 740.0 : 0.0;
        const double y_error = fabs(y) * (a->loss_error + 2.0 * UNIT);
        double lower, upper, error = UNIT * (32.0 + of_masses + 8.0 * fabs(y)) + y_error;
        const int of_p = p >= DBL_MIN || !(q > 0.0);
        const double log_mass = of_p ? log_mass_of(p, &error) : log_mass_of(q, &error) - y;
        bounds_of_f(y, y_error, alpha, &lower, &upper);
        error += UNIT * 4.0 * fabs(log_mass);
        add_excess(&e, lower + log_mass - error, upper + log_mass + error);
    }
    if (a->p_only > 0.0) {
        const double only = log(a->p_only) + log(alpha - 1.0);
        add_excess(&e, only - 1e-14, only + 1e-14);
    }
    if (a->unbounded && a->length > 0) add_cut_off(m, add_direction, a, alpha, &e);
    return e;
}

/* ---- Cells of a bounded loss ----------------------------------------------------------------- */

/* What the cells add, and knots that halve those whose bounds are too far apart. `finer` has room for twice
 * the knots; *finer_length is 0 where the bounds are close enough. */
static void add_cells(const prv_cells *c, double greatest, double alpha, excess *e, double *finer,
                      size_t *finer_length)
{
    const size_t n = c->length;
    const double *x = c->knots, blur = 1e-9;
    size_t count = 0;
    *e = no_excess;
    for (int place = 0; place < 2; place++) {
        const double most_gap = place == 0 ? HUGE_VAL : log_of(&e->lower) + log(TOLERANCE / (double)n);
        size_t halved = 0;
        for (size_t i = 0; i <= n; i++) {
            const double anchor = x[i > 0 ? i - 1 : 0];
            const double high = i < n ? x[i] : x[n - 1] + blur * (1.0 + fabs(x[n - 1]));
            double lower = -HUGE_VAL, upper = -HUGE_VAL;
            if (i == n && c->mass[n] > 0.0 && greatest > high) {
                upper = HUGE_VAL;
            } else if (c->relative[i] > 0.0 || c->mass[i] > 0.0) {
                const double relative = fmax(c->relative[i], DBL_MIN);
                const double log_mass = log(relative) - anchor, y = anchor + log(c->mass[i] / relative);
                if (i > 0) {
                    const double y_error = 16.0 * UNIT * (1.0 + fabs(y));
                    cell_bounds(log_mass, 16.0 * UNIT, fmin(fmax(y, anchor), high), y_error, anchor, high, alpha,
                                &lower, &upper);
                } else {
                    /* Ratios are between 0 and that at the end. */
                    bounds_of_f(anchor, 0.0, alpha, &lower, &upper);
                    upper = fmax(upper, log(alpha - 1.0)) + log_mass + 1e-12;
                    lower = -HUGE_VAL;
                }
            }
            if (place == 0) {
                add_excess(e, lower, upper);
                continue;
            }
            if (i > 0 && i < n && log_difference(upper, lower) > most_gap) {
                finer[count++] = 0.5 * (x[i - 1] + x[i]);
                halved++;
            }
            if (i < n) finer[count++] = x[i];
        }
        if (place == 1) *finer_length = halved > 0 ? count : 0;
    }
}

static prv_status bounded_excess(const prv_mechanism *m, int add_direction, const prv_profile *profile,
                                 double alpha, excess *e)
{
    double *knots = prv_allocate(2 * (size_t)MOST_KNOTS, sizeof *knots);
    if (knots == NULL) return PRV_ERR_MEMORY;
    /* The least loss, which may be an atom, is in a cell of its own. */
    size_t length = profile->knot_count + 1;
    memcpy(knots + 1, profile->knots, profile->knot_count * sizeof *knots);
    knots[0] = knots[1] - 1e-9 * (1.0 + fabs(knots[1]));
    const double greatest = prv_greatest_loss(m, add_direction);
    prv_status status = PRV_OK;
    for (int round = 0; round < MOST_ROUNDS && length > 0 && status == PRV_OK; round++) {
        prv_cells cells;
        status = prv_cells_new(length, &cells);
        if (status != PRV_OK) break;
        memcpy(cells.knots, knots, length * sizeof *knots);
        status = prv_cells_compute(m, add_direction, PRV_DOMINATING, &cells);
        if (status == PRV_OK) {
            add_cells(&cells, greatest, alpha, e, knots, &length);
            /* E_P[r^alpha] is an integral of H_gamma(Q, P) alpha (alpha - 1) gamma^(alpha - 2) over gamma >
             * 0: tails off by a, at losses off by b, make it a factor of (1 +- a) e^(+- (alpha - 1) b). */
            const double error = cells.tail_error * (1.0 + alpha);
            add(&e->upper, log_of(&e->upper) + log(fmax(expm1(error), DBL_MIN)));
            add(&e->upper, log(fmax(expm1(error), DBL_MIN)));
            const double lower = log_difference(log_of(&e->lower), log(2.0 * fmax(expm1(error), DBL_MIN)));
            e->lower = nothing;
            add(&e->lower, lower + log1p(-fmin(2.0 * error, 0.5)));
            if (length > MOST_KNOTS) length = 0;
        }
        prv_cells_free(&cells);
    }
    prv_release(knots);
    return status;
}

/* ---- Steps and their sums -------------------------------------------------------------------- */

static prv_status step_excess(const prv_mechanism *m, int add_direction, double alpha, excess *e)
{
    const int add_pair = add_direction && !prv_is_symmetric(m);
    *e = no_excess;
    if (prv_infinite_mass(m, add_direction) > 0.0) {
        add_excess(e, HUGE_VAL, HUGE_VAL);
        return PRV_OK;
    }
    switch (m->base) {
    case PRV_BASE_CDFS:
    case PRV_BASE_CURVE: return PRV_ERR_MOMENTS;
    case PRV_BASE_CHOICE:
        for (int i = 0; i < 2; i++) {
            excess part;
            const prv_status status = step_excess(m->part[i], add_direction, alpha, &part);
            if (status != PRV_OK) return status;
            const double error = m->part_error + 4.0 * UNIT, log_weight = log(m->part_weight[i]);
            add_excess(e, log_of(&part.lower) + log_weight - error, log_of(&part.upper) + log_weight + error);
        }
        return PRV_OK;
    case PRV_BASE_ATOMS: *e = atoms_excess(m, add_direction, alpha); return PRV_OK;
    case PRV_BASE_MIXTURE:
        *e = gaussian_excess(&m->mixture->q, &m->mixture->p, add_pair, 0, alpha);
        return PRV_OK;
    case PRV_BASE_GAUSSIAN: {
        const double p = m->sampling_probability;
        double centers[2] = {0.0, m->mu}, weights[2] = {1.0 - p, p}, origin = 0.0, one = 1.0;
        const int whole = p == 1.0;
        const prv_components of_q = {whole ? 1 : 2, centers + whole, weights + whole, m->mu};
        const prv_components of_p = {1, &origin, &one, 0.0};
        *e = gaussian_excess(&of_q, &of_p, add_pair, m->folded, alpha);
        return PRV_OK;
    }
    case PRV_BASE_LAPLACE:
    case PRV_BASE_BOUNDED_RANGE: break;
    }
    prv_profile profile;
    prv_status status = prv_profile_new(m, add_direction, 1, &profile);
    if (status != PRV_OK) return status;
    status = bounded_excess(m, add_direction, &profile, alpha, e);
    prv_profile_free(&profile);
    return status;
}

/* log M of an excess. */
static double log_moment_of(const log_sum *excess_sum)
{
    const double l = log_of(excess_sum);
    return l > 30.0 ? l + log1p(exp(-l)) : log1p(exp(l));
}

static prv_status divergence(const prv_side_view *view, double alpha, prv_bounds *b)
{
    double lower = 0.0, upper = 0.0;
    for (size_t j = 0; j < view->steps; j++) {
        excess e;
        const prv_status status = step_excess(view->mechanisms[j], view->add, alpha, &e);
        if (status != PRV_OK) return status;
        const double low = log_moment_of(&e.lower), high = log_moment_of(&e.upper);
        lower += view->counts[j] * low * (1.0 - 16.0 * UNIT);
        upper += view->counts[j] * high * (1.0 + 16.0 * UNIT);
    }
    b->lower = lower / (alpha - 1.0);
    b->upper = upper / (alpha - 1.0);
    /* Jensen's inequality costs about half as much as the chord does: a cell's ratios vary by (r_b - r_a)^2
     * / 12. */
    b->estimate = isfinite(b->upper) ? b->lower + (b->upper - b->lower) / 3.0 : b->lower;
    return PRV_OK;
}

prv_status prv_renyi_divergence(const prv_step *steps, size_t step_count, const prv_options *options,
                                const double *orders, size_t length, prv_bounds *bounds)
{
    prv_status status = prv_check_options(options);
    for (size_t i = 0; i < length && status == PRV_OK; i++)
        if (!(orders[i] > 1.0 && orders[i] <= GREATEST_ORDER)) status = PRV_ERR_ORDER;
    if (status != PRV_OK) return status;
    prv_side_view views[2];
    size_t count = 0;
    status = prv_views_new(steps, step_count, options, views, &count);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_QUESTIONS, options);
    layer.now.questions = length;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        layer.now.question = i;
        bounds[i] = (prv_bounds){0.0, 0.0, 0.0};
        for (size_t v = 0; v < count && status == PRV_OK; v++) {
            prv_bounds b;
            status = prv_check_interrupt(options);
            if (status == PRV_OK) status = divergence(&views[v], orders[i], &b);
            if (status != PRV_OK) break;
            bounds[i].lower = fmax(bounds[i].lower, b.lower);
            bounds[i].estimate = fmax(bounds[i].estimate, b.estimate);
            bounds[i].upper = fmax(bounds[i].upper, b.upper);
        }
    }
    for (size_t v = 0; v < count; v++) prv_side_view_free(&views[v]);
    return status;
}
