/* Pairs where a record is replaced: PAIRS.md, sections 3 and 4. */
#ifndef PRV_REPLACE_ONE_H
#define PRV_REPLACE_ONE_H

#include "mechanisms/mechanism.h"

/* The pair where a record is replaced, the same in both directions; NULL where it is the mechanism itself.
 * PRV_ERR_NEIGHBORS where there is none. */
prv_status prv_mechanism_replaced(const prv_mechanism *m, prv_mechanism **pair);

#endif
