# prvcore.h for Cython. The header states the contract of every name here.
#
# A callback may raise: its exception stays set in the thread while C returns with an error status,
# and `check` of status.pxd lets it through unchanged.

from libc.stdint cimport int64_t, uint64_t


cdef extern from "prvcore.h" nogil:
    const char *PRV_VERSION

    ctypedef enum prv_status:
        PRV_OK
        PRV_ERR_MEMORY
        PRV_ERR_INTERRUPTED
        PRV_ERR_NOISE_MULTIPLIER
        PRV_ERR_SCALE
        PRV_ERR_SENSITIVITY
        PRV_ERR_SAMPLING_PROBABILITY
        PRV_ERR_EPSILON
        PRV_ERR_DELTA
        PRV_ERR_RATE
        PRV_ERR_PRIOR
        PRV_ERR_RISK
        PRV_ERR_TABLE
        PRV_ERR_TABLE_SUM
        PRV_ERR_TABLE_REVERSE
        PRV_ERR_CALLBACK
        PRV_ERR_CDF
        PRV_ERR_CDF_PAIR
        PRV_ERR_CURVE
        PRV_ERR_SUPPORT
        PRV_ERR_COUNT
        PRV_ERR_OPTIONS
        PRV_ERR_FFT
        PRV_ERR_MEMORY_LIMIT
        PRV_ERR_PRECISION
        PRV_ERR_DISCRETIZATION
        PRV_ERR_ENGINE
        PRV_ERR_PARAMETER
        PRV_ERR_TOLERANCE
        PRV_ERR_TARGET
        PRV_ERR_COMPONENTS
        PRV_ERR_BATCHES
        PRV_ERR_NEIGHBORS
        PRV_ERR_ORDER
        PRV_ERR_MOMENTS
        PRV_ERR_GROUPS
        PRV_ERR_ARITHMETIC
        PRV_ERR_PART
        PRV_ERR_BOUNDS
        PRV_ERR_COMBINED
        PRV_ERR_FIXED_COUNT
        PRV_ERR_JSON
        PRV_ERR_NO_JSON
        PRV_ERR_GROUP
        PRV_STATUS_COUNT

    enum:
        PRV_VERSION_NUMBER
    const char *prv_version()

    const char *prv_status_message(prv_status status)

    enum:
        PRV_FFT_ALIGNMENT

    ctypedef void (*prv_fft_execute)(void *plan, void *input, void *output) noexcept nogil

    ctypedef struct prv_fft:
        size_t length
        void *forward_plan
        void *inverse_plan
        prv_fft_execute forward
        prv_fft_execute inverse

    ctypedef struct prv_fft_provider:
        void *context
        prv_status (*plan)(
            void *context, size_t length, prv_fft *fft
        ) except? PRV_ERR_FFT nogil

    prv_status prv_fft_provider_new(prv_fft_provider **provider)
    void prv_fft_provider_free(prv_fft_provider *provider)
    const char *prv_fft_provider_name()

    ctypedef struct prv_mechanism:
        pass

    ctypedef enum prv_neighbors:
        PRV_ADD_OR_REMOVE
        PRV_ADD
        PRV_REMOVE
        PRV_REPLACE_ONE

    ctypedef int (*prv_cdf_callback)(
        void *context, const double *losses, size_t length, double *cdf_q, double *cdf_p
    ) except -1 nogil
    ctypedef int (*prv_tail_callback)(
        void *context,
        int reversed,
        const double *losses,
        size_t length,
        double *tail_q,
        double *tail_p,
        double *scaled_p,
        double *error,
    ) except -1 nogil
    ctypedef int (*prv_curve_callback)(
        void *context, const double *epsilons, size_t length, double *deltas
    ) except -1 nogil

    prv_status prv_mechanism_gaussian(double noise_multiplier, prv_mechanism **mechanism)
    prv_status prv_mechanism_gaussians(
        const double *noise_multipliers,
        const uint64_t *counts,
        size_t length,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_laplace(
        double scale, double sensitivity, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_discrete_gaussian(
        double scale, int64_t sensitivity, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_discrete_laplace(
        double scale, int64_t sensitivity, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_approximate_dp(
        double epsilon, double delta, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_table(
        const double *losses,
        const double *probabilities,
        size_t length,
        double mass_at_infinity,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_cdfs(
        prv_cdf_callback cdfs, void *context, double mass_at_infinity, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_tails(
        prv_tail_callback tails, void *context, bint mirrored, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_curve(
        prv_curve_callback curve,
        void *context,
        double mass_at_infinity,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_poisson_subsampled(
        const prv_mechanism *base, double sampling_probability, prv_mechanism **mechanism
    )

    ctypedef enum prv_parameter:
        PRV_NOISE_SCALE
        PRV_SAMPLING_PROBABILITY
        PRV_STEPS

    prv_status prv_mechanism_scaled(
        const prv_mechanism *base,
        prv_parameter parameter,
        double factor,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_bounded_range(double epsilon, prv_mechanism **mechanism)
    prv_status prv_mechanism_randomized_response(
        double epsilon, uint64_t categories, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_subsampled_without_replacement(
        const prv_mechanism *base, double sampling_probability, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_truncated_poisson_gaussian(
        double noise_multiplier,
        double sampling_probability,
        uint64_t dataset_size,
        uint64_t maximum_batch_size,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_shuffled_from_below(
        double noise_multiplier, uint64_t batches, int replaced, prv_mechanism **mechanism
    )
    prv_status prv_mechanism_check_neighbors(
        const prv_mechanism *mechanism, prv_neighbors neighbors
    )
    prv_status prv_mechanism_gaussian_mixture(
        double noise_multiplier,
        const double *sensitivities,
        const double *probabilities,
        size_t length,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_group_gaussian(
        double noise_multiplier,
        double sampling_probability,
        uint64_t group_size,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_fixed_size_group_gaussian(
        double noise_multiplier,
        uint64_t dataset_size,
        uint64_t batch_size,
        uint64_t group_size,
        prv_mechanism **mechanism,
    )
    void prv_mechanism_free(prv_mechanism *mechanism)

    ctypedef struct prv_step:
        const prv_mechanism *mechanism
        uint64_t count

    ctypedef enum prv_kind:
        PRV_KIND_GAUSSIAN
        PRV_KIND_GAUSSIANS
        PRV_KIND_LAPLACE
        PRV_KIND_DISCRETE_GAUSSIAN
        PRV_KIND_DISCRETE_LAPLACE
        PRV_KIND_APPROXIMATE_DP
        PRV_KIND_BOUNDED_RANGE
        PRV_KIND_RANDOMIZED_RESPONSE
        PRV_KIND_POISSON_SUBSAMPLED
        PRV_KIND_SUBSAMPLED_WITHOUT_REPLACEMENT
        PRV_KIND_COMPOSED
        PRV_KIND_RANDOM_ALLOCATION
        PRV_KIND_RANDOM_SELECTION
        PRV_KIND_TABLE
        PRV_KIND_CDFS
        PRV_KIND_TAILS
        PRV_KIND_CURVE
        PRV_KIND_GAUSSIAN_MIXTURE
        PRV_KIND_GROUP_GAUSSIAN
        PRV_KIND_TRUNCATED_POISSON_GAUSSIAN
        PRV_KIND_SHUFFLED_FROM_BELOW
        PRV_KIND_SCALED
        PRV_KIND_STATED
        PRV_KIND_FIXED_SIZE_GROUP_GAUSSIAN

    ctypedef struct prv_description:
        prv_kind kind
        double noise
        double sensitivity
        double sampling_probability
        double epsilon
        double delta
        double mass_at_infinity
        uint64_t categories
        uint64_t group_size
        uint64_t batches
        uint64_t selected
        uint64_t dataset_size
        uint64_t maximum_batch_size
        bint replaced
        bint mirrored
        size_t length
        const double *values
        const double *probabilities
        const uint64_t *counts
        size_t part_count
        const prv_step *parts
        prv_parameter parameter
        double factor
        prv_cdf_callback cdfs
        prv_tail_callback tails
        prv_curve_callback curve
        void *context

    prv_mechanism *prv_mechanism_retain(const prv_mechanism *mechanism)
    const prv_description *prv_mechanism_description(const prv_mechanism *mechanism)
    bint prv_mechanism_equal(const prv_mechanism *first, const prv_mechanism *second)

    prv_status prv_mechanism_composed(
        const prv_step *steps, size_t step_count, prv_mechanism **mechanism
    )
    ctypedef enum prv_relation:
        PRV_RELATION_ADD_OR_REMOVE
        PRV_RELATION_REPLACE_ONE
        PRV_RELATION_ANY

    prv_status prv_mechanism_stated(
        const prv_mechanism *own,
        prv_relation relation,
        int attained,
        prv_mechanism **mechanism,
    )
    prv_status prv_mechanism_random_selection(
        const prv_mechanism *base,
        uint64_t batches,
        uint64_t selected,
        prv_mechanism **mechanism,
    )

    ctypedef enum prv_discretization:
        PRV_BRACKETING
        PRV_MEAN_MATCHING

    ctypedef enum prv_engine:
        PRV_ENGINE_AUTO
        PRV_ENGINE_CONVOLUTION
        PRV_ENGINE_SPECTRUM
        PRV_ENGINE_JUMPS
        PRV_ENGINE_CLOSED_FORM

    ctypedef struct prv_progress:
        size_t question
        size_t questions
        size_t compositions
        size_t passes
        double width
        double width_asked
        double fraction

    ctypedef int (*prv_progress_callback)(
        void *context, const prv_progress *progress
    ) except -1 nogil

    ctypedef struct prv_options:
        prv_discretization discretization
        prv_engine engine
        prv_neighbors neighbors
        double eps_error
        double eps_relative_error
        double eps_floor
        double delta_error
        double delta_relative_error
        double threshold
        double mesh_size
        size_t memory_limit
        const prv_fft_provider *fft
        prv_progress_callback progress
        void *progress_context

    prv_options prv_options_default()
    const char *prv_options_fault(const prv_options *options)

    ctypedef struct prv_bounds:
        double lower
        double estimate
        double upper

    ctypedef enum prv_limit:
        PRV_LIMIT_NONE
        PRV_LIMIT_ROUNDING
        PRV_LIMIT_MEMORY
        PRV_LIMIT_ENGINE
        PRV_LIMIT_MESH_SIZE
        PRV_LIMIT_PASSES

    ctypedef struct prv_report:
        int accurate
        prv_neighbors direction
        prv_engine engine
        double width
        double mesh_size
        double tilt
        size_t cells
        size_t transform_length
        size_t transforms
        size_t frequencies
        size_t memory
        double discretization
        double truncation
        double wrap_around
        double rounding
        int attained
        double unattained
        prv_limit limit

    int prv_is_attained(const prv_step *steps, size_t step_count, prv_neighbors neighbors)

    prv_status prv_check_steps(
        const prv_step *steps, size_t step_count, prv_neighbors neighbors
    )

    prv_status prv_epsilon(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *deltas,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )
    prv_status prv_delta(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *epsilons,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )

    ctypedef struct prv_sweep:
        pass

    prv_status prv_sweep_new(const prv_mechanism *mechanism, prv_sweep **sweep)
    void prv_sweep_free(prv_sweep *sweep)
    prv_status prv_sweep_epsilon(
        prv_sweep *sweep,
        const uint64_t *counts,
        const double *deltas,
        size_t length,
        const prv_options *options,
        prv_bounds *bounds,
        prv_report *reports,
    )

    ctypedef struct prv_witness_lattice:
        size_t length
        double offset, spacing
        const int64_t *index
        const double *mass
        double infinite_mass, infinite_error, relative, shift

    ctypedef struct prv_witness_pass:
        prv_neighbors direction
        int symmetric
        prv_bounds bounds
        prv_engine engine
        double tilt, mesh_size
        size_t transform_length
        double discretization, truncation, wrap_around, rounding
        size_t step_count
        const double *counts
        const prv_witness_lattice *above
        const prv_witness_lattice *below

    ctypedef int (*prv_witness_callback)(
        void *context, const prv_witness_pass *shown
    ) except -1 nogil
    prv_status prv_witness(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        int of_epsilon,
        double value,
        prv_witness_callback callback,
        void *context,
        prv_bounds *bounds,
    )

    ctypedef struct prv_history:
        pass

    prv_status prv_history_new(prv_history **history)
    void prv_history_free(prv_history *history)
    prv_status prv_history_epsilon(
        prv_history *history,
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *deltas,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )
    prv_status prv_history_delta(
        prv_history *history,
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *epsilons,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )

    ctypedef struct prv_accountant:
        pass

    prv_status prv_accountant_new(prv_accountant **accountant)
    void prv_accountant_free(prv_accountant *accountant)
    prv_status prv_accountant_copy(const prv_accountant *accountant, prv_accountant **copy)
    prv_status prv_accountant_add(
        prv_accountant *accountant, const prv_mechanism *mechanism, uint64_t count
    )
    const prv_step *prv_accountant_steps(const prv_accountant *accountant, size_t *step_count)
    prv_status prv_accountant_epsilon(
        prv_accountant *accountant,
        const prv_options *options,
        const double *deltas,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )
    prv_status prv_accountant_delta(
        prv_accountant *accountant,
        const prv_options *options,
        const double *epsilons,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )

    ctypedef struct prv_calibration:
        double factor
        double eps_error
        prv_bounds epsilon
        double next_factor
        double next_eps_error
        prv_bounds next_epsilon
        bint monotone
        size_t compositions
        size_t fine

    prv_status prv_steps_left(
        const prv_step *steps,
        size_t step_count,
        const prv_mechanism *mechanism,
        double epsilon,
        double delta,
        double tolerance,
        const prv_options *options,
        uint64_t *left,
    )

    prv_status prv_calibrate(
        const prv_step *steps,
        size_t step_count,
        size_t fixed_count,
        prv_parameter parameter,
        double epsilon,
        double delta,
        double tolerance,
        const prv_options *options,
        prv_calibration *calibration,
    )

    prv_status prv_dpsgd_epsilon(
        double noise_multiplier,
        double sampling_probability,
        uint64_t steps,
        double delta,
        prv_bounds *epsilon,
    )
    prv_status prv_dpsgd_delta(
        double noise_multiplier,
        double sampling_probability,
        uint64_t steps,
        double epsilon,
        prv_bounds *delta,
    )
    prv_status prv_dpsgd_noise(
        double sampling_probability,
        uint64_t steps,
        double epsilon,
        double delta,
        prv_calibration *noise,
    )

    ctypedef enum prv_risk:
        PRV_ADVANTAGE
        PRV_POWER
        PRV_BAYES_RISK
        PRV_GAUSSIAN_MU

    prv_status prv_calibrate_risk(
        const prv_step *steps,
        size_t step_count,
        size_t fixed_count,
        prv_parameter parameter,
        prv_risk risk,
        double at,
        double target,
        double tolerance,
        const prv_options *options,
        prv_calibration *calibration,
    )

    prv_status prv_power(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *false_positive_rates,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )

    prv_status prv_bayes_risk(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *priors,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )

    prv_status prv_gaussian_mu(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *deltas,
        size_t length,
        prv_bounds *bounds,
        prv_report *reports,
    )

    prv_status prv_renyi_divergence(
        const prv_step *steps,
        size_t step_count,
        const prv_options *options,
        const double *orders,
        size_t length,
        prv_bounds *bounds,
    )
