#include "lattices/ratio_discretize.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "lattices/dominated.h"
#include "lattices/lattice.h"
#include "lattices/ratio_ends.h"

/* A knot just below an atom, as spacing.c puts it: the atom gets a cell of its own. */
static double knot_below(double x, double spacing)
{
    const double width = fmax(1e-7 * spacing, 2.0 * PRV_NARROWEST_CELL);
    return width <= 0x1p-6 * spacing && x - (x - width) > 8.0 * DBL_EPSILON * fabs(x) ? x - width : x;
}

/* The index of a point where the loss has an atom. */
static bool is_atom(const prv_ratio_points *p, int64_t index)
{
    return p->atoms && (index == 0 || (p->period > 0 && (index == p->period || index == -p->period)));
}

static prv_status cells_of(const prv_mechanism *m, const prv_ratio_side *s, const prv_ratio_points *p,
                           prv_mesh *mesh, prv_cells *cells)
{
    const size_t length = (size_t)(p->last - p->first) + 1;
    prv_status status = prv_mesh_new(length, mesh);
    if (status != PRV_OK) return status;
    status = prv_cells_new(length + 3, cells);
    if (status != PRV_OK) return status;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        const int64_t index = p->first + (int64_t)i;
        const double x = p->offset + p->spacing * (double)index;
        if (i > 0 && is_atom(p, index) && knot_below(x, p->spacing) < x)
            cells->knots[n++] = knot_below(x, p->spacing);
        mesh->index[i] = index;
        mesh->knot[i] = n;
        cells->knots[n++] = x;
    }
    cells->length = n;
    mesh->offset = p->offset;
    mesh->spacing = p->spacing;
    mesh->on_knots = true;
    mesh->tilt = 1.0;
    cells->options = s->options;
    return prv_cells_compute(m, s->add, s->side, cells);
}

/* From the law of the loss under Q. The curves of both are alike but for `rounding`, at every epsilon: that
 * is the inequality for all f that this law needs, with its whole mass 1 under the null measure. */
static prv_status law_of_lattice(const prv_lattice *y, const prv_ratio_side *s, prv_ratio_law *law)
{
    const bool dominates = s->side == PRV_DOMINATING;
    const size_t length = y->length;
    const double relative = y->rounding.relative;
    if (length == 0) return PRV_ERR_PRECISION; /* all cells hide what is in them */
    if (!(relative < 0.25 && y->rounding.shift < 0.25)) return PRV_ERR_PRECISION;
    prv_status status = prv_ratio_law_new((size_t)(y->index[length - 1] - y->index[0]) + 1, law);
    if (status != PRV_OK) return status;
    law->spacing = y->spacing;
    law->offset = s->add ? -y->offset : y->offset;
    law->first = s->add ? -y->index[length - 1] : y->index[0];
    const double factor = dominates ? 1.0 + relative : 1.0 / (1.0 + relative);
    for (size_t i = 0; i < length; i++) {
        const size_t at = (size_t)(s->add ? y->index[length - 1] - y->index[i] : y->index[i] - y->index[0]);
        const double loss = fabs(y->offset) + fabs(y->spacing * (double)y->index[i]);
        const double error = PRV_UNIT * (12.0 + 4.0 * loss);
        const double mass = (s->add ? y->mass[i] : y->mass[i] * exp(-prv_ratio_point(law, at))) * factor;
        law->null[at] = dominates ? mass * (1.0 + error) : mass * (1.0 - error);
        if (dominates && y->mass[i] > 0.0) law->null[at] += DBL_TRUE_MIN;
        if (!dominates && mass < 0x1p-960) law->null[at] = 0.0;
    }
    *(s->add ? &law->zero : &law->infinite) = fmax(
        prv_apart(y->infinite_mass, y->infinite_error, dominates ? 1 : -1), 0.0);
    law->shift = y->rounding.shift;
    status = prv_ratio_close(s, law);
    if (status != PRV_OK) prv_ratio_law_free(law);
    return status;
}

/* The pair C of the contract of cells (cells.h): one outcome for each inner cell, at its mean. */
static prv_status law_of_means(const prv_cells *cells, const prv_ratio_side *s, prv_ratio_law *law)
{
    const prv_rounding r = prv_cells_rounding(cells);
    if (!(r.relative < 0.25 && r.shift < 0.25)) return PRV_ERR_PRECISION;
    prv_status status = prv_ratio_law_new(cells->length, law);
    if (status != PRV_OK) return status;
    law->at = prv_allocate(cells->length, sizeof *law->at);
    if (law->at == NULL) {
        prv_ratio_law_free(law);
        return PRV_ERR_MEMORY;
    }
    size_t n = 0;
    double farthest = 0.0;
    for (size_t k = 1; k < cells->length; k++) {
        const size_t i = s->add ? cells->length - k : k;
        const double mass = cells->mass[i], relative = cells->relative[i], low = cells->knots[i - 1];
        if (!(mass > 0x1p-960 && relative > 0x1p-960)) continue;
        const double loss = low + log(mass / relative);
        const double null = s->add ? mass : relative * exp(-low);
        if (!(null > 0x1p-960)) continue;
        farthest = fmax(farthest, fabs(loss) + fabs(low));
        law->at[n] = s->add ? -loss : loss;
        law->null[n++] = null / (1.0 + r.relative) * (1.0 - PRV_UNIT * (12.0 + 4.0 * fabs(low)));
    }
    law->length = n;
    if (n == 0) {
        prv_ratio_law_free(law);
        return PRV_ERR_PRECISION;
    }
    const double infinite = fmax(prv_below(cells->infinite_mass - cells->infinite_error), 0.0);
    *(s->add ? &law->zero : &law->infinite) = infinite;
    /* The loss is a sum with a logarithm of a quotient. */
    law->shift = r.shift + PRV_UNIT * (16.0 + 4.0 * farthest);
    prv_ratio_cut_far_points(s, law);
    prv_ratio_complete(s, law);
    return PRV_OK;
}

prv_status prv_ratio_cell_means(const prv_mechanism *m, const prv_ratio_side *s,
                                const prv_ratio_points *points, prv_ratio_law *law)
{
    prv_mesh mesh = {0};
    prv_cells cells = {0};
    prv_status status = cells_of(m, s, points, &mesh, &cells);
    if (status == PRV_OK) status = law_of_means(&cells, s, law);
    prv_cells_free(&cells);
    prv_mesh_free(&mesh);
    return status;
}

prv_status prv_ratio_discretize(const prv_mechanism *m, const prv_ratio_side *s,
                                const prv_ratio_points *points, prv_ratio_law *law)
{
    prv_mesh mesh = {0};
    prv_cells cells = {0};
    prv_lattice lattice = {0};
    double *scratch = NULL;
    prv_status status = cells_of(m, s, points, &mesh, &cells);
    if (status != PRV_OK) goto done;
    status = prv_lattice_new(mesh.length, &lattice);
    if (status != PRV_OK) goto done;
    scratch = prv_allocate(cells.length + 1, sizeof *scratch);
    if (scratch == NULL) status = PRV_ERR_MEMORY;
    if (status != PRV_OK) goto done;
    if (s->side == PRV_DOMINATING)
        prv_lattice_dominating(&cells, &mesh, &lattice);
    else
        prv_lattice_dominated(&cells, &mesh, scratch, &lattice);
    status = law_of_lattice(&lattice, s, law);
done:
    prv_release(scratch);
    prv_lattice_free(&lattice);
    prv_cells_free(&cells);
    prv_mesh_free(&mesh);
    return status;
}
