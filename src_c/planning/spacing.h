/* The knots of each step: their distances are powers of two times the spacing of the lattice, and smallest
 * where most of the tilted mass is. */
#ifndef PRV_SPACING_H
#define PRV_SPACING_H

#include <stdbool.h>

#include "lattices/mesh.h"
#include "planning/aim.h"

/* Bytes of a knot's cells and of its points of both lattices. */
#define PRV_BYTES_OF_KNOT 160.0

/* What the spacings of all steps have in common. */
typedef struct prv_spacing {
    double lattice;   /* of the lattice, nats */
    double coarsest;  /* of a spectrum's lattice that is fine enough for atoms, nats */
    double law;       /* of the error law, nats: of a uniform mesh that is as good */
    double convolved; /* of a uniform mesh that is as good where mass about an edge costs less, nats */
    double scale;     /* of the spacings */
    double count;     /* of all steps that the meshes are shared out over */
    bool exact;       /* the spacing of the lattice is as asked */
    prv_engine engine;
} prv_spacing;

/* No spacing of a lattice may be less if cells are to be at least as wide as their rounding needs (nats; 0
 * for discrete laws). */
double prv_narrowest_spacing(const prv_direction *direction);

/* The doubles that the `scratch` of the functions below has room for: the spacings of one step, and the
 * weights of all with their roots. */
size_t prv_weights_length(const prv_direction *direction);

/* Sets shared->scale and shared->convolved from shared->law, and shared->lattice: for a convolution to the
 * latter, and for a spectrum to a power of two less than the law, so that the least spacing wanted is on the
 * lattice; and shared->coarsest. If shared->exact, sets the scale alone. */
void prv_scale_meshes(const prv_direction *direction, const prv_aim *aim, double *scratch,
                      prv_spacing *shared);

/* About how many knots the meshes of all steps have together, at this spacing of the error law (nats).
 * O(cells). */
double prv_expected_knots(const prv_direction *direction, const prv_aim *aim, double spacing,
                          prv_engine engine, double *scratch);

/* Makes the mesh of step j and the knots of its cells; nothing is left to be freed unless PRV_OK is returned.
 * If it has more knots than memory_limit (bytes) has room for, PRV_ERR_MEMORY_LIMIT, and the bytes that they
 * would take are added to *bytes. PRV_ERR_ENGINE if a spectrum would have more knots than it can sum. */
prv_status prv_mesh_of_step(const prv_direction *direction, size_t j, const prv_aim *aim,
                            const prv_spacing *shared, double memory_limit, double *scratch, prv_mesh *mesh,
                            prv_cells *cells, double *bytes);

#endif
