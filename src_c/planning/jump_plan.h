/* Where the lattices of a step with rare jumps lie (lattices/jump_lattices.h), so that bounds of epsilon have
 * the width asked. No bound relies on it. */
#ifndef PRV_JUMP_PLAN_H
#define PRV_JUMP_PLAN_H

#include "lattices/jump_lattices.h"
#include "curve/direction.h"

/* What is asked of one pass. */
typedef struct prv_jump_aim {
    double epsilon;    /* up to which bounds are to hold, nats */
    double slope;      /* - d log(delta) / d epsilon at the epsilon expected, > 0, 1/nats */
    double log_delta;  /* at the epsilon expected */
    double width;      /* that the lattices may make, in epsilon, nats */
    double most_jumps; /* about, of all runs, that delta may not lose */
} prv_jump_aim;

/* Whether one direction's steps can be composed like this at all: Gaussian noise on a sample, a mixture of
 * normal distributions, as of groups on samples, or discrete losses whose masses are known relatively, any
 * number of runs, in the direction in which its least loss is finite. */
bool prv_may_count_jumps(const prv_direction *direction);

/* The epsilon and the slope at which one jump alone, on top of the mean of all smaller losses, makes up
 * delta: less than what more jumps make of it, about. O(profile). */
void prv_jump_guess(const prv_direction *direction, double log_delta, double *epsilon, double *slope);

/* About how many products a composition with the mesh of this aim takes. O(profile). */
double prv_jump_work(const prv_direction *direction, const prv_jump_aim *aim);

/* Fills a mesh for the only step of the direction. PRV_ERR_ENGINE where none has the width. O(profile). */
prv_status prv_jump_plan(const prv_direction *direction, const prv_jump_aim *aim, prv_jump_mesh *mesh);

#endif
