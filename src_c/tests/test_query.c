/* Answers to whole queries, at thresholds, at small deltas, of no noise, of cdfs that are off. */
#include "prvcore.h"

#include "asking.h"

static void closed_forms(void)
{
    static const struct {
        double noise;
        uint64_t count;
        double epsilon;
    } cases[] = {{1.0, 1, 1.0},    {1.0, 1, 6.0},      {5.0, 7, 1.5},
                 {20.0, 100, 3.0}, {100.0, 999, 0.25}, {0.5, 2, 20.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_mechanism *m = gaussian(cases[i].noise);
        const prv_step step = {m, cases[i].count};
        const prv_options o = options_of(3e-3);
        const long double mu = sqrtl((long double)cases[i].count) / (long double)cases[i].noise;
        const double e = cases[i].epsilon, delta = (double)gaussian_delta((long double)e, mu);
        prv_bounds b;
        prv_report r;
        /* Asked before: a message's numbers may be read before a call beside them is made. */
        prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, &r);
        check(status == PRV_OK && b.lower <= e * (1.0 + 1e-12) && e * (1.0 - 1e-12) <= b.upper &&
                  b.lower <= b.estimate && b.estimate <= b.upper,
              "%d Gaussians of noise %g: epsilon %g in [%.9g, %.9g]", (int)cases[i].count, cases[i].noise, e,
              b.lower, b.upper);
        check(b.upper - b.lower <= 3e-3 * (1.0 + 1e-9) && r.accurate, "... as narrow as asked (%.2g)",
              b.upper - b.lower);
        const prv_options loose = options_of(2.0 * e);
        status = prv_epsilon(&step, 1, &loose, &delta, 1, &b, &r);
        check(status == PRV_OK && r.engine == PRV_ENGINE_CLOSED_FORM && r.width == b.upper - b.lower &&
                  r.accurate,
              "... no wider if more is asked, by a closed form (up to %.9g)", b.upper);
        check(b.lower <= e * (1.0 + 1e-12) && e * (1.0 - 1e-12) <= b.upper && b.upper <= e * (1.0 + 1e-12),
              "... and that holds");
        status = prv_delta(&step, 1, &o, &e, 1, &b, NULL);
        check(status == PRV_OK && b.lower <= delta * (1.0 + 1e-11) && delta * (1.0 - 1e-11) <= b.upper,
              "... delta %.9g in [%.9g, %.9g]", delta, b.lower, b.upper);
        prv_mechanism_free(m);
    }
    /* 1000 subsampled Gaussians; the value is from high-precision arithmetic. */
    prv_mechanism *m = subsampled(0.8, 1e-3);
    const prv_step step = {m, 1000};
    prv_options o = options_of(1e-3);
    o.neighbors = PRV_REMOVE;
    const double delta = 1e-7, truth = 0.703708838718;
    prv_bounds b;
    const prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, NULL);
    check(status == PRV_OK && b.lower <= truth && truth <= b.upper,
          "subsampled Gaussian: %.9g in [%.9g, %.9g]", truth, b.lower, b.upper);
    prv_mechanism_free(m);
    /* Steps of count 0, and none. */
    prv_bounds nothing = {1.0, 1.0, 1.0};
    check(prv_epsilon(NULL, 0, &o, &delta, 1, &nothing, NULL) == PRV_OK && nothing.upper == 0.0,
          "no steps: epsilon 0");
    check(prv_epsilon(NULL, 0, &o, NULL, 0, NULL, NULL) == PRV_OK, "no questions");
}

/* A delta is done at either width, and with 0 at that in epsilon alone. */
static void widths_of_delta(void)
{
    static const struct {
        double noise;
        uint64_t count;
        double epsilon;
    } cases[] = {{1.0, 1, 0.25},   {2.0, 60, -3.0},  {2.0, 60, 0.0},   {2.0, 60, 2.0},
                 {20.0, 500, 1.0}, {1.0, 400, 40.0}, {1.0, 400, 180.0}};
    static const double parts[] = {0.5, 1e-2, 1e-3, 1e-6, 0.0};
    const double width = 1e-6;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_mechanism *m = gaussian(cases[i].noise);
        const prv_step step = {m, cases[i].count};
        const double e = cases[i].epsilon;
        const long double truth = gaussian_delta((long double)e, sqrtl((long double)cases[i].count) /
                                                                     (long double)cases[i].noise);
        double coarsest = 0.0;
        for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) {
            prv_options o = options_of(width);
            o.delta_relative_error = parts[j];
            prv_bounds b;
            prv_report r;
            const prv_status status = prv_delta(&step, 1, &o, &e, 1, &b, &r);
            check(status == PRV_OK && (long double)b.lower <= truth * (1.0L + 1e-15L) &&
                      truth * (1.0L - 1e-15L) <= (long double)b.upper && b.lower <= b.estimate &&
                      b.estimate <= b.upper,
                  "%d Gaussians of noise %g: delta(%g) = %.17Lg in [%.17g, %.17g] by a part of %g",
                  (int)cases[i].count, cases[i].noise, e, truth, b.lower, b.upper, parts[j]);
            check(!r.accurate || b.upper - b.lower <= parts[j] * b.upper || r.width <= width * (1.0 + 1e-9),
                  "... and accurate where a width is met (%.3g of it, %.3g in epsilon)",
                  1.0 - b.lower / b.upper, r.width);
            check(r.accurate || parts[j] == 0.0, "... which some part of delta always is");
            if (j == 0) coarsest = b.upper - b.lower;
            if (parts[j] == 0.0)
                check(b.upper - b.lower <= coarsest, "... and no wider if nothing but epsilon counts");
        }
        prv_mechanism_free(m);
    }
}

/* Of an answer that is asked on which side of a threshold it lies, bounds hold and tell; and with a width
 * that leaves nothing undecided, they never need to be closer than the answer is to the threshold. */
static void thresholds(void)
{
    static const double factors[] = {0.01, 0.5, 0.9, 0.99, 0.9999, 1.0001, 1.01, 1.1, 2.0, 100.0};
    static const struct {
        double noise;
        uint64_t count;
        double epsilon;
    } cases[] = {{1.0, 1, 1.0}, {5.0, 7, 1.5}, {20.0, 100, 3.0}, {2.0, 1000, 200.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_mechanism *m = gaussian(cases[i].noise);
        const prv_step step = {m, cases[i].count};
        const double e = cases[i].epsilon;
        const double delta = (double)gaussian_delta((long double)e, sqrtl((long double)cases[i].count) /
                                                                        (long double)cases[i].noise);
        for (size_t j = 0; j < sizeof factors / sizeof *factors; j++) {
            prv_options o = options_of(1e-6 * e);
            o.threshold = factors[j] * e;
            prv_bounds b;
            prv_report r;
            prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, &r);
            check(status == PRV_OK && b.lower <= e * (1.0 + 1e-12) && e * (1.0 - 1e-12) <= b.upper &&
                      b.lower <= b.estimate && b.estimate <= b.upper && r.accurate,
                  "%d Gaussians of noise %g: epsilon %g in [%.9g, %.9g]", (int)cases[i].count, cases[i].noise,
                  e, b.lower, b.upper);
            check(factors[j] > 1.0 ? b.upper <= o.threshold : b.lower > o.threshold,
                  "... on its side of %.9g", o.threshold);
            if (factors[j] == 0.01 || factors[j] == 100.0)
                check(r.engine == PRV_ENGINE_AUTO || r.engine == PRV_ENGINE_CLOSED_FORM,
                      "... without a lattice where it is far away");
            o.threshold = fmin(factors[j] * delta, 2.0);
            status = prv_delta(&step, 1, &o, &e, 1, &b, &r);
            check(status == PRV_OK && b.lower <= delta * (1.0 + 1e-11) && delta * (1.0 - 1e-11) <= b.upper &&
                      (delta < o.threshold ? b.upper <= o.threshold : b.lower > o.threshold),
                  "... delta %.9g in [%.9g, %.9g], on its side of %.9g", delta, b.lower, b.upper,
                  o.threshold);
        }
        prv_mechanism_free(m);
    }
}

/* Noise without scale tells all, whichever zero it is. */
static void no_noise(void)
{
    static const double sensitivities[] = {0.0, 1.0, 2.0}, probabilities[] = {0.5, 0.25, 0.25};
    for (int sign = 0; sign < 2; sign++) {
        const double zero = sign ? -0.0 : 0.0;
        prv_mechanism *made[6] = {NULL}, *noisy = gaussian(1.0);
        const prv_status status[] = {
            prv_mechanism_gaussian(zero, &made[0]),
            prv_mechanism_laplace(zero, 1.0, &made[1]),
            prv_mechanism_gaussian_mixture(zero, sensitivities, probabilities, 3, &made[2]),
            prv_mechanism_group_gaussian(zero, 0.5, 2, &made[3]),
            prv_mechanism_shuffled_from_below(zero, 10, 0, &made[4]),
            prv_mechanism_scaled(noisy, PRV_NOISE_SCALE, zero, &made[5]),
        };
        /* The probability that an outcome is possible with the record alone. */
        static const double disjoint[] = {1.0, 1.0, 0.5, 0.75, 1.0, 1.0};
        for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
            const prv_step step = {made[i], 1};
            prv_options o = options_of(1e-3);
            o.neighbors = PRV_REMOVE;
            const double epsilon = 1.0;
            prv_bounds b = {NAN, NAN, NAN};
            const prv_status asked = status[i] == PRV_OK ? prv_delta(&step, 1, &o, &epsilon, 1, &b, NULL)
                                                         : status[i];
            check(asked == PRV_OK && fabs(b.lower - disjoint[i]) <= 1e-12 &&
                      fabs(b.upper - disjoint[i]) <= 1e-12,
                  "mechanism %d without noise, %g: delta %g", (int)i, zero, b.upper);
            prv_mechanism_free(made[i]);
        }
        prv_mechanism_free(noisy);
    }
}

/* The same mechanism in many steps is the same as all of them in one. */
static void repeated_steps(void)
{
    prv_mechanism *m = subsampled(0.8, 1e-3), *other = gaussian(30.0);
    prv_step apart[41];
    for (size_t i = 0; i < 40; i++) apart[i] = (prv_step){i % 4 == 0 ? other : m, i % 3};
    apart[40] = (prv_step){NULL, 0};
    prv_step together[] = {{m, 0}, {other, 0}}; /* as they come: the order may change bits */
    for (size_t i = 0; i < 40; i++) together[i % 4 == 0].count += apart[i].count;
    const prv_options o = options_of(1e-3);
    const double delta = 1e-6, alpha = 8.0;
    prv_bounds a[2], b[2];
    const int asked = prv_epsilon(apart, 41, &o, &delta, 1, &a[0], NULL) == PRV_OK &&
                      prv_renyi_divergence(apart, 41, &o, &alpha, 1, &a[1]) == PRV_OK &&
                      prv_epsilon(together, 2, &o, &delta, 1, &b[0], NULL) == PRV_OK &&
                      prv_renyi_divergence(together, 2, &o, &alpha, 1, &b[1]) == PRV_OK;
    check(asked && memcmp(a, b, sizeof a) == 0, "41 steps of two mechanisms are two steps");
    prv_mechanism_free(m);
    prv_mechanism_free(other);
}

/* The same of a sample, which takes lattices: coarse bounds that do not tell are no answer. */
static void threshold_of_a_sample(void)
{
    prv_mechanism *m = subsampled(1.0, 0.01);
    const prv_step step = {m, 500};
    const double delta = 1e-6;
    prv_options o = options_of(1e-6);
    prv_bounds near, b;
    prv_report r;
    check(prv_epsilon(&step, 1, &o, &delta, 1, &near, NULL) == PRV_OK, "epsilon of a sample");
    for (int above = 0; above < 2; above++) {
        o.threshold = near.estimate * (above ? 1.0001 : 0.9999);
        check(prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) == PRV_OK && r.accurate, "... at a threshold");
        check(above ? b.upper <= o.threshold : b.lower > o.threshold, "[%.9g, %.9g] is on its side of %.9g",
              b.lower, b.upper, o.threshold);
    }
    prv_mechanism_free(m);
}

/* Far below epsilon a threshold is known to be exceeded without lattices; bounds hold there, too, and are not
 * far. */
static void far_thresholds(void)
{
    prv_mechanism *m = subsampled(0.8, 0.1);
    const prv_step step = {m, 1000};
    const double delta = 1e-3;
    prv_options o = options_of(1e-2);
    prv_bounds near, b;
    prv_report r;
    check(prv_epsilon(&step, 1, &o, &delta, 1, &near, NULL) == PRV_OK, "epsilon of many samples");
    o.threshold = 0.01 * near.lower;
    check(prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) == PRV_OK && r.accurate && r.engine == PRV_ENGINE_AUTO,
          "... far above a threshold");
    check(o.threshold < b.lower && b.lower <= near.upper && near.lower <= b.upper &&
              b.upper <= 2.0 * near.upper,
          "... [%.9g, %.9g] holds [%.9g, %.9g]", b.lower, b.upper, near.lower, near.upper);
    prv_mechanism_free(m);
}

/* Bounds of delta by lattices are as close as asked: here some parts of 1e-6 apart in epsilon. */
static void close_deltas(void)
{
    prv_mechanism *m = subsampled(1.0, 0.01);
    const prv_step step = {m, 500};
    const prv_options o = options_of(1e-6);
    const double epsilon = 1.0;
    prv_bounds b;
    prv_report r;
    if (prv_delta(&step, 1, &o, &epsilon, 1, &b, &r) != PRV_OK) abort();
    check(r.accurate && r.width > 0.0 && b.upper - b.lower <= 1e-4 * b.upper,
          "delta of a sample in [%.9g, %.9g]", b.lower, b.upper);
    prv_mechanism_free(m);
}

/* Mean-matching may be off by delta_error: its lower bound is one of epsilon where delta is that much more.
 */
static void errors_of_mean_matching(void)
{
    const double epsilon = 1.0, noise = 1.0;
    const double more = (double)gaussian_delta((long double)epsilon, 1.0L / (long double)noise);
    const double delta = more / 1.5;
    prv_mechanism *m = gaussian(noise);
    const prv_step step = {m, 1};
    prv_options o = options_of(1e-3);
    o.discretization = PRV_MEAN_MATCHING;
    o.delta_error = 0.5 * delta;
    prv_bounds b;
    if (prv_epsilon(&step, 1, &o, &delta, 1, &b, NULL) != PRV_OK) abort();
    check(b.lower <= epsilon && b.lower >= epsilon - 1e-2,
          "mean-matching: at a half more of delta, epsilon is 1, and at least %.9g here", b.lower);
    prv_mechanism_free(m);
}

/* cdfs of noise of scale 1 that are too large by 3 * 2^-53 under Q, which hides as much of its tail. */
static int hiding_cdfs(void *context, const double *losses, size_t length, double *cdf_q, double *cdf_p)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        cdf_q[i] = fmin((double)normal_upper(0.5L - (long double)losses[i]) + 0x1.8p-52, 1.0);
        cdf_p[i] = (double)normal_upper(-0.5L - (long double)losses[i]);
    }
    return 0;
}

/* Deltas of the size of what such values may be off by. */
static void errors_of_callbacks(void)
{
    prv_mechanism *m = NULL;
    if (prv_mechanism_cdfs(hiding_cdfs, NULL, 0.0, &m) != PRV_OK) abort();
    const prv_step step = {m, 1};
    prv_options o = options_of(1e-2);
    o.neighbors = PRV_REMOVE;
    int held = 1;
    for (double epsilon = 6.0; epsilon < 8.3; epsilon += 0.1) {
        prv_bounds b;
        const long double exact = gaussian_delta((long double)epsilon, 1.0L);
        const prv_status status = prv_delta(&step, 1, &o, &epsilon, 1, &b, NULL);
        held = held && status == PRV_OK && (long double)b.lower <= exact && exact <= (long double)b.upper;
    }
    check(held, "deltas of 1e-13 to 1e-17, of cdfs that are off by 3e-16, are within their bounds");
    prv_mechanism_free(m);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    closed_forms();
    widths_of_delta();
    thresholds();
    threshold_of_a_sample();
    far_thresholds();
    close_deltas();
    errors_of_mean_matching();
    no_noise();
    repeated_steps();
    errors_of_callbacks();
    prv_fft_provider_free(provider);
    return summary();
}
