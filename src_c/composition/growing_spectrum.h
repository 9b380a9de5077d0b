/* The spectrum of a composition that grows (SPECTRUM.md, section 9).
 *
 * Tilt, lattice, period and frequencies are fixed for a beginning of its steps. At these frequencies log Phi
 * is a sum over the steps, and so are the moments; what the frequencies left out make up was bounded for the
 * beginning, and further factors |phi| <= 1 only lower it. */
#ifndef PRV_GROWING_SPECTRUM_H
#define PRV_GROWING_SPECTRUM_H

#include "composition/spectrum_coefficients.h"

/* What is fixed for all sums. */
typedef struct prv_growing_plan {
    prv_spectrum beginning; /* its frequencies, and what those left out make up */
    prv_window window;      /* its shifts bound the tails of all sums */
    double tilt, unit;      /* unit: of the lattice of sums, nats */
    int64_t divisor;        /* the same in steps of the lattices */
    prv_kernels kernels;    /* of its frequencies */
} prv_growing_plan;

/* Sums over steps at the frequencies of a plan. All 0 before prv_growing_begin. */
typedef struct prv_growing_spectrum {
    prv_exponents exponents;
    prv_composed composed;
} prv_growing_spectrum;

/* Fixes it for a beginning with these lattices of this spacing, by prv_spectrum_beginning. PRV_ERR_PRECISION
 * also if there is no frequency to be kept, or the unit is no multiple of the spacing. *before, of which
 * nothing is kept, becomes the sums over all of these steps but the last. Both may be freed in any case. */
prv_status prv_growing_plan_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                                double spacing, double tilt, const prv_window *window, double most_work,
                                prv_growing_plan *plan, prv_growing_spectrum *before);
void prv_growing_plan_free(prv_growing_plan *plan);

/* Fixes it for `least` runs of one step or more, and sums over one run of it, which prv_growing_repeat
 * lengthens. Further steps cannot be added. PRV_ERR_PRECISION, PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
prv_status prv_growing_plan_once(const prv_lattice *lattice, double least, double tilt,
                                 const prv_window *window, double most_work, prv_growing_plan *plan,
                                 prv_growing_spectrum *once);

/* No step yet. PRV_ERR_MEMORY. */
prv_status prv_growing_begin(const prv_growing_plan *plan, prv_growing_spectrum *sums);

/* Adds a step that runs `count` times, with a lattice of the spacing that the plan was made for.
 * PRV_ERR_PRECISION if its atoms are not multiples of plan->divisor apart; after any failure the sums are of
 * no use. O(atoms * frequencies). */
prv_status prv_growing_add(const prv_growing_plan *plan, const prv_lattice *lattice, double count,
                           prv_growing_spectrum *sums);

/* The sums over `count` runs of one step, from those over one run of it, whose lattice this is; in the memory
 * that `sums` has already. PRV_ERR_MEMORY. O(frequencies). */
prv_status prv_growing_repeat(const prv_growing_spectrum *once, const prv_lattice *lattice, double count,
                              prv_growing_spectrum *sums);

/* Takes the sums of another, in the memory that `to` has already. PRV_ERR_MEMORY. */
prv_status prv_growing_copy(const prv_growing_spectrum *from, prv_growing_spectrum *to);

/* The composition of the steps summed, and its spectrum, which *composed points to. prv_spectrum_free frees
 * it in any case. PRV_ERR_MEMORY. O(frequencies). */
prv_status prv_growing_read(const prv_growing_plan *plan, const prv_growing_spectrum *sums,
                            prv_spectrum *spectrum, prv_composed *composed);

/* All 0 again; clear keeps the memory. */
void prv_growing_clear(prv_growing_spectrum *sums);
void prv_growing_free(prv_growing_spectrum *sums);

#endif
