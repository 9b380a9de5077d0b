#include "planning/aim.h"

#include <math.h>

#include "base/allocate.h"
#include "numerics/normal.h"
#include "composition/kernel.h"
#include "curve/chernoff.h"
#include "planning/jump_plan.h"

/* The numbers below are guesses that save time. No bound relies on them. */

/* Truncation may cost this part of the width wanted, but never more than this part of delta, with which aims
 * begin. */
#define TRUNCATION_PART 0.02
#define MOST_SHARE 1e-4

/* An aim is taken again if truncation may cost less than this part of the share that was assumed. */
#define SHARE_CHANGE 0.3

/* In the error law 8 times the width would do in theory; the rest is left for the slack. */
#define LAW_FACTOR 7.0

/* The first guess of a tilt. */
#define FIRST_TILT 4.0

/* The entropy of the topmost cells is lowered by this factor, so that some tilt reaches it. */
#define TOP_ENTROPY 0.98

/* A guess of epsilon is off by the error of the log-moments, about so many times over the tilt, and by at
 * most this part of itself. */
#define MOMENT_ERRORS 10.0
#define REACH_PART 0.05
/* A first pass, whose mesh may be fine, has a window for an epsilon that is off by this part of itself. */
#define LEAST_REACH 0.03

/* The range of guesses of delta: exp of the former is not 0. */
#define LEAST_LOG_DELTA (-737.0)
#define MOST_DELTA 0.999

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

bool prv_is_relatively_close(const prv_options *o, prv_question question, double lower, double upper)
{
    return question == PRV_ASK_DELTA && o->delta_relative_error > 0.0 &&
           upper - lower <= o->delta_relative_error * upper;
}

double prv_truncation_share(double slope, double width)
{
    return fmin(TRUNCATION_PART * fmax(slope * width, PRV_FINEST_DELTA), MOST_SHARE);
}

static void guess_epsilon(const prv_direction *direction, prv_aim *aim)
{
    const prv_moments m = prv_composed_moments(direction, aim->saddle);
    const double factor = log_saddle_factor(aim->saddle, m.variance);
    const double guess = (m.log_moment + factor - aim->log_delta) / aim->saddle;
    const double most = (m.log_moment + log(prv_kernel_maximum(aim->saddle)) - aim->log_delta) / aim->saddle;
    aim->epsilon = fmin(fmax(guess, 0.0), fmax(direction->all.greatest_loss, 0.0));
    aim->deviation = sqrt(m.variance);
    /* Moments of profiles are off by about 1 %, and their logarithms by a few times the moment_error. */
    const double moments = MOMENT_ERRORS * fmax(direction->moment_error, PRV_MOST_MOMENT_ERROR) / aim->saddle;
    aim->reach = fmax(most - aim->epsilon, fmin(REACH_PART * fabs(aim->epsilon), moments));
}

/* A guess of the curve at some epsilon. */
typedef struct curve_guess {
    double log_delta, slope; /* slope = -d log(delta) / d epsilon, >= 0 */
} curve_guess;

/* The saddle is searched by steps of at most this factor, until log delta would change by less than this: it
 * does not to first order. */
#define LONGEST_STEP 8.0
#define LEAST_CHANGE 0.05
enum { MOST_STEPS = 24 };

/* By the saddle point at epsilon, from the cells in use. The search begins at *tilt, which gets the saddle.
 */
static curve_guess guess_at(const prv_direction *direction, double epsilon, double *tilt)
{
    double lam = *tilt, low = PRV_LEAST_TILT, high = 1.0 / PRV_LEAST_TILT;
    prv_moments m = prv_composed_moments(direction, lam);
    for (int i = 0; i < MOST_STEPS && low < high; i++) {
        /* Newton's method for prv_saddle_excess in log lam, within what is known of its root. */
        const double a = 1.0 / lam, b = 1.0 / (1.0 + lam), excess = m.mean - epsilon - a - b;
        if (excess < 0.0)
            low = lam;
        else
            high = lam;
        const double growth = m.variance + a * a + b * b;
        if (0.5 * excess * excess <= LEAST_CHANGE * growth) break;
        const double step = fmin(fmax(exp(-excess * a / growth), 1.0 / LONGEST_STEP), LONGEST_STEP);
        lam = lam * step > low && lam * step < high ? lam * step : sqrt(low * high);
        m = prv_composed_moments(direction, lam);
    }
    *tilt = lam;
    const double guess = m.log_moment - lam * epsilon + log_saddle_factor(lam, m.variance);
    return (curve_guess){fmin(guess, 0.0), lam};
}

/* Losses above this part of epsilon are jumps; what they leave of epsilon is at most the other part, of which
 * guesses are taken at so many places. */
#define JUMP_PART 0.5
enum { PLACES = 4 };

/* If a run has more than this part of its mass there, these are no jumps: what it has else tells nothing of
 * the other losses of a sum with one of them. */
#define MOST_OF_RUN 0.2

/* The first cell of a profile whose losses are jumps at this epsilon, or its length. */
static size_t first_jump(const prv_profile *p, double epsilon)
{
    size_t end = p->length;
    double mass = 0.0;
    while (end > 1 && p->center[end - 1] > JUMP_PART * epsilon) mass += p->mass[--end];
    return mass <= MOST_OF_RUN ? end : p->length;
}

/* Saddles at the places, and at epsilon: those of one guess are where the search for the next one begins. */
typedef struct place_tilts {
    double at[PLACES], whole;
    bool known;
} place_tilts;

static place_tilts begin_at(double tilt)
{
    return (place_tilts){.at = {tilt}};
}

/* Jumps that make up less of delta than this part do not count. */
#define LEAST_TAIL 1e-4

/* From one jump and from the rest, the losses below half of epsilon: of a jump by s counts delta of the rest
 * at epsilon - s. Jumps that are rare have no part in a saddle point, which takes them for frequent ones. */
static curve_guess guess_with_a_jump(prv_direction *direction, double epsilon, place_tilts *tilts)
{
    curve_guess places[PLACES];
    const double part = epsilon * (1.0 - JUMP_PART) / (PLACES - 1);
    prv_use_whole_profiles(direction);
    for (size_t j = 0; j < direction->steps; j++)
        direction->end[j] = first_jump(&direction->profiles[j], epsilon);
    for (int i = 0; i < PLACES; i++) {
        if (i > 0 && !tilts->known) tilts->at[i] = tilts->at[i - 1];
        places[i] = guess_at(direction, part * i, &tilts->at[i]);
    }
    if (!tilts->known) tilts->whole = tilts->at[PLACES - 1];
    tilts->known = true;
    const curve_guess rest = guess_at(direction, epsilon, &tilts->whole);
    double sum = exp(rest.log_delta), slope = rest.slope * sum;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        for (size_t c = direction->end[j]; c < p->length; c++) {
            if (direction->counts[j] * p->tail[c] < LEAST_TAIL * sum) break;
            const double mass = direction->counts[j] * p->mass[c], left = epsilon - p->center[c];
            const int i = !(left > 0.0) ? 0 : left < part * (PLACES - 2) ? (int)(left / part) : PLACES - 2;
            const double at = fmax(left / part - i, 0.0);
            const double delta = exp(places[i].log_delta +
                                     at * (places[i + 1].log_delta - places[i].log_delta));
            sum += mass * fmax(-expm1(left), delta);
            slope += mass * (-expm1(left) > delta
                                 ? exp(left)
                                 : delta * (places[i].slope + at * (places[i + 1].slope - places[i].slope)));
        }
    }
    return (curve_guess){log(sum), slope / sum};
}

/* If the excess kurtosis of the composed law at the saddle is larger, few large losses are most of its
 * variance, and epsilon may be a small part of the saddle point's guess. */
#define MOST_KURTOSIS 0.3

static bool has_rare_jumps(const prv_direction *direction, double tilt)
{
    size_t longest = 1;
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->profiles[j].length > longest) longest = direction->profiles[j].length;
    double *weight = prv_allocate(longest, sizeof *weight);
    if (weight == NULL) return false;
    const double kurtosis = prv_composed_kurtosis(direction, tilt, weight);
    prv_release(weight);
    return kurtosis > MOST_KURTOSIS;
}

/* The search for an epsilon begins at the saddle point's guess, or where one jump alone makes up delta if
 * this is less than so much of it, but more than nothing. It is close enough if log delta is within this of
 * the one asked, or after so many steps, each of which changes epsilon by this factor at most. */
#define MOST_JUMP 0.25
#define LEAST_JUMP 0.01
#define CLOSE 0.2
#define MOST_STEP 5.0
enum { MOST_GUESSES = 6 };

/* Jumps count as rare if epsilon is less than this part of the saddle point's guess. */
#define NOT_RARE 0.95

/* How far the guess with rare jumps may be off: a part of epsilon. */
#define JUMP_REACH 0.08

/* Moves *x to about the epsilon that rare jumps make at this log delta; false if the guesses fail. */
static bool search_with_a_jump(prv_direction *direction, double log_delta, double tilt, double *x,
                               double *slope)
{
    place_tilts tilts = begin_at(tilt);
    for (int i = 0; i < MOST_GUESSES; i++) {
        const curve_guess g = guess_with_a_jump(direction, *x, &tilts);
        if (!(g.slope > 0.0 && isfinite(g.log_delta))) return false;
        const double excess = g.log_delta - log_delta;
        *slope = g.slope;
        /* Newton's method: log delta is more nearly a line in log epsilon. */
        *x *= fmin(fmax(exp(excess / (*slope * *x)), 1.0 / MOST_STEP), MOST_STEP);
        if (fabs(excess) <= CLOSE) break;
    }
    return true;
}

/* Aims at what rare jumps make of epsilon at aim->log_delta. */
static void guess_rare_epsilon(prv_direction *direction, prv_aim *aim)
{
    double x = aim->epsilon, slope;
    if (!(x > 0.0)) return;
    if (prv_may_count_jumps(direction)) {
        double one, unused;
        prv_jump_guess(direction, aim->log_delta, &one, &unused);
        if (one > LEAST_JUMP * x && one < MOST_JUMP * x) x = one;
    }
    if (!search_with_a_jump(direction, aim->log_delta, aim->saddle, &x, &slope)) return;
    if (!(x < NOT_RARE * aim->epsilon)) return;
    aim->epsilon = fmin(x, fmax(direction->all.greatest_loss, 0.0));
    aim->reach = JUMP_REACH * aim->epsilon;
    aim->slope = slope;
    aim->is_rare = true;
}

double prv_guess_of_fewer(prv_direction *direction, const prv_aim *aim, double root)
{
    prv_aim fewer = *aim;
    fewer.saddle *= root;
    prv_use_cells_of_aim(direction, aim);
    if (!aim->is_rare) {
        guess_epsilon(direction, &fewer);
        return fewer.epsilon;
    }
    double x = aim->epsilon / root, slope;
    const bool is_found = x > 0.0 && search_with_a_jump(direction, aim->log_delta, fewer.saddle, &x, &slope);
    return is_found ? fmin(x, fmax(direction->all.greatest_loss, 0.0)) : aim->epsilon / root;
}

/* `asked` is the epsilon whose width counts; if it is nan, the epsilon to be found counts. `slope` is the
 * guess of -d log(delta) / d epsilon; if it is nan, the saddle is. */
static void aim_at(prv_direction *direction, const prv_options *options, double delta, double asked,
                   double slope, prv_aim *aim)
{
    aim->log_delta = log(delta);
    aim->top_share = MOST_SHARE;
    /* Twice: the first saddle tells how much the tops may cost. */
    for (int round = 0; round < 2; round++) {
        prv_use_cells(direction, aim->top_share * delta / (double)direction->steps);
        /* The entropy cannot exceed the entropy of the topmost cells alone. A delta below their probability
         * is decided by them, and a tilt that singles them out is enough. */
        double log_top = 0.0;
        for (size_t j = 0; j < direction->steps; j++) {
            const prv_profile *p = &direction->profiles[j];
            log_top += direction->counts[j] * log(p->mass[direction->end[j] - 1]);
        }
        const prv_entropy_goal goal = {aim->log_delta, TOP_ENTROPY * log_top};
        const double start = round == 0 ? FIRST_TILT : aim->saddle;
        /* Where rare jumps decide, the entropy at their tilt says little of delta; nothing, if tops are
         * apart.
         */
        aim->saddle = (prv_is_capped(direction) || !isnan(slope)) && !isnan(asked)
                          ? prv_root(direction, prv_saddle_excess, &asked, start)
                          : prv_root(direction, prv_entropy_excess, &goal, start);
        guess_epsilon(direction, aim);
        /* With (4 - log delta) / width Chernoff's bound is within the width of the largest loss. */
        const double width = prv_width_asked(options, isnan(asked) ? aim->epsilon : asked);
        const double most = fmax(4.0 * (4.0 - aim->log_delta) / width, PRV_LEAST_TILT);
        if (aim->saddle > most) {
            aim->saddle = most;
            guess_epsilon(direction, aim);
        }
        aim->slope = isnan(slope) ? aim->saddle : slope;
        const double wanted = isnan(asked) ? width
                                           : prv_width_wanted(options, PRV_ASK_DELTA, aim, asked, 1.0);
        const double share = prv_truncation_share(aim->slope, wanted);
        if (share > SHARE_CHANGE * aim->top_share) break;
        aim->top_share = share;
    }
    aim->frequent_epsilon = aim->epsilon;
    aim->is_rare = false;
    if (!isnan(asked) || !has_rare_jumps(direction, aim->saddle)) return;
    guess_rare_epsilon(direction, aim);
    const double width = prv_width_asked(options, aim->epsilon);
    aim->top_share = fmin(aim->top_share, prv_truncation_share(aim->slope, width));
    prv_use_cells(direction, aim->top_share * delta / (double)direction->steps);
}

void prv_aim_at_delta(prv_direction *direction, const prv_options *options, double delta, prv_aim *aim)
{
    aim_at(direction, options, delta, NAN, NAN, aim);
}

/* From this delta on, the saddle point's guess is poor, and that of a normal law is good. */
#define SOME_DELTA 0.5

/* The curve of a normal law with the moments of the composed one, from the cells in use. */
static curve_guess guess_by_normal(const prv_direction *direction, double epsilon)
{
    const prv_moments m = prv_composed_moments(direction, 0.0);
    const double deviation = sqrt(fmax(m.variance, 1e-300)), above = (m.mean - epsilon) / deviation;
    const double q = prv_upper_tail(-above);
    const double p = exp(
        fmin(epsilon - m.mean + 0.5 * m.variance + prv_log_upper_tail(deviation - above), 0.0));
    return (curve_guess){log(fmax(q - p, 1e-300)), p / fmax(q - p, 1e-300)};
}

/* Jumps are rare if fewer than this are expected in all steps. */
#define RARE 1.0

/* Guesses of less may be off by far, and above Chernoff's bound. */
#define SMALL_LOG_DELTA (-30.0)

static void aim_at_epsilon(prv_direction *direction, const prv_options *options, double epsilon, prv_aim *aim)
{
    double tilt = FIRST_TILT, jumps = 0.0, slope = NAN;
    prv_use_whole_profiles(direction);
    double guess = guess_at(direction, epsilon, &tilt).log_delta;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        for (size_t c = first_jump(p, epsilon); c < p->length; c++)
            jumps += direction->counts[j] * p->mass[c];
    }
    /* Where rare jumps decide, the saddle-point guess is far too large. */
    if (jumps > 0.0 && jumps < RARE) {
        place_tilts tilts = begin_at(FIRST_TILT);
        const curve_guess with_a_jump = guess_with_a_jump(direction, epsilon, &tilts);
        if (with_a_jump.log_delta < guess) {
            guess = with_a_jump.log_delta;
            if (with_a_jump.slope > 0.0 && isfinite(with_a_jump.slope)) slope = with_a_jump.slope;
        }
    }
    if (guess > log(SOME_DELTA)) {
        prv_use_whole_profiles(direction);
        const curve_guess normal = guess_by_normal(direction, epsilon);
        if (normal.log_delta > log(SOME_DELTA) && normal.log_delta < guess && normal.slope > 0.0) {
            guess = normal.log_delta;
            slope = normal.slope;
        }
    }
    if (guess < SMALL_LOG_DELTA) {
        const double most = prv_chernoff_delta(direction, epsilon, 0.0) - direction->all.infinite.high;
        guess = fmin(guess, log(fmax(most, 1e-300)));
    }
    aim_at(direction, options, fmin(exp(fmax(guess, LEAST_LOG_DELTA)), MOST_DELTA), epsilon, slope, aim);
    aim->epsilon = epsilon;
    aim->reach = 0.0;
}

void prv_aim_again(prv_direction *direction, const prv_options *options, double epsilon, double log_delta,
                   double slope, prv_aim *aim)
{
    const double delta = exp(fmax(log_delta, LEAST_LOG_DELTA));
    if (prv_is_capped(direction))
        aim_at(direction, options, delta, epsilon, slope, aim);
    else
        prv_aim_at_delta(direction, options, delta, aim);
}

void prv_aim_below_caps(prv_direction *direction, const prv_options *options, prv_aim *aim)
{
    const prv_aim before = *aim;
    aim_at(direction, options, exp(before.log_delta), before.epsilon, before.slope, aim);
    aim->epsilon = before.epsilon;
    aim->reach = before.reach;
}

void prv_take_aim(prv_direction *direction, const prv_options *options, prv_question question, double value,
                  prv_aim *aim)
{
    if (question == PRV_ASK_EPSILON)
        prv_aim_at_delta(direction, options,
                         fmax(value - direction->all.infinite.mass, prv_direction_absolute_error(direction)),
                         aim);
    else
        aim_at_epsilon(direction, options, value, aim);
}

prv_status prv_refine_aim(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_aim *aim)
{
    for (;;) {
        bool changed;
        const prv_status status = prv_direction_refine(direction, aim->saddle, options, &changed);
        if (status != PRV_OK || !changed) return status;
        prv_take_aim(direction, options, question, value, aim);
    }
}

bool prv_chernoff_may_reach(prv_direction *direction, double delta, double epsilon)
{
    prv_chernoff_cut_tops(direction, delta);
    /* About the least tilt that can: log M is convex, so that log M / lam only grows beyond it. */
    const double lam = fmin(fmax(-0.5 * log(delta) / epsilon, PRV_LEAST_TILT), 1.0 / PRV_LEAST_TILT);
    return prv_composed_moments(direction, lam).log_moment <= lam * epsilon;
}

double prv_rough_epsilon(prv_direction *direction, double delta)
{
    prv_chernoff_cut_tops(direction, delta);
    prv_aim aim = {.log_delta = log(delta), .saddle = prv_chernoff_tilt(direction, delta)};
    guess_epsilon(direction, &aim);
    return aim.epsilon;
}

double prv_law_spacing(const prv_direction *direction, const prv_aim *aim)
{
    const double slope = prv_is_capped(direction) ? fmin(aim->slope, aim->saddle)
                         : aim->is_rare           ? fmax(aim->slope, aim->saddle)
                                                  : aim->saddle;
    return sqrt(LAW_FACTOR * aim->width / (direction->all.count * (slope + 1.0)));
}

double prv_first_spacing(const prv_direction *direction, const prv_aim *aim)
{
    const double spacing = fmin(prv_law_spacing(direction, aim), 1.0 / aim->saddle);
    return prv_is_capped(direction) ? fmin(spacing, direction->cap_spacing) : spacing;
}

void prv_widen_reach(prv_aim *aim)
{
    const double size = fabs(aim->epsilon);
    aim->reach = fmax(aim->reach, fmin(fmax(aim->width, LEAST_REACH * size), REACH_PART * size));
}

void prv_use_cells_of_aim(prv_direction *direction, const prv_aim *aim)
{
    prv_use_cells(direction, aim->top_share * exp(aim->log_delta) / (double)direction->steps);
}

double prv_log_part(prv_direction *direction, const prv_aim *aim, double tilt)
{
    prv_use_cells_of_aim(direction, aim);
    return fmin(aim->log_delta - prv_composed_moments(direction, tilt).log_moment + tilt * aim->epsilon -
                    log(prv_kernel_maximum(tilt)),
                0.0);
}
