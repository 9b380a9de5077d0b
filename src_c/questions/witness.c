#include "questions/witness.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "mechanisms/support.h"
#include "questions/bracketing.h"
#include "questions/own_transforms.h"
#include "questions/question.h"

/* ---- What is shown of a pass ------------------------------------------------------------------ */

static prv_witness_lattice view_of(const prv_lattice *y, double lost)
{
    const prv_witness_lattice view = {y->length,
                                      y->offset,
                                      y->spacing,
                                      y->index,
                                      y->mass,
                                      y->infinite_mass,
                                      y->infinite_error + lost,
                                      y->rounding.relative,
                                      y->rounding.shift};
    return view;
}

prv_status prv_show_pass(const prv_direction *direction, prv_neighbors asked, const prv_enclosure *each,
                         const prv_outcome *o)
{
    const size_t steps = direction->steps;
    prv_witness_lattice *views = prv_allocate(2 * steps, sizeof *views);
    if (views == NULL) return PRV_ERR_MEMORY;
    for (size_t j = 0; j < steps; j++) {
        const double lost = prv_lost_delta(direction->mechanisms[j]);
        views[j] = view_of(&each[j].dominating, lost);
        views[steps + j] = view_of(&each[j].dominated, lost);
    }
    const prv_reading *read = &o->read;
    const prv_witness_pass pass = {
        .direction = prv_neighbors_of(direction->add, asked),
        .bounds = read->bounds,
        .engine = o->engine,
        .tilt = o->tilt,
        .mesh_size = o->spacing,
        .transform_length = o->transform_length,
        .discretization = read->discretization,
        .truncation = read->truncation,
        .wrap_around = read->wrap_around,
        .rounding = read->rounding,
        .step_count = steps,
        .counts = direction->counts,
        .above = views,
        .below = views + steps,
    };
    const int stop = direction->observer(direction->observer_context, &pass);
    prv_release(views);
    return stop ? PRV_ERR_INTERRUPTED : PRV_OK;
}

/* ---- The public question ---------------------------------------------------------------------- */

/* The best bounds of the passes of one direction. */
typedef struct shown {
    prv_witness_callback callback;
    void *context;
    bool symmetric;
    size_t passes;
    prv_bounds bounds;
} shown;

static int keep_bounds(void *context, const prv_witness_pass *pass)
{
    shown *s = context;
    if (s->passes++ == 0) s->bounds = pass->bounds;
    s->bounds.lower = fmax(s->bounds.lower, pass->bounds.lower);
    s->bounds.upper = fmin(s->bounds.upper, pass->bounds.upper);
    prv_witness_pass told = *pass;
    told.symmetric = s->symmetric;
    return s->callback(s->context, &told);
}

static prv_status show_direction(prv_direction *direction, bool symmetric, const prv_options *options,
                                 prv_question question, double value, prv_witness_callback callback,
                                 void *context, prv_bounds *worst)
{
    shown s = {.callback = callback, .context = context, .symmetric = symmetric};
    prv_bounds found;
    prv_report report = {0};
    direction->observer = keep_bounds;
    direction->observer_context = &s;
    prv_status status = prv_bracket(direction, 1, options, question, value, &found, &report);
    if (status != PRV_OK) return status;
    s.bounds.estimate = fmin(fmax(found.estimate, s.bounds.lower), s.bounds.upper);
    prv_gate_worst(worst, &s.bounds);
    return PRV_OK;
}

/* True if the totals of the directions suffice. */
static bool answer_directly(const prv_directions *d, prv_question question, double value, prv_bounds *bounds)
{
    const prv_totals *totals[2] = {NULL, NULL};
    for (size_t i = 0; i < d->count; i++) totals[i] = &d->each[i].all;
    return prv_gate_direct(totals, d->count, question, value, bounds);
}

prv_status prv_witness(const prv_step *steps, size_t step_count, const prv_options *options, int of_epsilon,
                       double value, prv_witness_callback callback, void *context, prv_bounds *bounds)
{
    const prv_question question = of_epsilon ? PRV_ASK_EPSILON : PRV_ASK_DELTA;
    prv_status status = prv_check_question(options, question, &value, 1);
    if (status != PRV_OK) return status;
    if (options->discretization != PRV_BRACKETING) return PRV_ERR_OPTIONS;
    prv_own_transforms own;
    status = prv_own_transforms_begin(&own, options, &options);
    if (status != PRV_OK) return status;
    prv_options with = *options;
    if (prv_is_engine_open(options)) with.engine = PRV_ENGINE_CONVOLUTION;
    prv_directions directions;
    status = prv_directions_new(steps, step_count, NULL, &with, &directions);
    if (status != PRV_OK) goto done;
    const bool both = with.neighbors == PRV_ADD_OR_REMOVE && directions.count == 1;
    prv_bounds worst = {0.0, 0.0, 0.0};
    const bool known = answer_directly(&directions, question, value, bounds);
    for (size_t i = 0; i < directions.count && !known && status == PRV_OK; i++)
        status = show_direction(&directions.each[i], both, &with, question, value, callback, context, &worst);
    if (status == PRV_OK) status = prv_check_arithmetic(); /* the callback may have changed the mode */
    if (!known && status == PRV_OK) *bounds = worst;
    prv_directions_free(&directions);
done:
    prv_own_transforms_end(&own);
    return status;
}
