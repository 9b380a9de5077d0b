#include "lattices/dominated.h"

#include <math.h>

#include "numerics/vector_math.h"
#include "lattices/merging.h"
#include "lattices/tilt.h"

/* Shifts with which the heaviest mesh cell, or that cell and its neighbours, merge exactly into one target.
 * On a lattice that is coarser than the bulk of the loss, other shifts lose the distance to the nearest
 * target at first order. Tightness alone depends on these numbers. */
enum { MOST_SHIFTS = 3, NEIGHBOURHOOD = 32 };

/* If no mesh cell has this share, the mesh resolves the law. */
#define CROWDED 0.025

typedef struct heavy_cell {
    size_t at;     /* mesh cell */
    double share;  /* its part of all mass, about */
    bool is_alone; /* no other one far from it is crowded */
} heavy_cell;

/* The mesh cell with the most tilted mass. `scratch` has room for the mesh, and the lattice is scratch too.
 */
static heavy_cell heaviest_cell(const prv_cells *cells, const prv_mesh *mesh, double tilt, double *scratch,
                                prv_lattice *lattice)
{
    const size_t n = mesh->length - 1;
    for (size_t k = 0; k < n; k++) {
        const size_t low = mesh->knot[k], high = mesh->knot[k + 1];
        lattice->loss[k] = cells->knots[low];
        double mass = cells->mass[low + 1];
        for (size_t i = low + 2; i <= high; i++) mass += cells->mass[i];
        lattice->mass[k] = mass;
    }
    const double *share = lattice->mass;
    if (tilt > 0.0) {
        prv_tilt(lattice->loss, lattice->mass, n, tilt, scratch);
        share = scratch;
    }
    heavy_cell h = {0, 0.0, true};
    for (size_t k = 0; k < n; k++)
        if (share[k] > h.share) h = (heavy_cell){k, share[k], true};
    for (size_t k = 0; k < n; k++)
        if (share[k] >= CROWDED && (k + NEIGHBOURHOOD < h.at || k > h.at + NEIGHBOURHOOD)) h.is_alone = false;
    return h;
}

/* The distance, up to the spacing, above the next lower lattice point of the mesh cells at - reach .. at +
 * reach merged into one atom. */
static double merged_shift(const prv_cells *cells, const prv_mesh *mesh, size_t at, size_t reach)
{
    const size_t first = at > reach ? at - reach : 0;
    const size_t end = at + reach + 2 < mesh->length ? at + reach + 1 : mesh->length - 1;
    const double low = cells->knots[mesh->knot[at]];
    double mass = 0.0, relative = 0.0;
    for (size_t i = mesh->knot[first] + 1; i <= mesh->knot[end]; i++) {
        mass += cells->mass[i];
        relative += cells->relative[i] * prv_vm_exp(low - cells->knots[i - 1]);
    }
    if (!(mass > 0.0 && relative > 0.0)) return 0.5 * mesh->spacing;
    const double place = log(mass / relative), above = fmod(place, mesh->spacing);
    /* An atom at the upper end of a cell, whose target lies above its lower end, by this distance at most. */
    if (above < 1e-9 * mesh->spacing && place > 0.5 * mesh->spacing) return mesh->spacing;
    return above < 0.0 ? above + mesh->spacing : above;
}

/* The cells that tell which shift is best when they alone are merged, and their mesh: those around a heavy
 * cell; all, if there is another heavy one far from it, for which that shift may be a poor one. */
static prv_mesh neighbourhood(const prv_cells *cells, const prv_mesh *mesh, const heavy_cell *h,
                              prv_cells *near)
{
    const size_t reach = h->is_alone ? NEIGHBOURHOOD : mesh->length, at = h->at;
    const size_t first = at > reach ? at - reach : 0;
    const size_t end = at + reach + 2 < mesh->length ? at + reach + 2 : mesh->length;
    prv_mesh part = *mesh;
    part.index += first;
    part.knot += first;
    part.length = end - first;
    *near = *cells;
    near->knots += mesh->knot[first];
    near->mass += mesh->knot[first];
    near->relative += mesh->knot[first];
    near->length = mesh->knot[end - 1] - mesh->knot[first] + 1;
    return part;
}

/* The log-moment of what cells merge into. */
static double merged_moment(const prv_cells *cells, const prv_mesh *mesh, double *scratch,
                            prv_lattice *lattice)
{
    prv_merge_cells(cells, mesh, scratch, lattice);
    return prv_tilt(lattice->loss, lattice->mass, lattice->length, mesh->tilt, NULL).log_moment;
}

void prv_lattice_dominated(const prv_cells *cells, prv_mesh *mesh, double *scratch, prv_lattice *lattice)
{
    const bool shifts = !mesh->on_knots || mesh->may_shift;
    mesh->shift = mesh->on_knots ? 0.0 : 0.5 * mesh->spacing;
    prv_mesh best = *mesh;
    double greatest = -HUGE_VAL;
    heavy_cell last = {SIZE_MAX, 0.0, true};
    for (int tilted = 1; tilted >= 0 && shifts; tilted--) { /* the tilted bulk, then the law's own */
        const heavy_cell h = heaviest_cell(cells, mesh, tilted ? mesh->tilt : 0.0, scratch, lattice);
        if (h.share < CROWDED || h.at == last.at) continue;
        last = h;
        prv_cells near;
        prv_mesh part = neighbourhood(cells, mesh, &h, &near);
        if (mesh->on_knots) greatest = fmax(greatest, merged_moment(&near, &part, scratch, lattice));
        part.on_knots = false;
        /* Several heavy cells may be atoms that all lie on lattice points. */
        for (int reach = h.is_alone ? 0 : -1; reach < MOST_SHIFTS; reach++) {
            part.shift = reach < 0 ? mesh->spacing : merged_shift(cells, mesh, h.at, (size_t)reach);
            const double moment = merged_moment(&near, &part, scratch, lattice);
            if (!(moment > greatest)) continue;
            greatest = moment;
            best.on_knots = false;
            best.shift = part.shift;
        }
    }
    *mesh = best;
    prv_merge_cells(cells, mesh, scratch, lattice);
    if (mesh->keeps_top) prv_lattice_keep_top(cells, PRV_DOMINATED, lattice);
}
