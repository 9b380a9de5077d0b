#include "questions/cheapest_answer.h"

#include <math.h>
#include <stdbool.h>

#include "numerics/rounding.h"
#include "planning/aim.h"
#include "questions/bracketing.h"
#include "questions/closed_answer.h"
#include "questions/enclosed_step.h"
#include "questions/inequalities.h"
#include "questions/mean_matching.h"
#include "questions/negligible_steps.h"
#include "questions/question.h"

/* A delta that is a little more than the mass at infinity is so by this part of it, and at least this. */
#define A_LITTLE_MORE 1e-7
#define LEAST_MORE 1e-200

/* From this delta on bounds of 1 - delta are asked, too. */
#define MOSTLY_ONE 0.999

/* One question, at several values, to the pairs of these directions. */
typedef struct pairs {
    prv_direction *directions;
    size_t count;
    prv_question question;
    const double *values;
    prv_kept_ranges *kept; /* or NULL */
    bool once;             /* one value alone is asked of them */
} pairs;

/* Asks a range that is kept, or one that is made for this question alone of the directions themselves, whose
 * finer profiles stay if nothing else is to be asked of them. */
static prv_status ask_range(const pairs *p, prv_count_range *range, const prv_options *options, bool *found,
                            prv_bounds *b, prv_report *r)
{
    const double count = p->directions[0].all.count;
    prv_count_range *kept = range;
    for (size_t i = 0; i < p->count && p->kept == NULL; i++) {
        const prv_status restored = prv_direction_restore(&p->directions[i], count, options);
        if (restored != PRV_OK) return restored;
    }
    prv_status status = p->kept != NULL ? prv_kept_range_find(p->kept, range, p->directions, options, &kept)
                                        : prv_count_range_begin(p->directions, options, range);
    if (status == PRV_OK) status = prv_count_range_answer(kept, count, options, found, b, r);
    if (p->kept == NULL) prv_count_range_free(range);
    for (size_t i = 0; i < p->count && status == PRV_OK; i++) {
        if (!(*found && p->once)) {
            status = prv_direction_restore(&p->directions[i], count, options);
        } else {
            prv_direction_set_count(&p->directions[i], 0, count);
            prv_use_whole_profiles(&p->directions[i]);
        }
    }
    return status;
}

/* Whether the curve is all at infinity within the width asked above epsilon, and at least as high as the
 * upper bound within it below: losses far smaller than the width. */
static bool are_losses_tiny(const pairs *p, const prv_options *options, double epsilon, double upper)
{
    const double asked = prv_width_asked(options, epsilon);
    for (size_t i = 0; i < p->count; i++)
        if (!(prv_greatest_epsilon(&p->directions[i].all) <= epsilon + asked)) return false;
    return prv_least_delta(epsilon - asked, -1) >= upper;
}

/* The curve falls by less than e^epsilon for each nat. Bounds of delta that are farther apart than so steep a
 * fall explains are wide, whatever the width that was read from guesses of the slope. */
static void tell_of_wide_deltas(const prv_options *options, double epsilon, const prv_bounds *b,
                                prv_report *r)
{
    const double asked = prv_width_asked(options, epsilon);
    if (!r->accurate || options->mesh_size > 0.0 || b->upper - b->lower <= 4.0 * exp(epsilon) * asked ||
        prv_is_relatively_close(options, PRV_ASK_DELTA, b->lower, b->upper) ||
        prv_is_decided(options, b->lower, b->upper))
        return;
    r->width = fmax(r->width, (b->upper - b->lower) * exp(-epsilon));
    r->rounding = r->width;
    r->discretization = r->truncation = r->wrap_around = 0.0;
    r->accurate = 0;
    r->limit = PRV_LIMIT_ROUNDING;
}

/* Where no lattice can be made: no epsilon is above the greatest loss. True if that is within the width
 * asked.
 */
static bool is_known_by_greatest_loss(const pairs *p, const prv_options *options, double delta, prv_bounds *b,
                                      prv_report *r)
{
    prv_bounds worst = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < p->count; i++) {
        prv_bounds known = {0.0, 0.0, HUGE_VAL};
        if (prv_gate_close(&p->directions[i].all, PRV_ASK_EPSILON, delta, &known) != PRV_OK) return false;
        prv_gate_worst(&worst, &known);
    }
    if (!(worst.upper <= prv_width_asked(options, 0.0))) return false;
    *b = worst;
    prv_report_known(options, r);
    r->width = r->rounding = worst.upper;
    return true;
}

/* Where neither totals nor closed forms answer: inequalities, or lattices. */
static prv_status bracket_open_pairs(const pairs *p, const prv_options *options, double value, prv_bounds *b,
                                     prv_report *r)
{
    bool found;
    prv_status status = prv_answer_by_inequalities(p->directions, p->count, options, p->question, value,
                                                   &found, b, r);
    if (status != PRV_OK || found) return status;
    if (prv_is_enclosed_step(p->directions, p->count, options))
        return prv_read_enclosed_step(p->directions, p->count, options, p->question, value, b, r);
    if (p->question == PRV_ASK_EPSILON) {
        status = prv_epsilon_without_negligible(p->directions, p->count, options, value, &found, b, r);
        if (status != PRV_OK || found) return status;
    }
    prv_count_range range;
    if (prv_count_range_of(p->directions, p->count, options, p->question, value, &range)) {
        status = ask_range(p, &range, options, &found, b, r);
        if (status != PRV_OK || found) return status;
    }
    status = prv_bracket(p->directions, p->count, options, p->question, value, b, r);
    if (options->mesh_size > 0.0) return status;
    if (p->question == PRV_ASK_EPSILON)
        return prv_is_too_fine(status) && is_known_by_greatest_loss(p, options, value, b, r) ? PRV_OK
                                                                                             : status;
    if (prv_is_too_fine(status) && prv_is_known_by_variation(p->directions, p->count, options, value,
                                                             prv_limit_of_enclosing(status), b, r))
        return PRV_OK;
    if (status == PRV_OK) status = prv_clip_small_delta(p->directions, p->count, value, b);
    if (status != PRV_OK) return status;
    if (!r->accurate && are_losses_tiny(p, options, value, b->upper)) {
        prv_report_known(options, r);
        r->width = r->rounding = prv_width_asked(options, value);
    }
    tell_of_wide_deltas(options, value, b, r);
    return PRV_OK;
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
        if (prv_answer_by_totals(&p->directions[i], 1, p->question, value, &own)) continue;
        pairs other = {&p->directions[i], 1, p->question, &value, NULL, false};
        const prv_status status = bracket_pairs(&other, options, 0, &of_other, r);
        if (prv_is_too_fine(status)) continue; /* what the totals say holds */
        if (status != PRV_OK) return status;
        prv_answer_by_totals(&p->directions[1 - i], 1, p->question, value, b);
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
    if (!(more < 1.0) || prv_answer_by_totals(p->directions, p->count, p->question, more, &found))
        return PRV_OK;
    pairs other = {p->directions, p->count, p->question, &more, NULL, false};
    const prv_status status = bracket_pairs(&other, options, 0, &found, r);
    if (status == PRV_OK) b->lower = fmin(fmax(b->lower, found.lower), b->upper);
    return prv_is_too_fine(status) ? PRV_OK : status;
}

/* Answers by the totals, if they suffice. If rounding hides whether delta is below the mass at infinity, or
 * if it is not known whether the greatest loss is reached, bounds of epsilon may be far apart. */
static prv_status answer_without_composing(const pairs *p, const prv_options *options, double value,
                                           bool *is_known, prv_bounds *b, prv_report *r)
{
    *is_known = prv_answer_by_totals(p->directions, p->count, p->question, value, b);
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

/* Where bounds of delta at an epsilon within the width asked of 0 are far apart, since no tilt fits it: delta
 * at 0, which differs by at most |1 - e^epsilon|. */
static prv_status ask_at_zero(const pairs *p, const prv_options *options, double value, prv_bounds *b,
                              prv_report *r)
{
    const double zero = 0.0, asked = prv_width_asked(options, value);
    pairs other = {p->directions, p->count, p->question, &zero, NULL, false};
    prv_bounds at_zero;
    prv_report told = {0};
    const prv_status status = bracket_pairs(&other, options, 0, &at_zero, &told);
    if (status != PRV_OK) return prv_is_too_fine(status) ? PRV_OK : status;
    const double apart = prv_outwards(fabs(expm1(value)), PRV_LIBM_ERROR, 1);
    const double lower = value > 0.0 ? prv_below(at_zero.lower - apart) : at_zero.lower;
    const double upper = value > 0.0 ? at_zero.upper : prv_above(at_zero.upper + apart);
    if (!told.accurate && !(lower > b->lower || upper < b->upper)) return PRV_OK;
    *b = (prv_bounds){fmax(b->lower, lower), at_zero.estimate, fmin(b->upper, upper)};
    told.width += fabs(value);
    told.accurate = (told.accurate && told.width <= asked) ||
                    prv_is_relatively_close(options, PRV_ASK_DELTA, b->lower, b->upper) ||
                    prv_is_decided(options, b->lower, b->upper);
    if (!told.accurate && told.limit == PRV_LIMIT_NONE) told.limit = r->limit;
    *r = told;
    return prv_gate_range(0.0, 1.0, b);
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
    const prv_report of_closed = *r;
    if (status == PRV_OK && !answered) {
        status = bracket_open_pairs(p, options, value, b, r);
        /* Where no lattice can be made, what is known without one holds. */
        const bool is_bounded = closed.upper < (p->question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0);
        if (prv_is_too_fine(status) && is_bounded) {
            *b = closed;
            *r = of_closed;
            return PRV_OK;
        }
    }
    if (status != PRV_OK) return status;
    if (answered) {
        *b = closed;
        /* Rounding of formulas is relative to delta, and not to 1 - delta. */
        if (p->question == PRV_ASK_DELTA && closed.lower > MOSTLY_ONE)
            b->lower = fmax(b->lower, prv_least_by_complement(p->directions, p->count, value));
        /* Rounding of formulas is relative to all masses, and not to those of rare samples. */
        const bool is_tiny = p->question == PRV_ASK_DELTA && closed.upper < PRV_FINEST_DELTA;
        return is_tiny ? prv_clip_small_delta(p->directions, p->count, value, b) : PRV_OK;
    }
    if (p->question == PRV_ASK_DELTA && !r->accurate && value != 0.0 &&
        fabs(value) <= prv_width_asked(options, value)) {
        status = ask_at_zero(p, options, value, b, r);
        if (status != PRV_OK) return status;
    }
    /* Both hold, so that their intersection does; the gate refuses an empty one. */
    b->lower = fmax(b->lower, closed.lower);
    b->upper = fmin(b->upper, closed.upper);
    return prv_gate_range(0.0, p->question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0, b);
}

prv_status prv_answer_cheapest(prv_direction *directions, size_t direction_count, const prv_options *options,
                               prv_question question, const double *values, size_t length, prv_bounds *bounds,
                               prv_report *reports)
{
    if (options->discretization == PRV_MEAN_MATCHING)
        return prv_mean_matching(directions, direction_count, options, question, values, length, bounds,
                                 reports);
    pairs p = {directions, direction_count, question, values, NULL, length == 1};
    return prv_answer_each(options, length, bracket_pairs, &p, bounds, reports);
}

prv_status prv_answer_kept(prv_direction *directions, size_t direction_count, prv_kept_ranges *kept,
                           const prv_options *options, const double *deltas, size_t length,
                           prv_bounds *bounds, prv_report *reports)
{
    pairs p = {directions, direction_count, PRV_ASK_EPSILON, deltas, kept, false};
    const prv_status status = prv_answer_each(options, length, bracket_pairs, &p, bounds, reports);
    for (size_t i = 0; i < length && status == PRV_OK; i++) reports[i].attained = 1;
    return status;
}
