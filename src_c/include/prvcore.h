/* prvcore: certified numerical composition of privacy losses.
 *
 * A mechanism on two neighbouring data sets has the output distributions P and Q. Its privacy loss is
 * Y = log(dQ/dP)(w) with w drawn from Q, and its privacy curve is
 *     delta(eps) = sup_S Q(S) - e^eps P(S) = E[(1 - e^(eps - Y))_+].
 * If mechanisms run one after another, their losses add up. This library computes a lower and an upper
 * bound of delta at an epsilon, and of epsilon at a delta, for the whole run.
 *
 * How to use it:
 *   1. describe each mechanism once          prv_mechanism_gaussian, ...           section "Mechanisms"
 *   2. say how often each runs               an array of prv_step                  section "Compositions"
 *   3. say how close bounds shall be         prv_options                           section "Options"
 *   4. ask for bounds                        prv_epsilon, prv_delta                section "Answers"
 *      or choose noise, sampling or steps    prv_calibrate                         section "Calibration"
 * The sections go from simple to advanced: most programs need nothing that follows "Answers". One run of
 * DP-SGD needs a single call: prv_dpsgd_epsilon, prv_dpsgd_delta or prv_dpsgd_noise, section "DP-SGD".
 *
 * Rules that hold for every function, unless its comment says otherwise:
 *   results     are written through the last pointers, and mean something on PRV_OK only. Arrays belong to
 *               the caller, and their lengths are stated.
 *   ownership   If a constructor allocates an object, the function whose name ends in _free frees it. No
 *               argument is kept, but the contexts of callbacks, which must outlive the mechanism, and
 *               mechanisms, of which the library counts its own references: a base may be freed as soon as
 *               another mechanism was made of it.
 *   threads     Any function may run in any thread, and several at once may share mechanisms and options:
 *               neither is ever modified. Only the prv_mechanism_free of the last reference must come after
 *               all other uses of its mechanism. There is no global state but each thread's own allocator
 *               (prv_use_allocator).
 *   pointers    must not be NULL if something is read or written through them. NULL is allowed for arrays of
 *               length 0, and where a comment says so.
 *   failure     is a prv_status, one code for each rule. Nothing is printed, and no function ends the process
 *               or throws. errno and the flags of floating point are left as they come.
 *   callbacks   must return: they may neither throw nor jump through this library. Callbacks of mechanisms
 *               and of progress may call this library.
 *   rounding    must be to nearest in the calling thread, with subnormal numbers kept and with the full
 *               extended precision of x86; else every function that computes returns PRV_ERR_ARITHMETIC, also
 *               if a callback has changed the mode. Programs and libraries linked with -ffast-math flush
 *               subnormal numbers on some platforms, in the thread that loads them and in threads started
 *               from it.
 *   units       Losses and epsilons are in nats (natural logarithms).
 *   language    C99, and C++ from C++11 on.
 *
 * Sources: Gopi, Lee, Wutschitz, "Numerical Composition of Differential Privacy", NeurIPS 2021,
 * arXiv:2106.02848 ("the paper" below); Doroshenko et al., "Connect the Dots", PETS 2022, arXiv:2207.04380;
 * Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function", AISTATS 2022,
 * arXiv:2106.08567. PAIRS.md is src_c/mechanisms/PAIRS.md. */
#ifndef PRVCORE_H
#define PRVCORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==== Version and status ================================================================== */

#define PRV_VERSION "0.1.0"
/* The same as a number for #if: 10000 major + 100 minor + patch. */
#define PRV_VERSION_NUMBER 100

/* Marks what a shared library exports. CMake defines PRV_BUILD_SHARED while it builds one, and PRV_SHARED
 * for programs that link it, which matters on Windows only. */
#if defined(_WIN32) && defined(PRV_BUILD_SHARED)
#define PRV_API __declspec(dllexport)
#elif defined(_WIN32) && defined(PRV_SHARED)
#define PRV_API __declspec(dllimport)
#elif defined(PRV_BUILD_SHARED) && defined(__GNUC__)
#define PRV_API __attribute__((visibility("default")))
#else
#define PRV_API
#endif

/* PRV_VERSION of the library that runs, which is another than this header's if a program was compiled with
 * one and found another; static storage. */
PRV_API const char *prv_version(void);

/* One code for each rule that a caller can break. */
typedef enum prv_status {
    PRV_OK = 0,
    PRV_ERR_MEMORY,           /* an allocation failed */
    PRV_ERR_INTERRUPTED,      /* prv_options.progress asked to stop */
    PRV_ERR_NOISE_MULTIPLIER, /* noise_multiplier is neither 0 nor in (1e-150, 4e307) */
    PRV_ERR_SCALE,            /* scale is neither 0 (unless discrete) nor in (1e-150, 4e307) sensitivities */
    PRV_ERR_SENSITIVITY,      /* sensitivity is not positive and finite (if noise is discrete: below 1) */
    PRV_ERR_SAMPLING_PROBABILITY, /* one, or the product of nested ones, is neither 0 nor in [2^-1022, 1] */
    PRV_ERR_EPSILON,              /* an epsilon is nan, or out of the range of a parameter */
    PRV_ERR_DELTA,                /* a delta is outside [0, 1] */
    PRV_ERR_RATE,                 /* a false positive rate is outside [0, 1] */
    PRV_ERR_PRIOR,                /* a prior is outside [0, 1], or 0 or 1 where it is a target's */
    PRV_ERR_RISK,                 /* the target of a calibration is no value that the risk can have */
    PRV_ERR_TABLE,                /* losses are not finite and increasing, or probabilities negative or nan */
    PRV_ERR_TABLE_SUM,            /* probabilities and mass at infinity do not sum to 1 */
    PRV_ERR_TABLE_REVERSE,        /* the sum of probability * e^(-loss) exceeds 1 */
    PRV_ERR_CALLBACK,             /* a callback of the caller reported failure */
    PRV_ERR_CDF,                  /* a cdf decreases, leaves [0, 1] or is nan */
    PRV_ERR_CDF_PAIR,             /* the two cdfs belong to no pair: dP is not e^(-loss) dQ */
    PRV_ERR_CURVE,                /* a privacy curve increases, is not convex in e^eps, or leaves [0, 1] */
    PRV_ERR_SUPPORT,              /* a discrete mechanism has more than PRV_MAX_ATOMS atoms */
    PRV_ERR_COUNT,                /* the counts add up to more than 2^53 */
    PRV_ERR_OPTIONS,              /* a field of prv_options is outside its range: see prv_options_fault */
    PRV_ERR_FFT,                  /* there is no provider of transforms, or it could not plan one */
    PRV_ERR_MEMORY_LIMIT,         /* memory_limit is too small for any mesh, or for the mesh_size asked */
    PRV_ERR_PRECISION,            /* rounding swamps the answer (mean-matching at a tiny delta) */
    PRV_ERR_DISCRETIZATION,       /* mean-matching was asked of a mechanism given by its privacy curve */
    PRV_ERR_ENGINE,               /* PRV_ENGINE_SPECTRUM was asked, but the spectrum falls too slowly */
    PRV_ERR_PARAMETER,            /* no mechanism has the parameter, or its factor is out of range */
    PRV_ERR_TOLERANCE,            /* the tolerance of a calibration is outside [1e-9, 0.1] */
    PRV_ERR_TARGET,               /* no value of the parameter meets the target of a calibration */
    PRV_ERR_COMPONENTS,           /* sensitivities, probabilities or length of a mixture are out of range */
    PRV_ERR_BATCHES,              /* a data set, a batch or a number of batches is not in [1, 2^32] */
    PRV_ERR_NEIGHBORS,            /* no dominating pair of a mechanism is known for the neighbours asked */
    PRV_ERR_ORDER,                /* an order of a Renyi divergence is outside (1, 1e6] */
    PRV_ERR_MOMENTS,              /* a Renyi divergence was asked of a mechanism given by functions */
    PRV_ERR_GROUPS,               /* mechanisms are composed that have groups of different sizes */
    PRV_ERR_ARITHMETIC,           /* the thread does not round to nearest, flushes subnormals, or cuts x87 */
    PRV_ERR_PART,                 /* a part of a combined mechanism has no attained pair of its own */
    PRV_ERR_BOUNDS,               /* an internal check failed: please report this fault */
    PRV_ERR_COMBINED,             /* a combined mechanism was asked for what is known of others alone */
    PRV_ERR_FIXED_COUNT,          /* fixed_count of a calibration is greater than step_count */
    PRV_ERR_JSON,                 /* a text is no JSON of a schedule or of an accountant */
    PRV_ERR_NO_JSON,              /* a mechanism, or an engine, has no JSON: see prv_steps_to_json */
    PRV_ERR_GROUP,                /* a group has a member in nearly every sample: in all but 2^-900 of them */
    PRV_STATUS_COUNT
} prv_status;

/* The rule that was broken, in words: a sentence without a full stop, in static storage, never NULL. */
PRV_API const char *prv_status_message(prv_status status);

/* ==== Mechanisms ========================================================================== */

/* One mechanism: its pair (P, Q) of output distributions on neighbouring data sets, or a pair that
 * dominates all of these. Pairs are written in this order everywhere: the loss is log(dQ/dP). Never modified
 * once made. */
typedef struct prv_mechanism prv_mechanism;

/* Frees a mechanism that no query uses any more, or gives back one reference of several
 * (prv_mechanism_retain). NULL is allowed.
 *
 * Every constructor below allocates *mechanism, to be freed here, and returns PRV_OK; or it makes *mechanism
 * NULL, and returns PRV_ERR_MEMORY, PRV_ERR_ARITHMETIC or the code of the argument that is out of range. */
PRV_API void prv_mechanism_free(prv_mechanism *mechanism);

/* ---- Noise ------------------------------------------------------------------------------- */

/* Gaussian noise: N(0, s^2) against N(1, s^2), s = noise_multiplier >= 0, the noise over the L2
 * sensitivity. If noise_multiplier is 0, there is no noise and epsilon is infinite. */
PRV_API prv_status prv_mechanism_gaussian(double noise_multiplier, prv_mechanism **mechanism);

/* Gaussian noise on several queries of the same records: noise_multipliers[i] >= 0 (double[length]) on
 * counts[i] queries (uint64_t[length]), where later queries may depend on earlier answers. Together they are
 * one Gaussian mechanism, of 1 / s^2 = sum of counts[i] / noise_multipliers[i]^2 (PAIRS.md, section 9). If
 * they run on one sample, this mechanism is what is sampled; mechanisms that are sampled one by one have
 * samples of their own. Bounds allow for the rounding of s. PRV_ERR_COUNT if the counts add up to more than
 * 2^53; if they are all 0, nothing is released. */
PRV_API prv_status prv_mechanism_gaussians(const double *noise_multipliers, const uint64_t *counts,
                                           size_t length, prv_mechanism **mechanism);

/* Laplace noise of scale >= 0 on a query of sensitivity > 0. */
PRV_API prv_status prv_mechanism_laplace(double scale, double sensitivity, prv_mechanism **mechanism);

/* Discrete Gaussian noise on the integers, of parameter scale > 0, on a query of sensitivity >= 1: the pmf
 * is proportional to exp(-x^2 / (2 scale^2)) (Canonne, Kamath, Steinke 2020, arXiv:2004.00010).
 * PRV_ERR_SUPPORT if it has more than PRV_MAX_ATOMS atoms. */
PRV_API prv_status prv_mechanism_discrete_gaussian(double scale, int64_t sensitivity,
                                                   prv_mechanism **mechanism);

/* Discrete Laplace noise on the integers, of scale > 0, on a query of sensitivity >= 1: the pmf is
 * proportional to exp(-|x| / scale). PRV_ERR_SUPPORT if it has more than PRV_MAX_ATOMS atoms. */
PRV_API prv_status prv_mechanism_discrete_laplace(double scale, int64_t sensitivity,
                                                  prv_mechanism **mechanism);

/* The atoms that a discrete mechanism or a table may have. */
#define PRV_MAX_ATOMS ((size_t)1 << 24)

/* ---- Guarantees: mechanisms known by a statement only ------------------------------------- */

/* The pair that dominates every (epsilon, delta)-DP mechanism: the loss is +epsilon with probability (1 -
 * delta) e^epsilon / (1 + e^epsilon), -epsilon with probability (1 - delta) / (1 + e^epsilon), and infinite
 * with probability delta (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776). epsilon in [0, inf), delta in [0,
 * 1]. */
PRV_API prv_status prv_mechanism_approximate_dp(double epsilon, double delta, prv_mechanism **mechanism);

/* The pair that dominates every mechanism whose losses lie in an interval of length epsilon in [0, inf),
 * wherever the interval lies: delta(x) = (e^(epsilon / 2) - e^(x / 2))^2 / (e^epsilon - 1) for |x| <=
 * epsilon (PAIRS.md, section 5). The exponential mechanism is one of these. Let u be a utility of
 * sensitivity s: its probabilities are proportional to e^(epsilon u / (2 s)), or to e^(epsilon u / s) if u
 * changes in one direction only (Durfee and Rogers 2019, arXiv:1905.04273). So is the argmax of u with
 * Gumbel noise of the matching scale, which has the same distribution. */
PRV_API prv_status prv_mechanism_bounded_range(double epsilon, prv_mechanism **mechanism);

/* Randomized response: the true answer has probability e^epsilon / (e^epsilon + categories - 1), and all
 * other categories are equally likely. epsilon in [0, inf); categories >= 2, else PRV_ERR_COMPONENTS. Its
 * neighbours differ by a replaced record, and in no other way: queries must ask for PRV_REPLACE_ONE. */
PRV_API prv_status prv_mechanism_randomized_response(double epsilon, uint64_t categories,
                                                     prv_mechanism **mechanism);

/* ---- Sampling ---------------------------------------------------------------------------- */

/* The base mechanism on a Poisson sample: each record enters independently with probability p =
 * sampling_probability, 0 or in [2^-1022, 1]. If a record is removed, the pair is (P, (1-p)P + pQ); if it
 * is added, ((1-p)Q + pP, Q) (Zhu, Dong, Wang 2022, Theorem 11).
 *
 * The base is copied. If the base is a Poisson sample itself, the product of the probabilities must be in
 * the same range, and bounds allow for its rounding. The theorem is about a single record: if
 * prv_mechanism_group_gaussian made the base, the result is that mechanism with the probabilities
 * multiplied. PRV_ERR_NEIGHBORS if the neighbours of the base can only differ by a replaced record, or if
 * the base is a truncated sample. */
PRV_API prv_status prv_mechanism_poisson_subsampled(const prv_mechanism *base, double sampling_probability,
                                                    prv_mechanism **mechanism);

/* The base mechanism on a sample of fixed size, drawn without replacement. sampling_probability p in [0, 1]
 * is the size over the number of records. Its neighbours differ by one replaced record, and in no other
 * way: queries must ask for PRV_REPLACE_ONE. With (P, Q) the pair of the base for these neighbours and P' =
 * (1-p)P + pQ, the curve is H_a(P', P) for a = e^eps >= 1, and the symmetric one for a < 1 (PAIRS.md,
 * section 4). The base is copied. PRV_ERR_NEIGHBORS if the base has no such pair, or one for groups, or is
 * sampled itself. */
PRV_API prv_status prv_mechanism_subsampled_without_replacement(const prv_mechanism *base,
                                                                double sampling_probability,
                                                                prv_mechanism **mechanism);

/* ---- Mechanisms made of others ----------------------------------------------------------- */

/* Several mechanisms on the same records, one after another, as one mechanism: what may be sampled or
 * allocated as a whole. steps as for prv_epsilon; the mechanisms are copied. Its pair is the product of
 * theirs. PRV_ERR_COUNT if the counts add up to more than 2^53, PRV_ERR_PART if a mechanism has no attained
 * pair of its own (bounded ranges, truncated samples, samples of fixed size) or is for groups,
 * PRV_ERR_NEIGHBORS if the mechanisms have no neighbours in common. */
typedef struct prv_step prv_step;
PRV_API prv_status prv_mechanism_composed(const prv_step *steps, size_t step_count,
                                          prv_mechanism **mechanism);

/* Random allocation: the base mechanism runs on each of `batches` in [1, 2^32] (else PRV_ERR_BATCHES), and
 * each record is in one of these batches, drawn at random and independently of all other records. With R the
 * density of the base's pair, the density of this pair is the mean of `batches` independent R (PAIRS.md,
 * section 10); later batches may use the results of earlier ones. The pair is that of a record that is added
 * or removed; none is known of a replaced one. The base is copied. Errors as for prv_mechanism_composed. */
PRV_API prv_status prv_mechanism_random_allocation(const prv_mechanism *base, uint64_t batches,
                                                   prv_mechanism **mechanism);

/* The base mechanism runs on each of `batches` in [1, 2^32], and each record is in `selected` of them, in [1,
 * batches] (else PRV_ERR_BATCHES), drawn at random and independently of all other records: any so many are as
 * likely. The pair is that of a draw that is known in part, one batch from each of `selected` blocks of
 * batches, which dominates; no two data sets are known to have it unless `selected` is 1 or
 * `batches`. Lower bounds are those of the sum of all outcomes, if the base is Gaussian noise and selected^2
 * >= batches, else of the first batch alone (PAIRS.md, section 10). The base is copied. Errors as for
 * prv_mechanism_random_allocation; the mechanism is no part of others. */
PRV_API prv_status prv_mechanism_random_selection(const prv_mechanism *base, uint64_t batches,
                                                  uint64_t selected, prv_mechanism **mechanism);

/* ---- Mechanisms of your own -------------------------------------------------------------- */

/* A finite table of losses.
 *   losses             double[length]   nats, finite and increasing
 *   probabilities      double[length]   under Q, >= 0
 *   mass_at_infinity                    Q's probability of an infinite loss, >= 0
 * Probabilities and mass_at_infinity sum to 1 within 1e-9, and are then normalised. P has the mass
 * probability * e^(-loss) at each loss, and the rest of P lies where Q vanishes. If these masses sum to
 * more than 1, within 1e-9, they are divided by their sum, which raises all losses by its logarithm, to
 * within 1e-18: such a table is a pair but for rounding, and bounds are those of the raised losses. The pair
 * is taken to dominate in both directions, record added and record removed. */
PRV_API prv_status prv_mechanism_table(const double *losses, const double *probabilities, size_t length,
                                       double mass_at_infinity, prv_mechanism **mechanism);

/* Fills cdf_q[i] = Q(Y <= losses[i]) and cdf_p[i] = P(loss <= losses[i]), i < length, for increasing
 * losses. Returns 0; any other value stops the query with PRV_ERR_CALLBACK. Must be thread-safe. */
typedef int (*prv_cdf_callback)(void *context, const double *losses, size_t length, double *cdf_q,
                                double *cdf_p);

/* A mechanism given by the cdfs of its loss under Q and under P. mass_at_infinity in [0, 1] (else
 * PRV_ERR_TABLE) is Q's: the cdf under Q rises to 1 - mass_at_infinity. Bounds allow for an absolute error
 * of 4 * 2^-53 in each value. If cdfs miss dP = e^(-loss) dQ by much more, the query returns
 * PRV_ERR_CDF_PAIR. context is passed to each call, and must outlive the mechanism. */
PRV_API prv_status prv_mechanism_cdfs(prv_cdf_callback cdfs, void *context, double mass_at_infinity,
                                      prv_mechanism **mechanism);

/* Tails of the loss Y of a pair without mass at infinity, for increasing losses y (nats) and i < length: of
 * events S[i], each within the one before, with {Y > y[i] + error} in S[i] and S[i] in {Y >= y[i] - error}.
 *   tail_q[i]    +Q(S[i]) if this is below a half, else -(1 - Q(S[i])), which may be -0.0; so once it is
 *                positive it stays so
 *   tail_p[i]    the same of P
 *   scaled_p[i]  e^y[i] P(S[i])
 *   *error       in [0, 2^-12): all of these are within a factor 1 +- error of the exact values, but for the
 *                rounding of subnormal doubles; and error is also that of the events, but for events and
 *                complements that are less likely than 2^-1074 under P and Q
 * If `reversed`, all are those of the reverse pair: losses negated, P and Q exchanged. Returns 0; any other
 * value stops the query with PRV_ERR_CALLBACK. Must be thread-safe. */
typedef int (*prv_tail_callback)(void *context, int reversed, const double *losses, size_t length,
                                 double *tail_q, double *tail_p, double *scaled_p, double *error);

/* A mechanism given by tails of its loss, whose bounds allow for the errors that the callback tells: a delta
 * of any size keeps its relative accuracy (prv_mechanism_cdfs allows for absolute errors). `mirrored` says
 * that the pair equals its reverse; if not, records that are added have another pair, and the mechanism is no
 * part of others and is not sampled (PRV_ERR_PART). Tails of no pair, or an error out of its range, end the
 * query with PRV_ERR_CDF or PRV_ERR_CDF_PAIR. context is passed to each call, and must outlive the mechanism.
 */
PRV_API prv_status prv_mechanism_tails(prv_tail_callback tails, void *context, int mirrored,
                                       prv_mechanism **mechanism);

/* Fills deltas[i] = delta(epsilons[i]), i < length, for increasing epsilons of either sign. Returns 0; any
 * other value stops the query with PRV_ERR_CALLBACK. Must be thread-safe. */
typedef int (*prv_curve_callback)(void *context, const double *epsilons, size_t length, double *deltas);

/* A mechanism given by its privacy curve, which must be convex in e^eps, fall from 1 at -infinity to
 * mass_at_infinity in [0, 1] (else PRV_ERR_TABLE) at +infinity, and satisfy delta(eps) >= 1 - e^eps. The
 * query returns PRV_ERR_CURVE if values increase or leave [0, 1]. Bounds allow for an absolute error of 4 *
 * 2^-53 in each value. context is passed to each call, and must outlive the mechanism. */
PRV_API prv_status prv_mechanism_curve(prv_curve_callback curve, void *context, double mass_at_infinity,
                                       prv_mechanism **mechanism);

/* What a mechanism of one's own was stated for: which neighbours its pair dominates, in either order. */
typedef enum prv_relation {
    PRV_RELATION_ADD_OR_REMOVE = 0, /* data sets of which one has a record more: as constructors take it */
    PRV_RELATION_REPLACE_ONE,       /* data sets that differ in the value of one record, and no others */
    PRV_RELATION_ANY                /* both */
} prv_relation;

/* A table, cdfs or a curve (else PRV_ERR_NEIGHBORS), stated for these neighbours. It is copied; the context
 * of callbacks is not. If `attained` is 0, no two data sets are known to have the pair: it is an upper bound
 * alone, lower bounds of compositions count it as nothing, and it is no part of others (PRV_ERR_PART) but
 * Poisson samples. Pairs stated for a replaced record dominate both orders of the two data sets, so that they
 * compose whatever the order in each step (PAIRS.md, section 3). They are no base of a sample whose
 * neighbours differ by a replaced record. */
PRV_API prv_status prv_mechanism_stated(const prv_mechanism *own, prv_relation relation, int attained,
                                        prv_mechanism **mechanism);

/* ---- Groups, mixtures, batches ----------------------------------------------------------- */

/* The components that a mixture may have. */
#define PRV_MAX_COMPONENTS ((size_t)1 << 12)

/* Gaussian noise on a query whose change is random: N(0, s^2) against sum_i p_i N(c_i, s^2). If a record is
 * removed, the mixture is Q.
 *   noise_multiplier                   s >= 0
 *   sensitivities     double[length]   c_i, finite and >= 0; c_i / s all below 1e150, or all above
 *   probabilities     double[length]   p_i >= 0, sum 1 within 1e-9 (then normalised)
 *   length                             in [1, PRV_MAX_COMPONENTS]
 * PRV_ERR_COMPONENTS for any but noise_multiplier. The pair dominates each pair of such laws on vectors
 * whose centres have norms of at most c_i (PAIRS.md, section 2). */
PRV_API prv_status prv_mechanism_gaussian_mixture(double noise_multiplier, const double *sensitivities,
                                                  const double *probabilities, size_t length,
                                                  prv_mechanism **mechanism);

/* prv_mechanism_gaussian on a Poisson sample, with neighbours that differ by `group_size` records in [1,
 * PRV_MAX_COMPONENTS), added or removed together: the mixture with c_i = i and binomial probabilities
 * (Ganesh 2024, arXiv:2401.10294, Theorem 3.1). With a group_size of 1 it is
 * prv_mechanism_poisson_subsampled of prv_mechanism_gaussian. All other constructors have groups of one
 * record: if steps with groups of different sizes are composed, the query returns PRV_ERR_GROUPS. */
PRV_API prv_status prv_mechanism_group_gaussian(double noise_multiplier, double sampling_probability,
                                                uint64_t group_size, prv_mechanism **mechanism);

/* prv_mechanism_gaussian on a sample of batch_size records, drawn without replacement, with neighbours that
 * differ by `group_size` records in [2, PRV_MAX_COMPONENTS), added or removed together: the mixture with c_i
 * = 2 i and hypergeometric probabilities, as each member in the sample takes the place of another record
 * (PAIRS.md, section 4; after Ganesh 2024, arXiv:2401.10294). Both data sets have samples of this size.
 *   dataset_size, batch_size  in [1, 2^32]; the former with the group, of which there are batch_size others
 * PRV_ERR_COMPONENTS for the group, PRV_ERR_BATCHES for the sizes, PRV_ERR_GROUP. Poisson samples of it are
 * refused (PRV_ERR_PART): their sizes vary. */
PRV_API prv_status prv_mechanism_fixed_size_group_gaussian(double noise_multiplier, uint64_t dataset_size,
                                                           uint64_t batch_size, uint64_t group_size,
                                                           prv_mechanism **mechanism);

/* prv_mechanism_gaussian on a truncated Poisson sample: if the sample has more than maximum_batch_size
 * records, as many are kept at random (PAIRS.md, section 6; Ganesh 2025, arXiv:2508.15089). dataset_size is
 * the number of records, of the larger data set if a record is added or removed. Both sizes in [1, 2^32],
 * else PRV_ERR_BATCHES. */
PRV_API prv_status prv_mechanism_truncated_poisson_gaussian(double noise_multiplier,
                                                            double sampling_probability,
                                                            uint64_t dataset_size,
                                                            uint64_t maximum_batch_size,
                                                            prv_mechanism **mechanism);

/* NOT a dominating pair, but a dominated one, for lower bounds of shuffled batches: an epoch puts each
 * record into one of `batches` in [1, 2^32], each batch gives a noisy sum, and the pair is that of the
 * largest sum, with data that make it tell much. Lower bounds of its composition are lower bounds for
 * epochs of shuffled batches; upper bounds say nothing about them (PAIRS.md, section 7; Chua et al. 2024,
 * arXiv:2403.17673, arXiv:2411.04205). If `replaced` is 0, the record gives its place to nothing; else it
 * gives its place to another record. In both cases queries ask for an added or a removed record. */
PRV_API prv_status prv_mechanism_shuffled_from_below(double noise_multiplier, uint64_t batches, int replaced,
                                                     prv_mechanism **mechanism);

/* ---- Neighbours -------------------------------------------------------------------------- */

/* Which data sets are neighbours. With PRV_REPLACE_ONE a mechanism stands for its pair if one record is
 * replaced by another; this pair is the same in both directions (PAIRS.md, section 3):
 *   noise: the pair of twice the sensitivity, since sensitivities are those to a record added or removed
 *   Gaussian noise on a Poisson sample: (1-p)N(0, s^2) + pN(-1, s^2) against (1-p)N(0, s^2) + pN(1, s^2)
 *   approximate DP, bounded range, randomized response, sample without replacement: the mechanism itself,
 *     which was stated for any neighbours
 *   tables, cdfs and curves that were stated for it (prv_mechanism_stated): the mechanism itself
 *   other Poisson samples: a pair that dominates, which no data sets are known to reach
 * No such pair is known for mixtures, nor for tables, cdfs and curves that were not stated for it. */
typedef enum prv_neighbors {
    PRV_ADD_OR_REMOVE = 0, /* both directions; the larger delta counts */
    PRV_ADD,               /* one record more */
    PRV_REMOVE,            /* one record less */
    PRV_REPLACE_ONE        /* one record with another value */
} prv_neighbors;

/* PRV_ERR_NEIGHBORS if queries with these neighbours will return it. prv_check_steps checks a whole
 * composition. */
PRV_API prv_status prv_mechanism_check_neighbors(const prv_mechanism *mechanism, prv_neighbors neighbors);

/* ---- Scaling ----------------------------------------------------------------------------- */

/* The parameter that prv_mechanism_scaled and prv_calibrate multiply. */
typedef enum prv_parameter {
    PRV_NOISE_SCALE = 0,      /* noise_multiplier or scale, of the four kinds of noise, sampled or not */
    PRV_SAMPLING_PROBABILITY, /* that of prv_mechanism_..._subsampled and prv_mechanism_group_gaussian */
    PRV_STEPS                 /* the counts (prv_calibrate only) */
} prv_parameter;

/* A mechanism like `base`, with the parameter multiplied by a finite factor >= 0: what the constructor
 * makes of the product, and all else the same. PRV_ERR_PARAMETER if base does not have the parameter, or if
 * the factor is out of range; else the constructor's code for the product. A scale of 0 and a probability
 * of 0 are not kept: mechanisms made with them do not have the parameter. */
PRV_API prv_status prv_mechanism_scaled(const prv_mechanism *base, prv_parameter parameter, double factor,
                                        prv_mechanism **mechanism);

/* ---- Reading, comparing, sharing --------------------------------------------------------- */

/* Another reference to the mechanism, as a handle that prv_mechanism_free takes back: the mechanism lives
 * until each reference has been freed, in any order and by any thread. Mechanisms that are made of others
 * have references to these, too. O(1). */
PRV_API prv_mechanism *prv_mechanism_retain(const prv_mechanism *mechanism);

/* The constructor that made a mechanism. */
typedef enum prv_kind {
    PRV_KIND_GAUSSIAN = 1,
    PRV_KIND_GAUSSIANS,
    PRV_KIND_LAPLACE,
    PRV_KIND_DISCRETE_GAUSSIAN,
    PRV_KIND_DISCRETE_LAPLACE,
    PRV_KIND_APPROXIMATE_DP,
    PRV_KIND_BOUNDED_RANGE,
    PRV_KIND_RANDOMIZED_RESPONSE,
    PRV_KIND_POISSON_SUBSAMPLED,
    PRV_KIND_SUBSAMPLED_WITHOUT_REPLACEMENT,
    PRV_KIND_COMPOSED,
    PRV_KIND_RANDOM_ALLOCATION,
    PRV_KIND_RANDOM_SELECTION,
    PRV_KIND_TABLE,
    PRV_KIND_CDFS,
    PRV_KIND_TAILS,
    PRV_KIND_CURVE,
    PRV_KIND_GAUSSIAN_MIXTURE,
    PRV_KIND_GROUP_GAUSSIAN,
    PRV_KIND_TRUNCATED_POISSON_GAUSSIAN,
    PRV_KIND_SHUFFLED_FROM_BELOW,
    PRV_KIND_SCALED, /* see prv_mechanism_scaled; but noise of one scale, sampled or not, is of its own kind
                      */
    PRV_KIND_STATED,
    PRV_KIND_FIXED_SIZE_GROUP_GAUSSIAN
} prv_kind;

/* The arguments of that constructor, under the names that they have there; those that it does not have are 0
 * or NULL. The library fills this struct, and programs read it through a pointer: later versions add fields
 * at its end. */
typedef struct prv_description {
    prv_kind kind;
    double noise;       /* noise_multiplier or scale */
    double sensitivity; /* of discrete noise as a double */
    double sampling_probability, epsilon, delta, mass_at_infinity;
    uint64_t categories, group_size, batches, selected, dataset_size, maximum_batch_size;
    int replaced, mirrored;      /* 1 or 0 */
    size_t length;               /* of the arrays that are not NULL: */
    const double *values;        /* losses, sensitivities, or noise_multipliers */
    const double *probabilities; /* as they were given, before they are normalised */
    const uint64_t *counts;
    size_t part_count;
    const prv_step
        *parts; /* prv_step[part_count]: `base` with a count of 1, or `steps` but those of count 0 */
    prv_parameter parameter;
    double factor;
    prv_cdf_callback cdfs;
    prv_tail_callback tails;
    prv_curve_callback curve;
    void *context;
    prv_relation relation;
    int attained; /* 1 or 0 */
    uint64_t batch_size;
} prv_description;

/* How the mechanism was made; it lives as long as the mechanism. Arrays and handles in it belong to the
 * mechanism: retain parts that shall live longer. O(1). */
PRV_API const prv_description *prv_mechanism_description(const prv_mechanism *mechanism);

/* 1 if both were made by the same constructor with equal arguments, callbacks and contexts by their pointers;
 * they then have the same pair to the last bit. Else 0: two mechanisms may have the same pair although they
 * were made in different ways. O(1) if they differ, and else as much as the arrays hold. */
PRV_API int prv_mechanism_equal(const prv_mechanism *first, const prv_mechanism *second);

/* ==== Compositions ======================================================================== */

/* A mechanism that runs `count` times. A composition is an array of these. The order of steps does not
 * matter but to a history. Steps with equal mechanisms (prv_mechanism_equal) are taken together; each other
 * step adds its own cost. Counts may add up to 2^53, else PRV_ERR_COUNT. */
struct prv_step {
    const prv_mechanism *mechanism;
    uint64_t count; /* if 0, the step does nothing, and its mechanism is not looked at */
};

/* What every query checks first. PRV_ERR_NEIGHBORS if no pair of a mechanism is known for these neighbours,
 * PRV_ERR_GROUPS if neighbours of two mechanisms differ by groups of different sizes. O(step_count). */
PRV_API prv_status prv_check_steps(const prv_step *steps, size_t step_count, prv_neighbors neighbors);

/* 1 if two data sets have the pair that dominates the composition, or if for each value of its curve two
 * data sets have this value: then bounds of epsilon and delta come as close as asked. 0 for truncated
 * Poisson samples; for random allocations of a record to several batches; if a record is replaced, for
 * Poisson samples of all but Gaussian noise, and of guarantees that run once; and for bounded ranges and
 * samples of fixed size that run more than once or with other mechanisms: no data sets are known that have
 * their pairs. Then lower bounds belong to data sets that exist, upper bounds hold for all data sets, and
 * prv_report.unattained is the distance between. O(step_count). */
PRV_API int prv_is_attained(const prv_step *steps, size_t step_count, prv_neighbors neighbors);

/* ==== Options ============================================================================= */

typedef enum prv_discretization {
    /* A dominating and a dominated lattice, made finer until the bounds are as close as asked; any delta. */
    PRV_BRACKETING = 0,
    /* The paper's Algorithms 1 and 2 with the errors of its Theorem 5.5. If the counts sum to K, the lattice
     * has the spacing h = eps_error / sqrt(K / 2 log(12 / delta_error)), and
     *     delta~(eps + eps_error) - delta_error <= delta(eps) <= delta~(eps - eps_error) + delta_error,
     * widened by the rounding of floating point. If mesh_size is given, it replaces h, and
     * mesh_size sqrt(K / 2 log(12 / delta_error)) replaces eps_error. Errors:
     *   PRV_ERR_PRECISION        delta_error and rounding (about 1e-13 K) leave nothing of delta above the
     *                            mass at infinity, so that no finite upper bound of epsilon follows
     *   PRV_ERR_DISCRETIZATION   a mechanism is given by its privacy curve, which does not determine the
     *                            mean of its loss
     *   PRV_ERR_MEMORY_LIMIT     the spacing needs more than memory_limit bytes */
    PRV_MEAN_MATCHING
} prv_discretization;

/* How bracketing composes lattices. Each engine has its own certified bounds, from the same lattices. The
 * cost of a convolution grows with the number of lattice points in the window (about like the square root
 * of the count), the cost of a spectrum does not. */
typedef enum prv_engine {
    PRV_ENGINE_AUTO = 0,    /* the engine that is predicted to be cheaper */
    PRV_ENGINE_CONVOLUTION, /* transforms over all points of the window */
    PRV_ENGINE_SPECTRUM,    /* a Fourier series; PRV_ERR_ENGINE if the spectrum falls too slowly */
    PRV_ENGINE_JUMPS,       /* sums of positive terms by the number of large losses, where these are rare; in
                               reports only: PRV_ENGINE_AUTO takes it where it is expected to be cheapest */
    PRV_ENGINE_CLOSED_FORM, /* of reports only: a formula of the curve, or a short sum of formulas. It is
                              taken where there is one, unless an engine or a mesh_size is asked for */
    PRV_ENGINE_FIRST, /* as PRV_ENGINE_SMALL, but also where its first engine has given bounds and cannot
                         make them closer, they are left so wide (PRV_LIMIT_ENGINE) */
    PRV_ENGINE_SMALL  /* as PRV_ENGINE_AUTO, but it makes no pass that takes over 32 MB: bounds are left as
                         wide as they are before it (PRV_LIMIT_ENGINE), and PRV_ERR_ENGINE is returned if
                         it is the first. Without that limit they have the bits of PRV_ENGINE_AUTO */
} prv_engine;

/* How far a call has come. */
typedef struct prv_progress {
    size_t question, questions; /* the value that is being answered, from 0, and the number of values asked */
    size_t compositions;        /* of a calibration: compositions bounded so far; else 0 */
    size_t passes;              /* passes done for this question, all directions together */
    double width;               /* nats: width of its bounds so far; infinite before the first pass */
    double width_asked;         /* nats; 0 before the first pass */
    double fraction;            /* done of the whole call: a guess in [0, 1] that never falls */
} prv_progress;

/* Called in the thread of the query, between stages, from several times a millisecond to several times a
 * second. Returns 0 to go on; any other value ends the query with PRV_ERR_INTERRUPTED. *progress is valid
 * until the callback returns. */
typedef int (*prv_progress_callback)(void *context, const prv_progress *progress);

typedef struct prv_fft_provider prv_fft_provider; /* see "Transforms" */

/* Begin with prv_options_default, so that fields of later versions have their defaults, and change what shall
 * be different. PRV_ERR_OPTIONS if a value is outside its range.
 *
 * Structs that callers hold (prv_options, prv_report, prv_calibration) have room for later versions, and so
 * keep their size and the places of their fields; structs that the library holds (prv_progress,
 * prv_description) may grow at their end. */
typedef struct prv_options {
    prv_discretization discretization;
    prv_engine engine; /* bracketing */
    prv_neighbors neighbors;
    double eps_error;            /* greatest upper - lower, nats, > 0; or 0: eps_relative_error counts */
    double eps_relative_error;   /* greatest (upper - lower) / max(epsilon, eps_floor), > 0; bracketing */
    double eps_floor;            /* nats, > 0; bracketing */
    double delta_error;          /* the paper's delta_error, in (0, 1); mean-matching */
    double delta_relative_error; /* in [0, 1): bounds of a delta (prv_delta, prv_history_delta) are also
                                    close enough if upper - lower is at most this fraction of upper. If 0,
                                    only the width in epsilon counts, but no finer than 1e-9 of delta: near 1
                                    doubles tell no more. Bracketing */
    double threshold; /* finite, >= 0. If > 0, it is asked on which side of it an answer lies: bounds are also
                         close enough if upper <= threshold or lower > threshold, and the first passes are as
                         coarse as this allows. If 0, it is not asked. Bracketing; prv_epsilon, prv_delta and
                         the same of a history, 0 for all others */
    double mesh_size; /* spacing of the lattice, nats, in (0, 100], whatever width it gives; or 0:
                         the width asked decides */
    size_t memory_limit;            /* bytes, of the largest buffers together, > 0 */
    const prv_fft_provider *fft;    /* see prv_fft_provider_new; or NULL: the library's own, planned anew by
                                       each call of a public function. PRV_ERR_FFT if it was built without */
    prv_progress_callback progress; /* or NULL */
    void *progress_context;         /* passed to progress */
    uint64_t reserved[8];           /* 0: room for later versions, in which 0 means what this version does */
} prv_options;

/* What most callers want, and what the Python package asks: bracketing; both directions of a record added or
 * removed; bounds of epsilon that are at most 0.1 % of epsilon apart, or 1e-6; bounds of delta that are as
 * close, or 0.1 % of delta apart; a memory limit of 1 GiB; the library's own transforms; no progress. */
PRV_API prv_options prv_options_default(void);

/* The name of the first field that is outside its range, "memory_limit" for instance, in static storage; or
 * NULL if there is none. Queries that answer PRV_ERR_OPTIONS nevertheless do not take a field that others do,
 * as their comments say: prv_calibrate no mesh_size, and all but prv_epsilon and prv_delta no threshold.
 * O(1). */
PRV_API const char *prv_options_fault(const prv_options *options);

/* ==== Answers ============================================================================= */

/* 0 <= lower <= estimate <= upper, all of the worst case over neighbouring data sets: some two data sets
 * have `lower` or more, and all have `upper` or less (see prv_is_attained). */
typedef struct prv_bounds {
    double lower, estimate, upper;
} prv_bounds;

/* The reason why bounds are wider than asked. */
typedef enum prv_limit {
    PRV_LIMIT_NONE,      /* none: bounds are as close as asked, but for `unattained` */
    PRV_LIMIT_ROUNDING,  /* rounding, which no option makes smaller */
    PRV_LIMIT_MEMORY,    /* memory_limit */
    PRV_LIMIT_ENGINE,    /* the engine that was asked for */
    PRV_LIMIT_MESH_SIZE, /* the mesh_size that was asked for */
    PRV_LIMIT_PASSES     /* the refinement has used all passes that it may make */
} prv_limit;

/* How an answer came about, and where its width comes from. The four parts discretization, truncation,
 * wrap_around and rounding are in epsilon (nats), and sum to the width before clipping, but for directions
 * that were not needed. All four are 0 if no composition was needed. The answer is then exact but for
 * rounding; or neither an engine nor a mesh_size was asked for, and 0 and Chernoff's bound of epsilon lie
 * within eps_error of each other. */
typedef struct prv_report {
    int accurate;            /* 1 if the width asked is met (of a delta: in epsilon, or
                                delta_relative_error), and always if mesh_size is set. 0 if `limit` stopped
                                the refinement before */
    prv_neighbors direction; /* the direction that decides the upper bound */
    prv_engine engine;       /* of the narrowest pass; PRV_ENGINE_AUTO if nothing was composed */
    double width;     /* upper - lower in epsilon, with `unattained`; of a delta, by the slope there, or
                         by 1e-9 over the width asked where the slope is less */
    double mesh_size; /* spacing of the lattice, nats */
    double tilt;      /* lam of the exponential tilt; 0 for mean-matching */
    size_t cells;     /* knots of all distinct steps together */
    size_t transform_length; /* 0 if no transform was needed */
    size_t transforms;       /* executed in all passes, for both lattices and all directions */
    size_t frequencies;      /* of the spectrum; 0 for a convolution */
    size_t memory;           /* bytes of the largest buffers together, last pass. With PRV_ERR_MEMORY_LIMIT
                                the bytes that the first refused value needs, SIZE_MAX if more: the only
                                field that is written without PRV_OK */
    double discretization, truncation, wrap_around, rounding; /* nats, see above */
    int attained;      /* 1 if two data sets have the dominating pair, to which both bounds then belong. 0 if
                          `lower` belongs to data sets that exist, and `upper` to a pair that no known data
                          sets have */
    double unattained; /* nats: the part of `width` between these two, which no option makes smaller */
    prv_limit limit;   /* in the direction that decides the upper bound. PRV_LIMIT_ROUNDING if rounding is 0.3
                          of the width or more, whatever stopped the refinement first */
    uint64_t reserved[8]; /* 0 */
} prv_report;

/* Bounds of the least epsilon >= 0 with which the composition is (epsilon, delta)-DP, for each of `length`
 * deltas.
 *   steps     prv_step[step_count]   the composition
 *   deltas    double[length]         in [0, 1], else PRV_ERR_DELTA
 *   bounds    prv_bounds[length]     nats
 *   reports   prv_report[length]     or NULL
 * If delta is below the mass at infinity, bounds are infinite. If delta equals that mass and the mass was
 * given for one mechanism that runs once, epsilon is the greatest loss; else the mass is a rounded product,
 * and the bounds are epsilon at a delta that is a little more, and infinity: not `accurate`.
 *
 * Cost for each delta: with the spectrum O(atoms * frequencies), a few hundred of each whatever the counts
 * are; with a convolution O(N log N), N about window / spacing. Mean-matching composes once for all
 * deltas. */
PRV_API prv_status prv_epsilon(const prv_step *steps, size_t step_count, const prv_options *options,
                               const double *deltas, size_t length, prv_bounds *bounds, prv_report *reports);

/* Bounds of delta at each of `length` epsilons.
 *   epsilons  double[length]         nats, of either sign, infinities allowed; PRV_ERR_EPSILON for nan
 *   bounds    prv_bounds[length]     in [0, 1]
 * Bounds are close enough if their width in epsilon is the one asked, or if delta_relative_error is met.
 * prv_report.width is in epsilon in both cases, and 0 if Chernoff's bound shows that 1 is close enough. All
 * else as for prv_epsilon. */
PRV_API prv_status prv_delta(const prv_step *steps, size_t step_count, const prv_options *options,
                             const double *epsilons, size_t length, prv_bounds *bounds, prv_report *reports);

/* ==== Witnesses =========================================================================== */

/* One of the two lattices that enclose a step: `mass[i]` lies at the loss offset + spacing * index[i]. With
 * every mass times (or over) 1 + relative, every loss raised (or lowered) by `shift`, and infinite_error
 * added to (or taken from) infinite_mass, it dominates the step (or is dominated by it) as it stands, in
 * exact arithmetic. */
typedef struct prv_witness_lattice {
    size_t length;
    double offset, spacing; /* nats */
    const int64_t *index;   /* [length] increasing */
    const double *mass;     /* [length] >= 0 */
    double infinite_mass;   /* at the loss +infinity */
    double infinite_error;  /* of infinite_mass, absolutely; the underflow of masses is part of it */
    double relative;
    double shift; /* nats */
} prv_witness_lattice;

/* What one pass over one direction has found, and from which lattices. */
typedef struct prv_witness_pass {
    prv_neighbors direction; /* PRV_ADD, PRV_REMOVE, PRV_REPLACE_ONE; PRV_REMOVE also for both of symmetric
                                mechanisms */
    int symmetric;           /* 1 if it stands for both directions */
    prv_bounds bounds;       /* of this direction, by this pass */
    prv_engine engine;
    double tilt;             /* lam of the exponential tilt */
    double mesh_size;        /* spacing of a uniform mesh that is as good, nats */
    size_t transform_length; /* 0 if the convolution took no transform */
    double discretization, truncation, wrap_around, rounding; /* parts of the width, nats: prv_report */
    size_t step_count;    /* of distinct steps, in the order in which they were first given */
    const double *counts; /* [step_count] */
    const prv_witness_lattice *above, *below; /* [step_count] */
} prv_witness_pass;

/* *pass is valid until the callback returns. It returns 0 to go on; any other value ends the question with
 * PRV_ERR_INTERRUPTED. */
typedef int (*prv_witness_callback)(void *context, const prv_witness_pass *pass);

/* Bounds of epsilon at a delta, if `of_epsilon`, or of delta at an epsilon, with all that others need to
 * check them: each direction that matters is composed from lattices, by the engine of the options, or by
 * convolution if that is open, and each pass is shown to `callback`. Then *bounds are the best of all passes
 * of each direction, and of the directions the worst. These are bounds of the pairs (prv_is_attained), as
 * close as the options ask. If the answer follows without a composition, *bounds has it and the callback is
 * not called. Options and statuses are those of prv_epsilon and prv_delta, without mean-matching
 * (PRV_ERR_OPTIONS). */
PRV_API prv_status prv_witness(const prv_step *steps, size_t step_count, const prv_options *options,
                               int of_epsilon, double value, prv_witness_callback callback, void *context,
                               prv_bounds *bounds);

/* ==== Calibration ========================================================================= */

/* The factor that prv_calibrate found, and the next cheaper one. The bounds of epsilon, at the delta of the
 * calibration, are those that prv_epsilon gives with the same options and the eps_error stated. */
typedef struct prv_calibration {
    double factor;           /* the least factor of the noise, or the greatest of probability or steps */
    double eps_error;        /* nats */
    prv_bounds epsilon;      /* with `factor`: epsilon.upper <= target */
    double next_factor;      /* the next factor by the tolerance; nan if there is none, since no noise, or the
                                greatest probability or count, meets the target */
    double next_eps_error;   /* nats */
    prv_bounds next_epsilon; /* with `next_factor`: next_epsilon.upper > target. Wherever rounding, the
                                tolerance and prv_is_attained allow it, next_epsilon.lower > target too: then
                                next_factor misses the target by any way of accounting, since `lower` belongs
                                to data sets that exist */
    int monotone;            /* 1: if next_factor misses the target, all cheaper factors miss it too. 0: this
                                is not known, since the scale of discrete Gaussian noise was chosen */
    size_t compositions;     /* queries of an epsilon that were needed */
    size_t fine;             /* of these, the ones with bounds as close as the tolerance asks */
    uint64_t reserved[8];    /* 0 */
} prv_calibration;

/* The cheapest value of a parameter for which the upper bound proves that the composition is (epsilon,
 * delta)-DP. The first `fixed_count` steps have run already and stay as they are, as do steps without the
 * parameter. In all other steps a factor multiplies the parameter:
 *   PRV_NOISE_SCALE            the least factor that meets the target
 *   PRV_SAMPLING_PROBABILITY   the greatest, so that no probability exceeds 1
 *   PRV_STEPS                  the greatest whole number of repetitions of all steps that are not fixed: 0
 *                              if one is too many, and at most so many that the counts add up to 2^53
 * Arguments:
 *   epsilon     the target, nats, >= 0 and finite, else PRV_ERR_EPSILON
 *   delta       in [0, 1], else PRV_ERR_DELTA
 *   tolerance   of the factor, relative, in [1e-9, 0.1], else PRV_ERR_TOLERANCE: next_factor is
 *               factor (1 -+ tolerance), or closer. Up to 1 / tolerance steps, steps are exact (next_factor
 *               = factor + 1); beyond, the width of the bounds costs a fraction of them below the tolerance
 *   options     as for prv_epsilon, with bracketing and without mesh_size, else PRV_ERR_OPTIONS. The
 *               tolerance decides the width: eps_error, eps_relative_error and eps_floor are not looked at
 * PRV_ERR_FIXED_COUNT if fixed_count > step_count, PRV_ERR_PARAMETER if no step has the parameter.
 * PRV_ERR_TARGET if no factor in [2^-200, 2^200] meets the target; then only calibration->epsilon is written:
 * the bounds of what remains with infinite noise or without sampling, or at the last factor tried if the
 * limit does not decide.
 *
 * Why one crossing suffices: epsilon falls with the noise and rises with the probability and the counts,
 * since more noise, a smaller sample or fewer steps are post-processing. So two factors decide all beyond
 * them. The scale of discrete Gaussian noise is an exception: its noise is not a sum of less such noise and
 * other noise, and delta may rise with the scale between the losses of two integers (sensitivity 1, epsilon
 * 3: 0.052 at scale 0.42, 0.121 at 0.56; epsilon 2: 4.253e-4 at 1.50, 4.384e-4 at 1.54; the rises are small
 * if the scale is large). Then `monotone` is 0: `factor` meets the target and next_factor misses it, but a
 * still smaller factor may meet it, and the start of the search decides which one is found.
 *
 * Method: from factor 1, a secant of log epsilon against log factor on coarse lattices finds the crossing;
 * then two queries, seldom more, are as fine as the tolerance asks. */
PRV_API prv_status prv_calibrate(const prv_step *steps, size_t step_count, size_t fixed_count,
                                 prv_parameter parameter, double epsilon, double delta, double tolerance,
                                 const prv_options *options, prv_calibration *calibration);

/* The most runs of a mechanism, after steps that have run already, for which an upper bound proves that all
 * is (epsilon, delta)-DP: *left, which may be 0, and is at most so many that the counts add up to 2^53. It is
 * what prv_calibrate finds with PRV_STEPS and all `steps` fixed, or differs from it by what bounds as close
 * as the tolerance asks leave open; after many different steps it is found in a small part of the time.
 * Arguments and statuses are those of prv_calibrate: PRV_ERR_TARGET if the steps exceed the target alone. */
PRV_API prv_status prv_steps_left(const prv_step *steps, size_t step_count, const prv_mechanism *mechanism,
                                  double epsilon, double delta, double tolerance, const prv_options *options,
                                  uint64_t *left);

/* Risks that say how well somebody can tell which of two neighbouring data sets was used. All fall as privacy
 * grows, but the Bayes risk, which is the chance of a wrong guess, and rises. */
typedef enum prv_risk {
    PRV_ADVANTAGE,  /* delta(0): the greatest true positive rate less the false positive rate of a test */
    PRV_POWER,      /* see prv_power; at a false positive rate in (0, 1), else PRV_ERR_RATE */
    PRV_BAYES_RISK, /* see prv_bayes_risk; at a prior in (0, 1), else PRV_ERR_PRIOR */
    PRV_GAUSSIAN_MU /* see prv_gaussian_mu; at a least delta in (0, 1], else PRV_ERR_DELTA */
} prv_risk;

/* As prv_calibrate, for the target that the risk is at most `target`, or if it is the Bayes risk, at least
 * `target`.
 *   at       where the risk is taken: a false positive rate, a prior, a least delta, or 0 for PRV_ADVANTAGE
 *   target   mu >= 0 and finite; of all others in [0, 1]; else PRV_ERR_RISK
 * PRV_ERR_TARGET if no factor meets the target, as of a power below its false positive rate and of a Bayes
 * risk above min(prior, 1 - prior).
 *
 * The fields `epsilon` and `next_epsilon` of *calibration hold bounds of the risk. They are those that
 * prv_power, prv_bayes_risk, prv_gaussian_mu, or for PRV_ADVANTAGE prv_delta with a delta_relative_error of
 * 0, gives with the eps_error stated. epsilon.upper meets the target (of a Bayes risk: epsilon.lower); if
 * next_epsilon.lower (of a Bayes risk: next_epsilon.upper) misses it, next_factor misses it by any way of
 * accounting. */
PRV_API prv_status prv_calibrate_risk(const prv_step *steps, size_t step_count, size_t fixed_count,
                                      prv_parameter parameter, prv_risk risk, double at, double target,
                                      double tolerance, const prv_options *options,
                                      prv_calibration *calibration);

/* ==== DP-SGD ============================================================================= */

/* `steps` steps of DP-SGD, each Gaussian noise of noise_multiplier on a Poisson sample with
 * sampling_probability (prv_mechanism_gaussian, prv_mechanism_poisson_subsampled), with the options of
 * prv_options_default. Errors are those of the functions that the calls below stand for. Programs that ask
 * often keep mechanisms and a provider of transforms instead. */

/* Bounds of epsilon at delta, as prv_epsilon. */
PRV_API prv_status prv_dpsgd_epsilon(double noise_multiplier, double sampling_probability, uint64_t steps,
                                     double delta, prv_bounds *epsilon);
/* Bounds of delta at epsilon, as prv_delta. */
PRV_API prv_status prv_dpsgd_delta(double noise_multiplier, double sampling_probability, uint64_t steps,
                                   double epsilon, prv_bounds *delta);
/* The least noise multiplier, noise->factor, with which the run is (epsilon, delta)-DP, as prv_calibrate with
 * a tolerance of 1e-4. */
PRV_API prv_status prv_dpsgd_noise(double sampling_probability, uint64_t steps, double epsilon, double delta,
                                   prv_calibration *noise);

/* ==== Other quantities of a composition =================================================== */

/* Bounds of the greatest power (true positive rate) of a test that tells the two output distributions
 * apart, at each of `length` false positive rates; the greater of both directions. 1 - power is the
 * trade-off function of Dong, Roth, Su, "Gaussian Differential Privacy" (JRSS B 2022, arXiv:1905.02383).
 *   false_positive_rates   double[length]       in [0, 1], else PRV_ERR_RATE
 *   bounds                 prv_bounds[length]   in [0, 1]
 *   reports                prv_report[length]   or NULL: of the delta that decides the upper bound, or of one
 *                                               beside it that is not accurate
 * The width asked is one in epsilon. If reports are accurate and mesh_size is not set, the relative width
 * of the power is up to 5 times as much. Cost: 5 to 60 deltas for each rate. */
PRV_API prv_status prv_power(const prv_step *steps, size_t step_count, const prv_options *options,
                             const double *false_positive_rates, size_t length, prv_bounds *bounds,
                             prv_report *reports);

/* Bounds of the Bayes risk: the least probability, over all guesses, of a wrong guess which of the two data
 * sets was used, where the prior is the probability, before the output is seen, of the data set of Q. It is
 *     prior (1 - delta(log((1 - prior) / prior))).
 *   priors    double[length]       in [0, 1], else PRV_ERR_PRIOR
 *   bounds    prv_bounds[length]   in [0, min(prior, 1 - prior)]
 *   reports   prv_report[length]   or NULL: of the delta that decides
 *
 * Some two data sets have `upper` or less, and all have `lower` or more.
 *
 * The data set of Q has the record if the neighbors are PRV_REMOVE, and lacks it if they are PRV_ADD. For the
 * other relations the prior is that of either data set: the least risk of both counts. The width asked is one
 * in epsilon, but no finer than 1e-9 of the prior. Cost: one delta for each prior. */
PRV_API prv_status prv_bayes_risk(const prv_step *steps, size_t step_count, const prv_options *options,
                                  const double *priors, size_t length, prv_bounds *bounds,
                                  prv_report *reports);

/* Bounds of the least mu >= 0 with
 *     delta(eps) <= max(delta_mu(eps), delta) for all eps >= 0,
 *     delta_mu(eps) = Phi(-eps / mu + mu / 2) - e^eps Phi(-eps / mu - mu / 2)
 * (the curve of N(0, 1) against N(mu, 1)), for each of `length` deltas. With mu = upper, every (epsilon,
 * delta') that holds for that Gaussian mechanism, with epsilon >= 0 and delta' >= delta, holds for the
 * composition; with mu < lower some do not. Without a least delta (the mu-GDP of Dong, Roth, Su) most
 * compositions have no mu, or one that says little, since rare losses decide.
 *   deltas    double[length]       in (0, 1], else PRV_ERR_DELTA
 *   bounds    prv_bounds[length]   infinite if delta is below the mass at infinity
 *   reports   prv_report[length]   or NULL: of the delta that decides the upper bound
 * The width asked is one in epsilon; the relative width of mu is about as much, or 1e-3. From about mu = 14
 * on delta(0) rounds to 1, and moments bound the rest: the upper bound is about a tenth above the lower
 * one, several times the lower one if the mu of a single step is above 75, and infinite for mechanisms
 * given by functions. Cost: one epsilon, and up to 400 deltas. */
PRV_API prv_status prv_gaussian_mu(const prv_step *steps, size_t step_count, const prv_options *options,
                                   const double *deltas, size_t length, prv_bounds *bounds,
                                   prv_report *reports);

/* Bounds of the Renyi divergence D = log(E_P[(dQ/dP)^alpha]) / (alpha - 1) for each of `length` orders
 * alpha; the greater of both directions. The composition is (alpha, D)-RDP (Mironov 2017,
 * arXiv:1702.07476).
 *   orders    double[length]       in (1, 1e6], else PRV_ERR_ORDER
 *   bounds    prv_bounds[length]   nats; infinite if there is mass at infinity
 * Of the options only neighbors and progress have an effect, but all must be valid. The width is about 2e-5
 * of D, and more if rounding is more, or for discrete Gaussian noise at orders above 38 scale /
 * sensitivity. PRV_ERR_MOMENTS for mechanisms given by functions, since losses beyond those that were asked
 * decide. Cost: some thousand cells for each order and step, whatever the counts. */
PRV_API prv_status prv_renyi_divergence(const prv_step *steps, size_t step_count, const prv_options *options,
                                        const double *orders, size_t length, prv_bounds *bounds);

/* ==== Histories: compositions that grow =================================================== */

/* What was computed for the steps of earlier queries, so that the next one costs only the steps that were
 * added. Two threads must not use one history at once. */
typedef struct prv_history prv_history;

/* PRV_ERR_MEMORY. */
PRV_API prv_status prv_history_new(prv_history **history);
/* NULL is allowed. */
PRV_API void prv_history_free(prv_history *history);

/* As prv_epsilon and prv_delta, for steps in the order in which they ran.
 *
 * Work for the longest beginning shared with the previous call is reused. Mechanisms of the previous call are
 * compared with those of this one by pointer, so they must live until this one. The last shared step may have
 * a higher count now, and other steps may follow it. Bounds meet the width asked as those of prv_epsilon do,
 * with other bits. They depend on the other arguments only: what the history was asked before makes a
 * difference in time alone.
 *
 * Cost, if the spectrum answers: O(1) for each mechanism that was added; for a history of n distinct
 * mechanisms with a query after each, O(n log n) in all. Cost of prv_epsilon or prv_delta, O(n):
 * if options ask for mean-matching, the convolution or a mesh_size, if the pairs of the steps are not
 * attained (prv_report.attained), or if the spectrum does not serve or gives wider bounds than asked. A
 * history of a few distinct mechanisms gains nothing.
 *
 * Sums are kept for 8 different deltas or epsilons; a ninth replaces the one that was asked longest ago.
 * After an error, PRV_ERR_INTERRUPTED included, the history has forgotten everything, and may still be
 * used. */
PRV_API prv_status prv_history_epsilon(prv_history *history, const prv_step *steps, size_t step_count,
                                       const prv_options *options, const double *deltas, size_t length,
                                       prv_bounds *bounds, prv_report *reports);
PRV_API prv_status prv_history_delta(prv_history *history, const prv_step *steps, size_t step_count,
                                     const prv_options *options, const double *epsilons, size_t length,
                                     prv_bounds *bounds, prv_report *reports);

/* ==== Sweeps ============================================================================== */

/* What was computed of one mechanism for other counts, so that many counts cost less than one by one. Two
 * threads must not use one sweep at once. */
typedef struct prv_sweep prv_sweep;

/* The mechanism must live as long as the sweep. PRV_ERR_MEMORY. */
PRV_API prv_status prv_sweep_new(const prv_mechanism *mechanism, prv_sweep **sweep);
/* NULL is allowed. */
PRV_API void prv_sweep_free(prv_sweep *sweep);

/* bounds[i], i < length: those of prv_epsilon at the one delta deltas[i], of the mechanism counts[i] times,
 * to the last bit. reports may be NULL.
 *
 * Of Gaussian noise on Poisson samples that runs some hundred times or more, what is computed for one count
 * serves all counts within a factor of 2; this is kept for the 16 ranges of counts asked last, at one delta
 * and with options that are the same. So counts are to be asked in order. Other mechanisms gain little.
 *
 * Statuses of prv_epsilon; on PRV_ERR_MEMORY_LIMIT reports[0].memory is what is needed. After an error the
 * sweep has forgotten everything, and may still be used. */
PRV_API prv_status prv_sweep_epsilon(prv_sweep *sweep, const uint64_t *counts, const double *deltas,
                                     size_t length, const prv_options *options, prv_bounds *bounds,
                                     prv_report *reports);

/* ==== Accountants: histories that hold their steps ======================================== */

/* What has run so far. It has references to its mechanisms, so that the program may free its own. Two threads
 * must not use one accountant at once, but for prv_accountant_copy and prv_accountant_steps, which may run
 * together. Section "Files" writes and reads them. */
typedef struct prv_accountant prv_accountant;

/* Nothing has run. PRV_ERR_MEMORY. */
PRV_API prv_status prv_accountant_new(prv_accountant **accountant);
/* NULL is allowed. */
PRV_API void prv_accountant_free(prv_accountant *accountant);
/* One more with the same steps, which goes on by itself. PRV_ERR_MEMORY. O(steps). */
PRV_API prv_status prv_accountant_copy(const prv_accountant *accountant, prv_accountant **copy);

/* The mechanism has run `count` times more. The count of an equal mechanism, if one has run before, is
 * raised. PRV_ERR_COUNT if the counts add up to more than 2^53; then, and with PRV_ERR_MEMORY, nothing is
 * added. O(1). */
PRV_API prv_status prv_accountant_add(prv_accountant *accountant, const prv_mechanism *mechanism,
                                      uint64_t count);

/* All that has run, each mechanism once, in the order in which they first ran. Valid until the next
 * prv_accountant_add or prv_accountant_free. */
PRV_API const prv_step *prv_accountant_steps(const prv_accountant *accountant, size_t *step_count);

/* As prv_history_epsilon and prv_history_delta of these steps. */
PRV_API prv_status prv_accountant_epsilon(prv_accountant *accountant, const prv_options *options,
                                          const double *deltas, size_t length, prv_bounds *bounds,
                                          prv_report *reports);
PRV_API prv_status prv_accountant_delta(prv_accountant *accountant, const prv_options *options,
                                        const double *epsilons, size_t length, prv_bounds *bounds,
                                        prv_report *reports);

/* ==== Files: compositions as text ========================================================= */

/* Compositions as JSON in the two forms that the Python package writes and reads, with the names of its
 * classes and their parameters:
 *   a schedule      {"steps": [{"type": "Laplace", "scale": 20, "count": 10}, ...]}
 *   an accountant   {"format": "prvcore accountant", "version": 1, "options": {"neighbors": "add-or-remove"},
 *                    "history": [{"mechanism": {"type": "Laplace", "scale": 20}, "count": 10}, ...]}
 * prvcore/files/schedule.schema.json of the package is the schema of schedules. Numbers are written with the
 * digits, at most 17, that give the same double back, whatever the locale.
 *
 * Both write at most `size` bytes to text, a closing 0 included, and set *length to the bytes that the whole
 * text has without the 0: if *length >= size, the text was cut. So ask with (NULL, 0) first, or again with
 * more room. PRV_ERR_NO_JSON if a mechanism is given by functions, for shuffled batches or of kind
 * PRV_KIND_SCALED, is stated and no table, or has more than 64 mechanisms within each other. Steps of count 0
 * are left out. O(text). */
PRV_API prv_status prv_steps_to_json(const prv_step *steps, size_t step_count, char *text, size_t size,
                                     size_t *length);

/* Options may be NULL: none are written. Else their neighbors, discretization, engine, eps_error,
 * delta_error, mesh_size and delta_relative_error are, and no others. PRV_ERR_OPTIONS if one is out of its
 * range, PRV_ERR_NO_JSON for engines that Python has not (PRV_ENGINE_FIRST). */
PRV_API prv_status prv_accountant_to_json(const prv_accountant *accountant, const prv_options *options,
                                          char *text, size_t size, size_t *length);

/* Makes *accountant, to be freed with prv_accountant_free, of either form: `length` bytes of JSON, at most
 * 2^24, with no byte behind but blanks. *options get those that an accountant's text has, and keep all
 * others; a schedule has none. If options is NULL, a text with options is refused (PRV_ERR_OPTIONS), as its
 * answers would not be those of that accountant.
 *
 * Reading is strict: PRV_ERR_JSON for unknown names, names twice, names that lack, numbers that are no JSON,
 * fractions where whole numbers belong, escapes in strings, more than 64 mechanisms within each other, and
 * types of functions. Else the status of the constructor, or of prv_accountant_add. PRV_ERR_NEIGHBORS for a
 * NoisyCount that is not centred: for a replaced record its pair is not that of any mechanism here. If a call
 * fails, *accountant is NULL, *options are as before, and *fault, unless fault is NULL, is the byte of the
 * text where the fault was seen.
 *
 * What was written is read back as equal mechanisms (prv_mechanism_equal) in the same order, so that answers
 * keep their bits; but Gaussian noise on the same records is joined (prv_mechanism_gaussians), and a single
 * mechanism that runs once is itself. O(length), and memory of up to 40 bytes for each byte. */
PRV_API prv_status prv_accountant_from_json(const char *text, size_t length, prv_options *options,
                                            size_t *fault, prv_accountant **accountant);

/* ==== Transforms ========================================================================== */

/* The provider that the library was built with (PRVCORE_FFT in CMake): its own transforms, FFTW3, or none,
 * which gives PRV_ERR_FFT. A provider keeps the plan of each length that was asked, about as many bytes as
 * the buffers of that length, until it is freed: make one, and let all threads share it. A plan comes from
 * the allocator of the thread that first needed its length, and this allocator must live as long as the
 * provider. */
PRV_API prv_status prv_fft_provider_new(prv_fft_provider **provider);
/* For providers of prv_fft_provider_new only, once no query uses them. NULL is allowed. */
PRV_API void prv_fft_provider_free(prv_fft_provider *provider);
/* "portable", "fftw" or "none"; static storage. */
PRV_API const char *prv_fft_provider_name(void);

/* A provider of your own fills the structs below. */

/* Bytes. */
#define PRV_FFT_ALIGNMENT 64

/* Executes one plan. in and out are aligned to PRV_FFT_ALIGNMENT bytes and do not overlap. */
typedef void (*prv_fft_execute)(void *plan, void *in, void *out);

/* Real transforms of one length. `forward` takes double[length] to complex[length / 2 + 1] (pairs of
 * doubles), with factors e^(-2 pi i j k / length); `inverse` takes these back, unnormalised:
 * inverse(forward(x)) = length * x. Each may overwrite its input, and may run in several threads at once on
 * different buffers. The plans belong to the provider, and outlive every query that uses them. */
typedef struct prv_fft {
    size_t length;
    void *forward_plan, *inverse_plan;
    prv_fft_execute forward, inverse;
} prv_fft;

/* Supplies transforms. `plan` is called in the thread of a query, with lengths whose prime factors are 2,
 * 3, 5 and 7 only, and must be thread-safe. It returns PRV_OK, PRV_ERR_MEMORY or PRV_ERR_FFT; any other
 * value is taken for PRV_ERR_FFT.
 *
 * Bounds rely on two errors, with u = 2^-53. The relative L2 error of one transform must stay below 7 u
 * log2(length), which is the bound of Higham, "Accuracy and Stability of Numerical Algorithms", Theorem
 * 24.2, for accurate twiddles. The error of each output must stay below 7 u log2(length) times the sum of
 * the inputs' moduli, since each output is a sum of all inputs, with factors of modulus 1 that are rounded
 * log2(length) times. */
struct prv_fft_provider {
    void *context;
    prv_status (*plan)(void *context, size_t length, prv_fft *fft);
};

/* ==== Memory ============================================================================== */

/* Where memory comes from. {NULL, NULL, NULL} is the C library.
 *   allocate   returns `size` > 0 bytes, aligned to `alignment`, a power of two that divides size
 *              (PRV_FFT_ALIGNMENT at present). If it returns NULL, the call that needed the memory returns
 *              PRV_ERR_MEMORY
 *   release    takes what allocate returned, with the same size and alignment, once; never NULL
 * `allocate` is called only in the thread that uses the allocator. `release` is called in any thread that
 * frees a mechanism, or asks or frees a history. Neither may call this library. */
typedef struct prv_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *pointer, size_t size, size_t alignment);
} prv_allocator;

/* Makes all later calls in this thread, and in no other, allocate there, and returns the allocator used
 * before: the C library at first. It is the only setting that this library keeps, and it changes no result.
 *
 * Memory remembers its allocator: any thread may use and free a mechanism or a history, whichever allocator
 * that thread uses, as long as the functions and contexts of the allocators live with which the object was
 * made and asked, and those of the mechanisms that it was made of or holds. Queries free all that they
 * allocate before they return, but for plans of transforms, which belong to their provider, and for what a
 * history keeps. */
PRV_API prv_allocator prv_use_allocator(prv_allocator allocator);

#ifdef __cplusplus
}
#endif
#endif
