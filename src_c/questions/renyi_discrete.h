/* The excess moment of a discrete loss: a sum over its atoms, with what was cut off where doubles end. */
#ifndef PRV_RENYI_DISCRETE_H
#define PRV_RENYI_DISCRETE_H

#include <stdbool.h>

#include "mechanisms/mechanism.h"
#include "questions/renyi_excess.h"

/* Of m->atoms[add], a mechanism of PRV_BASE_ATOMS without mass at infinity. O(atoms).
 * PRV_ERR_INTERRUPTED; options may be NULL. */
prv_status prv_discrete_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                               prv_excess *excess);

#endif
