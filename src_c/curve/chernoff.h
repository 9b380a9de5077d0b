/* Certified bounds that need no composition, by moments of the coarse lattices (profiles) of a direction:
 * Chernoff's inequality, and sums over the steps. Answers rely on them; docs/bounds.rst derives them. */
#ifndef PRV_CHERNOFF_H
#define PRV_CHERNOFF_H

#include "curve/direction.h"

/* Chernoff's bound of epsilon (nats) at delta from the coarse dominating lattices, delta(eps) <= M e^(-lam
 * eps) g(lam) for every lam > 0 (g: kernel.h): a true upper bound, with the rounding of cells and moments
 * counted. The lesser of two bounds, one with rare large losses at infinity and one with all finite losses;
 * the first alone if it is at most `enough`. Infinite if the mass at infinity makes up most of delta. Changes
 * which cells are in use. O(cells). */
double prv_chernoff_epsilon(prv_direction *direction, double delta, double enough);

/* The same at a tilt > 0 that is given, which need not be the best one: no search. */
double prv_chernoff_epsilon_at(const prv_direction *direction, double delta, double enough, double tilt);

/* Chernoff's bound of delta, with the mass at infinity, at an epsilon > 0: the least of some, with ever more
 * rare large losses at infinity; none after the first that is at most `enough`. Changes which cells are in
 * use. O(cells). */
double prv_chernoff_delta(prv_direction *direction, double epsilon, double enough);

/* Chernoff's bounds of compositions with bounded ranges, by the largest moments that these have at a tilt,
 * one by one: of epsilon at the delta `value`, or of delta at the epsilon `value`. No adaptive composition
 * has larger moments, while the pair that dominates all bounded ranges has. *lam gets the tilt at which the
 * bound is least; at an epsilon that is not above 0 it gets 0, and the bound is 1. Some dozen times the cost.
 */
double prv_most_of_ranges(prv_direction *direction, prv_question question, double value, double *lam);

/* Takes the rare large losses out of use that the first bound of prv_chernoff_epsilon puts at infinity. */
void prv_chernoff_cut_tops(prv_direction *direction, double delta);

/* The tilt at which Chernoff's bound of epsilon is least by the merged cells in use, which lie below the
 * dominating lattice: near the best tilt of the bound. O(cells). */
double prv_chernoff_tilt(const prv_direction *direction, double delta);

/* An upper bound of delta at epsilon 0: the total variation of all steps is at most the sum of theirs.
 * O(cells). */
double prv_most_total_variation(const prv_direction *direction);

/* An upper bound of delta by the total variation TV: Q(S) - a P(S) = (1 - a) Q(S) + a (Q(S) - P(S)) is at
 * most TV if a = e^epsilon >= 1, and at most 1 - a + TV if not. Far smaller than what a composition loses in
 * its rounding, if samples are rare. O(cells). */
double prv_most_by_variation(const prv_direction *direction, double epsilon);

/* Chernoff's bound of log(1 - delta) at epsilon,
 *     1 - delta = E[min(1, e^(epsilon - Y))] <= e^(t epsilon) E[e^(-t Y)], 0 <= t <= 1,
 * where merged cells have the larger moment (prv_profile). Infinite if a step is given by callbacks.
 * O(cells). */
double prv_log_complement(const prv_direction *direction, double epsilon);

#endif
