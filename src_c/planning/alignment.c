#include "planning/alignment.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/vector_math.h"
#include "mechanisms/support.h"
#include "lattices/mesh.h"

/* The numbers below make meshes finer or coarser. No bound relies on them. */

/* A period that is finer than the spacing asked by less than this is taken whole: if all atoms lie on it,
 * because it is exact; and otherwise. */
#define FINER_IF_EXACT 0.125
#define FINER_IF_NOT 0.6

/* A period is a multiple of a spacing up to this part of itself. */
#define ON_LATTICE 1e-12

/* The part of the width that atoms off the lattice may take, and the part that so few of them may take
 * together that none of them is looked at. */
#define PART_OFF_LATTICE 0.3
#define PART_IGNORED 0.03

/* The part of the width that they may take on a finer lattice, which costs little; and what an atom is off
 * the lattice on average, in spacings. */
#define PART_FINE 0.05
#define PART_FINE_IF_RARE 0.5 /* their cost is known better */
#define MEAN_DISTANCE 0.25

/* Spacings are tried in so many octaves, a number of them in each; and of all atoms, those which matter most.
 */
enum { OCTAVES = 4, TRIED = 160, MOST_ATOMS = 48 };

/* An atom may merge with one that holds this part of its mass, or as much as moves it as far as it may have
 * to go. */
#define ENOUGH_MASS 0.25

/* Atoms of cells with less than this part of what decides are not looked at. */
#define NO_PART 1e-16

bool prv_is_off_lattice(const prv_direction *direction, size_t j, double spacing)
{
    if (direction->mechanisms[j]->base != PRV_BASE_ATOMS) return false;
    const prv_features f = direction->features[j];
    const double periods = f.period / spacing;
    return !f.is_lattice ||
           (f.period > spacing && !(fabs(periods - nearbyint(periods)) <= ON_LATTICE * periods));
}

/* The period of a lattice on which the atoms of all steps lie, from an anchor of each; 0 if there is none. */
static double common_period(const prv_direction *direction)
{
    double least = HUGE_VAL;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_features f = direction->features[j];
        if (direction->mechanisms[j]->base != PRV_BASE_ATOMS || !f.is_lattice || !(f.period > 0.0))
            return 0.0;
        least = fmin(least, f.period);
    }
    for (size_t j = 0; j < direction->steps; j++)
        if (prv_is_off_lattice(direction, j, least)) return 0.0;
    return least; /* no period is finer */
}

/* `spacing`, or one near it of which the period of the most frequent mechanism is a multiple. */
static double on_period(const prv_direction *direction, double spacing)
{
    double period = 0.0, count = 0.0, finer = FINER_IF_EXACT;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_features f = direction->features[j];
        if (f.period > 0.0 && direction->counts[j] > count) {
            period = f.period;
            count = direction->counts[j];
            finer = f.is_lattice ? FINER_IF_EXACT : FINER_IF_NOT;
        }
    }
    if (!(period > 0.0)) return spacing;
    if (period <= spacing) return period > finer * spacing ? period : period * floor(spacing / period);
    /* Meshes that are coarser by powers of two have knots at the period, too. */
    double parts = 1.0;
    while (period > parts * spacing) parts *= 2.0;
    return period / parts;
}

/* ---- Atoms off the lattice ------------------------------------------------------------------- */

/* An atom, and what it costs. A dominated lattice merges mass m at a distance d from a point with mass at a
 * distance D on its other side, which takes m d D of variance, (lam + 1) / 2 times that of epsilon; or drops
 * m d. */
typedef struct loose_atom {
    double distance; /* nats: from the step's heaviest atom */
    double cost;     /* nats of epsilon, of all runs, for each nat off the lattice */
} loose_atom;

typedef struct loose_atoms {
    size_t count;
    loose_atom each[MOST_ATOMS]; /* a heap, the cheapest one first, if there is room for no more */
    double ignored;              /* cost of all others */
    double all;                  /* cost of all */
    bool is_sum;                 /* that is all that is wanted */
} loose_atoms;

/* Lets the atom at a place of the heap sink to where none below it costs less. */
static void sink(loose_atoms *l, size_t place)
{
    const loose_atom moved = l->each[place];
    for (size_t child; (child = 2 * place + 1) < MOST_ATOMS; place = child) {
        if (child + 1 < MOST_ATOMS && l->each[child + 1].cost < l->each[child].cost) child++;
        if (!(l->each[child].cost < moved.cost)) break;
        l->each[place] = l->each[child];
    }
    l->each[place] = moved;
}

/* Keeps the atoms that cost most. */
static void add_atom(loose_atoms *l, double distance, double cost)
{
    l->all += cost;
    if (l->is_sum) return;
    if (l->count < MOST_ATOMS) {
        l->each[l->count++] = (loose_atom){distance, cost};
        if (l->count < MOST_ATOMS) return;
        for (size_t place = MOST_ATOMS / 2; place-- > 0;) sink(l, place);
    } else {
        l->ignored += fmin(l->each[0].cost, cost);
        if (l->each[0].cost >= cost) return;
        l->each[0] = (loose_atom){distance, cost};
        sink(l, 0);
    }
}

/* Whether rare jumps of one mechanism decide. Of lists, what the others make up changes what an atom costs.
 */
static bool rare_alone(const prv_direction *direction, const prv_aim *aim)
{
    return aim->is_rare && direction->steps == 1;
}

/* An atom's part of what decides, for one run: its tilted mass; or, if rare jumps decide, its mass among the
 * frequent losses, and the part of delta that one run makes up by jumping there. */
static double share_of(const prv_atoms *a, size_t i, const prv_aim *aim, bool rare, double count,
                       double log_moment)
{
    if (!(a->q[i] > 0.0)) return 0.0;
    const double loss = a->loss[i];
    if (!rare) return prv_vm_exp(fmin(log(a->q[i]) + aim->saddle * loss - log_moment, 0.0));
    if (loss < 0.5 * aim->epsilon) return a->q[i] * exp(fmin(aim->slope * loss, -aim->log_delta));
    /* All runs together make up all of delta. */
    return fmin(a->q[i] * exp(fmin(aim->slope * (loss - aim->epsilon), 0.0) - aim->log_delta), 1.0 / count);
}

/* The first atom above a loss, or their number. */
static size_t first_above(const prv_atoms *a, double loss)
{
    size_t low = 0, high = a->length;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (a->loss[middle] > loss)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The atoms of step j that are looked at, *first to *end - 1: tilted cells beyond them hardly have any mass.
 */
static void find_range(const prv_direction *direction, size_t j, double tilt, double log_moment,
                       size_t *first, size_t *end)
{
    const prv_atoms *a = direction->mechanisms[j]->atoms[direction->add];
    const prv_profile *p = &direction->profiles[j];
    size_t low = 0, high = direction->end[j];
    const double least = log(NO_PART) + log_moment;
    while (low + 1 < high && !(log(p->mass[low]) + tilt * p->center[low] >= least)) low++;
    while (high > low + 1 && !(log(p->mass[high - 1]) + tilt * p->center[high - 1] >= least)) high--;
    *first = low > 0 ? first_above(a, p->low[low]) : 0;
    *end = first_above(a, p->high[high > 0 ? high - 1 : 0]);
}

/* The distance of the nearest atom with enough of such a share, where atoms move by `moved` on average. */
static double nearest(const double *loss, size_t length, const double *share, size_t i, double moved)
{
    const double enough = ENOUGH_MASS * share[i], moment = share[i] * moved / MEAN_DISTANCE;
    double distance = HUGE_VAL;
    for (size_t k = i; k-- > 0 && loss[i] - loss[k] < distance;) {
        const double away = loss[i] - loss[k];
        if (share[k] >= enough || share[k] * away >= moment) distance = away;
    }
    for (size_t k = i + 1; k < length && loss[k] - loss[i] < distance; k++) {
        const double away = loss[k] - loss[i];
        if (share[k] >= enough || share[k] * away >= moment) distance = away;
    }
    return distance;
}

static bool has_two_atoms(const prv_mechanism *m)
{
    return m->base == PRV_BASE_LAPLACE && !m->folded;
}

/* The lower one of the two atoms of Laplace noise; the upper one is the anchor of the lattice. It has the
 * mass of the lowest cell, about, and would merge with the other one. */
static void add_lower_atom(const prv_direction *direction, size_t j, double tilt, double least,
                           loose_atoms *l)
{
    const prv_features f = direction->features[j];
    const prv_profile *p = &direction->profiles[j];
    const prv_moments all = prv_tilt(p->center, p->mass, direction->end[j], tilt, NULL);
    const double share = p->mass[0] * exp(tilt * p->center[0] - all.log_moment);
    const double cost = direction->counts[j] * share * fmin(0.5 * (tilt + 1.0) * f.period, 1.0);
    if (cost >= least) add_atom(l, f.period, cost);
}

/* Adds the atoms in use of a step, which move by `away` nats. Those that cost less than `least` nats for each
 * nat are left out. If there is no memory, all are: the plan is then as if no atom were off the lattice. */
static void add_step(const prv_direction *direction, size_t j, const prv_aim *aim, double away, double least,
                     loose_atoms *l)
{
    const prv_mechanism *m = direction->mechanisms[j];
    const prv_atoms *a = m->atoms[direction->add];
    const double count = direction->counts[j], anchor = direction->features[j].anchor;
    const prv_moments all = prv_tilt(direction->profiles[j].center, direction->profiles[j].mass,
                                     direction->end[j], aim->saddle, NULL);
    const bool rare = rare_alone(direction, aim);
    size_t first = 0, end;
    if (rare)
        end = first_above(a, direction->profiles[j].high[direction->end[j] - 1]);
    else
        find_range(direction, j, aim->saddle, all.log_moment, &first, &end);
    const double *losses = a->loss + first;
    const size_t length = end - first;
    double *share = prv_allocate(length, sizeof *share);
    if (share == NULL) return;
    for (size_t i = 0; i < length; i++) share[i] = share_of(a, first + i, aim, rare, count, all.log_moment);
    const double slope = rare ? aim->slope : aim->saddle;
    /* An atom that moves by `away` is balanced by those below it, or above it, if their distances from it
     * have that mean: then what it costs is of second order. */
    double mass = 0.0, mean = 0.0, all_mass = 0.0, all_mean = 0.0;
    for (size_t i = 0; i < length; i++) {
        all_mass += share[i];
        all_mean += share[i] * losses[i];
    }
    for (size_t i = 0; i < length; i++) {
        const double loss = losses[i], below = mass * loss - mean;
        mass += share[i];
        mean += share[i] * loss;
        if (!(count * share[i] >= least)) continue;
        const double above = all_mean - mean - (all_mass - mass) * loss;
        const bool is_balanced = !rare || fmin(below, above) >= share[i] * away;
        const double second = is_balanced ? 0.5 * (slope + 1.0) * nearest(losses, length, share, i, away)
                                          : HUGE_VAL;
        const double cost = count * share[i] * fmin(second, 1.0);
        if (cost >= least) add_atom(l, loss - anchor, cost);
    }
    prv_release(share);
}

double prv_fine_about_atoms(const prv_direction *direction, const prv_aim *aim, double spacing)
{
    /* Twice: which atoms others balance depends on how far they move. */
    const bool rare = rare_alone(direction, aim);
    const double part = rare ? PART_FINE_IF_RARE : PART_FINE;
    double fine = rare ? 0.0 : spacing;
    for (int round = 0; round < 2; round++) {
        loose_atoms l = {.is_sum = true};
        for (size_t j = 0; j < direction->steps; j++)
            if (prv_is_off_lattice(direction, j, spacing))
                add_step(direction, j, aim, MEAN_DISTANCE * fine, 0.0, &l);
        fine = part * aim->width / (MEAN_DISTANCE * l.all);
        if (!(fine < spacing)) fine = spacing;
    }
    return fine;
}

/* What they cost at a spacing (nats of epsilon). */
static double cost_of(const loose_atoms *l, double spacing)
{
    double sum = MEAN_DISTANCE * l->ignored;
    for (size_t i = 0; i < l->count; i++) {
        const double place = l->each[i].distance / spacing;
        sum += l->each[i].cost * fabs(place - nearbyint(place));
    }
    return sum * spacing;
}

/* The atoms that cost at least `least` nats of epsilon for each nat off the lattice of this spacing. */
static loose_atoms find_loose_atoms(const prv_direction *direction, const prv_aim *aim, double spacing,
                                    double least)
{
    loose_atoms l = {.count = 0};
    /* Where rare jumps decide, the frequent atoms move by far less than what they are apart. */
    const double away = rare_alone(direction, aim)
                            ? MEAN_DISTANCE * prv_fine_about_atoms(direction, aim, spacing)
                            : MEAN_DISTANCE * spacing;
    for (size_t j = 0; j < direction->steps; j++) {
        if (direction->mechanisms[j]->base == PRV_BASE_ATOMS)
            add_step(direction, j, aim, away, least, &l);
        else if (has_two_atoms(direction->mechanisms[j]))
            add_lower_atom(direction, j, aim->saddle, least, &l);
    }
    return l;
}

double prv_cost_off_lattice(const prv_direction *direction, const prv_aim *aim, double spacing)
{
    const loose_atoms l = find_loose_atoms(direction, aim, spacing, 0.0);
    return cost_of(&l, spacing);
}

/* The largest spacing up to this one at which atoms cost little enough, or the one at which they cost least.
 * Periods are divided by integers, too: their atoms then lie on the lattice. */
static double near_lattice(const prv_direction *direction, const prv_aim *aim, double spacing)
{
    const double enough = PART_OFF_LATTICE * aim->width / (aim->loose_part > 0.0 ? aim->loose_part : 1.0);
    const double least = PART_IGNORED * enough / (spacing * (double)(MOST_ATOMS * direction->steps));
    const loose_atoms l = find_loose_atoms(direction, aim, spacing, least);
    double best = spacing, lowest = cost_of(&l, spacing);
    for (int octave = 0; octave < OCTAVES && lowest > enough; octave++) {
        const double top = ldexp(spacing, -octave);
        for (int i = 0; i < TRIED && lowest > enough; i++) {
            const double tried = top * exp2(-(double)i / TRIED), cost = cost_of(&l, tried);
            if (cost < lowest) {
                lowest = cost;
                best = tried;
            }
            if (i > 0) continue;
            for (size_t j = 0; j < direction->steps && lowest > enough; j++) {
                const double period = direction->features[j].period;
                /* A finer one is sought in a finer octave, or is too fine. */
                if (!(period > 0.5 * top)) continue;
                const double first = ceil(period / top);
                for (double n = first; n < 2.0 * first && n < first + TRIED; n++) {
                    const double exact = period / n, exact_cost = cost_of(&l, exact);
                    if (!(exact_cost < lowest)) continue;
                    lowest = exact_cost;
                    best = exact;
                    if (lowest <= enough) break;
                }
            }
        }
    }
    return best;
}

double prv_align_spacing(const prv_direction *direction, const prv_aim *aim, double spacing,
                         prv_engine engine)
{
    /* On this lattice all steps are exact: nothing is gained by a finer one. */
    const double common = common_period(direction);
    if (common > spacing && common <= PRV_WIDEST_CELL) return common;
    const double aligned = on_period(direction, spacing);
    if (engine == PRV_ENGINE_SPECTRUM) return aligned;
    bool off = false;
    for (size_t j = 0; j < direction->steps; j++)
        off = off || prv_is_off_lattice(direction, j, aligned) ||
              (direction->steps > 1 && has_two_atoms(direction->mechanisms[j]));
    return off ? near_lattice(direction, aim, fmax(aligned, 0.5 * spacing)) : aligned;
}
