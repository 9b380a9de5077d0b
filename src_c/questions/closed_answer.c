#include "questions/closed_answer.h"

#include <math.h>

#include "base/progress.h"
#include "mechanisms/support.h"
#include "curve/chernoff.h"
#include "closed/closed_form.h"
#include "planning/aim.h"
#include "questions/question.h"

/* Tables of more steps than this are made for a guess of delta: it costs as much as those of fewer steps. */
#define MANY_STEPS 1000.0

/* A guess of delta from above, by Chernoff's bound, is greater by this at most, nearly always. */
#define GUESS_IS_WITHIN 1e-10

/* Steps of a search, each of which halves the bracket at worst; and of the way out to a bound that holds. */
enum { SEARCH_STEPS = 200, OUTWARD_STEPS = 60 };

/* Lattices carry masses in doubles, whose sums round by more than this part of delta: where a closed form
 * knows delta as well, no lattice brings bounds closer. No bound relies on it. */
#define FINER_THAN_LATTICES 0x1p-44

/* A guess of epsilon costs some values of the curve of so many atoms. */
#define WORTH_A_GUESS 16

/* A direction and its closed form. */
typedef struct closed_direction {
    prv_direction *direction;
    prv_closed_form form;
} closed_direction;

/* ---- delta ----------------------------------------------------------------------------------- */

/* From this delta on what a step leaves out is less than 2^-69 of it, and its upper bound is rounded up by
 * 2^-53 of it. A closed form has one step of samples at most. */
#define LOSS_IS_ROUNDED 0x1p-952

/* Delta that the forms of these steps leave out, at most. */
static double lost_in_cuts(const prv_direction *direction)
{
    double sum = 0.0;
    for (size_t j = 0; j < direction->steps; j++)
        sum += direction->counts[j] * prv_delta_of_rare_cuts(direction->mechanisms[j]);
    return sum;
}

/* Bounds of delta, with the mass at infinity, by the value of the curve of finite losses. */
static double delta_above(const closed_direction *c, const prv_closed_value *v)
{
    double finite = prv_above((double)(v->delta + v->error));
    if (finite < LOSS_IS_ROUNDED) finite = prv_above(finite + lost_in_cuts(c->direction));
    const double high = c->direction->all.infinite.high;
    return high > 0.0 ? prv_above(finite + high) : finite;
}

static double delta_below(const closed_direction *c, const prv_closed_value *v)
{
    const double finite = fmax(prv_below((double)(v->delta - v->error)), 0.0);
    const double low = c->direction->all.infinite.low;
    return low > 0.0 ? prv_below(finite + low) : finite;
}

/* Where the form knows nothing, its error is infinite or no number: the gate makes bounds of it. */
static void delta_of(const closed_direction *c, double epsilon, prv_bounds *b, double *fall)
{
    const prv_closed_value v = prv_closed_form_at(&c->form, (long double)epsilon);
    *b = (prv_bounds){delta_below(c, &v), (double)v.delta + c->direction->all.infinite.mass,
                      delta_above(c, &v)};
    *fall = v.fall > 0.0L ? (double)v.fall : 0.0;
}

/* The distance of bounds of a delta in epsilon, by the fall there, or by a slope at which the width asked
 * says something, as in reading.c. */
static double width_of_delta(const prv_bounds *b, double fall, double asked)
{
    if (b->upper <= PRV_LEAST_DELTA || b->upper - b->lower <= PRV_SAME_DELTA * b->upper) return 0.0;
    return (b->upper - b->lower) / fmax(fall, PRV_FINEST_DELTA / asked * b->upper);
}

/* ---- epsilon --------------------------------------------------------------------------------- */

/* The epsilon at which the rounded curve of the finite losses falls to `target` > 0, about: Newton's steps in
 * the logarithm of delta, kept in a bracket. */
static long double crossing(const closed_direction *c, long double target)
{
    long double low = 0.0L, high = (long double)HUGE_VAL, at = 1.0L;
    if (c->form.atoms >= WORTH_A_GUESS && target > 0x1p-1000L)
        at = fmaxl((long double)prv_rough_epsilon(c->direction, (double)target), 0x1p-100L);
    for (int i = 0; i < SEARCH_STEPS; i++) {
        const prv_closed_value v = prv_closed_form_at(&c->form, at);
        if (v.delta > target)
            low = at;
        else
            high = at;
        const long double step = v.delta > 0.0L && v.fall > 0.0L ? logl(v.delta / target) * (v.delta / v.fall)
                                                                 : (long double)HUGE_VAL;
        long double next = at + step;
        if (fabsl(step) <= 0x1p-56L * at || (isfinite(high) && high - low <= 0x1p-56L * high)) return at;
        /* Far from the crossing a step by the fall may be far too long. */
        const long double most = isinf(high) ? 4.0L * fmaxl(low, at) : high;
        if (!(next > low && next < most)) next = isinf(high) ? most : 0.5L * (low + high);
        at = next;
    }
    return at;
}

/* Steps out from `at` to a place where the bound of delta is on that side of the one asked: 0 from below and
 * infinity from above if there is none. */
static double epsilon_outwards(const closed_direction *c, double delta, long double at, int side)
{
    long double move = 0x1p-53L * at;
    for (int i = 0; i < OUTWARD_STEPS; i++) {
        const double epsilon = side > 0 ? prv_above((double)(at + move)) : prv_below((double)(at - move));
        if (!(epsilon >= 0.0)) return 0.0;
        const prv_closed_value v = prv_closed_form_at(&c->form, (long double)epsilon);
        if (side > 0 ? delta_above(c, &v) <= delta : delta_below(c, &v) >= delta) return epsilon;
        move = fmaxl(2.0L * move,
                     v.fall > 0.0L && isfinite((double)v.error) ? 1.5L * v.error / v.fall : 0.0L);
    }
    return side > 0 ? HUGE_VAL : 0.0;
}

static void epsilon_of(const closed_direction *c, double delta, prv_bounds *b)
{
    const prv_closed_value at_zero = prv_closed_form_at(&c->form, 0.0L);
    *b = (prv_bounds){0.0, 0.0, 0.0};
    if (delta_above(c, &at_zero) <= delta) return;
    const long double target = (long double)delta - (long double)c->direction->all.infinite.mass;
    const long double at = target > 0.0L ? crossing(c, target) : 0.0L;
    b->lower = epsilon_outwards(c, delta, at, -1);
    b->estimate = (double)at;
    b->upper = epsilon_outwards(c, delta, at, 1);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static prv_status closed_new(prv_direction *directions, size_t count, double least,
                             closed_direction closed[2], bool *known)
{
    *known = true;
    for (size_t i = 0; i < count && *known; i++) {
        closed[i].direction = &directions[i];
        const prv_status status = prv_closed_form_new(&directions[i], least, &closed[i].form);
        if (status != PRV_OK) return status;
        *known = closed[i].form.known;
    }
    return PRV_OK;
}

static bool is_finest(double below, double above)
{
    return isfinite(above) && above - below <= FINER_THAN_LATTICES * above;
}

/* Whether no lattice would bring these bounds of a direction closer. */
static bool are_finest(const closed_direction *c, prv_question question, const prv_bounds *b)
{
    if (question == PRV_ASK_DELTA) return is_finest(b->lower, b->upper);
    const prv_closed_value v = prv_closed_form_at(&c->form, (long double)b->estimate);
    return isfinite(b->upper) && is_finest(delta_below(c, &v), delta_above(c, &v));
}

/* The worst of the directions; whether its bounds are as close as asked, or else whether no lattice would
 * bring them closer. */
static prv_status worst_of(const closed_direction *closed, size_t count, const prv_options *options,
                           prv_question question, double value, bool *finest, prv_bounds *worst,
                           prv_report *report)
{
    double width = 0.0, top = -1.0;
    *finest = true;
    prv_report_known(options, report);
    report->engine = PRV_ENGINE_CLOSED_FORM;
    *worst = (prv_bounds){0.0, 0.0, 0.0};
    for (size_t i = 0; i < count; i++) {
        prv_bounds b;
        double fall = 0.0;
        if (question == PRV_ASK_EPSILON)
            epsilon_of(&closed[i], value, &b);
        else
            delta_of(&closed[i], value, &b, &fall);
        *finest = *finest && are_finest(&closed[i], question, &b);
        const prv_status status = prv_gate_close(&closed[i].direction->all, question, value, &b);
        if (status != PRV_OK) return status;
        if (b.upper > top) {
            top = b.upper;
            width = width_of_delta(&b, fall, prv_width_asked(options, value));
            report->direction = prv_neighbors_of(closed[i].direction->add, options->neighbors);
        }
        prv_gate_worst(worst, &b);
    }
    if (question == PRV_ASK_EPSILON) width = worst->upper > worst->lower ? worst->upper - worst->lower : 0.0;
    report->width = report->rounding = width;
    report->accurate = width <=
                           prv_width_asked(options, question == PRV_ASK_EPSILON ? worst->lower : value) ||
                       prv_is_relatively_close(options, question, worst->lower, worst->upper) ||
                       prv_is_decided(options, worst->lower, worst->upper);
    if (!report->accurate) report->limit = PRV_LIMIT_ROUNDING;
    return PRV_OK;
}

/* Atoms may be left out that matter to less than this delta; what is left out is counted. */
static double least_that_matters(prv_direction *directions, size_t count, prv_question question, double value)
{
    if (question == PRV_ASK_EPSILON) return fmax(value, PRV_LEAST_DELTA);
    if (!(directions[0].all.count > MANY_STEPS) || !(value > 0.0)) return PRV_LEAST_DELTA;
    double guess = 0.0;
    for (size_t i = 0; i < count; i++) guess = fmax(guess, prv_chernoff_delta(&directions[i], value, 1.0));
    return fmax(GUESS_IS_WITHIN * guess, PRV_LEAST_DELTA);
}

prv_status prv_answer_closed(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, double value, bool *answered, prv_bounds *bounds,
                             prv_report *report)
{
    *answered = false;
    for (double least = least_that_matters(directions, direction_count, question, value);;
         least = PRV_LEAST_DELTA) {
        closed_direction closed[2] = {{0}, {0}};
        bool known, finest = false;
        prv_status status = closed_new(directions, direction_count, least, closed, &known);
        if (status == PRV_OK && known) {
            status = worst_of(closed, direction_count, options, question, value, &finest, bounds, report);
            *answered = status == PRV_OK && (report->accurate || (finest && least <= PRV_LEAST_DELTA));
        }
        for (size_t i = 0; i < direction_count; i++) prv_closed_form_free(&closed[i].form);
        if (status != PRV_OK) return status;
        if (*answered || !known || least <= PRV_LEAST_DELTA) return prv_check_interrupt(options);
    }
}
