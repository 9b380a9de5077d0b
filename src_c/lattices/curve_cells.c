#include "lattices/curve_cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/rounding.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"

/* Absolute error of the caller's values, and of the values made of them below. */
#define VALUE_ERROR (4.0 * DBL_EPSILON)

/* delta at increasing losses x, of one direction. On a sample it is p delta(base loss) above log(1 - p) and 1
 * - e^x below. The reverse of a pair has 1 - e^x + e^x delta(-x), so that 'add', the reverse of the sampled
 * reverse, has (1 - (1 - p) e^x) delta(-(base loss of -x)) below -log(1 - p) and 0 above. */
static prv_status curve_values(const prv_mechanism *m, bool add, const double *x, size_t length, double *work,
                               double *delta)
{
    const double p = m->sampling_probability;
    const bool backward = add && p < 1.0;
    const double edge = backward ? -log1p(-p) : p < 1.0 ? log1p(-p) : -HUGE_VAL;
    /* The base decides above the edge, or below it if `backward`: from `first` to `end`. */
    size_t first = 0, end = length;
    if (backward)
        while (end > 0 && x[end - 1] >= edge) end--;
    else
        while (first < length && x[first] <= edge) first++;
    for (size_t i = first; i < end; i++)
        work[i] = backward ? -prv_base_loss(-x[i], p) : prv_base_loss(x[i], p);
    if (end > first && m->curve(m->context, work + first, end - first, delta + first) != 0)
        return PRV_ERR_CALLBACK;
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    double last = 1.0;
    for (size_t i = 0; i < length; i++) {
        double value;
        if (i < first) {
            value = -expm1(x[i]);
        } else if (i >= end) {
            value = 0.0;
        } else {
            const double base = delta[i];
            if (!(base >= -VALUE_ERROR && base <= 1.0 + VALUE_ERROR)) return PRV_ERR_CURVE;
            value = base;
            if (backward) {
                /* In the reverse of the sampled reverse all terms of the size of e^x cancel. */
                value = -expm1(x[i] - edge) * base;
            } else if (p < 1.0) {
                value = p * base;
            }
        }
        if (!(value <= last + 64.0 * VALUE_ERROR)) return PRV_ERR_CURVE;
        last = fmin(last, fmax(value, 0.0));
        delta[i] = last;
    }
    return PRV_OK;
}

/* Cells wider than this (nats) are not between points of a lower bound: e^width would lose the digits of
 * secants. No bound relies on it. */
#define WIDEST_CELL 30.0

/* The pair whose curve is piecewise linear in e^eps between the knots, with slopes that never fall towards
 * the left, so that it lies on or above the values however they are rounded. The error of the values is
 * counted elsewhere (prv_absolute_cdf_error): as mass above the last knot it would be the heaviest of all
 * jumps. */
static void cells_above(const double *x, const double *delta, size_t length, double infinite, double *slope,
                        prv_cells *cells)
{
    double *mass = cells->mass, *relative = cells->relative;
    const size_t top = length - 1;
    double value = delta[top];
    mass[length] = fmax(value - infinite, 0.0);
    relative[length] = 0.0;
    slope[top] = 0.0; /* slope[i] is P's mass above x[i], times e^(x[i]) */
    for (size_t i = top; i-- > 0;) {
        const double width = x[i + 1] - x[i];
        const double least = slope[i + 1] * -expm1(-width); /* as steep as the cell above */
        const double rise = fmax(delta[i] - value, least);
        slope[i] = rise / expm1(width); /* 0 where e^width overflows, as it should */
        value += rise;
        mass[i + 1] = fmax(rise + slope[i] - slope[i + 1], 0.0);
        relative[i + 1] = mass[i + 1] * exp(-width); /* all of it at the upper knot */
    }
    mass[0] = relative[0] = fmax(1.0 - value - slope[0], 0.0);
}

/* A lower bound of the curve's slope, times e^(x[first]), below the knot `first`, whatever the values'
 * errors: the steepest secant from that knot less those errors. */
static double least_slope(const double *x, const double *delta, size_t length, size_t first)
{
    double slope = 0.0;
    for (size_t i = first + 1; i < length; i++)
        slope = fmax(slope, (delta[first] - delta[i] - 2.0 * VALUE_ERROR) / expm1(x[i] - x[first]));
    return slope;
}

/* Points below a convex curve, at losses y in these cells, and their lower hull: slope[j] is that of its line
 * from point j to j + 1, times e^(y[j]). */
typedef struct hull {
    double *y, *value, *slope;
    size_t *cell;
    size_t count;
} hull;

static prv_status hull_new(size_t most, hull *h)
{
    *h = (hull){.y = prv_allocate(3 * most, sizeof *h->y), .cell = prv_allocate(most, sizeof *h->cell)};
    if (h->y == NULL || h->cell == NULL) return PRV_ERR_MEMORY;
    h->value = h->y + most;
    h->slope = h->value + most;
    return PRV_OK;
}

static void hull_free(hull *h)
{
    prv_release(h->y);
    prv_release(h->cell);
}

/* Adds a point above all others, and removes those that lie above the line past them. */
static void hull_add(hull *h, double at, double value, size_t cell)
{
    double *y = h->y, *slope = h->slope;
    if (h->count > 0 && !(at > y[h->count - 1])) {
        /* Two points on the knot between cells: the lower one counts. */
        h->count--;
        at = y[h->count];
        value = fmin(value, h->value[h->count]);
    }
    while (h->count > 1) {
        const size_t last = h->count - 1;
        const double to = (h->value[last] - value) / expm1(at - y[last]);
        if (slope[last - 1] * exp(y[last] - y[last - 1]) >= to) break;
        h->count--;
    }
    if (h->count > 0) {
        const size_t last = h->count - 1;
        slope[last] = (h->value[last] - value) / expm1(at - y[last]);
    }
    y[h->count] = at;
    h->value[h->count] = value;
    h->cell[h->count++] = cell;
}

/* Where the secants of the cells beside cell i meet, extended into it: at loss *at, and no more than *value
 * whatever the errors of the values of the curve. */
static void meeting_point(const double *x, const double *delta, size_t i, double infinite, double *at,
                          double *value)
{
    /* In t = e^(x - x[i]), from 1 to `end`: the lines from the left and from the right. */
    const double end = exp(x[i + 1] - x[i]);
    const double left = (delta[i - 1] - delta[i]) / -expm1(x[i - 1] - x[i]);
    const double right = (delta[i + 1] - delta[i + 2]) / expm1(x[i + 2] - x[i + 1]) / end;
    double t = 0.5 * (1.0 + end);
    if (left > right) t = 1.0 + (delta[i] - delta[i + 1] - right * (end - 1.0)) / (left - right);
    t = fmin(fmax(t, 1.0), end);
    *at = x[i] + log(t);
    const double low = fmin(delta[i] - left * (t - 1.0), delta[i + 1] + right * (end - t));
    /* Lines through values with an error, extended by about a cell, have a few times that error. */
    *value = fmax(low - 8.0 * VALUE_ERROR, infinite);
}

/* The masses of the pair whose curve is the hull: differences of its slopes. */
static void masses_of_hull(const hull *h, const double *x, const double *delta, size_t length,
                           prv_cells *cells)
{
    const double *y = h->y, *slope = h->slope;
    const double steepest = h->count > 0 ? least_slope(x, delta, length, h->cell[0]) : 0.0;
    for (size_t j = 0; j < h->count; j++) {
        const size_t i = h->cell[j];
        const double limit = steepest > 0.0 ? steepest * exp(y[j] - x[h->cell[0]]) : 0.0;
        /* The slope of the cell's own secant, times e^(y[j]), which holds beyond the ends. */
        const double own = fmax(delta[i] - delta[i + 1], 0.0) / expm1(x[i + 1] - x[i]) * exp(y[j] - x[i]);
        const double before = fmin(j > 0 ? slope[j - 1] * exp(y[j] - y[j - 1]) : own, limit);
        const double after = fmin(j + 1 < h->count ? slope[j] : own, limit);
        const double mass = fmax(before - after, 0.0);
        cells->mass[i + 1] += mass;
        cells->relative[i + 1] += mass * exp(x[i] - y[j]);
    }
}

/* A pair below a convex curve of which only values are known. The secants of the two neighbouring cells,
 * extended into a cell, lie below the curve and meet at a point. The pair's curve is the greatest convex
 * function below all these points; beyond the first and the last point it has the slope of that cell's own
 * secant, which is steeper, or shallower, than the curve can be there. If knots lie so close that the values'
 * errors make slopes uncertain, slopes would grow without bound below the first knot: they end at
 * least_slope. */
static prv_status cells_below(const double *x, const double *delta, size_t length, double infinite,
                              prv_cells *cells)
{
    memset(cells->mass, 0, (length + 1) * sizeof *cells->mass);
    memset(cells->relative, 0, (length + 1) * sizeof *cells->relative);
    if (length < 6) return PRV_OK;
    hull h;
    const prv_status status = hull_new(length, &h);
    if (status != PRV_OK) goto done;
    for (size_t i = 1; i + 2 < length; i++) {
        const bool narrow = x[i + 1] - x[i] < WIDEST_CELL && x[i] - x[i - 1] < WIDEST_CELL &&
                            x[i + 2] - x[i + 1] < WIDEST_CELL;
        /* Only points of neighbouring cells have a chord below the curve: the cells form one run. */
        if (!narrow && h.count > 0) break;
        if (!narrow) continue;
        double at, value;
        meeting_point(x, delta, i, infinite, &at, &value);
        hull_add(&h, at, value, i);
    }
    masses_of_hull(&h, x, delta, length, cells);
done:
    hull_free(&h);
    return status;
}

prv_status prv_curve_cells(const prv_mechanism *m, bool add, prv_side side, prv_cells *cells)
{
    const size_t length = cells->length;
    double *delta = prv_allocate(2 * length, sizeof *delta);
    if (delta == NULL) return PRV_ERR_MEMORY;
    const double infinite = prv_infinite_mass(m, add);
    prv_status status = curve_values(m, add, cells->knots, length, delta + length, delta);
    if (status != PRV_OK) goto done;
    if (side == PRV_DOMINATING)
        cells_above(cells->knots, delta, length, infinite, delta + length, cells);
    else
        status = cells_below(cells->knots, delta, length, infinite, cells);
    cells->infinite_mass = infinite;
    const double reach = fmax(fabs(cells->knots[0]), fabs(cells->knots[length - 1]));
    /* Values and slopes are sums over the knots above, of terms with an error of 4 u each. */
    cells->tail_error = PRV_UNIT * (64.0 + 8.0 * reach + 4.0 * (double)length);
done:
    prv_release(delta);
    return status;
}
