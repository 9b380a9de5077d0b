#include "questions/negligible_steps.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "curve/chernoff.h"
#include "planning/aim.h"
#include "questions/closed_answer.h"
#include "questions/question.h"

/* The numbers below trade time; no bound relies on them. */

/* Steps may be negligible whose losses, together, deviate by less than this part of all. */
#define NEGLIGIBLE 2e-3

/* They may move epsilon by so much of the width asked, and bounds are to be within so much of it. */
#define MOST_MOVED 0.25
#define MOST_WIDTH 0.6

/* The part of delta that negligible steps may have at the epsilon by which they move the answer. */
#define PART_OF_DELTA 1e-4

/* A direction in two parts. */
typedef struct parts {
    prv_direction large, negligible;
    size_t negligible_steps;
} parts;

static void parts_free(parts *p)
{
    prv_direction_free(&p->large);
    prv_direction_free(&p->negligible);
}

/* How far the losses of a step reach, about: squared, by its mean and deviation. */
static double size_of(const prv_direction *d, size_t j)
{
    const prv_profile *p = &d->profiles[j];
    const prv_moments m = prv_tilt(p->center, p->mass, p->length, 0.0, NULL);
    const double mean = d->counts[j] * m.mean;
    return d->counts[j] * m.variance + mean * mean;
}

/* Marks the steps that may be negligible, and returns their number. What is known of adaptive compositions of
 * bounded ranges is not known of their pair: these never are. */
static size_t find_negligible(const prv_direction *d, bool *is_negligible)
{
    double all = 0.0;
    size_t found = 0;
    for (size_t j = 0; j < d->steps; j++) all += size_of(d, j);
    for (size_t j = 0; j < d->steps; j++) {
        is_negligible[j] = d->mechanisms[j]->base != PRV_BASE_BOUNDED_RANGE &&
                           size_of(d, j) * (double)d->steps <= NEGLIGIBLE * NEGLIGIBLE * all;
        if (is_negligible[j]) found++;
    }
    return found;
}

static prv_status part_new(const prv_direction *d, const bool *is_negligible, bool wanted, size_t steps,
                           const prv_options *options, prv_direction *part)
{
    prv_step *list = prv_allocate(steps, sizeof *list);
    if (list == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t j = 0; j < d->steps; j++)
        if (is_negligible[j] == wanted) list[n++] = (prv_step){d->mechanisms[j], (uint64_t)d->counts[j]};
    /* Pairs of replaced records were made before. */
    const prv_status status = prv_direction_new(list, n, PRV_ADD_OR_REMOVE, d->add, NULL, options, part);
    prv_release(list);
    return status;
}

/* The negligible steps alone; none of them if there are none, or no others. */
static prv_status parts_begin(const prv_direction *d, const prv_options *options, bool *is_negligible,
                              parts *p)
{
    p->negligible_steps = find_negligible(d, is_negligible);
    if (p->negligible_steps == d->steps) p->negligible_steps = 0;
    if (p->negligible_steps == 0) return PRV_OK;
    return part_new(d, is_negligible, true, p->negligible_steps, options, &p->negligible);
}

/* Epsilon of the large steps at two deltas, if they have a closed form: a lattice of these would take about
 * as long as one of all steps. */
static prv_status ask_large(prv_direction *large, const prv_options *options, const double deltas[2],
                            prv_bounds found[2], bool *is_found)
{
    prv_status status = PRV_OK;
    prv_report unwanted;
    *is_found = true;
    for (int i = 0; i < 2 && *is_found && status == PRV_OK; i++) {
        if (prv_answer_by_totals(large, 1, PRV_ASK_EPSILON, deltas[i], &found[i])) continue;
        status = prv_answer_closed(large, 1, options, PRV_ASK_EPSILON, deltas[i], is_found, &found[i],
                                   &unwanted);
    }
    return status;
}

/* delta of all at e1 + e2 is at most delta of the large steps at e1 and delta of the others at e2, and no
 * less than delta of the large steps at e1 + e2 (bounds.rst). */
static prv_status epsilon_of(prv_direction *d, const prv_options *options, double delta,
                             const bool *is_negligible, parts *p, bool *answered, prv_bounds *b)
{
    const double room = delta - d->all.infinite.high, part = PART_OF_DELTA * room;
    if (!(room > 0.5 * delta)) return PRV_OK;
    const double width = prv_width_asked(options, prv_rough_epsilon(d, delta - d->all.infinite.mass));
    const double moved = fmax(prv_chernoff_epsilon(&p->negligible, part, 0.0), 0.0);
    if (!(moved <= MOST_MOVED * width)) return PRV_OK;
    prv_status status = part_new(d, is_negligible, false, d->steps - p->negligible_steps, options, &p->large);
    if (status != PRV_OK) return status;
    const double deltas[] = {delta, prv_below(delta - part)};
    prv_bounds found[2];
    bool is_found;
    status = ask_large(&p->large, options, deltas, found, &is_found);
    if (status != PRV_OK || !is_found) return status;
    *b = (prv_bounds){found[0].lower, found[0].estimate, prv_above(found[1].upper + moved)};
    *answered = b->upper - b->lower <= MOST_WIDTH * prv_width_asked(options, b->lower);
    return PRV_OK;
}

static prv_status answer_direction(prv_direction *d, const prv_options *options, double delta, bool *answered,
                                   prv_bounds *b)
{
    *answered = false;
    parts p = {.negligible_steps = 0};
    bool *is_negligible = prv_allocate(d->steps, sizeof *is_negligible);
    if (is_negligible == NULL) return PRV_ERR_MEMORY;
    prv_status status = parts_begin(d, options, is_negligible, &p);
    if (status == PRV_OK && p.negligible_steps > 0)
        status = epsilon_of(d, options, delta, is_negligible, &p, answered, b);
    if (status == PRV_OK && *answered) status = prv_gate_close(&d->all, PRV_ASK_EPSILON, delta, b);
    parts_free(&p);
    prv_release(is_negligible);
    return status;
}

prv_status prv_epsilon_without_negligible(prv_direction *directions, size_t direction_count,
                                          const prv_options *options, double delta, bool *answered,
                                          prv_bounds *bounds, prv_report *report)
{
    *answered = false;
    if (options->mesh_size > 0.0 || !prv_is_engine_open(options)) return PRV_OK;
    prv_bounds worst = {0.0, 0.0, 0.0};
    size_t top = 0;
    for (size_t i = 0; i < direction_count; i++) {
        prv_direction *d = &directions[i];
        if (d->steps < 2 || d->observer != NULL || prv_is_enclosed(d)) return PRV_OK;
        prv_bounds b;
        bool found;
        const prv_status status = answer_direction(d, options, delta, &found, &b);
        if (status != PRV_OK || !found) return status;
        if (b.upper > worst.upper) top = i;
        prv_gate_worst(&worst, &b);
    }
    *answered = true;
    *bounds = worst;
    prv_report_known(options, report);
    report->width = report->discretization = worst.upper - worst.lower;
    report->direction = prv_neighbors_of(directions[top].add, options->neighbors);
    return PRV_OK;
}
