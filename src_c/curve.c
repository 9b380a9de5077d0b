#include "curve.h"

#include <float.h>
#include <math.h>

#include "wide.h"

/* The recurrences, held at one lattice point; `below` moves them one point down. */
typedef struct sums {
    prv_wide d, b;
    prv_wide decay, decay_more, step; /* e^(-lam h), e^(-(lam + 1) h), 1 - e^(-h) */
    const prv_composed *composed;
    size_t point; /* of the window, counted from its lowest */
    size_t at;    /* position in mass[] */
} sums;

static sums sums_at_top(const prv_composed *c)
{
    sums s;
    s.composed = c;
    s.point = c->length - 1;
    s.at = (c->start + s.point) % c->length;
    s.d = prv_wide_of(0.0);
    /* Rounding of the transforms may leave tiny negative masses; they stay, its bound covers them. */
    s.b = prv_wide_of(c->mass[s.at]);
    s.decay = prv_wide_of(exp(-c->tilt * c->step));
    s.decay_more = prv_wide_of(exp(-(c->tilt + 1.0) * c->step));
    s.step = prv_wide_of(-expm1(-c->step));
    return s;
}

static void sums_below(sums *s)
{
    s->at = s->at > 0 ? s->at - 1 : s->composed->length - 1;
    s->point--;
    s->d = prv_wide_mul(s->decay, prv_wide_add(s->d, prv_wide_mul(s->step, s->b)));
    s->b = prv_wide_add(prv_wide_mul(s->decay_more, s->b), prv_wide_of(s->composed->mass[s->at]));
}

/* log of M e^(-lam x) at a point of the window. */
static double log_scale(const prv_composed *c, size_t point)
{
    const long double x = c->lowest + (long double)c->step * (long double)point;
    return (double)((long double)c->log_moment - (long double)c->tilt * x);
}

static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* ---- Delta -------------------------------------------------------------------------------- */

/* The curve without slack: D - B expm1(v), B e^v and M e^(-lam x) at the point above epsilon. */
typedef struct place {
    double finite, reverse, log_scale;
} place;

static place evaluate(const prv_composed *c, double epsilon)
{
    const place nothing = {0.0, 0.0, (double)((long double)c->log_moment -
                                              (long double)c->tilt * (long double)epsilon)};
    if (epsilon >= prv_composed_loss(c, c->length - 1)) return nothing;
    sums s = sums_at_top(c);
    while (s.point > 0 && prv_composed_loss(c, s.point - 1) > epsilon) sums_below(&s);
    /* v <= 0: at a point, or between two points, or below the window (where nothing more is added). */
    const double x = prv_composed_loss(c, s.point), v = fmin(epsilon - x, 0.0);
    const double d = prv_wide_value(s.d), b = prv_wide_value(s.b);
    /* e^(-lam (x - eps)) is in the scale of epsilon itself, so put into the scale of the point. */
    place p = {d - b * expm1(v), b * exp(v), log_scale(c, s.point)};
    return p;
}

prv_value prv_curve_delta(const prv_composed *c, double epsilon, int side, const prv_slack *slack)
{
    /* A shift of the losses by at most `shift` either way: look that much lower or higher. */
    const double moved = side > 0 ? epsilon - slack->shift : epsilon + slack->shift;
    const place plain = evaluate(c, epsilon);
    const place at = slack->shift > 0.0 ? evaluate(c, moved) : plain;
    const double factor = exp(c->log_moment - c->tilt * moved);
    prv_value value;
    value.scale = exp(c->log_moment - c->tilt * epsilon);
    value.plain = clip(exp(plain.log_scale) * plain.finite + c->infinite_mass, 0.0, 1.0);
    value.slope = plain.finite > 0.0 ? plain.reverse / plain.finite : HUGE_VAL;
    const double finite = exp(at.log_scale) * at.finite;
    const double rounding = 16.0 * DBL_EPSILON * c->infinite_mass;
    if (side > 0)
        value.delta = (finite + factor * slack->additive) * (1.0 + slack->relative) +
                      c->infinite_mass + rounding;
    else
        value.delta = (finite - factor * slack->additive) * (1.0 - slack->relative) +
                      c->infinite_mass - rounding;
    /* Products of tiny numbers may have rounded to 0: the smallest double is above what was lost. */
    if (side > 0 && value.delta < DBL_MIN) value.delta = DBL_MIN;
    value.delta = clip(value.delta, 0.0, 1.0);
    return value;
}

/* ---- Epsilon ------------------------------------------------------------------------------ */

/* The epsilon in [x - h, x] where D - B expm1(v) equals `level` (all in the scale of the point x). */
static double crossing(double x, double step, double d, double b, double level)
{
    if (!(b > 0.0)) return x;
    const double ratio = (d - level) / b;
    return x + clip(ratio > -1.0 ? log1p(ratio) : -HUGE_VAL, -step, 0.0);
}

/* Moves down to the next point whose cell below may reach `log_level` (log, in absolute units) with
 * `additive` on top; 0 if none is left above `floor`. The level is kept in the scale of the points by
 * multiplication, and a little too low, so that no cell is missed: the caller tests exactly. */
static int next_candidate(sums *s, double log_level, double additive, double floor)
{
    const double decay = prv_wide_value(s->decay), step = prv_wide_value(s->step);
    for (;;) {
        double level = (1.0 - 1e-12) * exp(log_level - log_scale(s->composed, s->point));
        if (prv_composed_loss(s->composed, s->point) < floor) return 0;
        for (size_t i = 0; i < 256; i++) {
            if (prv_wide_value(s->d) + step * prv_wide_value(s->b) + additive >= level) return 1;
            if (s->point == 0) return 0;
            sums_below(s);
            level *= decay;
        }
    }
}

/* Where delta~ + additive reaches exp(log_level), searched downwards from s; -infinity if not above
 * `floor`. *at_top tells that it does so at the very top, where only the additive part can. */
static double search(sums *s, double log_level, double additive, double floor, int *at_top, double *slope)
{
    const prv_composed *c = s->composed;
    const size_t top = c->length - 1;
    while (next_candidate(s, log_level, additive, floor)) {
        const double x = prv_composed_loss(c, s->point);
        const double d = prv_wide_value(s->d) + additive, b = prv_wide_value(s->b);
        const double level = exp(log_level - log_scale(c, s->point));
        if (d + b * prv_wide_value(s->step) >= level) {
            *at_top = s->point == top;
            *slope = fmax(b + d - level, 0.0) / level; /* B e^v over the level */
            return crossing(x, c->step, d, b, level);
        }
        if (s->point == 0) break;
        sums_below(s);
    }
    *at_top = 0;
    *slope = 0.0;
    return -HUGE_VAL;
}

prv_inverse prv_curve_epsilon(const prv_composed *c, double delta, int side, const prv_slack *slack)
{
    const double sign = side > 0 ? 1.0 : -1.0;
    const double target = delta - c->infinite_mass;
    const double bound_target = target - sign * 16.0 * DBL_EPSILON * c->infinite_mass;
    const double lowest = prv_composed_loss(c, 0), floor = -slack->shift - c->step;
    prv_inverse result = {HUGE_VAL, HUGE_VAL, HUGE_VAL, 0.0, 1};
    double bound_slope;
    if (!(target > 0.0 && bound_target > 0.0)) return result; /* the mass at infinity reaches delta */

    /* The slack at a point serves the whole cell below, where its unit is e^(lam h) larger. */
    const double additive = sign * slack->additive * exp(c->tilt * c->step);
    const double log_bound = log(bound_target) - log1p(sign * slack->relative);
    int at_top = 0, plain_at_top = 0;
    sums s = sums_at_top(c);
    double found, plain;
    if (side > 0) { /* the bound lies above the plain crossing: one way down serves both */
        found = search(&s, log_bound, additive, floor, &at_top, &bound_slope);
        plain = search(&s, log(target), 0.0, floor, &plain_at_top, &result.slope);
    } else {
        plain = search(&s, log(target), 0.0, floor, &plain_at_top, &result.slope);
        found = search(&s, log_bound, additive, floor, &at_top, &bound_slope);
    }
    result.plain = fmax(plain, 0.0);
    /* Not reached above the floor: epsilon is 0, or lies below a window that starts too high. */
    result.resolved = isfinite(found) || lowest <= floor;
    if (side > 0 && at_top) {
        result.resolved = 0;
        return result;
    }
    if (side > 0 && !isfinite(found)) found = fmax(lowest, 0.0) - slack->shift;
    result.additive = fmax(found, 0.0);
    result.epsilon = fmax(found + sign * slack->shift, 0.0);
    return result;
}
