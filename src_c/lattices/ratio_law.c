#include "lattices/ratio_law.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/wide.h"
#include "lattices/lattice.h"
#include "lattices/merging.h"
#include "lattices/ratio_merging.h"

/* ---- Laws ------------------------------------------------------------------------------------ */

static prv_status law_new(size_t length, prv_ratio_law *law)
{
    memset(law, 0, sizeof *law);
    law->length = length;
    law->null = prv_allocate(length, sizeof *law->null);
    if (law->null == NULL) return PRV_ERR_MEMORY;
    memset(law->null, 0, length * sizeof *law->null);
    return PRV_OK;
}

void prv_ratio_law_free(prv_ratio_law *law)
{
    prv_release(law->null);
    prv_release(law->at);
    memset(law, 0, sizeof *law);
}

/* Towards larger R is the safe side. */
static bool is_up_safe(const prv_ratio_side *s)
{
    return (s->side == PRV_DOMINATING) != s->add;
}

static double point(const prv_ratio_law *law, size_t i)
{
    if (law->at != NULL) return law->at[i];
    return law->offset + law->step * (double)(law->first + (int64_t)i);
}

/* The special measure's mass of a point: e^x is off by its own rounding and that of x. */
static double special(const prv_ratio_law *law, size_t i)
{
    return law->null[i] > 0.0 ? law->null[i] * exp(point(law, i)) : 0.0;
}

static double special_error(const prv_ratio_law *law)
{
    const double reach = fmax(fabs(point(law, 0)), fabs(point(law, law->length - 1)));
    return PRV_UNIT * (8.0 + 4.0 * (reach + fabs(law->offset)));
}

/* The null measure's mass, less 1: at most this, or at least. */
static double beyond_one(const prv_ratio_law *law, bool at_most)
{
    prv_wide sum = prv_wide_add(prv_wide_of(-1.0), prv_wide_of(law->zero));
    for (size_t i = law->length; i-- > 0;) sum = prv_wide_add(sum, prv_wide_of(law->null[i]));
    const double value = prv_wide_value(sum);
    const double error = 2.0 * PRV_WIDE_UNIT * (double)(law->length + 2) + 2.0 * PRV_UNIT * fabs(value);
    return at_most ? value + error : value - error;
}

double prv_ratio_variance(const prv_ratio_law *law)
{
    double mass = 0.0, mean = 0.0, square = 0.0;
    for (size_t i = 0; i < law->length; i++) {
        const double x = point(law, i) - point(law, 0);
        mass += law->null[i];
        mean += law->null[i] * x;
        square += law->null[i] * x * x;
    }
    mean /= mass;
    return fmax(square / mass - mean * mean, 0.0);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* Points from `first` on, before `end`, are kept. */
typedef struct kept {
    size_t first, end;
} kept;

/* At either end, as many points as have no more mass than may be lost there. */
static kept choose_ends(const prv_ratio_law *law, const prv_ratio_side *s)
{
    kept k = {0, law->length};
    double low = 0.0, high = 0.0;
    const double low_limit = s->add ? s->cut : s->low_cut, high_limit = s->add ? s->low_cut : s->cut;
    while (k.first + 2 < k.end) {
        low += s->add ? law->null[k.first] : special(law, k.first);
        if (low > low_limit) break;
        k.first++;
    }
    while (k.first + 2 < k.end) {
        high += special(law, k.end - 1);
        if (high > high_limit) break;
        k.end--;
    }
    return k;
}

/* Mass at the ends of a dominating law moves to an infinite loss at one end, and to the last point that is
 * kept at the other, which is its safe side. */
static void cut_dominating(prv_ratio_law *law, const kept *k, const prv_ratio_side *s)
{
    for (size_t i = 0; i < k->first; i++) *(s->add ? &law->zero : &law->null[k->first]) += law->null[i];
    const double error = 1.0 + special_error(law) + 4.0 * PRV_UNIT;
    for (size_t i = law->length; i-- > k->end;) {
        if (!s->add) law->infinite += special(law, i) * error;
        law->null[k->end - 1] += law->null[i];
    }
}

/* Mass at the ends of a dominated law is merged, or moved to the safe side: at small R dropped, as R = 0
 * ('remove'), or moved up to the first point; at large R put on the point on the safe side of its mean. */
static void cut_dominated(prv_ratio_law *law, kept *k, const prv_ratio_side *s)
{
    for (size_t i = 0; i < k->first && s->add; i++) law->null[k->first] += law->null[i];
    double mass = 0.0, of_special = 0.0;
    for (size_t i = law->length; i-- > k->end;) {
        mass += law->null[i];
        of_special += special(law, i);
        law->null[i] = 0.0;
    }
    if (!(mass > 0.0)) return;
    if (!s->add) {
        law->null[k->end - 1] += mass;
        return;
    }
    const double above = (log(of_special / mass) - law->offset) / law->step - (double)law->first;
    const double at = ceil(above + 1e-6);
    if (!(at < (double)law->length)) return; /* dropped, as R = infinity */
    const size_t to = at >= (double)k->end ? (size_t)at : k->end;
    if (to >= law->length) return;
    law->null[to] += mass;
    k->end = to + 1;
}

/* Of a dominating law: takes mass beyond 1 from the end of small losses, or puts what is missing there. More
 * mass than 1 dominates, since f >= 0; and of all measures of mass 1 below it, the one with the largest
 * losses. */
static void normalise(prv_ratio_law *law, const prv_ratio_side *s)
{
    double beyond = beyond_one(law, false);
    if (beyond <= 0.0) {
        double *low = s->add ? &law->null[law->length - 1] : &law->zero;
        *low = prv_above(*low - beyond);
        return;
    }
    if (!s->add) {
        const double taken = fmin(law->zero, beyond);
        law->zero -= taken;
        beyond -= taken;
    }
    for (size_t n = 0; n < law->length && beyond > 0.0; n++) {
        double *mass = &law->null[s->add ? law->length - 1 - n : n];
        const double taken = fmin(*mass, beyond);
        *mass = prv_above(*mass - taken);
        beyond -= taken;
    }
}

/* Cuts the ends, and closes the law: of 'remove' from below, what is not on points counts as R = 0. */
static prv_status finish(const prv_ratio_side *s, prv_ratio_law *law)
{
    const bool dominates = s->side == PRV_DOMINATING;
    kept k = choose_ends(law, s);
    if (dominates)
        cut_dominating(law, &k, s);
    else
        cut_dominated(law, &k, s);
    const size_t length = k.end - k.first;
    prv_ratio_law shorter;
    const prv_status status = law_new(length, &shorter);
    if (status != PRV_OK) return status;
    memcpy(shorter.null, law->null + k.first, length * sizeof *shorter.null);
    double *null = shorter.null;
    shorter = *law;
    shorter.null = null;
    shorter.length = length;
    shorter.first += (int64_t)k.first;
    prv_release(law->null);
    *law = shorter;
    if (dominates) {
        normalise(law, s);
    } else if (!s->add) {
        law->zero = 0.0;
        law->zero = fmax(-beyond_one(law, true), 0.0);
    }
    return PRV_OK;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Masses between points, with the part that would go to the upper point if means were kept. Cells are stored
 * in `planes` runs, every one of cells a stride apart, so that loops over points of a coarser lattice are
 * over neighbours in memory. */
typedef struct ratio_cells {
    size_t length; /* of each plane */
    size_t planes;
    int64_t first; /* cell 0 of plane 0 lies above this point */
    double offset, step;
    double *mass, *upper; /* [planes * length] */
    size_t terms;         /* each is a sum of so many, at most */
} ratio_cells;

static prv_status cells_new(int64_t first, int64_t end, size_t planes, double offset, double step,
                            ratio_cells *c)
{
    memset(c, 0, sizeof *c);
    c->planes = planes;
    c->length = ((size_t)(end - first) + planes - 1) / planes;
    c->first = first;
    c->offset = offset;
    c->step = step;
    const size_t all = planes * c->length;
    c->mass = prv_allocate(2 * all, sizeof *c->mass);
    if (c->mass == NULL) return PRV_ERR_MEMORY;
    c->upper = c->mass + all;
    memset(c->mass, 0, 2 * all * sizeof *c->mass);
    return PRV_OK;
}

static void cells_free(ratio_cells *c)
{
    prv_release(c->mass);
}

/* The cell that a logarithm of R lies in, moved by its error to the safe side; and the part of mass there
 * that goes to the upper point. */
typedef struct place {
    int64_t cell;
    double upper;
} place;

static place place_of(double log_ratio, double error, double step, bool up)
{
    const double moved = up ? log_ratio + error : log_ratio - error;
    double cell = floor(moved / step);
    double rest = moved - cell * step;
    if (rest < 0.0) {
        cell -= 1.0;
        rest += step;
    } else if (rest >= step) {
        cell += 1.0;
        rest = fmax(rest - step, 0.0);
    }
    /* Two exponentials, a quotient, and the rounding of the rest, which is u of the step. */
    const double part = expm1(fmin(rest, step)) / expm1(step), off = 8.0 * PRV_UNIT;
    return (place){(int64_t)cell,
                   up ? fmin(part * (1.0 + off) + off, 1.0) : fmax(part * (1.0 - off) - off, 0.0)};
}

PRV_VECTOR static void add_products(const double *restrict a, const double *restrict b, size_t length,
                                    double factor, double part, double *restrict mass, double *restrict upper)
{
    for (size_t i = 0; i < length; i++) {
        const double m = factor * (a[i] * b[i]);
        mass[i] += m;
        upper[i] += part * m;
    }
}

PRV_VECTOR static void add_masses(const double *restrict a, size_t length, double factor, double part,
                                  double *restrict mass, double *restrict upper)
{
    for (size_t i = 0; i < length; i++) {
        const double m = factor * a[i];
        mass[i] += m;
        upper[i] += part * m;
    }
}

/* Where cell number `cell` is stored. */
static size_t stored(const ratio_cells *c, int64_t cell)
{
    const size_t at = (size_t)(cell - c->first);
    return at % c->planes * c->length + at / c->planes;
}

/* Each mass of a cell is off by so many roundings of itself: of its terms, and of the last operations below.
 */
static double error_of(const ratio_cells *c)
{
    return PRV_UNIT * ((double)c->terms + 16.0) * PRV_SECOND_ORDER;
}

/* What underflow may take from a cell, or give it. */
static double underflow_of(const ratio_cells *c)
{
    return 8.0 * DBL_TRUE_MIN * (double)(c->terms + 1);
}

/* Plane by plane to cell by cell: masses that are certain to be no less than the sums, and parts on the safe
 * side, if the law dominates; else no more than the sums, but for the parts. Cells with masses whose digits
 * underflow may have taken are dropped from below. */
static void in_order(const ratio_cells *c, const prv_ratio_side *s, double *mass, double *upper)
{
    const double error = error_of(c), least = underflow_of(c);
    const bool dominates = s->side == PRV_DOMINATING, up = is_up_safe(s);
    for (size_t at = 0; at < c->planes * c->length; at++) {
        const size_t i = at % c->planes * c->length + at / c->planes;
        const double m = c->mass[i], u = c->upper[i];
        if (dominates) {
            mass[at] = m > 0.0 ? m * (1.0 + error) + least : 0.0;
            upper[at] = up ? fmin(u * (1.0 + 3.0 * error) + least, mass[at])
                           : fmax(u * (1.0 - 3.0 * error) - least, 0.0);
        } else {
            const bool certain = m > 0x1p80 * least;
            mass[at] = certain ? m * (1.0 - error) : 0.0;
            upper[at] = certain ? fmin(u * (1.0 - error), mass[at]) : 0.0;
        }
    }
}

/* Products of tiny masses may vanish: what a dominating law may miss is put at an infinite loss. */
static void allow_for_vanished(size_t length, double each, const prv_ratio_side *s, prv_ratio_law *law)
{
    const double mass = (double)length * each;
    *(s->add ? &law->zero : &law->infinite) += s->add ? mass : mass * exp(point(law, law->length - 1));
}

/* The law on the points of the cells. It has `zero` and `infinite` already, and shift; the cells are freed.
 */
static prv_status close_cells(ratio_cells *c, const prv_ratio_side *s, prv_ratio_law *law)
{
    const size_t length = c->planes * c->length;
    const double zero = law->zero, infinite = law->infinite, shift = law->shift;
    double *mass = prv_allocate(2 * length, sizeof *mass), *upper = mass + length;
    prv_status status = mass != NULL ? law_new(length + 1, law) : PRV_ERR_MEMORY;
    if (status == PRV_OK) {
        law->first = c->first;
        law->offset = c->offset;
        law->step = c->step;
        law->zero = zero;
        law->infinite = infinite;
        law->shift = shift;
        in_order(c, s, mass, upper);
        if (s->side == PRV_DOMINATING) {
            for (size_t i = 0; i < length; i++) {
                law->null[i] += mass[i] - upper[i];
                law->null[i + 1] += upper[i];
            }
            allow_for_vanished(length, underflow_of(c), s, law);
        } else {
            /* The parts of a cell are off by twice its error, and so is its mean, as a part of the step. */
            law->shift += prv_ratio_merge(mass, upper, length, c->step, is_up_safe(s), law->null) +
                          4.0 * error_of(c) * expm1(c->step);
            for (size_t i = 0; i <= length; i++) law->null[i] *= 1.0 - 64.0 * PRV_UNIT;
        }
        status = finish(s, law);
        if (status != PRV_OK) prv_ratio_law_free(law);
    }
    prv_release(mass);
    cells_free(c);
    return status;
}

/* ---- Of a mechanism -------------------------------------------------------------------------- */

/* A knot just below an atom, as spacing.c puts it: the atom gets a cell of its own. */
static double knot_below(double x, double step)
{
    const double width = fmax(1e-7 * step, 2.0 * PRV_NARROWEST_CELL);
    return width <= 0x1p-6 * step && x - (x - width) > 8.0 * DBL_EPSILON * fabs(x) ? x - width : x;
}

static prv_status cells_of(const prv_mechanism *m, const prv_ratio_side *s, double offset, double step,
                           int64_t first, int64_t last, int64_t period, bool atoms, prv_mesh *mesh,
                           prv_cells *cells)
{
    const size_t points = (size_t)(last - first) + 1;
    prv_status status = prv_mesh_new(points, mesh);
    if (status != PRV_OK) return status;
    status = prv_cells_new(points + 3, cells);
    if (status != PRV_OK) return status;
    size_t n = 0;
    for (size_t i = 0; i < points; i++) {
        const int64_t index = first + (int64_t)i;
        const double x = offset + step * (double)index;
        const bool is_atom = atoms && (index == 0 || (period > 0 && (index == period || index == -period)));
        if (is_atom && i > 0 && knot_below(x, step) < x) cells->knots[n++] = knot_below(x, step);
        mesh->index[i] = index;
        mesh->knot[i] = n;
        cells->knots[n++] = x;
    }
    cells->length = n;
    mesh->offset = offset;
    mesh->spacing = step;
    mesh->on_knots = true;
    mesh->tilt = 1.0;
    cells->options = s->options;
    return prv_cells_compute(m, s->add, s->side, cells);
}

/* From the law of the loss under Q. The curves of both are alike but for `rounding`, at every epsilon: that
 * is the inequality for all f that this law needs, with its whole mass 1 under the null measure. */
static prv_status law_of_lattice(const prv_lattice *y, const prv_ratio_side *s, prv_ratio_law *law)
{
    const bool dominates = s->side == PRV_DOMINATING;
    const size_t length = y->length;
    const double relative = y->rounding.relative;
    if (length == 0) return PRV_ERR_PRECISION; /* all cells hide what is in them */
    if (!(relative < 0.25 && y->rounding.shift < 0.25)) return PRV_ERR_PRECISION;
    prv_status status = law_new((size_t)(y->index[length - 1] - y->index[0]) + 1, law);
    if (status != PRV_OK) return status;
    law->step = y->spacing;
    law->offset = s->add ? -y->offset : y->offset;
    law->first = s->add ? -y->index[length - 1] : y->index[0];
    const double factor = dominates ? 1.0 + relative : 1.0 / (1.0 + relative);
    for (size_t i = 0; i < length; i++) {
        const size_t at = (size_t)(s->add ? y->index[length - 1] - y->index[i] : y->index[i] - y->index[0]);
        const double loss = fabs(y->offset) + fabs(y->spacing * (double)y->index[i]);
        const double error = PRV_UNIT * (12.0 + 4.0 * loss);
        const double mass = (s->add ? y->mass[i] : y->mass[i] * exp(-point(law, at))) * factor;
        law->null[at] = dominates ? mass * (1.0 + error) : mass * (1.0 - error);
        if (dominates && y->mass[i] > 0.0) law->null[at] += DBL_TRUE_MIN;
        if (!dominates && mass < 0x1p-960) law->null[at] = 0.0;
    }
    const double infinite = dominates ? prv_above(y->infinite_mass + y->infinite_error)
                                      : fmax(prv_below(y->infinite_mass - y->infinite_error), 0.0);
    *(s->add ? &law->zero : &law->infinite) = y->infinite_mass > 0.0 || y->infinite_error > 0.0 ? infinite
                                                                                                : 0.0;
    law->shift = y->rounding.shift;
    status = finish(s, law);
    if (status != PRV_OK) prv_ratio_law_free(law);
    return status;
}

prv_status prv_ratio_law_of(const prv_mechanism *m, const prv_ratio_side *s, double offset, double step,
                            int64_t first, int64_t last, int64_t period, bool atoms, prv_ratio_law *law)
{
    prv_mesh mesh = {0};
    prv_cells cells = {0};
    prv_lattice lattice = {0};
    double *scratch = NULL;
    prv_status status = cells_of(m, s, offset, step, first, last, period, atoms, &mesh, &cells);
    if (status == PRV_OK) status = prv_lattice_new(mesh.length, &lattice);
    if (status == PRV_OK) {
        scratch = prv_allocate(cells.length + 1, sizeof *scratch);
        if (scratch == NULL) status = PRV_ERR_MEMORY;
    }
    if (status == PRV_OK) {
        if (s->side == PRV_DOMINATING)
            prv_lattice_dominating(&cells, &mesh, &lattice);
        else
            prv_lattice_dominated(&cells, &mesh, scratch, &lattice);
        status = law_of_lattice(&lattice, s, law);
    }
    prv_release(scratch);
    prv_lattice_free(&lattice);
    prv_cells_free(&cells);
    prv_mesh_free(&mesh);
    return status;
}

/* ---- Products -------------------------------------------------------------------------------- */

PRV_VECTOR static void add_scaled(const double *restrict a, size_t length, double factor,
                                  double *restrict sum)
{
    for (size_t i = 0; i < length; i++) sum[i] += factor * a[i];
}

/* 1 + the error if the law is to be no less, else 1 - the error. */
static double outwards(const prv_ratio_side *s, double error)
{
    return s->side == PRV_DOMINATING ? 1.0 + error : 1.0 - error;
}

static double special_total(const prv_ratio_law *a, const prv_ratio_side *s)
{
    prv_wide sum = prv_wide_of(0.0);
    for (size_t i = 0; i < a->length; i++) sum = prv_wide_add(sum, prv_wide_of(special(a, i)));
    return prv_wide_value(sum) * outwards(s, special_error(a) + 4.0 * PRV_UNIT);
}

static void set_ends_of_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *s,
                                prv_ratio_law *product)
{
    const double few = outwards(s, 16.0 * PRV_UNIT);
    if (s->add)
        product->zero = (a->zero + b->zero * (1.0 - a->zero)) * few;
    else if (a->infinite > 0.0 || b->infinite > 0.0)
        product->infinite = (a->infinite * special_total(b, s) + b->infinite * special_total(a, s) +
                             a->infinite * b->infinite) *
                            few;
}

prv_status prv_ratio_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *s,
                             prv_ratio_law *product)
{
    const size_t length = a->length + b->length - 1;
    prv_status status = law_new(length, product);
    if (status != PRV_OK) return status;
    product->first = a->first + b->first;
    product->step = a->step;
    product->offset = a->offset + b->offset;
    for (size_t j = 0; j < b->length && status == PRV_OK; j++) {
        if (j % 256 == 0) status = prv_check_interrupt(s->options);
        if (b->null[j] > 0.0) add_scaled(a->null, a->length, b->null[j], product->null + j);
    }
    if (status != PRV_OK) {
        prv_ratio_law_free(product);
        return status;
    }
    const double shorter = (double)(a->length < b->length ? a->length : b->length);
    const double error = PRV_UNIT * (shorter + 8.0) * PRV_SECOND_ORDER, least = 8.0 * DBL_TRUE_MIN * shorter;
    const bool dominates = s->side == PRV_DOMINATING;
    for (size_t i = 0; i < length; i++) {
        const double m = product->null[i];
        const double below = m > 0x1p80 * least ? m * (1.0 - error) : 0.0;
        product->null[i] = !dominates ? below : m > 0.0 ? m * (1.0 + error) + least : 0.0;
    }
    set_ends_of_product(a, b, s, product);
    if (dominates) allow_for_vanished(length, least, s, product);
    /* The sum of offsets rounds by u of itself. */
    product->shift = a->shift + b->shift + 2.0 * PRV_UNIT * fabs(product->offset);
    status = finish(s, product);
    if (status != PRV_OK) prv_ratio_law_free(product);
    return status;
}

/* ---- Averages -------------------------------------------------------------------------------- */

/* log(w + (1 - w) e^d) and what it may be off by: of two exponents that are added, their rounding. */
static double log_average(double weight, double d, double *error)
{
    /* The greater of both terms is taken out. */
    const double one = log(weight), other = log1p(-weight) + d, top = fmax(one, other);
    const double value = fabs(d) < 1.0 && weight < 1.0 ? log1p((1.0 - weight) * expm1(d))
                                                       : top + log1p(exp(fmin(one, other) - top));
    *error = PRV_UNIT * (16.0 + 8.0 * (fabs(value) + fabs(d)));
    return value;
}

typedef struct averaging {
    const prv_ratio_law *a, *b;
    double weight;
    unsigned finer;
    const prv_ratio_side *side;
    bool same; /* both laws are one, with equal weights */
    ratio_cells cells;
} averaging;

/* All pairs of points i of a and i + d of b, by their numbers in the lattice: the average lies above the
 * finer one of point i by log(w + (1 - w) e^(step d)). */
static void add_diagonal(averaging *v, int64_t d)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    /* The first point of a whose partner b has, and how many have one. */
    const int64_t low = a->first > b->first - d ? a->first : b->first - d;
    const int64_t a_end = a->first + (int64_t)a->length, b_end = b->first + (int64_t)b->length - d;
    const int64_t end = a_end < b_end ? a_end : b_end;
    if (low >= end) return;
    double error;
    const double above = log_average(v->weight, a->step * (double)d, &error);
    const place p = place_of(above, error + 4.0 * PRV_UNIT * fabs(above), v->cells.step, is_up_safe(v->side));
    const size_t at = stored(&v->cells, low * (int64_t)v->finer + p.cell);
    add_products(a->null + (low - a->first), b->null + (low + d - b->first), (size_t)(end - low),
                 v->same && d != 0 ? 2.0 : 1.0, p.upper, v->cells.mass + at, v->cells.upper + at);
}

/* The points of a law with mass, if so few that their pairs are not worth runs; else NULL. */
static prv_status few_points(const prv_ratio_law *law, size_t **points, size_t *count)
{
    *points = NULL;
    *count = 0;
    for (size_t i = 0; i < law->length; i++) *count += law->null[i] > 0.0 ? 1 : 0;
    if (*count > law->length / 8) return PRV_OK;
    *points = prv_allocate(*count, sizeof **points);
    if (*points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < law->length; i++)
        if (law->null[i] > 0.0) (*points)[n++] = i;
    return PRV_OK;
}

/* All pairs of points with mass, one by one. */
static prv_status add_pairs(averaging *v, const size_t *of_a, size_t a_count, const size_t *of_b,
                            size_t b_count)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    for (size_t i = 0; i < a_count; i++) {
        const prv_status status = prv_check_interrupt(v->side->options);
        if (status != PRV_OK) return status;
        const int64_t at_a = a->first + (int64_t)of_a[i];
        for (size_t j = 0; j < b_count; j++) {
            const int64_t d = b->first + (int64_t)of_b[j] - at_a;
            double error;
            const double above = log_average(v->weight, a->step * (double)d, &error);
            const place p = place_of(above, error + 4.0 * PRV_UNIT * fabs(above), v->cells.step,
                                     is_up_safe(v->side));
            const size_t at = stored(&v->cells, at_a * (int64_t)v->finer + p.cell);
            const double m = a->null[of_a[i]] * b->null[of_b[j]];
            v->cells.mass[at] += m;
            v->cells.upper[at] += p.upper * m;
        }
    }
    return PRV_OK;
}

/* R = 0 in one of both, beside all points of the other, whose R is then times `weight`. */
static void add_beside_zero(averaging *v, double zero, const prv_ratio_law *b, double weight)
{
    const double above = log(weight);
    const double error = PRV_UNIT * (8.0 + 8.0 * fabs(above));
    const place p = place_of(above, error, v->cells.step, is_up_safe(v->side));
    const size_t at = stored(&v->cells, b->first * (int64_t)v->finer + p.cell);
    add_masses(b->null, b->length, zero, p.upper, v->cells.mass + at, v->cells.upper + at);
}

/* From below, in the direction 'remove', what is left out counts as R = 0: averages beside so little need no
 * place. */
static double least_zero(const prv_ratio_side *s)
{
    return !s->add && s->side == PRV_DOMINATED ? 1e-11 : 0.0;
}

prv_status prv_ratio_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight, unsigned finer,
                             const prv_ratio_side *s, prv_ratio_law *average)
{
    averaging v = {a, b, weight, finer, s, a == b && weight == 0.5, {0}};
    const int64_t a_end = a->first + (int64_t)a->length, b_end = b->first + (int64_t)b->length;
    const int64_t low = a->first < b->first ? a->first : b->first, high = a_end > b_end ? a_end : b_end;
    const double least = least_zero(s);
    const bool zeros = a->zero > least || b->zero > least;
    /* Beside zeros averages are as low as the weights; with rounding, a cell or two more on either side. */
    const double step = a->step / (double)finer;
    const int64_t down = zeros ? (int64_t)ceil(-log(fmin(weight, 1.0 - weight)) / step) : 0;
    prv_status status = cells_new(low * (int64_t)finer - down - 4, high * (int64_t)finer + 4, finer,
                                  a->offset, step, &v.cells);
    if (status != PRV_OK) return status;
    const int64_t first = v.same ? 0 : b->first - (a_end - 1), last = b_end - 1 - a->first;
    v.cells.terms = (size_t)(last - first) + 4;
    size_t *of_a = NULL, *of_b = NULL, a_count, b_count;
    status = few_points(a, &of_a, &a_count);
    if (status == PRV_OK) status = few_points(b, &of_b, &b_count);
    if (status == PRV_OK && of_a != NULL && of_b != NULL) {
        v.same = false;
        v.cells.terms = a_count * b_count + 4;
        status = add_pairs(&v, of_a, a_count, of_b, b_count);
    } else {
        for (int64_t d = first; d <= last && status == PRV_OK; d++) {
            if (d % 256 == 0) status = prv_check_interrupt(s->options);
            add_diagonal(&v, d);
        }
    }
    prv_release(of_a);
    prv_release(of_b);
    if (status != PRV_OK) {
        cells_free(&v.cells);
        return status;
    }
    if (a->zero > least) add_beside_zero(&v, a->zero, b, 1.0 - weight);
    if (b->zero > least) add_beside_zero(&v, b->zero, a, weight);
    const double few = outwards(s, 8.0 * PRV_UNIT);
    memset(average, 0, sizeof *average);
    if (s->add) average->zero = a->zero * b->zero * few;
    if (!s->add) average->infinite = (weight * a->infinite + (1.0 - weight) * b->infinite) * few;
    average->shift = fmax(a->shift, b->shift) + 2.0 * PRV_UNIT * fabs(a->offset);
    return close_cells(&v.cells, s, average);
}

/* ---- Mixtures -------------------------------------------------------------------------------- */

static double log_mixture(double x, double p, double *error)
{
    const double value = p < 1.0
                             ? (x > 30.0 ? x + log(p) + log1p((1.0 - p) / p * exp(-x)) : log1p(p * expm1(x)))
                             : x;
    const double rest = p < 1.0 && value < -0.5 ? log((1.0 - p) + p * exp(x)) : value;
    /* x and log p, which may be far greater than their sum, are rounded too. */
    const double of_probability = p < 1.0 && x > 30.0 ? fabs(log(p)) : 0.0;
    *error = PRV_UNIT * (16.0 + 8.0 * (fabs(rest) + fabs(x) + of_probability));
    return rest;
}

prv_status prv_ratio_mixture(const prv_ratio_law *a, double p, double step, const prv_ratio_side *s,
                             prv_ratio_law *mixture)
{
    double error;
    const double lowest = p < 1.0 && a->zero > 0.0 ? log1p(-p) : log_mixture(point(a, 0), p, &error);
    const double highest = log_mixture(point(a, a->length - 1), p, &error);
    const double first = floor(lowest / step) - 4.0, last = ceil(highest / step) + 4.0;
    if (!(fabs(first) < 0x1p52 && last - first < 0x1p30)) return PRV_ERR_MEMORY_LIMIT;
    ratio_cells cells;
    const prv_status status = cells_new((int64_t)first, (int64_t)last, 1, 0.0, step, &cells);
    if (status != PRV_OK) return status;
    cells.terms = 2;
    size_t run = 0;
    int64_t before = 0;
    for (size_t i = 0; i < a->length; i++) {
        if (!(a->null[i] > 0.0)) continue;
        const double x = point(a, i), value = log_mixture(x, p, &error);
        const double of_point = 4.0 * PRV_UNIT * (fabs(x) + fabs(a->offset));
        const place at = place_of(value, error + of_point, step, is_up_safe(s));
        add_masses(&a->null[i], 1, 1.0, at.upper, cells.mass + stored(&cells, at.cell),
                   cells.upper + stored(&cells, at.cell));
        run = at.cell == before ? run + 1 : 1;
        before = at.cell;
        if (run + 2 > cells.terms) cells.terms = run + 2;
    }
    memset(mixture, 0, sizeof *mixture);
    if (p < 1.0 && a->zero > 0.0) {
        const double value = log1p(-p);
        const place at = place_of(value, PRV_UNIT * (8.0 + 8.0 * fabs(value)), step, is_up_safe(s));
        add_masses(&a->zero, 1, 1.0, at.upper, cells.mass + stored(&cells, at.cell),
                   cells.upper + stored(&cells, at.cell));
        cells.terms++;
    } else {
        mixture->zero = a->zero;
    }
    if (!s->add) mixture->infinite = p * a->infinite * outwards(s, 4.0 * PRV_UNIT);
    mixture->shift = a->shift;
    return close_cells(&cells, s, mixture);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* One point of a list that is being made. */
typedef struct listed {
    double at, mass;
} listed;

static int by_place(const void *a, const void *b)
{
    const double x = ((const listed *)a)->at, y = ((const listed *)b)->at;
    return (x > y) - (x < y);
}

/* Points that only rounding tells apart become one: the one on the safe side. */
#define SAME_PLACE 1e-13

/* A place that is known to `error`, on the safe side of it. */
static double safely(double at, double error, const prv_ratio_side *s)
{
    return is_up_safe(s) ? at + error : at - error;
}

/* Sorts points, and makes one of each run of the same place. Returns their number. */
static size_t merge_points(const listed *points, size_t count, bool up, prv_ratio_law *law)
{
    size_t n = 0;
    double first = 0.0; /* of the points that become one */
    for (size_t i = 0; i < count; i++) {
        const double at = points[i].at;
        if (n == 0 || at - first > SAME_PLACE * (1.0 + fabs(first))) {
            first = at;
            law->at[n++] = at;
        } else if (up) {
            law->at[n - 1] = at;
        }
        law->null[n - 1] += points[i].mass;
    }
    if (n == 0) law->at[n++] = 0.0;
    return n;
}

/* The law of these points, whose masses are known to `error` of themselves. `law` has zero, infinite and
 * shift. */
static prv_status close_list(listed *points, size_t count, double error, const prv_ratio_side *s,
                             prv_ratio_law *law)
{
    const prv_ratio_law ends = *law;
    prv_status status = law_new(count + 1, law);
    if (status != PRV_OK) return status;
    law->at = prv_allocate(law->length, sizeof *law->at);
    if (law->at == NULL) {
        prv_ratio_law_free(law);
        return PRV_ERR_MEMORY;
    }
    law->zero = ends.zero;
    law->infinite = ends.infinite;
    law->shift = ends.shift;
    qsort(points, count, sizeof *points, by_place);
    law->length = merge_points(points, count, is_up_safe(s), law);
    const bool dominates = s->side == PRV_DOMINATING;
    const double sums = error + PRV_UNIT * ((double)count + 8.0), least = 8.0 * DBL_TRUE_MIN;
    for (size_t i = 0; i < law->length; i++) {
        const double m = law->null[i];
        law->null[i] = dominates ? m * (1.0 + sums) + least : fmax(m * (1.0 - sums) - least, 0.0);
    }
    if (dominates) {
        allow_for_vanished(count, least, s, law);
        normalise(law, s);
    } else if (!s->add) {
        law->zero = 0.0;
        law->zero = fmax(-beyond_one(law, true), 0.0);
    }
    return PRV_OK;
}

prv_status prv_ratio_list_of(const prv_atoms *a, double error, const prv_ratio_side *s, prv_ratio_law *law)
{
    listed *points = prv_allocate(a->length, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    for (size_t i = 0; i < a->length; i++)
        points[i] = s->add ? (listed){-a->loss[i], a->q[i]} : (listed){a->loss[i], a->p[i]};
    memset(law, 0, sizeof *law);
    const double moved = s->side == PRV_DOMINATING ? a->q_only_error : -a->q_only_error;
    *(s->add ? &law->zero : &law->infinite) = fmax(a->q_only + moved, 0.0) * outwards(s, 2.0 * PRV_UNIT);
    law->shift = error;
    const prv_status status = close_list(points, a->length, error, s, law);
    prv_release(points);
    return status;
}

prv_status prv_ratio_list_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                  const prv_ratio_side *s, prv_ratio_law *average)
{
    listed *points = prv_allocate((a->length + 1) * (b->length + 1), sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    double error;
    for (size_t i = 0; i < a->length; i++)
        for (size_t j = 0; j < b->length; j++) {
            const double x = point(a, i), y = point(b, j), above = log_average(weight, y - x, &error);
            error += 4.0 * PRV_UNIT * (fabs(x) + fabs(y));
            points[n++] = (listed){safely(x + above, error, s), a->null[i] * b->null[j]};
        }
    for (int of_a = 0; of_a < 2; of_a++) {
        const prv_ratio_law *law = of_a ? a : b;
        const double zero = of_a ? b->zero : a->zero, above = of_a ? log(weight) : log1p(-weight);
        for (size_t i = 0; i < law->length && zero > least_zero(s); i++) {
            const double x = point(law, i);
            error = PRV_UNIT * (8.0 + 8.0 * (fabs(x) + fabs(above)));
            points[n++] = (listed){safely(x + above, error, s), zero * law->null[i]};
        }
    }
    memset(average, 0, sizeof *average);
    const double few = outwards(s, 8.0 * PRV_UNIT);
    if (s->add) average->zero = a->zero * b->zero * few;
    if (!s->add) average->infinite = (weight * a->infinite + (1.0 - weight) * b->infinite) * few;
    average->shift = fmax(a->shift, b->shift);
    const prv_status status = close_list(points, n, 4.0 * PRV_UNIT, s, average);
    prv_release(points);
    return status;
}

prv_status prv_ratio_list_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *s,
                                  prv_ratio_law *product)
{
    listed *points = prv_allocate(a->length * b->length, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < a->length; i++)
        for (size_t j = 0; j < b->length; j++) {
            const double x = point(a, i) + point(b, j);
            points[n++] = (listed){safely(x, 2.0 * PRV_UNIT * fabs(x), s), a->null[i] * b->null[j]};
        }
    memset(product, 0, sizeof *product);
    set_ends_of_product(a, b, s, product);
    product->shift = a->shift + b->shift;
    const prv_status status = close_list(points, n, 4.0 * PRV_UNIT, s, product);
    prv_release(points);
    return status;
}

prv_status prv_ratio_list_mixture(const prv_ratio_law *a, double p, const prv_ratio_side *s,
                                  prv_ratio_law *mixture)
{
    listed *points = prv_allocate(a->length + 1, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    double error;
    for (size_t i = 0; i < a->length; i++) {
        const double value = log_mixture(point(a, i), p, &error);
        points[n++] = (listed){safely(value, error, s), a->null[i]};
    }
    const double lowest = log1p(-p);
    if (a->zero > 0.0)
        points[n++] = (listed){safely(lowest, PRV_UNIT * (8.0 + 8.0 * fabs(lowest)), s), a->zero};
    memset(mixture, 0, sizeof *mixture);
    if (!s->add) mixture->infinite = p * a->infinite * outwards(s, 4.0 * PRV_UNIT);
    mixture->shift = a->shift;
    const prv_status status = close_list(points, n, 4.0 * PRV_UNIT, s, mixture);
    prv_release(points);
    return status;
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

prv_atoms *prv_ratio_atoms(const prv_ratio_law *law, const prv_ratio_side *s, double *error)
{
    size_t count = 0;
    for (size_t i = 0; i < law->length; i++) count += law->null[i] > 0.0 ? 1 : 0;
    prv_atoms *a = prv_atoms_new(count);
    if (a == NULL) return NULL;
    size_t n = 0;
    for (size_t i = 0; i < law->length; i++) {
        const size_t from = s->add ? law->length - 1 - i : i;
        if (!(law->null[from] > 0.0)) continue;
        const double x = point(law, from);
        a->loss[n] = s->add ? -x : x;
        a->q[n] = s->add ? law->null[from] : special(law, from);
        a->p[n++] = s->add ? special(law, from) : law->null[from];
    }
    a->q_only = s->add ? law->zero : law->infinite;
    a->p_only = s->add ? law->infinite : law->zero;
    a->loss_error = 2.0 * PRV_UNIT;
    *error = special_error(law) + 2.0 * law->shift + 4.0 * PRV_UNIT * fabs(law->offset);
    return a;
}
