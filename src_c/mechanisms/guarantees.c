/* Mechanisms of which a guarantee is known and nothing else, by the pair that dominates all that have it. */
#include <math.h>

#include "base/arithmetic.h"
#include "mechanisms/noise.h"

static prv_status make_approximate_dp(double epsilon, double delta, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (!(delta >= 0.0 && delta <= 1.0)) return PRV_ERR_DELTA;
    prv_atoms *a = prv_atoms_new(epsilon > 0.0 ? 2 : 1);
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
    a->response = epsilon;
    a->q_only = a->p_only = delta;
    const prv_status status = prv_mechanism_of_atoms(a, mechanism);
    return prv_with_replacement(status, PRV_REPLACED_ALIKE, mechanism);
}

prv_status prv_mechanism_approximate_dp(double epsilon, double delta, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_APPROXIMATE_DP,
        .epsilon = epsilon,
        .delta = delta,
    };
    return prv_described(make_approximate_dp(epsilon, delta, mechanism), &made, mechanism);
}

static prv_status make_bounded_range(double epsilon, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (epsilon == 0.0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    if (!(epsilon < PRV_MOST_SEPARATION)) return PRV_ERR_EPSILON;
    return prv_mechanism_additive(PRV_BASE_BOUNDED_RANGE, epsilon, mechanism);
}

prv_status prv_mechanism_bounded_range(double epsilon, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_BOUNDED_RANGE,
        .epsilon = epsilon,
    };
    return prv_described(make_bounded_range(epsilon, mechanism), &made, mechanism);
}
