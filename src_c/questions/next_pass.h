/* The choices of the next pass over a direction: tilt, engine, way of composing, window and mesh. They are
 * made for speed, by what earlier passes found: each pass certifies its own bounds, whatever it was told. */
#ifndef PRV_NEXT_PASS_H
#define PRV_NEXT_PASS_H

#include "questions/refinement.h"

/* The engine to begin with, if none was asked for. The direction's cells in use are those of the aim. */
prv_engine prv_likely_engine(const prv_direction *direction, const prv_aim *aim);

/* The tilt of the next pass. */
double prv_next_tilt(const prv_refinement *refinement);

/* The same of a pass at this spacing (nats): less, if a precise convolution then has so short a window that
 * it is multiplied out, for which no tilt is too small. */
double prv_tilt_of_pass(prv_refinement *refinement, double spacing);

/* Chooses the tilt, and if rounding leaves room for none, another way of composing. */
void prv_choose_way(prv_refinement *refinement);

/* Whether rounding leaves room for a tilt of the engine in use, if bounds are to be as close as this (nats).
 */
bool prv_has_tilt(const prv_refinement *refinement, double width);

/* Whether a spectrum that falls too slowly, or rounds too much, may give way to a convolution. */
bool prv_may_convolve_instead(const prv_refinement *refinement);

/* Separates rare jumps from now on; false if there are none, or if this was tried before. */
bool prv_separate_jumps_next(prv_refinement *refinement);

/* Changes what kept the last pass above `width` (nats): the window, the tilt, the way of composing, or
 * *spacing, which is a guess before. Returns false if nothing is left to change. */
bool prv_adapt(prv_refinement *refinement, double width, double *spacing);

/* Whether rounding of transforms is expected to hide the answer, whatever the mesh: the tilted law has too
 * little of its mass where the answer is, and at this spacing (nats) transforms are needed. */
bool prv_is_hopeless(prv_refinement *refinement, double spacing);

/* Whether such a convolution is not to take the place of a spectrum as it is: it would take long, or hide the
 * answer by far. */
bool prv_is_long_in_vain(prv_refinement *refinement, double spacing);

/* This spacing (nats), or a coarser one if the last pass was multiplied out, transforms would hide the
 * answer, and the next pass is multiplied out at that one. */
double prv_multiplied_spacing(prv_refinement *refinement, double spacing);

/* Whether transforms would hide the answer of a convolution, but one of a coarse mesh is likely to be
 * multiplied out at a smaller tilt than the saddle. Found once. */
bool prv_is_multiplied_out(prv_refinement *refinement);

/* The points of a convolution at this spacing (nats), about; 0 if that is not known. */
double prv_points_of_convolution(const prv_refinement *refinement, double spacing);

/* About how many products of an atom and a frequency take as long as one side of a convolution at this
 * spacing (nats) that is taken the precise way. */
double prv_work_of_precise(const prv_refinement *refinement, double spacing);

/* Whether a convolution at this spacing (nats) would take long. */
bool prv_is_convolution_large(const prv_refinement *refinement, double spacing);

/* A spacing (nats), `spacing` or a coarser one, of a pass that does not take long. */
double prv_hopeless_spacing(prv_refinement *refinement, double spacing);

/* The spacing at which a precise convolution is not very long, if no pass before it has seen the answer:
 * whether rounding hides it is told by few points as well, and what is seen then is worth more. */
double prv_spacing_of_a_look(const prv_refinement *refinement, double spacing);

/* Whether atoms need a lattice at this spacing (nats) that is no coarser than that of a convolution before,
 * whose answer rounding of transforms hid. */
bool prv_is_drowned_again(const prv_refinement *refinement, double spacing);

/* Whether rounding of the next pass, if that is a convolution by transforms taken the precise way, is
 * expected to be wider than the narrowest bounds so far. */
bool prv_is_rounding_wider(prv_refinement *refinement, double spacing);

/* `spacing` (nats), or one so much coarser that its width is about that of the rounding that is expected. */
double prv_spacing_within_rounding(prv_refinement *refinement, double spacing);

#endif
