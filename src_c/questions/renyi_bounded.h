/* The excess moment of a bounded loss, from cells of the loss (cells.h). */
#ifndef PRV_RENYI_BOUNDED_H
#define PRV_RENYI_BOUNDED_H

#include <stdbool.h>

#include "mechanisms/mechanism.h"
#include "questions/renyi_excess.h"

/* Of a mechanism whose cells are known: *excess is infinite from above if its losses are not bounded.
 * PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
prv_status prv_bounded_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                              prv_excess *excess);

#endif
