#include "lattices/ratio_list.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "lattices/ratio_average.h"
#include "lattices/ratio_ends.h"
#include "lattices/ratio_mixture.h"
#include "lattices/ratio_places.h"
#include "lattices/ratio_product.h"

static int by_place(const void *a, const void *b)
{
    const double x = ((const prv_ratio_listed *)a)->at, y = ((const prv_ratio_listed *)b)->at;
    return (x > y) - (x < y);
}

/* Points that only rounding tells apart become one: the one on the safe side. */
#define SAME_PLACE 1e-13

/* Sorts points, and makes one of each run of the same place. Returns their number. */
static size_t merge_points(const prv_ratio_listed *points, size_t count, bool up, prv_ratio_law *law)
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

prv_status prv_ratio_list_close(prv_ratio_listed *points, size_t count, double error, const prv_ratio_side *s,
                                prv_ratio_law *law)
{
    const prv_ratio_law ends = *law;
    prv_status status = prv_ratio_law_new(count + 1, law);
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
    law->length = merge_points(points, count, prv_ratio_up_is_safe(s), law);
    const bool dominates = s->side == PRV_DOMINATING;
    const double sums = error + PRV_UNIT * ((double)count + 8.0), least = 8.0 * DBL_TRUE_MIN;
    for (size_t i = 0; i < law->length; i++) {
        const double m = law->null[i];
        law->null[i] = dominates ? m * (1.0 + sums) + least : fmax(m * (1.0 - sums) - least, 0.0);
    }
    if (dominates) prv_ratio_allow_for_vanished(count, least, s, law);
    prv_ratio_cut_far_points(s, law);
    prv_ratio_complete(s, law);
    return PRV_OK;
}

prv_status prv_ratio_list_of(const prv_atoms *a, double error, const prv_ratio_side *s, prv_ratio_law *law)
{
    prv_ratio_listed *points = prv_allocate(a->length, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    for (size_t i = 0; i < a->length; i++)
        points[i] = s->add ? (prv_ratio_listed){-a->loss[i], a->q[i]}
                           : (prv_ratio_listed){a->loss[i], a->p[i]};
    memset(law, 0, sizeof *law);
    const double moved = s->side == PRV_DOMINATING ? a->q_only_error : -a->q_only_error;
    *(s->add ? &law->zero : &law->infinite) = fmax(a->q_only + moved, 0.0) *
                                              prv_ratio_outwards(s, 2.0 * PRV_UNIT);
    law->shift = error;
    const prv_status status = prv_ratio_list_close(points, a->length, error, s, law);
    prv_release(points);
    return status;
}

prv_status prv_ratio_list_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                  const prv_ratio_side *s, prv_ratio_law *average)
{
    prv_status status = prv_ratio_check_memory(s, 4.0 * (double)((a->length + 1) * (b->length + 1)));
    if (status != PRV_OK) return status;
    prv_ratio_listed *points = prv_allocate((a->length + 1) * (b->length + 1), sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    double error;
    for (size_t i = 0; i < a->length; i++)
        for (size_t j = 0; j < b->length; j++) {
            const double x = prv_ratio_point(a, i), y = prv_ratio_point(b, j),
                         above = prv_ratio_log_average(weight, y - x, &error);
            error += 4.0 * PRV_UNIT * (fabs(x) + fabs(y));
            points[n++] = (prv_ratio_listed){prv_ratio_safely(x + above, error, s), a->null[i] * b->null[j]};
        }
    for (int of_a = 0; of_a < 2; of_a++) {
        const prv_ratio_law *law = of_a ? a : b;
        const double zero = of_a ? b->zero : a->zero, above = of_a ? log(weight) : log1p(-weight);
        for (size_t i = 0; i < law->length && zero > prv_ratio_least_zero(s); i++) {
            const double x = prv_ratio_point(law, i);
            error = PRV_UNIT * (8.0 + 8.0 * (fabs(x) + fabs(above)));
            points[n++] = (prv_ratio_listed){prv_ratio_safely(x + above, error, s), zero * law->null[i]};
        }
    }
    memset(average, 0, sizeof *average);
    prv_ratio_set_ends_of_average(a, b, weight, s, average);
    average->shift = fmax(a->shift, b->shift);
    status = prv_ratio_list_close(points, n, 4.0 * PRV_UNIT, s, average);
    prv_release(points);
    return status;
}

prv_status prv_ratio_list_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *s,
                                  prv_ratio_law *product)
{
    prv_status status = prv_ratio_check_memory(s, 4.0 * (double)(a->length * b->length));
    if (status != PRV_OK) return status;
    prv_ratio_listed *points = prv_allocate(a->length * b->length, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < a->length; i++)
        for (size_t j = 0; j < b->length; j++) {
            const double x = prv_ratio_point(a, i) + prv_ratio_point(b, j);
            points[n++] = (prv_ratio_listed){prv_ratio_safely(x, 2.0 * PRV_UNIT * fabs(x), s),
                                             a->null[i] * b->null[j]};
        }
    memset(product, 0, sizeof *product);
    prv_ratio_set_ends_of_product(a, b, s, product);
    product->shift = a->shift + b->shift;
    status = prv_ratio_list_close(points, n, 4.0 * PRV_UNIT, s, product);
    prv_release(points);
    return status;
}

prv_status prv_ratio_list_mixture(const prv_ratio_law *a, double p, const prv_ratio_side *s,
                                  prv_ratio_law *mixture)
{
    prv_ratio_listed *points = prv_allocate(a->length + 1, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    double error;
    for (size_t i = 0; i < a->length; i++) {
        const double value = prv_ratio_log_mixture(prv_ratio_point(a, i), p, &error);
        points[n++] = (prv_ratio_listed){prv_ratio_safely(value, error, s), a->null[i]};
    }
    const double lowest = log1p(-p);
    if (a->zero > 0.0)
        points[n++] = (prv_ratio_listed){prv_ratio_safely(lowest, PRV_UNIT * (8.0 + 8.0 * fabs(lowest)), s),
                                         a->zero};
    memset(mixture, 0, sizeof *mixture);
    prv_ratio_set_ends_of_mixture(a, p, s, mixture);
    mixture->shift = a->shift;
    const prv_status status = prv_ratio_list_close(points, n, 4.0 * PRV_UNIT, s, mixture);
    prv_release(points);
    return status;
}
