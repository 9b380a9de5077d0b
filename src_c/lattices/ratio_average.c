#include "lattices/ratio_average.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "lattices/ratio_cells.h"

PRV_VECTOR static void add_products(const double *restrict a, const double *restrict b, size_t length,
                                    double factor, double part, double *restrict mass, double *restrict upper)
{
    for (size_t i = 0; i < length; i++) {
        const double m = factor * (a[i] * b[i]);
        mass[i] += m;
        upper[i] += part * m;
    }
}

double prv_ratio_log_average(double weight, double d, double *error)
{
    /* The greater of both terms is taken out. */
    const double one = log(weight), other = log1p(-weight) + d, top = fmax(one, other);
    const double value = fabs(d) < 1.0 && weight < 1.0 ? log1p((1.0 - weight) * expm1(d))
                                                       : top + log1p(exp(fmin(one, other) - top));
    *error = PRV_UNIT * (16.0 + 8.0 * (fabs(value) + fabs(d)));
    return value;
}

double prv_ratio_least_zero(const prv_ratio_side *s)
{
    if (s->side == PRV_DOMINATED) return s->add ? 0.0 : 1e-11;
    return s->add ? s->zero_cut : 0.0;
}

void prv_ratio_set_ends_of_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                   const prv_ratio_side *s, prv_ratio_law *average)
{
    const double few = 8.0 * PRV_UNIT;
    if (s->add) {
        /* Beside a mass that has a place, only R = 0 of the other law is R = 0; beside one that has none,
         * all. */
        const double least = prv_ratio_least_zero(s);
        const bool of_a = a->zero > least, of_b = b->zero > least;
        const double mass = of_a && of_b ? a->zero * b->zero
                                         : (of_a ? 0.0 : a->zero) + (of_b ? 0.0 : b->zero);
        if ((of_a && of_b) || mass > 0.0) average->zero = prv_ratio_safe_mass(s, mass, few);
    }
    if (!s->add && (a->infinite > 0.0 || b->infinite > 0.0))
        average->infinite = prv_ratio_safe_mass(s, weight * a->infinite + (1.0 - weight) * b->infinite, few);
}

typedef struct averaging {
    const prv_ratio_law *a, *b;
    double weight;
    unsigned finer;
    const prv_ratio_side *side;
    bool same; /* both laws are one, with equal weights */
    prv_ratio_cells cells;
} averaging;

/* Where the average of two points lies that are d points apart, counted from that of `a`, in cells of the
 * finer lattice. */
static prv_ratio_place place_of_pair(const averaging *v, int64_t d)
{
    double error;
    const double above = prv_ratio_log_average(v->weight, v->a->spacing * (double)d, &error);
    return prv_ratio_place_of(above, error + 4.0 * PRV_UNIT * fabs(above), v->cells.spacing,
                              prv_ratio_up_is_safe(v->side));
}

/* The log of the part that is left of a point beside R = 0, and by how much it may be off at most. */
static double log_beside_zero(double weight, double *error)
{
    const double above = log(weight);
    *error = PRV_UNIT * (8.0 + 8.0 * fabs(above));
    return above;
}

/* All pairs of points i of a and i + d of b, by their numbers in the lattice: the average lies above the
 * finer one of point i by log(w + (1 - w) e^(spacing d)). */
static void add_diagonal(averaging *v, int64_t d)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    /* The first point of a whose partner b has, and how many have one. */
    const int64_t low = a->first > b->first - d ? a->first : b->first - d;
    const int64_t a_end = a->first + (int64_t)a->length, b_end = b->first + (int64_t)b->length - d;
    const int64_t end = a_end < b_end ? a_end : b_end;
    if (low >= end) return;
    const prv_ratio_place p = place_of_pair(v, d);
    const size_t length = (size_t)(end - low);
    size_t at;
    if (!prv_ratio_find_cells(&v->cells, low * (int64_t)v->finer + p.cell, length, &at)) return;
    add_products(a->null + (low - a->first), b->null + (low + d - b->first), length,
                 v->same && d != 0 ? 2.0 : 1.0, p.upper, v->cells.mass + at, v->cells.upper + at);
}

/* The points of a law with mass, if so few that their pairs are not worth runs; else NULL. */
static prv_status few_points(const prv_ratio_law *law, size_t **points, size_t *count)
{
    *points = NULL;
    *count = prv_ratio_point_count(law);
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
            const prv_ratio_place p = place_of_pair(v, b->first + (int64_t)of_b[j] - at_a);
            size_t at;
            if (!prv_ratio_find_cells(&v->cells, at_a * (int64_t)v->finer + p.cell, 1, &at)) continue;
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
    double error;
    const double above = log_beside_zero(weight, &error);
    const prv_ratio_place p = prv_ratio_place_of(above, error, v->cells.spacing,
                                                 prv_ratio_up_is_safe(v->side));
    prv_ratio_cells_add(&v->cells, b->first * (int64_t)v->finer + p.cell, b->null, b->length, zero, p.upper);
}

/* All pairs of points, diagonal by diagonal, or one by one if few points have mass. */
static prv_status add_all_pairs(averaging *v)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    const int64_t a_last = a->first + (int64_t)a->length - 1, b_last = b->first + (int64_t)b->length - 1;
    const int64_t first = v->same ? 0 : b->first - a_last, last = b_last - a->first;
    size_t *of_a = NULL, *of_b = NULL, a_count, b_count;
    prv_status status = few_points(a, &of_a, &a_count);
    if (status != PRV_OK) goto done;
    status = few_points(b, &of_b, &b_count);
    if (status != PRV_OK) goto done;
    if (of_a != NULL && of_b != NULL) {
        v->same = false;
        v->cells.terms = a_count * b_count + 4;
        status = add_pairs(v, of_a, a_count, of_b, b_count);
        goto done;
    }
    v->cells.terms = (size_t)(last - first) + 4;
    for (int64_t d = first; d <= last; d++) {
        if (d % 256 == 0) status = prv_check_interrupt(v->side->options);
        if (status != PRV_OK) goto done;
        add_diagonal(v, d);
    }
done:
    prv_release(of_a);
    prv_release(of_b);
    return status;
}

/* Cells for all places of averages. An average lies between both points, or beside a zero log(weight) below
 * the other one. */
static prv_status cells_for(averaging *v, bool zeros)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    const double finer = (double)v->finer, spacing = a->spacing / finer;
    const double first = (double)(a->first < b->first ? a->first : b->first);
    const double a_end = (double)a->first + (double)a->length, b_end = (double)b->first + (double)b->length;
    const double end = fmax(a_end, b_end);
    double of_pair, of_zero;
    const double below = -log_beside_zero(fmin(v->weight, 1.0 - v->weight), &of_zero);
    /* Errors grow with the distance of both points, and by 12 u with that of their average, which is no more.
     */
    const double farthest = a->spacing * (end - first);
    prv_ratio_log_average(v->weight, farthest, &of_pair);
    const double error = fmax(of_pair + 12.0 * PRV_UNIT * farthest, of_zero);
    const double down = zeros ? ceil(below / spacing) : 0.0;
    const prv_status status = prv_ratio_check_memory(v->side, 5.0 * ((end - first) * finer + down));
    if (status != PRV_OK) return status;
    return prv_ratio_cells_new(first * finer - down, end * finer, error, v->finer, a->offset, spacing,
                               &v->cells);
}

prv_status prv_ratio_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight, unsigned finer,
                             const prv_ratio_side *s, prv_ratio_law *average)
{
    averaging v = {a, b, weight, finer, s, a == b && weight == 0.5, {0}};
    const double least = prv_ratio_least_zero(s);
    prv_status status = cells_for(&v, a->zero > least || b->zero > least);
    if (status != PRV_OK) return status;
    status = add_all_pairs(&v);
    if (status != PRV_OK) {
        prv_ratio_cells_free(&v.cells);
        return status;
    }
    if (a->zero > least) add_beside_zero(&v, a->zero, b, 1.0 - weight);
    if (b->zero > least) add_beside_zero(&v, b->zero, a, weight);
    memset(average, 0, sizeof *average);
    prv_ratio_set_ends_of_average(a, b, weight, s, average);
    average->shift = fmax(a->shift, b->shift) + 2.0 * PRV_UNIT * fabs(a->offset);
    return prv_ratio_cells_close(&v.cells, s, average);
}
