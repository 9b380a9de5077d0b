#include "questions/calibration_proof.h"

#include <math.h>

/* The numbers below choose factors to try and widths to ask for. No bound relies on them. */

/* Bounds that do not decide are made closer by this factor at least. */
#define CLOSER 0.3
/* Bounds that need large passes or that rounding keeps as many times as wide as asked are asked for as much
 * less closely, in the latter case so often at most; and no closer again than this part of that. */
#define WIDER 8.0
#define LEAST_CLOSER 0.3
enum { MOST_WIDER = 2 };
/* Bounds that would be no closer than this part of those before are not worth their time. */
#define WORTHWHILE 0.9
/* A factor between two others lies at least this part of the way from both. */
#define INSIDE 0.1
/* Every so many of these are halfway. */
enum { HALVE_EVERY = 2 };
/* If rounding hides on which side of the target a number of steps lies, it is no closer than this part of the
 * tolerance. */
#define HIDDEN_PART 0.1
/* A distance of one tolerance, with its rounding. */
#define ALMOST_ONE 1.01
/* Widths, as parts of what the level changes within the tolerance: of the first bounds at least, and of the
 * last ones at most. */
#define LEAST_FINE 0.1
#define LEAST_FINEST 1e-3
/* The slope of the level if the search found none. */
#define LEAST_SLOPE 1e-12

/* Measures a factor without large passes, if others have bounded it already or its bounds need not be coarse.
 * Where rounding keeps an engine from closer bounds than it `has`, those of another are seldom much closer,
 * and cost up to a thousand times as much. *is_stopped tells whether large passes or another engine might
 * have come closer; if not, bounds have the bits of PRV_ENGINE_AUTO. */
static prv_status measure(prv_calibration_search *s, double factor, double eps_error, bool has_bounds,
                          prv_calibration_point *p, bool *is_stopped)
{
    const double widest = PRV_COARSE_WIDTH * fmax(s->target, PRV_COARSE_FLOOR);
    const bool is_small = s->options.engine == PRV_ENGINE_AUTO &&
                          (has_bounds || (s->risk == NULL && eps_error <= widest));
    if (is_small) s->options.engine = has_bounds ? PRV_ENGINE_FIRST : PRV_ENGINE_SMALL;
    const prv_status status = prv_calibration_measure(s, factor, eps_error, 1.0, p);
    if (is_small) s->options.engine = PRV_ENGINE_AUTO;
    *is_stopped = is_small && (status == PRV_ERR_ENGINE || p->is_stopped);
    return status == PRV_ERR_ENGINE && is_small ? PRV_OK : status;
}

/* Whether bounds are so much wider than asked that wider ones may be closer. */
static bool is_lost_to_rounding(const prv_calibration_point *p, double eps_error)
{
    return p->is_final && !(p->width <= WIDER * eps_error) && !p->is_above;
}

prv_status prv_calibration_judge(prv_calibration_search *s, double factor, double *eps_error, double least,
                                 prv_calibration_point *p, prv_verdict *v)
{
    double asked = *eps_error;
    bool has_bounds = false, is_wider = false;
    for (int wider = 0;;) {
        prv_calibration_point next;
        bool is_stopped;
        const prv_status status = measure(s, factor, asked, has_bounds, &next, &is_stopped);
        if (status != PRV_OK) return status;
        const bool is_worse = is_stopped || (is_wider && has_bounds && !(next.width < p->width));
        if (has_bounds && is_worse) {
            p->is_final = true;
            return PRV_OK;
        }
        if (!is_worse) {
            *p = next;
            *v = p->is_met ? PRV_MEETS : PRV_FAILS;
            has_bounds = true;
            *eps_error = fmax(*eps_error, asked);
            if (p->is_met || p->is_missed) return PRV_OK;
        }
        const bool is_too_close = !has_bounds || (s->risk == NULL && is_lost_to_rounding(p, asked));
        is_wider = is_too_close && (!has_bounds || wider < MOST_WIDER);
        if (is_wider) {
            wider++;
            asked *= WIDER;
            least = fmax(least, LEAST_CLOSER * asked);
            continue;
        }
        p->is_final = p->is_final || p->is_above;
        if (p->is_final) return PRV_OK;
        const double distance = fabs(p->level.estimate - s->target);
        const double closer = fmax(fmin(distance, CLOSER * asked), fmax(least, p->closest));
        p->is_final = closer > WORTHWHILE * asked;
        if (p->is_final) return PRV_OK;
        asked = closer;
    }
}

/* The factor so many tolerances, or steps, on the safe side of this one. */
static double moved(const prv_calibration_search *s, double factor, double amount)
{
    if (s->parameter == PRV_STEPS) return fmin(fmax(factor - amount, s->safe), s->risky);
    factor *= amount == -1.0 ? 1.0 - s->sign * s->tolerance : exp(s->sign * amount * s->tolerance);
    return fmin(fmax(factor, fmin(s->risky, s->safe)), fmax(s->risky, s->safe));
}

/* Whether the tolerance asks for no factor between both. */
static bool are_adjacent(const prv_calibration_search *s, const prv_calibration_point *meets,
                         const prv_calibration_point *fails)
{
    const double apart = fails->factor - meets->factor;
    const bool is_hidden = fails->is_final && !fails->is_missed;
    if (s->parameter == PRV_STEPS)
        return apart <= fmax(is_hidden ? HIDDEN_PART * s->tolerance * meets->factor : 0.0, 1.0);
    return meets->position - fails->position <= ALMOST_ONE * s->tolerance;
}

/* A factor between both: where the upper bounds put the crossing, but not near an end; in the middle if
 * `halve`. */
static double between(const prv_calibration_search *s, const prv_calibration_point *meets,
                      const prv_calibration_point *fails, bool halve)
{
    const double excess = fails->level.upper - s->target, slack = s->target - meets->level.upper;
    double part = halve || !isfinite(excess) ? 0.5 : excess / (excess + slack);
    part = fmin(fmax(part, INSIDE), 1.0 - INSIDE); /* of the way from what fails to what meets */
    if (s->parameter == PRV_STEPS) {
        const double count = ceil(fails->factor - part * (fails->factor - meets->factor)) - 1.0;
        return fmin(fmax(count, meets->factor + 1.0), fails->factor - 1.0);
    }
    return fails->factor * pow(meets->factor / fails->factor, part);
}

/* The factor to be tried if the crossing is thought to be at this position: on its safe side. */
static double candidate(const prv_calibration_search *s, double position)
{
    if (s->parameter != PRV_STEPS) return prv_calibration_factor(s, position + 0.5 * s->tolerance);
    return fmin(fmax(floor(exp(-position)), s->safe), s->risky);
}

/* The factor to try while one of both points is missing: the neighbour of the last one, or where the last
 * estimate puts the crossing if that is nearer. */
static double next_candidate(const prv_calibration_search *s, const prv_calibration_point *p, prv_verdict v,
                             double slope, double reach)
{
    const double neighbour = moved(s, p->factor, v == PRV_MEETS ? -reach : reach);
    /* If bounds cannot be made closer, the upper one alone decides. */
    const bool only_upper = v == PRV_FAILS && !p->is_missed;
    const double level = only_upper || p->is_final ? p->level.upper : p->level.estimate;
    const double at = p->position + (level - s->target) / slope;
    if (!isfinite(at)) return neighbour;
    const double guess = candidate(s, at);
    if (s->sign * (v == PRV_MEETS ? neighbour - guess : guess - neighbour) <= 0.0) return neighbour;
    return guess;
}

void prv_calibration_report(const prv_calibration_point *meets, const prv_calibration_point *fails,
                            prv_calibration *found)
{
    found->factor = meets->factor;
    found->eps_error = meets->eps_error;
    found->epsilon = meets->found;
    found->next_factor = fails != NULL ? fails->factor : NAN;
    found->next_eps_error = fails != NULL ? fails->eps_error : NAN;
    found->next_epsilon = fails != NULL ? fails->found : (prv_bounds){NAN, NAN, NAN};
}

/* Both points of the proof, as far as they are found. */
typedef struct proof {
    prv_calibration_point meets, fails;
    bool has_meets, has_fails;
    int between;  /* factors tried between both */
    double reach; /* distance of the next neighbour, in tolerances or steps */
} proof;

static void put(proof *f, const prv_calibration_point *p, prv_verdict v)
{
    if (v == PRV_MEETS) {
        f->meets = *p;
        f->has_meets = true;
    } else {
        f->fails = *p;
        f->has_fails = true;
    }
}

static bool is_complete(const prv_calibration_search *s, const proof *f)
{
    return (f->has_meets && f->meets.factor == s->risky) ||
           (f->has_meets && f->has_fails && are_adjacent(s, &f->meets, &f->fails));
}

/* The factor to be tried after point p. */
static double next_factor(const prv_calibration_search *s, const prv_calibration_point *p, prv_verdict v,
                          double slope, proof *f)
{
    if (f->has_meets && f->has_fails) {
        return between(s, &f->meets, &f->fails, ++f->between % HALVE_EVERY == 0);
    }
    const double factor = next_candidate(s, p, v, slope, f->reach);
    f->reach *= 2.0;
    return factor;
}

prv_status prv_calibration_prove(prv_calibration_search *s, const prv_crossing *c, prv_calibration *found)
{
    const double slope = c->slope > 0.0 ? c->slope : s->target + LEAST_SLOPE;
    double eps_error = fmax(prv_fine_width(s, c), LEAST_FINE * s->tolerance * slope);
    /* Bounds on both sides of the target are made closer again and again, but the level is seldom that near.
     */
    const double least = fmin(eps_error, LEAST_FINEST * s->tolerance * slope);
    double factor = candidate(s, c->position);
    proof f = {.reach = 1.0};
    for (;;) {
        prv_calibration_point p;
        prv_verdict v;
        const size_t before = s->compositions;
        const prv_status status = prv_calibration_judge(s, factor, &eps_error, least, &p, &v);
        if (status != PRV_OK) return status;
        s->fine += s->compositions - before;
        prv_calibration_tell(s, 1.0 - 0.5 * exp2(-(double)s->fine));
        put(&f, &p, v);
        found->epsilon = p.found;
        if (v == PRV_FAILS && p.factor == s->safe) return PRV_ERR_TARGET;
        if (is_complete(s, &f)) break;
        factor = next_factor(s, &p, v, slope, &f);
    }
    prv_calibration_report(&f.meets, f.has_fails ? &f.fails : NULL, found);
    return PRV_OK;
}
