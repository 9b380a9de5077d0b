/* Tilted steps, before any engine composes them: w_j(x) = y_j(x) e^(lam x) / M_j(lam) for the lattice y_j of
 * step j, which runs k_j times. What their sum's law c has without being composed: moment, tails, ends, mass
 * at infinity, and the rounding of all these. */
#ifndef PRV_TILTED_H
#define PRV_TILTED_H

#include "lattices/lattice.h"
#include "composition/infinite_mass.h"
#include "composition/window.h"

/* Sums over the steps added so far. Chernoff's bounds of the tails are
 *     P_c(x >= a) <= exp(log_up - shift_up a),   P_c(x <= a) <= exp(log_down + shift_down a). */
typedef struct prv_tilted {
    double tilt;                 /* lam */
    double log_moment;           /* log M = sum k_j log M_j */
    double shift_up, shift_down; /* >= 0 */
    double log_up, log_down;     /* log of the moments at lam + shift_up and lam - shift_down, less log M */
    double support_low, support_high; /* of the sum, nats */
    double support_size;              /* the moduli of all terms of support_low and support_high, summed */
    double laws;                      /* distinct steps: the number of these terms */
    prv_infinite infinite;            /* mass at infinity of the lattices, with its rounding */
    double relative_error; /* of every tilted mass times M, by rounding of weights and moments, at most */
    double log_error;      /* of log_up and log_down, at most */
    double total;          /* sum k_j */
} prv_tilted;

/* No step yet. The window tells the shifts. */
prv_tilted prv_tilted_new(double tilt, const prv_window *window);

/* Adds a step that runs `count` times; weight double[lattice->length] gets its tilted masses. O(length),
 * vectorised. */
void prv_tilted_add(prv_tilted *tilted, const prv_lattice *lattice, double count, double *weight);

/* A step that runs `count` times, from the same step once, whose lattice this is. O(1). */
prv_tilted prv_tilted_repeat(const prv_tilted *once, const prv_lattice *lattice, double count);

/* What the ends of the support may be off by, nats: each is a rounded sum over the distinct steps. */
double prv_tilted_blur(const prv_tilted *tilted);

/* P_c(x >= a) and P_c(x <= a), at most. */
double prv_tilted_above(const prv_tilted *tilted, double a);
double prv_tilted_below(const prv_tilted *tilted, double a);

#endif
