/* What a composition should look like to answer one question: a mesh for each step, and the window. Every
 * choice here is sound; a bad one makes bounds wide, which the query notices. */
#ifndef PRV_LAYOUT_H
#define PRV_LAYOUT_H

#include "composition/window.h"
#include "planning/spacing.h"

typedef struct prv_layout {
    prv_spacing spacing;
    double tilt;
    size_t steps;
    prv_mesh *meshes;      /* [steps] */
    prv_cells *cells;      /* [steps], knots filled */
    size_t longest;        /* points of the longest mesh */
    prv_window window;     /* length 0: no transform is that long */
    double uniform_points; /* of a uniform mesh in the window, about */
    /* Points of a convolution's mesh that is as good: more where atoms lie off the lattice. */
    double convolved_points;
    double log_budget;   /* log of what may be lost at either end, in units of M e^(-lam eps) g(lam) */
    double memory_limit; /* bytes */
    double bytes;        /* of the largest buffers that this takes */
} prv_layout;

/* Lays out meshes of about `spacing` (aligned to the sharp features if there are any) and the window at the
 * tilt given. exact_spacing: takes the spacing as it is. PRV_ERR_MEMORY_LIMIT if this takes more bytes;
 * layout->bytes is then what it would take, before anything that large is allocated. Of the options, which
 * may be NULL, only progress matters: between meshes it is asked whether to go on. */
prv_status prv_layout_new(prv_direction *direction, const prv_aim *aim, double tilt, double spacing,
                          bool exact_spacing, prv_engine engine, double memory_limit,
                          const prv_options *options, prv_layout *layout);
void prv_layout_free(prv_layout *layout);

/* A layout without meshes; nothing is to be freed. Errors of prv_layout_new. */
prv_status prv_layout_plan(prv_direction *direction, const prv_aim *aim, double tilt, double spacing,
                           bool exact_spacing, prv_engine engine, double memory_limit, prv_layout *layout);

/* About how long the period of a spectrum at this tilt is, nats: sums more than a period apart count as one.
 */
double prv_period_guess(prv_direction *direction, const prv_aim *aim, double tilt);

/* About how many knots the meshes of a first pass of this aim would have. O(cells). */
double prv_first_knots(prv_direction *direction, const prv_aim *aim, prv_engine engine);

/* The layout, with meshes, of steps under that plan, which need not be those that the plan was made for.
 * `part` is their share of the plan's error budget. */
prv_status prv_layout_another(const prv_layout *plan, prv_direction *direction, const prv_aim *aim,
                              double part, const prv_options *options, prv_layout *layout);

/* Finds the loss above which rare jumps are separated, so that the bulk alone does not reach epsilon, and
 * fills window->separate and the fields of the window that belong to it. False if there is no
 * such loss. */
bool prv_separate_jumps(prv_direction *direction, const prv_aim *aim, prv_window *window);

#endif
