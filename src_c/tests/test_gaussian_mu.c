/* Gaussian curves above others: one point, chords, complements, and compositions whose mu is known. */
#include "asking.h"

#include "questions/gaussian_curve.h"

/* At a point of the curve of mu, to a part of 1e-11 of delta, the search finds mu from both sides. */
static void points_of_a_curve(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 300; trial++) {
        const double mu = log_uniform(1e-2, 5.0), epsilon = uniform(0.0, 3.0) * mu;
        const double delta = (double)gaussian_delta((long double)epsilon, (long double)mu);
        if (!(delta > 1e-200 && delta < 0.999)) continue;
        const double above = prv_mu_above(epsilon, delta * (1.0 + 1e-11));
        const double below = prv_mu_below(epsilon, delta * (1.0 - 1e-11));
        held = held && below <= mu && mu <= above;
        close = close && above - below <= 1e-6 * mu;
    }
    check(held && close, "at points of a Gaussian curve: its mu, from both sides");
    check(prv_mu_above(0.0, 1.0) == HUGE_VAL, "no mu reaches a delta of 1");
    check(prv_mu_below(0.0, 0.0) == 0.0, "mu 0 for a delta of 0");
}

/* The curve found lies above the chord at points between its ends. */
static void chords(void)
{
    int held = 1, needed = 1;
    for (int trial = 0; trial < 200; trial++) {
        const double mu = log_uniform(0.1, 4.0), low = uniform(0.0, 2.0), high = low + log_uniform(1e-2, 3.0);
        const long double at_low = gaussian_delta(low, mu), at_high = gaussian_delta(high, mu);
        if (!(at_high > 1e-12L)) continue;
        prv_point_above a = {low, (double)at_low, 0.0}, b = {high, (double)at_high, 0.0};
        a.mu = prv_mu_above(a.epsilon, a.delta);
        b.mu = prv_mu_above(b.epsilon, b.delta);
        const double chord = prv_mu_above_chord(&a, &b);
        needed = needed && chord >= mu;
        for (int i = 0; i <= 20; i++) {
            const double epsilon = low + (high - low) * i / 20.0;
            const long double part = expm1l((long double)epsilon - low) / expm1l((long double)high - low);
            const long double on_chord = at_low + part * (at_high - at_low);
            held = held && gaussian_delta(epsilon, chord) >= on_chord * (1.0L - 1e-11L);
        }
    }
    check(held, "the curve found lies above the chord");
    check(needed, "... and that of the ends does not suffice");
}

/* From above, and close. */
static void complements(void)
{
    int held = 1;
    for (int trial = 0; trial < 300; trial++) {
        const double mu = log_uniform(0.1, 8.0), epsilon = uniform(0.0, 2.0) * mu;
        const long double truth = logl(1.0L - gaussian_delta(epsilon, mu));
        const double found = prv_log_gaussian_complement(epsilon, mu);
        held = held && found >= truth - 1e-13L && found <= truth + 1e-11L;
    }
    check(held, "log(1 - delta) of a Gaussian curve: from above, and close");
}

/* Gaussians compose to the mu that is the root of the sum of squares (Dong, Roth, Su 2022, Corollary 3.3). */
static void compositions_of_gaussians(void)
{
    static const struct {
        double noise;
        uint64_t count;
    } cases[] = {{1.0, 1}, {4.0, 9}, {0.05, 1}};
    const prv_options o = options_of(1e-5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_mechanism *m = gaussian(cases[i].noise);
        const prv_step step = {m, cases[i].count};
        const double mu = sqrt((double)cases[i].count) / cases[i].noise, delta = 1e-6;
        prv_bounds b;
        prv_report r;
        const prv_status status = prv_gaussian_mu(&step, 1, &o, &delta, 1, &b, &r);
        check(status == PRV_OK && b.lower <= mu && mu <= b.upper && b.lower <= b.estimate &&
                  b.estimate <= b.upper,
              "%d Gaussians of noise %g: %.9g in [%.9g, %.9g]", (int)cases[i].count, cases[i].noise, mu,
              b.lower, b.upper);
        check(b.upper - b.lower <= 0.01 * mu || mu > 10.0, "... which are close");
        prv_mechanism_free(m);
    }
}

/* The same where delta is bounded by lattices and not by a formula: bounds of mu that are wide hold it. */
static void wide_bounds(void)
{
    prv_mechanism *m = gaussian(2.0);
    const prv_step step = {m, 9};
    prv_options o = options_of(0.1);
    o.engine = PRV_ENGINE_CONVOLUTION;
    const double mu = 1.5, deltas[] = {1e-9, 1e-6, 1e-3, 0.1};
    prv_bounds b[4];
    const prv_status status = prv_gaussian_mu(&step, 1, &o, deltas, 4, b, NULL);
    for (size_t i = 0; i < 4; i++)
        check(status == PRV_OK && b[i].lower <= mu && mu <= b[i].upper && b[i].lower > 0.9 * mu,
              "by lattices, delta %g: %.9g in [%.9g, %.9g]", deltas[i], mu, b[i].lower, b[i].upper);
    prv_mechanism_free(m);
}

/* So little is lost that epsilon lies between 0 and a width: delta(0), p (2 Phi(mu / 2) - 1) of a sample,
 * asks for a mu of its own, sqrt(2 pi) times as large at least. */
static void little_loss(void)
{
    prv_mechanism *m = subsampled(50.0, 1e-3);
    const prv_step step = {m, 1};
    prv_options o = options_of(0.1);
    o.engine = PRV_ENGINE_CONVOLUTION;
    o.neighbors = PRV_REMOVE;
    const double variation = 1e-3 * erf(0.01 * sqrt(0.5)), delta = 0.9 * variation;
    prv_bounds epsilon, mu;
    check(prv_epsilon(&step, 1, &o, &delta, 1, &epsilon, NULL) == PRV_OK && epsilon.lower == 0.0 &&
              epsilon.upper > 0.0,
          "a sample that loses little: epsilon in [0, %g]", epsilon.upper);
    check(prv_gaussian_mu(&step, 1, &o, &delta, 1, &mu, NULL) == PRV_OK &&
              mu.upper >= sqrt(8.0 * atan(1.0)) * variation && mu.lower <= mu.upper,
          "... and mu in [%g, %g]", mu.lower, mu.upper);
    prv_mechanism_free(m);
}

static void edges(void)
{
    prv_mechanism *m = gaussian(1.0), *leaky = NULL;
    if (prv_mechanism_approximate_dp(1.0, 0.25, &leaky) != PRV_OK) abort();
    const prv_options o = options_of(1e-3);
    const prv_step step = {m, 1}, leak = {leaky, 1};
    const double wrong[] = {0.0, -1.0, 1.5, NAN}, one = 1.0, small = 1e-3;
    prv_bounds b;
    for (size_t i = 0; i < 4; i++)
        check(prv_gaussian_mu(&step, 1, &o, &wrong[i], 1, &b, NULL) == PRV_ERR_DELTA,
              "a delta of %g is refused", wrong[i]);
    check(prv_gaussian_mu(&step, 1, &o, &one, 1, &b, NULL) == PRV_OK && b.upper == 0.0,
          "above every delta: mu 0");
    check(prv_gaussian_mu(&leak, 1, &o, &small, 1, &b, NULL) == PRV_OK && b.lower == HUGE_VAL,
          "mass at infinity above delta: no mu");
    check(prv_gaussian_mu(NULL, 0, &o, &small, 1, &b, NULL) == PRV_OK && b.upper == 0.0, "nothing run: mu 0");
    prv_mechanism_free(m);
    prv_mechanism_free(leaky);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    points_of_a_curve();
    chords();
    complements();
    compositions_of_gaussians();
    wide_bounds();
    little_loss();
    edges();
    prv_fft_provider_free(provider);
    return summary();
}
