#include "prvcore.h"

const char *prv_status_message(prv_status status)
{
    switch (status) {
    case PRV_OK: return "no error";
    case PRV_ERR_MEMORY: return "out of memory";
    case PRV_ERR_INTERRUPTED: return "interrupted";
    case PRV_ERR_NOISE_MULTIPLIER: return "noise_multiplier must be finite, and 0 or in (1e-150, 4e307)";
    case PRV_ERR_SCALE:
        return "scale must be finite, and 0 (but for discrete mechanisms) or in (1e-150, 4e307) sensitivities";
    case PRV_ERR_SENSITIVITY:
        return "sensitivity must be finite and > 0 (an integer >= 1 for discrete mechanisms)";
    case PRV_ERR_SAMPLING_PROBABILITY:
        return "sampling_probability must be 0 or in [2^-1022, 1], and so must the product where a sample is sampled";
    case PRV_ERR_EPSILON:
        return "epsilon must not be nan, and >= 0 where it is a parameter (of a bounded range, below 1e150)";
    case PRV_ERR_DELTA: return "delta must be in [0, 1]";
    case PRV_ERR_RATE: return "a false positive rate must be in [0, 1]";
    case PRV_ERR_PRIOR: return "a prior must be in [0, 1], and in (0, 1) in a calibration";
    case PRV_ERR_RISK:
        return "the target of a risk must be one of its values: mu finite and >= 0, all others in [0, 1]";
    case PRV_ERR_TABLE: return "losses must be finite and strictly increasing, probabilities finite and >= 0";
    case PRV_ERR_TABLE_SUM: return "probabilities and mass_at_infinity must sum to 1 within 1e-9";
    case PRV_ERR_TABLE_REVERSE:
        return "the sum of probability * exp(-loss) must not exceed 1: no pair has this loss";
    case PRV_ERR_CALLBACK: return "a callback of the mechanism failed";
    case PRV_ERR_CDF: return "a cdf must be non-decreasing and in [0, 1]";
    case PRV_ERR_CDF_PAIR:
        return "the two cdfs belong to no pair: dP must be exp(-loss) dQ between any two losses";
    case PRV_ERR_CURVE: return "a privacy curve must be in [0, 1], non-increasing and convex in exp(epsilon)";
    case PRV_ERR_SUPPORT: return "a discrete mechanism must have at most 2^24 atoms: scale is too large";
    case PRV_ERR_COUNT: return "counts must add up to at most 2^53";
    case PRV_ERR_OPTIONS:
        return "an option is outside its range, which prv_options_fault names, or this question does not take it";
    case PRV_ERR_FFT: return "no transform of the length needed could be planned";
    case PRV_ERR_MEMORY_LIMIT:
        return "what the mesh_size or the width asked needs is above the memory limit: raise them, or the limit";
    case PRV_ERR_PRECISION:
        return "rounding is larger than the delta asked: use the bracketing discretization";
    case PRV_ERR_DISCRETIZATION:
        return "the mean of the loss is not known of a privacy curve, or of mechanisms that are made of others: use the "
               "bracketing discretization";
    case PRV_ERR_ENGINE: return "the spectrum falls too slowly for this question: let the engine be chosen";
    case PRV_ERR_PARAMETER: return "no mechanism has the parameter, or its factor is negative or not finite";
    case PRV_ERR_TOLERANCE: return "tolerance must be in [1e-9, 0.1]";
    case PRV_ERR_TARGET: return "no value of the parameter meets the target of the calibration";
    case PRV_ERR_COMPONENTS:
        return "a mixture must have at most 2^12 components, sensitivities that are 0 or from 2^-1022 to 1e150 "
               "times the noise, and probabilities that are 0 or from 2^-1022 on and sum to 1 within 1e-9";
    case PRV_ERR_BATCHES:
        return "sizes of data sets and batches, and numbers of batches, must be in [1, 2^32]";
    case PRV_ERR_NEIGHBORS: return "no dominating pair of this mechanism is known for these neighbors";
    case PRV_ERR_ORDER: return "the order of a Renyi divergence must be in (1, 1e6]";
    case PRV_ERR_MOMENTS:
        return "a mechanism given by functions has no bounds of Renyi divergences: nothing is known of its tails";
    case PRV_ERR_GROUPS:
        return "the neighbors of all mechanisms that are composed must differ by one record, or by groups of one size";
    case PRV_ERR_ARITHMETIC:
        return "this thread does not round to nearest, flushes subnormal numbers to 0, or cuts long double: bounds would "
               "not hold; call fesetround(FE_TONEAREST), switch flush-to-zero (FTZ, DAZ) off, or ask in a thread "
               "made before a library built with -ffast-math switched it on";
    case PRV_ERR_PART:
        return "mechanisms for groups of records, bounded ranges, truncated samples, samples of fixed size, noise "
               "that is not symmetric, and what bounds from above alone, cannot be parts of other mechanisms";
    case PRV_ERR_COMBINED: return "this is not known of mechanisms that are made of others";
    case PRV_ERR_FIXED_COUNT: return "fixed_count is greater than the number of steps";
    case PRV_ERR_JSON:
        return "the text is no JSON of a schedule or of an accountant: fault says at which byte";
    case PRV_ERR_NO_JSON:
        return "a mechanism given by functions, for shuffled batches, scaled, or nested more than 64 deep has no JSON, "
               "and neither has PRV_ENGINE_FIRST";
    case PRV_ERR_GROUP:
        return "a sample without a member of the group must have at least the probability 2^-900: the group or the "
               "sampling probability is too large";
    case PRV_ERR_BOUNDS:
        return "an internal check failed, as of a lower bound above an upper bound: this is a fault of prvcore, "
               "please report it";
    case PRV_STATUS_COUNT: break;
    }
    return "unknown status";
}
