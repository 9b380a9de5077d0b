#include "planning/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "composition/direct_convolution.h"
#include "composition/kernel.h"
#include "composition/transforms.h"
#include "planning/alignment.h"

/* Bytes of a point of a mesh with both lattices, and of a knot with its cells: together PRV_BYTES_OF_KNOT. */
#define BYTES_OF_POINT 64.0
#define BYTES_OF_CELL 96.0

/* The numbers below save time, or leave room for what guesses are off by. No bound relies on them. */

/* A shift of the tilt is good enough if its bound of the tail is e^(1.02 log_mass) or more. The search takes
 * long steps where the exponent grows by less than LITTLE_GROWTH of what is missing, and none for an exponent
 * that grows more slowly than this power of the shift. It ends after MOST_SHIFTS, and halves its range now
 * and then if it is LONG. */
#define TAIL_EXCESS 0.02
#define LITTLE_GROWTH 0.01
#define SLOWEST_POWER 0.2
enum { LONG_SEARCH = 8, MOST_SHIFTS = 60 };

/* If the support is at most so many times as long as the window, the window holds all of it: then nothing
 * lies outside, with certainty. */
#define WHOLE_WINDOWS 2.0

/* Room at either end of a window: coarse moments are off by about 1 %, and lattices have their own. */
#define ROOM_PART 0.02
#define ROOM_SPACINGS 4.0

/* Lower bounds are wanted at least this part of the width away from the guess of epsilon. */
#define REACH_PART 0.1

/* A spectrum may cost this part of the budget for each thing it leaves out: estimates are not corrected for
 * images. */
#define TOLERANCE_PART 0.1

/* If the guess of delta is far too large: no window may leave out more than e to this of the mass. */
#define MOST_LOG_BUDGET (-5.0)

/* Jumps are separate if the bulk's bound at this part of epsilon, which may be guessed too large, is small
 * enough. The largest loss of the bulk is searched from 1/2 to 1/1000 of that epsilon, by this factor. */
#define BULK_EPSILON 0.4
#define BULK_FIRST 0.5
#define BULK_LAST 1e-3
#define BULK_FACTOR 0.7
/* A lattice may have the atoms of the bulk that much higher, as a part of their loss. */
#define BULK_ROOM 0.01

/* Alignment that makes a spacing finer by more than this is given up where memory does not hold it. */
#define FAR_FINER 0.05

/* prv_align_spacing divides a spacing by so much at most. */
#define MOST_ALIGNMENT 8.0

/* Chernoff's bounds of lattices whose points are a spacing h apart are greater than those of the law by
 * e^(shift^2 h^2 / 8) for each run, about. The largest shift where that costs a quarter of the exponent needs
 * an exponent larger by this factor. */
#define EXPONENT_OF_SPACINGS 1.25

/* ---- Ranges -------------------------------------------------------------------------------- */

/* A step's own knots end where the mass below does not matter, although the dominating lattice moves it up to
 * the first of them. Where lattices end at caps, what lies above decides by the masses of all other runs:
 * there the mass below matters by itself, and not tilted. */
static void cut_bottoms(prv_direction *direction, double tilt, double tilted_below, double untilted_below)
{
    const double factor = prv_is_capped(direction) ? untilted_below : HUGE_VAL;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const double below = tilted_below / direction->counts[j], most = factor / direction->counts[j];
        const size_t end = direction->end[j];
        size_t first = 0;
        const double log_moment = prv_tilt(p->center, p->mass, end, tilt, NULL).log_moment;
        double sum = 0.0;
        for (; first + 1 < end; first++) {
            sum += p->mass[first];
            if (sum > most) break;
            if (exp(fmin(log(sum) + tilt * p->low[first + 1] - log_moment, 0.0)) > below) break;
        }
        direction->first[j] = first;
    }
}

/* The shift of the tilt whose bound of the mass beyond the shifted mean is e^log_mass, and that mean. `base`
 * has the moments at the tilt itself. */
static double tail_shift(const prv_direction *direction, const prv_moments *base, double tilt, double sign,
                         double log_mass, double *end_of_window)
{
    double shift = sqrt(-2.0 * log_mass / fmax(base->variance, 1e-300)), low = 0.0, high = HUGE_VAL;
    shift = fmin(shift, 1e9);
    prv_moments m = *base;
    for (int i = 0;; i++) {
        m = prv_composed_moments(direction, tilt + sign * shift);
        const double exponent = sign * shift * m.mean - (m.log_moment - base->log_moment) + log_mass;
        if (exponent >= 0.0)
            high = shift;
        else
            low = shift;
        if (exponent >= 0.0 && exponent <= -TAIL_EXCESS * log_mass) break;
        if (high < HUGE_VAL && high <= 1.001 * low) break;
        if (low > 1e12 || i == MOST_SHIFTS) break; /* the end of the support holds more than that */
        /* The exponent grows by shift * variance: about like a power of the shift, the square of a normal
         * law, and a high one where rare jumps begin to decide. */
        const double grown = fmax(exponent - log_mass, -1e-3 * log_mass);
        const double power = shift * shift * m.variance / grown;
        const double least = exponent < 0.0 ? SLOWEST_POWER : 1.0;
        double next = shift * pow(-1.01 * log_mass / grown, 1.0 / fmax(power, least));
        /* At an end of the support, or before rare jumps, it hardly grows: the next step up is a long one,
         * and that down halves the range. */
        const bool is_flat = high == HUGE_VAL && power * grown < LITTLE_GROWTH * -exponent;
        const bool is_long = i > LONG_SEARCH && i % 2 == 0;
        const bool halves = low > 0.0 && high < HUGE_VAL && (power < 1.0 || is_long);
        if (is_flat || halves || !(next > low && next < high))
            next = high == HUGE_VAL ? 4.0 * shift : low > 0.0 ? sqrt(low * high) : 0.5 * high;
        shift = next;
    }
    *end_of_window = (m.log_moment - base->log_moment - log_mass) / (sign * shift);
    return shift;
}

/* Lattices that end at caps may have spacings wider than what a run deviates by, so that a shift is too large
 * for them. If what lies outside the window took too much, no larger one is taken than they allow, and the
 * window is wider for that. */
static double limited_tail_shift(const prv_direction *direction, double tilt, double sign, double log_mass,
                                 double spacing, double shift, double *end_of_window)
{
    const double most = sqrt(-2.0 * log_mass / direction->all.count) / spacing;
    if (shift <= most) return shift;
    const double base = prv_composed_moments(direction, tilt).log_moment,
                 moved = prv_composed_moments(direction, tilt + sign * most).log_moment;
    *end_of_window = (moved - base - EXPONENT_OF_SPACINGS * log_mass) / (sign * most);
    return most;
}

/* ---- Layout -------------------------------------------------------------------------------- */

/* Support of the composition by the cells in use, one spacing beyond. */
static void support_in_use(const prv_direction *direction, double spacing, double *least, double *greatest)
{
    *least = *greatest = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        *least += direction->counts[j] * (p->low[direction->first[j]] - spacing);
        *greatest += direction->counts[j] * (p->high[direction->end[j] - 1] + spacing);
    }
}

/* Chooses the window of the composed loss such that masses outside cost no more than the budget. */
static void lay_out_window(const prv_direction *direction, const prv_aim *aim, prv_layout *layout)
{
    prv_window *w = &layout->window;
    const double tilt = layout->tilt, log_budget = layout->log_budget;
    double low, high, least, greatest;
    const double lattice = layout->spacing.lattice;
    const prv_moments base = prv_composed_moments(direction, tilt);
    w->shift_up = tail_shift(direction, &base, tilt, 1.0, log_budget, &high);
    w->shift_down = tail_shift(direction, &base, tilt, -1.0, log_budget, &low);
    if (prv_is_capped(direction) && aim->strictness > 1.0) {
        w->shift_up = limited_tail_shift(direction, tilt, 1.0, log_budget, lattice, w->shift_up, &high);
        w->shift_down = limited_tail_shift(direction, tilt, -1.0, log_budget, lattice, w->shift_down, &low);
    }
    support_in_use(direction, lattice, &least, &greatest);
    /* A single step is not transformed, and wraps nowhere. */
    const bool whole = direction->all.count == 1.0 || greatest - least <= WHOLE_WINDOWS * (high - low);
    low = whole ? least : fmax(low, least);
    high = whole ? greatest : fmin(high, greatest);
    const double room = ROOM_PART * (high - low) + ROOM_SPACINGS * lattice;
    low -= room;
    high += room;
    /* At the end of a bounded support no shift is too large for the profile; but lattices carry
     * rounding noise a spacing beyond it, and this much suffices. */
    const double most_shift = (5.0 - log_budget) / room;
    w->shift_up = fmin(w->shift_up, most_shift);
    w->shift_down = fmin(w->shift_down, most_shift);
    w->lowest = low;
    layout->uniform_points = (high - low) / layout->spacing.convolved;
    w->length = prv_transform_length(ceil(layout->uniform_points), false);
    const double reach = fmax(aim->reach, REACH_PART * aim->width); /* the shift slack is below that */
    w->low_epsilon = fmax(aim->epsilon - reach, fmin(aim->epsilon, 0.0));
    w->high_epsilon = fmax(fmin(aim->epsilon + reach, high), aim->epsilon);
    w->tolerance = TOLERANCE_PART * exp(log_budget) * prv_kernel_maximum(tilt);
}

bool prv_separate_jumps(prv_direction *direction, const prv_aim *aim, prv_window *w)
{
    const double share = prv_truncation_share(aim->slope, aim->width) / aim->strictness;
    const double log_target = aim->log_delta + log(share) - 1.0;
    w->separate = false;
    w->bulk_low = BULK_EPSILON * aim->epsilon;
    if (!(aim->epsilon > 0.0)) return false;
    for (double bulk = BULK_FIRST * w->bulk_low; bulk > BULK_LAST * w->bulk_low; bulk *= BULK_FACTOR) {
        double highest = -HUGE_VAL;
        prv_use_whole_profiles(direction);
        for (size_t j = 0; j < direction->steps; j++) {
            const prv_profile *p = &direction->profiles[j];
            size_t end = direction->end[j];
            while (end > 1 && p->high[end - 1] > bulk) end--;
            direction->end[j] = end;
            if (p->high[end - 1] > bulk) return false;
            highest = fmax(highest, p->high[end - 1]);
        }
        const double tilt = prv_root(direction, prv_saddle_excess, &w->bulk_low, 4.0 * aim->saddle);
        const prv_moments m = prv_composed_moments(direction, tilt);
        if (m.log_moment - tilt * w->bulk_low + log(prv_kernel_maximum(tilt)) > log_target) continue;
        w->separate = true;
        /* Atoms of the next cell may lie below its end, and are no part of this bulk. */
        w->bulk = fmin(bulk, highest + BULK_ROOM * fabs(highest));
        w->bulk_tilt = tilt;
        return true;
    }
    return false;
}

/* Scratch of prv_scale_meshes and prv_mesh_of_step. */
static double *new_weights(const prv_direction *direction)
{
    return prv_allocate(prv_weights_length(direction), sizeof(double));
}

double prv_period_guess(prv_direction *direction, const prv_aim *aim, double tilt)
{
    const double share = prv_truncation_share(aim->slope, aim->width) / aim->strictness;
    const double log_budget = fmin(log(share) + prv_log_part(direction, aim, tilt), MOST_LOG_BUDGET);
    double low, high, least, greatest;
    const prv_moments base = prv_composed_moments(direction, tilt);
    tail_shift(direction, &base, tilt, 1.0, log_budget, &high);
    tail_shift(direction, &base, tilt, -1.0, log_budget, &low);
    support_in_use(direction, 0.0, &least, &greatest);
    const double log_tolerance = log(TOLERANCE_PART) + log_budget + log(prv_kernel_maximum(tilt));
    return fmax(fmin(high, greatest) - aim->epsilon, aim->epsilon - fmax(low, least) - log_tolerance / tilt);
}

double prv_first_knots(prv_direction *direction, const prv_aim *aim, prv_engine engine)
{
    double *weight = new_weights(direction);
    if (weight == NULL) return HUGE_VAL;
    prv_use_cells_of_aim(direction, aim);
    const double knots = prv_expected_knots(direction, aim, prv_first_spacing(direction, aim), engine,
                                            weight);
    prv_release(weight);
    return knots;
}

/* Makes a spectrum's lattice coarser, as long as it has more points than the aim allows. */
static void coarsen_lattice(const prv_aim *aim, prv_layout *layout)
{
    prv_spacing *s = &layout->spacing;
    const double period = layout->uniform_points * s->convolved;
    if (!(aim->most_points > 0.0)) return;
    while (2.0 * s->lattice <= s->coarsest && period > aim->most_points * s->lattice) s->lattice *= 2.0;
}

/* The plan whose law has this spacing, where `spacing` was asked. */
static prv_status plan_of_law(prv_direction *direction, const prv_aim *aim, double tilt, double spacing,
                              double law, bool exact_spacing, prv_engine engine, double memory_limit,
                              prv_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->tilt = tilt;
    layout->memory_limit = memory_limit;
    const bool spectrum = engine == PRV_ENGINE_SPECTRUM && !exact_spacing;
    const double convolved = spectrum ? prv_align_spacing(direction, aim, spacing, PRV_ENGINE_CONVOLUTION)
                                      : law;
    layout->spacing = (prv_spacing){.lattice = law,
                                    .law = law,
                                    .convolved = law,
                                    .count = direction->all.count,
                                    .exact = exact_spacing,
                                    .engine = engine};
    double *weight = new_weights(direction);
    if (weight == NULL) return PRV_ERR_MEMORY;
    const double share = prv_truncation_share(aim->slope, aim->width) / aim->strictness;
    layout->log_budget = fmin(log(share) + prv_log_part(direction, aim, tilt), MOST_LOG_BUDGET);
    cut_bottoms(direction, tilt, exp(layout->log_budget) / (double)direction->steps,
                share / (double)direction->steps);
    prv_scale_meshes(direction, aim, weight, &layout->spacing);
    lay_out_window(direction, aim, layout);
    if (spectrum) coarsen_lattice(aim, layout);
    layout->convolved_points = layout->uniform_points * fmax(law / convolved, 1.0);
    prv_release(weight);
    if (engine == PRV_ENGINE_CONVOLUTION)
        layout->bytes = prv_workspace_bytes(fmax(layout->uniform_points, (double)layout->window.length),
                                            direction->steps) +
                        prv_direct_bytes(layout->window.length);
    /* No transform is that long: a limit of memory, too, whatever the caller's is. */
    const bool too_long = engine == PRV_ENGINE_CONVOLUTION && layout->window.length == 0;
    return !too_long && layout->bytes <= memory_limit ? PRV_OK : PRV_ERR_MEMORY_LIMIT;
}

prv_status prv_layout_plan(prv_direction *direction, const prv_aim *aim, double tilt, double spacing,
                           bool exact_spacing, prv_engine engine, double memory_limit, prv_layout *layout)
{
    /* Atoms cost what they do without the tops that lattices leave out. */
    prv_use_cells_of_aim(direction, aim);
    spacing = exact_spacing
                  ? spacing
                  : fmax(fmin(spacing, PRV_WIDEST_CELL), MOST_ALIGNMENT * prv_narrowest_spacing(direction));
    const double law = exact_spacing ? spacing : prv_align_spacing(direction, aim, spacing, engine);
    const prv_status status = plan_of_law(direction, aim, tilt, spacing, law, exact_spacing, engine,
                                          memory_limit, layout);
    /* A period far below the spacing that was asked for stays the same however coarse that becomes. */
    if (status != PRV_ERR_MEMORY_LIMIT || exact_spacing || !(law < FAR_FINER * spacing)) return status;
    return plan_of_law(direction, aim, tilt, spacing, spacing, exact_spacing, engine, memory_limit, layout);
}

/* The meshes of a direction whose cells in use are chosen. On failure only layout->bytes is left. */
static prv_status add_meshes(const prv_direction *direction, const prv_aim *aim, const prv_options *options,
                             prv_layout *layout)
{
    prv_status status = PRV_ERR_MEMORY;
    layout->meshes = prv_allocate(direction->steps, sizeof *layout->meshes);
    layout->cells = prv_allocate(direction->steps, sizeof *layout->cells);
    double *weight = new_weights(direction);
    if (layout->meshes == NULL || layout->cells == NULL || weight == NULL) goto done;
    status = PRV_OK;
    for (size_t j = 0; j < direction->steps; j++) {
        prv_mesh *mesh = &layout->meshes[j];
        status = prv_check_interrupt(options);
        if (status != PRV_OK) break;
        status = prv_mesh_of_step(direction, j, aim, &layout->spacing, layout->memory_limit, weight, mesh,
                                  &layout->cells[j], &layout->bytes);
        if (status != PRV_OK) break;
        layout->steps++;
        if (mesh->length > layout->longest) layout->longest = mesh->length;
    }
    for (size_t j = 0; j < layout->steps; j++)
        layout->bytes += BYTES_OF_POINT * (double)layout->meshes[j].length +
                         BYTES_OF_CELL * (double)layout->cells[j].length;
    if (status == PRV_OK && !(layout->bytes <= layout->memory_limit)) status = PRV_ERR_MEMORY_LIMIT;
done:
    prv_release(weight);
    if (status != PRV_OK) {
        const double bytes = layout->bytes;
        prv_layout_free(layout);
        layout->bytes = bytes;
    }
    return status;
}

prv_status prv_layout_new(prv_direction *direction, const prv_aim *aim, double tilt, double spacing,
                          bool exact_spacing, prv_engine engine, double memory_limit,
                          const prv_options *options, prv_layout *layout)
{
    const prv_status status = prv_layout_plan(direction, aim, tilt, spacing, exact_spacing, engine,
                                              memory_limit, layout);
    return status == PRV_OK ? add_meshes(direction, aim, options, layout) : status;
}

prv_status prv_layout_another(const prv_layout *plan, prv_direction *direction, const prv_aim *aim,
                              double part, const prv_options *options, prv_layout *layout)
{
    *layout = *plan;
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, part * aim->top_share * exp(aim->log_delta));
    cut_bottoms(direction, layout->tilt, part * exp(layout->log_budget), 0.0);
    return add_meshes(direction, aim, options, layout);
}

void prv_layout_free(prv_layout *layout)
{
    for (size_t j = 0; j < layout->steps; j++) {
        prv_mesh_free(&layout->meshes[j]);
        prv_cells_free(&layout->cells[j]);
    }
    prv_release(layout->meshes);
    prv_release(layout->cells);
    memset(layout, 0, sizeof *layout);
}
