#include "lattices/part_laws.h"

#include <math.h>

#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "lattices/profile.h"
#include "lattices/ratio_discretize.h"
#include "lattices/ratio_list.h"

/* Losses of parts beyond this (nats) are cut: laws that need them are not told apart from infinite losses. */
#define FARTHEST_LOSS 500.0

/* Points of the lattice of one part at most: many more are refused where laws are combined (ratio_powers.c).
 */
#define MOST_POINTS (16.0 * 60000.0)

prv_ratio_side prv_request_side(const prv_law_request *b, int side)
{
    return (prv_ratio_side){b->add, (prv_side)side, b->cut, b->low_cut, b->zero_cut, b->options};
}

prv_status prv_part_find_range(const prv_mechanism *m, const prv_law_request *b, prv_part_range *s)
{
    prv_profile p;
    const prv_status status = prv_profile_new(m, b->add, 1, &p);
    if (status != PRV_OK) return status;
    /* The mass of either measure: Q's of a cell, and P's. */
    double high = 0.0, low = 0.0;
    size_t first = 0, end = p.length;
    while (end > first + 1 && high + p.mass[end - 1] <= b->cut) high += p.mass[--end];
    while (first + 1 < end) {
        const double special = b->add ? p.mass[first] * exp(-p.center[first]) : p.mass[first];
        if (low + special > b->low_cut) break;
        low += special;
        first++;
    }
    double mass = 0.0, mean = 0.0, square = 0.0;
    for (size_t i = first; i < end; i++) {
        const double null = b->add ? p.mass[i] : p.mass[i] * exp(-p.center[i]),
                     x = p.center[i] - p.center[first];
        mass += null;
        mean += null * x;
        square += null * x * x;
    }
    mean /= mass;
    *s = (prv_part_range){fmin(p.low[first], p.center[first]), fmax(p.high[end - 1], p.center[end - 1]),
                          fmax(square / mass - mean * mean, 0.0)};
    prv_profile_free(&p);
    return PRV_OK;
}

double prv_fit_period(double period, double spacing)
{
    return period > 0.0 ? period / ceil(period / spacing * (1.0 - 1e-9)) : spacing;
}

prv_status prv_part_laws_on_lattice(const prv_mechanism *m, const prv_law_request *b,
                                    const prv_part_range *range, double spacing, bool means, prv_law_pair *e)
{
    const prv_features f = prv_mechanism_features(m, b->add);
    /* All may lie beyond the farthest loss. */
    const double least = fmin(fmax(range->low, -FARTHEST_LOSS), FARTHEST_LOSS),
                 most = fmax(fmin(range->high, FARTHEST_LOSS), -FARTHEST_LOSS);
    const double low = floor((least - f.anchor) / spacing) - 1.0;
    const double high = ceil((most - f.anchor) / spacing) + 1.0;
    if (!(high > low && high - low < MOST_POINTS && fabs(low) < 0x1p52 && fabs(high) < 0x1p52))
        return PRV_ERR_ENGINE;
    const double period = f.period > 0.0 ? nearbyint(f.period / spacing) : 0.0;
    const prv_ratio_side s = prv_request_side(b, PRV_DOMINATING);
    prv_status status = prv_ratio_check_memory(&s, 16.0 * (high - low));
    if (status != PRV_OK) return status;
    const prv_ratio_points points = {
        f.anchor, spacing, (int64_t)low, (int64_t)high, (int64_t)fmin(period, 0x1p52), f.anchor_is_atom};
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side of_side = prv_request_side(b, side);
        status = side == PRV_DOMINATED && means ? prv_ratio_cell_means(m, &of_side, &points, &e->law[side])
                                                : prv_ratio_discretize(m, &of_side, &points, &e->law[side]);
    }
    return status;
}

/* Masses and losses are off by what prv_cells_compute says of them. */
prv_status prv_part_laws_as_lists(const prv_mechanism *m, const prv_law_request *b, prv_law_pair *e)
{
    const prv_atoms *a = m->atoms[b->add];
    const double reach = a->length > 0 ? fmax(fabs(a->loss[0]), fabs(a->loss[a->length - 1])) : 0.0;
    const double masses = a->unbounded ? 4.0 * 740.0 : 0.0;
    const double error = PRV_UNIT * (32.0 + 8.0 * reach + masses) + 2.0 * a->loss_error * reach +
                         2.0 * m->density_error;
    prv_status status = error < 0.25 ? PRV_OK : PRV_ERR_PRECISION;
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = prv_request_side(b, side);
        status = prv_ratio_list_of(a, error, &s, &e->law[side]);
    }
    return status;
}
