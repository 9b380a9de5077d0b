/* Gaussian noise on a Poisson sample that is truncated to a maximum size: prvcore.h has the constructor,
 * PAIRS.md the proof. */
#include <float.h>
#include <math.h>

#include "base/arithmetic.h"
#include "numerics/binomial.h"
#include "numerics/rounding.h"
#include "mechanisms/mechanism.h"

static prv_status sampled_gaussian(double noise_multiplier, double p, prv_mechanism **mechanism)
{
    prv_mechanism *base = NULL;
    prv_status status = prv_mechanism_gaussian(noise_multiplier, &base);
    if (status != PRV_OK) return status;
    status = prv_mechanism_poisson_subsampled(base, p, mechanism);
    prv_mechanism_free(base);
    return status;
}

/* What is known of batches that are hardly ever cut. In one that is, the record is kept with a probability of
 * p E[B / (K + 1)], B <= K, which is below p. */
static void cut_rarely(uint64_t dataset_size, uint64_t maximum_batch_size, prv_mechanism *m)
{
    if (m->base != PRV_BASE_GAUSSIAN || m->sampling_probability == 1.0) return;
    m->cut_log_probability = prv_log_binomial_tail_above(dataset_size - 1, m->sampling_probability,
                                                         maximum_batch_size);
    m->cut_sampling_probability = m->sampling_probability;
}

static prv_status make_truncated_poisson_gaussian(double noise_multiplier, double p, uint64_t dataset_size,
                                                  uint64_t maximum_batch_size, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(p >= 0.0 && p <= 1.0)) return PRV_ERR_SAMPLING_PROBABILITY;
    if (!prv_is_size(dataset_size) || !prv_is_size(maximum_batch_size)) return PRV_ERR_BATCHES;
    const double most = (double)maximum_batch_size, n = (double)dataset_size;
    /* full.from: the other records alone fill the batch. fuller.from: with this record, more are drawn than
     * are kept. */
    const prv_binomial_tails full = prv_binomial_tails_at(dataset_size - 1, p, maximum_batch_size);
    const prv_binomial_tails fuller = prv_binomial_tails_at(dataset_size, p, maximum_batch_size + 1);
    if (!(full.from >= DBL_MIN && fuller.from >= DBL_MIN)) {
        const prv_status status = sampled_gaussian(noise_multiplier, p, mechanism);
        if (status == PRV_OK && maximum_batch_size < dataset_size)
            cut_rarely(dataset_size, maximum_batch_size, *mechanism);
        return status;
    }
    const double error = 2.0 * (full.error + fuller.error) + 8.0 * PRV_UNIT;
    /* The probability that the record is kept in a full batch, rounded up: a record that is kept more often
     * is less private. 1 - kept, which decides the losses of 'add', has no bound of its relative error if it
     * is small. */
    const double kept = fmin(most * fuller.from / (n * full.from) * (1.0 + error), 1.0);

    prv_mechanism *part[2] = {NULL, NULL};
    prv_mechanism *attained = NULL;
    /* Batches that are hardly ever full have the greatest losses in 'add', and may decide a moment: their
     * weight is never 0, but if all records are drawn. */
    const double weights[2] = {p < 1.0 ? fmax(full.below, DBL_MIN) : full.below, full.from};
    /* If all other records are 0, the output depends on how often this record is kept, and on nothing else.
     * The probability is rounded down, to less privacy loss. */
    const double seen = (p * full.below + most * fuller.from / n) * (1.0 - error);
    prv_status status = sampled_gaussian(noise_multiplier, p, &part[0]);
    if (status != PRV_OK) goto done;
    status = sampled_gaussian(0.5 * noise_multiplier, kept, &part[1]);
    if (status != PRV_OK) goto done;
    status = sampled_gaussian(noise_multiplier, seen, &attained);
done:
    /* Frees its parts on errors. */
    status = prv_mechanism_choice(status, part, weights, error, attained, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->scale = noise_multiplier;
    (*mechanism)->replacement = PRV_REPLACED_CHOICE;
    return PRV_OK;
}

prv_status prv_mechanism_truncated_poisson_gaussian(double noise_multiplier, double p, uint64_t dataset_size,
                                                    uint64_t maximum_batch_size, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_TRUNCATED_POISSON_GAUSSIAN,
        .noise = noise_multiplier,
        .sampling_probability = p,
        .dataset_size = dataset_size,
        .maximum_batch_size = maximum_batch_size,
    };
    return prv_described(
        make_truncated_poisson_gaussian(noise_multiplier, p, dataset_size, maximum_batch_size, mechanism),
        &made, mechanism);
}
