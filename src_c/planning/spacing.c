#include "planning/spacing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/vector_math.h"
#include "mechanisms/support.h"

/* The numbers below make meshes finer or coarser. No bound relies on them. */

/* A cell with more than these parts of a step's weight is divided into 8, 4 or 2: merging needs to see
 * inside. */
#define HEAVIEST_CELL 0.03
#define HEAVIER_CELL 0.01
#define HEAVY_CELL 0.002

/* A period that is finer than the spacing asked by less than this is taken whole: if all atoms lie on it,
 * because it is exact; and otherwise. */
#define FINER_IF_EXACT 0.125
#define FINER_IF_NOT 0.6

/* A point beyond all that an atom may lie at (2^60, below_atom), so that differences of points are integers.
 */
#define FAR (INT64_C(1) << 61)

/* Atoms that lie on no lattice are about so much of the spacing off it. */
#define FINER_ABOUT_ATOMS 0x1p-6

/* A uniform mesh's transforms cost the same whatever knots are left out, so that larger spacings may add only
 * a quarter of its error; a spectrum has the spacings that are best. */
#define CONVOLUTION_ERROR 0.25
#define SPECTRUM_ERROR 1.5

/* Power of two at most x, at least 1. */
static int64_t power_of_two(double x)
{
    if (!(x >= 2.0)) return 1;
    return (int64_t)1 << ((prv_vm_bits(x < 0x1p40 ? x : 0x1p40) >> 52) - 1023); /* the exponent's bits */
}

/* Laws that are known by their tails need cells that are wide beside the rounding of tails: cells.h. */
static double narrowest_cell(const prv_mechanism *m)
{
    const bool atoms = m->base == PRV_BASE_ATOMS || m->base == PRV_BASE_ENCLOSED;
    return atoms ? 0.0 : PRV_NARROWEST_CELL;
}

typedef struct mesh_builder {
    double anchor, spacing;
    bool on_knots;
    int64_t period;   /* in steps; atoms lie at 0 and at a period from it, on either side */
    double narrowest; /* nats: no cell is narrower */
    size_t lattice_length, knot_length, most_knots;
    int64_t *index; /* NULL: count only */
    size_t *knot;
    double *knots;
} mesh_builder;

static void put_knot(mesh_builder *b, int64_t index, int64_t stride, int parts, bool is_last)
{
    /* An atom in the middle of continuous mass gets a cell of its own: merged with what lies just below,
     * its ratio would fall short of the knot's, and nothing above could make up for that. */
    if (b->on_knots && (index == 0 || index == b->period || index == -b->period) && b->knot_length > 0) {
        const double x = b->anchor + b->spacing * (double)index,
                     width = fmax(1e-7 * b->spacing, 2.0 * b->narrowest);
        const double below = x - width;
        if (x - below > 8.0 * DBL_EPSILON * fabs(x) && width <= 0x1p-6 * b->spacing) {
            if (b->index != NULL) b->knots[b->knot_length] = below;
            b->knot_length++;
        }
    }
    if (b->index != NULL) {
        b->index[b->lattice_length] = index;
        b->knot[b->lattice_length] = b->knot_length;
        b->knots[b->knot_length] = b->anchor + b->spacing * (double)index;
    }
    b->lattice_length++;
    b->knot_length++;
    if (is_last) return;
    for (int i = 1; i < parts; i++, b->knot_length++)
        if (b->index != NULL)
            b->knots[b->knot_length] = b->anchor +
                                       b->spacing * ((double)index + (double)stride * i / (double)parts);
}

/* Into how many parts the mesh cell of `stride` points above x is divided, which begins in this cell of the
 * profile. */
static int parts_of(const mesh_builder *b, const prv_profile *p, size_t cell, size_t end,
                    const double *weight, double x, int64_t stride)
{
    const double high = x + b->spacing * (double)stride;
    double share = 0.0;
    for (size_t c = cell; c < end && p->low[c] < high; c++) {
        const double size = p->high[c] - p->low[c];
        const double overlap = fmin(high, p->high[c]) - fmax(x, p->low[c]);
        share += size > 0.0 ? weight[c] * fmin(fmax(overlap / size, 0.0), 1.0) : weight[c];
    }
    int parts = share > HEAVIEST_CELL ? 8 : share > HEAVIER_CELL ? 4 : share > HEAVY_CELL ? 2 : 1;
    if (b->on_knots && parts < 2) parts = 2;
    while (parts > 1 && b->spacing * (double)stride < 2.0 * (double)parts * b->narrowest) parts /= 2;
    return parts;
}

/* Walks the lattice from bottom to top. Spacings are powers of two, larger where little tilted mass is:
 * the error is the sum of mass * spacing^2, the cost the number of knots, and the minimum has
 * spacing proportional to density^(-1/3). A cell that holds much mass is divided further: merging
 * needs to see inside. Stops at most_knots, and returns how many times as many would do. */
static double walk(mesh_builder *b, const prv_profile *p, size_t first, size_t end, const double *weight,
                   const double *spacing, int64_t bottom, int64_t top)
{
    size_t cell = first;
    b->lattice_length = b->knot_length = 0;
    int64_t index = bottom;
    while (index < top && b->knot_length <= b->most_knots) {
        const double x = b->anchor + b->spacing * (double)index;
        while (cell + 1 < end && p->high[cell] <= x) cell++;
        int64_t stride = power_of_two(spacing[cell]);
        while (stride > 1 && index % stride != 0) stride /= 2;
        /* Do not step over where it should be finer. */
        while (stride > 1 && cell + 1 < end && spacing[cell + 1] < (double)stride &&
               x + b->spacing * (double)stride > p->high[cell] + b->spacing)
            stride /= 2;
        while (stride > 1 && index + stride > top) stride /= 2;
        const int parts = parts_of(b, p, cell, end, weight, x, stride);
        put_knot(b, index, stride, parts, false);
        index += stride;
    }
    put_knot(b, top, 1, 1, true);
    return (double)(top - bottom) / fmax((double)(index - bottom), 1.0);
}

/* Whether the losses are atoms that lie on no lattice. */
static bool has_scattered_atoms(const prv_mechanism *m, bool add)
{
    return m->base == PRV_BASE_ATOMS && !prv_mechanism_features(m, add).is_lattice;
}

/* The mesh cell of width 1 that an atom lies in: the index of its lower end, which is below the atom, or is
 * the atom itself within rounding of the cell above. */
static int64_t below_atom(const mesh_builder *b, double loss)
{
    return (int64_t)fmin(fmax(ceil((loss - b->anchor) / b->spacing - 1e-9) - 1.0, -0x1p60), 0x1p60);
}

/* The same of a law of atoms alone. An atom that is farther from its neighbours than the spacing wanted lies
 * in a cell of one lattice step; there are no knots where nothing is. */
static double walk_atoms(mesh_builder *b, const prv_atoms *a, const prv_profile *p, size_t first, size_t end,
                         const double *weight, const double *spacing, int64_t bottom, int64_t top)
{
    size_t cell = first, atom = 0;
    b->lattice_length = b->knot_length = 0;
    const int64_t widest = (int64_t)fmax(fmin(PRV_WIDEST_CELL / b->spacing, 0x1p60), 1.0);
    int64_t index = bottom;
    while (index < top && b->knot_length <= b->most_knots) {
        const double x = b->anchor + b->spacing * (double)index;
        while (cell + 1 < end && p->high[cell] <= x) cell++;
        while (atom < a->length && below_atom(b, a->loss[atom]) < index) atom++;
        const int64_t wanted = power_of_two(spacing[cell]);
        const int64_t at = atom < a->length ? below_atom(b, a->loss[atom]) : top;
        const int64_t next = atom + 1 < a->length ? below_atom(b, a->loss[atom + 1]) : FAR;
        int64_t to = index + 1; /* past the atom, if it lies in this cell */
        if (next - index < wanted)
            to = index + wanted; /* several in a cell */
        else if (at > index)
            to = at - index < widest ? at : index + widest; /* nothing in between */
        if (to > top) to = top;
        const int64_t stride = to - index;
        put_knot(b, index, stride, next - index < wanted ? parts_of(b, p, cell, end, weight, x, stride) : 1,
                 false);
        index = to;
    }
    put_knot(b, top, 1, 1, true);
    return (double)(top - bottom) / fmax((double)(index - bottom), 1.0);
}

/* How much of delta at the aim's epsilon one jump of this loss and mass makes up, about. */
static double reach_by_a_jump(const prv_aim *aim, double mass, double loss)
{
    return mass * exp(fmin(aim->slope * (loss - aim->epsilon), 0.0));
}

/* The weight of a profile cell in the error of delta: half its tilted mass, half its part in reaching epsilon
 * by a single jump, as far as such jumps make up delta at all. If few rare jumps dominate, no tilt centres
 * the law on them, and the tilted mass alone would leave the mesh coarse there. */
static void importance(const prv_direction *direction, size_t j, const prv_aim *aim, double *weight)
{
    const prv_profile *p = &direction->profiles[j];
    const size_t first = direction->first[j], end = direction->end[j];
    prv_tilt(p->center + first, p->mass + first, end - first, aim->saddle, weight + first);
    double jumps = 0.0;
    for (size_t c = end; c-- > first && p->center[c] >= 0.5 * aim->epsilon;)
        jumps += reach_by_a_jump(aim, p->mass[c], p->center[c]);
    const double share = 0.5 * fmin(direction->counts[j] * jumps * exp(-aim->log_delta), 1.0);
    for (size_t c = first; c < end; c++) {
        weight[c] *= 1.0 - share;
        if (p->center[c] >= 0.5 * aim->epsilon)
            weight[c] += share / jumps * reach_by_a_jump(aim, p->mass[c], p->center[c]);
    }
}

/* Part of the error that a cell of step j makes at spacing 1: its weight under k_j of all K steps. */
static double cell_error(const prv_direction *direction, size_t j, const prv_spacing *shared, double weight)
{
    return direction->counts[j] / shared->count * weight;
}

/* sum over cells of (error length^2)^(1/3), see `spacings`. */
static double mesh_load(const prv_direction *direction, size_t j, const prv_spacing *shared,
                        const double *weight)
{
    const prv_profile *p = &direction->profiles[j];
    double sum = 0.0;
    for (size_t c = direction->first[j]; c < direction->end[j]; c++) {
        const double length = p->high[c] - p->low[c];
        sum += cbrt(cell_error(direction, j, shared, weight[c]) * length * length);
    }
    return sum;
}

/* Spacings wanted in each cell of a step's profile, nats: scale (length / error)^(1/3), which makes
 *     sum error spacing^2 = scale^2 (sum of the steps' loads)
 * at the fewest knots of all steps together. None is above 1 / (2 saddle): the tilt makes exponentially much
 * of a split over more. Returns the least that is not an atom's. */
static double spacings(const prv_direction *direction, size_t j, const prv_aim *aim,
                       const prv_spacing *shared, const double *weight, double *spacing)
{
    const prv_profile *p = &direction->profiles[j];
    double least = HUGE_VAL;
    for (size_t c = direction->first[j]; c < direction->end[j]; c++) {
        const double length = p->high[c] - p->low[c];
        const double wanted = shared->scale * cbrt(fmax(length, 1e-3 * shared->law) /
                                                   fmax(cell_error(direction, j, shared, weight[c]), 1e-60));
        spacing[c] = fmin(fmin(fmin(wanted, 0.5 / aim->saddle), 0.5 * length), PRV_WIDEST_CELL);
        if (length > 0.0) least = fmin(least, wanted);
    }
    return least;
}

/* The error that the spacings of all steps may make, over that of a uniform mesh. */
static double error_share(prv_engine engine)
{
    return engine == PRV_ENGINE_SPECTRUM ? SPECTRUM_ERROR : CONVOLUTION_ERROR;
}

prv_status prv_mesh_of_step(const prv_direction *direction, size_t j, const prv_aim *aim,
                            const prv_spacing *shared, double memory_limit, double *weight, prv_mesh *mesh,
                            prv_cells *cells, double *bytes)
{
    const double saddle = aim->saddle, lattice = shared->lattice;
    const prv_profile *p = &direction->profiles[j];
    const prv_features f = prv_mechanism_features(direction->mechanisms[j], direction->add);
    const size_t first = direction->first[j], end = direction->end[j];
    double *spacing = weight + p->length;
    importance(direction, j, aim, weight);
    spacings(direction, j, aim, shared, weight, spacing);
    for (size_t c = first; c < end; c++) spacing[c] /= lattice;

    const double greatest = prv_greatest_loss(direction->mechanisms[j], direction->add);
    double low = p->low[first], high = fmin(p->high[end - 1], greatest);
    if (!f.anchor_is_atom && f.anchor < 0.0) low = fmax(low, f.anchor); /* an edge of the support */
    if (!f.anchor_is_atom && f.anchor > 0.0) high = fmin(high, f.anchor);
    const double slack = 1e-6;
    /* One knot below the lowest loss in use: what lies at or below the first knot is dropped from below, and
     * what lies just above it has nowhere to go. */
    const double bottom = floor((low - f.anchor) / lattice + slack) - 1.0;
    /* And one above the highest: rounding may place it on either side of its knot. */
    const double top = fmax(ceil((high - f.anchor) / lattice - slack) + (f.anchor_is_atom ? 1.0 : 0.0),
                            bottom + 1.0);
    if (!(fabs(bottom) < 0x1p52 && fabs(top) < 0x1p52)) return PRV_ERR_MEMORY_LIMIT;

    const double period = fmin(nearbyint(f.period / lattice), 0x1p60);
    const size_t most = prv_size_of(fmin(memory_limit / PRV_BYTES_OF_KNOT, 0x1p48));
    const double narrowest = narrowest_cell(direction->mechanisms[j]);
    mesh_builder b = {f.anchor, lattice, f.anchor_is_atom, (int64_t)period, narrowest, 0, 0, most, NULL,
                      NULL,     NULL};
    /* A spectrum takes time for atoms, and not for lattice points. */
    const prv_atoms *atoms = shared->engine == PRV_ENGINE_SPECTRUM && !shared->exact &&
                                     has_scattered_atoms(direction->mechanisms[j], direction->add)
                                 ? direction->mechanisms[j]->atoms[direction->add]
                                 : NULL;
    const double rest = atoms != NULL
                            ? walk_atoms(&b, atoms, p, first, end, weight, spacing, (int64_t)bottom,
                                         (int64_t)top)
                            : walk(&b, p, first, end, weight, spacing, (int64_t)bottom, (int64_t)top);
    if (b.knot_length > most) {
        *bytes += PRV_BYTES_OF_KNOT * (double)b.knot_length * rest;
        return PRV_ERR_MEMORY_LIMIT;
    }
    prv_status status = prv_mesh_new(b.lattice_length, mesh);
    if (status != PRV_OK) return status;
    status = prv_cells_new(b.knot_length, cells);
    if (status != PRV_OK) {
        prv_mesh_free(mesh);
        return status;
    }
    mesh->offset = f.anchor;
    mesh->spacing = lattice;
    mesh->on_knots = f.anchor_is_atom;
    mesh->tilt = saddle;
    b.index = mesh->index;
    b.knot = mesh->knot;
    b.knots = cells->knots;
    if (atoms != NULL)
        walk_atoms(&b, atoms, p, first, end, weight, spacing, (int64_t)bottom, (int64_t)top);
    else
        walk(&b, p, first, end, weight, spacing, (int64_t)bottom, (int64_t)top);
    return PRV_OK;
}

double prv_narrowest_spacing(const prv_direction *direction)
{
    double narrowest = 0.0;
    for (size_t j = 0; j < direction->steps; j++)
        narrowest = fmax(narrowest, narrowest_cell(direction->mechanisms[j]));
    return narrowest;
}

/* The period of a lattice on which the atoms of all steps lie, from an anchor of each; 0 if there is none. */
static double common_period(const prv_direction *direction)
{
    double least = HUGE_VAL;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_features f = prv_mechanism_features(direction->mechanisms[j], direction->add);
        if (direction->mechanisms[j]->base != PRV_BASE_ATOMS || !f.is_lattice || !(f.period > 0.0))
            return 0.0;
        least = fmin(least, f.period);
    }
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_features f = prv_mechanism_features(direction->mechanisms[j], direction->add);
        const double periods = f.period / least;
        if (!(fabs(periods - nearbyint(periods)) <= 1e-12 * periods)) return 0.0;
    }
    return least;
}

double prv_align_spacing(const prv_direction *direction, double spacing)
{
    /* On this lattice all steps are exact: nothing is gained by a finer one. */
    const double common = common_period(direction);
    if (common > spacing && common <= PRV_WIDEST_CELL) return common;
    double period = 0.0, count = 0.0, finer = FINER_IF_EXACT;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_features f = prv_mechanism_features(direction->mechanisms[j], direction->add);
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

void prv_scale_meshes(const prv_direction *direction, const prv_aim *aim, double *weight, prv_spacing *shared)
{
    double load = 0.0, least = shared->law;
    for (size_t j = 0; j < direction->steps; j++) {
        importance(direction, j, aim, weight);
        load += mesh_load(direction, j, shared, weight);
    }
    shared->scale = load > 0.0 ? shared->law * sqrt(error_share(shared->engine) / load) : HUGE_VAL;
    if (shared->engine != PRV_ENGINE_SPECTRUM || shared->exact) return;
    for (size_t j = 0; j < direction->steps; j++) {
        importance(direction, j, aim, weight);
        least = fmin(least,
                     spacings(direction, j, aim, shared, weight, weight + direction->profiles[j].length));
    }
    for (size_t j = 0; j < direction->steps; j++)
        if (has_scattered_atoms(direction->mechanisms[j], direction->add))
            least = fmin(least, FINER_ABOUT_ATOMS * shared->law);
    least = fmax(least, 2.0 * prv_narrowest_spacing(direction));
    while (shared->lattice > least && shared->lattice > 0x1p-24 * shared->law) shared->lattice *= 0.5;
}

/* Most cells with less weight than this lie below the meshes. */
#define LEAST_WEIGHT 1e-9

double prv_expected_knots(const prv_direction *direction, const prv_aim *aim, double spacing,
                          prv_engine engine, double *weight)
{
    prv_spacing shared = {
        .lattice = spacing, .law = spacing, .count = direction->all.count, .exact = true, .engine = engine};
    prv_scale_meshes(direction, aim, weight, &shared);
    double knots = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        double *spacing_of = weight + p->length;
        importance(direction, j, aim, weight);
        spacings(direction, j, aim, &shared, weight, spacing_of);
        for (size_t c = direction->first[j]; c < direction->end[j]; c++)
            if (weight[c] > LEAST_WEIGHT && p->high[c] > p->low[c])
                knots += (p->high[c] - p->low[c]) / spacing_of[c];
    }
    return knots;
}
