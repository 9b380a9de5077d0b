#include "lattices/merging.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

/* The mass that is being gathered at one target c. */
typedef struct pool {
    double mass;     /* Q's */
    double relative; /* P's, times e^c; the pool is balanced if both are equal */
} pool;

/* How many targets below that hold mass are searched for what an excess can be merged with, and cells above
 * for what completes a pool; and how many targets are passed on the way in all searches of a merge, and cells
 * looked at ahead, for each of its targets, so that a merge stays linear. Tightness alone depends on these
 * numbers. */
enum { REACH = 64, PASSED = 16, AHEAD = 4 };

/* What comes from beyond reach loses so many times as much as what comes from there. */
#define BEYOND_REACH 2.0

/* Mass farther below is looked for only if the next target is so many spacings away, and taken if that loses
 * less than this part of what going there does. */
#define TOO_FAR 2.0
#define CLEARLY_LESS 0.25

/* Losses at smaller tilts are like those at this one. */
#define LEAST_TILT 1e-3

typedef struct merge {
    const prv_cells *cells;
    const prv_mesh *mesh;
    const double *target;   /* losses */
    const double *relative; /* P's mass of each cell, times e^c for the target c of its own mesh cell */
    double *placed;        /* masses on the targets that are done; at later ones the growth e^(c - c below) */
    size_t next;           /* first cell that is not wholly taken */
    double left;           /* the part of it that is left; cells above are left whole */
    double roundings;      /* bound of the pool's rounding so far, in units of u */
    double most_roundings; /* the greatest of these bounds among pools that were placed */
    size_t passed;         /* targets that searches may still pass */
    size_t ahead;          /* cells above that may still be looked at */
} merge;

/* Roundings, in units of u, of a cell's masses as a part of a pool: a product or two, the exponential of a
 * difference, and the sum. The difference c - x itself rounds by u |c - x|, which is below a quarter of the 8
 * u max|x| that prv_cells_rounding has room for. If a pool of n parts is summed anew, nothing is counted
 * again: each part has its own roundings, two of a share, and one of each sum, n in all, for which the first
 * sum has 8 n. */
#define ROUNDINGS_OF_A_PART 8.0

/* mass[i] becomes the loss of the cell merged into one atom, in steps above the cell's anchor plus the shift.
 */
PRV_VECTOR static void merged_points(const double *restrict relative, size_t length, double shift,
                                     double spacing, double *restrict mass)
{
    for (size_t i = 0; i < length; i++) mass[i] = (prv_vm_log(mass[i] / relative[i]) - shift) / spacing;
}

/* The lattice points of the targets. If the mesh says so, they are the knots. Otherwise they are one point
 * below the mesh, and in each mesh cell the point whose target is nearest to the cell merged into one atom:
 * mass between two targets is spread over both, which costs their distance. The rest of the lattice is
 * scratch. */
static void target_indices(const prv_cells *cells, const prv_mesh *mesh, prv_lattice *lattice)
{
    int64_t *index = lattice->index;
    if (mesh->on_knots) {
        memcpy(index, mesh->index, mesh->length * sizeof *index);
        return;
    }
    const double *x = cells->knots, *m = cells->mass, *r = cells->relative;
    double *mass = lattice->mass, *relative = lattice->loss;
    size_t wide = 0;
    index[0] = mesh->index[0] - 1;
    for (size_t i = 1; i < mesh->length; i++) {
        index[i] = mesh->index[i - 1];
        if (mesh->index[i] - index[i] == 1) continue;
        const size_t low = mesh->knot[i - 1] - mesh->knot[0], high = mesh->knot[i] - mesh->knot[0];
        mass[wide] = m[low + 1];
        relative[wide] = r[low + 1];
        for (size_t cell = low + 2; cell <= high; cell++) {
            mass[wide] += m[cell];
            relative[wide] += r[cell] * prv_vm_exp(x[low] - x[cell - 1]);
        }
        wide++;
    }
    merged_points(relative, wide, mesh->shift, mesh->spacing, mass);
    const double *point = mass;
    for (size_t i = 1; i < mesh->length; i++) {
        const int64_t last = mesh->index[i] - index[i] - 1;
        if (last == 0) continue;
        index[i] += *point < 0.5 ? 0 : *point < (double)last ? (int64_t)(*point + 0.5) : last;
        point++;
    }
}

PRV_VECTOR static void scale_relative(const double *restrict relative, size_t length, double *restrict scaled)
{
    for (size_t i = 0; i < length; i++) scaled[i] = relative[i] * prv_vm_exp(scaled[i]);
}

PRV_VECTOR static void growths(const double *restrict target, size_t length, double *restrict growth)
{
    growth[0] = 1.0;
    for (size_t i = 1; i < length; i++) growth[i] = prv_vm_exp(target[i] - target[i - 1]);
}

/* Sets the targets, and computes all exponentials of a merge. */
static merge merge_new(const prv_cells *cells, const prv_mesh *mesh, double *scratch, prv_lattice *lattice)
{
    const double *x = cells->knots;
    lattice->offset = mesh->offset + mesh->shift;
    lattice->spacing = mesh->spacing;
    lattice->length = mesh->length;
    lattice->infinite_mass = cells->infinite_mass;
    lattice->infinite_error = cells->infinite_error;
    const int64_t *index = lattice->index;
    const size_t *knot = mesh->knot;
    const double offset = lattice->offset, spacing = mesh->spacing;
    double *target = lattice->loss;
    target_indices(cells, mesh, lattice);
    for (size_t i = 0; i < mesh->length; i++) target[i] = offset + spacing * (double)index[i];
    for (size_t i = 1, cell = 1; i < mesh->length; i++) {
        const double c = target[i];
        for (const size_t last = knot[i] - knot[0]; cell <= last; cell++) scratch[cell] = c - x[cell - 1];
    }
    scale_relative(cells->relative + 1, cells->length - 1, scratch + 1);
    growths(target, mesh->length, lattice->mass);
    return (merge){cells,
                   mesh,
                   target,
                   scratch,
                   lattice->mass,
                   1,
                   1.0,
                   0.0,
                   0.0,
                   PASSED * mesh->length,
                   AHEAD * mesh->length};
}

/* ---- What merging loses --------------------------------------------------------------------- */

/* Distances in units of 1 / (lam + 1) that are small. */
#define NEARBY 0.05

/* These decide tightness alone. Mass m that is merged with mass at a distance D, which moves m by a small d,
 * loses m d lam (lam + 1) / 2 times one of these of the moment at the tilt lam: D itself, if D is small. Mass
 * from farther above matters the more to the moment, and from far below costs no more than to drop m d. */
static double loss_from_above(double tilt, double distance)
{
    if ((tilt + 1.0) * distance < NEARBY) return distance;
    const double lam = fmax(tilt, LEAST_TILT), far = fmin(lam * distance, 600.0);
    return 2.0 / (lam * (lam + 1.0)) * (prv_vm_expm1(far) / -prv_vm_expm1(-distance) - lam);
}

static double loss_from_below(double tilt, double distance)
{
    if ((tilt + 1.0) * distance < NEARBY) return distance;
    const double lam = fmax(tilt, LEAST_TILT);
    return 2.0 / (lam * (lam + 1.0)) *
           (lam + prv_vm_expm1(-lam * distance) / prv_vm_expm1(fmin(distance, 600.0)));
}

/* A part d of mass that is dropped, as no other mass moves the rest by as much, takes all of its moment with
 * it, and the rest moves down. */
static double loss_of_dropping(double tilt)
{
    return 2.0 / fmax(tilt, LEAST_TILT);
}

/* Whether dropping the excess of a part that lies above its target loses less than moving it up to the next
 * one, where it merges with mass that is no nearer than that. */
static bool is_dropping_cheaper(const merge *s, const pool *part, size_t i)
{
    if (i + 1 >= s->mesh->length) return false;
    const double between = s->target[i + 1] - s->target[i], above = log(part->mass / part->relative);
    return above * loss_of_dropping(s->mesh->tilt) <
           (between - above) * loss_from_above(s->mesh->tilt, between);
}

/* ---- Pools ----------------------------------------------------------------------------------- */

/* P's mass of a cell, times e^c for target i, which is the next target to be done. */
static inline double cell_relative(const merge *s, size_t cell, size_t i)
{
    const size_t *knot = s->mesh->knot, at = knot[0] + cell;
    if (i > 0 && at > knot[i - 1]) {
        if (at <= knot[i]) return s->relative[cell];
        if (i + 1 < s->mesh->length && at <= knot[i + 1]) return s->relative[cell] / s->placed[i + 1];
    }
    return s->cells->relative[cell] * prv_vm_exp(s->target[i] - s->cells->knots[cell - 1]);
}

/* Moves what is left of the next cell into the pool. */
static inline void take(merge *s, pool *p, double relative)
{
    p->mass += s->cells->mass[s->next] * s->left;
    p->relative += relative * s->left;
    s->roundings += ROUNDINGS_OF_A_PART;
    s->next++;
    s->left = 1.0;
}

/* The part of a cell that is in the pool, if the part `before` of the cell was left when the pool began. */
static pool held(const merge *s, size_t cell, double before, size_t i)
{
    const double part = cell < s->next ? before : before - s->left;
    const pool h = {s->cells->mass[cell] * part, cell_relative(s, cell, i) * part};
    return h;
}

static void add(pool *p, pool part, double share)
{
    p->mass += share * part.mass;
    p->relative += share * part.relative;
}

/* Leaves the top of the pool to the next target, so that the rest is balanced, and returns the excess that
 * remains because it was carried along from below. The pool is summed anew from its parts, the lowest first:
 * subtracting large parts from a sum would leave their rounding. */
static double give_back(merge *s, pool *p, pool carried, size_t first, double first_left, size_t i)
{
    *p = carried;
    size_t cell = first;
    double left = s->left;
    for (; cell < s->next; cell++) {
        const double before = cell == first ? first_left : 1.0;
        const pool part = held(s, cell, before, i);
        const double excess = p->mass - p->relative, gain = part.mass - part.relative;
        /* An atom that lies on the target within rounding stays in the pool. */
        if (excess + gain <= s->cells->tail_error * (p->mass + part.mass)) {
            add(p, part, 1.0);
            continue;
        }
        if (excess < 0.0) {
            const double share = -excess / gain;
            add(p, part, share);
            p->relative = p->mass;
            left = before * (1.0 - share);
            break;
        }
        if (excess <= s->cells->tail_error * p->mass && is_dropping_cheaper(s, &part, i)) {
            add(p, part, 1.0);
            p->mass = p->relative;
            continue;
        }
        left = before;
        break;
    }
    s->next = cell;
    s->left = left;
    return fmax(p->mass - p->relative, 0.0);
}

/* Takes the lowest part out of the pool, so that the rest is balanced, and returns that part. The pool is
 * summed anew as above, the highest part first. */
static pool step_down(merge *s, pool *p, pool carried, size_t first, double first_left, size_t at)
{
    pool low = {0.0, 0.0};
    *p = low;
    bool balanced = false;
    for (size_t i = s->next - first + 1; i-- > 0;) {
        const size_t cell = first + i - 1;
        const pool part = i == 0 ? carried : held(s, cell, i == 1 ? first_left : 1.0, at);
        const double excess = p->mass - p->relative, lack = part.relative - part.mass;
        /* An atom that lies on the target within rounding stays in the pool. */
        if (!balanced && lack <= excess + s->cells->tail_error * part.mass) {
            add(p, part, 1.0);
            continue;
        }
        const double share = balanced || !(lack > 0.0) ? 0.0 : fmax(excess, 0.0) / lack;
        add(p, part, share);
        add(&low, part, 1.0 - share);
        if (!balanced) p->relative = p->mass;
        balanced = true;
    }
    return low;
}

/* A mixture has at most the weighted mean of its parts' errors; mass that was placed has at most the greatest
 * error of any pool so far. */
static void mix_roundings(merge *s, double own, double borrowed)
{
    const double more = s->most_roundings - s->roundings;
    if (more > 0.0 && borrowed > 0.0) s->roundings += more * (borrowed / (own + borrowed));
    s->roundings += ROUNDINGS_OF_A_PART;
}

/* Merges mass that was placed below target i into the pool at that target until it is balanced; returns the
 * excess that is left. Once all cells are taken, all targets below are searched, which takes no longer than
 * the merge: what is left is dropped, such as a part of a heavy atom at the greatest loss. */
static double borrow(merge *s, pool *p, size_t i)
{
    const bool is_end = s->next > s->cells->length - 1;
    double excess = p->mass - p->relative;
    for (size_t j = i, found = 0; j-- > 0 && excess > 0.0; s->passed -= s->passed > 0) {
        if (!is_end && (found == REACH || s->passed == 0)) break;
        const double available = s->placed[j];
        if (!(available > 0.0)) continue;
        found++;
        const double per_mass = prv_vm_expm1(s->target[i] - s->target[j]);
        if (!isfinite(per_mass)) break; /* the targets below are farther yet */
        const double t = fmin(available, excess / per_mass);
        mix_roundings(s, p->mass, t);
        s->placed[j] -= t;
        p->mass += t;
        excess -= t * per_mass;
    }
    excess = fmax(excess, 0.0);
    p->relative = p->mass - excess;
    return excess;
}

/* ---- Going down ---------------------------------------------------------------------------- */

/* What borrowing an excess loses. Infinite if there is too little within reach. */
static double loss_of_borrowing(merge *s, double excess, size_t i)
{
    double loss = 0.0;
    for (size_t j = i, found = 0; j-- > 0 && found < REACH && s->passed > 0; s->passed--) {
        if (!(s->placed[j] > 0.0)) continue;
        found++;
        const double distance = s->target[i] - s->target[j], most = s->placed[j] * prv_vm_expm1(distance);
        loss += fmin(most, excess) * loss_from_below(s->mesh->tilt, distance);
        excess -= most;
        if (!(excess > 0.0)) return loss;
    }
    return HUGE_VAL;
}

/* Puts Q's mass onto target i. */
static void place(merge *s, size_t i, double mass)
{
    s->placed[i] = mass;
    if (s->roundings > s->most_roundings) s->most_roundings = s->roundings;
}

/* Places a pool, relative to c, on the highest target below i that it does not lie below, with the mass that
 * it has to borrow there. Excess that nothing balances is dropped, and so is a pool below every target. */
static void place_below(merge *s, pool *p, size_t i, double c)
{
    while (i-- > 0 && p->mass > 0.0) {
        const double down = s->target[i];
        p->relative *= prv_vm_exp(down - c);
        s->roundings += ROUNDINGS_OF_A_PART;
        c = down;
        if (!(p->mass >= p->relative)) continue;
        const double excess = borrow(s, p, i);
        place(s, i, s->placed[i] + (p->mass - excess));
        return;
    }
}

/* log(mass / relative), about: few pools are completed from cells far above. */
static double height_of(double mass, double relative)
{
    const double part = (mass - relative) / (mass + relative);
    return part < NEARBY ? 2.0 * part : log(mass / relative);
}

/* Whether completing a pool that lacks so much from the next cells, the first of which gains, loses more than
 * this: of each, as much as it gains. What those within reach do not gain comes from farther above than the
 * last of them. */
static bool completing_loses_more(merge *s, size_t i, double lack, double most)
{
    double loss = 0.0, each = 0.0, share = s->left;
    for (size_t j = s->next, looked = 0; j < s->cells->length && looked < REACH && loss <= most;
         j++, looked++) {
        const double mass = s->cells->mass[j] * share, relative = cell_relative(s, j, i) * share;
        const double gain = fmin(mass - relative, lack);
        share = 1.0;
        if (gain > 0.0) {
            each = loss_from_above(s->mesh->tilt, height_of(mass, relative));
            loss += gain * each;
            lack -= gain;
        }
        if (!(lack > 0.0) || s->ahead == 0) break;
        s->ahead--;
    }
    return loss + BEYOND_REACH * fmax(lack, 0.0) * each > most;
}

/* Whether moving the pool one target down, and merging it with mass below, loses less than completing it. */
static bool going_down_is_cheaper(merge *s, size_t i, const pool *p)
{
    const double c = s->target[i], below = s->target[i - 1], tilt = s->mesh->tilt;
    const double excess = p->mass - p->relative * prv_vm_exp(below - c);
    double left = excess, loss = 0.0;
    for (size_t j = i - 1, looked = 0; j-- > 0 && left > 0.0 && looked < REACH && s->passed > 0;
         s->passed--) {
        if (!(s->placed[j] > 0.0)) continue;
        looked++;
        const double distance = below - s->target[j];
        const double most = fmin(left, s->placed[j] * prv_vm_expm1(fmin(distance, 600.0)));
        loss += most * loss_from_below(tilt, distance);
        left -= most;
    }
    loss += fmax(left, 0.0) * loss_of_dropping(tilt);
    return completing_loses_more(s, i, p->relative - p->mass, loss);
}

/* One target, while its pool is made. */
typedef struct target {
    size_t i;
    double c, c_next; /* its loss, and that of the next one */
    double growth;    /* e^(c - that of the one below) */
    pool carried;     /* what the target below left */
    size_t first;     /* the first cell that the pool may take, of which `first_left` was left */
    double first_left;
    double tolerance; /* an imbalance that the rounding of the cells covers: the certificate has it */
} target;

/* 1. Cells that lie nearer to this target than to the next one. */
PRV_VECTOR_PART void take_nearest(merge *s, const target *t, pool *p)
{
    const double *x = s->cells->knots;
    const double boundary = t->c + t->c_next + 2e-9 * s->mesh->spacing;
    const size_t last_cell = s->cells->length - 1;
    while (s->next <= last_cell && x[s->next - 1] + x[s->next] <= boundary)
        take(s, p, cell_relative(s, s->next, t->i));
}

/* 2. A pool that is too low is completed with a part of the next cell. If that cell has too little, the law
 * falls steeply: the part of the pool that is too low goes down to a target with more mass, if any. False if
 * it has to. */
PRV_VECTOR_PART bool complete(merge *s, const target *t, pool *p)
{
    while (p->mass - p->relative < -t->tolerance) {
        if (s->next > s->cells->length - 1) return false;
        const double all = cell_relative(s, s->next, t->i), relative = all * s->left;
        const double mass = s->cells->mass[s->next] * s->left, gain = mass - relative;
        const double lack = p->relative - p->mass;
        /* A cell that has enough and is near is taken without comparison; one that has too little would be
         * followed by others, farther away. */
        const bool enough = gain > lack;
        const bool near = !s->mesh->lone_atoms && gain <= 2.0 * (t->c_next - t->c) * mass;
        if (t->i > 0 && gain > 0.0 && !(enough && near) && going_down_is_cheaper(s, t->i, p)) return false;
        if (enough) {
            const double part = lack / gain;
            p->mass += part * mass;
            p->relative = p->mass;
            s->roundings += ROUNDINGS_OF_A_PART;
            s->left *= 1.0 - part;
            return true;
        }
        take(s, p, all);
    }
    return true;
}

/* Whether a pool that is too high should be merged with mass farther below, as the next target is too far for
 * its top. */
static bool is_next_too_far(merge *s, const target *t, const pool *p, double excess)
{
    const double up = t->c_next - t->c - log(p->mass / p->relative);
    return up > TOO_FAR * s->mesh->spacing &&
           loss_of_borrowing(s, excess, t->i) <
               CLEARLY_LESS * p->mass * up * loss_from_above(s->mesh->tilt, up);
}

/* 3. A pool that is too high is merged with mass placed below, or leaves its top to the next target. Returns
 * the excess that is left. */
PRV_VECTOR_PART double lower(merge *s, const target *t, pool *p)
{
    const bool is_last = t->i + 1 == s->mesh->length;
    const double excess = p->mass - p->relative;
    if (!(excess > t->tolerance)) return excess;
    if (t->i > 0) {
        /* The growth is rounded by u or two of itself, which changes the mass that is added by as little as
         * the rounding of P's mass does. */
        const double wanted = excess / (t->growth - 1.0);
        if (2.0 * wanted <= s->placed[t->i - 1]) {
            s->placed[t->i - 1] -= wanted;
            mix_roundings(s, p->mass, wanted);
            p->mass += wanted;
            p->relative = p->mass;
            return 0.0;
        }
    }
    if (is_last || is_next_too_far(s, t, p, excess)) return borrow(s, p, t->i);
    return give_back(s, p, t->carried, t->first, t->first_left, t->i);
}

/* Makes the pool of target i, of what *p has from the target below, and places it. *p is then what goes on to
 * the next target. */
PRV_VECTOR_PART void merge_at(merge *s, size_t i, pool *p)
{
    const bool is_last = i + 1 == s->mesh->length;
    target t = {
        .i = i, .c = s->target[i], .c_next = is_last ? HUGE_VAL : s->target[i + 1], .growth = s->placed[i]};
    s->placed[i] = 0.0;
    if (p->relative > 0.0) p->relative *= t.growth;
    s->roundings = p->mass > 0.0 ? s->roundings + ROUNDINGS_OF_A_PART : 0.0;
    if (!(p->relative < HUGE_VAL)) p->mass = p->relative = 0.0; /* far too low for any use: dropped */
    t.carried = *p;
    t.first = s->next;
    t.first_left = s->left;
    take_nearest(s, &t, p);
    if (!(p->mass > 0.0)) return;
    t.tolerance = s->cells->tail_error * p->mass;
    if (!complete(s, &t, p)) {
        /* The part that is too low goes to a target below, and the rest is balanced here. */
        pool rest, low = step_down(s, &rest, t.carried, t.first, t.first_left, i);
        place_below(s, &low, i, t.c);
        *p = rest;
    }
    if (lower(s, &t, p) > t.tolerance && !is_last) return; /* carried to the next target */
    /* The pool is balanced, or this is the last target, where the excess is dropped. */
    place(s, i, p->mass < p->relative ? p->mass : p->relative);
    p->mass = p->relative = 0.0;
}

PRV_VECTOR static void merge_cells(const prv_cells *cells, const prv_mesh *mesh, double *scratch,
                                   prv_lattice *lattice)
{
    merge s = merge_new(cells, mesh, scratch, lattice);
    pool p = {0.0, 0.0};
    /* The two outer cells are dropped: the tilt leaves nothing of the lower one, and the upper one is tiny.
     */
    for (size_t i = 0; i < mesh->length; i++) merge_at(&s, i, &p);
    /* Mass that is placed has the target's ratio within `tolerance` and the rounding of both of its masses.
     */
    lattice->rounding = prv_cells_rounding(cells);
    lattice->rounding.relative += (1.0 + s.most_roundings) *
                                  PRV_UNIT; /* 1: for masses below all normal doubles, as in lattice.c */
    lattice->rounding.shift += cells->tail_error + 2.0 * s.most_roundings * PRV_UNIT +
                               prv_rounding_of_points(cells, mesh);
}

void prv_merge_cells(const prv_cells *cells, const prv_mesh *mesh, double *scratch, prv_lattice *lattice)
{
    merge_cells(cells, mesh, scratch, lattice);
}
