#include "lattices/ratio_means.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "lattices/ratio_average.h"

/* Masses below this are dropped: of those above, what products lose by underflow is no part. */
#define LEAST_MASS 1e-290
/* Averages are at least this, and at most its inverse: normal doubles. */
#define LEAST_RATIO 0x1p-1000
#define MOST_CELLS 1e6

/* A sum of so many masses, from below. */
static double mass_from_below(double mass, double count)
{
    return mass >= LEAST_MASS ? mass * (1.0 - PRV_UNIT * (count + 8.0)) : 0.0;
}

prv_ratio_listed prv_ratio_mean_of(const prv_ratio_law *law, size_t first, size_t end,
                                   const prv_ratio_side *s)
{
    const double top = law->at[end - 1], span = top - law->at[first], count = (double)(end - first);
    double mass = 0.0, moment = 0.0; /* relative to the highest of them */
    for (size_t i = first; i < end; i++) {
        mass += law->null[i];
        moment += law->null[i] * exp(law->at[i] - top);
    }
    if (!(moment >= LEAST_MASS)) return (prv_ratio_listed){top, 0.0};
    const double below = log(moment / mass);
    const double error = PRV_UNIT * (2.0 * count + 16.0 + span + 4.0 * (fabs(top) + fabs(below)));
    return (prv_ratio_listed){prv_ratio_safely(top + below, error, s), mass_from_below(mass, count)};
}

/* The lowest average, by the lowest point of either law times its weight. */
static double lowest_average(const prv_ratio_law *a, double of_a, const prv_ratio_law *b, double of_b,
                             double least_zero)
{
    double lowest = of_a + of_b;
    if (b->zero > least_zero) lowest = fmin(lowest, of_a);
    if (a->zero > least_zero) lowest = fmin(lowest, of_b);
    return lowest;
}

bool prv_ratio_have_means(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                          const prv_ratio_side *s)
{
    const double least = prv_ratio_least_zero(s);
    const double of_a = weight * exp(a->at[0]), of_b = (1.0 - weight) * exp(b->at[0]);
    const double top = fmax(a->at[a->length - 1], b->at[b->length - 1]);
    return lowest_average(a, of_a, b, of_b, least) >= LEAST_RATIO && exp(top) <= 1.0 / LEAST_RATIO;
}

/* Points as R itself, times a weight, and their masses. */
typedef struct scaled {
    size_t length;
    double *ratio, *mass;
} scaled;

static prv_status scaled_new(const prv_ratio_law *law, double weight, scaled *x)
{
    x->length = 0;
    x->ratio = prv_allocate(2 * law->length, sizeof *x->ratio);
    if (x->ratio == NULL) return PRV_ERR_MEMORY;
    x->mass = x->ratio + law->length;
    for (size_t i = 0; i < law->length; i++) {
        if (!(law->null[i] > 0.0)) continue;
        x->ratio[x->length] = weight * exp(law->at[i]);
        x->mass[x->length++] = law->null[i];
    }
    return PRV_OK;
}

/* Cells of numbers that agree in all bits down to one of the mantissa, so that no logarithm is taken: 2^bits
 * of them in [1, 2). Which cell a number lies in is no matter of rounding, as any masses may be merged. */
typedef struct means {
    unsigned bits;
    int64_t first;
    size_t length;
    double *mass, *moment; /* of mantissas, which neither overflow nor underflow */
    uint32_t *count;       /* of terms */
} means;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#define MANTISSA_BITS 52
#define MANTISSA ((UINT64_C(1) << MANTISSA_BITS) - 1)
#define BITS_OF_ONE (UINT64_C(1023) << MANTISSA_BITS)

static int64_t cell_of(double ratio, unsigned bits)
{
    return (int64_t)(bits_of(ratio) >> (MANTISSA_BITS - bits));
}

static double mantissa_of(double ratio)
{
    const uint64_t bits = (bits_of(ratio) & MANTISSA) | BITS_OF_ONE;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    return mantissa;
}

static prv_status means_new(double lowest, double highest, double spacing, const prv_ratio_side *s, means *v)
{
    memset(v, 0, sizeof *v);
    /* Cells are between half as wide as the widest ones, and as wide. */
    v->bits = (unsigned)fmin(fmax(ceil(-log2(1.4 * spacing)), 0.0), 40.0);
    v->first = cell_of(lowest, v->bits);
    const int64_t cells = cell_of(highest, v->bits) - v->first + 1;
    if (!((double)cells <= MOST_CELLS)) return PRV_ERR_ENGINE;
    v->length = (size_t)cells;
    const prv_status status = prv_ratio_check_memory(s, 4.5 * (double)v->length);
    if (status != PRV_OK) return status;
    v->mass = prv_allocate(2 * v->length, sizeof *v->mass);
    v->count = prv_allocate(v->length, sizeof *v->count);
    if (v->mass == NULL || v->count == NULL) return PRV_ERR_MEMORY;
    v->moment = v->mass + v->length;
    memset(v->mass, 0, 2 * v->length * sizeof *v->mass);
    memset(v->count, 0, v->length * sizeof *v->count);
    return PRV_OK;
}

static void means_free(means *v)
{
    prv_release(v->mass);
    prv_release(v->count);
}

/* Adds one point beside all of these. */
static void add_row(means *v, double ratio, double mass, const double *others, const double *masses,
                    size_t length)
{
    for (size_t j = 0; j < length; j++) {
        const double r = ratio + others[j], m = mass * masses[j];
        const size_t at = (size_t)(cell_of(r, v->bits) - v->first);
        v->mass[at] += m;
        v->moment[at] += m * mantissa_of(r);
        v->count[at]++;
    }
}

static prv_status add_pairs(means *v, const scaled *a, const scaled *b, bool same, const prv_options *options)
{
    for (size_t i = 0; i < a->length; i++) {
        const prv_status status = prv_check_interrupt(options);
        if (status != PRV_OK) return status;
        const double ratio = a->ratio[i], mass = a->mass[i];
        if (!same) {
            add_row(v, ratio, mass, b->ratio, b->mass, b->length);
            continue;
        }
        add_row(v, ratio, mass, b->ratio + i, b->mass + i, 1); /* of (i, j) and (j, i) one */
        add_row(v, ratio, 2.0 * mass, b->ratio + i + 1, b->mass + i + 1, b->length - i - 1);
    }
    return PRV_OK;
}

/* The means of all cells with mass. */
static prv_status points_of(const means *v, const prv_ratio_side *s, prv_ratio_law *average)
{
    prv_ratio_listed *points = prv_allocate(v->length, sizeof *points);
    if (points == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < v->length; i++) {
        const double count = (double)v->count[i], mass = mass_from_below(v->mass[i], count);
        if (!(mass > 0.0)) continue;
        const int exponent = (int)((v->first + (int64_t)i) >> v->bits) - 1023;
        const double at = log(ldexp(v->moment[i] / v->mass[i], exponent));
        const double error = PRV_UNIT * (2.0 * count + 32.0 + 4.0 * fabs(at));
        points[n++] = (prv_ratio_listed){prv_ratio_safely(at, error, s), mass};
    }
    const prv_status status = prv_ratio_list_close(points, n, 0.0, s, average);
    prv_release(points);
    return status;
}

prv_status prv_ratio_average_means(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                   double spacing, const prv_ratio_side *s, prv_ratio_law *average)
{
    const double least = prv_ratio_least_zero(s);
    scaled x = {0}, y = {0};
    means v = {0};
    prv_status status = scaled_new(a, weight, &x);
    if (status == PRV_OK) status = scaled_new(b, 1.0 - weight, &y);
    if (status != PRV_OK) goto done;
    if (x.length == 0 || y.length == 0) {
        status = PRV_ERR_PRECISION;
        goto done;
    }
    const double lowest = lowest_average(a, x.ratio[0], b, y.ratio[0], least);
    status = means_new(lowest, x.ratio[x.length - 1] + y.ratio[y.length - 1], spacing, s, &v);
    if (status == PRV_OK) status = add_pairs(&v, &x, &y, a == b && weight == 0.5, s->options);
    if (status != PRV_OK) goto done;
    if (a->zero > least) add_row(&v, 0.0, a->zero, y.ratio, y.mass, y.length);
    if (b->zero > least) add_row(&v, 0.0, b->zero, x.ratio, x.mass, x.length);
    memset(average, 0, sizeof *average);
    prv_ratio_set_ends_of_average(a, b, weight, s, average);
    average->shift = fmax(a->shift, b->shift);
    status = points_of(&v, s, average);
done:
    prv_release(x.ratio);
    prv_release(y.ratio);
    means_free(&v);
    return status;
}
