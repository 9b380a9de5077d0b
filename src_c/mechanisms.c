#include "mechanisms.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"

/* Below this the masses of discrete mechanisms are cut off: a count of 2^53 of them stays below
 * 1e-300, the smallest delta that bounds are promised for. */
#define CUT_OFF_LOG_MASS (-735.0)

#define UNIT (0.5 * DBL_EPSILON)

double prv_subsampled_loss(double y, double p)
{
    if (p >= 1.0) return y;
    if (y > 700.0) return y + log(p) + log1p((1.0 - p) / p * exp(-y));
    const double growth = p * expm1(y);
    /* 1 + growth would cancel where p is near 1. */
    return growth < -0.5 ? log((1.0 - p) + p * exp(y)) : log1p(growth);
}

double prv_base_loss(double y, double p)
{
    if (p >= 1.0) return y;
    if (y > 30.0) return y - log(p) + log1p((p - 1.0) * exp(-y));
    const double ratio = expm1(y) / p;
    if (ratio >= -0.5) return log1p(ratio);
    /* e^y - (1 - p), far from its zero and next to it. */
    const double t = exp(y), rest = 1.0 - p;
    const double above = t > 2.0 * rest ? t - rest : rest * expm1(y - log1p(-p));
    return above > 0.0 ? log(above / p) : -HUGE_VAL;
}

/* ---- Atoms ------------------------------------------------------------------------------- */

static void atoms_free(prv_atoms *a)
{
    if (a == NULL) return;
    prv_release(a->loss);
    prv_release(a);
}

/* The three arrays share one block. */
static prv_atoms *atoms_new(size_t length)
{
    prv_atoms *a = prv_allocate(1, sizeof *a);
    if (a == NULL) return NULL;
    memset(a, 0, sizeof *a);
    a->length = length;
    a->loss = length <= PRV_MAX_ATOMS + 1 ? prv_allocate(3 * length, sizeof *a->loss) : NULL;
    if (a->loss == NULL) {
        prv_release(a);
        return NULL;
    }
    a->q = a->loss + length;
    a->p = a->q + length;
    return a;
}

static prv_atoms *atoms_copy(const prv_atoms *a)
{
    prv_atoms *copy = atoms_new(a->length);
    if (copy == NULL) return NULL;
    double *loss = copy->loss, *q = copy->q, *p = copy->p;
    *copy = *a;
    copy->loss = loss;
    copy->q = q;
    copy->p = p;
    memcpy(loss, a->loss, a->length * sizeof *loss);
    memcpy(q, a->q, a->length * sizeof *q);
    memcpy(p, a->p, a->length * sizeof *p);
    return copy;
}

static prv_atoms *atoms_reversed(const prv_atoms *a)
{
    prv_atoms *r = atoms_new(a->length);
    if (r == NULL) return NULL;
    for (size_t i = 0; i < a->length; i++) {
        const size_t j = a->length - 1 - i;
        r->loss[i] = -a->loss[j];
        r->q[i] = a->p[j];
        r->p[i] = a->q[j];
    }
    r->q_infinity = a->p_only;
    r->p_only = a->q_infinity;
    r->loss_error = a->loss_error;
    r->unbounded = a->unbounded;
    return r;
}

/* What log(1 + p (e^y - 1)) may be off by relatively, where y is by `error`: y times its derivative is at
 * most 1.5 (1 + |y|) times itself. */
static double subsampled_loss_error(double y, double error)
{
    return 8.0 * UNIT + 1.5 * (1.0 + fabs(y)) * (error + UNIT);
}

/* ((1-p)P + pQ, P): outcomes stay the same, P-mass where Q vanishes becomes an atom at log(1-p). */
static prv_atoms *atoms_subsampled(const prv_atoms *a, double p)
{
    const size_t extra = a->p_only > 0.0 && p < 1.0 ? 1 : 0;
    prv_atoms *s = atoms_new(a->length + extra);
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
    s->loss_error = p < 1.0 ? subsampled_loss_error(widest, a->loss_error) : a->loss_error;
    s->q_infinity = p * a->q_infinity;
    s->p_only = extra ? 0.0 : a->p_only;
    s->unbounded = a->unbounded;
    return s;
}

/* The symmetric pair whose losses above 0 are those of ((1-p)P + pQ, P), of a pair that is its own reverse. */
static prv_atoms *atoms_folded(const prv_atoms *a, double p)
{
    prv_atoms *s = atoms_subsampled(a, p);
    size_t above = 0;
    while (s != NULL && above < s->length && s->loss[s->length - 1 - above] > 0.0) above++;
    prv_atoms *f = s != NULL ? atoms_new(2 * above + 1) : NULL;
    if (f != NULL) {
        long double rest = 1.0L - (long double)s->q_infinity;
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
        f->q_infinity = f->p_only = s->q_infinity;
        f->unbounded = s->unbounded;
        f->loss_error = s->loss_error;
    }
    atoms_free(s);
    return f;
}

/* ---- Constructors ------------------------------------------------------------------------ */

static prv_mechanism *mechanism_new(prv_base base)
{
    prv_mechanism *m = prv_allocate(1, sizeof *m);
    if (m == NULL) return NULL;
    memset(m, 0, sizeof *m);
    m->base = base;
    m->sampling_probability = 1.0;
    return m;
}

void prv_mechanism_free(prv_mechanism *m)
{
    if (m == NULL) return;
    if (m->atoms[1] != m->atoms[0]) atoms_free(m->atoms[1]);
    atoms_free(m->atoms[0]);
    atoms_free(m->base_atoms);
    prv_gaussian_mixture_free(m->mixture);
    prv_gaussian_mixture_free(m->base_mixture);
    prv_mechanism_free(m->part[0]);
    prv_mechanism_free(m->part[1]);
    prv_release(m);
}

/* Takes the atoms, which serve both directions. */
static prv_status mechanism_of_atoms(prv_atoms *atoms, prv_mechanism **mechanism)
{
    if (atoms == NULL) return PRV_ERR_MEMORY;
    prv_mechanism *m = mechanism_new(PRV_BASE_ATOMS);
    if (m == NULL) {
        atoms_free(atoms);
        return PRV_ERR_MEMORY;
    }
    m->atoms[0] = m->atoms[1] = atoms;
    *mechanism = m;
    return PRV_OK;
}

static prv_status with_replacement(prv_status status, prv_replacement replacement, prv_mechanism **mechanism)
{
    if (status == PRV_OK) (*mechanism)->replacement = replacement;
    return status;
}

/* P and Q share no outcome: epsilon is infinite. */
static prv_status mechanism_disjoint(prv_mechanism **mechanism)
{
    prv_atoms *a = atoms_new(0);
    if (a != NULL) a->q_infinity = a->p_only = 1.0;
    return with_replacement(mechanism_of_atoms(a, mechanism), PRV_REPLACED_ALIKE, mechanism);
}

static int is_disjoint(const prv_mechanism *m)
{
    return m->base == PRV_BASE_ATOMS && m->atoms[0]->q_infinity == 1.0;
}

double prv_separation(double sensitivity, double noise)
{
    return sensitivity / fabs(noise);
}

int prv_noiseless(double sensitivity)
{
    return !(sensitivity < 1e150);
}

static prv_status mechanism_additive(prv_base base, double mu, prv_mechanism **mechanism)
{
    if (prv_noiseless(mu)) return mechanism_disjoint(mechanism);
    prv_mechanism *m = mechanism_new(base);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->mu = mu;
    m->replacement = base == PRV_BASE_BOUNDED_RANGE ? PRV_REPLACED_ALIKE : PRV_REPLACED_TWICE;
    *mechanism = m;
    return PRV_OK;
}

/* Remembers what prv_mechanism_scaled needs. Without noise there is nothing to multiply. */
static prv_status with_noise(prv_status status, prv_noise noise, double scale, prv_mechanism **mechanism)
{
    if (status != PRV_OK || scale == 0.0) return status;
    (*mechanism)->noise = noise;
    (*mechanism)->scale = scale;
    return PRV_OK;
}

prv_status prv_mechanism_gaussian(double noise_multiplier, prv_mechanism **mechanism)
{
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    const prv_status status = mechanism_additive(PRV_BASE_GAUSSIAN, prv_separation(1.0, noise_multiplier), mechanism);
    return with_noise(status, PRV_NOISE_GAUSSIAN, noise_multiplier, mechanism);
}

/* Centres >= 0 in standard deviations, not all 0, and weights >= 0, not all of them 0. */
static prv_status mechanism_of_mixture(const double *centers, const double *weights, size_t length,
                                       int mirrored, prv_mechanism **mechanism)
{
    prv_mechanism *m = mechanism_new(PRV_BASE_MIXTURE);
    if (m == NULL) return PRV_ERR_MEMORY;
    const prv_status status = prv_gaussian_mixture_new(centers, weights, length, mirrored, &m->mixture);
    if (status != PRV_OK) {
        prv_mechanism_free(m);
        return status;
    }
    if (mirrored) m->replacement = PRV_REPLACED_ALIKE;
    *mechanism = m;
    return PRV_OK;
}

/* P and Q share the outcomes of probability `same` alone. */
static prv_status mechanism_disjoint_but(double same, prv_mechanism **mechanism)
{
    prv_mechanism *disjoint = NULL;
    prv_status status = mechanism_disjoint(&disjoint);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(disjoint, 1.0 - same, mechanism);
    if (status == PRV_OK) {
        (*mechanism)->sampled = 0; /* that is no parameter of it */
        (*mechanism)->replacement = PRV_REPLACED_UNKNOWN;
    }
    prv_mechanism_free(disjoint);
    return status;
}

prv_status prv_mechanism_gaussian_mixture(double noise_multiplier, const double *sensitivities,
                                          const double *probabilities, size_t length,
                                          prv_mechanism **mechanism)
{
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (length > PRV_MAX_COMPONENTS) return PRV_ERR_COMPONENTS;
    long double sum = 0.0L, same = 0.0L;
    for (size_t i = 0; i < length; i++) {
        if (!(sensitivities[i] >= 0.0 && isfinite(sensitivities[i]))) return PRV_ERR_COMPONENTS;
        if (!(probabilities[i] >= 0.0 && probabilities[i] <= 2.0)) return PRV_ERR_COMPONENTS;
        sum += (long double)probabilities[i];
        if (sensitivities[i] == 0.0) same += (long double)probabilities[i];
    }
    if (!(fabsl(sum - 1.0L) <= 1e-9L)) return PRV_ERR_COMPONENTS;
    double *centers = prv_allocate(length, sizeof *centers);
    if (centers == NULL) return PRV_ERR_MEMORY;
    size_t near = 0, far = 0; /* centres that tell P and Q apart sometimes, and those that always do */
    for (size_t i = 0; i < length; i++) {
        centers[i] = sensitivities[i] > 0.0 ? prv_separation(sensitivities[i], noise_multiplier) : 0.0;
        if (probabilities[i] > 0.0 && centers[i] > 0.0) *(prv_noiseless(centers[i]) ? &far : &near) += 1;
    }
    prv_status status;
    if (near > 0 && far > 0)
        status = PRV_ERR_COMPONENTS;
    else if (near > 0)
        status = with_noise(mechanism_of_mixture(centers, probabilities, length, 0, mechanism),
                            PRV_NOISE_MIXTURE, noise_multiplier, mechanism);
    else
        status = mechanism_disjoint_but((double)(same / sum), mechanism);
    prv_release(centers);
    return status;
}

/* Binomial(n, p) probabilities of 0..n, from the mode outwards. 0 < p < 1. */
static void binomial(size_t n, double p, double *probability)
{
    const long double odds = (long double)p / (1.0L - (long double)p);
    const size_t mode = (size_t)fmin((double)n, floor(((double)n + 1.0) * p));
    long double sum = 1.0L, term = 1.0L;
    probability[mode] = 1.0;
    for (size_t k = mode; k < n; k++) {
        term *= odds * (long double)(n - k) / (long double)(k + 1);
        probability[k + 1] = (double)term;
        sum += term;
    }
    term = 1.0L;
    for (size_t k = mode; k > 0; k--) {
        term *= (long double)k / (odds * (long double)(n - k + 1));
        probability[k - 1] = (double)term;
        sum += term;
    }
    for (size_t k = 0; k <= n; k++) probability[k] = (double)((long double)probability[k] / sum);
}

prv_status prv_mechanism_group_gaussian(double noise_multiplier, double p, uint64_t group_size,
                                        prv_mechanism **mechanism)
{
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (!(p >= 0.0 && p <= 1.0)) return PRV_ERR_SAMPLING_PROBABILITY;
    if (group_size < 1 || group_size >= PRV_MAX_COMPONENTS) return PRV_ERR_COMPONENTS;
    if (p == 0.0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    if (p == 1.0) {
        const prv_status whole = prv_mechanism_gaussian(noise_multiplier / (double)group_size, mechanism);
        return with_replacement(whole, PRV_REPLACED_UNKNOWN, mechanism);
    }
    const size_t length = (size_t)group_size + 1;
    double *sensitivities = prv_allocate(2 * length, sizeof *sensitivities);
    if (sensitivities == NULL) return PRV_ERR_MEMORY;
    for (size_t k = 0; k < length; k++) sensitivities[k] = (double)k;
    binomial(length - 1, p, sensitivities + length);
    const prv_status status = prv_mechanism_gaussian_mixture(noise_multiplier, sensitivities,
                                                             sensitivities + length, length, mechanism);
    prv_release(sensitivities);
    return status;
}

prv_status prv_mechanism_laplace(double scale, double sensitivity, prv_mechanism **mechanism)
{
    if (!(scale >= 0.0 && isfinite(scale))) return PRV_ERR_SCALE;
    if (!(sensitivity > 0.0 && isfinite(sensitivity))) return PRV_ERR_SENSITIVITY;
    const prv_status status = mechanism_additive(PRV_BASE_LAPLACE, prv_separation(sensitivity, scale), mechanism);
    if (status == PRV_OK) (*mechanism)->sensitivity = sensitivity;
    return with_noise(status, PRV_NOISE_LAPLACE, scale, mechanism);
}

prv_status prv_mechanism_approximate_dp(double epsilon, double delta, prv_mechanism **mechanism)
{
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (!(delta >= 0.0 && delta <= 1.0)) return PRV_ERR_DELTA;
    prv_atoms *a = atoms_new(epsilon > 0.0 ? 2 : 1);
    if (a == NULL) return PRV_ERR_MEMORY;
    const double low = (1.0 - delta) / (1.0 + exp(epsilon)); /* 0 at overflow, which is right */
    const double high = (1.0 - delta) / (1.0 + exp(-epsilon));
    if (epsilon > 0.0) {
        a->loss[0] = -epsilon;
        a->q[0] = a->p[1] = low;
        a->loss[1] = epsilon;
        a->q[1] = a->p[0] = high;
    } else {
        a->loss[0] = 0.0;
        a->q[0] = a->p[0] = 1.0 - delta;
    }
    a->q_infinity = a->p_only = delta;
    const prv_status status = mechanism_of_atoms(a, mechanism);
    if (status == PRV_OK) (*mechanism)->infinite_exact = 1;
    return with_replacement(status, PRV_REPLACED_ALIKE, mechanism);
}

prv_status prv_mechanism_bounded_range(double epsilon, prv_mechanism **mechanism)
{
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (epsilon == 0.0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    return mechanism_additive(PRV_BASE_BOUNDED_RANGE, epsilon, mechanism);
}

prv_status prv_mechanism_randomized_response(double epsilon, uint64_t categories, prv_mechanism **mechanism)
{
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (categories < 2) return PRV_ERR_COMPONENTS;
    /* The answer itself, each of the others, and those that are neither of two answers. */
    const double others = (double)categories - 1.0, own = 1.0 / (1.0 + others * exp(-epsilon));
    const double other = 1.0 / (exp(epsilon) + others), neither = (others - 1.0) * other;
    const size_t length = epsilon > 0.0 ? (categories > 2 ? 3 : 2) : 1;
    prv_atoms *a = atoms_new(length);
    if (a != NULL && length == 1) {
        a->loss[0] = 0.0;
        a->q[0] = a->p[0] = 1.0;
    } else if (a != NULL) {
        a->loss[0] = -epsilon;
        a->q[0] = a->p[length - 1] = other;
        a->loss[length - 1] = epsilon;
        a->q[length - 1] = a->p[0] = own;
        if (length == 3) {
            a->loss[1] = 0.0;
            a->q[1] = a->p[1] = neither;
        }
    }
    prv_status status = mechanism_of_atoms(a, mechanism);
    status = with_replacement(status, PRV_REPLACED_ALIKE, mechanism);
    if (status == PRV_OK) (*mechanism)->replaced_only = 1;
    return status;
}

static prv_status discrete_gaussian(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    const double shift = (double)sensitivity, reach = ceil(scale * sqrt(-2.0 * CUT_OFF_LOG_MASS));
    /* Outcomes x from -reach to shift + reach: beyond, both masses underflow. The loss is
     * ((2x - shift) shift) / (2 scale^2) with Q centred on the shift. */
    const double outcomes = 2.0 * reach + shift + 1.0;
    if (!(outcomes <= (double)PRV_MAX_ATOMS)) {
        /* P and Q lie so far apart that no outcome has mass under both. */
        return shift > 2.0 * reach && 2.0 * reach + 1.0 <= (double)PRV_MAX_ATOMS
                   ? mechanism_disjoint(mechanism)
                   : PRV_ERR_SUPPORT;
    }
    prv_atoms *a = atoms_new((size_t)outcomes);
    if (a == NULL) return PRV_ERR_MEMORY;
    long double normaliser = 0.0L;
    for (double x = reach; x >= 1.0; x -= 1.0)
        normaliser += 2.0L * (long double)exp(-0.5 * (x / scale) * (x / scale));
    normaliser += 1.0L;
    for (size_t i = 0; i < a->length; i++) {
        const double x = (double)i - reach, z = x / scale, zq = (x - shift) / scale;
        a->loss[i] = 0.5 * (2.0 * x - shift) / scale * (shift / scale);
        a->p[i] = (double)((long double)exp(-0.5 * z * z) / normaliser);
        a->q[i] = (double)((long double)exp(-0.5 * zq * zq) / normaliser);
    }
    a->unbounded = 1;
    a->loss_error = 4.0 * UNIT;
    return mechanism_of_atoms(a, mechanism);
}

static prv_status discrete_laplace(double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    if ((uint64_t)sensitivity >= PRV_MAX_ATOMS) return PRV_ERR_SUPPORT;
    const size_t last = (size_t)sensitivity;
    /* The loss (|x| - |x - shift|) / scale takes the values (2i - shift) / scale, i = 0..shift: inner
     * ones at one outcome each, the two outermost on the whole geometric tails x <= 0 and x >= shift.
     * With r = e^(-1/scale) the pmf is (1-r)/(1+r) r^|x| and a tail from 0 on is 1/(1+r). */
    const double rate = 1.0 / scale, r = exp(-rate), inner = -expm1(-rate) / (1.0 + r);
    prv_atoms *a = atoms_new(last + 1);
    if (a == NULL) return PRV_ERR_MEMORY;
    for (size_t i = 0; i <= last; i++) {
        const double below = (double)i, above = (double)(last - i);
        const double weight = i == 0 || i == last ? 1.0 / (1.0 + r) : inner;
        a->loss[i] = (below - above) * rate;
        a->p[i] = weight * exp(-below * rate);
        a->q[i] = weight * exp(-above * rate);
    }
    a->loss_error = 2.0 * UNIT;
    return mechanism_of_atoms(a, mechanism);
}

static prv_status discrete(prv_noise noise, double scale, int64_t sensitivity, prv_mechanism **mechanism)
{
    if (!(scale > 0.0 && isfinite(scale))) return PRV_ERR_SCALE;
    if (sensitivity < 1) return PRV_ERR_SENSITIVITY;
    if (prv_noiseless(prv_separation((double)sensitivity, scale))) return mechanism_disjoint(mechanism);
    const prv_status status = noise == PRV_NOISE_DISCRETE_GAUSSIAN
                                  ? discrete_gaussian(scale, sensitivity, mechanism)
                                  : discrete_laplace(scale, sensitivity, mechanism);
    if (status != PRV_OK || is_disjoint(*mechanism)) return status;
    (*mechanism)->integer_sensitivity = sensitivity;
    return with_noise(with_replacement(status, PRV_REPLACED_TWICE, mechanism), noise, scale, mechanism);
}

prv_status prv_mechanism_discrete_gaussian(double scale, int64_t sensitivity,
                                           prv_mechanism **mechanism)
{
    return discrete(PRV_NOISE_DISCRETE_GAUSSIAN, scale, sensitivity, mechanism);
}

prv_status prv_mechanism_discrete_laplace(double scale, int64_t sensitivity,
                                          prv_mechanism **mechanism)
{
    return discrete(PRV_NOISE_DISCRETE_LAPLACE, scale, sensitivity, mechanism);
}

prv_status prv_mechanism_table(const double *losses, const double *probabilities, size_t length,
                               double mass_at_infinity, prv_mechanism **mechanism)
{
    if (!(mass_at_infinity >= 0.0 && mass_at_infinity <= 1.0)) return PRV_ERR_TABLE;
    if (length > PRV_MAX_ATOMS) return PRV_ERR_SUPPORT;
    long double sum = (long double)mass_at_infinity, sum_p = 0.0L;
    for (size_t i = 0; i < length; i++) {
        const double y = losses[i], q = probabilities[i];
        if (!(isfinite(y) && q >= 0.0 && q <= 2.0) || (i > 0 && !(losses[i - 1] < y)))
            return PRV_ERR_TABLE;
        sum += (long double)q;
        if (q > 0.0) sum_p += expl(logl((long double)q) - (long double)y);
    }
    if (!(fabsl(sum - 1.0L) <= 1e-9L)) return PRV_ERR_TABLE_SUM;
    if (!(sum_p / sum <= 1.0L + 1e-9L)) return PRV_ERR_TABLE_REVERSE;
    prv_atoms *a = atoms_new(length);
    if (a == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (probabilities[i] == 0.0) continue;
        const long double q = (long double)probabilities[i] / sum;
        a->loss[n] = losses[i];
        a->q[n] = (double)q;
        a->p[n++] = (double)expl(logl(q) - (long double)losses[i]);
    }
    a->length = n;
    a->q_infinity = (double)((long double)mass_at_infinity / sum);
    a->p_only = sum_p / sum < 1.0L ? (double)(1.0L - sum_p / sum) : 0.0;
    return mechanism_of_atoms(a, mechanism);
}

static prv_status mechanism_of_callback(prv_base base, void *context, double mass_at_infinity,
                                        prv_mechanism **mechanism)
{
    if (!(mass_at_infinity >= 0.0 && mass_at_infinity <= 1.0)) return PRV_ERR_TABLE;
    prv_mechanism *m = mechanism_new(base);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->context = context;
    m->mass_at_infinity = mass_at_infinity;
    m->infinite_exact = 1;
    *mechanism = m;
    return PRV_OK;
}

prv_status prv_mechanism_cdfs(prv_cdf_callback cdfs, void *context, double mass_at_infinity,
                              prv_mechanism **mechanism)
{
    const prv_status status =
        mechanism_of_callback(PRV_BASE_CDFS, context, mass_at_infinity, mechanism);
    if (status == PRV_OK) (*mechanism)->cdfs = cdfs;
    return status;
}

prv_status prv_mechanism_curve(prv_curve_callback curve, void *context, double mass_at_infinity,
                               prv_mechanism **mechanism)
{
    const prv_status status =
        mechanism_of_callback(PRV_BASE_CURVE, context, mass_at_infinity, mechanism);
    if (status == PRV_OK) (*mechanism)->curve = curve;
    return status;
}

/* rev(sub(rev(add))) for 'add', sub(remove) for 'remove'. */
static prv_status atoms_subsampled_pair(const prv_atoms *remove, const prv_atoms *add, double p,
                                        prv_mechanism *m)
{
    if (p == 1.0 && remove == add) { /* both directions stay one pair */
        m->atoms[0] = m->atoms[1] = atoms_copy(remove);
        return m->atoms[0] != NULL ? PRV_OK : PRV_ERR_MEMORY;
    }
    prv_atoms *reversed = atoms_reversed(add);
    prv_atoms *subsampled = reversed != NULL ? atoms_subsampled(reversed, p) : NULL;
    m->atoms[0] = atoms_subsampled(remove, p);
    m->atoms[1] = subsampled != NULL ? atoms_reversed(subsampled) : NULL;
    atoms_free(reversed);
    atoms_free(subsampled);
    return m->atoms[0] != NULL && m->atoms[1] != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

/* ((1-p)P + pQ, P) is of the same kind: one more component, at 0. */
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

/* A mechanism that owns nothing, with all else of `m`. */
static prv_mechanism *mechanism_like(const prv_mechanism *m)
{
    prv_mechanism *like = mechanism_new(m->base);
    if (like == NULL) return NULL;
    *like = *m;
    like->atoms[0] = like->atoms[1] = like->base_atoms = NULL;
    like->mixture = like->base_mixture = NULL;
    like->part[0] = like->part[1] = NULL;
    return like;
}

prv_status prv_mechanism_choice(prv_mechanism *const part[2], const double weight[2], double error,
                                prv_mechanism **mechanism)
{
    prv_mechanism *m = mechanism_new(PRV_BASE_CHOICE);
    if (m == NULL) {
        prv_mechanism_free(part[0]);
        prv_mechanism_free(part[1]);
        return PRV_ERR_MEMORY;
    }
    m->part[0] = part[0];
    m->part[1] = part[1];
    m->part_weight[0] = weight[0];
    m->part_weight[1] = weight[1];
    m->part_error = error;
    *mechanism = m;
    return PRV_OK;
}

/* Of a truncated Poisson sample: that without truncation as it is, and a sample of fixed size. */
static prv_status choice_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    prv_mechanism *part[2] = {NULL, NULL}, *noise = NULL;
    prv_status status = prv_mechanism_replaced(m->part[0], &part[0]);
    if (status == PRV_OK && part[0] == NULL) {
        /* Without noise, and always sampled. */
        status = mechanism_disjoint(&part[0]);
    }
    if (status == PRV_OK) status = prv_mechanism_gaussian(m->scale, &noise);
    const double kept = m->part[1]->sampling_probability;
    if (status == PRV_OK) status = prv_mechanism_subsampled_without_replacement(noise, kept, &part[1]);
    prv_mechanism_free(noise);
    if (status != PRV_OK) {
        prv_mechanism_free(part[0]);
        return status;
    }
    return prv_mechanism_choice(part, m->part_weight, m->part_error, pair);
}

typedef struct outcome {
    double loss, q, p;
} outcome;

static int by_loss(const void *a, const void *b)
{
    const double x = ((const outcome *)a)->loss, y = ((const outcome *)b)->loss;
    return (x > y) - (x < y);
}

prv_status prv_mechanism_outcomes(const double *q, const double *p, size_t length, prv_mechanism **mechanism)
{
    outcome *sorted = prv_allocate(length, sizeof *sorted);
    prv_atoms *a = atoms_new(length), *reversed = NULL;
    if (sorted != NULL && a != NULL) {
        for (size_t i = 0; i < length; i++) sorted[i] = (outcome){log(q[i] / p[i]), q[i], p[i]};
        qsort(sorted, length, sizeof *sorted, by_loss);
        size_t n = 0;
        for (size_t i = 0; i < length; i++) {
            if (n > 0 && a->loss[n - 1] == sorted[i].loss) {
                a->q[n - 1] += sorted[i].q;
                a->p[n - 1] += sorted[i].p;
                continue;
            }
            a->loss[n] = sorted[i].loss;
            a->q[n] = sorted[i].q;
            a->p[n++] = sorted[i].p;
        }
        a->length = n;
        a->unbounded = 1;
        a->loss_error = 8.0 * UNIT;
        reversed = atoms_reversed(a);
    }
    prv_release(sorted);
    if (reversed == NULL) {
        atoms_free(a);
        return PRV_ERR_MEMORY;
    }
    const prv_status status = mechanism_of_atoms(a, mechanism);
    if (status == PRV_OK)
        (*mechanism)->atoms[1] = reversed;
    else
        atoms_free(reversed);
    return status;
}

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
    m->base_atoms = atoms_copy(base->base_atoms != NULL ? base->base_atoms : base->atoms[0]);
    return m->base_atoms != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

static prv_replacement replacement_of_sample(const prv_mechanism *base, double p)
{
    if (p == 1.0) return base->replacement;
    const prv_replacement of_base = base->replacement;
    if (of_base == PRV_REPLACED_TWICE && base->base == PRV_BASE_GAUSSIAN) return PRV_REPLACED_MIRRORED;
    if (of_base == PRV_REPLACED_ALIKE && is_disjoint(base)) return PRV_REPLACED_SEEN;
    /* Samples of samples are samples. */
    const int again = of_base == PRV_REPLACED_MIRRORED || of_base == PRV_REPLACED_SEEN;
    return again ? of_base : PRV_REPLACED_UNKNOWN;
}

prv_status prv_mechanism_poisson_subsampled(const prv_mechanism *base, double p,
                                            prv_mechanism **mechanism)
{
    if (!(p >= 0.0 && p <= 1.0)) return PRV_ERR_SAMPLING_PROBABILITY;
    if (base->replaced_only || base->base == PRV_BASE_CHOICE) return PRV_ERR_NEIGHBORS;
    if (p == 0.0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism); /* the identity */
    prv_mechanism *m = mechanism_like(base);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->sampling_probability = base->sampling_probability * p;
    m->infinite_exact = base->infinite_exact && p == 1.0;
    m->replacement = replacement_of_sample(base, p);
    prv_status status = keep_base(base, m);
    if (status == PRV_OK && base->base == PRV_BASE_ATOMS)
        status = atoms_subsampled_pair(base->atoms[0], base->atoms[1], p, m);
    else if (status == PRV_OK && base->base == PRV_BASE_MIXTURE)
        status = mixture_subsampled(base->mixture, p, &m->mixture);
    if (status != PRV_OK) {
        prv_mechanism_free(m);
        return status;
    }
    *mechanism = m;
    return PRV_OK;
}

prv_status prv_mechanism_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    const double p = m->sampling_probability;
    *pair = NULL;
    switch (m->replacement) {
    case PRV_REPLACED_UNKNOWN: return PRV_ERR_NEIGHBORS;
    case PRV_REPLACED_ALIKE: return PRV_OK;
    case PRV_REPLACED_TWICE: {
        if (m->base != PRV_BASE_ATOMS) return mechanism_additive(m->base, 2.0 * m->mu, pair);
        const int64_t once = m->integer_sensitivity, twice = once <= INT64_MAX / 2 ? 2 * once : INT64_MAX;
        return discrete(m->noise, m->scale, twice, pair);
    }
    case PRV_REPLACED_MIRRORED: {
        const double centers[2] = {0.0, m->mu}, weights[2] = {1.0 - p, p};
        return mechanism_of_mixture(centers, weights, 2, 1, pair);
    }
    case PRV_REPLACED_SEEN: return prv_mechanism_approximate_dp(0.0, p, pair);
    case PRV_REPLACED_CHOICE: return choice_replaced(m, pair);
    }
    return PRV_ERR_NEIGHBORS;
}

prv_status prv_mechanism_check_neighbors(const prv_mechanism *m, prv_neighbors neighbors)
{
    const int replaced = neighbors == PRV_REPLACE_ONE;
    const int known = replaced ? m->replacement != PRV_REPLACED_UNKNOWN : !m->replaced_only;
    return known ? PRV_OK : PRV_ERR_NEIGHBORS;
}

prv_status prv_mechanism_subsampled_without_replacement(const prv_mechanism *base, double p,
                                                        prv_mechanism **mechanism)
{
    if (!(p >= 0.0 && p <= 1.0)) return PRV_ERR_SAMPLING_PROBABILITY;
    if (base->sampled || base->base == PRV_BASE_CHOICE) return PRV_ERR_NEIGHBORS;
    prv_mechanism *pair = NULL;
    prv_status status = prv_mechanism_replaced(base, &pair);
    if (status == PRV_OK && p == 0.0) {
        prv_mechanism_free(pair);
        return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    }
    const prv_mechanism *whole = pair != NULL ? pair : base;
    prv_mechanism *m = status == PRV_OK ? mechanism_like(whole) : NULL;
    if (status == PRV_OK && m == NULL) status = PRV_ERR_MEMORY;
    if (status == PRV_OK) {
        m->noise = base->noise;
        m->scale = base->scale;
        m->sensitivity = base->sensitivity;
        m->integer_sensitivity = base->integer_sensitivity;
        m->replacement = PRV_REPLACED_ALIKE;
        m->without_replacement = m->replaced_only = 1;
        m->sampling_probability = p;
        m->infinite_exact = whole->infinite_exact && p == 1.0;
        m->folded = p < 1.0 && whole->base != PRV_BASE_ATOMS;
        status = keep_base(base, m);
    }
    if (status == PRV_OK && whole->base == PRV_BASE_ATOMS) {
        m->atoms[0] = m->atoms[1] = p < 1.0 ? atoms_folded(whole->atoms[0], p) : atoms_copy(whole->atoms[0]);
        if (m->atoms[0] == NULL) status = PRV_ERR_MEMORY;
    }
    prv_mechanism_free(pair);
    if (status != PRV_OK) {
        prv_mechanism_free(m);
        return status;
    }
    *mechanism = m;
    return PRV_OK;
}

/* The mechanism that was sampled, with its noise multiplied by a factor. */
static prv_status unsampled(const prv_mechanism *m, double factor, prv_mechanism **mechanism)
{
    const double scale = m->scale * factor;
    switch (m->noise) {
    case PRV_NOISE_GAUSSIAN: return prv_mechanism_gaussian(scale, mechanism);
    case PRV_NOISE_LAPLACE: return prv_mechanism_laplace(scale, m->sensitivity, mechanism);
    case PRV_NOISE_DISCRETE_GAUSSIAN:
    case PRV_NOISE_DISCRETE_LAPLACE:
        if (scale == 0.0) return mechanism_disjoint(mechanism);
        return discrete(m->noise, scale, m->integer_sensitivity, mechanism);
    case PRV_NOISE_MIXTURE: {
        /* Its centres are those of the noise that it has: a factor is all there is to change. */
        const prv_components *q = m->base_mixture != NULL ? &m->base_mixture->q : &m->mixture->q;
        const prv_status status =
            prv_mechanism_gaussian_mixture(factor, q->center, q->weight, q->length, mechanism);
        if (status == PRV_OK) (*mechanism)->scale = scale;
        return status;
    }
    case PRV_NOISE_NONE: break;
    }
    const prv_replacement replacement = m->sampled ? m->base_replacement : m->replacement;
    prv_status status = PRV_OK;
    prv_mechanism *copy = mechanism_like(m);
    if (copy == NULL) return PRV_ERR_MEMORY;
    copy->sampled = copy->without_replacement = copy->replaced_only = copy->folded = 0;
    copy->sampling_probability = 1.0;
    copy->replacement = replacement;
    if (m->base == PRV_BASE_ATOMS) {
        copy->atoms[0] = copy->atoms[1] = atoms_copy(m->base_atoms != NULL ? m->base_atoms : m->atoms[0]);
        if (copy->atoms[0] == NULL) status = PRV_ERR_MEMORY;
    }
    if (status != PRV_OK) {
        prv_mechanism_free(copy);
        return status;
    }
    *mechanism = copy;
    return PRV_OK;
}

int prv_has_parameter(const prv_mechanism *m, prv_parameter parameter)
{
    if (m->base == PRV_BASE_CHOICE)
        return parameter == PRV_NOISE_SCALE && prv_has_parameter(m->part[0], parameter) &&
               prv_has_parameter(m->part[1], parameter);
    return parameter == PRV_NOISE_SCALE ? m->noise != PRV_NOISE_NONE
                                        : parameter == PRV_SAMPLING_PROBABILITY && m->sampled;
}

/* Which of the parts it is does not depend on the noise. */
static prv_status choice_scaled(const prv_mechanism *m, double factor, prv_mechanism **mechanism)
{
    prv_mechanism *part[2] = {NULL, NULL};
    prv_status status = prv_mechanism_scaled(m->part[0], PRV_NOISE_SCALE, factor, &part[0]);
    if (status == PRV_OK) status = prv_mechanism_scaled(m->part[1], PRV_NOISE_SCALE, factor, &part[1]);
    if (status != PRV_OK) {
        prv_mechanism_free(part[0]);
        return status;
    }
    status = prv_mechanism_choice(part, m->part_weight, m->part_error, mechanism);
    if (status == PRV_OK) {
        (*mechanism)->scale = m->scale * factor;
        (*mechanism)->replacement = m->replacement;
    }
    return status;
}

prv_status prv_mechanism_scaled(const prv_mechanism *m, prv_parameter parameter, double factor,
                                prv_mechanism **mechanism)
{
    if (!prv_has_parameter(m, parameter)) return PRV_ERR_PARAMETER;
    if (!(factor >= 0.0 && isfinite(factor))) return PRV_ERR_PARAMETER;
    if (m->base == PRV_BASE_CHOICE) return choice_scaled(m, factor, mechanism);
    const int noise = parameter == PRV_NOISE_SCALE;
    double p = noise ? m->sampling_probability : m->sampling_probability * factor;
    if (p > 1.0 && p <= 1.0 + 2.0 * DBL_EPSILON) p = 1.0; /* p * (1 / p) */
    prv_mechanism *base = NULL;
    prv_status status = unsampled(m, noise ? factor : 1.0, &base);
    if (status != PRV_OK) return status;
    if (!m->sampled) {
        *mechanism = base;
        return PRV_OK;
    }
    status = m->without_replacement ? prv_mechanism_subsampled_without_replacement(base, p, mechanism)
                                    : prv_mechanism_poisson_subsampled(base, p, mechanism);
    prv_mechanism_free(base);
    return status;
}

/* ---- Properties -------------------------------------------------------------------------- */

int prv_is_symmetric(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_ATOMS) return m->atoms[0] == m->atoms[1];
    if (m->base == PRV_BASE_MIXTURE) return m->mixture->mirrored;
    if (m->folded) return 1;
    if (m->base == PRV_BASE_CHOICE) return prv_is_symmetric(m->part[0]) && prv_is_symmetric(m->part[1]);
    return m->sampling_probability == 1.0;
}

double prv_infinite_mass(const prv_mechanism *m, int add)
{
    if (m->base == PRV_BASE_CHOICE)
        return m->part_weight[0] * prv_infinite_mass(m->part[0], add) +
               m->part_weight[1] * prv_infinite_mass(m->part[1], add);
    if (m->base == PRV_BASE_ATOMS) return m->atoms[add]->q_infinity;
    if (m->base == PRV_BASE_CDFS || m->base == PRV_BASE_CURVE) {
        /* 'add' of a subsampled pair is absolutely continuous: its second measure contains Q. */
        if (!add || m->sampling_probability == 1.0)
            return m->sampling_probability * m->mass_at_infinity;
    }
    return 0.0;
}

double prv_greatest_loss(const prv_mechanism *m, int add)
{
    const double p = m->sampling_probability;
    if (m->folded) add = 0;
    switch (m->base) {
    case PRV_BASE_MIXTURE: return add ? -m->mixture->lowest_loss : HUGE_VAL;
    case PRV_BASE_CHOICE: return fmax(prv_greatest_loss(m->part[0], add), prv_greatest_loss(m->part[1], add));
    case PRV_BASE_LAPLACE:
    case PRV_BASE_BOUNDED_RANGE:
        return add ? -prv_subsampled_loss(-m->mu, p) : prv_subsampled_loss(m->mu, p);
    case PRV_BASE_ATOMS: {
        const prv_atoms *a = m->atoms[add];
        if (a->unbounded && (p == 1.0 || !add)) return HUGE_VAL;
        for (size_t i = a->length; i-- > 0;)
            if (a->q[i] > 0.0) return a->loss[i];
        return -HUGE_VAL;
    }
    default: return add && p < 1.0 ? -log1p(-p) : HUGE_VAL;
    }
}

double prv_greatest_loss_error(const prv_mechanism *m, int add)
{
    const double greatest = prv_greatest_loss(m, add);
    if (!isfinite(greatest)) return 0.0;
    if (m->base == PRV_BASE_CHOICE)
        return fmax(prv_greatest_loss_error(m->part[0], add), prv_greatest_loss_error(m->part[1], add));
    double relative = 2.0 * UNIT;
    if (m->base == PRV_BASE_ATOMS)
        relative = m->atoms[add]->loss_error;
    else if (m->base == PRV_BASE_LAPLACE || m->base == PRV_BASE_BOUNDED_RANGE)
        relative = m->sampling_probability < 1.0 ? subsampled_loss_error(m->mu, UNIT) : 2.0 * UNIT;
    else if (m->base == PRV_BASE_MIXTURE)
        relative = UNIT * (8.0 + 2.0 * (double)m->mixture->q.length); /* the logarithm of a sum of weights */
    return relative * fabs(greatest);
}

/* Where the losses of 'add' end, no lower than that: an ulp below there may lie much mass. */
static double upper_edge(const prv_mechanism *m)
{
    return prv_greatest_loss(m, 1) + prv_greatest_loss_error(m, 1);
}

static prv_features atoms_features(const prv_atoms *a)
{
    prv_features f = {0.0, 0.0, 1, 0};
    if (a->length == 0) return f;
    size_t first = 0, second = 0;
    for (size_t i = 1; i < a->length; i++)
        if (a->q[i] > a->q[first]) first = i;
    second = first > 0 ? first - 1 : first;
    for (size_t i = 0; i < a->length; i++)
        if (i != first && (second == first || a->q[i] > a->q[second])) second = i;
    f.anchor = a->loss[first];
    if (a->length == 1) {
        f.only_lattice = 1;
        return f;
    }
    const double spacing = (a->loss[a->length - 1] - a->loss[0]) / (double)(a->length - 1);
    f.only_lattice = 1;
    for (size_t i = 0; i < a->length && f.only_lattice; i++) {
        const double expected = a->loss[0] + spacing * (double)i;
        f.only_lattice = fabs(a->loss[i] - expected) <= 1e-9 * spacing;
    }
    f.period = f.only_lattice ? spacing : fabs(a->loss[second] - a->loss[first]);
    return f;
}

prv_features prv_mechanism_features(const prv_mechanism *m, int add)
{
    const double p = m->sampling_probability;
    prv_features f = {0.0, 0.0, 0, 0};
    if (m->folded) {
        f.atoms = 1;
        if (m->base == PRV_BASE_LAPLACE) f.period = prv_subsampled_loss(m->mu, p);
        return f;
    }
    switch (m->base) {
    case PRV_BASE_BOUNDED_RANGE: f.anchor = prv_greatest_loss(m, add); return f;
    case PRV_BASE_CHOICE: {
        const prv_features first = prv_mechanism_features(m->part[0], add);
        const prv_features second = prv_mechanism_features(m->part[1], add);
        if (second.atoms) return second;
        /* Both have an edge on one side; the outer one is the edge of the whole. */
        return fabs(second.anchor) > fabs(first.anchor) ? second : first;
    }
    case PRV_BASE_ATOMS: return atoms_features(m->atoms[add]);
    case PRV_BASE_MIXTURE: {
        const double edge = m->mixture->lowest_loss;
        if (isfinite(edge)) f.anchor = add ? upper_edge(m) : edge;
        return f;
    }
    case PRV_BASE_LAPLACE: {
        const double top = prv_subsampled_loss(m->mu, p), bottom = prv_subsampled_loss(-m->mu, p);
        f.anchor = add ? -bottom : top;
        f.period = top - bottom;
        f.atoms = 1;
        return f;
    }
    default:
        if (p < 1.0) f.anchor = add ? upper_edge(m) : log1p(-p);
        return f;
    }
}

double prv_absolute_cdf_error(const prv_mechanism *m)
{
    return m->base == PRV_BASE_CDFS || m->base == PRV_BASE_CURVE ? 4.0 * DBL_EPSILON : 0.0;
}
