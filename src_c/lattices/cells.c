#include "lattices/cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "numerics/wide.h"
#include "mechanisms/support.h"
#include "lattices/curve_cells.h"
#include "lattices/tail_cells.h"

prv_status prv_cells_new(size_t length, prv_cells *cells)
{
    memset(cells, 0, sizeof *cells);
    cells->length = length;
    cells->knots = prv_allocate(4 * length + 3, sizeof(double));
    if (cells->knots == NULL) return PRV_ERR_MEMORY;
    cells->mass = cells->knots + length;
    cells->relative = cells->mass + length + 1;
    cells->excess = cells->relative + length + 1;
    return PRV_OK;
}

void prv_cells_free(prv_cells *cells)
{
    prv_release(cells->knots);
    cells->knots = NULL;
}

/* ---- Folded cells: samples without replacement ------------------------------------------------ */

/* Cells of one direction with a knot at 0 and at `count` knots from `from` on, which are all of one sign. */
static prv_status cells_of_sign(const prv_mechanism *m, bool add, prv_side side, const double *from,
                                size_t count, prv_cells *cells)
{
    prv_mechanism direction = *m;
    direction.folded = false;
    prv_status status = prv_cells_new(count + 1, cells);
    if (status != PRV_OK) return status;
    cells->knots[add ? count : 0] = 0.0;
    memcpy(cells->knots + (add ? 0 : 1), from, count * sizeof *from);
    status = prv_cells_compute(&direction, add, side, cells);
    return status;
}

/* A wide sum has the error of its terms and one rounding, however many terms there are. */
static double sum_of(const double *values, size_t length)
{
    prv_wide sum = prv_wide_of(0.0);
    for (size_t i = length; i-- > 0;) sum = prv_wide_add(sum, prv_wide_of(values[i]));
    return prv_wide_value(sum);
}

/* The cells above 0 are those of 'remove', the cells below 0 those of 'add', and an atom at 0 has the rest of
 * the mass, equal under P and Q. */
static prv_status folded_cells(const prv_mechanism *m, prv_side side, prv_cells *cells)
{
    const double *x = cells->knots;
    const size_t length = cells->length;
    size_t below = 0;
    while (below < length && x[below] < 0.0) below++;
    const size_t zero = below < length && x[below] == 0.0 ? 1 : 0;
    prv_cells low = {0}, high = {0};
    prv_status status = cells_of_sign(m, true, side, x, below, &low);
    if (status != PRV_OK) goto done;
    status = cells_of_sign(m, false, side, x + below + zero, length - below - zero, &high);
    if (status != PRV_OK) goto done;
    const size_t above = length - below - zero; /* knots; high has one cell more above 0 */
    const double outside = sum_of(low.mass, below + 1) + sum_of(high.mass + 1, above + 1) +
                           high.infinite_mass;
    const double rest = fmax(1.0 - outside, 0.0);
    memcpy(cells->mass, low.mass, (below + 1) * sizeof *low.mass);
    memcpy(cells->relative, low.relative, (below + 1) * sizeof *low.relative);
    memcpy(cells->excess, low.excess, (below + 1) * sizeof *low.excess);
    /* The cell that 0 belongs to is anchored at the last knot below 0, or at the first knot of all. */
    const double lowest = below > 0 ? x[below - 1] : x[0], anchor = exp(lowest),
                 above_anchor = -expm1(lowest);
    if (below == 0) cells->relative[0] *= anchor;
    cells->mass[below] += rest;
    cells->relative[below] += rest * anchor;
    cells->excess[below] += rest * above_anchor;
    if (zero == 0) {
        cells->mass[below] += high.mass[1];
        cells->relative[below] += high.relative[1] * anchor;
        cells->excess[below] += high.excess[1] + high.relative[1] * above_anchor;
    }
    const size_t taken = zero == 0 ? 2 : 1, left = length - below;
    memcpy(cells->mass + below + 1, high.mass + taken, left * sizeof *high.mass);
    memcpy(cells->relative + below + 1, high.relative + taken, left * sizeof *high.relative);
    memcpy(cells->excess + below + 1, high.excess + taken, left * sizeof *high.excess);
    cells->infinite_mass = high.infinite_mass;
    /* Q's mass above 0 is at least P's, which is Q's mass below 0. So every tail below 0 has at least half of
     * `outside` in it, whose error is that of the parts. */
    cells->tail_error = 2.0 * fmax(low.tail_error, high.tail_error) + 8.0 * PRV_UNIT;
    cells->least_width = fmax(low.least_width, high.least_width);
    cells->loss_error = fmax(low.loss_error, high.loss_error);
done:
    prv_cells_free(&low);
    prv_cells_free(&high);
    return status;
}

/* ---- Cells of a choice ---------------------------------------------------------------------- */

static void add_weighted(const prv_cells *part, double weight, prv_cells *cells)
{
    for (size_t j = 0; j <= cells->length; j++) {
        cells->mass[j] += weight * part->mass[j];
        cells->relative[j] += weight * part->relative[j];
        cells->excess[j] += weight * part->excess[j];
    }
    cells->infinite_mass += weight * part->infinite_mass;
    cells->tail_error = fmax(cells->tail_error, part->tail_error);
    cells->least_width = fmax(cells->least_width, part->least_width);
    cells->loss_error = fmax(cells->loss_error, part->loss_error);
}

/* The masses of a choice are the weighted sums of the masses of its parts. */
static prv_status choice_cells(const prv_mechanism *m, bool add, prv_side side, prv_cells *cells)
{
    const size_t length = cells->length;
    memset(cells->mass, 0, (length + 1) * sizeof *cells->mass);
    memset(cells->relative, 0, (length + 1) * sizeof *cells->relative);
    memset(cells->excess, 0, (length + 1) * sizeof *cells->excess);
    cells->infinite_mass = cells->tail_error = cells->least_width = 0.0;
    for (int i = 0; i < 2; i++) {
        prv_cells part;
        prv_status status = prv_cells_new(length, &part);
        if (status != PRV_OK) return status;
        memcpy(part.knots, cells->knots, length * sizeof *part.knots);
        part.options = cells->options;
        status = prv_cells_compute(m->part[i], add, side, &part);
        if (status == PRV_OK) add_weighted(&part, m->part_weight[i], cells);
        prv_cells_free(&part);
        if (status != PRV_OK) return status;
    }
    cells->tail_error += m->part_weight_error + 4.0 * PRV_UNIT;
    return PRV_OK;
}

/* ---- Cells of discrete losses ------------------------------------------------------------- */

/* Atoms are summed in doubles, in so many lanes, this many at once; fewer than a vector's are one by one. */
enum { LANES = 8, BLOCK = 64 };
/* What that adds to a sum (roundings): of a lane, of all lanes, and of vectors' exponentials. */
#define BLOCK_ROUNDINGS ((double)BLOCK / LANES + LANES + 4.0)

/* Sums over the atoms of one cell. */
typedef struct cell_sums {
    prv_wide mass, relative, excess;
} cell_sums;

static void put_sums(const cell_sums *s, size_t cell, prv_cells *cells)
{
    cells->mass[cell] = prv_wide_value(s->mass);
    cells->relative[cell] = prv_wide_value(s->relative);
    cells->excess[cell] = prv_wide_value(s->excess);
}

/* Masses of Q, those times e^(below - loss), and times 1 - e^(below - loss), of losses above the knot
 * `below`; losses above `top` count as there. The excess is summed atom by atom: mass - relative of the sums
 * would hide an atom of little mass behind another one of much mass on the knot below. */
static void add_atoms(const double *loss, const double *q, size_t length, double below, double top,
                      cell_sums *s)
{
    for (size_t i = 0; i < length; i++) {
        const double down = below - prv_vm_min(loss[i], top);
        s->mass = prv_wide_add(s->mass, prv_wide_of(q[i]));
        s->relative = prv_wide_add(s->relative, prv_wide_of(q[i] * exp(down)));
        s->excess = prv_wide_add(s->excess, prv_wide_of(q[i] * -expm1(down)));
    }
}

/* The same of BLOCK atoms. */
PRV_VECTOR static void sum_block(const double *restrict loss, const double *restrict q, double below,
                                 double top, double sum[3])
{
    double mass[LANES] = {0.0}, relative[LANES] = {0.0}, excess[LANES] = {0.0};
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const double down = below - prv_vm_min(loss[i + k], top);
            mass[k] += q[i + k];
            relative[k] += q[i + k] * prv_vm_exp(down);
            excess[k] += q[i + k] * -prv_vm_expm1(down);
        }
    sum[0] = sum[1] = sum[2] = 0.0;
    for (size_t k = 0; k < LANES; k++) {
        sum[0] += mass[k];
        sum[1] += relative[k];
        sum[2] += excess[k];
    }
}

static void atom_cells(const prv_atoms *a, prv_cells *cells)
{
    const double *x = cells->knots;
    const size_t length = cells->length;
    const double reach = fmax(fabs(x[0]), fabs(x[length - 1]));
    /* A knot meant for an atom differs from it by the rounding of anchor + spacing * index and of the loss.
     * An atom that lies above a knot by no more than that counts as on the knot: an atom in the next mesh
     * cell would be moved up by the whole cell. */
    const double snap = (8.0 * PRV_UNIT + a->loss_error) * reach, lowest = exp(x[0]);
    size_t most_atoms = 0;
    memset(cells->mass, 0, (length + 1) * sizeof *cells->mass);
    memset(cells->relative, 0, (length + 1) * sizeof *cells->relative);
    memset(cells->excess, 0, (length + 1) * sizeof *cells->excess);
    const cell_sums none = {prv_wide_of(0.0), prv_wide_of(0.0), prv_wide_of(0.0)};
    cell_sums s = none;
    if (a->p_only > 0.0) s.relative = prv_wide_of(a->p_only * lowest);
    size_t i = 0;
    for (; i < a->length && !(a->loss[i] > x[0] + snap); i++) {
        s.mass = prv_wide_add(s.mass, prv_wide_of(a->q[i]));
        s.relative = prv_wide_add(s.relative, prv_wide_of(a->p[i] * lowest));
    }
    put_sums(&s, 0, cells);
    most_atoms = i;
    for (size_t cell = 1, end = i; i < a->length; i = end) {
        while (cell < length && a->loss[i] > x[cell] + snap) cell++;
        const double top = cell < length ? x[cell] : HUGE_VAL;
        while (end < a->length && !(a->loss[end] > top + snap)) end++;
        if (end - i > most_atoms) most_atoms = end - i;
        s = none;
        for (; end - i >= BLOCK; i += BLOCK) {
            double sum[3];
            sum_block(a->loss + i, a->q + i, x[cell - 1], top, sum);
            s.mass = prv_wide_add(s.mass, prv_wide_of(sum[0]));
            s.relative = prv_wide_add(s.relative, prv_wide_of(sum[1]));
            s.excess = prv_wide_add(s.excess, prv_wide_of(sum[2]));
        }
        add_atoms(a->loss + i, a->q + i, end - i, x[cell - 1], top, &s);
        put_sums(&s, cell, cells);
    }
    cells->infinite_mass = a->q_only;
    const double masses = a->unbounded ? PRV_CUT_OFF_ROUNDINGS : 0.0;
    const double blocks = most_atoms >= BLOCK ? BLOCK_ROUNDINGS : 0.0;
    cells->tail_error = PRV_UNIT * (32.0 + 8.0 * reach + masses + blocks) + 2.0 * a->loss_error * reach +
                        (double)most_atoms * PRV_WIDE_UNIT;
    cells->loss_error = a->loss_error + 8.0 * PRV_UNIT;
}

/* ---- Excess --------------------------------------------------------------------------------- */

/* decay[i] = e^(x[i] - x[i+1]), at least e^-700. */
PRV_VECTOR static void decays(const double *restrict x, size_t length, double *restrict decay)
{
    for (size_t i = 0; i < length; i++) decay[i] = prv_vm_exp_near(prv_vm_max(x[i] - x[i + 1], -700.0));
}

/* Negative excesses (-0.0 too) mark cells whose excess is rounded up by `outwards` of their mass; all become
 * >= 0. */
PRV_VECTOR static void round_outwards(double outwards, const double *restrict mass, size_t length,
                                      double *restrict excess)
{
    for (size_t i = 0; i < length; i++)
        excess[i] = signbit(excess[i]) ? outwards * mass[i] - excess[i] : excess[i];
}

/* Clips P's masses to the range that the ends of each cell allow, and forms the excesses. Clipping changes
 * sums that differences of tails keep: the change is measured, as a part of Q's tail. If a cell has more than
 * 1/12 of Q's mass above its upper knot, or is narrow, so much of its mass may lie just above a knot that the
 * rounding of the tails exceeds the excess of all cells above: its excess is raised by 3 a of its mass.
 * bounds.rst, "Cells", proves both. */
static void clip_and_form_excess(const prv_mechanism *m, prv_cells *cells)
{
    const size_t n = cells->length;
    const double *x = cells->knots, *mass = cells->mass;
    double *relative = cells->relative, *excess = cells->excess;
    decays(x, n - 1, excess + 1);
    relative[n] = prv_vm_min(relative[n], mass[n]);
    double tail = 0.0, raised = 0.0, lowered = 0.0, moved = 0.0;
    const double least_width = 64.0 * cells->tail_error;
    /* While all cells from the top down are clipped to the same end, sums of P's masses are sums of Q's times
     * a factor that falls from cell to cell, and so as close to the truth as Q's tails, even if P's own
     * masses underflow. */
    bool top_raised = true, top_lowered = true;
    for (size_t i = n - 1; i > 0; i--) {
        const double decay = excess[i], q = mass[i], low = q * decay, r = relative[i];
        const bool heavy = 12.0 * q > tail || x[i] - x[i - 1] < least_width;
        tail += q;
        raised *= decay;
        lowered *= decay;
        double clipped = r;
        if (r < low || r > q) {
            clipped = r < low ? low : q;
            if (!top_raised) raised += prv_vm_max(clipped - r, 0.0);
            if (!top_lowered) lowered += prv_vm_max(r - clipped, 0.0);
            moved = prv_vm_max(moved, prv_vm_max(raised, lowered) / prv_vm_max(tail, DBL_MIN));
            if (q > 0.0 && (top_raised || top_lowered)) moved = prv_vm_max(moved, cells->tail_error);
        }
        if (q > 0.0) {
            top_raised = top_raised && r < low;
            top_lowered = top_lowered && r > q;
        }
        relative[i] = clipped;
        excess[i] = heavy ? clipped - q : q - clipped;
        if (heavy && excess[i] == 0.0) excess[i] = -0.0;
    }
    /* The absolute errors of callbacks are counted elsewhere: prv_absolute_cdf_error. */
    if (m->base != PRV_BASE_CDFS) cells->tail_error += moved;
    round_outwards(3.0 * cells->tail_error, mass + 1, n - 1, excess + 1);
    cells->least_width = 64.0 * cells->tail_error;
}

/* e^(-loss) lies between its values at the ends of a cell, which rounding of P's masses must not leave. */
PRV_VECTOR static void clip_relative(const double *restrict x, const double *restrict mass, size_t length,
                                     double *restrict relative)
{
    for (size_t i = 0; i < length; i++) {
        const double low = mass[i] * prv_vm_exp_near(prv_vm_max(x[i] - x[i + 1], -700.0));
        relative[i] = prv_vm_min(prv_vm_max(relative[i], low), mass[i]);
    }
}

/* ---- The stage ---------------------------------------------------------------------------- */

prv_rounding prv_rounding_of_tails(double tail_error)
{
    return (prv_rounding){1.5 * tail_error, 2.5 * tail_error};
}

prv_rounding prv_cells_rounding(const prv_cells *cells)
{
    return prv_rounding_of_tails(cells->tail_error);
}

prv_status prv_cells_compute(const prv_mechanism *m, bool add, prv_side side, prv_cells *cells)
{
    if (m->base == PRV_BASE_COMBINED) return PRV_ERR_COMBINED; /* to be enclosed first */
    cells->loss_error = 0.0;
    /* The atoms that enclose a mechanism have all of their mass at infinity. */
    cells->infinite_error = m->base == PRV_BASE_ENCLOSED ? 0.0 : prv_infinite_mass_error(m, add);
    if (m->base == PRV_BASE_CHOICE) return choice_cells(m, add, side, cells);
    if (m->folded) return folded_cells(m, side, cells);
    /* Densities within a factor of 1 +- e, e <= 1/4, of the true ones give masses within that factor, and
     * losses within -log(1 - e) < 2 e. */
    const double densities = 2.0 * m->density_error;
    if (m->base == PRV_BASE_ATOMS || m->base == PRV_BASE_ENCLOSED) {
        atom_cells(m->base == PRV_BASE_ATOMS ? m->atoms[add] : m->enclosing[side], cells);
        cells->tail_error += densities;
        clip_relative(cells->knots, cells->mass + 1, cells->length - 1, cells->relative + 1);
        return PRV_OK;
    }
    const prv_status status = m->base == PRV_BASE_CURVE ? prv_curve_cells(m, add, side, cells)
                                                        : prv_tail_cells(m, add, side, cells);
    if (status != PRV_OK) return status;
    cells->tail_error += densities;
    clip_and_form_excess(m, cells);
    /* The contract of cells.h holds for small errors alone. Tails that are told may be those of no pair, or
     * their losses too large. */
    const bool proven = m->base != PRV_BASE_TAILS || cells->tail_error < 0x1p-10;
    return proven ? PRV_OK : PRV_ERR_CDF_PAIR;
}
