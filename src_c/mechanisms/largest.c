/* The largest of independent normal variables. */
#include "mechanisms/largest.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "numerics/constants.h"
#include "numerics/rounding.h"

/* The logarithm of a probability, <= 0, and its absolute error, at most. */
typedef struct logarithm {
    long double value;
    double error;
} logarithm;

/* log P(N(0, 1) <= z), where z is rounded by its last bit. */
static logarithm log_normal_below(long double z)
{
    const long double t = fabsl(z) * PRV_SQRT_HALF_LONG;
    const long double value = z < 0.0L ? logl(0.5L * erfcl(t)) : log1pl(-0.5L * erfcl(t));
    /* t has two roundings, and -t erfc'(t) / erfc(t) <= 2 t^2 + 1. Half of erfc is the argument of the
     * logarithm, or is subtracted from 1 and then at most 1/2, so that the relative error of erfc counts once
     * or, times the logarithm, twice. */
    const double square = (double)(t * t),
                 erfc_error = PRV_WIDE_LIBM_ERFC_ERROR + 2.0 * PRV_LONG_EPSILON * (2.0 * square + 1.0);
    const double size = fabs((double)value), logarithm_error = PRV_WIDE_LIBM_ERROR * size;
    return (logarithm){value, logarithm_error + (z < 0.0L ? erfc_error : 2.0 * erfc_error * size)};
}

/* log P(largest <= x): counts are exact, products and their sum are rounded. */
static logarithm log_below(long double x, const prv_variables *v)
{
    logarithm sum = {0.0L, 0.0};
    if (v->moved > 0) {
        const logarithm one = log_normal_below(x - v->mean);
        sum = (logarithm){(long double)v->moved * one.value, (double)v->moved * one.error};
    }
    if (v->others > 0) {
        const logarithm other = log_normal_below(x);
        sum.value += (long double)v->others * other.value;
        sum.error += (double)v->others * other.error;
    }
    return (logarithm){sum.value, sum.error + 3.0 * PRV_LONG_EPSILON * fabs((double)sum.value)};
}

/* Masses of the count + 1 slices of the largest, whose edges are first, first + width, ...: mass[0] is that
 * below all edges. Returns the greatest relative error of any mass that is a normal number. */
static double find_slices(const prv_variables *v, int count, long double first, long double width,
                          double *mass)
{
    logarithm last = log_below(first, v);
    mass[0] = (double)expl(last.value);
    double worst = mass[0] >= DBL_MIN ? last.error : 0.0;
    for (int i = 1; i < count; i++) {
        const logarithm here = log_below(first + width * (long double)i, v);
        const long double rise = last.value - here.value; /* e^here (1 - e^rise) */
        mass[i] = isinf(here.value) ? 0.0 : (double)(expl(here.value) * -expm1l(rise));
        /* |x e^x / (e^x - 1)| <= 1 for x <= 0: the second factor has at most the relative error of the rise.
         */
        if (mass[i] >= DBL_MIN) {
            const double of_rise = isinf(last.value) ? 0.0 : (last.error + here.error) / -(double)rise;
            worst = fmax(worst, here.error + of_rise);
        }
        last = here;
    }
    mass[count] = (double)-expm1l(last.value);
    if (mass[count] >= DBL_MIN) worst = fmax(worst, last.error / -(double)last.value);
    /* The errors of the three functions are added, and four roundings, one of them to double. */
    return worst + 2.0 * PRV_WIDE_LIBM_ERROR + PRV_WIDE_LIBM_EXPM1_ERROR(0.0) + 4.0 * PRV_LONG_EPSILON +
           PRV_UNIT;
}

/* Below FIRST, or beyond the last edge, lies no mass that decides anything: 1 - Phi(38) underflows. */
#define FIRST (-4.0L)
#define REACH 42.0L

prv_status prv_mechanism_largest(const prv_variables *with, const prv_variables *without, int slices,
                                 prv_mechanism **mechanism)
{
    const size_t length = (size_t)slices + 1;
    double *q = prv_allocate(2 * length, sizeof *q);
    if (q == NULL) return PRV_ERR_MEMORY;
    double *p = q + length;
    const long double width = (REACH + with->mean) / slices;
    const double q_error = find_slices(with, slices, FIRST, width, q);
    const double p_error = find_slices(without, slices, FIRST, width, p);
    /* Masses below normal numbers have no relative error. They are rounded up to DBL_MIN, which is far below
     * every delta that bounds are promised for. */
    for (size_t i = 0; i < length; i++) {
        q[i] = fmax(q[i], DBL_MIN);
        p[i] = fmax(p[i], DBL_MIN);
    }
    const prv_status status = prv_mechanism_outcomes(q, p, length, mechanism);
    if (status == PRV_OK) (*mechanism)->density_error = fmax(q_error, p_error);
    prv_release(q);
    return status;
}
