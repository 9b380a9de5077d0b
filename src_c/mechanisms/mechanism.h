/* A mechanism inside the core: its pair (P, Q) and its parameters.
 *
 * Every mechanism is a base pair (P, Q) and a sampling probability p; p = 1 is the base itself. The pair of
 * the direction 'remove' is (P, (1-p)P + pQ). That of 'add' is the reverse of the sampled reverse of the
 * base, ((1-p)Q + pP, Q): for a base that equals its own reverse (all built-in ones) it is the reverse of
 * 'remove'.
 *
 * A mechanism that is made of other mechanisms owns these parts: a choice does. For bounds of delta and
 * epsilon later rooms ask where the losses lie (support.h), for knots that suit the law (lattices/profile.h)
 * and for the masses between knots (lattices/cells.h), and each of the three answers for a choice from the
 * answers for its parts. */
#ifndef PRV_MECHANISM_H
#define PRV_MECHANISM_H

#include <stdbool.h>

#include "mechanisms/atoms.h"
#include "mechanisms/gaussian_mixture.h"
#include "mechanisms/origin.h"

typedef enum prv_base {
    PRV_BASE_GAUSSIAN,
    PRV_BASE_LAPLACE,
    PRV_BASE_BOUNDED_RANGE, /* mu is the range */
    PRV_BASE_MIXTURE,       /* a Poisson sample of it is a mixture again */
    PRV_BASE_CHOICE,        /* one of two mechanisms, chosen at random; the output shows which */
    PRV_BASE_COMBINED,      /* made of other mechanisms: combined.h */
    PRV_BASE_ENCLOSED,      /* a combined one in one direction, between two pairs with atoms */
    PRV_BASE_ATOMS,         /* a Poisson sample of it has atoms again */
    PRV_BASE_TAILS,         /* a callback gives tails of the loss, with their relative errors */
    PRV_BASE_CDFS,          /* a callback gives the cdfs of the loss */
    PRV_BASE_CURVE          /* a callback gives the privacy curve */
} prv_base;

/* The noise that prv_mechanism_scaled multiplies. */
typedef enum prv_noise {
    PRV_NOISE_NONE = 0,
    PRV_NOISE_GAUSSIAN,
    PRV_NOISE_LAPLACE,
    PRV_NOISE_DISCRETE_GAUSSIAN,
    PRV_NOISE_DISCRETE_LAPLACE,
    PRV_NOISE_MIXTURE
} prv_noise;

/* How the pair of a replaced record follows from a mechanism: PAIRS.md, sections 3 and 4. */
typedef enum prv_replacement {
    PRV_REPLACED_UNKNOWN = 0, /* no such pair is known, or none was stated */
    PRV_REPLACED_ALIKE,       /* the pair was stated for any neighbours */
    PRV_REPLACED_STATED,      /* the same, by the caller; it need not be its own reverse */
    PRV_REPLACED_TWICE,       /* noise on a query, which changes twice as much */
    PRV_REPLACED_MIRRORED,    /* Gaussian noise on a Poisson sample: two mixtures, mirror images */
    PRV_REPLACED_SEEN,   /* a Poisson sample without noise: the output tells whether the record is in it */
    PRV_REPLACED_CHOICE, /* a truncated Poisson sample: a choice between two such pairs */
    PRV_REPLACED_PARTS,  /* a product of those of its parts */
    PRV_REPLACED_FOLDED  /* a sample of which Lemma 2 is known: that of a sample of fixed size */
} prv_replacement;

/* How a combined mechanism follows from its parts: PAIRS.md, section 10. */
typedef enum prv_combination {
    PRV_COMBINED_PRODUCT, /* one after another, on the same records */
    PRV_COMBINED_SAMPLE,  /* its only part runs on a Poisson sample, of sampling_probability */
    PRV_COMBINED_AVERAGE, /* its only part runs on each of `batches`, of which a record is in one at random */
    PRV_COMBINED_FOLDED   /* the symmetric pair whose losses above 0 are those of such a sample: section 4 */
} prv_combination;

struct prv_mechanism {
    prv_origin *origin; /* how it was made, owned; NULL if the core made it for itself */
    prv_base base;
    prv_noise noise;
    double scale;                /* of the noise, > 0 */
    double sensitivity;          /* of a Laplace mechanism */
    int64_t integer_sensitivity; /* of a discrete mechanism */
    double mu; /* sensitivity / noise scale of a Gaussian or Laplace base; the range of a bounded range */

    bool sampled;             /* made by a constructor ..._subsampled, even if with probability 1 */
    bool without_replacement; /* the sample has a fixed size */
    bool folded; /* losses above 0 are those of 'remove', losses below 0 those of 'add', the rest is an atom
                    at 0 */
    bool own;    /* the caller described it: a table, cdfs or a curve */
    bool replaced_only; /* the pair is that of a replaced record, and of no added or removed one */
    prv_replacement replacement, base_replacement; /* of the mechanism, and of the base that was sampled */
    uint64_t group_size;               /* number of records by which neighbours differ; above 1 for groups */
    uint64_t dataset_size, batch_size; /* of a group's sample of fixed size; else 0 */
    bool
        without_rarest; /* of a group: probabilities below 2^-1022 of many members in a sample are left out */
    /* Of batches that are cut so rarely that the pair is that of batches that never are (PAIRS.md, section
     * 6): the logarithm of the probability of a cut, and the probability that the record is kept then, both
     * at most; of all other mechanisms 0. */
    double cut_log_probability, cut_sampling_probability;
    double sampling_probability; /* of each record, rounded; a product if a sample was sampled */
    double sampling_rest;        /* the product less sampling_probability, to 2^-100 of the product */
    double density_error;        /* relative error of the pair's densities: of weights, probabilities, sums */
    double scale_error;          /* relative, of `scale` if made of several noises; density_error has it */
    double table_error;          /* of a table or its sample: density_error of the table */
    double rest_error; /* the same: absolute error of P's mass where Q vanishes, before any sample, at most */

    prv_gaussian_mixture *mixture, *base_mixture; /* on a sample, and before; base_mixture may be NULL */
    prv_atoms *atoms[2];   /* [0] remove, [1] add, on a sample; both the same pointer if symmetric */
    prv_atoms *base_atoms; /* before sampling; NULL unless sampled and without noise to make them from */
    prv_combination combination; /* of a combined mechanism: */
    size_t part_count;
    prv_mechanism **parts; /* [part_count], owned */
    uint64_t *part_counts; /* [part_count], how often each runs */
    uint64_t batches;
    uint64_t selected;             /* of a product that stands for so many of `batches`; else 0 */
    const prv_mechanism *enclosed; /* of an enclosed mechanism: what it encloses, not owned */
    prv_atoms *enclosing[2]; /* of pairs, in the same direction, that dominate and are dominated (prv_side) */
    prv_tail_callback tails;
    bool tails_mirrored; /* the pair of these tails equals its reverse */
    prv_cdf_callback cdfs;
    prv_curve_callback curve;
    void *context;           /* of the callback */
    double mass_at_infinity; /* of the base, of callbacks */

    prv_mechanism *part[2];   /* of a choice, owned */
    double part_weight[2];    /* their probabilities */
    double part_weight_error; /* relative, of either */
    /* A mechanism whose pair two data sets attain, in either direction, for lower bounds; owned. NULL if the
     * mechanism's own pair is attained, which it is not for samples of fixed size and truncated samples
     * (PAIRS.md, section 8). */
    prv_mechanism *attained;
    bool never_attained; /* not even single values of its curve are known to be those of two data sets */
};

/* Counts of a composition add up to this at most. */
#define PRV_MOST_STEPS (UINT64_C(1) << 53)
/* Squares of separations and of ranges of losses, which are below this, do not overflow. */
#define PRV_MOST_SEPARATION 1e150

/* ---- Building blocks of constructors ---------------------------------------------------------
 *
 * Functions that return a mechanism return NULL if there is no memory. Functions that return a status set
 * *mechanism on PRV_OK alone. */

/* A mechanism without any parameters. */
prv_mechanism *prv_mechanism_new(prv_base base);

/* A copy of all parameters of `m`, without what it owns: atoms, mixtures and parts are NULL. */
prv_mechanism *prv_mechanism_like(const prv_mechanism *m);

/* Ends a constructor: sets *mechanism if `status` is PRV_OK, frees m otherwise, and returns `status`. */
prv_status prv_mechanism_finish(prv_status status, prv_mechanism *m, prv_mechanism **mechanism);

/* Takes the atoms, which serve both directions, and frees them if it fails; for NULL PRV_ERR_MEMORY. */
prv_status prv_mechanism_of_atoms(prv_atoms *atoms, prv_mechanism **mechanism);

/* Outcomes with these masses, as of prv_atoms_of_outcomes; 'add' is the reverse. */
prv_status prv_mechanism_outcomes(const double *q, const double *p, size_t length, prv_mechanism **mechanism);

/* P has one outcome. Q has it with probability `same`, and otherwise (`apart`) an outcome that P never has.
 * Both are rounded, of sum 1. */
prv_status prv_mechanism_apart(double apart, double same, prv_mechanism **mechanism);

/* P and Q share no outcome: epsilon is infinite. */
prv_status prv_mechanism_disjoint(prv_mechanism **mechanism);
bool prv_is_disjoint(const prv_mechanism *m);

/* States of `made`, which has the batches of m, how rarely these are cut. */
void prv_keep_cut(const prv_mechanism *m, prv_mechanism *made);

/* Whether a data set, a batch or a number of batches may be so large: 1 to 2^32. */
bool prv_is_size(uint64_t n);

/* A choice between two parts with probabilities `weight`, which have the relative error `error`. The pair
 * shows the choice, and so dominates a mechanism that hides it; `attained` is a mechanism whose pair two data
 * sets attain. The three were made with `status`; they are taken, and freed if it or this function fails. */
prv_status prv_mechanism_choice(prv_status status, prv_mechanism *const part[2], const double weight[2],
                                double error, prv_mechanism *attained, prv_mechanism **mechanism);

/* These two state more of a mechanism that was made with `status`, and return `status`: how the pair of a
 * replaced record follows, and the noise that prv_mechanism_scaled multiplies. Noise of scale 0 cannot be
 * scaled. */
prv_status prv_with_replacement(prv_status status, prv_replacement replacement, prv_mechanism **mechanism);
prv_status prv_with_noise(prv_status status, prv_noise noise, double scale, prv_mechanism **mechanism);

#endif
