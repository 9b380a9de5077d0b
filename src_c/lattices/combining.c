#include "lattices/combining.h"

#include <math.h>

#include "base/progress.h"
#include "numerics/rounding.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"
#include "lattices/part_laws.h"
#include "lattices/ratio_list.h"
#include "lattices/ratio_mixture.h"
#include "lattices/ratio_powers.h"

/* Points of a mechanism that are listed from the start. */
#define MOST_LISTED 2000.0

/* ---- Combinations ---------------------------------------------------------------------------- */

static prv_status laws_of(const prv_mechanism *m, const prv_law_request *b, double spacing, prv_law_pair *e);

/* The variance of log R of a mechanism, about: of a combination, as if log R were as good as R - 1. */
static prv_status variance_of(const prv_mechanism *m, const prv_law_request *b, double *variance)
{
    if (m->base != PRV_BASE_COMBINED) {
        prv_part_range s;
        const prv_status status = prv_part_find_range(m, b, &s);
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
    *variance = m->combination == PRV_COMBINED_SAMPLE || m->combination == PRV_COMBINED_FOLDED
                    ? sum * m->sampling_probability * m->sampling_probability
                : m->combination == PRV_COMBINED_AVERAGE ? log1p(expm1(fmin(sum, 50.0)) / (double)m->batches)
                                                         : sum;
    return PRV_OK;
}

static uint64_t batches_of(const prv_mechanism *m)
{
    return m->combination == PRV_COMBINED_AVERAGE ? m->batches : 1;
}

/* The points of the law of a mechanism at most, infinite if it is not discrete. */
static double points_of(const prv_mechanism *m, const prv_law_request *b)
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

/* The spacing of all parts of a product: the period of the part whose losses have atoms, if any, fits it. */
static prv_status common_spacing(const prv_mechanism *m, const prv_law_request *b, double *common)
{
    double total = 0.0, count = 0.0, period = 0.0;
    for (size_t i = 0; i < m->part_count; i++) {
        const prv_mechanism *part = m->parts[i];
        double variance = 0.0;
        const prv_status status = variance_of(part, b, &variance);
        if (status != PRV_OK) return status;
        total += (double)m->part_counts[i] * variance;
        count += (double)m->part_counts[i];
        if (!(period > 0.0) && part->base != PRV_BASE_COMBINED)
            period = prv_mechanism_features(part, b->add).period;
    }
    /* Each factor adds the error of its spacing: that of all is to be the share of the whole deviation. */
    *common = prv_fit_period(period, prv_fine_spacing(b->fineness->share, total / count));
    return PRV_OK;
}

/* Multiplies `count` factors of this law to *product. */
static prv_status multiply_part(prv_ratio_law *part, uint64_t count, double spacing, const prv_ratio_side *s,
                                prv_ratio_law *product)
{
    if (part->at == NULL && part->spacing != spacing) {
        const prv_status status = prv_ratio_move_onto(part, spacing, s);
        if (status != PRV_OK) return status;
    }
    return prv_ratio_multiply_powers(part, count, spacing, s, product);
}

/* What a sample of samples runs on, and the probability of the one sample that it is, by side: on the safe
 * side of the product. A larger probability dominates, since a sample of a sample is no less private. */
typedef struct one_sample {
    const prv_mechanism *base;
    double p[2];
} one_sample;

static one_sample as_one_sample(const prv_mechanism *m)
{
    one_sample s = {m->parts[0], {m->sampling_probability, m->sampling_probability}};
    while (m->combination == PRV_COMBINED_SAMPLE && s.base->base == PRV_BASE_COMBINED &&
           s.base->combination == PRV_COMBINED_SAMPLE) {
        for (int side = 0; side < 2; side++) {
            const double p = s.p[side], q = s.base->sampling_probability, product = p * q;
            const bool exact = product >= PRV_LEAST_EXACT_PRODUCT && fma(p, q, -product) == 0.0;
            s.p[side] = exact ? product : side == PRV_DOMINATING ? prv_above(product) : prv_below(product);
        }
        s.base = s.base->parts[0];
    }
    return s;
}

/* All parts on one spacing, or as lists while these are short. */
static prv_status product_laws(const prv_mechanism *m, const prv_law_request *b, double spacing,
                               prv_law_pair *e)
{
    const bool listed = !isfinite(spacing) && points_of(m, b) <= MOST_LISTED;
    double common = spacing;
    prv_status status = isfinite(spacing) ? PRV_OK : common_spacing(m, b, &common);
    for (size_t i = 0; i < m->part_count && status == PRV_OK; i++) {
        prv_law_pair part = {0};
        status = laws_of(m->parts[i], b, listed ? HUGE_VAL : common, &part);
        for (int side = 0; side < 2 && status == PRV_OK; side++) {
            const prv_ratio_side s = prv_request_side(b, side);
            status = multiply_part(&part.law[side], m->part_counts[i], common, &s, &e->law[side]);
        }
        prv_law_pair_free(&part);
    }
    return status;
}

static prv_status average_laws(const prv_mechanism *m, const prv_law_request *b, prv_law_pair *e)
{
    prv_status status = laws_of(m->parts[0], b, HUGE_VAL, e);
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = prv_request_side(b, side);
        status = prv_ratio_average_batches(&e->law[side], m->batches, b->fineness->share, &s);
    }
    return status;
}

static prv_status sample_laws(const prv_mechanism *m, const prv_law_request *b, double spacing,
                              prv_law_pair *e)
{
    double variance = 0.0;
    const one_sample whole = as_one_sample(m);
    prv_status status = laws_of(whole.base, b, HUGE_VAL, e);
    if (status == PRV_OK) status = variance_of(m, b, &variance);
    const double wanted = isfinite(spacing) ? spacing : prv_fine_spacing(b->fineness->share, variance);
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = prv_request_side(b, side);
        prv_ratio_law mixture;
        const bool listed = e->law[side].at != NULL && !isfinite(spacing);
        status = listed ? prv_ratio_list_mixture(&e->law[side], whole.p[s.side], &s, &mixture)
                        : prv_ratio_mixture(&e->law[side], whole.p[s.side], wanted, &s, &mixture);
        if (status != PRV_OK) break;
        prv_ratio_law_free(&e->law[side]);
        e->law[side] = mixture;
    }
    return status;
}

/* The laws of a mechanism that is not combined: few points as a list. */
static prv_status single_laws(const prv_mechanism *m, const prv_law_request *b, double spacing, bool means,
                              prv_law_pair *e)
{
    if (m->base == PRV_BASE_ATOMS && !isfinite(spacing) && (double)m->atoms[b->add]->length <= MOST_LISTED)
        return prv_part_laws_as_lists(m, b, e);
    prv_part_range range;
    const prv_status status = prv_part_find_range(m, b, &range);
    if (status != PRV_OK) return status;
    const double period = prv_mechanism_features(m, b->add).period;
    return prv_part_laws_on_lattice(
        m, b, &range,
        isfinite(spacing) ? spacing
                          : prv_fit_period(period, prv_fine_spacing(b->fineness->share, range.variance)),
        means, e);
}

/* Both laws of a mechanism: on this spacing, but for averages; or on one that serves it, if `spacing` is
 * infinite. */
static prv_status laws_of(const prv_mechanism *m, const prv_law_request *b, double spacing, prv_law_pair *e)
{
    prv_status status = prv_check_interrupt(b->options);
    if (status != PRV_OK) return status;
    if (m->base == PRV_BASE_COMBINED) {
        switch (m->combination) {
        case PRV_COMBINED_PRODUCT: return product_laws(m, b, spacing, e);
        case PRV_COMBINED_SAMPLE: return sample_laws(m, b, spacing, e);
        case PRV_COMBINED_AVERAGE: return average_laws(m, b, e);
        case PRV_COMBINED_FOLDED: return PRV_ERR_PART; /* of nothing */
        }
    }
    return single_laws(m, b, spacing, false, e);
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

/* How often its parts run side by side, on batches. */
static double batches_within(const prv_mechanism *m)
{
    double most = 1.0;
    for (size_t i = 0; i < m->part_count; i++) most = fmax(most, batches_within(m->parts[i]));
    return m->combination == PRV_COMBINED_AVERAGE ? most * (double)m->batches : most;
}

/* The folded pair of a side. One that dominates may have more mass than 1 in all, as f >= 0; one that is
 * dominated must not: then all of it is shrunk. */
static prv_atoms *fold(const prv_atoms *atoms, double p, prv_side side)
{
    prv_atoms *f = prv_atoms_folded(atoms, p);
    if (f == NULL) return NULL;
    const size_t middle = f->length / 2;
    double others = f->q_only;
    for (size_t i = 0; i < f->length; i++) others += i != middle ? f->q[i] : 0.0;
    const double off = PRV_UNIT * (double)(f->length + 16);
    if (side == PRV_DOMINATING) {
        f->q[middle] = f->p[middle] = f->q[middle] * (1.0 + off) + off;
        return f;
    }
    f->q[middle] = f->p[middle] = fmax(f->q[middle] * (1.0 - off) - off, 0.0);
    if (others <= 1.0 - off) return f;
    const double part = (1.0 - 2.0 * off) / others;
    for (size_t i = 0; i < f->length; i++) {
        f->q[i] *= part;
        f->p[i] *= part;
    }
    f->q_only = f->p_only = f->q_only * part;
    return f;
}

/* The atoms of one side; of a sample of probability p, at the losses of the sample, wherever these lie. */
static prv_status side_atoms(const prv_mechanism *whole, double p, const prv_ratio_law *law,
                             const prv_ratio_side *s, prv_mechanism *m)
{
    double error = 0.0;
    prv_atoms *atoms = prv_ratio_atoms(law, s, &error);
    if (atoms != NULL && whole->combination == PRV_COMBINED_FOLDED) {
        prv_atoms *folded = fold(atoms, p, s->side);
        prv_atoms_free(atoms);
        atoms = folded;
        error += 8.0 * PRV_UNIT;
    } else if (atoms != NULL && whole->combination == PRV_COMBINED_SAMPLE) {
        /* In the direction 'add' the sampled pair is the reverse of the sampled reverse. */
        prv_atoms *base = s->add ? prv_atoms_reversed(atoms) : NULL;
        prv_atoms *sampled = s->add && base == NULL ? NULL : prv_atoms_subsampled(s->add ? base : atoms, p);
        prv_atoms_free(base);
        prv_atoms_free(atoms);
        atoms = s->add && sampled != NULL ? prv_atoms_reversed(sampled) : sampled;
        if (s->add) prv_atoms_free(sampled);
        error += 8.0 * PRV_UNIT;
    }
    if (atoms == NULL) return PRV_ERR_MEMORY;
    if (atoms->q_only_error > 0.0) {
        /* The mass at infinity that encloses has no error of its own. */
        const double moved = s->side == PRV_DOMINATING ? atoms->q_only_error : -atoms->q_only_error;
        atoms->q_only = fmin(fmax(atoms->q_only + moved, 0.0), 1.0);
        atoms->q_only_error = 0.0;
    }
    if (s->side == PRV_DOMINATING) atoms->q_only += prv_delta_of_rare_cuts(whole) * (1.0 + PRV_UNIT);
    m->enclosing[s->side] = atoms;
    m->density_error = fmax(m->density_error, error);
    return PRV_OK;
}

/* Mass at the end of small losses that is moved by a point may be this part of a point's distance. */
#define LOW_PART 1e-3

/* What the laws of a combined mechanism are made for. In 'add' each batch has the mass that one operation
 * moves to infinite losses. */
static prv_status request_for(const prv_mechanism *whole, bool add, const prv_fineness *fineness,
                              const prv_options *options, prv_law_request *request)
{
    const double copies = copies_of(whole), operations = (double)operations_of(whole);
    const double cut = fineness->cut / (operations * copies * (add ? batches_within(whole) : 1.0));
    *request = (prv_law_request){add, fineness, options, cut, fineness->low_cut, fineness->cut / copies};
    double variance = 0.0;
    const prv_status status = variance_of(whole, request, &variance);
    if (status != PRV_OK) return status;
    request->low_cut = fmin(fineness->low_cut, LOW_PART * prv_fine_spacing(fineness->share, variance));
    return PRV_OK;
}

prv_status prv_batch_laws(const prv_mechanism *average, bool add, const prv_fineness *fineness,
                          const prv_options *options, prv_law_pair *laws)
{
    const prv_mechanism *batch = average->parts[0];
    prv_law_request b;
    const prv_status status = request_for(average, add, fineness, options, &b);
    if (status != PRV_OK) return status;
    return batch->base == PRV_BASE_COMBINED ? laws_of(batch, &b, HUGE_VAL, laws)
                                            : single_laws(batch, &b, HUGE_VAL, true, laws);
}

prv_status prv_enclose(const prv_mechanism *whole, bool add, const prv_fineness *fineness,
                       const prv_options *options, prv_mechanism **enclosed)
{
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_ENCLOSED);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->enclosed = whole;
    const bool is_sample = whole->combination == PRV_COMBINED_SAMPLE ||
                           whole->combination == PRV_COMBINED_FOLDED;
    prv_law_pair e = {0};
    prv_law_request b;
    prv_status status = request_for(whole, add, fineness, options, &b);
    const one_sample sample = is_sample ? as_one_sample(whole) : (one_sample){whole, {1.0, 1.0}};
    if (status == PRV_OK) status = laws_of(sample.base, &b, HUGE_VAL, &e);
    for (int side = 0; side < 2 && status == PRV_OK; side++) {
        const prv_ratio_side s = prv_request_side(&b, side);
        status = side_atoms(whole, sample.p[s.side], &e.law[side], &s, m);
    }
    prv_law_pair_free(&e);
    return prv_mechanism_finish(status, m, enclosed);
}

prv_status prv_enclose_trivially(const prv_mechanism *whole, prv_mechanism **enclosed)
{
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_ENCLOSED);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->enclosed = whole;
    prv_atoms *above = m->enclosing[PRV_DOMINATING] = prv_atoms_new(0);
    prv_atoms *below = m->enclosing[PRV_DOMINATED] = prv_atoms_new(1);
    if (above == NULL || below == NULL) return prv_mechanism_finish(PRV_ERR_MEMORY, m, enclosed);
    above->q_only = above->p_only = 1.0;
    below->loss[0] = 0.0;
    below->q[0] = below->p[0] = 1.0;
    return prv_mechanism_finish(PRV_OK, m, enclosed);
}
