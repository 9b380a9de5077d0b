/* Renyi divergences, D_alpha = log(M) / (alpha - 1) with M = E_P[(dQ/dP)^alpha] for each step; log M of steps
 * add up. Here the excess moments M - 1 of single steps (renyi_excess.h) become log M and its sum. */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "numerics/rounding.h"
#include "mechanisms/bounded_range.h"
#include "mechanisms/support.h"
#include "curve/gate.h"
#include "questions/question.h"
#include "questions/renyi_bounded.h"
#include "questions/renyi_discrete.h"
#include "questions/renyi_gaussian.h"
#include "questions/worst_case.h"

#define GREATEST_ORDER 1e6

/* ---- The excess moment of one step ----------------------------------------------------------- */

static prv_status step_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                              prv_excess *e);

/* M - 1 of a choice in the open is the mean of those of its parts. */
static prv_status choice_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                                prv_excess *e)
{
    for (int i = 0; i < 2; i++) {
        prv_excess part;
        const prv_status status = step_excess(m->part[i], add, alpha, options, &part);
        if (status != PRV_OK) return status;
        const double low = prv_log_sum_below(&part.lower), high = prv_log_sum_above(&part.upper);
        const double log_weight = log(m->part_weight[i]);
        const double error = -log1p(-m->part_weight_error) + PRV_UNIT * (8.0 + 4.0 * fabs(log_weight));
        prv_excess_add(e, low + log_weight - error - 2.0 * PRV_UNIT * fabs(low),
                       high + log_weight + error + 2.0 * PRV_UNIT * fabs(high));
    }
    return PRV_OK;
}

/* Q = (1 - p) N(0, 1) + p N(mu, 1) against P = N(0, 1). */
static prv_status sampled_gaussian_excess(const prv_mechanism *m, bool add, double alpha,
                                          const prv_options *options, prv_excess *e)
{
    const double p = m->sampling_probability;
    double centers[2] = {0.0, m->mu}, weights[2] = {1.0 - p, p}, origin = 0.0, one = 1.0;
    const bool whole = p == 1.0;
    const prv_components of_q = {whole ? 1 : 2, centers + whole, weights + whole, m->mu};
    const prv_components of_p = {1, &origin, &one, 0.0};
    return prv_gaussian_excess(&of_q, &of_p, add, m->folded, alpha, options, e);
}

/* Adds what batches make of M - 1 that are cut, and have the pair of a sample of twice the sensitivity then,
 * or if a record is replaced that of a sample of fixed size. Data sets that lose as much are not known. */
static prv_status add_cut_batches(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                                  prv_excess *e)
{
    if (m->cut_sampling_probability == 0.0) return PRV_OK;
    const bool replaced = m->base == PRV_BASE_MIXTURE;
    prv_mechanism of_cut = *m;
    of_cut.mu = 2.0 * (replaced ? m->mixture->q.reach : m->mu);
    of_cut.sampling_probability = m->cut_sampling_probability;
    of_cut.folded = replaced;
    prv_excess part = PRV_NO_EXCESS;
    const prv_status status = sampled_gaussian_excess(&of_cut, add, alpha, options, &part);
    const double high = prv_log_sum_above(&part.upper) + m->cut_log_probability;
    prv_excess_add(e, -HUGE_VAL, high + 4.0 * PRV_UNIT * (fabs(high) + fabs(m->cut_log_probability)));
    return status;
}

/* The worst of all mechanisms of this range. Data sets that have it, but for rounding, bound it from
 * below (worst_case.h). */
static prv_excess range_excess(double range, double alpha)
{
    prv_excess e = PRV_NO_EXCESS;
    const double most = prv_most_log_moment(range, alpha - 1.0);
    const double log_excess = most > 30.0 ? most + log1p(-exp(-most)) : log(expm1(most));
    const double error = PRV_UNIT * (16.0 + 8.0 * most);
    prv_excess_add(&e, log_excess - error, log_excess + error);
    return e;
}

/* Components that are left out of a mixture (prv_mechanism.without_rarest) may decide a moment. Without them
 * one is smaller if the mixture is Q, and greater if it is P. */
static void forget_what_is_left_out(bool mixture_is_p, prv_excess *e)
{
    const double lower = prv_log_sum_below(&e->lower), upper = prv_log_sum_above(&e->upper);
    *e = (prv_excess)PRV_NO_EXCESS;
    prv_excess_add(e, mixture_is_p ? -HUGE_VAL : lower, mixture_is_p ? upper : HUGE_VAL);
}

/* PRV_ERR_MOMENTS for callbacks, PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
static prv_status step_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                              prv_excess *e)
{
    const bool add_pair = add && !prv_is_symmetric(m);
    *e = (prv_excess)PRV_NO_EXCESS;
    /* A mass that underflows is 0 with an error (prv_error_of_product). */
    if (prv_infinite_mass(m, add) > 0.0 || prv_infinite_mass_error(m, add) > 0.0) {
        prv_excess_add(e, HUGE_VAL, HUGE_VAL);
        return PRV_OK;
    }
    switch (m->base) {
    case PRV_BASE_TAILS:
    case PRV_BASE_CDFS:
    case PRV_BASE_CURVE: return PRV_ERR_MOMENTS;
    case PRV_BASE_COMBINED:
    case PRV_BASE_ENCLOSED: return PRV_ERR_COMBINED;
    case PRV_BASE_CHOICE: return choice_excess(m, add, alpha, options, e);
    case PRV_BASE_ATOMS: return prv_discrete_excess(m, add, alpha, options, e);
    case PRV_BASE_MIXTURE: {
        const prv_status status = prv_gaussian_excess(&m->mixture->q, &m->mixture->p, add_pair, false, alpha,
                                                      options, e);
        if (status == PRV_OK && m->without_rarest) forget_what_is_left_out(add_pair, e);
        return status;
    }
    case PRV_BASE_GAUSSIAN: return sampled_gaussian_excess(m, add_pair, alpha, options, e);
    case PRV_BASE_BOUNDED_RANGE:
        if (!prv_is_bounded_range(m)) break;
        *e = range_excess(m->mu, alpha);
        return PRV_OK;
    case PRV_BASE_LAPLACE: break;
    }
    return prv_bounded_excess(m, add, alpha, options, e);
}

/* ---- The moment of one step ------------------------------------------------------------------ */

/* log M = log(1 + e^l), rounded. exp, log1p and the sum are off by 6 u of the result, or by a few of the
 * least numbers, for which the bounds below allow. */
static double log_moment_of(double l)
{
    return l > 30.0 ? l + log1p(exp(-l)) : log1p(exp(l));
}

static double log_moment_below(const prv_log_sum *excess_sum)
{
    const double moment = log_moment_of(prv_log_sum_below(excess_sum));
    return fmax(moment * (1.0 - 8.0 * PRV_UNIT) - 4.0 * DBL_TRUE_MIN, 0.0);
}

static double log_moment_above(const prv_log_sum *excess_sum)
{
    const double l = prv_log_sum_above(excess_sum);
    return l > -HUGE_VAL ? log_moment_of(l) * (1.0 + 8.0 * PRV_UNIT) + 4.0 * DBL_TRUE_MIN : 0.0;
}

/* The least ratio of the mixture to its part that is not sampled: that part's weight. 0 if it is not known,
 * or if P and Q are both mixtures. */
static double least_ratio(const prv_mechanism *m)
{
    if (m->base != PRV_BASE_MIXTURE) return 1.0 - m->sampling_probability;
    const prv_gaussian_mixture *g = m->mixture;
    return !g->mirrored && g->q.center[0] == 0.0 ? g->q.weight[0] : 0.0;
}

/* Widens the bounds by what weights that are off by factors of 1 +- e do to M - 1: the better of two bounds.
 *
 * A density off by such factors makes M off by (1 - e)^-(1 + alpha) at most, either way.
 *
 * With X = R - 1, R the ratio of the mixture to its part that is not sampled, X is linear in the weights of
 * the sampled parts, E[X] = 0, and M - 1 = E[g(X)], g(x) = (1 + x)^b - 1 - b x with b = alpha, or 1 - alpha
 * if the mixture is P. M - 1 rises with each of these weights, since their laws lie above the others; and if
 * all of them become t times themselves, log g(t x) rises by at most c log t, where x g'(x) / g(x) <= c. That
 * quotient is at most c if the same quotient of g'', which is (b - 2) x / (1 + x), is at most c - 2 between 0
 * and x (integrate twice). So c is 2 where (b - 2) x < 0, b where x > 0, and 2 + (1 + alpha) (1 - w) / w
 * where b < 0 and R >= w; and b / (b - 1) where 1 < b < 2 and x < 0, as the series of g in -x has terms >= 0
 * alone, so that the quotient is greatest at x = -1. */
static void allow_for_weights(const prv_mechanism *m, bool add_pair, double alpha, prv_excess *e)
{
    if (m->density_error == 0.0) return;
    const double factor = -log1p(-m->density_error), by = log(expm1((1.0 + alpha) * factor)) + 8.0 * PRV_UNIT;
    const double low = prv_log_sum_below(&e->lower), high = prv_log_sum_above(&e->upper),
                 least = least_ratio(m);
    double lower = prv_log_difference_below(low, by + log_moment_above(&e->lower));
    prv_excess wider = *e;
    prv_log_sum_add(&wider.upper, by + log_moment_above(&e->upper));
    double upper = prv_log_sum_above(&wider.upper);
    if (least > 0.0) {
        const double power = add_pair ? 2.0 + (1.0 + alpha) * (1.0 - least) / least
                                      : fmax(fmax(alpha, 2.0), alpha / (alpha - 1.0));
        /* Twice: for the rounding of this, and as the weights are those of either side. */
        lower = fmax(lower, low - 2.0 * power * factor - 2.0 * PRV_UNIT * fabs(low));
        upper = fmin(upper, high + 2.0 * power * factor + 2.0 * PRV_UNIT * fabs(high));
    }
    *e = (prv_excess)PRV_NO_EXCESS;
    prv_excess_add(e, lower, upper);
}

/* Bounds of D_alpha of the steps of one direction: of their pairs. */
static prv_status divergence(const prv_direction *direction, double alpha, const prv_options *options,
                             prv_bounds *b)
{
    double lower = 0.0, upper = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_mechanism *m = direction->mechanisms[j];
        const bool add_pair = direction->add && !prv_is_symmetric(m);
        prv_excess e;
        prv_status status = step_excess(m, direction->add, alpha, options, &e);
        if (status == PRV_OK) status = add_cut_batches(m, add_pair, alpha, options, &e);
        if (status != PRV_OK) return status;
        allow_for_weights(m, add_pair, alpha, &e);
        lower += direction->counts[j] * log_moment_below(&e.lower);
        upper += direction->counts[j] * log_moment_above(&e.upper);
    }
    /* A product and a sum of terms >= 0 for each step, and the quotient. */
    const double sums = PRV_UNIT * (2.0 * (double)direction->steps + 8.0);
    b->lower = fmax(lower / (alpha - 1.0) * (1.0 - sums) - DBL_TRUE_MIN, 0.0);
    b->upper = upper > 0.0 ? upper / (alpha - 1.0) * (1.0 + sums) + DBL_TRUE_MIN : 0.0;
    /* Jensen's inequality costs about half as much as the chord does: a cell's ratios vary by (r_b - r_a)^2
     * / 12. */
    b->estimate = isfinite(b->upper) ? b->lower + (b->upper - b->lower) / 3.0 : b->lower;
    return prv_gate_range(0.0, HUGE_VAL, b);
}

static prv_status answer_direction(prv_direction *direction, const prv_options *options, double order,
                                   prv_bounds *bounds, prv_report *report)
{
    (void)report;
    return divergence(direction, order, options, bounds);
}

/* The outcomes that decide M are those of the law tilted by alpha - 1, which chooses data sets. */
static prv_status answer(prv_directions *directions, const prv_options *options, double order,
                         prv_bounds *bounds, prv_report *report)
{
    const double tilt = order - 1.0;
    const prv_quantity divergence_of_order = {answer_direction, 0.0, HUGE_VAL, &tilt, 1};
    return prv_worst_case(&divergence_of_order, directions, options, order, bounds, report);
}

static prv_status check_order(double order)
{
    return order > 1.0 && order <= GREATEST_ORDER ? PRV_OK : PRV_ERR_ORDER;
}

prv_status prv_renyi_divergence(const prv_step *steps, size_t step_count, const prv_options *options,
                                const double *orders, size_t length, prv_bounds *bounds)
{
    static const prv_query query = {check_order, answer};
    return prv_ask_each(&query, steps, step_count, options, orders, length, bounds, NULL);
}
