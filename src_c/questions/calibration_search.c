#include "questions/calibration_search.h"

#include <math.h>
#include <string.h>

#include "mechanisms/scaling.h"

/* Bytes of bounds to find the way by, if small passes have none. */
#define MEMORY_OF_ESTIMATE ((size_t)1 << 25)
/* If rounding makes this part of a width, asking for less would not make the bounds closer. */
#define MUCH_ROUNDING 0.1
/* The part of delta at which a formula is evaluated once more. */
#define OTHER_DELTA 0.9
/* A mesh that makes bounds twice as close has about twice the rounding, so that both are alike where the
 * width is the root of their product; less than so many times this is not worth asking for. */
#define ROUNDING_GROWS 3.0
/* The logarithm of the mu of a risk is nearly a line: a scale this small, over the target, leaves it as it
 * is. */
#define SMALL_SCALE 1e-3
/* Widths of epsilon over those of levels are believed between these. */
#define LEAST_NATS 1e-3
#define GREATEST_NATS 1e3

bool prv_calibration_changes(const prv_calibration_search *s, size_t j)
{
    if (j < s->fixed_count || s->steps[j].count == 0) return false;
    return s->parameter == PRV_STEPS || prv_has_parameter(s->steps[j].mechanism, s->parameter);
}

double prv_calibration_factor(const prv_calibration_search *s, double position)
{
    double factor = exp(s->sign * position);
    if (s->parameter == PRV_STEPS) factor = rint(factor);
    return fmin(fmax(factor, fmin(s->risky, s->safe)), fmax(s->risky, s->safe));
}

void prv_calibration_release(prv_calibration_search *s)
{
    for (size_t j = 0; j < s->step_count; j++) {
        prv_mechanism_free(s->made[j]);
        s->made[j] = NULL;
    }
}

/* The steps with their parameter multiplied; infinite noise leaves nothing of a step. */
static prv_status scale_steps(prv_calibration_search *s, double factor)
{
    prv_calibration_release(s);
    for (size_t j = 0; j < s->step_count; j++) {
        s->scaled[j] = s->steps[j];
        if (!prv_calibration_changes(s, j)) {
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

void prv_calibration_tell(prv_calibration_search *s, double fraction)
{
    s->layer->now.fraction = fmax(s->layer->now.fraction, fraction);
}

/* A formula has no tilt: by another delta, which costs as little. */
static prv_status measure_scale(const prv_calibration_search *s, prv_calibration_point *p)
{
    const double another = OTHER_DELTA * s->delta;
    prv_bounds b;
    const prv_status status = prv_epsilon(s->scaled, s->step_count, &s->options, &another, 1, &b, NULL);
    if (status != PRV_OK) return status;
    const double scale = (b.estimate - p->level.estimate) / -log(OTHER_DELTA);
    p->scale = scale > 0.0 && isfinite(scale) ? scale : 0.0;
    return PRV_OK;
}

static prv_status measure_epsilon(prv_calibration_search *s, prv_calibration_point *p, prv_report *report)
{
    const prv_status status = prv_epsilon(s->scaled, s->step_count, &s->options, &s->delta, 1, &p->found,
                                          report);
    if (status != PRV_OK) return status;
    p->level = p->found;
    p->is_met = p->level.upper <= s->target;
    p->is_missed = p->level.lower > s->target;
    p->width = report->width - report->unattained;
    p->scale = report->tilt > 0.0 ? 1.0 / report->tilt : 0.0;
    return report->engine == PRV_ENGINE_CLOSED_FORM ? measure_scale(s, p) : PRV_OK;
}

static prv_status measure_risk(prv_calibration_search *s, prv_calibration_point *p, prv_report *report)
{
    const prv_status status = prv_bound_risk(s->risk, s->scaled, s->step_count, &s->options, &p->found,
                                             report);
    if (status != PRV_OK) return status;
    p->level = prv_risk_levels(s->risk, &p->found);
    p->is_met = prv_meets_risk(s->risk, &p->found);
    p->is_missed = prv_misses_risk(s->risk, &p->found);
    p->scale = SMALL_SCALE * s->target;
    /* The part that is owed to a pair that no data sets have cannot be made less. */
    p->width = report->attained ? p->level.upper - p->level.lower : report->width / s->nats;
    const double nats = report->width / p->width;
    if (report->attained && nats >= LEAST_NATS && nats <= GREATEST_NATS) s->nats = nats;
    return PRV_OK;
}

prv_status prv_calibration_measure(prv_calibration_search *s, double factor, double width, double floor,
                                   prv_calibration_point *p)
{
    prv_report report = {0};
    memset(p, 0, sizeof *p);
    p->factor = factor;
    p->position = s->sign * log(factor);
    p->eps_error = width * s->nats;
    s->options.eps_error = p->eps_error;
    s->options.eps_relative_error = PRV_COARSE_WIDTH;
    s->options.eps_floor = floor * s->nats;
    prv_status status = scale_steps(s, factor);
    if (status != PRV_OK) return status;
    status = s->risk != NULL ? measure_risk(s, p, &report) : measure_epsilon(s, p, &report);
    if (status != PRV_OK) return status;
    s->layer->now.compositions = ++s->compositions;
    /* Bounds that are infinitely far apart do not say how close others can be. */
    p->rounding = isfinite(report.rounding) ? report.rounding / s->nats : 0.0;
    p->closest = fmax(p->rounding / MUCH_ROUNDING, ROUNDING_GROWS * sqrt(p->rounding * p->width));
    p->is_stopped = report.limit == PRV_LIMIT_ENGINE;
    p->is_above = p->is_missed || p->level.upper - p->width > s->target;
    p->is_final = !report.accurate || report.rounding > MUCH_ROUNDING * report.width;
    return PRV_OK;
}

prv_status prv_calibration_estimate(prv_calibration_search *s, double factor, double width, double floor,
                                    prv_calibration_point *p)
{
    const prv_engine engine = s->options.engine;
    const size_t memory_limit = s->options.memory_limit;
    if (engine == PRV_ENGINE_AUTO) s->options.engine = PRV_ENGINE_SMALL;
    prv_status status = prv_calibration_measure(s, factor, width, floor, p);
    s->options.engine = engine;
    if (status != PRV_ERR_ENGINE || engine != PRV_ENGINE_AUTO) return status;
    if (memory_limit > MEMORY_OF_ESTIMATE) s->options.memory_limit = MEMORY_OF_ESTIMATE;
    status = prv_calibration_measure(s, factor, width, floor, p);
    s->options.memory_limit = memory_limit;
    return status == PRV_ERR_MEMORY_LIMIT ? prv_calibration_measure(s, factor, width, floor, p) : status;
}
