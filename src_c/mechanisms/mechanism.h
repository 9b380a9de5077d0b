/* What a mechanism is inside the core: parameters, and for discrete ones the atoms of its loss.
 *
 * Every mechanism is a base pair (P, Q) and a sampling probability p; p = 1 is the base itself. In
 * the direction 'remove' the pair is ((1-p)P + pQ, P). In 'add' it is the reverse of the subsampled
 * reverse of the base, (Q, (1-p)Q + pP) up to names: for a base that equals its own reverse (all the
 * built-in ones) that is the reverse of 'remove'. */
#ifndef PRV_MECHANISM_H
#define PRV_MECHANISM_H

#include "mechanisms/atoms.h"
#include "mechanisms/gaussian_mixture.h"

typedef enum prv_base {
    PRV_BASE_GAUSSIAN,
    PRV_BASE_LAPLACE,
    PRV_BASE_BOUNDED_RANGE, /* mu is the range */
    PRV_BASE_MIXTURE,       /* subsampling is part of the mixture */
    PRV_BASE_CHOICE,        /* of one of two mechanisms at random, in the open */
    PRV_BASE_ATOMS,
    PRV_BASE_CDFS,
    PRV_BASE_CURVE
} prv_base;

/* What prv_mechanism_scaled multiplies, where a mechanism has it. */
typedef enum prv_noise {
    PRV_NOISE_NONE = 0,
    PRV_NOISE_GAUSSIAN,
    PRV_NOISE_LAPLACE,
    PRV_NOISE_DISCRETE_GAUSSIAN,
    PRV_NOISE_DISCRETE_LAPLACE,
    PRV_NOISE_MIXTURE
} prv_noise;

/* How the pair where a record is replaced follows from a mechanism: PAIRS.md, sections 3 and 4. */
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
    uint64_t group_size;         /* records by which neighbours differ: 1, or all those of a group */
    double sampling_probability; /* of each record; a product where a sample was sampled */
    double sampling_rest;        /* what its rounding left out: the sum is the product to 2^-100 of itself */
    double weight_error; /* relative, of it and of 1 - it, where the pair is made of the rounded one */
    double mu;           /* sensitivity / noise scale, of a Gaussian or Laplace base */
    double scale_error;  /* relative, of `scale` where it was made of several noises; weight_error has it */
    prv_gaussian_mixture *mixture, *base_mixture; /* sampled, and as it was before */
    prv_mechanism *part[2];                       /* of a choice */
    double part_weight[2], part_error;            /* their probabilities, and the relative error of these */
    /* Of a sample of fixed size or a truncated one, whose own pair no two data sets have: a mechanism whose
     * pair two of them do have, in either direction, for lower bounds (PAIRS.md, section 8). NULL where its
     * own is one. */
    prv_mechanism *attained;
    prv_atoms *atoms[2];   /* [0] remove, [1] add, subsampling included; the same where it is symmetric */
    prv_atoms *base_atoms; /* of a sampled mechanism without a noise that they follow from, else NULL */
    prv_cdf_callback cdfs;
    prv_curve_callback curve;
    void *context;
    double mass_at_infinity; /* of the base, for callbacks */
};

/* Counts of a composition add up to this at most. */
#define PRV_MOST_STEPS (UINT64_C(1) << 53)

/* What constructors are made of. Those that return a mechanism return NULL where there is no memory; those
 * that return a status give a mechanism out on PRV_OK alone. */

/* Without any parameters; and one that owns nothing, with all else of `m`. */
prv_mechanism *prv_mechanism_new(prv_base base);
prv_mechanism *prv_mechanism_like(const prv_mechanism *m);

/* Gives out a mechanism that was made with this status, and frees it where that is not PRV_OK. */
prv_status prv_mechanism_finish(prv_status status, prv_mechanism *m, prv_mechanism **mechanism);

/* Takes the atoms, which serve both directions; NULL is PRV_ERR_MEMORY. */
prv_status prv_mechanism_of_atoms(prv_atoms *atoms, prv_mechanism **mechanism);

/* A table of outcomes, as prv_atoms_of_outcomes takes it; 'add' is its reverse. */
prv_status prv_mechanism_outcomes(const double *q, const double *p, size_t length, prv_mechanism **mechanism);

/* Q has an outcome that P never has with probability `apart`, else the only one of P: rounded, of sum 1. */
prv_status prv_mechanism_apart(double apart, double same, prv_mechanism **mechanism);

/* P and Q share no outcome: epsilon is infinite. And whether they share none. */
prv_status prv_mechanism_disjoint(prv_mechanism **mechanism);
int prv_is_disjoint(const prv_mechanism *m);

/* A choice in the open between two parts that were made with this status, with probabilities known to a
 * relative error; what dominates, as the choice is not known, and `attained` what two data sets have. Takes
 * the three, and frees them where it fails. */
prv_status prv_mechanism_choice(prv_status status, prv_mechanism *const part[2], const double weight[2],
                                double error, prv_mechanism *attained, prv_mechanism **mechanism);

/* State more of a mechanism that was made with this status, which they return: how the pair of replaced
 * records follows from it, and what prv_mechanism_scaled needs. Without noise there is nothing to scale. */
prv_status prv_with_replacement(prv_status status, prv_replacement replacement, prv_mechanism **mechanism);
prv_status prv_with_noise(prv_status status, prv_noise noise, double scale, prv_mechanism **mechanism);

#endif
