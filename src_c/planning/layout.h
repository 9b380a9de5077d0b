/* What a composition should look like to answer one question: a mesh for each step, and the window. Every
 * choice here is sound; a bad one makes bounds wide, which the query notices. */
#ifndef PRV_LAYOUT_H
#define PRV_LAYOUT_H

#include "lattices/mesh.h"
#include "composition/window.h"
#include "planning/aim.h"

typedef struct prv_layout {
    size_t steps;
    double step, tilt; /* of the lattice */
    double law_step;   /* of the error law: the step of a uniform mesh that is as good */
    prv_mesh *meshes;  /* [steps] */
    prv_cells *cells;  /* [steps], knots filled */
    prv_engine engine;
    prv_window window;     /* length 0: nothing fits */
    int exact;             /* the step is as asked */
    double count;          /* of all steps that the meshes are shared out over */
    double scale;          /* of the spacings */
    double log_budget;     /* of what may be lost at either end, in units of M e^(-lam eps) g(lam) */
    double uniform_points; /* of a uniform mesh in the window, about */
    size_t longest;        /* mesh */
    double memory_limit;   /* bytes */
    double bytes;          /* of the largest buffers that this takes */
} prv_layout;

/* Lays out meshes of about `step` (aligned to the sharp features where there are any) and the window at
 * the tilt given. `exact_step`: take the step as it is. PRV_ERR_MEMORY_LIMIT if it takes more bytes;
 * layout->bytes is then what it would take, before anything that large is allocated. */
prv_status prv_layout_new(prv_direction *direction, const prv_aim *aim, double tilt, double step,
                          int exact_step, prv_engine engine, double memory_limit, prv_layout *layout);
void prv_layout_free(prv_layout *layout);

/* All of a layout but the meshes: nothing to be freed. And one like it for a step of its own, which need not
 * be one of those that it was planned for: `part` of what all of these together may lose is this one's. */
prv_status prv_layout_plan(prv_direction *direction, const prv_aim *aim, double tilt, double step,
                           int exact_step, prv_engine engine, double memory_limit, prv_layout *layout);
prv_status prv_layout_another(const prv_layout *plan, prv_direction *direction, const prv_aim *aim,
                              double part, prv_layout *layout);

/* Losses of how rare jumps can be told from those of the bulk, so that the bulk alone does not reach epsilon:
 * fills window->separate and what belongs to it (spectrum.h). 0 if there is no such loss. */
int prv_separate_jumps(prv_direction *direction, const prv_aim *aim, prv_window *window);

#endif
