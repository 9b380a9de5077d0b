/* log Phi at frequencies: Phi, the characteristic function of a tilted composition, is a product over its
 * steps, and this is the sum of their logarithms. What one step adds does not depend on the others, so that a
 * composition may grow. */
#ifndef PRV_LOG_SPECTRUM_H
#define PRV_LOG_SPECTRUM_H

#include "composition/characteristic.h"

typedef struct prv_exponents {
    size_t count, capacity;
    double *block;               /* holds all arrays */
    double *number;              /* theta = 2 pi number / N */
    double *log_modulus, *phase; /* of Phi; of prod b^k if jumps are separate, as are the next three */
    double *log_bound;           /* log of a bound of |Phi|, with all errors of phi */
    double *error;               /* of Phi, in units of e^log_bound */
    double *size; /* sum k (|log |phi|| + |arg phi|): sums over the steps are off by u of it for each step */
    /* If jumps are separate: sum k log1p(j / b), its error, and sum k log1p(rho / |b|), rho >= |j|. */
    double *jump_re, *jump_im, *jump_error, *jump_bound;
} prv_exponents;

/* Appends `count` frequencies from `number` on, at which nothing is summed yet. Free with prv_exponents_free.
 */
prv_status prv_exponents_append(prv_exponents *exponents, double number, size_t count);

/* Appends the `count` frequencies of `from` that begin with its `first`, and what is summed at them.
 * PRV_ERR_MEMORY. */
prv_status prv_exponents_append_from(prv_exponents *exponents, const prv_exponents *from, size_t first,
                                     size_t count);

/* Adds one step, whose rare jumps are separate unless `jumps` is NULL, at `count` <= PRV_FREQUENCY_BLOCK
 * frequencies from the one at `first` on, one after another, of N = points. O(length * count), vectorised. */
void prv_exponents_add(prv_exponents *exponents, size_t first, size_t count, const prv_source *source,
                       const prv_source *jumps, double points);

/* A copy of the frequencies and all sums at them; free it with prv_exponents_free. PRV_ERR_MEMORY. */
prv_status prv_exponents_copy(const prv_exponents *from, prv_exponents *to);
/* The sums of a step that runs `count` times, from those of the same step once, without jumps apart, whose
 * arrays are left as they are; in the memory that `to` has already. PRV_ERR_MEMORY. */
prv_status prv_exponents_repeat(const prv_exponents *once, double count, prv_exponents *to);
void prv_exponents_free(prv_exponents *exponents);

#endif
