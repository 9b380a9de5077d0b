#include "mechanisms/bounded_range.h"

#include <math.h>

#include "numerics/rounding.h"
#include "mechanisms/subsampled.h"

/* Places keep this part of the range as a distance from its ends, where one of the outcomes vanishes. */
#define MARGIN 0x1p-30

enum { PLACES = 64 }; /* places that are tried; no bound relies on the number */

bool prv_is_bounded_range(const prv_mechanism *m)
{
    return m->base == PRV_BASE_BOUNDED_RANGE && m->sampling_probability == 1.0;
}

/* log(1 - e^-x), x > 0. */
static double log_rest(double x)
{
    return log(-expm1(-x));
}

static double clip(double place, double range)
{
    return fmin(fmax(place, MARGIN * range), (1.0 - MARGIN) * range);
}

static double worst_place_of_range(double range, double lam)
{
    if (!(lam > 0.0)) return 0.5 * range;
    /* log((1 - e^-x) / x) is -x / 2 + x^2 / 24 - ...; for small x the logarithms below would cancel. */
    if ((lam + 1.0) * range < 1e-3)
        return clip(0.5 * range + (2.0 * lam + 1.0) * range * range / 24.0, range);
    const double place = range + log(lam / (lam + 1.0)) + log_rest((lam + 1.0) * range) -
                         log_rest(lam * range);
    return clip(place, range);
}

double prv_most_log_moment(double range, double lam)
{
    const double more = lam + 1.0, whole = lam * range;
    /* Hoeffding's lemma, exact where the range is small, and the greatest loss, where it is large. */
    const double hoeffding = 0.125 * lam * more * range * range,
                 most = fmin(hoeffding, whole) * (1.0 + 8.0 * PRV_UNIT);
    const double log_part = log(lam / more), above = log_rest(more * range), below = log_rest(whole),
                 one = log_rest(range);
    const double place = range + log_part + above - below;
    if (!(place > 0.0 && place < range)) return most; /* rounding put the place outside */
    const double moment = lam * place + above - log1p(lam) - one;
    /* Arguments of log_rest(x) have a relative error of 2 u, which changes it by 2 u x / (e^x - 1) <= 2 u;
     * functions have an error of an ulp each, 2 u, and sums of at most four terms one of 3 u of the sum of
     * their moduli. */
    const double in_place = range + fabs(log_part) + fabs(above) + fabs(below) + 2.0;
    const double terms = lam * in_place + fabs(above) + log1p(lam) + fabs(one) + 2.0;
    return fmin(moment + 16.0 * PRV_UNIT * terms * PRV_SECOND_ORDER, most);
}

/* log of E[e^(lam L)] under the second measure of the pair of a sample, of losses y of mass e^log_p under the
 * base's P: in 'remove' the losses are those of (P, (1-p)P + pQ), in 'add' those of ((1-p)Q + pP, Q). */
static double log_term(double y, double log_p, double p, bool add, double lam)
{
    if (add) return log_p + y - lam * prv_subsampled_loss(-y, p);
    return log_p + (lam + 1.0) * prv_subsampled_loss(y, p);
}

double prv_worst_place(const prv_mechanism *m, bool add, double lam)
{
    const double range = m->mu, p = m->sampling_probability;
    if (p == 1.0 || !(lam > 0.0)) return worst_place_of_range(range, lam);
    double best = -HUGE_VAL, at = 0.5 * range;
    for (int i = 1; i < PLACES; i++) {
        const double t = clip(range * (double)i / PLACES, range), s = range - t;
        /* P(t) = (1 - e^-s) / (e^t - e^-s), P(-s) = (1 - e^-t) / (1 - e^-(t + s)). */
        const double high = log_term(t, log_rest(s) - log_rest(range) - t, p, add, lam);
        const double low = log_term(-s, log_rest(t) - log_rest(range), p, add, lam);
        const double moment = fmax(high, low) + log1p(exp(-fabs(high - low)));
        if (moment > best) {
            best = moment;
            at = t;
        }
    }
    return at;
}

prv_status prv_mechanism_response(double range, double place, prv_mechanism **mechanism)
{
    /* A difference of doubles is rounded by half an ulp of itself: the next smaller double lies no farther
     * from `place` than the range. */
    const double below = nextafter(range - place, 0.0);
    if (!(place > 0.0 && below > 0.0)) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    prv_atoms *a = prv_atoms_new(2);
    if (a != NULL) {
        const double whole = -expm1(-(place + below));
        a->loss[0] = -below;
        a->loss[1] = place;
        a->q[0] = exp(-below) * (-expm1(-place) / whole);
        a->p[0] = -expm1(-place) / whole;
        a->q[1] = -expm1(-below) / whole;
        a->p[1] = exp(-place) * a->q[1];
    }
    return prv_mechanism_of_atoms(a, mechanism);
}
