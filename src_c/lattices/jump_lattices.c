#include "lattices/jump_lattices.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "lattices/dominated.h"

prv_status prv_jump_mesh_new(size_t bulk_length, size_t jump_length, prv_jump_mesh *mesh)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->bulk_length = bulk_length;
    mesh->jump_length = jump_length;
    mesh->bulk_index = prv_allocate(bulk_length + jump_length, sizeof *mesh->bulk_index);
    if (mesh->bulk_index == NULL) return PRV_ERR_MEMORY;
    mesh->jump_index = mesh->bulk_index + bulk_length;
    return PRV_OK;
}

void prv_jump_mesh_free(prv_jump_mesh *mesh)
{
    prv_release(mesh->bulk_index);
    mesh->bulk_index = mesh->jump_index = NULL;
}

double prv_jump_mesh_cut(const prv_jump_mesh *m)
{
    return m->bulk_spacing * (double)m->bulk_index[m->bulk_length - 1];
}

double prv_jump_mesh_top(const prv_jump_mesh *m)
{
    if (m->jump_length == 0) return prv_jump_mesh_cut(m);
    return m->carried + m->jump_spacing * (double)m->jump_index[m->jump_length - 1];
}

/* Of the cell below knot i > 0 of jumps. */
static int64_t middle(const prv_jump_mesh *m, size_t i)
{
    return (m->jump_index[i - 1] + m->jump_index[i]) / 2;
}

/* Jumps have two cells between their knots, so that outcomes are merged from either side of a middle. */
static void set_knots(const prv_jump_mesh *m, double *x)
{
    for (size_t i = 0; i < m->bulk_length; i++) x[i] = m->least + m->bulk_spacing * (double)m->bulk_index[i];
    const double offset = m->least + m->carried;
    x += m->bulk_length;
    for (size_t i = 1; i < m->jump_length; i++) {
        if (!m->on_knots) *x++ = offset + m->jump_spacing * (double)middle(m, i);
        *x++ = offset + m->jump_spacing * (double)m->jump_index[i];
    }
}

/* Cells between neighbouring knots of jumps. */
static size_t cells_apart(const prv_jump_mesh *m)
{
    return m->on_knots ? 1 : 2;
}

static size_t count_knots(const prv_jump_mesh *m)
{
    return m->bulk_length + (m->jump_length > 0 ? cells_apart(m) * (m->jump_length - 1) : 0);
}

/* The cells from knot `first` to knot `first + length - 1`, as cells of their own; what lies outside is not
 * theirs. */
static prv_cells part_of(const prv_cells *cells, size_t first, size_t length)
{
    prv_cells part = *cells;
    part.length = length;
    part.knots += first;
    part.mass += first;
    part.relative += first;
    part.excess += first;
    return part;
}

/* `length` points of a lattice, whose knots are `apart` cells from each other. */
static prv_status new_mesh(size_t length, double offset, double spacing, double tilt, size_t apart,
                           prv_mesh *mesh)
{
    const prv_status status = prv_mesh_new(length, mesh);
    if (status != PRV_OK) return status;
    mesh->offset = offset;
    mesh->spacing = spacing;
    mesh->tilt = tilt;
    for (size_t i = 0; i < length; i++) mesh->knot[i] = apart * i;
    return PRV_OK;
}

/* The place of cell i > 0 merged into one atom, above the knot below it. */
static double merged_place(const prv_cells *cells, size_t i)
{
    const double mass = cells->mass[i], relative = cells->relative[i];
    return mass > 0.0 && relative > 0.0 ? fmax(log(mass / relative), 0.0) : 0.0;
}

/* The dominated lattice has a point where the first cell, which often has most of all mass, merges into one
 * atom, one near the place of each other cell, and the last knot. Any points are sound. */
static void set_targets(const prv_jump_mesh *m, const prv_cells *cells, prv_mesh *mesh)
{
    const double above = merged_place(cells, 1), part = above / m->bulk_spacing;
    mesh->offset = m->least + above;
    mesh->on_knots = true;
    mesh->index[0] = 0;
    for (size_t i = 1; i + 1 < m->bulk_length; i++) {
        const int64_t last = m->bulk_index[i + 1] - m->bulk_index[i] - 1;
        const double place = merged_place(cells, i + 1) / m->bulk_spacing - part;
        mesh->index[i] = m->bulk_index[i];
        if (last > 0)
            mesh->index[i] += place < 0.5 ? 0 : place < (double)last ? (int64_t)(place + 0.5) : last;
    }
}

static prv_status enclose_bulk(const prv_jump_mesh *m, const prv_cells *cells, double *scratch,
                               prv_jump_lattices *l)
{
    prv_mesh mesh;
    const prv_cells part = part_of(cells, 0, m->bulk_length);
    prv_status status = new_mesh(m->bulk_length, m->least, m->bulk_spacing, m->tilt, 1, &mesh);
    if (status == PRV_OK) status = prv_lattice_new(mesh.length, &l->dominating.bulk);
    if (status == PRV_OK) status = prv_lattice_new(mesh.length, &l->dominated.bulk);
    if (status != PRV_OK) goto done;
    memcpy(mesh.index, m->bulk_index, m->bulk_length * sizeof *mesh.index);
    prv_lattice_dominating(&part, &mesh, &l->dominating.bulk);
    set_targets(m, &part, &mesh);
    prv_lattice_dominated(&part, &mesh, scratch, &l->dominated.bulk);
done:
    prv_mesh_free(&mesh);
    return status;
}

/* The dominating lattice has the ends of the cells, the dominated one their middles or, about atoms, the same
 * ends; and one more below. */
static prv_status enclose_jumps(const prv_jump_mesh *m, prv_cells *cells, double *scratch,
                                prv_jump_lattices *l)
{
    prv_mesh mesh;
    const size_t apart = cells_apart(m);
    prv_status status = new_mesh(m->jump_length, m->least + m->carried, m->jump_spacing, m->tilt, apart,
                                 &mesh);
    if (status == PRV_OK) status = prv_lattice_new(mesh.length, &l->dominating.jumps);
    if (status == PRV_OK) status = prv_lattice_new(mesh.length, &l->dominated.jumps);
    if (status != PRV_OK) goto done;
    /* The cell below the cut is the bulk's. */
    const size_t cut = m->bulk_length - 1;
    const double mass = cells->mass[cut];
    cells->mass[cut] = 0.0;
    const prv_cells part = part_of(cells, cut, apart * (m->jump_length - 1) + 1);
    memcpy(mesh.index, m->jump_index, m->jump_length * sizeof *mesh.index);
    prv_lattice_dominating(&part, &mesh, &l->dominating.jumps);
    cells->mass[cut] = mass;
    mesh.index[0] = 0;
    for (size_t i = 1; i < mesh.length && !m->on_knots; i++) mesh.index[i] = middle(m, i);
    mesh.on_knots = true;
    prv_lattice_dominated(&part, &mesh, scratch, &l->dominated.jumps);
done:
    prv_mesh_free(&mesh);
    return status;
}

static prv_rounding greater(prv_rounding a, prv_rounding b)
{
    return (prv_rounding){fmax(a.relative, b.relative), fmax(a.shift, b.shift)};
}

/* That of the lattices is relative to the cells below the top, whose contract has a = tail_error. With the
 * outcome above the top, P's part of which was clipped, a counts twice, and of atoms, which may lie far above
 * the top, the error of their losses comes on top (JUMPS.md, section 1). The knot at the cut is a point of
 * both lattices, to a few roundings of its place. */
static prv_rounding rounding_of(const prv_jump_mesh *m, const prv_cells *cells, const prv_atoms *atoms,
                                const prv_jump_lattices *l)
{
    prv_rounding r = greater(l->dominating.bulk.rounding, l->dominated.bulk.rounding);
    r = greater(r, greater(l->dominating.jumps.rounding, l->dominated.jumps.rounding));
    const prv_rounding tails = prv_cells_rounding(cells);
    r.relative += tails.relative;
    if (atoms != NULL) r.relative += 2.0 * atoms->loss_error;
    r.shift += tails.shift + 8.0 * PRV_UNIT * (fabs(m->least) + prv_jump_mesh_top(m));
    return r;
}

static bool is_wide_enough(const prv_cells *cells, double least_width)
{
    double narrowest = HUGE_VAL;
    for (size_t i = 1; i < cells->length; i++)
        narrowest = fmin(narrowest, cells->knots[i] - cells->knots[i - 1]);
    return narrowest >= least_width;
}

prv_status prv_jump_lattices_new(const prv_mechanism *mechanism, bool add, const prv_jump_mesh *m,
                                 const prv_options *options, prv_jump_lattices *l)
{
    memset(l, 0, sizeof *l);
    const prv_atoms *atoms = mechanism->base == PRV_BASE_ATOMS ? mechanism->atoms[add] : NULL;
    const size_t n = count_knots(m);
    double *scratch = prv_allocate(2 * n + 2, sizeof *scratch);
    prv_cells cells;
    prv_status status = prv_cells_new(n, &cells);
    if (status == PRV_OK && scratch == NULL) status = PRV_ERR_MEMORY;
    if (status != PRV_OK) goto done;
    cells.options = options;
    set_knots(m, cells.knots);
    status = is_wide_enough(&cells, atoms == NULL ? PRV_NARROWEST_CELL : 0.0)
                 ? prv_cells_compute(mechanism, add, PRV_DOMINATING, &cells)
                 : PRV_ERR_ENGINE;
    if (status != PRV_OK) goto done;
    if (!is_wide_enough(&cells, cells.least_width)) status = PRV_ERR_ENGINE; /* tails of large errors */
    if (status != PRV_OK) goto done;
    l->knots = n;
    status = enclose_bulk(m, &cells, scratch, l);
    if (status == PRV_OK && m->jump_length > 0) status = enclose_jumps(m, &cells, scratch, l);
    if (status != PRV_OK) goto done;
    l->dominating.top_mass = l->dominated.top_mass = cells.mass[n];
    l->dominating.top_relative = prv_raised_top(&cells);
    l->dominated.top_relative = cells.relative[n];
    l->rounding = rounding_of(m, &cells, atoms, l);
    if (!isfinite(l->rounding.relative)) status = PRV_ERR_ENGINE;
    /* The least loss, with which places are counted, is off by less than a step's shift (JUMPS.md, section
     * 1). */
    if (!(prv_greatest_loss_error(mechanism, !add) <= l->rounding.shift)) status = PRV_ERR_ENGINE;
done:
    prv_cells_free(&cells);
    prv_release(scratch);
    if (status != PRV_OK) prv_jump_lattices_free(l);
    return status;
}

static void free_lattice(prv_jump_lattice *l)
{
    prv_lattice_free(&l->bulk);
    prv_lattice_free(&l->jumps);
}

void prv_jump_lattices_free(prv_jump_lattices *l)
{
    free_lattice(&l->dominating);
    free_lattice(&l->dominated);
    memset(l, 0, sizeof *l);
}
