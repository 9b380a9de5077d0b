/* Threads that share a mechanism and a provider. */
#include <pthread.h>

#include "prvcore.h"

#include "asking.h"

typedef struct asker {
    const prv_mechanism *mechanism;
    prv_bounds bounds[2];
} asker;

/* By transforms, and by the spectrum. */
static void *ask_both(void *argument)
{
    asker *a = argument;
    const prv_step step = {a->mechanism, 40};
    const double delta = 1e-6;
    prv_options o = options_of(1e-2);
    for (int i = 0; i < 2; i++) {
        o.engine = i == 0 ? PRV_ENGINE_CONVOLUTION : PRV_ENGINE_SPECTRUM;
        if (prv_epsilon(&step, 1, &o, &delta, 1, &a->bounds[i], NULL) != PRV_OK) abort();
    }
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 4 };
    prv_mechanism *m = subsampled(1.0, 0.02);
    pthread_t ids[THREADS];
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        askers[i].mechanism = m;
        if (pthread_create(&ids[i], NULL, ask_both, &askers[i]) != 0) abort();
    }
    int same = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        same = same && memcmp(askers[i].bounds, askers[0].bounds, sizeof askers[0].bounds) == 0;
    }
    check(same, "%d threads that share a mechanism and a provider have the same bits", THREADS);
    prv_mechanism_free(m);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    threads();
    prv_fft_provider_free(provider);
    return summary();
}
