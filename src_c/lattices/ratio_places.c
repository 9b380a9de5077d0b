#include "lattices/ratio_places.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

double prv_ratio_log_average(double weight, double d, double *error)
{
    /* The greater of both terms is taken out. */
    const double one = log(weight), other = log1p(-weight) + d, top = fmax(one, other);
    const double value = fabs(d) < 1.0 && weight < 1.0 ? log1p((1.0 - weight) * expm1(d))
                                                       : top + log1p(exp(fmin(one, other) - top));
    *error = PRV_UNIT * (16.0 + 8.0 * (fabs(value) + fabs(d)));
    return value;
}

/* Errors grow with the distance of both points, and by 12 u with that of their average, which is no more. */
double prv_ratio_error_of_pairs(double weight, double farthest)
{
    double error;
    prv_ratio_log_average(weight, farthest, &error);
    return error + PRV_UNIT * (32.0 + 12.0 * farthest);
}

/* Places of points 0, 1, ... apart, stored upwards or downwards. */
typedef struct place_list {
    int64_t *cell;
    double *upper;
    int64_t direction;
} place_list;

prv_ratio_place prv_ratio_place_of_pair(const prv_ratio_mesh *m, int64_t d)
{
    double error;
    const double above = prv_ratio_log_average(m->weight, m->spacing * (double)d, &error);
    return prv_ratio_place_of(above, error + 4.0 * PRV_UNIT * fabs(above), m->spacing / (double)m->finer,
                              m->up);
}

prv_ratio_place prv_ratio_place_at(const prv_ratio_mesh *m, const prv_ratio_places *p, int64_t d)
{
    if (p->cell == NULL) return prv_ratio_place_of_pair(m, d);
    return (prv_ratio_place){p->cell[d - p->first], p->upper[d - p->first]};
}

/* e^-(spacing k), k < length, in so far as it is above e^-700: off by u (|x| + 4) of itself, x the exponent
 * (vector_math.h). Less than e^-700 is as good as nothing beside a weight above 2^-64. */
PRV_VECTOR static void falling_powers(double spacing, size_t length, double *power)
{
    for (size_t k = 0; k < length; k++) power[k] = prv_vm_exp_near(prv_vm_max(-spacing * (double)k, -700.0));
}

/* The relative error of y = w + (1 - w) e^-x, and of the power that it is compared with, whose exponent is
 * no more than x and a spacing: weights are off by 2 u, powers by u (x + 4), product and sum by u each. */
static double error_of_average(double x)
{
    return PRV_UNIT * (32.0 + 4.0 * x);
}

/* Places relative to the upper one of two points, from 0 to `most` points apart: `own` is its weight, `other`
 * that of the lower one. y = own + other e^-x falls as x grows, and moves down by a cell at a time. It is
 * moved by its error, and that of the power e^(-spacing c) below it, to the safe side. The part has 5
 * roundings more. */
static void find_places(double own, double other, size_t most, unsigned finer, double spacing,
                        const double *power, bool up, place_list list)
{
    const double width = expm1(spacing), off = 8.0 * PRV_UNIT;
    size_t below = 0;
    for (size_t d = 0; d <= most; d++) {
        const double error = error_of_average(spacing * (double)(d * finer));
        const double y = (own + other * power[d * finer]) * (up ? 1.0 + error : 1.0 - error);
        while (y < power[below] && below <= most * finer) below++;
        const double part = fmax(y - power[below], 0.0) / (power[below] * width);
        const int64_t at = (int64_t)d * list.direction;
        list.cell[at] = -(int64_t)below;
        list.upper[at] = up ? fmin(part * (1.0 + off) + off, 1.0)
                            : fmax(fmin(part, 1.0) * (1.0 - off) - off, 0.0);
    }
}

prv_status prv_ratio_places_new(const prv_ratio_mesh *m, size_t most, prv_ratio_places *p)
{
    memset(p, 0, sizeof *p);
    const double spacing = m->spacing / (double)m->finer;
    if (!(error_of_average(m->spacing * (double)most) < 0x1p-6 * spacing && spacing < 0.5)) return PRV_OK;
    double *power = prv_allocate(most * m->finer + 2, sizeof *power);
    p->first = -(int64_t)most;
    p->cell = prv_allocate(2 * most + 1, sizeof *p->cell);
    p->upper = prv_allocate(2 * most + 1, sizeof *p->upper);
    const bool made = power != NULL && p->cell != NULL && p->upper != NULL;
    if (made) {
        falling_powers(spacing, most * m->finer + 2, power);
        const place_list backwards = {p->cell + most, p->upper + most, -1};
        const place_list forwards = {p->cell + most, p->upper + most, 1};
        find_places(m->weight, 1.0 - m->weight, most, m->finer, spacing, power, m->up, backwards);
        if (m->weight == 0.5)
            for (size_t d = 1; d <= most; d++) {
                p->cell[most + d] = p->cell[most - d];
                p->upper[most + d] = p->upper[most - d];
            }
        else
            find_places(1.0 - m->weight, m->weight, most, m->finer, spacing, power, m->up, forwards);
        for (size_t d = 0; d <= most; d++)
            p->cell[most + d] += (int64_t)(d * m->finer); /* from point b to a */
    }
    prv_release(power);
    return made ? PRV_OK : PRV_ERR_MEMORY;
}

void prv_ratio_places_free(prv_ratio_places *p)
{
    prv_release(p->cell);
    prv_release(p->upper);
}
