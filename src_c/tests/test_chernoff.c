/* Chernoff's bounds against the exact curves of compositions: (epsilon, delta)-DP pairs, whose losses are
 * binomial, and Gaussian noise. */
#include "check.h"

#include "curve/chernoff.h"

enum { MOST_RUNS = 400 };

/* A composition with its exact curve. */
typedef struct composition {
    prv_mechanism *mechanism;
    prv_direction direction;
    double epsilon0, delta0, mu; /* of the pair, or mu > 0 of all Gaussian steps together */
    size_t runs;
    double loss[MOST_RUNS + 1], mass[MOST_RUNS + 1];
} composition;

static void compose(composition *c)
{
    const prv_step step = {c->mechanism, c->runs};
    check(prv_direction_new(&step, 1, PRV_REMOVE, 0, NULL, NULL, &c->direction) == PRV_OK, "a direction");
}

static void compose_pairs(composition *c, double epsilon, double delta, size_t runs)
{
    memset(c, 0, sizeof *c);
    c->epsilon0 = epsilon;
    c->delta0 = delta;
    c->runs = runs;
    check(prv_mechanism_approximate_dp(epsilon, delta, &c->mechanism) == PRV_OK, "(%g, %g)-DP, %zu times",
          epsilon, delta, runs);
    compose(c);
}

static void compose_gaussian(composition *c, double noise, size_t runs)
{
    memset(c, 0, sizeof *c);
    c->mu = sqrt((double)runs) / noise;
    c->runs = runs;
    check(prv_mechanism_gaussian(noise, &c->mechanism) == PRV_OK, "noise %g, %zu times", noise, runs);
    compose(c);
}

static void release(composition *c)
{
    prv_direction_free(&c->direction);
    prv_mechanism_free(c->mechanism);
}

/* The mass of i losses of +epsilon0 among `runs`, none of them infinite. */
static long double binomial(const composition *c, size_t i)
{
    const long double n = (long double)c->runs, k = (long double)i, e = (long double)c->epsilon0;
    return expl(lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L) + k * e - n * log1pl(expl(e)) +
                n * log1pl(-(long double)c->delta0));
}

static long double loss_of(const composition *c, size_t i)
{
    return (2.0L * (long double)i - (long double)c->runs) * (long double)c->epsilon0;
}

static long double exact_delta(const composition *c, long double epsilon)
{
    if (c->mu > 0.0) {
        const long double mu = (long double)c->mu;
        return normal_upper(epsilon / mu - mu / 2.0L) -
               expl(epsilon) * normal_upper(epsilon / mu + mu / 2.0L);
    }
    long double sum = -expm1l((long double)c->runs * log1pl(-(long double)c->delta0));
    for (size_t i = 0; i <= c->runs; i++)
        if (loss_of(c, i) > epsilon) sum -= binomial(c, i) * expm1l(epsilon - loss_of(c, i));
    return sum;
}

/* 1 - delta, as a sum of terms above 0. */
static long double exact_complement(const composition *c, long double epsilon)
{
    if (c->mu > 0.0) {
        const long double mu = (long double)c->mu;
        return normal_upper(mu / 2.0L - epsilon / mu) +
               expl(epsilon) * normal_upper(epsilon / mu + mu / 2.0L);
    }
    long double sum = 0.0L;
    for (size_t i = 0; i <= c->runs; i++) sum += binomial(c, i) * expl(fminl(0.0L, epsilon - loss_of(c, i)));
    return sum;
}

static long double exact_epsilon(const composition *c, long double delta)
{
    long double low = 0.0L, high = 1e4L;
    if (exact_delta(c, low) <= delta) return 0.0L;
    for (int i = 0; i < 120; i++) {
        const long double middle = 0.5L * (low + high);
        if (exact_delta(c, middle) > delta)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void bounds_of(composition *c, size_t fineness)
{
    check(prv_direction_profile(&c->direction, fineness, NULL) == PRV_OK, "profiles of fineness %zu",
          fineness);
    const double infinite = (double)exact_delta(c, 1e4L);
    int above = 1, near = 1, enough = 1, complement = 1;
    for (int i = 0; i < trials_of(40); i++) {
        const double delta = infinite * 1.5 + log_uniform(1e-12, 0.5);
        if (!(delta < 1.0)) continue;
        const long double truth = exact_epsilon(c, (long double)delta);
        const double bound = prv_chernoff_epsilon(&c->direction, delta, 0.0);
        above = above && exact_delta(c, (long double)bound) <= (long double)delta;
        const double at = prv_chernoff_epsilon_at(&c->direction, delta, 0.0, log_uniform(1e-3, 1e3));
        above = above && (at > 1e3 || exact_delta(c, (long double)at) <= (long double)delta);
        /* Coarse profiles may be far from the mechanism, and those of two atoms stay coarse. */
        near = near && (c->mu == 0.0 || fineness == 1 || bound <= 1.5 * (double)truth + 2.0);
        enough = enough && prv_chernoff_epsilon(&c->direction, delta, HUGE_VAL) >= bound;
        const double epsilon = uniform(-1.0, 1.0) * fmax((double)truth, 1.0);
        complement = complement && (long double)prv_log_complement(&c->direction, epsilon) >=
                                       logl(exact_complement(c, (long double)epsilon));
    }
    check(above, "epsilon is no larger than Chernoff's bound");
    check(near, "which is not far above it if profiles are fine");
    check(enough, "the first of two bounds is the larger one");
    check(complement, "1 - delta is no larger than its bound");
    check((long double)prv_most_total_variation(&c->direction) >= exact_delta(c, 0.0L),
          "delta(0) is no larger than the sum of total variations");
    check(prv_chernoff_epsilon(&c->direction, 0.5 * infinite, 0.0) == HUGE_VAL || infinite == 0.0,
          "no bound exists below the mass at infinity");
}

static void both(composition *c)
{
    bounds_of(c, 1);
    bounds_of(c, 16);
    release(c);
}

/* Bounded ranges: a generalized randomized response with losses t and t - range, composed, is one of them. */
static void ranges(double range, size_t runs)
{
    composition c;
    memset(&c, 0, sizeof c);
    c.runs = runs;
    check(prv_mechanism_bounded_range(range, &c.mechanism) == PRV_OK, "a range of %g, %zu times", range,
          runs);
    compose(&c);
    int delta_above = 1, epsilon_above = 1, tilts = 1;
    for (int i = 0; i < trials_of(30); i++) {
        const long double r = (long double)range, t = r * (long double)uniform(0.05, 0.95),
                          n = (long double)runs;
        /* P(t) e^-t + P(t - r) e^(r - t) = 1 */
        const long double p = -expm1l(t - r) / -expm1l(-r);
        for (size_t k = 0; k <= runs; k++) {
            const long double x = (long double)k;
            c.loss[k] = (double)(n * t - (n - x) * r);
            c.mass[k] = (double)expl(lgammal(n + 1.0L) - lgammal(x + 1.0L) - lgammal(n - x + 1.0L) +
                                     x * logl(p) + (n - x) * log1pl(-p));
        }
        const double epsilon = uniform(0.01, 1.0) * fmax(c.loss[runs], 0.1);
        const long double truth = atoms_delta(c.loss, c.mass, runs + 1, 0.0, (long double)epsilon);
        double lam;
        const double most = prv_most_of_ranges(&c.direction, PRV_ASK_DELTA, epsilon, &lam);
        delta_above = delta_above && (long double)most >= truth;
        tilts = tilts && lam > 0.0;
        const double delta = fmax((double)truth, 1e-12);
        const double most_epsilon = prv_most_of_ranges(&c.direction, PRV_ASK_EPSILON, delta, &lam);
        epsilon_above = epsilon_above && atoms_delta(c.loss, c.mass, runs + 1, 0.0,
                                                     (long double)most_epsilon) <= (long double)delta;
        tilts = tilts && lam > 0.0;
    }
    check(delta_above, "no response of that range has a larger delta");
    check(epsilon_above, "nor a larger epsilon");
    check(tilts, "the tilts are above 0");
    double lam = 1.0;
    check(prv_most_of_ranges(&c.direction, PRV_ASK_DELTA, 0.0, &lam) == 1.0 && lam == 0.0,
          "at epsilon 0 nothing is said");
    release(&c);
}

/* A thousand different steps at a steep tilt, where rounding of the sums over them is the most there is:
 * epsilon is not below Chernoff's bound of their coarse lattices in long double. */
static void many_steps(void)
{
    enum { PAIRS = 1000 };
    static prv_mechanism *m[PAIRS];
    static prv_step steps[PAIRS];
    prv_direction direction;
    for (size_t j = 0; j < PAIRS; j++) {
        if (prv_mechanism_approximate_dp(uniform(1.0, 2.0), 0.0, &m[j]) != PRV_OK) abort();
        steps[j] = (prv_step){m[j], 1};
    }
    if (prv_direction_new(steps, PAIRS, PRV_REMOVE, 0, NULL, NULL, &direction) != PRV_OK ||
        prv_direction_profile(&direction, 1, NULL) != PRV_OK)
        abort();
    int above = 1, near = 1;
    for (double tilt = 0.5; tilt < 200.0; tilt *= 2.0) {
        const double delta = 1e-9, found = prv_chernoff_epsilon_at(&direction, delta, HUGE_VAL, tilt);
        const long double l = (long double)tilt;
        long double log_bound = -l * log1pl(1.0L / l) - log1pl(l) - logl((long double)delta);
        for (size_t j = 0; j < direction.steps; j++) {
            const prv_profile *p = &direction.profiles[j];
            const long double top = (long double)p->knots[p->knot_count - 1];
            long double sum = 0.0L;
            for (size_t i = 0; i < p->knot_count; i++)
                sum += (long double)p->dominating[i] * expl(l * ((long double)p->knots[i] - top));
            log_bound += (long double)direction.counts[j] * (logl(sum) + l * top);
        }
        above = above && (long double)found >= log_bound / l;
        near = near && (long double)found <= log_bound / l * (1.0L + 1e-11L);
    }
    check(above, "a thousand steps: epsilon is not below Chernoff's bound in long double");
    check(near, "... and is near it");
    prv_direction_free(&direction);
    for (size_t j = 0; j < PAIRS; j++) prv_mechanism_free(m[j]);
}

int main(void)
{
    composition c;
    static const double epsilons[] = {0.01, 0.1, 1.0};
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
        compose_pairs(&c, epsilons[i], 0.0, 1);
        both(&c);
        compose_pairs(&c, epsilons[i], 1e-6, MOST_RUNS);
        both(&c);
    }
    static const double noises[] = {0.7, 5.0, 100.0};
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
        compose_gaussian(&c, noises[i], 1);
        both(&c);
        compose_gaussian(&c, noises[i], 300);
        both(&c);
    }
    ranges(0.1, 1);
    ranges(0.1, MOST_RUNS);
    ranges(2.0, 20);
    many_steps();
    return summary();
}
