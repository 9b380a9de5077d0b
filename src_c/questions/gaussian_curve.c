#include "questions/gaussian_curve.h"

#include <math.h>
#include <stdbool.h>

#include "numerics/constants.h"
#include "numerics/normal.h"
#include "numerics/rounding.h"

/* Bisections halve an interval of logarithms of mu, or of epsilons: after so many nothing is left of it. If
 * an interval is left, the bound is weaker, and holds. */
enum { BISECTIONS = 64, TANGENTS = 60 };

/* Longer chords (nats) are bounded by their ends alone: e^eps must be a double. */
#define LONGEST_CHORD 300.0

/* ---- The curve ------------------------------------------------------------------------------- */

typedef struct gaussian {
    double delta;
    double error;   /* of delta, at most */
    double reverse; /* e^eps Phi(-x - mu) = -d delta / d eps */
} gaussian;

static gaussian gaussian_at(double epsilon, double mu)
{
    const double x = epsilon / mu - 0.5 * mu, y = x + mu;
    const double density = PRV_INV_SQRT_2PI * exp(-0.5 * x * x); /* phi(x) = e^eps phi(y) */
    gaussian g;
    double first;
    if (x >= 2.0) {
        const double far = prv_mills_ratio(y), near = prv_mills_ratio(x);
        g.reverse = density * far;
        first = density * near;
        g.delta = density * (near - far);
    } else {
        g.reverse = y >= 2.0 ? density * prv_mills_ratio(y) : exp(epsilon) * prv_upper_tail(y);
        first = prv_upper_tail(x);
        g.delta = first - g.reverse;
    }
    g.delta = fmax(g.delta, 0.0);
    /* Of the functions; of e^(-x^2 / 2); and x is off by what moves epsilon by 4 u (eps + mu^2). */
    g.error = PRV_UNIT * (32.0 * (first + g.reverse) + 4.0 * x * x * g.delta +
                          (8.0 + 4.0 * (epsilon + mu * mu)) * g.reverse);
    return g;
}

double prv_log_gaussian_complement(double epsilon, double mu)
{
    /* log(Phi(x) + e^eps Phi(-x - mu)) */
    const double x = epsilon / mu - 0.5 * mu;
    const double a = prv_log_upper_tail(-x), b = epsilon + prv_log_upper_tail(x + mu);
    /* x and epsilon are rounded, and the logarithms go like x^2 / 2. */
    return fmax(a, b) + log1p(exp(-fabs(a - b))) + 64.0 * PRV_UNIT * (8.0 + epsilon + mu * mu);
}

/* ---- One point ------------------------------------------------------------------------------- */

/* Neighbouring mu, one on either side of where the curve starts to reach delta: certainly, or perhaps. */
typedef struct bracket {
    double below, above;
} bracket;

static bracket bracket_mu(double epsilon, double delta, bool certainly_reaches)
{
    bracket mu = {PRV_LEAST_MU, PRV_GREATEST_MU};
    for (int i = 0; i < BISECTIONS && mu.above > mu.below * (1.0 + 1e-13); i++) {
        const double middle = sqrt(mu.below) * sqrt(mu.above);
        const gaussian g = gaussian_at(epsilon, middle);
        if (certainly_reaches ? g.delta - g.error >= delta : g.delta + g.error > delta)
            mu.above = middle;
        else
            mu.below = middle;
    }
    return mu;
}

double prv_mu_above(double epsilon, double delta)
{
    const double mu = bracket_mu(epsilon, delta, true).above;
    return mu < PRV_GREATEST_MU ? mu : HUGE_VAL;
}

double prv_mu_below(double epsilon, double delta)
{
    const double mu = bracket_mu(epsilon, delta, false).below;
    return mu > PRV_LEAST_MU ? mu : 0.0;
}

/* ---- One chord ------------------------------------------------------------------------------- */

/* The Gaussian curve minus the chord from a, at one epsilon, as a function of e^(eps - a.epsilon) - 1. */
typedef struct gap {
    double value;              /* from below */
    double slope, slope_error; /* rounded, and what it is off by at most */
} gap;

static gap gap_at(const prv_point_above *a, double chord_slope, double epsilon, double mu)
{
    const gaussian g = gaussian_at(epsilon, mu);
    const double distance = epsilon - a->epsilon, fall = chord_slope * expm1(distance);
    const double slope = exp(-distance) * g.reverse;
    const double rounding = 8.0 * PRV_UNIT * (a->delta - (1.0 + distance) * fall);
    return (gap){g.delta - g.error - (a->delta + fall) - rounding, -slope - chord_slope,
                 PRV_UNIT * ((64.0 + 8.0 * (epsilon + mu * mu)) * slope + 8.0 * fabs(chord_slope))};
}

/* Whether the curve of mu certainly lies above the chord, given that it does at a and at b. */
static bool is_above(const prv_point_above *a, const prv_point_above *b, double mu)
{
    const double length = expm1(b->epsilon - a->epsilon), slope = (b->delta - a->delta) / length;
    double low = a->epsilon, high = b->epsilon;
    gap g = gap_at(a, slope, low, mu);
    if (g.slope - g.slope_error >= 0.0) return true;
    for (int i = 0; i < TANGENTS; i++) {
        /* The least value lies between low and high, where the tangent at low is a lower bound. */
        const double step = exp(low - a->epsilon) * expm1(high - low);
        if (g.value + fmin(g.slope, 0.0) * step - g.slope_error * length >= 0.0) return true;
        const double middle = 0.5 * (low + high);
        const gap m = gap_at(a, slope, middle, mu);
        if (m.value < 0.0) return false;
        if (m.slope < 0.0) {
            low = middle;
            g = m;
        } else {
            high = middle;
        }
    }
    return false;
}

double prv_mu_above_chord(const prv_point_above *a, const prv_point_above *b)
{
    const double ends = fmax(a->mu, b->mu);
    if (!(ends < HUGE_VAL)) return ends;
    /* Both curves fall: it is enough to reach the greater value at the farther end. */
    double high = fmax(prv_mu_above(b->epsilon, a->delta), ends), low = ends;
    if (!(b->epsilon - a->epsilon < LONGEST_CHORD)) return high;
    const double start = fmin(ends * (1.0 + PRV_MU_TOLERANCE), high);
    if (is_above(a, b, start)) return start;
    low = start;
    if (!(high < HUGE_VAL)) high = PRV_GREATEST_MU;
    for (int i = 0; i < BISECTIONS && high > low * (1.0 + PRV_MU_TOLERANCE); i++) {
        const double mu = sqrt(low) * sqrt(high);
        if (is_above(a, b, mu))
            high = mu;
        else
            low = mu;
    }
    return high < PRV_GREATEST_MU ? high : HUGE_VAL;
}
