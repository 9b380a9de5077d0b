/* A finite law of losses whose privacy curve is read off sums over its atoms. */
#ifndef PRV_LOSS_TABLE_H
#define PRV_LOSS_TABLE_H

#include <stddef.h>

#include "closed/value.h"

#include "mechanisms/atoms.h"

typedef struct prv_loss_table {
    size_t length;
    long double *loss;  /* [length] increasing, nats */
    long double *mass;  /* [length] */
    long double *delta; /* [length] the curve at loss[i] */
    long double *ratio; /* [length] sum over j >= i of mass[j] e^(loss[i] - loss[j]) */
    double mass_error;  /* relative, of each mass */
    double value_error; /* relative, of delta and ratio: with that of masses */
    double loss_error;  /* nats, of each loss */
    double above;       /* mass that was left out above the last loss */
    double below;       /* and below the first one, as a part of the rest */
    double absolute;    /* what the masses of all atoms together may be off by beyond mass_error */
} prv_loss_table;

/* The most atoms of a table. */
#define PRV_MOST_TABLE_ATOMS 65536

/* The sum of `count` >= 1 losses, each +epsilon or -epsilon with odds of e^epsilon to 1: binomial
 * probabilities. epsilon > 0 is off by `error`, relatively. What is left out above is at most `least` times
 * 2^-70, about. Sets *known to false, and allocates nothing, if that would be too many atoms. O(length). */
prv_status prv_loss_table_of_responses(long double epsilon, double error, double count, double least,
                                       bool *known, prv_loss_table *table);

/* The finite losses of a run of a mechanism, with the errors that its atoms have, and another relative one of
 * their masses. What is left out above is at most `least` times 2^-70, about. *known as above. O(length). */
prv_status prv_loss_table_of_atoms(const prv_atoms *atoms, double density_error, double least, bool *known,
                                   prv_loss_table *table);

void prv_loss_table_free(prv_loss_table *table);

/* The curve at any finite epsilon, which is known up to `blur`. O(log length). */
prv_closed_value prv_loss_table_at(const prv_loss_table *table, long double epsilon, long double blur);

#endif
