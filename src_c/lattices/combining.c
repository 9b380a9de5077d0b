#include "lattices/combining.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"
#include "lattices/profile.h"
#include "lattices/ratio_law.h"

/* Losses of parts beyond this (nats) are cut: laws that need them are not told apart from infinite losses. */
#define FARTHEST_LOSS 500.0

/* Points of one lattice at most: pairs of points are visited. */
#define MOST_POINTS 60000.0

/* Pairs of points that lists of points may have; beyond, they are put onto lattices. */
#define MOST_PAIRS 1e5
/* Points of a mechanism that are listed from the start. */
#define MOST_LISTED 2000.0

/* Both laws of one mechanism: [PRV_DOMINATING] and [PRV_DOMINATED]. */
typedef struct enclosing {
    prv_ratio_law law[2];
} enclosing;

typedef struct building {
    bool add;
    const prv_fineness *fineness;
    const prv_options *options;
    double cut; /* of one operation */
} building;

static void enclosing_free(enclosing *e)
{
    for (int side = 0; side < 2; side++) prv_ratio_law_free(&e->law[side]);
}

static prv_ratio_side side_of(const building *b, int side)
{
    return (prv_ratio_side){b->add, (prv_side)side, b->cut, b->fineness->low_cut, b->options};
}

/* ---- Parts with cells ------------------------------------------------------------------------ */

/* Where the losses of a part lie: the range outside which little is lost, and the variance of log R. */
typedef struct spread {
    double low, high; /* of the loss */
    double variance;
} spread;

static prv_status spread_of(const prv_mechanism *m, const building *b, double cut, spread *s)
{
    prv_profile p;
    const prv_status status = prv_profile_new(m, b->add, 1, &p);
    if (status != PRV_OK) return status;
    /* The mass of either measure: Q's of a cell, and P's. */
    double high = 0.0, low = 0.0;
    size_t first = 0, end = p.length;
    while (end > first + 1 && high + p.mass[end - 1] <= cut) high += p.mass[--end];
    while (first + 1 < end) {
        const double special = b->add ? p.mass[first] * exp(-p.center[first]) : p.mass[first];
        if (low + special > b->fineness->low_cut) break;
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
    *s = (spread){fmin(p.low[first], p.center[first]), fmax(p.high[end - 1], p.center[end - 1]),
                  fmax(square / mass - mean * mean, 0.0)};
    prv_profile_free(&p);
    return PRV_OK;
}

/* Onto such steps atoms a period apart fit. */
static double fit_period(double period, double step)
{
    return period > 0.0 ? period / ceil(period / step * (1.0 - 1e-9)) : step;
}

/* The laws of a part with cells, on a lattice of this step. */
static prv_status part_laws(const prv_mechanism *m, const building *b, const spread *range, double step,
                            enclosing *e)
{
    const prv_features f = prv_mechanism_features(m, b->add);
    const double low = floor((fmax(range->low, -FARTHEST_LOSS) - f.anchor) / step) - 1.0;
    const double high = ceil((fmin(range->high, FARTHEST_LOSS) - f.anchor) / step) + 1.0;
    if (!(high > low && high - low < 16.0 * MOST_POINTS && fabs(low) < 0x1p52 && fabs(high) < 0x1p52))
        return PRV_ERR_MEMORY_LIMIT;
    const double period = f.period > 0.0 ? nearbyint(f.period / step) : 0.0;
    prv_status status = PRV_OK;
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = side_of(b, side);
        status = prv_ratio_law_of(m, &s, f.anchor, step, (int64_t)low, (int64_t)high,
                                  (int64_t)fmin(period, 0x1p52), f.anchor_is_atom, &e->law[side]);
    }
    return status;
}

/* The laws of a discrete mechanism as lists: masses and losses are off by what prv_cells_compute says of
 * them. */
static prv_status list_laws(const prv_mechanism *m, const building *b, enclosing *e)
{
    const prv_atoms *a = m->atoms[b->add];
    const double reach = a->length > 0 ? fmax(fabs(a->loss[0]), fabs(a->loss[a->length - 1])) : 0.0;
    const double masses = a->unbounded ? 4.0 * 740.0 : 0.0;
    const double error = PRV_UNIT * (32.0 + 8.0 * reach + masses) + 2.0 * a->loss_error * reach +
                         2.0 * m->density_error;
    prv_status status = error < 0.25 ? PRV_OK : PRV_ERR_PRECISION;
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = side_of(b, side);
        status = prv_ratio_list_of(a, error, &s, &e->law[side]);
    }
    return status;
}

/* ---- Combinations ---------------------------------------------------------------------------- */

static prv_status laws_of(const prv_mechanism *m, const building *b, double step, enclosing *e);

/* The variance of log R of a mechanism, about: of a combination, as if log R were as good as R - 1. */
static prv_status variance_of(const prv_mechanism *m, const building *b, double *variance)
{
    if (m->base != PRV_BASE_COMBINED) {
        spread s;
        const prv_status status = spread_of(m, b, b->cut, &s);
        *variance = s.variance;
        return status;
    }
    double sum = 0.0;
    for (size_t i = 0; i < m->part_count; i++) {
        double one = 0.0;
        const prv_status status = variance_of(m->parts[i], b, &one);
        if (status != PRV_OK) return status;
        sum += (double)m->part_counts[i] * one;
    }
    *variance = m->combination == PRV_COMBINED_SAMPLE
                    ? sum * m->sampling_probability * m->sampling_probability
                : m->combination == PRV_COMBINED_AVERAGE ? log1p(expm1(fmin(sum, 50.0)) / (double)m->batches)
                                                         : sum;
    return PRV_OK;
}

static double fine_step(const building *b, double variance)
{
    return b->fineness->share * sqrt(fmax(variance, 1e-24));
}

static prv_status too_long(const prv_ratio_law *law)
{
    return law->at == NULL && (double)law->length > MOST_POINTS ? PRV_ERR_MEMORY_LIMIT : PRV_OK;
}

static bool are_lists(const prv_ratio_law *a, const prv_ratio_law *b)
{
    return a->at != NULL && b->at != NULL && (double)a->length * (double)b->length <= MOST_PAIRS;
}

/* A list of points onto a lattice. */
static prv_status onto_lattice(prv_ratio_law *law, double step, const prv_ratio_side *s)
{
    if (law->at == NULL) return PRV_OK;
    prv_ratio_law moved;
    const prv_status status = prv_ratio_mixture(law, 1.0, step, s, &moved);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(law);
    *law = moved;
    return PRV_OK;
}

static prv_status product_of(prv_ratio_law *a, prv_ratio_law *b, double step, const prv_ratio_side *s,
                             prv_ratio_law *product)
{
    if (are_lists(a, b)) return prv_ratio_list_product(a, b, s, product);
    prv_status status = onto_lattice(a, step, s);
    if (status == PRV_OK) status = onto_lattice(b, step, s);
    if (status == PRV_OK) status = too_long(a);
    if (status == PRV_OK) status = too_long(b);
    return status == PRV_OK ? prv_ratio_product(a, b, s, product) : status;
}

static prv_status copy_law(const prv_ratio_law *law, prv_ratio_law *copy)
{
    *copy = *law;
    copy->null = prv_allocate(law->length, sizeof *copy->null);
    copy->at = law->at != NULL ? prv_allocate(law->length, sizeof *copy->at) : NULL;
    if (copy->null == NULL || (law->at != NULL && copy->at == NULL)) {
        prv_ratio_law_free(copy);
        return PRV_ERR_MEMORY;
    }
    memcpy(copy->null, law->null, law->length * sizeof *law->null);
    if (law->at != NULL) memcpy(copy->at, law->at, law->length * sizeof *law->at);
    return PRV_OK;
}

/* Takes `power` as the law of one factor and leaves the product of `count` of them times *product, if that is
 * not empty. Lists that grow too long are put onto lattices of this step. */
static prv_status multiply_powers(prv_ratio_law *power, uint64_t count, double step, const prv_ratio_side *s,
                                  prv_ratio_law *product)
{
    prv_status status = PRV_OK;
    for (; count > 0 && status == PRV_OK; count /= 2) {
        prv_ratio_law next;
        if (count % 2 == 1 && product->null == NULL) {
            status = copy_law(power, product);
        } else if (count % 2 == 1) {
            status = product_of(product, power, step, s, &next);
            if (status != PRV_OK) break;
            prv_ratio_law_free(product);
            *product = next;
        }
        if (status != PRV_OK || count == 1) break;
        status = product_of(power, power, step, s, &next);
        if (status != PRV_OK) break;
        prv_ratio_law_free(power);
        *power = next;
    }
    return status;
}

static uint64_t batches_of(const prv_mechanism *m)
{
    return m->combination == PRV_COMBINED_AVERAGE ? m->batches : 1;
}

/* The points of the law of a mechanism at most, infinite if it is not discrete. */
static double points_of(const prv_mechanism *m, const building *b)
{
    if (m->base == PRV_BASE_ATOMS) return (double)m->atoms[b->add]->length;
    if (m->base != PRV_BASE_COMBINED) return HUGE_VAL;
    double log_points = 0.0;
    for (size_t i = 0; i < m->part_count; i++) {
        /* So many multisets of points. */
        const double n = points_of(m->parts[i], b), k = (double)m->part_counts[i] * (double)batches_of(m);
        log_points += isfinite(n) ? lgamma(n + k) - lgamma(n) - lgamma(k + 1.0) : HUGE_VAL;
    }
    return exp(log_points) + 1.0;
}

/* All parts on one step: that of the part whose losses have atoms, if any. */
static prv_status product_laws(const prv_mechanism *m, const building *b, double step, enclosing *e)
{
    double total = 0.0, count = 0.0;
    size_t leader = m->part_count;
    for (size_t i = 0; i < m->part_count; i++) {
        double variance = 0.0;
        const prv_status status = variance_of(m->parts[i], b, &variance);
        if (status != PRV_OK) return status;
        total += (double)m->part_counts[i] * variance;
        count += (double)m->part_counts[i];
        const int has_cells = m->parts[i]->base != PRV_BASE_COMBINED;
        if (has_cells && prv_mechanism_features(m->parts[i], b->add).period > 0.0 && leader == m->part_count)
            leader = i;
    }
    /* Each factor adds the error of its step: that of all is to be the share of the whole deviation. */
    double common = isfinite(step) ? step : b->fineness->share * sqrt(fmax(total / count, 1e-24));
    if (leader < m->part_count && !isfinite(step)) {
        common = fit_period(prv_mechanism_features(m->parts[leader], b->add).period, common);
    }
    const bool listed = !isfinite(step) && points_of(m, b) <= MOST_LISTED;
    prv_status status = PRV_OK;
    for (size_t i = 0; i < m->part_count && status == PRV_OK; i++) {
        enclosing part = {0};
        status = laws_of(m->parts[i], b, listed ? HUGE_VAL : common, &part);
        for (int side = 0; side < 2 && status == PRV_OK; side++) {
            const prv_ratio_side s = side_of(b, side);
            prv_ratio_law *law = &part.law[side];
            if (law->at == NULL && law->step != common) {
                prv_ratio_law moved;
                status = prv_ratio_mixture(law, 1.0, common, &s, &moved);
                if (status != PRV_OK) break;
                prv_ratio_law_free(law);
                *law = moved;
            }
            status = multiply_powers(law, m->part_counts[i], common, &s, &e->law[side]);
        }
        enclosing_free(&part);
    }
    return status;
}

/* Two averages of equal offsets on one step: that of the coarser one is put onto the finer lattice as it is.
 */
static prv_status spread_law(prv_ratio_law *law, int64_t finer)
{
    if (finer == 1) return PRV_OK;
    const size_t length = (law->length - 1) * (size_t)finer + 1;
    double *null = prv_allocate(length, sizeof *null);
    if (null == NULL) return PRV_ERR_MEMORY;
    memset(null, 0, length * sizeof *null);
    for (size_t i = 0; i < law->length; i++) null[i * (size_t)finer] = law->null[i];
    prv_release(law->null);
    law->null = null;
    law->length = length;
    law->first *= finer;
    law->step /= (double)finer;
    return PRV_OK;
}

/* How many times finer the lattice of an average is: so that its step is the share of its deviation. */
static unsigned finer_of(const building *b, const prv_ratio_law *a, const prv_ratio_law *c, double weight)
{
    const double va = prv_ratio_variance(a), vc = prv_ratio_variance(c);
    const double of_ratio = weight * weight * expm1(fmin(va, 50.0)) +
                            (1.0 - weight) * (1.0 - weight) * expm1(fmin(vc, 50.0));
    const double variance = fmin(log1p(of_ratio), fmax(va, vc));
    const double wanted = b->fineness->share * sqrt(fmax(variance, 1e-24));
    return a->step > 2.8 * wanted ? 4 : a->step > 1.4 * wanted ? 2 : 1;
}

/* The average of two laws of the same mechanism, of `had` and of `more` batches, had <= more. */
static prv_status average_of(prv_ratio_law *a, uint64_t had, prv_ratio_law *c, uint64_t more,
                             const building *b, const prv_ratio_side *s, prv_ratio_law *average)
{
    const double weight = (double)had / ((double)had + (double)more);
    if (are_lists(a, c)) return prv_ratio_list_average(a, c, weight, s, average);
    const double variance = fmax(prv_ratio_variance(a), prv_ratio_variance(c));
    const double step = a->at == NULL ? a->step : c->at == NULL ? c->step : fine_step(b, 0.5 * variance);
    prv_status status = onto_lattice(a, step, s);
    if (status == PRV_OK && c != a) status = onto_lattice(c, step, s);
    if (status == PRV_OK && a->step > c->step) status = spread_law(a, (int64_t)nearbyint(a->step / c->step));
    if (status == PRV_OK && c->step > a->step) status = spread_law(c, (int64_t)nearbyint(c->step / a->step));
    if (status == PRV_OK) status = too_long(a);
    if (status == PRV_OK) status = too_long(c);
    if (status != PRV_OK) return status;
    return prv_ratio_average(a, c, weight, finer_of(b, a, c, weight), s, average);
}

/* *sum becomes the average of its `had` batches and `more` batches more. */
static prv_status join(prv_ratio_law *sum, uint64_t had, prv_ratio_law *block, uint64_t more,
                       const building *b, const prv_ratio_side *s)
{
    prv_ratio_law joined;
    const prv_status status = average_of(sum, had, block, more, b, s, &joined);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(sum);
    *sum = joined;
    return PRV_OK;
}

static prv_status double_batches(prv_ratio_law *block, const building *b, const prv_ratio_side *s)
{
    prv_ratio_law twice;
    const prv_status status = average_of(block, 1, block, 1, b, s, &twice);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(block);
    *block = twice;
    return PRV_OK;
}

static prv_status average_law(prv_ratio_law *block, uint64_t batches, const building *b,
                              const prv_ratio_side *s)
{
    prv_ratio_law sum = {0};
    uint64_t had = 0, size = 1;
    prv_status status = PRV_OK;
    for (uint64_t left = batches; status == PRV_OK; left /= 2) {
        if (left % 2 == 1) {
            status = had == 0 ? copy_law(block, &sum) : join(&sum, had, block, size, b, s);
            had += size;
        }
        if (left == 1 || status != PRV_OK) break;
        status = double_batches(block, b, s);
        size *= 2;
    }
    prv_ratio_law_free(block);
    if (status == PRV_OK)
        *block = sum;
    else
        prv_ratio_law_free(&sum);
    return status;
}

static prv_status average_laws(const prv_mechanism *m, const building *b, enclosing *e)
{
    prv_status status = laws_of(m->parts[0], b, HUGE_VAL, e);
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = side_of(b, side);
        status = average_law(&e->law[side], m->batches, b, &s);
    }
    return status;
}

static prv_status sample_laws(const prv_mechanism *m, const building *b, double step, enclosing *e)
{
    double variance = 0.0;
    prv_status status = laws_of(m->parts[0], b, HUGE_VAL, e);
    if (status == PRV_OK) status = variance_of(m, b, &variance);
    const double wanted = isfinite(step) ? step : fine_step(b, variance);
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = side_of(b, side);
        prv_ratio_law mixture;
        const bool listed = e->law[side].at != NULL && !isfinite(step);
        status = listed ? prv_ratio_list_mixture(&e->law[side], m->sampling_probability, &s, &mixture)
                        : prv_ratio_mixture(&e->law[side], m->sampling_probability, wanted, &s, &mixture);
        if (status != PRV_OK) break;
        prv_ratio_law_free(&e->law[side]);
        e->law[side] = mixture;
    }
    return status;
}

/* Both laws of a mechanism: on this step, but for averages; or on one that serves it, if `step` is infinite.
 */
static prv_status laws_of(const prv_mechanism *m, const building *b, double step, enclosing *e)
{
    prv_status status = prv_check_interrupt(b->options);
    if (status != PRV_OK) return status;
    if (m->base == PRV_BASE_COMBINED) {
        switch (m->combination) {
        case PRV_COMBINED_PRODUCT: return product_laws(m, b, step, e);
        case PRV_COMBINED_SAMPLE: return sample_laws(m, b, step, e);
        case PRV_COMBINED_AVERAGE: return average_laws(m, b, e);
        }
    }
    if (m->base == PRV_BASE_ATOMS && !isfinite(step) && (double)m->atoms[b->add]->length <= MOST_LISTED)
        return list_laws(m, b, e);
    spread range;
    status = spread_of(m, b, b->cut, &range);
    if (status != PRV_OK) return status;
    const double period = prv_mechanism_features(m, b->add).period;
    return part_laws(m, b, &range, isfinite(step) ? step : fit_period(period, fine_step(b, range.variance)),
                     e);
}

/* ---- The stage ------------------------------------------------------------------------------- */

static size_t operations_of(const prv_mechanism *m)
{
    if (m->base != PRV_BASE_COMBINED) return 1;
    size_t sum = 2;
    for (size_t i = 0; i < m->part_count; i++)
        sum += operations_of(m->parts[i]) + 2 * (size_t)log2((double)m->part_counts[i] + 1.0);
    return sum + (m->combination == PRV_COMBINED_AVERAGE ? 2 * (size_t)log2((double)m->batches + 1.0) : 0);
}

/* How often the losses at the end of a part are part of the whole. */
static double copies_of(const prv_mechanism *m)
{
    if (m->base != PRV_BASE_COMBINED) return 1.0;
    double sum = 0.0;
    for (size_t i = 0; i < m->part_count; i++) sum += (double)m->part_counts[i] * copies_of(m->parts[i]);
    return sum;
}

/* Pairs that say nothing: an infinite loss from above, none from below. */
static prv_status trivial(prv_mechanism *m)
{
    m->enclosing[PRV_DOMINATING] = prv_atoms_new(0);
    m->enclosing[PRV_DOMINATED] = prv_atoms_new(1);
    if (m->enclosing[PRV_DOMINATING] == NULL || m->enclosing[PRV_DOMINATED] == NULL) return PRV_ERR_MEMORY;
    prv_atoms *above = m->enclosing[PRV_DOMINATING], *below = m->enclosing[PRV_DOMINATED];
    above->q_only = above->p_only = 1.0;
    below->loss[0] = 0.0;
    below->q[0] = below->p[0] = 1.0;
    return PRV_OK;
}

/* The atoms of one side; of a sample, at the losses of the sample, wherever these lie. */
static prv_status side_atoms(const prv_mechanism *whole, const prv_ratio_law *law, const prv_ratio_side *s,
                             prv_mechanism *m)
{
    double error = 0.0;
    prv_atoms *atoms = prv_ratio_atoms(law, s, &error);
    if (atoms != NULL && whole->combination == PRV_COMBINED_SAMPLE) {
        /* In the direction 'add' the sampled pair is the reverse of the sampled reverse. */
        prv_atoms *base = s->add ? prv_atoms_reversed(atoms) : NULL;
        prv_atoms *sampled = s->add && base == NULL
                                 ? NULL
                                 : prv_atoms_subsampled(s->add ? base : atoms, whole->sampling_probability);
        prv_atoms_free(base);
        prv_atoms_free(atoms);
        atoms = s->add && sampled != NULL ? prv_atoms_reversed(sampled) : sampled;
        if (s->add) prv_atoms_free(sampled);
        error += 8.0 * PRV_UNIT;
    }
    if (atoms == NULL) return PRV_ERR_MEMORY;
    m->enclosing[s->side] = atoms;
    m->density_error = fmax(m->density_error, error);
    return PRV_OK;
}

prv_status prv_enclose(const prv_mechanism *whole, bool add, const prv_fineness *fineness,
                       const prv_options *options, prv_mechanism **enclosed)
{
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_ENCLOSED);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->enclosed = whole;
    const building b = {add, fineness, options,
                        fineness->cut / ((double)operations_of(whole) * copies_of(whole))};
    const int is_sample = whole->combination == PRV_COMBINED_SAMPLE;
    enclosing e = {0};
    prv_status status = laws_of(is_sample ? whole->parts[0] : whole, &b, HUGE_VAL, &e);
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = side_of(&b, side);
        status = side_atoms(whole, &e.law[side], &s, m);
    }
    if (status == PRV_ERR_PRECISION || status == PRV_ERR_MEMORY_LIMIT) {
        for (int side = 0; side < 2; side++) {
            prv_atoms_free(m->enclosing[side]);
            m->enclosing[side] = NULL;
        }
        status = trivial(m);
    }
    enclosing_free(&e);
    return prv_mechanism_finish(status, m, enclosed);
}
