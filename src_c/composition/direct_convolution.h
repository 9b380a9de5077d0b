/* Composition of a few steps by products of non-negative numbers alone, modulo `length` lattice points as in
 * convolution.h: no transform, and masses keep relative accuracy but for tails too small to matter. */
#ifndef PRV_DIRECT_CONVOLUTION_H
#define PRV_DIRECT_CONVOLUTION_H

#include "lattices/lattice.h"

typedef struct prv_direct prv_direct;

/* About how many products the composition takes; HUGE_VAL where it is not to be done this way. O(steps). */
double prv_direct_products(const prv_lattice *const *lattices, const double *counts, size_t steps,
                           size_t length);

/* Bytes that prv_direct_new allocates; 0 for lengths that are never composed directly. */
double prv_direct_bytes(size_t length);

/* A composition of no steps yet. After each product up to `dropped` may be left out at either end. */
prv_status prv_direct_new(size_t length, double dropped, prv_direct **direct);
void prv_direct_free(prv_direct *direct);

/* Adds `count` >= 1 steps of tilted masses weight double[lattice->length]. options may be NULL. */
prv_status prv_direct_add(prv_direct *direct, const prv_lattice *lattice, const double *weight, double count,
                          const prv_options *options);

/* mass double[length]: of lattice index i at i modulo length. Each is off by at most *relative of itself, and
 * all together by *lost. */
void prv_direct_masses(const prv_direct *direct, double *mass, double *relative, double *lost);

#endif
