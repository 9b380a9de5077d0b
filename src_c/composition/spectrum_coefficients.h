/* What a spectrum is summed of: at each frequency Phi times the kernels of D and B, with the rounding of
 * both, from the logarithms of the steps. */
#ifndef PRV_SPECTRUM_COEFFICIENTS_H
#define PRV_SPECTRUM_COEFFICIENTS_H

#include "composition/spectrum.h"

/* If the error of L = sum k log1p(j / b) is no less than this, the term of that frequency is taken as 0 and
 * bounded (SPECTRUM.md, section 7). Any value is sound. */
#define PRV_MOST_JUMP_ERROR 0.5

/* Whether frequency j begins a run. */
static inline bool prv_starts_run(const prv_exponents *e, size_t j)
{
    return j == 0 || e->number[j] != e->number[j - 1] + 1.0;
}

/* What the logarithms of so many steps say: Phi times the kernels, with its rounding. `unit` is the spacing
 * of the lattice of sums, `separate` says that jumps are apart. O(frequencies). PRV_ERR_MEMORY. */
prv_status prv_spectrum_fill(const prv_exponents *exponents, size_t steps, bool separate, double unit,
                             double tilt, double points, prv_spectrum *spectrum);

#endif
