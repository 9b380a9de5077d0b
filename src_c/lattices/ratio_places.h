/* Where between points of a finer lattice the average of two points of a lattice lies. */
#ifndef PRV_RATIO_PLACES_H
#define PRV_RATIO_PLACES_H

#include "lattices/ratio_cells.h"

/* log(w + (1 - w) e^d), w in (0, 1). `error`: by how much it may be off at most, the rounding included of an
 * exponent to which it is added. */
double prv_ratio_log_average(double weight, double d, double *error);

/* What places of averages may be off by at most if both points are at most so far apart, nats. */
double prv_ratio_error_of_pairs(double weight, double farthest);

/* Points on a lattice of this spacing, nats, and cells of their averages, which are `finer` times closer. */
typedef struct prv_ratio_mesh {
    double weight, spacing;
    unsigned finer;
    bool up; /* prv_ratio_up_is_safe */
} prv_ratio_mesh;

/* Where the average of two points lies whose numbers differ by d, first <= d: counted from that of a, in
 * cells of the finer lattice. Without `cell`, each is computed when it is asked for. */
typedef struct prv_ratio_places {
    int64_t first;
    int64_t *cell;
    double *upper;
} prv_ratio_places;

/* Where the average of two points whose numbers differ by d lies, counted from the first one. */
prv_ratio_place prv_ratio_place_of_pair(const prv_ratio_mesh *mesh, int64_t d);

/* Computes the places of all differences from -`most` to `most`, if the spacing is far above what they are
 * known to. O(most times finer). PRV_ERR_MEMORY; prv_ratio_places_free frees them, whatever the status. */
prv_status prv_ratio_places_new(const prv_ratio_mesh *mesh, size_t most, prv_ratio_places *places);
void prv_ratio_places_free(prv_ratio_places *places);

/* The same as prv_ratio_place_of_pair, looked up if it was computed. */
prv_ratio_place prv_ratio_place_at(const prv_ratio_mesh *mesh, const prv_ratio_places *places, int64_t d);

#endif
