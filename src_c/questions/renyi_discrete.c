#include "questions/renyi_discrete.h"

#include <float.h>
#include <math.h>

#include "base/progress.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"

/* Discrete Gaussian noise is cut off where its mass is below e^-735 times the greatest: from there on Q's
 * atoms fall by more than this many standard deviations of the noise, and losses rise by sensitivity /
 * scale^2 each at most. */
#define CUT_OFF 38.0
/* The logarithm of all mass that was cut off, if the atom next to it were the first of it. */
#define LOG_CUT_MASS (-667.0)
/* Masses of noise that was cut off are exponentials of at most this size, whose rounding moves the mass. */
#define GREATEST_EXPONENT 740.0

/* Between two questions whether to go on. */
#define ATOMS_AT_ONCE 4096

/* Not below log((1-p) + p e^x), x >= 0 off by 8 u of itself. */
static double log_of_sample(double p, double x)
{
    if (x < 30.0)
        return log1p(p * expm1(x)) * (1.0 + PRV_UNIT * (24.0 + 16.0 * x)); /* x e^x <= (1 + x) (e^x - 1) */
    const double log_p = log(p);
    return x + log_p + log1p((1.0 - p) / p * exp(-x)) + PRV_UNIT * (8.0 + 16.0 * x + 4.0 * fabs(log_p));
}

/* The change of the query that the noise hides. The pair of a sample without replacement is that of noise on
 * twice the change. */
static double shift_in_deviations(const prv_mechanism *m)
{
    const double change = (double)m->integer_sensitivity;
    return (m->without_replacement ? 2.0 : 1.0) * change / m->scale;
}

/* What atoms beyond the last one add, at most: a geometric series, or what the greatest loss allows. */
static double log_beyond_atoms(const prv_mechanism *m, bool add, double alpha)
{
    const prv_atoms *a = m->atoms[add];
    const double rise = shift_in_deviations(m) / m->scale;
    const double greatest = prv_greatest_loss(m, add), log_rest = log(alpha - 1.0);
    /* The ratio of neighbouring atoms' terms. It is off by 8 u of both of its parts, and must be below 1 with
     * that. */
    const double growth = (alpha - 1.0) * rise, fall = CUT_OFF / m->scale;
    const double log_ratio = isfinite(greatest) ? 0.0 : growth - fall + 8.0 * PRV_UNIT * (growth + fall);
    prv_log_sum cut = PRV_EMPTY_LOG_SUM;
    if (isfinite(greatest)) {
        const double most = (alpha - 1.0) * fmax(greatest, 0.0);
        prv_log_sum_add(&cut, LOG_CUT_MASS + most * (1.0 + 8.0 * PRV_UNIT));
    } else if (log_ratio < 0.0) {
        const double top = fmax(a->loss[a->length - 1], 0.0) + rise, most = (alpha - 1.0) * top;
        const double series = -log(-expm1(log_ratio)); /* 1 / (1 - e^log_ratio), >= 0 */
        prv_log_sum_add(&cut, LOG_CUT_MASS + most * (1.0 + PRV_UNIT * 16.0 + a->loss_error) +
                                  series * (1.0 + 8.0 * PRV_UNIT) + 8.0 * PRV_UNIT);
    } else {
        prv_log_sum_add(&cut, HUGE_VAL);
    }
    prv_log_sum_add(&cut, LOG_CUT_MASS + log_rest + 4.0 * PRV_UNIT * (fabs(log_rest) - LOG_CUT_MASS));
    return prv_log_sum_above(&cut);
}

/* The excess moment without looking at atoms, at most. The moment of noise that is not sampled is at most
 * that of Gaussian noise, as the sum of e^(-(x - alpha s)^2 / (2 scale^2)) over the integers is greatest if
 * alpha s is one; with a sample, by Minkowski's inequality, |(1-p) + p r| <= (1-p) + p |r| in the norm of
 * order alpha, or for the reverse pair by convexity. Losses below 0 of a sample of fixed size add at most
 * alpha - 1. */
static double log_moment_of_noise(const prv_mechanism *m, bool add, double alpha)
{
    const bool of_fixed_size = m->without_replacement;
    const double shift = shift_in_deviations(m), log_rest = log(alpha - 1.0);
    const double one = 0.5 * (alpha - 1.0) * shift * shift;
    prv_log_sum whole = PRV_EMPTY_LOG_SUM;
    const double of_sample = add && !of_fixed_size ? one * (1.0 + 8.0 * PRV_UNIT)
                                                   : log_of_sample(m->sampling_probability, one);
    prv_log_sum_add(&whole, alpha * of_sample * (1.0 + 4.0 * PRV_UNIT));
    if (of_fixed_size) prv_log_sum_add(&whole, log_rest + 4.0 * PRV_UNIT * fabs(log_rest));
    return prv_log_sum_above(&whole);
}

/* Atoms that were cut off raise the upper bound alone. */
static void add_cut_off(const prv_mechanism *m, bool add, double alpha, prv_excess *e)
{
    prv_log_sum_add(&e->upper, log_beyond_atoms(m, add, alpha));
    const double most = log_moment_of_noise(m, add, alpha);
    if (most < prv_log_sum_above(&e->upper)) {
        e->upper = (prv_log_sum)PRV_EMPTY_LOG_SUM;
        prv_log_sum_add(&e->upper, most);
    }
}

/* The logarithm of a mass. *error grows by what rounding of a subnormal mass does to the logarithm; if it
 * becomes infinite, the result is the greatest that the logarithm can be, and the least is -infinity. */
static double log_mass_of(double mass, double *error)
{
    if (mass < DBL_MIN) {
        const double off = 2.0 * DBL_TRUE_MIN / mass;
        *error += off < 0.5 ? -log1p(-off) : HUGE_VAL;
        if (!(off < 0.5)) return log(mass + 2.0 * DBL_TRUE_MIN);
    }
    return log(mass);
}

/* The mass of P where Q vanishes is what a table's other masses leave of 1, in differences that cancel. Its
 * f is alpha - 1, as in the direction 'add' of a sample, where p times as much is left; in 'remove' of a
 * sample its ratio is 1 - p. */
static void allow_for_rest(const prv_mechanism *m, bool add, double alpha, prv_excess *e)
{
    if (!(m->rest_error > 0.0)) return;
    const double p = m->sampling_probability, log_rest = log(alpha - 1.0);
    double most = log_rest + 4.0 * PRV_UNIT * fabs(log_rest);
    if (p <= 0.5 && !add) {
        const double y = log1p(-p);
        double lower, upper;
        prv_excess_bounds_at(y, 32.0 * PRV_UNIT * fabs(y), alpha, &lower, &upper);
        most = fmin(most, upper);
    }
    const double log_mass = log(m->rest_error) + (add ? log(p) : 0.0),
                 off = log_mass + most + 8.0 * PRV_UNIT * (4.0 + fabs(log_mass) + fabs(most));
    const double low = prv_log_sum_below(&e->lower), high = prv_log_sum_above(&e->upper);
    *e = (prv_excess)PRV_NO_EXCESS;
    prv_excess_add(e, low > off ? prv_log_difference_below(low, off) : -HUGE_VAL, high);
    prv_log_sum_add(&e->upper, off);
}

prv_status prv_discrete_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                               prv_excess *excess)
{
    const prv_atoms *a = m->atoms[add];
    *excess = (prv_excess)PRV_NO_EXCESS;
    for (size_t i = 0; i < a->length; i++) {
        if (i % ATOMS_AT_ONCE == 0) {
            const prv_status status = prv_check_interrupt(options);
            if (status != PRV_OK) return status;
        }
        const double y = a->loss[i], q = a->q[i], p = a->p[i];
        if (!(q > 0.0 || p > 0.0) || y == 0.0) continue; /* f(1) = 0 */
        const double of_masses = a->unbounded ? 4.0 * GREATEST_EXPONENT : 0.0;
        const double y_error = fabs(y) * a->loss_error;
        double lower, upper, error = PRV_UNIT * (32.0 + of_masses + 8.0 * fabs(y)) + y_error;
        const bool of_p = p >= DBL_MIN || !(q > 0.0);
        double of_mass = 0.0;
        const double log_mass = of_p ? log_mass_of(p, &of_mass) : log_mass_of(q, &of_mass) - y;
        prv_excess_bounds_at(y, y_error, alpha, &lower, &upper);
        error += PRV_UNIT * 4.0 * (fabs(log_mass) + fabs(upper));
        const bool known = isfinite(of_mass);
        prv_excess_add(excess, known ? lower + log_mass - error - of_mass : -HUGE_VAL,
                       upper + log_mass + error + (known ? of_mass : 0.0));
    }
    if (a->p_only > 0.0) {
        const double log_mass = log(a->p_only), log_rest = log(alpha - 1.0), only = log_mass + log_rest;
        const double error = PRV_UNIT * (32.0 + 4.0 * (fabs(log_mass) + fabs(log_rest)));
        prv_excess_add(excess, only - error, only + error);
    }
    if (a->unbounded && a->length > 0) add_cut_off(m, add, alpha, excess);
    allow_for_rest(m, add, alpha, excess);
    return PRV_OK;
}
