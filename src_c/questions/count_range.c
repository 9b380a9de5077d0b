#include "questions/count_range.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "curve/chernoff.h"
#include "planning/layout.h"
#include "questions/next_pass.h"
#include "questions/question.h"

/* The numbers below choose a plan. No bound relies on them. */

/* So many ranges for each factor of 2 of the count. */
#define RANGES_OF_OCTAVE 1.0

/* Counts below this are asked alone: of so few runs the spectrum falls slowly, and a convolution is short. */
#define LEAST_COUNT 17.0

/* Where the excess kurtosis of the sum at this part of the saddle is larger, the spectrum falls slowly, and
 * large losses may be so rare that they are counted. */
#define MOST_KURTOSIS 40.0
#define PART_OF_SADDLE 0.5

/* Up to this number of knots a plan is made by the guess of epsilon. A mesh of more needs a better one, from
 * a coarse pass that aims at these parts of epsilon and of the deviation of the composed loss. */
#define CHEAP_KNOTS 500.0
#define COARSE_PART 0.03
#define COARSE_DEVIATIONS 30.0

/* A plan aims at this part of the width asked, so that a guess that is a little off is close enough; and to
 * show that one direction has less than the other, at this part of the distance. */
#define AIM_WITHIN 0.95
#define BELOW_KNOWN 1.5

/* Chernoff's inequality is tried if it excludes the second direction at so many times the guess of epsilon.
 */
#define HOPEFUL 1.05

/* Epsilon falls like the count at most, and may be this part of itself less than is guessed. */
#define REACH_PART 0.05

/* Bounds for the least count up to this part of the width asked are close enough; else the mesh becomes
 * finer, for this part of it, by at least this factor. */
#define NEARLY 0.98
#define AFTER_A_LOOK 0.85
#define LEAST_FINER 0.3

/* Meshes of more knots are left to a count that is asked alone. */
#define MOST_KNOTS 5000.0

/* By the guess of epsilon a mesh is this much finer than it need be. */
#define WIDER 1.12

/* Epsilon grows like this power of the count at most, about. */
#define MOST_POWER 4.0

/* Products of an atom and a frequency that the spectrum of one side may take. */
#define MOST_WORK 1e6

/* ---- Which range ------------------------------------------------------------------------------ */

bool prv_count_range_of(const prv_direction *directions, size_t count, const prv_options *o,
                        prv_question question, double value, prv_count_range *range)
{
    const prv_direction *d = &directions[0];
    const bool serves = question == PRV_ASK_EPSILON && prv_is_engine_open(o) && o->mesh_size == 0.0 &&
                        o->threshold == 0.0 && d->steps == 1 && d->mechanisms[0]->base == PRV_BASE_GAUSSIAN &&
                        d->all.count >= LEAST_COUNT;
    if (!serves) return false;
    memset(range, 0, sizeof *range);
    const double level = ceil(RANGES_OF_OCTAVE * log2(d->all.count));
    range->most = fmax(floor(exp2(level / RANGES_OF_OCTAVE)), d->all.count);
    range->least = fmin(floor(exp2((level - 1.0) / RANGES_OF_OCTAVE)) + 1.0, d->all.count);
    range->delta = value;
    range->count = count;
    return true;
}

bool prv_is_same_range(const prv_count_range *a, const prv_count_range *b)
{
    return a->least == b->least && a->most == b->most && a->delta == b->delta;
}

/* ---- The plan --------------------------------------------------------------------------------- */

/* Whether a plan is worth while. It has a spectrum, though a convolution may be what a count of so few runs
 * takes alone: the transforms of one count serve no other. */
static prv_status see_whether_planned(prv_count_range *r)
{
    prv_refinement *first = &r->plans[0].refinement;
    const prv_direction *d = first->task.direction;
    r->fails = true;
    if (!(first->aim.epsilon > 0.0)) return PRV_OK;
    double *weight = prv_allocate(d->profiles[0].length, sizeof *weight);
    if (weight == NULL) return PRV_ERR_MEMORY;
    const double kurtosis = prv_composed_kurtosis(d, PART_OF_SADDLE * first->aim.saddle, weight);
    prv_release(weight);
    r->fails = !(kurtosis <= MOST_KURTOSIS);
    return PRV_OK;
}

prv_status prv_count_range_begin(prv_direction *directions, const prv_options *options, prv_count_range *r)
{
    r->directions = directions;
    for (size_t i = 0; i < r->count; i++) {
        prv_direction_set_count(&directions[i], 0, r->most);
        prv_refinement_begin(&directions[i], options, PRV_ASK_EPSILON, r->delta, &r->plans[i].refinement);
        r->plans[i].refinement.task.engine = PRV_ENGINE_SPECTRUM;
    }
    if (r->count > 1 && r->plans[1].refinement.aim.epsilon > r->plans[0].refinement.aim.epsilon) {
        const prv_refinement swap = r->plans[0].refinement;
        r->plans[0].refinement = r->plans[1].refinement;
        r->plans[1].refinement = swap;
    }
    return see_whether_planned(r);
}

static void plan_parts_free(prv_range_plan *p)
{
    prv_enclosure_free(&p->enclosure);
    for (int side = PRV_DOMINATING; side <= PRV_DOMINATED; side++) {
        prv_growing_plan_free(&p->side[side]);
        prv_growing_free(&p->once[side]);
    }
}

void prv_count_range_free(prv_count_range *r)
{
    for (size_t i = 0; i < r->count; i++) plan_parts_free(&r->plans[i]);
    memset(r, 0, sizeof *r);
}

/* The last side of plan i: of the second direction it is only asked whether it has less than the first, for
 * which its upper bound suffices. */
static prv_side last_side(size_t i)
{
    return i == 0 ? PRV_DOMINATED : PRV_DOMINATING;
}

/* Lattices and spectra of one run, as the refinement of the greatest count is aimed. */
static prv_status lay_out(prv_count_range *r, size_t i, const prv_options *options, double spacing)
{
    prv_range_plan *p = &r->plans[i];
    prv_refinement *of_most = &p->refinement;
    prv_direction *d = of_most->task.direction;
    const prv_aim *aim = &of_most->aim;
    prv_layout layout;
    prv_status status = prv_layout_new(d, aim, prv_next_tilt(of_most), spacing, false, PRV_ENGINE_SPECTRUM,
                                       (double)options->memory_limit, options, &layout);
    if (status != PRV_OK) return status;
    p->spacing = layout.spacing.law;
    p->tilt = layout.tilt;
    p->bytes = layout.bytes;
    layout.window.low_epsilon = fmin(layout.window.low_epsilon, (1.0 - REACH_PART) * p->least_epsilon);
    layout.window.room_to_grow = r->most / r->least - 1.0;
    layout.window.options = options;
    status = last_side(i) == PRV_DOMINATED
                 ? prv_enclosure_new(d->mechanisms[0], d->add, &layout.meshes[0], &layout.cells[0],
                                     aim->saddle, options, &p->enclosure)
                 : prv_enclosure_above_new(d->mechanisms[0], d->add, &layout.meshes[0], &layout.cells[0],
                                           options, &p->enclosure);
    for (prv_side side = PRV_DOMINATING; side <= last_side(i) && status == PRV_OK; side++)
        status = prv_growing_plan_once(
            side == PRV_DOMINATING ? &p->enclosure.dominating : &p->enclosure.dominated, r->least,
            layout.tilt, &layout.window, MOST_WORK, &p->side[side], &p->once[side]);
    prv_layout_free(&layout);
    return status;
}

/* The width (nats) for the greatest count at which that for the least one is as asked: both grow like the
 * root of the count, and so does the epsilon that the width asked is a part of, but where it falls to 0. */
static double width_of_most(const prv_count_range *r, const prv_range_plan *p, const prv_options *options)
{
    const double root = sqrt(r->most / r->least);
    return AIM_WITHIN * fmin(prv_width_asked(options, p->refinement.aim.epsilon),
                             root * prv_width_asked(options, p->least_epsilon));
}

/* Aims the plan number i: sets width and spacing, by a coarse pass for the greatest count if the mesh has
 * many knots. Of the second direction the width is one that shows that it has less. */
static prv_status aim_plan(prv_count_range *r, size_t i, const prv_options *options, double *spacing)
{
    prv_range_plan *p = &r->plans[i];
    prv_refinement *of_most = &p->refinement; /* aimed by prv_count_range_begin */
    prv_direction *d = of_most->task.direction;
    prv_aim *aim = &of_most->aim;
    of_most->task.options = options;
    prv_direction_set_count(d, 0, r->most);
    prv_use_cells_of_aim(d, aim);
    prv_status status = prv_refine_aim(d, options, PRV_ASK_EPSILON, r->delta, aim);
    if (status != PRV_OK) return status;
    prv_direction_set_count(d, 0, r->least);
    p->least_epsilon = prv_guess_of_fewer(d, aim, sqrt(r->most / r->least));
    prv_direction_set_count(d, 0, r->most);
    double width = width_of_most(r, p, options);
    if (i > 0) {
        const double distance = BELOW_KNOWN * (r->plans[0].refinement.aim.epsilon - aim->epsilon);
        width = fmax(width, fmin(distance, COARSE_PART * aim->epsilon));
    }
    aim->asked = aim->width = width;
    *spacing = WIDER * prv_first_spacing(d, aim);
    const double knots = prv_first_knots(d, aim, PRV_ENGINE_SPECTRUM);
    p->fails = knots > (i == 0 ? MOST_KNOTS : CHEAP_KNOTS);
    if (p->fails) return PRV_OK;
    if (knots <= CHEAP_KNOTS) {
        prv_widen_reach(aim);
        return PRV_OK;
    }
    const double guess = aim->epsilon;
    const double coarse = fmin(COARSE_PART * aim->epsilon, COARSE_DEVIATIONS * aim->deviation);
    status = prv_refinement_advance(of_most, coarse, coarse);
    if (status != PRV_OK) return status;
    p->least_epsilon *= fmin(aim->epsilon / guess, 1.0);
    aim->asked = aim->width = width_of_most(r, p, options);
    *spacing = prv_first_spacing(d, aim);
    if (!prv_adapt(of_most, aim->width, spacing)) *spacing = of_most->last.spacing;
    return PRV_OK;
}

/* Epsilon of this count, about: a power of the count between the guesses for the least and for the greatest
 * one. */
static double guess_epsilon(const prv_count_range *r, const prv_range_plan *p, double count)
{
    const double most = p->refinement.aim.epsilon, least = fmin(p->least_epsilon, most);
    const double power = least > 0.0 ? log(most / least) / log(r->most / r->least) : 1.0;
    return most * pow(count / r->most, fmin(power, MOST_POWER));
}

/* Reads one direction's bounds of epsilon for this count, if its plan has any; of the second one the upper
 * bound alone. */
static prv_status read_plan(const prv_count_range *r, size_t i, double count, const prv_options *options,
                            bool *found, prv_reading *reading)
{
    const prv_range_plan *p = &r->plans[i];
    const prv_direction *d = p->refinement.task.direction;
    prv_aim aim = p->refinement.aim;
    aim.epsilon = guess_epsilon(r, p, count);
    aim.asked = aim.width = prv_width_asked(options, aim.epsilon);
    prv_totals all = {0};
    prv_enclosed enclosed = {0};
    prv_totals_add(&all, d->mechanisms[0], count, d->add);
    prv_enclosed_add(&enclosed, &p->enclosure, count);
    *found = false;
    if (!(prv_enclosed_rounding(&enclosed).relative < PRV_MOST_CELL_ERROR)) return PRV_OK;
    const prv_asked asked = {PRV_ASK_EPSILON, r->delta, &all, &aim, &enclosed};
    *reading = prv_reading_begin(aim.epsilon);
    prv_growing_spectrum sums = {0};
    prv_status status = PRV_OK;
    for (prv_side side = PRV_DOMINATING; side <= last_side(i) && status == PRV_OK; side++) {
        const prv_lattice *y = side == PRV_DOMINATING ? &p->enclosure.dominating : &p->enclosure.dominated;
        prv_spectrum spectrum;
        prv_composed composed;
        status = prv_growing_repeat(&p->once[side], y, count, &sums);
        if (status != PRV_OK) break;
        status = prv_growing_read(&p->side[side], &sums, &spectrum, &composed);
        if (status == PRV_OK) prv_read_side(&asked, side, &composed, reading);
        prv_spectrum_free(&spectrum);
    }
    prv_growing_free(&sums);
    if (status == PRV_OK) status = prv_finish_reading(&asked, reading);
    *found = status == PRV_OK && reading->resolved;
    return status;
}

/* Makes the first plan finer if its bounds for the least count are wider than asked. */
static prv_status look_at_least(prv_count_range *r, const prv_options *options, double spacing)
{
    bool found;
    prv_reading reading;
    const prv_status status = read_plan(r, 0, r->least, options, &found, &reading);
    if (status != PRV_OK || !found) return status;
    const double asked = prv_width_asked(options, reading.bounds.lower);
    if (reading.width <= NEARLY * asked) return PRV_OK;
    plan_parts_free(&r->plans[0]);
    return lay_out(r, 0, options, spacing * fmax(sqrt(AFTER_A_LOOK * asked / reading.width), LEAST_FINER));
}

static prv_status plan_new(prv_count_range *r, size_t i, const prv_options *options)
{
    prv_range_plan *p = &r->plans[i];
    prv_refinement *of_most = &p->refinement;
    double spacing;
    prv_status status = aim_plan(r, i, options, &spacing);
    if (status != PRV_OK || p->fails) return status;
    prv_choose_way(of_most);
    p->fails = of_most->task.engine != PRV_ENGINE_SPECTRUM || of_most->task.jumps == PRV_JUMPS_SEPARATE ||
               of_most->stopped_by != PRV_LIMIT_NONE;
    if (p->fails) return PRV_OK;
    status = lay_out(r, i, options, spacing);
    if (status == PRV_OK && i == 0 && of_most->passes > 0) status = look_at_least(r, options, spacing);
    p->fails = status == PRV_ERR_PRECISION || status == PRV_ERR_ENGINE || status == PRV_ERR_MEMORY_LIMIT;
    return p->fails ? PRV_OK : status;
}

/* Makes the plan of the direction that looks larger, if it is not made. */
static prv_status make_first(prv_count_range *r, const prv_options *options)
{
    prv_range_plan *p = &r->plans[0];
    if (p->made) return PRV_OK;
    p->made = true;
    const prv_status status = plan_new(r, 0, options);
    if (status != PRV_OK || p->fails || r->count < 2) return status;
    /* The distance of the directions grows as the count falls: if the inequality is too weak for the least
     * one, it is too weak. */
    prv_direction *other = r->plans[1].refinement.task.direction;
    const double hopeful = HOPEFUL * p->least_epsilon;
    prv_direction_set_count(other, 0, r->least);
    prv_chernoff_cut_tops(other, r->delta);
    r->exclude_tilt = prv_chernoff_tilt(other, r->delta);
    r->may_exclude = prv_chernoff_epsilon_at(other, r->delta, hopeful, r->exclude_tilt) <= hopeful;
    return PRV_OK;
}

/* Makes the plan of the other one, if it is not made. The profile is left as it was: Chernoff's bound of a
 * count must not depend on whether another count has needed this plan. */
static prv_status make_second(prv_count_range *r, const prv_options *options)
{
    prv_range_plan *p = &r->plans[1];
    if (p->made) return PRV_OK;
    p->made = true;
    const prv_status status = plan_new(r, 1, options);
    return status == PRV_OK ? prv_direction_restore(p->refinement.task.direction, r->most, options) : status;
}

/* ---- Answers ---------------------------------------------------------------------------------- */

static void report_plan(const prv_range_plan *p, const prv_reading *reading, const prv_options *options,
                        double width, prv_report *report)
{
    prv_report_reading(reading, options->neighbors, p->refinement.task.direction->add, width, true, report);
    report->engine = PRV_ENGINE_SPECTRUM;
    report->mesh_size = p->spacing;
    report->tilt = p->tilt;
    report->cells = p->enclosure.knots;
    report->memory = prv_size_of(p->bytes);
}

/* *found: whether the other direction has no more than these bounds of the first one tell, by Chernoff's
 * inequality, or else by its own plan. */
static prv_status see_other(prv_count_range *r, double count, const prv_options *options, bool *found,
                            const prv_bounds *bounds)
{
    prv_direction *other = r->plans[1].refinement.task.direction;
    *found = true;
    prv_direction_set_count(other, 0, count);
    /* The best tilt falls about like the root of the count. */
    const double tilt = r->exclude_tilt * sqrt(r->least / count);
    if (r->may_exclude && prv_chernoff_epsilon_at(other, r->delta, bounds->lower, tilt) <= bounds->lower)
        return PRV_OK;
    const prv_status status = make_second(r, options);
    *found = status == PRV_OK && !r->plans[1].fails;
    if (!*found) return status;
    prv_reading reading;
    const prv_status read = read_plan(r, 1, count, options, found, &reading);
    if (read == PRV_OK && *found) *found = reading.bounds.upper <= bounds->upper;
    return read;
}

prv_status prv_count_range_answer(prv_count_range *r, double count, const prv_options *options, bool *found,
                                  prv_bounds *bounds, prv_report *report)
{
    *found = false;
    if (r->fails) return PRV_OK;
    prv_status status = make_first(r, options);
    if (status != PRV_OK || r->plans[0].fails) return status;
    prv_reading reading;
    status = read_plan(r, 0, count, options, found, &reading);
    if (status != PRV_OK || !*found) return status;
    *bounds = reading.bounds;
    const double width = bounds->upper - bounds->lower;
    *found = width <= prv_width_asked(options, bounds->lower) * (1.0 + 1e-12);
    if (*found && r->count > 1) status = see_other(r, count, options, found, bounds);
    if (status != PRV_OK || !*found) return status;
    report_plan(&r->plans[0], &reading, options, width, report);
    return prv_gate_range(0.0, HUGE_VAL, bounds);
}
