/* Sweeps: each count has the bits of prv_epsilon, whatever was asked before; reports and failures too. */
#include <string.h>

#include "asking.h"

enum { COUNTS = 16 };

static int same_bits(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

/* Both ends of ranges of counts, and counts that are asked alone; up and down, and one again. */
static const uint64_t counts[COUNTS] = {0,   1,   16,  17,   32,  90,   65,   300,
                                        511, 512, 513, 1024, 900, 5000, 4097, 900};

static void have_the_bits_of_counts_alone(double noise, double p, prv_neighbors neighbors, double eps_error)
{
    prv_mechanism *m = subsampled(noise, p);
    prv_sweep *sweep = NULL;
    if (prv_sweep_new(m, &sweep) != PRV_OK) abort();
    prv_options o = prv_options_default();
    o.fft = provider;
    o.neighbors = neighbors;
    o.eps_error = eps_error;
    double deltas[COUNTS];
    for (int i = 0; i < COUNTS; i++) deltas[i] = i % 4 == 3 ? 1e-9 : 1e-6;
    prv_bounds swept[COUNTS], alone;
    prv_report reports[COUNTS], report;
    check(prv_sweep_epsilon(sweep, counts, deltas, COUNTS, &o, swept, reports) == PRV_OK, "noise %g, p %g",
          noise, p);
    for (int i = 0; i < COUNTS; i++) {
        const prv_step step = {m, counts[i]};
        const prv_status status = prv_epsilon(&step, 1, &o, &deltas[i], 1, &alone, &report);
        check(status == PRV_OK && same_bits(&alone, &swept[i], sizeof alone) &&
                  report.engine == reports[i].engine && report.width == reports[i].width &&
                  report.accurate == reports[i].accurate && report.direction == reports[i].direction &&
                  report.cells == reports[i].cells && report.attained == reports[i].attained,
              "... %d times: [%.17g, %.17g], swept [%.17g, %.17g]", (int)counts[i], alone.lower, alone.upper,
              swept[i].lower, swept[i].upper);
    }
    /* Other options: nothing of the old ones is left. */
    o.eps_error = 0.05;
    const double delta = 1e-6;
    const prv_step step = {m, counts[3]};
    check(prv_sweep_epsilon(sweep, &counts[3], &delta, 1, &o, swept, NULL) == PRV_OK &&
              prv_epsilon(&step, 1, &o, &delta, 1, &alone, NULL) == PRV_OK &&
              same_bits(&alone, swept, sizeof alone),
          "... with another width");
    prv_sweep_free(sweep);
    prv_mechanism_free(m);
}

static void other_mechanisms_and_ways(void)
{
    const uint64_t runs[3] = {4, 300, 301};
    const double deltas[3] = {1e-5, 1e-5, 1e-7};
    prv_mechanism *m[2] = {NULL, gaussian(30.0)};
    if (prv_mechanism_laplace(20.0, 1.0, &m[0]) != PRV_OK) abort();
    for (int i = 0; i < 2; i++) {
        prv_sweep *sweep = NULL;
        if (prv_sweep_new(m[i], &sweep) != PRV_OK) abort();
        for (int way = 0; way < 3; way++) {
            prv_options o = prv_options_default();
            o.fft = provider;
            if (way == 1) o.engine = PRV_ENGINE_CONVOLUTION;
            if (way == 2) {
                o.discretization = PRV_MEAN_MATCHING;
                o.eps_error = 0.1;
                o.delta_error = 1e-10;
            }
            prv_bounds swept[3], alone;
            int ok = prv_sweep_epsilon(sweep, runs, deltas, 3, &o, swept, NULL) == PRV_OK;
            for (int j = 0; j < 3; j++) {
                const prv_step step = {m[i], runs[j]};
                ok = ok && prv_epsilon(&step, 1, &o, &deltas[j], 1, &alone, NULL) == PRV_OK &&
                     same_bits(&alone, &swept[j], sizeof alone);
            }
            check(ok, "mechanism %d, way %d", i, way);
        }
        prv_sweep_free(sweep);
        prv_mechanism_free(m[i]);
    }
}

static int stop_at_once(void *context, const prv_progress *progress)
{
    (void)context, (void)progress;
    return 1;
}

static void failures(void)
{
    prv_mechanism *m = subsampled(1.0, 1e-2);
    prv_sweep *sweep = NULL;
    if (prv_sweep_new(m, &sweep) != PRV_OK) abort();
    prv_options o = prv_options_default();
    o.fft = provider;
    const uint64_t runs[2] = {1000, UINT64_MAX};
    const double deltas[2] = {1e-6, 1e-6}, bad = 2.0;
    prv_bounds b[2], again;
    check(prv_sweep_epsilon(sweep, runs, &bad, 1, &o, b, NULL) == PRV_ERR_DELTA, "a delta of 2");
    check(prv_sweep_epsilon(sweep, runs, deltas, 2, &o, b, NULL) == PRV_ERR_COUNT, "2^64 - 1 times");
    check(prv_sweep_epsilon(sweep, runs, deltas, 1, &o, &again, NULL) == PRV_OK &&
              same_bits(&again, b, sizeof again),
          "... and then as before");
    prv_options stopped = o, small = o;
    stopped.progress = stop_at_once;
    check(prv_sweep_epsilon(sweep, runs, deltas, 1, &stopped, b, NULL) == PRV_ERR_INTERRUPTED, "stopped");
    small.memory_limit = 1;
    prv_report report;
    check(prv_sweep_epsilon(sweep, runs, deltas, 1, &small, b, &report) == PRV_ERR_MEMORY_LIMIT &&
              report.memory > 1,
          "one byte of memory: %d needed", (int)report.memory);
    check(prv_sweep_epsilon(sweep, runs, deltas, 1, &o, b, NULL) == PRV_OK &&
              same_bits(&again, b, sizeof again),
          "... and then as before");
    prv_sweep_free(sweep);
    prv_sweep_free(NULL);
    prv_mechanism_free(m);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    have_the_bits_of_counts_alone(0.8, 1e-3, PRV_ADD_OR_REMOVE, 0.0);
    have_the_bits_of_counts_alone(1.5, 1e-2, PRV_ADD_OR_REMOVE, 0.0);
    have_the_bits_of_counts_alone(4.0, 0.1, PRV_ADD_OR_REMOVE, 0.0);
    have_the_bits_of_counts_alone(0.6, 1e-5, PRV_ADD_OR_REMOVE, 0.0);
    have_the_bits_of_counts_alone(1.0, 1e-2, PRV_ADD, 1e-3);
    have_the_bits_of_counts_alone(1.0, 1e-2, PRV_REPLACE_ONE, 0.0);
    other_mechanisms_and_ways();
    failures();
    prv_fft_provider_free(provider);
    return summary();
}
