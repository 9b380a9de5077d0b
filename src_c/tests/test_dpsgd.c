/* What needs few words: DP-SGD in one call, default options, the library's own transforms, the version. */
#include "asking.h"

static int same(const prv_bounds *a, const prv_bounds *b)
{
    return a->lower == b->lower && a->estimate == b->estimate && a->upper == b->upper;
}

/* Noise 0.8, probability 1e-3, 1000 steps: epsilon is 0.703708838718 at delta 1e-7, where a record is
 * removed, which is the worse direction (the value of conformance tests, by interval arithmetic). */
static void one_call(void)
{
    const double truth = 0.703708838718, digits = 1e-12;
    prv_mechanism *m = subsampled(0.8, 1e-3);
    const prv_step run = {m, 1000};
    prv_options options = prv_options_default();
    options.fft = provider;
    double value = 1e-7;
    prv_bounds found, asked;
    check(prv_dpsgd_epsilon(0.8, 1e-3, 1000, 1e-7, &found) == PRV_OK &&
              prv_epsilon(&run, 1, &options, &value, 1, &asked, NULL) == PRV_OK && same(&found, &asked),
          "epsilon: what prv_epsilon says");
    check(found.lower <= truth + digits && truth - digits <= found.upper &&
              found.upper - found.lower <= 1e-3 * truth,
          "... [%.9g, %.9g]", found.lower, found.upper);
    value = truth;
    check(prv_dpsgd_delta(0.8, 1e-3, 1000, truth, &found) == PRV_OK &&
              prv_delta(&run, 1, &options, &value, 1, &asked, NULL) == PRV_OK && same(&found, &asked),
          "delta: what prv_delta says");
    check(found.lower <= 1e-7 * (1.0 + 1e-10) && 1e-7 * (1.0 - 1e-10) <= found.upper, "... [%.9g, %.9g]",
          found.lower, found.upper);
    prv_calibration noise;
    const prv_status status = prv_dpsgd_noise(1e-3, 1000, truth, 1e-7, &noise);
    check(status == PRV_OK && noise.factor >= 0.8 * (1.0 - 1e-10) && noise.factor <= 0.8 * (1.0 + 3e-4) &&
              noise.next_epsilon.upper > truth,
          "noise: %.9g", noise.factor);
    prv_mechanism_free(m);
}

static void wrong_arguments(void)
{
    prv_bounds b;
    prv_calibration c;
    check(prv_dpsgd_epsilon(-1.0, 1e-3, 1, 1e-7, &b) == PRV_ERR_NOISE_MULTIPLIER, "noise -1");
    check(prv_dpsgd_epsilon(1.0, 1.5, 1, 1e-7, &b) == PRV_ERR_SAMPLING_PROBABILITY, "probability 1.5");
    check(prv_dpsgd_epsilon(1.0, 0.5, UINT64_MAX, 1e-7, &b) == PRV_ERR_COUNT, "2^64 - 1 steps");
    check(prv_dpsgd_epsilon(1.0, 0.5, 1, 2.0, &b) == PRV_ERR_DELTA, "delta 2");
    check(prv_dpsgd_delta(1.0, 0.5, 1, NAN, &b) == PRV_ERR_EPSILON, "epsilon nan");
    check(prv_dpsgd_noise(0.5, 1, -1.0, 1e-5, &c) == PRV_ERR_EPSILON, "noise for epsilon -1");
    check(prv_dpsgd_noise(0.5, 0, 1.0, 1e-5, &c) == PRV_ERR_PARAMETER, "noise of no steps");
}

/* Answers of options without transforms are those with the library's own, wherever there may be a transform.
 */
static void own_transforms(void)
{
    prv_mechanism *m = subsampled(1.5, 0.05);
    const prv_step run = {m, 1000};
    prv_options with = prv_options_default(), none = with;
    with.fft = provider;
    with.engine = none.engine = PRV_ENGINE_CONVOLUTION;
    const double delta = 1e-6, epsilon = 1.0, rate = 1e-2;
    prv_bounds a, b;
    prv_report ra, rb;
    check(prv_epsilon(&run, 1, &with, &delta, 1, &a, &ra) == PRV_OK &&
              prv_epsilon(&run, 1, &none, &delta, 1, &b, &rb) == PRV_OK && same(&a, &b) &&
              ra.transforms > 0 && ra.transforms == rb.transforms,
          "own transforms: epsilon");
    check(prv_delta(&run, 1, &with, &epsilon, 1, &a, NULL) == PRV_OK &&
              prv_delta(&run, 1, &none, &epsilon, 1, &b, NULL) == PRV_OK && same(&a, &b),
          "own transforms: delta");
    check(prv_power(&run, 1, &with, &rate, 1, &a, NULL) == PRV_OK &&
              prv_power(&run, 1, &none, &rate, 1, &b, NULL) == PRV_OK && same(&a, &b),
          "own transforms: power");
    prv_history *history;
    if (prv_history_new(&history) != PRV_OK) abort();
    check(prv_history_epsilon(history, &run, 1, &with, &delta, 1, &a, NULL) == PRV_OK &&
              prv_history_epsilon(history, &run, 1, &none, &delta, 1, &b, NULL) == PRV_OK && same(&a, &b),
          "own transforms: a history");
    prv_history_free(history);
    prv_calibration c, d;
    check(prv_calibrate(&run, 1, 0, PRV_STEPS, 2.0, delta, 1e-2, &with, &c) == PRV_OK &&
              prv_calibrate(&run, 1, 0, PRV_STEPS, 2.0, delta, 1e-2, &none, &d) == PRV_OK &&
              c.factor == d.factor && same(&c.epsilon, &d.epsilon),
          "own transforms: a calibration");
    with.engine = none.engine = PRV_ENGINE_AUTO;
    with.discretization = none.discretization = PRV_MEAN_MATCHING;
    with.eps_error = none.eps_error = 0.1;
    with.delta_error = none.delta_error = 1e-9;
    check(prv_epsilon(&run, 1, &with, &delta, 1, &a, &ra) == PRV_OK &&
              prv_epsilon(&run, 1, &none, &delta, 1, &b, NULL) == PRV_OK && same(&a, &b) && ra.transforms > 0,
          "own transforms: mean-matching");
    prv_mechanism_free(m);
}

static void version(void)
{
    int major = -1, minor = -1, patch = -1;
    check(strcmp(prv_version(), PRV_VERSION) == 0, "version %s", prv_version());
    check(sscanf(prv_version(), "%d.%d.%d", &major, &minor, &patch) == 3 &&
              10000 * major + 100 * minor + patch == PRV_VERSION_NUMBER,
          "... is the number %d", PRV_VERSION_NUMBER);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    one_call();
    wrong_arguments();
    own_transforms();
    version();
    prv_fft_provider_free(provider);
    return summary();
}
