#include "mechanisms/replace_one.h"

#include <math.h>
#include <stddef.h>

#include "numerics/rounding.h"
#include "mechanisms/combined.h"
#include "mechanisms/noise.h"
#include "mechanisms/scaling.h"

/* The pair of Gaussian noise on a Poisson sample. */
static prv_status replaced_or_disjoint(const prv_mechanism *m, prv_mechanism **pair)
{
    const prv_status status = prv_mechanism_replaced(m, pair);
    /* Without noise, and always sampled, the mechanism itself is the pair, which shares no outcome. */
    return status == PRV_OK && *pair == NULL ? prv_mechanism_disjoint(pair) : status;
}

/* The pair of a truncated Poisson sample: the part that is not truncated is a Poisson sample, and the other
 * part a sample of fixed size. */
static prv_status choice_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    prv_mechanism *part[2] = {NULL, NULL}, *noise = NULL, *attained = NULL;
    const double kept = m->part[1]->sampling_probability;
    prv_status status = replaced_or_disjoint(m->part[0], &part[0]);
    if (status != PRV_OK) goto done;
    status = prv_mechanism_gaussian(m->scale, &noise);
    if (status != PRV_OK) goto done;
    status = prv_mechanism_subsampled_without_replacement(noise, kept, &part[1]);
    if (status != PRV_OK) goto done;
    status = replaced_or_disjoint(m->attained, &attained);
done: /* prv_mechanism_choice frees the parts on errors */
    prv_mechanism_free(noise);
    return prv_mechanism_choice(status, part, m->part_weight, m->part_weight_error, attained, pair);
}

/* The pair of Lemma 2 of PAIRS.md: that of a sample of fixed size, whose probability is rounded up. Two data
 * sets have that of a removed record, if the one in its place contributes nothing. */
static prv_status folded_sample(const prv_mechanism *m, prv_mechanism **pair)
{
    prv_mechanism *base = NULL, *attained = NULL;
    const double p = m->sampling_probability;
    prv_status status = prv_mechanism_unsampled(m, 1.0, &base);
    if (status != PRV_OK) return status;
    status = prv_mechanism_subsampled_without_replacement(
        base, m->sampling_rest > 0.0 ? fmin(prv_above(p), 1.0) : p, pair);
    prv_mechanism_free(base);
    if (status != PRV_OK) return status;
    status = prv_mechanism_copy(m, &attained);
    if (status != PRV_OK) {
        prv_mechanism_free(*pair);
        return status;
    }
    prv_mechanism_free((*pair)->attained);
    (*pair)->attained = attained;
    (*pair)->never_attained = m->noise != PRV_NOISE_NONE;
    return PRV_OK;
}

prv_status prv_mechanism_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    const double p = m->sampling_probability;
    *pair = NULL;
    switch (m->replacement) {
    case PRV_REPLACED_UNKNOWN: return PRV_ERR_NEIGHBORS;
    case PRV_REPLACED_STATED:
    case PRV_REPLACED_ALIKE: return PRV_OK;
    case PRV_REPLACED_TWICE: {
        if (m->base != PRV_BASE_ATOMS) {
            const prv_status status = prv_mechanism_additive(m->base, 2.0 * m->mu, pair);
            if (status != PRV_OK) return status;
            /* An error of the scale counts twice in mu, and twice in the error of the losses. */
            (*pair)->density_error = 4.0 * m->density_error;
            return PRV_OK;
        }
        const int64_t once = m->integer_sensitivity, twice = once <= INT64_MAX / 2 ? 2 * once : INT64_MAX;
        return prv_mechanism_discrete_noise(m->noise, m->scale, twice, pair);
    }
    case PRV_REPLACED_MIRRORED: {
        const double centers[2] = {0.0, m->mu}, weights[2] = {1.0 - p, p};
        const prv_status status = prv_mechanism_of_mixture(centers, weights, 2, true, pair);
        if (status != PRV_OK) return status;
        (*pair)->density_error = m->density_error;
        prv_keep_cut(m, *pair);
        return PRV_OK;
    }
    case PRV_REPLACED_SEEN: return prv_mechanism_approximate_dp(0.0, p, pair);
    case PRV_REPLACED_CHOICE: return choice_replaced(m, pair);
    case PRV_REPLACED_PARTS: return prv_combined_replaced(m, pair);
    case PRV_REPLACED_FOLDED:
        return m->base == PRV_BASE_COMBINED ? prv_combined_replaced(m, pair) : folded_sample(m, pair);
    }
    return PRV_ERR_NEIGHBORS;
}

prv_status prv_mechanism_check_neighbors(const prv_mechanism *m, prv_neighbors neighbors)
{
    const bool replaced = neighbors == PRV_REPLACE_ONE;
    const bool known = replaced ? m->replacement != PRV_REPLACED_UNKNOWN : !m->replaced_only;
    return known ? PRV_OK : PRV_ERR_NEIGHBORS;
}

prv_status prv_check_steps(const prv_step *steps, size_t step_count, prv_neighbors neighbors)
{
    uint64_t group_size = 0; /* of the steps so far; 0 before the first */
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
