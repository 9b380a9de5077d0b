/* The Bayes risk: the least chance of a wrong guess which of the two data sets was used, at a prior.
 *
 * Let pi be the prior of Q. The guess that says Q on the set S errs with probability
 *     pi (1 - Q(S)) + (1 - pi) P(S),
 * whose least value over S is R = pi (1 - delta(log((1 - pi) / pi))).
 *
 * Rounding of epsilon: with t = e^eps, f(t) = 1 - delta(log t) is concave and does not fall, and f(0) = 0,
 * also of the greatest delta of many pairs. Thus f(t) / t does not rise, and f(t') lies within a factor e^E
 * of f(t) wherever t' lies within a factor e^E of t: an absolute error E of epsilon is a relative error e^E -
 * 1 of R. */
#include <math.h>

#include "numerics/rounding.h"
#include "curve/gate.h"
#include "planning/aim.h"
#include "questions/epsilon_delta.h"
#include "questions/question.h"

/* log((1 - prior) / prior) for 0 < prior < 1: log and log1p are off by PRV_LIBM_ERROR each, the difference is
 * rounded. *error gets how far it may be off, at first order. */
static double epsilon_of(double prior, double *error)
{
    *error = 0.0;
    if (prior == 0.5) return 0.0;
    const double out = log1p(-prior), in = log(prior), epsilon = out - in;
    *error = PRV_LIBM_ERROR * (fabs(out) + fabs(in)) + PRV_UNIT * fabs(epsilon);
    return epsilon;
}

/* Widths are relative to epsilon, or to the size of the losses (nats) if epsilon is less. */
static double scale_of(prv_directions *directions)
{
    double scale = 1e-12;
    for (size_t i = 0; i < directions->count; i++) {
        prv_use_whole_profiles(&directions->each[i]);
        const prv_moments m = prv_composed_moments(&directions->each[i], 0.0);
        scale = fmax(scale, fabs(m.mean) + sqrt(fmax(m.variance, 0.0)));
    }
    return scale;
}

/* prior (1 - delta), where delta is at an epsilon that is off by `error`, with the rounding of the difference
 * and of the product. */
static double risk_of(double prior, double delta, double error, int sign)
{
    if (delta >= 1.0) return 0.0;
    return prv_outwards(prior * (1.0 - delta), error + 2.0 * PRV_UNIT, sign);
}

static prv_status answer(prv_directions *directions, const prv_options *options, double prior,
                         prv_bounds *bounds, prv_report *report)
{
    /* Of the guess without the output; the difference is exact if it is the lesser. */
    const double most = fmin(prior, 1.0 - prior);
    if (most == 0.0 || !(directions->each[0].all.count > 0.0)) {
        prv_report_known(options, report);
        *bounds = (prv_bounds){most, most, most};
        return PRV_OK;
    }
    double error;
    const double epsilon = epsilon_of(prior, &error);
    prv_options asked = *options;
    asked.delta_relative_error = 0.0; /* it says nothing of 1 - delta */
    asked.eps_error = prv_width_asked(options, fmax(fabs(epsilon), scale_of(directions)));
    prv_bounds delta;
    const prv_status status = prv_answer(directions->each, directions->count, &asked, PRV_ASK_DELTA, &epsilon,
                                         1, &delta, report);
    if (status != PRV_OK) return status;
    bounds->lower = fmax(risk_of(prior, delta.upper, error, -1), 0.0);
    bounds->upper = fmin(risk_of(prior, delta.lower, error, 1), most);
    bounds->estimate = prior * (1.0 - delta.estimate);
    return prv_gate_range(0.0, most, bounds);
}

static prv_status check_prior(double prior)
{
    return prior >= 0.0 && prior <= 1.0 ? PRV_OK : PRV_ERR_PRIOR;
}

prv_status prv_bayes_risk(const prv_step *steps, size_t step_count, const prv_options *options,
                          const double *priors, size_t length, prv_bounds *bounds, prv_report *reports)
{
    static const prv_query query = {check_prior, answer};
    return prv_ask_each(&query, steps, step_count, options, priors, length, bounds, reports);
}
