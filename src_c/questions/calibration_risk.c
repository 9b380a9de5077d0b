#include "questions/calibration_risk.h"

#include <math.h>

#include "numerics/constants.h"
#include "numerics/normal.h"

/* Levels are searched between these two: a smaller level counts as 0, a greater one as infinite. */
#define LEAST_LEVEL 1e-30
#define GREATEST_LEVEL 1e3
/* Halvings of the logarithm of a level, or of a quantile: the last interval is below a unit of rounding. */
enum { HALVINGS = 60 };
/* Beyond these quantiles tails are no doubles. */
#define FARTHEST_QUANTILE 40.0

prv_status prv_check_risk(const prv_risk_target *target)
{
    const double at = target->at, value = target->value;
    switch (target->risk) {
    case PRV_ADVANTAGE:
        if (at != 0.0) return PRV_ERR_RISK;
        break;
    case PRV_POWER:
        if (!(at > 0.0 && at < 1.0)) return PRV_ERR_RATE;
        break;
    case PRV_BAYES_RISK:
        if (!(at > 0.0 && at < 1.0)) return PRV_ERR_PRIOR;
        break;
    case PRV_GAUSSIAN_MU:
        if (!(at > 0.0 && at <= 1.0)) return PRV_ERR_DELTA;
        return value >= 0.0 && isfinite(value) ? PRV_OK : PRV_ERR_RISK;
    default: return PRV_ERR_RISK;
    }
    return value >= 0.0 && value <= 1.0 ? PRV_OK : PRV_ERR_RISK;
}

double prv_least_risk(const prv_risk_target *target)
{
    switch (target->risk) {
    case PRV_POWER: return target->at;
    case PRV_BAYES_RISK: return fmin(target->at, 1.0 - target->at);
    default: return 0.0;
    }
}

prv_status prv_bound_risk(const prv_risk_target *target, const prv_step *steps, size_t step_count,
                          const prv_options *options, prv_bounds *bounds, prv_report *report)
{
    const double nothing = 0.0, *at = &target->at;
    prv_options close = *options;
    close.delta_relative_error = 0.0; /* a delta is to be as close as the search asks */
    switch (target->risk) {
    case PRV_POWER: return prv_power(steps, step_count, options, at, 1, bounds, report);
    case PRV_BAYES_RISK: return prv_bayes_risk(steps, step_count, options, at, 1, bounds, report);
    case PRV_GAUSSIAN_MU: return prv_gaussian_mu(steps, step_count, options, at, 1, bounds, report);
    default: return prv_delta(steps, step_count, &close, &nothing, 1, bounds, report);
    }
}

bool prv_meets_risk(const prv_risk_target *target, const prv_bounds *bounds)
{
    return target->risk == PRV_BAYES_RISK ? bounds->lower >= target->value : bounds->upper <= target->value;
}

bool prv_misses_risk(const prv_risk_target *target, const prv_bounds *bounds)
{
    return target->risk == PRV_BAYES_RISK ? bounds->upper < target->value : bounds->lower > target->value;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

/* z with 1 - Phi(z) = tail, 0 < tail < 1. */
static double quantile(double tail)
{
    double low = -FARTHEST_QUANTILE, high = FARTHEST_QUANTILE;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        if (prv_upper_tail(middle) > tail)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* Of the Gaussian mechanism of this mu, a number that grows with it: the advantage; the power at the quantile
 * `place`, less 1; or delta at the epsilon `place`, less 1. */
static double grown(prv_risk risk, double place, double mu)
{
    if (risk == PRV_ADVANTAGE) return erf(0.5 * PRV_SQRT_HALF * mu);
    if (risk == PRV_POWER) return -prv_upper_tail(mu - place);
    const double x = place / mu - 0.5 * mu; /* delta = 1 - Phi(x) - e^place (1 - Phi(x + mu)) */
    return -(prv_upper_tail(-x) + exp(place + prv_log_upper_tail(x + mu)));
}

double prv_risk_level(const prv_risk_target *target, double risk)
{
    const double least = prv_least_risk(target);
    double place = 0.0, wanted = risk - 1.0, most = 0.0;
    bool is_least = risk <= least;
    switch (target->risk) {
    case PRV_GAUSSIAN_MU: return risk;
    case PRV_POWER: place = quantile(target->at); break;
    case PRV_BAYES_RISK:
        is_least = risk >= least;
        place = log1p(-least) - log(least);
        wanted = -risk / least;
        break;
    default: wanted = risk; most = 1.0;
    }
    if (is_least) return 0.0;
    if (wanted >= most) return HUGE_VAL;
    double low = log(LEAST_LEVEL), high = log(GREATEST_LEVEL);
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        if (grown(target->risk, place, exp(middle)) < wanted)
            low = middle;
        else
            high = middle;
    }
    return exp(0.5 * (low + high));
}

prv_bounds prv_risk_levels(const prv_risk_target *target, const prv_bounds *bounds)
{
    const double lower = prv_risk_level(target, bounds->lower), upper = prv_risk_level(target, bounds->upper);
    return (prv_bounds){fmin(lower, upper), prv_risk_level(target, bounds->estimate), fmax(lower, upper)};
}
