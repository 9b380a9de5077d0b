/* libFuzzer: bytes describe mechanisms, counts, options and questions of every kind; whatever they say,
 * answers are in order and errors are codes. Two mechanisms may be of the caller: their callbacks give
 * whatever the bytes say. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prvcore.h"

typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input;

static uint64_t bits(input *in, size_t count)
{
    uint64_t value = 0;
    for (; count > 0 && in->left > 0; count--, in->left--) value = value << 8 | *in->bytes++;
    return value;
}

/* Any double: most often a moderate one, sometimes a short binary fraction, sometimes any bits at all. */
static double number(input *in)
{
    const uint64_t kind = bits(in, 1);
    if (kind < 128) return ldexp((double)(bits(in, 1) + 1) / 256.0, (int)(kind % 16) - 10);
    if (kind < 224) return (double)bits(in, 2) / 65536.0;
    const uint64_t pattern = bits(in, 8);
    double value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

/* Cdfs and curves of a caller who may be wrong: a Gaussian's, bent by a number of the input. */
typedef struct bent {
    double mu, factor, shift;
    int fails;
} bent;

static int bent_cdfs(void *context, const double *losses, size_t length, double *q, double *p)
{
    const bent *b = context;
    for (size_t i = 0; i < length; i++) {
        const double z = losses[i] / b->mu;
        q[i] = b->factor * 0.5 * erfc((0.5 * b->mu - z) * 0.70710678118654752) + b->shift;
        p[i] = 0.5 * erfc((-0.5 * b->mu - z) * 0.70710678118654752);
    }
    return b->fails;
}

static int bent_curve(void *context, const double *epsilons, size_t length, double *deltas)
{
    const bent *b = context;
    for (size_t i = 0; i < length; i++) {
        const double e = exp(fmin(epsilons[i], 700.0));
        deltas[i] = b->factor * fmax(0.0, 1.0 - e * (1.0 - b->mu)) + b->shift;
    }
    return b->fails;
}

static prv_mechanism *mechanism_of(input *in, bent *b)
{
    prv_mechanism *m = NULL, *sampled = NULL;
    const uint64_t kind = bits(in, 1);
    prv_status status = PRV_ERR_OPTIONS;
    switch (kind % 9) {
    case 0: status = prv_mechanism_gaussian(number(in), &m); break;
    case 1: {
        const double scale = number(in);
        status = prv_mechanism_laplace(scale, number(in), &m);
        break;
    }
    case 2: {
        const double scale = number(in);
        status = prv_mechanism_discrete_gaussian(scale, (int64_t)bits(in, 1), &m);
        break;
    }
    case 3: {
        const double scale = number(in);
        status = prv_mechanism_discrete_laplace(scale, (int64_t)bits(in, 1), &m);
        break;
    }
    case 4: {
        const double epsilon = number(in);
        status = prv_mechanism_approximate_dp(epsilon, number(in), &m);
        break;
    }
    case 5: {
        double losses[8], masses[8], sum = 0.0;
        const size_t length = 1 + (size_t)(bits(in, 1) % 8);
        const int normal = bits(in, 1) % 4 != 0;
        for (size_t i = 0; i < length; i++) {
            losses[i] = number(in) + (i > 0 && normal ? losses[i - 1] : 0.0);
            masses[i] = number(in);
            sum += masses[i];
        }
        const double infinite = normal ? 0.0 : number(in);
        for (size_t i = 0; i < length && normal; i++) masses[i] /= sum;
        status = prv_mechanism_table(losses, masses, length, infinite, &m);
        break;
    }
    default: {
        const uint64_t wrong = bits(in, 1);
        *b = (bent){number(in), wrong % 4 == 1 ? number(in) : 1.0, wrong % 4 == 2 ? number(in) : 0.0,
                    wrong % 16 == 3};
        status = kind % 2 == 0 ? prv_mechanism_cdfs(bent_cdfs, b, 0.0, &m)
                               : prv_mechanism_curve(bent_curve, b, 0.0, &m);
        break;
    }
    }
    if (status != PRV_OK) return NULL;
    if (kind % 2 == 0) return m;
    status = prv_mechanism_poisson_subsampled(m, number(in), &sampled);
    prv_mechanism_free(m);
    return status == PRV_OK ? sampled : NULL;
}

static int in_order(const prv_bounds *b, double most)
{
    return 0.0 <= b->lower && b->lower <= b->estimate && b->estimate <= b->upper && b->upper <= most;
}

/* Long work is stopped, for inputs shall be many; how soon is part of the input. */
static int stop(void *context, const prv_progress *progress)
{
    (void)progress;
    int *left = context;
    return (*left)-- <= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static prv_fft_provider *fft; /* plans of one length serve all inputs */
    if (fft == NULL && prv_fft_provider_new(&fft) != PRV_OK) abort();
    input in = {data, size};
    bent bents[3];
    prv_mechanism *mechanisms[3];
    prv_step steps[3];
    size_t count = 0;
    for (const size_t wanted = 1 + (size_t)(bits(&in, 1) % 3); count < wanted; count++) {
        mechanisms[count] = mechanism_of(&in, &bents[count]);
        if (mechanisms[count] == NULL) break;
        const uint64_t small = bits(&in, 1);
        steps[count] = (prv_step){mechanisms[count], small < 64    ? small
                                                     : small < 250 ? bits(&in, 2)
                                                                   : bits(&in, 8)};
    }
    const uint64_t way = bits(&in, 1), limits = bits(&in, 1);
    int left = 20 + (int)(limits % 64);
    const prv_options options = {
        .discretization = way % 4 == 3 ? PRV_MEAN_MATCHING : PRV_BRACKETING,
        .engine = (prv_engine)(way / 4 % 3),
        .neighbors = (prv_neighbors)(way / 16 % 3),
        .eps_error = way % 4 == 3 || limits % 4 == 0 ? number(&in) : 0.0,
        .eps_relative_error = limits % 8 == 1 ? number(&in) : 1e-2,
        .eps_floor = 1e-2,
        .delta_error = limits % 8 == 2 ? number(&in) : 1e-6,
        .mesh_size = limits % 16 == 5 ? number(&in) : 0.0,
        .memory_limit = (size_t)1 << (12 + limits % 10),
        .fft = limits % 32 == 7 ? NULL : fft,
        .progress = stop,
        .progress_context = &left,
    };
    double points[2];
    prv_bounds bounds[2];
    prv_report reports[2];
    for (size_t i = 0; i < 2; i++) points[i] = number(&in);
    if (prv_delta(steps, count, &options, points, 2, bounds, reports) == PRV_OK)
        for (size_t i = 0; i < 2; i++)
            if (!in_order(&bounds[i], 1.0)) abort();
    for (size_t i = 0; i < 2; i++) points[i] = fmin(fabs(points[i]), 1.0);
    if (prv_epsilon(steps, count, &options, points, 2, bounds, reports) == PRV_OK)
        for (size_t i = 0; i < 2; i++)
            if (!in_order(&bounds[i], HUGE_VAL)) abort();
    /* The same of a history that was asked before all of it had run. */
    left = 20 + (int)(limits % 64);
    prv_history *history = NULL;
    if (prv_history_new(&history) != PRV_OK) abort();
    if (prv_history_epsilon(history, steps, count / 2, &options, points, 1, bounds, reports) == PRV_OK &&
        !in_order(&bounds[0], HUGE_VAL))
        abort();
    if (prv_history_epsilon(history, steps, count, &options, points, 2, bounds, reports) == PRV_OK)
        for (size_t i = 0; i < 2; i++)
            if (!in_order(&bounds[i], HUGE_VAL)) abort();
    prv_history_free(history);
    for (size_t i = 0; i < count; i++) prv_mechanism_free(mechanisms[i]);
    return 0;
}
