#include "lattices/discretize_prv.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "lattices/conditional_mean.h"

/* Cells around the lattice points low, low + 1, ..., of `points` points, each as wide as the spacing. */
static prv_status cells_around(const prv_mechanism *m, bool add, double spacing, double low, size_t points,
                               const prv_options *options, prv_cells *cells)
{
    const prv_status status = prv_cells_new(points + 1, cells);
    if (status != PRV_OK) return status;
    cells->options = options;
    for (size_t i = 0; i <= points; i++) cells->knots[i] = (low + (double)i - 0.5) * spacing;
    return prv_cells_compute(m, add, PRV_DOMINATING, cells);
}

prv_status prv_discretize_prv(const prv_mechanism *m, bool add, double spacing, size_t n,
                              const prv_options *options, prv_lattice *lattice,
                              prv_discretization_error *error)
{
    const double farthest = (double)n;
    /* One more point on either side, for mass that rounding puts there. */
    const double low = fmax(-farthest, floor(prv_lowest_loss(m, add) / spacing) - 1.0);
    const double high = fmin(farthest, ceil(prv_greatest_loss(m, add) / spacing) + 1.0);
    if (!(low <= high)) return PRV_ERR_PRECISION;
    const size_t points = prv_size_of(high - low) + 1;
    prv_cells cells;
    prv_status status = cells_around(m, add, spacing, low, points, options, &cells);
    if (status != PRV_OK) goto done;

    size_t first = 1, last = points; /* cells with mass in them */
    while (first < last && cells.mass[first] == 0.0) first++;
    while (last > first && cells.mass[last] == 0.0) last--;
    long double total = 0.0L, moment = 0.0L;
    for (size_t i = last; i >= first; i--) {
        const long double q = (long double)cells.mass[i];
        total += q;
        moment += q * (long double)(low + (double)i - 1.0);
    }
    const double outside = cells.infinite_mass + cells.mass[0] + cells.mass[points + 1];
    if (!(total > 0.0L && outside < 1.0)) {
        status = PRV_ERR_PRECISION;
        goto done;
    }
    status = prv_lattice_new(last - first + 1, lattice);
    if (status != PRV_OK) goto done;
    const prv_mean mean = prv_conditional_mean(m, add, &cells, outside);
    const double finite = 1.0 - cells.infinite_mass;
    const long double scale = (long double)finite / total;
    lattice->offset = (double)(mean.value - moment / total * (long double)spacing);
    lattice->spacing = spacing;
    lattice->infinite_mass = cells.infinite_mass;
    for (size_t i = 0; i < lattice->length; i++) {
        const double at = low + (double)(first + i) - 1.0;
        lattice->index[i] = (int64_t)at;
        lattice->loss[i] = lattice->offset + spacing * at;
        lattice->mass[i] = (double)((long double)cells.mass[first + i] * scale);
    }
    error->cells = cells.tail_error;
    /* The sum of i * spacing * mass has the error of the masses; the offset is rounded. */
    error->mean = mean.error + cells.tail_error * fabs((double)mean.value) + cells.tail_error * spacing +
                  4.0 * PRV_UNIT * fabs(lattice->offset);
    error->cdfs = prv_absolute_cdf_error(m);
    error->knots = cells.length;
done:
    prv_cells_free(&cells);
    return status;
}
