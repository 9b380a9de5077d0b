/* Bounds of one direction by counting rare jumps (composition/jump_law.h): passes with finer and finer
 * meshes.
 */
#ifndef PRV_JUMP_PASSES_H
#define PRV_JUMP_PASSES_H

#include "questions/refinement.h"

/* Passes over the direction of a refinement until its bounds, which those of its passes before count among,
 * are as close as asked. PRV_ERR_ENGINE where this is not the way: mechanisms that it does not know, or more
 * work than another engine is expected to take; bounds that were found are kept. Other errors:
 * PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, PRV_ERR_BOUNDS. */
prv_status prv_jump_passes(prv_refinement *refinement);

/* Whether a delta is to be left to other engines first: counting may answer, but take long. O(cells). */
bool prv_is_counting_later(prv_refinement *refinement);

#endif
