/* The cheapest value of a parameter that meets a target: a secant on coarse bounds (calibration_crossing.h),
 * or after many other steps sums of these (steps_left.h); then the proof on fine ones (calibration_proof.h).
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/scaling.h"
#include "questions/calibration_proof.h"
#include "questions/own_transforms.h"
#include "questions/question.h"
#include "questions/steps_left.h"

/* Factors of noise, and of sampling probabilities from below, are searched between these. */
#define LEAST_FACTOR 0x1p-200
#define GREATEST_FACTOR 0x1p200

/* Bounds of fixed steps that leave it open whether they meet the target are asked for once more, this much
 * closer. */
#define CLOSE_FIXED 0.02

/* Bytes for the question whether no noise at all meets the target: laws without noise are few atoms. */
#define MEMORY_WITHOUT_NOISE ((size_t)1 << 23)

/* Tolerances that may be asked for. */
#define LEAST_TOLERANCE 1e-9
#define GREATEST_TOLERANCE 0.1

/* Whether all that is changed is changed by post-processing. */
static bool is_monotone(const prv_calibration_search *s)
{
    for (size_t j = 0; j < s->step_count; j++)
        if (s->parameter == PRV_NOISE_SCALE && prv_calibration_changes(s, j) &&
            !prv_falls_with_noise(s->steps[j].mechanism))
            return false;
    return true;
}

/* The range of factors; PRV_ERR_PARAMETER where nothing is changed by them. *fixed tells whether something is
 * not. */
static prv_status range_of(prv_calibration_search *s, bool *is_fixed)
{
    uint64_t changed = 0, kept = 0;     /* steps */
    double greatest = 0.0, least = 1.0; /* probabilities */
    for (size_t j = 0; j < s->step_count; j++) {
        const prv_step *step = &s->steps[j];
        if (prv_calibration_changes(s, j)) {
            changed = prv_add_count(changed, step->count);
            greatest = fmax(greatest, step->mechanism->sampling_probability);
            least = fmin(least, step->mechanism->sampling_probability);
        } else {
            kept = prv_add_count(kept, step->count);
        }
    }
    *is_fixed = kept > 0;
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

/* Whether the target is within reach at all: of steps that are not changed, if there are any. */
static prv_status check_fixed(prv_calibration_search *s, prv_calibration *found)
{
    prv_calibration_point p;
    const double nothing = s->parameter == PRV_NOISE_SCALE ? HUGE_VAL : 0.0;
    const double floor = fmax(s->target, PRV_COARSE_FLOOR);
    prv_status status = prv_calibration_measure(s, nothing, 0.0, floor, &p);
    /* A search that cannot succeed takes much longer than closer bounds. */
    if (status == PRV_OK && !p.is_met && !p.is_above)
        status = prv_calibration_estimate(s, nothing, CLOSE_FIXED * PRV_COARSE_WIDTH * floor, floor, &p);
    if (status != PRV_OK) return status;
    found->epsilon = p.found;
    return p.is_above ? PRV_ERR_TARGET : PRV_OK;
}

/* No noise at all may meet the target; *found is filled if it does. */
static prv_status check_without_noise(prv_calibration_search *s, prv_calibration *found, bool *meets)
{
    prv_calibration_point p;
    prv_verdict v;
    double width = PRV_COARSE_WIDTH * fmax(s->target, PRV_COARSE_FLOOR);
    const double least = 1e-2 * width;
    *meets = false;
    /* Without noise the level may be high, but it is asked only on which side of the target it lies; and if
     * that takes much memory to tell, the search finds it out. */
    const size_t memory_limit = s->options.memory_limit;
    if (s->options.memory_limit > MEMORY_WITHOUT_NOISE) s->options.memory_limit = MEMORY_WITHOUT_NOISE;
    if (s->risk == NULL) s->options.threshold = s->target;
    prv_status status = prv_calibration_measure(s, 0.0, least, 1.0, &p);
    s->options.threshold = 0.0;
    s->options.memory_limit = memory_limit;
    if (status == PRV_ERR_MEMORY_LIMIT) return PRV_OK;
    if (status != PRV_OK || !p.is_met) return status;
    status = prv_calibration_judge(s, 0.0, &width, least, &p, &v);
    if (status != PRV_OK || v != PRV_MEETS) return status;
    prv_calibration_report(&p, NULL, found);
    *meets = true;
    return PRV_OK;
}

/* The target is met whatever the parameter is: by the factor of the highest level. */
static prv_status take_all(prv_calibration_search *s, prv_calibration *found)
{
    prv_calibration_point p;
    const double all = s->parameter == PRV_NOISE_SCALE ? 0.0 : s->risky;
    const prv_status status = prv_calibration_measure(s, all, PRV_COARSE_WIDTH, 1.0, &p);
    if (status != PRV_OK) return status;
    found->epsilon = p.found;
    if (!p.is_met) return PRV_ERR_TARGET;
    prv_calibration_report(&p, NULL, found);
    return PRV_OK;
}

/* No parameter meets a target below the risk of a composition that releases nothing. */
static bool is_out_of_reach(const prv_calibration_search *s, prv_calibration *found)
{
    if (s->risk == NULL) return false;
    const double least = prv_least_risk(s->risk);
    found->epsilon = (prv_bounds){least, least, least};
    return prv_misses_risk(s->risk, &found->epsilon);
}

/* After many other steps the crossing of a single mechanism's runs, as closely as sums of those tell;
 * *is_found is false if it is to be sought by compositions. */
static prv_status cross_by_growth(const prv_calibration_search *s, prv_crossing *c, bool *is_found)
{
    *is_found = false;
    const bool is_last = s->step_count == s->fixed_count + 1 && s->steps[s->fixed_count].count == 1;
    if (s->parameter != PRV_STEPS || s->risk != NULL || !is_last) return PRV_OK;
    if (!(s->target > 0.0 && s->delta > 0.0 && prv_is_engine_open(&s->options))) return PRV_OK;
    const prv_steps_left_question q = {s->steps, s->step_count, s->target, s->delta, LEAST_TOLERANCE};
    uint64_t runs;
    *c = (prv_crossing){.usable = 0};
    const prv_status status = prv_steps_left_by_growth(&q, &s->options, is_found, &runs, &c->slope);
    if (status == PRV_OK && *is_found) c->position = -log((double)runs);
    return status;
}

static prv_status solve(prv_calibration_search *s, bool is_fixed, prv_calibration *found)
{
    if (is_out_of_reach(s, found)) return PRV_ERR_TARGET;
    if (!isfinite(s->target)) return take_all(s, found);
    prv_status status = is_fixed ? check_fixed(s, found) : PRV_OK;
    if (status != PRV_OK) return status;
    if (s->parameter == PRV_NOISE_SCALE) {
        bool meets;
        status = check_without_noise(s, found, &meets);
        if (status != PRV_OK || meets) return status;
    }
    prv_crossing c;
    bool is_found;
    status = cross_by_growth(s, &c, &is_found);
    if (status == PRV_OK && !is_found) status = prv_find_crossing(s, &c);
    if (status != PRV_OK) return status;
    return prv_calibration_prove(s, &c, found);
}

static prv_status check_arguments(prv_parameter parameter, double tolerance, const prv_options *options)
{
    if (parameter != PRV_NOISE_SCALE && parameter != PRV_SAMPLING_PROBABILITY && parameter != PRV_STEPS)
        return PRV_ERR_PARAMETER;
    if (!(tolerance >= LEAST_TOLERANCE && tolerance <= GREATEST_TOLERANCE)) return PRV_ERR_TOLERANCE;
    if (options->discretization != PRV_BRACKETING || options->mesh_size != 0.0) return PRV_ERR_OPTIONS;
    if (options->threshold != 0.0) return PRV_ERR_OPTIONS; /* the target takes its place */
    return PRV_OK;
}

/* Runs a search whose steps, parameter, target and tolerance are filled in; the target is checked already. */
static prv_status run_search(prv_calibration_search *s, const prv_options *options,
                             prv_calibration *calibration)
{
    prv_layer layer;
    s->layer = &layer;
    s->nats = 1.0;
    prv_calibration found;
    memset(&found, 0, sizeof found);
    bool is_fixed = false;
    prv_status status = check_arguments(s->parameter, s->tolerance, options);
    if (status != PRV_OK) return status;
    status = prv_check_steps(s->steps, s->step_count, options->neighbors);
    if (status != PRV_OK) return status;
    status = range_of(s, &is_fixed);
    if (status != PRV_OK) return status;
    prv_own_transforms own;
    status = prv_own_transforms_begin(&own, options, &options);
    if (status != PRV_OK) return status;
    s->options = *prv_layer_over(&layer, PRV_KNOWS_COMPOSITIONS, options);
    s->scaled = prv_allocate(s->step_count, sizeof *s->scaled);
    s->made = prv_allocate(s->step_count, sizeof *s->made);
    if (s->scaled == NULL || s->made == NULL) {
        status = PRV_ERR_MEMORY;
        goto done;
    }
    for (size_t j = 0; j < s->step_count; j++) s->made[j] = NULL;
    status = solve(s, is_fixed, &found);
    prv_calibration_release(s);
    found.monotone = is_monotone(s);
    found.compositions = s->compositions;
    found.fine = s->fine;
    if (status == PRV_OK) *calibration = found;
    if (status == PRV_ERR_TARGET) calibration->epsilon = found.epsilon;
done:
    prv_own_transforms_end(&own);
    prv_release(s->scaled);
    prv_release(s->made);
    return status;
}

prv_status prv_calibrate(const prv_step *steps, size_t step_count, size_t fixed_count,
                         prv_parameter parameter, double epsilon, double delta, double tolerance,
                         const prv_options *options, prv_calibration *calibration)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (!(delta >= 0.0 && delta <= 1.0)) return PRV_ERR_DELTA;
    if (fixed_count > step_count) return PRV_ERR_FIXED_COUNT;
    prv_calibration_search s = {.steps = steps,
                                .step_count = step_count,
                                .fixed_count = fixed_count,
                                .parameter = parameter,
                                .target = epsilon,
                                .delta = delta,
                                .tolerance = tolerance};
    return run_search(&s, options, calibration);
}

prv_status prv_calibrate_risk(const prv_step *steps, size_t step_count, size_t fixed_count,
                              prv_parameter parameter, prv_risk risk, double at, double target,
                              double tolerance, const prv_options *options, prv_calibration *calibration)
{
    const prv_risk_target wanted = {risk, at, target};
    prv_status status = prv_check_arithmetic();
    if (status != PRV_OK) return status;
    status = prv_check_risk(&wanted);
    if (status != PRV_OK) return status;
    if (fixed_count > step_count) return PRV_ERR_FIXED_COUNT;
    prv_calibration_search s = {.steps = steps,
                                .step_count = step_count,
                                .fixed_count = fixed_count,
                                .parameter = parameter,
                                .risk = &wanted,
                                .target = prv_risk_level(&wanted, target),
                                .tolerance = tolerance};
    return run_search(&s, options, calibration);
}

/* ---- Steps left ---------------------------------------------------------------------------------- */

/* By prv_calibrate: *left is 0 too if the steps before exceed the budget alone. */
static prv_status left_by_calibration(const prv_steps_left_question *q, const prv_options *options,
                                      uint64_t *left)
{
    prv_calibration c;
    const prv_status status = prv_calibrate(q->steps, q->step_count, q->step_count - 1, PRV_STEPS, q->epsilon,
                                            q->delta, q->tolerance, options, &c);
    *left = status == PRV_OK ? (uint64_t)c.factor : 0;
    return status;
}

prv_status prv_steps_left(const prv_step *steps, size_t step_count, const prv_mechanism *mechanism,
                          double epsilon, double delta, double tolerance, const prv_options *options,
                          uint64_t *left)
{
    prv_status status = prv_check_arithmetic();
    if (status != PRV_OK) return status;
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (!(delta >= 0.0 && delta <= 1.0)) return PRV_ERR_DELTA;
    status = check_arguments(PRV_STEPS, tolerance, options);
    if (status != PRV_OK) return status;
    prv_step *all = prv_allocate(step_count + 1, sizeof *all);
    if (all == NULL) return PRV_ERR_MEMORY;
    if (step_count > 0) memcpy(all, steps, step_count * sizeof *all);
    all[step_count] = (prv_step){mechanism, 1};
    const prv_steps_left_question q = {all, step_count + 1, epsilon, delta, tolerance};
    bool found = false;
    uint64_t runs = 0;
    double slope;
    status = prv_check_steps(all, step_count + 1, options->neighbors);
    if (status == PRV_OK && epsilon > 0.0 && delta > 0.0 && prv_is_engine_open(options))
        status = prv_steps_left_by_growth(&q, options, &found, &runs, &slope);
    if (status == PRV_OK && !found) status = left_by_calibration(&q, options, &runs);
    if (status == PRV_OK) *left = runs;
    prv_release(all);
    return status;
}
