/* One pass over one direction: a layout is planned, both lattices of each step are built and composed, and
 * bounds are read off the two compositions. */
#ifndef PRV_PASS_H
#define PRV_PASS_H

#include <stdbool.h>

#include "questions/reading.h"

/* If the cells' rounding multiplies delta by e to this or more, a composition says little more than is known
 * without one. For speed: no bound relies on it. */
#define PRV_MOST_CELL_ERROR 700.0

/* Rare large losses in a spectrum: see window.h. */
typedef enum prv_jumps {
    PRV_JUMPS_UNTRIED = 0, /* together with the bulk, so far */
    PRV_JUMPS_SEPARATE,
    PRV_JUMPS_TOGETHER /* with the bulk, since separating them was in vain */
} prv_jumps;

/* The question that passes answer, and the way of the next pass. */
typedef struct prv_task {
    prv_direction *direction;
    const prv_options *options;
    prv_question question;
    double value;
    prv_engine engine;
    prv_jumps jumps; /* spectrum */
    bool brief;      /* spectrum: it may be in vain, and is to take little time */
    bool precise;    /* convolution: powers are taken the precise way (spectral_power.h) */
    double work;     /* spectrum: products of an atom and a frequency that it may take; 0: as few as usual */
} prv_task;

/* The findings of a pass. */
typedef struct prv_outcome {
    prv_reading read;
    bool coarsened;    /* the mesh is coarser than the error law says, so that its error is of first order */
    bool without_tops; /* the tops of lattices, which were planned for, could not be counted */
    bool capped;       /* the memory limit made the mesh coarser than asked */
    bool too_large;    /* there was no pass, since it was to be a small one (PRV_ENGINE_SMALL) */
    bool precise;      /* a convolution taken the precise way */
    double spacing;    /* of the error law, nats */
    double points_for_cells; /* of a spectrum's lattice; 0 if atoms need it */
    double tops_greatest;    /* nats: an epsilon up to which tops can be counted */
    size_t cells, transform_length;
    prv_engine engine; /* PRV_ENGINE_AUTO if nothing was composed */
    double tilt;
    double bytes;                /* of the largest buffers */
    prv_rounding cells_rounding; /* prv_enclosed_rounding */
} prv_outcome;

/* Makes a pass at the tilt, with meshes of about `spacing`; if `exact`, of that spacing or none, else coarser
 * if the memory limit demands it. Only outcome->bytes, too_large and points_for_cells are set unless PRV_OK
 * is returned. PRV_ERR_ENGINE if the spectrum falls too slowly, or the pass is too large; PRV_ERR_PRECISION
 * if the power amplifies the rounding of transforms too much (prv_compose); PRV_ERR_MEMORY_LIMIT if
 * outcome->bytes would be needed; PRV_ERR_BOUNDS, PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
prv_status prv_pass(const prv_task *task, const prv_aim *aim, double tilt, double spacing, bool exact,
                    prv_outcome *outcome);

#endif
