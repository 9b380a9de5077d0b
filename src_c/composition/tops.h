/* What the outcomes of a composition with at least one top contribute to delta.
 *
 * A lattice that keeps a top (lattice.h) has its losses up to the last knot x, and one outcome for all losses
 * above. If the other steps' losses cannot fall so low that a sum with a loss above x is below epsilon, then
 * all such sums are above epsilon, and what they contribute to delta needs no places (JUMPS.md, section 6):
 *     prod (M_j + m_j)^k_j - prod M_j^k_j - e^epsilon (prod (R_j + r_j)^k_j - prod R_j^k_j),
 * M_j and R_j being the masses of the lattice of step j under Q and P, and m_j and r_j those of its top. So
 * lattices end where a single loss decides, and a tilt has no rare large losses to make much of. */
#ifndef PRV_TOPS_H
#define PRV_TOPS_H

#include <stdbool.h>

#include "lattices/lattice.h"

typedef struct prv_tops {
    bool counted;        /* false: no lattice keeps a top, and nothing is to be added */
    double log_mass;     /* log of the difference of Q's masses */
    double log_relative; /* and of P's */
    double error;        /* of either difference, relative, at most */
    double greatest;     /* nats: an upper bound holds up to this epsilon; HUGE_VAL for a lower one */
} prv_tops;

/* Of steps with counts >= 1. `greatest` is handed on. O(atoms). */
prv_tops prv_tops_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                      double greatest);

/* The greatest epsilon (nats) for which the tops of these dominating lattices may be counted; -HUGE_VAL if
 * there is none. `shift` is that of all steps' rounding together. */
double prv_tops_greatest(const prv_mechanism *const *mechanisms, bool add,
                         const prv_lattice *const *dominating, const double *counts, size_t steps,
                         double shift);

/* Their value at an epsilon in units of e^log_scale, -d / d epsilon of it, and the error of the value at
 * most. */
typedef struct prv_tops_value {
    double value, fall, error;
} prv_tops_value;

prv_tops_value prv_tops_at(const prv_tops *tops, double epsilon, double log_scale);

#endif
