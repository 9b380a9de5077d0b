/* Products of masses, a run of pairs at a time, added to the cells in which the averages of the pairs lie. */
#ifndef PRV_RATIO_RUNS_H
#define PRV_RATIO_RUNS_H

#include "lattices/ratio_cells.h"

/* Points of a and as many of b, whose averages lie in a run of cells, from `at` on. */
typedef struct prv_ratio_run {
    const double *a, *b;
    size_t at, length;
    double factor, upper;
} prv_ratio_run;

enum { PRV_RUNS_TOGETHER = 4 };

/* Runs that end in the same cells are added up together, so that these are visited once. */
typedef struct prv_ratio_runs {
    size_t count;
    prv_ratio_run runs[PRV_RUNS_TOGETHER];
} prv_ratio_runs;

/* Adds a run, now or with the next ones. */
void prv_ratio_runs_add(prv_ratio_runs *waiting, const prv_ratio_run *run, prv_ratio_cells *cells);

/* Adds all that wait. O(their lengths). */
void prv_ratio_runs_end(prv_ratio_runs *waiting, prv_ratio_cells *cells);

#endif
