/* The mass at infinity of a composition: 1 - prod (1 - m_j)^k_j, between two numbers. */
#ifndef PRV_INFINITE_MASS_H
#define PRV_INFINITE_MASS_H

/* Of the steps added so far; all 0 before the first. */
typedef struct prv_infinite {
    double steps;      /* sum of counts */
    double log_finite; /* sum k_j log(1 - m_j) */
    double log_error;  /* what that is off by, at most */
    double mass;       /* the nearest double, about */
    double low, high;  /* the mass lies between them; equal if it is known exactly */
    int certain;       /* some step has a mass of exactly 1 */
    int may_be_one;    /* some step has a mass that its error does not tell from 1 */
} prv_infinite;

/* Adds a step that runs `count` > 0 times, each with this mass at infinity, 0 <= mass <= 1, off by `error` at
 * most. */
void prv_infinite_add(prv_infinite *sum, double mass, double error, double count);

/* Each step runs `factor` times as often. For planning: the bounds are those of the steps before. */
void prv_infinite_lengthen(prv_infinite *sum, double factor);

#endif
