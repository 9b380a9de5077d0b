#include "planning/aim.h"

#include <float.h>
#include <math.h>

#include "numerics/rounding.h"
#include "mechanisms/bounded_range.h"
#include "mechanisms/support.h"
#include "composition/kernel.h"
#include "curve/attained.h"

/* The part of delta that Chernoff's bound gives for tops put at infinity. Where a few rare jumps have all
 * weight at its tilt, that is far less than what it loses by them. */
#define TOPS_OF_BOUND 0.65

/* Chernoff's bound of epsilon, (L - log delta + log g(lam)) / lam, is smallest where
 *     lam L' - L + log delta + log(1 + lam) = 0,
 * whose left side grows with lam. `least` bounds the logarithms from below: see prv_aim_at_delta. */
typedef struct entropy_goal {
    double log_delta, least;
} entropy_goal;

static double entropy_excess(const prv_direction *direction, double lam, const void *goal)
{
    const entropy_goal *g = goal;
    const prv_moments m = prv_composed_moments(direction, lam);
    return lam * m.mean - m.log_moment + fmax(g->log_delta + log1p(lam), g->least);
}

/* log of the factor between delta and M e^(-lam eps): Gaussian at the saddle, at most g. */
static double log_saddle_factor(double lam, double variance)
{
    const double gaussian = -0.5 * log(2.0 * 3.14159265358979 * fmax(variance, 1e-300)) - log(lam) -
                            log1p(lam);
    return fmin(gaussian, log(prv_kernel_maximum(lam)));
}

double prv_width_asked(const prv_options *o, double epsilon)
{
    if (o->eps_error > 0.0) return o->eps_error;
    return o->eps_relative_error * fmax(fabs(epsilon), o->eps_floor);
}

/* Up to these a width moves log delta by as much as its slope says, about: as a part of delta, and of the
 * deviation of the composed loss. */
#define WIDEST_PART 0.5
#define WIDEST_DEVIATION 0.3

double prv_width_wanted(const prv_options *o, prv_question question, const prv_aim *aim, double epsilon,
                        double whole)
{
    const double asked = prv_width_asked(o, epsilon);
    if (question != PRV_ASK_DELTA || !(o->delta_relative_error > 0.0) || !(aim->slope > 0.0)) return asked;
    const double part = fmin(o->delta_relative_error * whole, WIDEST_PART);
    return fmax(asked, fmin(part / aim->slope, WIDEST_DEVIATION * aim->deviation));
}

int prv_is_relatively_close(const prv_options *o, prv_question question, double lower, double upper)
{
    return question == PRV_ASK_DELTA && o->delta_relative_error > 0.0 &&
           upper - lower <= o->delta_relative_error * upper;
}

/* Mass above these cells matters only as mass at infinity; without it the tilt finds the bulk. */
void prv_cut_tops(prv_direction *direction, double mass_above)
{
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        const double above = mass_above / direction->counts[j];
        size_t end = p->length;
        while (end > 1 && p->tail[end - 1] <= above) end--;
        direction->end[j] = end;
    }
}

double prv_truncation_share(double slope, double width)
{
    return fmin(0.005 * fmax(slope * width, PRV_FINEST_DELTA), 1e-4);
}

static void guess_epsilon(const prv_direction *direction, prv_aim *aim)
{
    const prv_moments m = prv_composed_moments(direction, aim->saddle);
    const double factor = log_saddle_factor(aim->saddle, m.variance);
    const double guess = (m.log_moment + factor - aim->log_delta) / aim->saddle;
    const double most = (m.log_moment + log(prv_kernel_maximum(aim->saddle)) - aim->log_delta) / aim->saddle;
    aim->epsilon = fmin(fmax(guess, 0.0), fmax(direction->all.greatest_loss, 0.0));
    aim->deviation = sqrt(m.variance);
    /* Profiles are about 1 % off, and their log-moments by no more than a few times what is known. */
    const double moments = 10.0 * fmax(direction->moment_error, PRV_MOST_MOMENT_ERROR) / aim->saddle;
    aim->reach = fmax(most - aim->epsilon, fmin(0.05 * fabs(aim->epsilon), moments));
}

/* `asked` is the epsilon whose width counts, or nan where that is the one to be found. */
static void aim_at(prv_direction *direction, const prv_options *options, double delta, double asked,
                   prv_aim *aim)
{
    aim->log_delta = log(delta);
    aim->top_share = 1e-4;
    /* Twice: the first saddle tells how much the tops may cost. */
    for (int round = 0; round < 2; round++) {
        prv_use_whole_profiles(direction);
        prv_cut_tops(direction, aim->top_share * delta / (double)direction->steps);
        /* The entropy cannot exceed that of the topmost cells alone; a delta below their probability
         * is decided by them, and a tilt that singles them out is enough. */
        double log_top = 0.0;
        for (size_t j = 0; j < direction->steps; j++) {
            const prv_profile *p = &direction->profiles[j];
            log_top += direction->counts[j] * log(p->mass[direction->end[j] - 1]);
        }
        const entropy_goal goal = {aim->log_delta, 0.98 * log_top};
        aim->saddle = prv_root(direction, entropy_excess, &goal, round == 0 ? 4.0 : aim->saddle);
        guess_epsilon(direction, aim);
        /* With (4 - log delta) / width Chernoff's bound is within the width of the largest loss. */
        const double width = prv_width_asked(options, isnan(asked) ? aim->epsilon : asked);
        const double most = fmax(4.0 * (4.0 - aim->log_delta) / width, PRV_LEAST_TILT);
        if (aim->saddle > most) {
            aim->saddle = most;
            guess_epsilon(direction, aim);
        }
        aim->slope = aim->saddle;
        const double wanted = isnan(asked) ? width
                                           : prv_width_wanted(options, PRV_ASK_DELTA, aim, asked, 1.0);
        const double share = prv_truncation_share(aim->slope, wanted);
        if (share > 0.3 * aim->top_share) break;
        aim->top_share = share;
    }
}

void prv_aim_at_delta(prv_direction *direction, const prv_options *options, double delta, prv_aim *aim)
{
    aim_at(direction, options, delta, NAN, aim);
}

/* Saddle-point guess of log delta at epsilon from the cells in use. */
static double log_delta_guess(const prv_direction *direction, double epsilon)
{
    const double lam = prv_root(direction, prv_saddle_excess, &epsilon, 4.0);
    const prv_moments m = prv_composed_moments(direction, lam);
    return fmin(m.log_moment - lam * epsilon + log_saddle_factor(lam, m.variance), 0.0);
}

void prv_aim_at_epsilon(prv_direction *direction, const prv_options *options, double epsilon, prv_aim *aim)
{
    prv_use_whole_profiles(direction);
    double guess = log_delta_guess(direction, epsilon);
    /* Where few rare jumps dominate, the saddle-point guess is far too large; then delta is about that
     * of one jump, or of the rest without large jumps. */
    double jumps = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        for (size_t c = p->length; c-- > 0 && p->center[c] > epsilon;)
            jumps -= direction->counts[j] * p->mass[c] * expm1(epsilon - p->center[c]);
        size_t end = p->length;
        while (end > 1 && p->center[end - 1] > 0.5 * epsilon) end--;
        direction->end[j] = end;
    }
    const double rest = log_delta_guess(direction, epsilon);
    if (jumps > 0.0) guess = fmin(guess, log(jumps + exp(rest)));
    aim_at(direction, options, fmin(exp(fmax(guess, -737.0)), 0.999), epsilon, aim);
    aim->epsilon = epsilon;
    aim->reach = 0.0;
}

void prv_take_aim(prv_direction *direction, const prv_options *options, prv_question question, double value,
                  prv_aim *aim)
{
    if (question == PRV_ASK_EPSILON)
        prv_aim_at_delta(direction, options,
                         fmax(value - direction->all.infinite.mass, prv_direction_absolute_error(direction)),
                         aim);
    else
        prv_aim_at_epsilon(direction, options, value, aim);
}

prv_status prv_refine_aim(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_aim *aim)
{
    for (;;) {
        int changed;
        const prv_status status = prv_direction_refine(direction, aim->saddle, &changed);
        if (status != PRV_OK || !changed) return status;
        prv_take_aim(direction, options, question, value, aim);
    }
}

/* Takes out of use the tops that cost Chernoff's bound this part of delta as mass at infinity. */
static void cut_tops_of_bound(prv_direction *direction, double delta, double share)
{
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, share * delta / (double)direction->steps);
}

/* The log-moment of a step at most, at a tilt >= 0: of its coarse dominating lattice up to a knot, or of all
 * bounded ranges, which is less than that of the pair that dominates them. It bounds each factor of E[e^(lam
 * L)] given what was released before, and so the product. */
static double most_log_moment(const prv_mechanism *m, const prv_profile *p, size_t knots, double lam)
{
    const double moment = prv_tilt(p->knots, p->dominating, knots, lam, NULL).log_moment;
    return prv_is_bounded_range(m) ? fmin(moment, prv_most_log_moment(m->mu, lam)) : moment;
}

/* The tilt at which Chernoff's bound of the merged cells in use is least; any tilt gives a bound. */
static double chernoff_tilt(const prv_direction *direction, double delta)
{
    const entropy_goal goal = {log(delta), -HUGE_VAL};
    return prv_root(direction, entropy_excess, &goal, 4.0);
}

/* What Chernoff's bounds are made of at a tilt, with what rounding does to it. */
typedef struct chernoff_sums {
    double log_moment, size; /* of all steps; and the sum of the moduli of all terms */
    double absolute;         /* of delta */
    double relative, shift;  /* of the curve: see certificate.h */
    prv_infinite infinite;   /* with the tops that `share` of delta lets be put there */
} chernoff_sums;

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
        c.log_moment += k * moment;
        c.size += k * fabs(moment);
        c.absolute += k * (prv_absolute_cdf_error(direction->mechanisms[j]) +
                           DBL_MIN); /* less is lost to underflow */
        c.relative += k * (p->rounding.relative + prv_tilt_error(p->knots, knots, lam, moment));
        c.shift += k * p->rounding.shift;
    }
    return c;
}

static double chernoff_at(const prv_direction *direction, double delta, double share, double lam)
{
    const double log_kernel = log(prv_kernel_maximum(lam));
    const chernoff_sums c = chernoff_sums_at(direction, delta, share, lam);
    const double finite = delta - c.absolute - c.infinite.high;
    if (!(finite > 0.2 * delta)) return HUGE_VAL;
    const double bound = (c.log_moment + log_kernel - log(finite) + c.relative) / lam + c.shift;
    /* The sums over the steps are off by u each of their size; logarithms, products and the rest by 16 u.
     * `finite` is the difference of at most 5 of itself. */
    const double size = c.size + fabs(log_kernel) + fabs(log(finite)) + c.relative + 16.0;
    const double rounding = PRV_UNIT * (16.0 + (double)direction->steps) * (size / lam + c.shift) *
                            PRV_SECOND_ORDER;
    /* The greatest of two directions passes over what is no number. */
    return isnan(bound) ? HUGE_VAL : bound + rounding;
}

/* What delta is bounded by at an epsilon, the other way round. */
static double chernoff_delta_at(const prv_direction *direction, double epsilon, double lam)
{
    const double log_kernel = log(prv_kernel_maximum(lam));
    const chernoff_sums c = chernoff_sums_at(direction, 0.0, 0.0, lam);
    const double moved = lam * (epsilon - c.shift),
                 log_bound = c.log_moment + log_kernel - moved + c.relative;
    const double size = c.size + fabs(log_kernel) + fabs(moved) + lam * fabs(epsilon) + c.relative + 16.0;
    const double rounding = PRV_UNIT * (16.0 + (double)direction->steps) * size * PRV_SECOND_ORDER;
    const double bound = prv_outwards(exp(log_bound + rounding), PRV_LIBM_ERROR, 1) + c.infinite.high +
                         c.absolute;
    return bound <= 1.0 ? fmin(prv_outwards(bound, 2.0 * PRV_UNIT, 1), 1.0) : 1.0;
}

/* The tilt, with the bound of `value` there, at which one of the two is least: from the saddle of the pair
 * on, since moments of bounded ranges are less than those of their pairs. */
static double least_chernoff(prv_direction *direction, prv_question question, double value, double *lam)
{
    const int ask_epsilon = question == PRV_ASK_EPSILON;
    cut_tops_of_bound(direction, ask_epsilon ? value : 0.0, 0.0);
    *lam = ask_epsilon ? (value > 0.0 ? chernoff_tilt(direction, value) : 1.0 / PRV_LEAST_TILT)
                       : prv_root(direction, prv_saddle_excess, &value, 4.0);
    double least = HUGE_VAL;
    for (double factor = 4.0; factor > 1.004; factor = sqrt(factor))
        for (int up = 0; up <= 1; up++)
            for (double next = *lam; next >= PRV_LEAST_TILT && next <= 1.0 / PRV_LEAST_TILT;) {
                const double bound = ask_epsilon ? chernoff_at(direction, value, 0.0, next)
                                                 : chernoff_delta_at(direction, value, next);
                if (bound > least || (bound == least && next != *lam)) break;
                least = bound;
                *lam = next;
                next = up ? next * factor : next / factor;
            }
    return least;
}

double prv_most_of_ranges(prv_direction *direction, prv_question question, double value, double *lam)
{
    if (question == PRV_ASK_DELTA && !(value > 0.0)) {
        *lam = 0.0;
        return 1.0;
    }
    return least_chernoff(direction, question, value, lam);
}

static double chernoff_bound(prv_direction *direction, double delta, double share)
{
    cut_tops_of_bound(direction, delta, share);
    return chernoff_at(direction, delta, share, chernoff_tilt(direction, delta));
}

double prv_chernoff_epsilon(prv_direction *direction, double delta, double enough)
{
    const double bound = chernoff_bound(direction, delta, TOPS_OF_BOUND);
    return bound <= enough ? bound : fmin(bound, chernoff_bound(direction, delta, 0.0));
}

int prv_chernoff_may_reach(prv_direction *direction, double delta, double epsilon)
{
    /* About the least tilt that can: log M is convex, so that log M / lam only grows beyond it. */
    const double lam = fmin(fmax(-0.5 * log(delta) / epsilon, PRV_LEAST_TILT), 1.0 / PRV_LEAST_TILT);
    cut_tops_of_bound(direction, delta, TOPS_OF_BOUND);
    return prv_composed_moments(direction, lam).log_moment <= lam * epsilon;
}

double prv_rough_epsilon(prv_direction *direction, double delta)
{
    cut_tops_of_bound(direction, delta, TOPS_OF_BOUND);
    prv_aim aim = {.log_delta = log(delta), .saddle = chernoff_tilt(direction, delta)};
    guess_epsilon(direction, &aim);
    return aim.epsilon;
}

double prv_most_total_variation(const prv_direction *direction)
{
    double sum = 0.0, roundings = 4.0 + (double)direction->steps;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        /* delta(0) <= (1 + relative) D(-shift) + infinite, and D(-shift) <= sum of y(x) min(x + shift, 1)
         * over x > -shift. */
        const double shift = p->rounding.shift;
        double step = p->dominating_infinite + p->infinite_error +
                      prv_absolute_cdf_error(direction->mechanisms[j]);
        for (size_t i = p->knot_count; i-- > 0 && p->knots[i] > -shift;)
            step += p->dominating[i] * fmin(p->knots[i] + shift, 1.0);
        sum += direction->counts[j] * step * (1.0 + p->rounding.relative);
        roundings = fmax(roundings, 8.0 + (double)(p->knot_count + direction->steps));
    }
    return isnan(sum) ? HUGE_VAL : prv_outwards(sum, roundings * PRV_UNIT, 1);
}

double prv_law_step(const prv_direction *direction, const prv_aim *aim)
{
    return sqrt(7.0 * aim->width / (direction->all.count * (aim->saddle + 1.0)));
}

void prv_widen_reach(prv_aim *aim)
{
    aim->reach = fmax(aim->reach, fmin(aim->width, 0.05 * fabs(aim->epsilon)));
}

double prv_log_part(prv_direction *direction, const prv_aim *aim, double tilt)
{
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, aim->top_share * exp(aim->log_delta) / (double)direction->steps);
    return fmin(aim->log_delta - prv_composed_moments(direction, tilt).log_moment + tilt * aim->epsilon -
                    log(prv_kernel_maximum(tilt)),
                0.0);
}

double prv_log_complement(const prv_direction *direction, double epsilon)
{
    double best = HUGE_VAL;
    if (prv_direction_absolute_error(direction) > 0.0) return best;
    /* Convex in t. Only the order of magnitude matters: the best of a few will do. */
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
