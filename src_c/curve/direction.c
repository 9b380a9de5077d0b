#include "curve/direction.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "mechanisms/replace_one.h"

#define FINEST 16

/* ---- Steps of one direction ---------------------------------------------------------------- */

static prv_status add_step(prv_direction *direction, const prv_step *step, prv_neighbors neighbors,
                           const prv_options *options)
{
    const size_t k = direction->steps;
    const prv_mechanism *m = step->mechanism;
    prv_mechanism *pair = NULL;
    prv_status status = PRV_OK;
    if (neighbors == PRV_REPLACE_ONE) status = prv_mechanism_replaced(m, &pair);
    if (status != PRV_OK) return status;
    if (pair != NULL) m = pair;
    prv_mechanism *enclosed = NULL;
    if (m->base == PRV_BASE_COMBINED) {
        const bool made = direction->enclosing.share > 0.0;
        if (made) status = prv_enclose(m, direction->add, &direction->enclosing, options, &enclosed);
        if (!made || prv_is_too_fine(status)) status = prv_enclose_trivially(m, &enclosed);
        if (status == PRV_OK) m = enclosed;
    }
    if (status == PRV_OK) status = prv_profile_new(m, direction->add, 1, &direction->profiles[k]);
    if (status != PRV_OK) {
        prv_mechanism_free(pair);
        prv_mechanism_free(enclosed);
        return status;
    }
    direction->steps++;
    direction->replaced[k] = pair;
    direction->enclosed[k] = enclosed;
    direction->mechanisms[k] = m;
    direction->features[k] = prv_mechanism_features(m, direction->add);
    direction->counts[k] = (double)step->count;
    direction->first[k] = 0;
    direction->end[k] = direction->profiles[k].length;
    direction->cap[k] = HUGE_VAL;
    direction->capped[k] = false;
    prv_totals_add(&direction->all, m, direction->counts[k], direction->add);
    return PRV_OK;
}

prv_status prv_direction_new(const prv_step *steps, size_t step_count, prv_neighbors neighbors, bool add,
                             const prv_fineness *first, const prv_options *options, prv_direction *direction)
{
    const prv_fineness coarse = PRV_COARSE_FINENESS;
    memset(direction, 0, sizeof *direction);
    direction->add = add;
    direction->mechanisms = prv_allocate(step_count, sizeof *direction->mechanisms);
    direction->counts = prv_allocate(step_count, sizeof *direction->counts);
    direction->profiles = prv_allocate(step_count, sizeof *direction->profiles);
    direction->features = prv_allocate(step_count, sizeof *direction->features);
    direction->first = prv_allocate(2 * step_count, sizeof *direction->first);
    direction->replaced = prv_allocate(step_count, sizeof *direction->replaced);
    direction->enclosed = prv_allocate(step_count, sizeof *direction->enclosed);
    direction->cap = prv_allocate(step_count, sizeof *direction->cap);
    direction->capped = prv_allocate(step_count, sizeof *direction->capped);
    direction->enclosing = first != NULL ? *first : coarse;
    if (direction->mechanisms == NULL || direction->counts == NULL || direction->profiles == NULL ||
        direction->features == NULL || direction->first == NULL || direction->replaced == NULL ||
        direction->enclosed == NULL || direction->cap == NULL || direction->capped == NULL) {
        prv_direction_free(direction);
        return PRV_ERR_MEMORY;
    }
    direction->end = direction->first + step_count;
    direction->fineness = 1;
    for (size_t j = 0; j < step_count; j++) {
        const prv_status status = add_step(direction, &steps[j], neighbors, options);
        if (status != PRV_OK) {
            prv_direction_free(direction);
            return status;
        }
    }
    return PRV_OK;
}

void prv_direction_free(prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++) {
        prv_profile_free(&direction->profiles[j]);
        prv_mechanism_free(direction->replaced[j]);
        prv_mechanism_free(direction->enclosed[j]);
    }
    prv_release(direction->replaced);
    prv_release(direction->enclosed);
    prv_release(direction->mechanisms);
    prv_release(direction->counts);
    prv_release(direction->profiles);
    prv_release(direction->features);
    prv_release(direction->first);
    prv_release(direction->cap);
    prv_release(direction->capped);
    memset(direction, 0, sizeof *direction);
}

void prv_directions_free(prv_directions *directions)
{
    for (size_t i = 0; i < directions->count; i++) prv_direction_free(&directions->each[i]);
    directions->count = 0;
}

/* ---- Combined mechanisms ------------------------------------------------------------------- */

int prv_is_enclosed(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->enclosed[j] != NULL) return 1;
    return 0;
}

int prv_any_combined(const prv_step *steps, size_t step_count)
{
    for (size_t j = 0; j < step_count; j++)
        if (steps[j].count > 0 && steps[j].mechanism->base == PRV_BASE_COMBINED) return 1;
    return 0;
}

bool prv_is_too_fine(prv_status status)
{
    return status == PRV_ERR_PRECISION || status == PRV_ERR_MEMORY_LIMIT || status == PRV_ERR_ENGINE;
}

prv_limit prv_limit_of_enclosing(prv_status status)
{
    return status == PRV_ERR_PRECISION      ? PRV_LIMIT_ROUNDING
           : status == PRV_ERR_MEMORY_LIMIT ? PRV_LIMIT_MEMORY
                                            : PRV_LIMIT_PASSES;
}

prv_status prv_direction_enclose(prv_direction *direction, const prv_fineness *fineness,
                                 const prv_options *options)
{
    prv_status made = PRV_OK;
    for (size_t j = 0; j < direction->steps && made == PRV_OK; j++) {
        if (direction->enclosed[j] == NULL) continue;
        prv_mechanism *enclosed = NULL;
        made = prv_enclose(direction->enclosed[j]->enclosed, direction->add, fineness, options, &enclosed);
        if (made != PRV_OK) break;
        prv_mechanism_free(direction->enclosed[j]);
        direction->mechanisms[j] = direction->enclosed[j] = enclosed;
        direction->features[j] = prv_mechanism_features(enclosed, direction->add);
        prv_profile_free(&direction->profiles[j]);
    }
    if (made == PRV_OK) direction->enclosing = *fineness;
    const prv_status profiled = prv_direction_profile(direction, direction->fineness, options);
    return profiled != PRV_OK ? profiled : made;
}

prv_status prv_direction_enclose_first(prv_direction *direction, const prv_fineness *first,
                                       const prv_options *options)
{
    const prv_fineness *now = &direction->enclosing;
    const bool is_first = now->share == first->share && now->cut == first->cut &&
                          now->low_cut == first->low_cut;
    if (!prv_is_enclosed(direction) || (is_first && direction->fineness == 1)) return PRV_OK;
    direction->fineness = 1;
    const prv_status status = prv_direction_enclose(direction, first, options);
    return prv_is_too_fine(status) ? PRV_OK : status;
}

/* The epsilon at which the curve of these atoms reaches delta, about. */
static double crossing(const prv_atoms *a, double delta)
{
    double q = a->q_only, p = 0.0; /* of the atoms above */
    for (size_t i = a->length; i-- > 0;) {
        const double x = a->loss[i];
        if (q - exp(x) * p >= delta) return log((q - delta) / p);
        q += a->q[i];
        p += a->q[i] * exp(-x);
    }
    return p > 0.0 && q > delta ? log((q - delta) / p) : 0.0;
}

/* The log-moment of atoms up to a loss. */
static double log_moment_up_to(const prv_atoms *a, double top, double saddle)
{
    size_t length = a->length;
    while (length > 1 && a->loss[length - 1] > top) length--;
    return prv_tilt(a->loss, a->q, length, saddle, NULL).log_moment;
}

double prv_enclosing_gap(const prv_direction *direction, double saddle, double delta)
{
    double gap = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        if (direction->enclosed[j] == NULL) continue;
        const prv_atoms *above = direction->enclosed[j]->enclosing[PRV_DOMINATING],
                        *below = direction->enclosed[j]->enclosing[PRV_DOMINATED];
        if (above->length == 0 || below->length == 0) return HUGE_VAL;
        if (direction->all.count == 1.0) return crossing(above, delta) - crossing(below, delta);
        const double top = direction->profiles[j].high[direction->end[j] - 1];
        gap += direction->counts[j] *
               (log_moment_up_to(above, top, saddle) - log_moment_up_to(below, top, saddle));
    }
    return gap / saddle;
}

/* ---- Profiles --------------------------------------------------------------------------------- */

static prv_status profile_step(prv_direction *direction, size_t j, size_t fineness,
                               const prv_options *options)
{
    const prv_status status = prv_check_interrupt(options);
    if (status != PRV_OK) return status;
    prv_profile_free(&direction->profiles[j]);
    return prv_profile_new(direction->mechanisms[j], direction->add, fineness, &direction->profiles[j]);
}

prv_status prv_direction_profile(prv_direction *direction, size_t fineness, const prv_options *options)
{
    direction->fineness = fineness;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        if (p->block != NULL && p->fineness == fineness) continue;
        const prv_status status = profile_step(direction, j, fineness, options);
        if (status != PRV_OK) return status;
    }
    prv_use_whole_profiles(direction);
    return PRV_OK;
}

void prv_direction_set_count(prv_direction *direction, size_t j, double count)
{
    direction->counts[j] = count;
    memset(&direction->all, 0, sizeof direction->all);
    for (size_t i = 0; i < direction->steps; i++)
        prv_totals_add(&direction->all, direction->mechanisms[i], direction->counts[i], direction->add);
}

prv_status prv_direction_restore(prv_direction *direction, double count, const prv_options *options)
{
    prv_direction_set_count(direction, 0, count);
    direction->moment_error = 0.0;
    prv_use_whole_profiles(direction);
    return direction->fineness == 1 ? PRV_OK : prv_direction_profile(direction, 1, options);
}

/* Merged and split cells are off by second order in their size, in opposite directions: over very many steps
 * that moves the sum by more than its own deviation. Those in use: a tilt makes much of the others. */
static double moment_error(const prv_direction *direction, size_t j, double saddle)
{
    const prv_profile *p = &direction->profiles[j];
    const size_t first = direction->first[j], end = direction->end[j];
    const double merged = prv_tilt(p->center + first, p->mass + first, end - first, saddle, NULL).log_moment;
    size_t knots = p->knot_count;
    while (knots > 1 && p->knots[knots - 1] > p->high[end - 1]) knots--;
    return direction->counts[j] *
           (prv_tilt(p->knots, p->dominating, knots, saddle, NULL).log_moment - merged);
}

/* Whether much of the tilted mass lies in cells that the tilt sees the inside of. */
static bool has_large_cells(const prv_direction *direction, size_t j, double saddle, double *weight)
{
    const prv_profile *p = &direction->profiles[j];
    const size_t first = direction->first[j], end = direction->end[j];
    prv_tilt(p->center + first, p->mass + first, end - first, saddle, weight);
    for (size_t c = first; c < end; c++)
        if (direction->counts[j] * weight[c - first] > 1e-2 && saddle * (p->high[c] - p->low[c]) > 2.0)
            return true;
    return false;
}

/* If moments are off by too much, profiles whose part of that is as small as finer ones leave it stay as they
 * are. */
#define PART_LEFT (1.0 / 16.0)

prv_status prv_direction_refine(prv_direction *direction, double saddle, const prv_options *options,
                                bool *changed)
{
    *changed = false;
    direction->moment_error = 0.0;
    size_t longest = direction->steps, finest = direction->fineness;
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->profiles[j].length > longest) longest = direction->profiles[j].length;
    double *error = prv_allocate(direction->steps + longest, sizeof *error);
    if (error == NULL) return PRV_ERR_MEMORY;
    double *weight = error + direction->steps;
    for (size_t j = 0; j < direction->steps; j++) {
        error[j] = moment_error(direction, j, saddle);
        direction->moment_error += error[j];
    }
    const double most = direction->moment_error > PRV_MOST_MOMENT_ERROR
                            ? PART_LEFT * PRV_MOST_MOMENT_ERROR / (double)direction->steps
                            : HUGE_VAL;
    prv_status status = PRV_OK;
    for (size_t j = 0; j < direction->steps && status == PRV_OK; j++) {
        const size_t fineness = direction->profiles[j].fineness;
        if (fineness >= FINEST) continue;
        if (!(error[j] > most) && !has_large_cells(direction, j, saddle, weight)) continue;
        *changed = true;
        status = profile_step(direction, j, 4 * fineness, options);
        if (4 * fineness > finest) finest = 4 * fineness;
    }
    direction->fineness = finest;
    if (*changed) prv_use_whole_profiles(direction);
    prv_release(error);
    return status;
}

/* ---- Moments of the composition from the profiles ------------------------------------------- */

/* Moments with one more atom: the mass below the range in use, which the dominating lattice puts onto its
 * first knot. */
static prv_moments with_atom(prv_moments m, double mass, double loss, double lam)
{
    if (!(mass > 0.0)) return m;
    const double log_atom = log(mass) + lam * loss;
    const double top = fmax(log_atom, m.log_moment);
    const double a = exp(log_atom - top), b = exp(m.log_moment - top);
    const double part = a / (a + b), distance = loss - m.mean;
    prv_moments r = {top + log(a + b), m.mean + part * distance,
                     (1.0 - part) * (m.variance + part * distance * distance)};
    return r;
}

prv_moments prv_composed_moments(const prv_direction *direction, double lam)
{
    prv_moments sum = {0.0, 0.0, 0.0};
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const size_t first = direction->first[j];
        prv_moments m = prv_tilt(p->center + first, p->mass + first, direction->end[j] - first, lam, NULL);
        if (first > 0) m = with_atom(m, p->tail[0] - p->tail[first], p->low[first], lam);
        sum.log_moment += direction->counts[j] * m.log_moment;
        sum.mean += direction->counts[j] * m.mean;
        sum.variance += direction->counts[j] * m.variance;
    }
    return sum;
}

double prv_composed_kurtosis(const prv_direction *direction, double lam, double *weight)
{
    double variance = 0.0, fourth = 0.0; /* cumulants */
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const size_t first = direction->first[j], length = direction->end[j] - first;
        const double *center = p->center + first, count = direction->counts[j];
        const prv_moments m = prv_tilt(center, p->mass + first, length, lam, weight);
        double moment = 0.0;
        for (size_t c = 0; c < length; c++) {
            const double square = (center[c] - m.mean) * (center[c] - m.mean);
            moment += weight[c] * square * square;
        }
        variance += count * m.variance;
        fourth += count * (moment - 3.0 * m.variance * m.variance);
    }
    return fourth / (variance * variance);
}

double prv_root(const prv_direction *direction, prv_increasing f, const void *parameter, double start)
{
    const double least = PRV_LEAST_TILT, greatest = 1.0 / PRV_LEAST_TILT;
    double low = fmin(fmax(start, least), greatest), high = low;
    double f_low = f(direction, low, parameter), f_high = f_low;
    if (f_low < 0.0) {
        do {
            low = high;
            f_low = f_high;
            high *= 4.0;
            if (high >= greatest) return high;
            f_high = f(direction, high, parameter);
        } while (f_high < 0.0);
    } else {
        do {
            high = low;
            f_high = f_low;
            low *= 0.25;
            if (low <= least) return low;
            f_low = f(direction, low, parameter);
        } while (f_low >= 0.0);
    }
    for (int i = 0; i < 24 && high > 1.02 * low; i++) {
        /* Regula falsi in log lam, kept away from the ends. */
        double part = f_high > f_low ? -f_low / (f_high - f_low) : 0.5;
        if (!(part > 0.1 && part < 0.9)) part = part < 0.5 ? 0.1 : 0.9;
        if (i % 3 == 2) part = 0.5;
        const double middle = low * pow(high / low, part), value = f(direction, middle, parameter);
        if (value < 0.0) {
            low = middle;
            f_low = value;
        } else {
            high = middle;
            f_high = value;
        }
    }
    return sqrt(low * high);
}

double prv_saddle_excess(const prv_direction *direction, double lam, const void *epsilon)
{
    return prv_composed_moments(direction, lam).mean - *(const double *)epsilon - 1.0 / lam -
           1.0 / (1.0 + lam);
}

double prv_entropy_excess(const prv_direction *direction, double lam, const void *goal)
{
    const prv_entropy_goal *g = goal;
    const prv_moments m = prv_composed_moments(direction, lam);
    return lam * m.mean - m.log_moment + fmax(g->log_delta + log1p(lam), g->least);
}

double prv_direction_absolute_error(const prv_direction *direction)
{
    double error = 0.0;
    for (size_t j = 0; j < direction->steps; j++)
        error += direction->counts[j] * prv_absolute_cdf_error(direction->mechanisms[j]);
    return error;
}

prv_neighbors prv_neighbors_of(bool add, prv_neighbors asked)
{
    return asked != PRV_ADD_OR_REMOVE ? asked : add ? PRV_ADD : PRV_REMOVE;
}

void prv_use_whole_profiles(prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++) {
        direction->first[j] = 0;
        direction->end[j] = direction->profiles[j].length;
    }
}

void prv_cut_tops(prv_direction *direction, double mass_above)
{
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const double above = mass_above / direction->counts[j];
        size_t end = p->length;
        while (end > 1 && p->tail[end - 1] <= above) end--;
        direction->end[j] = end;
    }
}

/* ---- Caps ------------------------------------------------------------------------------------- */

/* Caps lie this part of the sum's size higher than exact numbers would, for the rounding of what they are
 * compared with (prv_tops_greatest). */
#define CAP_MARGIN 1e-9

/* What lies above a knot has both masses to a relative accuracy: those of tails to that of cells.h, those of
 * atoms to that of each atom and its loss. `discrete`: whether atoms count. */
static bool may_keep_top(const prv_mechanism *m, bool discrete)
{
    if (m->base == PRV_BASE_CHOICE)
        return may_keep_top(m->part[0], discrete) && may_keep_top(m->part[1], discrete);
    if (m->folded) return false;
    if (m->base == PRV_BASE_ATOMS) return discrete && prv_absolute_cdf_error(m) == 0.0;
    return m->base == PRV_BASE_GAUSSIAN || m->base == PRV_BASE_MIXTURE;
}

/* The least loss, if there is one, is the anchor of the mesh, so that no lattice has lower ones. */
static bool has_edge(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_CHOICE) return has_edge(m->part[0]) && has_edge(m->part[1]);
    return !m->folded && (m->base == PRV_BASE_GAUSSIAN || m->base == PRV_BASE_MIXTURE);
}

static double least_loss(const prv_direction *direction, size_t j)
{
    return prv_least_loss(direction->mechanisms[j], direction->add);
}

void prv_clear_caps(prv_direction *direction)
{
    direction->cap_spacing = HUGE_VAL;
    for (size_t j = 0; j < direction->steps; j++) {
        direction->cap[j] = HUGE_VAL;
        direction->capped[j] = false;
    }
}

/* The others count by their least loss, if it is known; their own large losses have places or are at
 * infinity. */
static bool has_known_least_loss(const prv_mechanism *m)
{
    return m->base == PRV_BASE_LAPLACE || m->base == PRV_BASE_BOUNDED_RANGE || m->base == PRV_BASE_CHOICE ||
           m->base == PRV_BASE_ATOMS;
}

/* Steps whose lattices keep no top may have points below their least loss, by a spacing for each run. So many
 * times as far above the least sum as exact numbers would do, caps leave room for that; but not for more than
 * MOST_ROOM. */
#define ROOM 1.05
#define ROOM_OF_RUNS 0.02
#define MOST_ROOM 4.0
#define LEAST_RUNS 2.0
/* Points of lattices that are no coarser than this part of the room for each of those runs stay within it. */
#define PART_OF_ROOM 0.9

/* A single run reaches epsilon below its cap, which lies above epsilon by what the other losses are below 0,
 * in so small a part of epsilon that no tilt tells where. Without caps its tops have places. */
#define SLIVER 0.01

static bool is_left_a_sliver(const prv_direction *direction, double epsilon, double rest)
{
    bool is_left = false;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        is_left = is_left || (direction->counts[j] == 1.0 && p->high[p->length - 1] > epsilon &&
                              rest + least_loss(direction, j) - epsilon < SLIVER * epsilon);
    }
    return is_left;
}

static void set_caps(prv_direction *direction, double epsilon, bool discrete)
{
    double rest = epsilon, size = fabs(epsilon), with_tops = 0.0, others = 0.0; /* runs */
    prv_clear_caps(direction);
    if (direction->all.count <= 1.0) return;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_mechanism *m = direction->mechanisms[j];
        if (!may_keep_top(m, discrete) && !has_known_least_loss(m)) return;
        if (may_keep_top(m, discrete)) with_tops += direction->counts[j];
        if (!has_edge(m)) others += direction->counts[j];
        const double least = direction->counts[j] * least_loss(direction, j);
        rest -= least;
        size += fabs(least);
    }
    if (!(rest > 0.0 && isfinite(size)) || is_left_a_sliver(direction, epsilon, rest)) return;
    /* A single run with a top is about all that reaches epsilon, and no tilt tells where. */
    if (others > 0.0 && with_tops < LEAST_RUNS) return;
    const double room = others > 0.0 ? ROOM + ROOM_OF_RUNS * others / sqrt(direction->all.count) : 1.0;
    if (room > MOST_ROOM) return;
    if (others > 0.0) direction->cap_spacing = PART_OF_ROOM * (room - 1.0) * rest / others;
    for (size_t j = 0; j < direction->steps; j++)
        if (may_keep_top(direction->mechanisms[j], discrete))
            direction->cap[j] = room * rest + least_loss(direction, j) + CAP_MARGIN * size;
}

/* Where atoms below caps hardly reach epsilon, no tilt tells what does: so much of 1 / epsilon. */
#define MOST_SADDLE 1e3

static bool are_atoms_capped(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (isfinite(direction->cap[j]) && !may_keep_top(direction->mechanisms[j], false)) return true;
    return false;
}

bool prv_uncap_atoms(prv_direction *direction, double epsilon, double saddle)
{
    if (!are_atoms_capped(direction) || saddle * epsilon < MOST_SADDLE) return false;
    set_caps(direction, epsilon, false);
    return true;
}

void prv_set_caps(prv_direction *direction, double epsilon)
{
    set_caps(direction, epsilon, true);
    if (!are_atoms_capped(direction)) return;
    if (!(epsilon > 0.0)) {
        set_caps(direction, epsilon, false);
        return;
    }
    prv_use_cells(direction, 0.0);
    const double saddle = prv_root(direction, prv_saddle_excess, &epsilon, 1.0 / epsilon);
    prv_use_whole_profiles(direction);
    prv_uncap_atoms(direction, epsilon, saddle);
}

void prv_use_cells(prv_direction *direction, double mass_above)
{
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, mass_above);
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        size_t end = direction->end[j];
        while (end > 1 && p->low[end - 1] >= direction->cap[j]) end--;
        direction->capped[j] = end < direction->end[j];
        direction->end[j] = end;
    }
}

bool prv_is_capped(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->capped[j]) return true;
    return false;
}
