/* One mechanism asked at many counts: the plans of ranges of counts are kept (count_range.h), and the coarse
 * profiles of one run. Answers are those of prv_epsilon, bit for bit: it makes the same plans for one count.
 */
#include <string.h>

#include "base/allocate.h"
#include "curve/attained.h"
#include "questions/cheapest_answer.h"
#include "questions/kept_ranges.h"
#include "questions/own_transforms.h"
#include "questions/question.h"

struct prv_sweep {
    const prv_mechanism *mechanism;
    prv_options options; /* that the rest was made with, if once.count > 0 */
    prv_directions once; /* of one run */
    prv_kept_ranges ranges;
};

prv_status prv_sweep_new(const prv_mechanism *mechanism, prv_sweep **sweep)
{
    prv_sweep *s = prv_allocate(1, sizeof *s);
    *sweep = s;
    if (s == NULL) return PRV_ERR_MEMORY;
    memset(s, 0, sizeof *s);
    s->mechanism = mechanism;
    return PRV_OK;
}

static void forget(prv_sweep *s)
{
    prv_kept_ranges_forget(&s->ranges);
    prv_directions_free(&s->once);
}

void prv_sweep_free(prv_sweep *s)
{
    if (s == NULL) return;
    forget(s);
    prv_release(s);
}

/* Whether what was made with options `a` serves `b`. */
static bool are_alike(const prv_options *a, const prv_options *b)
{
    return a->discretization == b->discretization && a->neighbors == b->neighbors && a->engine == b->engine &&
           a->eps_error == b->eps_error && a->eps_relative_error == b->eps_relative_error &&
           a->eps_floor == b->eps_floor && a->mesh_size == b->mesh_size && a->threshold == b->threshold &&
           a->memory_limit == b->memory_limit;
}

/* Whether answers are those of pairs alone, of one mechanism. */
static bool is_plain(const prv_mechanism *mechanism, const prv_options *o)
{
    const prv_step once = {mechanism, 1};
    return o->discretization == PRV_BRACKETING && !prv_any_combined(&once, 1) &&
           prv_attainment_of(&once, 1, o->neighbors) != PRV_NOT_ATTAINED;
}

/* Makes the profiles of one run, unless they are there with these options. */
static prv_status begin(prv_sweep *s, const prv_options *options)
{
    if (s->once.count > 0 && are_alike(options, &s->options)) return PRV_OK;
    forget(s);
    const prv_step once = {s->mechanism, 1};
    s->options = *options;
    return prv_directions_new(&once, 1, NULL, options, &s->once);
}

static prv_status ask(prv_sweep *s, uint64_t count, const prv_options *options, double delta,
                      prv_bounds *bounds, prv_report *report)
{
    for (size_t i = 0; i < s->once.count; i++) {
        const prv_status status = prv_direction_restore(&s->once.each[i], (double)count, options);
        if (status != PRV_OK) return status;
    }
    return prv_answer_kept(s->once.each, s->once.count, &s->ranges, options, &delta, 1, bounds, report);
}

prv_status prv_sweep_epsilon(prv_sweep *s, const uint64_t *counts, const double *deltas, size_t length,
                             const prv_options *options, prv_bounds *bounds, prv_report *reports)
{
    prv_status status = prv_check_question(options, PRV_ASK_EPSILON, deltas, length);
    if (status != PRV_OK) return status;
    prv_own_transforms own;
    const prv_options *with;
    status = prv_own_transforms_begin(&own, options, &with);
    if (status != PRV_OK) return status;
    const prv_step once = {s->mechanism, 1};
    status = prv_check_steps(&once, 1, options->neighbors);
    const bool plain = status == PRV_OK && is_plain(s->mechanism, options);
    if (plain) status = begin(s, options);
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        const prv_step step = {s->mechanism, counts[i]};
        prv_report unwanted, *report = reports != NULL ? &reports[i] : &unwanted;
        const bool sweeps = plain && counts[i] > 0 && counts[i] <= PRV_MOST_STEPS;
        status = sweeps ? ask(s, counts[i], with, deltas[i], &bounds[i], report)
                        : prv_epsilon(&step, 1, with, &deltas[i], 1, &bounds[i], report);
        if (status == PRV_ERR_MEMORY_LIMIT && reports != NULL) reports[0].memory = report->memory;
    }
    prv_own_transforms_end(&own);
    /* A sweep is as good as new after a failure. */
    if (status != PRV_OK) forget(s);
    return status;
}
