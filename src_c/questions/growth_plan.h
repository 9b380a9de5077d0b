/* A plan by which a growing composition is bounded in one direction: tilt, lattices and frequencies, made for
 * a beginning of its steps, with room for three quarters as much again.
 *
 * Which beginning is planned for, and each mesh, depend on the steps and their order alone, and not on what
 * was asked before. */
#ifndef PRV_GROWTH_PLAN_H
#define PRV_GROWTH_PLAN_H

#include <stdbool.h>

#include "lattices/enclosure.h"
#include "composition/growing_spectrum.h"
#include "planning/aim.h"
#include "planning/layout.h"

/* The pair of a distinct step in one direction. */
typedef struct prv_step_pair {
    const prv_mechanism *mechanism; /* NULL: not made yet */
    prv_mechanism *replaced;        /* the pair that was made for PRV_REPLACE_ONE, or NULL */
    double size;                    /* of one run: the second moment of its loss, about */
} prv_step_pair;

/* `mechanism` must live as long as the pair. PRV_ERR_MEMORY, PRV_ERR_NEIGHBORS, those of callbacks. */
prv_status prv_step_pair_new(const prv_mechanism *mechanism, bool add, prv_neighbors neighbors,
                             prv_step_pair *pair);
void prv_step_pair_free(prv_step_pair *pair);

/* The steps so far, in one direction. */
typedef struct prv_past {
    bool add;
    size_t length;              /* > 0 */
    const prv_step *steps;      /* [length] distinct, counts > 0 */
    const prv_step_pair *pairs; /* [length] */
    uint64_t planned;           /* runs of the last step that plans are made for; 0: their level decides */
} prv_past;

typedef struct prv_growth_plan {
    /* The beginning: */
    int level;           /* its size, of all runs together, is about GROWTH^level */
    size_t steps;        /* distinct steps in it; 0: nothing is planned */
    uint64_t last_count; /* runs of the last of these steps that belong to it */
    double last_meshed;  /* the count that the last one's mesh is made for */
    double size;
    double growth; /* the composition is this much longer at the end of the plan */
    /* The plan for it: */
    bool fails; /* none can be made */
    size_t fineness;
    prv_aim aim;
    prv_layout layout;        /* without meshes */
    prv_growing_plan side[2]; /* by prv_side: of the dominating and of the dominated lattices */
} prv_growth_plan;

/* The beginning of `past` that a plan is made for, and all else 0. No steps if nothing tells sizes. If runs
 * of the last step are planned, it is all steps with so many of these, and the plan is a narrow one: for
 * little more runs, and no more work than a composition of the whole. */
prv_growth_plan prv_choose_beginning(const prv_past *past);
bool prv_is_same_beginning(const prv_growth_plan *a, const prv_growth_plan *b);

/* The lattices of step j under the plan: a function of the plan, the mechanism and, as meshes stay while a
 * step runs on, of its count rounded up to a power of two. */
prv_status prv_enclose_step(const prv_growth_plan *plan, const prv_past *past, size_t j,
                            const prv_options *options, prv_enclosure *enclosure);

/* Makes the plan for its beginning, of at least one step, and the question. enclosures[plan->steps] become
 * those of the beginning, and before[2], by prv_side, the sums over it without its last step; the first
 * *enclosed enclosures are to be freed, and sums and plan too, whatever is returned. PRV_ERR_PRECISION,
 * PRV_ERR_ENGINE or PRV_ERR_MEMORY_LIMIT if no plan can be made. */
prv_status prv_growth_plan_make(const prv_past *past, prv_question question, double value,
                                const prv_options *options, prv_growth_plan *plan, prv_enclosure *enclosures,
                                size_t *enclosed, prv_growing_spectrum *before);
void prv_growth_plan_free(prv_growth_plan *plan);

#endif
