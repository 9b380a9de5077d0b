#include "planning/aim.h"

#include <math.h>

#include "composition/kernel.h"
#include "curve/chernoff.h"

/* The numbers below are guesses that save time. No bound relies on them. */

/* Truncation may cost this part of the width wanted, but never more than this part of delta, with which aims
 * begin. */
#define TRUNCATION_PART 0.005
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

/* `asked` is the epsilon whose width counts; if it is nan, the epsilon to be found counts. */
static void aim_at(prv_direction *direction, const prv_options *options, double delta, double asked,
                   prv_aim *aim)
{
    aim->log_delta = log(delta);
    aim->top_share = MOST_SHARE;
    /* Twice: the first saddle tells how much the tops may cost. */
    for (int round = 0; round < 2; round++) {
        prv_use_whole_profiles(direction);
        prv_cut_tops(direction, aim->top_share * delta / (double)direction->steps);
        /* The entropy cannot exceed the entropy of the topmost cells alone. A delta below their probability
         * is decided by them, and a tilt that singles them out is enough. */
        double log_top = 0.0;
        for (size_t j = 0; j < direction->steps; j++) {
            const prv_profile *p = &direction->profiles[j];
            log_top += direction->counts[j] * log(p->mass[direction->end[j] - 1]);
        }
        const prv_entropy_goal goal = {aim->log_delta, TOP_ENTROPY * log_top};
        aim->saddle = prv_root(direction, prv_entropy_excess, &goal, round == 0 ? FIRST_TILT : aim->saddle);
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
        if (share > SHARE_CHANGE * aim->top_share) break;
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
    const double lam = prv_root(direction, prv_saddle_excess, &epsilon, FIRST_TILT);
    const prv_moments m = prv_composed_moments(direction, lam);
    return fmin(m.log_moment - lam * epsilon + log_saddle_factor(lam, m.variance), 0.0);
}

/* Losses above this part of epsilon are jumps; what they leave of epsilon is at most the other part, of which
 * guesses are taken at so many places. */
#define JUMP_PART 0.5
enum { PLACES = 5 };

/* Jumps are rare if fewer than this are expected in all steps. */
#define RARE 1.0

/* Guess of log delta from one rare jump and from the rest, whose cells in use are below half of epsilon: of a
 * jump by s counts delta of the rest at epsilon - s. */
static double log_delta_of_a_jump(const prv_direction *direction, double epsilon)
{
    double guesses[PLACES], sum = 0.0;
    for (int i = 0; i < PLACES; i++)
        guesses[i] = log_delta_guess(direction, epsilon * (1.0 - JUMP_PART) * i / (PLACES - 1));
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        for (size_t c = direction->end[j]; c < p->length; c++) {
            const double rest = epsilon - p->center[c];
            if (rest > 0.0) {
                const double at = rest / (epsilon * (1.0 - JUMP_PART)) * (PLACES - 1);
                const int i = at < PLACES - 2 ? (int)at : PLACES - 2;
                const double guess = guesses[i] + (at - i) * (guesses[i + 1] - guesses[i]);
                sum += direction->counts[j] * p->mass[c] * exp(guess);
            } else {
                sum += direction->counts[j] * p->mass[c] * fmax(-expm1(rest), exp(guesses[0]));
            }
        }
    }
    return log(sum + exp(log_delta_guess(direction, epsilon)));
}

static void aim_at_epsilon(prv_direction *direction, const prv_options *options, double epsilon, prv_aim *aim)
{
    prv_use_whole_profiles(direction);
    double guess = log_delta_guess(direction, epsilon), jumps = 0.0;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_profile *p = &direction->profiles[j];
        size_t end = p->length;
        for (; end > 1 && p->center[end - 1] > JUMP_PART * epsilon; end--)
            jumps += direction->counts[j] * p->mass[end - 1];
        direction->end[j] = end;
    }
    /* Where rare jumps decide, the saddle-point guess is far too large. */
    if (jumps > 0.0 && jumps < RARE) guess = fmin(guess, log_delta_of_a_jump(direction, epsilon));
    aim_at(direction, options, fmin(exp(fmax(guess, LEAST_LOG_DELTA)), MOST_DELTA), epsilon, aim);
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
        aim_at_epsilon(direction, options, value, aim);
}

prv_status prv_refine_aim(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_aim *aim)
{
    for (;;) {
        bool changed;
        const prv_status status = prv_direction_refine(direction, aim->saddle, &changed);
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
    return sqrt(LAW_FACTOR * aim->width / (direction->all.count * (aim->saddle + 1.0)));
}

double prv_first_spacing(const prv_direction *direction, const prv_aim *aim)
{
    return fmin(prv_law_spacing(direction, aim), 1.0 / aim->saddle);
}

void prv_widen_reach(prv_aim *aim)
{
    const double size = fabs(aim->epsilon);
    aim->reach = fmax(aim->reach, fmin(fmax(aim->width, LEAST_REACH * size), REACH_PART * size));
}

double prv_log_part(prv_direction *direction, const prv_aim *aim, double tilt)
{
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, aim->top_share * exp(aim->log_delta) / (double)direction->steps);
    return fmin(aim->log_delta - prv_composed_moments(direction, tilt).log_moment + tilt * aim->epsilon -
                    log(prv_kernel_maximum(tilt)),
                0.0);
}
