/* k runs of a step whose loss has a least value, composed on two lattices: the jumps by their own power, the
 * bulk by its own, and what lies above the top of the lattices in closed form. Proofs are in JUMPS.md.
 *
 * delta at epsilon is a sum of positive terms, whose relative accuracy does not depend on how small delta is.
 * No transform, and no tilt. */
#ifndef PRV_JUMP_LAW_H
#define PRV_JUMP_LAW_H

#include "lattices/jump_lattices.h"
#include "composition/positive_power.h"

/* What may be lost, and how much work may be done. */
typedef struct prv_jump_limits {
    double lost;  /* of delta, for sums above the range and for too many jumps, each */
    double tilt;  /* > 0, 1/nats: about that at which Chernoff's bound of a sum's tail is least */
    double work;  /* products, at most */
    double bytes; /* of the largest buffers together, at most */
} prv_jump_limits;

typedef struct prv_jump_law {
    prv_side side;
    double count;    /* runs */
    double least;    /* nats: of each step */
    double offset;   /* nats: sum of losses = count * least + offset + bulk + jumps */
    double greatest; /* nats: the greatest epsilon that it bounds; infinite of a dominated law by tails */
    double bulk_spacing, jump_spacing;
    size_t bulks, jumps;   /* numbers of masses */
    double *bulk;          /* [bulks] of i bulk_spacing */
    double *above, *below; /* [jumps] with g_n the mass of n jump_spacing: sums over n >= i of g_n e^(x_i -
                              x_n), and of g_n (1 - e^(x_i - x_n)) */
    /* Some loss lies above the top: Q's probability, and P's times e^(count * least). */
    double top_mass, top_relative, top_error; /* and the relative error of either */
    double lost;           /* from above: what was left out; from below: what is too much */
    prv_rounding rounding; /* delta's, of all: as that of a lattice (lattice.h) */
    double *block;
    double work, bytes; /* products taken, and of the largest buffers */
} prv_jump_law;

/* `count` runs, an integer below 2^31. PRV_ERR_ENGINE if it takes more work or bytes than allowed;
 * PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
prv_status prv_jump_law_new(const prv_jump_lattices *lattices, const prv_jump_mesh *mesh, prv_side side,
                            double count, const prv_jump_limits *limits, const prv_options *options,
                            prv_jump_law *law);
void prv_jump_law_free(prv_jump_law *law);

typedef struct prv_jump_value {
    double delta; /* the bound, of all runs' finite losses; above law->greatest 1, or 0 from below */
    double plain; /* without rounding and what was lost */
    double slope; /* - d log plain / d epsilon */
} prv_jump_value;

/* At a finite epsilon. O(bulks). */
prv_jump_value prv_jump_delta(const prv_jump_law *law, double epsilon);

#endif
