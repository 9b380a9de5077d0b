#include "lattices/ratio_thinning.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "lattices/ratio_ends.h"
#include "lattices/ratio_list.h"
#include "lattices/ratio_means.h"
#include "lattices/ratio_merging.h"

/* Points may be `share` times |log R| / FROM apart, and never farther than `share` times MOST nats. Near 0
 * the law of an average that is to come varies with the deviation of log R, and far out with log R itself.
 * Where a single batch decides, masses fall by some e-folds in a nat, whatever the deviation is. No bound
 * relies on these two. */
#define FROM 3.0
#define MOST 0.3

/* Nats, of any two points that were thinned: find_parts relies on it. */
#define WIDEST 0.5

/* A run of blocks of one stride: points `low` to `high`, both of them multiples of the stride. */
typedef struct region {
    int64_t low, high;
    size_t stride;
} region;

/* How far apart points may lie, nats. */
typedef struct distances {
    double share;    /* times `coarser` */
    double anywhere; /* also where R is near 1 */
} distances;

static distances distances_of(const prv_ratio_law *law, double share, double coarser)
{
    const double near = coarser > 1.0 ? fmin(sqrt(prv_ratio_variance(law)), MOST) : 0.0;
    return (distances){share * coarser, share * coarser * near};
}

double prv_ratio_thinned_spacing(double share, double from_zero)
{
    return fmin(share * fmin(from_zero / FROM, MOST), WIDEST);
}

/* How far apart points may lie at the end of a block that is nearer to log R = 0. */
static size_t stride_at(const prv_ratio_law *law, int64_t block, const distances *d)
{
    const double low = law->offset + law->spacing * (double)block;
    const double high = low + law->spacing * PRV_WIDEST_STRIDE;
    const double near = prv_ratio_from_zero(low, high);
    const double wanted = fmin(fmax(prv_ratio_thinned_spacing(d->share, near), d->anywhere), WIDEST);
    size_t stride = 1;
    while (stride < PRV_WIDEST_STRIDE && 2.0 * (double)stride * law->spacing <= wanted) stride *= 2;
    return stride;
}

/* Cells between points a stride apart, their masses and the parts of these that go to the upper point if
 * means are kept. */
typedef struct coarse_cells {
    size_t stride;
    double *part;  /* [stride] of a mass so many points above the lower one */
    double *null;  /* masses on points, that of the lowest cell's lower one first */
    size_t length; /* of cells */
} coarse_cells;

/* Quotients of two values of expm1 whose arguments, at most WIDEST, are rounded once. */
static void find_parts(const coarse_cells *c, double spacing)
{
    const double whole = expm1(spacing * (double)c->stride);
    for (size_t k = 0; k < c->stride; k++) c->part[k] = expm1(spacing * (double)k) / whole;
}

/* Relative error of a part. */
#define OF_PART (8.0 * PRV_UNIT)

/* Splits masses between the points of the stride, on the safe side. Sums have two terms of each point of a
 * cell at most. */
static void split(const coarse_cells *c, bool up)
{
    const size_t stride = c->stride;
    for (size_t cell = 0; cell < c->length; cell++)
        for (size_t k = 1; k < stride; k++) {
            double *at = &c->null[cell * stride + k];
            if (!(*at > 0.0)) continue;
            const double mass = *at * (1.0 + 8.0 * PRV_UNIT) + 4.0 * DBL_TRUE_MIN;
            const double upper = up ? fmin(mass * (c->part[k] * (1.0 + OF_PART) + OF_PART) + DBL_TRUE_MIN,
                                           mass)
                                    : fmax(mass * (c->part[k] * (1.0 - OF_PART) - OF_PART) - DBL_TRUE_MIN,
                                           0.0);
            c->null[cell * stride] += mass - upper;
            c->null[(cell + 1) * stride] += upper;
            *at = 0.0;
        }
    for (size_t cell = 0; cell <= c->length; cell++)
        c->null[cell * stride] *= 1.0 + PRV_UNIT * (2.0 * (double)stride + 8.0) * PRV_SECOND_ORDER;
}

/* Masses whose products might underflow are dropped from below. */
#define LEAST_MASS 0x1p-900

/* Merges masses between the points of the stride at these points; *shift is what their means miss them by. */
static prv_status merge(const coarse_cells *c, double spacing, bool up, double *shift)
{
    const size_t stride = c->stride, n = c->length;
    const double error = PRV_UNIT * ((double)stride + 16.0) * PRV_SECOND_ORDER;
    double *mass = prv_allocate(3 * n + 1, sizeof *mass);
    if (mass == NULL) return PRV_ERR_MEMORY;
    double *upper = mass + n, *merged = upper + n;
    memset(mass, 0, 2 * n * sizeof *mass);
    for (size_t i = 0; i <= n; i++) merged[i] = c->null[i * stride];
    for (size_t cell = 0; cell < n; cell++) {
        for (size_t k = 1; k < stride; k++) {
            double *at = &c->null[cell * stride + k];
            if (*at > LEAST_MASS) {
                mass[cell] += *at;
                upper[cell] += *at * c->part[k];
            }
            *at = 0.0;
        }
        mass[cell] *= 1.0 - error;
        upper[cell] = fmin(upper[cell] * (1.0 - error), mass[cell]);
    }
    /* The parts of a cell are off by twice its error, and so is its mean, as a part of the spacing. */
    const double width = spacing * (double)stride;
    *shift = prv_ratio_merge(mass, upper, n, width, up, merged) + 4.0 * error * expm1(width);
    for (size_t i = 0; i <= n; i++) c->null[i * stride] = merged[i] * (1.0 - 64.0 * PRV_UNIT);
    prv_release(mass);
    return PRV_OK;
}

/* Masses of `length` cells whose points lie a stride apart, on a lattice of this spacing. */
static prv_status thin_cells(const prv_ratio_side *s, size_t stride, double spacing, size_t length,
                             double *null, double *shift)
{
    double part[PRV_WIDEST_STRIDE];
    const coarse_cells c = {stride, part, null, length};
    const bool up = prv_ratio_up_is_safe(s);
    *shift = 0.0;
    if (stride == 1) return PRV_OK;
    find_parts(&c, spacing);
    if (s->side == PRV_DOMINATED) return merge(&c, spacing, up, shift);
    split(&c, up);
    return PRV_OK;
}

prv_status prv_ratio_thin_stretch(const prv_ratio_side *s, const prv_ratio_law *law,
                                  const prv_ratio_stretch *stretch, size_t stride, double *masses,
                                  int64_t *first, size_t *count, double *shift)
{
    const size_t every = stride / stretch->stride;
    *first = prv_ratio_multiple_below(stretch->first, (int64_t)stride);
    const size_t before = (size_t)(stretch->first - *first) / stretch->stride;
    const size_t cells = (before + stretch->count - 1 + every - 1) / every;
    memset(masses, 0, (cells * every + 1) * sizeof *masses);
    const double *at = law->null + (stretch->first - law->first);
    for (size_t i = 0; i < stretch->count; i++) masses[before + i] = at[i * stretch->stride];
    const prv_status status = thin_cells(s, every, law->spacing * (double)stretch->stride, cells, masses,
                                         shift);
    for (size_t i = 1; i <= cells; i++) masses[i] = masses[i * every];
    *count = cells + 1;
    return status;
}

/* The law of these masses, of points from number `first` on: those at both ends that have none are left out.
 */
static void take_masses(prv_ratio_law *law, double *null, int64_t first, size_t length)
{
    size_t low = 0;
    while (length > 1 && !(null[length - 1] > 0.0)) length--;
    while (low + 1 < length && !(null[low] > 0.0)) low++;
    memmove(null, null + low, (length - low) * sizeof *null);
    prv_release(law->null);
    law->null = null;
    law->first = first + (int64_t)low;
    law->length = length - low;
}

/* The same points on a lattice whose spacing is the stride that all of them have: a power of two, so that
 * quotients and products by it are exact. */
static void take_stride(prv_ratio_law *law)
{
    uint64_t bits = PRV_WIDEST_STRIDE;
    for (size_t i = 0; i < law->length; i++)
        if (law->null[i] > 0.0) bits |= (uint64_t)(law->first + (int64_t)i);
    const int64_t stride = (int64_t)(bits & (~bits + 1));
    if (stride == 1 || !(law->null[0] > 0.0)) return;
    law->first /= stride;
    law->spacing *= (double)stride;
    law->length = (law->length - 1) / (size_t)stride + 1;
    for (size_t i = 1; i < law->length; i++) law->null[i] = law->null[i * (size_t)stride];
}

/* Lists so short are exact, and cost little. */
#define FEW 300

/* The end of the group that begins with this point: all points of an end that may be lost, or those that lie
 * no farther than points may. */
static size_t end_of_group(const prv_ratio_law *law, size_t first, const prv_ratio_kept *kept,
                           const distances *d)
{
    if (first < kept->first) return kept->first;
    if (first >= kept->end) return law->length;
    const double wide = fmax(prv_ratio_thinned_spacing(d->share, fabs(law->at[first])), d->anywhere);
    size_t end = first + 1;
    while (end < kept->end && law->at[end] - law->at[first] <= fmin(wide, WIDEST)) end++;
    return end;
}

static prv_status thin_list(const prv_ratio_side *s, const distances *d, prv_ratio_law *law)
{
    prv_ratio_listed *points = prv_allocate(law->length, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    const prv_ratio_kept kept = prv_ratio_choose_ends(law, s);
    size_t count = 0;
    for (size_t first = 0, end; first < law->length; first = end) {
        end = end_of_group(law, first, &kept, d);
        if (end == first + 1)
            points[count++] = (prv_ratio_listed){law->at[first], law->null[first]};
        else
            points[count++] = prv_ratio_mean_of(law, first, end, s);
    }
    prv_ratio_law thin = *law;
    const prv_status status = prv_ratio_list_close(points, count, 0.0, s, &thin);
    prv_release(points);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(law);
    *law = thin;
    return PRV_OK;
}

prv_status prv_ratio_thin(const prv_ratio_side *s, double share, double coarser, prv_ratio_law *law)
{
    const distances d = distances_of(law, share, coarser);
    if (law->at != NULL)
        return s->side == PRV_DOMINATED && law->length > FEW ? thin_list(s, &d, law) : PRV_OK;
    const int64_t last = law->first + (int64_t)law->length - 1;
    const int64_t begin = prv_ratio_block_of(law->first);
    const int64_t end = prv_ratio_block_of(last) + PRV_WIDEST_STRIDE;
    const size_t length = (size_t)(end - begin) + 1;
    double *null = prv_allocate(length, sizeof *null);
    if (null == NULL) return PRV_ERR_MEMORY;
    memset(null, 0, length * sizeof *null);
    memcpy(null + (law->first - begin), law->null, law->length * sizeof *null);
    double shift = 0.0;
    region r = {begin, begin, stride_at(law, begin, &d)};
    while (r.low < end) {
        do r.high += PRV_WIDEST_STRIDE;
        while (r.high < end && stride_at(law, r.high, &d) == r.stride);
        double more;
        const prv_status status = thin_cells(s, r.stride, law->spacing, (size_t)(r.high - r.low) / r.stride,
                                             null + (r.low - begin), &more);
        if (status != PRV_OK) {
            prv_release(null);
            return status;
        }
        shift = fmax(shift, more);
        r = (region){r.high, r.high, r.high < end ? stride_at(law, r.high, &d) : 1};
    }
    take_masses(law, null, begin, length);
    law->shift += shift;
    if (coarser > 1.0) take_stride(law);
    prv_ratio_complete(s, law);
    return PRV_OK;
}
