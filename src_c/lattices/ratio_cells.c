#include "lattices/ratio_cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "lattices/ratio_ends.h"
#include "lattices/ratio_merging.h"

/* Cells on either side for rounding, at most: a lattice whose places are not known to so many cells is of no
 * use. */
#define MOST_MARGIN 0x1p20

/* At least `count` cells. */
static prv_status allocate(size_t count, size_t planes, prv_ratio_cells *c)
{
    c->planes = planes;
    c->length = (count + planes - 1) / planes;
    const size_t all = planes * c->length, numbers = 3 * all + 1;
    c->mass = prv_allocate(numbers, sizeof *c->mass);
    if (c->mass == NULL) return PRV_ERR_MEMORY;
    c->upper = c->mass + all;
    c->on_point = c->upper + all;
    memset(c->mass, 0, numbers * sizeof *c->mass);
    return PRV_OK;
}

/* The place x of a point between `first` and `end`, in units of the spacing h, is known to error / h, and
 * moved by as much to the safe side; below 2^50 the sum and the quotient in prv_ratio_place_of round by less
 * than 1, and the number of the cell is corrected by 1 at most. So no cell is more than 2 error / h + 2 below
 * `first`, or above `end`. */
prv_status prv_ratio_cells_new(double first, double end, double error, size_t planes, double offset,
                               double spacing, prv_ratio_cells *c)
{
    memset(c, 0, sizeof *c);
    const double margin = ceil(2.0 * error / spacing) + 3.0;
    if (!(margin < MOST_MARGIN && fabs(first) < 0x1p50 && fabs(end) < 0x1p50)) return PRV_ERR_PRECISION;
    c->first = (int64_t)(first - margin);
    c->offset = offset;
    c->spacing = spacing;
    return allocate(prv_size_of(end - first + 2.0 * margin), planes, c);
}

void prv_ratio_cells_free(prv_ratio_cells *c)
{
    prv_release(c->mass);
}

prv_ratio_place prv_ratio_place_of(double log_ratio, double error, double spacing, bool up)
{
    const double moved = up ? log_ratio + error : log_ratio - error;
    double cell = floor(moved / spacing);
    double rest = moved - cell * spacing;
    if (rest < 0.0) {
        cell -= 1.0;
        rest += spacing;
    } else if (rest >= spacing) {
        cell += 1.0;
        rest = fmax(rest - spacing, 0.0);
    }
    /* Two exponentials, a quotient, and the rounding of the rest, which is u of the spacing. */
    const double part = expm1(fmin(rest, spacing)) / expm1(spacing), off = 8.0 * PRV_UNIT;
    return (prv_ratio_place){(int64_t)cell,
                             up ? fmin(part * (1.0 + off) + off, 1.0) : fmax(part * (1.0 - off) - off, 0.0)};
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

bool prv_ratio_find_cells(prv_ratio_cells *c, int64_t cell, size_t length, size_t *at)
{
    const int64_t number = cell - c->first;
    const size_t in_plane = number < 0 ? 0 : (size_t)number / c->planes;
    if (number < 0 || in_plane >= c->length || length > c->length - in_plane) {
        c->escaped = true;
        return false;
    }
    *at = (size_t)number % c->planes * c->length + in_plane;
    return true;
}

void prv_ratio_cells_add(prv_ratio_cells *c, int64_t cell, const double *masses, size_t length, double factor,
                         double upper)
{
    size_t at;
    if (!prv_ratio_find_cells(c, cell, length, &at)) return;
    add_masses(masses, length, factor, upper, c->mass + at, c->upper + at);
}

void prv_ratio_cells_add_on_points(prv_ratio_cells *c, int64_t point, size_t stride, const double *a,
                                   const double *b, size_t length, double factor)
{
    const int64_t number = point - c->first;
    const size_t end = c->planes * c->length; /* the last point */
    if (length == 0) return;
    if (number < 0 || (size_t)number > end || (length - 1) > (end - (size_t)number) / stride) {
        c->escaped = true;
        return;
    }
    double *at = c->on_point + number;
    for (size_t i = 0; i < length; i++) at[i * stride] += factor * (a[i] * b[i]);
}

/* Each mass of a cell is off by so many roundings of itself: of its terms, and of the last operations below.
 */
static double error_of(const prv_ratio_cells *c)
{
    return PRV_UNIT * ((double)c->terms + 16.0) * PRV_SECOND_ORDER;
}

/* What underflow may take from a cell, or give it. */
static double underflow_of(const prv_ratio_cells *c)
{
    return 8.0 * DBL_TRUE_MIN * (double)(c->terms + 1);
}

/* Plane by plane to cell by cell: masses that are certain to be no less than the sums, and parts on the safe
 * side, if the law dominates; else no more than the sums, but for the parts. Cells with masses whose digits
 * underflow may have taken are dropped from below. */
static void in_order(const prv_ratio_cells *c, const prv_ratio_side *s, double *mass, double *upper)
{
    const double error = error_of(c), least = underflow_of(c);
    const bool dominates = s->side == PRV_DOMINATING, up = prv_ratio_up_is_safe(s);
    for (size_t plane = 0; plane < c->planes; plane++)
        for (size_t k = 0; k < c->length; k++) {
            const size_t i = plane * c->length + k, at = k * c->planes + plane;
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

/* Masses that lie on points, on the safe side as those of cells. */
static void take_on_points(const prv_ratio_cells *c, const prv_ratio_side *s, double *null)
{
    const double error = error_of(c), least = underflow_of(c);
    for (size_t i = 0; i <= c->planes * c->length; i++) {
        const double m = c->on_point[i];
        if (s->side == PRV_DOMINATING)
            null[i] = m > 0.0 ? m * (1.0 + error) + least : 0.0;
        else
            null[i] = m > 0x1p80 * least ? m * (1.0 - error) : 0.0;
    }
}

/* Masses between points are put on the points, together with those that lie there: [cells + 1] numbers.
 * `scratch` is for twice as many as there are cells. Returns what merged means may miss their points by. */
static double put_on_points(const prv_ratio_cells *c, const prv_ratio_side *s, double *scratch, double *null)
{
    const size_t length = c->planes * c->length;
    double *mass = scratch, *upper = scratch + length;
    in_order(c, s, mass, upper);
    take_on_points(c, s, null);
    if (s->side == PRV_DOMINATING) {
        for (size_t i = 0; i < length; i++) {
            null[i] += mass[i] - upper[i];
            null[i + 1] += upper[i];
        }
        return 0.0;
    }
    /* The parts of a cell are off by twice its error, and so is its mean, as a part of the spacing. */
    const double merged = prv_ratio_merge(mass, upper, length, c->spacing, prv_ratio_up_is_safe(s), null);
    for (size_t i = 0; i <= length; i++) null[i] *= 1.0 - 64.0 * PRV_UNIT;
    return merged + 4.0 * error_of(c) * expm1(c->spacing);
}

prv_status prv_ratio_cells_join(prv_ratio_cells *c, prv_ratio_cells *coarser, int64_t times,
                                const prv_ratio_side *s)
{
    const size_t length = coarser->planes * coarser->length, end = c->planes * c->length;
    double *scratch = prv_allocate(3 * length + 1, sizeof *scratch);
    if (scratch == NULL) {
        prv_ratio_cells_free(coarser);
        return PRV_ERR_MEMORY;
    }
    double *null = scratch + 2 * length;
    c->shift = fmax(c->shift, coarser->shift + put_on_points(coarser, s, scratch, null));
    c->joined += length;
    c->escaped = c->escaped || coarser->escaped;
    for (size_t i = 0; i <= length; i++) {
        if (!(null[i] > 0.0)) continue;
        const int64_t number = (coarser->first + (int64_t)i) * times - c->first;
        if (number >= 0 && (size_t)number <= end)
            c->on_point[number] += null[i];
        else
            c->escaped = true;
    }
    prv_release(scratch);
    prv_ratio_cells_free(coarser);
    return PRV_OK;
}

prv_status prv_ratio_cells_close(prv_ratio_cells *c, const prv_ratio_side *s, prv_ratio_law *law)
{
    const size_t length = c->planes * c->length;
    const prv_ratio_law ends = *law;
    double *scratch = NULL;
    prv_status status = c->escaped ? PRV_ERR_BOUNDS : PRV_OK;
    if (status != PRV_OK) goto done;
    status = PRV_ERR_MEMORY;
    scratch = prv_allocate(2 * length, sizeof *scratch);
    if (scratch == NULL) goto done;
    status = prv_ratio_law_new(length + 1, law);
    if (status != PRV_OK) goto done;
    law->first = c->first;
    law->offset = c->offset;
    law->spacing = c->spacing;
    law->zero = ends.zero;
    law->infinite = ends.infinite;
    law->shift = ends.shift + fmax(c->shift, put_on_points(c, s, scratch, law->null));
    if (s->side == PRV_DOMINATING)
        prv_ratio_allow_for_vanished(2 * (length + c->joined) + 1, underflow_of(c), s, law);
    status = prv_ratio_close(s, law);
    if (status != PRV_OK) prv_ratio_law_free(law);
done:
    prv_release(scratch);
    prv_ratio_cells_free(c);
    return status;
}
