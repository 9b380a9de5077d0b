/* A finite law of losses whose privacy curve is read off sums over its atoms. */
#ifndef PRV_LOSS_TABLE_H
#define PRV_LOSS_TABLE_H

#include <stddef.h>

#include "mechanisms/atoms.h"
#include "closed/value.h"

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

/* A loss that is one of two numbers. */
typedef struct prv_two_losses {
    long double low, high; /* nats, low < high */
    double loss_error;     /* relative, of each */
    bool opposite;         /* low is -high, however far off that is */
    long double up, down;  /* the odds of the high one against the low one, and their inverse */
    double odds_error;     /* relative, of each, with their rounding */
} prv_two_losses;

/* The sum of `count` >= 1 such losses: binomial probabilities. What is left out above is at most `least`
 * times 2^-70, about. Sets *known to false, and allocates nothing, if that would be too many atoms.
 * O(length). */
prv_status prv_loss_table_of_two(const prv_two_losses *losses, double count, double least, bool *known,
                                 prv_loss_table *table);

/* Losses of +epsilon or -epsilon with odds of e^epsilon to 1; epsilon > 0 is off by `error`, relatively. */
prv_two_losses prv_two_losses_of_response(long double epsilon, double error);

/* The finite losses of two atoms, the only ones, whose masses are known relatively. `density_error` is
 * another relative error of them. */
prv_two_losses prv_two_losses_of_atoms(const prv_atoms *atoms, double density_error);

/* The finite losses of a run of a mechanism, with the errors that its atoms have, and another relative one of
 * their masses. What is left out above is at most `least` times 2^-70, about. *known as above. O(length). */
prv_status prv_loss_table_of_atoms(const prv_atoms *atoms, double density_error, double least, bool *known,
                                   prv_loss_table *table);

void prv_loss_table_free(prv_loss_table *table);

/* The curve at any finite epsilon, which is known up to `blur`. O(log length). */
prv_closed_value prv_loss_table_at(const prv_loss_table *table, long double epsilon, long double blur);

#endif
