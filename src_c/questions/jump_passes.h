/* Bounds of one direction by counting rare jumps (composition/jump_law.h): passes with finer and finer
 * meshes.
 */
#ifndef PRV_JUMP_PASSES_H
#define PRV_JUMP_PASSES_H

#include "questions/refinement.h"

/* Passes over the direction of a refinement that has had none, until its bounds are as close as asked: they
 * become those of the refinement. PRV_ERR_ENGINE, and nothing is changed, where this is not the way:
 * mechanisms that it does not know, or more work than another engine is expected to take. Other errors:
 * PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, PRV_ERR_BOUNDS. */
prv_status prv_jump_passes(prv_refinement *refinement);

/* Whether counting jumps is expected to be the cheapest way for this refinement. O(cells). */
bool prv_is_counting_cheapest(prv_refinement *refinement);

#endif
