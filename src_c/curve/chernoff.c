#include "curve/chernoff.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "numerics/rounding.h"
#include "mechanisms/bounded_range.h"
#include "mechanisms/support.h"
#include "composition/kernel.h"

/* The part of delta that may be spent on tops put at infinity. If a few rare jumps have all weight at the
 * tilt of Chernoff's bound, this costs far less than the bound loses by them. Any part gives a bound. */
#define TOPS_OF_BOUND 0.65

/* The first part of a bound of delta that the tops put at infinity may hold of the next one, which is squared
 * each time; and how often, at most. Any part gives a bound. */
#define FIRST_TOPS 0.01
enum { MOST_TOPS = 6 };

/* No bound of epsilon is given unless the finite part of delta is more than this part of it: the derivation
 * of its rounding error relies on that. */
#define LEAST_FINITE 0.2

/* Where searches of the tilt begin; and the steps of the search of the least bound of ranges, first and last.
 * No bound relies on them. */
#define FIRST_TILT 4.0
#define FIRST_FACTOR 4.0
#define LAST_FACTOR 1.01

/* The log-moment of a step at most, at a tilt >= 0: of its coarse dominating lattice up to a knot, or of all
 * bounded ranges, which is less than that of the pair that dominates them. It bounds each factor of E[e^(lam
 * L)] given what was released before, and so the product. */
static double most_log_moment(const prv_mechanism *m, const prv_profile *p, size_t knots, double lam)
{
    const double moment = prv_tilt(p->knots, p->dominating, knots, lam, NULL).log_moment;
    return prv_is_bounded_range(m) ? fmin(moment, prv_most_log_moment(m->mu, lam)) : moment;
}

/* Takes the tops out of use that cost Chernoff's bound this share of delta if they are put at infinity. */
static void cut_tops(prv_direction *direction, double delta, double share)
{
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, share * delta / (double)direction->steps);
}

void prv_chernoff_cut_tops(prv_direction *direction, double delta)
{
    cut_tops(direction, delta, TOPS_OF_BOUND);
}

double prv_chernoff_tilt(const prv_direction *direction, double delta)
{
    const prv_entropy_goal goal = {log(delta), -HUGE_VAL};
    return prv_root(direction, prv_entropy_excess, &goal, FIRST_TILT);
}

/* The terms of Chernoff's bounds at a tilt, of all steps together, from above, with their errors. */
typedef struct chernoff_sums {
    double log_moment;
    double absolute;        /* error of delta */
    double relative, shift; /* factor e^relative on the curve, and its shift in nats: certificate.h */
    prv_infinite infinite;  /* mass at infinity, with the tops put there */
} chernoff_sums;

/* Puts tops at infinity that hold at most `share` of delta. */
static chernoff_sums chernoff_sums_at(const prv_direction *direction, double delta, double share, double lam)
{
    chernoff_sums c = {.log_moment = 0.0};
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const double k = direction->counts[j], most = share * delta / ((double)direction->steps * k);
        double above = 0.0;
        size_t knots = p->knot_count;
        while (knots > 1 && above + p->dominating[knots - 1] <= most) above += p->dominating[--knots];
        const double moment = most_log_moment(direction->mechanisms[j], p, knots, lam);
        /* A mass at a knot that counts as infinite: a sum of so many masses, off as the lattice is. */
        const double sums = PRV_UNIT * (4.0 + (double)(p->knot_count - knots));
        const double beyond = p->dominating_infinite + above;
        prv_infinite_add(&c.infinite, beyond, p->infinite_error + beyond * (p->rounding.relative + sums), k);
        const double absolute = prv_above(prv_absolute_cdf_error(direction->mechanisms[j]) +
                                          prv_lost_delta(direction->mechanisms[j]));
        const double relative = p->rounding.relative + prv_tilt_error(p->knots, knots, lam, moment);
        c.log_moment = prv_above(c.log_moment + prv_above(k * moment));
        c.absolute = prv_above(c.absolute + prv_above(k * absolute));
        c.relative = prv_above(c.relative + k * relative);
        c.shift = prv_above(c.shift + k * p->rounding.shift);
    }
    return c;
}

/* Of epsilon at delta, by the moments at this tilt. */
static double epsilon_at(const prv_direction *direction, double delta, double share, double lam)
{
    const double log_kernel = log(prv_kernel_maximum(lam));
    const chernoff_sums c = chernoff_sums_at(direction, delta, share, lam);
    const double finite = delta - c.absolute - c.infinite.high;
    if (!(finite > LEAST_FINITE * delta)) return HUGE_VAL;
    const double bound = (c.log_moment + log_kernel - log(finite) + c.relative) / lam + c.shift;
    /* Logarithms, products, sums of these few, and what `relative` and `shift` are made of are off by 16 u of
     * their size. `finite` is the difference of numbers of at most finite / LEAST_FINITE. */
    const double size = fabs(c.log_moment) + fabs(log_kernel) + fabs(log(finite)) + c.relative + 16.0;
    const double rounding = 16.0 * PRV_UNIT * (size / lam + c.shift) * PRV_SECOND_ORDER;
    /* The greater one of two directions must not pass over a nan. */
    return isnan(bound) ? HUGE_VAL : bound + rounding;
}

/* Of delta at epsilon, by the moments at this tilt, with tops at infinity that hold `tops` at most. */
static double delta_at(const prv_direction *direction, double epsilon, double tops, double lam)
{
    const double log_kernel = log(prv_kernel_maximum(lam));
    const chernoff_sums c = chernoff_sums_at(direction, tops, 1.0, lam);
    const double moved = lam * (epsilon - c.shift);
    const double log_bound = c.log_moment + log_kernel - moved + c.relative;
    const double size = fabs(c.log_moment) + fabs(log_kernel) + fabs(moved) + lam * fabs(epsilon) +
                        c.relative + 16.0;
    const double rounding = 16.0 * PRV_UNIT * size * PRV_SECOND_ORDER;
    const double bound = prv_outwards(exp(log_bound + rounding), PRV_LIBM_ERROR, 1) + c.infinite.high +
                         c.absolute;
    return bound <= 1.0 ? fmin(prv_outwards(bound, 2.0 * PRV_UNIT, 1), 1.0) : 1.0;
}

static double bound_at(const prv_direction *direction, prv_question question, double value, double lam)
{
    return question == PRV_ASK_EPSILON ? epsilon_at(direction, value, 0.0, lam)
                                       : delta_at(direction, value, 0.0, lam);
}

/* The tilt from which the search for the least bound of ranges starts: the pair's. Moments of bounded ranges
 * are less than those of their pairs, so that the best tilt is another. */
static double tilt_of_pair(prv_direction *direction, prv_question question, double value)
{
    cut_tops(direction, question == PRV_ASK_EPSILON ? value : 0.0, 0.0);
    if (question == PRV_ASK_DELTA) return prv_root(direction, prv_saddle_excess, &value, FIRST_TILT);
    return value > 0.0 ? prv_chernoff_tilt(direction, value) : 1.0 / PRV_LEAST_TILT;
}

static bool is_tilt(double lam)
{
    return lam >= PRV_LEAST_TILT && lam <= 1.0 / PRV_LEAST_TILT;
}

double prv_most_of_ranges(prv_direction *direction, prv_question question, double value, double *lam)
{
    if (question == PRV_ASK_DELTA && !(value > 0.0)) {
        *lam = 0.0;
        return 1.0;
    }
    *lam = tilt_of_pair(direction, question, value);
    if (!is_tilt(*lam)) return HUGE_VAL;
    double least = bound_at(direction, question, value, *lam);
    /* Goes up and down by ever smaller factors as long as the bound falls. */
    for (double factor = FIRST_FACTOR; factor > LAST_FACTOR; factor = sqrt(factor)) {
        double beside[2];
        for (int up = 0; up <= 1; up++)
            for (;;) {
                const double next = up ? *lam * factor : *lam / factor, last = least;
                const double bound = is_tilt(next) ? bound_at(direction, question, value, next) : HUGE_VAL;
                beside[up] = bound;
                if (!(bound < least)) break;
                beside[1 - up] = last;
                least = bound;
                *lam = next;
            }
        if (sqrt(factor) > LAST_FACTOR) continue;
        /* At the least of the parabola through these three, the excess is of fourth order in the factor. */
        const double bend = beside[0] - 2.0 * least + beside[1];
        if (!(bend > 0.0 && isfinite(bend))) break;
        const double next = *lam * pow(factor, 0.5 * (beside[0] - beside[1]) / bend);
        const double bound = is_tilt(next) ? bound_at(direction, question, value, next) : HUGE_VAL;
        if (!(bound < least)) break;
        least = bound;
        *lam = next;
    }
    return least;
}

static double epsilon_without_tops(prv_direction *direction, double delta, double share)
{
    cut_tops(direction, delta, share);
    return epsilon_at(direction, delta, share, prv_chernoff_tilt(direction, delta));
}

double prv_chernoff_epsilon(prv_direction *direction, double delta, double enough)
{
    const double bound = epsilon_without_tops(direction, delta, TOPS_OF_BOUND);
    return bound <= enough ? bound : fmin(bound, epsilon_without_tops(direction, delta, 0.0));
}

double prv_chernoff_epsilon_at(const prv_direction *direction, double delta, double enough, double tilt)
{
    const double bound = epsilon_at(direction, delta, TOPS_OF_BOUND, tilt);
    return bound <= enough ? bound : fmin(bound, epsilon_at(direction, delta, 0.0, tilt));
}

double prv_chernoff_delta(prv_direction *direction, double epsilon, double enough)
{
    const double infinite = direction->all.infinite.high;
    double least = delta_at(direction, epsilon, 0.0, tilt_of_pair(direction, PRV_ASK_DELTA, epsilon));
    double share = FIRST_TOPS;
    for (int i = 0; i < MOST_TOPS && least > enough && least > infinite; i++, share *= share) {
        const double tops = share * (least - infinite);
        cut_tops(direction, tops, 1.0);
        const double lam = prv_root(direction, prv_saddle_excess, &epsilon, FIRST_TILT);
        const double bound = delta_at(direction, epsilon, tops, lam);
        if (!(bound < least)) break;
        least = bound;
    }
    return least;
}

double prv_most_total_variation(const prv_direction *direction)
{
    double sum = 0.0, roundings = 4.0 + (double)direction->steps; /* of u each, at most */
    const bool is_single = direction->steps == 1 && direction->counts[0] == 1.0;
    const double of_single = is_single ? prv_most_by_samples(direction->mechanisms[0]) : HUGE_VAL;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        /* delta(0) <= (1 + relative) D(-shift) + infinite, and D(-shift) <= sum of y(x) min(x + shift, 1)
         * over x > -shift. */
        const double shift = p->rounding.shift;
        double step = p->dominating_infinite + p->infinite_error +
                      prv_absolute_cdf_error(direction->mechanisms[j]) +
                      prv_lost_delta(direction->mechanisms[j]);
        for (size_t i = p->knot_count; i-- > 0 && p->knots[i] > -shift;)
            step += p->dominating[i] * fmin(p->knots[i] + shift, 1.0);
        step = fmin(step * (1.0 + p->rounding.relative), prv_most_by_samples(direction->mechanisms[j]));
        sum += direction->counts[j] * step;
        roundings = fmax(roundings, 8.0 + (double)(p->knot_count + direction->steps));
    }
    return isnan(sum) ? of_single : fmin(prv_outwards(sum, roundings * PRV_UNIT, 1), of_single);
}

double prv_most_by_variation(const prv_direction *direction, double epsilon)
{
    const double most = prv_most_total_variation(direction), least = prv_least_delta(epsilon, 1);
    return least > 0.0 ? prv_above(least + most) : most;
}

double prv_log_complement(const prv_direction *direction, double epsilon)
{
    double best = HUGE_VAL;
    /* Merged cells of atoms that dominate a mechanism have no larger moment than it has. */
    if (prv_direction_absolute_error(direction) > 0.0 || prv_is_enclosed(direction)) return best;
    /* The bound is convex in t, and each t gives one. Only the order of magnitude matters: a few will do. */
    for (double t = 0.0625; t < 1.0; t += 0.0625) {
        double log_bound = t * epsilon, size = fabs(log_bound) + 1.0, error = 0.0;
        for (size_t j = 0; j < direction->steps; j++) {
            const prv_profile *p = &direction->profiles[j];
            const double moment = prv_tilt(p->center, p->mass, p->length, -t, NULL).log_moment;
            log_bound += direction->counts[j] * moment;
            size += direction->counts[j] * fabs(moment);
            /* 1 - delta is the lower tail of Q plus e^epsilon times the upper tail of P, each off relatively
             * by tail_error at a common knot; the centres are logarithms of quotients, off by 8 u. */
            error += direction->counts[j] *
                     (2.0 * p->tail_error + 8.0 * PRV_UNIT + prv_tilt_error(p->center, p->length, t, moment));
        }
        log_bound += (error + PRV_UNIT * (4.0 + (double)direction->steps) * size) * PRV_SECOND_ORDER;
        if (!(log_bound < best)) break;
        best = log_bound;
    }
    return best;
}
