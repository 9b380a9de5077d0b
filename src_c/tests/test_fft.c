/* The transforms of every provider against the contract of prvcore.h: errors, threads, allocations. */
#include <pthread.h>

#include "prvcore.h"

#include "base/allocate.h"

#include "check.h"
#include "planners.h"
#include "pool.h"
#include "transforms.h"

#define UNIT (0.5 * DBL_EPSILON)

static const size_t lengths[] = {1,   2,   3,   4,    5,    6,    7,    8,    9,    10,  12,  14,  15,
                                 16,  18,  20,  21,   25,   27,   28,   30,   35,   36,  42,  45,  49,
                                 60,  63,  64,  70,   75,   81,   105,  128,  175,  192, 243, 245, 256,
                                 315, 320, 576, 1024, 1225, 1575, 2187, 2450, 3840, 4375};

typedef struct buffers {
    size_t length;
    double *values, *in, *spectrum, *out;
    double *exact; /* the spectrum by definition, in long double */
} buffers;

static double *numbers(size_t n)
{
    double *x = prv_allocate(n, sizeof *x);
    if (x == NULL) abort();
    return x;
}

static buffers buffers_new(size_t n)
{
    const buffers b = {
        n, numbers(n), numbers(n), numbers(2 * (n / 2 + 1)), numbers(n), numbers(2 * (n / 2 + 1))};
    return b;
}

static void buffers_free(buffers *b)
{
    prv_release(b->values);
    prv_release(b->in);
    prv_release(b->spectrum);
    prv_release(b->out);
    prv_release(b->exact);
}

/* Forward, against the definition: the L2 error, and that of each output, in units of what prvcore.h allows;
 * then back. */
static void measure(prv_fft *fft, buffers *b, double *l2, double *each, double *back)
{
    const size_t n = b->length;
    const double allowed = 7.0 * UNIT * log2((double)n);
    size_t length = n;
    memcpy(b->in, b->values, n * sizeof *b->in);
    fft->forward(fft->forward_plan, b->in, b->spectrum);
    naive_forward(&length, b->values, b->exact);
    double square = 0.0, error = 0.0, largest = 0.0, sum = 0.0, values = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs(b->values[i]);
        values += b->values[i] * b->values[i];
    }
    for (size_t j = 0; j <= n / 2; j++) {
        const double twice = j == 0 || 2 * j == n ? 1.0 : 2.0;
        const double re = b->spectrum[2 * j] - b->exact[2 * j],
                     im = b->spectrum[2 * j + 1] - b->exact[2 * j + 1];
        square += twice * (b->exact[2 * j] * b->exact[2 * j] + b->exact[2 * j + 1] * b->exact[2 * j + 1]);
        error += twice * (re * re + im * im);
        largest = fmax(largest, hypot(re, im));
    }
    /* The reference is rounded too: half a unit. */
    *l2 = sqrt(error / square) / (allowed + UNIT);
    *each = largest / ((allowed + UNIT) * sum);
    /* Back from the rounded exact spectrum. */
    memcpy(b->spectrum, b->exact, 2 * (n / 2 + 1) * sizeof *b->exact);
    fft->inverse(fft->inverse_plan, b->spectrum, b->out);
    error = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double d = b->out[i] / (double)n - b->values[i];
        error += d * d;
    }
    *back = sqrt(error / values) / (allowed + 2.0 * UNIT);
}

static void accuracy(const prv_planner *planner)
{
    prv_fft_provider *p = NULL;
    if (prv_provider_new(planner, &p) != PRV_OK) abort();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t n = lengths[i];
        prv_fft fft;
        const prv_status status = p->plan(p->context, n, &fft);
        if (!check(status == PRV_OK && fft.length == n, "%s: length %zu: %s", planner->name, n,
                   prv_status_message(status)))
            continue;
        buffers b = buffers_new(n);
        double worst = 0.0;
        for (int kind = 0; kind < 4; kind++) {
            /* An atom, masses of one sign over many orders, noise of both signs, a wave. */
            for (size_t j = 0; j < n; j++)
                b.values[j] = kind == 0   ? (j == n / 3 ? 1.0 : 0.0)
                              : kind == 1 ? log_uniform(1e-12, 1.0)
                              : kind == 2 ? uniform(-1.0, 1.0)
                                          : cos(6.28 * (double)(j * (n / 5 + 1) % n) / (double)n);
            double l2, each, back;
            measure(&fft, &b, &l2, &each, &back);
            worst = fmax(worst, fmax(l2, fmax(each, back)));
        }
        check(worst <= 1.0, "... errors are %.2f of what is allowed", worst);
        buffers_free(&b);
    }
    prv_fft fft;
    check(p->plan(p->context, 0, &fft) == PRV_ERR_FFT, "%s: length 0 is refused", planner->name);
    if (planner == &prv_portable_planner)
        check(p->plan(p->context, 11 * 64, &fft) == PRV_ERR_FFT, "%s: a length with the factor 11 is refused",
              planner->name);
    prv_fft_provider_free(p);
    prv_fft_provider_free(NULL);
}

/* A long one, for which the definition is too slow: back and forth, and by its energy. */
static void long_transforms(const prv_planner *planner)
{
    static const size_t odd_and_even[] = {3 * 5 * 7 * 2187, 15 << 14};
    prv_fft_provider *p = NULL;
    if (prv_provider_new(planner, &p) != PRV_OK) abort();
    for (size_t i = 0; i < 2; i++) {
        const size_t n = odd_and_even[i];
        prv_fft fft;
        if (p->plan(p->context, n, &fft) != PRV_OK) abort();
        buffers b = buffers_new(n);
        double energy = 0.0, spectral = 0.0, error = 0.0;
        for (size_t j = 0; j < n; j++) {
            b.in[j] = b.values[j] = uniform(-1.0, 1.0);
            energy += b.values[j] * b.values[j];
        }
        fft.forward(fft.forward_plan, b.in, b.spectrum);
        for (size_t j = 0; j <= n / 2; j++)
            spectral += (j == 0 || 2 * j == n ? 1.0 : 2.0) * (b.spectrum[2 * j] * b.spectrum[2 * j] +
                                                              b.spectrum[2 * j + 1] * b.spectrum[2 * j + 1]);
        fft.inverse(fft.inverse_plan, b.spectrum, b.out);
        for (size_t j = 0; j < n; j++) error += pow(b.out[j] / (double)n - b.values[j], 2.0);
        const double allowed = 7.0 * UNIT * log2((double)n);
        check(fabs(spectral / (energy * (double)n) - 1.0) <= 2.0 * allowed + 1e-13,
              "%s: energy of length %zu", planner->name, n);
        check(sqrt(error / energy) <= 2.0 * allowed, "... back and forth: %.2f of what is allowed",
              sqrt(error / energy) / (2.0 * allowed));
        buffers_free(&b);
    }
    prv_fft_provider_free(p);
}

/* ---- Threads ------------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 6

typedef struct worker {
    prv_fft_provider *provider;
    uint64_t sum; /* of the bits of all results */
} worker;

/* Plans and transforms the same lengths as all other threads, at the same time. */
static void *work(void *argument)
{
    worker *w = argument;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            prv_fft fft;
            if (w->provider->plan(w->provider->context, lengths[i], &fft) != PRV_OK) abort();
            buffers b = buffers_new(lengths[i]);
            for (size_t j = 0; j < lengths[i]; j++)
                b.in[j] = 1.0 / (double)(1 + (j * j + (size_t)round) % 31);
            fft.forward(fft.forward_plan, b.in, b.spectrum);
            fft.inverse(fft.inverse_plan, b.spectrum, b.out);
            for (size_t j = 0; j < lengths[i]; j++) {
                uint64_t bits;
                memcpy(&bits, &b.out[j], sizeof bits);
                w->sum = w->sum * 31 + bits;
            }
            buffers_free(&b);
        }
    return NULL;
}

static void threads(const prv_planner *planner)
{
    /* Two providers: FFTW's planner is one for the process. */
    prv_fft_provider *p[2] = {NULL, NULL};
    if (prv_provider_new(planner, &p[0]) != PRV_OK || prv_provider_new(planner, &p[1]) != PRV_OK) abort();
    worker workers[THREADS];
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){p[i % 2], 0};
        if (pthread_create(&ids[i], NULL, work, &workers[i]) != 0) abort();
    }
    int same = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        same = same && workers[i].sum == workers[0].sum;
    }
    check(same, "%s: %d threads on two providers have the same bits", planner->name, THREADS);
    prv_fft_provider_free(p[0]);
    prv_fft_provider_free(p[1]);
}

/* ---- Allocations --------------------------------------------------------------------------------- */

static void allocations(const prv_planner *planner)
{
    int wrong = 0, n = 0;
    pool memory = {0};
    const prv_allocator before = prv_use_allocator(allocator_of(&memory));
    for (; n < 1000; n++) {
        memory.left = n;
        prv_fft_provider *p = NULL;
        prv_fft fft;
        prv_status status = prv_provider_new(planner, &p);
        if (status == PRV_OK) status = p->plan(p->context, 2 * 3 * 4 * 5 * 7, &fft);
        memory.left = -1;
        /* After a failure the provider still works. */
        if (status != PRV_OK && p != NULL && p->plan(p->context, 64, &fft) != PRV_OK) wrong++;
        prv_fft_provider_free(p);
        wrong += memory.live != 0;
        if (status == PRV_OK) break;
        wrong += status != PRV_ERR_MEMORY;
    }
    prv_use_allocator(before);
    check(n >= 2 && n < 1000 && wrong == 0, "%s: fails properly at each of %d allocations (%d not)",
          planner->name, n, wrong);
}

int main(void)
{
    for (size_t i = 0; i < PLANNER_COUNT; i++) {
        accuracy(planners[i]);
        long_transforms(planners[i]);
        threads(planners[i]);
        allocations(planners[i]);
    }
    return summary();
}
