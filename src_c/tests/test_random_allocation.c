/* Allocations to batches: curves that are binomial sums, many batches, and the width asked. */
#include "asking.h"

#include "mechanisms/combined.h"
#include "mechanisms/mechanism.h"

static long double binomial(int n, int k, long double p)
{
    return expl(lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L) + k * logl(p) +
                (n - k) * log1pl(-p));
}

/* delta of an allocation of epsilon-DP: R is e^epsilon in k of the batches, and e^-epsilon in the others. */
static long double allocated_delta(double epsilon, int batches, double at, int add)
{
    const long double up = expl(epsilon), down = expl(-epsilon), a = expl(at), p = 1.0L / (1.0L + up);
    long double sum = 0.0L;
    for (int k = 0; k <= batches; k++) {
        const long double r = (k * up + (batches - k) * down) / batches;
        sum += binomial(batches, k, p) * fmaxl(add ? 1.0L - a * r : r - a, 0.0L);
    }
    return sum;
}

static void allocations(void)
{
    const int batches[] = {2, 5, 33, 200};
    const double at[] = {0.0, 0.05, 0.2};
    int held = 1, close = 1;
    for (int t = 0; t < 4; t++)
        for (int add = 0; add < 2; add++) {
            prv_mechanism *base = NULL, *m = NULL;
            check(prv_mechanism_approximate_dp(0.8, 0.0, &base) == PRV_OK &&
                      prv_mechanism_random_allocation(base, (uint64_t)batches[t], &m) == PRV_OK,
                  "an allocation to %d batches", batches[t]);
            const prv_step step = {m, 1};
            prv_options o = options_of(1e-4);
            o.neighbors = add ? PRV_ADD : PRV_REMOVE;
            prv_bounds b[3];
            const prv_status status = prv_delta(&step, 1, &o, at, 3, b, NULL);
            for (int i = 0; i < 3 && status == PRV_OK; i++) {
                const long double exact = allocated_delta(0.8, batches[t], at[i], add);
                held = held && (long double)b[i].lower <= exact * (1.0L + 1e-15L) &&
                       exact * (1.0L - 1e-15L) <= (long double)b[i].upper;
                close = close && b[i].upper - b[i].lower <= 1e-2 * b[i].upper + 1e-12;
            }
            held = held && status == PRV_OK;
            prv_mechanism_free(m);
            prv_mechanism_free(base);
        }
    check(held, "the binomial sums lie between the bounds");
    check(close, "... which are close");
}

/* Of many batches, whose ratios are composed as losses are: epsilon at the delta of a binomial sum. */
static void many_batches(void)
{
    const int batches[] = {640, 1000, 4000};
    int held = 1, close = 1;
    for (int t = 0; t < 3; t++)
        for (int trial = 0; trial < 6; trial++) {
            const int add = trial % 2;
            const double guarantee = trial < 4 ? 0.8 : 2.0, at = (trial < 2 ? 0.02 : 0.07) * guarantee;
            const double delta = (double)allocated_delta(guarantee, batches[t], at, add);
            prv_mechanism *base = NULL, *m = NULL;
            check(prv_mechanism_approximate_dp(guarantee, 0.0, &base) == PRV_OK &&
                      prv_mechanism_random_allocation(base, (uint64_t)batches[t], &m) == PRV_OK,
                  "an allocation to %d batches", batches[t]);
            const prv_step step = {m, 1};
            prv_options o = options_of(1e-4);
            o.neighbors = add ? PRV_ADD : PRV_REMOVE;
            prv_bounds b;
            prv_report r;
            held = held && prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) == PRV_OK && b.lower <= at &&
                   at <= b.upper;
            close = close && r.accurate && b.upper - b.lower <= 1.01e-4;
            prv_mechanism_free(m);
            prv_mechanism_free(base);
        }
    check(held, "epsilon of many batches lies between the bounds");
    check(close, "... which are as close as asked");
}

/* The same of Gaussian noise, whose averages are another way to delta. */
static void many_noisy_batches(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 18; trial++) {
        const double noise = (const double[]){0.4, 1.0, 2.5}[trial % 3], delta = trial % 2 ? 1e-5 : 1e-9;
        const uint64_t batches = (const uint64_t[]){192, 1100, 50000}[trial / 3 % 3];
        prv_mechanism *base = gaussian(noise), *m = NULL;
        if (prv_mechanism_random_allocation(base, batches, &m) != PRV_OK) abort();
        const prv_step step = {m, 1};
        prv_options o = prv_options_default();
        o.fft = provider;
        o.eps_relative_error = 5e-3;
        o.eps_floor = 1e-9;
        o.neighbors = trial >= 9 ? PRV_ADD : PRV_REMOVE;
        prv_bounds b, below, above;
        prv_report r;
        held = held && prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) == PRV_OK;
        close = close && r.accurate && b.upper - b.lower <= 5e-3 * b.upper;
        o.eps_relative_error = 2e-2;
        held = held && prv_delta(&step, 1, &o, &b.upper, 1, &below, NULL) == PRV_OK &&
               prv_delta(&step, 1, &o, &b.lower, 1, &above, NULL) == PRV_OK && below.lower <= delta &&
               delta <= above.upper;
        prv_mechanism_free(m);
        prv_mechanism_free(base);
    }
    check(held, "bounds of epsilon agree with those of delta");
    check(close, "... and are as close as asked");
}

/* One step of many batches, to the width asked. */
static void closeness(void)
{
    prv_mechanism *base = gaussian(1.0), *m = NULL;
    check(prv_mechanism_random_allocation(base, 8, &m) == PRV_OK, "an allocation");
    const prv_step step = {m, 1};
    const prv_options o = options_of(1e-4);
    const double delta = 1e-5, epsilon = 1.0;
    prv_bounds b;
    prv_report r;
    prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, &r);
    check(status == PRV_OK && r.accurate && b.upper - b.lower <= 1.01e-4, "an epsilon within %g, as asked",
          b.upper - b.lower);
    status = prv_delta(&step, 1, &o, &epsilon, 1, &b, &r);
    check(status == PRV_OK && r.accurate && b.upper - b.lower <= 1e-3 * b.upper,
          "a delta within %g of itself", (b.upper - b.lower) / b.upper);
    /* More than the first look gives, and more than that sees of mass far out. */
    prv_options finer = o;
    finer.eps_error = 1e-9;
    const double far[] = {1.0, 6.0, 14.0}, parts[] = {1e-2, 1e-4};
    prv_bounds first = {0.0, 0.0, 1.0};
    const size_t asked = trials_of(3) < 3 ? 2 : 3; /* what no refinement tells takes nearly all of the time */
    int kept = 1, accurate = 0, same = 1;
    for (size_t i = 0; i < asked; i++)
        for (size_t j = 0; j < 2; j++) {
            finer.delta_relative_error = parts[j];
            status = prv_delta(&step, 1, &finer, &far[i], 1, &b, &r);
            kept = kept && status == PRV_OK && (!r.accurate || b.upper - b.lower <= parts[j] * b.upper);
            if (j == 0) first = b;
            same = same && b.lower <= first.upper && first.lower <= b.upper;
            accurate += r.accurate;
        }
    check(kept && accurate >= 4, "%d deltas to 1e-2 and 1e-4 of themselves, if they say so", accurate);
    check(same, "... the closer ones between the others");
    prv_mechanism_free(m);
    prv_mechanism_free(base);
}

/* What an average dominates: a sample whose probability is no more than that of each batch. */
static void simpler_averages(void)
{
    prv_mechanism *noise = gaussian(1.0);
    int held = 1;
    for (uint64_t batches = 2; batches <= 300; batches++) {
        prv_mechanism *average = NULL, *sample = NULL;
        if (prv_mechanism_random_allocation(noise, batches, &average) != PRV_OK ||
            prv_combined_simpler(average, false, &sample) != PRV_OK)
            abort();
        /* fma tells a product of doubles from 1 exactly. */
        const double over = fma(sample->sampling_probability, (double)batches, -1.0);
        held = held && over <= 0.0 && over >= -4.0 * DBL_EPSILON;
        prv_mechanism_free(sample);
        prv_mechanism_free(average);
    }
    prv_mechanism_free(noise);
    check(held, "the sample that an average dominates has a probability of 1 / batches, from below");
}

/* So little noise that no lattice of averages is wide enough: bounds are those of the sample below and of a
 * batch above, between which lies the loss of a batch, less by log(batches), which has the same delta. */
static void little_noise(void)
{
    prv_mechanism *noise = gaussian(0.02), *average = NULL, *sample = subsampled(0.02, 0.01);
    if (prv_mechanism_random_allocation(noise, 100, &average) != PRV_OK) abort();
    const prv_step steps[] = {{average, 1}, {noise, 1}, {sample, 1}};
    const prv_options o = options_of(1e-3);
    const double delta = 1e-5;
    prv_bounds b[3];
    for (size_t i = 0; i < 3; i++)
        if (prv_epsilon(&steps[i], 1, &o, &delta, 1, &b[i], NULL) != PRV_OK) abort();
    check(b[0].upper <= b[1].upper + 1e-3 && b[0].lower >= b[2].lower - 1e-3,
          "little noise in many batches: [%g, %g] is between simpler mechanisms", b[0].lower, b[0].upper);
    check(b[0].lower <= b[1].upper - log(100.0) && b[1].lower - log(100.0) <= b[0].upper,
          "... and around what one batch tells");
    prv_mechanism_free(sample);
    prv_mechanism_free(average);
    prv_mechanism_free(noise);
}

/* A history falls back on the whole composition, and another step of the same mechanism changes the answer.
 */
static void histories(void)
{
    prv_mechanism *noise = gaussian(1.0), *m = NULL;
    check(prv_mechanism_random_allocation(noise, 8, &m) == PRV_OK, "an allocation");
    prv_history *h = NULL;
    check(prv_history_new(&h) == PRV_OK, "a history");
    const prv_options o = options_of(1e-2);
    const double delta = 1e-5;
    prv_bounds first, second, whole;
    prv_step step = {m, 3};
    check(prv_history_epsilon(h, &step, 1, &o, &delta, 1, &first, NULL) == PRV_OK &&
              prv_epsilon(&step, 1, &o, &delta, 1, &whole, NULL) == PRV_OK && first.upper == whole.upper,
          "a history answers as prv_epsilon does");
    step.count = 4;
    check(prv_history_epsilon(h, &step, 1, &o, &delta, 1, &second, NULL) == PRV_OK &&
              second.lower > first.upper,
          "... and grows");
    prv_history_free(h);
    prv_mechanism_free(m);
    prv_mechanism_free(noise);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    allocations();
    many_batches();
    many_noisy_batches();
    closeness();
    simpler_averages();
    little_noise();
    histories();
    prv_fft_provider_free(provider);
    return summary();
}
