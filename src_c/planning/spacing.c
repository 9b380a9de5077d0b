#include "planning/spacing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/vector_math.h"
#include "mechanisms/support.h"
#include "planning/alignment.h"

/* The numbers below make meshes finer or coarser. No bound relies on them. */

/* A cell with more than these parts of a step's weight is divided into 8, 4 or 2: merging needs to see
 * inside. */
#define HEAVIEST_CELL 0.03
#define HEAVIER_CELL 0.01
#define HEAVY_CELL 0.002

/* Knots of a step beyond which a spectrum takes longer than any convolution. */
#define MOST_SUMMED 300000

/* A point beyond all that an atom may lie at (2^60, below_atom), so that differences of points are integers.
 */
#define FAR (INT64_C(1) << 61)

/* A uniform mesh's transforms cost the same whatever knots are left out, so that larger spacings may add only
 * a quarter of its error; a spectrum has the spacings that are best. */
#define CONVOLUTION_ERROR 0.25
#define SPECTRUM_ERROR 1.5

/* Mass at a distance s above the edge of the support, in a mesh cell of width h that begins there, has a
 * variance of s (h - s) where it is split to both ends, against h^2 / 4 of both ways of a cell elsewhere. */
#define EDGE_CELL 4.0

/* The scale at which the error is as wanted is found in so many steps. */
enum { ROUNDS = 4 };

/* A uniform mesh is made coarser than the error law says by powers of this, up to this factor. */
#define COARSENING 1.25
#define MOST_COARSENING 256.0

/* Jumps count this much more than by the part of delta that they make up, which is guessed. */
#define JUMPS_WEIGHT 4.0

/* The bend of what jumps leave of delta is at least this part of epsilon wide. */
#define LEAST_BEND 1e-3

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
    bool beside;      /* an atom alone in its cell has lattice points on either side of that, too */
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

/* The mesh cell of width 1 that an atom lies in: the index of its lower end, which is below the atom, or is
 * the atom itself within rounding of the cell above. */
static int64_t below_atom(const mesh_builder *b, double loss)
{
    return (int64_t)fmin(fmax(ceil((loss - b->anchor) / b->spacing - 1e-9) - 1.0, -0x1p60), 0x1p60);
}

/* The same of a law of atoms alone. An atom that is farther from its neighbours than the spacing wanted lies
 * in a cell of one lattice step; there are no knots where nothing is, but for one a step above such a cell if
 * b->beside: a dominated lattice that is shifted has one point for each cell, and an atom above that of its
 * own cell may have no other near. */
static double walk_atoms(mesh_builder *b, const prv_atoms *a, const prv_profile *p, size_t first, size_t end,
                         const double *weight, const double *spacing, int64_t bottom, int64_t top)
{
    size_t cell = first, atom = 0;
    bool is_alone = false; /* the atom of the last cell */
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
        else if (at > index && !(is_alone && b->beside))
            to = at - index < widest ? at : index + widest; /* nothing in between */
        if (to > top) to = top;
        const int64_t stride = to - index;
        is_alone = at == index && stride == 1;
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

/* The deviation of the sum of all losses below half of epsilon, of this step alone. */
static double deviation_below(const prv_profile *p, size_t first, size_t end, double count, double half)
{
    double mass = 0.0, mean = 0.0, square = 0.0;
    for (size_t c = first; c < end && p->center[c] < half; c++) {
        mass += p->mass[c];
        mean += p->mass[c] * p->center[c];
        square += p->mass[c] * p->center[c] * p->center[c];
    }
    return mass > 0.0 ? sqrt(count * fmax(square - mean * mean / mass, 0.0)) : 0.0;
}

/* The weights of `importance` where rare jumps decide. Losses below half of epsilon count by how much more of
 * delta the rest makes up after them. What a jump leaves of delta is a convex function of it with a bend at
 * epsilon, and about straight elsewhere: jumps count as the rest spreads the bend, or as far as epsilon is
 * unknown. */
static void rare_importance(const prv_profile *p, size_t first, size_t end, double count, const prv_aim *aim,
                            double *weight)
{
    const double slope = aim->slope, epsilon = aim->epsilon, most = exp(-aim->log_delta);
    const double spread = fmax(fmax(deviation_below(p, first, end, count, 0.5 * epsilon), aim->reach),
                               LEAST_BEND * epsilon);
    const double bend = JUMPS_WEIGHT * most / (slope * slope * spread);
    const double beyond = most / (slope * (slope + 1.0));
    /* Where smaller jumps are much more frequent than the bend falls, those of all runs together still make
     * up no more than all of delta wherever the bend is. */
    const double most_each = JUMPS_WEIGHT / (count * spread);
    for (size_t c = first; c < end; c++) {
        const double loss = p->center[c], away = loss - epsilon;
        if (loss < 0.5 * epsilon)
            weight[c] = p->mass[c] * fmin(exp(slope * loss), most);
        else
            weight[c] = fmin(p->mass[c] * bend * exp(-fabs(away) / spread),
                             most_each * (p->high[c] - p->low[c])) +
                        (away > 0.0 ? p->mass[c] * beyond * exp(-away) : 0.0);
    }
}

/* The weight of a profile cell in the error of delta: its tilted mass, and the part of delta that one run
 * makes up by such a jump alone. If few rare jumps dominate, no tilt centres the law on them, and the tilted
 * mass alone would leave the mesh coarse there. */
static void importance(const prv_direction *direction, size_t j, const prv_aim *aim, double *weight)
{
    const prv_profile *p = &direction->profiles[j];
    const size_t first = direction->first[j], end = direction->end[j];
    if (aim->is_rare) {
        rare_importance(p, first, end, direction->counts[j], aim, weight);
        return;
    }
    prv_tilt(p->center + first, p->mass + first, end - first, aim->saddle, weight + first);
    double jumps = 0.0;
    for (size_t c = end; c-- > first && p->center[c] >= 0.5 * aim->epsilon;)
        jumps += reach_by_a_jump(aim, p->mass[c], p->center[c]);
    if (jumps < DBL_MIN) return;
    /* A guess of delta may be far too small: all runs together make up all of it. */
    const double part = JUMPS_WEIGHT * fmin(exp(-aim->log_delta), 1.0 / (direction->counts[j] * jumps));
    for (size_t c = end; c-- > first && p->center[c] >= 0.5 * aim->epsilon;)
        weight[c] += part * reach_by_a_jump(aim, p->mass[c], p->center[c]);
}

/* What the error laws of a step's cells say, an array of each in the scratch. */
typedef struct cell_laws {
    double *weight; /* `importance` */
    double *error;  /* the cell's part of the error at spacing 1, > 0 */
    double *near;   /* nats: at larger spacings the error is error * near * spacing, not error * spacing^2 */
    double *root;   /* the spacing wanted is scale * root, or beyond `near` */
    double *steep;  /* scale^(3/2) * steep */
    size_t length;
} cell_laws;

enum { ARRAYS_OF_LAWS = 5, LANES = 8 };

static size_t length_of_laws(const prv_direction *direction, size_t j)
{
    return ARRAYS_OF_LAWS * direction->profiles[j].length;
}

/* Those of step j, of the cells in use, behind the spacings of any one step and the laws of the steps
 * before. */
static cell_laws laws_of(const prv_direction *direction, size_t j, double *scratch)
{
    size_t longest = 1, before = 0;
    for (size_t i = 0; i < direction->steps; i++) {
        if (direction->profiles[i].length > longest) longest = direction->profiles[i].length;
        if (i < j) before += length_of_laws(direction, i);
    }
    const size_t n = direction->profiles[j].length;
    double *weight = scratch + longest + before;
    return (cell_laws){.weight = weight,
                       .error = weight + n,
                       .near = weight + 2 * n,
                       .root = weight + 3 * n,
                       .steep = weight + 4 * n,
                       .length = n};
}

size_t prv_weights_length(const prv_direction *direction)
{
    size_t longest = 1, all = 0;
    for (size_t j = 0; j < direction->steps; j++) {
        if (direction->profiles[j].length > longest) longest = direction->profiles[j].length;
        all += length_of_laws(direction, j);
    }
    return longest + all;
}

static bool has_edge(const prv_features *f)
{
    return !(f->anchor_is_atom || f->anchor == 0.0);
}

/* The laws of cells from weights: a cell makes its part of the error by its weight, and by its distance from
 * the edge of the support, which is a knot. A spacing is as good as (length / error)^(1/3) says. */
PRV_VECTOR static void fill_laws(const double *restrict low, const double *restrict high,
                                 const double *restrict center, const double *restrict weight, size_t length,
                                 double share, bool edge, double anchor, double least, double *restrict error,
                                 double *restrict near, double *restrict root, double *restrict steep)
{
    for (size_t c = 0; c < length; c++) {
        const double wide = prv_vm_max(high[c] - low[c], least), e = prv_vm_max(share * weight[c], 1e-60);
        const double away = edge ? prv_vm_max(EDGE_CELL * fabs(center[c] - anchor), 1e-300) : HUGE_VAL;
        const double ratio = prv_vm_max(wide / e, DBL_MIN);
        error[c] = e;
        near[c] = away;
        root[c] = prv_vm_exp_near(prv_vm_log(ratio) / 3.0);
        steep[c] = sqrt(ratio / away);
    }
}

/* The weights and laws of the cells of step j that are in use. */
static cell_laws weigh_cells(const prv_direction *direction, size_t j, const prv_aim *aim,
                             const prv_spacing *shared, double *scratch)
{
    const prv_profile *p = &direction->profiles[j];
    const prv_features f = direction->features[j];
    const cell_laws l = laws_of(direction, j, scratch);
    const size_t first = direction->first[j];
    importance(direction, j, aim, l.weight);
    fill_laws(p->low + first, p->high + first, p->center + first, l.weight + first, direction->end[j] - first,
              direction->counts[j] / shared->count, has_edge(&f), f.anchor,
              has_edge(&f) ? 1e-300 : 1e-3 * shared->law, l.error + first, l.near + first, l.root + first,
              l.steep + first);
    return l;
}

/* The spacings wanted at this scale and scale^(3/2). */
PRV_VECTOR static void fill_spacings(const double *restrict near, const double *restrict root,
                                     const double *restrict steep, size_t length, double scale, double power,
                                     double *restrict spacing)
{
    for (size_t c = 0; c < length; c++) {
        const double wanted = scale * root[c], beyond = power * steep[c];
        spacing[c] = near[c] < wanted ? beyond : wanted;
    }
}

/* The error of spacings that are `spacing`, if it is not 0, else those wanted at this scale. */
PRV_VECTOR static double sum_of_errors(const double *restrict error, const double *restrict near,
                                       const double *restrict root, const double *restrict steep,
                                       size_t length, double spacing, double scale, double power)
{
    double sum[LANES] = {0}, rest = 0.0;
    const size_t whole = length / LANES * LANES;
    for (size_t c = 0; c < whole; c += LANES)
        for (size_t l = 0; l < LANES; l++) {
            const double wanted = scale * root[c + l], beyond = power * steep[c + l];
            const double own = near[c + l] < wanted ? beyond : wanted, used = spacing > 0.0 ? spacing : own;
            sum[l] += error[c + l] * used * prv_vm_min(used, near[c + l]);
        }
    for (size_t c = whole; c < length; c++) {
        const double wanted = scale * root[c], beyond = power * steep[c];
        const double own = near[c] < wanted ? beyond : wanted, used = spacing > 0.0 ? spacing : own;
        rest += error[c] * used * prv_vm_min(used, near[c]);
    }
    for (size_t l = 0; l < LANES; l++) rest += sum[l];
    return rest;
}

/* The error that the spacings of a step make at this scale, or a uniform mesh of this spacing if it is not 0.
 */
static double mesh_error(const prv_direction *direction, size_t j, double *scratch, double spacing,
                         double scale)
{
    const cell_laws l = laws_of(direction, j, scratch);
    const size_t first = direction->first[j];
    return sum_of_errors(l.error + first, l.near + first, l.root + first, l.steep + first,
                         direction->end[j] - first, spacing, scale, scale * sqrt(scale));
}

/* Spacings are at most such parts of 1 / tilt: the tilt makes exponentially much of a split over more. A
 * split over x / tilt adds x^2 / 8 of itself to a tilted mass, of which a wide width allows more. */
#define MOST_SPLIT 0.5
#define WIDEST_SPLIT 1.5
/* A step has no more knots than about so many for the widest split. */
#define MOST_SPLITS 4096.0

static double most_split(const prv_aim *aim)
{
    return fmin(fmax(sqrt(4.0 * aim->slope * aim->width), MOST_SPLIT), WIDEST_SPLIT);
}

/* The largest spacing at this loss, of most_split. Of a jump beyond epsilon delta is a smooth function. */
static double most_spacing(const prv_aim *aim, double split, double loss)
{
    if (!aim->is_rare) return split / aim->saddle;
    return split / aim->slope + fmin(0.25 * fmax(loss - aim->epsilon, 0.0), 0.25);
}

/* The largest spacing at any loss of a step. A convolution's window and rounding are those of its lattices at
 * the saddle or a little beyond, where wide splits of rare jumps have most of the mass; of a spectrum's small
 * tilt they have not. */
static double widest_split(const prv_profile *p, size_t first, size_t end, const prv_aim *aim,
                           prv_engine engine)
{
    if (engine == PRV_ENGINE_SPECTRUM) return PRV_WIDEST_CELL;
    const double least = (p->high[end - 1] - p->low[first]) / MOST_SPLITS;
    return fmin(fmax(WIDEST_SPLIT / aim->saddle, least), PRV_WIDEST_CELL);
}

/* Spacings wanted in each cell of a step's profile, nats: those at which the sum of the cells' errors is what
 * it is at the fewest knots of all steps together. Returns the least that is not an atom's. */
static double spacings(const prv_direction *direction, size_t j, const prv_aim *aim,
                       const prv_spacing *shared, const cell_laws *l, double *spacing)
{
    const prv_profile *p = &direction->profiles[j];
    const prv_features f = direction->features[j];
    const bool edge = has_edge(&f);
    const size_t first = direction->first[j], end = direction->end[j];
    const double split = most_split(aim), widest = widest_split(p, first, end, aim, shared->engine);
    double least = HUGE_VAL;
    fill_spacings(l->near + first, l->root + first, l->steep + first, end - first, shared->scale,
                  shared->scale * sqrt(shared->scale), spacing + first);
    for (size_t c = first; c < end; c++) {
        const double length = p->high[c] - p->low[c], wanted = spacing[c];
        double most = prv_vm_min(wanted, prv_vm_min(most_spacing(aim, split, p->center[c]), widest));
        if (!edge) most = prv_vm_min(most, 0.5 * length);
        spacing[c] = most;
        if (length > 0.0) least = prv_vm_min(least, wanted);
    }
    /* About an edge, cells of the profile are narrower than mesh cells, each of which is to be at most twice
     * as wide as the spacing wanted at any point of it. */
    for (size_t c = end; edge && c-- > first + 1;)
        spacing[c - 1] = prv_vm_min(spacing[c - 1], spacing[c] + 0.5 * (p->high[c - 1] - p->low[c - 1]));
    return least;
}

/* The error that the spacings of all steps may make, over that of a uniform mesh. */
static double error_share(prv_engine engine)
{
    return engine == PRV_ENGINE_SPECTRUM ? SPECTRUM_ERROR : CONVOLUTION_ERROR;
}

prv_status prv_mesh_of_step(const prv_direction *direction, size_t j, const prv_aim *aim,
                            const prv_spacing *shared, double memory_limit, double *scratch, prv_mesh *mesh,
                            prv_cells *cells, double *bytes)
{
    const double saddle = aim->saddle, lattice = shared->lattice;
    const prv_profile *p = &direction->profiles[j];
    const prv_features f = direction->features[j];
    const size_t first = direction->first[j], end = direction->end[j];
    double *spacing = scratch;
    const cell_laws laws = weigh_cells(direction, j, aim, shared, scratch);
    const double *weight = laws.weight;
    spacings(direction, j, aim, shared, &laws, spacing);
    for (size_t c = first; c < end; c++) spacing[c] /= lattice;

    const double greatest = prv_greatest_loss(direction->mechanisms[j], direction->add);
    const bool capped = direction->capped[j];
    double low = p->low[first], high = capped ? direction->cap[j] : fmin(p->high[end - 1], greatest);
    if (!f.anchor_is_atom && f.anchor < 0.0) low = fmax(low, f.anchor); /* an edge of the support */
    if (!f.anchor_is_atom && f.anchor > 0.0) high = fmin(high, f.anchor);
    /* Of a law much narrower than a step, all would lie above the last knot. */
    const double slack = 1e-6 * fmin((high - low) / lattice, 1.0);
    /* One knot below the lowest loss in use: what lies at or below the first knot is dropped from below, and
     * what lies just above it has nowhere to go. */
    const double bottom = floor((low - f.anchor) / lattice + slack) - 1.0;
    /* And one above the highest: rounding may place it on either side of its knot. */
    const double top = fmax(
        ceil((high - f.anchor) / lattice - slack) + (f.anchor_is_atom || capped ? 1.0 : 0.0), bottom + 1.0);
    if (!(fabs(bottom) < 0x1p52 && fabs(top) < 0x1p52)) return PRV_ERR_MEMORY_LIMIT;

    const double period = fmin(nearbyint(f.period / lattice), 0x1p60);
    size_t most = prv_size_of(fmin(memory_limit / PRV_BYTES_OF_KNOT, 0x1p48));
    const bool is_limited = shared->engine == PRV_ENGINE_SPECTRUM && !shared->exact && most > MOST_SUMMED;
    if (is_limited) most = MOST_SUMMED;
    const double narrowest = narrowest_cell(direction->mechanisms[j]);
    const bool convolves = shared->engine != PRV_ENGINE_SPECTRUM;
    mesh_builder b = {.anchor = f.anchor,
                      .spacing = lattice,
                      .on_knots = f.anchor_is_atom,
                      .period = (int64_t)period,
                      .narrowest = narrowest,
                      .beside = convolves,
                      .most_knots = most};
    /* Both engines take no time for lattice points without mass. */
    const prv_atoms *atoms = !shared->exact && prv_is_off_lattice(direction, j, shared->law)
                                 ? direction->mechanisms[j]->atoms[direction->add]
                                 : NULL;
    const double rest = atoms != NULL
                            ? walk_atoms(&b, atoms, p, first, end, weight, spacing, (int64_t)bottom,
                                         (int64_t)top)
                            : walk(&b, p, first, end, weight, spacing, (int64_t)bottom, (int64_t)top);
    if (b.knot_length > most && is_limited) return PRV_ERR_ENGINE;
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
    mesh->on_knots = f.anchor_is_atom && (convolves || atoms == NULL);
    mesh->may_shift = true;
    mesh->lone_atoms = convolves && atoms != NULL;
    mesh->keeps_top = capped;
    /* Where tops are counted, no lattice may have losses below its step's least one. */
    mesh->clears_bottom = prv_is_capped(direction);
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

/* The largest spacing of a uniform mesh whose error is that of the law, which is larger than the law's own
 * where most of the mass lies about an edge of the support. */
static double uniform_spacing(const prv_direction *direction, const prv_aim *aim, double *scratch,
                              const prv_spacing *shared)
{
    const double law = shared->law, widest = most_spacing(aim, most_split(aim), 0.0),
                 most = fmin(fmin(widest, PRV_WIDEST_CELL), MOST_COARSENING * law);
    double fits = law;
    for (double tried = COARSENING * law; tried <= most; tried *= COARSENING) {
        double sum = 0.0;
        for (size_t j = 0; j < direction->steps && sum <= law * law; j++)
            sum += mesh_error(direction, j, scratch, tried, shared->scale);
        if (sum > law * law) break;
        fits = tried;
    }
    return fits > law ? fmax(prv_align_spacing(direction, aim, fits, PRV_ENGINE_CONVOLUTION), law) : law;
}

/* A lattice halved until it is no coarser than `least`, but for a part of the law. */
static double halved(double lattice, double least, double law)
{
    while (lattice > least && lattice > 0x1p-24 * law) lattice *= 0.5;
    return lattice;
}

void prv_scale_meshes(const prv_direction *direction, const prv_aim *aim, double *scratch,
                      prv_spacing *shared)
{
    const double most = error_share(shared->engine) * shared->law * shared->law;
    double least = shared->law;
    shared->scale = shared->law;
    for (size_t j = 0; j < direction->steps; j++) weigh_cells(direction, j, aim, shared, scratch);
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0.0;
        for (size_t j = 0; j < direction->steps; j++)
            sum += mesh_error(direction, j, scratch, 0.0, shared->scale);
        if (!(sum > 0.0)) break;
        shared->scale *= sqrt(most / sum);
    }
    if (shared->exact) return;
    shared->convolved = uniform_spacing(direction, aim, scratch, shared);
    if (shared->engine != PRV_ENGINE_SPECTRUM) {
        shared->lattice = shared->convolved;
        return;
    }
    for (size_t j = 0; j < direction->steps; j++) {
        const cell_laws laws = laws_of(direction, j, scratch);
        least = fmin(least, spacings(direction, j, aim, shared, &laws, scratch));
    }
    const double fine = prv_fine_about_atoms(direction, aim, shared->law);
    const double narrowest = 2.0 * prv_narrowest_spacing(direction);
    shared->coarsest = halved(shared->lattice, fmax(fine, narrowest), shared->law);
    shared->lattice = halved(shared->lattice, fmax(fmin(least, fine), narrowest), shared->law);
}

/* Most cells with less weight than this lie below the meshes. */
#define LEAST_WEIGHT 1e-9

double prv_expected_knots(const prv_direction *direction, const prv_aim *aim, double spacing,
                          prv_engine engine, double *scratch)
{
    prv_spacing shared = {
        .lattice = spacing, .law = spacing, .count = direction->all.count, .exact = true, .engine = engine};
    prv_scale_meshes(direction, aim, scratch, &shared);
    double knots = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const cell_laws laws = laws_of(direction, j, scratch);
        double *spacing_of = scratch;
        spacings(direction, j, aim, &shared, &laws, spacing_of);
        for (size_t c = direction->first[j]; c < direction->end[j]; c++)
            if (laws.weight[c] > LEAST_WEIGHT && p->high[c] > p->low[c])
                knots += (p->high[c] - p->low[c]) / spacing_of[c];
    }
    return knots;
}
