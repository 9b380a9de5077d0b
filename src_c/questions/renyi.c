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

#include "base/allocate.h"
#include "numerics/normal.h"
#include "numerics/rounding.h"
#include "mechanisms/bounded_range.h"
#include "mechanisms/support.h"
#include "lattices/cells.h"
#include "curve/gate.h"
#include "questions/question.h"

/* How far apart the cells may leave the bounds of M - 1, relatively. */
#define TOLERANCE 5e-5
#define GREATEST_ORDER 1e6
enum { MOST_CELLS = 1 << 18, MOST_KNOTS = 1 << 16, MOST_ROUNDS = 20 };

/* ---- Sums of exponentials -------------------------------------------------------------------- */

/* What is called an error is absolute, in a logarithm, and counts roundings of u = PRV_UNIT: the library's
 * exp, expm1, log and log1p are taken to be within 2 u of their value. */

typedef struct log_sum {
    double greatest, sum; /* e^greatest sum */
    double terms;
} log_sum;

static const log_sum nothing = {-HUGE_VAL, 0.0, 0.0};

static void add(log_sum *s, double logarithm)
{
    if (!(logarithm > -HUGE_VAL)) return;
    s->terms += 1.0;
    if (logarithm == HUGE_VAL || s->greatest == HUGE_VAL) { /* their difference is no number */
        s->greatest = HUGE_VAL;
        s->sum = 1.0;
    } else if (logarithm > s->greatest) {
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

/* How far log_of is off. Each addition multiplies what was there by an exponential of a rounded difference d
 * <= 0 (2 u + |d| u), with a product and a sum (2 u). A term that is e^-D of the greatest has been through
 * differences that add up to D, so that k additions leave it off by (4 k + D) u. Weighted by the terms'
 * shares of the sum, D is at most the entropy of the shares, so at most log k <= k. */
static double error_of(const log_sum *s)
{
    if (!isfinite(s->greatest)) return 0.0;
    return PRV_UNIT * (5.0 * s->terms + 4.0 + 2.0 * fabs(s->greatest) + 4.0 * log(s->sum));
}

static double log_below(const log_sum *s)
{
    return log_of(s) - error_of(s);
}

static double log_above(const log_sum *s)
{
    return log_of(s) + error_of(s);
}

/* log(e^a - e^b), -infinity where that is not positive. */
static double log_difference(double a, double b)
{
    return a > b ? a + log(-expm1(b - a)) : -HUGE_VAL;
}

/* Not above it. b - a is off by u |b - a|, which moves 1 - e^(b - a), relatively, by d e^-d / (1 - e^-d) u <=
 * u for d = |b - a|; expm1 adds 2 u; the logarithm, and the sum, are off by u of their sizes. */
static double log_difference_below(double a, double b)
{
    const double difference = log_difference(a, b);
    return difference - PRV_UNIT * (8.0 + 4.0 * fabs(difference - a) + 2.0 * fabs(difference));
}

/* Bounds of the logarithm of M - 1, or of a part of it. */
typedef struct excess {
    log_sum lower, upper;
} excess;

static const excess no_excess = {{-HUGE_VAL, 0.0, 0.0}, {-HUGE_VAL, 0.0, 0.0}};

static void add_excess(excess *e, double lower, double upper)
{
    add(&e->lower, lower);
    add(&e->upper, upper);
}

/* ---- f, of y = log r ------------------------------------------------------------------------- */

/* log f, to *error. With b = (alpha - 1) y, f = e^y (e^b - 1) - (alpha - 1) (e^y - 1): near alpha = 1 nothing
 * is lost, as both parts have the factor alpha - 1, which is exact. */
static double log_f(double y, double alpha, double *error)
{
    const double a = alpha * y, rest = alpha - 1.0, b = rest * y;
    *error = 0.0;
    if (y == 0.0) return -HUGE_VAL;
    if (fabs(a) <= 0.25) {
        /* f = alpha (alpha - 1) y^2 sum over k >= 2 of t_k / k!, t_k = y^(k-2) (1 + alpha + ... +
         * alpha^(k-2)). The sum is 0.5 and terms of at most 0.25^(k-2) (k-1) / k!: 0.05 in all, each off by a
         * few k u. */
        double t = 1.0, power = a, factorial = 2.0, sum = 0.5;
        for (double k = 3.0; k < 18.0; k += 1.0) {
            t = t * y + power;
            power *= a;
            factorial *= k;
            sum += t / factorial;
        }
        const double scale = log(alpha * rest * sum), size = 2.0 * log(fabs(y));
        *error = PRV_UNIT * (32.0 + 4.0 * (fabs(scale) + fabs(size)));
        return scale + size;
    }
    double value, parts, log_unit;
    if (b > 30.0) {
        /* f = e^a (1 - e^-b (1 + (alpha - 1) (1 - e^-y))), and what is subtracted is at most e^-b (1 + b). */
        log_unit = a;
        value = 1.0 - exp(-b) * (1.0 - rest * expm1(-y));
        parts = 1.0;
    } else if (y > 0.0) {
        /* f = e^y (e^b - 1 - (alpha - 1) (1 - e^-y)) */
        const double first = expm1(b), second = rest * expm1(-y);
        log_unit = y;
        value = first + second;
        parts = first + b * (first + 1.0) - second;
    } else {
        const double first = exp(y) * expm1(b), second = rest * expm1(y);
        log_unit = 0.0;
        value = first - second;
        parts = (1.0 - y) * -first + -b * exp(b + y) - second;
    }
    /* `parts`: of each term, its size, and b times its derivative by b, as b is rounded; at most 4 u of them,
     * and value is above parts / 64 wherever |a| > 0.25. */
    const double relative = 8.0 * PRV_UNIT * parts / value;
    if (!(value > 0.0 && relative < 0.25)) {
        *error = HUGE_VAL;
        return log_unit;
    }
    const double logarithm = log(value);
    *error = -log1p(-relative) + PRV_UNIT * (4.0 + 2.0 * fabs(logarithm) + 4.0 * fabs(log_unit));
    return log_unit + logarithm;
}

/* Bounds of log f at y, which is off by y_error. f falls up to 0 and rises from there, faster above 0 than
 * below. */
static void bounds_of_f(double y, double y_error, double alpha, double *lower, double *upper)
{
    const double size = fabs(y),
                 off = y_error + 4.0 * PRV_UNIT * (size + y_error); /* the last for size +- off */
    const double sign = y < 0.0 && size > off ? -1.0 : 1.0;
    double error;
    *lower = size > off ? log_f(sign * (size - off), alpha, &error) : -HUGE_VAL;
    if (size > off) *lower -= error;
    *upper = -HUGE_VAL;
    if (size + off > 0.0) {
        *upper = isfinite(off) ? log_f(sign * (size + off), alpha, &error) : HUGE_VAL;
        if (isfinite(off)) *upper += error;
    }
}

/* One cell of n = e^log_mass of P whose ratios are e^y on average, and certainly between e^low and e^high. */
static void cell_bounds(double log_mass, double mass_error, double y, double y_error, double low, double high,
                        double alpha, double *lower, double *upper)
{
    bounds_of_f(y, y_error, alpha, lower, upper);
    const double rounding = 2.0 * PRV_UNIT * fabs(log_mass);
    *lower += log_mass - mass_error - rounding;
    *lower -= 2.0 * PRV_UNIT * fabs(*lower);
    const double power = (alpha - 2.0) * (alpha < 2.0 ? low : high),
                 half = log(0.125 * alpha * (alpha - 1.0));
    const double spread = log(expm1(fmax(high - low, 0.0)));
    const double gap = half + power + 2.0 * (low + spread);
    log_sum sum = nothing;
    add(&sum, *upper);
    /* log r_b - r_a = low + log(e^(high - low) - 1): the difference is off by u of itself, so its expm1 by (1
     * + it) u */
    const double sizes = fabs(half) + fabs(power) + fabs(low) + fabs(spread) + fmax(high - low, 0.0);
    add(&sum, gap + PRV_UNIT * (16.0 + 4.0 * sizes));
    *upper = log_above(&sum) + log_mass + mass_error + rounding;
    *upper += 2.0 * PRV_UNIT * fabs(*upper);
}

/* ---- Gaussian noise -------------------------------------------------------------------------- */

/* P = sum p_j N(sign b_j, 1) and Q = sum q_i N(sign a_i, 1), sign b_j <= 0 <= sign a_i: the loss rises with
 * z. */
typedef struct noise {
    const prv_components *q, *p;
    double sign, alpha;
    int exchanged; /* E_Q[f(1 / r)] instead of E_P[f(r)] */
} noise;

/* Weights are off, relatively: normalised sums, and binomial ones multiplied up from the mode. */
static double weight_error(const prv_components *c)
{
    return PRV_UNIT * (8.0 * (double)c->length + 16.0);
}

/* log of a sum of w_i e^(x_i) whose weights add up to 1. Where no x is large and the sum is not small it is
 * formed as 1 + above, above = sum of w_i (e^(x_i) - 1), and rare components keep their digits; log_of_all is
 * the logarithm otherwise. It is the greatest x that decides, since above lacks every component that is left
 * out of it. x_error: of each x that is not 0 exactly; moved: the sum of w_i max(1, e^(x_i)) over these. */
static double log_of_blend(const prv_components *c, double greatest, double above, double log_of_all,
                           double moved, double x_error, double *error)
{
    const double sums = weight_error(c) + 8.0 * PRV_UNIT * (double)c->length;
    if (greatest < 30.0 && above > -0.5) {
        const double off = moved * (expm1(x_error) + sums) / (1.0 + above), value = log1p(above);
        *error = off < 0.5 ? -log1p(-off) + 4.0 * PRV_UNIT * fabs(value) : HUGE_VAL;
        return value;
    }
    *error = x_error + sums + PRV_UNIT * (16.0 + 4.0 * (fabs(greatest) + fabs(log_of_all)));
    return log_of_all;
}

/* What is known of the components' density against N(0, 1) at z: its logarithm, which is convex in z, and the
 * derivative of that. */
typedef struct slant {
    double value, slope, error, slope_error;
} slant;

static slant log_density(const prv_components *c, double sign, double z)
{
    double above = 0.0, moved = 0.0, greatest = -HUGE_VAL;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i];
        greatest = fmax(greatest, center * (z - 0.5 * center));
    }
    double sum = 0.0, moment = 0.0;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i], exponent = center * (z - 0.5 * center);
        if (greatest < 30.0) {
            above += c->weight[i] * expm1(exponent);
            if (center != 0.0) moved += c->weight[i] * exp(fmax(exponent, 0.0));
        }
        const double part = c->weight[i] * exp(exponent - greatest);
        sum += part;
        moment += part * center;
    }
    slant found;
    /* center (z - center / 2): two roundings, and one of the centre, which moves it by center (z - center).
     */
    const double x_error = PRV_UNIT * 4.0 * c->reach * (fabs(z) + c->reach);
    found.value = log_of_blend(c, greatest, above, greatest + log(sum), moved, x_error, &found.error);
    found.slope = moment / sum;
    /* A mean of centres, all of one sign, under weights that are off. */
    found.slope_error = fabs(found.slope) *
                        (2.0 * expm1(x_error) + 2.0 * weight_error(c) + 16.0 * PRV_UNIT * (double)c->length);
    return found;
}

/* log of the components' mass between a and b relative to that of N(0, 1), which is e^normal; single_error:
 * of the logarithm of such a mass of one component. */
static double log_mass_ratio(const prv_components *c, double sign, double a, double b, double normal,
                             double single_error, double *error)
{
    double above = 0.0, moved = 0.0, greatest = -HUGE_VAL;
    log_sum sum = nothing;
    for (size_t i = 0; i < c->length; i++) {
        const double center = sign * c->center[i];
        const double ratio = center == 0.0 ? 0.0 : prv_log_between(a - center, b - center) - normal;
        greatest = fmax(greatest, ratio);
        add(&sum, log(c->weight[i]) + ratio);
        if (!(ratio < 30.0)) continue; /* then `above` is not used */
        above += c->weight[i] * expm1(ratio);
        if (center != 0.0) moved += c->weight[i] * exp(fmax(ratio, 0.0));
    }
    return log_of_blend(c, greatest, above, log_of(&sum), moved, 2.0 * single_error, error);
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
    /* Of prv_log_between, and of ends that are off by 3 u `far`, which moves such a mass by far + 2 / width
     * times that. */
    const double single = PRV_UNIT * (128.0 + 16.0 * far * far + 64.0 * (1.0 + far) / width);
    double q_error, p_error;
    const double m = log_mass_ratio(s->q, s->sign, a, b, normal, single, &q_error);
    const double n = log_mass_ratio(s->p, s->sign, a, b, normal, single, &p_error);
    const slant q_low = log_density(s->q, s->sign, a), q_high = log_density(s->q, s->sign, b);
    const slant p_low = log_density(s->p, s->sign, a), p_high = log_density(s->p, s->sign, b);
    const double y = m - n, y_error = q_error + p_error + 2.0 * PRV_UNIT * fabs(y);
    const double low = q_low.value - p_low.value, high = q_high.value - p_high.value;
    const double least = low - q_low.error - p_low.error - 2.0 * PRV_UNIT * fabs(low);
    const double most = high + q_high.error + p_high.error + 2.0 * PRV_UNIT * fabs(high);
    const double of_q_mass = normal + m, of_p_mass = normal + n;
    const double q_mass_error = single + q_error + 2.0 * PRV_UNIT * (fabs(normal) + fabs(of_q_mass));
    const double p_mass_error = single + p_error + 2.0 * PRV_UNIT * (fabs(normal) + fabs(of_p_mass));
    if (s->exchanged)
        cell_bounds(of_q_mass, q_mass_error, -y, y_error, -most, -least, alpha, lower, upper);
    else
        cell_bounds(of_p_mass, p_mass_error, y, y_error, least, most, alpha, lower, upper);

    /* Far out, where r^alpha is all of f, its logarithm is what is nearly linear: with A and B the log
     * densities of Q and P, phi r^alpha dP = e^(alpha A + (1 - alpha) B), of which convex terms lie between
     * tangents and chords. */
    const double of_q = s->exchanged ? 1.0 - alpha : alpha, of_p = s->exchanged ? alpha : 1.0 - alpha;
    const double middle = 0.5 * (a + b), half = middle - a;
    const slant q_middle = log_density(s->q, s->sign, middle), p_middle = log_density(s->p, s->sign, middle);
    const line q_chord = {q_low.value, (q_high.value - q_low.value) / (b - a)};
    const line p_chord = {p_low.value, (p_high.value - p_low.value) / (b - a)};
    const line q_tangent = {q_middle.value - q_middle.slope * half, q_middle.slope};
    const line p_tangent = {p_middle.value - p_middle.slope * half, p_middle.slope};
    const line *q_above = of_q > 0.0 ? &q_chord : &q_tangent, *q_below = of_q > 0.0 ? &q_tangent : &q_chord;
    const line *p_above = of_p > 0.0 ? &p_chord : &p_tangent, *p_below = of_p > 0.0 ? &p_tangent : &p_chord;
    const line above = combined(of_q, q_above, of_p, p_above), below = combined(of_q, q_below, of_p, p_below);
    const double steep = fmax(fabs(above.slope), fabs(below.slope)) + 2.0 * alpha * reach;
    const double logarithms = fabs(q_low.value) + fabs(q_high.value) + fabs(p_low.value) + fabs(p_high.value);
    /* A line through two values is off by the errors of both between them; a tangent by that of its slope,
     * times half. */
    const double lines = q_low.error + q_high.error + q_middle.error + p_low.error + p_high.error +
                         p_middle.error + (q_middle.slope_error + p_middle.slope_error) * half;
    const double rounding = alpha * lines +
                            PRV_UNIT * (128.0 + 32.0 * alpha * logarithms + 32.0 * steep * (steep + far) +
                                        64.0 * (1.0 + steep + far) / width);
    /* f = r^alpha - (1 + alpha (r - 1)): the integral of the latter is n + alpha (m - n). */
    const double of_one = s->exchanged ? of_q_mass : of_p_mass,
                 one_error = s->exchanged ? q_mass_error : p_mass_error;
    const double of_r = s->exchanged ? of_p_mass : of_q_mass,
                 r_error = s->exchanged ? p_mass_error : q_mass_error;
    log_sum rest = nothing;
    add(&rest, of_one + one_error);
    add(&rest, log(alpha) + of_r + r_error + 4.0 * PRV_UNIT * (log(alpha) + fabs(of_r)));
    /* + (alpha - 1) of_one is not more than what `rest` says twice over. */
    *lower = fmax(*lower, log_difference_below(log_integral(&below, a, b) - rounding, log_above(&rest)));
    log_sum top = nothing;
    add(&top, log_integral(&above, a, b) + rounding);
    const double log_rest = log(alpha - 1.0);
    add(&top, log_rest + of_one + one_error + 4.0 * PRV_UNIT * (fabs(log_rest) + fabs(of_one)));
    *upper = fmin(*upper, log_above(&top));
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

/* Not below log of (alpha - 1) times the mass that N(0, 1) has beyond x: what f, at most alpha - 1 at ratios
 * up to 1, adds there. */
static double beyond(double x, double alpha)
{
    const double tail = prv_log_upper_tail(x), rest = log(alpha - 1.0);
    return tail + rest + PRV_UNIT * (32.0 + 16.0 * x * x + 4.0 * fabs(rest));
}

/* The whole from z = start on: -infinity, or where the ratio is 1. */
static excess noise_excess(const noise *s, double start)
{
    excess sum = no_excess;
    /* Beyond `end` the integrand of r^alpha falls like a Gaussian. */
    double end = 12.0 + (s->exchanged ? s->q->reach : s->alpha * s->q->reach);
    const double steep = s->alpha * s->q->reach - (s->alpha - 1.0) * log_density(s->p, s->sign, end).slope;
    if (!s->exchanged) end = fmax(end, steep + 12.0);
    const double first = isfinite(start) ? start : -12.0 - s->p->reach;
    const double cells = fmin(ceil(4.0 * (end - first)), 0.25 * MOST_CELLS), step = (end - first) / cells;
    log_sum coarse = nothing;
    double left = first;
    for (double i = 0.0; i < cells; i += 1.0) {
        double lower, upper;
        const double right = i + 1.0 < cells ? first + step * (i + 1.0) : end;
        noise_cell(s, left, right, &lower, &upper);
        add(&coarse, lower);
        left = right;
    }
    size_t budget = MOST_CELLS;
    const double most_gap = log_of(&coarse) + log(TOLERANCE / cells);
    left = first;
    for (double i = 0.0; i < cells; i += 1.0) {
        const double right = i + 1.0 < cells ? first + step * (i + 1.0) : end;
        refine(s, left, right, most_gap, &budget, &sum);
        left = right;
    }

    /* Below the first cell ratios lie between 0 and that at its end, and f below its values there. */
    if (!isfinite(start)) {
        double lower, upper;
        const slant q = log_density(s->q, s->sign, first), p = log_density(s->p, s->sign, first);
        const double y = q.value - p.value, out = -first - s->p->reach;
        bounds_of_f(y, q.error + p.error + 2.0 * PRV_UNIT * fabs(y), s->alpha, &lower, &upper);
        add(&sum.upper,
            upper + prv_log_upper_tail(out) + PRV_UNIT * (32.0 + 16.0 * first * first + 2.0 * fabs(upper)));
        add(&sum.upper, beyond(out, s->alpha) + 16.0 * PRV_UNIT * first * first);
    }
    if (s->exchanged) {
        add(&sum.upper, beyond(end - s->q->reach, s->alpha) + 16.0 * PRV_UNIT * end * end);
        return sum;
    }
    const slant q = log_density(s->q, s->sign, end), p = log_density(s->p, s->sign, end);
    const double alpha = s->alpha, falling = p.slope - p.slope_error;
    const line above = {alpha * q.value + (1.0 - alpha) * p.value,
                        (alpha * s->q->reach - (alpha - 1.0) * falling) * (1.0 + 8.0 * PRV_UNIT)};
    const double size = above.slope + end;
    const double rounding = PRV_UNIT *
                            (128.0 + 32.0 * alpha * (fabs(q.value) + fabs(p.value)) + 32.0 * size * size);
    add(&sum.upper, log_integral(&above, end, HUGE_VAL) + alpha * (q.error + p.error) + rounding);
    add(&sum.upper, beyond(end, alpha));
    return sum;
}

/* Where the loss is 0, from below. */
static double even_outcome(const noise *s)
{
    double low = -s->p->reach - 1.0, high = s->q->reach + 1.0;
    for (int i = 0; i < 80; i++) {
        const double middle = 0.5 * (low + high);
        if (log_density(s->q, s->sign, middle).value > log_density(s->p, s->sign, middle).value)
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
        /* M = e^(alpha (alpha - 1) mu^2 / 2), whose logarithm is kept where it is no double. */
        const double mu = fabs(q->center[0] - p->center[0]);
        const double log_size = log(0.5 * alpha * (alpha - 1.0)), log_mu = log(mu);
        const double log_moment = 0.5 * alpha * (alpha - 1.0) * mu * mu;
        excess e = no_excess;
        if (mu == 0.0) return e;
        double log_excess;
        if (log_moment > 30.0)
            log_excess = log_moment + log1p(-exp(-log_moment));
        else
            log_excess = log_moment > 1e-20 ? log(expm1(log_moment))
                                            : log_size + 2.0 * log_mu; /* e^x - 1 = x there */
        /* Centres are off by u, so log_moment by 8 u of itself. */
        const double logarithms = 2.0 * fabs(log_excess) + 4.0 * (fabs(log_size) + fabs(log_mu));
        const double error = PRV_UNIT * (32.0 + 16.0 * log_moment + logarithms);
        if (isfinite(log_moment))
            add_excess(&e, log_excess - error, log_excess + error);
        else
            add_excess(&e, 0.5 * DBL_MAX, HUGE_VAL);
        return e;
    }
    if (folded) {
        const double start = even_outcome(&s);
        excess up = noise_excess(&s, start);
        s.exchanged = 1;
        const excess down = noise_excess(&s, start);
        add_excess(&up, log_below(&down.lower), log_above(&down.upper));
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

/* Not below log((1-p) + p e^x), x >= 0 off by 8 u of itself. */
static double log_of_sample(double p, double x)
{
    if (x < 30.0)
        return log1p(p * expm1(x)) * (1.0 + PRV_UNIT * (24.0 + 16.0 * x)); /* x e^x <= (1 + x) (e^x - 1) */
    const double log_p = log(p);
    return x + log_p + log1p((1.0 - p) / p * exp(-x)) + PRV_UNIT * (8.0 + 16.0 * x + 4.0 * fabs(log_p));
}

static void add_cut_off(const prv_mechanism *m, int add_direction, const prv_atoms *a, double alpha,
                        excess *e)
{
    const int replaced = m->without_replacement; /* such a pair is that of noise on twice the change */
    const double p = m->sampling_probability, change = (double)m->integer_sensitivity;
    const double shift = (replaced ? 2.0 : 1.0) * change / m->scale, rise = shift / m->scale;
    const double greatest = prv_greatest_loss(m, add_direction), log_rest = log(alpha - 1.0);
    /* Of neighbouring atoms' terms: off by 8 u of both of its parts, which is what it has to be below. */
    const double growth = (alpha - 1.0) * rise, fall = CUT_OFF / m->scale;
    const double log_ratio = isfinite(greatest) ? 0.0 : growth - fall + 8.0 * PRV_UNIT * (growth + fall);
    log_sum cut = nothing;
    if (isfinite(greatest)) {
        const double most = (alpha - 1.0) * fmax(greatest, 0.0);
        add(&cut, LOG_CUT_MASS + most * (1.0 + 8.0 * PRV_UNIT));
    } else if (log_ratio < 0.0) {
        const double top = fmax(a->loss[a->length - 1], 0.0) + rise, most = (alpha - 1.0) * top;
        const double series = -log(-expm1(log_ratio)); /* 1 / (1 - e^log_ratio), >= 0 */
        add(&cut, LOG_CUT_MASS + most * (1.0 + PRV_UNIT * 16.0 + a->loss_error) +
                      series * (1.0 + 8.0 * PRV_UNIT) + 8.0 * PRV_UNIT);
    } else {
        add(&cut, HUGE_VAL);
    }
    add(&cut, LOG_CUT_MASS + log_rest + 4.0 * PRV_UNIT * (fabs(log_rest) - LOG_CUT_MASS));
    add(&e->upper, log_above(&cut));
    /* And without looking at atoms: the moment of noise that is not sampled is at most that of Gaussian
     * noise, as the sum of e^(-(x - alpha s)^2 / (2 scale^2)) over the integers is greatest where alpha s
     * is one; with a sample, by Minkowski's inequality, |(1-p) + p r| <= (1-p) + p |r| in the norm of order
     * alpha, or if exchanged by convexity. Losses below 0 of a sample of fixed size add at most alpha - 1. */
    const double one = 0.5 * (alpha - 1.0) * shift * shift;
    log_sum whole = nothing;
    const double of_sample = add_direction && !replaced ? one * (1.0 + 8.0 * PRV_UNIT)
                                                        : log_of_sample(p, one);
    add(&whole, alpha * of_sample * (1.0 + 4.0 * PRV_UNIT));
    if (replaced) add(&whole, log_rest + 4.0 * PRV_UNIT * fabs(log_rest));
    if (log_above(&whole) < log_above(&e->upper)) {
        const double most = log_above(&whole);
        e->upper = nothing;
        add(&e->upper, most);
    }
}

/* The logarithm of a mass, and what rounding of masses that are hardly doubles does to it. */
static double log_mass_of(double mass, double *error)
{
    if (mass < DBL_MIN) {
        const double off = 2.0 * DBL_TRUE_MIN / mass;
        *error += off < 0.5 ? -log1p(-off) : HUGE_VAL;
        /* The most that it can be; the least is 0. */
        if (!(off < 0.5)) return log(mass + 2.0 * DBL_TRUE_MIN);
    }
    return log(mass);
}

static excess atoms_excess(const prv_mechanism *m, int add_direction, double alpha)
{
    const prv_atoms *a = m->atoms[add_direction];
    excess e = no_excess;
    for (size_t i = 0; i < a->length; i++) {
        const double y = a->loss[i], q = a->q[i], p = a->p[i];
        if (!(q > 0.0 || p > 0.0) || y == 0.0) continue; /* f(1) = 0 */
        const double of_masses = a->unbounded ? 4.0 * 740.0 : 0.0;
        const double y_error = fabs(y) * (a->loss_error + 2.0 * PRV_UNIT);
        double lower, upper, error = PRV_UNIT * (32.0 + of_masses + 8.0 * fabs(y)) + y_error;
        const int of_p = p >= DBL_MIN || !(q > 0.0);
        double of_mass = 0.0;
        const double log_mass = of_p ? log_mass_of(p, &of_mass) : log_mass_of(q, &of_mass) - y;
        bounds_of_f(y, y_error, alpha, &lower, &upper);
        error += PRV_UNIT * 4.0 * (fabs(log_mass) + fabs(upper));
        const int known = isfinite(of_mass);
        add_excess(&e, known ? lower + log_mass - error - of_mass : -HUGE_VAL,
                   upper + log_mass + error + (known ? of_mass : 0.0));
    }
    if (a->p_only > 0.0) {
        const double log_mass = log(a->p_only), log_rest = log(alpha - 1.0), only = log_mass + log_rest;
        const double error = PRV_UNIT * (32.0 + 4.0 * (fabs(log_mass) + fabs(log_rest)));
        add_excess(&e, only - error, only + error);
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
    const double *x = c->knots, log_rest = log(alpha - 1.0);
    size_t count = 0;
    *e = no_excess;
    for (int place = 0; place < 2; place++) {
        const double most_gap = place == 0 ? HUGE_VAL : log_of(&e->lower) + log(TOLERANCE / (double)n);
        size_t halved = 0;
        for (size_t i = 0; i <= n; i++) {
            const double anchor = x[i > 0 ? i - 1 : 0];
            const double high = i < n ? x[i] : fmax(greatest, x[n - 1]);
            double lower = -HUGE_VAL, upper = -HUGE_VAL;
            if (i == n && c->mass[n] > 0.0 && !isfinite(high)) {
                upper = HUGE_VAL;
            } else if (c->relative[i] > 0.0 || c->mass[i] > 0.0) {
                const double relative = fmax(c->relative[i], DBL_MIN);
                const double log_mass = log(relative) - anchor, y = anchor + log(c->mass[i] / relative);
                if (i > 0) {
                    /* The logarithms, their sum, and a quotient; what masses are off by is in tail_error. */
                    const double y_error = PRV_UNIT * (8.0 + 4.0 * (fabs(anchor) + fabs(y)));
                    const double mass_error = PRV_UNIT * (8.0 + 4.0 * (fabs(anchor) + fabs(log_mass)));
                    cell_bounds(log_mass, mass_error, fmin(fmax(y, anchor), high), y_error, anchor, high,
                                alpha, &lower, &upper);
                } else {
                    /* Ratios are between 0 and that at the end. */
                    bounds_of_f(anchor, 0.0, alpha, &lower, &upper);
                    upper = fmax(upper, log_rest + 4.0 * PRV_UNIT * fabs(log_rest)) + log_mass;
                    upper += PRV_UNIT * (8.0 + 4.0 * (fabs(log_mass) + fabs(upper)));
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
    const double greatest = prv_greatest_loss(m, add_direction) + prv_greatest_loss_error(m, add_direction);
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
            const double log_error = log(expm1(error)) +
                                     PRV_UNIT * 64.0; /* of expm1 and of a logarithm of 40 at most */
            add(&e->upper, log_above(&e->upper) + log_error);
            add(&e->upper, log_error);
            const double lower = log_difference_below(log_below(&e->lower), log(2.0) + log_error);
            e->lower = nothing;
            if (error < 0.25) add(&e->lower, lower + log1p(-2.0 * error));
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
            const double low = log_below(&part.lower), high = log_above(&part.upper);
            const double log_weight = log(m->part_weight[i]);
            const double error = -log1p(-m->part_error) + PRV_UNIT * (8.0 + 4.0 * fabs(log_weight));
            add_excess(e, low + log_weight - error - 2.0 * PRV_UNIT * fabs(low),
                       high + log_weight + error + 2.0 * PRV_UNIT * fabs(high));
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
    case PRV_BASE_BOUNDED_RANGE: {
        if (!prv_is_bounded_range(m)) break;
        /* Of all bounded ranges: data sets that have it, but for rounding, are in divergence_of_data. */
        const double most = prv_most_log_moment(m->mu, alpha - 1.0);
        const double log_excess = most > 30.0 ? most + log1p(-exp(-most)) : log(expm1(most));
        const double error = PRV_UNIT * (16.0 + 8.0 * most);
        add_excess(e, log_excess - error, log_excess + error);
        return PRV_OK;
    }
    case PRV_BASE_LAPLACE: break;
    }
    prv_profile profile;
    prv_status status = prv_profile_new(m, add_direction, 1, &profile);
    if (status != PRV_OK) return status;
    status = bounded_excess(m, add_direction, &profile, alpha, e);
    prv_profile_free(&profile);
    return status;
}

/* log M = log(1 + e^l), and what exp, log1p and the sum are off by: 6 u of it, or a few of the least numbers.
 */
static double log_moment_of(double l)
{
    return l > 30.0 ? l + log1p(exp(-l)) : log1p(exp(l));
}

static double log_moment_below(const log_sum *excess_sum)
{
    const double moment = log_moment_of(log_below(excess_sum));
    return fmax(moment * (1.0 - 8.0 * PRV_UNIT) - 4.0 * DBL_TRUE_MIN, 0.0);
}

static double log_moment_above(const log_sum *excess_sum)
{
    const double l = log_above(excess_sum);
    return l > -HUGE_VAL ? log_moment_of(l) * (1.0 + 8.0 * PRV_UNIT) + 4.0 * DBL_TRUE_MIN : 0.0;
}

/* Of what is not sampled at all, under the law that is a mixture; 0 where that is not known, or both are
 * mixtures. */
static double least_ratio(const prv_mechanism *m)
{
    if (m->base != PRV_BASE_MIXTURE) return 1.0 - m->sampling_probability;
    const prv_gaussian_mixture *g = m->mixture;
    return !g->mirrored && g->q.center[0] == 0.0 ? g->q.weight[0] : 0.0;
}

/* What weights that are off by factors of 1 +- e do to M - 1, by the better of two bounds.
 *
 * A density off by such factors makes M off by (1 - e)^-(1 + alpha) at most, either way.
 *
 * With X = R - 1, R the ratio of the mixture to what is not sampled, X is linear in the weights of what is,
 * E[X] = 0, and M - 1 = E[g(X)], g(x) = (1 + x)^b - 1 - b x with b = alpha, or 1 - alpha where the mixture is
 * P. It rises with each of these weights, since their laws lie above the others; and if all of them become t
 * times themselves, log g(t x) rises by at most c log t, where x g'(x) / g(x) <= c. That is so if the same
 * quotient of g'' is at most c - 2 between 0 and x (integrate twice), and it is (b - 2) x / (1 + x) there. So
 * c is 2 where (b - 2) x < 0, b where x > 0, and 2 + (1 + alpha) (1 - w) / w where b < 0 and R >= w; and b /
 * (b - 1) where 1 < b < 2 and x < 0, as the series of g in -x has terms >= 0 alone, so that the quotient is
 * greatest at x = -1. */
static void allow_for_weights(const prv_mechanism *m, int add_pair, double alpha, excess *e)
{
    if (m->weight_error == 0.0) return;
    const double factor = -log1p(-m->weight_error), by = log(expm1((1.0 + alpha) * factor)) + 8.0 * PRV_UNIT;
    const double low = log_below(&e->lower), high = log_above(&e->upper), least = least_ratio(m);
    double lower = log_difference_below(low, by + log_moment_above(&e->lower));
    excess wider = *e;
    add(&wider.upper, by + log_moment_above(&e->upper));
    double upper = log_above(&wider.upper);
    if (least > 0.0) {
        const double power = add_pair ? 2.0 + (1.0 + alpha) * (1.0 - least) / least
                                      : fmax(fmax(alpha, 2.0), alpha / (alpha - 1.0));
        /* Twice: for the rounding of this, and as the weights are those of either side. */
        lower = fmax(lower, low - 2.0 * power * factor - 2.0 * PRV_UNIT * fabs(low));
        upper = fmin(upper, high + 2.0 * power * factor + 2.0 * PRV_UNIT * fabs(high));
    }
    *e = no_excess;
    add_excess(e, lower, upper);
}

static prv_status divergence(const prv_direction *direction, double alpha, prv_bounds *b)
{
    double lower = 0.0, upper = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        excess e;
        const prv_status status = step_excess(direction->mechanisms[j], direction->add, alpha, &e);
        if (status != PRV_OK) return status;
        const prv_mechanism *m = direction->mechanisms[j];
        allow_for_weights(m, direction->add && !prv_is_symmetric(m), alpha, &e);
        lower += direction->counts[j] * log_moment_below(&e.lower);
        upper += direction->counts[j] * log_moment_above(&e.upper);
    }
    /* A product and a sum of terms >= 0 for each step, and the quotient. */
    const double sums = PRV_UNIT * (2.0 * (double)direction->steps + 8.0);
    b->lower = fmax(lower / (alpha - 1.0) * (1.0 - sums) - DBL_TRUE_MIN, 0.0);
    b->upper = upper > 0.0 ? upper / (alpha - 1.0) * (1.0 + sums) + DBL_TRUE_MIN : 0.0;
    /* Jensen's inequality costs about half as much as the chord does: a cell's ratios vary by (r_b - r_a)^2
     * / 12. */
    b->estimate = isfinite(b->upper) ? b->lower + (b->upper - b->lower) / 3.0 : b->lower;
    return prv_gate_range(0.0, HUGE_VAL, b);
}

/* The greatest divergence between data sets that exist. */
static prv_status divergence_of_data(const prv_direction *directions, size_t count, prv_neighbors neighbors,
                                     double alpha, double *lower)
{
    const double lam[2] = {alpha - 1.0, alpha - 1.0};
    prv_directions data;
    prv_status status = prv_data_directions_new(directions, count, neighbors, lam, 0.0, &data);
    for (size_t v = 0; v < data.count && status == PRV_OK; v++) {
        prv_bounds b;
        status = divergence(&data.each[v], alpha, &b);
        if (status == PRV_OK) *lower = fmax(*lower, b.lower);
    }
    prv_directions_free(&data);
    return status;
}

prv_status prv_renyi_divergence(const prv_step *steps, size_t step_count, const prv_options *options,
                                const double *orders, size_t length, prv_bounds *bounds)
{
    prv_status status = prv_check_options(options);
    for (size_t i = 0; i < length && status == PRV_OK; i++)
        if (!(orders[i] > 1.0 && orders[i] <= GREATEST_ORDER)) status = PRV_ERR_ORDER;
    if (status != PRV_OK) return status;
    prv_directions directions = {0};
    status = prv_directions_new(steps, step_count, options, &directions);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_QUESTIONS, options);
    layer.now.questions = length;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        layer.now.question = i;
        bounds[i] = (prv_bounds){0.0, 0.0, 0.0};
        for (size_t v = 0; v < directions.count && status == PRV_OK; v++) {
            prv_bounds b;
            status = prv_check_interrupt(options);
            if (status == PRV_OK) status = divergence(&directions.each[v], orders[i], &b);
            if (status != PRV_OK) break;
            prv_gate_worst(&bounds[i], &b);
        }
        if (status == PRV_OK && prv_direction_attainment(&directions.each[0]) != PRV_ATTAINED) {
            bounds[i].lower = 0.0;
            status = divergence_of_data(directions.each, directions.count, options->neighbors, orders[i],
                                        &bounds[i].lower);
            if (status == PRV_OK) status = prv_gate_range(0.0, HUGE_VAL, &bounds[i]);
        }
    }
    prv_directions_free(&directions);
    return status;
}
