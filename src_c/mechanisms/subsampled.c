#include "mechanisms/subsampled.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/binomial.h"
#include "numerics/rounding.h"
#include "mechanisms/combined.h"
#include "mechanisms/noise.h"
#include "mechanisms/replace_one.h"
#include "mechanisms/support.h"

/* ---- Probabilities of being sampled --------------------------------------------------------- */

/* A probability as a sum of two doubles, `rest` less than half an ulp of `p`. */
typedef struct sampling {
    double p, rest;
} sampling;

static sampling probability_of(const prv_mechanism *m)
{
    return (sampling){m->sampling_probability, m->sampling_rest};
}

/* The probability of a sample of a sample, (p + rest) q, to 2^-100 of itself and of 1 minus itself, which is
 * 2^-53 or more. */
static sampling sampled_again(sampling s, double q)
{
    const double p = s.p * q, rest = fma(s.p, q, -p) + s.rest * q;
    const double sum = p + rest;
    return (sampling){sum, p - sum + rest};
}

/* A product below all normal doubles has lost its digits, or is 0, which would mean that nothing is sampled.
 */
static bool is_probability(sampling s)
{
    return s.p == 0.0 || (s.p >= DBL_MIN && s.p <= 1.0);
}

/* The rest relative to either probability, to be in the sample or not, at most. If the product is tiny, fma
 * has no room for its digits, which are added as `lost`. */
static double relative_rest(sampling s)
{
    const double lost = s.rest != 0.0 && s.p < PRV_LEAST_EXACT_PRODUCT ? DBL_EPSILON : 0.0;
    return s.rest != 0.0 ? fabs(s.rest) / fmin(s.p, 1.0 - s.p) * (1.0 + DBL_EPSILON) + lost : 0.0;
}

double prv_subsampled_loss(double y, double p)
{
    if (p >= 1.0) return y;
    if (y > 700.0) {
        const double far = y + log(p);
        if (far > 30.0) return far + log1p((1.0 - p) / p * exp(-y));
        /* y and log(p) would cancel. 350 < y - 350 < 700, as p is a normal double. */
        return log1p(p * exp(350.0) * exp(y - 350.0) - p);
    }
    const double growth = p * expm1(y);
    /* 1 + growth would cancel if p is near 1. */
    return growth < -0.5 ? log((1.0 - p) + p * exp(y)) : log1p(growth);
}

double prv_base_loss(double y, double p)
{
    if (p >= 1.0) return y;
    const double ratio = expm1(y) / p;
    /* The quotient overflows at losses above log 5 alone, where the other form has no cancellation either. */
    if (y > 30.0 || isinf(ratio)) return y - log(p) + log1p((p - 1.0) * exp(-y));
    if (ratio >= -0.5) return log1p(ratio);
    /* e^y - (1 - p) is formed in one way far from its zero, and in another next to it. */
    const double t = exp(y), rest = 1.0 - p;
    const double above = t > 2.0 * rest ? t - rest : rest * expm1(y - log1p(-p));
    return above > 0.0 ? log(above / p) : -HUGE_VAL;
}

double prv_subsampled_loss_error(double y, double error)
{
    return 8.0 * PRV_UNIT + 1.5 * (1.0 + fabs(y)) * (error + PRV_UNIT);
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

/* The atoms of (P, (1-p)P + pQ). Outcomes stay the same, and P's mass where Q vanishes becomes an atom at
 * log(1-p). */
prv_atoms *prv_atoms_subsampled(const prv_atoms *a, double p)
{
    const size_t extra = a->p_only > 0.0 && p < 1.0 ? 1 : 0;
    prv_atoms *s = prv_atoms_new(a->length + extra);
    if (s == NULL) return NULL;
    if (extra) {
        s->loss[0] = log1p(-p);
        s->q[0] = (1.0 - p) * a->p_only;
        s->p[0] = a->p_only;
    }
    for (size_t i = 0; i < a->length; i++) {
        s->loss[i + extra] = prv_subsampled_loss(a->loss[i], p);
        s->q[i + extra] = p * a->q[i] + (1.0 - p) * a->p[i];
        s->p[i + extra] = a->p[i];
    }
    const double widest = a->length > 0 ? fmax(fabs(a->loss[0]), fabs(a->loss[a->length - 1])) : 0.0;
    s->loss_error = p < 1.0 ? prv_subsampled_loss_error(widest, a->loss_error) : a->loss_error;
    s->q_only = p * a->q_only;
    s->q_only_error = a->q_only_error;
    if (p < 1.0 && (a->q_only > 0.0 || a->q_only_error > 0.0))
        s->q_only_error = p * a->q_only_error + prv_error_of_product(s->q_only, PRV_UNIT);
    s->p_only = extra ? 0.0 : a->p_only;
    s->p_only_error = extra ? 0.0 : a->p_only_error;
    s->mass_error = a->mass_error + (extra ? a->p_only_error : 0.0);
    s->unbounded = a->unbounded;
    return s;
}

prv_atoms *prv_atoms_folded(const prv_atoms *a, double p)
{
    prv_atoms *s = prv_atoms_subsampled(a, p);
    size_t above = 0;
    while (s != NULL && above < s->length && s->loss[s->length - 1 - above] > 0.0) above++;
    prv_atoms *f = s != NULL ? prv_atoms_new(2 * above + 1) : NULL;
    if (f != NULL) {
        long double rest = 1.0L - (long double)s->q_only;
        for (size_t i = 0; i < above; i++) {
            const size_t from = s->length - above + i, high = above + 1 + i, low = above - 1 - i;
            f->loss[high] = s->loss[from];
            f->loss[low] = -s->loss[from];
            f->q[high] = f->p[low] = s->q[from];
            f->p[high] = f->q[low] = s->p[from];
            rest -= (long double)s->q[from] + (long double)s->p[from];
        }
        f->loss[above] = 0.0;
        f->q[above] = f->p[above] = (double)fmaxl(rest, 0.0L);
        f->q_only = f->p_only = s->q_only;
        f->q_only_error = f->p_only_error = s->q_only_error;
        f->unbounded = s->unbounded;
        f->loss_error = s->loss_error;
        f->mass_error = 2.0 * s->mass_error;
    }
    prv_atoms_free(s);
    return f;
}

/* Sets m's atoms: 'remove' is the sample of `remove`, 'add' the reverse of the sample of the reverse of
 * `add`. */
static prv_status atoms_subsampled_pair(const prv_atoms *remove, const prv_atoms *add, double p,
                                        prv_mechanism *m)
{
    if (p == 1.0 && remove == add) { /* both directions stay one pair */
        m->atoms[0] = m->atoms[1] = prv_atoms_copy(remove);
        return m->atoms[0] != NULL ? PRV_OK : PRV_ERR_MEMORY;
    }
    prv_atoms *reversed = prv_atoms_reversed(add);
    prv_atoms *subsampled = reversed != NULL ? prv_atoms_subsampled(reversed, p) : NULL;
    m->atoms[0] = prv_atoms_subsampled(remove, p);
    m->atoms[1] = subsampled != NULL ? prv_atoms_reversed(subsampled) : NULL;
    prv_atoms_free(reversed);
    prv_atoms_free(subsampled);
    return m->atoms[0] != NULL && m->atoms[1] != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

/* ---- Mixtures -------------------------------------------------------------------------------- */

/* (P, (1-p)P + pQ) is a mixture with one more component, at 0. */
static prv_status mixture_subsampled(const prv_gaussian_mixture *m, double p, prv_gaussian_mixture **sampled)
{
    const size_t n = m->q.length;
    double *centers = prv_allocate(2 * (n + 1), sizeof *centers);
    if (centers == NULL) return PRV_ERR_MEMORY;
    double *weights = centers + n + 1;
    for (size_t i = 0; i < n; i++) {
        centers[i] = m->q.center[i];
        weights[i] = p * m->q.weight[i];
    }
    centers[n] = 0.0;
    weights[n] = 1.0 - p;
    const prv_status status = prv_gaussian_mixture_new(centers, weights, n + 1, 0, sampled);
    prv_release(centers);
    return status;
}

static prv_status mixture_copy(const prv_gaussian_mixture *m, prv_gaussian_mixture **copy)
{
    return prv_gaussian_mixture_new(m->q.center, m->q.weight, m->q.length, m->mirrored, copy);
}

/* ---- Groups of records ------------------------------------------------------------------------ */

/* Probabilities below 2^-1022 are left out of a group's mixture. Beside this one they are less than 2^-109 of
 * the mixture wherever losses in the direction 'add' are large: there no component lies above that at 0. Far
 * on the other side they are less than the DBL_MIN by which each delta is widened (reading.c). */
#define LEAST_WITHOUT_MEMBERS 0x1p-900

prv_status prv_group_mixture(double noise_multiplier, double *components, size_t length, double spread,
                             bool complete, prv_mechanism **mechanism)
{
    const double *probabilities = components + length;
    if (!(probabilities[0] >= LEAST_WITHOUT_MEMBERS)) return PRV_ERR_GROUP;
    for (size_t k = 0; k < length; k++) components[k] = spread * (double)k;
    const prv_status status = prv_mechanism_gaussian_mixture(noise_multiplier, components, probabilities,
                                                             length, mechanism);
    if (status == PRV_OK) (*mechanism)->without_rarest = !complete;
    return status;
}

/* The mixture whose weights are binomial probabilities. Their relative error is at most PRV_LONG_EPSILON for
 * each member and for each of the four roundings of their odds, and 2^-100 for the sampling probability: less
 * than 4 (n + 2) PRV_LONG_EPSILON. prv_gaussian_mixture_error counts their rounding to double. */
static prv_status binomial_gaussian(double noise_multiplier, sampling s, size_t group_size,
                                    prv_mechanism **mechanism)
{
    const size_t length = group_size + 1;
    double *components = prv_allocate(2 * length, sizeof *components);
    if (components == NULL) return PRV_ERR_MEMORY;
    const bool complete = prv_binomial_probabilities(group_size, s.p, s.rest, components + length);
    const prv_status status = prv_group_mixture(noise_multiplier, components, length, 1.0, complete,
                                                mechanism);
    if (status == PRV_OK) (*mechanism)->density_error = 4.0 * (double)(length + 1) * PRV_LONG_EPSILON;
    prv_release(components);
    return status;
}

/* A group of more than one record: Gaussian noise on the members that are in the sample. Each is sampled on
 * its own. */
static prv_status group_gaussian(double noise_multiplier, sampling s, uint64_t group_size,
                                 prv_mechanism **mechanism)
{
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    prv_status status;
    if (s.p == 0.0) {
        status = prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    } else if (s.p == 1.0) {
        double mu;
        if (!prv_separation((double)group_size, noise_multiplier, &mu)) return PRV_ERR_NOISE_MULTIPLIER;
        status = prv_mechanism_additive(PRV_BASE_GAUSSIAN, mu, mechanism);
        status = prv_with_noise(status, PRV_NOISE_GAUSSIAN, noise_multiplier, mechanism);
    } else {
        status = binomial_gaussian(noise_multiplier, s, (size_t)group_size, mechanism);
    }
    if (status != PRV_OK) return status;
    prv_mechanism *m = *mechanism;
    m->group_size = group_size;
    m->scale = noise_multiplier;
    m->sampled = s.p > 0.0; /* so that prv_mechanism_scaled can change the probability */
    m->sampling_probability = s.p;
    m->sampling_rest = s.rest;
    return prv_with_replacement(status, PRV_REPLACED_UNKNOWN, mechanism);
}

static prv_status make_group_gaussian(double noise_multiplier, double p, uint64_t group_size,
                                      prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (!is_probability((sampling){p, 0.0})) return PRV_ERR_SAMPLING_PROBABILITY;
    if (group_size < 1 || group_size >= PRV_MAX_COMPONENTS) return PRV_ERR_COMPONENTS;
    if (group_size > 1) return group_gaussian(noise_multiplier, (sampling){p, 0.0}, group_size, mechanism);
    prv_mechanism *record = NULL;
    prv_status status = prv_mechanism_gaussian(noise_multiplier, &record);
    if (status != PRV_OK) return status;
    status = prv_mechanism_poisson_subsampled(record, p, mechanism);
    prv_mechanism_free(record);
    return status;
}

prv_status prv_mechanism_group_gaussian(double noise_multiplier, double p, uint64_t group_size,
                                        prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_GROUP_GAUSSIAN,
        .noise = noise_multiplier,
        .sampling_probability = p,
        .group_size = group_size,
    };
    return prv_described(make_group_gaussian(noise_multiplier, p, group_size, mechanism), &made, mechanism);
}

prv_status prv_group_scaled(const prv_mechanism *m, double noise_factor, double probability,
                            prv_mechanism **mechanism)
{
    sampling s = probability_of(m);
    if (probability != s.p) s = (sampling){probability, 0.0};
    if (!is_probability(s)) return PRV_ERR_SAMPLING_PROBABILITY;
    return group_gaussian(m->scale * noise_factor, s, m->group_size, mechanism);
}

/* ---- Mechanisms ------------------------------------------------------------------------------ */

/* What m, sampled from base, keeps of it, so that a parameter can be changed. */
static prv_status keep_base(const prv_mechanism *base, prv_mechanism *m)
{
    m->sampled = 1;
    m->base_replacement = base->sampled ? base->base_replacement : base->replacement;
    if (base->base == PRV_BASE_MIXTURE) {
        const prv_gaussian_mixture *whole = base->base_mixture != NULL ? base->base_mixture : base->mixture;
        return mixture_copy(whole, &m->base_mixture);
    }
    if (base->base != PRV_BASE_ATOMS || base->noise != PRV_NOISE_NONE) return PRV_OK;
    m->base_atoms = prv_atoms_copy(base->base_atoms != NULL ? base->base_atoms : base->atoms[0]);
    return m->base_atoms != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

static prv_replacement replacement_of_sample(const prv_mechanism *base, double p)
{
    if (p == 1.0) return base->replacement;
    const prv_replacement of_base = base->replacement;
    if (of_base == PRV_REPLACED_TWICE && base->base == PRV_BASE_GAUSSIAN) return PRV_REPLACED_MIRRORED;
    if (of_base == PRV_REPLACED_ALIKE && prv_is_disjoint(base)) return PRV_REPLACED_SEEN;
    /* Samples of samples are samples. */
    const bool again = of_base == PRV_REPLACED_MIRRORED || of_base == PRV_REPLACED_SEEN ||
                       of_base == PRV_REPLACED_FOLDED;
    if (again) return of_base;
    const bool is_plain = base->base != PRV_BASE_MIXTURE && base->base != PRV_BASE_TAILS &&
                          base->base != PRV_BASE_CDFS && base->base != PRV_BASE_CURVE;
    const bool stated = of_base == PRV_REPLACED_TWICE || of_base == PRV_REPLACED_ALIKE;
    return stated && is_plain && prv_is_symmetric(base) ? PRV_REPLACED_FOLDED : PRV_REPLACED_UNKNOWN;
}

/* `base` on a Poisson sample of probability p, or on a sample of its own sample: `both` is the probability of
 * the two, of which p is the second. If the base is no sample, p is that of `both` without its rest. */
static prv_status sampled_by(const prv_mechanism *base, double p, sampling both, prv_mechanism **mechanism)
{
    if (base->group_size > 1) return group_gaussian(base->scale, both, base->group_size, mechanism);
    if (p == 0.0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism); /* the identity */
    if (base->base == PRV_BASE_COMBINED)
        return p < 1.0 ? prv_combined_sampled(base, p, mechanism) : prv_mechanism_copy(base, mechanism);
    prv_mechanism *m = prv_mechanism_like(base);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->sampling_probability = both.p;
    m->sampling_rest = both.rest;
    if (base->cut_sampling_probability > 0.0)
        m->cut_sampling_probability = prv_above(base->cut_sampling_probability * p);
    /* Atoms and mixtures take one probability after the other, and not the product: each time masses p q + (1
     * - p) p' are off by 4 roundings more. */
    const bool by_product = base->base != PRV_BASE_ATOMS && base->base != PRV_BASE_MIXTURE;
    m->density_error = base->density_error;
    if (by_product || !base->sampled) m->density_error += relative_rest(both);
    if (!by_product && p < 1.0) m->density_error += 4.0 * PRV_UNIT;
    m->replacement = replacement_of_sample(base, p);
    prv_status status = keep_base(base, m);
    /* Two data sets that lose nothing lose nothing by a sample. */
    if (status == PRV_OK && base->own && base->attained != NULL)
        status = prv_mechanism_copy(base->attained, &m->attained);
    if (status != PRV_OK) goto done;
    if (base->base == PRV_BASE_ATOMS)
        status = atoms_subsampled_pair(base->atoms[0], base->atoms[1], p, m);
    else if (base->base == PRV_BASE_MIXTURE)
        status = mixture_subsampled(base->mixture, p, &m->mixture);
done:
    return prv_mechanism_finish(status, m, mechanism);
}

static prv_status make_poisson_subsampled(const prv_mechanism *base, double p, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!is_probability((sampling){p, 0.0})) return PRV_ERR_SAMPLING_PROBABILITY;
    if (base->replaced_only || base->base == PRV_BASE_CHOICE) return PRV_ERR_NEIGHBORS;
    if (base->dataset_size > 0) return PRV_ERR_PART; /* sizes of a sample of the data set vary */
    if (p < 1.0 && prv_has_two_pairs(base)) return PRV_ERR_PART;
    const sampling both = sampled_again(probability_of(base), p);
    if (p > 0.0 && base->sampling_probability > 0.0 && !(both.p >= DBL_MIN))
        return PRV_ERR_SAMPLING_PROBABILITY;
    return sampled_by(base, p, both, mechanism);
}

prv_status prv_sampled_like(const prv_mechanism *m, const prv_mechanism *base, prv_mechanism **mechanism)
{
    return sampled_by(base, m->sampling_probability, probability_of(m), mechanism);
}

prv_status prv_mechanism_poisson_subsampled(const prv_mechanism *base, double p, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_POISSON_SUBSAMPLED,
        .sampling_probability = p,
        .part_count = 1,
        .parts = &(prv_step){base, 1},
    };
    return prv_described(make_poisson_subsampled(base, p, mechanism), &made, mechanism);
}

/* The pair of data sets whose records are alike but for one in one of them: what is seen is whether it is in
 * the sample. `whole` is the pair of the base where it is. */
static prv_status one_record_seen(const prv_mechanism *whole, double p, prv_mechanism **attained)
{
    prv_mechanism *m = prv_mechanism_like(whole);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->sampling_probability = p;
    const bool atoms = whole->base == PRV_BASE_ATOMS;
    const prv_status status = atoms ? atoms_subsampled_pair(whole->atoms[0], whole->atoms[0], p, m) : PRV_OK;
    return prv_mechanism_finish(status, m, attained);
}

static prv_status make_subsampled_without_replacement(const prv_mechanism *base, double p,
                                                      prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!is_probability((sampling){p, 0.0})) return PRV_ERR_SAMPLING_PROBABILITY;
    if (base->sampled || base->base == PRV_BASE_CHOICE || base->group_size > 1) return PRV_ERR_NEIGHBORS;
    if (base->replacement == PRV_REPLACED_STATED) return PRV_ERR_NEIGHBORS; /* not its own reverse */
    if (base->base == PRV_BASE_COMBINED) return prv_combined_fixed_size(base, p, mechanism);
    prv_mechanism *pair = NULL;
    prv_status status = prv_mechanism_replaced(base, &pair);
    if (status != PRV_OK) return status;
    if (p == 0.0) {
        prv_mechanism_free(pair);
        return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    }
    const prv_mechanism *whole = pair != NULL ? pair : base;
    prv_mechanism *m = prv_mechanism_like(whole);
    status = PRV_ERR_MEMORY;
    if (m == NULL) goto done;
    m->noise = base->noise;
    m->scale = base->scale;
    m->sensitivity = base->sensitivity;
    m->integer_sensitivity = base->integer_sensitivity;
    m->replacement = PRV_REPLACED_ALIKE;
    m->without_replacement = m->replaced_only = true;
    m->sampling_probability = p;
    m->folded = p < 1.0 && whole->base != PRV_BASE_ATOMS;
    status = keep_base(base, m);
    if (status != PRV_OK) goto done;
    if (whole->base == PRV_BASE_ATOMS) {
        const prv_atoms *a = whole->atoms[0];
        m->atoms[0] = m->atoms[1] = p < 1.0 ? prv_atoms_folded(a, p) : prv_atoms_copy(a);
        if (m->atoms[0] == NULL) status = PRV_ERR_MEMORY;
        if (status != PRV_OK) goto done;
    }
    if (p < 1.0) status = one_record_seen(whole, p, &m->attained);
done:
    prv_mechanism_free(pair);
    return prv_mechanism_finish(status, m, mechanism);
}

prv_status prv_mechanism_subsampled_without_replacement(const prv_mechanism *base, double p,
                                                        prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_SUBSAMPLED_WITHOUT_REPLACEMENT,
        .sampling_probability = p,
        .part_count = 1,
        .parts = &(prv_step){base, 1},
    };
    return prv_described(make_subsampled_without_replacement(base, p, mechanism), &made, mechanism);
}
