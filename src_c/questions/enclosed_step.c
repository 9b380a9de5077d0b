#include "questions/enclosed_step.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "curve/chernoff.h"
#include "planning/aim.h"
#include "questions/averaged_step.h"
#include "questions/question.h"

/* Each round makes lattices at most so many times finer, and aims at this part of the width asked: from the
 * first look, of which the width is not quite the second power of the step, and from later rounds. */
#define MOST_FINER 16.0
#define FIRST_AIM 0.8
#define NEXT_AIM 0.93
enum { MOST_ROUNDS = 12 };
/* Steps as small as this part of the deviation are not tried. */
#define LEAST_SHARE 2e-5
/* The part of the width that mass put at infinity may take, and what is moved at the end of small losses
 * (nats). */
#define CUT_PART 1e-2

/* The pair that encloses the mechanism on one side. */
typedef struct side_pair {
    const prv_atoms *atoms;
    double rounding; /* a of the contract of cells (cells.h), which atoms of this pair keep */
    double absolute; /* of callbacks' values */
    int side;        /* 1 from above, -1 from below */
} side_pair;

static side_pair pair_of(const prv_direction *d, int side)
{
    const prv_mechanism *m = d->enclosed[0];
    const prv_atoms *a = m->enclosing[side > 0 ? PRV_DOMINATING : PRV_DOMINATED];
    const double reach = a->length > 0 ? fmax(fabs(a->loss[0]), fabs(a->loss[a->length - 1])) : 0.0;
    const double rounding = PRV_UNIT * (32.0 + 8.0 * reach) + 2.0 * a->loss_error * reach +
                            2.0 * m->density_error;
    return (side_pair){a, rounding, prv_absolute_cdf_error(m), side};
}

/* Of the atoms above epsilon: sums of q and of q (1 - e^(epsilon - x)), the latter off by the rounding of so
 * many positive terms. */
static double finite_delta(const prv_atoms *a, double epsilon)
{
    double sum = 0.0;
    for (size_t i = a->length; i-- > 0 && a->loss[i] > epsilon;)
        sum += a->q[i] * -expm1(epsilon - a->loss[i]);
    return sum;
}

/* delta of the mechanism at epsilon, from above or below. */
static double delta_at(const side_pair *p, double epsilon)
{
    const prv_rounding r = prv_rounding_of_tails(p->rounding);
    const double sums = PRV_UNIT * (16.0 + (double)p->atoms->length) * PRV_SECOND_ORDER;
    const double moved = epsilon - p->side * (r.shift + 4.0 * PRV_UNIT * fabs(epsilon));
    const double finite = finite_delta(p->atoms, moved),
                 factor = 1.0 + (r.relative + sums) * PRV_SECOND_ORDER;
    const double infinite = p->atoms->q_only;
    const double delta = p->side > 0 ? finite * factor + infinite : finite / factor + infinite;
    return fmin(fmax(prv_outwards(delta, 8.0 * PRV_UNIT, p->side) + p->side * p->absolute, 0.0), 1.0);
}

/* The epsilon >= 0 at which the curve of the atoms reaches delta, about; infinite if it does nowhere. */
static double crossing(const prv_atoms *a, double delta)
{
    double q = a->q_only, p = 0.0; /* of the atoms above */
    if (!(delta > q)) return HUGE_VAL;
    for (size_t i = a->length; i-- > 0;) {
        const double x = a->loss[i];
        if (q - exp(x) * p >= delta) break;
        q += a->q[i];
        p += a->q[i] * exp(-x);
    }
    return q > delta && p > 0.0 ? fmax(log((q - delta) / p), 0.0) : 0.0;
}

/* A bound of epsilon at delta: a point at which the curve is certain to lie on the right side, near the
 * crossing. */
static double epsilon_at(const side_pair *p, double delta)
{
    const double at = crossing(p->atoms, delta);
    if (!isfinite(at)) return p->side > 0 ? HUGE_VAL : 0.0;
    for (double away = 4.0 * p->rounding + 16.0 * PRV_UNIT * (1.0 + at); away < 64.0 * (1.0 + at);
         away *= 4.0) {
        const double epsilon = at + p->side * away;
        if (epsilon <= 0.0 && p->side < 0) return 0.0;
        const double found = delta_at(p, epsilon);
        if (p->side > 0 ? found <= delta : found > delta) return epsilon;
    }
    return p->side > 0 ? HUGE_VAL : 0.0;
}

/* Bounds of one direction, and what they are in epsilon. */
typedef struct reading {
    prv_bounds bounds;
    double width; /* nats */
    double delta; /* about, to aim at */
    double slope; /* -d log delta / d epsilon, about */
} reading;

static prv_status read(const prv_direction *d, prv_question question, double value, reading *r)
{
    const side_pair above = pair_of(d, 1), below = pair_of(d, -1);
    const int ask_epsilon = question == PRV_ASK_EPSILON;
    prv_bounds *b = &r->bounds;
    if (ask_epsilon) {
        b->upper = epsilon_at(&above, value);
        b->lower = epsilon_at(&below, value);
        /* From above the error of splitting is twice that from below, of the other sign. */
        b->estimate = isfinite(b->upper) ? b->upper + (b->lower - b->upper) / 3.0 : b->lower;
    } else {
        b->upper = fmin(delta_at(&above, value), prv_most_by_variation(d, value));
        b->lower = delta_at(&below, value);
        b->estimate = b->upper + (b->lower - b->upper) / 3.0;
    }
    const prv_status status = prv_gate_close(&d->all, question, value, b);
    if (status != PRV_OK) return status;
    const double at = ask_epsilon ? (isfinite(b->upper) ? b->upper : b->lower) : value;
    double p = 0.0;
    for (size_t i = above.atoms->length; i-- > 0 && above.atoms->loss[i] > at;)
        p += above.atoms->q[i] * exp(at - above.atoms->loss[i]);
    r->delta = ask_epsilon ? value : fmax(b->lower, 1e-6 * b->upper);
    r->slope = fmax(p / fmax(ask_epsilon ? value : b->upper, 1e-300), 1e-9);
    r->width = ask_epsilon            ? (b->upper == b->lower ? 0.0 : b->upper - b->lower)
               : b->upper == b->lower ? 0.0
               : b->lower > 0.0       ? log(b->upper / b->lower) / r->slope
                                      : HUGE_VAL;
    /* No loss lies above the greatest one: a lower bound of 0 is off by the distance to it at most. */
    if (!ask_epsilon && !(b->lower > d->all.infinite.high))
        r->width = fmin(r->width, fmax(d->all.greatest_loss - value, 0.0));
    return PRV_OK;
}

/* The next fineness, by which the width of these bounds becomes the one asked: it is of second order in the
 * step. */
static prv_fineness next_fineness(const prv_fineness *now, const reading *r, double width, double aim)
{
    prv_fineness f = *now;
    const double part = aim * width / r->width;
    f.share *= fmin(fmax(sqrt(part), 1.0 / MOST_FINER), 0.95);
    f.cut = fmax(CUT_PART * fmin(r->slope * width, 1.0) * r->delta, 1e-300);
    f.low_cut = fmin(CUT_PART * width, 1e-8);
    return f;
}

/* ---- Both directions ------------------------------------------------------------------------- */

/* A first look that a question of epsilon takes, and its mass at infinity as a part of delta. */
#define FIRST_SHARE 0.05
#define FIRST_CUT_PART 1e-5

static prv_fineness first_look(prv_question question, double value)
{
    prv_fineness first = PRV_COARSE_FINENESS;
    if (question != PRV_ASK_EPSILON) return first;
    first.share = FIRST_SHARE;
    first.cut = fmax(FIRST_CUT_PART * value, 1e-300);
    return first;
}

prv_fineness prv_first_fineness(const prv_step *steps, size_t step_count, prv_question question, double value)
{
    uint64_t count = 0;
    bool averaged = question == PRV_ASK_EPSILON;
    for (size_t j = 0; j < step_count; j++) {
        count += steps[j].count > 1 ? 2 : steps[j].count;
        if (steps[j].count > 0) averaged = averaged && prv_is_averaged_step(steps[j].mechanism);
    }
    if (count != 1) return PRV_COARSE_FINENESS;
    return averaged ? PRV_NO_FINENESS : first_look(question, value);
}

bool prv_is_enclosed_step(const prv_direction *directions, size_t count, const prv_options *options)
{
    if (options->mesh_size > 0.0 || !prv_is_engine_open(options)) return false;
    for (size_t i = 0; i < count; i++)
        if (directions[i].all.count != 1.0 || directions[i].enclosed[0] == NULL) return false;
    return count > 0;
}

/* What is not smaller than the width that the question asks, given that its bounds are these. */
static double width_asked(const prv_options *options, prv_question question, double value, const reading *top,
                          const prv_bounds *worst)
{
    if (question == PRV_ASK_EPSILON)
        return prv_width_asked(options, fmax(worst->lower, 0.95 * fmin(worst->estimate, worst->upper)));
    return fmax(prv_width_asked(options, value), 0.9 * options->delta_relative_error / top->slope);
}

/* Whether the curve is at least as high as its upper bound this far below epsilon: where a width is that of
 * the lower bound alone, the upper one may be anything. */
static bool is_upper_bound_close(const prv_direction *d, double epsilon, double width, double upper)
{
    const side_pair below = pair_of(d, -1);
    const double before = epsilon - width;
    return fmax(prv_least_delta(before, -1), delta_at(&below, before)) >= upper;
}

static bool is_close(const prv_direction *d, const prv_options *options, prv_question question, double value,
                     const reading *top, const prv_bounds *worst)
{
    if (prv_is_decided(options, worst->lower, worst->upper)) return true;
    if (question == PRV_ASK_EPSILON) {
        const double width = worst->upper == worst->lower ? 0.0 : worst->upper - worst->lower;
        return width <= prv_width_asked(options, worst->lower) * (1.0 + 1e-12);
    }
    const double asked = prv_width_asked(options, value);
    return (top->width <= asked && is_upper_bound_close(d, value, asked, top->bounds.upper)) ||
           prv_is_relatively_close(options, question, worst->lower, worst->upper) || worst->upper < 1e-305;
}

static void fill_report(const prv_direction *d, const prv_options *options, const reading *top, double asked,
                        bool close, prv_limit stopped_by, prv_report *report)
{
    memset(report, 0, sizeof *report);
    report->accurate = close;
    report->attained = 1;
    report->direction = prv_neighbors_of(d->add, options->neighbors);
    /* Where only the lower bound is as close as asked, the distance of the upper one is not known. */
    const bool is_open = !close && top->width <= asked;
    report->width = report->discretization = is_open ? HUGE_VAL : top->width;
    report->cells = d->enclosed[0]->enclosing[PRV_DOMINATING]->length;
    if (!close) report->limit = stopped_by != PRV_LIMIT_NONE ? stopped_by : PRV_LIMIT_PASSES;
}

/* Of smaller deltas prv_delta_of_rare_cuts may be all: no average of many batches is asked about then. */
#define LEAST_OF_AVERAGE 1e-280

prv_status prv_read_enclosed_step(prv_direction *directions, size_t count, const prv_options *options,
                                  prv_question question, double value, prv_bounds *bounds, prv_report *report)
{
    reading readings[2];
    prv_layer layer;
    prv_limit stopped_by = PRV_LIMIT_NONE;
    const prv_fineness first = first_look(question, value);
    if (question == PRV_ASK_EPSILON && value > LEAST_OF_AVERAGE &&
        prv_is_averaged_step(directions[0].enclosed[0]->enclosed)) {
        bool found;
        const prv_status status = prv_read_averaged_step(directions, count, options, value, &found, bounds,
                                                         report);
        if (status != PRV_OK || found) return status;
    }
    options = prv_layer_over(&layer, PRV_KNOWS_PASSES, options);
    for (size_t i = 0; i < count; i++) {
        prv_status status = prv_direction_enclose_first(&directions[i], &first, options);
        if (status == PRV_OK) status = read(&directions[i], question, value, &readings[i]);
        if (status != PRV_OK) return status;
    }
    for (int round = 0;; round++) {
        size_t top = 0;
        prv_bounds worst = readings[0].bounds;
        for (size_t i = 1; i < count; i++) {
            if (readings[i].bounds.upper > readings[top].bounds.upper) top = i;
            prv_gate_worst(&worst, &readings[i].bounds);
        }
        reading *r = &readings[top];
        prv_direction *d = &directions[top];
        const bool close = is_close(d, options, question, value, r, &worst);
        if (d->enclosing.share < LEAST_SHARE) stopped_by = PRV_LIMIT_ROUNDING;
        if (close || stopped_by != PRV_LIMIT_NONE || round >= MOST_ROUNDS) {
            *bounds = worst;
            const double asked = prv_width_asked(options, question == PRV_ASK_EPSILON ? worst.lower : value);
            fill_report(d, options, r, asked, close, stopped_by, report);
            return prv_gate_range(question == PRV_ASK_EPSILON ? 0.0 : -HUGE_VAL, HUGE_VAL, bounds);
        }
        const double width = width_asked(options, question, value, r, &worst);
        layer.now.passes = (size_t)round + 1;
        layer.now.width = r->width;
        layer.now.width_asked = width;
        const prv_fineness f = next_fineness(&d->enclosing, r, width, round == 0 ? FIRST_AIM : NEXT_AIM);
        prv_status status = prv_direction_enclose(d, &f, options);
        if (prv_is_too_fine(status)) {
            stopped_by = prv_limit_of_enclosing(status); /* the bounds found before hold */
            continue;
        }
        reading next;
        if (status == PRV_OK) status = read(d, question, value, &next);
        if (status != PRV_OK) return status;
        /* All pairs enclose the mechanism: the best of each bound holds. */
        next.bounds.lower = fmax(next.bounds.lower, r->bounds.lower);
        next.bounds.upper = fmin(next.bounds.upper, r->bounds.upper);
        *r = next;
    }
}
