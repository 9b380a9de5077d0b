#include "questions/growth_plan.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "mechanisms/replace_one.h"
#include "curve/chernoff.h"

/* A composition is this much longer at the end of a plan than at its beginning. Plans follow one another like
 * a geometric sequence, so each step is enclosed about twice in all. */
#define GROWTH 1.75
/* The same of a plan for so many runs of the last step. */
#define NARROW_GROWTH 1.16

/* The numbers below choose a plan. No bound relies on them. */

/* Products of an atom and a frequency that a plan's spectrum may take for each of its steps. */
#define MOST_WORK 4e6
#define MOST_NARROW_WORK 2e6
/* The part of the width asked that is planned for: the mesh's part of the width grows with the steps, and the
 * width asked may be that of a smaller epsilon. */
#define WIDTH_SHARE 0.8
/* Epsilon may lie this part of itself, for each part that the composition grows by, from the one planned for:
 * where noise falls it grows faster than the size does. */
#define REACH_SHARE 1.6
/* Divides what truncation may cost, as tilts for the middle of the plan bound what lies outside the window.
 */
#define STRICTNESS 50.0
/* Steps that the period has room for, as a part of those that the composition grows by: steps of less noise
 * may have far larger moments, and a longer period costs little. */
#define ROOM_TO_GROW 10.0
/* The part of the shift of the tilt that is planned with: a smaller one bounds tails nearly as well. */
#define SHIFT_SHARE 0.25
/* The tilt is the saddle point over this power of the growth. The saddle point falls while a composition
 * grows, fast where its noise falls: tilted beyond it, laws consist of their largest jumps, and need periods
 * that no plan has. A smaller tilt costs a few frequencies more. */
#define FALL_OF_TILT 2.0
/* At a part s of the saddle point terms e^((1 - s)^2 log(1 / delta)) times delta cancel, about: this much of
 * their digits may be lost. */
#define MOST_CANCELLED 12.0
/* Compositions of a size out of this range are not planned for. */
#define LEAST_SIZE 1e-300
#define GREATEST_SIZE 1e300

/* ---- Pairs ----------------------------------------------------------------------------------- */

prv_status prv_step_pair_new(const prv_mechanism *mechanism, bool add, prv_neighbors neighbors,
                             prv_step_pair *pair)
{
    memset(pair, 0, sizeof *pair);
    prv_status status = PRV_OK;
    if (neighbors == PRV_REPLACE_ONE) status = prv_mechanism_replaced(mechanism, &pair->replaced);
    if (status != PRV_OK) return status;
    pair->mechanism = pair->replaced != NULL ? pair->replaced : mechanism;
    prv_profile profile;
    status = prv_profile_new(pair->mechanism, add, 1, &profile);
    if (status != PRV_OK) return status;
    const prv_moments at = prv_tilt(profile.center, profile.mass, profile.length, 0.0, NULL);
    pair->size = at.variance + at.mean * at.mean;
    prv_profile_free(&profile);
    return PRV_OK;
}

void prv_step_pair_free(prv_step_pair *pair)
{
    prv_mechanism_free(pair->replaced);
    memset(pair, 0, sizeof *pair);
}

/* ---- The beginning --------------------------------------------------------------------------- */

/* The count that a mesh is made for. */
static double meshed_count(uint64_t count)
{
    return exp2(ceil(log2((double)count)));
}

/* The runs of step j that its mesh is made for. */
static double runs_meshed(const prv_past *past, size_t j)
{
    const bool is_planned = past->planned > 0 && j + 1 == past->length;
    return meshed_count(is_planned ? past->planned : past->steps[j].count);
}

/* All steps, with the runs of the last one that are planned. */
static prv_growth_plan planned_beginning(const prv_past *past)
{
    prv_growth_plan plan = {.growth = NARROW_GROWTH};
    const size_t last = past->length - 1;
    plan.last_count = past->planned < past->steps[last].count ? past->planned : past->steps[last].count;
    plan.last_meshed = runs_meshed(past, last);
    for (size_t j = 0; j < past->length; j++)
        plan.size += (double)(j < last ? past->steps[j].count : plan.last_count) * past->pairs[j].size;
    if (plan.size > LEAST_SIZE && plan.size < GREATEST_SIZE) plan.steps = past->length;
    return plan;
}

prv_growth_plan prv_choose_beginning(const prv_past *past)
{
    if (past->planned > 0) return planned_beginning(past);
    prv_growth_plan plan = {.growth = GROWTH};
    double size = 0.0;
    for (size_t j = 0; j < past->length; j++) size += (double)past->steps[j].count * past->pairs[j].size;
    if (!(size > LEAST_SIZE && size < GREATEST_SIZE)) return plan;
    plan.level = (int)floor(log(size) / log(GROWTH));
    plan.size = fmin(pow(GROWTH, plan.level), size);
    double before = 0.0;
    for (size_t j = 0; j < past->length; j++) {
        const double each = past->pairs[j].size, count = (double)past->steps[j].count;
        plan.steps = j + 1;
        plan.last_count = (uint64_t)fmin(fmax(ceil((plan.size - before) / each), 1.0), count);
        plan.last_meshed = runs_meshed(past, j);
        before += count * each;
        if (before >= plan.size) break;
    }
    return plan;
}

bool prv_is_same_beginning(const prv_growth_plan *a, const prv_growth_plan *b)
{
    return a->steps == b->steps && a->level == b->level && a->size == b->size &&
           a->last_count == b->last_count && a->last_meshed == b->last_meshed;
}

static uint64_t planned_count(const prv_growth_plan *plan, const prv_past *past, size_t j)
{
    return j + 1 < plan->steps ? past->steps[j].count : plan->last_count;
}

/* The beginning as planning sees it. */
static prv_status direction_of_beginning(const prv_past *past, const prv_growth_plan *plan,
                                         const prv_options *options, prv_direction *direction)
{
    prv_step *steps = prv_allocate(plan->steps, sizeof *steps);
    if (steps == NULL) return PRV_ERR_MEMORY;
    for (size_t j = 0; j < plan->steps; j++)
        steps[j] = (prv_step){past->pairs[j].mechanism, planned_count(plan, past, j)};
    const prv_status status = prv_direction_new(steps, plan->steps, PRV_ADD_OR_REMOVE, past->add, NULL,
                                                options, direction);
    prv_release(steps);
    return status;
}

/* As though each step ran that many times as often. */
static void lengthen(prv_direction *direction, double factor)
{
    for (size_t j = 0; j < direction->steps; j++) direction->counts[j] *= factor;
    prv_totals *all = &direction->all;
    all->count *= factor;
    all->lost *= factor;
    prv_infinite_lengthen(&all->infinite, factor);
    all->greatest_loss *= factor;
    all->greatest_error *= factor;
}

/* ---- The plan -------------------------------------------------------------------------------- */

/* Whether the answer is likely to need a composition. */
static bool needs_composition(const prv_direction *direction, prv_question question, double value)
{
    if (question == PRV_ASK_EPSILON)
        return value > 2.0 * direction->all.infinite.mass && value < prv_most_total_variation(direction);
    return value < direction->all.greatest_loss && isfinite(value) &&
           prv_log_complement(direction, value) > log(PRV_FINEST_DELTA);
}

/* Aim and layout for the middle of what the plan is to hold for. */
static prv_status lay_out(prv_direction *direction, prv_question question, double value,
                          const prv_options *options, prv_growth_plan *plan)
{
    prv_aim *aim = &plan->aim;
    const double more = plan->growth - 1.0;
    lengthen(direction, sqrt(plan->growth));
    if (!needs_composition(direction, question, value)) return PRV_ERR_PRECISION;
    prv_take_aim(direction, options, question, value, aim);
    prv_status status = prv_refine_aim(direction, options, question, value, aim);
    if (status != PRV_OK) return status;
    const double whole = 1.0 + direction->all.infinite.mass / exp(aim->log_delta);
    aim->asked = WIDTH_SHARE * prv_width_asked(options, aim->epsilon);
    aim->width = WIDTH_SHARE * prv_width_wanted(options, question, aim, aim->epsilon, whole);
    if (question == PRV_ASK_EPSILON) aim->reach = fmax(aim->reach, REACH_SHARE * more * aim->epsilon);
    aim->strictness = STRICTNESS;
    plan->fineness = direction->fineness;
    const double share = fmax(pow(plan->growth, -FALL_OF_TILT),
                              1.0 - sqrt(MOST_CANCELLED / fmax(-aim->log_delta, 1.0)));
    const double tilt = fmax(share * aim->saddle, fmin(1.0 / aim->deviation, 1.0 / aim->width));
    const double spacing = prv_first_spacing(direction, aim);
    status = prv_layout_plan(direction, aim, tilt, spacing, false, PRV_ENGINE_SPECTRUM,
                             (double)options->memory_limit, &plan->layout);
    if (status != PRV_OK) return status;
    plan->layout.window.room_to_grow = ROOM_TO_GROW * more;
    plan->layout.window.shift_up *= SHIFT_SHARE;
    return PRV_OK;
}

prv_status prv_enclose_step(const prv_growth_plan *plan, const prv_past *past, size_t j,
                            const prv_options *options, prv_enclosure *enclosure)
{
    const prv_step_pair *pair = &past->pairs[j];
    const prv_step step = {pair->mechanism, 1};
    prv_direction direction;
    prv_status status = prv_direction_new(&step, 1, PRV_ADD_OR_REMOVE, past->add, NULL, options, &direction);
    if (status != PRV_OK) return status;
    prv_layout layout;
    memset(&layout, 0, sizeof layout);
    direction.counts[0] = runs_meshed(past, j);
    if (plan->fineness > 1) status = prv_direction_profile(&direction, plan->fineness, options);
    if (status != PRV_OK) goto done;
    const double part = fmin(direction.counts[0] * pair->size / plan->size, 1.0);
    status = prv_layout_another(&plan->layout, &direction, &plan->aim, part, options, &layout);
    if (status != PRV_OK) goto done;
    status = prv_enclosure_new(pair->mechanism, past->add, &layout.meshes[0], &layout.cells[0],
                               plan->aim.saddle, options, enclosure);
done:
    prv_layout_free(&layout);
    prv_direction_free(&direction);
    return status;
}

/* Frequencies, what those left out make up, and the sums before the last step, from the lattices of the
 * beginning. */
static prv_status choose_frequencies(const prv_past *past, const prv_enclosure *enclosures,
                                     const prv_options *options, prv_growth_plan *plan,
                                     prv_growing_spectrum *before)
{
    prv_status status = PRV_OK;
    const size_t n = plan->steps;
    const prv_lattice **list = prv_allocate(n, sizeof *list);
    double *counts = prv_allocate(n, sizeof *counts);
    if (list == NULL || counts == NULL) {
        status = PRV_ERR_MEMORY;
        goto done;
    }
    prv_window window = plan->layout.window;
    window.options = options;
    for (size_t j = 0; j < n; j++) counts[j] = (double)planned_count(plan, past, j);
    const double most_work = (past->planned > 0 ? MOST_NARROW_WORK : MOST_WORK) * (double)n;
    for (int side = PRV_DOMINATING; side <= PRV_DOMINATED; side++) {
        for (size_t j = 0; j < n; j++)
            list[j] = side == PRV_DOMINATING ? &enclosures[j].dominating : &enclosures[j].dominated;
        status = prv_growing_plan_new(list, counts, n, plan->layout.spacing.lattice, plan->layout.tilt,
                                      &window, most_work, &plan->side[side], &before[side]);
        if (status != PRV_OK) goto done;
    }
done:
    prv_release((void *)list);
    prv_release(counts);
    return status;
}

prv_status prv_growth_plan_make(const prv_past *past, prv_question question, double value,
                                const prv_options *options, prv_growth_plan *plan, prv_enclosure *enclosures,
                                size_t *enclosed, prv_growing_spectrum *before)
{
    *enclosed = 0;
    prv_direction direction;
    prv_status status = direction_of_beginning(past, plan, options, &direction);
    if (status != PRV_OK) return status;
    status = lay_out(&direction, question, value, options, plan);
    prv_direction_free(&direction);
    if (status != PRV_OK) return status;
    for (; *enclosed < plan->steps; ++*enclosed) {
        status = prv_enclose_step(plan, past, *enclosed, options, &enclosures[*enclosed]);
        if (status != PRV_OK) return status;
    }
    return choose_frequencies(past, enclosures, options, plan, before);
}

void prv_growth_plan_free(prv_growth_plan *plan)
{
    for (int side = PRV_DOMINATING; side <= PRV_DOMINATED; side++) prv_growing_plan_free(&plan->side[side]);
    memset(plan, 0, sizeof *plan);
}
