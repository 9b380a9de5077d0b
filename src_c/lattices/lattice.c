#include "lattices/lattice.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "lattices/tilt.h"

prv_status prv_lattice_new(size_t length, prv_lattice *lattice)
{
    memset(lattice, 0, sizeof *lattice);
    lattice->length = length;
    lattice->index = prv_allocate(length, sizeof *lattice->index);
    lattice->loss = prv_allocate(2 * length, sizeof *lattice->loss);
    lattice->mass = lattice->loss != NULL ? lattice->loss + length : NULL;
    if (lattice->index != NULL && lattice->loss != NULL) return PRV_OK;
    prv_lattice_free(lattice);
    return PRV_ERR_MEMORY;
}

void prv_lattice_free(prv_lattice *lattice)
{
    prv_release(lattice->index);
    prv_release(lattice->loss);
    lattice->index = NULL;
    lattice->loss = lattice->mass = NULL;
}

/* Mass that is moved up to the least loss: so little of it makes no bound wider. */
#define MOST_BELOW_EDGE 1e-20

/* ---- Dominating --------------------------------------------------------------------------- */

enum { BLOCK = 256 }; /* mesh cells at a time, so that their sums stay in the cache */

/* excess[i], Q's mass less e^(x[i]) times P's in the cell from x[i] to x[i + 1], becomes the part of mass[i]
 * that goes to the upper end of that cell. */
PRV_VECTOR static void parts_above(const double *restrict x, const double *restrict mass, size_t length,
                                   double *restrict excess)
{
    for (size_t i = 0; i < length; i++) {
        const double part = excess[i] / -prv_vm_expm1(x[i] - x[i + 1]);
        const double some = part > 0.0 ? part : 0.0;
        excess[i] = some < mass[i] ? some : mass[i];
    }
}

double prv_rounding_of_points(const prv_cells *cells, const prv_mesh *mesh)
{
    const double *x = cells->knots;
    const double reach = fabs(x[0]) > fabs(x[cells->length - 1]) ? fabs(x[0]) : fabs(x[cells->length - 1]);
    return 2.0 * PRV_UNIT * (fabs(mesh->offset) + reach);
}

void prv_lattice_dominating(const prv_cells *cells, const prv_mesh *mesh, prv_lattice *lattice)
{
    const double *x = cells->knots, *m = cells->mass, *e = cells->excess;
    double *out = lattice->mass;
    lattice->offset = mesh->offset;
    lattice->spacing = mesh->spacing;
    lattice->length = mesh->length;
    memcpy(lattice->index, mesh->index, mesh->length * sizeof *mesh->index);

    for (size_t k = 0; k < mesh->length; k++) lattice->loss[k] = x[mesh->knot[k]];
    double at_knot = m[0]; /* all mass below the first knot moves up to it */
    for (size_t i = 1; i <= mesh->knot[0]; i++) at_knot += m[i];
    size_t most_cells = 1;
    double narrowest = HUGE_VAL;
    for (size_t k = 1; k < mesh->length; k++) {
        const double width = lattice->loss[k] - lattice->loss[k - 1];
        narrowest = width < narrowest ? width : narrowest;
    }
    for (size_t start = 0; start + 1 < mesh->length; start += BLOCK) {
        const size_t left = mesh->length - 1 - start, n = left < BLOCK ? left : BLOCK;
        double mass[BLOCK], above[BLOCK]; /* of mesh cells */
        for (size_t k = 0; k < n; k++) {
            const size_t low = mesh->knot[start + k], high = mesh->knot[start + k + 1];
            mass[k] = m[low + 1];
            above[k] = e[low + 1];
            if (high - low > most_cells) most_cells = high - low;
            /* With d = x[low] - x[i - 1] <= 0, a cell's excess relative to the lowest knot is m - r e^d =
             * e e^d - m (e^d - 1): a sum of positive terms. */
            for (size_t i = low + 2; i <= high; i++) {
                const double down = prv_vm_expm1(x[low] - x[i - 1]);
                mass[k] += m[i];
                above[k] += e[i] + (e[i] - m[i]) * down;
            }
        }
        parts_above(lattice->loss + start, mass, n, above);
        for (size_t k = 0; k < n; k++) {
            out[start + k] = at_knot + (mass[k] - above[k]);
            at_knot = above[k];
        }
    }
    out[mesh->length - 1] = at_knot;
    /* The mesh ends where the mass above costs nothing. At infinity that mass stays out of the moments, which
     * a tilt would make huge; and so it does as a top. */
    const double above = mesh->keeps_top ? 0.0 : m[cells->length];
    lattice->infinite_mass = cells->infinite_mass + above;
    lattice->infinite_error = cells->infinite_error + PRV_UNIT * lattice->infinite_mass +
                              prv_cells_rounding(cells).relative * above;
    /* The part of a mesh cell that goes up has 6 roundings of each of its cells' terms, an addition each, and
     * 5 of the division. A lattice mass is a sum of two parts, of which the difference m - b is rounded by u
     * m at most. One more unit is for masses below all normal doubles: reading.c. */
    lattice->rounding = prv_cells_rounding(cells);
    const size_t cells_below = mesh->knot[0] + 1;
    lattice->rounding.relative += (17.0 + (double)(most_cells > cells_below ? most_cells : cells_below)) *
                                  PRV_UNIT;
    lattice->rounding.shift += prv_rounding_of_points(cells, mesh);
    /* Rounding leaves mass below the edge of a support. Moved up, it dominates, and no sum of losses is below
     * the least one. */
    if (mesh->clears_bottom && mesh->length > 1 && out[0] < MOST_BELOW_EDGE) {
        out[1] += out[0];
        out[0] = 0.0;
    }
    if (mesh->keeps_top) prv_lattice_keep_top(cells, PRV_DOMINATING, lattice);
    if (narrowest < cells->least_width) lattice->rounding.relative = lattice->rounding.shift = HUGE_VAL;
}

/* Rounding of the tails may hide a rare loss behind what lies just above the last knot, as in any cell: the
 * excess grows by 6 a of the mass. */
double prv_raised_top(const prv_cells *cells)
{
    const size_t n = cells->length;
    return fmax(cells->relative[n] - 6.0 * cells->tail_error * cells->mass[n], 0.0);
}

/* What P's part of the top is off by, as the losses of atoms are (JUMPS.md, section 6). */
static double top_error(const prv_cells *cells)
{
    const size_t n = cells->length;
    const double error = 4.0 * cells->loss_error, knot = fabs(cells->knots[n - 1]);
    if (!(error > 0.0 && cells->mass[n] > 0.0)) return 0.0;
    return error * (1.0 + knot) < 1.0 ? error * (cells->mass[n] + knot * cells->relative[n]) + DBL_MIN
                                      : HUGE_VAL;
}

void prv_lattice_keep_top(const prv_cells *cells, prv_side side, prv_lattice *lattice)
{
    const size_t n = cells->length;
    const double error = top_error(cells);
    const bool is_known = side == PRV_DOMINATING || isfinite(error);
    lattice->top_mass = is_known ? cells->mass[n] : 0.0;
    if (side == PRV_DOMINATING)
        lattice->top_relative = fmax(prv_raised_top(cells) - error, 0.0);
    else
        lattice->top_relative = is_known ? cells->relative[n] + error : 0.0;
    lattice->top_knot = cells->knots[cells->length - 1];
    const prv_rounding tails = prv_cells_rounding(cells);
    lattice->rounding.relative += tails.relative;
    lattice->rounding.shift += tails.shift;
}

void prv_split_cells(const prv_cells *cells, double *mass)
{
    const double *m = cells->mass;
    const size_t n = cells->length - 1; /* inner cells */
    mass[0] = 0.0;
    memcpy(mass + 1, cells->excess + 1, n * sizeof *mass);
    parts_above(cells->knots, m + 1, n, mass + 1);
    for (size_t i = 0; i < n; i++) mass[i] += m[i + 1] - mass[i + 1];
}
