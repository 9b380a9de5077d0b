/* The greatest power of a test at a false positive rate, from the privacy curve.
 *
 * A set S with P(S) = alpha has Q(S) <= delta(eps) + e^eps alpha for every real eps, and the infimum over eps
 * is attained by the Neyman-Pearson test (Wasserman, Zhou 2010; Dong, Roth, Su 2022, Proposition 2.12). With
 * t = e^eps, h(t) = delta(log t) + t alpha is convex, falls from h(0) = 1, and exceeds 1 from t = 1 / alpha
 * on. So every upper bound of delta anywhere gives one of the power, and secants through bounds at
 * neighbouring points give a lower one. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "numerics/rounding.h"
#include "curve/gate.h"
#include "planning/aim.h"
#include "questions/pair_answer.h"
#include "questions/question.h"
#include "questions/worst_case.h"

/* The search ends if the bounds of the power are OPEN times as far apart as those of delta, or CLOSE apart,
 * relatively, if that is less; or if MOST_POINTS are known. */
#define OPEN 4.0
#define CLOSE 0.25
enum { MOST_POINTS = 60 };

/* Secants are drawn through up to so many neighbours: points close to each other tell a slope least well. */
enum { SECANTS = 4 };

/* A new point lies at least this part of its interval from both ends. */
#define INSIDE 0.1

/* Below this rate 1 / alpha overflows. The power grows with alpha, so its upper bound at this rate holds. */
#define LEAST_RATE 1e-300

/* What is known at one epsilon. */
typedef struct point {
    double epsilon, t;
    double lower, upper, estimate; /* of h */
    prv_report report;             /* of delta */
} point;

typedef struct search {
    prv_direction *direction;
    const prv_options *options;
    double alpha;
    double scale; /* of the losses, nats */
    size_t count;
    point points[MOST_POINTS]; /* by epsilon */
    size_t memory;             /* report.memory of the last query of delta, also if it failed */
} search;

/* Evaluates h at another point. */
static prv_status look_at(search *s, double epsilon)
{
    prv_options options = *s->options;
    options.delta_relative_error = 0.0; /* secants live on the closeness in epsilon */
    options.eps_error = prv_width_asked(&options, fmax(fabs(epsilon), s->scale));
    prv_bounds delta;
    point p = {.epsilon = epsilon, .t = exp(epsilon)};
    const prv_status status = prv_answer_pairs(s->direction, 1, &options, PRV_ASK_DELTA, &epsilon, 1, &delta,
                                               &p.report);
    s->memory = p.report.memory;
    if (status != PRV_OK) return status;
    /* t is off by PRV_LIBM_ERROR; a product and a sum. */
    const double part = p.t * s->alpha, rounding = PRV_LIBM_ERROR + 2.0 * PRV_UNIT;
    p.lower = prv_outwards(delta.lower + part, rounding, -1);
    p.upper = prv_outwards(delta.upper + part, rounding, 1);
    p.estimate = delta.estimate + part;
    size_t i = s->count++;
    for (; i > 0 && s->points[i - 1].epsilon > epsilon; i--) s->points[i] = s->points[i - 1];
    s->points[i] = p;
    return PRV_OK;
}

/* ---- Secants --------------------------------------------------------------------------------- */

typedef struct line {
    double slope, at, value; /* value + slope (t - at) */
} line;

/* From below: distance, product and sums are off by u each; and points lie at rounded exponentials, 2 u of t
 * beside their t. */
static double value_below(const line *l, double t)
{
    const double rise = l->slope * (t - l->at);
    return l->value + rise - 8.0 * PRV_UNIT * (fabs(l->value) + fabs(l->slope) * (t + l->at));
}

/* Point i of h for secants, with h(0) = 1 and h(1 / alpha) <= 2 at the ends. */
static void secant_end(const search *s, ptrdiff_t i, double *t, double *upper)
{
    const bool inside = i >= 0 && i < (ptrdiff_t)s->count;
    *t = inside ? s->points[i].t : i < 0 ? 0.0 : 1.0 / s->alpha;
    *upper = inside ? s->points[i].upper : i < 0 ? 1.0 : 2.0;
}

/* Secants through points that are closer than so many roundings of their t tell no slope. */
#define NO_SLOPE 1e300

/* The steepest secant through point i from its side `beyond` (-1 or +1): a line below h on the other side,
 * and the more so the more it is turned down there. The distance of two points at rounded exponentials is off
 * by 2 u (t + at), which may be much of it; differences and quotient have 3 u more. */
static line steepest(const search *s, size_t i, int beyond)
{
    line l = {beyond < 0 ? -NO_SLOPE : NO_SLOPE, s->points[i].t, s->points[i].lower};
    for (ptrdiff_t j = 1; j <= SECANTS; j++) {
        double t, upper;
        secant_end(s, (ptrdiff_t)i + beyond * j, &t, &upper);
        const double off = 8.0 * PRV_UNIT * (t + l.at) / fabs(t - l.at);
        double slope = (upper - l.value) / (t - l.at);
        slope += (double)beyond * fabs(slope) * off;
        if (off < 1.0 && (beyond < 0 ? slope > l.slope : slope < l.slope)) l.slope = slope;
        if (t == 0.0 || t * s->alpha >= 1.0) break;
    }
    return l;
}

/* The least that h can be between points i - 1 and i (0: below all, count: above all), and at which t. */
static double least_between(const search *s, size_t i, double *where)
{
    const double low = i > 0 ? s->points[i - 1].t : 0.0,
                 high = i < s->count ? s->points[i].t : 1.0 / s->alpha;
    /* At the ends: delta >= 1 - e^eps, and delta >= 0. */
    const line left = i > 0 ? steepest(s, i - 1, -1) : (line){s->alpha - 1.0, 0.0, 1.0};
    const line right = i < s->count ? steepest(s, i, 1) : (line){s->alpha, 0.0, 0.0};
    /* The larger of two lines is least where they cross, or at an end. The rounded crossing lies beside the
     * true one, and the lesser of both lines there is below their common value. */
    const double left_low = value_below(&left, low), right_low = value_below(&right, low);
    const double left_high = value_below(&left, high), right_high = value_below(&right, high);
    if (left_low > right_low && left_high < right_high && left.slope < 0.0 && right.slope > 0.0) {
        const double cross = low + (left_low - right_low) / (right.slope - left.slope);
        *where = fmin(fmax(cross, low), high);
        return fmin(value_below(&left, *where), value_below(&right, *where));
    }
    const double at_low = fmax(left_low, right_low), at_high = fmax(left_high, right_high);
    *where = at_low < at_high ? low : high;
    return fmin(at_low, at_high);
}

/* ---- The search ------------------------------------------------------------------------------ */

/* Where to look next: near the lowest place that is still possible, but well inside its interval. */
static double next_epsilon(const search *s, size_t i, double where)
{
    const double first = s->points[0].epsilon, last = s->points[s->count - 1].epsilon;
    if (i == 0) return first - fmax(2.0 * (last - first), s->scale);
    const double low = s->points[i - 1].epsilon;
    if (i == s->count) {
        const double far = low + fmax(2.0 * (low - first), s->scale);
        return fmin(far, 0.5 * (low - log(s->alpha)));
    }
    const double gap = s->points[i].epsilon - low;
    return fmin(fmax(log(where), low + INSIDE * gap), s->points[i].epsilon - INSIDE * gap);
}

/* The least that h can be anywhere; *interval and *where tell the place. */
static double least_of_all(const search *s, size_t *interval, double *where)
{
    double lower = HUGE_VAL;
    *interval = 0;
    *where = 0.0;
    for (size_t i = 0; i <= s->count; i++) {
        double t;
        const double least = least_between(s, i, &t);
        if (least < lower) {
            lower = least;
            *interval = i;
            *where = t;
        }
    }
    return lower;
}

static size_t lowest_point(const search *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->points[i].upper < s->points[best].upper) best = i;
    return best;
}

/* Adds points until the bounds are close enough. *best is the point of the upper bound. */
static prv_status narrow(search *s, size_t *best, double *lower)
{
    const double width = prv_width_asked(s->options, s->scale);
    prv_status status = look_at(s, 0.0);
    while (status == PRV_OK) {
        size_t interval;
        double where;
        *lower = least_of_all(s, &interval, &where);
        *best = lowest_point(s);
        const double upper = s->points[*best].upper, open = upper - s->points[*best].lower;
        const double next = next_epsilon(s, interval, where);
        const bool is_known = (interval > 0 && !(next > s->points[interval - 1].epsilon)) ||
                              (interval < s->count && !(next < s->points[interval].epsilon));
        /* If the bounds of delta are most of h, the point tells little: where h is least, delta is less than
         * h by about the slope of its logarithm. */
        const double enough = fmin(OPEN * open, CLOSE * upper) + width * upper;
        if (upper - *lower <= enough || is_known || s->count == MOST_POINTS) break;
        status = look_at(s, next);
    }
    return status;
}

/* 0 < alpha < 1. */
static prv_status power_between(prv_direction *direction, const prv_options *options, double alpha,
                                prv_bounds *b, prv_report *report)
{
    search s = {.direction = direction, .options = options, .alpha = alpha};
    prv_use_whole_profiles(direction);
    const prv_moments m = prv_composed_moments(direction, 0.0);
    s.scale = fmax(fabs(m.mean) + sqrt(fmax(m.variance, 0.0)), 1e-12);
    size_t best = 0;
    double lower = 0.0;
    const prv_status status = narrow(&s, &best, &lower);
    report->memory = s.memory;
    if (status != PRV_OK) return status;
    b->upper = s.points[best].upper;
    b->lower = lower;
    b->estimate = s.points[best].estimate;
    /* The bounds are no better than the points beside the best one. */
    *report = s.points[best].report;
    for (size_t i = best > 0 ? best - 1 : 0; i < s.count && i <= best + 1; i++)
        if (!s.points[i].report.accurate) *report = s.points[i].report;
    /* Who rejects at random has a power of alpha. */
    return prv_gate_range(alpha, 1.0, b);
}

static prv_status answer_direction(prv_direction *direction, const prv_options *options, double alpha,
                                   prv_bounds *b, prv_report *report)
{
    report->accurate = report->attained = 1;
    report->direction = direction->add ? PRV_ADD : PRV_REMOVE;
    if (!(alpha < 1.0 && direction->all.count > 0.0)) {
        *b = (prv_bounds){alpha, alpha, alpha};
        return PRV_OK;
    }
    const prv_infinite *infinite = &direction->all.infinite;
    if (alpha == 0.0) {
        *b = (prv_bounds){infinite->low, infinite->mass, infinite->high};
        return PRV_OK;
    }
    const prv_status status = power_between(direction, options, fmax(alpha, LEAST_RATE), b, report);
    if (status != PRV_OK) return status;
    if (alpha < LEAST_RATE) b->lower = b->estimate = fmin(infinite->low, b->upper);
    return PRV_OK;
}

/* Secants need one pair at all epsilons, so data sets are chosen for a rate: at some tilts of the tests
 * between them. */
static const double tilts[] = {-0.5, 1.0, 4.0, 16.0};

static prv_status answer(prv_directions *directions, const prv_options *options, double alpha,
                         prv_bounds *bounds, prv_report *report)
{
    const prv_quantity power = {answer_direction, alpha, 1.0, tilts, sizeof tilts / sizeof *tilts};
    return prv_worst_case(&power, directions, options, alpha, bounds, report);
}

static prv_status check_rate(double alpha)
{
    return alpha >= 0.0 && alpha <= 1.0 ? PRV_OK : PRV_ERR_RATE;
}

prv_status prv_power(const prv_step *steps, size_t step_count, const prv_options *options,
                     const double *false_positive_rates, size_t length, prv_bounds *bounds,
                     prv_report *reports)
{
    static const prv_query query = {check_rate, answer};
    return prv_ask_each(&query, steps, step_count, options, false_positive_rates, length, bounds, reports);
}
