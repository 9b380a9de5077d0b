#include "lattices/enclosure.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/vector_math.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/support.h"
#include "lattices/dominated.h"
#include "lattices/tilt.h"

/* log M(lam) of the step from its cells: cells merged into one atom lie below it, cells split onto their
 * ends above, with second-order errors of ratio 1 : 2 and opposite sign. */
static double true_log_moment(const prv_cells *cells, double lam, double *loss, double *mass)
{
    const size_t n = cells->length;
    const double *x = cells->knots, *m = cells->mass, *r = cells->relative;
    prv_split_cells(cells, mass);
    const double above = prv_tilt(x, mass, n, lam, NULL).log_moment;
    size_t k = 0;
    for (size_t i = 1; i < n; i++) {
        if (!(m[i] > 0.0 && r[i] > 0.0)) continue;
        loss[k] = x[i - 1] - prv_vm_log(r[i] / m[i]);
        mass[k++] = m[i];
    }
    const double below = prv_tilt(loss, mass, k, lam, NULL).log_moment;
    return (2.0 * below + above) / 3.0;
}

static double log_moment_of(const prv_lattice *y, double lam)
{
    return prv_tilt(y->loss, y->mass, y->length, lam, NULL).log_moment;
}

/* The cells' masses, and the dominating lattice. */
static prv_status dominate(const prv_mechanism *m, bool add, const prv_mesh *mesh, prv_cells *cells,
                           const prv_options *options, prv_enclosure *e)
{
    cells->options = options;
    prv_status status = prv_lattice_new(mesh->length, &e->dominating);
    if (status == PRV_OK) status = prv_check_interrupt(options);
    if (status == PRV_OK) status = prv_cells_compute(m, add, PRV_DOMINATING, cells);
    if (status == PRV_OK) status = prv_check_interrupt(options);
    if (status != PRV_OK) return status;
    prv_lattice_dominating(cells, mesh, &e->dominating);
    e->knots = cells->length;
    e->absolute_error = prv_absolute_cdf_error(m);
    return PRV_OK;
}

prv_status prv_enclosure_new(const prv_mechanism *m, bool add, prv_mesh *mesh, prv_cells *cells,
                             double saddle, const prv_options *options, prv_enclosure *e)
{
    memset(e, 0, sizeof *e);
    /* for the dominated side */
    const bool other_cells = m->base == PRV_BASE_CURVE || m->base == PRV_BASE_CDFS ||
                             m->base == PRV_BASE_ENCLOSED;
    double *scratch = NULL;
    prv_status status = dominate(m, add, mesh, cells, options, e);
    if (status != PRV_OK) goto done;
    status = prv_lattice_new(mesh->length, &e->dominated);
    if (status != PRV_OK) goto done;
    status = PRV_ERR_MEMORY;
    scratch = prv_allocate(2 * cells->length + 2, sizeof *scratch);
    if (scratch == NULL) goto done;
    e->log_true = true_log_moment(cells, saddle, scratch, scratch + cells->length);
    status = other_cells ? prv_cells_compute(m, add, PRV_DOMINATED, cells) : PRV_OK;
    if (status != PRV_OK) goto done;
    prv_lattice_dominated(cells, mesh, scratch, &e->dominated);
    e->log_above = log_moment_of(&e->dominating, saddle);
    e->log_below = log_moment_of(&e->dominated, saddle);
done:
    prv_release(scratch);
    if (status != PRV_OK) prv_enclosure_free(e);
    return status;
}

prv_status prv_enclosure_above_new(const prv_mechanism *m, bool add, const prv_mesh *mesh, prv_cells *cells,
                                   const prv_options *options, prv_enclosure *e)
{
    memset(e, 0, sizeof *e);
    const prv_status status = dominate(m, add, mesh, cells, options, e);
    if (status != PRV_OK) prv_enclosure_free(e);
    return status;
}

void prv_enclosure_free(prv_enclosure *e)
{
    prv_lattice_free(&e->dominating);
    prv_lattice_free(&e->dominated);
    memset(e, 0, sizeof *e);
}

static void add_rounding(prv_rounding *sum, const prv_rounding *one, double count)
{
    sum->relative += count * one->relative;
    sum->shift += count * one->shift;
}

prv_rounding prv_enclosed_rounding(const prv_enclosed *sums)
{
    const prv_rounding r = {fmax(sums->above.relative, sums->below.relative),
                            fmax(sums->above.shift, sums->below.shift)};
    return r;
}

void prv_enclosed_add(prv_enclosed *sums, const prv_enclosure *e, double count)
{
    sums->knots += e->knots;
    add_rounding(&sums->above, &e->dominating.rounding, count);
    add_rounding(&sums->below, &e->dominated.rounding, count);
    sums->absolute_error += count * e->absolute_error;
    sums->log_true += count * e->log_true;
    sums->log_above += count * e->log_above;
    sums->log_below += count * e->log_below;
}

double prv_upper_weight(const prv_enclosed *sums)
{
    const double weight = (sums->log_true - sums->log_below) / (sums->log_above - sums->log_below);
    return weight >= 0.0 && weight <= 1.0 ? weight : 1.0 / 3.0;
}
