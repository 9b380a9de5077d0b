/* Mechanisms that the caller describes: a table of losses, or callbacks for cdfs, tails or a privacy curve.
 */
#include <float.h>
#include <math.h>

#include "base/arithmetic.h"
#include "numerics/rounding.h"
#include "mechanisms/combined.h"
#include "mechanisms/mechanism.h"

/* q e^(-loss), without a factor that overflows although the product does not. Its error is that of two
 * functions of libm and four roundings: 14 u if long double is double, which prv_cells_compute has room for
 * in the 32 u of masses. */
static long double reverse_of(long double q, long double loss)
{
    const long double root = expl(-0.5L * loss);
    return q * root * root;
}
#define REVERSE_ERROR (2.0 * PRV_WIDE_LIBM_ERROR + 2.0 * PRV_LONG_EPSILON)

/* q less that. Both parts are at most 1.6 times the difference where they are subtracted, and the argument of
 * expm1l is at most 1 elsewhere. */
static long double rest_of(long double q, long double loss)
{
    return loss < -1.0L ? q - reverse_of(q, loss) : -q * expm1l(-loss);
}
#define REST_ERROR (2.0 * REVERSE_ERROR + PRV_LONG_EPSILON)

static prv_status make_table(const double *losses, const double *probabilities, size_t length,
                             double mass_at_infinity, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(mass_at_infinity >= 0.0 && mass_at_infinity <= 1.0)) return PRV_ERR_TABLE;
    if (length > PRV_MAX_ATOMS) return PRV_ERR_SUPPORT;
    long double sum = (long double)mass_at_infinity, sum_p = 0.0L;
    long double rest = sum, size = sum; /* what P lacks, times `sum`; and its terms without their signs */
    for (size_t i = 0; i < length; i++) {
        const double y = losses[i], q = probabilities[i];
        if (!(isfinite(y) && q >= 0.0 && q <= 2.0) || (i > 0 && !(losses[i - 1] < y))) return PRV_ERR_TABLE;
        sum += (long double)q;
        if (!(q > 0.0)) continue;
        sum_p += reverse_of((long double)q, (long double)y);
        const long double term = rest_of((long double)q, (long double)y);
        rest += term;
        size += fabsl(term);
    }
    if (!(fabsl(sum - 1.0L) <= 1e-9L)) return PRV_ERR_TABLE_SUM;
    if (!(sum_p / sum <= 1.0L + 1e-9L)) return PRV_ERR_TABLE_REVERSE;
    /* Each sum has an error of half of PRV_LONG_EPSILON of itself for each of its terms. */
    const double sums = (0.5 * (double)length + 2.0) * PRV_LONG_EPSILON,
                 error = (2.0 * sums + REVERSE_ERROR) * PRV_SECOND_ORDER;
    const long double beyond = sum_p / sum - 1.0L;
    /* If P has more mass than 1, its masses are divided by their sum, which raises all losses by its
     * logarithm. */
    const long double higher = (double)beyond > error ? log1pl(beyond) : 0.0L;
    prv_atoms *a = prv_atoms_new(length);
    if (a == NULL) return PRV_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (probabilities[i] == 0.0) continue;
        const long double q = (long double)probabilities[i] / sum;
        const long double loss = (long double)losses[i] + higher;
        a->loss[n] = (double)loss;
        a->q[n] = (double)q;
        a->p[n++] = (double)reverse_of(q, loss);
    }
    a->length = n;
    a->loss_error = higher > 0.0L ? 2.0 * PRV_UNIT : 0.0;
    a->q_only = (double)((long double)mass_at_infinity / sum);
    if (mass_at_infinity > 0.0) a->q_only_error = prv_error_of_product(a->q_only, sums + PRV_UNIT);
    /* If rounding explains the mass that P lacks, P is taken to lack none. */
    const double missing = fmax((double)(rest / sum), 0.0);
    const double rounding = ((2.0 * sums + REST_ERROR) * (double)size + PRV_UNIT * missing) *
                                PRV_SECOND_ORDER +
                            (double)length * (double)LDBL_MIN;
    if ((double)-beyond > error) {
        a->p_only = missing;
        a->p_only_error = rounding;
    }
    const prv_status status = prv_mechanism_of_atoms(a, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->density_error = (*mechanism)->table_error = sums;
    if (!(higher > 0.0L)) (*mechanism)->rest_error = rounding + ((double)-beyond > error ? 0.0 : missing);
    (*mechanism)->own = true;
    return PRV_OK;
}

prv_status prv_mechanism_table(const double *losses, const double *probabilities, size_t length,
                               double mass_at_infinity, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_TABLE,
        .mass_at_infinity = mass_at_infinity,
        .length = length,
        .values = losses,
        .probabilities = probabilities,
    };
    return prv_described(make_table(losses, probabilities, length, mass_at_infinity, mechanism), &made,
                         mechanism);
}

static prv_status mechanism_of_callback(prv_base base, void *context, double mass_at_infinity,
                                        prv_mechanism **mechanism)
{
    if (!(mass_at_infinity >= 0.0 && mass_at_infinity <= 1.0)) return PRV_ERR_TABLE;
    prv_mechanism *m = prv_mechanism_new(base);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->context = context;
    m->own = base != PRV_BASE_TAILS; /* which say what they are of */
    m->mass_at_infinity = mass_at_infinity;
    *mechanism = m;
    return PRV_OK;
}

static prv_status make_cdfs(prv_cdf_callback cdfs, void *context, double mass_at_infinity,
                            prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    const prv_status status = mechanism_of_callback(PRV_BASE_CDFS, context, mass_at_infinity, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->cdfs = cdfs;
    return PRV_OK;
}

prv_status prv_mechanism_cdfs(prv_cdf_callback cdfs, void *context, double mass_at_infinity,
                              prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_CDFS,
        .mass_at_infinity = mass_at_infinity,
        .cdfs = cdfs,
        .context = context,
    };
    return prv_described(make_cdfs(cdfs, context, mass_at_infinity, mechanism), &made, mechanism);
}

static prv_status make_tails(prv_tail_callback tails, void *context, int mirrored, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    const prv_status status = mechanism_of_callback(PRV_BASE_TAILS, context, 0.0, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->tails = tails;
    (*mechanism)->tails_mirrored = mirrored != 0;
    return PRV_OK;
}

prv_status prv_mechanism_tails(prv_tail_callback tails, void *context, int mirrored,
                               prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_TAILS,
        .mirrored = mirrored != 0,
        .tails = tails,
        .context = context,
    };
    return prv_described(make_tails(tails, context, mirrored, mechanism), &made, mechanism);
}

static prv_status make_curve(prv_curve_callback curve, void *context, double mass_at_infinity,
                             prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    const prv_status status = mechanism_of_callback(PRV_BASE_CURVE, context, mass_at_infinity, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->curve = curve;
    return PRV_OK;
}

prv_status prv_mechanism_curve(prv_curve_callback curve, void *context, double mass_at_infinity,
                               prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_CURVE,
        .mass_at_infinity = mass_at_infinity,
        .curve = curve,
        .context = context,
    };
    return prv_described(make_curve(curve, context, mass_at_infinity, mechanism), &made, mechanism);
}

static prv_status make_stated(const prv_mechanism *own, prv_relation relation, int attained,
                              prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!own->own || own->sampled) return PRV_ERR_NEIGHBORS;
    if (relation != PRV_RELATION_ADD_OR_REMOVE && relation != PRV_RELATION_REPLACE_ONE &&
        relation != PRV_RELATION_ANY)
        return PRV_ERR_OPTIONS;
    prv_mechanism *m = NULL, *identity = NULL;
    prv_status status = prv_mechanism_copy(own, &m);
    if (status != PRV_OK) return status;
    m->replacement = relation == PRV_RELATION_ADD_OR_REMOVE ? PRV_REPLACED_UNKNOWN : PRV_REPLACED_STATED;
    m->replaced_only = relation == PRV_RELATION_REPLACE_ONE;
    m->never_attained = !attained;
    /* All that is known to be lost by two data sets is nothing. */
    if (!attained) status = prv_mechanism_approximate_dp(0.0, 0.0, &identity);
    prv_mechanism_free(m->attained);
    m->attained = identity;
    return prv_mechanism_finish(status, m, mechanism);
}

prv_status prv_mechanism_stated(const prv_mechanism *own, prv_relation relation, int attained,
                                prv_mechanism **mechanism)
{
    const prv_step base = {own, 1};
    const prv_description made = {
        .kind = PRV_KIND_STATED,
        .part_count = 1,
        .parts = &base,
        .relation = relation,
        .attained = attained != 0,
    };
    return prv_described(make_stated(own, relation, attained, mechanism), &made, mechanism);
}
