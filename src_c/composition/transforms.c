#include "composition/transforms.h"

#include <string.h>

#include "base/allocate.h"

/* ---- Lengths ------------------------------------------------------------------------------ */

/* In both, 64 bits on every machine: factors are multiplied past the limit. */

static uint64_t odd_length(double wanted, uint64_t limit)
{
    uint64_t best = 0;
    for (uint64_t five = 1; five <= limit; five *= 5)
        for (uint64_t three = five; three <= limit; three *= 3)
            for (uint64_t n = three, sevens = 0; sevens < 3 && n <= limit; sevens++, n *= 7)
                if ((double)n >= wanted && (best == 0 || n < best)) best = n;
    return best;
}

/* 2^a and 3 2^a alone: planning a length for the first time costs more than a longer transform. */
static uint64_t even_length(double wanted, uint64_t limit)
{
    static const uint64_t odd_parts[] = {1, 3};
    uint64_t best = 0;
    for (size_t i = 0; i < sizeof odd_parts / sizeof *odd_parts; i++)
        for (uint64_t n = 64 * odd_parts[i]; n <= limit; n *= 2)
            if ((double)n >= wanted) {
                if (best == 0 || n < best) best = n;
                break;
            }
    return best;
}

size_t prv_transform_length(double wanted, bool odd)
{
    const uint64_t limit = PRV_LONGEST_TRANSFORM;
    if (!(wanted <= (double)limit)) return 0;
    return (size_t)(odd ? odd_length(wanted, limit) : even_length(wanted, limit));
}

/* ---- Plans -------------------------------------------------------------------------------- */

prv_status prv_plan_fft(const prv_options *options, size_t length, prv_fft *fft)
{
    if (options->fft == NULL) return PRV_ERR_FFT;
    const prv_status status = options->fft->plan(options->fft->context, length, fft);
    if (status == PRV_ERR_MEMORY) return status;
    return status == PRV_OK && fft->length == length ? PRV_OK : PRV_ERR_FFT;
}

/* ---- Workspace ---------------------------------------------------------------------------- */

double prv_workspace_bytes(double length, size_t steps)
{
    return (steps > 1 ? 3.0 : 2.0) * sizeof(double) * (length + 2.0);
}

prv_status prv_workspace_new(size_t length, size_t steps, size_t longest, prv_workspace *work)
{
    memset(work, 0, sizeof *work);
    if (length == 0) return PRV_ERR_MEMORY_LIMIT; /* prv_transform_length found none */
    const bool has_product = steps > 1;
    work->length = length;
    work->real = prv_allocate(length + 2, sizeof(double));
    work->spectrum = prv_allocate(length + 2, sizeof(double));
    work->weight = prv_allocate(longest, sizeof(double));
    if (has_product) work->product = prv_allocate(length + 2, sizeof(double));
    if (work->real != NULL && work->spectrum != NULL && work->weight != NULL &&
        (!has_product || work->product != NULL))
        return PRV_OK;
    prv_workspace_free(work);
    return PRV_ERR_MEMORY;
}

void prv_workspace_free(prv_workspace *work)
{
    prv_release(work->real);
    prv_release(work->spectrum);
    prv_release(work->product);
    prv_release(work->weight);
    memset(work, 0, sizeof *work);
}
