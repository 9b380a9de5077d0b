/* What JavaScript cannot say with numbers alone: the fields of structs. */
#include <emscripten.h>

#include "prvcore.h"

/* Options of a question, valid until the next call; NULL without memory. The provider of transforms is made
 * once and kept, with its plans: a page has one thread that asks. */
EMSCRIPTEN_KEEPALIVE const prv_options *bridge_options(prv_neighbors neighbors, double eps_error,
                                                       double delta_relative_error, double memory_limit)
{
    static prv_fft_provider *provider;
    static prv_options options;
    if (provider == NULL && prv_fft_provider_new(&provider) != PRV_OK) return NULL;
    options = prv_options_default();
    options.neighbors = neighbors;
    options.fft = provider;
    if (eps_error != 0.0) options.eps_error = eps_error;
    if (delta_relative_error >= 0.0) options.delta_relative_error = delta_relative_error;
    if (memory_limit > 0.0) options.memory_limit = (size_t)memory_limit;
    return &options;
}

EMSCRIPTEN_KEEPALIVE size_t bridge_size_of_step(void)
{
    return sizeof(prv_step);
}

EMSCRIPTEN_KEEPALIVE void bridge_set_step(prv_step *steps, size_t i, const prv_mechanism *mechanism,
                                          uint64_t count)
{
    steps[i] = (prv_step){mechanism, count};
}

/* JavaScript reads a calibration as doubles: factor, eps_error, epsilon, next_factor, next_eps_error,
 * next_epsilon. */
_Static_assert(offsetof(prv_calibration, next_epsilon) == 7 * sizeof(double), "no other fields in between");

EMSCRIPTEN_KEEPALIVE size_t bridge_size_of_calibration(void)
{
    return sizeof(prv_calibration);
}

EMSCRIPTEN_KEEPALIVE int bridge_monotone(const prv_calibration *found)
{
    return found->monotone;
}

EMSCRIPTEN_KEEPALIVE size_t bridge_size_of_report(void)
{
    return sizeof(prv_report);
}

EMSCRIPTEN_KEEPALIVE const prv_report *bridge_report(const prv_report *reports, size_t i)
{
    return &reports[i];
}

EMSCRIPTEN_KEEPALIVE int bridge_accurate(const prv_report *report)
{
    return report->accurate;
}

EMSCRIPTEN_KEEPALIVE int bridge_attained(const prv_report *report)
{
    return report->attained;
}

EMSCRIPTEN_KEEPALIVE prv_limit bridge_limit(const prv_report *report)
{
    return report->limit;
}
