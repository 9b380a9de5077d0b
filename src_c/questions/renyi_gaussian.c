/* With P = sum p_j N(sign b_j, 1) and Q = sum q_i N(sign a_i, 1), sign b_j <= 0 <= sign a_i, the loss rises
 * with the outcome z. The line of outcomes is cut into cells, which are bounded in two ways:
 *   - by renyi_excess.h, from the cell's masses and its ratios at both ends;
 *   - where r^alpha is nearly all of f, by tangents and chords of the log densities (bound_by_lines).
 * Masses are kept by their logarithms, so they never underflow, and beyond the last cell there is a closed
 * form. Which cells are taken decides how close the bounds are, never whether they hold. */
#include "questions/renyi_gaussian.h"

#include <float.h>
#include <math.h>

#include "base/progress.h"
#include "numerics/constants.h"
#include "numerics/normal.h"
#include "numerics/rounding.h"
#include "questions/renyi_mixture.h"

/* Cells before refinement, per unit of z and at most, and how often one may be halved in all: time and
 * closeness alone. */
#define CELLS_PER_UNIT 4.0
enum { MOST_CELLS = 1 << 18 };

/* Components whose masses and densities are computed, some 0.1 us each, before the caller is asked again. */
#define COMPONENTS_AT_ONCE ((size_t)1 << 14)

/* A cell is not halved below this width, relative to 1 + |z|: rounding of its ends would be all it shows. */
#define NARROWEST 1e-6

/* Cells end this many standard deviations beyond the last centre that counts; the rest is below e^-72 of a
 * component's integral. */
#define BEYOND_CENTERS 12.0

/* ---- One cell -------------------------------------------------------------------------------- */

/* A finite cell [a, b] and what is known of both laws on it. */
typedef struct outcomes {
    double a, b;
    double width;  /* b - a, at most 1 */
    double reach;  /* greatest distance of a centre from 0 */
    double far;    /* greatest distance of a z of the cell from a centre, at most */
    double q_mass; /* logarithms of the masses */
    double p_mass;
    double q_mass_error; /* what these are off by, at most */
    double p_mass_error;
    double y; /* log of the mean ratio Q / P */
    double y_error;
    prv_tangent q_low, q_high, p_low, p_high; /* log densities at a and at b */
} outcomes;

static outcomes outcomes_between(const prv_gaussian_integrand *g, double a, double b)
{
    outcomes c = {.a = a, .b = b, .width = fmin(b - a, 1.0), .reach = fmax(g->q->reach, g->p->reach)};
    const double normal = prv_log_between(a, b);
    c.far = fmax(fabs(a), fabs(b)) + c.reach;
    /* Of prv_log_between; and ends are off by 3 u `far`, which moves such a mass by far + 2 / width times
     * that. */
    const double single = PRV_UNIT * (128.0 + 16.0 * c.far * c.far + 64.0 * (1.0 + c.far) / c.width);
    double q_error, p_error;
    const double m = prv_mixture_log_mass(g->q, g->sign, a, b, normal, single, &q_error);
    const double n = prv_mixture_log_mass(g->p, g->sign, a, b, normal, single, &p_error);
    c.y = m - n;
    c.y_error = q_error + p_error + 2.0 * PRV_UNIT * fabs(c.y);
    c.q_mass = normal + m;
    c.p_mass = normal + n;
    c.q_mass_error = single + q_error + 2.0 * PRV_UNIT * (fabs(normal) + fabs(c.q_mass));
    c.p_mass_error = single + p_error + 2.0 * PRV_UNIT * (fabs(normal) + fabs(c.p_mass));
    c.q_low = prv_mixture_log_density(g->q, g->sign, a);
    c.q_high = prv_mixture_log_density(g->q, g->sign, b);
    c.p_low = prv_mixture_log_density(g->p, g->sign, a);
    c.p_high = prv_mixture_log_density(g->p, g->sign, b);
    return c;
}

static void bound_by_ratios(const prv_gaussian_integrand *g, const outcomes *c, double *lower, double *upper)
{
    const double low = c->q_low.value - c->p_low.value, high = c->q_high.value - c->p_high.value;
    const double least = low - c->q_low.error - c->p_low.error - 2.0 * PRV_UNIT * fabs(low);
    const double most = high + c->q_high.error + c->p_high.error + 2.0 * PRV_UNIT * fabs(high);
    if (g->reversed)
        prv_excess_bounds_of_cell(c->q_mass, c->q_mass_error, -c->y, c->y_error, -most, -least, g->alpha,
                                  lower, upper);
    else
        prv_excess_bounds_of_cell(c->p_mass, c->p_mass_error, c->y, c->y_error, least, most, g->alpha, lower,
                                  upper);
}

typedef struct line {
    double value, slope; /* the value is that at the lower end of the cell */
} line;

static line combined(double of_q, const line *q, double of_p, const line *p)
{
    return (line){of_q * q->value + of_p * p->value, of_q * q->slope + of_p * p->slope};
}

/* log of the integral of phi(z) e^line from a to b; b may be infinite. */
static double log_integral(const line *l, double a, double b)
{
    return l->value + l->slope * (0.5 * l->slope - a) + prv_log_between(a - l->slope, b - l->slope);
}

/* Lines above and below alpha A + (1 - alpha) B on a cell, A and B the log densities of Q and P (exchanged if
 * reversed), and what rounding moves the integrals of their exponentials by. */
typedef struct lines {
    line above, below;
    double rounding;
} lines;

/* A and B are convex: each lies between its tangent at the middle and its chord. */
static lines lines_of(const prv_gaussian_integrand *g, const outcomes *c)
{
    const double alpha = g->alpha, a = c->a, b = c->b;
    const double of_q = g->reversed ? 1.0 - alpha : alpha, of_p = g->reversed ? alpha : 1.0 - alpha;
    const double middle = 0.5 * (a + b), half = middle - a;
    const prv_tangent q_middle = prv_mixture_log_density(g->q, g->sign, middle),
                      p_middle = prv_mixture_log_density(g->p, g->sign, middle);
    const line q_chord = {c->q_low.value, (c->q_high.value - c->q_low.value) / (b - a)};
    const line p_chord = {c->p_low.value, (c->p_high.value - c->p_low.value) / (b - a)};
    const line q_tangent = {q_middle.value - q_middle.slope * half, q_middle.slope};
    const line p_tangent = {p_middle.value - p_middle.slope * half, p_middle.slope};
    const line *q_above = of_q > 0.0 ? &q_chord : &q_tangent, *q_below = of_q > 0.0 ? &q_tangent : &q_chord;
    const line *p_above = of_p > 0.0 ? &p_chord : &p_tangent, *p_below = of_p > 0.0 ? &p_tangent : &p_chord;
    lines l = {combined(of_q, q_above, of_p, p_above), combined(of_q, q_below, of_p, p_below), 0.0};
    const double steep = fmax(fabs(l.above.slope), fabs(l.below.slope)) + 2.0 * alpha * c->reach;
    const double logarithms = fabs(c->q_low.value) + fabs(c->q_high.value) + fabs(c->p_low.value) +
                              fabs(c->p_high.value);
    /* A line through two values is off by the errors of both between them; a tangent by that of its slope,
     * times half. */
    const double of_lines = c->q_low.error + c->q_high.error + q_middle.error + c->p_low.error +
                            c->p_high.error + p_middle.error +
                            (q_middle.slope_error + p_middle.slope_error) * half;
    l.rounding = alpha * of_lines +
                 PRV_UNIT * (128.0 + 32.0 * alpha * logarithms + 32.0 * steep * (steep + c->far) +
                             64.0 * (1.0 + steep + c->far) / c->width);
    return l;
}

/* Far out r^alpha is nearly all of f = r^alpha - (1 + alpha (r - 1)), and the logarithm of phi r^alpha dP =
 * phi e^(alpha A + (1 - alpha) B) is nearly linear but for phi. The integral of the rest is n + alpha (m -
 * n). Raises *lower and lowers *upper to what follows. */
static void bound_by_lines(const prv_gaussian_integrand *g, const outcomes *c, double *lower, double *upper)
{
    const double alpha = g->alpha;
    const lines l = lines_of(g, c);
    const double of_one = g->reversed ? c->q_mass : c->p_mass;
    const double one_error = g->reversed ? c->q_mass_error : c->p_mass_error;
    const double of_r = g->reversed ? c->p_mass : c->q_mass;
    const double r_error = g->reversed ? c->p_mass_error : c->q_mass_error;
    prv_log_sum rest = PRV_EMPTY_LOG_SUM;
    prv_log_sum_add(&rest, of_one + one_error);
    prv_log_sum_add(&rest, log(alpha) + of_r + r_error + 4.0 * PRV_UNIT * (log(alpha) + fabs(of_r)));
    /* `rest` counts n twice instead of adding (alpha - 1) n, which is no more. */
    *lower = fmax(*lower, prv_log_difference_below(log_integral(&l.below, c->a, c->b) - l.rounding,
                                                   prv_log_sum_above(&rest)));
    prv_log_sum top = PRV_EMPTY_LOG_SUM;
    prv_log_sum_add(&top, log_integral(&l.above, c->a, c->b) + l.rounding);
    const double log_rest = log(alpha - 1.0);
    prv_log_sum_add(&top, log_rest + of_one + one_error + 4.0 * PRV_UNIT * (fabs(log_rest) + fabs(of_one)));
    *upper = fmin(*upper, prv_log_sum_above(&top));
}

void prv_gaussian_excess_of_cell(const prv_gaussian_integrand *g, double a, double b, double *lower,
                                 double *upper)
{
    const outcomes c = outcomes_between(g, a, b);
    bound_by_ratios(g, &c, lower, upper);
    bound_by_lines(g, &c, lower, upper);
}

/* ---- All outcomes ---------------------------------------------------------------------------- */

/* What is left to do, and when the caller was last asked whether to go on. */
typedef struct work {
    const prv_options *options;
    size_t halvings; /* that may follow */
    size_t unasked;  /* components looked at since the caller was asked */
} work;

static prv_status ask_now_and_then(const prv_gaussian_integrand *g, work *w)
{
    w->unasked += g->q->length + g->p->length;
    if (w->unasked < COMPONENTS_AT_ONCE) return PRV_OK;
    w->unasked = 0;
    return prv_check_interrupt(w->options);
}

/* Halves the cell until its bounds are e^most_gap apart, or no halvings are left. */
static prv_status refine(const prv_gaussian_integrand *g, double a, double b, double most_gap, work *w,
                         prv_excess *sum)
{
    double lower, upper;
    prv_status status = ask_now_and_then(g, w);
    if (status != PRV_OK) return status;
    prv_gaussian_excess_of_cell(g, a, b, &lower, &upper);
    const double middle = 0.5 * (a + b);
    if (w->halvings == 0 || !(a < middle && middle < b) || b - a < NARROWEST * (1.0 + fabs(a)) ||
        prv_log_difference(upper, lower) <= most_gap) {
        prv_excess_add(sum, lower, upper);
        return PRV_OK;
    }
    w->halvings--;
    status = refine(g, a, middle, most_gap - PRV_LOG_2, w, sum);
    return status == PRV_OK ? refine(g, middle, b, most_gap - PRV_LOG_2, w, sum) : status;
}

/* Equal cells of [first, end]. */
typedef struct grid {
    double first, end, cells, step;
} grid;

static double right_end(const grid *cut, double i)
{
    return i + 1.0 < cut->cells ? cut->first + cut->step * (i + 1.0) : cut->end;
}

static prv_status add_cells(const prv_gaussian_integrand *g, const grid *cut, const prv_options *options,
                            prv_excess *sum)
{
    prv_log_sum coarse = PRV_EMPTY_LOG_SUM;
    work w = {options, MOST_CELLS, 0};
    prv_status status = PRV_OK;
    double left = cut->first;
    for (double i = 0.0; i < cut->cells; i += 1.0) {
        double lower, upper;
        status = ask_now_and_then(g, &w);
        if (status != PRV_OK) return status;
        const double right = right_end(cut, i);
        prv_gaussian_excess_of_cell(g, left, right, &lower, &upper);
        prv_log_sum_add(&coarse, lower);
        left = right;
    }
    const double most_gap = prv_log_sum_value(&coarse) + log(PRV_RENYI_TOLERANCE / cut->cells);
    left = cut->first;
    for (double i = 0.0; i < cut->cells && status == PRV_OK; i += 1.0) {
        const double right = right_end(cut, i);
        status = refine(g, left, right, most_gap, &w, sum);
        left = right;
    }
    return status;
}

/* Not below log of (alpha - 1) times the mass that N(0, 1) has beyond x: f is at most alpha - 1 at ratios up
 * to 1. */
static double tail_excess(double x, double alpha)
{
    const double tail = prv_log_upper_tail(x), rest = log(alpha - 1.0);
    return tail + rest + PRV_UNIT * (32.0 + 16.0 * x * x + 4.0 * fabs(rest));
}

/* Below `first` ratios lie between 0 and that at `first`, so f is at most the greater of its values there. */
static void add_below(const prv_gaussian_integrand *g, double first, prv_excess *sum)
{
    double lower, upper;
    const prv_tangent q = prv_mixture_log_density(g->q, g->sign, first),
                      p = prv_mixture_log_density(g->p, g->sign, first);
    const double y = q.value - p.value, out = -first - g->p->reach;
    prv_excess_bounds_at(y, q.error + p.error + 2.0 * PRV_UNIT * fabs(y), g->alpha, &lower, &upper);
    prv_log_sum_add(&sum->upper, upper + prv_log_upper_tail(out) +
                                     PRV_UNIT * (32.0 + 16.0 * first * first + 2.0 * fabs(upper)));
    prv_log_sum_add(&sum->upper, tail_excess(out, g->alpha) + 16.0 * PRV_UNIT * first * first);
}

/* Beyond `end`, A is at most linear with Q's greatest centre as its slope, and B at least its tangent. As
 * `end` is above all centres, r >= 1 there (A >= 0 >= B), and f(r) <= r^alpha. */
static void add_above(const prv_gaussian_integrand *g, double end, prv_excess *sum)
{
    if (g->reversed) {
        prv_log_sum_add(&sum->upper, tail_excess(end - g->q->reach, g->alpha) + 16.0 * PRV_UNIT * end * end);
        return;
    }
    const prv_tangent q = prv_mixture_log_density(g->q, g->sign, end),
                      p = prv_mixture_log_density(g->p, g->sign, end);
    const double alpha = g->alpha, falling = p.slope - p.slope_error;
    const line above = {alpha * q.value + (1.0 - alpha) * p.value,
                        (alpha * g->q->reach - (alpha - 1.0) * falling) * (1.0 + 8.0 * PRV_UNIT)};
    const double size = above.slope + end;
    const double rounding = PRV_UNIT *
                            (128.0 + 32.0 * alpha * (fabs(q.value) + fabs(p.value)) + 32.0 * size * size);
    prv_log_sum_add(&sum->upper,
                    log_integral(&above, end, HUGE_VAL) + alpha * (q.error + p.error) + rounding);
}

/* Of all z from `start` on: -infinity, or the outcome of ratio 1. */
static prv_status integrate(const prv_gaussian_integrand *g, double start, const prv_options *options,
                            prv_excess *sum)
{
    /* Beyond `end` the integrand of r^alpha falls like a Gaussian. */
    double end = BEYOND_CENTERS + (g->reversed ? g->q->reach : g->alpha * g->q->reach);
    const double steep = g->alpha * g->q->reach -
                         (g->alpha - 1.0) * prv_mixture_log_density(g->p, g->sign, end).slope;
    if (!g->reversed) end = fmax(end, steep + BEYOND_CENTERS);
    const double first = isfinite(start) ? start : -BEYOND_CENTERS - g->p->reach;
    const double cells = fmin(ceil(CELLS_PER_UNIT * (end - first)), 0.25 * MOST_CELLS);
    const grid cut = {first, end, cells, (end - first) / cells};
    *sum = (prv_excess)PRV_NO_EXCESS;
    const prv_status status = add_cells(g, &cut, options, sum);
    if (status != PRV_OK) return status;
    if (!isfinite(start)) add_below(g, first, sum);
    add_above(g, end, sum);
    return PRV_OK;
}

/* The outcome whose loss is 0, from below. */
static double outcome_of_loss_0(const prv_gaussian_integrand *g)
{
    double low = -g->p->reach - 1.0, high = g->q->reach + 1.0;
    for (int i = 0; i < 80; i++) {
        const double middle = 0.5 * (low + high);
        if (prv_mixture_log_density(g->q, g->sign, middle).value >
            prv_mixture_log_density(g->p, g->sign, middle).value)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* N(0, 1) against N(mu, 1): M = e^(alpha (alpha - 1) mu^2 / 2), by its logarithm where M is no double. */
static prv_excess excess_of_one_gaussian(double mu, double alpha)
{
    prv_excess e = PRV_NO_EXCESS;
    if (mu == 0.0) return e;
    const double log_size = log(0.5 * alpha * (alpha - 1.0)), log_mu = log(mu);
    const double log_moment = 0.5 * alpha * (alpha - 1.0) * mu * mu;
    double log_excess;
    if (log_moment > PRV_LARGE_LOGARITHM)
        log_excess = log_moment + log1p(-exp(-log_moment));
    else if (log_moment > 1e-20)
        log_excess = log(expm1(log_moment));
    else
        log_excess = log_size + 2.0 * log_mu; /* e^x - 1 = x there, and x may underflow */
    /* Centres are off by u, so log_moment by 8 u of itself. */
    const double logarithms = 2.0 * fabs(log_excess) + 4.0 * (fabs(log_size) + fabs(log_mu));
    const double error = PRV_UNIT * (32.0 + 16.0 * log_moment + logarithms);
    if (isfinite(log_moment))
        prv_excess_add(&e, log_excess - error, log_excess + error);
    else
        prv_excess_add(&e, 0.5 * DBL_MAX, HUGE_VAL);
    return e;
}

prv_status prv_gaussian_excess(const prv_components *q, const prv_components *p, bool add, bool folded,
                               double alpha, const prv_options *options, prv_excess *excess)
{
    if (q->length == 1 && p->length == 1) {
        *excess = excess_of_one_gaussian(fabs(q->center[0] - p->center[0]), alpha);
        return PRV_OK;
    }
    prv_gaussian_integrand g = {q, p, 1.0, alpha, false};
    if (folded) {
        const double start = outcome_of_loss_0(&g);
        prv_status status = integrate(&g, start, options, excess);
        if (status != PRV_OK) return status;
        prv_excess down;
        g.reversed = true;
        status = integrate(&g, start, options, &down);
        prv_excess_add(excess, prv_log_sum_below(&down.lower), prv_log_sum_above(&down.upper));
        return status;
    }
    if (add) g = (prv_gaussian_integrand){p, q, -1.0, alpha, false};
    return integrate(&g, -HUGE_VAL, options, excess);
}
