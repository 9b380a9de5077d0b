#include "questions/growth.h"

#include <string.h>

#include "base/allocate.h"
#include "curve/attained.h"

bool prv_may_grow(const prv_step *distinct, size_t count, const prv_options *o)
{
    return count > 0 && o->discretization == PRV_BRACKETING && o->engine != PRV_ENGINE_CONVOLUTION &&
           o->mesh_size == 0.0 && prv_attainment_of(distinct, count, o->neighbors) != PRV_NOT_ATTAINED &&
           !prv_any_combined(distinct, count);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void sums_clear(prv_growth_sums *s)
{
    for (int side = 0; side < 2; side++) prv_growing_clear(&s->side[side]);
    memset(&s->all, 0, sizeof s->all);
    memset(&s->enclosed, 0, sizeof s->enclosed);
    s->length = 0;
    s->misfit = false;
}

static void sums_free(prv_growth_sums *s)
{
    for (int side = 0; side < 2; side++) prv_growing_free(&s->side[side]);
    memset(s, 0, sizeof *s);
}

/* No step yet, at the frequencies of the plan. */
static prv_status sums_begin(const prv_growth_plan *plan, prv_growth_sums *s)
{
    sums_clear(s);
    for (int side = 0; side < 2; side++) {
        const prv_status status = prv_growing_begin(&plan->side[side], &s->side[side]);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

static prv_status sums_copy(const prv_growth_sums *from, prv_growth_sums *to)
{
    to->length = from->length;
    to->misfit = from->misfit;
    to->all = from->all;
    to->enclosed = from->enclosed;
    for (int side = 0; side < 2; side++) {
        const prv_status status = prv_growing_copy(&from->side[side], &to->side[side]);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* Adds what the next step contributes beside its part in the spectra. */
static void add_to_totals(const prv_past *past, const prv_enclosure *enclosure, prv_growth_sums *s)
{
    const double count = (double)past->steps[s->length].count;
    prv_totals_add(&s->all, past->pairs[s->length].mechanism, count, past->add);
    prv_enclosed_add(&s->enclosed, enclosure, count);
}

/* Adds the next step to the sums over all before it. */
static prv_status add_enclosed(const prv_growth_plan *plan, const prv_past *past,
                               const prv_enclosure *enclosure, prv_growth_sums *s)
{
    const size_t j = s->length;
    const double count = (double)past->steps[j].count;
    prv_status status = j == 0 ? sums_begin(plan, s) : PRV_OK;
    if (status != PRV_OK) return status;
    const prv_lattice *lattices[2] = {&enclosure->dominating, &enclosure->dominated};
    add_to_totals(past, enclosure, s);
    s->length++;
    for (int side = 0; side < 2; side++) {
        status = prv_growing_add(&plan->side[side], lattices[side], count, &s->side[side]);
        s->misfit = status == PRV_ERR_PRECISION;
        if (status != PRV_OK) return s->misfit ? PRV_OK : status;
    }
    return PRV_OK;
}

static prv_status add_step(const prv_growth_plan *plan, const prv_past *past, const prv_options *options,
                           prv_growth_sums *s)
{
    prv_enclosure enclosure;
    prv_status status = prv_enclose_step(plan, past, s->length, options, &enclosure);
    if (status != PRV_OK) return status;
    status = add_enclosed(plan, past, &enclosure, s);
    prv_enclosure_free(&enclosure);
    return status;
}

/* Brings g->now up to all steps, or to one that does not fit. */
static prv_status add_steps(const prv_past *past, const prv_options *options, prv_growth *g)
{
    const size_t last = past->length - 1;
    if (g->now.length == past->length) return PRV_OK;
    if (g->now.length == last && g->settled.length < last) {
        const prv_growth_sums swap = g->settled;
        g->settled = g->now;
        g->now = swap;
    }
    prv_status status = PRV_OK;
    while (g->settled.length < last && !g->settled.misfit) {
        status = add_step(&g->plan, past, options, &g->settled);
        if (status != PRV_OK) return status;
    }
    status = sums_copy(&g->settled, &g->now);
    if (status != PRV_OK || g->now.misfit) return status;
    return add_step(&g->plan, past, options, &g->now);
}

/* ---- The plan -------------------------------------------------------------------------------- */

static bool is_without_plan(prv_status status)
{
    return status == PRV_ERR_PRECISION || status == PRV_ERR_ENGINE || status == PRV_ERR_MEMORY_LIMIT;
}

/* Makes the plan, and takes the sums over its steps up to the last of all, which may run on. */
static prv_status plan_and_sum(const prv_past *past, prv_question question, double value,
                               const prv_options *options, prv_growth *g)
{
    prv_growth_plan *plan = &g->plan;
    if (plan->steps == 0) return PRV_ERR_PRECISION; /* nothing tells sizes */
    prv_enclosure *enclosures = prv_allocate(plan->steps, sizeof *enclosures);
    if (enclosures == NULL) return PRV_ERR_MEMORY;
    size_t enclosed;
    prv_growth_sums *s = &g->settled;
    prv_status status = prv_growth_plan_make(past, question, value, options, plan, enclosures, &enclosed,
                                             s->side);
    if (status != PRV_OK) goto done;
    for (; s->length + 1 < plan->steps; s->length++) add_to_totals(past, &enclosures[s->length], s);
    if (plan->steps < past->length) status = add_enclosed(plan, past, &enclosures[plan->steps - 1], s);
done:
    for (size_t j = 0; j < enclosed; j++) prv_enclosure_free(&enclosures[j]);
    prv_release(enclosures);
    return status;
}

/* The plan for the past as it is: the one there is, if its beginning is the same. */
static prv_status update_plan(const prv_past *past, prv_question question, double value,
                              const prv_options *options, prv_growth *g)
{
    const prv_growth_plan beginning = prv_choose_beginning(past);
    if (beginning.steps > 0 && prv_is_same_beginning(&beginning, &g->plan)) return PRV_OK;
    prv_growth_plan_free(&g->plan);
    sums_clear(&g->settled);
    sums_clear(&g->now);
    g->plan = beginning;
    const prv_status status = plan_and_sum(past, question, value, options, g);
    g->plan.fails = is_without_plan(status);
    return g->plan.fails ? PRV_OK : status;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static prv_status read_sums(const prv_growth *g, prv_question question, double value,
                            const prv_options *options, prv_reading *reading)
{
    prv_aim aim = g->plan.aim;
    /* What is summed is as close as the plan made it: a reading is judged by the width in epsilon. */
    aim.asked = aim.width = prv_width_asked(options, question == PRV_ASK_EPSILON ? aim.epsilon : value);
    const prv_asked asked = {question, value, &g->now.all, &aim, &g->now.enclosed};
    *reading = prv_reading_begin(aim.epsilon);
    for (prv_side side = PRV_DOMINATING; side <= PRV_DOMINATED; side++) {
        prv_spectrum spectrum;
        prv_composed composed;
        const prv_status status = prv_growing_read(&g->plan.side[side], &g->now.side[side], &spectrum,
                                                   &composed);
        if (status == PRV_OK) prv_read_side(&asked, side, &composed, reading);
        prv_spectrum_free(&spectrum);
        if (status != PRV_OK) return status;
    }
    return prv_finish_reading(&asked, reading);
}

prv_status prv_growth_answer(prv_growth *g, const prv_past *past, prv_question question, double value,
                             const prv_options *options, bool *found, prv_reading *reading)
{
    *found = false;
    prv_status status = update_plan(past, question, value, options, g);
    if (status != PRV_OK || g->plan.fails) return status;
    status = add_steps(past, options, g);
    if (status != PRV_OK || g->now.misfit) return status;
    status = read_sums(g, question, value, options, reading);
    *found = status == PRV_OK && reading->resolved;
    return status;
}

/* For instance, with runs as exponents:
 *
 *     before   A^3  B^7  C^2  D^5  E^1
 *     now      A^3  B^7  C^4  D^5  F^2  G^1
 *              |-same-|
 *              |------alike------|
 *
 * Sums hold counts, so they are kept if they end within `same`: over A and B at most. A plan is kept if its
 * beginning ends there, or with C, as it holds for a part of the runs of its last step, which may run on;
 * update_plan looks whether it is still the plan to be made. The settled sums never hold the last step. */
void prv_growth_follow(prv_growth *g, size_t same, size_t alike, size_t length)
{
    const bool runs_on = alike > same; /* step `same` has the same mechanism, and another count */
    const bool has_plan = g->plan.steps <= (runs_on ? same + 1 : same);
    if (!has_plan) prv_growth_plan_free(&g->plan);
    if (!has_plan || g->settled.length > same || g->settled.length >= length) sums_clear(&g->settled);
    if (!has_plan || g->now.length > same) sums_clear(&g->now);
}

void prv_growth_free(prv_growth *g)
{
    prv_growth_plan_free(&g->plan);
    sums_free(&g->settled);
    sums_free(&g->now);
}
