/* Products of sequences, so many outputs at a time: eight sums of four lanes, by name, stay in registers. */
#ifndef PRV_BLOCK_PRODUCTS_H
#define PRV_BLOCK_PRODUCTS_H

#include <stddef.h>

enum { PRV_BLOCK = 32 }; /* outputs that are summed together */

/* out[l] = sum of weight[j] mass[l - at[j]], j < count, for l < PRV_BLOCK. O(count). */
void prv_block_of_terms(const double *mass, const size_t *at, const double *weight, size_t count,
                        double *out);

/* out[l] = sum of a[j] b[l - j] over first <= j < end, for l < PRV_BLOCK. O(end - first). */
void prv_block_of_product(const double *a, size_t first, size_t end, const double *b, double *out);

#endif
