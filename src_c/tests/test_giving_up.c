/* Calls of every kind that cannot go on: each allocation fails once, and the caller stops at each question
 * whether to go on. Nothing is lost, and what is asked afterwards has the bits of a call that nothing
 * disturbed. */
#include <string.h>

#include "asking.h"
#include "pool.h"

/* ---- Disturbances ---------------------------------------------------------------------------------- */

static pool memory = {.left = -1};
static long looks_left = -1; /* negative: all */

static int look(void *context, const prv_progress *progress)
{
    (void)context, (void)progress;
    if (looks_left == 0) return 1;
    if (looks_left > 0) looks_left--;
    return 0;
}

static void disturb_no_more(void)
{
    memory.left = looks_left = -1;
}

/* ---- Mechanisms ------------------------------------------------------------------------------------ */

/* The cdfs, tails and curve of Gaussian noise of shift 1; the pair equals its reverse. */
static int cdfs(void *context, const double *losses, size_t length, double *cdf_q, double *cdf_p)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        cdf_q[i] = (double)normal_upper(0.5L - (long double)losses[i]);
        cdf_p[i] = (double)normal_upper(-0.5L - (long double)losses[i]);
    }
    return 0;
}

static int tails(void *context, int reversed, const double *losses, size_t length, double *tail_q,
                 double *tail_p, double *scaled_p, double *error)
{
    (void)context, (void)reversed;
    for (size_t i = 0; i < length; i++) {
        const long double y = losses[i], q = y - 0.5L, p = y + 0.5L;
        tail_q[i] = (double)(q > 0.0L ? normal_upper(q) : -normal_upper(-q));
        tail_p[i] = (double)(p > 0.0L ? normal_upper(p) : -normal_upper(-p));
        scaled_p[i] = (double)fminl(expl(y) * normal_upper(p), 1.0L);
    }
    *error = 1e-14;
    return 0;
}

static int curve(void *context, const double *epsilons, size_t length, double *deltas)
{
    (void)context;
    for (size_t i = 0; i < length; i++) deltas[i] = (double)gaussian_delta(epsilons[i], 1.0L);
    return 0;
}

typedef enum kind {
    GAUSSIAN,
    GAUSSIANS,
    LAPLACE,
    DISCRETE_GAUSSIAN,
    DISCRETE_LAPLACE,
    APPROXIMATE,
    RANGE,
    RESPONSE,
    SAMPLE,
    SAMPLE_OF_LAPLACE,
    SAMPLE_OF_SAMPLE,
    SAMPLE_OF_SEVERAL,
    FIXED_SIZE,
    ALLOCATION,
    SELECTION,
    ALLOCATION_OF_SEVERAL,
    TABLE,
    STATED,
    CDFS,
    TAILS,
    CURVE,
    GROUP,
    FIXED_SIZE_GROUP,
    MIXTURE,
    TRUNCATED,
    SHUFFLED,
    SCALED
} kind;

static prv_status make(kind k, prv_mechanism **m);

/* What `of` makes of the mechanism of another kind. */
typedef prv_status (*maker)(const prv_mechanism *base, prv_mechanism **m);

static prv_status make_of(kind base, maker of, prv_mechanism **m)
{
    prv_mechanism *made = NULL;
    prv_status status = make(base, &made);
    if (status == PRV_OK) status = of(made, m);
    prv_mechanism_free(made);
    return status;
}

static prv_status sample(const prv_mechanism *base, prv_mechanism **m)
{
    return prv_mechanism_poisson_subsampled(base, 0.1, m);
}
static prv_status fixed_size(const prv_mechanism *base, prv_mechanism **m)
{
    return prv_mechanism_subsampled_without_replacement(base, 0.1, m);
}
static prv_status allocation(const prv_mechanism *base, prv_mechanism **m)
{
    return prv_mechanism_random_allocation(base, 5, m);
}
static prv_status selection(const prv_mechanism *base, prv_mechanism **m)
{
    return prv_mechanism_random_selection(base, 5, 2, m);
}
static prv_status stated(const prv_mechanism *base, prv_mechanism **m)
{
    return prv_mechanism_stated(base, PRV_RELATION_ANY, 0, m);
}
static prv_status scaled(const prv_mechanism *base, prv_mechanism **m)
{
    return prv_mechanism_scaled(base, PRV_NOISE_SCALE, 2.0, m);
}

/* Gaussian and Laplace noise on one sample, or on one allocation. */
static prv_status make_of_several(maker of, prv_mechanism **m)
{
    prv_mechanism *first = NULL, *second = NULL, *both = NULL;
    prv_status status = make(GAUSSIAN, &first);
    if (status == PRV_OK) status = make(LAPLACE, &second);
    if (status == PRV_OK) {
        const prv_step steps[] = {{first, 1}, {second, 2}};
        status = prv_mechanism_composed(steps, 2, &both);
    }
    if (status == PRV_OK) status = of(both, m);
    prv_mechanism_free(first);
    prv_mechanism_free(second);
    prv_mechanism_free(both);
    return status;
}

static prv_status make(kind k, prv_mechanism **m)
{
    static const double losses[] = {-0.5, 0.5}, probabilities[] = {0.375, 0.625}, noises[] = {3.0, 4.0},
                        changes[] = {0.0, 1.0, 2.0}, odds[] = {0.9604, 0.0392, 0.0004};
    static const uint64_t counts[] = {1, 2};
    switch (k) {
    case GAUSSIAN: return prv_mechanism_gaussian(3.0, m);
    case GAUSSIANS: return prv_mechanism_gaussians(noises, counts, 2, m);
    case LAPLACE: return prv_mechanism_laplace(5.0, 1.0, m);
    case DISCRETE_GAUSSIAN: return prv_mechanism_discrete_gaussian(3.0, 1, m);
    case DISCRETE_LAPLACE: return prv_mechanism_discrete_laplace(3.0, 1, m);
    case APPROXIMATE: return prv_mechanism_approximate_dp(0.5, 1e-9, m);
    case RANGE: return prv_mechanism_bounded_range(0.5, m);
    case RESPONSE: return prv_mechanism_randomized_response(0.5, 3, m);
    case SAMPLE: return make_of(GAUSSIAN, sample, m);
    case SAMPLE_OF_LAPLACE: return make_of(LAPLACE, sample, m);
    case SAMPLE_OF_SAMPLE: return make_of(SAMPLE_OF_LAPLACE, sample, m);
    case SAMPLE_OF_SEVERAL: return make_of_several(sample, m);
    case FIXED_SIZE: return make_of(LAPLACE, fixed_size, m);
    case ALLOCATION: return make_of(GAUSSIAN, allocation, m);
    case SELECTION: return make_of(GAUSSIAN, selection, m);
    case ALLOCATION_OF_SEVERAL: return make_of_several(allocation, m);
    case TABLE: return prv_mechanism_table(losses, probabilities, 2, 0.0, m);
    case STATED: return make_of(TABLE, stated, m);
    case CDFS: return prv_mechanism_cdfs(cdfs, NULL, 0.0, m);
    case TAILS: return prv_mechanism_tails(tails, NULL, 1, m);
    case CURVE: return prv_mechanism_curve(curve, NULL, 0.0, m);
    case GROUP: return prv_mechanism_group_gaussian(3.0, 0.1, 3, m);
    case FIXED_SIZE_GROUP: return prv_mechanism_fixed_size_group_gaussian(3.0, 100, 10, 2, m);
    case MIXTURE: return prv_mechanism_gaussian_mixture(1.5, changes, odds, 3, m);
    case TRUNCATED: return prv_mechanism_truncated_poisson_gaussian(3.0, 0.1, 50, 8, m);
    case SHUFFLED: return prv_mechanism_shuffled_from_below(2.0, 5, 0, m);
    case SCALED: return make_of(SAMPLE, scaled, m);
    }
    abort();
}

/* ---- Calls ----------------------------------------------------------------------------------------- */

static prv_bounds answers[4];
static kind asked;               /* of the calls that ask each kind */
static prv_neighbors relation;   /* of the same */
static prv_fft_provider *shared; /* if not NULL, calls make no provider of their own */

typedef prv_status (*question)(const prv_step *steps, const prv_options *options);

/* Asks of three runs of the mechanism `asked` and 600 of a sampled Gaussian, with progress and transforms. */
static prv_status ask(question q)
{
    prv_mechanism *first = NULL, *second = NULL;
    prv_fft_provider *own = NULL;
    prv_status status = shared != NULL ? PRV_OK : prv_provider_new(&prv_portable_planner, &own);
    if (status == PRV_OK) status = make(asked, &first);
    if (status == PRV_OK) status = make(SAMPLE, &second);
    if (status == PRV_OK) {
        const prv_step steps[] = {{first, 3}, {second, 600}};
        prv_options o = prv_options_default();
        o.eps_error = 0.3;
        o.neighbors = relation;
        o.fft = shared != NULL ? shared : own;
        o.progress = look;
        status = q(steps, &o);
    }
    prv_mechanism_free(first);
    prv_mechanism_free(second);
    prv_fft_provider_free(own);
    return status;
}

static const double delta = 1e-3, epsilon = 1.0, order = 3.0, rate = 0.1;

static prv_status q_epsilon(const prv_step *steps, const prv_options *o)
{
    return prv_epsilon(steps, 1, o, &delta, 1, answers, NULL);
}
static prv_status q_delta(const prv_step *steps, const prv_options *o)
{
    return prv_delta(steps, 2, o, &epsilon, 1, answers, NULL);
}
static prv_status q_convolution(const prv_step *steps, const prv_options *o)
{
    prv_options other = *o;
    other.engine = PRV_ENGINE_CONVOLUTION;
    return prv_epsilon(steps, 2, &other, &delta, 1, answers, NULL);
}
static prv_status q_mean_matching(const prv_step *steps, const prv_options *o)
{
    prv_options other = *o;
    other.discretization = PRV_MEAN_MATCHING;
    other.delta_error = 1e-8;
    return prv_epsilon(steps, 1, &other, &delta, 1, answers, NULL);
}
static prv_status q_power(const prv_step *steps, const prv_options *o)
{
    return prv_power(steps, 2, o, &rate, 1, answers, NULL);
}
static prv_status q_bayes_risk(const prv_step *steps, const prv_options *o)
{
    return prv_bayes_risk(steps, 2, o, &rate, 1, answers, NULL);
}
static prv_status q_mu(const prv_step *steps, const prv_options *o)
{
    return prv_gaussian_mu(steps, 2, o, &delta, 1, answers, NULL);
}
static prv_status q_renyi(const prv_step *steps, const prv_options *o)
{
    return prv_renyi_divergence(steps, 2, o, &order, 1, answers);
}

static int seen(void *context, const prv_witness_pass *pass)
{
    (void)context, (void)pass;
    return 0;
}
static prv_status q_witness(const prv_step *steps, const prv_options *o)
{
    return prv_witness(steps, 1, o, 1, delta, seen, NULL, answers);
}

static prv_status q_calibration(const prv_step *steps, const prv_options *o)
{
    prv_options other = *o;
    prv_calibration c = {0};
    other.eps_error = 0.0;
    const prv_status status = prv_calibrate(steps, 1, 0, PRV_NOISE_SCALE, 1.0, delta, 0.05, &other, &c);
    answers[0] = c.epsilon;
    answers[1] = c.next_epsilon;
    return status;
}
static prv_status q_calibrated_risk(const prv_step *steps, const prv_options *o)
{
    prv_options other = *o;
    prv_calibration c = {0};
    other.eps_error = 0.0;
    const prv_status status = prv_calibrate_risk(steps, 1, 0, PRV_NOISE_SCALE, PRV_POWER, rate, 0.3, 0.05,
                                                 &other, &c);
    answers[0] = c.epsilon;
    answers[1] = c.next_epsilon;
    return status;
}

static prv_status q_steps_left(const prv_step *steps, const prv_options *o)
{
    enum { MANY = 9 };
    prv_mechanism *each[MANY];
    prv_step many[MANY];
    prv_options other = *o;
    uint64_t left = 0;
    other.eps_error = 0.0;
    size_t made = 0;
    prv_status status = PRV_OK;
    for (; made < MANY && status == PRV_OK; made += status == PRV_OK) {
        status = prv_mechanism_truncated_poisson_gaussian(2.0 + (double)made, 0.01, 1000, 1000, &each[made]);
        if (status == PRV_OK) many[made] = (prv_step){each[made], 2};
    }
    if (status == PRV_OK)
        status = prv_steps_left(many, MANY, steps[1].mechanism, 0.5, delta, 0.01, &other, &left);
    answers[0] = (prv_bounds){(double)left, (double)left, (double)left};
    for (size_t j = 0; j < made; j++) prv_mechanism_free(each[j]);
    return status;
}

/* Asks again if it was disturbed, so that what was left must not disturb it: the answer has the same bits. */
static prv_status q_history(const prv_step *steps, const prv_options *o)
{
    prv_history *h = NULL;
    prv_status status = prv_history_new(&h);
    for (int time = 0; time < 2 && h != NULL; time++) {
        prv_status now = prv_history_epsilon(h, steps, 1, o, &delta, 1, answers, NULL);
        if (now == PRV_OK) now = prv_history_epsilon(h, steps, 2, o, &delta, 1, answers + 1, NULL);
        if (now == PRV_OK) now = prv_history_delta(h, steps, 2, o, &epsilon, 1, answers + 2, NULL);
        if (time == 0) status = now;
        if (now == PRV_OK) break;
        if (time > 0) abort();
        disturb_no_more();
    }
    prv_history_free(h);
    return status;
}
static prv_status q_sweep(const prv_step *steps, const prv_options *o)
{
    static const uint64_t counts[] = {600, 650, 3};
    static const double deltas[] = {1e-3, 1e-3, 1e-3};
    prv_sweep *s = NULL;
    prv_status status = prv_sweep_new(steps[1].mechanism, &s);
    for (int time = 0; time < 2 && s != NULL; time++) {
        const prv_status now = prv_sweep_epsilon(s, counts, deltas, 3, o, answers, NULL);
        if (time == 0) status = now;
        if (now == PRV_OK) break;
        if (time > 0) abort();
        disturb_no_more();
    }
    prv_sweep_free(s);
    return status;
}
static prv_status q_accountant(const prv_step *steps, const prv_options *o)
{
    prv_accountant *a = NULL, *copy = NULL, *again = NULL;
    char text[4000];
    size_t length = 0;
    prv_status status = prv_accountant_new(&a);
    if (status == PRV_OK) status = prv_accountant_add(a, steps[0].mechanism, 2);
    if (status == PRV_OK) status = prv_accountant_epsilon(a, o, &delta, 1, answers, NULL);
    if (status == PRV_OK) status = prv_accountant_add(a, steps[1].mechanism, 500);
    if (status == PRV_OK) status = prv_accountant_copy(a, &copy);
    if (status == PRV_OK) status = prv_accountant_delta(copy, o, &epsilon, 1, answers + 1, NULL);
    if (status == PRV_OK) status = prv_steps_to_json(steps, 2, text, sizeof text, &length);
    if (status == PRV_OK) status = prv_accountant_to_json(a, NULL, text, sizeof text, &length);
    if (status == PRV_OK) status = prv_accountant_from_json(text, length, NULL, NULL, &again);
    if (status == PRV_OK) status = prv_accountant_epsilon(again, o, &delta, 1, answers + 2, NULL);
    prv_accountant_free(a);
    prv_accountant_free(copy);
    prv_accountant_free(again);
    return status;
}
static prv_status q_statements(const prv_step *steps, const prv_options *o)
{
    prv_status status = prv_check_steps(steps, 2, o->neighbors);
    if (status == PRV_OK) status = prv_mechanism_check_neighbors(steps[0].mechanism, o->neighbors);
    (void)prv_is_attained(steps, 2, o->neighbors);
    prv_mechanism *more = prv_mechanism_retain(steps[0].mechanism);
    const prv_description *described = prv_mechanism_description(more);
    if (described == NULL || !prv_mechanism_equal(more, steps[0].mechanism)) abort();
    prv_mechanism_free(more);
    return status;
}

/* Those that make all that they need themselves, and ask the C library alone. */
static prv_status dpsgd(question unused)
{
    (void)unused;
    prv_calibration c = {0};
    prv_status status = prv_dpsgd_epsilon(2.0, 0.01, 100, delta, answers);
    if (status == PRV_OK) status = prv_dpsgd_delta(2.0, 0.01, 100, epsilon, answers + 1);
    if (status == PRV_OK) status = prv_dpsgd_noise(0.01, 10, 1.0, delta, &c);
    answers[2] = c.epsilon;
    return status;
}
static prv_status transforms(question unused)
{
    (void)unused;
    prv_fft_provider *p = NULL;
    const prv_status status = prv_fft_provider_new(&p);
    prv_fft_provider_free(p);
    return status;
}

/* ---- Tests ----------------------------------------------------------------------------------------- */

/* Runs the call again and again, each time with `*left` of something, until nothing disturbs it. From 30 on
 * not each number is taken, and where the tests are repeated few are; a great one, with which nothing fails,
 * is. */
static long disturbed(prv_status (*run)(question), question q, long *left, prv_status expected, int *wrong)
{
    prv_bounds undisturbed[4], zero[4] = {{0}};
    disturb_no_more();
    memcpy(answers, zero, sizeof answers);
    if (run(q) != PRV_OK) return -1;
    memcpy(undisturbed, answers, sizeof answers);
    for (long n = 0; n < 100000; n += 1 + n / 30) {
        if (n < 50000 && !is_drawn()) continue;
        disturb_no_more();
        *left = n;
        memcpy(answers, zero, sizeof answers);
        const prv_status status = run(q);
        *wrong += memory.live != 0 || memory.bytes != 0 || memory.misused != 0;
        if (status == PRV_OK) {
            *wrong += memcmp(answers, undisturbed, sizeof answers) != 0;
            return n;
        }
        *wrong += status != expected;
    }
    return -1;
}

static void gives_up(prv_status (*run)(question), question q, const char *what, const char *which)
{
    int wrong = 0;
    shared = NULL;
    const long allocations = disturbed(run, q, &memory.left, PRV_ERR_MEMORY, &wrong);
    check(allocations >= 0 && wrong == 0, "%s%s: of %ld allocations each may fail (%d wrong)", what, which,
          allocations, wrong);
    pool other = {.left = -1};
    prv_use_allocator(allocator_of(&other)); /* plans that are kept are not the call's */
    if (prv_provider_new(&prv_portable_planner, &shared) != PRV_OK) abort();
    wrong = 0;
    disturb_no_more();
    if (run(q) != PRV_OK) wrong++; /* makes the plans */
    prv_use_allocator(allocator_of(&memory));
    const long looks = disturbed(run, q, &looks_left, PRV_ERR_INTERRUPTED, &wrong);
    check(looks >= 0 && wrong == 0, "... it may be stopped %ld times (%d wrong)", looks, wrong);
    prv_use_allocator(allocator_of(&other));
    prv_fft_provider_free(shared);
    prv_use_allocator(allocator_of(&memory));
    check(other.live == 0, "... and plans are freed");
}

static const struct {
    const char *name;
    kind k;
    prv_neighbors neighbors;
} kinds[] = {
    {"Gaussian noise", GAUSSIAN, PRV_ADD_OR_REMOVE},
    {"Gaussian noise of several", GAUSSIANS, PRV_ADD_OR_REMOVE},
    {"Laplace noise", LAPLACE, PRV_ADD_OR_REMOVE},
    {"discrete Gaussian noise", DISCRETE_GAUSSIAN, PRV_ADD_OR_REMOVE},
    {"discrete Laplace noise", DISCRETE_LAPLACE, PRV_ADD_OR_REMOVE},
    {"approximate DP", APPROXIMATE, PRV_ADD_OR_REMOVE},
    {"a bounded range", RANGE, PRV_ADD_OR_REMOVE},
    {"randomized response", RESPONSE, PRV_REPLACE_ONE},
    {"sampled Gaussian noise", SAMPLE, PRV_ADD_OR_REMOVE},
    {"... of replaced records", SAMPLE, PRV_REPLACE_ONE},
    {"sampled Laplace noise", SAMPLE_OF_LAPLACE, PRV_ADD},
    {"a sample of a sample", SAMPLE_OF_SAMPLE, PRV_ADD_OR_REMOVE},
    {"several on one sample", SAMPLE_OF_SEVERAL, PRV_ADD_OR_REMOVE},
    {"a sample of fixed size", FIXED_SIZE, PRV_REPLACE_ONE},
    {"an allocation", ALLOCATION, PRV_ADD_OR_REMOVE},
    {"some of the batches", SELECTION, PRV_ADD_OR_REMOVE},
    {"an allocation of several", ALLOCATION_OF_SEVERAL, PRV_ADD_OR_REMOVE},
    {"a table", TABLE, PRV_ADD_OR_REMOVE},
    {"a stated table", STATED, PRV_REPLACE_ONE},
    {"cdfs", CDFS, PRV_ADD_OR_REMOVE},
    {"tails", TAILS, PRV_ADD_OR_REMOVE},
    {"a curve", CURVE, PRV_ADD_OR_REMOVE},
    {"a group", GROUP, PRV_ADD_OR_REMOVE},
    {"a group and a sample of fixed size", FIXED_SIZE_GROUP, PRV_ADD_OR_REMOVE},
    {"a mixture", MIXTURE, PRV_ADD_OR_REMOVE},
    {"truncated batches", TRUNCATED, PRV_ADD_OR_REMOVE},
    {"... of replaced records", TRUNCATED, PRV_REPLACE_ONE},
    {"shuffled batches", SHUFFLED, PRV_ADD},
    {"a scaled sample", SCALED, PRV_ADD_OR_REMOVE},
};

static void each_mechanism(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        asked = kinds[i].k;
        relation = kinds[i].neighbors;
        gives_up(ask, q_epsilon, "epsilon of ", kinds[i].name);
    }
}

static void each_question(void)
{
    asked = LAPLACE;
    relation = PRV_ADD_OR_REMOVE;
    gives_up(ask, q_delta, "delta", "");
    gives_up(ask, q_convolution, "a convolution", "");
    gives_up(ask, q_mean_matching, "mean-matching", "");
    gives_up(ask, q_power, "a power", "");
    gives_up(ask, q_bayes_risk, "a Bayes risk", "");
    gives_up(ask, q_mu, "the mu of a Gaussian", "");
    gives_up(ask, q_renyi, "a Renyi divergence", "");
    gives_up(ask, q_witness, "a witness", "");
    gives_up(ask, q_calibration, "a calibration", "");
    gives_up(ask, q_calibrated_risk, "a calibrated risk", "");
    gives_up(ask, q_steps_left, "steps left", "");
    gives_up(ask, q_history, "a history", "");
    gives_up(ask, q_sweep, "a sweep", "");
    gives_up(ask, q_accountant, "an accountant", "");
    gives_up(ask, q_statements, "statements", "");
    gives_up(dpsgd, NULL, "DP-SGD", "");
    gives_up(transforms, NULL, "transforms", "");
}

int main(void)
{
    const prv_allocator before = prv_use_allocator(allocator_of(&memory));
    each_mechanism();
    each_question();
    prv_use_allocator(before);
    return summary();
}
