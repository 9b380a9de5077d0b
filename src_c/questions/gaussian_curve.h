/* The privacy curve of N(0, 1) against N(mu, 1), and how large mu must be for it to lie above others.
 *
 *     delta_mu(eps) = Phi(-x) - e^eps Phi(-x - mu),   x = eps / mu - mu / 2,
 *
 * grows with mu, and is convex in t = e^eps. All epsilons are >= 0 and finite. */
#ifndef PRV_GAUSSIAN_CURVE_H
#define PRV_GAUSSIAN_CURVE_H

/* mu is searched between these two; less counts as 0, more as infinite. */
#define PRV_LEAST_MU 1e-12
#define PRV_GREATEST_MU 1e6

/* Searches end when they are this close to the least mu, relatively. No bound relies on it. */
#define PRV_MU_TOLERANCE 2e-6

/* The least mu found at which the curve certainly reaches delta at epsilon, infinite if there is none. */
double prv_mu_above(double epsilon, double delta);

/* The greatest mu found at which the curve certainly does not exceed delta at epsilon, 0 if there is none. */
double prv_mu_below(double epsilon, double delta);

/* A point above a privacy curve. */
typedef struct prv_point_above {
    double epsilon, delta; /* the curve is at most delta at epsilon */
    double mu;             /* prv_mu_above */
} prv_point_above;

/* The least mu found whose curve certainly lies above the chord from a to b, which is linear in t, infinite
 * if there is none. a->epsilon < b->epsilon. */
double prv_mu_above_chord(const prv_point_above *a, const prv_point_above *b);

/* log(1 - delta_mu(epsilon)), from above. */
double prv_log_gaussian_complement(double epsilon, double mu);

#endif
