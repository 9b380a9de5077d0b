#include "lattices/lattice.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "lattices/tilt.h"

prv_status prv_mesh_new(size_t length, prv_mesh *mesh)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->index = prv_allocate(length, sizeof *mesh->index);
    mesh->knot = prv_allocate(length, sizeof *mesh->knot);
    mesh->length = length;
    if (mesh->index != NULL && mesh->knot != NULL) return PRV_OK;
    prv_mesh_free(mesh);
    return PRV_ERR_MEMORY;
}

void prv_mesh_free(prv_mesh *mesh)
{
    prv_release(mesh->index);
    prv_release(mesh->knot);
    mesh->index = NULL;
    mesh->knot = NULL;
}

prv_status prv_lattice_new(size_t length, prv_lattice *lattice)
{
    memset(lattice, 0, sizeof *lattice);
    lattice->length = length;
    lattice->index = prv_allocate(length, sizeof *lattice->index);
    lattice->loss = prv_allocate(2 * length, sizeof *lattice->loss);
    lattice->mass = lattice->loss != NULL ? lattice->loss + length : NULL;
    if (lattice->index != NULL && lattice->loss != NULL) return PRV_OK;
    prv_lattice_free(lattice);
    return PRV_ERR_MEMORY;
}

void prv_lattice_free(prv_lattice *lattice)
{
    prv_release(lattice->index);
    prv_release(lattice->loss);
    lattice->index = NULL;
    lattice->loss = lattice->mass = NULL;
}

/* ---- Dominating --------------------------------------------------------------------------- */

enum { BLOCK = 256 };

/* The part of mass[i] that a cell from x[i] to x[i + 1] has at its upper end: excess[i] holds Q's mass less
 * e^(x[i]) times P's, and is replaced. */
PRV_VECTOR static void parts_above(const double *restrict x, const double *restrict mass, size_t length,
                                   double *restrict excess)
{
    for (size_t i = 0; i < length; i++) {
        const double part = excess[i] / -prv_vm_expm1(x[i] - x[i + 1]);
        const double some = part > 0.0 ? part : 0.0;
        excess[i] = some < mass[i] ? some : mass[i];
    }
}

/* Compositions take atoms to be exactly at offset + step * index, cells at its rounded value: product and sum
 * are off by u each of what they are. */
static double rounding_of_points(const prv_cells *cells, const prv_mesh *mesh)
{
    const double *x = cells->knots;
    const double reach = fabs(x[0]) > fabs(x[cells->length - 1]) ? fabs(x[0]) : fabs(x[cells->length - 1]);
    return 2.0 * PRV_UNIT * (fabs(mesh->offset) + reach);
}

void prv_lattice_dominating(const prv_cells *cells, const prv_mesh *mesh, prv_lattice *lattice)
{
    const double *x = cells->knots, *m = cells->mass, *e = cells->excess;
    double *out = lattice->mass;
    lattice->offset = mesh->offset;
    lattice->step = mesh->step;
    lattice->length = mesh->length;
    memcpy(lattice->index, mesh->index, mesh->length * sizeof *mesh->index);

    for (size_t k = 0; k < mesh->length; k++) lattice->loss[k] = x[mesh->knot[k]];
    double at_knot = m[0]; /* everything below the first knot moves up to it */
    for (size_t i = 1; i <= mesh->knot[0]; i++) at_knot += m[i];
    size_t most_cells = 1;
    double narrowest = HUGE_VAL;
    for (size_t k = 1; k < mesh->length; k++) {
        const double width = lattice->loss[k] - lattice->loss[k - 1];
        narrowest = width < narrowest ? width : narrowest;
    }
    for (size_t start = 0; start + 1 < mesh->length; start += BLOCK) {
        const size_t left = mesh->length - 1 - start, n = left < BLOCK ? left : BLOCK;
        double mass[BLOCK], above[BLOCK]; /* of mesh cells */
        for (size_t k = 0; k < n; k++) {
            const size_t low = mesh->knot[start + k], high = mesh->knot[start + k + 1];
            mass[k] = m[low + 1];
            above[k] = e[low + 1];
            if (high - low > most_cells) most_cells = high - low;
            /* Relative to the lowest knot, m - r e^d is e e^d - m (e^d - 1): a sum of positive terms. */
            for (size_t i = low + 2; i <= high; i++) {
                const double down = prv_vm_expm1(x[low] - x[i - 1]);
                mass[k] += m[i];
                above[k] += e[i] + (e[i] - m[i]) * down;
            }
        }
        parts_above(lattice->loss + start, mass, n, above);
        for (size_t k = 0; k < n; k++) {
            out[start + k] = at_knot + (mass[k] - above[k]);
            at_knot = above[k];
        }
    }
    out[mesh->length - 1] = at_knot;
    /* The mesh ends where the mass above costs nothing. Put at infinity it stays out of the moments,
     * which a tilt would make huge. */
    lattice->infinite_mass = cells->infinite_mass + m[cells->length];
    lattice->infinite_error = cells->infinite_error + PRV_UNIT * lattice->infinite_mass +
                              prv_cells_rounding(cells).relative * m[cells->length];
    /* The part of each mesh cell that goes up: 6 roundings of each of its cells' terms and an addition each,
     * 5 of the division; each lattice mass is a sum of two parts, the difference m - b of which is off by u m
     * at most. And one for masses that are no normal doubles: reading.c. */
    lattice->rounding = prv_cells_rounding(cells);
    const size_t cells_below = mesh->knot[0] + 1;
    lattice->rounding.relative += (17.0 + (double)(most_cells > cells_below ? most_cells : cells_below)) *
                                  PRV_UNIT;
    lattice->rounding.shift += rounding_of_points(cells, mesh);
    if (narrowest < cells->least_width) lattice->rounding.relative = lattice->rounding.shift = HUGE_VAL;
}

void prv_split_cells(const prv_cells *cells, double *mass)
{
    const double *m = cells->mass;
    const size_t n = cells->length - 1; /* inner cells */
    mass[0] = 0.0;
    memcpy(mass + 1, cells->excess + 1, n * sizeof *mass);
    parts_above(cells->knots, m + 1, n, mass + 1);
    for (size_t i = 0; i < n; i++) mass[i] += m[i + 1] - mass[i + 1];
}

/* ---- Dominated ---------------------------------------------------------------------------- */

/* The pool that is being gathered at one target c: Q's mass, and P's mass times e^c. */
typedef struct pool {
    double mass, relative;
} pool;

enum { REACH = 64 }; /* targets that are looked at for mass to meet */

typedef struct merge {
    const prv_cells *cells;
    const prv_mesh *mesh;
    const double *target;   /* losses */
    const double *relative; /* P's mass of a cell, times e^c for the target c of its own mesh cell */
    double *placed;         /* masses on the targets so far; growths at those to come: e^(c - c below) */
    size_t next;            /* first cell with something left */
    double left;            /* the part left of it; all of those above is left */
    double roundings;       /* of the pool's masses so far, in units of u, at most; */
    double most_roundings;  /* of any pool that was placed */
} merge;

/* A cell's masses as parts of a pool: a product or two, the exponential of a difference, and the sum. A
 * difference c - x rounds by u |c - x|, which prv_cells_rounding has room for, being below a quarter of its 8
 * u max|x|. */
#define ROUNDINGS_OF_A_PART 8.0

/* mass[i] becomes the distance of a merged cell from its anchor, in steps beyond the shift. */
PRV_VECTOR static void merged_points(const double *restrict relative, size_t length, double shift,
                                     double step, double *restrict mass)
{
    for (size_t i = 0; i < length; i++) mass[i] = (prv_vm_log(mass[i] / relative[i]) - shift) / step;
}

/* The lattice points of the targets: the knots; or one below the mesh, then in each cell the one whose target
 * is nearest to the cell merged into one: mass that lies between targets is spread over two of them, which
 * costs their distance. The rest of the lattice is scratch. */
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
    merged_points(relative, wide, mesh->shift, mesh->step, mass);
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

/* Targets and all the exponentials of a merge. */
static merge merge_new(const prv_cells *cells, const prv_mesh *mesh, double *scratch, prv_lattice *lattice)
{
    const double *x = cells->knots;
    lattice->offset = mesh->offset + mesh->shift;
    lattice->step = mesh->step;
    lattice->length = mesh->length;
    lattice->infinite_mass = cells->infinite_mass;
    lattice->infinite_error = cells->infinite_error;
    const int64_t *index = lattice->index;
    const size_t *knot = mesh->knot;
    const double offset = lattice->offset, step = mesh->step;
    double *target = lattice->loss;
    target_indices(cells, mesh, lattice);
    for (size_t i = 0; i < mesh->length; i++) target[i] = offset + step * (double)index[i];
    for (size_t i = 1, cell = 1; i < mesh->length; i++) {
        const double c = target[i];
        for (const size_t last = knot[i] - knot[0]; cell <= last; cell++) scratch[cell] = c - x[cell - 1];
    }
    scale_relative(cells->relative + 1, cells->length - 1, scratch + 1);
    growths(target, mesh->length, lattice->mass);
    return (merge){cells, mesh, target, scratch, lattice->mass, 1, 1.0, 0.0, 0.0};
}

/* P's mass of a cell, times e^c for target i, which is the next one to be placed. */
static inline double cell_relative(const merge *s, size_t cell, size_t i)
{
    const size_t *knot = s->mesh->knot, at = knot[0] + cell;
    if (i > 0 && at > knot[i - 1]) {
        if (at <= knot[i]) return s->relative[cell];
        if (i + 1 < s->mesh->length && at <= knot[i + 1]) return s->relative[cell] / s->placed[i + 1];
    }
    return s->cells->relative[cell] * prv_vm_exp(s->target[i] - s->cells->knots[cell - 1]);
}

static inline void take(merge *s, pool *p, double relative)
{
    p->mass += s->cells->mass[s->next] * s->left;
    p->relative += relative * s->left;
    s->roundings += ROUNDINGS_OF_A_PART;
    s->next++;
    s->left = 1.0;
}

/* What of a cell is in the pool, of which `before` was left when the pool began. */
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

/* Leaves the top of the pool to the next target, so that the rest has the target's ratio, and returns the
 * excess that stays all the same because it was carried along from below. The pool is summed anew
 * from its parts, the lowest first: taking large parts out of a sum would leave their rounding. */
static double give_back(merge *s, pool *p, pool carried, size_t first, double first_left, size_t i)
{
    *p = carried;
    size_t cell = first;
    double left = s->left;
    for (; cell < s->next; cell++) {
        const double before = cell == first ? first_left : 1.0;
        const pool part = held(s, cell, before, i);
        s->roundings += ROUNDINGS_OF_A_PART;
        const double excess = p->mass - p->relative, gain = part.mass - part.relative;
        if (excess + gain <= 0.0) {
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
        left = before;
        break;
    }
    s->next = cell;
    s->left = left;
    return fmax(p->mass - p->relative, 0.0);
}

/* Takes the lowest part out of the pool, so that the rest has the target's ratio; returns that part. Summed
 * anew as above, the highest part first. */
static pool step_down(merge *s, pool *p, pool carried, size_t first, double first_left, size_t at)
{
    pool low = {0.0, 0.0};
    *p = low;
    int balanced = 0;
    for (size_t i = s->next - first + 1; i-- > 0;) {
        const size_t cell = first + i - 1;
        const pool part = i == 0 ? carried : held(s, cell, i == 1 ? first_left : 1.0, at);
        s->roundings += ROUNDINGS_OF_A_PART;
        const double excess = p->mass - p->relative, lack = part.relative - part.mass;
        /* Within rounding an atom on the target belongs to it. */
        if (!balanced && lack <= excess + s->cells->tail_error * part.mass) {
            add(p, part, 1.0);
            continue;
        }
        const double share = balanced || !(lack > 0.0) ? 0.0 : fmax(excess, 0.0) / lack;
        add(p, part, share);
        add(&low, part, 1.0 - share);
        if (!balanced) p->relative = p->mass;
        balanced = 1;
    }
    return low;
}

/* What is mixed is off by no more than the mean of what its parts are off by; what was placed, by as much as
 * any pool so far. */
static void mix_roundings(merge *s, double own, double borrowed)
{
    const double more = s->most_roundings - s->roundings;
    if (more > 0.0 && borrowed > 0.0) s->roundings += more * (borrowed / (own + borrowed));
    s->roundings += ROUNDINGS_OF_A_PART;
}

/* Merges mass already placed below target i into the pool at c_i until it is balanced; returns the
 * excess left. */
static double borrow(merge *s, pool *p, size_t i)
{
    double excess = p->mass - p->relative;
    for (size_t j = i; j-- > 0 && excess > 0.0 && i - j <= REACH;) {
        const double available = s->placed[j];
        if (!(available > 0.0)) continue;
        const double per_mass = prv_vm_expm1(s->target[i] - s->target[j]);
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

/* Puts Q's mass onto target i. */
static void place(merge *s, size_t i, double mass)
{
    s->placed[i] = mass;
    if (s->roundings > s->most_roundings) s->most_roundings = s->roundings;
}

/* Places a pool, relative to c, at the highest target below i whose ratio it has, together with what it has
 * to borrow there; what it would still lack is dropped, all of it if it lies below every target. */
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

/* Moving mass d to meet mass D away loses about mass * d * D of variance, dropping the excess mass * d *
 * 2 / (tilt + 1) in the same units. Compares completing the pool from the next cell with taking it one target
 * down, there to meet what lies below; `favour` < 1 leans to the latter. */
static int going_down_is_cheaper(const merge *s, size_t i, const pool *p, double next_mass,
                                 double next_relative, double favour)
{
    const double c = s->target[i], below = s->target[i - 1];
    const double up = log(p->relative / p->mass), far = log(next_mass / next_relative);
    double found = 0.0, reach = 2.0 / (s->mesh->tilt + 1.0);
    for (size_t j = i - 1, looked = 0; j-- > 0 && looked < REACH; looked++) {
        found += s->placed[j];
        if (found >= 0.25 * p->mass) {
            reach = fmin(reach, below - s->target[j]);
            break;
        }
    }
    return up * far > favour * (c - below - up) * reach;
}

PRV_VECTOR static void merge_cells(const prv_cells *cells, const prv_mesh *mesh, double *scratch,
                                   prv_lattice *lattice)
{
    const size_t targets = mesh->length;
    const size_t last_cell = cells->length - 1;
    const double *x = cells->knots, *target = lattice->loss;
    double *placed = lattice->mass;
    merge s = merge_new(cells, mesh, scratch, lattice);
    pool p = {0.0, 0.0};
    /* The two outer cells are dropped: the tilt leaves nothing of the lower, the upper is tiny. */

    for (size_t i = 0; i < targets; i++) {
        const double c = target[i], c_next = i + 1 < targets ? target[i + 1] : HUGE_VAL;
        const double growth = placed[i];
        placed[i] = 0.0;
        if (p.relative > 0.0) p.relative *= growth;
        s.roundings = p.mass > 0.0 ? s.roundings + ROUNDINGS_OF_A_PART : 0.0;
        if (!(p.relative < HUGE_VAL)) p.mass = p.relative = 0.0; /* far too low for any use: dropped */

        /* 1. What lies nearer to this target than to the next. */
        const double boundary = c + c_next + 2e-9 * mesh->step;
        const pool carried = p;
        const size_t first = s.next;
        const double first_left = s.left;
        while (s.next <= last_cell && x[s.next - 1] + x[s.next] <= boundary)
            take(&s, &p, cell_relative(&s, s.next, i));
        if (!(p.mass > 0.0)) continue;
        /* Within the rounding of the cells the pool is balanced: the certificate covers that. */
        const double tolerance = cells->tail_error * p.mass;

        /* 2. Too low: complete it with a part of the next cell. Where that cell has too little, the law
         *    falls steeply; what lies too low then goes down to where there is plenty, if there is. */
        int retreat = 0;
        while (p.mass - p.relative < -tolerance) {
            if (s.next > last_cell) {
                retreat = 1;
                break;
            }
            const double all = cell_relative(&s, s.next, i), relative = all * s.left;
            const double mass = cells->mass[s.next] * s.left, gain = mass - relative;
            const double lack = p.relative - p.mass;
            /* A cell that has enough and is near needs no thought; one that has too little would be
             * followed by others, farther away. */
            const int enough = gain > lack, near = gain <= 2.0 * (c_next - c) * mass;
            if (i > 0 && gain > 0.0 && !(enough && near) &&
                going_down_is_cheaper(&s, i, &p, mass, relative, enough ? 1.0 : 0.25)) {
                retreat = 1;
                break;
            }
            if (enough) {
                const double part = lack / gain;
                p.mass += part * mass;
                p.relative = p.mass;
                s.roundings += ROUNDINGS_OF_A_PART;
                s.left *= 1.0 - part;
                break;
            }
            take(&s, &p, all);
        }
        if (retreat) {
            /* What lies too low goes to the target before, the rest is balanced here. */
            pool rest, low = step_down(&s, &rest, carried, first, first_left, i);
            place_below(&s, &low, i, c);
            p = rest;
        }

        /* 3. Too high: meet mass placed below, or leave the top of the pool to the next target. */
        double excess = p.mass - p.relative;
        if (excess > tolerance && i > 0) {
            /* Growth is rounded by u or two of itself, which moves what is added by as little as the rounding
             * of P's mass does. */
            const double wanted = excess / (growth - 1.0);
            if (2.0 * wanted <= placed[i - 1]) {
                placed[i - 1] -= wanted;
                mix_roundings(&s, p.mass, wanted);
                p.mass += wanted;
                p.relative = p.mass;
                excess = 0.0;
            }
        }
        if (excess > tolerance) {
            pool rest = p;
            excess = i + 1 < targets ? give_back(&s, &rest, carried, first, first_left, i)
                                     : borrow(&s, &rest, i);
            p = rest;
            if (excess > tolerance && i + 1 < targets) continue; /* carried to the next target */
        }
        /* Balanced, or the last target: what is above the target's ratio is dropped. */
        place(&s, i, p.mass < p.relative ? p.mass : p.relative);
        p.mass = p.relative = 0.0;
    }
    /* What is placed has the target's ratio within `tolerance` and the rounding of both of its masses. */
    lattice->rounding = prv_cells_rounding(cells);
    lattice->rounding.relative += (1.0 + s.most_roundings) *
                                  PRV_UNIT; /* 1: as above, of masses that are no normal doubles */
    lattice->rounding.shift += cells->tail_error + 2.0 * s.most_roundings * PRV_UNIT +
                               rounding_of_points(cells, mesh);
}

/* ---- Where the targets go ----------------------------------------------------------------- */

/* Shifts that make the heaviest cell, or it and its neighbours, merge exactly into one target. A lattice
 * that is coarser than the bulk of the loss would otherwise lose the distance to it at first order. */
enum { MOST_SHIFTS = 3, NEIGHBOURHOOD = 32 };

typedef struct heavy_cell {
    size_t at;
    double share; /* of all mass, about */
} heavy_cell;

/* `scratch` has room for the mesh, and the lattice is scratch too. */
static heavy_cell heaviest_cell(const prv_cells *cells, const prv_mesh *mesh, double tilt, double *scratch,
                                prv_lattice *lattice)
{
    const size_t n = mesh->length - 1;
    for (size_t k = 0; k < n; k++) {
        const size_t low = mesh->knot[k], high = mesh->knot[k + 1];
        lattice->loss[k] = cells->knots[low];
        double mass = cells->mass[low + 1];
        for (size_t i = low + 2; i <= high; i++) mass += cells->mass[i];
        lattice->mass[k] = mass;
    }
    const double *share = lattice->mass;
    if (tilt > 0.0) {
        prv_tilt(lattice->loss, lattice->mass, n, tilt, scratch);
        share = scratch;
    }
    heavy_cell h = {0, 0.0};
    for (size_t k = 0; k < n; k++)
        if (share[k] > h.share) h = (heavy_cell){k, share[k]};
    return h;
}

/* The distance above a lattice point of the cells at - reach .. at + reach merged into one. */
static double merged_shift(const prv_cells *cells, const prv_mesh *mesh, size_t at, size_t reach)
{
    const size_t first = at > reach ? at - reach : 0;
    const size_t end = at + reach + 2 < mesh->length ? at + reach + 1 : mesh->length - 1;
    const double low = cells->knots[mesh->knot[at]];
    double mass = 0.0, relative = 0.0;
    for (size_t i = mesh->knot[first] + 1; i <= mesh->knot[end]; i++) {
        mass += cells->mass[i];
        relative += cells->relative[i] * prv_vm_exp(low - cells->knots[i - 1]);
    }
    if (!(mass > 0.0 && relative > 0.0)) return 0.5 * mesh->step;
    const double above = fmod(log(mass / relative), mesh->step);
    return above < 0.0 ? above + mesh->step : above;
}

/* The cells around one, and their mesh: merging them alone tells which shift is best. */
static prv_mesh neighbourhood(const prv_cells *cells, const prv_mesh *mesh, size_t at, prv_cells *near)
{
    const size_t first = at > NEIGHBOURHOOD ? at - NEIGHBOURHOOD : 0;
    const size_t end = at + NEIGHBOURHOOD + 2 < mesh->length ? at + NEIGHBOURHOOD + 2 : mesh->length;
    prv_mesh part = *mesh;
    part.index += first;
    part.knot += first;
    part.length = end - first;
    *near = *cells;
    near->knots += mesh->knot[first];
    near->mass += mesh->knot[first];
    near->relative += mesh->knot[first];
    near->length = mesh->knot[end - 1] - mesh->knot[first] + 1;
    return part;
}

void prv_lattice_dominated(const prv_cells *cells, prv_mesh *mesh, double *left, prv_lattice *lattice)
{
    mesh->shift = mesh->on_knots ? 0.0 : 0.5 * mesh->step;
    const double crowded = 0.025; /* where no cell holds this much, the mesh resolves the law */
    double greatest = -HUGE_VAL, best = mesh->shift;
    heavy_cell last = {SIZE_MAX, 0.0};
    for (int tilted = 1; tilted >= 0 && !mesh->on_knots; tilted--) {
        const heavy_cell h = heaviest_cell(cells, mesh, tilted ? mesh->tilt : 0.0, left, lattice);
        if (h.share < crowded || h.at == last.at) continue;
        last = h;
        prv_cells near;
        prv_mesh part = neighbourhood(cells, mesh, h.at, &near);
        for (size_t reach = 0; reach < MOST_SHIFTS; reach++) {
            part.shift = merged_shift(cells, mesh, h.at, reach);
            merge_cells(&near, &part, left, lattice);
            const double moment = prv_tilt(lattice->loss, lattice->mass, lattice->length, mesh->tilt, NULL)
                                      .log_moment;
            if (moment > greatest) {
                greatest = moment;
                best = part.shift;
            }
        }
    }
    mesh->shift = best;
    merge_cells(cells, mesh, left, lattice);
}
