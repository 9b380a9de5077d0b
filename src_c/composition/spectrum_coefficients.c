#include "composition/spectrum_coefficients.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/constants.h"
#include "numerics/rounding.h"

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

/* 1 - r e^(-i theta) = (1 - r) + 2 r sin^2(theta / 2) + i r sin theta: no term cancels another, as 1 - r cos
 * theta would. rest = 1 - r; sin_half and sin_all: of theta / 2 and theta. */
static inline prv_complex one_less_turned(double r, double rest, double sin_half, double sin_all)
{
    return (prv_complex){rest + 2.0 * r * sin_half * sin_half, r * sin_all};
}

/* The kernels of D and B at z = lam + i theta / q: with a = 1 - e^(-z q) and b = 1 - e^(-(z + 1) q), kern_D =
 * e^(-z q) (1 - e^(-q)) / (a b) and kern_B = 1 / b. */
static inline prv_kernels kernels_at(const kernel_factors *f, double number, double unit, double points)
{
    const double theta = 2.0 * PRV_PI * number / points;
    const double sin_half = sin(0.5 * theta);
    const prv_complex turn = {cos(theta), sin(theta)};
    const prv_complex a = one_less_turned(f->decay, f->rest, sin_half, turn.im);
    const prv_complex b = one_less_turned(f->decay_more, f->rest_more, sin_half, turn.im);
    prv_kernels k;
    k.b = prv_cinverse(b);
    k.d = prv_cscale(f->gain * f->decay, prv_cmul_conj(prv_cdiv(k.b, a), turn));
    /* j and -j are conjugates, so that they make one real term of twice the weight; 0 stands alone. */
    k.weight = (number == 0.0 ? 1.0 : 2.0) / points;
    k.size = k.weight * (modulus_above(k.d) + unit * modulus_above(k.b));
    return k;
}

void prv_kernels_fill(const prv_exponents *e, double unit, double tilt, double points, prv_kernels *kernels)
{
    const kernel_factors factors = factors_of(tilt, unit);
    for (size_t j = 0; j < e->count; j++) kernels[j] = kernels_at(&factors, e->number[j], unit, points);
}

/* Phi at one frequency, and what it may be off by. */
typedef struct phi {
    prv_complex value;
    double error;
} phi;

/* prod phi^k, or prod b^k with jumps apart. The sums over the steps round by u of all that they hold, each
 * time. */
static phi phi_at(const prv_exponents *e, size_t j, size_t steps)
{
    const double modulus = exp(e->log_modulus[j]);
    const double relative = e->error[j] + (4.0 + (double)steps) * PRV_UNIT * e->size[j];
    return (phi){prv_cscale(modulus, (prv_complex){cos(e->phase[j]), sin(e->phase[j])}),
                 exp(fmin(e->log_bound[j], 0.0)) * fmin(relative, 2.0)};
}

/* From prod b^k, prod (b + j)^k - prod b^k = prod b^k (e^L - 1), L = sum k log1p(j / b): section 7, the
 * frequencies kept. */
static phi phi_of_jumps(const prv_exponents *e, size_t j, size_t steps, phi bulk)
{
    /* |log(1 + z)| <= 2 log(1 + |z|) if |z| < 1/2. */
    const double error = e->jump_error[j] + 2.0 * (double)steps * PRV_UNIT * e->jump_bound[j];
    if (!(error < PRV_MOST_JUMP_ERROR)) {
        const double both = 2.0 * exp(fmin(e->log_bound[j] + e->jump_bound[j], 0.0));
        return (phi){{0.0, 0.0}, both};
    }
    const double sin_half = sin(0.5 * e->jump_im[j]), grown = expm1(e->jump_re[j]);
    const prv_complex factor = {grown * cos(e->jump_im[j]) - 2.0 * sin_half * sin_half,
                                (1.0 + grown) * sin(e->jump_im[j])};
    const double size = hypot(factor.re, factor.im), bulk_bound = exp(fmin(e->log_bound[j], 0.0));
    return (phi){prv_cmul(bulk.value, factor),
                 bulk.error * size + bulk_bound * ((1.0 + grown) * expm1(error) + 22.0 * PRV_UNIT * size)};
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

prv_status prv_spectrum_fill(const prv_exponents *e, size_t steps, bool separate, double unit, double tilt,
                             double points, const prv_kernels *kernels, prv_spectrum *out)
{
    const prv_status status = reserve(e, out);
    if (status != PRV_OK) return status;
    out->points = points;
    const kernel_factors factors = factors_of(tilt, unit);
    double rounding = 0.0;
    prv_run *run = NULL;
    for (size_t j = 0; j < e->count; j++) {
        const double number = e->number[j];
        if (prv_starts_run(e, j)) {
            run = run == NULL ? out->runs : run + 1;
            *run = (prv_run){number, 0};
        }
        run->length++;
        phi p = phi_at(e, j, steps);
        if (separate) p = phi_of_jumps(e, j, steps, p);
        const prv_kernels k = kernels != NULL ? kernels[j] : kernels_at(&factors, number, unit, points);
        const prv_complex finite = prv_cscale(k.weight, prv_cmul(p.value, k.d));
        const prv_complex reverse = prv_cscale(k.weight, prv_cmul(p.value, k.b));
        out->finite_re[j] = finite.re;
        out->finite_im[j] = finite.im;
        out->reverse_re[j] = reverse.re;
        out->reverse_im[j] = reverse.im;
        /* Section 4, terms and their sum. */
        const double own = PRV_UNIT * (160.0 + 3.0 * fabs(e->log_modulus[j]) + 14.0 * (number - run->first) +
                                       (double)e->count / 6.0);
        rounding += k.size * (p.error + own * modulus_above(p.value));
    }
    /* A sum of n terms, and products of errors: parts of n u, and of errors, of itself. */
    out->rounding = PRV_SECOND_ORDER * rounding;
    return PRV_OK;
}
