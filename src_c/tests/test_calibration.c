/* Calibration: closed forms, proofs of tightness, exact steps, ends of the range, refusals. */
#include "asking.h"

static prv_options options_for(prv_neighbors neighbors)
{
    prv_options o = options_of(0.0);
    o.neighbors = neighbors;
    return o;
}

/* Takes the base. */
static prv_mechanism *sampled(prv_mechanism *base, double p)
{
    prv_mechanism *m = NULL;
    if (prv_mechanism_poisson_subsampled(base, p, &m) != PRV_OK) abort();
    prv_mechanism_free(base);
    return m;
}

/* What every calibration promises. */
static void promises(const prv_step *steps, size_t count, prv_parameter parameter, double target,
                     double delta, double tolerance, const prv_options *options, const prv_calibration *c)
{
    const int up = parameter == PRV_NOISE_SCALE;
    check(c->epsilon.upper <= target, "... meets the target: %.12g <= %.12g", c->epsilon.upper, target);
    /* Bounds that are 0 on one side of the target tell a search nothing of the distance. */
    const size_t most = target > 0.0 ? 15 : 60;
    check(c->compositions >= c->fine && c->fine <= most, "... %d compositions, %d of them fine",
          (int)c->compositions, (int)c->fine);
    if (!isnan(c->next_factor)) {
        const double distance = parameter == PRV_STEPS
                                    ? c->next_factor - c->factor - 1.0
                                    : fabs(log(c->factor / c->next_factor)) - 1.02 * tolerance;
        check(up == (c->next_factor < c->factor) && distance <= 0.0, "... next to %.12g: %.12g", c->factor,
              c->next_factor);
        check(c->next_epsilon.upper > target, "... which is too much: %.12g", c->next_epsilon.upper);
    }
    /* The bounds stated are those of a query. */
    prv_step scaled[4];
    prv_mechanism *made[4] = {NULL, NULL, NULL, NULL};
    for (size_t j = 0; j < count; j++) {
        scaled[j] = steps[j];
        if (parameter == PRV_STEPS)
            scaled[j].count *= (uint64_t)c->factor;
        else if (prv_mechanism_scaled(steps[j].mechanism, parameter, c->factor, &made[j]) == PRV_OK)
            scaled[j].mechanism = made[j];
    }
    prv_options again = *options;
    again.eps_error = c->eps_error;
    prv_bounds b = {0.0, 0.0, 0.0};
    const prv_status status = prv_epsilon(scaled, count, &again, &delta, 1, &b, NULL);
    check(status == PRV_OK && b.lower == c->epsilon.lower && b.upper == c->epsilon.upper,
          "... and its bounds come back");
    for (size_t j = 0; j < count; j++) prv_mechanism_free(made[j]);
}

static void closed_forms(void)
{
    static const struct {
        double epsilon, delta, noise, tolerance;
    } rows[] = {{0.01, 1e-5, 243.7854, 1e-5},    {0.1, 1e-6, 36.30469, 1e-5},
                {10.0, 1e-6, 0.54108683, 1e-5},  {100.0, 1e-6, 0.09783722, 1e-5},
                {700.0, 1e-6, 0.03031347, 1e-5}, {5000.0, 1e-6, 0.0104855618, 1e-5},
                {0.0, 1e-6, 398942.28, 1e-6}};
    const prv_options o = options_for(PRV_ADD_OR_REMOVE);
    prv_mechanism *m = gaussian(1.0);
    prv_status status;
    const prv_step step = {m, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prv_calibration c;
        const double half = 0.5 * rows[i].tolerance;
        status = prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, rows[i].epsilon, rows[i].delta, half, &o, &c);
        check(status == PRV_OK && fabs(c.factor / rows[i].noise - 1.0) <= rows[i].tolerance,
              "Gaussian, epsilon %g at %g: noise %.9g, got %.9g", rows[i].epsilon, rows[i].delta,
              rows[i].noise, c.factor);
        promises(&step, 1, PRV_NOISE_SCALE, rows[i].epsilon, rows[i].delta, half, &o, &c);
        check(c.monotone == 1, "... and at all below");
        check(c.next_epsilon.lower > rows[i].epsilon, "... proven by the lower bound %.12g",
              c.next_epsilon.lower);
    }
    prv_mechanism_free(m);
    /* Pure: k steps of Laplace noise have epsilon k / scale at delta 0. */
    if (prv_mechanism_laplace(1.0, 1.0, &m) != PRV_OK) abort();
    const prv_step ten = {m, 10};
    prv_calibration c;
    status = prv_calibrate(&ten, 1, 0, PRV_NOISE_SCALE, 4.0, 0.0, 1e-6, &o, &c);
    check(status == PRV_OK && fabs(c.factor / 2.5 - 1.0) <= 1e-6, "Laplace at delta 0: scale 2.5, got %.9g",
          c.factor);
    const prv_step one = {m, 1};
    status = prv_calibrate(&one, 1, 0, PRV_STEPS, 4.5, 0.0, 1e-4, &o, &c);
    check(status == PRV_OK && c.factor == 4.0 && c.next_factor == 5.0,
          "... and 4 steps for epsilon 4.5, got %g", c.factor);
    /* After 3 that have run 1 is left; beside them 6 of the budget's 9 need 1.5 of the noise to be 4. */
    const prv_step after[2] = {{m, 3}, {m, 1}}, beside[2] = {{m, 3}, {m, 9}};
    status = prv_calibrate(after, 2, 1, PRV_STEPS, 4.5, 0.0, 1e-4, &o, &c);
    check(status == PRV_OK && c.factor == 1.0 && c.next_factor == 2.0, "1 step is left, got %g", c.factor);
    status = prv_calibrate(beside, 2, 1, PRV_NOISE_SCALE, 9.0, 0.0, 1e-6, &o, &c);
    check(status == PRV_OK && fabs(c.factor / 1.5 - 1.0) <= 1e-6, "noise of the rest: 1.5, got %.9g",
          c.factor);
    status = prv_calibrate(after, 2, 1, PRV_STEPS, 3.5, 0.0, 1e-4, &o, &c);
    check(status == PRV_OK && c.factor == 0.0 && c.next_factor == 1.0, "no step is left, got %g", c.factor);
    check(prv_calibrate(after, 2, 1, PRV_STEPS, 2.5, 0.0, 1e-4, &o, &c) == PRV_ERR_TARGET &&
              c.epsilon.lower > 2.5,
          "what has run is too much");
    check(prv_calibrate(after, 2, 2, PRV_STEPS, 4.5, 0.0, 1e-4, &o, &c) == PRV_ERR_PARAMETER, "all has run");
    prv_mechanism_free(m);
}

static void parameters(void)
{
    prv_mechanism *fixed = NULL;
    if (prv_mechanism_approximate_dp(0.25, 1e-7, &fixed) != PRV_OK) abort();
    prv_mechanism *m = sampled(gaussian(1.0), 0.01), *other = gaussian(50.0);
    const prv_step steps[] = {{m, 500}, {other, 3}, {fixed, 1}};
    static const prv_parameter all[] = {PRV_NOISE_SCALE, PRV_SAMPLING_PROBABILITY, PRV_STEPS};
    static const char *const names[] = {"noise", "sampling probability", "steps"};
    static const double targets[] = {0.5, 1.0, 3.0};
    const prv_options o = options_for(PRV_REMOVE);
    for (size_t i = 0; i < 3; i++) {
        double last = 0.0;
        for (size_t k = 0; k < 3; k++) {
            prv_calibration c;
            memset(&c, 0, sizeof c);
            const prv_status status = prv_calibrate(steps, 3, 0, all[i], targets[k], 1e-5, 1e-3, &o, &c);
            check(status == PRV_OK, "a schedule, %s for epsilon %g: %g", names[i], targets[k], c.factor);
            promises(steps, 3, all[i], targets[k], 1e-5, 1e-3, &o, &c);
            check(k == 0 || (i == 0 ? c.factor < last : c.factor >= last),
                  "... and more epsilon allows more");
            last = c.factor;
        }
    }
    prv_mechanism_free(m);
    prv_mechanism_free(other);
    prv_mechanism_free(fixed);
}

static void ends(void)
{
    const prv_options o = options_for(PRV_ADD_OR_REMOVE);
    prv_calibration c;
    prv_status status;
    prv_mechanism *m = sampled(gaussian(5.0), 0.01);
    const prv_step step = {m, 10}, none = {m, 0}, many = {m, UINT64_C(1) << 54};
    status = prv_calibrate(&step, 1, 0, PRV_SAMPLING_PROBABILITY, 20.0, 1e-6, 1e-4, &o, &c);
    check(status == PRV_OK && isnan(c.next_factor) && fabs(0.01 * c.factor - 1.0) <= DBL_EPSILON,
          "all records may be sampled: factor %.17g", c.factor);
    promises(&step, 1, PRV_SAMPLING_PROBABILITY, 20.0, 1e-6, 1e-4, &o, &c);
    status = prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 0.0, 0.2, 1e-4, &o, &c);
    check(status == PRV_OK && c.factor == 0.0 && isnan(c.next_factor), "no noise is needed: factor %g",
          c.factor);
    status = prv_calibrate(&step, 1, 0, PRV_STEPS, 1e-9, 0.0, 1e-4, &o, &c);
    check(status == PRV_OK && c.factor == 0.0 && c.next_factor == 1.0, "no step is allowed: %g", c.factor);
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 0.0, 1e-4, &o, &c) == PRV_ERR_TARGET &&
              c.epsilon.upper > 1.0,
          "Gaussian noise at delta 0: %s", prv_status_message(PRV_ERR_TARGET));
    check(prv_calibrate(&none, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-4, &o, &c) == PRV_ERR_PARAMETER,
          "nothing runs");
    check(prv_calibrate(&none, 1, 0, PRV_STEPS, 1.0, 1e-5, 1e-4, &o, &c) == PRV_ERR_PARAMETER,
          "nothing runs, steps");
    check(prv_calibrate(&many, 1, 0, PRV_STEPS, 1.0, 1e-5, 1e-4, &o, &c) == PRV_ERR_COUNT,
          "2^54 steps to begin with");
    check(prv_calibrate(NULL, 0, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-4, &o, &c) == PRV_ERR_PARAMETER,
          "no steps");
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, -1.0, 1e-5, 1e-4, &o, &c) == PRV_ERR_EPSILON,
          "negative epsilon");
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, HUGE_VAL, 1e-5, 1e-4, &o, &c) == PRV_ERR_EPSILON,
          "infinite epsilon");
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 2.0, 1e-4, &o, &c) == PRV_ERR_DELTA, "delta 2");
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, NAN, 1e-4, &o, &c) == PRV_ERR_DELTA, "delta nan");
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 0.2, &o, &c) == PRV_ERR_TOLERANCE,
          "tolerance 0.2");
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, NAN, &o, &c) == PRV_ERR_TOLERANCE,
          "tolerance nan");
    prv_options wrong = o;
    wrong.mesh_size = 1e-3;
    check(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-4, &wrong, &c) == PRV_ERR_OPTIONS,
          "a mesh_size");
    prv_mechanism_free(m);

    /* With loss infinite with probability 1e-4 and else at most 0.5, outside of what noise can change. */
    if (prv_mechanism_approximate_dp(0.5, 1e-4, &m) != PRV_OK) abort();
    prv_mechanism *noisy = gaussian(1.0);
    const prv_step both[] = {{noisy, 1}, {m, 1}}, alone = {m, 1};
    check(prv_calibrate(both, 2, 0, PRV_NOISE_SCALE, 9.0, 1e-5, 1e-4, &o, &c) == PRV_ERR_TARGET &&
              isinf(c.epsilon.lower),
          "the mass at infinity is above delta");
    status = prv_calibrate(both, 2, 0, PRV_NOISE_SCALE, 0.4, 2e-4, 1e-4, &o, &c);
    check(status == PRV_ERR_TARGET && c.epsilon.lower > 0.4 && c.epsilon.upper <= 0.5,
          "what is left has an epsilon of %g", c.epsilon.lower);
    check(prv_calibrate(&alone, 1, 0, PRV_NOISE_SCALE, 9.0, 2e-4, 1e-4, &o, &c) == PRV_ERR_PARAMETER,
          "no noise");
    prv_mechanism *scaled = NULL;
    check(prv_mechanism_scaled(m, PRV_NOISE_SCALE, 2.0, &scaled) == PRV_ERR_PARAMETER, "nothing to scale");
    check(prv_mechanism_scaled(noisy, PRV_NOISE_SCALE, -2.0, &scaled) == PRV_ERR_PARAMETER,
          "a negative factor");
    check(prv_mechanism_scaled(noisy, PRV_NOISE_SCALE, NAN, &scaled) == PRV_ERR_PARAMETER, "a factor nan");
    check(prv_mechanism_scaled(noisy, PRV_STEPS, 2.0, &scaled) == PRV_ERR_PARAMETER, "steps of a mechanism");
    check(scaled == NULL, "... and nothing was made");
    prv_mechanism_free(noisy);
    prv_mechanism_free(m);
}

/* The probability 0.1 * 0.77 is no double, and scaled noise has the very product. Exact value: mpmath, 40
 * digits.
 */
static void samples_of_samples_are_scaled(void)
{
    const long double exact = 2.2456475773500797325e-05L;
    prv_mechanism *twice = sampled(sampled(gaussian(1.0), 0.1), 0.77);
    prv_mechanism *scaled = NULL;
    if (prv_mechanism_scaled(twice, PRV_NOISE_SCALE, 2.0, &scaled) != PRV_OK) abort();
    const prv_step step = {scaled, 1};
    prv_options o = prv_options_default();
    o.neighbors = PRV_REMOVE;
    o.delta_relative_error = 1e-12;
    const double epsilon = 0.25;
    prv_bounds delta;
    check(prv_delta(&step, 1, &o, &epsilon, 1, &delta, NULL) == PRV_OK, "delta");
    check(delta.lower <= exact && exact <= delta.upper, "%.20g <= %.20Lg <= %.20g", delta.lower, exact,
          delta.upper);
    check(prv_mechanism_description(scaled)->kind == PRV_KIND_SCALED, "no double tells its probability");
    prv_mechanism_free(scaled);
    prv_mechanism_free(twice);
}

/* A scaled mechanism is the one that its constructor makes. */
static void scaling(void)
{
    const double losses[] = {-1.0, 1.0}, masses[] = {1.0 / (1.0 + exp(1.0)), exp(1.0) / (1.0 + exp(1.0))};
    prv_mechanism *pairs[12];
    size_t n = 0;
    const prv_status made[] = {prv_mechanism_gaussian(0.5, &pairs[0]),
                               prv_mechanism_gaussian(1.5, &pairs[1]),
                               prv_mechanism_laplace(0.5, 2.0, &pairs[2]),
                               prv_mechanism_laplace(1.5, 2.0, &pairs[3]),
                               prv_mechanism_discrete_gaussian(0.5, 3, &pairs[4]),
                               prv_mechanism_discrete_gaussian(1.5, 3, &pairs[5]),
                               prv_mechanism_discrete_laplace(0.5, 3, &pairs[6]),
                               prv_mechanism_discrete_laplace(1.5, 3, &pairs[7]),
                               prv_mechanism_table(losses, masses, 2, 0.0, &pairs[8])};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) n += made[i] == PRV_OK;
    if (!check(n == 9, "mechanisms to scale")) return;
    prv_options o = options_for(PRV_ADD);
    o.eps_error = 1e-2;
    const double delta = 1e-3;
    for (size_t i = 0; i < 5; i++) {
        prv_mechanism *low = sampled(pairs[2 * i], 0.1), *high = NULL, *scaled = NULL, *unscaled = NULL;
        const prv_parameter parameter = i < 4 ? PRV_NOISE_SCALE : PRV_SAMPLING_PROBABILITY;
        if (i < 4) high = sampled(pairs[2 * i + 1], 0.1);
        if (prv_mechanism_scaled(low, parameter, 3.0, &scaled) != PRV_OK) abort();
        if (i == 4) {
            if (prv_mechanism_scaled(scaled, parameter, 1.0, &high) != PRV_OK) abort();
            if (prv_mechanism_scaled(low, parameter, 1.0, &unscaled) != PRV_OK) abort();
        }
        const prv_step a = {scaled, 4}, b = {high, 4}, c = {low, 4};
        prv_bounds x, y, z;
        const int asked = prv_epsilon(&a, 1, &o, &delta, 1, &x, NULL) == PRV_OK &&
                          prv_epsilon(&b, 1, &o, &delta, 1, &y, NULL) == PRV_OK &&
                          prv_epsilon(&c, 1, &o, &delta, 1, &z, NULL) == PRV_OK;
        check(asked && x.lower == y.lower && x.upper == y.upper, "kind %d, scaled: %.12g and %.12g", (int)i,
              x.upper, y.upper);
        check(i < 4 ? x.upper < z.upper : x.upper > z.upper, "... from %.12g", z.upper);
        if (i == 4) {
            const prv_step d = {unscaled, 4};
            check(prv_epsilon(&d, 1, &o, &delta, 1, &y, NULL) == PRV_OK && y.upper == z.upper,
                  "... and by 1 nothing changes");
        }
        prv_mechanism_free(low);
        prv_mechanism_free(high);
        prv_mechanism_free(scaled);
        prv_mechanism_free(unscaled);
    }
}

/* Searches that rounding or what has run before stop: they end soon, without large passes. */
static void searches_end(void)
{
    prv_options o = options_for(PRV_REMOVE);
    prv_calibration c;
    /* So many steps that rounding hides the estimate: the upper bound alone tells which of them are allowed.
     */
    prv_mechanism *m = subsampled(19.92, 1.909e-6);
    const prv_step step = {m, 1};
    prv_status status = prv_calibrate(&step, 1, 0, PRV_STEPS, 9.038, 6.593e-5, 1e-4, &o, &c);
    check(status == PRV_OK && c.factor > 1e13 && c.epsilon.upper <= 9.038 && c.next_epsilon.upper > 9.038 &&
              c.next_factor <= c.factor * (1.0 + 1e-4) && c.compositions <= 60,
          "steps that rounding hides: %.9g of [%.9g, %.9g] after %zu compositions", c.factor, c.epsilon.lower,
          c.epsilon.upper, c.compositions);
    prv_mechanism_free(m);
    /* The pair of truncated batches misses the target already, though no data sets are known that do. */
    prv_mechanism *before, *sample = subsampled(0.8496, 0.001933);
    if (prv_mechanism_truncated_poisson_gaussian(1.251, 0.0007744, 28699, 30, &before) != PRV_OK) abort();
    const prv_step steps[] = {{before, 2}, {sample, 3479}};
    prv_bounds alone;
    o.eps_error = 1e-3;
    const double delta = 3.379e-7;
    if (prv_epsilon(steps, 1, &o, &delta, 1, &alone, NULL) != PRV_OK) abort();
    status = prv_calibrate(steps, 2, 1, PRV_SAMPLING_PROBABILITY, 0.06227, delta, 1e-4, &o, &c);
    check(alone.lower < 0.06227 && alone.upper > 0.06227 && status == PRV_ERR_TARGET &&
              c.epsilon.lower <= alone.upper && c.epsilon.upper >= alone.lower,
          "what has run before has [%.9g, %.9g], so that nothing is left: %d", alone.lower, alone.upper,
          (int)status);
    prv_mechanism_free(before);
    prv_mechanism_free(sample);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    closed_forms();
    parameters();
    ends();
    scaling();
    samples_of_samples_are_scaled();
    searches_end();
    prv_fft_provider_free(provider);
    return summary();
}
