/* Gaussian noise on the batches of shuffled records, by the pair that two data sets have: it is for lower
 * bounds alone, and dominates nothing. prvcore.h has the constructor, PAIRS.md the proof. */
#include <math.h>

#include "base/arithmetic.h"
#include "mechanisms/largest.h"
#include "mechanisms/noise.h"

/* Of the largest output. */
enum { SLICES = 6000 };

static prv_status make_shuffled_from_below(double noise_multiplier, uint64_t batches, int replaced,
                                           prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(noise_multiplier >= 0.0 && isfinite(noise_multiplier))) return PRV_ERR_NOISE_MULTIPLIER;
    if (!prv_is_size(batches)) return PRV_ERR_BATCHES;
    if (noise_multiplier == 0.0)
        return prv_mechanism_gaussian(0.0, mechanism); /* no noise hides the record */
    double mu;
    if (!prv_separation(1.0, noise_multiplier, &mu)) return PRV_ERR_NOISE_MULTIPLIER;
    const long double mean = 2.0L * (long double)mu;
    const prv_variables with = {mean, 1, batches - 1},
                        without = {replaced ? 0.0L : 0.5L * mean, 1, batches - 1};
    return prv_mechanism_largest(&with, &without, SLICES, mechanism);
}

prv_status prv_mechanism_shuffled_from_below(double noise_multiplier, uint64_t batches, int replaced,
                                             prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_SHUFFLED_FROM_BELOW,
        .noise = noise_multiplier,
        .batches = batches,
        .replaced = replaced != 0,
    };
    return prv_described(make_shuffled_from_below(noise_multiplier, batches, replaced, mechanism), &made,
                         mechanism);
}
