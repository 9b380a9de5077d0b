#include "composition/positive_power.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "composition/block_products.h"

enum { BLOCK = PRV_BLOCK };

prv_status prv_polynomial_new(size_t count, prv_polynomial *f)
{
    f->count = count;
    f->at = prv_allocate(count, sizeof *f->at);
    f->weight = prv_allocate(count, sizeof *f->weight);
    if (f->at != NULL && f->weight != NULL) return PRV_OK;
    prv_polynomial_free(f);
    return PRV_ERR_MEMORY;
}

void prv_polynomial_free(prv_polynomial *f)
{
    prv_release(f->at);
    prv_release(f->weight);
    memset(f, 0, sizeof *f);
}

/* ---- The recursion --------------------------------------------------------------------------- */

/* Sums of products that are no normal doubles are off absolutely; with the recursion, by 1 / w_0^k times as
 * much (JUMPS.md, section 2). */
static double underflow(const prv_polynomial *f, double log_lowest, size_t length)
{
    return (double)length * (2.0 * (double)f->count + 4.0) * DBL_TRUE_MIN * exp(fmin(log_lowest, 700.0));
}

/* All terms of the recursion up to `length` are positive, and its beginning is large enough. */
static bool may_recur(const prv_polynomial *f, double power, size_t length, double negligible)
{
    const double log_lowest = -power * log(f->weight[0]);
    if (!(log_lowest <= 690.0 && underflow(f, log_lowest, length) <= negligible)) return false;
    return f->count == 1 || (double)length <= (power + 1.0) * (double)f->at[1];
}

/* sum[l] += sum over the terms of ((power + 1) at - first - l) ratio before[l - at], l < BLOCK. Eight sums of
 * four lanes, by name, stay in registers. */
PRV_VECTOR static void add_far_terms(const size_t *restrict at, const double *restrict ratio, size_t count,
                                     double power, double first, const double *before, double *restrict sum)
{
    double s0[4], s1[4], s2[4], s3[4], s4[4], s5[4], s6[4], s7[4];
    memcpy(s0, sum, sizeof s0);
    memcpy(s1, sum + 4, sizeof s1);
    memcpy(s2, sum + 8, sizeof s2);
    memcpy(s3, sum + 12, sizeof s3);
    memcpy(s4, sum + 16, sizeof s4);
    memcpy(s5, sum + 20, sizeof s5);
    memcpy(s6, sum + 24, sizeof s6);
    memcpy(s7, sum + 28, sizeof s7);
    for (size_t a = 0; a < count; a++) {
        const double *from = before - at[a], w = ratio[a], top = (power + 1.0) * (double)at[a] - first;
        for (size_t l = 0; l < 4; l++) s0[l] += (top - (double)l) * w * from[l];
        for (size_t l = 0; l < 4; l++) s1[l] += (top - (double)(l + 4)) * w * from[l + 4];
        for (size_t l = 0; l < 4; l++) s2[l] += (top - (double)(l + 8)) * w * from[l + 8];
        for (size_t l = 0; l < 4; l++) s3[l] += (top - (double)(l + 12)) * w * from[l + 12];
        for (size_t l = 0; l < 4; l++) s4[l] += (top - (double)(l + 16)) * w * from[l + 16];
        for (size_t l = 0; l < 4; l++) s5[l] += (top - (double)(l + 20)) * w * from[l + 20];
        for (size_t l = 0; l < 4; l++) s6[l] += (top - (double)(l + 24)) * w * from[l + 24];
        for (size_t l = 0; l < 4; l++) s7[l] += (top - (double)(l + 28)) * w * from[l + 28];
    }
    memcpy(sum, s0, sizeof s0);
    memcpy(sum + 4, s1, sizeof s1);
    memcpy(sum + 8, s2, sizeof s2);
    memcpy(sum + 12, s3, sizeof s3);
    memcpy(sum + 16, s4, sizeof s4);
    memcpy(sum + 20, s5, sizeof s5);
    memcpy(sum + 24, s6, sizeof s6);
    memcpy(sum + 28, s7, sizeof s7);
}

/* Hands g_n on to the next BLOCK - 1 sums: sum[i] += (power i - n) ratio[i] g_n, i >= 1. `ahead` is power i.
 */
PRV_VECTOR static void hand_on(const double *restrict ahead, const double *restrict ratio, double n, double g,
                               double *restrict sum)
{
    for (size_t i = 0; i < BLOCK; i++) sum[i] += (ahead[i] - n) * ratio[i] * g;
}

/* g has BLOCK zeros below it, and room for a multiple of BLOCK; ratio has room for f->count. */
static void recur(const prv_polynomial *f, double power, size_t length, double *ratio, double *g)
{
    double near[BLOCK] = {0}, ahead[BLOCK], sums[2 * BLOCK] = {0};
    size_t far = 1;
    for (size_t a = 0; a < f->count; a++) ratio[a] = f->weight[a] / f->weight[0];
    for (; far < f->count && f->at[far] < BLOCK; far++) near[f->at[far]] = ratio[far];
    for (size_t i = 0; i < BLOCK; i++) ahead[i] = power * (double)i;
    size_t end = far;
    for (size_t first = 0; first < length; first += BLOCK) {
        while (end < f->count && f->at[end] < first + BLOCK) end++;
        add_far_terms(f->at + far, ratio + far, end - far, power, (double)first, g + first, sums);
        for (size_t l = 0; l < BLOCK; l++) {
            const size_t n = first + l;
            g[n] = n == 0 ? exp(power * log(f->weight[0])) : sums[l] / (double)n;
            hand_on(ahead, near, (double)n, g[n], sums + l);
        }
        memcpy(sums, sums + BLOCK, BLOCK * sizeof *sums);
        memset(sums + BLOCK, 0, BLOCK * sizeof *sums);
    }
}

/* g_0 is off by the rounding of the logarithm, of the product and of the exponential. From one coefficient to
 * the next, a term has 6 roundings (of the ratio, of (k + 1) i - n twice, of two products, and of the
 * division of the sum), and the sum one for each term. The chain of coefficients is at most `length` long. */
static prv_power_error recursion_error(const prv_polynomial *f, double power, size_t length)
{
    const double log_lowest = -power * log(f->weight[0]), n = (double)length, terms = (double)f->count;
    const double begin = log_lowest * (PRV_LIBM_ERROR + PRV_UNIT) + PRV_LIBM_ERROR;
    return (prv_power_error){begin + n * (terms + 6.0) * PRV_UNIT,
                             underflow(f, log_lowest, length) * PRV_SECOND_ORDER};
}

/* ---- Products -------------------------------------------------------------------------------- */

/* The coefficients of a power below `length`, in a buffer with BLOCK zeros on either side; those from `end`
 * on are 0. */
typedef struct series {
    double *g;
    size_t end;
    prv_power_error error;
} series;

static void close_series(series *s, size_t end)
{
    s->end = end;
    memset(s->g + end, 0, 2 * BLOCK * sizeof *s->g);
}

static size_t end_of_product(size_t a, size_t b, size_t length)
{
    return a + b - 1 < length ? a + b - 1 : length;
}

static void multiply(const series *a, const prv_polynomial *f, size_t length, series *out)
{
    const size_t end = end_of_product(a->end, f->at[f->count - 1] + 1, length);
    size_t low = 0, high = 0;
    for (size_t n = 0; n < end; n += BLOCK) {
        while (high < f->count && f->at[high] < n + BLOCK) high++;
        while (low < high && f->at[low] + a->end <= n) low++;
        /* A term reaches up to BLOCK - 1 beyond the end of a: its coefficients there are 0. */
        prv_block_of_terms(a->g + n, f->at + low, f->weight + low, high - low, out->g + n);
    }
    close_series(out, end);
    out->error.relative = a->error.relative + ((double)f->count + 1.0) * PRV_UNIT;
    out->error.absolute = a->error.absolute + (double)end * (double)f->count * DBL_TRUE_MIN;
}

/* Pairs (j, n - j) with j < n / 2 stand for two. */
static void square(const series *a, size_t length, series *out)
{
    const size_t end = end_of_product(a->end, a->end, length);
    for (size_t n = 0; n < end; n += BLOCK) {
        const size_t half = n / 2, first = n >= a->end ? n - a->end + 1 : 0;
        double rest[2 * BLOCK] = {0}, between[BLOCK];
        prv_block_of_product(a->g, first < half ? first : half, half, a->g + n, out->g + n);
        /* Both factors of what is left have an index from `half` on, and none above half + BLOCK - 1. */
        const size_t left = half < a->end ? a->end - half : 0;
        memcpy(rest + BLOCK, a->g + half, (left < BLOCK ? left : BLOCK) * sizeof *rest);
        prv_block_of_product(rest + BLOCK, 0, BLOCK, rest + BLOCK, between);
        for (size_t l = 0; l < BLOCK; l++) out->g[n + l] = 2.0 * out->g[n + l] + between[l];
    }
    close_series(out, end);
    out->error.relative = 2.0 * a->error.relative + ((double)a->end + 2.0) * PRV_UNIT;
    out->error.absolute = 2.0 * a->error.absolute + (double)end * (double)end * 2.0 * DBL_TRUE_MIN;
}

static void swap(series *a, series *b)
{
    const series before = *a;
    *a = *b;
    *b = before;
}

/* ---- The power ------------------------------------------------------------------------------- */

/* The power is that of its highest bits, by the recursion or 1, and then of one bit after the other.
 * Squarings that follow the recursion, or SIZE_MAX where the recursion is no use. */
static size_t squarings_after_recursion(const prv_polynomial *f, double power, size_t length,
                                        double negligible)
{
    size_t after = 0;
    for (double k = power; k >= 1.0; k = floor(0.5 * k), after++)
        if (may_recur(f, k, length, negligible)) return after;
    return SIZE_MAX;
}

static size_t bits_below_highest(double power)
{
    size_t bits = 0;
    for (double k = power; k >= 2.0; k = floor(0.5 * k)) bits++;
    return bits;
}

double prv_positive_power_work(const prv_polynomial *f, double power, size_t length, double negligible)
{
    const double n = (double)length, terms = (double)f->count;
    if (f->count == 1 || power < 2.0) return n;
    const size_t after = squarings_after_recursion(f, power, length, negligible);
    if (after != SIZE_MAX) return n * (terms + BLOCK) + (double)after * n * (0.25 * n + terms);
    double work = 0.0, end = (double)f->at[f->count - 1];
    for (size_t bit = bits_below_highest(power); bit-- > 0;) {
        end = fmin(2.0 * end, n);
        work += end * (0.25 * end + BLOCK + terms);
    }
    return work;
}

prv_status prv_positive_power(const prv_polynomial *f, double power, size_t length, double negligible,
                              const prv_options *options, double *g, prv_power_error *error)
{
    const size_t size = length + 4 * BLOCK;
    double *work = prv_allocate(2 * size + f->count, sizeof *work);
    if (work == NULL) return PRV_ERR_MEMORY;
    memset(work, 0, 2 * size * sizeof *work);
    series s = {work + BLOCK, 0, {0.0, 0.0}}, next = {work + size + BLOCK, 0, {0.0, 0.0}};
    prv_status status = PRV_OK;
    size_t left = power < 1.0 ? 0 : squarings_after_recursion(f, power, length, negligible);
    if (left != SIZE_MAX) {
        const double begin = floor(ldexp(power, -(int)left));
        recur(f, begin, length, work + 2 * size, s.g);
        s.error = recursion_error(f, begin, length);
        close_series(&s, length);
    } else {
        left = bits_below_highest(power);
        size_t end = 0;
        for (size_t a = 0; a < f->count && f->at[a] < length; a++) {
            s.g[f->at[a]] = f->weight[a];
            end = f->at[a] + 1;
        }
        close_series(&s, end);
    }
    while (left-- > 0) {
        status = prv_check_interrupt(options);
        if (status != PRV_OK) goto done;
        square(&s, length, &next);
        swap(&s, &next);
        if (fmod(floor(ldexp(power, -(int)left)), 2.0) == 0.0) continue;
        multiply(&s, f, length, &next);
        swap(&s, &next);
    }
    memset(g, 0, length * sizeof *g);
    memcpy(g, s.g, s.end * sizeof *g);
    *error = s.error;
done:
    prv_release(work);
    return status;
}
