/* What a spectrum is summed of: at each frequency Phi times the kernels of D and B, with the rounding of
 * both, from the logarithms of the steps. */
#ifndef PRV_SPECTRUM_COEFFICIENTS_H
#define PRV_SPECTRUM_COEFFICIENTS_H

#include "numerics/complex.h"
#include "composition/spectrum.h"

/* If the error of L = sum k log1p(j / b) is no less than this, the term of that frequency is taken as 0 and
 * bounded (SPECTRUM.md, section 7). Any value is sound. */
#define PRV_MOST_JUMP_ERROR 0.5

/* Whether frequency j begins a run. */
static inline bool prv_starts_run(const prv_exponents *e, size_t j)
{
    return j == 0 || e->number[j] != e->number[j - 1] + 1.0;
}

/* The kernels of D and B at the frequencies, times what each weighs: itself and the one conjugate to it, over
 * N. No step changes them. */
typedef struct prv_kernels {
    double *d_re, *d_im, *b_re, *b_im; /* [count] */
    double *size;                      /* |d| + unit |b|, from above, with the weight */
} prv_kernels;

/* Those of exponents->count frequencies; `unit` is the spacing of the lattice of sums, N = points.
 * O(frequencies). PRV_ERR_MEMORY. */
prv_status prv_kernels_new(const prv_exponents *exponents, double unit, double tilt, double points,
                           prv_kernels *kernels);
void prv_kernels_free(prv_kernels *kernels);

/* What the logarithms of so many steps say: Phi times the kernels of the same frequencies, with its rounding.
 * `separate` says that jumps are apart. O(frequencies). PRV_ERR_MEMORY. */
prv_status prv_spectrum_fill(const prv_exponents *exponents, size_t steps, bool separate, double points,
                             const prv_kernels *kernels, prv_spectrum *spectrum);

#endif
