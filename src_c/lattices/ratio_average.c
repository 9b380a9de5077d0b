#include "lattices/ratio_average.h"

#include <math.h>
#include <string.h>

#include "numerics/rounding.h"
#include "lattices/ratio_pairs.h"
#include "lattices/ratio_places.h"

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

/* An average in the making. */
typedef struct averaging {
    prv_ratio_averaging of;
    prv_ratio_cells cells;
} averaging;

/* The log of the part that is left of a point beside R = 0, and by how much it may be off at most. */
static double log_beside_zero(double weight, double *error)
{
    const double above = log(weight);
    *error = PRV_UNIT * (8.0 + 8.0 * fabs(above));
    return above;
}

/* R = 0 in one of both, beside all points of the other, whose R is then times `weight`. */
static void add_beside_zero(averaging *v, double zero, const prv_ratio_law *b, double weight)
{
    double error;
    const double above = log_beside_zero(weight, &error);
    const prv_ratio_place p = prv_ratio_place_of(above, error, v->cells.spacing,
                                                 prv_ratio_up_is_safe(v->of.side));
    prv_ratio_cells_add(&v->cells, b->first * (int64_t)v->of.finer + p.cell, b->null, b->length, zero,
                        p.upper);
}

/* Cells for all places of averages. An average lies between both points, or beside a zero log(weight) below
 * the other one. */
static prv_status cells_for(averaging *v, bool zeros)
{
    const prv_ratio_law *a = v->of.a, *b = v->of.b;
    const double weight = v->of.weight, finer = (double)v->of.finer, spacing = a->spacing / finer;
    const size_t widest = v->of.of_a.widest > v->of.of_b.widest ? v->of.of_a.widest : v->of.of_b.widest;
    const double beyond = widest > 1 ? 2.0 * (double)widest : 0.0;
    const double first = (double)(a->first < b->first ? a->first : b->first) - beyond;
    const double a_end = (double)a->first + (double)a->length, b_end = (double)b->first + (double)b->length;
    const double end = fmax(a_end, b_end) + beyond;
    double of_zero;
    const double below = -log_beside_zero(fmin(weight, 1.0 - weight), &of_zero);
    const double error = fmax(prv_ratio_error_of_pairs(weight, a->spacing * (end - first)), of_zero);
    const double down = zeros ? ceil(below / spacing) : 0.0;
    const prv_status status = prv_ratio_check_memory(v->of.side, 18.0 * ((end - first) * finer + down));
    if (status != PRV_OK) return status;
    return prv_ratio_cells_new(first * finer - down, end * finer, error, v->of.finer, a->offset, spacing,
                               &v->cells);
}

prv_status prv_ratio_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight, unsigned finer,
                             double share, const prv_ratio_side *s, prv_ratio_law *average)
{
    averaging v = {.of = {.a = a, .b = b, .weight = weight, .finer = finer, .share = share, .side = s}};
    const double least = prv_ratio_least_zero(s);
    prv_status status = prv_ratio_find_stretches(a, &v.of.of_a);
    if (status != PRV_OK) return status;
    status = prv_ratio_find_stretches(b, &v.of.of_b);
    if (status != PRV_OK) return status;
    status = cells_for(&v, a->zero > least || b->zero > least);
    if (status != PRV_OK) return status;
    status = prv_ratio_add_pairs(&v.of, &v.cells);
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
