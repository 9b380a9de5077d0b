#include "lattices/profile.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "mechanisms/subsampled.h"
#include "lattices/lattice.h"
#include "lattices/mesh.h"

#define MOST_KNOTS 4096
#define FEW_ATOMS 8

/* Appends a knot if it lies clearly above the last one. */
static void append(double *knots, size_t *length, double x)
{
    if (!isfinite(x) || *length >= MOST_KNOTS) return;
    if (*length > 0) {
        const double last = knots[*length - 1];
        const double size = x > -last ? x : -last; /* max(|x|, |last|) where x > last */
        if (!(x - last > 1e-13 * size + 1e-290)) return;
    }
    knots[(*length)++] = x;
}

/* prv_subsampled_loss, to be used for knots: they may be anywhere. */
PRV_VECTOR static void subsample_losses(double p, size_t length, double *x)
{
    const double log_p = log(p);
    for (size_t i = 0; i < length; i++) {
        const double y = x[i], low = y > -64.0 ? y : -64.0;
        const double near = prv_vm_log1p_near(p * prv_vm_expm1_near(low < 700.0 ? low : 700.0));
        x[i] = y > 700.0 ? y + log_p : near;
    }
}

/* Knots at even steps of the noise: that is where the law is smooth, whatever the loss makes of it. */
static void gaussian_knots(const prv_mechanism *m, bool add, double fineness, double *knots, size_t *length)
{
    const double p = m->sampling_probability, mu = m->mu;
    const bool backward = add && p < 1.0;
    /* In standard deviations from P's mean; under Q (or its mixture part) the mean is mu. Upper tails of
     * the loss reach to the underflow of the tails, lower ones to where no tilt brings them back: of large mu
     * one by -1/2 centres on mu / 2 (gaussian_complement.c). */
    const double low = backward ? -39.0 : (p < 1.0 ? -12.0 : fmin(mu - 12.0, 0.5 * mu - 6.0));
    const double high = backward ? 12.0 : mu + 39.0;
    double step = fmin(0.25, fmax(0.6 / mu, 0.05)) / fineness;
    if ((high - low) / step > MOST_KNOTS - 8) step = (high - low) / (MOST_KNOTS - 8);
    const size_t steps = prv_size_of((high - low) / step) + 1;
    for (size_t i = 0; i <= steps; i++) {
        const double z = backward ? high - step * (double)i : low + step * (double)i;
        knots[i] = mu * (z - 0.5 * mu);
    }
    if (p < 1.0) subsample_losses(p, steps + 1, knots);
    for (size_t i = 0; i <= steps; i++) append(knots, length, backward ? -knots[i] : knots[i]);
}

/* The same for a mixture: what matters lies about the centres of the loss's own law, Q's or for 'add' P's. */
static void mixture_knots(const prv_mechanism *m, bool add, double fineness, double *knots, size_t *length)
{
    const prv_gaussian_mixture *mixture = m->mixture;
    const bool backward = add && !mixture->mirrored;
    const double low = backward ? -39.0 : mixture->q.center[0] - 12.0;
    const double high = backward ? 12.0 : mixture->q.reach + 39.0;
    double step = fmin(0.25, fmax(0.6 / mixture->q.reach, 0.05)) / fineness;
    if ((high - low) / step > MOST_KNOTS - 8) step = (high - low) / (MOST_KNOTS - 8);
    const size_t steps = prv_size_of((high - low) / step) + 1;
    for (size_t i = 0; i <= steps; i++) {
        const double z = backward ? high - step * (double)i : low + step * (double)i;
        const double loss = prv_gaussian_mixture_loss(mixture, z);
        append(knots, length, backward ? -loss : loss);
    }
}

static void laplace_knots(const prv_mechanism *m, bool add, double fineness, double *knots, size_t *length)
{
    const double p = m->sampling_probability, mu = m->mu;
    const double steps = fmin(fmax(ceil(8.0 * mu), 64.0) * fineness, MOST_KNOTS / 2);
    for (double i = 0.0; i <= steps; i += 1.0) {
        const double y = mu * (2.0 * i / steps - 1.0);
        append(knots, length, add && p < 1.0 ? -prv_subsampled_loss(-y, p) : prv_subsampled_loss(y, p));
    }
}

/* Knots of a folded pair: those of 'remove' above 0, their mirror images, and 0 itself. */
static prv_status folded_knots(const prv_mechanism *m, double fineness, double *knots, size_t *length)
{
    double *half = prv_allocate(MOST_KNOTS, sizeof *half);
    if (half == NULL) return PRV_ERR_MEMORY;
    size_t n = 0, first = 0;
    if (m->base == PRV_BASE_GAUSSIAN)
        gaussian_knots(m, 0, fineness, half, &n);
    else
        laplace_knots(m, 0, fineness, half, &n);
    while (first < n && half[first] <= 0.0) first++;
    const size_t stride = (n - first) / (MOST_KNOTS / 2 - 1) + 1, count = (n - first + stride - 1) / stride;
    for (size_t k = 0; k < count; k++) append(knots, length, -half[n - 1 - k * stride]);
    append(knots, length, 0.0);
    for (size_t k = count; k-- > 0;) append(knots, length, half[n - 1 - k * stride]);
    prv_release(half);
    return PRV_OK;
}

/* Between the atoms, near enough below each for e^-loss; runs of more than MOST_KNOTS / 2 atoms share cells.
 * Few atoms have knots of their own, too: an atom at the upper end of its cell stays where it is in the
 * dominating lattice. */
static void atom_knots(const prv_atoms *a, double *knots, size_t *length)
{
    const size_t stride = a->length / (MOST_KNOTS / 2) + 1;
    for (size_t i = 0; i + 1 < a->length; i += stride) {
        if (a->length <= FEW_ATOMS) append(knots, length, a->loss[i]);
        const double next = a->loss[i + 1], halfway = a->loss[i] + 0.5 * (next - a->loss[i]);
        append(knots, length, fmax(halfway, next - PRV_WIDEST_CELL));
    }
    if (a->length > 0) append(knots, length, a->loss[a->length - 1]);
    if (*length == 0) append(knots, length, 0.0);
}

/* Splits the cells that hold much mass, and says whether there are any; `scratch` has room for MOST_KNOTS. */
static bool split_heavy(const prv_cells *cells, double fineness, double *scratch, double *knots,
                        size_t *length)
{
    size_t n = 0;
    append(scratch, &n, knots[0]);
    for (size_t i = 1; i < *length; i++) {
        const double low = knots[i - 1], high = knots[i];
        const double parts = fmin(ceil(cells->mass[i] * fineness / 0.02), 16.0);
        for (double j = 1.0; j < parts && *length < MOST_KNOTS / 2; j += 1.0)
            append(scratch, &n, low + (high - low) * j / parts);
        append(scratch, &n, high);
    }
    const bool grew = n > *length;
    memcpy(knots, scratch, n * sizeof *knots);
    *length = n;
    return grew;
}

/* A callback's law may have any scale: knots at all scales come first, then cells with much mass are split.
 */
static prv_status callback_knots(const prv_mechanism *m, bool add, double fineness, double *knots,
                                 size_t *length)
{
    for (int i = 26; i >= -80; i--) append(knots, length, -exp2(0.5 * (double)i));
    append(knots, length, 0.0);
    for (int i = -80; i <= 26; i++) append(knots, length, exp2(0.5 * (double)i));

    double *scratch = prv_allocate(MOST_KNOTS, sizeof *scratch);
    if (scratch == NULL) return PRV_ERR_MEMORY;
    prv_status status = PRV_OK;
    bool grew = true;
    for (int round = 0; round < 6 && grew; round++) {
        prv_cells cells;
        status = prv_cells_new(*length, &cells);
        if (status != PRV_OK) goto done;
        memcpy(cells.knots, knots, *length * sizeof *knots);
        status = prv_cells_compute(m, add, PRV_DOMINATING, &cells);
        if (status == PRV_OK) grew = split_heavy(&cells, fineness, scratch, knots, length);
        prv_cells_free(&cells);
        if (status != PRV_OK) goto done;
    }
done:
    prv_release(scratch);
    return status;
}

PRV_VECTOR static void log_ratios(const double *restrict mass, const double *restrict relative, size_t length,
                                  double *restrict ratio)
{
    for (size_t i = 0; i < length; i++) ratio[i] = prv_vm_log(mass[i] / relative[i]);
}

/* The knots of the coarse lattice: from the last one down, those that are as far apart as cells.h asks of
 * knots. `index` and `knot` have room for all; the mesh takes the end of them. */
static void coarse_mesh(const prv_cells *cells, int64_t *index, size_t *knot, prv_mesh *mesh)
{
    const double *x = cells->knots;
    size_t first = cells->length;
    for (size_t i = cells->length; i-- > 0;) {
        if (first < cells->length && x[knot[first]] - x[i] < cells->least_width) continue;
        first--;
        knot[first] = i;
        index[first] = (int64_t)i; /* of no meaning here: the lattice's losses are the knots */
    }
    *mesh = (prv_mesh){.length = cells->length - first, .index = index + first, .knot = knot + first};
}

static prv_status coarse_lattice(const prv_cells *cells, prv_profile *profile)
{
    const size_t n = cells->length;
    prv_lattice lattice;
    prv_mesh own, mesh;
    prv_status status = prv_lattice_new(n, &lattice);
    if (status != PRV_OK) return status;
    status = prv_mesh_new(n, &own);
    if (status != PRV_OK) goto done;
    coarse_mesh(cells, own.index, own.knot, &mesh);
    prv_lattice_dominating(cells, &mesh, &lattice);
    profile->knot_count = mesh.length;
    memcpy(profile->knots, lattice.loss, mesh.length * sizeof *lattice.loss);
    memcpy(profile->dominating, lattice.mass, mesh.length * sizeof *lattice.mass);
    /* The cell above the last knot is split between that knot and infinity, with 3 a of its mass more for
     * infinity, as of cells that hold most of what is above their lower knot. */
    const double top = cells->mass[n];
    const double beyond = fmin((top - cells->relative[n]) + 3.0 * cells->tail_error * top, top);
    profile->dominating[mesh.length - 1] += top - beyond;
    profile->dominating_infinite = cells->infinite_mass + beyond;
    profile->infinite_error = lattice.infinite_error;
    profile->rounding = lattice.rounding;
    prv_mesh_free(&own);
done:
    prv_lattice_free(&lattice);
    return status;
}

/* Merged cells and the coarse dominating lattice. */
static prv_status fill(prv_profile *profile, const prv_cells *cells)
{
    const size_t n = cells->length;
    const double *x = cells->knots;
    profile->block = prv_allocate(7 * n + 6, sizeof(double));
    if (profile->block == NULL) return PRV_ERR_MEMORY;
    profile->low = profile->block;
    profile->high = profile->low + n + 1;
    profile->center = profile->high + n + 1;
    profile->mass = profile->center + n + 1;
    profile->tail = profile->mass + n + 1;
    profile->knots = profile->tail + n + 1;
    profile->dominating = profile->knots + n;
    profile->infinite_mass = cells->infinite_mass;
    profile->tail_error = cells->tail_error;
    const prv_status status = coarse_lattice(cells, profile);
    if (status != PRV_OK) {
        prv_profile_free(profile);
        return status;
    }

    log_ratios(cells->mass, cells->relative, n + 1, profile->center);
    size_t k = 0;
    for (size_t i = 0; i <= n; i++) {
        const double mass = cells->mass[i];
        if (!(mass > 0.0)) continue;
        const double anchor = x[i > 0 ? i - 1 : 0];
        double center = cells->relative[i] > 0.0 ? anchor + profile->center[i] : anchor;
        /* The cell below all knots, where losses are so large that P's mass times e^x overflows; that mass is
         * 1 at most. */
        if (!isfinite(center)) center = log(mass);
        profile->center[k] = center;
        profile->low[k] = i > 0 ? x[i - 1] : center;
        profile->high[k] = i < n ? x[i] : center;
        profile->mass[k++] = mass;
    }
    if (k == 0) { /* all mass is at infinity: plans look at a place that has next to none */
        profile->center[0] = profile->low[0] = profile->high[0] = n > 0 ? x[0] : 0.0;
        profile->mass[k++] = DBL_MIN;
    }
    profile->length = k;
    double tail = 0.0;
    for (size_t i = k; i-- > 0;) {
        tail += profile->mass[i];
        profile->tail[i] = tail;
    }
    return PRV_OK;
}

/* Places the knots of a profile; `knots` has room for MOST_KNOTS. */
static prv_status place_knots(const prv_mechanism *m, bool add, double fineness, double *knots,
                              size_t *length);

/* Those of both parts, in order. */
static prv_status choice_knots(const prv_mechanism *m, bool add, double fineness, double *knots,
                               size_t *length)
{
    double *of = prv_allocate(2 * MOST_KNOTS, sizeof *of);
    if (of == NULL) return PRV_ERR_MEMORY;
    size_t count[2] = {0, 0};
    prv_status status = place_knots(m->part[0], add, fineness, of, &count[0]);
    if (status != PRV_OK) goto done;
    status = place_knots(m->part[1], add, fineness, of + MOST_KNOTS, &count[1]);
    if (status != PRV_OK) goto done;
    /* If there are too many, every other one is left out, from the last one down: upper tails matter most. */
    const size_t stride = (count[0] + count[1]) / (MOST_KNOTS - 2) + 1;
    for (size_t i = 0, j = 0; i < count[0] || j < count[1];) {
        const bool first = j >= count[1] || (i < count[0] && of[i] <= of[MOST_KNOTS + j]);
        const size_t left = first ? count[0] - i : count[1] - j;
        if (left % stride == 1 || stride == 1) append(knots, length, first ? of[i] : of[MOST_KNOTS + j]);
        if (first)
            i++;
        else
            j++;
    }
done:
    prv_release(of);
    return status;
}

static prv_status place_knots(const prv_mechanism *m, bool add, double fineness, double *knots,
                              size_t *length)
{
    if (m->base == PRV_BASE_CHOICE) return choice_knots(m, add, fineness, knots, length);
    if (m->folded) return folded_knots(m, fineness, knots, length);
    switch (m->base) {
    case PRV_BASE_GAUSSIAN: gaussian_knots(m, add, fineness, knots, length); return PRV_OK;
    case PRV_BASE_LAPLACE:
    case PRV_BASE_BOUNDED_RANGE: laplace_knots(m, add, fineness, knots, length); return PRV_OK;
    case PRV_BASE_MIXTURE: mixture_knots(m, add, fineness, knots, length); return PRV_OK;
    case PRV_BASE_ATOMS: atom_knots(m->atoms[add], knots, length); return PRV_OK;
    case PRV_BASE_ENCLOSED: atom_knots(m->enclosing[PRV_DOMINATING], knots, length); return PRV_OK;
    default: return callback_knots(m, add, fineness, knots, length);
    }
}

prv_status prv_profile_new(const prv_mechanism *m, bool add, size_t fineness, prv_profile *profile)
{
    memset(profile, 0, sizeof *profile);
    profile->fineness = fineness;
    double *knots = prv_allocate(MOST_KNOTS, sizeof *knots);
    if (knots == NULL) return PRV_ERR_MEMORY;
    size_t length = 0;
    prv_status status = place_knots(m, add, (double)fineness, knots, &length);
    prv_cells cells = {0};
    if (status != PRV_OK) goto done;
    status = prv_cells_new(length, &cells);
    if (status != PRV_OK) goto done;
    memcpy(cells.knots, knots, length * sizeof *knots);
    status = prv_cells_compute(m, add, PRV_DOMINATING, &cells);
    if (status != PRV_OK) goto done;
    status = fill(profile, &cells);
done:
    prv_cells_free(&cells);
    prv_release(knots);
    return status;
}

void prv_profile_free(prv_profile *profile)
{
    prv_release(profile->block);
    profile->block = NULL;
}
