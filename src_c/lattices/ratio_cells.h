/* Masses between the points of a geometric lattice, gathered by an operation on laws of likelihood ratios,
 * and the law on the points that they make: split between both points from above, merged from below. */
#ifndef PRV_RATIO_CELLS_H
#define PRV_RATIO_CELLS_H

#include <stdbool.h>

#include "lattices/ratio_law.h"

/* Masses of cells, with the part that would go to the upper point if means were kept. Cells are stored in
 * `planes` runs, every one of cells a stride apart, so that loops over points of a coarser lattice are over
 * neighbours in memory. */
typedef struct prv_ratio_cells {
    size_t length; /* of each plane */
    size_t planes;
    int64_t first;          /* cell 0 of plane 0 lies above this point */
    double offset, spacing; /* nats, of the points */
    double *mass, *upper;   /* [planes * length] */
    double *on_point;       /* [planes * length + 1] masses that lie on points exactly, from `first` on */
    size_t terms;           /* each is a sum of so many, at most */
    size_t joined;          /* cells of coarser lattices that were joined to these */
    double shift;           /* what means of these may miss their points by, relative */
    bool escaped;           /* a place was outside: a fault of whoever made the cells */
} prv_ratio_cells;

/* The cell that log R lies in, moved by its error to the safe side; and the part of mass there that goes to
 * the upper point. */
typedef struct prv_ratio_place {
    int64_t cell;
    double upper;
} prv_ratio_place;

/* Empty cells above the points `first` up to `end`, and on either side as many as rounding may move a place
 * by that lies between these points and is known to `error`, nats, at most. Errors: PRV_ERR_MEMORY;
 * PRV_ERR_PRECISION if that were very many cells, or points whose numbers doubles do not count exactly. */
prv_status prv_ratio_cells_new(double first, double end, double error, size_t planes, double offset,
                               double spacing, prv_ratio_cells *cells);
void prv_ratio_cells_free(prv_ratio_cells *cells);

/* Puts what is in cells of a lattice `times` coarser, of the same offset, on points of this one: split or
 * merged as at the end. Those cells are freed, whatever the status. PRV_ERR_MEMORY. */
prv_status prv_ratio_cells_join(prv_ratio_cells *cells, prv_ratio_cells *coarser, int64_t times,
                                const prv_ratio_side *side);

/* The place of log R, nats from point 0 of the lattice, known to `error`. `up` is prv_ratio_up_is_safe. */
prv_ratio_place prv_ratio_place_of(double log_ratio, double error, double spacing, bool up);

/* Where a run of `length` cells of one plane, from this cell on, is stored in `mass` and `upper`. False if
 * they are not all stored, so that nothing may be written: prv_ratio_cells_close then fails. */
bool prv_ratio_find_cells(prv_ratio_cells *cells, int64_t cell, size_t length, size_t *at);

/* Adds `factor` times each of the masses to a run of one plane, from this cell on; the part `upper` of each
 * goes to the upper point. */
void prv_ratio_cells_add(prv_ratio_cells *cells, int64_t cell, const double *masses, size_t length,
                         double factor, double upper);

/* Adds products of masses that lie on points exactly, a stride apart from this point on, times `factor`. */
void prv_ratio_cells_add_on_points(prv_ratio_cells *cells, int64_t point, size_t stride, const double *a,
                                   const double *b, size_t length, double factor);

/* The law on the points. `law` has `zero`, `infinite` and `shift` already; the cells are freed, whatever the
 * status. O(cells). Errors: PRV_ERR_MEMORY; PRV_ERR_BOUNDS if a place was outside. */
prv_status prv_ratio_cells_close(prv_ratio_cells *cells, const prv_ratio_side *side, prv_ratio_law *law);

#endif
