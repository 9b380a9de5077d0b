#include "mechanisms/fixed_size_group.h"

#include <math.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/binomial.h"
#include "numerics/rounding.h"
#include "mechanisms/origin.h"
#include "mechanisms/subsampled.h"

/* Gaussian noise on a sample of `drawn` records, of which so many as are of the group take the places of
 * others: each moves the sum by twice the sensitivity. A probability is a product of one ratio for each
 * member, of 5 roundings, and is divided by the sum of all: less than 8 (n + 1) PRV_LONG_EPSILON of itself.
 * prv_gaussian_mixture_error counts the rounding to double. */
static prv_status group_gaussian(double noise_multiplier, uint64_t dataset_size, uint64_t drawn,
                                 uint64_t group_size, prv_mechanism **mechanism)
{
    const size_t most = (size_t)(drawn < group_size ? drawn : group_size), length = most + 1;
    double *components = prv_allocate(2 * length, sizeof *components);
    if (components == NULL) return PRV_ERR_MEMORY;
    const bool complete = prv_hypergeometric_probabilities(dataset_size, group_size, drawn,
                                                           components + length);
    const prv_status status = prv_group_mixture(noise_multiplier, components, length, 2.0, complete,
                                                mechanism);
    prv_release(components);
    if (status != PRV_OK) return status;
    prv_mechanism *m = *mechanism;
    m->density_error = 8.0 * (double)(length + 1) * PRV_LONG_EPSILON;
    m->scale = noise_multiplier;
    m->group_size = group_size;
    m->dataset_size = dataset_size;
    m->batch_size = drawn;
    return prv_with_replacement(status, PRV_REPLACED_UNKNOWN, mechanism);
}

static prv_status make(double noise_multiplier, uint64_t dataset_size, uint64_t batch_size,
                       uint64_t group_size, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (group_size < 2 || group_size >= PRV_MAX_COMPONENTS) return PRV_ERR_COMPONENTS;
    if (!prv_is_size(dataset_size) || !prv_is_size(batch_size)) return PRV_ERR_BATCHES;
    if (dataset_size < group_size || dataset_size - group_size < batch_size) return PRV_ERR_BATCHES;
    return group_gaussian(noise_multiplier, dataset_size, batch_size, group_size, mechanism);
}

prv_status prv_mechanism_fixed_size_group_gaussian(double noise_multiplier, uint64_t dataset_size,
                                                   uint64_t batch_size, uint64_t group_size,
                                                   prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_FIXED_SIZE_GROUP_GAUSSIAN,
        .noise = noise_multiplier,
        .dataset_size = dataset_size,
        .batch_size = batch_size,
        .group_size = group_size,
    };
    return prv_described(make(noise_multiplier, dataset_size, batch_size, group_size, mechanism), &made,
                         mechanism);
}

prv_status prv_fixed_size_group_scaled(const prv_mechanism *m, double noise_factor, prv_mechanism **mechanism)
{
    return group_gaussian(m->scale * noise_factor, m->dataset_size, m->batch_size, m->group_size, mechanism);
}
