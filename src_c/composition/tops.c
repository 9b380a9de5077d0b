#include "composition/tops.h"

#include <math.h>

#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "lattices/tilt.h"

/* Below this logarithm of x, log1p(x) and expm1(x) are x but for a part x / 2 of it; above the other one,
 * log(expm1(x)) is x but for e^-x. */
#define LOG_TINY (-45.0)
#define LOG_LARGE 5.0

/* ---- Differences of products, by their logarithms --------------------------------------------- */

static double log_of_log1p(double log_x)
{
    return log_x < LOG_TINY ? log_x : log(log1p(exp(log_x)));
}

static double log_of_expm1(double log_x)
{
    return log_x < LOG_TINY ? log_x : log_x > LOG_LARGE ? exp(log_x) : log(expm1(exp(log_x)));
}

/* log(e^a + e^b). */
static double log_add(double a, double b)
{
    const double greater = fmax(a, b);
    return greater == -HUGE_VAL ? greater : greater + log1p(exp(fmin(a, b) - greater));
}

/* prod (S + s)^k - prod S^k = e^(sum k log S) expm1(sum k log1p(s / S)). */
typedef struct difference {
    double log_lattices; /* sum k log S */
    double error;        /* of log_lattices, at most */
    double log_rises;    /* log of sum k log1p(s / S) */
    double size;         /* the greatest sum of moduli of logarithms that a term of log_rises is made of */
} difference;

/* Adds a step whose lattice has the mass S, off by the part `error`, and whose top has the mass s e^-knot. */
static void add_step(double log_lattice, double error, double mass, double knot, double count, difference *d)
{
    d->log_lattices += count * log_lattice;
    d->error += count * (error + 4.0 * PRV_UNIT * fabs(log_lattice)) + PRV_UNIT * fabs(d->log_lattices);
    if (!(mass > 0.0)) return;
    const double log_mass = log(mass), log_ratio = log_mass - knot - log_lattice;
    const double log_rise = log(count) + log_of_log1p(log_ratio);
    d->log_rises = log_add(d->log_rises, log_rise);
    d->size = fmax(d->size, fabs(log_mass) + fabs(knot) + fabs(log_lattice) + fabs(log_ratio) + log(count) +
                                fabs(log_rise) + fabs(d->log_rises) + error / PRV_UNIT);
}

static double log_of(const difference *d)
{
    return d->log_lattices + log_of_expm1(d->log_rises);
}

/* Of the difference, relative. log_rises is off by a few roundings of what a term is made of, and by three
 * and one of itself for each of `steps` sums; e^z - 1 has the condition number 1 + z at most. */
static double error_of(const difference *d, double steps)
{
    const double rises = (16.0 + 4.0 * steps) * (1.0 + d->size) * PRV_UNIT;
    const double logs = 8.0 * PRV_UNIT * (4.0 + fabs(d->log_lattices) + fabs(log_of(d)));
    return (d->error + rises * (1.0 + exp(fmin(d->log_rises, 700.0))) + logs) * PRV_SECOND_ORDER;
}

prv_tops prv_tops_new(const prv_lattice *const *lattices, const double *counts, size_t steps, double greatest)
{
    prv_tops t = {false, -HUGE_VAL, -HUGE_VAL, 0.0, greatest};
    difference q = {0.0, 0.0, -HUGE_VAL, 0.0}, p = q;
    bool is_empty = false;
    for (size_t j = 0; j < steps; j++) {
        const prv_lattice *y = lattices[j];
        const double log_q = prv_tilt(y->loss, y->mass, y->length, 0.0, NULL).log_moment;
        const double log_p = prv_tilt(y->loss, y->mass, y->length, -1.0, NULL).log_moment;
        add_step(log_q, prv_tilt_error(y->loss, y->length, 0.0, log_q), y->top_mass, 0.0, counts[j], &q);
        add_step(log_p, prv_tilt_error(y->loss, y->length, -1.0, log_p), y->top_relative, y->top_knot,
                 counts[j], &p);
        t.counted = t.counted || y->top_mass > 0.0;
        is_empty = is_empty || !isfinite(log_q) || !isfinite(log_p);
    }
    if (!t.counted) return t;
    t.log_mass = log_of(&q);
    t.log_relative = log_of(&p);
    t.error = fmax(error_of(&q, (double)steps), error_of(&p, (double)steps));
    /* Without a mass on some lattice there are no such logarithms: then nothing is known from above, and 0 is
     * a lower bound. */
    if (is_empty) {
        t.greatest = -HUGE_VAL;
        t.log_mass = t.log_relative = -HUGE_VAL;
        t.error = 0.0;
    }
    return t;
}

/* ---- Where tops may be counted ---------------------------------------------------------------- */

/* No finite loss of a step, or of the lattice that dominates it, is below this (nats). */
static double least_loss(const prv_mechanism *m, bool add, const prv_lattice *y)
{
    double least = prv_least_loss(m, add);
    for (size_t i = 0; i < y->length; i++) {
        if (!(y->mass[i] > 0.0)) continue;
        least = fmin(least, y->loss[i]);
        break;
    }
    return least;
}

double prv_tops_greatest(const prv_mechanism *const *mechanisms, bool add,
                         const prv_lattice *const *dominating, const double *counts, size_t steps,
                         double shift)
{
    double sum = 0.0, size = 0.0, least_above = HUGE_VAL; /* of a top's knot above the step's least loss */
    for (size_t j = 0; j < steps; j++) {
        const prv_lattice *y = dominating[j];
        const double least = least_loss(mechanisms[j], add, y);
        sum += counts[j] * least;
        size += counts[j] * fabs(least);
        if (!(y->top_mass > 0.0)) continue;
        least_above = fmin(least_above, y->top_knot - least);
        size = fmax(size, fabs(y->top_knot) + fabs(least));
    }
    const double greatest = sum + least_above - 4.0 * (shift + PRV_UNIT * (8.0 + 2.0 * (double)steps) * size);
    return greatest == greatest ? greatest : -HUGE_VAL;
}

/* ---- Values ----------------------------------------------------------------------------------- */

prv_tops_value prv_tops_at(const prv_tops *t, double epsilon, double log_scale)
{
    const double q = exp(t->log_mass - log_scale), p = exp(t->log_relative + epsilon - log_scale);
    /* The exponents are rounded, by parts u of what they are made of. */
    const double exponents = 4.0 * PRV_UNIT * (4.0 + fabs(log_scale) + fabs(epsilon)) +
                             2.0 * PRV_UNIT * (fabs(t->log_mass) + (p > 0.0 ? fabs(t->log_relative) : 0.0));
    const prv_tops_value v = {q - p, p, (t->error + exponents) * PRV_SECOND_ORDER * (q + p)};
    return v;
}
