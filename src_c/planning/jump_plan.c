#include "planning/jump_plan.h"

#include <math.h>

#include "base/allocate.h"
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

/* Bulks of fewer points are not worth a lattice of their own. */
#define FEWEST_POINTS 4.0

/* nats: e^top and its inverse are doubles. */
#define HIGHEST_TOP 600.0

/* Lattices with more points cost more than any engine. */
#define MOST_POINTS 1e6

/* Jumps begin at this point of their lattice, so that the first cells are small against the cut. Even. */
#define FIRST_JUMP 4

static double least_loss(const prv_direction *d)
{
    return -prv_greatest_loss(d->mechanisms[0], !d->add);
}

bool prv_may_count_jumps(const prv_direction *d)
{
    if (d->steps != 1 || d->all.infinite.high > 0.0) return false;
    const prv_mechanism *m = d->mechanisms[0];
    /* An atom at the least loss would lie in no inner cell. */
    return m->base == PRV_BASE_GAUSSIAN && !m->folded && isfinite(least_loss(d)) && d->counts[0] < 0x1p31;
}

/* The cells of the profile up to the top. */
typedef struct view {
    size_t length;
    double *loss;   /* [length] S, above the least loss */
    double *weight; /* [length] about what a variance that is added to such a loss counts, over all runs */
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

/* A loss s leaves epsilon - s to the others: what counts is their delta over that of all, by the slope or by
 * one more jump, whichever is less. Of the weights of one run, no more than 1 in all are its tilted law. */
static prv_status view_new(const prv_direction *d, const prv_jump_aim *aim, double top, view *v)
{
    const prv_profile *p = &d->profiles[0];
    const double least = least_loss(d);
    v->loss = prv_allocate(2 * p->length + 1, sizeof *v->loss);
    if (v->loss == NULL) return PRV_ERR_MEMORY;
    v->weight = v->loss + p->length;
    above a = {p->length, 0.0, 0.0};
    extend(p, least, top, &a);
    const double alone = fmax(one_jump(&a, top), 1e-300);
    double sum = 0.0;
    size_t n = 0;
    for (; n < p->length && loss_of(p, least, n) < top; n++) {
        const double s = loss_of(p, least, n);
        extend(p, least, top - s, &a);
        v->loss[n] = s;
        v->weight[n] = p->mass[n] * fmin(exp(fmin(aim->slope * s, 700.0)),
                                         fmin(one_jump(&a, top - s) / alone, exp(-aim->log_delta)));
        sum += v->weight[n];
    }
    v->length = n;
    for (size_t i = 0; i < n; i++) v->weight[i] *= d->counts[0] / fmax(sum, 1.0);
    return PRV_OK;
}

/* The variance that cells of width h add to a loss s by spreading it to their ends. */
static double spread(double s, double h)
{
    return s < h ? s * (h - s) : h * h / 6.0;
}

/* That of all losses in (low, high]. */
static double added(const view *v, double low, double high, double h)
{
    double sum = 0.0;
    for (size_t i = 0; i < v->length && v->loss[i] <= high; i++)
        if (v->loss[i] > low) sum += v->weight[i] * spread(v->loss[i], h);
    return sum;
}

static double bulk_variance(const view *v, double cut)
{
    double sum = 0.0;
    for (size_t i = 0; i < v->length && v->loss[i] <= cut; i++) sum += v->weight[i] * v->loss[i] * v->loss[i];
    return sum;
}

/* The greatest width of cells of jumps, which begin half a width above the least loss, about. */
static double step_of_jumps(const view *v, double greatest, double top, double most)
{
    double h = greatest;
    while (h > top * 1e-5 && added(v, 0.5 * h, top, h) > most) h *= 0.9;
    return h;
}

static double step_of_bulk(const view *v, double cut, double most)
{
    double h = cut;
    while (h > cut * 1e-5 && added(v, 0.0, cut, h) > most) h *= 0.85;
    return h;
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

/* The step of the bulk's lattice, the cut (0 if one lattice is enough), and the widest cell of jumps. */
static void choose_steps(const view *v, const prv_jump_aim *aim, double count, double top, double *bulk,
                         double *cut, double *widest)
{
    const double variance = 1.3 * aim->width / (aim->slope + 1.0);
    /* Between the knots about epsilon the curve is a chord. */
    const double greatest = fmin(sqrt(PART_OF_CHORD * 8.0 * aim->width / aim->slope), top / 8.0);
    *widest = step_of_jumps(v, greatest, top, PART_OF_JUMPS * variance);
    *cut = 2.0 * *widest;
    *bulk = step_of_bulk(v, *cut, PART_OF_BULK * variance);
    /* The more jumps among the runs, the smaller a bulk. */
    const double part = fmin(aim->most_jumps / count, 1.0);
    while (*cut > FEWEST_POINTS * *bulk && part * bulk_variance(v, *cut) > PART_OF_MERGED * variance) {
        *cut *= 0.8;
        *bulk = step_of_bulk(v, *cut, PART_OF_BULK * variance);
    }
    if (!(*cut > FEWEST_POINTS * *bulk)) *cut = 0.0;
}

/* One lattice of this step. */
static prv_status mesh_together(double step, double top, double widest, prv_jump_mesh *mesh)
{
    const double last = ceil(top / step);
    if (!(last < MOST_POINTS)) return PRV_ERR_ENGINE;
    const size_t length = knots_between(0, (int64_t)last, 1, widest / step, FINENESS, NULL);
    const prv_status status = prv_jump_mesh_new(length, 0, mesh);
    if (status != PRV_OK) return status;
    knots_between(0, (int64_t)last, 1, widest / step, FINENESS, mesh->bulk_index);
    mesh->bulk_step = step;
    return PRV_OK;
}

static prv_status mesh_apart(const prv_direction *d, double step, double cut, double top, double widest,
                             prv_jump_mesh *mesh)
{
    double carried;
    const int64_t first = FIRST_JUMP, cells = (int64_t)ceil(cut / step);
    prv_status status = carried_by(d, least_loss(d), cut, &carried);
    if (status != PRV_OK) return status;
    const double jump_step = (cut - carried) / (double)first, last = ceil((top - carried) / jump_step);
    if (!(last < MOST_POINTS)) return PRV_ERR_ENGINE;
    const double bulk_widest = (double)cells / FINENESS, jump_widest = widest / jump_step;
    /* A last cell need not end at the cut. */
    size_t bulk = knots_between(0, cells, 1, bulk_widest, FINENESS, NULL);
    const size_t jumps = knots_between(first, (int64_t)last, 2, jump_widest, 0.5 * FIRST_JUMP, NULL);
    status = prv_jump_mesh_new(bulk, jumps, mesh);
    if (status != PRV_OK) return status;
    knots_between(0, cells, 1, bulk_widest, FINENESS, mesh->bulk_index);
    knots_between(first, (int64_t)last, 2, jump_widest, 0.5 * FIRST_JUMP, mesh->jump_index);
    mesh->bulk_step = cut / (double)mesh->bulk_index[bulk - 1];
    mesh->jump_step = jump_step;
    mesh->carried = carried;
    return PRV_OK;
}

/* Products of a power of so many terms up to `length`. */
static double power_work(double count, double length, double terms)
{
    return length <= count + 1.0 ? length * (terms + 32.0) : 0.25 * length * length * log2(count);
}

double prv_jump_work(const prv_direction *d, const prv_jump_aim *aim)
{
    const double count = d->counts[0], top = aim->epsilon - count * least_loss(d);
    view v;
    if (!(top > 0.0 && top <= HIGHEST_TOP) || view_new(d, aim, top, &v) != PRV_OK) return HUGE_VAL;
    double bulk, cut, widest;
    choose_steps(&v, aim, count, top, &bulk, &cut, &widest);
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < v.length && v.loss[i] <= cut; i++) {
        mean += v.weight[i] * v.loss[i];
        square += v.weight[i] * v.loss[i] * v.loss[i];
    }
    prv_release(v.loss);
    if (cut > 0.0)
        return power_work(count, (mean + 6.0 * sqrt(square) + cut) / bulk, FINENESS * log2(cut / bulk)) +
               power_work(count * FIRST_JUMP, 1.3 * top / cut * FIRST_JUMP,
                          top / widest + FIRST_JUMP * fmax(log2(widest / cut), 0.0));
    return power_work(count, 1.3 * top / bulk, FINENESS * log2(widest / bulk + 2.0) + top / widest);
}

prv_status prv_jump_plan(const prv_direction *d, const prv_jump_aim *aim, prv_jump_mesh *mesh)
{
    const double least = least_loss(d), count = d->counts[0], top = aim->epsilon - count * least;
    view v;
    if (!(top > 0.0 && top <= HIGHEST_TOP)) return PRV_ERR_ENGINE;
    prv_status status = view_new(d, aim, top, &v);
    if (status != PRV_OK) return status;
    double bulk, cut, widest;
    choose_steps(&v, aim, count, top, &bulk, &cut, &widest);
    status = cut > 0.0 ? mesh_apart(d, bulk, cut, top, widest, mesh) : mesh_together(bulk, top, widest, mesh);
    if (status != PRV_OK) goto done;
    mesh->least = least;
    mesh->tilt = aim->slope;
done:
    prv_release(v.loss);
    return status;
}
