#include "questions/truncation.h"

#include <math.h>
#include <stdbool.h>

#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "composition/kernel.h"

/* Tilts are searched between these, until steps are shorter than FINEST_FACTOR. Any tilt gives a bound. */
#define LEAST_TILT 1e-12
#define GREATEST_TILT 1e12
#define FINEST_FACTOR 1.1

/* Tails of the finite losses of all steps together, or of one step taken once. */
typedef struct tail {
    const prv_direction *direction;
    size_t first, end; /* range of steps */
    bool once;         /* each step counts once, however often it runs */
    bool lower;
    double log_delta;
} tail;

static double times(const tail *t, size_t j)
{
    return t->once ? 1.0 : t->direction->counts[j];
}

/* Chernoff's bound at one tilt. Upper tail: of the epsilon at which the curve of the finite losses is delta;
 * lower tail: of the -y such that a loss below y has this probability. The coarse dominating lattice keeps
 * both masses of each cell and spreads them, so its E[e^(-t Y)] is an upper bound for t <= 0 and t >= 1. */
static double bound_at(const tail *t, double lam)
{
    double sum = t->lower ? 0.0 : log(prv_kernel_maximum(lam));
    for (size_t j = t->first; j < t->end; j++) {
        const prv_profile *p = &t->direction->profiles[j];
        const double log_moment =
            prv_tilt(p->knots, p->dominating, p->knot_count, t->lower ? -lam : lam, NULL).log_moment;
        const double error = p->rounding.relative + lam * p->rounding.shift +
                             prv_tilt_error(p->knots, p->knot_count, lam, log_moment) + p->infinite_error;
        sum += times(t, j) * (log_moment - log1p(-p->infinite_mass) + error);
    }
    /* Each step's term rounds by a few units of all that is summed. */
    const double rounding = PRV_UNIT * (8.0 + 4.0 * (double)(t->end - t->first)) *
                            (1.0 + fabs(sum) + fabs(t->log_delta));
    return (sum - t->log_delta + rounding) / lam;
}

/* The best tilt is looked for to about 10 %. */
static double least_bound(const tail *t)
{
    const double floor = t->lower ? 1.0 : LEAST_TILT;
    double lam = 2.0, best = bound_at(t, lam);
    for (double factor = 4.0; factor > FINEST_FACTOR; factor = sqrt(factor)) {
        for (int up = 0; up <= 1; up++)
            for (;;) {
                const double next = up ? lam * factor : lam / factor;
                if (!(next >= floor && next <= GREATEST_TILT)) break;
                const double bound = bound_at(t, next);
                if (!(bound < best)) break;
                best = bound;
                lam = next;
            }
    }
    return best;
}

/* How far the tail reaches at the probability delta, at most. HUGE_VAL if the profiles do not tell. */
static double reach(tail t, double delta)
{
    double outer = 0.0, limit = 0.0, log_finite = 0.0;
    for (size_t j = t.first; j < t.end; j++) {
        const prv_profile *p = &t.direction->profiles[j];
        const double finite = 1.0 - p->infinite_mass, k = times(&t, j);
        const bool has_bottom = p->length > 0 && p->high[0] <= p->knots[0];
        /* Mass beyond the profile's knots counts as beyond everything. */
        outer += k *
                 (t.lower ? (has_bottom ? p->mass[0] : 0.0)
                          : fmax(p->dominating_infinite - p->infinite_mass, 0.0)) /
                 finite;
        const prv_mechanism *m = t.direction->mechanisms[j];
        limit += k *
                 (t.lower ? -prv_lowest_loss(m, t.direction->add) : prv_greatest_loss(m, t.direction->add));
        log_finite += k * log1p(-p->infinite_mass);
    }
    /* E[e^(-Y)] is a probability of P. */
    double bound = t.lower ? -log(delta) - log_finite : HUGE_VAL;
    if (outer < 0.5 * delta) {
        t.log_delta = log(delta - outer);
        bound = fmin(bound, least_bound(&t));
    }
    return fmax(fmin(bound * (1.0 + 1e-6), limit), 0.0);
}

double prv_truncation(const prv_direction *direction, double eps_error, double delta_error)
{
    double single = 0.0, all = 0.0;
    for (int lower = 0; lower < 2; lower++) {
        const tail t = {direction, 0, direction->steps, false, lower, 0.0};
        all = fmax(all, reach(t, 0.25 * delta_error));
        for (size_t j = 0; j < direction->steps; j++) {
            const tail step = {direction, j, j + 1, true, lower, 0.0};
            single = fmax(single, reach(step, 0.125 * delta_error / direction->all.count));
        }
    }
    return 2.0 + fmax(eps_error + all, single);
}
