/* What a convolution needs of Fourier transforms: their lengths, the caller's plans, and buffers. */
#ifndef PRV_TRANSFORMS_H
#define PRV_TRANSFORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prvcore.h"

/* No transform is longer: its buffers, and sums of sizes of some of them, fit in size_t. */
#if SIZE_MAX > UINT32_MAX
#define PRV_LONGEST_TRANSFORM (UINT64_C(1) << 40)
#else
#define PRV_LONGEST_TRANSFORM (UINT64_C(1) << 27)
#endif

/* The smallest length >= wanted that has small prime factors only: 2^a and 3 2^a from 64 on, or 3^a 5^b 7^c,
 * c <= 2, if it must be odd. 0 if there is none up to PRV_LONGEST_TRANSFORM, for which prv_workspace_new and
 * prv_layout_plan return PRV_ERR_MEMORY_LIMIT. */
size_t prv_transform_length(double wanted, bool odd);

/* The caller's transforms of this length. PRV_ERR_FFT if there are none, or PRV_ERR_MEMORY. */
prv_status prv_plan_fft(const prv_options *options, size_t length, prv_fft *fft);

/* Buffers for one length, shared by the compositions of a question. */
typedef struct prv_workspace {
    size_t length;
    double *real; /* [length + 2] masses */
    double
        *spectrum; /* [length + 2] the spectrum of one step: pairs (re, im) of frequencies 0 .. length / 2 */
    double *product; /* [length + 2] the product of the spectra of all steps; NULL if there is one step */
    double *weight;  /* [atoms of the longest lattice] */
} prv_workspace;

/* Bytes of the first three. */
double prv_workspace_bytes(double length, size_t steps);

/* prv_workspace_free frees it. PRV_ERR_MEMORY, or PRV_ERR_MEMORY_LIMIT if length is 0; nothing is left to be
 * freed then. */
prv_status prv_workspace_new(size_t length, size_t steps, size_t longest, prv_workspace *work);
void prv_workspace_free(prv_workspace *work);

#endif
