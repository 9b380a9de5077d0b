/* Mechanisms that are made of others: several on the same records, one on a sample of them, one on batches
 * that records are put into at random. Their pairs have no formula; lattices are made of the lattices of the
 * parts (lattices/combining.h), as fine as a question needs. PAIRS.md, section 10. */
#ifndef PRV_COMBINED_H
#define PRV_COMBINED_H

#include <stdbool.h>

#include "mechanisms/mechanism.h"

/* All of `m`, with copies of what it owns. PRV_ERR_MEMORY. */
prv_status prv_mechanism_copy(const prv_mechanism *m, prv_mechanism **copy);

/* A base that is combined, on a Poisson sample of probability p in (0, 1). */
prv_status prv_combined_sampled(const prv_mechanism *base, double p, prv_mechanism **mechanism);

/* The same on a sample of fixed size, p in [0, 1]. PRV_ERR_NEIGHBORS if the base has no pair of replaced
 * records. */
prv_status prv_combined_fixed_size(const prv_mechanism *base, double p, prv_mechanism **mechanism);

/* The pair where a record is replaced: of a product that of its parts, of a sample the folded one.
 * PRV_ERR_NEIGHBORS if a part has none. */
prv_status prv_combined_replaced(const prv_mechanism *m, prv_mechanism **pair);

/* With one parameter of its parts multiplied, or of the sample. prv_combined_has tells whether it has it. */
prv_status prv_combined_scaled(const prv_mechanism *m, prv_parameter parameter, double factor,
                               prv_mechanism **mechanism);
int prv_combined_has(const prv_mechanism *m, prv_parameter parameter);

/* The mechanism with each of its averages replaced by one without: if `above`, by the base of the average,
 * whose pair dominates it; else by a Poisson sample of the base, of probability 1 / batches, whose pair it
 * dominates. A copy of other mechanisms. */
prv_status prv_combined_simpler(const prv_mechanism *m, bool above, prv_mechanism **simpler);
bool prv_combined_has_averages(const prv_mechanism *m);

/* What prv_infinite_mass and its like (support.h) say of these. */
double prv_combined_infinite_mass(const prv_mechanism *m, bool add, double *error);
double prv_combined_greatest_loss(const prv_mechanism *m, bool add, double *error);
int prv_combined_is_symmetric(const prv_mechanism *m);
double prv_combined_absolute_error(const prv_mechanism *m);

#endif
