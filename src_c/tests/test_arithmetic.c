/* Whatever is public and computes looks at the modes of the thread first: rounding, subnormal numbers, the
 * precision of long double. Each mode that a platform has is set here, under every function of the header. */
#include <fenv.h>

#include "base/arithmetic.h"

#include "asking.h"
#include "no_callbacks.h"

#if defined(__SSE__) || defined(__SSE2__) || defined(__x86_64__)
#include <xmmintrin.h>
#define HAS_MXCSR
#endif

/* ---- Modes ------------------------------------------------------------------------------------------- */

static fenv_t plain;

static void back(void)
{
    fesetenv(&plain);
#if defined(HAS_MXCSR)
    _mm_setcsr(0x1f80);
#endif
}

#if defined(FE_UPWARD)
static void upward(void)
{
    fesetround(FE_UPWARD);
}
#endif
#if defined(FE_DOWNWARD)
static void downward(void)
{
    fesetround(FE_DOWNWARD);
}
#endif
#if defined(FE_TOWARDZERO)
static void towards_zero(void)
{
    fesetround(FE_TOWARDZERO);
}
#endif

#if defined(HAS_MXCSR)
static void flush_results(void)
{
    _mm_setcsr(_mm_getcsr() | 0x8000);
}
static void flush_operands(void)
{
    _mm_setcsr(_mm_getcsr() | 0x0040);
}
static void flush_both(void)
{
    _mm_setcsr(_mm_getcsr() | 0x8040);
}
#elif defined(__aarch64__) && defined(__GNUC__)
static void flush_both(void)
{
    uint64_t modes;
    __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
    modes |= UINT64_C(1) << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(modes));
}
#endif

#if defined(HAS_MXCSR) && defined(__GNUC__) && LDBL_MANT_DIG == 64
static void x87_control(uint16_t mask, uint16_t bits)
{
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    control = (uint16_t)((control & ~mask) | bits);
    __asm__ volatile("fldcw %0" : : "m"(control));
}
/* Of the part of x86 that long double is computed in alone. */
static void cut_long_double(void)
{
    x87_control(0x0300, 0x0200);
}
static void long_double_upward(void)
{
    x87_control(0x0c00, 0x0800);
}
static void long_double_downward(void)
{
    x87_control(0x0c00, 0x0400);
}
#endif

typedef struct mode {
    const char *name;
    void (*set)(void);
} mode;

static const mode modes[] = {
#if defined(FE_UPWARD)
    {"upward", upward},
#endif
#if defined(FE_DOWNWARD)
    {"downward", downward},
#endif
#if defined(FE_TOWARDZERO)
    {"towards zero", towards_zero},
#endif
#if defined(HAS_MXCSR)
    {"subnormal results flushed", flush_results},
    {"subnormal operands flushed", flush_operands},
#endif
#if defined(HAS_MXCSR) || (defined(__aarch64__) && defined(__GNUC__))
    {"subnormal numbers flushed", flush_both},
#endif
#if defined(HAS_MXCSR) && defined(__GNUC__) && LDBL_MANT_DIG == 64
    {"long double cut", cut_long_double},
    {"long double upward", long_double_upward},
    {"long double downward", long_double_downward},
#endif
    {NULL, NULL},
};

/* ---- Every function of the header -------------------------------------------------------------------- */

static prv_mechanism *base, *table, *made;
static prv_history *history;
static prv_sweep *sweep;
static prv_accountant *accountant;
static prv_step step;
static prv_options options;
static prv_bounds bounds;
static size_t text_length;
static const double delta = 1e-5, epsilon = 1.0, rate = 0.1, order = 2.0;
static const double values[] = {0.0, 1.0}, masses[] = {0.5, 0.5}, noises[] = {0.7, 1.1};
static const uint64_t counts[] = {2, 3};

static int no_pass(void *context, const prv_witness_pass *pass)
{
    (void)context, (void)pass;
    return 0;
}

#define CALL(name, arguments)                                                                                \
    static prv_status call_##name(void)                                                                      \
    {                                                                                                        \
        return name arguments;                                                                               \
    }
CALL(prv_mechanism_gaussian, (0.7, &made))
CALL(prv_mechanism_laplace, (0.7, 1.0, &made))
CALL(prv_mechanism_discrete_gaussian, (0.7, 1, &made))
CALL(prv_mechanism_discrete_laplace, (0.7, 1, &made))
CALL(prv_mechanism_approximate_dp, (0.7, 1e-5, &made))
CALL(prv_mechanism_bounded_range, (0.7, &made))
CALL(prv_mechanism_randomized_response, (0.7, 3, &made))
CALL(prv_mechanism_table, (values, masses, 2, 0.0, &made))
CALL(prv_mechanism_cdfs, (no_cdfs, NULL, 0.0, &made))
CALL(prv_mechanism_tails, (no_tails, NULL, 1, &made))
CALL(prv_mechanism_curve, (no_curve, NULL, 0.0, &made))
CALL(prv_mechanism_stated, (table, PRV_RELATION_ANY, 1, &made))
CALL(prv_mechanism_poisson_subsampled, (base, 0.1, &made))
CALL(prv_mechanism_subsampled_without_replacement, (base, 0.1, &made))
CALL(prv_mechanism_truncated_poisson_gaussian, (0.7, 0.1, 100, 20, &made))
CALL(prv_mechanism_shuffled_from_below, (0.7, 10, 0, &made))
CALL(prv_mechanism_scaled, (base, PRV_NOISE_SCALE, 1.1, &made))
CALL(prv_mechanism_gaussian_mixture, (0.7, values, masses, 2, &made))
CALL(prv_mechanism_group_gaussian, (0.7, 0.1, 3, &made))
CALL(prv_mechanism_fixed_size_group_gaussian, (0.7, 100, 10, 3, &made))
CALL(prv_mechanism_gaussians, (noises, counts, 2, &made))
CALL(prv_mechanism_composed, (&step, 1, &made))
CALL(prv_mechanism_random_allocation, (base, 3, &made))
CALL(prv_mechanism_random_selection, (base, 3, 2, &made))
CALL(prv_epsilon, (&step, 1, &options, &delta, 1, &bounds, NULL))
CALL(prv_delta, (&step, 1, &options, &epsilon, 1, &bounds, NULL))
CALL(prv_witness, (&step, 1, &options, 1, delta, no_pass, NULL, &bounds))
CALL(prv_history_epsilon, (history, &step, 1, &options, &delta, 1, &bounds, NULL))
CALL(prv_sweep_epsilon, (sweep, counts, &delta, 1, &options, &bounds, NULL))
CALL(prv_history_delta, (history, &step, 1, &options, &epsilon, 1, &bounds, NULL))
CALL(prv_accountant_epsilon, (accountant, &options, &delta, 1, &bounds, NULL))
CALL(prv_accountant_delta, (accountant, &options, &epsilon, 1, &bounds, NULL))
CALL(prv_accountant_add, (accountant, base, 1))
CALL(prv_steps_to_json, (&step, 1, NULL, 0, &text_length))
CALL(prv_accountant_to_json, (accountant, NULL, NULL, 0, &text_length))
CALL(prv_dpsgd_epsilon, (0.7, 0.1, 10, 1e-5, &bounds))
CALL(prv_dpsgd_delta, (0.7, 0.1, 10, 1.0, &bounds))
CALL(prv_power, (&step, 1, &options, &rate, 1, &bounds, NULL))
CALL(prv_bayes_risk, (&step, 1, &options, &rate, 1, &bounds, NULL))
CALL(prv_gaussian_mu, (&step, 1, &options, &delta, 1, &bounds, NULL))
CALL(prv_renyi_divergence, (&step, 1, &options, &order, 1, &bounds))

static prv_status call_prv_calibrate(void)
{
    prv_calibration found;
    return prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-2, &options, &found);
}

static prv_status call_prv_steps_left(void)
{
    uint64_t left;
    return prv_steps_left(&step, 1, step.mechanism, 50.0, 1e-5, 1e-2, &options, &left);
}

static prv_status call_prv_dpsgd_noise(void)
{
    prv_calibration found;
    return prv_dpsgd_noise(0.1, 10, 1.0, 1e-5, &found);
}

static prv_status call_prv_calibrate_risk(void)
{
    prv_calibration found;
    return prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_POWER, 0.1, 0.2, 1e-2, &options, &found);
}

/* Those that do not compute are never refused. */
static prv_status call_prv_mechanism_check_neighbors(void)
{
    return prv_mechanism_check_neighbors(base, PRV_ADD);
}
static prv_status call_prv_check_steps(void)
{
    return prv_check_steps(&step, 1, PRV_ADD);
}
static prv_status call_prv_sweep_new(void)
{
    prv_sweep *s = NULL;
    const prv_status status = prv_sweep_new(base, &s);
    prv_sweep_free(s);
    return status;
}
static prv_status call_prv_history_new(void)
{
    prv_history *h = NULL;
    const prv_status status = prv_history_new(&h);
    prv_history_free(h);
    return status;
}
static prv_status call_prv_accountant_new(void)
{
    prv_accountant *a = NULL;
    const prv_status status = prv_accountant_new(&a);
    prv_accountant_free(a);
    return status;
}
static prv_status call_prv_accountant_copy(void)
{
    prv_accountant *a = NULL;
    const prv_status status = prv_accountant_copy(accountant, &a);
    prv_accountant_free(a);
    return status;
}
static prv_status call_prv_accountant_from_json(void)
{
    static const char text[] = "{\"steps\": []}";
    prv_accountant *a = NULL;
    const prv_status status = prv_accountant_from_json(text, sizeof text - 1, NULL, NULL, &a);
    prv_accountant_free(a);
    return status;
}
static prv_status call_prv_fft_provider_new(void)
{
    prv_fft_provider *p = NULL;
    const prv_status status = prv_provider_new(&prv_portable_planner, &p); /* what it calls */
    prv_fft_provider_free(p);
    return status;
}

typedef struct function {
    const char *name;
    prv_status (*call)(void);
    int computes;
} function;

#define COMPUTES(name) {#name, call_##name, 1}
#define TELLS(name) {#name, call_##name, 0}
/* check_arithmetic.cmake compares these lines with the header. */
static const function functions[] = {
    COMPUTES(prv_mechanism_gaussian),
    COMPUTES(prv_mechanism_laplace),
    COMPUTES(prv_mechanism_discrete_gaussian),
    COMPUTES(prv_mechanism_discrete_laplace),
    COMPUTES(prv_mechanism_approximate_dp),
    COMPUTES(prv_mechanism_bounded_range),
    COMPUTES(prv_mechanism_randomized_response),
    COMPUTES(prv_mechanism_table),
    COMPUTES(prv_mechanism_cdfs),
    COMPUTES(prv_mechanism_tails),
    COMPUTES(prv_mechanism_curve),
    COMPUTES(prv_mechanism_stated),
    COMPUTES(prv_mechanism_poisson_subsampled),
    COMPUTES(prv_mechanism_subsampled_without_replacement),
    COMPUTES(prv_mechanism_truncated_poisson_gaussian),
    COMPUTES(prv_mechanism_shuffled_from_below),
    COMPUTES(prv_mechanism_scaled),
    COMPUTES(prv_mechanism_gaussian_mixture),
    COMPUTES(prv_mechanism_group_gaussian),
    COMPUTES(prv_mechanism_fixed_size_group_gaussian),
    COMPUTES(prv_mechanism_gaussians),
    COMPUTES(prv_mechanism_composed),
    COMPUTES(prv_mechanism_random_allocation),
    COMPUTES(prv_mechanism_random_selection),
    COMPUTES(prv_epsilon),
    COMPUTES(prv_delta),
    COMPUTES(prv_witness),
    COMPUTES(prv_history_epsilon),
    COMPUTES(prv_history_delta),
    COMPUTES(prv_sweep_epsilon),
    COMPUTES(prv_accountant_epsilon),
    COMPUTES(prv_accountant_delta),
    COMPUTES(prv_steps_to_json),
    COMPUTES(prv_accountant_to_json),
    COMPUTES(prv_accountant_from_json),
    COMPUTES(prv_dpsgd_epsilon),
    COMPUTES(prv_dpsgd_delta),
    COMPUTES(prv_dpsgd_noise),
    COMPUTES(prv_power),
    COMPUTES(prv_bayes_risk),
    COMPUTES(prv_gaussian_mu),
    COMPUTES(prv_renyi_divergence),
    COMPUTES(prv_calibrate),
    COMPUTES(prv_calibrate_risk),
    COMPUTES(prv_steps_left),
    TELLS(prv_mechanism_check_neighbors),
    TELLS(prv_check_steps),
    TELLS(prv_history_new),
    TELLS(prv_sweep_new),
    TELLS(prv_accountant_new),
    TELLS(prv_accountant_copy),
    TELLS(prv_accountant_add),
    TELLS(prv_fft_provider_new),
};

static void every_function(const mode *m)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        made = NULL;
        if (m != NULL) m->set();
        const prv_status status = f->call();
        back();
        prv_mechanism_free(made);
        const prv_status expected = m != NULL && f->computes ? PRV_ERR_ARITHMETIC : PRV_OK;
        check(status == expected, "%s, %s: %s", m != NULL ? m->name : "as it is", f->name,
              prv_status_message(status));
    }
}

/* ---- Callbacks --------------------------------------------------------------------------------------- */

static void (*set_by_callback)(void);

/* Of randomized response that answers truly with probability 3/4. */
static int cdfs(void *context, const double *losses, size_t length, double *cdf_q, double *cdf_p)
{
    (void)context;
    const double loss = log(3.0);
    for (size_t i = 0; i < length; i++) {
        cdf_q[i] = losses[i] < -loss ? 0.0 : losses[i] < loss ? 0.25 : 1.0;
        cdf_p[i] = losses[i] < -loss ? 0.0 : losses[i] < loss ? 0.75 : 1.0;
    }
    set_by_callback();
    return 0;
}
static int curve(void *context, const double *epsilons, size_t length, double *deltas)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        const double e = exp(epsilons[i]);
        deltas[i] = fmax(fmax(0.75 - 0.25 * e, 1.0 - e), 0.0);
    }
    set_by_callback();
    return 0;
}
static int progress(void *context, const prv_progress *now)
{
    (void)context, (void)now;
    set_by_callback();
    return 0;
}

/* The library's own transforms, but the last of each pair of a query leaves the mode. */
static prv_fft own_transforms;
static void inverse(void *plan, void *in, void *out)
{
    own_transforms.inverse(plan, in, out);
    set_by_callback();
}
static prv_status plan(void *context, size_t length, prv_fft *fft)
{
    const prv_fft_provider *library = context;
    const prv_status status = library->plan(library->context, length, &own_transforms);
    *fft = own_transforms;
    fft->inverse = inverse;
    return status;
}
static int witness(void *context, const prv_witness_pass *pass)
{
    (void)context, (void)pass;
    set_by_callback();
    return 0;
}

static prv_status of_mechanism(prv_mechanism *mechanism)
{
    const prv_step own = {mechanism, 2};
    const prv_status status = prv_epsilon(&own, 1, &options, &delta, 1, &bounds, NULL);
    back();
    return status;
}

static void every_callback(const mode *m)
{
    const char *name = m != NULL ? m->name : "as it is";
    const prv_status expected = m != NULL ? PRV_ERR_ARITHMETIC : PRV_OK;
    set_by_callback = m != NULL ? m->set : back;
    prv_mechanism *own = NULL;
    prv_status status = prv_mechanism_cdfs(cdfs, NULL, 0.0, &own);
    if (status == PRV_OK) status = of_mechanism(own);
    check(status == expected, "%s, from cdfs: %s", name, prv_status_message(status));
    prv_mechanism_free(own);
    own = NULL;
    status = prv_mechanism_curve(curve, NULL, 0.0, &own);
    if (status == PRV_OK) status = of_mechanism(own);
    check(status == expected, "%s, from a curve: %s", name, prv_status_message(status));
    prv_mechanism_free(own);
    options.progress = progress;
    status = of_mechanism(base);
    options.progress = NULL;
    check(status == expected, "%s, from progress: %s", name, prv_status_message(status));
    prv_fft_provider *library = NULL;
    if (prv_fft_provider_new(&library) != PRV_OK) abort();
    const prv_fft_provider given = {library, plan};
    prv_options convolved = options;
    convolved.fft = &given;
    convolved.engine = PRV_ENGINE_CONVOLUTION;
    const prv_step often = {base, 1000};
    status = prv_epsilon(&often, 1, &convolved, &delta, 1, &bounds, NULL);
    back();
    check(status == expected, "%s, from transforms: %s", name, prv_status_message(status));
    prv_fft_provider_free(library);
    status = prv_witness(&often, 1, &options, 1, delta, witness, NULL, &bounds);
    back();
    check(status == expected, "%s, from a witness: %s", name, prv_status_message(status));
}

int main(void)
{
    fegetenv(&plain);
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK || prv_history_new(&history) != PRV_OK)
        abort();
    options = options_of(0.1);
    base = gaussian(2.0);
    if (prv_sweep_new(base, &sweep) != PRV_OK) abort();
    if (prv_mechanism_table(values, masses, 2, 0.0, &table) != PRV_OK) abort();
    step = (prv_step){base, 2};
    if (prv_accountant_new(&accountant) != PRV_OK || prv_accountant_add(accountant, base, 2) != PRV_OK)
        abort();
    check(prv_check_arithmetic() == PRV_OK, "the arithmetic that this program starts with");
    every_function(NULL);
    every_callback(NULL);
    for (const mode *m = modes; m->name != NULL; m++) {
        every_function(m);
        every_callback(m);
    }
    check(prv_check_arithmetic() == PRV_OK, "the arithmetic that this program ends with");
    prv_history_free(history);
    prv_sweep_free(sweep);
    prv_accountant_free(accountant);
    prv_mechanism_free(base);
    prv_mechanism_free(table);
    prv_fft_provider_free(provider);
    return summary();
}
