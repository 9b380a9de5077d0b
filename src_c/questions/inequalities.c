#include "questions/inequalities.h"

#include <math.h>

#include "numerics/rounding.h"
#include "curve/chernoff.h"
#include "planning/aim.h"
#include "questions/question.h"

/* A threshold is told apart from the next number that is asked about instead by this part of it. */
#define A_LITTLE_ABOVE 0x1p-40

/* log(1 - delta) of the worst direction, at most. */
static double least_log_complement(const prv_direction *directions, size_t count, double epsilon)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < count; i++) least = fmin(least, prv_log_complement(&directions[i], epsilon));
    return least;
}

static double delta_by_complement(double log_complement)
{
    return prv_below(1.0 - prv_outwards(exp(fmin(log_complement, 0.0)), PRV_LIBM_ERROR, 1));
}

double prv_least_by_complement(const prv_direction *directions, size_t count, double epsilon)
{
    return delta_by_complement(least_log_complement(directions, count, epsilon));
}

/* A delta so near 1 that this alone settles it; true if answered. */
static bool is_almost_one(const prv_direction *directions, size_t count, const prv_options *options,
                          double epsilon, prv_bounds *b)
{
    const double least = least_log_complement(directions, count, epsilon);
    const double lower = delta_by_complement(least);
    if (!(least <= log(PRV_FINEST_DELTA)) && !prv_is_relatively_close(options, PRV_ASK_DELTA, lower, 1.0) &&
        !prv_is_decided(options, lower, 1.0))
        return false;
    *b = (prv_bounds){lower, 1.0, 1.0};
    return true;
}

/* A delta that is the mass at infinity, as closely as asked: Chernoff's inequality bounds what finite losses
 * add. Without mass at infinity, a delta below the least that bounds are promised for; true if answered. */
static bool is_all_at_infinity(prv_direction *directions, size_t count, const prv_options *options,
                               double epsilon, prv_bounds *b)
{
    if (!(epsilon > 0.0)) return false;
    double low = 0.0, mass = 0.0;
    for (size_t i = 0; i < count; i++) {
        low = fmax(low, directions[i].all.infinite.low);
        mass = fmax(mass, directions[i].all.infinite.mass);
    }
    const double most = fmax(options->delta_relative_error * low, PRV_LEAST_DELTA);
    double upper = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (!prv_chernoff_may_reach(&directions[i], most, epsilon)) return false;
        upper = fmax(upper, prv_chernoff_delta(&directions[i], epsilon, low));
        if (upper > PRV_LEAST_DELTA && !prv_is_relatively_close(options, PRV_ASK_DELTA, low, upper))
            return false;
    }
    *b = (prv_bounds){low, fmin(fmax(mass, low), upper), upper};
    return true;
}

/* The total variation of all steps, of the worst direction: at most. */
static double most_total_variation(const prv_direction *directions, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) most = fmax(most, prv_most_total_variation(&directions[i]));
    return most;
}

/* Answers 0 if delta is at least the total variation of all steps. */
static bool is_above_all(const prv_direction *directions, size_t count, double delta, prv_bounds *b)
{
    if (!(most_total_variation(directions, count) <= delta)) return false;
    *b = (prv_bounds){0.0, 0.0, 0.0};
    return true;
}

/* Answers without composing if eps_error, or a threshold, is so large that 0 and a bound that needs no
 * composition are close enough. Not for relative widths (the caller wants digits), nor if the
 * caller chose a mesh_size or an engine. */
static bool is_within_width(prv_direction *directions, size_t count, const prv_options *options, double delta,
                            prv_bounds *b, prv_report *r)
{
    const double width = fmax(options->eps_error, options->threshold);
    if (!(width > 0.0) || options->mesh_size > 0.0 || !prv_is_engine_open(options)) return false;
    double upper = 0.0;
    prv_direction *top = &directions[0];
    for (size_t i = 0; i < count; i++) {
        double bound = prv_greatest_epsilon(&directions[i].all);
        if (bound > width && !prv_chernoff_may_reach(&directions[i], delta, width)) return false;
        bound = fmin(bound, prv_chernoff_epsilon(&directions[i], delta, upper));
        if (!(bound <= width)) return false;
        if (bound > upper) top = &directions[i];
        upper = fmax(upper, bound);
    }
    *b = (prv_bounds){0.0, fmin(prv_rough_epsilon(top, delta - top->all.infinite.mass), upper), upper};
    prv_report_known(options, r);
    r->width = upper;
    r->direction = prv_neighbors_of(top->add, options->neighbors);
    return true;
}

/* An epsilon at a threshold has a delta above the one asked: then the answer is above the threshold, and no
 * composition tells more. True if answered. */
static bool is_above_threshold(prv_direction *directions, size_t count, const prv_options *options,
                               double delta, prv_bounds *b, prv_report *r)
{
    if (!(options->threshold > 0.0) || options->mesh_size > 0.0 || !prv_is_engine_open(options)) return false;
    /* An epsilon a little above the threshold, of which the same holds, is a lower bound that lies above. */
    const double above = options->threshold * (1.0 + A_LITTLE_ABOVE);
    size_t top = count;
    for (size_t i = 0; i < count && top == count; i++) {
        const double complement = exp(fmin(prv_log_complement(&directions[i], above), 0.0));
        if (prv_below(1.0 - prv_outwards(complement, PRV_LIBM_ERROR, 1)) > delta) top = i;
    }
    if (top == count) return false;
    double upper = above;
    for (size_t i = 0; i < count; i++) {
        const double chernoff = prv_chernoff_epsilon(&directions[i], delta, upper);
        upper = fmax(upper, fmin(prv_greatest_epsilon(&directions[i].all), chernoff));
    }
    prv_direction *decides = &directions[top];
    const double guess = prv_rough_epsilon(decides, delta - decides->all.infinite.mass);
    *b = (prv_bounds){above, fmin(fmax(guess, above), upper), upper};
    prv_report_known(options, r);
    r->width = upper - above;
    r->direction = prv_neighbors_of(decides->add, options->neighbors);
    return true;
}

prv_status prv_answer_by_inequalities(prv_direction *directions, size_t direction_count,
                                      const prv_options *options, prv_question question, double value,
                                      bool *answered, prv_bounds *bounds, prv_report *report)
{
    const bool chosen = options->mesh_size > 0.0, ask_epsilon = question == PRV_ASK_EPSILON;
    *answered = true;
    if ((!chosen && !ask_epsilon &&
         (is_almost_one(directions, direction_count, options, value, bounds) ||
          is_all_at_infinity(directions, direction_count, options, value, bounds))) ||
        (!chosen && ask_epsilon && is_above_all(directions, direction_count, value, bounds)))
        prv_report_known(options, report);
    else
        *answered = ask_epsilon &&
                    (is_within_width(directions, direction_count, options, value, bounds, report) ||
                     is_above_threshold(directions, direction_count, options, value, bounds, report));
    return *answered ? prv_gate_range(0.0, ask_epsilon ? HUGE_VAL : 1.0, bounds) : PRV_OK;
}

prv_status prv_clip_small_delta(const prv_direction *directions, size_t direction_count, double epsilon,
                                prv_bounds *bounds)
{
    double most = 0.0;
    for (size_t i = 0; i < direction_count; i++)
        most = fmax(most, prv_most_by_variation(&directions[i], epsilon));
    return prv_gate_range(bounds->lower, fmin(bounds->upper, most), bounds);
}

bool prv_is_known_by_variation(const prv_direction *directions, size_t direction_count,
                               const prv_options *options, double epsilon, prv_limit limit,
                               prv_bounds *bounds, prv_report *report)
{
    if (!(most_total_variation(directions, direction_count) <= PRV_FINEST_DELTA)) return false;
    double low = prv_least_delta(epsilon, -1), greatest = 0.0;
    for (size_t i = 0; i < direction_count; i++) {
        low = fmax(low, directions[i].all.infinite.low);
        greatest = fmax(greatest, prv_greatest_epsilon(&directions[i].all));
    }
    prv_bounds b = {low, low, 1.0};
    if (prv_clip_small_delta(directions, direction_count, epsilon, &b) != PRV_OK) return false;
    *bounds = b;
    prv_report_known(options, report);
    /* From the greatest loss on the curve is as low as this; at epsilons below 0 it may be higher by their
     * size. */
    report->width = report->rounding = fmax(greatest - fmin(epsilon, 0.0), 2.0 * (b.upper - b.lower));
    report->accurate = report->width <= prv_width_asked(options, epsilon) || b.upper <= PRV_LEAST_DELTA ||
                       prv_is_relatively_close(options, PRV_ASK_DELTA, b.lower, b.upper) ||
                       prv_is_decided(options, b.lower, b.upper);
    if (!report->accurate) report->limit = limit;
    return true;
}
