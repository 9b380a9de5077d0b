#include "closed/smooth_curve.h"

#include <math.h>

#include "numerics/constants.h"
#include "numerics/normal.h"

#define U ((long double)PRV_WIDE_LIBM_UNIT)

static const long double inverse_sqrt_2pi = 0.39894228040143267793994605993438187L;
static const long double sqrt_half = 0.70710678118654752440084436210484904L;

/* (1 - e^epsilon)_+. If epsilon may be below 0, so may the curve be above it by the blur. */
static prv_closed_value without_loss(long double epsilon, long double blur)
{
    prv_closed_value v = {0.0L, 0.0L, 0.0L};
    if (epsilon < 0.0L) {
        v.delta = -expm1l(epsilon);
        v.fall = expl(epsilon);
        v.error = 2.0L * U * v.delta;
    }
    if (epsilon < 2.0L * blur) v.error += PRV_BLURRED * blur * fminl(expl(epsilon), 1.0L);
    return v;
}

/* ---- Gaussian noise -------------------------------------------------------------------------- */

/* delta = Phi(-x) - e^epsilon Phi(-y), x = epsilon / mu - mu / 2, y = x + mu: where x is large, both terms
 * are the density phi(x) = e^epsilon phi(y) times a Mills ratio, whose difference keeps most of its digits.
 *
 * x is off by at most 1.5 U (|epsilon| / mu + mu / 2), as if epsilon were by mu times that; y is off by as
 * much from the y that belongs to this epsilon. Mills ratios move by less than y moves, relatively; the
 * derivative of e^epsilon Phi(-y) by y is -phi(x). The derivative of delta by mu is phi(x). docs/bounds.rst
 * counts all of it. */
static prv_closed_value gaussian(long double mu, double mu_error, long double epsilon, long double blur)
{
    const long double ratio = epsilon / mu, x = ratio - 0.5L * mu, y = ratio + 0.5L * mu;
    const long double size = fabsl(ratio) + 0.5L * mu;
    const long double moved = blur + 2.0L * U * mu * size, wrong = (long double)mu_error * (size + 1.0L);
    /* Within `moved` of epsilon the fall changes by a factor of e^(moved (|y| + 1) / mu) at most, and within
     * mu_error of mu the density does by e^(|x| wrong). */
    if (!(moved * (fabsl(y) + 1.0L) <= PRV_MOST_BLUR * mu && wrong * (fabsl(x) + 1.0L) <= PRV_MOST_BLUR))
        return prv_closed_nothing();
    const long double density = inverse_sqrt_2pi * expl(-0.5L * x * x);
    /* The density is rounded by parts x^2 U of itself: of delta where it is a factor of delta, else of a fall
     * that it is a factor of. */
    const bool far = x >= PRV_FAR_TAIL, fall_is_far = y >= PRV_FAR_TAIL;
    long double first, fall, delta, from_density = (long double)mu_error * mu * density;
    if (far) {
        const long double near = prv_wide_mills_ratio(x), below = prv_wide_mills_ratio(y);
        first = density * near;
        fall = density * below;
        delta = density * (near - below);
    } else {
        first = 0.5L * erfcl(x * sqrt_half);
        fall = fall_is_far ? density * prv_wide_mills_ratio(y) : expl(epsilon) * 0.5L * erfcl(y * sqrt_half);
        delta = first - fall;
        from_density += 3.0L * U * size * density;
    }
    const prv_closed_value v = {fmaxl(delta, 0.0L), fall,
                                U * (8.0L * fmaxl(delta, 0.0L) + 24.0L * (first + fall) +
                                     x * x *
                                         (far           ? fmaxl(delta, 0.0L)
                                          : fall_is_far ? fall
                                                        : 0.0L)) +
                                    PRV_BLURRED * (moved * fall + from_density) + LDBL_MIN};
    return v;
}

/* ---- Laplace noise and bounded range --------------------------------------------------------- */

/* 1 - e^((epsilon - mu) / 2) for |epsilon| < mu. */
static prv_closed_value laplace(long double mu, double mu_error, long double epsilon, long double blur)
{
    const long double moved = blur + U * (fabsl(epsilon) + mu) + (long double)mu_error * mu;
    if (!(moved <= PRV_MOST_BLUR)) return prv_closed_nothing();
    if (epsilon <= -mu) return without_loss(epsilon, moved);
    prv_closed_value v = {0.0L, 0.0L, 0.0L};
    const long double half = 0.5L * expl(0.5L * fminl(epsilon - mu, 0.0L));
    if (epsilon < mu) {
        v.delta = -expm1l(0.5L * (epsilon - mu));
        v.fall = half;
    }
    /* Below -mu the curve falls twice as fast. */
    const long double steepest = epsilon < -mu + 2.0L * moved ? 2.0L * half : half;
    v.error = 2.0L * U * v.delta + (epsilon < mu + moved ? PRV_BLURRED * moved * steepest : 0.0L);
    return v;
}

/* (1 - e^((epsilon - range) / 2))^2 / (1 - e^-range) for |epsilon| < range. The factor is off by moved / 2.
 */
static prv_closed_value bounded_range(long double range, double range_error, long double epsilon,
                                      long double blur)
{
    const long double moved = blur + U * (fabsl(epsilon) + range) + (long double)range_error * range;
    if (!(moved <= PRV_MOST_BLUR)) return prv_closed_nothing();
    if (epsilon <= -range) return without_loss(epsilon, moved);
    const long double whole = -expm1l(-range), factor = -expm1l(0.5L * fminl(epsilon - range, 0.0L));
    prv_closed_value v = {factor * factor / whole, factor * (1.0L - factor) / whole, 0.0L};
    v.error = (10.0L * U + (long double)range_error) * v.delta +
              PRV_BLURRED * moved * (v.fall + moved / whole);
    return v;
}

static prv_closed_value base_at(const prv_smooth_curve *c, long double epsilon, long double blur)
{
    switch (c->kind) {
    case PRV_SMOOTH_GAUSSIAN: return gaussian(c->size, c->size_error, epsilon, blur);
    case PRV_SMOOTH_LAPLACE: return laplace(c->size, c->size_error, epsilon, blur);
    case PRV_SMOOTH_RANGE: return bounded_range(c->size, c->size_error, epsilon, blur);
    case PRV_SMOOTH_NONE: break;
    }
    return without_loss(epsilon, blur);
}

/* ---- Poisson samples ------------------------------------------------------------------------- */

/* 'remove': sup (1-p)P + pQ - t P = p sup Q - t' P with t' = 1 + (t - 1) / p, where that is positive; 1 - t
 * elsewhere. */
static prv_closed_value sample_removed(const prv_smooth_curve *c, long double epsilon, long double blur)
{
    const long double p = c->probability;
    long double base, moved; /* log t', and what it is off by */
    if (epsilon > 30.0L) {
        const long double log_p = logl(p);
        base = epsilon - log_p + log1pl((p - 1.0L) * expl(-epsilon));
        moved = PRV_BLURRED * blur + U * (4.0L + 2.0L * epsilon + 4.0L * fabsl(log_p));
    } else {
        const long double above = expm1l(epsilon) / p;
        if (above <= -1.0L) return without_loss(epsilon, blur);
        base = log1pl(above);
        moved = (U * (fmaxl(epsilon, 0.0L) + 6.0L) * fabsl(above) + PRV_BLURRED * blur * expl(epsilon) / p) /
                    (1.0L + above) +
                3.0L * U * fabsl(base);
    }
    if (!(moved <= PRV_MOST_BLUR)) return prv_closed_nothing();
    const prv_closed_value v = base_at(c, base, moved);
    return (prv_closed_value){p * v.delta, expl(epsilon - base) * v.fall,
                              PRV_BLURRED * p * v.error + 3.0L * U * p * v.delta};
}

/* 'add': sup Q - t ((1-p)Q + pP) = v sup Q - t'' P with v = 1 - (1-p) t, t'' = p t / v, where v > 0. */
static prv_closed_value sample_added(const prv_smooth_curve *c, long double epsilon, long double blur)
{
    const long double p = c->probability, rest = 1.0L - p;
    const long double part = rest * expm1l(fminl(epsilon, 100.0L)), v = p - part;
    const long double v_error = U * (8.0L * p + 6.0L * fabsl(part)) +
                                (long double)PRV_WIDE_LIBM_EXPM1_ERROR((double)fminl(epsilon, 100.0L)) *
                                    fabsl(part) +
                                PRV_BLURRED * blur * rest * expl(fminl(epsilon, 100.0L));
    if (!(v > v_error)) {
        /* The curve is at most v there, and not below 0. */
        if (v <= -v_error) return (prv_closed_value){0.0L, 0.0L, 0.0L};
        return (prv_closed_value){0.0L, 0.0L, 2.0L * v_error};
    }
    const long double log_p = logl(p), log_v = logl(v), base = epsilon + log_p - log_v;
    const long double moved = blur + PRV_BLURRED * v_error / (v - v_error) +
                              U * (3.0L * fabsl(epsilon) + 6.0L * fabsl(log_p) + 4.0L * fabsl(log_v) + 2.0L);
    if (!(moved <= PRV_MOST_BLUR)) return (prv_closed_value){0.0L, 0.0L, v + v_error};
    const prv_closed_value b = base_at(c, base, moved);
    return (prv_closed_value){v * b.delta, (1.0L - v) * b.delta + b.fall,
                              PRV_BLURRED * (v * b.error + v_error * b.delta) + 2.0L * U * v * b.delta};
}

prv_closed_value prv_smooth_curve_at(const prv_smooth_curve *c, long double epsilon, long double blur)
{
    if (!c->sampled) return base_at(c, epsilon, blur);
    return c->add ? sample_added(c, epsilon, blur) : sample_removed(c, epsilon, blur);
}
