/* Passes shown to whoever wants to check them: prv_witness. */
#ifndef PRV_WITNESS_H
#define PRV_WITNESS_H

#include "questions/pass.h"

/* Shows a pass, made from each[direction->steps], to the direction's observer. PRV_ERR_MEMORY,
 * PRV_ERR_INTERRUPTED. O(steps). */
prv_status prv_show_pass(const prv_direction *direction, prv_neighbors asked, const prv_enclosure *each,
                         const prv_outcome *outcome);

#endif
