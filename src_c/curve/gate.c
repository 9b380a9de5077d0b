#include "curve/gate.h"

#include <float.h>
#include <math.h>

#include "numerics/rounding.h"
#include "mechanisms/support.h"

/* ---- Totals -------------------------------------------------------------------------------- */

/* Exact sums of exact losses stay exact. */
static void add_greatest_loss(prv_totals *t, const prv_mechanism *m, double count, bool add)
{
    const double greatest = prv_greatest_loss(m, add), part = count * greatest, before = t->greatest_loss;
    /* If one step has no finite loss, the composition has none, whatever the greatest losses of the others.
     */
    t->greatest_loss = part == -HUGE_VAL || before == -HUGE_VAL ? -HUGE_VAL : before + part;
    if (t->greatest_loss == HUGE_VAL && greatest < HUGE_VAL && before < HUGE_VAL) {
        t->greatest_loss = DBL_MAX; /* finite, and above all doubles: nothing more is known of it */
        t->greatest_error = HUGE_VAL;
        return;
    }
    if (!isfinite(t->greatest_loss)) {
        t->greatest_error = 0.0;
        return;
    }
    const double error = count * prv_greatest_loss_error(m, add) + fabs(fma(count, greatest, -part));
    /* This sum rounds by u of itself, and so does the loss plus or minus its error. */
    const double rounding = 2.0 * PRV_UNIT * fabs(t->greatest_loss);
    if (error > 0.0 || before != 0.0) t->greatest_error += (error + rounding) * PRV_SECOND_ORDER;
}

void prv_totals_add(prv_totals *t, const prv_mechanism *m, double count, bool add)
{
    t->count += count;
    t->lost += count * prv_lost_delta(m);
    add_greatest_loss(t, m, count, add);
    if (!prv_greatest_loss_is_reached(m)) t->greatest_unknown = true;
    prv_infinite_add(&t->infinite, prv_infinite_mass(m, add), prv_infinite_mass_error(m, add), count);
}

static double greatest_from_above(const prv_totals *t)
{
    return t->greatest_error > 0.0 ? prv_above(t->greatest_loss + t->greatest_error) : t->greatest_loss;
}

static double greatest_from_below(const prv_totals *t)
{
    return t->greatest_error > 0.0 ? prv_below(t->greatest_loss - t->greatest_error) : t->greatest_loss;
}

double prv_greatest_epsilon(const prv_totals *t)
{
    const double greatest = greatest_from_above(t);
    return isnan(greatest) ? HUGE_VAL : fmax(greatest, 0.0);
}

/* ---- Answers without a composition ----------------------------------------------------------- */

static prv_bounds known(double lower, double estimate, double upper)
{
    const prv_bounds b = {lower, estimate, upper};
    return b;
}

/* The mass at infinity is delta at the greatest loss and beyond. So epsilon is infinite if delta is less, the
 * greatest loss if delta is equal, and at most the greatest loss if delta is more. */
static bool direct_epsilon(const prv_totals *t, double delta, prv_bounds *b)
{
    if (t->count == 0.0 || delta >= 1.0) {
        *b = known(0.0, 0.0, 0.0);
    } else if (delta < t->infinite.low) {
        *b = known(HUGE_VAL, HUGE_VAL, HUGE_VAL);
    } else if (delta <= t->infinite.high) {
        const double greatest = fmax(t->greatest_loss, 0.0);
        const bool exact = t->infinite.low == t->infinite.high;
        /* If rounding hides which of both is greater, nothing between 0 and infinity is certain. */
        b->lower = exact && !t->greatest_unknown ? fmax(greatest_from_below(t), 0.0) : 0.0;
        b->estimate = delta >= t->infinite.mass ? greatest : HUGE_VAL;
        b->upper = exact ? prv_greatest_epsilon(t) : HUGE_VAL;
    } else {
        return false;
    }
    return true;
}

static bool direct_delta(const prv_totals *t, double epsilon, prv_bounds *b)
{
    if (epsilon == -HUGE_VAL) {
        *b = known(1.0, 1.0, 1.0);
    } else if (t->count == 0.0) {
        *b = known(prv_least_delta(epsilon, -1), -expm1(fmin(epsilon, 0.0)), prv_least_delta(epsilon, 1));
    } else if (epsilon >= greatest_from_above(t) || t->infinite.low == 1.0) {
        *b = known(t->infinite.low, t->infinite.mass, t->infinite.high);
    } else {
        return false;
    }
    return true;
}

bool prv_gate_direct(const prv_totals *const *directions, size_t count, prv_question question, double value,
                     prv_bounds *bounds)
{
    size_t answered = 0;
    double upper = 0.0;
    *bounds = known(0.0, 0.0, 0.0);
    for (size_t i = 0; i < count; i++) {
        const prv_totals *t = directions[i];
        prv_bounds b;
        if (question == PRV_ASK_EPSILON ? direct_epsilon(t, value, &b) : direct_delta(t, value, &b)) {
            prv_gate_worst(bounds, &b);
            answered++;
        } else if (question == PRV_ASK_EPSILON) {
            upper = fmax(upper, prv_greatest_epsilon(t));
        }
    }
    /* If delta is certainly 1 in one direction, the other does not matter; nor does it if epsilon is
     * infinite, or has only the greatest loss of the other as a bound where delta is the mass at infinity. */
    if (question == PRV_ASK_EPSILON) {
        bounds->upper = fmax(bounds->upper, upper);
        return answered > 0;
    }
    return answered == count || (answered > 0 && bounds->lower == 1.0);
}

/* ---- The way out ------------------------------------------------------------------------------ */

prv_status prv_gate_range(double least, double greatest, prv_bounds *b)
{
    const double lower = b->lower, upper = b->upper;
    /* What is no number says nothing. */
    b->lower = lower >= least ? lower : least;
    b->upper = upper <= greatest ? upper : greatest;
    b->estimate = isnan(b->estimate) ? b->lower : fmin(fmax(b->estimate, b->lower), b->upper);
    return b->lower <= b->upper ? PRV_OK : PRV_ERR_BOUNDS;
}

prv_status prv_gate_close(const prv_totals *t, prv_question question, double value, prv_bounds *b)
{
    if (question == PRV_ASK_DELTA)
        return prv_gate_range(fmax(prv_least_delta(value, -1), t->infinite.low), 1.0, b);
    /* The greatest loss bounds epsilon only if delta is certainly not below the mass at infinity. */
    const double greatest = value >= t->infinite.high ? prv_greatest_epsilon(t) : HUGE_VAL;
    /* A curve may reach delta below 0: from there on epsilon is 0. */
    if (b->upper < 0.0) b->upper = 0.0;
    return prv_gate_range(value < t->infinite.low ? HUGE_VAL : 0.0, greatest, b);
}

void prv_gate_worst(prv_bounds *worst, const prv_bounds *other)
{
    worst->lower = fmax(worst->lower, other->lower);
    worst->estimate = fmax(worst->estimate, other->estimate);
    worst->upper = fmax(worst->upper, other->upper);
}
