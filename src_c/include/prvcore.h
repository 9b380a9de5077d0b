/* prvcore: certified numerical composition of privacy losses.
 *
 * A mechanism on two neighbouring data sets has output distributions P and Q; its privacy loss is
 * Y = log(dQ/dP)(w) with w drawn from Q, and its privacy curve is
 *     delta(eps) = sup_S Q(S) - e^eps P(S) = E[(1 - e^(eps - Y))_+].
 * Losses of mechanisms run one after another add up. This library bounds delta at an epsilon, and
 * epsilon at a delta, from both sides.
 *
 * How to use it: describe each mechanism once (prv_mechanism_...), put the mechanisms and their
 * counts into an array of prv_step, fill a prv_options, ask prv_epsilon, prv_delta, prv_power,
 * prv_gaussian_mu or prv_renyi_divergence. prv_calibrate chooses noise, sampling or steps for a target.
 *
 * What holds of every function, unless it says otherwise:
 *   results    come through the last pointers and mean something only on PRV_OK; every array is the caller's,
 * its length is stated ownership  what a constructor allocates is freed by the function whose name ends in
 * _free; nothing that is passed is kept but contexts of callbacks, which must outlive the mechanism threads
 * any function may run in any thread, several at once, on shared mechanisms and options too: neither is ever
 * modified. prv_mechanism_free alone must be the last that uses its mechanism. There is no global state; the
 * allocator of a thread (prv_use_allocator) is its own pointers   not NULL where something is read or written
 * through them: NULL is fine for arrays of length 0, and where it is said failure    a prv_status, one code
 * for each rule; nothing is printed, and no function ends the process or throws callbacks  return: they
 * neither throw nor jump through this library. Those of mechanisms and progress may call it rounding   must
 * be to nearest in the thread that calls, with subnormal numbers kept and the extended precision of x86
 *              whole; else whatever computes returns PRV_ERR_ARITHMETIC, also where a callback has changed
 * it. Programs and libraries that are linked with -ffast-math flush subnormal numbers on some platforms, in
 * the thread that loads them and those that it makes Only nats: losses and epsilons are natural logarithms.
 * C99, and C++ from C++11 on.
 *
 * Sources: Gopi, Lee, Wutschitz, "Numerical Composition of Differential Privacy", NeurIPS 2021,
 * arXiv:2106.02848 ("the paper" below); Doroshenko et al., "Connect the Dots", PETS 2022,
 * arXiv:2207.04380; Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic
 * Function", AISTATS 2022, arXiv:2106.08567. */
#ifndef PRVCORE_H
#define PRVCORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PRV_VERSION "0.1.0"

/* Marks what a shared library exports. CMake defines PRV_BUILD_SHARED while it builds one, and PRV_SHARED for
 * those who link it, which matters on Windows alone. */
#if defined(_WIN32) && defined(PRV_BUILD_SHARED)
#define PRV_API __declspec(dllexport)
#elif defined(_WIN32) && defined(PRV_SHARED)
#define PRV_API __declspec(dllimport)
#elif defined(PRV_BUILD_SHARED) && defined(__GNUC__)
#define PRV_API __attribute__((visibility("default")))
#else
#define PRV_API
#endif

/* One code for each rule that a caller can break; prv_status_message says it in words. */
typedef enum prv_status {
    PRV_OK = 0,
    PRV_ERR_MEMORY,               /* an allocation failed */
    PRV_ERR_INTERRUPTED,          /* prv_options.progress asked to stop */
    PRV_ERR_NOISE_MULTIPLIER,     /* noise_multiplier is negative, infinite or nan */
    PRV_ERR_SCALE,                /* scale is negative, infinite or nan (discrete: not positive) */
    PRV_ERR_SENSITIVITY,          /* sensitivity is not positive and finite (discrete: >= 1) */
    PRV_ERR_SAMPLING_PROBABILITY, /* it, or the product of several, is outside {0} and [2^-1022, 1] */
    PRV_ERR_EPSILON,              /* an epsilon is nan, or negative where it is a parameter */
    PRV_ERR_DELTA,                /* a delta is outside [0, 1] */
    PRV_ERR_RATE,                 /* a false positive rate is outside [0, 1] */
    PRV_ERR_TABLE,                /* losses not finite and increasing, probabilities negative or nan */
    PRV_ERR_TABLE_SUM,            /* probabilities and mass at infinity do not sum to one */
    PRV_ERR_TABLE_REVERSE,        /* the sum of probability * e^(-loss) exceeds one */
    PRV_ERR_CALLBACK,             /* a callback of the caller reported failure */
    PRV_ERR_CDF,                  /* a cdf decreases, leaves [0, 1] or is nan */
    PRV_ERR_CDF_PAIR,             /* the two cdfs belong to no pair: dP is not e^(-loss) dQ */
    PRV_ERR_CURVE,                /* a privacy curve increases, is not convex in e^eps, or leaves [0, 1] */
    PRV_ERR_SUPPORT,              /* a discrete mechanism has more atoms than fit PRV_MAX_ATOMS */
    PRV_ERR_COUNT,                /* the counts add up to more than 2^53 */
    PRV_ERR_OPTIONS, /* eps_error, delta_error, delta_relative_error, mesh_size or neighbors is out of range
                      */
    PRV_ERR_FFT,     /* no provider, or it could not plan a transform */
    PRV_ERR_MEMORY_LIMIT,   /* an explicit mesh would need more than memory_limit bytes */
    PRV_ERR_PRECISION,      /* rounding swamps the answer (mean-matching at a tiny delta) */
    PRV_ERR_DISCRETIZATION, /* mean-matching of a mechanism given by its privacy curve alone */
    PRV_ERR_ENGINE,         /* the spectrum asked for falls too slowly to be summed */
    PRV_ERR_PARAMETER,      /* no mechanism has the parameter, or its factor is out of range */
    PRV_ERR_TOLERANCE,      /* the tolerance of a calibration is outside [1e-9, 0.1] */
    PRV_ERR_TARGET,         /* no value of the parameter meets the target of a calibration */
    PRV_ERR_COMPONENTS,     /* sensitivities, probabilities or number of a mixture out of range */
    PRV_ERR_BATCHES,        /* a data set, a batch or a number of batches below 1 or above 2^32 */
    PRV_ERR_NEIGHBORS,      /* no dominating pair of a mechanism is known for the neighbors asked */
    PRV_ERR_ORDER,          /* an order of a Renyi divergence is outside (1, 1e6] */
    PRV_ERR_MOMENTS,        /* Renyi divergences of a mechanism given by functions, whose tails are unknown */
    PRV_ERR_GROUPS,         /* mechanisms whose neighbors differ by groups of different sizes are composed */
    PRV_ERR_ARITHMETIC, /* this thread does not round to nearest, flushes subnormals, or cuts wide numbers */
    PRV_ERR_BOUNDS, /* a lower bound came out above an upper one: a fault of the library, please report it */
    PRV_STATUS_COUNT
} prv_status;

/* A sentence without a full stop; never NULL, static storage. */
PRV_API const char *prv_status_message(prv_status status);

/* ---- Memory ------------------------------------------------------------------------------ */

/* Where memory comes from: {NULL, NULL, NULL} is the C library.
 *   allocate   `size` > 0 bytes, a multiple of `alignment`, aligned to it, which is a power of two
 * (PRV_FFT_ALIGNMENT at present); NULL makes the call that needed them return PRV_ERR_MEMORY release    what
 * allocate returned, with the same size and alignment, once; never NULL release may be called in any thread
 * that frees a mechanism, or asks or frees a history; allocate in the thread that uses the allocator alone.
 * Neither may call this library. */
typedef struct prv_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *pointer, size_t size, size_t alignment);
} prv_allocator;

/* Lets all later calls in this thread, and no other, allocate there, and returns what they used before; the C
 * library at first. It is the one setting that this library keeps, and it changes no result. What is
 * allocated remembers where: a mechanism or a history may be used and freed in any thread, whatever that
 * uses, as long as the functions and the contexts of the allocators that it was made and asked with live.
 * Queries free all that they allocate before they return, but for plans of transforms, which belong to their
 * provider, and what a history keeps. */
PRV_API prv_allocator prv_use_allocator(prv_allocator allocator);

/* ---- Transforms -------------------------------------------------------------------------- */

#define PRV_FFT_ALIGNMENT 64

/* in and out are aligned to PRV_FFT_ALIGNMENT bytes and do not overlap. */
typedef void (*prv_fft_execute)(void *plan, void *in, void *out);

/* Real transforms of one length: forward takes double[length] to complex[length / 2 + 1] (pairs of
 * doubles), inverse back, unnormalised: inverse(forward(x)) = length * x. Either may overwrite
 * its input. Both are re-entrant on different buffers. The plans belong to the provider and outlive
 * every call that uses them. */
typedef struct prv_fft {
    size_t length;
    void *forward_plan, *inverse_plan;
    prv_fft_execute forward, inverse;
} prv_fft;

/* Supplies transforms. plan is called from whatever thread a query runs in, with lengths whose only
 * prime factors are 2, 3, 5 and 7, and must be thread-safe; it returns PRV_OK, PRV_ERR_MEMORY or PRV_ERR_FFT,
 * for which anything else is taken. The relative L2 error of one transform must stay below 7 u log2(length),
 * u = 2^-53, the bound of Higham, "Accuracy and Stability of Numerical Algorithms", Theorem 24.2, for
 * accurate twiddles; and the error of each output below the same times the sum of the inputs' moduli (each
 * output is a sum of all inputs with factors of modulus 1 that are rounded log2(length) times). */
typedef struct prv_fft_provider {
    void *context;
    prv_status (*plan)(void *context, size_t length, prv_fft *fft);
} prv_fft_provider;

/* The transform that the library was built with (PRVCORE_FFT in CMake): its own, FFTW3, or none, which is
 * PRV_ERR_FFT. A provider keeps its plans, about as many bytes as the buffers of each length asked, until it
 * is freed; make one and let all threads share it. Free it once no query uses it. A plan comes from the
 * allocator of the thread that was the first to need its length, which has to live as long as the provider.
 */
PRV_API prv_status prv_fft_provider_new(prv_fft_provider **provider);
/* Of prv_fft_provider_new alone; NULL is allowed. */
PRV_API void prv_fft_provider_free(prv_fft_provider *provider);
/* "portable", "fftw" or "none"; static storage. */
PRV_API const char *prv_fft_provider_name(void);

/* ---- Mechanisms -------------------------------------------------------------------------- */

typedef struct prv_mechanism prv_mechanism;

/* Which data sets are neighbours. With PRV_REPLACE_ONE a mechanism stands for its pair where one record is
 * replaced by another, which is the same in both directions (PAIRS.md, section 3): noise of twice the
 * sensitivity (which is that to one record added or removed), for Gaussian noise on a Poisson sample
 * (1-p)N(0, s^2) + pN(-1, s^2) against (1-p)N(0, s^2) + pN(1, s^2), and the mechanism itself where it was
 * stated of whatever neighbours: an approximate one, a bounded range, a randomized response, a sample
 * without replacement. No such pair is known, or stated, of other Poisson samples, mixtures, tables, cdfs
 * and curves. */
typedef enum prv_neighbors {
    PRV_ADD_OR_REMOVE = 0, /* both directions, the larger delta */
    PRV_ADD,
    PRV_REMOVE,
    PRV_REPLACE_ONE /* one record is another one */
} prv_neighbors;

#define PRV_MAX_ATOMS ((size_t)1 << 24)

/* Each constructor allocates *mechanism; free it with prv_mechanism_free once no query uses it. */

/* N(0, s^2) against N(1, s^2), s = noise_multiplier >= 0; 0 is no noise at all (epsilon infinite). */
PRV_API prv_status prv_mechanism_gaussian(double noise_multiplier, prv_mechanism **mechanism);

/* Laplace noise of this scale >= 0 on a query of this sensitivity > 0. */
PRV_API prv_status prv_mechanism_laplace(double scale, double sensitivity, prv_mechanism **mechanism);

/* Discrete Gaussian of parameter scale > 0 on the integers against its shift by sensitivity >= 1:
 * pmf proportional to exp(-x^2 / (2 scale^2)) (Canonne, Kamath, Steinke 2020, arXiv:2004.00010). */
PRV_API prv_status prv_mechanism_discrete_gaussian(double scale, int64_t sensitivity,
                                                   prv_mechanism **mechanism);

/* Discrete Laplace on the integers, pmf proportional to exp(-|x| / scale), against its shift. */
PRV_API prv_status prv_mechanism_discrete_laplace(double scale, int64_t sensitivity,
                                                  prv_mechanism **mechanism);

/* The dominating pair of every (epsilon, delta)-DP mechanism: loss +epsilon with probability
 * (1 - delta) e^epsilon / (1 + e^epsilon), -epsilon with (1 - delta) / (1 + e^epsilon), infinite
 * with delta (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776). epsilon in [0, inf), delta in [0, 1]. */
PRV_API prv_status prv_mechanism_approximate_dp(double epsilon, double delta, prv_mechanism **mechanism);

/* The pair that dominates every mechanism whose losses lie in an interval of length epsilon in [0, inf),
 * whichever: delta(x) = (e^(epsilon / 2) - e^(x / 2))^2 / (e^epsilon - 1) for |x| <= epsilon
 * (PAIRS.md, section 5). The exponential mechanism is one: probabilities proportional to e^(epsilon u
 * / (2 s)), u a utility of sensitivity s, or e^(epsilon u / s) where u changes in one direction only
 * (Durfee and Rogers 2019, arXiv:1905.04273); and so is the argmax of u with Gumbel noise of the according
 * scale, which is the same. */
PRV_API prv_status prv_mechanism_bounded_range(double epsilon, prv_mechanism **mechanism);

/* Randomized response: the answer itself with probability e^epsilon / (e^epsilon + categories - 1), epsilon
 * in [0, inf), each other of the categories >= 2 (else PRV_ERR_COMPONENTS) equally likely. Its neighbours
 * are records that are replaced, and no others: PRV_REPLACE_ONE. */
PRV_API prv_status prv_mechanism_randomized_response(double epsilon, uint64_t categories,
                                                     prv_mechanism **mechanism);

/* A finite table: losses double[length], nats, finite and increasing; probabilities double[length]
 * under Q, >= 0; together with mass_at_infinity they sum to one within 1e-9 (then normalised). P has mass
 * probability * e^(-loss) there, and the rest of P lies where Q vanishes; if these masses sum to more than
 * one, within 1e-9, they are divided by their sum, which makes all losses that much higher. The pair is taken
 * to dominate in both directions of the neighbouring relation. */
PRV_API prv_status prv_mechanism_table(const double *losses, const double *probabilities, size_t length,
                                       double mass_at_infinity, prv_mechanism **mechanism);

/* Fills cdf_q[i] = Q(Y <= losses[i]) and cdf_p[i] = P(loss <= losses[i]) for increasing losses;
 * returns 0, anything else stops the query with PRV_ERR_CALLBACK. Must be thread-safe. */
typedef int (*prv_cdf_callback)(void *context, const double *losses, size_t length, double *cdf_q,
                                double *cdf_p);

/* One's own mechanism by two cdfs of the loss; mass_at_infinity is Q's mass at +infinity (the cdf under Q
 * rises to 1 - mass_at_infinity). An absolute error of 4 units of 2^-53 of each cdf value
 * enters the bounds; cdfs that miss dP = e^(-loss) dQ by much more are PRV_ERR_CDF_PAIR. context must
 * outlive the mechanism. */
PRV_API prv_status prv_mechanism_cdfs(prv_cdf_callback cdfs, void *context, double mass_at_infinity,
                                      prv_mechanism **mechanism);

/* Fills deltas[i] = delta(epsilons[i]) for increasing epsilons of either sign; returns 0. */
typedef int (*prv_curve_callback)(void *context, const double *epsilons, size_t length, double *deltas);

/* One's own mechanism by its privacy curve, which must be convex in e^eps, fall from
 * 1 at -infinity, and satisfy delta(eps) >= 1 - e^eps. mass_at_infinity is its limit at +infinity.
 * An absolute error of 4 units of 2^-53 of each value enters the bounds. */
PRV_API prv_status prv_mechanism_curve(prv_curve_callback curve, void *context, double mass_at_infinity,
                                       prv_mechanism **mechanism);

/* The base mechanism on a Poisson sample: each record enters with probability
 * sampling_probability, 0 or in [2^-1022, 1], independently of all others. 'remove' is the pair ((1-p)P + pQ,
 * P), 'add' (Q, (1-p)Q + pP) (Zhu, Dong, Wang 2022, Theorem 11), which is for one record: of what
 * prv_mechanism_group_gaussian made it is that with probabilities multiplied. Where the base is a sample
 * itself, bounds allow for the rounding of the product, which must be 0 or in [2^-1022, 1] too. The base is
 * copied; PRV_ERR_NEIGHBORS where its own neighbours are records that are replaced, and no others, or a
 * truncated sample. */
PRV_API prv_status prv_mechanism_poisson_subsampled(const prv_mechanism *base, double sampling_probability,
                                                    prv_mechanism **mechanism);

/* The base mechanism on a sample of fixed size, drawn without replacement: sampling_probability in [0, 1]
 * is that size over the number of records. Its neighbours are single records that are replaced,
 * PRV_REPLACE_ONE, and no others. With (P, Q) the pair of the base for them, and P' = (1-p)P + pQ: H_a(P', P)
 * for a >= 1, and what is symmetric to it below (PAIRS.md, section 4). PRV_ERR_NEIGHBORS where the base has
 * no such pair, as of groups, or is sampled itself. */
PRV_API prv_status prv_mechanism_subsampled_without_replacement(const prv_mechanism *base,
                                                                double sampling_probability,
                                                                prv_mechanism **mechanism);

/* prv_mechanism_gaussian on a Poisson sample of a data set of dataset_size records (of the larger neighbour
 * where records are added or removed), of which, where it has more than maximum_batch_size, so many are
 * kept at random (PAIRS.md, section 6; Ganesh 2025, arXiv:2508.15089). Sizes in [1, 2^32], else
 * PRV_ERR_BATCHES. */
PRV_API prv_status prv_mechanism_truncated_poisson_gaussian(double noise_multiplier,
                                                            double sampling_probability,
                                                            uint64_t dataset_size,
                                                            uint64_t maximum_batch_size,
                                                            prv_mechanism **mechanism);

/* NOT a dominating pair, but one that is dominated: the largest of the noisy sums of an epoch's `batches` in
 * [1, 2^32], each record in one of them, with data for which that tells much. What epochs of shuffled batches
 * do to privacy is at least the lower bounds of its composition; its upper bounds say nothing of them
 * (PAIRS.md, section 7; Chua et al. 2024, arXiv:2403.17673, arXiv:2411.04205). The record is replaced
 * by nothing, in its place, or where `replaced` by another record; queries ask for added or removed ones. */
PRV_API prv_status prv_mechanism_shuffled_from_below(double noise_multiplier, uint64_t batches, int replaced,
                                                     prv_mechanism **mechanism);

/* PRV_ERR_NEIGHBORS where queries with these neighbours will return it. prv_check_steps says more. */
PRV_API prv_status prv_mechanism_check_neighbors(const prv_mechanism *mechanism, prv_neighbors neighbors);

/* What prv_mechanism_scaled and prv_calibrate change. */
typedef enum prv_parameter {
    PRV_NOISE_SCALE = 0,      /* noise_multiplier or scale, of the four kinds of noise, sampled or not */
    PRV_SAMPLING_PROBABILITY, /* of what prv_mechanism_..._subsampled and prv_mechanism_group_gaussian made */
    PRV_STEPS                 /* the counts (prv_calibrate alone) */
} prv_parameter;

/* A mechanism like `base` with the parameter multiplied by a finite factor >= 0 and all else the same, as its
 * constructor would make it of that product. PRV_ERR_PARAMETER where base has no such parameter or the factor
 * is out of range; else what the constructor says of the product. Noise without scale (0) and a sample of
 * probability 0 are gone for good: mechanisms made with them have no such parameter. */
PRV_API prv_status prv_mechanism_scaled(const prv_mechanism *base, prv_parameter parameter, double factor,
                                        prv_mechanism **mechanism);

#define PRV_MAX_COMPONENTS ((size_t)1 << 12)

/* Gaussian noise on a query whose change is random: N(0, s^2) against sum_i p_i N(c_i, s^2) with s =
 * noise_multiplier >= 0, sensitivities c_i double[length] >= 0, finite, and probabilities p_i
 * double[length] that sum to one within 1e-9 (then normalised); else, and for c_i / s on both sides of
 * 1e150, PRV_ERR_COMPONENTS. 'remove' has the mixture as Q. It dominates every such pair of laws on vectors
 * whose centres have norms at most c_i (PAIRS.md, section 2). */
PRV_API prv_status prv_mechanism_gaussian_mixture(double noise_multiplier, const double *sensitivities,
                                                  const double *probabilities, size_t length,
                                                  prv_mechanism **mechanism);

/* prv_mechanism_gaussian on a Poisson sample where `group_size` records, in [1, PRV_MAX_COMPONENTS), are
 * added or removed together: c_i = i with binomial probabilities (Ganesh 2024, arXiv:2401.10294, Theorem
 * 3.1). With a group_size of 1 it is prv_mechanism_poisson_subsampled of prv_mechanism_gaussian. Its
 * neighbours are data sets that differ by such a group, those of all other constructors by one record:
 * PRV_ERR_GROUPS where steps of different sizes are composed. */
PRV_API prv_status prv_mechanism_group_gaussian(double noise_multiplier, double sampling_probability,
                                                uint64_t group_size, prv_mechanism **mechanism);

/* NULL is allowed. */
PRV_API void prv_mechanism_free(prv_mechanism *mechanism);

/* ---- Queries ----------------------------------------------------------------------------- */

typedef struct prv_step {
    const prv_mechanism *mechanism;
    uint64_t count; /* 0 is allowed: the step then does nothing, and its mechanism is not looked at */
} prv_step;

/* What every query and prv_calibrate look at first. PRV_ERR_NEIGHBORS where no pair of a mechanism is known
 * for these neighbours, PRV_ERR_GROUPS where those of two mechanisms differ by groups of different sizes.
 * Steps of count 0 are not looked at. */
PRV_API prv_status prv_check_steps(const prv_step *steps, size_t step_count, prv_neighbors neighbors);

typedef enum prv_discretization {
    PRV_BRACKETING = 0, /* dominating and dominated lattices, any delta */
    /* The paper's Algorithms 1 and 2 with the errors of its Theorem 5.5, in which a sum of counts K has the
     * mesh h = eps_error / sqrt(K / 2 log(12 / delta_error)):
     *     delta~(eps + eps_error) - delta_error <= delta(eps) <= delta~(eps - eps_error) + delta_error,
     * widened by floating point. A mesh_size given replaces h, and eps_error by mesh_size
     * sqrt(K / 2 log(12 / delta_error)). What it refuses: an epsilon at a delta that delta_error and
     * rounding (about 1e-13 K) do not leave above the mass at infinity, for which no finite upper bound
     * follows (PRV_ERR_PRECISION); privacy curves, which do not determine the mean of the loss
     * (PRV_ERR_DISCRETIZATION); a mesh that needs more than memory_limit (PRV_ERR_MEMORY_LIMIT). */
    PRV_MEAN_MATCHING
} prv_discretization;

/* How bracketing composes. Both give bounds of their own, from the same lattices; the cost of a convolution
 * grows with the width of the window in mesh points (about like sqrt(k)), that of a spectrum does not. */
typedef enum prv_engine {
    PRV_ENGINE_AUTO = 0,    /* the one that is predicted to be cheaper */
    PRV_ENGINE_CONVOLUTION, /* transforms over all points of the window */
    PRV_ENGINE_SPECTRUM     /* PRV_ERR_ENGINE where the spectrum falls too slowly */
} prv_engine;

/* How far a call has come. */
typedef struct prv_progress {
    size_t question, questions; /* which of the values asked is being answered, from 0, and their number */
    size_t compositions;        /* that a calibration has bounded; else 0 */
    size_t passes;              /* finished on this question, all directions together */
    double width;               /* of its bounds so far, nats; infinite before the first pass */
    double width_asked;         /* nats; 0 before the first pass */
    double fraction;            /* of the whole call, a guess in [0, 1] that never falls */
} prv_progress;

/* Called in the thread of the call, between stages, some times a millisecond to some times a second. Returns
 * 0 to go on; anything else ends the call with PRV_ERR_INTERRUPTED. *progress is gone when it returns. */
typedef int (*prv_progress_callback)(void *context, const prv_progress *progress);

/* Fill it with 0 first ({0} in C, {} in C++), so that a later version's fields have their defaults; then a
 * width (eps_error, or eps_relative_error and eps_floor), memory_limit and fft must be set. */
typedef struct prv_options {
    prv_discretization discretization;
    prv_engine engine; /* bracketing alone */
    prv_neighbors neighbors;
    double eps_error;            /* widest upper - lower, nats, > 0; 0: eps_relative_error instead */
    double eps_relative_error;   /* width / max(epsilon, eps_floor), > 0 (bracketing alone) */
    double eps_floor;            /* > 0 (bracketing alone) */
    double delta_error;          /* the paper's, in (0, 1) (mean-matching alone) */
    double delta_relative_error; /* of a delta (prv_delta, prv_history_delta): done too where upper - lower is
                                    at most this part of upper, whichever width is met first; in [0, 1), 0:
                                    only the width in epsilon counts (bracketing alone) */
    double mesh_size;    /* 0: chosen; else the lattice step, nats, at most 100; the width is what it gives */
    size_t memory_limit; /* bytes of the largest buffers together */
    const prv_fft_provider *fft;
    prv_progress_callback progress; /* NULL, or called between stages */
    void *progress_context;
} prv_options;

/* Always 0 <= lower <= estimate <= upper, of the worst case over neighbouring data sets: lower is what two of
 * them have, or less, and upper what all have, or more (prv_is_attained). */
typedef struct prv_bounds {
    double lower, estimate, upper;
} prv_bounds;

/* How an answer came about, and where its width comes from. The four parts are in epsilon (nats) and
 * sum to the width before clipping, but for directions that were not needed; they are 0 where nothing was
 * composed: of an answer that is exact but for rounding, and of an epsilon for which 0 and Chernoff's bound
 * are within the eps_error asked (not with an engine or a mesh_size). */
typedef struct prv_report {
    int accurate; /* 1: the width asked is met; of a delta, that in epsilon or delta_relative_error. 0: the
                     memory limit, or rounding, stopped the refinement above it, or above both. Always 1 with
                     a mesh_size */
    prv_neighbors direction; /* the one that decides the upper bound */
    prv_engine engine;       /* of its last pass; PRV_ENGINE_AUTO where nothing was composed */
    double
        width; /* of the interval, `unattained` included, in epsilon, for a delta query by the slope there */
    double mesh_size;        /* nats */
    double tilt;             /* lam of the exponential tilt; 0 for mean-matching */
    size_t cells;            /* knots of all distinct steps together, last pass */
    size_t transform_length; /* 0 where no transform was needed */
    size_t transforms;       /* executed in all passes, both lattices and directions */
    size_t frequencies;      /* of the spectrum; 0 for a convolution */
    size_t memory;           /* bytes of the largest buffers together, last pass; with
                                PRV_ERR_MEMORY_LIMIT what the first refused point needs, SIZE_MAX if
                                that is more: the one field that is written without PRV_OK */
    double discretization, truncation, wrap_around, rounding;
    int attained; /* 1: two data sets have the dominating pair, and the bounds are of it. 0: lower is of data
                     sets that exist, upper of a pair that none have, as far as is known */
    double unattained; /* then the part of the width between both that no setting makes smaller */
} prv_report;

/* Bounds of the epsilon at which the composition is (epsilon, delta)-DP, for each of `length` deltas.
 *   steps    prv_step[step_count]   the composition; its order does not matter. Steps of one mechanism, by
 * its pointer, are taken together; others are not compared, and each costs as much again deltas
 * double[length]         probabilities in [0, 1], else PRV_ERR_DELTA bounds   prv_bounds[length]     nats;
 * infinite where delta is below the mass at infinity. Where it is that mass, the greatest loss, if one
 * mechanism runs once and was given that mass; else the product of masses is rounded, and the bounds are 0
 * and infinity reports  prv_report[length]     or NULL Cost for each delta: of a spectrum O(atoms *
 * frequencies), a few hundred each whatever the counts are; of a convolution O(N log N), N about window /
 * mesh (mean-matching: once a call). */
PRV_API prv_status prv_epsilon(const prv_step *steps, size_t step_count, const prv_options *options,
                               const double *deltas, size_t length, prv_bounds *bounds, prv_report *reports);

/* Bounds of delta at each of `length` epsilons (any sign, infinities allowed, nan is PRV_ERR_EPSILON);
 * done where the width in epsilon or that of delta_relative_error is met, whichever is first. `width` in
 * reports is in epsilon whichever it was, and 0 where Chernoff's bound shows that 1 is close enough.
 * Everything else as prv_epsilon. */
PRV_API prv_status prv_delta(const prv_step *steps, size_t step_count, const prv_options *options,
                             const double *epsilons, size_t length, prv_bounds *bounds, prv_report *reports);

/* 1 if two data sets have the pair that dominates the composition, or each value of its curve, so that bounds
 * of epsilon and delta are as close as the width asked. 0 for bounded ranges and samples of fixed size that
 * run more than once or with others, and for truncated Poisson samples: no data sets are known to have their
 * pairs. Then lower bounds are of data sets that exist, and upper bounds hold for all; what lies between is
 * prv_report.unattained. O(step_count). */
PRV_API int prv_is_attained(const prv_step *steps, size_t step_count);

/* What was computed for the steps of a composition that grows, so that asking again costs what was added. Not
 * to be used by two threads at once. */
typedef struct prv_history prv_history;

/* prv_history_free(NULL) does nothing. PRV_ERR_MEMORY. */
PRV_API prv_status prv_history_new(prv_history **history);
PRV_API void prv_history_free(prv_history *history);

/* As prv_epsilon and prv_delta, of steps in the order in which they ran. Where those begin with the steps of
 * the call before, by the pointers of their mechanisms, which must live until then, what was computed for
 * these is made use of; the last of them may have run on, and others follow. The bounds are within the width
 * asked as those are, but not of the same bits: they are a function of the arguments but the history, which
 * makes no difference but in time. Cost for a history of n distinct mechanisms, if the spectrum answers: O(1)
 * for each that was added, n O(log n) for all calls together, a query after each included. That of
 * prv_epsilon or prv_delta, O(n), if options ask for mean-matching, the convolution or a mesh, if the pairs
 * of the steps are not attained (prv_report.attained), or if the spectrum does not serve or its bounds are
 * wider than asked. A history of a few distinct mechanisms gains nothing by it. Sums are kept for 8 different
 * values; a ninth takes the place of that asked longest ago. An error, an interruption too, makes the history
 * forget all. */
PRV_API prv_status prv_history_epsilon(prv_history *history, const prv_step *steps, size_t step_count,
                                       const prv_options *options, const double *deltas, size_t length,
                                       prv_bounds *bounds, prv_report *reports);
PRV_API prv_status prv_history_delta(prv_history *history, const prv_step *steps, size_t step_count,
                                     const prv_options *options, const double *epsilons, size_t length,
                                     prv_bounds *bounds, prv_report *reports);

/* Bounds of the greatest power (true positive rate) that a test can have which tells the two output
 * distributions apart with each of `length` false positive rates in [0, 1], else PRV_ERR_RATE; the greater of
 * both directions. 1 - power is the trade-off function of Dong, Roth, Su, "Gaussian Differential Privacy"
 * (JRSS B 2022, arXiv:1905.02383). reports  prv_report[length]   or NULL: of the delta that decides the upper
 * bound, or one beside it that is not accurate The width asked is one in epsilon; that of the power is up to
 * 5 times as much, relatively, where reports are accurate and a mesh_size is not what decides. Cost: 5 to 60
 * deltas each. */
PRV_API prv_status prv_power(const prv_step *steps, size_t step_count, const prv_options *options,
                             const double *false_positive_rates, size_t length, prv_bounds *bounds,
                             prv_report *reports);

/* Bounds of the least mu >= 0 with
 *     delta(eps) <= max(delta_mu(eps), delta) for all eps >= 0,   delta_mu(eps) = Phi(-eps / mu + mu / 2) -
 * e^eps Phi(-eps / mu - mu / 2), the curve of N(0, 1) against N(mu, 1): whatever (epsilon, delta') with
 * epsilon >= 0 and delta' >= delta holds of that Gaussian mechanism holds of the composition with mu = upper,
 * and with mu < lower some does not. Over all deltas (mu-GDP of Dong, Roth, Su) most compositions have no mu,
 * or one that says little: rare losses decide it. deltas   double[length]       in (0, 1], else
 * PRV_ERR_DELTA; mu is infinite below the mass at infinity reports  prv_report[length]   or NULL: of the
 * delta that decides the upper bound The width asked is one in epsilon, and that of mu relatively about as
 * much, or 1e-3. Where delta(0) rounds to 1, from about mu = 14 on, moments bound what is left: the upper
 * bound is about a tenth above the lower one, a multiple of it if the mu of a single step is above 75, and
 * infinite for mechanisms given by functions. Cost: one epsilon, and up to 400 deltas. */
PRV_API prv_status prv_gaussian_mu(const prv_step *steps, size_t step_count, const prv_options *options,
                                   const double *deltas, size_t length, prv_bounds *bounds,
                                   prv_report *reports);

/* Bounds of the Renyi divergence of each of `length` orders alpha, D = log(E_P[(dQ/dP)^alpha]) / (alpha - 1),
 * the greater of both directions: the composition is (alpha, D)-RDP (Mironov 2017, arXiv:1702.07476). orders
 * double[length]       in (1, 1e6], else PRV_ERR_ORDER bounds   prv_bounds[length]   nats; infinite where
 * there is mass at infinity Of the options, only neighbors and progress matter; the others must be valid all
 * the same. The width is about 2e-5 of D, and more where rounding is, and for discrete Gaussian noise at
 * orders above 38 scale / sensitivity. Mechanisms given by functions are PRV_ERR_MOMENTS: what lies beyond
 * the losses asked decides. Cost: some thousand cells for each order and step, whatever the counts. */
PRV_API prv_status prv_renyi_divergence(const prv_step *steps, size_t step_count, const prv_options *options,
                                        const double *orders, size_t length, prv_bounds *bounds);

/* ---- Calibration ------------------------------------------------------------------------- */

/* What prv_calibrate found. The bounds of epsilon at its delta are those that prv_epsilon gives with the
 * options of the calibration and the eps_error stated. */
typedef struct prv_calibration {
    double factor;           /* the least noise, greatest sampling probability or most steps, as a factor */
    double eps_error;        /* nats */
    prv_bounds epsilon;      /* with that factor: epsilon.upper <= target */
    double next_factor;      /* the next factor by the tolerance; nan where there is none: no noise, or the
                                greatest probability or count, meets the target */
    double next_eps_error;   /* nats */
    prv_bounds next_epsilon; /* with that factor: next_epsilon.upper > target. Where next_epsilon.lower >
                                target, as it is wherever rounding, the tolerance and prv_is_attained allow,
                                the next factor does not meet the target however it is accounted for: lower is
                                of data sets that exist */
    int monotone; /* 1: what fails at the next factor fails at all cheaper ones. 0: not known, since the
                     scale of discrete Gaussian noise was chosen */
    size_t compositions; /* queries of an epsilon that were needed */
    size_t fine;         /* those of them whose bounds were as close as the tolerance asks */
} prv_calibration;

/* The cheapest value of a parameter at which the composition is (epsilon, delta)-DP by the upper bound.
 * `factor` multiplies the parameter in all steps that have it but the first `fixed_count`, which have run
 * already; these and the steps without it stay as they are. PRV_NOISE_SCALE            the least factor
 *   PRV_SAMPLING_PROBABILITY   the greatest, so that no probability exceeds 1
 *   PRV_STEPS                  the greatest whole number, of repetitions of all steps that are not fixed: 0
 * if one is too many, and at most so many that the counts add up to 2^53 epsilon     >= 0 and finite, else
 * PRV_ERR_EPSILON delta       in [0, 1], else PRV_ERR_DELTA tolerance   relative, of the factor, in [1e-9,
 * 0.1]: next_factor = factor (1 -+ tolerance), or closer. Steps are exact (next_factor = factor + 1), but
 * beyond 1 / tolerance of them what the width of the bounds costs is only known to be below the tolerance.
 *   options     as for prv_epsilon, of bracketing without a mesh_size (else PRV_ERR_OPTIONS); eps_error,
 *               eps_relative_error and eps_floor are not looked at: the tolerance decides
 * PRV_ERR_PARAMETER where no step has the parameter; PRV_ERR_TARGET where no factor in [2^-200, 2^200] meets
 * the target, and calibration->epsilon alone is then written: the bounds of what remains in the limit of
 * infinite noise or no sampling, or at the last factor if they do not tell.
 *
 * Epsilon falls with the noise and rises with the probability and the counts, since more noise, a smaller
 * sample, or fewer steps are post-processing: what is known of two factors decides all beyond them. The scale
 * of the discrete Gaussian is an exception, wherever it is: its noise is no sum of less of it and of other
 * noise, and delta may rise with the scale between the losses of two integers (sensitivity 1, epsilon 3:
 * 0.052 at scale 0.42, 0.121 at 0.56; epsilon 2: 4.253e-4 at 1.50, 4.384e-4 at 1.54; rises get small where
 * the scale is large). Its factor meets the target and the next does not, but a still smaller one may, and
 * which is found depends on where the search starts: monotone is 0. Starting from factor 1, a secant in log
 * epsilon against log factor, on coarse lattices, finds the crossing; then come two queries as fine as the
 * tolerance asks, seldom more. Any thread. */
PRV_API prv_status prv_calibrate(const prv_step *steps, size_t step_count, size_t fixed_count,
                                 prv_parameter parameter, double epsilon, double delta, double tolerance,
                                 const prv_options *options, prv_calibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
