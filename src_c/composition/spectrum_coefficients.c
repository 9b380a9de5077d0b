#include "composition/spectrum_coefficients.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

/* |a| from above: its rounding is 3 u, and squares that underflow are less than what is added. */
static inline double modulus_above(prv_complex a)
{
    return sqrt(prv_cabs_square(a)) + 0x1p-500;
}

/* What the kernels of section 1 are made of: e^(-lam q) and e^(-(lam + 1) q), 1 less each, and 1 - e^(-q). */
typedef struct kernel_factors {
    double decay, decay_more;
    double rest, rest_more;
    double gain;
} kernel_factors;

static kernel_factors factors_of(double tilt, double unit)
{
    return (kernel_factors){.decay = exp(-tilt * unit),
                            .decay_more = exp(-(tilt + 1.0) * unit),
                            .rest = -expm1(-tilt * unit),
                            .rest_more = -expm1(-(tilt + 1.0) * unit),
                            .gain = -expm1(-unit)};
}

static prv_status kernels_reserve(size_t count, prv_kernels *k)
{
    k->d_re = prv_allocate(5 * count, sizeof *k->d_re);
    if (k->d_re == NULL) return PRV_ERR_MEMORY;
    k->d_im = k->d_re + count;
    k->b_re = k->d_im + count;
    k->b_im = k->b_re + count;
    k->size = k->b_im + count;
    return PRV_OK;
}

/* The kernels of D and B at z = lam + i theta / q: with a = 1 - e^(-z q) and b = 1 - e^(-(z + 1) q), kern_D =
 * e^(-z q) (1 - e^(-q)) / (a b) and kern_B = 1 / b. */
PRV_VECTOR static void fill_kernels(const double *restrict number, size_t count, kernel_factors f,
                                    double unit, double points, double *restrict d_re, double *restrict d_im,
                                    double *restrict b_re, double *restrict b_im, double *restrict size)
{
    const double inverse = 1.0 / points;
    for (size_t j = 0; j < count; j++) {
        double x,
            y; /* e^(i theta) - 1: in 1 - r e^(-i theta) = (1 - r) - r x + i r y no term cancels another */
        prv_vm_turn(number[j] / points, &x, &y);
        const prv_complex turn = {1.0 + x, y};
        const prv_complex a = {f.rest - f.decay * x, f.decay * y};
        const prv_complex b = {f.rest_more - f.decay_more * x, f.decay_more * y};
        /* j and -j are conjugates, so that they make one real term of twice the weight; 0 stands alone. */
        const double weight = number[j] > 0.0 ? 2.0 * inverse : inverse;
        const prv_complex kern_b = prv_cinverse(b);
        const prv_complex kern_d = prv_cscale(f.gain * f.decay, prv_cmul_conj(prv_cdiv(kern_b, a), turn));
        d_re[j] = weight * kern_d.re;
        d_im[j] = weight * kern_d.im;
        b_re[j] = weight * kern_b.re;
        b_im[j] = weight * kern_b.im;
        size[j] = weight * (modulus_above(kern_d) + unit * modulus_above(kern_b));
    }
}

prv_status prv_kernels_new(const prv_exponents *e, double unit, double tilt, double points, prv_kernels *k)
{
    const prv_status status = kernels_reserve(e->count, k);
    if (status != PRV_OK) return status;
    fill_kernels(e->number, e->count, factors_of(tilt, unit), unit, points, k->d_re, k->d_im, k->b_re,
                 k->b_im, k->size);
    return PRV_OK;
}

void prv_kernels_free(prv_kernels *k)
{
    prv_release(k->d_re);
    *k = (prv_kernels){NULL, NULL, NULL, NULL, NULL};
}

/* Phi at a block of frequencies, and what it may be off by. */
typedef struct block {
    double re[PRV_FREQUENCY_BLOCK], im[PRV_FREQUENCY_BLOCK], modulus[PRV_FREQUENCY_BLOCK],
        error[PRV_FREQUENCY_BLOCK];
} block;

/* prod phi^k, or prod b^k with jumps apart. `sums`: of the steps, which round by u of all that they hold
 * (`size`), each time; so do the angle in turns and what it is divided by. */
PRV_VECTOR static void fill_phi(const double *restrict log_modulus, const double *restrict phase,
                                const double *restrict log_bound, const double *restrict error,
                                const double *restrict size, double sums, size_t count, double *restrict re,
                                double *restrict im, double *restrict modulus, double *restrict off)
{
    for (size_t j = 0; j < count; j++) {
        const double turns = phase[j] * (0.5 / PRV_PI);
        const double part = turns - ((turns + PRV_VM_SHIFTER) - PRV_VM_SHIFTER);
        double x, y;
        /* Of too many turns nothing is known but that this is a turn. */
        prv_vm_turn(prv_vm_max(prv_vm_min(part, 0.5), -0.5), &x, &y);
        const double r = prv_vm_exp(log_modulus[j]), bound = prv_vm_exp(prv_vm_min(log_bound[j], 0.0));
        re[j] = r * (1.0 + x);
        im[j] = r * y;
        modulus[j] = r;
        off[j] = bound * prv_vm_min(error[j] + sums * PRV_UNIT * size[j], 2.0);
    }
}

/* Phi times a kernel. */
PRV_VECTOR static void multiply(const double *restrict re, const double *restrict im,
                                const double *restrict kernel_re, const double *restrict kernel_im,
                                size_t count, double *restrict out_re, double *restrict out_im)
{
    for (size_t j = 0; j < count; j++) {
        out_re[j] = re[j] * kernel_re[j] - im[j] * kernel_im[j];
        out_im[j] = re[j] * kernel_im[j] + im[j] * kernel_re[j];
    }
}

/* From prod b^k at one frequency of the block, prod (b + j)^k - prod b^k = prod b^k (e^L - 1), L = sum k
 * log1p(j / b): section 7, the frequencies kept. */
static void separate_jumps(const prv_exponents *e, size_t j, double steps, block *p, size_t l)
{
    /* |log(1 + z)| <= 2 log(1 + |z|) if |z| < 1/2. */
    const double error = e->jump_error[j] + 2.0 * steps * PRV_UNIT * e->jump_bound[j];
    if (!(error < PRV_MOST_JUMP_ERROR)) {
        p->re[l] = p->im[l] = p->modulus[l] = 0.0;
        p->error[l] = 2.0 * exp(fmin(e->log_bound[j] + e->jump_bound[j], 0.0));
        return;
    }
    const double sin_half = sin(0.5 * e->jump_im[j]), cosine = cos(e->jump_im[j]),
                 grown = expm1(e->jump_re[j]);
    const prv_complex factor = {cosine > 0.0 ? grown * cosine - 2.0 * sin_half * sin_half
                                             : (1.0 + grown) * cosine - 1.0,
                                (1.0 + grown) * sin(e->jump_im[j])};
    const double size = hypot(factor.re, factor.im), bulk_bound = exp(fmin(e->log_bound[j], 0.0));
    const prv_complex value = prv_cmul((prv_complex){p->re[l], p->im[l]}, factor);
    p->re[l] = value.re;
    p->im[l] = value.im;
    p->modulus[l] = modulus_above(value);
    p->error[l] = p->error[l] * size + bulk_bound * ((1.0 + grown) * expm1(error) + 22.0 * PRV_UNIT * size);
}

/* Coefficients at a block of frequencies of one run, whose first has the number `from`. Returns their
 * rounding. */
static double fill_block(const prv_exponents *e, size_t first, size_t count, double from, double steps,
                         bool separate, const prv_kernels *k, prv_spectrum *out)
{
    block p;
    fill_phi(e->log_modulus + first, e->phase + first, e->log_bound + first, e->error + first,
             e->size + first, 7.0 + steps, count, p.re, p.im, p.modulus, p.error);
    for (size_t l = 0; l < count && separate; l++) separate_jumps(e, first + l, steps, &p, l);
    multiply(p.re, p.im, k->d_re + first, k->d_im + first, count, out->finite_re + first,
             out->finite_im + first);
    multiply(p.re, p.im, k->b_re + first, k->b_im + first, count, out->reverse_re + first,
             out->reverse_im + first);
    double rounding = 0.0;
    for (size_t l = 0; l < count; l++) {
        const size_t j = first + l;
        /* Section 4, terms and their sum. The modulus of Phi is this but for parts of u, second order. */
        const double own = PRV_UNIT * (256.0 + 3.0 * fabs(e->log_modulus[j]) + 14.0 * (e->number[j] - from) +
                                       (double)e->count / 6.0);
        rounding += k->size[j] * (p.error[l] + own * p.modulus[l]);
    }
    return rounding;
}

/* Room for `count` coefficients, and zeros after them to the next multiple of PRV_LANES; and for the runs. */
static prv_status reserve(const prv_exponents *e, prv_spectrum *out)
{
    const size_t padded = e->count + PRV_LANES;
    out->block = prv_allocate(4 * padded, sizeof *out->block);
    if (out->block == NULL) return PRV_ERR_MEMORY;
    out->finite_re = out->block;
    out->finite_im = out->finite_re + padded;
    out->reverse_re = out->finite_im + padded;
    out->reverse_im = out->reverse_re + padded;
    out->count = e->count;
    for (size_t j = e->count; j < padded; j++)
        out->finite_re[j] = out->finite_im[j] = out->reverse_re[j] = out->reverse_im[j] = 0.0;
    for (size_t j = 0; j < e->count; j++)
        if (prv_starts_run(e, j)) out->run_count++;
    out->runs = prv_allocate(out->run_count, sizeof *out->runs);
    return out->runs != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

prv_status prv_spectrum_fill(const prv_exponents *e, size_t steps, bool separate, double points,
                             const prv_kernels *kernels, prv_spectrum *out)
{
    const prv_status status = reserve(e, out);
    if (status != PRV_OK) return status;
    out->points = points;
    double rounding = 0.0;
    for (size_t first = 0, i = 0; i < out->run_count; first += out->runs[i++].length) {
        prv_run *run = &out->runs[i];
        *run = (prv_run){e->number[first], 1};
        while (first + run->length < e->count && !prv_starts_run(e, first + run->length)) run->length++;
        for (size_t at = 0; at < run->length; at += PRV_FREQUENCY_BLOCK) {
            const size_t left = run->length - at;
            rounding += fill_block(e, first + at, left < PRV_FREQUENCY_BLOCK ? left : PRV_FREQUENCY_BLOCK,
                                   run->first, (double)steps, separate, kernels, out);
        }
    }
    /* A sum of n terms, and products of errors: parts of n u, and of errors, of itself. */
    out->rounding = PRV_SECOND_ORDER * rounding;
    return PRV_OK;
}
