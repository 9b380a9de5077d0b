#include "lattices/ratio_ends.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "numerics/wide.h"

/* More than rounding takes from a mass of 1; of a law on so fine a lattice that places beside R = 0 lie very
 * many points away, this part of the spacing as well, up to a limit. Tightness alone depends on these. */
#define ROUNDING_OF_ONE 1e-12
#define PART_OF_SPACING 0.01
#define MOST_ROUNDING 1e-10

static double owed_to_rounding(const prv_ratio_law *law)
{
    return law->at != NULL ? ROUNDING_OF_ONE
                           : fmax(ROUNDING_OF_ONE, fmin(MOST_ROUNDING, PART_OF_SPACING * law->spacing));
}

/* Of a larger log R the null measure's mass, at most 1 / R, has lost its digits, and R times what may have
 * vanished of it is no mass any more. */
#define FARTHEST_POINT 705.0

void prv_ratio_cut_far_points(const prv_ratio_side *s, prv_ratio_law *law)
{
    size_t kept = law->length;
    while (kept > 0 && prv_ratio_point(law, kept - 1) > FARTHEST_POINT) kept--;
    if (kept == law->length) return;
    const double error = 1.0 + prv_ratio_special_error(law) + 4.0 * PRV_UNIT;
    double mass = 0.0, special = 0.0;
    for (size_t i = kept; i < law->length; i++) {
        if (!(law->null[i] > 0.0)) continue;
        mass += law->null[i];
        special += prv_ratio_special(law, i) * error; /* at least 2^-1074 e^705 */
    }
    mass *= 1.0 + PRV_UNIT * (double)law->length;
    special *= 1.0 + PRV_UNIT * (double)law->length;
    law->length = kept;
    if (kept == 0) { /* no mass yet, on the highest point that is not too far */
        law->length = 1;
        law->null[0] = 0.0;
        if (law->at != NULL)
            law->at[0] = FARTHEST_POINT;
        else
            law->first = (int64_t)fmax(floor((FARTHEST_POINT - law->offset) / law->spacing), -0x1p50);
    }
    if (s->side == PRV_DOMINATED || !(mass > 0.0)) return;
    if (!s->add) law->infinite = fmin(law->infinite + special, 1.0);
    law->null[law->length - 1] += mass;
}

prv_ratio_kept prv_ratio_choose_ends(const prv_ratio_law *law, const prv_ratio_side *s)
{
    prv_ratio_kept k = {0, law->length};
    double low = 0.0, high = 0.0;
    const double low_limit = s->add ? s->cut : s->low_cut, high_limit = s->add ? s->low_cut : s->cut;
    while (k.first + 2 < k.end) {
        low += s->add ? law->null[k.first] : prv_ratio_special(law, k.first);
        if (low > low_limit) break;
        k.first++;
    }
    while (k.first + 2 < k.end) {
        high += prv_ratio_special(law, k.end - 1);
        if (high > high_limit) break;
        k.end--;
    }
    return k;
}

/* Mass at the ends of a dominating law moves to an infinite loss at one end, and to the last point that is
 * kept at the other, which is its safe side. */
static void cut_dominating(prv_ratio_law *law, const prv_ratio_kept *k, const prv_ratio_side *s)
{
    for (size_t i = 0; i < k->first; i++) *(s->add ? &law->zero : &law->null[k->first]) += law->null[i];
    const double error = 1.0 + prv_ratio_special_error(law) + 4.0 * PRV_UNIT;
    for (size_t i = law->length; i-- > k->end;) {
        if (!s->add && law->null[i] > 0.0) law->infinite += prv_ratio_special(law, i) * error + DBL_MIN;
        law->null[k->end - 1] += law->null[i];
    }
}

/* Mass at the ends of a dominated law is merged, or moved to the safe side: at small R dropped, as R = 0
 * ('remove'), or moved up to the first point; at large R put on the point on the safe side of its mean. */
static void cut_dominated(prv_ratio_law *law, prv_ratio_kept *k, const prv_ratio_side *s)
{
    for (size_t i = 0; i < k->first && s->add; i++) law->null[k->first] += law->null[i];
    double mass = 0.0, of_special = 0.0;
    for (size_t i = law->length; i-- > k->end;) {
        mass += law->null[i];
        of_special += prv_ratio_special(law, i);
        law->null[i] = 0.0;
    }
    if (!(mass > 0.0)) return;
    if (!s->add) {
        law->null[k->end - 1] += mass;
        return;
    }
    /* Both sums, their quotient, its logarithm, and the number of the point are rounded. */
    const double log_mean = log(of_special / mass), in_points = (log_mean - law->offset) / law->spacing;
    const double above = in_points - (double)law->first;
    const double error = prv_ratio_special_error(law) +
                         PRV_UNIT *
                             (2.0 * (double)law->length + 8.0 + 4.0 * (fabs(log_mean) + fabs(law->offset)));
    const double of_point = error / law->spacing +
                            4.0 * PRV_UNIT * (fabs(in_points) + fabs((double)law->first));
    const double at = ceil(above + fmax(of_point * PRV_SECOND_ORDER, 1e-6));
    if (!(at < (double)law->length)) return; /* dropped, as R = infinity */
    const size_t to = at >= (double)k->end ? (size_t)at : k->end;
    if (to >= law->length) return;
    law->null[to] += mass;
    k->end = to + 1;
}

/* The null measure's mass, less 1: at most this, or at least. */
static double beyond_one(const prv_ratio_law *law, bool at_most)
{
    prv_wide sum = prv_wide_add(prv_wide_of(-1.0), prv_wide_of(law->zero));
    for (size_t i = law->length; i-- > 0;) sum = prv_wide_add(sum, prv_wide_of(law->null[i]));
    const double value = prv_wide_value(sum);
    const double error = 2.0 * PRV_WIDE_UNIT * (double)(law->length + 2) + 2.0 * PRV_UNIT * fabs(value);
    return at_most ? value + error : value - error;
}

/* Of a dominating law: takes mass beyond 1 from the end of small losses, or puts what is missing there. More
 * mass than 1 dominates, since f >= 0; and of all measures of mass 1 below it, the one with the largest
 * losses. */
static void normalise(prv_ratio_law *law, const prv_ratio_side *s)
{
    double beyond = beyond_one(law, false);
    if (beyond <= 0.0) {
        /* So little that only rounding is missing may as well lie at the first point: averages beside R = 0
         * would lie far below it. */
        double *remove = -beyond < owed_to_rounding(law) ? &law->null[0] : &law->zero;
        double *low = s->add ? &law->null[law->length - 1] : remove;
        *low = prv_above(*low - beyond);
        return;
    }
    if (!s->add) {
        const double taken = fmin(law->zero, beyond);
        law->zero = taken < law->zero ? prv_above(law->zero - taken) : 0.0;
        beyond -= taken;
    }
    for (size_t n = 0; n < law->length && beyond > 0.0; n++) {
        double *mass = &law->null[s->add ? law->length - 1 - n : n];
        const double taken = fmin(*mass, beyond);
        *mass = prv_above(*mass - taken);
        beyond -= taken;
    }
}

/* Of a dominated law of 'remove' on a lattice: little mass at R = 0 is merged with outcomes at the lower end,
 * each of which moves down to the next one, by h. Averages beside R = 0 would lie far below the others, on a
 * lattice that is far too long for them. For g(x) = f(x) - f(0), which is convex and 0 at 0, (y + z) g(x
 * e^-h) is at most y g(x) if z <= y (e^h - 1). */
static void absorb_zero(const prv_ratio_side *s, prv_ratio_law *law)
{
    const double little = fmax(4.0 * s->low_cut, owed_to_rounding(law));
    if (law->at != NULL || !(law->zero > 0.0 && law->zero <= little)) return;
    for (size_t i = 1, last = 0; i < law->length && law->zero > 0.0; i++) {
        if (!(law->null[i] > 0.0)) continue;
        const double part = expm1(law->spacing * (double)(i - last)) * (1.0 - 8.0 * PRV_UNIT);
        const double moved = fmin(law->null[i], law->zero / part);
        const double merged = fmin(moved * part * (1.0 - 2.0 * PRV_UNIT), law->zero);
        const double joined = law->null[last] + (moved + merged) * (1.0 - 2.0 * PRV_UNIT);
        law->null[i] = fmax(prv_below(law->null[i] - moved), 0.0);
        law->null[last] = joined * (1.0 - 2.0 * PRV_UNIT);
        law->zero = fmax(prv_below(law->zero - merged), 0.0);
        last = i;
    }
}

void prv_ratio_complete(const prv_ratio_side *s, prv_ratio_law *law)
{
    if (s->side == PRV_DOMINATING) {
        law->infinite = fmin(law->infinite, 1.0); /* with this, any law dominates */
        normalise(law, s);
    } else if (!s->add) {
        law->zero = 0.0;
        law->zero = fmax(-beyond_one(law, true), 0.0);
        absorb_zero(s, law);
    }
}

prv_status prv_ratio_close(const prv_ratio_side *s, prv_ratio_law *law)
{
    prv_ratio_cut_far_points(s, law);
    prv_ratio_kept k = prv_ratio_choose_ends(law, s);
    if (s->side == PRV_DOMINATING)
        cut_dominating(law, &k, s);
    else
        cut_dominated(law, &k, s);
    const size_t length = k.end - k.first;
    prv_ratio_law shorter;
    const prv_status status = prv_ratio_law_new(length, &shorter);
    if (status != PRV_OK) return status;
    memcpy(shorter.null, law->null + k.first, length * sizeof *shorter.null);
    double *null = shorter.null;
    shorter = *law;
    shorter.null = null;
    shorter.length = length;
    shorter.first += (int64_t)k.first;
    prv_release(law->null);
    *law = shorter;
    prv_ratio_complete(s, law);
    return PRV_OK;
}

void prv_ratio_allow_for_vanished(size_t count, double each, const prv_ratio_side *s, prv_ratio_law *law)
{
    const double mass = (double)count * each;
    const double special = mass * exp(prv_ratio_point(law, law->length - 1));
    if (s->add)
        law->zero += mass;
    else
        law->infinite = fmin(law->infinite + special, 1.0);
}
