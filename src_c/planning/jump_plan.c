#include "planning/jump_plan.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"

/* Parts of the variance that the width allows, of bulk and jumps, and of the merged atoms that stand for
 * bulks in the place of jumps (JUMPS.md, section 3). */
#define PART_OF_BULK 0.45
#define PART_OF_JUMPS 0.45
#define PART_OF_MERGED 0.2

/* The part of the width that chords between the knots about epsilon may take. */
#define PART_OF_CHORD 0.2

/* Knots of the bulk are no farther apart than this part of their distance from the least loss. */
#define FINENESS 8.0

/* The recursion of positive_power.h begins at a double. */
#define MOST_MOVES 650.0

/* nats: e^top and its inverse are doubles. */
#define HIGHEST_TOP 600.0
/* Parts of a lower one would be subnormal, which steps that shrink by a factor stick in. */
#define LOWEST_TOP 1e-280

/* If losses are off by more than this part of themselves, rounding is all that counts. */
#define MOST_LOSS_ERROR 1e-9

/* Lattices with more points cost more than any engine. */
#define MOST_POINTS 1e6

/* The bulk alone is taken to make up for no more than this part of epsilon. */
#define LARGEST_PART 0.99

/* Jumps begin at this point of their lattice, so that the first cells are small against the cut. Even. */
#define FIRST_JUMP 4

/* Discrete losses. From below, an atom goes to the lattice point below it, or merges with others, for which
 * jumps may take this part of the width; merged, it moves by this part of the spacing of the bulk on average.
 */
#define PART_OF_FLOORS 0.35
#define MEAN_MOVE 0.25
/* Fewer jumps than this are not worth a coarser lattice; and cuts are tried from this part of the top on. */
#define LEAST_JUMPS 2.0
#define HIGHEST_CUT 0.9
/* The lattices begin so many times as far below the least atom as atoms may lie above a knot and count as on
 * it. */
#define BELOW_ATOMS 4.0

static double least_loss(const prv_direction *d)
{
    return prv_lowest_loss(d->mechanisms[0], d->add);
}

/* The losses of discrete noise; NULL of a law with a density. */
static const prv_atoms *atoms_of(const prv_direction *d)
{
    const prv_mechanism *m = d->mechanisms[0];
    return m->base == PRV_BASE_ATOMS ? m->atoms[d->add] : NULL;
}

bool prv_may_count_jumps(const prv_direction *d)
{
    if (d->steps != 1 || d->all.infinite.high > 0.0) return false;
    const prv_mechanism *m = d->mechanisms[0];
    if (!isfinite(least_loss(d)) || !(d->counts[0] < 0x1p31)) return false;
    const prv_atoms *a = atoms_of(d);
    if (a != NULL)
        return a->length > 1 && a->p_only == 0.0 && a->p_only_error == 0.0 && a->mass_error == 0.0 &&
               a->loss_error < MOST_LOSS_ERROR;
    return (m->base == PRV_BASE_GAUSSIAN || m->base == PRV_BASE_MIXTURE) && !m->folded;
}

/* Where S is 0, and the top above it, nats. An atom at the least loss would lie in no inner cell: of discrete
 * losses, lattices begin a little below. */
typedef struct frame {
    double least, top;
} frame;

static frame frame_of(const prv_direction *d, double epsilon)
{
    const double count = d->counts[0], least = least_loss(d);
    frame f = {least, epsilon - count * least};
    const prv_atoms *a = atoms_of(d);
    if (a == NULL) return f;
    const double below = BELOW_ATOMS * (8.0 * PRV_UNIT + a->loss_error) * (fabs(least) + fabs(f.top));
    f.least -= below;
    f.top += count * below;
    return f;
}

/* The cells of the profile up to the top: losses S above the least one, in order, and sums over the cells
 * below. */
typedef struct view {
    size_t length;
    double *loss;                /* [length] */
    double *sum, *mean, *square; /* [length + 1] of weight, weight S, weight S^2: the weight is about what a
                                    variance that is added to such a loss counts, over all runs */
} view;

/* The part of one run's mass above x, and its part of delta at x. */
typedef struct above {
    size_t first;
    double mass, relative; /* of the cells from `first` on: sums of q and of q e^-s */
} above;

static double loss_of(const prv_profile *p, double least, size_t i)
{
    return fmax(p->center[i] - least, 0.0);
}

static void extend(const prv_profile *p, double least, double x, above *a)
{
    while (a->first > 0 && loss_of(p, least, a->first - 1) > x) {
        a->first--;
        a->mass += p->mass[a->first];
        a->relative += p->mass[a->first] * exp(-loss_of(p, least, a->first));
    }
}

void prv_jump_guess(const prv_direction *d, double log_delta, double *epsilon, double *slope)
{
    const prv_profile *p = &d->profiles[0];
    const double least = least_loss(d), delta = exp(log_delta) / d->counts[0];
    above a = {p->length, 0.0, 0.0};
    while (a.first > 0) {
        const double s = loss_of(p, least, a.first - 1);
        if (a.mass - exp(s) * a.relative >= delta) break;
        extend(p, least, s * (1.0 - 1e-12) - 1e-300, &a);
    }
    const double jump = a.mass > delta ? fmax(log((a.mass - delta) / a.relative), 0.0) : 0.0;
    double mean = 0.0;
    for (size_t i = 0; i < p->length && loss_of(p, least, i) < 0.5 * jump; i++)
        mean += d->counts[0] * p->mass[i] * loss_of(p, least, i);
    *epsilon = jump + mean + d->counts[0] * least;
    *slope = exp(jump) * a.relative / delta;
}

/* The part of delta at x that one jump makes. */
static double one_jump(const above *a, double x)
{
    return fmax(a->mass - exp(x) * a->relative, 0.0);
}

/* What all losses below half of a jump sum to on average, if a jump makes up for the rest of `top`. */
static double mean_of_bulk(const prv_direction *d, double least, double top)
{
    const prv_profile *p = &d->profiles[0];
    double mean = 0.0;
    for (int round = 0; round < 2; round++) {
        const double half = 0.5 * fmax(top - mean, 0.0);
        mean = 0.0;
        for (size_t i = 0; i < p->length && loss_of(p, least, i) < half; i++)
            mean += d->counts[0] * p->mass[i] * loss_of(p, least, i);
    }
    return fmin(mean, LARGEST_PART * top);
}

/* A loss s leaves epsilon - s to the others: what counts is their delta over that of all, by the slope or by
 * one more jump, whichever is less. Of the weights of one run, no more than 1 in all are its tilted law. */
static prv_status view_new(const prv_direction *d, const prv_jump_aim *aim, frame f, view *v)
{
    const prv_profile *p = &d->profiles[0];
    const double least = f.least, top = f.top;
    v->loss = prv_allocate(4 * p->length + 3, sizeof *v->loss);
    if (v->loss == NULL) return PRV_ERR_MEMORY;
    v->sum = v->loss + p->length;
    v->mean = v->sum + p->length + 1;
    v->square = v->mean + p->length + 1;
    above a = {p->length, 0.0, 0.0};
    const double reach = top - mean_of_bulk(d, least, top);
    extend(p, least, reach, &a);
    /* If no jump makes up delta alone, one more is no measure of what others count. */
    const double alone = one_jump(&a, reach), most = exp(-aim->log_delta);
    size_t n = 0;
    v->sum[0] = v->mean[0] = v->square[0] = 0.0;
    for (; n < p->length && loss_of(p, least, n) < top; n++) {
        const double s = loss_of(p, least, n);
        const double left = fmax(reach - s, 0.0);
        extend(p, least, left, &a);
        const double more = alone > 0.0 ? one_jump(&a, left) / fmax(alone, 1e-300) : HUGE_VAL;
        const double weight = p->mass[n] * fmin(exp(fmin(aim->slope * s, 700.0)), fmin(more, most));
        v->loss[n] = s;
        v->sum[n + 1] = v->sum[n] + weight;
        v->mean[n + 1] = v->mean[n] + weight * s;
        v->square[n + 1] = v->square[n] + weight * s * s;
    }
    v->length = n;
    const double all = d->counts[0] / fmax(v->sum[n], 1.0);
    for (size_t i = 0; i <= n; i++) {
        v->sum[i] *= all;
        v->mean[i] *= all;
        v->square[i] *= all;
    }
    return PRV_OK;
}

/* The number of cells with losses up to x. */
static size_t cells_to(const view *v, double x)
{
    size_t low = 0, high = v->length;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (v->loss[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The variance that cells of width h add to losses up to `cut` by spreading them to their ends: s (h - s)
 * where the loss s lies in the first cell, else h^2 / 6. */
static double added_to_bulk(const view *v, double cut, double h)
{
    const size_t first = cells_to(v, fmin(h, cut)), end = cells_to(v, cut);
    return h * v->mean[first] - v->square[first] + (v->sum[end] - v->sum[first]) * h * h / 6.0;
}

/* The same for jumps above `cut`, in cells of a part of their loss, but no wider than `widest`. */
static double added_to_jumps(const view *v, double cut, double widest)
{
    const double part = 2.0 / FIRST_JUMP;
    const size_t first = cells_to(v, cut), wide = cells_to(v, fmax(widest / part, cut));
    return ((v->square[wide] - v->square[first]) * part * part +
            (v->sum[v->length] - v->sum[wide]) * widest * widest) /
           6.0;
}

static double step_of_bulk(const view *v, double cut, double most)
{
    double h = cut;
    while (h > cut * 1e-5 && added_to_bulk(v, cut, h) > most) h *= 0.85;
    return h;
}

/* Products of a power of so many terms up to `length`. The recursion begins at e^-moves, with `moves` the
 * losses in a first cell of width h that its lower end does not take, and those above. */
static double power_work(double count, double length, double terms, double moves)
{
    if (length > count + 1.0) return length * (0.25 * length + terms) * log2(count + 1.0);
    const double squarings = fmax(ceil(log2(moves / MOST_MOVES)), 0.0);
    return length * (terms + 32.0) + squarings * length * (0.25 * length + terms);
}

static double moves_of(const view *v, double cut, double h)
{
    const size_t first = cells_to(v, fmin(h, cut)), end = cells_to(v, cut);
    return v->mean[first] / h + v->sum[end] - v->sum[first];
}

/* What the steps are chosen for; nats. */
typedef struct goal {
    double count, top;
    double variance; /* that the width allows */
    double width;    /* nats of epsilon */
    double widest;   /* cells about epsilon, where the curve is a chord between knots */
    double reach;    /* of sums that matter */
    double log_lost; /* -log of what may be lost, at least 0 */
} goal;

/* Both lattices of a step, or one. */
typedef struct steps {
    double bulk;   /* nats: the spacing of the bulk's lattice */
    double cut;    /* nats; 0 if the bulk has all losses */
    double widest; /* nats: of cells of jumps */
    double work;   /* products, about */
} steps;

/* One lattice, whose cells grow from its spacing to the widest. */
static steps steps_together(const view *v, const goal *g)
{
    steps s = {0.0, 0.0, g->widest, 0.0};
    s.bulk = fmin(step_of_bulk(v, g->top, (PART_OF_BULK + PART_OF_JUMPS) * g->variance), g->widest);
    const double terms = FINENESS * log2(g->widest / s.bulk + 2.0) + g->top / g->widest;
    s.work = power_work(g->count, g->reach / s.bulk, terms, moves_of(v, g->top, s.bulk));
    return s;
}

/* Two lattices with this cut; work is infinite if they add too much variance. The bulk reaches as far as
 * Bernstein's inequality says. */
static steps steps_apart(const view *v, const goal *g, double most_jumps, double cut)
{
    steps s = {0.0, cut, g->widest, HUGE_VAL};
    const size_t bulk = cells_to(v, cut);
    if (fmin(most_jumps / g->count, 1.0) * v->square[bulk] > PART_OF_MERGED * g->variance) return s;
    /* The first cells are a part of the cut wide. */
    while (added_to_jumps(v, cut, s.widest) > PART_OF_JUMPS * g->variance) s.widest *= 0.8;
    if (s.widest < 2.0 * cut / FIRST_JUMP) return s;
    s.bulk = step_of_bulk(v, cut, PART_OF_BULK * g->variance);
    const double spread = sqrt(2.0 * g->log_lost * v->square[bulk]) + g->log_lost * cut / 3.0;
    const double terms = g->top / s.widest + FIRST_JUMP * fmax(log2(s.widest / cut), 0.0);
    s.work = power_work(g->count, (v->mean[bulk] + spread) / s.bulk, FINENESS * log2(cut / s.bulk + 2.0),
                        moves_of(v, cut, s.bulk)) +
             power_work(g->count * FIRST_JUMP, g->reach * FIRST_JUMP / cut, terms, 0.0);
    return s;
}

/* The same of discrete losses: an atom has a cell of its own, of one spacing. From above it is split to both
 * ends, and from below moved, by merging it with others that lie about as far away as the least loss. */
static double added_to_atoms(const view *v, double cut, double h)
{
    const size_t first = cells_to(v, fmin(h, cut)), end = cells_to(v, cut);
    return h * v->mean[first] - v->square[first] + (v->sum[end] - v->sum[first]) * h * h / 6.0 +
           MEAN_MOVE * h * (v->mean[end] - v->mean[first]);
}

static steps steps_of_atoms(const view *v, const goal *g, double most_jumps, double cut)
{
    steps s = {cut, cut, 0.0, HUGE_VAL};
    const size_t bulk = cells_to(v, cut);
    if (fmin(most_jumps / g->count, 1.0) * v->square[bulk] > PART_OF_MERGED * g->variance) return s;
    const double jumps = fmax(v->sum[v->length] - v->sum[bulk], LEAST_JUMPS);
    if (cut > PRV_WIDEST_CELL) return s;
    s.widest = fmin(
        fmin(2.0 * PART_OF_FLOORS * g->width / jumps, sqrt(PART_OF_JUMPS * 6.0 * g->variance / jumps)),
        fmin(g->widest, cut));
    while (s.bulk > cut * 1e-5 && added_to_atoms(v, cut, s.bulk) > PART_OF_BULK * g->variance) s.bulk *= 0.85;
    const double spread = sqrt(2.0 * g->log_lost * v->square[bulk]) + g->log_lost * cut / 3.0;
    const double terms = 2.0 * (double)(bulk - cells_to(v, fmin(s.bulk, cut))) + 2.0;
    const double all = v->mean[v->length] + sqrt(2.0 * g->log_lost * v->square[v->length]) +
                       g->log_lost * g->top / 3.0;
    s.work = power_work(g->count, (v->mean[bulk] + spread) / s.bulk, terms, moves_of(v, cut, s.bulk)) +
             power_work(g->count * cut / s.widest, fmin(g->reach, all) / s.widest,
                        2.0 * (double)(v->length - bulk) + 1.0, 0.0);
    return s;
}

/* The cheapest. */
static steps choose_steps(const view *v, const prv_jump_aim *aim, double count, double top, bool of_atoms)
{
    const double part = -log(fmin(0.02 * aim->slope * aim->width, 0.02));
    const goal g = {count,
                    top,
                    1.3 * aim->width / (aim->slope + 1.0),
                    aim->width,
                    fmin(sqrt(PART_OF_CHORD * 8.0 * aim->width / aim->slope), top / 8.0),
                    top + 0.8 * part / aim->slope,
                    part - aim->log_delta};
    if (of_atoms) {
        steps cheapest = {0.0, 0.0, 0.0, HUGE_VAL};
        for (double cut = HIGHEST_CUT * top; cut > 1e-7 * top; cut *= 0.75) {
            const steps s = steps_of_atoms(v, &g, aim->most_jumps, cut);
            if (s.work < cheapest.work) cheapest = s;
        }
        return cheapest;
    }
    steps best = steps_together(v, &g);
    for (double cut = 0.5 * FIRST_JUMP * g.widest; cut > 1e-5 * top; cut *= 0.75) {
        const steps s = steps_apart(v, &g, aim->most_jumps, cut);
        if (s.work < best.work) best = s;
    }
    return best;
}

/* Knots from `first` to at least `last`, by multiples of `unit`, no farther apart than `widest` and than a
 * part of their index: fills index where it is not NULL, and returns how many. */
static size_t knots_between(int64_t first, int64_t last, int64_t unit, double widest, double fineness,
                            int64_t *index)
{
    size_t n = 0;
    int64_t at = first, apart = unit;
    for (;; at += apart) {
        if (index != NULL) index[n] = at;
        n++;
        if (at >= last) return n;
        while (2.0 * (double)apart <= fmin(widest, (double)at / fineness)) apart *= 2;
    }
}

/* The place of the bulk merged into one atom: above the least loss. */
static prv_status carried_by(const prv_direction *d, double least, double cut, double *carried)
{
    prv_cells cells;
    prv_status status = prv_cells_new(2, &cells);
    if (status != PRV_OK) return status;
    cells.knots[0] = least;
    cells.knots[1] = least + cut;
    status = prv_cells_compute(d->mechanisms[0], d->add, PRV_DOMINATED, &cells);
    if (status == PRV_OK)
        *carried = fmin(fmax(-log1p(-fmax(cells.mass[1] - cells.relative[1], 0.0) / cells.mass[1]), 0.0),
                        0.9 * cut);
    prv_cells_free(&cells);
    return status;
}

/* One lattice of this spacing. */
static prv_status mesh_together(double spacing, double top, double widest, prv_jump_mesh *mesh)
{
    const double last = ceil(top / spacing);
    if (!(last < MOST_POINTS)) return PRV_ERR_ENGINE;
    const size_t length = knots_between(0, (int64_t)last, 1, widest / spacing, FINENESS, NULL);
    const prv_status status = prv_jump_mesh_new(length, 0, mesh);
    if (status != PRV_OK) return status;
    knots_between(0, (int64_t)last, 1, widest / spacing, FINENESS, mesh->bulk_index);
    mesh->bulk_spacing = spacing;
    return PRV_OK;
}

/* Knots on either side of each atom between the first and the last, and these two: fills index where it is
 * not NULL, and returns how many. Points are offset + spacing * index. */
static size_t knots_about_atoms(const prv_atoms *a, double offset, double spacing, int64_t first,
                                int64_t last, int64_t *index)
{
    size_t n = 0;
    int64_t highest = first;
    if (index != NULL) index[n] = first;
    n++;
    for (size_t i = 0; i < a->length && highest < last; i++) {
        const double place = floor((a->loss[i] - offset) / spacing);
        if (!(place >= (double)first)) continue;
        if (!(place < (double)last)) break;
        for (int64_t at = (int64_t)place; at <= (int64_t)place + 1; at++) {
            if (at <= highest) continue;
            if (index != NULL) index[n] = at;
            n++;
            highest = at;
        }
    }
    if (highest == last) return n;
    if (index != NULL) index[n] = last;
    return n + 1;
}

static prv_status mesh_of_atoms(const prv_direction *d, frame f, const steps *s, prv_jump_mesh *mesh)
{
    double carried;
    const prv_atoms *a = atoms_of(d);
    const double cells = ceil(s->cut / s->bulk);
    prv_status status = carried_by(d, f.least, s->cut, &carried);
    if (status != PRV_OK) return status;
    const double first = ceil((s->cut - carried) / s->widest), jump_spacing = (s->cut - carried) / first;
    const double last = fmax(ceil((f.top - carried) / jump_spacing), first) + 1.0;
    if (!(last < MOST_POINTS && cells < MOST_POINTS)) return PRV_ERR_ENGINE;
    const double bulk_spacing = s->cut / cells, offset = f.least + carried;
    const size_t bulk = knots_about_atoms(a, f.least, bulk_spacing, 0, (int64_t)cells, NULL);
    const size_t jumps = knots_about_atoms(a, offset, jump_spacing, (int64_t)first, (int64_t)last, NULL);
    status = prv_jump_mesh_new(bulk, jumps, mesh);
    if (status != PRV_OK) return status;
    knots_about_atoms(a, f.least, bulk_spacing, 0, (int64_t)cells, mesh->bulk_index);
    knots_about_atoms(a, offset, jump_spacing, (int64_t)first, (int64_t)last, mesh->jump_index);
    mesh->bulk_spacing = bulk_spacing;
    mesh->jump_spacing = jump_spacing;
    mesh->carried = carried;
    mesh->on_knots = true;
    return PRV_OK;
}

static prv_status mesh_apart(const prv_direction *d, double spacing, double cut, double top, double widest,
                             prv_jump_mesh *mesh)
{
    double carried;
    const int64_t first = FIRST_JUMP, cells = (int64_t)ceil(cut / spacing);
    prv_status status = carried_by(d, least_loss(d), cut, &carried);
    if (status != PRV_OK) return status;
    const double jump_spacing = (cut - carried) / (double)first, last = ceil((top - carried) / jump_spacing);
    if (!(last < MOST_POINTS)) return PRV_ERR_ENGINE;
    const double bulk_widest = (double)cells / FINENESS, jump_widest = widest / jump_spacing;
    /* A last cell need not end at the cut. */
    size_t bulk = knots_between(0, cells, 1, bulk_widest, FINENESS, NULL);
    const size_t jumps = knots_between(first, (int64_t)last, 2, jump_widest, 0.5 * FIRST_JUMP, NULL);
    status = prv_jump_mesh_new(bulk, jumps, mesh);
    if (status != PRV_OK) return status;
    knots_between(0, cells, 1, bulk_widest, FINENESS, mesh->bulk_index);
    knots_between(first, (int64_t)last, 2, jump_widest, 0.5 * FIRST_JUMP, mesh->jump_index);
    mesh->bulk_spacing = cut / (double)mesh->bulk_index[bulk - 1];
    mesh->jump_spacing = jump_spacing;
    mesh->carried = carried;
    return PRV_OK;
}

double prv_jump_work(const prv_direction *d, const prv_jump_aim *aim)
{
    const frame f = frame_of(d, aim->epsilon);
    view v;
    if (!(f.top >= LOWEST_TOP && f.top <= HIGHEST_TOP) || view_new(d, aim, f, &v) != PRV_OK) return HUGE_VAL;
    const steps s = choose_steps(&v, aim, d->counts[0], f.top, atoms_of(d) != NULL);
    prv_release(v.loss);
    return s.work;
}

prv_status prv_jump_plan(const prv_direction *d, const prv_jump_aim *aim, prv_jump_mesh *mesh)
{
    const frame f = frame_of(d, aim->epsilon);
    const bool of_atoms = atoms_of(d) != NULL;
    view v;
    if (!(f.top >= LOWEST_TOP && f.top <= HIGHEST_TOP)) return PRV_ERR_ENGINE;
    prv_status status = view_new(d, aim, f, &v);
    if (status != PRV_OK) return status;
    const steps s = choose_steps(&v, aim, d->counts[0], f.top, of_atoms);
    if (of_atoms)
        status = isfinite(s.work) ? mesh_of_atoms(d, f, &s, mesh) : PRV_ERR_ENGINE;
    else
        status = s.cut > 0.0 ? mesh_apart(d, s.bulk, s.cut, f.top, s.widest, mesh)
                             : mesh_together(s.bulk, f.top, s.widest, mesh);
    if (status != PRV_OK) goto done;
    mesh->least = f.least;
    mesh->tilt = aim->slope;
done:
    prv_release(v.loss);
    return status;
}
