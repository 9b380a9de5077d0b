#include "composition/log_spectrum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/complex.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

enum { ARRAYS = 10 };

/* If |j / b| is no less than this at a frequency, only the bound of its term is kept. The proof needs 1/2 or
 * less (SPECTRUM.md, section 7). */
#define MOST_JUMP 0.5

static void arrays_of(prv_exponents *e, double **arrays[ARRAYS])
{
    double **all[ARRAYS] = {&e->number, &e->log_modulus, &e->phase,   &e->log_bound,  &e->error,
                            &e->size,   &e->jump_re,     &e->jump_im, &e->jump_error, &e->jump_bound};
    memcpy(arrays, all, sizeof all);
}

static prv_status reserve(prv_exponents *e, size_t capacity)
{
    if (capacity <= e->capacity) return PRV_OK;
    double *block = prv_allocate(ARRAYS * capacity, sizeof *block);
    if (block == NULL) return PRV_ERR_MEMORY;
    double **arrays[ARRAYS];
    arrays_of(e, arrays);
    for (size_t i = 0; i < ARRAYS; i++) {
        if (e->count > 0) memcpy(block + i * capacity, *arrays[i], e->count * sizeof *block);
        *arrays[i] = block + i * capacity;
    }
    prv_release(e->block);
    e->block = block;
    e->capacity = capacity;
    return PRV_OK;
}

prv_status prv_exponents_append(prv_exponents *e, double number, size_t count)
{
    if (e->count + count > e->capacity) {
        const prv_status status = reserve(e, 2 * e->capacity + count + 7 * PRV_FREQUENCY_BLOCK);
        if (status != PRV_OK) return status;
    }
    double **arrays[ARRAYS];
    arrays_of(e, arrays);
    for (size_t i = 0; i < ARRAYS; i++) memset(*arrays[i] + e->count, 0, count * sizeof(double));
    for (size_t j = 0; j < count; j++) e->number[e->count + j] = number + (double)j;
    e->count += count;
    return PRV_OK;
}

prv_status prv_exponents_append_from(prv_exponents *e, const prv_exponents *from, size_t first, size_t count)
{
    const size_t at = e->count;
    const prv_status status = prv_exponents_append(e, from->number[first], count);
    if (status != PRV_OK) return status;
    prv_exponents source = *from;
    double **in[ARRAYS], **out[ARRAYS];
    arrays_of(&source, in);
    arrays_of(e, out);
    for (size_t i = 0; i < ARRAYS; i++) memcpy(*out[i] + at, *in[i] + first, count * sizeof(double));
    return PRV_OK;
}

/* Adds k log1p(j / b) of one step, b known to relative b_error and j to absolute j_error. */
static void add_jumps(prv_exponents *e, size_t at, const prv_source *jumps, prv_complex b, double b_error,
                      prv_complex j, double j_error)
{
    const double k = jumps->count, modulus = sqrt(prv_cabs_square(b));
    const prv_complex ratio = prv_cdiv(j, b);
    const double part = hypot(ratio.re, ratio.im);
    e->jump_bound[at] += k * log1p(jumps->total / modulus);
    if (!(part < MOST_JUMP)) {
        e->jump_error[at] = HUGE_VAL;
        return;
    }
    e->jump_re[at] += k * 0.5 * log1p(2.0 * ratio.re + ratio.re * ratio.re + ratio.im * ratio.im);
    e->jump_im[at] += k * atan2(ratio.im, 1.0 + ratio.re);
    e->jump_error[at] += k * (j_error / modulus + part * b_error + 16.0 * PRV_UNIT * part) / (1.0 - part);
}

/* log |phi| of phi = 1 + x + i y, at most 0, and what phi is off by, as a part of it: phi_error, and what the
 * logarithm takes. */
PRV_VECTOR static void moduli(const double *restrict x, const double *restrict y, size_t count,
                              double phi_error, double *restrict log_modulus, double *restrict relative)
{
    for (size_t j = 0; j < count; j++) {
        /* |phi|^2 - 1 where |phi| is near 1, |phi|^2 itself where it is not; no smaller than its error. */
        const double excess = 2.0 * x[j] + x[j] * x[j] + y[j] * y[j];
        const double found = (1.0 + x[j]) * (1.0 + x[j]) + y[j] * y[j];
        const double square = prv_vm_max(found, phi_error * phi_error);
        const double far = prv_vm_log(square), near = prv_vm_log1p_near(prv_vm_max(excess, -0.5));
        const double log_square = prv_vm_min(excess > -0.5 ? near : far, 0.0);
        const double modulus = sqrt(prv_vm_min(excess > -0.5 ? 1.0 + excess : square, 1.0));
        /* The error of phi, 4 roundings of `excess`, or of |phi|^2 itself, and the logarithm's. */
        const double size = 2.0 * fabs(x[j]) + x[j] * x[j] + y[j] * y[j];
        const double squared = excess > -0.5 ? size / modulus : modulus;
        const double error = square > found ? 2.0 * phi_error : phi_error;
        log_modulus[j] = 0.5 * log_square;
        relative[j] = (error + 4.0 * PRV_UNIT * squared) / modulus - 1.5 * PRV_UNIT * log_square;
    }
}

void prv_exponents_add(prv_exponents *e, size_t first, size_t count, const prv_source *s,
                       const prv_source *jumps, double points)
{
    double re[PRV_FREQUENCY_BLOCK], im[PRV_FREQUENCY_BLOCK], jump_re[PRV_FREQUENCY_BLOCK],
        jump_im[PRV_FREQUENCY_BLOCK], log_modulus[PRV_FREQUENCY_BLOCK], relative[PRV_FREQUENCY_BLOCK];
    const double k = s->count, number = e->number[first], end = number + (double)count;
    double rare = 0.0, phi_error = prv_characteristic_error(s, end, points), jump_error = 0.0;
    prv_characteristic(s, number, count, points, re, im);
    if (jumps != NULL) {
        rare = jumps->total;
        phi_error += (4.0 + (double)jumps->length) * PRV_UNIT * rare;
        prv_characteristic(jumps, number, count, points, jump_re, jump_im);
        jump_error = prv_characteristic_error(jumps, end, points) +
                     (8.0 + (double)jumps->length) * PRV_UNIT * rare;
    }
    for (size_t j = 0; j < count; j++) re[j] -= rare;
    moduli(re, im, count, phi_error, log_modulus, relative);
    for (size_t j = 0; j < count; j++) {
        const double phase = k * atan2(im[j], 1.0 + re[j]);
        e->log_modulus[first + j] += k * log_modulus[j];
        e->phase[first + j] += phase;
        /* |phi~^k - phi^k| <= k (error of phi) (|phi| + error)^(k - 1), error being relative |phi~|, and
         * |phi~| <= 1. */
        /* Near a zero of phi its error may be many times phi. */
        const double log_error = relative[j] < 0.5 ? relative[j] : log1p(relative[j]);
        e->log_bound[first + j] += k * (log_modulus[j] + log_error);
        e->error[first + j] += k * relative[j];
        e->size[first + j] += fabs(phase) + k * fabs(log_modulus[j]);
        if (jumps != NULL)
            add_jumps(e, first + j, jumps, (prv_complex){1.0 + re[j], im[j]}, relative[j],
                      (prv_complex){rare + jump_re[j], jump_im[j]}, jump_error);
    }
}

prv_status prv_exponents_copy(const prv_exponents *from, prv_exponents *to)
{
    to->count = 0;
    return from->count > 0 ? prv_exponents_append_from(to, from, 0, from->count) : PRV_OK;
}

prv_status prv_exponents_repeat(const prv_exponents *once, double k, prv_exponents *to)
{
    to->count = 0;
    const prv_status status = reserve(to, once->count);
    if (status != PRV_OK) return status;
    for (size_t j = 0; j < once->count; j++) {
        to->number[j] = once->number[j];
        to->log_modulus[j] = k * once->log_modulus[j];
        to->phase[j] = k * once->phase[j];
        to->log_bound[j] = k * once->log_bound[j];
        to->error[j] = k * once->error[j];
        to->size[j] = k * once->size[j];
    }
    to->count = once->count;
    return PRV_OK;
}

void prv_exponents_free(prv_exponents *e)
{
    prv_release(e->block);
    memset(e, 0, sizeof *e);
}
