/* The law of the likelihood ratio of a pair, and its points and masses.
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

#include "numerics/rounding.h"
#include "lattices/cells.h"

typedef struct prv_ratio_law {
    size_t length;
    int64_t first;
    double offset, spacing; /* log R is offset + spacing * (first + i), nats */
    double *at;   /* of a list of points: log R of each, increasing, in the place of these three; else NULL */
    double *null; /* [length] masses under the null measure */
    double zero;  /* the null measure's mass at R = 0 */
    double infinite; /* the special measure's mass where the null measure has none; 'remove' alone */
    double shift;    /* nats: the inequality holds if all losses are so much larger, or smaller from below */
} prv_ratio_law;

/* Both laws of one mechanism: [PRV_DOMINATING] and [PRV_DOMINATED]. */
typedef struct prv_law_pair {
    prv_ratio_law law[2];
} prv_law_pair;

/* What a law serves, and how much of it may be lost at its ends. */
typedef struct prv_ratio_side {
    bool add;
    prv_side side;
    double cut;      /* mass that may be moved to infinite losses */
    double low_cut;  /* the special measure's mass that may be moved at the end of small losses */
    double zero_cut; /* the null measure's mass that may be moved to R = 0 by all operations, in 'add' */
    const prv_options *options;
} prv_ratio_side;

/* Larger R is the safe side of a place that is not known exactly. */
static inline bool prv_ratio_up_is_safe(const prv_ratio_side *s)
{
    return (s->side == PRV_DOMINATING) != s->add;
}

/* 1 + the error if a mass is to be no less, else 1 - the error. */
static inline double prv_ratio_outwards(const prv_ratio_side *s, double error)
{
    return s->side == PRV_DOMINATING ? 1.0 + error : 1.0 - error;
}

/* A sum of products of masses, some > 0, on the safe side: off by this part of itself, and by underflow. */
static inline double prv_ratio_safe_mass(const prv_ratio_side *s, double mass, double error)
{
    const double moved = prv_error_of_product(mass, error);
    return s->side == PRV_DOMINATING ? mass + moved : fmax(mass - moved, 0.0);
}

/* log R of a point. */
static inline double prv_ratio_point(const prv_ratio_law *law, size_t i)
{
    if (law->at != NULL) return law->at[i];
    return law->offset + law->spacing * (double)(law->first + (int64_t)i);
}

/* A law on a lattice, of masses 0. PRV_ERR_MEMORY. */
prv_status prv_ratio_law_new(size_t length, prv_ratio_law *law);

/* PRV_ERR_MEMORY. */
prv_status prv_ratio_law_copy(const prv_ratio_law *law, prv_ratio_law *copy);

/* PRV_ERR_MEMORY_LIMIT if so many numbers are above the memory_limit of the side's options. */
prv_status prv_ratio_check_memory(const prv_ratio_side *side, double numbers);

void prv_ratio_law_free(prv_ratio_law *law);
void prv_law_pair_free(prv_law_pair *laws);

/* The special measure's mass of a point; and the part of itself by which that of any point may be off. */
double prv_ratio_special(const prv_ratio_law *law, size_t i);
double prv_ratio_special_error(const prv_ratio_law *law);

/* The number of points with mass. */
size_t prv_ratio_point_count(const prv_ratio_law *law);

/* Variance of log R under the null measure. */
double prv_ratio_variance(const prv_ratio_law *law);

/* The atoms of the loss. NULL if there is no memory. */
prv_atoms *prv_ratio_atoms(const prv_ratio_law *law, const prv_ratio_side *side, double *error);

#endif
