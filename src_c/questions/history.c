/* A composition that is asked again and again while it grows: of each of the last questions a growth is kept
 * (growth.h), whose sums hold what was computed for each step.
 *
 * Answers are a function of the steps, their order, the question and the options: they are the same whatever
 * was asked before, and a history that was never asked gives them as well. If the bounds of a plan are too
 * wide, the composition is bounded as a whole, as prv_epsilon does it. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "curve/gate.h"
#include "questions/growth.h"
#include "questions/own_transforms.h"
#include "questions/question.h"

/* Questions whose growths are kept; the one asked longest ago gives way. */
enum { QUESTIONS = 8 };

/* What is kept of one question. */
typedef struct kept_question {
    prv_question question;
    double value;
    uint64_t when;            /* by the history's clock; 0: never asked */
    prv_growth directions[2]; /* remove (or replace-one), and add */
} kept_question;

struct prv_history {
    prv_options options; /* that the growths were made with */
    uint64_t clock;
    size_t length, capacity;
    prv_step *steps;         /* [length] distinct steps as asked last, counts > 0 */
    prv_step_pair *pairs[2]; /* [length] of each step: remove (or replace-one), and add */
    kept_question questions[QUESTIONS];
};

/* ---- The object ------------------------------------------------------------------------------ */

prv_status prv_history_new(prv_history **history)
{
    prv_history *h = prv_allocate(1, sizeof *h);
    *history = h;
    if (h == NULL) return PRV_ERR_MEMORY;
    memset(h, 0, sizeof *h);
    return PRV_OK;
}

static void forget_steps(prv_history *h, size_t from)
{
    for (size_t j = from; j < h->length; j++)
        for (int add = 0; add < 2; add++) prv_step_pair_free(&h->pairs[add][j]);
    if (h->length > from) h->length = from;
}

static void forget_question(kept_question *q)
{
    for (int add = 0; add < 2; add++) prv_growth_free(&q->directions[add]);
    q->when = 0;
}

static void forget(prv_history *h)
{
    forget_steps(h, 0);
    for (size_t i = 0; i < QUESTIONS; i++) forget_question(&h->questions[i]);
}

void prv_history_free(prv_history *h)
{
    if (h == NULL) return;
    forget(h);
    prv_release(h->steps);
    prv_release(h->pairs[0]);
    prv_release(h->pairs[1]);
    prv_release(h);
}

static prv_status reserve(prv_history *h, size_t capacity)
{
    if (capacity <= h->capacity) return PRV_OK;
    capacity += capacity / 2;
    prv_step *steps = prv_allocate(capacity, sizeof *steps);
    prv_step_pair *pairs[2] = {prv_allocate(capacity, sizeof **pairs),
                               prv_allocate(capacity, sizeof **pairs)};
    if (steps == NULL || pairs[0] == NULL || pairs[1] == NULL) {
        prv_release(steps);
        prv_release(pairs[0]);
        prv_release(pairs[1]);
        return PRV_ERR_MEMORY;
    }
    if (h->length > 0) memcpy(steps, h->steps, h->length * sizeof *steps);
    prv_release(h->steps);
    h->steps = steps;
    for (int add = 0; add < 2; add++) {
        if (h->length > 0) memcpy(pairs[add], h->pairs[add], h->length * sizeof **pairs);
        prv_release(h->pairs[add]);
        h->pairs[add] = pairs[add];
    }
    h->capacity = capacity;
    return PRV_OK;
}

/* ---- Steps that follow others ---------------------------------------------------------------- */

/* Whether growths that were made with options `a` serve `b`. */
static bool are_alike(const prv_options *a, const prv_options *b)
{
    return a->neighbors == b->neighbors && a->eps_error == b->eps_error &&
           a->eps_relative_error == b->eps_relative_error && a->eps_floor == b->eps_floor &&
           a->delta_relative_error == b->delta_relative_error && a->memory_limit == b->memory_limit;
}

/* Takes these steps for those asked before, and forgets what does not belong to a beginning of them. */
static prv_status follow(prv_history *h, const prv_step *steps, size_t length)
{
    size_t alike = 0, same = 0; /* leading steps with equal mechanisms, and with equal counts too */
    while (alike < h->length && alike < length && h->steps[alike].mechanism == steps[alike].mechanism) {
        if (same == alike && h->steps[alike].count == steps[alike].count) same++;
        alike++;
    }
    for (size_t i = 0; i < QUESTIONS; i++)
        for (int add = 0; add < 2; add++)
            prv_growth_follow(&h->questions[i].directions[add], same, alike, length);
    forget_steps(h, alike);
    const prv_status status = reserve(h, length);
    if (status != PRV_OK) return status;
    for (size_t j = alike; j < length; j++)
        for (int add = 0; add < 2; add++) memset(&h->pairs[add][j], 0, sizeof **h->pairs);
    if (length > 0) memcpy(h->steps, steps, length * sizeof *steps);
    h->length = length;
    return PRV_OK;
}

/* Makes the pairs of one direction that are not made yet. */
static prv_status make_pairs(prv_history *h, bool add)
{
    for (size_t j = 0; j < h->length; j++) {
        prv_step_pair *pair = &h->pairs[add][j];
        if (pair->mechanism != NULL) continue;
        prv_status status = prv_step_pair_new(h->steps[j].mechanism, add, h->options.neighbors, pair);
        if (status != PRV_OK) return status;
        status = prv_check_interrupt(&h->options);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* What is kept of a question, or the place of the one asked longest ago. */
static kept_question *recall(prv_history *h, prv_question question, double value)
{
    kept_question *oldest = &h->questions[0];
    for (size_t i = 0; i < QUESTIONS; i++) {
        kept_question *q = &h->questions[i];
        if (q->when > 0 && q->question == question && q->value == value) {
            q->when = ++h->clock;
            return q;
        }
        if (q->when < oldest->when) oldest = q;
    }
    forget_question(oldest);
    oldest->question = question;
    oldest->value = value;
    oldest->when = ++h->clock;
    return oldest;
}

/* A question to a history, while it is answered. */
typedef struct asking {
    prv_history *history;
    const prv_step *steps; /* [step_count] as the caller gave them */
    size_t step_count;
    prv_question question;
    const double *values;
    size_t directions;
    bool adds[2];        /* [directions] false: remove (or replace-one), true: add */
    prv_totals total[2]; /* [directions] */
} asking;

static prv_status ask_whole(const asking *a, const prv_options *options, const double *values, size_t length,
                            prv_bounds *bounds, prv_report *reports)
{
    return (a->question == PRV_ASK_EPSILON ? prv_epsilon : prv_delta)(a->steps, a->step_count, options,
                                                                      values, length, bounds, reports);
}

static void report_growth(const prv_growth *g, const prv_reading *reading, const prv_options *options,
                          bool add, double width, prv_report *r)
{
    prv_report_reading(reading, options->neighbors, add, width, 1, r);
    r->attained = 1;
    r->engine = PRV_ENGINE_SPECTRUM;
    r->mesh_size = g->plan.layout.spacing.law;
    r->tilt = g->plan.layout.tilt;
    r->cells = g->now.enclosed.knots;
    r->memory = prv_size_of(g->plan.layout.bytes);
}

/* Answers by growths; *found is false if the composition has to be bounded as a whole. */
static prv_status ask_growths(const asking *a, double value, const prv_options *options, prv_bounds *b,
                              prv_report *r, bool *found)
{
    prv_history *h = a->history;
    kept_question *kept = recall(h, a->question, value);
    prv_reading readings[2];
    size_t top = 0;
    *found = false;
    for (size_t i = 0; i < a->directions; i++) {
        const bool add = a->adds[i];
        const prv_past past = {add, h->length, h->steps, h->pairs[add], .planned = 0};
        const prv_status status = prv_growth_answer(&kept->directions[add], &past, a->question, value,
                                                    options, found, &readings[i]);
        if (status != PRV_OK || !*found) return status;
        if (readings[i].bounds.upper > readings[top].bounds.upper) top = i;
    }
    *b = readings[0].bounds;
    if (a->directions > 1) prv_gate_worst(b, &readings[1].bounds);
    const bool ask_epsilon = a->question == PRV_ASK_EPSILON;
    const double width = ask_epsilon ? b->upper - b->lower : readings[top].width;
    *found = width <= prv_width_asked(options, ask_epsilon ? b->lower : value) ||
             prv_is_relatively_close(options, a->question, b->lower, b->upper) ||
             prv_is_decided(options, b->lower, b->upper);
    if (*found)
        report_growth(&kept->directions[a->adds[top]], &readings[top], options, a->adds[top], width, r);
    return PRV_OK;
}

static prv_status answer(void *context, const prv_options *options, size_t i, prv_bounds *b, prv_report *r)
{
    const asking *a = context;
    const prv_totals *totals[2] = {&a->total[0], &a->total[1]};
    if (prv_gate_direct(totals, a->directions, a->question, a->values[i], b)) {
        prv_report_known(options, r);
        return PRV_OK;
    }
    bool found;
    const prv_status status = ask_growths(a, a->values[i], options, b, r, &found);
    if (status != PRV_OK || found) return status;
    return ask_whole(a, options, &a->values[i], 1, b, r);
}

/* Brings the history up to these distinct steps, and fills directions and totals. */
static prv_status bring_up(asking *a, const prv_step *distinct, size_t count, const prv_options *options)
{
    prv_history *h = a->history;
    if (!are_alike(options, &h->options)) forget(h);
    h->options = *options;
    prv_status status = follow(h, distinct, count);
    if (status != PRV_OK) return status;
    a->directions = prv_distinct_directions(distinct, count, options->neighbors, a->adds);
    for (size_t i = 0; i < a->directions; i++) {
        const bool add = a->adds[i];
        status = make_pairs(h, add);
        if (status != PRV_OK) return status;
        for (size_t j = 0; j < h->length; j++)
            prv_totals_add(&a->total[i], h->pairs[add][j].mechanism, (double)h->steps[j].count, add);
    }
    return PRV_OK;
}

static prv_status ask(asking *a, const prv_options *options, size_t length, prv_bounds *bounds,
                      prv_report *reports)
{
    prv_status status = prv_check_question(options, a->question, a->values, length);
    if (status != PRV_OK) return status;
    bool grows = false;
    size_t count = 0;
    prv_own_transforms own;
    const prv_options *with;
    prv_step *distinct = prv_allocate(a->step_count, sizeof *distinct);
    if (distinct == NULL) return PRV_ERR_MEMORY;
    status = prv_own_transforms_begin(&own, options, &with);
    if (status != PRV_OK) {
        prv_release(distinct);
        return status;
    }
    status = prv_distinct_steps(a->steps, a->step_count, distinct, &count);
    if (status != PRV_OK) goto done;
    status = prv_check_steps(distinct, count, options->neighbors);
    if (status != PRV_OK) goto done;
    grows = prv_may_grow(distinct, count, options);
    if (grows) status = bring_up(a, distinct, count, options);
    if (status != PRV_OK) goto done;
    if (grows)
        status = prv_answer_each(with, length, answer, a, bounds, reports);
    else
        status = ask_whole(a, with, a->values, length, bounds, reports);
done:
    prv_own_transforms_end(&own);
    /* A history is as good as new after a failure. */
    if (status != PRV_OK) forget(a->history);
    prv_release(distinct);
    return status;
}

prv_status prv_history_epsilon(prv_history *history, const prv_step *steps, size_t step_count,
                               const prv_options *options, const double *deltas, size_t length,
                               prv_bounds *bounds, prv_report *reports)
{
    asking a = {history, steps, step_count, PRV_ASK_EPSILON, deltas, .directions = 0};
    return ask(&a, options, length, bounds, reports);
}

prv_status prv_history_delta(prv_history *history, const prv_step *steps, size_t step_count,
                             const prv_options *options, const double *epsilons, size_t length,
                             prv_bounds *bounds, prv_report *reports)
{
    asking a = {history, steps, step_count, PRV_ASK_DELTA, epsilons, .directions = 0};
    return ask(&a, options, length, bounds, reports);
}
