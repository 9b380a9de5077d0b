/* Pairs of data sets in which one record is replaced by another: PAIRS.md, sections 3 and 4. */
#ifndef PRV_REPLACE_ONE_H
#define PRV_REPLACE_ONE_H

#include "mechanisms/mechanism.h"

/* Sets *pair to the pair of a replaced record, the same in both directions, which the caller frees; to NULL
 * if it is the mechanism itself. PRV_ERR_NEIGHBORS if no such pair is known. */
prv_status prv_mechanism_replaced(const prv_mechanism *m, prv_mechanism **pair);

#endif
