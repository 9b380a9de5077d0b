/* Laws of the likelihood ratio on geometric lattices, which combine: products, averages, mixtures.
 *
 * A pair of a null and a special measure (without the record, and with it) is given by the law of R, the
 * special measure's density, under the null one. In the direction 'remove' the loss is log R and its law
 * under the special measure counts, H_a = E (R - a)_+; in 'add' the loss is -log R and its law under the null
 * measure counts, H_a = E (1 - a R)_+. So a pair dominates another if E f(R) is no less for every f >= 0 that
 * is convex and rises ('remove') or falls ('add'). A law here is not one of a pair to the last digit: it is a
 * measure for which, in exact arithmetic on the numbers that are stored, that inequality holds, in one
 * direction and to one side. All rounding is towards that side, so that nothing has to be counted but
 * `shift`. PAIRS.md, section 10, has the proofs. */
#ifndef PRV_RATIO_LAW_H
#define PRV_RATIO_LAW_H

#include <stdbool.h>

#include "lattices/cells.h"

typedef struct prv_ratio_law {
    size_t length;
    int64_t first;
    double offset, step; /* log R is offset + step * (first + i), nats */
    double *at;   /* of a list of points: log R of each, increasing, in the place of these three; else NULL */
    double *null; /* [length] masses under the null measure */
    double zero;  /* the null measure's mass at R = 0 */
    double infinite; /* the special measure's mass where the null measure has none; 'remove' alone */
    double shift;    /* nats: the inequality holds if all losses are so much larger, or smaller from below */
} prv_ratio_law;

/* What a law serves, and how much of it may be lost at its ends. */
typedef struct prv_ratio_side {
    bool add;
    prv_side side;
    double cut;     /* mass that may be moved to infinite losses */
    double low_cut; /* the special measure's mass that may be moved at the end of small losses */
    const prv_options *options;
} prv_ratio_side;

void prv_ratio_law_free(prv_ratio_law *law);

/* The law of a mechanism that has cells, on the points offset + step * index of its *loss*, index from first
 * to last. `period` > 0: indices at which the loss may have atoms, besides 0. O(points). Statuses of
 * prv_cells_compute. */
prv_status prv_ratio_law_of(const prv_mechanism *mechanism, const prv_ratio_side *side, double offset,
                            double step, int64_t first, int64_t last, int64_t period, bool atoms,
                            prv_ratio_law *law);

/* The law of R_1 R_2: of two mechanisms on the same records. The steps are equal. O(length^2). */
prv_status prv_ratio_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *side,
                             prv_ratio_law *product);

/* The law of w R_1 + (1 - w) R_2, w in (0, 1/2], on a lattice that is `finer` times finer. Offsets and steps
 * are equal. O(length^2): all pairs of points whose indices differ by d have averages in the same place
 * between points. */
prv_status prv_ratio_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight, unsigned finer,
                             const prv_ratio_side *side, prv_ratio_law *average);

/* The law of 1 - p + p R (p = 1: R itself) on the points step * index. O(length). */
prv_status prv_ratio_mixture(const prv_ratio_law *a, double p, double step, const prv_ratio_side *side,
                             prv_ratio_law *mixture);

/* Lists of points, for laws of few of them: exact but for rounding. The points of discrete losses, whose
 * masses are off by a part `error` of themselves, and losses by `error`; and what the functions above make of
 * laws, here of two lists. O(pairs log pairs). */
prv_status prv_ratio_list_of(const prv_atoms *atoms, double error, const prv_ratio_side *side,
                             prv_ratio_law *law);
prv_status prv_ratio_list_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *side,
                                  prv_ratio_law *product);
prv_status prv_ratio_list_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                  const prv_ratio_side *side, prv_ratio_law *average);
prv_status prv_ratio_list_mixture(const prv_ratio_law *a, double p, const prv_ratio_side *side,
                                  prv_ratio_law *mixture);

/* Variance of log R under the null measure. */
double prv_ratio_variance(const prv_ratio_law *law);

/* The atoms of the loss. NULL where there is no memory. */
prv_atoms *prv_ratio_atoms(const prv_ratio_law *law, const prv_ratio_side *side, double *error);

#endif
