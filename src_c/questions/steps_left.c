#include "questions/steps_left.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "mechanisms/mechanism.h"
#include "curve/chernoff.h"
#include "closed/closed_form.h"
#include "questions/growth.h"
#include "questions/question.h"

/* The numbers below choose where to look and how closely. No bound relies on them. */

/* Fewer distinct steps are composed as a whole as fast. */
enum { FEWEST = 8 };
/* Guesses of the runs, and runs that are tried, at most. */
enum { MOST_GUESSES = 40, MOST_TRIED = 80 };
/* A guess is close enough if its epsilon is within this part of the budget. */
#define CLOSE_GUESS 0.003
/* Plans begin with this part of the runs that are tried first, and hold for so many times as many. */
#define PART_PLANNED 0.94
#define PLAN_HOLDS 1.16
/* The width asked, over what epsilon changes within the tolerance or with one run; bounds may be so many
 * times as wide. It is asked anew if it turns out to be wider than that, so often at most. */
#define WIDTH_SHARE 0.8
#define WIDEST 2.0
enum { MOST_WIDTHS = 3 };
/* A delta that is less than so many times the mass at infinity is near what no runs are within. */
#define LEAST_OVER_INFINITE 2.0
/* While no runs are known to be too many, so many times as many are looked at. */
#define MUCH_FARTHER 8.0
/* What lies between others lies at least this part of the way from both; every so many of these are halfway.
 */
#define NEAR_END 0.02
enum { HALVE_EVERY = 4 };

/* What the search holds. */
typedef struct search {
    const prv_steps_left_question *question;
    prv_options options;
    size_t last;     /* the place of the mechanism that is to run, among the distinct steps */
    prv_step *steps; /* [last + 1] distinct */
    uint64_t ran;    /* runs of the mechanism before */
    uint64_t most;   /* runs that may be added */
    size_t directions;
    bool adds[2];
    prv_directions guessed;  /* by which runs are guessed, and small epsilons bounded */
    prv_step_pair *pairs[2]; /* [last + 1] of each direction; NULL as long as none is needed */
    prv_growth growth[2];
    uint64_t planned; /* runs to be added that the growths are planned for */
} search;

/* ---- Steps --------------------------------------------------------------------------------------- */

/* The distinct steps, with the mechanism that is to run moved to the end. */
static prv_status arrange(search *s, bool *can)
{
    const prv_steps_left_question *q = s->question;
    const prv_mechanism *mechanism = q->steps[q->step_count - 1].mechanism;
    size_t length;
    s->steps = prv_allocate(q->step_count, sizeof *s->steps);
    if (s->steps == NULL) return PRV_ERR_MEMORY;
    const prv_status status = prv_distinct_steps(q->steps, q->step_count, s->steps, &length);
    if (status != PRV_OK) return status;
    size_t place = 0;
    uint64_t total = 0;
    for (size_t j = 0; j < length; j++) {
        total += s->steps[j].count;
        if (prv_mechanism_equal(s->steps[j].mechanism, mechanism)) place = j;
    }
    s->last = length - 1;
    const prv_step moved = s->steps[place];
    memmove(s->steps + place, s->steps + place + 1, (s->last - place) * sizeof *s->steps);
    s->steps[s->last] = moved;
    s->ran = moved.count - 1;
    s->most = PRV_MOST_STEPS - total + 1;
    *can = length >= FEWEST && prv_may_grow(s->steps, length, &s->options);
    return PRV_OK;
}

/* ---- Guesses ------------------------------------------------------------------------------------- */

/* Epsilon of direction i after so many runs, about. */
static double guessed_epsilon(search *s, size_t i, double runs)
{
    prv_direction *d = &s->guessed.each[i];
    const double delta = s->question->delta;
    prv_direction_set_count(d, s->last, (double)s->ran + runs);
    if (!(delta > LEAST_OVER_INFINITE * d->all.infinite.mass)) return HUGE_VAL;
    prv_aim aim;
    prv_take_aim(d, &s->options, PRV_ASK_EPSILON, delta, &aim);
    return aim.epsilon;
}

/* Runs between which the budget is used up, and what is known of epsilon there. */
typedef struct bracket {
    double low, high; /* runs */
    double f_low, f_high;
} bracket;

/* Where a line between both ends meets the target, or halfway if `halve`; ever farther while epsilon at the
 * upper end is unknown. */
static double between(const bracket *b, double target, bool halve)
{
    if (!isfinite(b->f_high)) return fmin(fmax(MUCH_FARTHER * b->low, 1.0), b->high);
    const double part = halve ? 0.5 : (target - b->f_low) / (b->f_high - b->f_low);
    return b->low + fmin(fmax(part, NEAR_END), 1.0 - NEAR_END) * (b->high - b->low);
}

/* The runs that use the budget up in direction i, about; 0 if there are hardly any. *slope gets what epsilon
 * grows by there with the logarithm of the runs. */
static double guess_runs(search *s, size_t i, double *slope)
{
    const double target = s->question->epsilon;
    bracket b = {.low = 0.0, .high = (double)s->most, .f_high = HUGE_VAL};
    double runs = 1.0;
    *slope = 0.0;
    for (int n = 0; n < MOST_GUESSES && b.high > b.low + 1.0; n++) {
        runs = between(&b, target, n % HALVE_EVERY == HALVE_EVERY - 1);
        const double f = guessed_epsilon(s, i, runs);
        if (b.low > 0.0) *slope = (f - b.f_low) / log(runs / b.low);
        if (fabs(f - target) <= CLOSE_GUESS * target) break;
        if (f > target || runs >= b.high) {
            b.high = runs;
            b.f_high = f;
        } else {
            b.low = runs;
            b.f_low = f;
        }
    }
    return floor(runs);
}

/* ---- Bounds -------------------------------------------------------------------------------------- */

static prv_status make_pairs(search *s, size_t i)
{
    const size_t length = s->last + 1;
    s->pairs[i] = prv_allocate(length, sizeof **s->pairs);
    if (s->pairs[i] == NULL) return PRV_ERR_MEMORY;
    memset(s->pairs[i], 0, length * sizeof **s->pairs);
    prv_status status = PRV_OK;
    for (size_t j = 0; j < length && status == PRV_OK; j++)
        status = prv_step_pair_new(s->steps[j].mechanism, s->adds[i], s->options.neighbors, &s->pairs[i][j]);
    return status;
}

/* The upper bound of direction i after so many runs, by its growth. */
static prv_status bound_by_growth(search *s, size_t i, uint64_t runs, bool *found, double *upper)
{
    prv_status status = s->pairs[i] == NULL ? make_pairs(s, i) : PRV_OK;
    if (status != PRV_OK) return status;
    s->steps[s->last].count = s->ran + runs;
    const prv_past past = {s->adds[i], s->last + 1, s->steps, s->pairs[i], .planned = s->ran + s->planned};
    prv_reading reading;
    /* Sums of other counts of the last step are of no use. */
    prv_growth_follow(&s->growth[i], s->last, s->last + 1, s->last + 1);
    status = prv_growth_answer(&s->growth[i], &past, PRV_ASK_EPSILON, s->question->delta, &s->options, found,
                               &reading);
    if (status != PRV_OK || !*found) return status;
    *upper = reading.bounds.upper;
    *found = reading.width <= WIDEST * s->options.eps_error;
    return PRV_OK;
}

/* Whether so many runs are within the budget in direction i, by Chernoff's bound or by its growth. */
static prv_status is_within(search *s, size_t i, uint64_t runs, bool *within)
{
    const double target = s->question->epsilon;
    prv_direction *d = &s->guessed.each[i];
    prv_direction_set_count(d, s->last, (double)(s->ran + runs));
    *within = prv_chernoff_epsilon(d, s->question->delta, target) <= target;
    if (*within) return PRV_OK;
    bool found;
    double upper = HUGE_VAL;
    const prv_status status = bound_by_growth(s, i, runs, &found, &upper);
    *within = found && upper <= target;
    return status;
}

/* ---- The search ---------------------------------------------------------------------------------- */

/* Takes the bound at so many runs; the slope is that of the last two that are on one side. */
static void learn(bracket *b, double at, double upper, double target, double *slope)
{
    if (upper <= target) {
        if (b->low > 0.0 && upper > b->f_low) *slope = (upper - b->f_low) / log(at / b->low);
        b->low = at;
        b->f_low = upper;
    } else {
        if (isfinite(b->f_high) && upper < b->f_high) *slope = (b->f_high - upper) / log(b->high / at);
        b->high = at;
        b->f_high = upper;
    }
}

/* The width that tells how many runs there are. */
static double width_at(const search *s, double runs, double slope)
{
    return WIDTH_SHARE * fmax(s->question->tolerance, 1.0 / (runs + 1.0)) * slope;
}

/* The most runs that direction i allows, looked for from *runs on with the slope *slope of epsilon. */
static prv_status most_runs(search *s, size_t i, double *runs, double *slope, bool *found)
{
    const double target = s->question->epsilon;
    bracket b = {.low = 0.0, .high = (double)s->most + 1.0, .f_high = HUGE_VAL};
    double now = fmin(fmax(*runs, 1.0), (double)s->most);
    s->options.eps_error = width_at(s, now, *slope);
    s->planned = 0;
    for (int tried = 1; b.high - b.low > 1.0; tried++) {
        if (now < (double)s->planned || now > PLAN_HOLDS * (double)s->planned)
            s->planned = (uint64_t)fmax(PART_PLANNED * now, 1.0);
        double upper;
        prv_status status = bound_by_growth(s, i, (uint64_t)now, found, &upper);
        if (status == PRV_OK) status = prv_check_interrupt(&s->options);
        *found = *found && tried < MOST_TRIED;
        if (status != PRV_OK || !*found) return status;
        learn(&b, now, upper, target, slope);
        const bool halve = tried % HALVE_EVERY == 0 && b.low > 0.0 && isfinite(b.f_high);
        const double next = halve ? 0.5 * (b.low + b.high) : now - (upper - target) * now / *slope;
        now = fmin(fmax(floor(next), b.low + 1.0), b.high - 1.0);
    }
    *runs = b.low;
    return PRV_OK;
}

/* Whether compositions with any number of runs have a closed form, which is found faster. */
static prv_status look_for_closed_form(const search *s, bool *known)
{
    prv_closed_form form;
    const prv_status status = prv_closed_form_new(&s->guessed.each[0], s->question->delta, &form);
    *known = status == PRV_OK && form.known;
    if (status == PRV_OK) prv_closed_form_free(&form);
    return status;
}

static prv_status look(search *s, bool *found, uint64_t *left, double *slope)
{
    double runs;
    s->directions = prv_distinct_directions(s->steps, s->last + 1, s->options.neighbors, s->adds);
    prv_status status = prv_directions_new(s->steps, s->last + 1, NULL, &s->options, &s->guessed);
    if (status != PRV_OK) return status;
    bool is_closed;
    status = look_for_closed_form(s, &is_closed);
    if (status != PRV_OK || is_closed) return status;
    size_t i = 0; /* the direction that decides */
    s->options.eps_error = CLOSE_GUESS * s->question->epsilon;
    runs = guess_runs(s, i, slope);
    if (s->directions > 1 && guessed_epsilon(s, 1, runs) > s->question->epsilon * (1.0 + CLOSE_GUESS)) {
        i = 1;
        runs = guess_runs(s, i, slope);
    }
    for (int n = 0; n < MOST_WIDTHS; n++) {
        /* Whether any run fits is told by what has run alone. */
        *found = runs >= 1.0 && *slope > 0.0 && isfinite(*slope);
        if (*found) status = most_runs(s, i, &runs, slope, found);
        if (status != PRV_OK || !*found) return status;
        if (s->options.eps_error <= WIDEST * width_at(s, runs, *slope)) break;
    }
    *found = runs >= 1.0;
    *left = (uint64_t)runs;
    if (*found && s->directions > 1) status = is_within(s, 1 - i, *left, found);
    return status;
}

static void release(search *s)
{
    for (size_t i = 0; i < 2; i++) {
        prv_growth_free(&s->growth[i]);
        for (size_t j = 0; s->pairs[i] != NULL && j <= s->last; j++) prv_step_pair_free(&s->pairs[i][j]);
        prv_release(s->pairs[i]);
    }
    prv_directions_free(&s->guessed);
    prv_release(s->steps);
}

prv_status prv_steps_left_by_growth(const prv_steps_left_question *question, const prv_options *options,
                                    bool *found, uint64_t *left, double *slope)
{
    search s;
    memset(&s, 0, sizeof s);
    s.question = question;
    s.options = *options;
    bool can = false;
    *found = false;
    prv_status status = arrange(&s, &can);
    if (status == PRV_OK && can) status = look(&s, found, left, slope);
    release(&s);
    return status;
}
