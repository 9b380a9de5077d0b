#include "mechanisms/replace_one.h"

#include <stddef.h>

#include "mechanisms/noise.h"

/* Of Gaussian noise on a Poisson sample. */
static prv_status replaced_or_disjoint(const prv_mechanism *m, prv_mechanism **pair)
{
    const prv_status status = prv_mechanism_replaced(m, pair);
    /* Without noise, and always sampled. */
    return status == PRV_OK && *pair == NULL ? prv_mechanism_disjoint(pair) : status;
}

/* Of a truncated Poisson sample: that without truncation as it is, and a sample of fixed size. */
static prv_status choice_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    prv_mechanism *part[2] = {NULL, NULL}, *noise = NULL, *attained = NULL;
    prv_status status = replaced_or_disjoint(m->part[0], &part[0]);
    if (status == PRV_OK) status = prv_mechanism_gaussian(m->scale, &noise);
    const double kept = m->part[1]->sampling_probability;
    if (status == PRV_OK) status = prv_mechanism_subsampled_without_replacement(noise, kept, &part[1]);
    prv_mechanism_free(noise);
    if (status == PRV_OK) status = replaced_or_disjoint(m->attained, &attained);
    return prv_mechanism_choice(status, part, m->part_weight, m->part_error, attained, pair);
}

prv_status prv_mechanism_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    const double p = m->sampling_probability;
    *pair = NULL;
    switch (m->replacement) {
    case PRV_REPLACED_UNKNOWN: return PRV_ERR_NEIGHBORS;
    case PRV_REPLACED_ALIKE: return PRV_OK;
    case PRV_REPLACED_TWICE: {
        if (m->base != PRV_BASE_ATOMS) {
            const prv_status status = prv_mechanism_additive(m->base, 2.0 * m->mu, pair);
            /* What the scale is off by counts twice in mu, and twice in the losses that densities are off by.
             */
            if (status == PRV_OK) (*pair)->weight_error = 4.0 * m->weight_error;
            return status;
        }
        const int64_t once = m->integer_sensitivity, twice = once <= INT64_MAX / 2 ? 2 * once : INT64_MAX;
        return prv_mechanism_discrete_noise(m->noise, m->scale, twice, pair);
    }
    case PRV_REPLACED_MIRRORED: {
        const double centers[2] = {0.0, m->mu}, weights[2] = {1.0 - p, p};
        const prv_status status = prv_mechanism_of_mixture(centers, weights, 2, 1, pair);
        if (status == PRV_OK) (*pair)->weight_error = m->weight_error;
        return status;
    }
    case PRV_REPLACED_SEEN: {
        const prv_status status = prv_mechanism_approximate_dp(0.0, p, pair);
        return status;
    }
    case PRV_REPLACED_CHOICE: return choice_replaced(m, pair);
    }
    return PRV_ERR_NEIGHBORS;
}

prv_status prv_mechanism_check_neighbors(const prv_mechanism *m, prv_neighbors neighbors)
{
    const int replaced = neighbors == PRV_REPLACE_ONE;
    const int known = replaced ? m->replacement != PRV_REPLACED_UNKNOWN : !m->replaced_only;
    return known ? PRV_OK : PRV_ERR_NEIGHBORS;
}

prv_status prv_check_steps(const prv_step *steps, size_t step_count, prv_neighbors neighbors)
{
    uint64_t group_size = 0; /* of those before */
    for (size_t j = 0; j < step_count; j++) {
        const prv_mechanism *m = steps[j].mechanism;
        if (steps[j].count == 0) continue;
        const prv_status status = prv_mechanism_check_neighbors(m, neighbors);
        if (status != PRV_OK) return status;
        if (group_size > 0 && m->group_size != group_size) return PRV_ERR_GROUPS;
        group_size = m->group_size;
    }
    return PRV_OK;
}
