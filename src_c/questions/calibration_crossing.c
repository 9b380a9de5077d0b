#include "questions/calibration_crossing.h"

#include <math.h>
#include <string.h>

/* The numbers below choose factors to try and widths to ask for. No bound relies on them. */

/* Steps of the secant in the logarithm of the factor are at most this long, so that no search meets so little
 * noise that its losses explode. */
#define LONGEST_STEP 2.8
/* Compositions after which the search gives up to get closer. */
enum { MOST_POINTS = 400 };
/* The bracket is halved at most every so many points. */
enum { HALVE_EVERY = 3 };
/* -d log(level + scale) / d position by secants is believed between these. */
#define LEAST_RATE 1e-3
#define GREATEST_RATE 1e3
/* Above a target of 0, the scale that lets the search take long steps, as a part of the estimate. */
#define SMALL_PART 1e-3
/* The least width of bounds of a risk is a part of so much of the level that is expected. */
#define EXPECTED_SHARE 0.1
/* A secant is close enough if its step squared is below this part of the distance that would do. */
#define CLOSE_SHARE 0.1
/* Coarse bounds may be so many times as wide as fine ones: estimates are about 20 times closer than bounds.
 */
#define ESTIMATE_SHARE 10.0
/* The least width asked, as a part of the width that would do. */
#define A_LITTLE_LESS 0.9
/* Fine bounds take this part of the tolerance, but no less than so many times their rounding. */
#define FINE_SHARE 0.4
#define ROUNDING_ROOM 4.0

/* If rounding alone keeps bounds this far apart, as a part of the level, the upper one is all that the proof
 * will have; and this part of their width is then its. */
#define WIDEST_SHARE 0.5
#define MOSTLY 0.5

/* Where rounding keeps closer bounds out of reach, the target is met where the upper bound meets it. */
static void take_upper(const prv_calibration_search *s, prv_calibration_point *p)
{
    if (p->width > WIDEST_SHARE * fmax(p->level.estimate, s->target) && p->rounding > MOSTLY * p->width)
        p->level.estimate = p->level.upper;
}

/* Takes a point measured. */
static void learn(prv_crossing *c, const prv_calibration_search *s, const prv_calibration_point *p)
{
    if (p->level.estimate > s->target) {
        if (!c->has_above || p->position > c->above.position) c->above = *p;
        c->has_above = true;
    } else {
        if (!c->has_within || p->position < c->within.position) c->within = *p;
        c->has_within = true;
    }
    if (!(p->level.estimate > 0.0 && isfinite(p->level.estimate))) return;
    if (c->usable > 0) c->before = c->recent;
    c->recent = *p;
    if (c->usable < 2) c->usable++;
}

/* The log of the level is nearly a line in log noise. That of an epsilon falls to -infinity where epsilon
 * gets to 0, so it is counted from one scale below: the one by which delta changes e-fold. */
static double residual(const prv_calibration_search *s, const prv_calibration_point *p, double scale)
{
    return log((p->level.estimate + scale) / (s->target + scale));
}

/* The scale at the target, about: the lesser of those at both points. */
static double scale_of(const prv_crossing *c, const prv_calibration_search *s)
{
    double scale = c->recent.scale;
    if (c->usable > 1 && c->before.scale > 0.0) scale = fmin(scale, c->before.scale);
    if (scale > 0.0) return scale;
    /* A level that needed no composition has no scale. */
    return s->target > 0.0 ? s->target : SMALL_PART * c->recent.level.estimate;
}

/* Where the secant, kept within what is known, looks next. */
static double next_position(prv_crossing *c, const prv_calibration_search *s,
                            const prv_calibration_point *last, double *step)
{
    const double low = c->has_above ? c->above.position : -HUGE_VAL;
    const double high = c->has_within ? c->within.position : HUGE_VAL;
    double next = last->level.estimate > s->target ? HUGE_VAL : -HUGE_VAL;
    const double from = c->usable > 0 ? c->recent.position : last->position;
    c->slope = 0.0;
    if (c->usable > 0) {
        const double scale = scale_of(c, s), r = residual(s, &c->recent, scale);
        /* -d residual / d position: 1 for much noise, 2 and more for little, 1 or less for steps. */
        double rate = r > 0.0 || s->parameter == PRV_STEPS ? 1.0 : 2.0;
        if (c->usable > 1) {
            const double secant = (residual(s, &c->before, scale) - r) /
                                  (c->recent.position - c->before.position);
            if (secant > LEAST_RATE && secant < GREATEST_RATE) rate = secant;
        }
        c->slope = rate * (s->target + scale);
        if (c->recent.position == last->position || (c->has_above && c->has_within)) next = from + r / rate;
    }
    if (c->has_above && c->has_within) {
        if (!(next > low && next < high)) next = 0.5 * (low + high);
    } else {
        next = fmin(fmax(next, last->position - LONGEST_STEP), last->position + LONGEST_STEP);
    }
    *step = fabs(next - from);
    return next;
}

/* The level that the secant expects at a position; 0 if it cannot tell. */
static double expected_level(const prv_crossing *c, const prv_calibration_search *s, double position)
{
    if (!(c->usable > 0 && c->slope > 0.0)) return 0.0;
    const double scale = scale_of(c, s), rate = c->slope / (s->target + scale);
    const double ahead = residual(s, &c->recent, scale) - rate * (position - c->recent.position);
    return (s->target + scale) * exp(ahead) - scale;
}

/* The distance of positions within which an answer has to be found: the tolerance, or one step. */
static double resolution(const prv_calibration_search *s, double position)
{
    return s->parameter == PRV_STEPS ? fmax(s->tolerance, fmin(exp(position), 1.0)) : s->tolerance;
}

double prv_fine_width(const prv_calibration_search *s, const prv_crossing *c)
{
    const double rounding = c->usable > 0 ? c->recent.rounding : 0.0;
    const double coarse = PRV_COARSE_WIDTH * fmax(s->target, PRV_COARSE_FLOOR);
    return fmax(FINE_SHARE * resolution(s, c->position) * c->slope, fmin(ROUNDING_ROOM * rounding, coarse));
}

/* What the last point and the search as a whole say of how to go on. */
typedef struct stride {
    double position;   /* where the secant looks next */
    double step;       /* how far that is from the last point */
    double close;      /* the distance that would do */
    double enough;     /* the width of bounds whose estimate would do */
    double width;      /* of the bracket of positions, HUGE_VAL if there is none */
    bool is_bracketed; /* before the secant was drawn: by points on both sides of the crossing */
} stride;

/* Whether the crossing is known as closely as the proof needs it. */
static bool is_found(const prv_calibration_search *s, const prv_crossing *c, const stride *n,
                     const prv_calibration_point *p)
{
    if (n->width <= n->close) return true;
    if (n->is_bracketed && s->parameter == PRV_STEPS && c->above.factor - c->within.factor <= 1.0)
        return true;
    /* The error of a secant is of second order in its step. */
    const bool exact = p->width <= n->enough || p->is_final;
    return c->usable > 1 && n->step * n->step <= CLOSE_SHARE * n->close && exact;
}

prv_status prv_find_crossing(prv_calibration_search *s, prv_crossing *c)
{
    memset(c, 0, sizeof *c);
    double position = 0.0, floor = fmax(s->target, PRV_COARSE_FLOOR), eps_error = 0.0, before = HUGE_VAL;
    for (int i = 0; i < MOST_POINTS; i++) {
        prv_calibration_point p;
        const prv_status status = prv_calibration_estimate(s, prv_calibration_factor(s, position), eps_error,
                                                           floor, &p);
        if (status != PRV_OK) return status;
        take_upper(s, &p);
        learn(c, s, &p);
        const bool above = p.level.estimate > s->target;
        stride n = {.is_bracketed = c->has_above && c->has_within};
        n.position = next_position(c, s, &p, &n.step);
        /* Half of the work is to find the crossing: the steps of the search shrink from about 1 to the
         * tolerance. */
        prv_calibration_tell(s, 0.5 * fmin(log(fmin(n.step, 1.0)) / log(s->tolerance), 1.0));
        c->position = n.position;
        if (p.factor == (above ? s->safe : s->risky)) c->position = p.position;
        if (c->position == p.position) return PRV_OK;
        n.close = resolution(s, n.position);
        n.enough = ESTIMATE_SHARE * prv_fine_width(s, c);
        n.width = n.is_bracketed ? c->within.position - c->above.position : HUGE_VAL;
        if (is_found(s, c, &n, &p)) return PRV_OK;
        position = n.position;
        /* A secant that stays at the same end does not get there: halve then. */
        if (n.is_bracketed && i % HALVE_EVERY == HALVE_EVERY - 1 && n.width > 0.5 * before &&
            n.step * n.step > n.close)
            position = 0.5 * (c->above.position + c->within.position);
        before = n.width;
        const double scale = scale_of(c, s);
        if (c->usable > 0) floor = fmax(s->target, scale);
        /* A delta has an epsilon of 0: far from a small target, widths are parts of the advantage itself. */
        if (s->risk != NULL) floor = fmax(floor, EXPECTED_SHARE * expected_level(c, s, position));
        eps_error = c->usable > 1 ? fmax(fmin(n.step, 1.0) * n.step * c->slope, A_LITTLE_LESS * n.enough)
                                  : 0.0;
        if (eps_error >= PRV_COARSE_WIDTH * (s->target + scale)) eps_error = 0.0;
        if (prv_calibration_factor(s, position) != p.factor) continue;
        if (s->parameter != PRV_STEPS || (c->usable > 1 && p.width <= n.enough)) return PRV_OK;
        position = s->sign * log(p.factor + (above ? -1.0 : 1.0));
    }
    return PRV_OK;
}
