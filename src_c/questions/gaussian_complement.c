#include "questions/gaussian_complement.h"

#include <math.h>
#include <stdbool.h>

#include "base/progress.h"
#include "numerics/rounding.h"
#include "questions/gaussian_curve.h"

/* Epsilons at which a complement is bounded lie this part of the tilted deviation apart, and are at most so
 * many. */
#define STEP_IN_DEVIATIONS 0.05
#define MOST_EPSILONS 2000.0

/* A tilt centres the law well enough within this part of its deviation, and is tried so often. */
#define CENTERED 0.1
enum { TILTS = 8, BISECTIONS = 64 };

/* The dominating laws of the profiles, composed and tilted by -t. */
static prv_moments dominating_moments(const prv_direction *direction, double t)
{
    prv_moments sum = {0.0, 0.0, 0.0};
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const prv_moments m = prv_tilt(p->knots, p->dominating, p->knot_count, -t, NULL);
        sum.log_moment += direction->counts[j] * m.log_moment;
        sum.mean += direction->counts[j] * m.mean;
        sum.variance += direction->counts[j] * m.variance;
    }
    return sum;
}

/* The rounding of cells, as their contract counts it. */
static double rounding_of_cells(const prv_direction *direction)
{
    double sum = 0.0;
    for (size_t j = 0; j < direction->steps; j++)
        sum += direction->counts[j] *
               (direction->profiles[j].rounding.relative + direction->profiles[j].rounding.shift);
    return sum;
}

/* log(1 - delta(epsilon)), from below. With D the dominating law, s = Y - epsilon, and w its finite losses
 * tilted by -t, of mean m of s and variance V,
 *     1 - delta >= E_D[min(1, e^-s)] = e^(t epsilon) M(-t) E_w[e^(t s - max(s, 0))],
 * where E_w[e^f] >= e^(E_w f) and E_w max(s, 0) <= (m + sqrt(V + m^2)) / 2, both by Jensen's inequality. Any
 * t in [0, 1] is right, and the one that centres w on epsilon is good: the search for it starts at *t, and
 * leaves it there. *deviation becomes sqrt(V). */
static double log_complement_below(const prv_direction *direction, double epsilon, double *t,
                                   double *deviation)
{
    double best = -HUGE_VAL;
    for (int i = 0; i < TILTS; i++) {
        const prv_moments m = dominating_moments(direction, *t);
        const double distance = m.mean - epsilon, root = sqrt(m.variance + distance * distance);
        /* The moments are off by far less than these parts of 1e-6 and 1e-9. */
        const double rounding = rounding_of_cells(direction) +
                                1e-6 * (fabs(m.log_moment) + fabs(m.mean) + epsilon) +
                                1e-9 * (direction->all.count + sqrt(direction->all.count * m.variance));
        best = fmax(best, m.log_moment + *t * m.mean - 0.5 * (distance + root) - rounding);
        *deviation = sqrt(m.variance);
        const double next = fmin(fmax(*t + distance / fmax(m.variance, 1e-300), 0.0), 1.0);
        if (fabs(distance) <= CENTERED * *deviation || next == *t) break;
        *t = next;
    }
    return best;
}

/* An interval of epsilons, and lower bounds of the logarithm of the composition's complement at both ends. */
typedef struct interval {
    double low, high, at_low, at_high;
} interval;

/* The complement at `low` that c / t falls to, given that at `high`. */
static double carried_down(const interval *i)
{
    return i->at_high - (i->high - i->low) - 4.0 * PRV_UNIT * i->high;
}

/* Whether the complement of the Gaussian curve is certainly at most that of the composition on all of it. */
static bool is_below(const interval *i, double mu)
{
    return prv_log_gaussian_complement(i->high, mu) <= i->at_low ||
           prv_log_gaussian_complement(i->low, mu) <= carried_down(i);
}

/* The least mu found, not below `start`, for which is_below holds; HUGE_VAL if there is none. */
static double mu_of_interval(const interval *i, double start)
{
    if (is_below(i, start)) return start;
    double enough = fmax(start, 1.0);
    while (enough < PRV_GREATEST_MU && !is_below(i, enough)) enough *= 2.0;
    if (!(enough < PRV_GREATEST_MU)) return HUGE_VAL;
    double less = fmax(start, 0.5 * enough);
    for (int n = 0; n < BISECTIONS && enough > less * (1.0 + PRV_MU_TOLERANCE); n++) {
        const double middle = sqrt(less) * sqrt(enough);
        if (is_below(i, middle))
            enough = middle;
        else
            less = middle;
    }
    return enough;
}

prv_status prv_mu_of_complement(const prv_directions *directions, const prv_options *options, double end,
                                double log_end, double start, double *mu)
{
    *mu = HUGE_VAL;
    for (size_t v = 0; v < directions->count; v++)
        if (prv_direction_absolute_error(&directions->each[v]) > 0.0) return PRV_OK;
    const double least_step = end / MOST_EPSILONS;
    double found = start, step = least_step, tilts[2] = {0.0, 0.0};
    interval i = {.high = end, .at_high = log_end};
    while (i.high > 0.0) {
        const prv_status interrupted = prv_check_interrupt(options);
        if (interrupted != PRV_OK) return interrupted;
        i.low = fmax(i.high - step, 0.0);
        i.at_low = HUGE_VAL;
        double spread = HUGE_VAL;
        for (size_t v = 0; v < directions->count; v++) {
            double deviation;
            i.at_low = fmin(i.at_low,
                            log_complement_below(&directions->each[v], i.low, &tilts[v], &deviation));
            spread = fmin(spread, deviation);
        }
        i.at_low = fmax(i.at_low, carried_down(&i));
        found = mu_of_interval(&i, found);
        if (!(found < HUGE_VAL)) return PRV_OK;
        step = fmax(STEP_IN_DEVIATIONS * spread, least_step);
        i.high = i.low;
        i.at_high = i.at_low;
    }
    *mu = found;
    return PRV_OK;
}
