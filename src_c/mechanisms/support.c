#include "mechanisms/support.h"

#include <float.h>
#include <math.h>

#include "numerics/rounding.h"
#include "mechanisms/combined.h"
#include "mechanisms/subsampled.h"

bool prv_is_symmetric(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_COMBINED) return prv_combined_is_symmetric(m);
    if (m->base == PRV_BASE_ENCLOSED) return prv_is_symmetric(m->enclosed);
    if (m->base == PRV_BASE_ATOMS) return m->atoms[0] == m->atoms[1];
    if (m->base == PRV_BASE_MIXTURE) return m->mixture->mirrored;
    if (m->folded) return 1;
    if (m->base == PRV_BASE_CHOICE) return prv_is_symmetric(m->part[0]) && prv_is_symmetric(m->part[1]);
    if (prv_has_two_pairs(m)) return false;
    return m->sampling_probability == 1.0;
}

bool prv_has_two_pairs(const prv_mechanism *m)
{
    return m->base == PRV_BASE_TAILS && !m->tails_mirrored;
}

/* What is combined, of an enclosed mechanism too; else NULL. */
static const prv_mechanism *combined(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_ENCLOSED) return m->enclosed;
    return m->base == PRV_BASE_COMBINED ? m : NULL;
}

double prv_infinite_mass(const prv_mechanism *m, bool add)
{
    double error;
    if (combined(m) != NULL) return prv_combined_infinite_mass(combined(m), add, &error);
    if (m->base == PRV_BASE_CHOICE)
        return m->part_weight[0] * prv_infinite_mass(m->part[0], add) +
               m->part_weight[1] * prv_infinite_mass(m->part[1], add);
    if (m->base == PRV_BASE_ATOMS) return m->atoms[add]->q_only;
    if (m->base == PRV_BASE_CDFS || m->base == PRV_BASE_CURVE) {
        /* 'add' of a sampled pair is absolutely continuous: its second measure contains Q. */
        if (!add || m->sampling_probability == 1.0) return m->sampling_probability * m->mass_at_infinity;
    }
    return 0.0;
}

double prv_infinite_mass_error(const prv_mechanism *m, bool add)
{
    if (combined(m) != NULL) {
        double error;
        prv_combined_infinite_mass(combined(m), add, &error);
        return error;
    }
    if (m->base == PRV_BASE_CHOICE) {
        double error = 0.0;
        for (int i = 0; i < 2; i++) {
            const double mass = prv_infinite_mass(m->part[i], add),
                         off = prv_infinite_mass_error(m->part[i], add);
            if (!(m->part_weight[i] > 0.0 && (mass > 0.0 || off > 0.0))) continue;
            /* The weight's error, a product and half of a sum; products may underflow. */
            error += m->part_weight[i] * (off + (m->part_weight_error + 3.0 * PRV_UNIT) * mass) + DBL_MIN;
        }
        return error;
    }
    if (m->base == PRV_BASE_ATOMS) return m->atoms[add]->q_only_error;
    /* The mass is a product of the stated one with a probability, or the stated one itself. */
    const bool is_product = !add && m->sampling_probability < 1.0 && m->mass_at_infinity > 0.0;
    return is_product ? prv_error_of_product(prv_infinite_mass(m, add), PRV_UNIT) : 0.0;
}

/* The part of a choice that has the greatest loss; a part that is never chosen has no loss. */
static int part_with_greatest_loss(const prv_mechanism *m, bool add)
{
    if (m->part_weight[0] == 0.0) return 1;
    if (m->part_weight[1] == 0.0) return 0;
    return prv_greatest_loss(m->part[1], add) > prv_greatest_loss(m->part[0], add);
}

double prv_greatest_loss(const prv_mechanism *m, bool add)
{
    const double p = m->sampling_probability;
    if (m->folded) add = 0;
    if (combined(m) != NULL) {
        double error;
        return prv_combined_greatest_loss(combined(m), add, &error);
    }
    switch (m->base) {
    case PRV_BASE_MIXTURE: return add ? -m->mixture->lowest_loss : HUGE_VAL;
    case PRV_BASE_CHOICE: return prv_greatest_loss(m->part[part_with_greatest_loss(m, add)], add);
    case PRV_BASE_LAPLACE:
    case PRV_BASE_BOUNDED_RANGE: return add ? -prv_subsampled_loss(-m->mu, p) : prv_subsampled_loss(m->mu, p);
    case PRV_BASE_ATOMS: {
        /* The losses go on beyond the atoms if these were cut off. */
        const prv_atoms *a = m->atoms[add];
        if (a->unbounded) return add && p < 1.0 ? -log1p(-p) : HUGE_VAL;
        /* Every atom has mass, even if it underflows. */
        return a->length > 0 ? a->loss[a->length - 1] : -HUGE_VAL;
    }
    default: return add && p < 1.0 ? -log1p(-p) : HUGE_VAL;
    }
}

bool prv_greatest_loss_is_reached(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_CHOICE)
        return prv_greatest_loss_is_reached(m->part[0]) && prv_greatest_loss_is_reached(m->part[1]);
    return m->base != PRV_BASE_TAILS && m->base != PRV_BASE_CDFS && m->base != PRV_BASE_CURVE &&
           combined(m) == NULL;
}

/* What the greatest or least finite loss of this direction is off by, at most. */
static double error_of_edge(const prv_mechanism *m, bool add, double edge)
{
    double relative = 2.0 * PRV_UNIT;
    if (m->base == PRV_BASE_ATOMS)
        relative = fmax(m->atoms[add]->loss_error, m->atoms[add]->unbounded ? relative : 0.0);
    else if (m->base == PRV_BASE_LAPLACE || m->base == PRV_BASE_BOUNDED_RANGE)
        relative = m->sampling_probability < 1.0 ? prv_subsampled_loss_error(m->mu, PRV_UNIT)
                                                 : 2.0 * PRV_UNIT;
    else if (m->base == PRV_BASE_MIXTURE)
        relative = PRV_UNIT *
                   (8.0 + 2.0 * (double)m->mixture->q.length); /* the logarithm of a sum of weights */
    /* A quotient or product that may be subnormal is off by half a unit of these. */
    const double absolute = relative > 0.0 && fabs(edge) < 0x1p-900 ? 0x1p-1073 : 0.0;
    return relative * fabs(edge) + absolute + 2.0 * m->density_error;
}

double prv_greatest_loss_error(const prv_mechanism *m, bool add)
{
    const double greatest = prv_greatest_loss(m, add);
    if (!isfinite(greatest)) return 0.0;
    if (combined(m) != NULL) {
        double error;
        prv_combined_greatest_loss(combined(m), add, &error);
        return error;
    }
    if (m->base == PRV_BASE_CHOICE)
        return prv_greatest_loss_error(m->part[part_with_greatest_loss(m, add)], add);
    return error_of_edge(m, add, greatest);
}

/* A table may be stated for both directions, of which neither is then the other one reversed. */
static bool is_table(const prv_mechanism *m, bool add)
{
    return m->base == PRV_BASE_ATOMS && !m->folded && !m->atoms[add]->unbounded && m->atoms[add]->length > 0;
}

/* The least finite loss, less its error if that counts. */
static double edge_below(const prv_mechanism *m, bool add, bool with_error)
{
    if (combined(m) != NULL) return -HUGE_VAL;
    if (m->base == PRV_BASE_CHOICE && !m->folded) {
        double least = HUGE_VAL;
        for (int i = 0; i < 2; i++)
            if (m->part_weight[i] > 0.0) least = fmin(least, edge_below(m->part[i], add, with_error));
        return least;
    }
    const bool own = is_table(m, add);
    const double edge = own ? m->atoms[add]->loss[0] : -prv_greatest_loss(m, !add);
    if (!with_error) return edge;
    return edge - (own ? error_of_edge(m, add, edge) : prv_greatest_loss_error(m, !add));
}

double prv_lowest_loss(const prv_mechanism *m, bool add)
{
    return edge_below(m, add, false);
}

double prv_least_loss(const prv_mechanism *m, bool add)
{
    return edge_below(m, add, true);
}

/* An upper bound of the losses of 'add'. A knot an ulp below their end might have much mass above it. */
static double upper_edge(const prv_mechanism *m)
{
    return prv_greatest_loss(m, 1) + prv_greatest_loss_error(m, 1);
}

/* The anchor is the heaviest atom. */
static prv_features atoms_features(const prv_atoms *a)
{
    prv_features f = {0.0, 0.0, true, true};
    if (a->length == 0) return f;
    size_t first = 0, second = 0;
    for (size_t i = 1; i < a->length; i++)
        if (a->q[i] > a->q[first]) first = i;
    second = first > 0 ? first - 1 : first;
    for (size_t i = 0; i < a->length; i++)
        if (i != first && (second == first || a->q[i] > a->q[second])) second = i;
    f.anchor = a->loss[first];
    if (a->length == 1) return f;
    const double spacing = (a->loss[a->length - 1] - a->loss[0]) / (double)(a->length - 1);
    for (size_t i = 0; i < a->length && f.is_lattice; i++) {
        const double expected = a->loss[0] + spacing * (double)i;
        f.is_lattice = fabs(a->loss[i] - expected) <= 1e-9 * spacing;
    }
    f.period = f.is_lattice ? spacing : fabs(a->loss[second] - a->loss[first]);
    return f;
}

/* So few atoms that each of them matters. */
#define FEW_ATOMS 512

/* Of a lattice or of few atoms, as those of discrete losses; others lie so close together that none of them
 * matters. */
static prv_features enclosed_features(const prv_atoms *a)
{
    const prv_features f = atoms_features(a);
    return f.is_lattice || a->length <= FEW_ATOMS ? f : (prv_features){0.0, 0.0, false, false};
}

prv_features prv_mechanism_features(const prv_mechanism *m, bool add)
{
    const double p = m->sampling_probability;
    prv_features f = {0.0, 0.0, false, false};
    if (m->folded) {
        f.anchor_is_atom = f.is_lattice = true;
        if (m->base == PRV_BASE_LAPLACE) f.period = prv_subsampled_loss(m->mu, p);
        return f;
    }
    switch (m->base) {
    case PRV_BASE_BOUNDED_RANGE: f.anchor = prv_greatest_loss(m, add); return f;
    case PRV_BASE_CHOICE: {
        const prv_features first = prv_mechanism_features(m->part[0], add);
        const prv_features second = prv_mechanism_features(m->part[1], add);
        if (second.anchor_is_atom) return second;
        /* Both parts have an edge on the same side, and the outer one is the edge of the choice. */
        return fabs(second.anchor) > fabs(first.anchor) ? second : first;
    }
    case PRV_BASE_ATOMS: return atoms_features(m->atoms[add]);
    case PRV_BASE_ENCLOSED: return enclosed_features(m->enclosing[0]);
    case PRV_BASE_MIXTURE: {
        const double edge = m->mixture->lowest_loss;
        if (isfinite(edge)) f.anchor = add ? upper_edge(m) : edge;
        return f;
    }
    case PRV_BASE_LAPLACE: {
        const double top = prv_subsampled_loss(m->mu, p), bottom = prv_subsampled_loss(-m->mu, p);
        f.anchor = add ? -bottom : top;
        f.period = top - bottom;
        f.anchor_is_atom = f.is_lattice = true;
        return f;
    }
    default:
        if (p < 1.0) f.anchor = add ? upper_edge(m) : log1p(-p);
        return f;
    }
}

double prv_delta_of_rare_cuts(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_ENCLOSED) return 0.0; /* its atoms have it */
    if (m->base != PRV_BASE_COMBINED) return m->cut_sampling_probability > 0.0 ? 2.0 * DBL_MIN : 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < m->part_count; i++)
        sum += (double)m->part_counts[i] * prv_delta_of_rare_cuts(m->parts[i]);
    if (m->combination == PRV_COMBINED_AVERAGE) sum *= (double)m->batches;
    return fmin(prv_above(sum), 1.0) * (sum > 0.0);
}

double prv_lost_delta(const prv_mechanism *m)
{
    return DBL_MIN + prv_delta_of_rare_cuts(m);
}

double prv_absolute_cdf_error(const prv_mechanism *m)
{
    if (combined(m) != NULL) return prv_combined_absolute_error(combined(m));
    if (m->base == PRV_BASE_ATOMS) return m->atoms[0]->mass_error;
    return m->base == PRV_BASE_CDFS || m->base == PRV_BASE_CURVE ? 4.0 * DBL_EPSILON : 0.0;
}

/* ---- Total variation -------------------------------------------------------------------------- */

/* x from above, which is off by so many roundings, or by a smallest double for each if it is subnormal. */
static double from_above(double x, double roundings)
{
    return x + roundings * (PRV_UNIT * PRV_SECOND_ORDER * x + DBL_TRUE_MIN);
}

/* Of mechanisms on the same records, it is at most the sum of theirs; of an average, at most that of one
 * batch. */
static double most_of_combination(const prv_mechanism *m)
{
    double sum = 0.0;
    for (size_t i = 0; i < m->part_count; i++)
        sum += (double)m->part_counts[i] * prv_most_by_samples(m->parts[i]);
    return fmin(from_above(sum * m->sampling_probability, 4.0 * (double)m->part_count + 4.0), 1.0);
}

double prv_most_by_samples(const prv_mechanism *m)
{
    if (combined(m) != NULL) return most_of_combination(combined(m));
    if (!m->sampled || m->dataset_size > 0) return 1.0;
    const double members = (double)m->group_size;
    if (members == 1.0 && m->density_error == 0.0) return m->sampling_probability;
    return fmin(from_above(m->sampling_probability * (1.0 + m->density_error) * members, 8.0), 1.0);
}
