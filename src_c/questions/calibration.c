/* The cheapest value of a parameter that meets a target: a secant on coarse bounds, then the proof on fine
 * ones. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "base/progress.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/scaling.h"
#include "questions/question.h"

/* Steps of the secant in the logarithm of the factor are at most this long, so that no search meets so little
 * noise that its losses explode. */
#define LONGEST_STEP 2.8

#define LEAST_FACTOR 0x1p-200
#define GREATEST_FACTOR 0x1p200

enum { MOST_COARSE = 400 };

/* Width of coarse bounds, over epsilon; the estimate between them is much closer than that. */
#define COARSE 0.05

typedef struct search {
    const prv_step *steps;
    size_t step_count, fixed_count;
    prv_parameter parameter;
    double epsilon, delta, tolerance;
    prv_options options;
    prv_layer *layer;
    double sign;          /* of the log of the factor in a position: epsilon falls along positions */
    double risky, safe;   /* ends of the range of the factor */
    prv_step *scaled;     /* [step_count] */
    prv_mechanism **made; /* [step_count] mechanisms of `scaled` that are not those of `steps` */
    size_t compositions, fine;
} search;

/* What is known at one factor. */
typedef struct point {
    double factor, position;
    prv_bounds epsilon;
    double eps_error;       /* asked */
    double scale;           /* of epsilons, nats: 1 / tilt */
    double width, rounding; /* of the interval, and the part of it */
    int final;              /* asking for less would not help */
} point;

/* ---- Composition at a factor ---------------------------------------------------------------- */

static int changes(const search *s, size_t j)
{
    if (j < s->fixed_count || s->steps[j].count == 0) return 0;
    return s->parameter == PRV_STEPS || prv_has_parameter(s->steps[j].mechanism, s->parameter);
}

/* Whether all that is changed is changed by post-processing. */
static int is_monotone(const search *s)
{
    for (size_t j = 0; j < s->step_count; j++)
        if (s->parameter == PRV_NOISE_SCALE && changes(s, j) && !prv_falls_with_noise(s->steps[j].mechanism))
            return 0;
    return 1;
}

static void release_made(search *s)
{
    for (size_t j = 0; j < s->step_count; j++) {
        prv_mechanism_free(s->made[j]);
        s->made[j] = NULL;
    }
}

/* The steps with their parameter multiplied; infinite noise leaves nothing of a step. */
static prv_status scale_steps(search *s, double factor)
{
    release_made(s);
    for (size_t j = 0; j < s->step_count; j++) {
        s->scaled[j] = s->steps[j];
        if (!changes(s, j)) {
            continue;
        } else if (s->parameter == PRV_STEPS) {
            s->scaled[j].count *= (uint64_t)factor;
        } else if (isinf(factor)) {
            s->scaled[j].count = 0;
        } else {
            const prv_status status = prv_mechanism_scaled(s->steps[j].mechanism, s->parameter, factor,
                                                           &s->made[j]);
            if (status != PRV_OK) return status;
            s->scaled[j].mechanism = s->made[j];
        }
    }
    return PRV_OK;
}

/* How far the search has come, a guess. */
static void tell(search *s, double fraction)
{
    s->layer->now.fraction = fmax(s->layer->now.fraction, fraction);
}

/* Bounds at a factor: of this absolute width, or where it is 0 of a coarse one. */
static prv_status measure(search *s, double factor, double eps_error, double floor, point *p)
{
    prv_report report;
    memset(p, 0, sizeof *p);
    p->factor = factor;
    p->position = s->sign * log(factor);
    p->eps_error = eps_error;
    s->options.eps_error = eps_error;
    s->options.eps_relative_error = COARSE;
    s->options.eps_floor = floor;
    prv_status status = scale_steps(s, factor);
    if (status == PRV_OK)
        status = prv_epsilon(s->scaled, s->step_count, &s->options, &s->delta, 1, &p->epsilon, &report);
    if (status != PRV_OK) return status;
    s->layer->now.compositions = ++s->compositions;
    p->scale = report.tilt > 0.0 ? 1.0 / report.tilt : 0.0;
    p->width = report.width;
    /* Bounds that are infinitely far apart do not say how close others can be. */
    p->rounding = isfinite(report.rounding) ? report.rounding : 0.0;
    p->final = !report.accurate || report.rounding > 0.1 * report.width;
    return PRV_OK;
}

/* ---- Coarse: where epsilon crosses the target ------------------------------------------------ */

static double factor_at(const search *s, double position)
{
    double factor = exp(s->sign * position);
    if (s->parameter == PRV_STEPS) factor = rint(factor);
    return fmin(fmax(factor, fmin(s->risky, s->safe)), fmax(s->risky, s->safe));
}

/* The crossing as far as it is known. */
typedef struct crossing {
    point above, within; /* nearest points with an estimate above the target, and not above */
    int has_above, has_within;
    point recent, before; /* points that a secant can be drawn through; `recent` is the last of them */
    int usable;
    double position, slope; /* where it is thought to be; -d epsilon / d position there, nats */
} crossing;

static void learn(crossing *c, const search *s, const point *p)
{
    if (p->epsilon.estimate > s->epsilon) {
        if (!c->has_above || p->position > c->above.position) c->above = *p;
        c->has_above = 1;
    } else {
        if (!c->has_within || p->position < c->within.position) c->within = *p;
        c->has_within = 1;
    }
    if (!(p->epsilon.estimate > 0.0 && isfinite(p->epsilon.estimate))) return;
    if (c->usable > 0) c->before = c->recent;
    c->recent = *p;
    if (c->usable < 2) c->usable++;
}

/* Log epsilon is nearly a line in log noise, but falls to -infinity where epsilon gets to 0, so an
 * epsilon is counted from one scale below: the one by which delta changes e-fold. */
static double residual(const search *s, const point *p, double scale)
{
    return log((p->epsilon.estimate + scale) / (s->epsilon + scale));
}

/* The scale at the target, where less tilt than for larger epsilons is wrong. */
static double scale_of(const crossing *c, const search *s)
{
    double scale = c->recent.scale;
    if (c->usable > 1 && c->before.scale > 0.0) scale = fmin(scale, c->before.scale);
    if (scale > 0.0) return scale;
    /* Epsilons that needed no composition have none; above a target of 0, one that lets the search take long
     * steps. */
    return s->epsilon > 0.0 ? s->epsilon : 1e-3 * c->recent.epsilon.estimate;
}

/* Where the secant, kept within what is known, looks next. */
static double next_position(crossing *c, const search *s, const point *last, double *step)
{
    const double low = c->has_above ? c->above.position : -HUGE_VAL;
    const double high = c->has_within ? c->within.position : HUGE_VAL;
    double next = last->epsilon.estimate > s->epsilon ? HUGE_VAL : -HUGE_VAL;
    const double from = c->usable > 0 ? c->recent.position : last->position;
    c->slope = 0.0;
    if (c->usable > 0) {
        const double scale = scale_of(c, s), r = residual(s, &c->recent, scale);
        /* -d residual / d position: 1 for much noise, 2 and more for little, 1 or less for steps. */
        double rate = r > 0.0 || s->parameter == PRV_STEPS ? 1.0 : 2.0;
        if (c->usable > 1) {
            const double secant = (residual(s, &c->before, scale) - r) /
                                  (c->recent.position - c->before.position);
            if (secant > 1e-3 && secant < 1e3) rate = secant;
        }
        c->slope = rate * (s->epsilon + scale);
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

/* The distance of positions within which an answer has to be found: the tolerance, or one step. */
static double resolution(const search *s, double position)
{
    return s->parameter == PRV_STEPS ? fmax(s->tolerance, fmin(exp(position), 1.0)) : s->tolerance;
}

/* Width of fine bounds: of what lies between the crossing and the ends of the tolerance around it, the most
 * that leaves room for the place of the crossing, which is only estimated. */
static double fine_width(const search *s, const crossing *c)
{
    const double rounding = c->usable > 0 ? c->recent.rounding : 0.0;
    return fmax(0.4 * resolution(s, c->position) * c->slope, 4.0 * rounding);
}

static prv_status approach(search *s, crossing *c)
{
    memset(c, 0, sizeof *c);
    double position = 0.0, floor = fmax(s->epsilon, 1e-3), eps_error = 0.0, width = HUGE_VAL;
    for (int i = 0; i < MOST_COARSE; i++) {
        point p;
        const prv_status status = measure(s, factor_at(s, position), eps_error, floor, &p);
        if (status != PRV_OK) return status;
        learn(c, s, &p);
        const int above = p.epsilon.estimate > s->epsilon, bracketed = c->has_above && c->has_within;
        double step;
        position = next_position(c, s, &p, &step);
        /* Half of the work is to find the crossing: the steps of the search shrink from about 1 to the
         * tolerance. */
        tell(s, 0.5 * fmin(log(fmin(step, 1.0)) / log(s->tolerance), 1.0));
        c->position = position;
        if (p.factor == (above ? s->safe : s->risky)) c->position = p.position;
        if (c->position == p.position) return PRV_OK;
        const double close = resolution(s, position), before = width;
        width = bracketed ? c->within.position - c->above.position : HUGE_VAL;
        if (width <= close ||
            (bracketed && s->parameter == PRV_STEPS && c->above.factor - c->within.factor <= 1.0))
            return PRV_OK;
        /* Estimates are about 20 times closer than bounds; the error of a secant is of second order in its
         * step. */
        const double fine = fine_width(s, c), enough = 10.0 * fine;
        const int exact = p.width <= enough || p.final;
        if (c->usable > 1 && step * step <= 0.1 * close && exact) return PRV_OK;
        /* One that stays at the same end does not get there: halve then. */
        if (bracketed && i % 3 == 2 && width > 0.5 * before && step * step > close)
            position = 0.5 * (c->above.position + c->within.position);
        const double scale = scale_of(c, s);
        if (c->usable > 0) floor = fmax(s->epsilon, scale);
        eps_error = c->usable > 1 ? fmax(fmin(step, 1.0) * step * c->slope, 0.9 * enough) : 0.0;
        if (eps_error >= COARSE * (s->epsilon + scale)) eps_error = 0.0;
        if (factor_at(s, position) != p.factor) continue;
        if (s->parameter != PRV_STEPS || (c->usable > 1 && p.width <= enough)) return PRV_OK;
        position = s->sign * log(p.factor + (above ? -1.0 : 1.0));
    }
    return PRV_OK;
}

/* ---- Fine: the proof ------------------------------------------------------------------------ */

typedef enum verdict { MEETS, FAILS } verdict;

/* Bounds on both sides of the target are made closer where that may help. */
static prv_status judge(search *s, double factor, double eps_error, double least, point *p, verdict *v)
{
    for (;;) {
        const prv_status status = measure(s, factor, eps_error, 1.0, p);
        if (status != PRV_OK) return status;
        *v = p->epsilon.upper <= s->epsilon ? MEETS : FAILS;
        if (*v == MEETS || p->epsilon.lower > s->epsilon || p->final || eps_error <= least) return PRV_OK;
        const double distance = fabs(p->epsilon.estimate - s->epsilon);
        eps_error = fmax(fmin(distance, 0.3 * eps_error), least);
    }
}

/* A factor this many tolerances, or steps, on the safe side. */
static double moved(const search *s, double factor, double amount)
{
    if (s->parameter == PRV_STEPS) return fmin(fmax(factor - amount, s->safe), s->risky);
    factor *= amount == -1.0 ? 1.0 - s->sign * s->tolerance : exp(s->sign * amount * s->tolerance);
    return fmin(fmax(factor, fmin(s->risky, s->safe)), fmax(s->risky, s->safe));
}

/* 1 if nothing lies between that the tolerance asks for. */
static int adjacent(const search *s, const point *meets, const point *fails)
{
    if (s->parameter == PRV_STEPS) return fails->factor - meets->factor <= 1.0;
    return meets->position - fails->position <= 1.01 * s->tolerance;
}

/* Between both: where the upper bounds put the crossing, but not near an end, and every other time in the
 * middle. */
static double middle(const search *s, const point *meets, const point *fails, int half)
{
    const double excess = fails->epsilon.upper - s->epsilon, slack = s->epsilon - meets->epsilon.upper;
    double part = half || !isfinite(excess) ? 0.5 : excess / (excess + slack);
    part = fmin(fmax(part, 0.1), 0.9); /* of the way from what fails to what meets */
    if (s->parameter == PRV_STEPS) {
        const double between = ceil(fails->factor - part * (fails->factor - meets->factor)) - 1.0;
        return fmin(fmax(between, meets->factor + 1.0), fails->factor - 1.0);
    }
    return fails->factor * pow(meets->factor / fails->factor, part);
}

/* The factor that is to be tried where the crossing is thought to be at this position: on its safe side. */
static double candidate(const search *s, double position)
{
    if (s->parameter != PRV_STEPS) return factor_at(s, position + 0.5 * s->tolerance);
    return fmin(fmax(floor(exp(-position)), s->safe), s->risky);
}

/* The next factor to try: neighbours of what is known, or where the estimate of the last one puts the
 * crossing. */
static double next_candidate(const search *s, const point *p, verdict v, double slope, double reach)
{
    const double neighbour = moved(s, p->factor, v == MEETS ? -reach : reach);
    /* Where bounds cannot be made closer, the upper one alone decides. */
    const int only_upper = v == FAILS && !(p->epsilon.lower > s->epsilon);
    const double epsilon = only_upper || p->final ? p->epsilon.upper : p->epsilon.estimate;
    const double at = p->position + (epsilon - s->epsilon) / slope;
    if (!isfinite(at)) return neighbour;
    const double guess = candidate(s, at);
    if (s->sign * (v == MEETS ? neighbour - guess : guess - neighbour) <= 0.0) return neighbour;
    return guess;
}

/* `fails` is NULL where nothing is left to fail. */
static void report_proof(const point *meets, const point *fails, prv_calibration *found)
{
    found->factor = meets->factor;
    found->eps_error = meets->eps_error;
    found->epsilon = meets->epsilon;
    found->next_factor = fails != NULL ? fails->factor : NAN;
    found->next_eps_error = fails != NULL ? fails->eps_error : NAN;
    found->next_epsilon = fails != NULL ? fails->epsilon : (prv_bounds){NAN, NAN, NAN};
}

static prv_status prove(search *s, const crossing *c, prv_calibration *found)
{
    const double slope = c->slope > 0.0 ? c->slope : s->epsilon + 1e-12;
    const double eps_error = fmax(fine_width(s, c), 0.1 * s->tolerance * slope);
    /* Bounds on both sides of the target are halved and halved again: it is seldom that near. */
    const double least = fmin(eps_error, 1e-3 * s->tolerance * slope);
    point meets = {0}, fails = {0};
    int has_meets = 0, has_fails = 0, halve = 0;
    double reach = 1.0, factor = candidate(s, c->position);
    for (;;) {
        point p;
        verdict v;
        const size_t before = s->compositions;
        const prv_status status = judge(s, factor, eps_error, least, &p, &v);
        if (status != PRV_OK) return status;
        s->fine += s->compositions - before;
        tell(s, 1.0 - 0.5 * exp2(-(double)s->fine));
        if (v == MEETS) {
            meets = p;
            has_meets = 1;
        } else {
            fails = p;
            has_fails = 1;
        }
        found->epsilon = p.epsilon;
        if (v == FAILS && p.factor == s->safe) return PRV_ERR_TARGET;
        if ((v == MEETS && p.factor == s->risky) || (has_meets && has_fails && adjacent(s, &meets, &fails)))
            break;
        if (has_meets && has_fails) {
            factor = middle(s, &meets, &fails, halve);
            halve = !halve;
        } else {
            factor = next_candidate(s, &p, v, slope, reach);
            reach *= 2.0;
        }
    }
    report_proof(&meets, has_fails ? &fails : NULL, found);
    return PRV_OK;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* The range of factors; PRV_ERR_PARAMETER where nothing is changed by them. *fixed tells whether something is
 * not. */
static prv_status range_of(search *s, int *fixed)
{
    uint64_t changed = 0, kept = 0;     /* steps */
    double greatest = 0.0, least = 1.0; /* probabilities */
    for (size_t j = 0; j < s->step_count; j++) {
        const prv_step *step = &s->steps[j];
        if (changes(s, j)) {
            changed = prv_add_count(changed, step->count);
            greatest = fmax(greatest, step->mechanism->sampling_probability);
            least = fmin(least, step->mechanism->sampling_probability);
        } else {
            kept = prv_add_count(kept, step->count);
        }
    }
    *fixed = kept > 0;
    if (prv_add_count(changed, kept) > PRV_MOST_STEPS) return PRV_ERR_COUNT;
    if (changed == 0) return PRV_ERR_PARAMETER;
    s->sign = s->parameter == PRV_NOISE_SCALE ? 1.0 : -1.0;
    switch (s->parameter) {
    case PRV_NOISE_SCALE:
        s->risky = LEAST_FACTOR;
        s->safe = GREATEST_FACTOR;
        break;
    case PRV_SAMPLING_PROBABILITY:
        s->risky = 1.0 / greatest;
        s->safe = fmin(fmax(LEAST_FACTOR, 2.0 * DBL_MIN / least), 1.0); /* products are normal doubles */
        break;
    case PRV_STEPS:
        s->risky = (double)((PRV_MOST_STEPS - kept) / changed);
        s->safe = 0.0;
        break;
    }
    return PRV_OK;
}

static prv_status solve(search *s, int fixed, prv_calibration *found)
{
    point p;
    prv_status status = PRV_OK;
    const int noise = s->parameter == PRV_NOISE_SCALE;
    if (fixed) {
        status = measure(s, noise ? HUGE_VAL : 0.0, 0.0, fmax(s->epsilon, 1e-3), &p);
        if (status != PRV_OK) return status;
        found->epsilon = p.epsilon;
        if (p.epsilon.lower > s->epsilon) return PRV_ERR_TARGET;
    }
    if (noise) {
        verdict v;
        const double width = COARSE * fmax(s->epsilon, 1e-3);
        status = judge(s, 0.0, width, 1e-2 * width, &p, &v);
        if (status != PRV_OK) return status;
        if (v == MEETS) {
            report_proof(&p, NULL, found);
            return PRV_OK;
        }
    }
    crossing c;
    status = approach(s, &c);
    return status == PRV_OK ? prove(s, &c, found) : status;
}

static prv_status check_arguments(prv_parameter parameter, double epsilon, double delta, double tolerance,
                                  const prv_options *options)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (parameter != PRV_NOISE_SCALE && parameter != PRV_SAMPLING_PROBABILITY && parameter != PRV_STEPS)
        return PRV_ERR_PARAMETER;
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (!(delta >= 0.0 && delta <= 1.0)) return PRV_ERR_DELTA;
    if (!(tolerance >= 1e-9 && tolerance <= 0.1)) return PRV_ERR_TOLERANCE;
    if (options->discretization != PRV_BRACKETING || options->mesh_size != 0.0) return PRV_ERR_OPTIONS;
    return PRV_OK;
}

prv_status prv_calibrate(const prv_step *steps, size_t step_count, size_t fixed_count,
                         prv_parameter parameter, double epsilon, double delta, double tolerance,
                         const prv_options *options, prv_calibration *calibration)
{
    prv_layer layer;
    search s = {.steps = steps,
                .step_count = step_count,
                .fixed_count = fixed_count,
                .parameter = parameter,
                .epsilon = epsilon,
                .delta = delta,
                .tolerance = tolerance,
                .layer = &layer};
    s.options = *prv_layer_over(&layer, PRV_KNOWS_COMPOSITIONS, options);
    int fixed = 0;
    prv_status status = check_arguments(parameter, epsilon, delta, tolerance, options);
    if (status == PRV_OK) status = prv_check_steps(steps, step_count, options->neighbors);
    if (status == PRV_OK) status = range_of(&s, &fixed);
    if (status != PRV_OK) return status;
    s.scaled = prv_allocate(step_count, sizeof *s.scaled);
    s.made = prv_allocate(step_count, sizeof *s.made);
    prv_calibration found;
    memset(&found, 0, sizeof found);
    if (s.scaled != NULL && s.made != NULL) {
        for (size_t j = 0; j < step_count; j++) s.made[j] = NULL;
        status = solve(&s, fixed, &found);
        release_made(&s);
    } else {
        status = PRV_ERR_MEMORY;
    }
    prv_release(s.scaled);
    prv_release(s.made);
    found.monotone = is_monotone(&s);
    found.compositions = s.compositions;
    found.fine = s.fine;
    if (status == PRV_OK)
        *calibration = found;
    else if (status == PRV_ERR_TARGET)
        calibration->epsilon = found.epsilon;
    return status;
}
