/* What a tilted composition tells, whichever engine computed it: by circular convolution (convolution.h), or
 * by the spectrum (spectrum.h). Steps j with counts k_j are tilted, w_j(x) = y_j(x) e^(lam x) / M_j(lam); c
 * is the law of the sum under these, on the lattice lowest + step * Z. */
#ifndef PRV_COMPOSED_H
#define PRV_COMPOSED_H

#include "lattices/lattice.h"
#include "composition/infinite_mass.h"

/* Where the composed loss is looked at, and the shifts of the tilt that prove that little lies outside. */
typedef struct prv_window {
    const prv_options *options;  /* NULL, or whom to ask now and then whether to stop */
    double shift_up, shift_down; /* > 0 */
    /* Convolution: */
    double lowest;    /* nats; rounded to a lattice point */
    size_t length;    /* lattice points, a length that transforms well */
    int precise;      /* see prv_compose */
    double tolerance; /* what each thing left out may cost, in units of M e^(-lam eps) */
    /* Spectrum: */
    double low_epsilon, high_epsilon; /* where lower bounds are wanted */
    double later; /* steps like these that may be added later, as a part of these: the period has room for
                     them */
    int separate; /* losses above `bulk` are rare jumps, see spectrum.h; */
    double bulk, bulk_tilt, bulk_low; /* `bulk_tilt` bounds what the rest alone makes up from bulk_low on */
} prv_window;

/* Moments of the tilted composition, and Chernoff's bounds
 *     P_c(x >= a) <= exp(log_up - shift_up a),   P_c(x <= a) <= exp(log_down + shift_down a). */
typedef struct prv_tilted {
    double tilt, log_moment; /* log M = sum k_j log M_j */
    double log_up, log_down, shift_up, shift_down;
    double support_low, support_high; /* nats */
    double support_size;              /* sum of the moduli of what these are sums of, */
    double laws;                      /* and of how many */
    prv_infinite infinite;            /* mass at infinity of the lattices, their rounding counted */
    double relative_error; /* of every tilted mass times M by rounding of weights and moments, at most */
    double log_error;      /* of log_up and log_down, at most */
    double total;          /* sum of counts */
} prv_tilted;

typedef struct prv_spectrum prv_spectrum;

typedef struct prv_composed {
    prv_tilted tilted;
    double step;        /* of the lattice of sums, nats */
    long double lowest; /* a lattice point, nats: convolution: of the lowest of the window */
    /* Convolution: */
    double *mass; /* [length + 2] circular, tilted, total 1 */
    size_t length;
    size_t start;         /* position of the window's lowest point in mass[] */
    double outside;       /* tilted mass outside the window or dropped, at most */
    double rounding;      /* largest error of one mass by the transforms and the power, at most */
    double rounding_norm; /* L2 norm of these errors of all masses, at most */
    size_t transforms;
    /* Spectrum, or NULL: */
    const prv_spectrum *spectrum;
    size_t laws;       /* distinct steps: `lowest` is a sum over them, */
    double place_size; /* and this the sum of moduli, nats */
} prv_composed;

/* Nothing composed yet; the bounds of tails will be taken at these shifts of the tilt. */
prv_tilted prv_tilted_new(double tilt, const prv_window *window);

/* Adds a step of this count; weight double[lattice->length] gets its tilted masses. O(length), vectorised. */
void prv_tilted_add(prv_tilted *tilted, const prv_lattice *lattice, double count, double *weight);

/* What the ends of the support may be off by, nats: each is a rounded sum over the distinct steps. */
double prv_tilted_blur(const prv_tilted *tilted);

/* P_c(x >= a) and P_c(x <= a), at most. */
double prv_tilted_above(const prv_tilted *tilted, double a);
double prv_tilted_below(const prv_tilted *tilted, double a);

#endif
