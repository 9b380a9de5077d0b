/* The least mu such that the privacy curve lies below that of N(0, 1) against N(mu, 1) wherever it exceeds
 * a delta.
 *
 * Every lower bound of delta at one epsilon gives a lower bound of mu. From above, delta is convex in t =
 * e^eps, so between two epsilons it lies below the chord through upper bounds there; the Gaussian curve is
 * convex in t too, so that the least distance from it to the chord is found, and bounded from below, by its
 * tangents (gaussian_curve.c). The intervals from epsilon 0 to one where delta is certainly no longer
 * exceeded cover all that is claimed. Where delta rounds to 1, its complement takes its place
 * (gaussian_complement.h). */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "curve/chernoff.h"
#include "curve/gate.h"
#include "planning/aim.h"
#include "questions/epsilon_delta.h"
#include "questions/gaussian_complement.h"
#include "questions/gaussian_curve.h"
#include "questions/question.h"

/* Points are added until chords cost no more than this of mu, or than this part of the relative width asked,
 * or so many points are known. */
#define CHORD_SHARE 5e-4
#define CHORD_PART 0.5
enum { MOST_POINTS = 400 };

/* The first complement that a query of delta is asked for, which need not tell smaller ones from 0; and by
 * how much the next is larger if it could not. */
#define LEAST_COMPLEMENT (16.0 * PRV_FINEST_DELTA)
#define NEXT_COMPLEMENT 16.0

/* Widths relative to epsilon are no less than that of this part of the last epsilon asked about. */
#define LEAST_PART 0.1

/* What is known at one epsilon. */
typedef struct point {
    prv_point_above above;        /* the upper bound of delta, and the mu that it needs here alone */
    double mu_lower, mu_estimate; /* what the lower bound and the estimate need here alone */
    double mu_chord;              /* what the chord from here to the next point needs */
    prv_report report;            /* of delta */
} point;

typedef struct search {
    prv_directions *directions;
    const prv_options *options;
    double delta;      /* nothing is claimed where the curve is not above it */
    double farthest;   /* no epsilon from there on exceeds delta */
    double mu_before;  /* needed below the epsilon of the first point */
    prv_report report; /* of the point that decides; on failure, of the query that failed */
    size_t count;
    point points[MOST_POINTS]; /* by epsilon */
} search;

static point point_of(double epsilon, const prv_bounds *delta, const prv_report *report)
{
    return (point){{epsilon, delta->upper, prv_mu_above(epsilon, delta->upper)},
                   prv_mu_below(epsilon, delta->lower),
                   prv_mu_above(epsilon, delta->estimate),
                   0.0,
                   *report};
}

/* Asks for delta at another epsilon, in front of point `before`. */
static prv_status look_at(search *s, double epsilon, size_t before)
{
    prv_options options = *s->options;
    options.delta_relative_error = 0.0; /* the width of mu is that in epsilon */
    options.eps_error = prv_width_asked(&options, fmax(epsilon, LEAST_PART * s->farthest));
    prv_bounds delta;
    prv_report report = {0};
    const prv_status status = prv_answer(s->directions->each, s->directions->count, &options, PRV_ASK_DELTA,
                                         &epsilon, 1, &delta, &report);
    s->report.memory = report.memory;
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
        for (size_t v = 0; v < s->directions->count; v++)
            most = fmin(most, prv_log_complement(&s->directions->each[v], middle));
        if (most <= log(complement))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* If delta rounds to 1 at the first point, replaces that point by one where it does not, and bounds what is
 * needed before that. */
static prv_status begin_visible(search *s)
{
    s->mu_before = 0.0;
    if (s->points[0].above.mu < HUGE_VAL) return PRV_OK;
    drop_first(s); /* the last point remains */
    for (double least = LEAST_COMPLEMENT; least < 0.5; least *= NEXT_COMPLEMENT) {
        const double epsilon = last_below(s, least);
        if (!(epsilon < s->points[0].above.epsilon)) break;
        const prv_status status = look_at(s, epsilon, 0);
        if (status != PRV_OK) return status;
        if (s->points[0].above.mu < HUGE_VAL) break;
        drop_first(s);
    }
    const prv_point_above *first = &s->points[0].above;
    s->mu_before = HUGE_VAL;
    if (!(first->mu < HUGE_VAL)) return PRV_OK;
    return prv_mu_of_complement(s->directions, s->options, first->epsilon, log1p(-first->delta), first->mu,
                                &s->mu_before);
}

/* The last point, beyond which nothing is claimed; *done if it is all that is needed. */
static prv_status begin_at_end(search *s, prv_bounds *mu, bool *done)
{
    prv_bounds end;
    *done = true;
    const prv_status status = prv_answer(s->directions->each, s->directions->count, s->options,
                                         PRV_ASK_EPSILON, &s->delta, 1, &end, &s->report);
    if (status != PRV_OK) return status;
    if (!(end.upper < HUGE_VAL)) {
        *mu = (prv_bounds){end.lower < HUGE_VAL ? 0.0 : HUGE_VAL, HUGE_VAL, HUGE_VAL};
        return PRV_OK;
    }
    if (end.upper == 0.0) {
        *mu = (prv_bounds){0.0, 0.0, 0.0};
        return PRV_OK;
    }
    *done = false;
    s->farthest = end.upper;
    /* At its last epsilon the curve is delta, by continuity from those where it is more. */
    const prv_bounds last = {s->delta, s->delta, s->delta};
    s->points[0] = point_of(end.upper, &last, &s->report);
    s->points[0].mu_lower = end.lower > 0.0 ? prv_mu_below(end.lower, s->delta) : 0.0;
    s->points[0].mu_estimate = end.estimate > 0.0 ? prv_mu_above(end.estimate, s->delta) : 0.0;
    s->count = 1;
    return PRV_OK;
}

static void measure_chord(search *s, size_t i)
{
    s->points[i].mu_chord = prv_mu_above_chord(&s->points[i].above, &s->points[i + 1].above);
}

/* The bounds that all points and chords say, the point whose chord needs the most, and what is needed at the
 * points alone. */
static prv_bounds read_points(search *s, size_t *worst, double *needed)
{
    prv_bounds mu = {0.0, 0.0, 0.0};
    size_t deciding = 0;
    *worst = 0;
    *needed = s->mu_before;
    for (size_t i = 0; i < s->count; i++) {
        const point *p = &s->points[i];
        mu.lower = fmax(mu.lower, p->mu_lower);
        mu.estimate = fmax(mu.estimate, p->mu_estimate);
        if (p->above.mu > *needed) deciding = i;
        *needed = fmax(*needed, p->above.mu);
        if (i + 1 < s->count && p->mu_chord > s->points[*worst].mu_chord) *worst = i;
    }
    mu.upper = fmax(s->points[*worst].mu_chord, *needed);
    mu.estimate = fmin(fmax(mu.estimate, mu.lower), mu.upper);
    s->report = s->points[deciding].report;
    return mu;
}

static prv_status find_mu(search *s, prv_bounds *mu)
{
    bool done;
    prv_status status = begin_at_end(s, mu, &done);
    if (status != PRV_OK || done) return status;
    status = look_at(s, 0.0, 0);
    if (status != PRV_OK) return status;
    status = begin_visible(s);
    if (status != PRV_OK) return status;
    for (size_t i = 0; i + 1 < s->count; i++) measure_chord(s, i);
    const double relative = prv_width_asked(s->options, s->farthest) / s->farthest;
    const double share = fmin(CHORD_SHARE, CHORD_PART * relative);
    for (;;) {
        size_t worst;
        double needed;
        *mu = read_points(s, &worst, &needed);
        if (mu->upper <= needed * (1.0 + share) || s->count == MOST_POINTS) return PRV_OK;
        const double low = s->points[worst].above.epsilon, high = s->points[worst + 1].above.epsilon;
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high)) return PRV_OK;
        status = look_at(s, middle, worst + 1);
        if (status != PRV_OK) return status;
        measure_chord(s, worst);
        measure_chord(s, worst + 1);
    }
}

static prv_status check_delta(double delta)
{
    return delta > 0.0 && delta <= 1.0 ? PRV_OK : PRV_ERR_DELTA;
}

static prv_status answer(prv_directions *directions, const prv_options *options, double delta,
                         prv_bounds *bounds, prv_report *report)
{
    search *s = prv_allocate(1, sizeof *s);
    if (s == NULL) return PRV_ERR_MEMORY;
    memset(s, 0, sizeof *s);
    s->directions = directions;
    s->options = options;
    s->delta = delta;
    prv_status status = find_mu(s, bounds);
    *report = s->report;
    prv_release(s);
    return status == PRV_OK ? prv_gate_range(0.0, HUGE_VAL, bounds) : status;
}

prv_status prv_gaussian_mu(const prv_step *steps, size_t step_count, const prv_options *options,
                           const double *deltas, size_t length, prv_bounds *bounds, prv_report *reports)
{
    static const prv_query query = {check_delta, answer};
    return prv_ask_each(&query, steps, step_count, options, deltas, length, bounds, reports);
}
