#include "curve/curve.h"

#include <float.h>
#include <math.h>

#include "base/allocate.h"
#include "numerics/rounding.h"
#include "numerics/wide.h"
#include "composition/convolution.h"
#include "composition/spectrum_sum.h"

/* ---- D and B ------------------------------------------------------------------------------ */

/* The recurrences of a convolution, held at one lattice point. */
typedef struct sums {
    prv_wide d, b;
    size_t point; /* of the window, counted from its lowest */
} sums;

/* D and B at one lattice point of a spectrum. */
typedef struct series {
    double n, d, b;
} series;

/* Reads D and B anywhere. Recurrences leave their state at some points on the way down, so that further
 * readings start near. Sums of a spectrum are kept of the points read last: searches end between two of
 * them. */
enum { MARKS = 128, KEPT = 4 };

typedef struct reader {
    const prv_composed *composed;
    prv_wide decay, decay_more, drop; /* e^(-lam h), e^(-(lam + 1) h), 1 - e^(-h) */
    size_t stride, marked;
    sums marks[MARKS]; /* at the top, one `stride` below it, ... */
    series kept[KEPT];
    size_t read; /* sums of a spectrum so far; the last is kept[(read - 1) % KEPT] */
} reader;

static size_t position(const prv_composed *c, size_t point)
{
    const size_t at = c->convolved.start + point, length = c->convolved.length;
    return at < length ? at : at - length;
}

static void reader_init(reader *r, const prv_composed *c)
{
    r->composed = c;
    r->read = 0;
    if (c->engine == PRV_ENGINE_SPECTRUM) return;
    const size_t top = c->convolved.length - 1;
    r->decay = prv_wide_of(exp(-c->tilted.tilt * c->spacing));
    r->decay_more = prv_wide_of(exp(-(c->tilted.tilt + 1.0) * c->spacing));
    r->drop = prv_wide_of(-expm1(-c->spacing));
    r->stride = c->convolved.length / MARKS + 1;
    r->marked = 1;
    r->marks[0].d = prv_wide_of(0.0);
    /* Rounding of the transforms may leave tiny negative masses; they stay, its bound covers them. */
    r->marks[0].b = prv_wide_of(c->convolved.mass[position(c, top)]);
    r->marks[0].point = top;
}

static sums sums_at(reader *r, size_t point)
{
    const prv_composed *c = r->composed;
    const double *mass = c->convolved.mass;
    const size_t top = c->convolved.length - 1;
    size_t mark = (top - point) / r->stride;
    if (mark >= r->marked) mark = r->marked - 1;
    sums s = r->marks[mark];
    while (s.point > point) {
        s.point--;
        s.d = prv_wide_mul(r->decay, prv_wide_add(s.d, prv_wide_mul(r->drop, s.b)));
        s.b = prv_wide_add(prv_wide_mul(r->decay_more, s.b), prv_wide_of(mass[position(c, s.point)]));
        if (top - s.point == r->marked * r->stride) r->marks[r->marked++] = s;
    }
    return s;
}

static series series_at(reader *r, double n)
{
    for (size_t i = 0; i < r->read && i < KEPT; i++)
        if (r->kept[i].n == n) return r->kept[i];
    series *s = &r->kept[r->read++ % KEPT];
    s->n = n;
    prv_spectrum_at(r->composed->spectral.spectrum, n, &s->d, &s->b);
    return *s;
}

static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* The curve without slack: D - B expm1(v), B e^v and log(M e^(-lam x)) at the point x above epsilon. */
typedef struct place {
    double finite, reverse, log_scale;
    double error; /* of `finite`, by that of tops */
    int known;    /* 0: too far from the lattice's origin to tell points apart */
} place;

static double log_scale_at(const prv_composed *c, long double x)
{
    return (double)((long double)c->tilted.log_moment - (long double)c->tilted.tilt * x);
}

static place on_lattice(reader *r, double epsilon)
{
    const prv_composed *c = r->composed;
    double d, b;
    long double x;
    if (c->engine == PRV_ENGINE_SPECTRUM) {
        const double n = (double)floorl(((long double)epsilon - c->lowest) / (long double)c->spacing) + 1.0;
        x = c->lowest + (long double)n * (long double)c->spacing;
        if (!(fabs(n) < 0x1p51)) {
            const place unknown = {0.0, 0.0, log_scale_at(c, (long double)epsilon), 0.0, 0};
            return unknown;
        }
        const series s = series_at(r, n);
        d = s.d;
        b = s.b;
    } else {
        const place nothing = {0.0, 0.0, log_scale_at(c, (long double)epsilon), 0.0, 1};
        const size_t top = c->convolved.length - 1;
        if (epsilon >= prv_composed_loss(c, top)) return nothing;
        const double below = (epsilon - (double)c->lowest) / c->spacing;
        size_t point = prv_size_of(fmin(below, (double)top));
        while (point > 0 && prv_composed_loss(c, point - 1) > epsilon) point--;
        while (prv_composed_loss(c, point) <= epsilon) point++;
        const sums s = sums_at(r, point);
        x = (long double)prv_composed_loss(c, point);
        d = prv_wide_value(s.d);
        b = prv_wide_value(s.b);
    }
    /* v <= 0: at a point, or between two points, or below the window (where nothing more is added). */
    const double v = fmin((double)((long double)epsilon - x), 0.0);
    const place p = {d - b * expm1(v), b * exp(v), log_scale_at(c, x), 0.0, 1};
    return p;
}

/* With what lies above the tops. */
static place at(reader *r, double epsilon)
{
    place p = on_lattice(r, epsilon);
    if (!r->composed->tops.counted) return p;
    const prv_tops_value v = prv_tops_at(&r->composed->tops, epsilon, p.log_scale);
    p.finite += v.value;
    p.reverse += v.fall;
    p.error = v.error;
    return p;
}

/* ---- With the slack of a side -------------------------------------------------------------- */

/* The finite part with its slack, in units of e^log_scale. The sign is that of the slack: 1 for an upper
 * bound, -1 for a lower one, 0 for the curve without slack. */
typedef struct bound {
    double value, slope, log_scale;
} bound;

static bound bound_at(reader *r, double epsilon, int sign, const prv_slack *slack)
{
    const prv_composed *c = r->composed;
    const double direction = (double)sign;
    /* A shift of the losses by at most `shift` either way: look that much lower or higher. */
    const double moved = epsilon - direction * (slack->shift + 4.0 * DBL_EPSILON * fabs(epsilon));
    const place p = at(r, moved);
    double additive = slack->additive;
    if (sign < 0 && slack->imaged)
        additive = moved >= slack->low && moved <= slack->high ? additive + slack->images : HUGE_VAL;
    if (sign > 0 && slack->apart) additive = moved >= slack->bulk_low ? additive + slack->bulk : HUGE_VAL;
    if (!p.known || (sign > 0 && c->tops.counted && !(moved <= c->tops.greatest))) additive = HUGE_VAL;
    const double unit = exp(log_scale_at(c, (long double)moved) - p.log_scale);
    bound b = {p.finite, p.finite > 0.0 ? p.reverse / p.finite : HUGE_VAL, p.log_scale};
    if (sign > 0) b.value = (p.finite + p.error + unit * additive) * (1.0 + slack->relative);
    if (sign < 0) b.value = fmax(p.finite - p.error - unit * additive, 0.0) / (1.0 + slack->relative);
    /* What is not a number is no bound. */
    if (isnan(b.value)) b.value = sign > 0 ? HUGE_VAL : 0.0;
    return b;
}

/* What the logarithms of a bound and their sum round by, with a logarithm beside them: nats. */
static double hidden_by_logarithms(double log_value, double log_scale, double other)
{
    return 4.0 * PRV_UNIT * (2.0 + fabs(log_value) + fabs(log_scale) + fabs(other));
}

/* e^log_scale value, rounded towards the side. Either factor may leave the range of a double while the
 * product does not; then the logarithms are added. Where they cancel or overflow nothing is known. */
static double in_full(const bound *b, int sign)
{
    if (fabs(b->log_scale) < 700.0) return exp(b->log_scale) * b->value;
    if (!(b->value > 0.0)) return 0.0;
    const double log_value = log(b->value), sum = b->log_scale + log_value;
    const double hidden = hidden_by_logarithms(log_value, b->log_scale, 0.0);
    const double full = exp(sum + (double)sign * hidden);
    if (isnan(full)) return sign > 0 ? HUGE_VAL : 0.0;
    return full;
}

prv_value prv_curve_delta(const prv_composed *c, double epsilon, prv_side side, const prv_slack *slack)
{
    const int sign = side == PRV_DOMINATING ? 1 : -1;
    reader r;
    reader_init(&r, c);
    const bound plain = bound_at(&r, epsilon, 0, slack), b = bound_at(&r, epsilon, sign, slack);
    const double infinite = c->tilted.infinite.mass;
    prv_value value;
    value.scale = exp(log_scale_at(c, (long double)epsilon));
    value.plain = clip(in_full(&plain, 0) + infinite, 0.0, 1.0);
    value.slope = plain.slope;
    /* `relative` has room for the exponential and the product; the sum rounds to either side. */
    double finite = in_full(&b, sign);
    /* A subnormal product has no relative accuracy. */
    if (sign < 0 && finite < DBL_MIN) finite = 0.0;
    if (sign > 0) {
        value.delta = c->tilted.infinite.high > 0.0 ? prv_above(finite + c->tilted.infinite.high) : finite;
        /* Products of tiny numbers may have rounded to 0: the smallest double is above what was lost. */
        if (value.delta < DBL_MIN) value.delta = DBL_MIN;
    } else {
        value.delta = c->tilted.infinite.low > 0.0 ? prv_below(finite + c->tilted.infinite.low) : finite;
    }
    value.delta = clip(value.delta, 0.0, 1.0);
    return value;
}

/* ---- Epsilon ------------------------------------------------------------------------------ */

/* Where a bound falls through exp(log_target): `above` (the highest point found where it is still
 * at or above) and `below` (the lowest found where it is not). */
typedef struct crossing {
    double above, below;
    double slope; /* at the last point */
} crossing;

/* Newton's method on the logarithm of the bound between low and high; a move that leaves the bracket is
 * halved into it. Ends when the bracket, or a move, is at the rounding of epsilon. */
static crossing search(reader *r, int sign, const prv_slack *slack, double log_target, double low,
                       double high, double guess)
{
    crossing c = {-HUGE_VAL, HUGE_VAL, 0.0};
    double x = clip(guess, low, high);
    /* Below the crossing slack grows like e^(tilt distance), and soon hides all: the first moves are shorter
     * than that. */
    double reach = fmin(fmax(1e-3 * fabs(x), 1e-9),
                        fmax(0.1 / r->composed->tilted.tilt, 64.0 * DBL_EPSILON * fabs(x)));
    for (int i = 0; i < 200; i++) {
        const bound b = bound_at(r, x, sign, slack);
        /* Logarithms and sums round: if they hide on which side of the target a bound is, it counts as on the
         * other one. */
        const double log_value = b.value > 0.0 ? log(b.value) : -HUGE_VAL;
        const double hidden = hidden_by_logarithms(log_value, b.log_scale, log_target);
        double excess = b.value > 0.0 ? log_value + b.log_scale - log_target + (double)sign * hidden
                                      : -HUGE_VAL;
        /* If infinite logarithms cancel, nothing is known: an upper bound counts as above, a lower one as
         * below. */
        if (isnan(excess)) excess = sign > 0 ? HUGE_VAL : -HUGE_VAL;
        if (excess >= 0.0)
            c.above = x;
        else
            c.below = x;
        if (b.slope > 0.0 && b.slope < HUGE_VAL) c.slope = b.slope;
        const double rounding = 4.0 * DBL_EPSILON * fabs(x) + 1e-300;
        if (c.below - c.above <= 4.0 * rounding) break;
        if ((x >= high && excess >= 0.0) || (x <= low && excess < 0.0)) break;
        double next = x + excess / b.slope;
        /* A move too short to tell, by the rounding of epsilon or of the logarithms, is lengthened to the
         * other side. */
        const double blur = rounding + 4.0 * DBL_EPSILON * (fabs(log_target) + fabs(b.log_scale)) / b.slope;
        if (fabs(next - x) < blur) next = excess >= 0.0 ? x + 2.0 * blur : x - 2.0 * blur;
        const bool inside = next > c.above && next < c.below;
        if (!(c.above > -HUGE_VAL) || !(c.below < HUGE_VAL)) {
            /* One side is not known yet: no farther than `reach`, which doubles. */
            if (!inside || fabs(next - x) > reach) next = excess >= 0.0 ? x + reach : x - reach;
            reach *= 2.0;
        } else if (!inside || i % 8 == 7) {
            next = 0.5 * (c.above + c.below);
        }
        x = clip(next, low, high);
    }
    return c;
}

/* delta - infinite, rounded down (sign < 0) or up; exact where nothing is taken away. */
static double delta_less(double delta, double infinite, int sign)
{
    if (infinite == 0.0) return delta;
    return sign < 0 ? prv_below(delta - infinite) : prv_above(delta - infinite);
}

prv_inverse prv_curve_epsilon(const prv_composed *c, double delta, prv_side side, const prv_slack *slack,
                              double guess)
{
    const double target = delta - c->tilted.infinite.mass;
    /* The finite part of delta, from the side on which that makes epsilon a bound. */
    const double bound_target = side == PRV_DOMINATING ? delta_less(delta, c->tilted.infinite.high, -1)
                                                       : delta_less(delta, c->tilted.infinite.low, 1);
    prv_inverse result = {HUGE_VAL, HUGE_VAL, 0.0, 0.0, 1};
    if (!(target > 0.0 && bound_target > 0.0)) return result; /* the mass at infinity reaches delta */

    reader r;
    reader_init(&r, c);
    const double high = fmax(c->tilted.support_high, 0.0) + 1.0;
    const crossing plain = search(&r, 0, slack, log(target), 0.0, high, guess);
    result.plain = fmax(plain.above, 0.0);
    result.slope = plain.slope;
    const bound there = bound_at(&r, result.plain, 0, slack);
    const double unit = exp(log_scale_at(c, (long double)result.plain) - there.log_scale);
    result.additive = slack->additive * unit / (fmax(there.value, DBL_MIN) * fmax(there.slope, DBL_MIN));

    if (side == PRV_DOMINATING) {
        const crossing bounded = search(&r, 1, slack, log(bound_target), result.plain, high, result.plain);
        result.epsilon = bounded.below < HUGE_VAL ? bounded.below : HUGE_VAL;
        if (bounded.below <= 0.0) result.epsilon = 0.0;
        result.resolved = isfinite(result.epsilon);
    } else {
        const crossing bounded = search(&r, -1, slack, log(bound_target), 0.0, result.plain, result.plain);
        result.epsilon = fmax(bounded.above, 0.0);
        result.resolved = bounded.above >= 0.0 || !(plain.above >= 0.0);
    }
    return result;
}
