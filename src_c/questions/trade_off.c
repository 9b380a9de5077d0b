/* The greatest power of a test at a false positive rate, from the privacy curve.
 *
 * A set S with P(S) = alpha has Q(S) <= delta(eps) + e^eps alpha for every real eps, and the infimum over eps
 * is attained by the Neyman-Pearson test (Wasserman, Zhou 2010; Dong, Roth, Su 2022, Proposition 2.12). With
 * t = e^eps, h(t) = delta(log t) + t alpha is convex, falls from h(0) = 1, and exceeds 1 from t = 1 / alpha
 * on. So every upper bound of delta anywhere gives one of the power, and secants through bounds at
 * neighbouring points give a lower one. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "numerics/rounding.h"
#include "curve/attained.h"
#include "planning/aim.h"
#include "questions/epsilon_delta.h"
#include "questions/question.h"

enum { MOST_POINTS = 60, SECANTS = 4 };

/* Done when the bounds are this many times as far apart as those of delta, or by the width asked, relatively.
 */
#define OPEN 4.0
/* But not this far, relatively. */
#define CLOSE 0.25

typedef struct search {
    prv_direction *direction;
    const prv_options *options;
    double alpha;
    double scale; /* of the losses, nats */
    size_t count;
    double epsilon[MOST_POINTS], t[MOST_POINTS];                          /* increasing */
    double lower[MOST_POINTS], upper[MOST_POINTS], estimate[MOST_POINTS]; /* of h */
    prv_report report[MOST_POINTS];                                       /* of the delta */
    size_t memory;                                                        /* that a delta would have needed */
} search;

/* Evaluates h at another point. */
static prv_status look_at(search *s, double epsilon)
{
    prv_options options = *s->options;
    options.delta_relative_error = 0.0; /* secants live on the closeness in epsilon */
    if (options.eps_error == 0.0)
        options.eps_error = options.eps_relative_error *
                            fmax(fmax(fabs(epsilon), s->scale), options.eps_floor);
    prv_bounds delta;
    prv_report report;
    memset(&report, 0, sizeof report);
    const prv_status status = prv_answer_pairs(s->direction, 1, &options, PRV_ASK_DELTA, &epsilon, 1, &delta,
                                               &report);
    s->memory = report.memory;
    if (status != PRV_OK) return status;
    size_t i = s->count++;
    for (; i > 0 && s->epsilon[i - 1] > epsilon; i--) {
        s->epsilon[i] = s->epsilon[i - 1];
        s->t[i] = s->t[i - 1];
        s->lower[i] = s->lower[i - 1];
        s->upper[i] = s->upper[i - 1];
        s->estimate[i] = s->estimate[i - 1];
        s->report[i] = s->report[i - 1];
    }
    s->report[i] = report;
    s->epsilon[i] = epsilon;
    s->t[i] = exp(epsilon);
    const double part = s->t[i] * s->alpha, rounding = 4.0 * DBL_EPSILON * part;
    s->lower[i] = prv_below(delta.lower + (part - rounding));
    s->upper[i] = prv_above(delta.upper + (part + rounding));
    s->estimate[i] = delta.estimate + part;
    return PRV_OK;
}

typedef struct line {
    double slope, at, value; /* value + slope (t - at) */
} line;

/* From below: the slope is off by 3 u of itself, the distance by u, product and sum by u each; and the points
 * lie at rounded exponentials, 2 u of t beside where they are thought to be. */
static double on(const line *l, double t)
{
    const double rise = l->slope * (t - l->at);
    return l->value + rise - 8.0 * PRV_UNIT * (fabs(l->value) + fabs(l->slope) * (t + l->at));
}

/* Point i of h for secants, with h(0) = 1 and h(1 / alpha) <= 2 at the ends. */
static void point(const search *s, ptrdiff_t i, double *t, double *upper)
{
    const int inside = i >= 0 && i < (ptrdiff_t)s->count;
    *t = inside ? s->t[i] : i < 0 ? 0.0 : 1.0 / s->alpha;
    *upper = inside ? s->upper[i] : i < 0 ? 1.0 : 2.0;
}

/* The steepest secant through point i from `beyond` = -1 or +1 side of it: a line below h on the other side.
 * Points close to i tell its direction least well, so some farther ones are tried too. */
static line steepest(const search *s, size_t i, int beyond)
{
    line l = {0.0, s->t[i], s->lower[i]};
    for (ptrdiff_t j = 1; j <= SECANTS; j++) {
        double t, upper;
        point(s, (ptrdiff_t)i + beyond * j, &t, &upper);
        const double slope = (upper - l.value) / (t - l.at);
        if (j == 1 || (beyond < 0 ? slope > l.slope : slope < l.slope)) l.slope = slope;
        if (t == 0.0 || t * s->alpha >= 1.0) break;
    }
    return l;
}

/* The least that h can be between points i - 1 and i (0: below all, count: above all), and at which t. */
static double least_between(const search *s, size_t i, double *where)
{
    const double low = i > 0 ? s->t[i - 1] : 0.0, high = i < s->count ? s->t[i] : 1.0 / s->alpha;
    /* At the ends: delta >= 1 - e^eps, and delta >= 0. */
    const line left = i > 0 ? steepest(s, i - 1, -1) : (line){s->alpha - 1.0, 0.0, 1.0};
    const line right = i < s->count ? steepest(s, i, 1) : (line){s->alpha, 0.0, 0.0};
    /* The larger of two lines is least where they cross, or at an end. Rounded, the crossing is beside
     * itself, where one of them is below their value there. */
    const double left_low = on(&left, low), right_low = on(&right, low);
    const double left_high = on(&left, high), right_high = on(&right, high);
    if (left_low > right_low && left_high < right_high && left.slope < 0.0 && right.slope > 0.0) {
        const double cross = low + (left_low - right_low) / (right.slope - left.slope);
        *where = fmin(fmax(cross, low), high);
        return fmin(on(&left, *where), on(&right, *where));
    }
    const double at_low = fmax(left_low, right_low), at_high = fmax(left_high, right_high);
    *where = at_low < at_high ? low : high;
    return fmin(at_low, at_high);
}

/* Where to look next: near the lowest place that is still possible, but well inside its interval. */
static double next_epsilon(const search *s, size_t i, double where)
{
    if (i == 0) return s->epsilon[0] - fmax(2.0 * (s->epsilon[s->count - 1] - s->epsilon[0]), s->scale);
    const double low = s->epsilon[i - 1];
    if (i == s->count) {
        const double far = low + fmax(2.0 * (low - s->epsilon[0]), s->scale);
        return fmin(far, 0.5 * (low - log(s->alpha)));
    }
    const double gap = s->epsilon[i] - low;
    return fmin(fmax(log(where), low + 0.1 * gap), s->epsilon[i] - 0.1 * gap);
}

static prv_status power_of(prv_direction *direction, const prv_options *options, double alpha, prv_bounds *b,
                           prv_report *report)
{
    search s = {.direction = direction, .options = options, .alpha = alpha};
    prv_use_whole_profiles(direction);
    const prv_moments m = prv_composed_moments(direction, 0.0);
    s.scale = fmax(fabs(m.mean) + sqrt(fmax(m.variance, 0.0)), 1e-12);
    const double width = prv_width_asked(options, s.scale);
    prv_status status = look_at(&s, 0.0);
    double lower = 0.0;
    size_t best = 0;
    while (status == PRV_OK) {
        size_t lowest = 0;
        double where = 0.0;
        lower = HUGE_VAL;
        for (size_t i = 0; i <= s.count; i++) {
            double t;
            const double least = least_between(&s, i, &t);
            if (least < lower) {
                lower = least;
                lowest = i;
                where = t;
            }
        }
        best = 0;
        for (size_t i = 1; i < s.count; i++)
            if (s.upper[i] < s.upper[best]) best = i;
        const double open = s.upper[best] - s.lower[best];
        const double next = next_epsilon(&s, lowest, where);
        const int same = (lowest > 0 && !(next > s.epsilon[lowest - 1])) ||
                         (lowest < s.count && !(next < s.epsilon[lowest]));
        /* Where the bounds of delta are most of h, the point tells little: where h is least, delta is less
         * than it by about the slope of its logarithm. */
        const double enough = fmin(OPEN * open, CLOSE * s.upper[best]) + width * s.upper[best];
        if (s.upper[best] - lower <= enough || same || s.count == MOST_POINTS) break;
        status = look_at(&s, next);
    }
    report->memory = s.memory;
    if (status != PRV_OK) return status;
    b->upper = s.upper[best];
    b->lower = lower;
    b->estimate = s.estimate[best];
    *report = s.report[best];
    for (size_t i = best > 0 ? best - 1 : 0; i < s.count && i <= best + 1; i++)
        if (!s.report[i].accurate) *report = s.report[i];
    /* Who rejects at random has a power of alpha. */
    return prv_gate_range(alpha, 1.0, b);
}

/* Below that 1 / alpha overflows; the power grows with alpha. */
#define LEAST_RATE 1e-300

static prv_status power_in(prv_direction *direction, const prv_options *options, double alpha, prv_bounds *b,
                           prv_report *report)
{
    memset(report, 0, sizeof *report);
    report->accurate = 1;
    report->direction = direction->add ? PRV_ADD : PRV_REMOVE;
    if (alpha > 0.0 && alpha < 1.0 && direction->all.count > 0.0) {
        const prv_status status = power_of(direction, options, fmax(alpha, LEAST_RATE), b, report);
        if (status == PRV_OK && alpha < LEAST_RATE)
            b->lower = b->estimate = fmin(direction->all.infinite.low, b->upper);
        return status;
    }
    if (alpha < 1.0 && direction->all.count > 0.0) {
        const prv_infinite *infinite = &direction->all.infinite;
        *b = (prv_bounds){infinite->low, infinite->mass, infinite->high};
    } else {
        *b = (prv_bounds){alpha, alpha, alpha};
    }
    return PRV_OK;
}

/* Secants need one pair at all epsilons, so that data sets are chosen for a rate: at some tilts of the test
 * between them. */
static const double tilts[] = {-0.5, 1.0, 4.0, 16.0};
enum { TILTS = sizeof tilts / sizeof *tilts };

/* The greatest power between data sets that exist. */
static prv_status power_of_data(const prv_direction *directions, size_t count, const prv_options *options,
                                double alpha, double *lower)
{
    prv_status status = PRV_OK;
    const size_t choices = prv_has_range(&directions[0]) ? TILTS : 1;
    for (size_t i = 0; i < choices && status == PRV_OK; i++) {
        const double lam[2] = {tilts[i], tilts[i]};
        prv_directions data;
        status = prv_data_directions_new(directions, count, options->neighbors, lam, 0.0, &data);
        for (size_t v = 0; v < data.count && status == PRV_OK; v++) {
            prv_bounds b;
            prv_report unwanted;
            status = power_in(&data.each[v], options, alpha, &b, &unwanted);
            if (status == PRV_OK) *lower = fmax(*lower, b.lower);
        }
        prv_directions_free(&data);
    }
    return status;
}

prv_status prv_power(const prv_step *steps, size_t step_count, const prv_options *options,
                     const double *false_positive_rates, size_t length, prv_bounds *bounds,
                     prv_report *reports)
{
    prv_status status = prv_check_options(options);
    for (size_t i = 0; i < length && status == PRV_OK; i++)
        if (!(false_positive_rates[i] >= 0.0 && false_positive_rates[i] <= 1.0)) status = PRV_ERR_RATE;
    prv_directions directions = {0};
    if (status == PRV_OK) status = prv_directions_new(steps, step_count, options, &directions);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_QUESTIONS, options);
    layer.now.questions = length;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        layer.now.question = i;
        prv_bounds greatest = {0.0, 0.0, 0.0};
        prv_report told = {0};
        for (size_t v = 0; v < directions.count && status == PRV_OK; v++) {
            prv_bounds b;
            prv_report report;
            status = power_in(&directions.each[v], options, false_positive_rates[i], &b, &report);
            if (status == PRV_ERR_MEMORY_LIMIT && reports != NULL) reports[0].memory = report.memory;
            if (status != PRV_OK) break;
            if (v == 0 || b.upper > greatest.upper) told = report;
            prv_gate_worst(&greatest, &b);
        }
        if (status == PRV_OK && prv_direction_attainment(&directions.each[0]) != PRV_ATTAINED) {
            greatest.lower = 0.0;
            told.attained = 0;
            status = power_of_data(directions.each, directions.count, options, false_positive_rates[i],
                                   &greatest.lower);
            if (status == PRV_OK) status = prv_gate_range(false_positive_rates[i], 1.0, &greatest);
        }
        if (status != PRV_OK) break;
        bounds[i] = greatest;
        if (reports != NULL) reports[i] = told;
    }
    prv_directions_free(&directions);
    return status;
}
