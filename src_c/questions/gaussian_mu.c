/* The least mu such that the privacy curve lies below that of N(0, 1) against N(mu, 1) wherever it exceeds
 * a delta.
 *
 * Every lower bound of delta at one epsilon gives a lower bound of mu. From above, delta is convex in t =
 * e^eps, so between two epsilons it lies below the chord through upper bounds there; the Gaussian curve is
 * convex in t too, so that the least distance from it to the chord is found, and bounded from below, by its
 * tangents. The intervals from epsilon 0 to one where delta is certainly no longer exceeded cover all that
 * is claimed.
 *
 * Where delta rounds to 1 its complement c = 1 - delta is bounded instead, which is concave in t and 0 at t =
 * 0: c grows and c / t falls with t, so that a bound at one epsilon is one at others. At single epsilons
 * moments bound it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/constants.h"
#include "numerics/normal.h"
#include "numerics/rounding.h"
#include "curve/attained.h"
#include "curve/gate.h"
#include "planning/aim.h"
#include "questions/epsilon_delta.h"
#include "questions/question.h"

enum { MOST_POINTS = 400 };

#define LEAST_MU 1e-12
#define GREATEST_MU 1e6
/* The first complement that a query of delta is asked for, which need not tell smaller ones from 0; and by
 * how much the next is larger if it could not. */
#define LEAST_COMPLEMENT (16.0 * PRV_FINEST_DELTA)
#define NEXT_COMPLEMENT 16.0
/* Epsilons at which a complement is bounded lie this part of the tilted deviation apart, but are no more than
 * so many. */
#define COMPLEMENT_STEP 0.05
#define MOST_COMPLEMENTS 2000.0
/* Chords are short enough when they cost no more than this of mu. */
#define CHORD_SHARE 5e-4

/* ---- The Gaussian curve ---------------------------------------------------------------------- */

/* delta = Phi(-x) - e^eps Phi(-x - mu), x = eps / mu - mu / 2. */
typedef struct gaussian {
    double delta;
    double error;   /* of delta, at most */
    double reverse; /* e^eps Phi(-x - mu) = -d delta / d eps */
} gaussian;

static gaussian gaussian_at(double epsilon, double mu)
{
    const double x = epsilon / mu - 0.5 * mu, y = x + mu;
    const double density = PRV_INV_SQRT_2PI * exp(-0.5 * x * x); /* phi(x) = e^eps phi(y) */
    gaussian g;
    double first;
    if (x >= 2.0) {
        const double far = prv_mills_ratio(y), near = prv_mills_ratio(x);
        g.reverse = density * far;
        first = density * near;
        g.delta = density * (near - far);
    } else {
        g.reverse = y >= 2.0 ? density * prv_mills_ratio(y) : exp(epsilon) * prv_upper_tail(y);
        first = prv_upper_tail(x);
        g.delta = first - g.reverse;
    }
    g.delta = fmax(g.delta, 0.0);
    /* Of the functions; of e^(-x^2 / 2); and x is off by what moves epsilon by 4 u (eps + mu^2). */
    g.error = PRV_UNIT * (32.0 * (first + g.reverse) + 4.0 * x * x * g.delta +
                          (8.0 + 4.0 * (epsilon + mu * mu)) * g.reverse);
    return g;
}

/* side > 0: the least mu found at which the curve certainly reaches delta at epsilon, infinite if there is
 * none; side < 0: the greatest found at which it certainly does not exceed delta, 0 if there is none. */
static double mu_at(double epsilon, double delta, int side)
{
    double low = LEAST_MU, high = GREATEST_MU;
    for (int i = 0; i < 64 && high > low * (1.0 + 1e-13); i++) {
        const double mu = sqrt(low) * sqrt(high);
        const gaussian g = gaussian_at(epsilon, mu);
        if (side > 0 ? g.delta - g.error >= delta : g.delta + g.error > delta)
            high = mu;
        else
            low = mu;
    }
    if (side > 0) return high < GREATEST_MU ? high : HUGE_VAL;
    return low > LEAST_MU ? low : 0.0;
}

/* ---- Chords ---------------------------------------------------------------------------------- */

typedef struct point {
    double epsilon, upper;                  /* and the bound of delta there */
    double mu_lower, mu_upper, mu_estimate; /* that the curve needs at this point alone */
    double mu_chord;                        /* that it needs from here to the next point */
    prv_report report;                      /* of the bound */
} point;

/* The Gaussian curve minus the chord from a to b, in s = e^(eps - a.epsilon) - 1. */
typedef struct gap {
    double value, slope; /* at an epsilon: a lower bound, and about */
    double slope_error;
} gap;

static gap gap_at(const point *a, double chord_slope, double epsilon, double mu)
{
    const gaussian g = gaussian_at(epsilon, mu);
    const double distance = epsilon - a->epsilon, fall = chord_slope * expm1(distance);
    const double slope = exp(-distance) * g.reverse;
    const double rounding = 8.0 * PRV_UNIT * (a->upper - (1.0 + distance) * fall);
    return (gap){g.delta - g.error - (a->upper + fall) - rounding, -slope - chord_slope,
                 PRV_UNIT * ((64.0 + 8.0 * (epsilon + mu * mu)) * slope + 8.0 * fabs(chord_slope))};
}

/* 1 if the curve of mu certainly lies above the chord; it does so at a and b. */
static int is_above(const point *a, const point *b, double mu)
{
    const double length = expm1(b->epsilon - a->epsilon), slope = (b->upper - a->upper) / length;
    double low = a->epsilon, high = b->epsilon;
    gap g = gap_at(a, slope, low, mu);
    if (g.slope - g.slope_error >= 0.0) return 1;
    for (int i = 0; i < 60; i++) {
        /* The least value lies between low and high, where the tangent at low is a lower bound. */
        const double step = exp(low - a->epsilon) * expm1(high - low);
        if (g.value + fmin(g.slope, 0.0) * step - g.slope_error * length >= 0.0) return 1;
        const double middle = 0.5 * (low + high);
        const gap m = gap_at(a, slope, middle, mu);
        if (m.value < 0.0) return 0;
        if (m.slope < 0.0) {
            low = middle;
            g = m;
        } else {
            high = middle;
        }
    }
    return 0;
}

/* What the chord from a to b needs, to a small part of CHORD_SHARE. */
static double mu_of_chord(const point *a, const point *b)
{
    const double ends = fmax(a->mu_upper, b->mu_upper);
    if (!(ends < HUGE_VAL)) return ends;
    /* Both curves fall: reaching the greater value at the farther end is enough. */
    double high = fmax(mu_at(b->epsilon, a->upper, 1), ends), low = ends;
    if (!(b->epsilon - a->epsilon < 300.0)) return high;
    const double start = fmin(ends * (1.0 + 0.1 * CHORD_SHARE), high);
    if (is_above(a, b, start)) return start;
    low = start;
    if (!(high < HUGE_VAL)) high = GREATEST_MU;
    for (int i = 0; i < 64 && high > low * (1.0 + 0.1 * CHORD_SHARE); i++) {
        const double mu = sqrt(low) * sqrt(high);
        if (is_above(a, b, mu))
            high = mu;
        else
            low = mu;
    }
    return high < GREATEST_MU ? high : HUGE_VAL;
}

/* ---- What is searched ------------------------------------------------------------------------- */

typedef struct search {
    prv_direction *directions;
    size_t direction_count;
    prv_report told; /* of what decides, or of what failed */
    const prv_options *options;
    double delta, farthest; /* no epsilon from there on exceeds delta */
    double mu_before;       /* needed below the epsilon of the first point */
    size_t count;
    point points[MOST_POINTS]; /* by epsilon */
} search;

/* ---- Complements ------------------------------------------------------------------------------ */

/* log(1 - delta_mu), from above: log(Phi(x) + e^eps Phi(-x - mu)). */
static double log_gaussian_complement(double epsilon, double mu)
{
    const double x = epsilon / mu - 0.5 * mu;
    const double a = prv_log_upper_tail(-x), b = epsilon + prv_log_upper_tail(x + mu);
    /* x and epsilon are rounded, and the logarithms go like x^2 / 2. */
    return fmax(a, b) + log1p(exp(-fabs(a - b))) + 64.0 * PRV_UNIT * (8.0 + epsilon + mu * mu);
}

/* The coarse dominating law of the composition, tilted by -t. */
static prv_moments dominating_moments(const prv_direction *direction, double t)
{
    prv_moments sum = {0.0, 0.0, 0.0};
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const prv_moments m = prv_tilt(p->knots, p->dominating, p->knot_count, -t, NULL);
        sum.log_moment += direction->counts[j] * m.log_moment;
        sum.mean += direction->counts[j] * m.mean;
        sum.variance += direction->counts[j] * m.variance;
    }
    return sum;
}

/* log(1 - delta(epsilon)), from below. With D the dominating law, s = Y - epsilon, and w its finite losses
 * tilted by -t, of mean m of s and variance V,
 *     1 - delta >= E_D[min(1, e^-s)] = e^(t epsilon) M(-t) E_w[e^(t s - max(s, 0))],
 * where E_w[e^f] >= e^(E_w f) and E_w max(s, 0) <= (m + sqrt(V + m^2)) / 2, both by Jensen's inequality. Any
 * t is right, and the one that centres w on epsilon good: the search for it starts at *t, and leaves it
 * there. */
static double log_complement(const prv_direction *direction, double epsilon, double *t, double *deviation)
{
    double best = -HUGE_VAL;
    for (int i = 0; i < 8; i++) {
        const prv_moments m = dominating_moments(direction, *t);
        const double distance = m.mean - epsilon, root = sqrt(m.variance + distance * distance);
        /* Of cells, as their contract counts it; and of moments, far less than what is taken off here. */
        double cells = 0.0;
        for (size_t j = 0; j < direction->steps; j++)
            cells += direction->counts[j] *
                     (direction->profiles[j].rounding.relative + direction->profiles[j].rounding.shift);
        const double rounding = cells + 1e-6 * (fabs(m.log_moment) + fabs(m.mean) + epsilon) +
                                1e-9 * (direction->all.count + sqrt(direction->all.count * m.variance));
        best = fmax(best, m.log_moment + *t * m.mean - 0.5 * (distance + root) - rounding);
        *deviation = sqrt(m.variance);
        const double next = fmin(fmax(*t + distance / fmax(m.variance, 1e-300), 0.0), 1.0);
        if (fabs(distance) <= 0.1 * *deviation || next == *t) break;
        *t = next;
    }
    return best;
}

/* 1 if from low to high the complement of the Gaussian curve is certainly at most that of the composition,
 * which is at least e^at_low at low and e^at_high at high. */
static int is_below(double low, double high, double at_low, double at_high, double mu)
{
    return log_gaussian_complement(high, mu) <= at_low ||
           log_gaussian_complement(low, mu) <= at_high - (high - low) - 4.0 * PRV_UNIT * high;
}

/* The least mu found, not below `start`, whose complement is at most that of the composition from epsilon 0
 * to `end`, where that is at least e^log_end. */
static prv_status mu_of_complement(const search *s, double end, double log_end, double start, double *result)
{
    double mu = start, high = end, at_high = log_end, step = end / MOST_COMPLEMENTS, tilts[2] = {0.0, 0.0};
    *result = HUGE_VAL;
    for (size_t v = 0; v < s->direction_count; v++)
        if (prv_direction_absolute_error(&s->directions[v]) > 0.0) return PRV_OK;
    while (high > 0.0) {
        const prv_status interrupted = prv_check_interrupt(s->options);
        if (interrupted != PRV_OK) return interrupted;
        const double low = fmax(high - step, 0.0);
        double at_low = HUGE_VAL, spread = HUGE_VAL;
        for (size_t v = 0; v < s->direction_count; v++) {
            double deviation;
            at_low = fmin(at_low, log_complement(&s->directions[v], low, &tilts[v], &deviation));
            spread = fmin(spread, deviation);
        }
        /* c / t falls. */
        at_low = fmax(at_low, at_high - (high - low) - 4.0 * PRV_UNIT * high);
        if (!is_below(low, high, at_low, at_high, mu)) {
            double enough = fmax(mu, 1.0);
            while (enough < GREATEST_MU && !is_below(low, high, at_low, at_high, enough)) enough *= 2.0;
            if (!(enough < GREATEST_MU)) return PRV_OK;
            double less = fmax(mu, 0.5 * enough);
            for (int i = 0; i < 64 && enough > less * (1.0 + 0.1 * CHORD_SHARE); i++) {
                const double middle = sqrt(less) * sqrt(enough);
                if (is_below(low, high, at_low, at_high, middle))
                    enough = middle;
                else
                    less = middle;
            }
            mu = enough;
        }
        step = fmax(COMPLEMENT_STEP * spread, end / MOST_COMPLEMENTS);
        high = low;
        at_high = at_low;
    }
    *result = mu;
    return PRV_OK;
}

/* ---- The search ------------------------------------------------------------------------------ */

static point point_of(double epsilon, const prv_bounds *delta, const prv_report *report)
{
    return (point){epsilon,
                   delta->upper,
                   mu_at(epsilon, delta->lower, -1),
                   mu_at(epsilon, delta->upper, 1),
                   mu_at(epsilon, delta->estimate, 1),
                   0.0,
                   *report};
}

/* Asks for delta at another epsilon, in front of point `before`. */
static prv_status look_at(search *s, double epsilon, size_t before)
{
    prv_options options = *s->options;
    options.delta_relative_error = 0.0; /* the width of mu is that in epsilon */
    if (options.eps_error == 0.0)
        options.eps_error = options.eps_relative_error *
                            fmax(fmax(epsilon, 0.1 * s->farthest), options.eps_floor);
    prv_bounds delta;
    prv_report report;
    memset(&report, 0, sizeof report);
    const prv_status status = prv_answer(s->directions, s->direction_count, &options, PRV_ASK_DELTA, &epsilon,
                                         1, &delta, &report);
    s->told.memory = report.memory;
    if (status != PRV_OK) return status;
    for (size_t i = s->count; i > before; i--) s->points[i] = s->points[i - 1];
    s->points[before] = point_of(epsilon, &delta, &report);
    /* Nothing is claimed where delta is not exceeded. */
    if (delta.lower < s->delta) s->points[before].mu_lower = 0.0;
    s->count++;
    return PRV_OK;
}

static void drop_first(search *s)
{
    s->count--;
    for (size_t i = 0; i < s->count; i++) s->points[i] = s->points[i + 1];
}

/* The last epsilon, about, at which the complement is certainly no more than this. */
static double last_below(const search *s, double complement)
{
    double low = 0.0, high = s->farthest;
    for (int i = 0; i < 32 && high - low > 1e-3 * high; i++) {
        const double middle = 0.5 * (low + high);
        double most = HUGE_VAL;
        for (size_t v = 0; v < s->direction_count; v++)
            most = fmin(most, prv_log_complement(&s->directions[v], middle));
        if (most <= log(complement))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* If delta rounds to 1 at the first point, replaces that by one where it does not, and bounds what is needed
 * before that. */
static prv_status begin_visible(search *s)
{
    s->mu_before = 0.0;
    if (s->points[0].mu_upper < HUGE_VAL) return PRV_OK;
    drop_first(s); /* the last point remains */
    for (double least = LEAST_COMPLEMENT; least < 0.5; least *= NEXT_COMPLEMENT) {
        const double epsilon = last_below(s, least);
        if (!(epsilon < s->points[0].epsilon)) break;
        const prv_status status = look_at(s, epsilon, 0);
        if (status != PRV_OK) return status;
        if (s->points[0].mu_upper < HUGE_VAL) break;
        drop_first(s);
    }
    const point *first = &s->points[0];
    s->mu_before = HUGE_VAL;
    if (!(first->mu_upper < HUGE_VAL)) return PRV_OK;
    return mu_of_complement(s, first->epsilon, log1p(-first->upper), first->mu_upper, &s->mu_before);
}

static prv_status mu_above(search *s, prv_bounds *mu)
{
    prv_bounds end;
    prv_report *const told = &s->told;
    prv_status status = prv_answer(s->directions, s->direction_count, s->options, PRV_ASK_EPSILON, &s->delta,
                                   1, &end, told);
    if (status != PRV_OK) return status;
    if (!(end.upper < HUGE_VAL)) {
        *mu = (prv_bounds){end.lower < HUGE_VAL ? 0.0 : HUGE_VAL, HUGE_VAL, HUGE_VAL};
        return PRV_OK;
    }
    if (end.upper == 0.0) {
        *mu = (prv_bounds){0.0, 0.0, 0.0};
        return PRV_OK;
    }
    s->farthest = end.upper;
    /* At its last epsilon the curve is delta, by continuity from those where it is more. */
    const prv_bounds last = {s->delta, s->delta, s->delta};
    s->points[0] = point_of(end.upper, &last, told);
    s->points[0].mu_lower = end.lower > 0.0 ? mu_at(end.lower, s->delta, -1) : 0.0;
    s->points[0].mu_estimate = end.estimate > 0.0 ? mu_at(end.estimate, s->delta, 1) : 0.0;
    s->count = 1;
    status = look_at(s, 0.0, 0);
    if (status == PRV_OK) status = begin_visible(s);
    if (status != PRV_OK) return status;
    for (size_t i = 0; i + 1 < s->count; i++)
        s->points[i].mu_chord = mu_of_chord(&s->points[i], &s->points[i + 1]);
    for (;;) {
        size_t worst = 0, deciding = 0;
        *mu = (prv_bounds){0.0, 0.0, 0.0};
        double needed = s->mu_before;
        for (size_t i = 0; i < s->count; i++) {
            const point *p = &s->points[i];
            mu->lower = fmax(mu->lower, p->mu_lower);
            mu->estimate = fmax(mu->estimate, p->mu_estimate);
            if (p->mu_upper > needed) deciding = i;
            needed = fmax(needed, p->mu_upper);
            if (i + 1 < s->count && p->mu_chord > s->points[worst].mu_chord) worst = i;
        }
        mu->upper = fmax(s->points[worst].mu_chord, needed);
        mu->estimate = fmin(fmax(mu->estimate, mu->lower), mu->upper);
        *told = s->points[deciding].report;
        if (mu->upper <= needed * (1.0 + CHORD_SHARE) || s->count == MOST_POINTS) return PRV_OK;
        const double low = s->points[worst].epsilon, high = s->points[worst + 1].epsilon;
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high)) return PRV_OK;
        status = look_at(s, middle, worst + 1);
        if (status != PRV_OK) return status;
        for (size_t i = worst; i <= worst + 1; i++)
            s->points[i].mu_chord = mu_of_chord(&s->points[i], &s->points[i + 1]);
    }
}

prv_status prv_gaussian_mu(const prv_step *steps, size_t step_count, const prv_options *options,
                           const double *deltas, size_t length, prv_bounds *bounds, prv_report *reports)
{
    prv_status status = prv_check_options(options);
    for (size_t i = 0; i < length && status == PRV_OK; i++)
        if (!(deltas[i] > 0.0 && deltas[i] <= 1.0)) status = PRV_ERR_DELTA;
    if (status != PRV_OK) return status;
    search *s = prv_allocate(1, sizeof *s);
    if (s == NULL) return PRV_ERR_MEMORY;
    prv_directions directions = {0};
    status = prv_directions_new(steps, step_count, options, &directions);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_QUESTIONS, options);
    layer.now.questions = length;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        layer.now.question = i;
        s->directions = directions.each;
        s->direction_count = directions.count;
        s->options = options;
        s->delta = deltas[i];
        s->count = 0;
        memset(&s->told, 0, sizeof s->told);
        status = mu_above(s, &bounds[i]);
        if (status == PRV_OK) status = prv_gate_range(0.0, HUGE_VAL, &bounds[i]);
        if (status == PRV_ERR_MEMORY_LIMIT && reports != NULL) reports[0].memory = s->told.memory;
        if (status == PRV_OK && reports != NULL) reports[i] = s->told;
    }
    prv_directions_free(&directions);
    prv_release(s);
    return status;
}
