#include "questions/epsilon_delta.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "curve/attained.h"
#include "curve/chernoff.h"
#include "planning/aim.h"
#include "questions/bracketing.h"
#include "questions/closed_answer.h"
#include "questions/enclosed_step.h"
#include "questions/mean_matching.h"
#include "questions/own_transforms.h"
#include "questions/question.h"
#include "questions/simpler_pairs.h"

/* A threshold is told apart from the next number that is asked about instead by this part of it. */
#define A_LITTLE_ABOVE 0x1p-40

/* A delta that is a little more than the mass at infinity is so by this part of it, and at least this. */
#define A_LITTLE_MORE 1e-7
#define LEAST_MORE 1e-200

/* Bounds of data sets, of which the lower one alone is used, are first as close as this part of epsilon, or
 * of delta, unless they are expected to lie near the pair's; and then as this part of their distance below
 * the pair's upper bound. */
#define COARSE_DATA 0.02
#define PART_OF_GAP 0.05

/* ---- Without a composition ------------------------------------------------------------------- */

/* Answers by the totals of all directions, through the gate; true if they suffice. */
static bool answer_directly(const prv_direction *directions, size_t count, prv_question question,
                            double value, prv_bounds *b)
{
    const prv_totals *totals[2] = {NULL, NULL};
    for (size_t i = 0; i < count; i++) totals[i] = &directions[i].all;
    return prv_gate_direct(totals, count, question, value, b);
}

/* A delta so near 1 that this alone settles it; true if answered. */
static bool is_almost_one(const prv_direction *directions, size_t count, const prv_options *options,
                          double epsilon, prv_bounds *b)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < count; i++) least = fmin(least, prv_log_complement(&directions[i], epsilon));
    const double complement = prv_outwards(exp(fmin(least, 0.0)), PRV_LIBM_ERROR, 1);
    const double lower = prv_below(1.0 - complement);
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
        upper = fmax(upper, prv_chernoff_delta(&directions[i], epsilon));
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

/* Deltas so small that a composition loses them in its rounding are bounded by the total variation, which no
 * delta at an epsilon >= 0 is above. */
static prv_status clip_small_delta(const prv_direction *directions, size_t count, double epsilon,
                                   prv_bounds *b)
{
    if (!(epsilon >= 0.0)) return PRV_OK;
    return prv_gate_range(b->lower, fmin(b->upper, most_total_variation(directions, count)), b);
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

/* ---- Of the pairs --------------------------------------------------------------------------- */

/* Mean-matching: one composition answers all values that need one. found[] and told[] hold the bounds and the
 * reports of those whose numbers are in open[]. */
static prv_status match_means(prv_direction *directions, size_t direction_count, const prv_options *options,
                              prv_question question, const double *values, size_t length, prv_bounds *bounds,
                              prv_report *reports)
{
    prv_status status = PRV_ERR_MEMORY;
    size_t *open = prv_allocate(length, sizeof *open), count = 0;
    double *asked = prv_allocate(length, sizeof *asked);
    prv_bounds *found = prv_allocate(length, sizeof *found);
    prv_report *told = prv_allocate(length, sizeof *told);
    if (open == NULL || asked == NULL || found == NULL || told == NULL) goto done;
    for (size_t i = 0; i < length; i++) {
        status = prv_check_interrupt(options);
        if (status != PRV_OK) goto done;
        if (!answer_directly(directions, direction_count, question, values[i], &bounds[i])) {
            asked[count] = values[i];
            open[count++] = i;
        } else if (reports != NULL) {
            prv_report_known(options, &reports[i]);
        }
    }
    if (count == 0) {
        status = PRV_OK;
        goto done;
    }
    status = prv_mean_matching(directions, direction_count, options, question, asked, count, found, told);
    if (status == PRV_ERR_MEMORY_LIMIT && reports != NULL) reports[0].memory = told[0].memory;
    if (status != PRV_OK) goto done;
    for (size_t i = 0; i < count; i++) {
        bounds[open[i]] = found[i];
        if (reports != NULL) reports[open[i]] = told[i];
    }
done:
    prv_release(open);
    prv_release(asked);
    prv_release(found);
    prv_release(told);
    return status;
}

/* One question, at several values, to the pairs of these directions. */
typedef struct pairs {
    prv_direction *directions;
    size_t count;
    prv_question question;
    const double *values;
    prv_kept_ranges *kept; /* or NULL */
} pairs;

/* Asks a range that is kept, or one that is made for this question alone of the directions themselves. */
static prv_status ask_range(const pairs *p, prv_count_range *range, const prv_options *options, bool *found,
                            prv_bounds *b, prv_report *r)
{
    const double count = p->directions[0].all.count;
    prv_count_range *kept = range;
    prv_status status = p->kept != NULL ? prv_kept_range_find(p->kept, range, p->directions, options, &kept)
                                        : prv_count_range_begin(p->directions, options, range);
    if (status == PRV_OK) status = prv_count_range_answer(kept, count, options, found, b, r);
    if (p->kept == NULL) prv_count_range_free(range);
    for (size_t i = 0; i < p->count && status == PRV_OK; i++)
        status = prv_direction_restore(&p->directions[i], count, 1);
    return status;
}

/* Where neither totals nor closed forms answer: inequalities, or lattices. */
static prv_status bracket_open_pairs(const pairs *p, const prv_options *options, double value, prv_bounds *b,
                                     prv_report *r)
{
    const bool chosen = options->mesh_size > 0.0, ask_epsilon = p->question == PRV_ASK_EPSILON;
    const double greatest = ask_epsilon ? HUGE_VAL : 1.0;
    if ((!chosen && !ask_epsilon && is_almost_one(p->directions, p->count, options, value, b)) ||
        (!chosen && !ask_epsilon && is_all_at_infinity(p->directions, p->count, options, value, b)) ||
        (!chosen && ask_epsilon && is_above_all(p->directions, p->count, value, b))) {
        prv_report_known(options, r);
        return prv_gate_range(0.0, greatest, b);
    }
    if (ask_epsilon && (is_within_width(p->directions, p->count, options, value, b, r) ||
                        is_above_threshold(p->directions, p->count, options, value, b, r)))
        return prv_gate_range(0.0, greatest, b);
    if (prv_is_enclosed_step(p->directions, p->count, options))
        return prv_read_enclosed_step(p->directions, p->count, options, p->question, value, b, r);
    prv_count_range range;
    if (prv_count_range_of(p->directions, p->count, options, p->question, value, &range)) {
        bool found = false;
        const prv_status status = ask_range(p, &range, options, &found, b, r);
        if (status != PRV_OK || found) return status;
    }
    const prv_status status = prv_bracket(p->directions, p->count, options, p->question, value, b, r);
    if (status != PRV_OK || ask_epsilon || chosen) return status;
    return clip_small_delta(p->directions, p->count, value, b);
}

static prv_status bracket_pairs(void *context, const prv_options *options, size_t i, prv_bounds *b,
                                prv_report *r);

/* Of a delta that is the mass at infinity of one direction, whose epsilon is then the greatest loss or
 * infinite: asks the other direction, of which the totals tell the greatest loss alone. */
static prv_status ask_other_direction(const pairs *p, const prv_options *options, double value, prv_bounds *b,
                                      prv_report *r)
{
    for (size_t i = 0; i < p->count && p->count > 1; i++) {
        prv_bounds of_other, own;
        if (answer_directly(&p->directions[i], 1, p->question, value, &own)) continue;
        pairs other = {&p->directions[i], 1, p->question, &value, NULL};
        const prv_status status = bracket_pairs(&other, options, 0, &of_other, r);
        if (prv_is_too_fine(status)) continue; /* what the totals say holds */
        if (status != PRV_OK) return status;
        answer_directly(&p->directions[1 - i], 1, p->question, value, b);
        prv_gate_worst(b, &of_other);
    }
    return PRV_OK;
}

/* Where it is not certain that epsilon is the greatest loss, or infinite, at a delta that is the mass at
 * infinity: epsilon at a delta that is a little more is a lower bound. */
static prv_status ask_little_more(const pairs *p, const prv_options *options, double value, prv_bounds *b,
                                  prv_report *r)
{
    const double more = fmax(value * (1.0 + A_LITTLE_MORE), LEAST_MORE);
    prv_bounds found;
    if (!(more < 1.0) || answer_directly(p->directions, p->count, p->question, more, &found)) return PRV_OK;
    pairs other = {p->directions, p->count, p->question, &more, NULL};
    const prv_status status = bracket_pairs(&other, options, 0, &found, r);
    if (status == PRV_OK) b->lower = fmin(fmax(b->lower, found.lower), b->upper);
    return prv_is_too_fine(status) ? PRV_OK : status;
}

/* Answers by the totals, if they suffice. If rounding hides whether delta is below the mass at infinity, or
 * if it is not known whether the greatest loss is reached, bounds of epsilon may be far apart. */
static prv_status answer_without_composing(const pairs *p, const prv_options *options, double value,
                                           bool *is_known, prv_bounds *b, prv_report *r)
{
    *is_known = answer_directly(p->directions, p->count, p->question, value, b);
    if (!*is_known) return PRV_OK;
    prv_report_known(options, r);
    if (p->question != PRV_ASK_EPSILON || b->lower == b->upper ||
        b->upper - b->lower <= prv_width_asked(options, b->lower))
        return PRV_OK;
    const bool is_open = !(options->mesh_size > 0.0) && prv_is_engine_open(options);
    prv_status status = is_open ? ask_other_direction(p, options, value, b, r) : PRV_OK;
    if (status == PRV_OK && is_open) status = ask_little_more(p, options, value, b, r);
    if (status != PRV_OK) return status;
    b->estimate = fmin(fmax(b->estimate, b->lower), b->upper);
    prv_report_known(options, r);
    r->width = r->rounding = b->upper == b->lower ? 0.0 : b->upper - b->lower;
    r->accurate = r->width <= prv_width_asked(options, b->lower) ||
                  prv_is_decided(options, b->lower, b->upper);
    if (!r->accurate) r->limit = PRV_LIMIT_ROUNDING;
    return PRV_OK;
}

/* Bracketing: the cheapest way that answers. */
static prv_status bracket_pairs(void *context, const prv_options *options, size_t i, prv_bounds *b,
                                prv_report *r)
{
    const pairs *p = context;
    const double value = p->values[i];
    bool is_known;
    const prv_status known = answer_without_composing(p, options, value, &is_known, b, r);
    if (known != PRV_OK || is_known) return known;
    if (options->mesh_size > 0.0 || !prv_is_engine_open(options))
        return bracket_open_pairs(p, options, value, b, r);
    bool answered;
    prv_bounds closed = {0.0, 0.0, HUGE_VAL};
    prv_status status = prv_answer_closed(p->directions, p->count, options, p->question, value, &answered,
                                          &closed, r);
    if (status == PRV_OK && !answered) status = bracket_open_pairs(p, options, value, b, r);
    if (status != PRV_OK) return status;
    if (answered) {
        *b = closed;
        return PRV_OK;
    }
    /* Both hold, so that their intersection does; the gate refuses an empty one. */
    b->lower = fmax(b->lower, closed.lower);
    b->upper = fmin(b->upper, closed.upper);
    return prv_gate_range(0.0, p->question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0, b);
}

static prv_status answer_pairs(prv_direction *directions, size_t direction_count, const prv_options *options,
                               prv_question question, const double *values, size_t length, prv_bounds *bounds,
                               prv_report *reports)
{
    if (options->discretization == PRV_MEAN_MATCHING)
        return match_means(directions, direction_count, options, question, values, length, bounds, reports);
    pairs p = {directions, direction_count, question, values, NULL};
    return prv_answer_each(options, length, bracket_pairs, &p, bounds, reports);
}

prv_status prv_answer_kept(prv_direction *directions, size_t direction_count, prv_kept_ranges *kept,
                           const prv_options *options, const double *deltas, size_t length,
                           prv_bounds *bounds, prv_report *reports)
{
    pairs p = {directions, direction_count, PRV_ASK_EPSILON, deltas, kept};
    const prv_status status = prv_answer_each(options, length, bracket_pairs, &p, bounds, reports);
    for (size_t i = 0; i < length && status == PRV_OK; i++) reports[i].attained = 1;
    return status;
}

/* Options of a question whose report nobody sees, so that it could not tell that small passes were too few:
 * its bounds are to have the bits of PRV_ENGINE_AUTO. */
static prv_options without_small(const prv_options *options)
{
    prv_options whole = *options;
    if (prv_is_engine_small(options)) whole.engine = PRV_ENGINE_AUTO;
    return whole;
}

/* ---- Averages --------------------------------------------------------------------------------- */

/* Takes what simpler pairs say of one value, from above or from below. */
static prv_status take_simpler_bound(prv_simpler_pairs *simpler, bool above, const prv_options *options,
                                     prv_question question, double value, prv_bounds *b)
{
    prv_bounds found;
    const prv_options whole = without_small(options);
    const prv_status status = answer_pairs(simpler->directions.each, simpler->directions.count, &whole,
                                           question, &value, 1, &found, NULL);
    if (prv_is_too_fine(status)) return PRV_OK; /* the bounds found before hold */
    if (status != PRV_OK) return status;
    if (above)
        b->upper = fmin(b->upper, found.upper);
    else
        b->lower = fmax(b->lower, found.lower);
    return PRV_OK;
}

/* The report of bounds that simpler pairs have made closer, if they have. */
static void tell_of_simpler(const prv_options *options, prv_question question, const prv_bounds *before,
                            prv_bounds *b, prv_report *r)
{
    if (b->upper == before->upper && b->lower == before->lower) return;
    if (!(b->estimate >= b->lower && b->estimate <= b->upper)) b->estimate = 0.5 * (b->lower + b->upper);
    if (question == PRV_ASK_EPSILON) {
        r->width = b->upper > b->lower ? b->upper - b->lower : 0.0;
        r->accurate = r->width <= prv_width_asked(options, b->lower);
    } else {
        r->accurate = prv_is_relatively_close(options, question, b->lower, b->upper);
    }
    r->accurate = r->accurate || prv_is_decided(options, b->lower, b->upper);
    /* If small passes were too few, larger ones would have given other bits. */
    if (r->accurate && !prv_is_engine_small(options)) r->limit = PRV_LIMIT_NONE;
    r->discretization = r->width;
    r->truncation = r->wrap_around = r->rounding = 0.0;
}

/* Where bounds of averages are wider than asked, those of simpler pairs may be closer. */
static prv_status take_simpler_pairs(const prv_direction *directions, size_t direction_count,
                                     const prv_options *options, prv_question question, const double *values,
                                     size_t length, prv_bounds *bounds, prv_report *reports)
{
    bool any = false;
    for (size_t i = 0; i < length; i++) any = any || !reports[i].accurate;
    if (!any || options->mesh_size > 0.0) return PRV_OK;
    prv_simpler_pairs simpler[2];
    prv_status status = prv_simpler_pairs_new(directions, direction_count, true, options, &simpler[1]);
    const prv_status below = prv_simpler_pairs_new(directions, direction_count, false, options, &simpler[0]);
    if (status == PRV_OK) status = below;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        const prv_bounds before = bounds[i];
        if (reports[i].accurate) continue;
        for (int above = 0; above < 2 && status == PRV_OK; above++)
            status = take_simpler_bound(&simpler[above], above == 1, options, question, values[i],
                                        &bounds[i]);
        if (status != PRV_OK) break;
        tell_of_simpler(options, question, &before, &bounds[i], &reports[i]);
        status = prv_gate_range(0.0, question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0, &bounds[i]);
    }
    prv_simpler_pairs_free(&simpler[0]);
    prv_simpler_pairs_free(&simpler[1]);
    const bool none = status == PRV_ERR_COUNT || status == PRV_ERR_SAMPLING_PROBABILITY ||
                      prv_is_too_fine(status);
    return none ? PRV_OK : status;
}

/* ---- What is attained ------------------------------------------------------------------------ */

/* An upper bound where bounded ranges compose, whose worst moments are below those of their pair; and the
 * tilts of the question in each direction. */
static double most_of_ranges(prv_direction *directions, size_t direction_count, prv_question question,
                             double value, double *lam)
{
    double most = 0.0;
    for (size_t v = 0; v < direction_count; v++)
        most = fmax(most, prv_most_of_ranges(&directions[v], question, value, &lam[v]));
    return most;
}

/* Takes an upper bound of bounded ranges if it is better than that of the pair. The parts of the width shrink
 * with it. */
static void put_upper(const prv_direction *direction, prv_question question, double upper, prv_bounds *b,
                      prv_report *r)
{
    if (!(upper < b->upper)) return;
    const double low = b->lower, before = b->upper;
    prv_take_upper(direction, upper, b);
    b->estimate = fmin(b->estimate, upper);
    double part = 0.0;
    if (upper > low && question == PRV_ASK_EPSILON)
        part = isfinite(before) ? (upper - low) / (before - low) : 1.0;
    else if (upper > low)
        part = low > 0.0 ? log(upper / low) / log(before / low) : 1.0;
    r->width *= part;
    r->discretization *= part;
    r->truncation *= part;
    r->wrap_around *= part;
    r->rounding *= part;
}

/* The answers of pairs, and where they are averages, of simpler ones. */
static prv_status answer_averages(prv_direction *directions, size_t direction_count,
                                  const prv_options *options, prv_question question, const double *values,
                                  size_t length, prv_bounds *bounds, prv_report *reports)
{
    if (!prv_have_averages(&directions[0]))
        return answer_pairs(directions, direction_count, options, question, values, length, bounds, reports);
    prv_report *own = reports == NULL ? prv_allocate(length, sizeof *own) : NULL;
    if (reports == NULL && own == NULL) return PRV_ERR_MEMORY;
    if (reports == NULL) reports = own;
    prv_status status = answer_pairs(directions, direction_count, options, question, values, length, bounds,
                                     reports);
    if (status == PRV_OK)
        status = take_simpler_pairs(directions, direction_count, options, question, values, length, bounds,
                                    reports);
    prv_release(own);
    return status;
}

prv_status prv_answer_pairs(prv_direction *directions, size_t direction_count, const prv_options *options,
                            prv_question question, const double *values, size_t length, prv_bounds *bounds,
                            prv_report *reports)
{
    const prv_status status = answer_averages(directions, direction_count, options, question, values, length,
                                              bounds, reports);
    if (status != PRV_OK) return status;
    const bool ranges = prv_direction_attainment(&directions[0]) == PRV_NOT_ATTAINED &&
                        prv_has_range(&directions[0]);
    for (size_t i = 0; i < length; i++) {
        double lam[2];
        prv_report unwanted = {0}, *report = reports != NULL ? &reports[i] : &unwanted;
        report->attained = 1;
        if (ranges)
            put_upper(&directions[0], question,
                      most_of_ranges(directions, direction_count, question, values[i], lam), &bounds[i],
                      report);
    }
    return PRV_OK;
}

/* Up to FEW_STEPS, of bounded ranges and discrete losses, the best of 2 OFFSETS + 1 choices of data sets is
 * taken; of more than SOME_STEPS, for which saddle points are good guesses, of the COMPOSED that look best.
 */
#define FEW_STEPS 128.0
#define SOME_STEPS 16.0
enum { OFFSETS = 4, CHOICES = 2 * OFFSETS + 1, COMPOSED = 3 };

/* Puts a lower bound from data sets in place of that of a pair that none have, through the gate. The width of
 * a delta is by the slope that the pair's bounds tell. */
static prv_status put_lower(prv_question question, double infinite, double lower, prv_bounds *b,
                            prv_report *r)
{
    const double pair = b->lower, before = r->width;
    b->lower = lower;
    const prv_status status = prv_gate_range(0.0, question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0, b);
    r->attained = 0;
    if (question == PRV_ASK_EPSILON) {
        r->width = b->upper > b->lower ? b->upper - b->lower : 0.0;
    } else if (b->upper > b->lower) {
        const double high = b->upper - infinite, of_pair = pair - infinite, low = b->lower - infinite;
        const double slope = of_pair > 0.0 && before > 0.0 ? log(high / of_pair) / before : 0.0;
        r->width = low > 0.0 && slope > 0.0 ? log(high / low) / slope : HUGE_VAL;
    }
    r->unattained = fmax(r->width - before, 0.0);
    return status;
}

/* The options of a question to data sets, whose lower bound alone is used: bounds need be no closer than a
 * part `coarse` of what lies between them and the upper bound `above` of the pair, a distance of `gap` (nats,
 * or of log delta). */
static prv_options loosened(const prv_options *options, prv_question question, double above, double gap,
                            double coarse)
{
    prv_options loose = without_small(options);
    if (!(gap > 0.0 && isfinite(gap))) return loose;
    if (question == PRV_ASK_EPSILON)
        loose.eps_error = fmax(prv_width_asked(options, above), coarse * gap);
    else
        loose.delta_relative_error = fmax(options->delta_relative_error, fmin(coarse * gap, coarse));
    return loose;
}

/* How far bounds from data sets lie below the upper bound of the pair. */
static double gap_below(prv_question question, double above, double upper)
{
    return question == PRV_ASK_EPSILON ? above - upper : log(above / upper);
}

/* Whether bounds of this width (nats) are as close as these options ask. */
static bool is_as_close(const prv_options *options, prv_question question, double value,
                        const prv_bounds *found, double width)
{
    const double at = question == PRV_ASK_EPSILON ? found->lower : value;
    return width <= prv_width_asked(options, at) ||
           prv_is_relatively_close(options, question, found->lower, found->upper);
}

/* Whether a lower bound is as close to the upper one as asked. */
static bool is_near(const prv_options *options, prv_question question, double lower, double above)
{
    if (question == PRV_ASK_DELTA) return prv_is_relatively_close(options, question, lower, above);
    return above - lower <= prv_width_asked(options, lower);
}

/* Whether the caller has chosen how to compose. */
static bool is_chosen(const prv_options *options)
{
    return options->mesh_size > 0.0 || options->discretization != PRV_BRACKETING;
}

/* Of lists, which take long, guesses are worth their while. */
static bool is_list_of(const prv_direction *data)
{
    return data->steps > 1;
}

/* Raises *lower to a lower bound by data sets in one direction. Of lists, which may take long: first
 * coarsely, to tell how close bounds need be, unless the gap that is guessed says that the width asked is
 * needed. The passes of an epsilon begin coarsely anyway; those of a delta do not, which is therefore coarse
 * unless the gap may close. Where a lower bound is known, it matters first whether there is more. */
static prv_status ask_data_once(prv_direction *data, const prv_options *options, prv_question question,
                                double value, double above, double guessed_gap, double *lower)
{
    prv_bounds found;
    const bool decides = *lower > 0.0 && !(options->threshold > 0.0);
    const bool ask_epsilon = question == PRV_ASK_EPSILON;
    const double asked = ask_epsilon ? prv_width_asked(options, above) : options->delta_relative_error;
    const double needed = ask_epsilon ? PART_OF_GAP * guessed_gap : guessed_gap;
    const double coarse = needed <= asked ? 0.0 : COARSE_DATA;
    prv_options loose = loosened(options, question, above, ask_epsilon ? above : 1.0, coarse);
    if (decides) loose.threshold = *lower;
    prv_report told;
    prv_status status = answer_pairs(data, 1, &loose, question, &value, 1, &found, &told);
    if (status != PRV_OK) return status;
    *lower = fmax(*lower, found.lower);
    const double gap = gap_below(question, above, found.upper);
    const double width = gap_below(question, found.upper, found.lower);
    /* Closer bounds would not raise it, or not by much; or there are none. */
    if (!told.accurate || !(found.upper > *lower) || width <= PART_OF_GAP * gap) return PRV_OK;
    loose = loosened(options, question, above, gap, PART_OF_GAP);
    if (is_as_close(&loose, question, value, &found, told.width)) return PRV_OK;
    status = answer_pairs(data, 1, &loose, question, &value, 1, &found, NULL);
    if (status == PRV_OK) *lower = fmax(*lower, found.lower);
    return status;
}

/* A guess of the answer of one direction, or of its logarithm. */
static double guess_of(prv_direction *direction, const prv_options *options, prv_question question,
                       double value)
{
    const double least = question == PRV_ASK_EPSILON ? direction->all.infinite.mass : 0.0;
    prv_aim aim = {0};
    if (!(value > least && isfinite(value))) return 0.0; /* known without aims */
    prv_take_aim(direction, options, question, value, &aim);
    return question == PRV_ASK_EPSILON ? aim.epsilon : aim.log_delta;
}

/* Whether no answer of this direction is above `lower`, by Chernoff's inequality. */
static bool has_less(prv_direction *direction, prv_question question, double value, double lower)
{
    if (question == PRV_ASK_EPSILON) return prv_chernoff_epsilon(direction, value, lower) <= lower;
    return value > 0.0 && prv_chernoff_delta(direction, value) <= lower;
}

/* Raises *lower to a lower bound by data sets, `above` being the upper bound of the pair. The direction that
 * looks worst is asked first: the other one need not be asked if it has no more, or if no bound could be much
 * higher. */
static prv_status ask_directions(prv_directions *data, const prv_options *options, prv_question question,
                                 double value, double above, double pair_guess, double *lower)
{
    double guess[2] = {0.0, 0.0};
    for (size_t v = 0; v < data->count; v++) guess[v] = guess_of(&data->each[v], options, question, value);
    const size_t first = data->count > 1 && guess[1] > guess[0] ? 1 : 0;
    for (size_t n = 0; n < data->count; n++) {
        const size_t v = n == 0 ? first : 1 - first;
        prv_direction *d = &data->each[v];
        if (*lower > 0.0 &&
            (is_near(options, question, *lower, above) || has_less(d, question, value, *lower)))
            continue;
        const prv_status status = ask_data_once(d, options, question, value, above, pair_guess - guess[v],
                                                lower);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* The same by one question about all directions, as closely as asked: of single steps, or if the caller has
 * chosen how to compose. */
static prv_status ask_together(prv_directions *data, const prv_options *options, prv_question question,
                               double value, double *lower)
{
    prv_bounds found;
    const prv_options whole = without_small(options);
    const prv_status status = answer_pairs(data->each, data->count, &whole, question, &value, 1, &found,
                                           NULL);
    if (status == PRV_OK) *lower = fmax(*lower, found.lower);
    return status;
}

/* Raises lower[length] to lower bounds by data sets that are chosen by these tilts, one for each direction.
 * bounds[length] are those of the pair.
 */
static prv_status ask_data(prv_direction *directions, size_t direction_count, const prv_options *options,
                           const double *lam, double offset, prv_question question, const double *values,
                           size_t length, const prv_bounds *bounds, double *lower)
{
    prv_directions data = {0};
    prv_status status = prv_data_directions_new(directions, direction_count, options, lam, offset, &data);
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        if (is_chosen(options) || !is_list_of(&data.each[0])) {
            status = ask_together(&data, options, question, values[i], &lower[i]);
            continue;
        }
        /* What hides the pair's delta hides that of data sets. */
        if (question == PRV_ASK_DELTA && !(bounds[i].lower > 0.0)) continue;
        double pair = -HUGE_VAL;
        for (size_t v = 0; v < direction_count; v++)
            pair = fmax(pair, guess_of(&directions[v], options, question, values[i]));
        status = ask_directions(&data, options, question, values[i], bounds[i].upper, pair, &lower[i]);
    }
    prv_directions_free(&data);
    return status;
}

static double offset_of(int choice)
{
    return 0.5 * (double)(choice - OFFSETS) / OFFSETS;
}

/* A guess of the answer for each choice of data sets, by saddle points. */
static prv_status guess_choices(const prv_direction *directions, size_t direction_count,
                                const prv_options *options, const double *lam, prv_question question,
                                double value, double guess[CHOICES])
{
    for (int i = 0; i < CHOICES; i++) {
        prv_directions data = {0};
        const prv_status status = prv_data_directions_new(directions, direction_count, options, lam,
                                                          offset_of(i), &data);
        guess[i] = -HUGE_VAL;
        for (size_t v = 0; v < data.count && status == PRV_OK; v++) {
            prv_aim aim = {0};
            prv_take_aim(&data.each[v], options, question, value, &aim);
            guess[i] = fmax(guess[i], question == PRV_ASK_EPSILON ? aim.epsilon : aim.log_delta);
        }
        prv_directions_free(&data);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* The same where data sets are chosen for each value: of few steps, the best of some. */
static prv_status ask_range_data(prv_direction *directions, size_t direction_count,
                                 const prv_options *options, prv_question question, double value,
                                 const prv_bounds *bounds, double *lower)
{
    double lam[2], guess[CHOICES];
    most_of_ranges(directions, direction_count, question, value, lam);
    if (!(directions[0].all.count <= FEW_STEPS && prv_are_data_discrete(&directions[0])))
        return ask_data(directions, direction_count, options, lam, 0.0, question, &value, 1, bounds, lower);
    const bool all = directions[0].all.count <= SOME_STEPS;
    prv_status status = PRV_OK;
    for (int i = 0; i < CHOICES; i++) guess[i] = 0.0;
    if (!all) status = guess_choices(directions, direction_count, options, lam, question, value, guess);
    for (int n = 0; n < (all ? CHOICES : COMPOSED) && status == PRV_OK; n++) {
        int best = 0;
        for (int i = 1; i < CHOICES; i++)
            if (guess[i] > guess[best]) best = i;
        guess[best] = -HUGE_VAL;
        status = ask_data(directions, direction_count, options, lam, offset_of(best), question, &value, 1,
                          bounds, lower);
    }
    return status;
}

/* Raises lower[length] to lower bounds by data sets: one choice for all values, or if ranges compose, one for
 * each. */
static prv_status ask_all_data(prv_direction *directions, size_t direction_count, const prv_options *options,
                               prv_question question, const double *values, size_t length,
                               const prv_bounds *bounds, double *lower)
{
    static const double no_tilt[2] = {0.0, 0.0};
    if (!prv_has_range(&directions[0]))
        return ask_data(directions, direction_count, options, no_tilt, 0.0, question, values, length, bounds,
                        lower);
    for (size_t i = 0; i < length; i++) {
        const prv_status status = ask_range_data(directions, direction_count, options, question, values[i],
                                                 &bounds[i], &lower[i]);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

prv_status prv_answer(prv_direction *directions, size_t direction_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports)
{
    if (prv_direction_attainment(&directions[0]) != PRV_NOT_ATTAINED)
        return prv_answer_pairs(directions, direction_count, options, question, values, length, bounds,
                                reports);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_PARTS, options);
    layer.now.questions = 2;
    double *lower = prv_allocate(length, sizeof *lower), infinite = 0.0;
    if (lower == NULL) return PRV_ERR_MEMORY;
    prv_status status = prv_answer_pairs(directions, direction_count, options, question, values, length,
                                         bounds, reports);
    if (status != PRV_OK) goto done;
    layer.now.question = 1;
    for (size_t i = 0; i < length; i++) lower[i] = 0.0;
    status = ask_all_data(directions, direction_count, options, question, values, length, bounds, lower);
    if (status != PRV_OK) goto done;
    for (size_t v = 0; v < direction_count; v++) infinite = fmax(infinite, directions[v].all.infinite.mass);
    for (size_t i = 0; i < length; i++) {
        prv_report unwanted = {0}, *report = reports != NULL ? &reports[i] : &unwanted;
        status = put_lower(question, infinite, lower[i], &bounds[i], report);
        if (status != PRV_OK) goto done;
    }
done:
    prv_release(lower);
    return status;
}

/* ---- The public questions -------------------------------------------------------------------- */

static prv_status check_delta(double delta)
{
    return delta >= 0.0 && delta <= 1.0 ? PRV_OK : PRV_ERR_DELTA;
}

static prv_status check_epsilon(double epsilon)
{
    return isnan(epsilon) ? PRV_ERR_EPSILON : PRV_OK;
}

prv_status prv_check_question(const prv_options *options, prv_question question, const double *values,
                              size_t length)
{
    return prv_check_values(options, question == PRV_ASK_EPSILON ? check_delta : check_epsilon, values,
                            length);
}

static prv_status ask(const prv_step *steps, size_t step_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports)
{
    prv_directions directions;
    prv_status status = prv_check_question(options, question, values, length);
    if (status != PRV_OK) return status;
    prv_own_transforms own;
    status = prv_own_transforms_begin(&own, options, &options);
    if (status != PRV_OK) return status;
    const prv_fineness first = length > 0 ? prv_first_fineness(steps, step_count, question, values[0])
                                          : PRV_COARSE_FINENESS;
    status = prv_directions_new(steps, step_count, &first, options, &directions);
    if (status != PRV_OK) goto done;
    status = prv_answer(directions.each, directions.count, options, question, values, length, bounds,
                        reports);
    prv_directions_free(&directions);
done:
    prv_own_transforms_end(&own);
    return status;
}

prv_status prv_epsilon(const prv_step *steps, size_t step_count, const prv_options *options,
                       const double *deltas, size_t length, prv_bounds *bounds, prv_report *reports)
{
    return ask(steps, step_count, options, PRV_ASK_EPSILON, deltas, length, bounds, reports);
}

prv_status prv_delta(const prv_step *steps, size_t step_count, const prv_options *options,
                     const double *epsilons, size_t length, prv_bounds *bounds, prv_report *reports)
{
    return ask(steps, step_count, options, PRV_ASK_DELTA, epsilons, length, bounds, reports);
}
