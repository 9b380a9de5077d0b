#include "composition/direct_convolution.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "composition/block_products.h"

enum { BLOCK = PRV_BLOCK };

#define LONGEST ((size_t)1 << 20)

/* Products below DBL_MIN are off by 2^-1075 each. */
#define UNDERFLOWN 1e-300

/* Masses on consecutive points; BLOCK zeros stand below the lowest and above the highest. */
typedef struct law {
    size_t length;
    int64_t lowest; /* lattice index */
    double *mass;   /* [2 * points] */
    double lost, relative;
} law;

/* The same without the points that have no mass. */
typedef struct atoms {
    size_t count, span;
    int64_t lowest;
    size_t *at; /* above lowest, increasing */
    double *weight;
    double lost, relative;
} atoms;

struct prv_direct {
    size_t points;
    double dropped; /* at either end after a product, at most */
    law sum, power;
    atoms step, factor;
    double *spare;
    double *block;
    size_t *places;
};

/* ---- Predictions ---------------------------------------------------------------------------- */

static uint64_t highest_bit(uint64_t k)
{
    uint64_t bit = 1;
    while (k >>= 1) bit <<= 1;
    return bit;
}

/* Products of a power by squaring, and step by step; a law of m steps is about sqrt(m) times as wide as one.
 */
static double squaring_products(double count, double atom_count, double span, double points)
{
    double products = 0.0, m = 1.0;
    const uint64_t k = (uint64_t)count;
    for (uint64_t bit = highest_bit(k) >> 1; bit > 0; bit >>= 1) {
        const double width = fmin(span * sqrt(m), points);
        products += width * (0.5 * width + 2 * BLOCK);
        m *= 2.0;
        if (k & bit) {
            products += atom_count * fmin(span * sqrt(m), points);
            m += 1.0;
        }
    }
    return products;
}

static double one_by_one_products(double count, double atom_count, double span, double points)
{
    return (count - 1.0) * atom_count * fmin(span * sqrt(count), points);
}

static size_t span_of(const prv_lattice *y, size_t points)
{
    if (y->length == 0) return 0;
    const uint64_t span = (uint64_t)(y->index[y->length - 1] - y->index[0]) + 1;
    return span < points ? (size_t)span : points;
}

double prv_direct_products(const prv_lattice *const *lattices, const double *counts, size_t steps,
                           size_t length)
{
    if (length > LONGEST) return HUGE_VAL;
    const double points = (double)length;
    double sum = (double)(steps - 1) * points * points;
    for (size_t j = 0; j < steps; j++) {
        const double atom_count = (double)lattices[j]->length, span = (double)span_of(lattices[j], length);
        sum += fmin(squaring_products(counts[j], atom_count, span, points),
                    one_by_one_products(counts[j], atom_count, span, points));
    }
    return sum;
}

/* ---- Products ------------------------------------------------------------------------------- */

/* out[i] = sum of weight[j] mass[i - at[j]], i < length rounded up to whole blocks. */
static void multiply(const law *a, const atoms *b, double *out, size_t length)
{
    size_t low = 0, high = 0;
    for (size_t i = 0; i < length; i += BLOCK) {
        while (high < b->count && b->at[high] < i + BLOCK) high++;
        while (low < high && b->at[low] + a->length <= i) low++;
        prv_block_of_terms(a->mass + i, b->at + low, b->weight + low, high - low, out + i);
    }
}

/* The same where the atoms are those of the law: pairs (j, i - j) with j below the middle of the block's
 * pairs stand for two; what is between is the square of BLOCK masses. */
static void square(const law *a, const atoms *b, double *out, size_t length)
{
    size_t ramp[BLOCK], low = 0, high = 0;
    for (size_t l = 0; l < BLOCK; l++) ramp[l] = l;
    for (size_t i = 0; i < length; i += BLOCK) {
        const size_t middle = i / 2;
        while (high < b->count && b->at[high] < middle) high++;
        while (low < high && b->at[low] + a->length <= i) low++;
        prv_block_of_terms(a->mass + i, b->at + low, b->weight + low, high - low, out + i);
        double between[2 * BLOCK] = {0}, sums[BLOCK] = {0};
        if (middle < a->length) {
            memcpy(between + BLOCK, a->mass + middle, BLOCK * sizeof *between);
            prv_block_of_terms(between + BLOCK, ramp, between + BLOCK, BLOCK, sums);
        }
        for (size_t l = 0; l < BLOCK; l++) out[i + l] = 2.0 * out[i + l] + sums[l];
    }
}

static void replace(prv_direct *d, law *a, size_t length)
{
    double *mass = a->mass;
    a->mass = d->spare;
    d->spare = mass;
    a->length = length;
    memset(a->mass - BLOCK, 0, BLOCK * sizeof *mass);
    memset(a->mass + length, 0, BLOCK * sizeof *mass);
    /* What is beyond one turn falls onto its beginning. */
    if (length > d->points) {
        for (size_t i = d->points; i < length; i++) {
            a->mass[i - d->points] += a->mass[i];
            a->mass[i] = 0.0;
        }
        a->length = d->points;
        a->relative += PRV_UNIT;
    }
    /* Tails. */
    double below = 0.0, above = 0.0;
    size_t first = 0;
    while (first < a->length && below + a->mass[first] <= d->dropped) below += a->mass[first++];
    while (a->length > first && above + a->mass[a->length - 1] <= d->dropped) {
        above += a->mass[--a->length];
        a->mass[a->length] = 0.0;
    }
    a->length -= first;
    a->lowest += (int64_t)first;
    memmove(a->mass, a->mass + first, (a->length + BLOCK) * sizeof *mass);
    a->lost += PRV_SECOND_ORDER * (below + above) + UNDERFLOWN; /* sums of n terms are off by n u */
}

static void add(prv_direct *d, law *a, const atoms *b)
{
    const size_t length = a->length > 0 && b->count > 0 ? a->length + b->span - 1 : 0;
    if (a == &d->power && b == &d->factor)
        square(a, b, d->spare, length);
    else
        multiply(a, b, d->spare, length);
    a->lowest += b->lowest;
    a->lost += b->lost;
    a->relative += b->relative + (4.0 + (double)(a->length < b->count ? a->length : b->count)) * PRV_UNIT;
    replace(d, a, length);
}

static void atoms_of(const law *a, atoms *b)
{
    b->count = 0;
    for (size_t i = 0; i < a->length; i++)
        if (a->mass[i] > 0.0) {
            b->at[b->count] = i;
            b->weight[b->count++] = a->mass[i];
        }
    b->span = a->length;
    b->lowest = a->lowest;
    b->lost = a->lost;
    b->relative = a->relative;
}

/* ---- The composition ------------------------------------------------------------------------ */

static size_t law_size(size_t points)
{
    return 2 * points + 3 * BLOCK;
}

double prv_direct_bytes(size_t length)
{
    if (length > LONGEST) return 0.0;
    return 3.0 * sizeof(double) * (double)law_size(length) +
           2.0 * (sizeof(double) + sizeof(size_t)) * (double)length;
}

prv_status prv_direct_new(size_t length, double dropped, prv_direct **direct)
{
    prv_direct *d = prv_allocate(1, sizeof *d);
    if (d == NULL) return PRV_ERR_MEMORY;
    memset(d, 0, sizeof *d);
    const size_t size = law_size(length);
    d->points = length;
    d->dropped = dropped;
    d->block = prv_allocate(3 * size + 2 * length, sizeof *d->block);
    d->places = prv_allocate(2 * length, sizeof *d->places);
    if (d->block == NULL || d->places == NULL) {
        prv_direct_free(d);
        return PRV_ERR_MEMORY;
    }
    memset(d->block, 0, 2 * size * sizeof *d->block);
    d->sum.mass = d->block + BLOCK;
    d->power.mass = d->sum.mass + size;
    d->spare = d->power.mass + size;
    d->step.weight = d->block + 3 * size;
    d->factor.weight = d->step.weight + length;
    d->step.at = d->places;
    d->factor.at = d->places + length;
    d->sum.length = 1;
    d->sum.mass[0] = 1.0;
    *direct = d;
    return PRV_OK;
}

void prv_direct_free(prv_direct *direct)
{
    if (direct == NULL) return;
    prv_release(direct->block);
    prv_release(direct->places);
    prv_release(direct);
}

prv_status prv_direct_add(prv_direct *d, const prv_lattice *y, const double *weight, double count,
                          const prv_options *options)
{
    law *power = &d->power;
    power->lowest = y->length > 0 ? y->index[0] : 0;
    power->lost = 0.0;
    /* Atoms whole turns apart are added up. */
    power->relative = y->length > 0
                          ? (double)((uint64_t)(y->index[y->length - 1] - power->lowest) / d->points) *
                                PRV_UNIT
                          : 0.0;
    const size_t span = span_of(y, d->points);
    memset(d->spare, 0, span * sizeof *d->spare);
    for (size_t i = 0; i < y->length; i++)
        d->spare[(uint64_t)(y->index[i] - y->index[0]) % d->points] += weight[i];
    replace(d, power, span);
    atoms_of(power, &d->step);
    const double width = (double)power->length, atom_count = (double)d->step.count,
                 points = (double)d->points;
    const int squaring = squaring_products(count, atom_count, width, points) <
                         one_by_one_products(count, atom_count, width, points);
    const uint64_t k = (uint64_t)count;
    for (uint64_t left = k - 1; !squaring && left > 0; left--) {
        const prv_status status = prv_check_interrupt(options);
        if (status != PRV_OK) return status;
        add(d, power, &d->step);
    }
    for (uint64_t bit = highest_bit(k) >> 1; squaring && bit > 0; bit >>= 1) {
        const prv_status status = prv_check_interrupt(options);
        if (status != PRV_OK) return status;
        atoms_of(power, &d->factor);
        add(d, power, &d->factor);
        if (k & bit) add(d, power, &d->step);
    }
    atoms_of(power, &d->factor);
    add(d, &d->sum, &d->factor);
    return PRV_OK;
}

void prv_direct_masses(const prv_direct *d, double *mass, double *relative, double *lost)
{
    const law *sum = &d->sum;
    const int64_t points = (int64_t)d->points;
    int64_t at = sum->lowest % points;
    if (at < 0) at += points;
    memset(mass, 0, d->points * sizeof *mass);
    for (size_t i = 0; i < sum->length; i++) mass[((size_t)at + i) % d->points] = sum->mass[i];
    *relative = sum->relative;
    *lost = PRV_SECOND_ORDER * sum->lost;
}
