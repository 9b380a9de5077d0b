#include "questions/data_bounds.h"

#include <math.h>
#include <stdbool.h>

#include "curve/attained.h"
#include "curve/chernoff.h"
#include "planning/aim.h"
#include "questions/cheapest_answer.h"
#include "questions/pair_answer.h"
#include "questions/question.h"

/* Bounds of data sets, of which the lower one alone is used, are first as close as this part of epsilon, or
 * of delta, unless they are expected to lie near the pair's; and then as this part of their distance below
 * the pair's upper bound; not again if they are nearly that close, as passes in vain would cost far more. */
#define COARSE_DATA 0.02
#define PART_OF_GAP 0.05
#define NEARLY_PART_OF_GAP 0.1

/* Epsilons of data sets of a single mechanism are expected to lie far below the pair's if they do by this
 * part of it; and logarithms of their deltas if they do by so much. */
#define FAR_PART 0.8
#define FAR_LOG 10.0

/* Up to FEW_STEPS, of bounded ranges and discrete losses, the best of 2 OFFSETS + 1 choices of data sets is
 * taken; of more than SOME_STEPS, for which saddle points are good guesses, of the COMPOSED that look best.
 */
#define FEW_STEPS 128.0
#define SOME_STEPS 16.0
enum { OFFSETS = 4, CHOICES = 2 * OFFSETS + 1, COMPOSED = 3 };

/* The options of a question to data sets, whose lower bound alone is used: bounds need be no closer than a
 * part `coarse` of what lies between them and the upper bound `above` of the pair, a distance of `gap` (nats,
 * or of log delta). */
static prv_options loosened(const prv_options *options, prv_question question, double above, double gap,
                            double coarse)
{
    prv_options loose = prv_without_small(options);
    if (!(gap > 0.0 && isfinite(gap))) return loose;
    if (question == PRV_ASK_EPSILON)
        loose.eps_error = fmax(prv_width_asked(options, above), coarse * gap);
    else
        loose.delta_relative_error = fmax(options->delta_relative_error, fmin(coarse * gap, coarse));
    return loose;
}

/* How far bounds from data sets lie below the upper bound of the pair. */
static double gap_below(prv_question question, double above, double upper)
{
    return question == PRV_ASK_EPSILON ? above - upper : log(above / upper);
}

/* Where log of delta, which falls by `slope` for each nat, is expected to lie so far below the pair's. */
static void widen_if_far(prv_options *loose, double epsilon, double gap, double slope)
{
    if (gap > FAR_LOG && slope > 0.0)
        loose->eps_error = fmax(prv_width_asked(loose, epsilon), PART_OF_GAP * gap / slope);
}

/* Whether bounds of this width (nats) are as close as these options ask. */
static bool is_as_close(const prv_options *options, prv_question question, double value,
                        const prv_bounds *found, double width)
{
    const double at = question == PRV_ASK_EPSILON ? found->lower : value;
    return width <= prv_width_asked(options, at) ||
           prv_is_relatively_close(options, question, found->lower, found->upper);
}

/* Whether a lower bound is as close to the upper one as asked. */
static bool is_near(const prv_options *options, prv_question question, double lower, double above)
{
    if (question == PRV_ASK_DELTA) return prv_is_relatively_close(options, question, lower, above);
    return above - lower <= prv_width_asked(options, lower);
}

/* Whether the caller has chosen how to compose. */
static bool is_chosen(const prv_options *options)
{
    return options->mesh_size > 0.0 || options->discretization != PRV_BRACKETING;
}

/* Of lists, which take long, guesses are worth their while. */
static bool is_list_of(const prv_direction *data)
{
    return data->steps > 1;
}

/* A guess of the answer of one direction. */
typedef struct guess {
    double at;    /* epsilon, or log of delta */
    double slope; /* by how much log of delta falls for each nat; 0 if that is not known */
} guess;

static guess guess_of(prv_direction *direction, const prv_options *options, prv_question question,
                      double value)
{
    const double least = question == PRV_ASK_EPSILON ? direction->all.infinite.mass : 0.0;
    prv_aim aim = {0};
    if (!(value > least && isfinite(value))) return (guess){0.0, 0.0}; /* known without aims */
    prv_take_aim(direction, options, question, value, &aim);
    return (guess){question == PRV_ASK_EPSILON ? aim.epsilon : aim.log_delta, aim.slope};
}

/* Raises *lower to a lower bound by data sets in one direction. Of lists, which may take long: first
 * coarsely, to tell how close bounds need be, unless the gap that is guessed says that the width asked is
 * needed. The passes of an epsilon begin coarsely anyway; those of a delta do not, which is therefore coarse
 * unless the gap may close. Where a lower bound is known, it matters first whether there is more. */
static prv_status ask_data_once(prv_direction *data, const prv_options *options, prv_question question,
                                double value, double above, double pair, guess data_guess, double *lower)
{
    prv_bounds found;
    const bool decides = *lower > 0.0 && !(options->threshold > 0.0);
    const bool ask_epsilon = question == PRV_ASK_EPSILON;
    const double guessed_gap = pair - data_guess.at;
    const double asked = ask_epsilon ? prv_width_asked(options, above) : options->delta_relative_error;
    const double needed = ask_epsilon ? PART_OF_GAP * guessed_gap : guessed_gap;
    const double coarse = needed <= asked ? 0.0 : COARSE_DATA;
    prv_options loose = loosened(options, question, above, ask_epsilon ? above : 1.0, coarse);
    if (!ask_epsilon) widen_if_far(&loose, value, guessed_gap, data_guess.slope);
    if (decides) loose.threshold = *lower;
    prv_report told;
    prv_status status = prv_answer_cheapest(data, 1, &loose, question, &value, 1, &found, &told);
    if (status != PRV_OK) return status;
    *lower = fmax(*lower, found.lower);
    const double gap = gap_below(question, above, found.upper);
    const double width = gap_below(question, found.upper, found.lower);
    /* Closer bounds would not raise it, or not by much; or there are none. */
    if (!told.accurate || !(found.upper > *lower) || width <= NEARLY_PART_OF_GAP * gap) return PRV_OK;
    loose = loosened(options, question, above, gap, PART_OF_GAP);
    if (!ask_epsilon) widen_if_far(&loose, value, gap, data_guess.slope);
    if (is_as_close(&loose, question, value, &found, told.width)) return PRV_OK;
    status = prv_answer_cheapest(data, 1, &loose, question, &value, 1, &found, NULL);
    if (status == PRV_OK) *lower = fmax(*lower, found.lower);
    return status;
}

/* Whether no answer of this direction is above `lower`, by Chernoff's inequality. */
static bool has_less(prv_direction *direction, prv_question question, double value, double lower)
{
    if (question == PRV_ASK_EPSILON) return prv_chernoff_epsilon(direction, value, lower) <= lower;
    return value > 0.0 && prv_chernoff_delta(direction, value, lower) <= lower;
}

/* Raises *lower to a lower bound by data sets, `above` being the upper bound of the pair. The direction that
 * looks worst is asked first: the other one need not be asked if it has no more, or if no bound could be much
 * higher. */
static prv_status ask_directions(prv_directions *data, const prv_options *options, prv_question question,
                                 double value, double above, double pair, double *lower)
{
    guess guesses[2] = {{0.0, 0.0}, {0.0, 0.0}};
    for (size_t v = 0; v < data->count; v++) guesses[v] = guess_of(&data->each[v], options, question, value);
    const size_t first = data->count > 1 && guesses[1].at > guesses[0].at ? 1 : 0;
    for (size_t n = 0; n < data->count; n++) {
        const size_t v = n == 0 ? first : 1 - first;
        prv_direction *d = &data->each[v];
        if (*lower > 0.0 &&
            (is_near(options, question, *lower, above) || has_less(d, question, value, *lower)))
            continue;
        const prv_status status = ask_data_once(d, options, question, value, above, pair, guesses[v], lower);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* The same by one question about all directions, as closely as asked: of single steps, or if the caller has
 * chosen how to compose. */
static prv_status ask_together(prv_directions *data, const prv_options *options, prv_question question,
                               double value, double *lower)
{
    prv_bounds found;
    const prv_options whole = prv_without_small(options);
    const prv_status status = prv_answer_cheapest(data->each, data->count, &whole, question, &value, 1,
                                                  &found, NULL);
    if (status == PRV_OK) *lower = fmax(*lower, found.lower);
    return status;
}

/* Whether answers of a single mechanism's data sets are expected to lie so far below the pair's that they
 * need not be as close as asked. */
static bool are_data_far(prv_directions *data, const prv_options *options, prv_question question,
                         double value, const prv_bounds *pair)
{
    if (!(data->each[0].all.count > 1.0 && isfinite(pair->upper))) return false;
    double most = -HUGE_VAL;
    for (size_t v = 0; v < data->count; v++)
        most = fmax(most, guess_of(&data->each[v], options, question, value).at);
    return question == PRV_ASK_EPSILON ? most < (1.0 - FAR_PART) * pair->upper
                                       : most < log(pair->upper) - FAR_LOG;
}

/* Raises lower[length] to lower bounds by data sets that are chosen by these tilts, one for each direction.
 * bounds[length] are those of the pair.
 */
static prv_status ask_data(prv_direction *directions, size_t direction_count, const prv_options *options,
                           const double *lam, double offset, prv_question question, const double *values,
                           size_t length, const prv_bounds *bounds, double *lower)
{
    prv_directions data = {0};
    prv_status status = prv_data_directions_new(directions, direction_count, options, lam, offset, &data);
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        if (is_chosen(options) ||
            !(is_list_of(&data.each[0]) || are_data_far(&data, options, question, values[i], &bounds[i]))) {
            status = ask_together(&data, options, question, values[i], &lower[i]);
            continue;
        }
        /* What hides the pair's delta hides that of data sets. */
        if (question == PRV_ASK_DELTA && !(bounds[i].lower > 0.0)) continue;
        double pair = -HUGE_VAL;
        for (size_t v = 0; v < direction_count; v++)
            pair = fmax(pair, guess_of(&directions[v], options, question, values[i]).at);
        status = ask_directions(&data, options, question, values[i], bounds[i].upper, pair, &lower[i]);
    }
    prv_directions_free(&data);
    return status;
}

static double offset_of(int choice)
{
    return 0.5 * (double)(choice - OFFSETS) / OFFSETS;
}

/* A guess of the answer for each choice of data sets, by saddle points. */
static prv_status guess_choices(const prv_direction *directions, size_t direction_count,
                                const prv_options *options, const double *lam, prv_question question,
                                double value, double guesses[CHOICES])
{
    for (int i = 0; i < CHOICES; i++) {
        prv_directions data = {0};
        const prv_status status = prv_data_directions_new(directions, direction_count, options, lam,
                                                          offset_of(i), &data);
        guesses[i] = -HUGE_VAL;
        for (size_t v = 0; v < data.count && status == PRV_OK; v++) {
            prv_aim aim = {0};
            prv_take_aim(&data.each[v], options, question, value, &aim);
            guesses[i] = fmax(guesses[i], question == PRV_ASK_EPSILON ? aim.epsilon : aim.log_delta);
        }
        prv_directions_free(&data);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* The same where data sets are chosen for each value: of few steps, the best of some. */
static prv_status ask_range_data(prv_direction *directions, size_t direction_count,
                                 const prv_options *options, prv_question question, double value,
                                 const prv_bounds *bounds, double *lower)
{
    double lam[2], guesses[CHOICES];
    prv_most_of_all_ranges(directions, direction_count, question, value, lam);
    if (!(directions[0].all.count <= FEW_STEPS && prv_are_data_discrete(&directions[0])))
        return ask_data(directions, direction_count, options, lam, 0.0, question, &value, 1, bounds, lower);
    const bool all = directions[0].all.count <= SOME_STEPS;
    prv_status status = PRV_OK;
    for (int i = 0; i < CHOICES; i++) guesses[i] = 0.0;
    if (!all) status = guess_choices(directions, direction_count, options, lam, question, value, guesses);
    for (int n = 0; n < (all ? CHOICES : COMPOSED) && status == PRV_OK; n++) {
        int best = 0;
        for (int i = 1; i < CHOICES; i++)
            if (guesses[i] > guesses[best]) best = i;
        guesses[best] = -HUGE_VAL;
        status = ask_data(directions, direction_count, options, lam, offset_of(best), question, &value, 1,
                          bounds, lower);
    }
    return status;
}

prv_status prv_raise_by_data(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, const double *values, size_t length,
                             const prv_bounds *bounds, double *lower)
{
    static const double no_tilt[2] = {0.0, 0.0};
    if (!prv_has_range(&directions[0]))
        return ask_data(directions, direction_count, options, no_tilt, 0.0, question, values, length, bounds,
                        lower);
    for (size_t i = 0; i < length; i++) {
        const prv_status status = ask_range_data(directions, direction_count, options, question, values[i],
                                                 &bounds[i], &lower[i]);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}
