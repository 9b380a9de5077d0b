/* What a tilted composition tells, whichever engine computed it: a convolution has the masses of the sum's
 * law c, a spectrum the coefficients of a Fourier series. c lies on the lattice lowest + spacing * Z. */
#ifndef PRV_COMPOSED_H
#define PRV_COMPOSED_H

#include "composition/tilted.h"
#include "composition/tops.h"

typedef struct prv_spectrum prv_spectrum;

/* By convolution.h: c modulo the length of the window. */
typedef struct prv_convolved {
    double *mass;         /* [length + 2] circular, tilted, total 1 */
    size_t length;        /* lattice points of the window */
    size_t start;         /* position in mass[] of the window's lowest point */
    double outside;       /* tilted mass outside the window or dropped, at most */
    double rounding;      /* largest error of one mass by the transforms and the power, at most */
    double rounding_norm; /* L2 norm of these errors of all masses, at most */
    size_t transforms;    /* that this took */
} prv_convolved;

/* By spectrum.h. */
typedef struct prv_spectral {
    const prv_spectrum *spectrum;
    size_t laws;       /* distinct steps: terms of the sum `lowest` */
    double place_size; /* the moduli of these terms, summed, nats */
} prv_spectral;

typedef struct prv_composed {
    prv_tilted tilted;
    prv_tops tops;      /* beside the sums on the lattice */
    double spacing;     /* of the lattice of sums, nats */
    long double lowest; /* a lattice point, nats; of a convolution: the lowest of the window */
    prv_engine engine;  /* which one of these there is */
    union {
        prv_convolved convolved; /* PRV_ENGINE_CONVOLUTION */
        prv_spectral spectral;   /* PRV_ENGINE_SPECTRUM */
    };
} prv_composed;

#endif
