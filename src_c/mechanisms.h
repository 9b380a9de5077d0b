/* What a mechanism is inside the core: parameters, and for discrete ones the atoms of its loss.
 *
 * Every mechanism is a base pair (P, Q) and a sampling probability p; p = 1 is the base itself. In
 * the direction 'remove' the pair is ((1-p)P + pQ, P). In 'add' it is the reverse of the subsampled
 * reverse of the base, (Q, (1-p)Q + pP) up to names: for a base that equals its own reverse (all the
 * built-in ones) that is the reverse of 'remove'. */
#ifndef PRV_MECHANISMS_H
#define PRV_MECHANISMS_H

#include "gaussian_mixture.h"

typedef enum prv_base {
    PRV_BASE_GAUSSIAN,
    PRV_BASE_LAPLACE,
    PRV_BASE_BOUNDED_RANGE, /* mu is the range */
    PRV_BASE_MIXTURE, /* subsampling is part of the mixture */
    PRV_BASE_CHOICE,  /* of one of two mechanisms at random, in the open */
    PRV_BASE_ATOMS,
    PRV_BASE_CDFS,
    PRV_BASE_CURVE
} prv_base;

/* A discrete loss: q[i] and p[i] are the masses of loss[i] (increasing) under Q and P. */
typedef struct prv_atoms {
    size_t length;
    double *loss, *q, *p;
    double q_infinity; /* Q's mass where P vanishes: loss +infinity */
    double p_only;     /* P's mass where Q vanishes: loss -infinity */
    double loss_error; /* relative, of each loss */
    int unbounded;     /* the atoms were cut off where their mass underflows */
} prv_atoms;

/* What prv_mechanism_scaled multiplies, where a mechanism has it. */
typedef enum prv_noise {
    PRV_NOISE_NONE = 0,
    PRV_NOISE_GAUSSIAN,
    PRV_NOISE_LAPLACE,
    PRV_NOISE_DISCRETE_GAUSSIAN,
    PRV_NOISE_DISCRETE_LAPLACE,
    PRV_NOISE_MIXTURE
} prv_noise;

/* How the pair where a record is replaced follows from a mechanism: MECHANISMS.md, sections 3 and 4. */
typedef enum prv_replacement {
    PRV_REPLACED_UNKNOWN = 0, /* no such pair is known, or none was stated */
    PRV_REPLACED_ALIKE,       /* the pair was stated of whatever the neighbours are */
    PRV_REPLACED_TWICE,       /* noise on a query that changes twice as much */
    PRV_REPLACED_MIRRORED,    /* Gaussian noise on a Poisson sample: two mixtures */
    PRV_REPLACED_SEEN,        /* a Poisson sample without noise: told apart where it is in the sample */
    PRV_REPLACED_CHOICE       /* of the pairs of a truncated Poisson sample */
} prv_replacement;

struct prv_mechanism {
    prv_base base;
    prv_noise noise;
    double scale;                /* of the noise, > 0 */
    double sensitivity;          /* of a Laplace mechanism */
    int64_t integer_sensitivity; /* of a discrete one */
    int sampled;                 /* by one of the constructors ..._subsampled, even if with probability 1 */
    int without_replacement;     /* by the other of them */
    int folded; /* losses above 0 are those of 'remove', below 0 of 'add', and the rest is an atom at 0 */
    prv_replacement replacement, base_replacement; /* of it, and of what was sampled */
    int replaced_only;                             /* the pair is none of added or removed records */
    double sampling_probability;
    double mu;           /* sensitivity / noise scale, of a Gaussian or Laplace base */
    prv_gaussian_mixture *mixture, *base_mixture; /* sampled, and as it was before */
    prv_mechanism *part[2];                       /* of a choice */
    double part_weight[2], part_error;            /* their probabilities, and the relative error of these */
    prv_atoms *atoms[2]; /* [0] remove, [1] add, subsampling included; the same where it is symmetric */
    prv_atoms *base_atoms; /* of a sampled mechanism without a noise that they follow from, else NULL */
    prv_cdf_callback cdfs;
    prv_curve_callback curve;
    void *context;
    double mass_at_infinity; /* of the base, for callbacks */
    int infinite_exact;      /* the mass at infinity was stated, and is not a rounded product */
};

/* Where the sharp features of a loss lie, so that a lattice can be put onto them. */
typedef struct prv_features {
    double anchor;    /* an atom or an edge of the support; a knot is put here */
    double period;    /* distance of further atoms, 0 where there are none */
    int atoms;        /* the anchor is an atom: dominated targets belong on knots, not between */
    int only_lattice; /* all mass lies on anchor + period * integers */
} prv_features;

/* log(1 + p (e^y - 1)), the loss of the subsampled pair where the base has loss y; its inverse is
 * -infinity at and below log(1 - p). Both without forming e^y for large y; the former to a few roundings
 * of itself and of y, the latter to those of both losses. */
double prv_subsampled_loss(double base_loss, double p);
double prv_base_loss(double loss, double p);

/* 1 if prv_mechanism_scaled can multiply this parameter of it. */
int prv_has_parameter(const prv_mechanism *m, prv_parameter parameter);

/* What a query of this sensitivity changes by, in units of its noise, which may be a 0 of either sign. */
double prv_separation(double sensitivity, double noise);

/* 1 if the noise is so little that squares of the sensitivity in its scales overflow: every outcome tells the two
 * data sets apart. */
int prv_noiseless(double sensitivity);

/* A choice in the open between two parts, with probabilities known to a relative error. Takes the parts, and frees
 * them where it fails. */
prv_status prv_mechanism_choice(prv_mechanism *const part[2], const double weight[2], double error,
                                prv_mechanism **mechanism);

/* A table of outcomes: their masses under Q and P, double[length], all > 0, in any order; 'add' is its reverse. */
prv_status prv_mechanism_outcomes(const double *q, const double *p, size_t length, prv_mechanism **mechanism);

/* The pair where a record is replaced, the same in both directions; NULL where it is the mechanism itself.
 * PRV_ERR_NEIGHBORS where there is none. */
prv_status prv_mechanism_replaced(const prv_mechanism *m, prv_mechanism **pair);

/* 1 if both directions are the same pair. */
int prv_is_symmetric(const prv_mechanism *m);

/* Q's mass at +infinity, and the least upper bound of the finite losses (may be +infinity). */
double prv_infinite_mass(const prv_mechanism *m, int add);
double prv_greatest_loss(const prv_mechanism *m, int add);

/* What the greatest loss may be off by, nats. */
double prv_greatest_loss_error(const prv_mechanism *m, int add);

prv_features prv_mechanism_features(const prv_mechanism *m, int add);

/* Bound of what double arithmetic may move mass absolutely, per step, beyond the relative errors that
 * the certificate assumes: the cdfs of callbacks are absolute. */
double prv_absolute_cdf_error(const prv_mechanism *m);

#endif
