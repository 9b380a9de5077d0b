/* Every status code, and that interrupts stop a query wherever they are asked about. */
#include "prvcore.h"

#include "asking.h"

static int reached[PRV_STATUS_COUNT];

static void expect(prv_status got, prv_status wanted, const char *what)
{
    reached[got] = 1;
    check(got == wanted, "%s: %s", what, prv_status_message(got));
}

static int failing_cdfs(void *context, const double *losses, size_t length, double *q, double *p)
{
    (void)context, (void)losses, (void)length, (void)q, (void)p;
    return 1;
}
/* Rises to 2, falls, is nan, or belongs to no pair, by *context; or is rounded to just above 1. */
static int wrong_cdfs(void *context, const double *losses, size_t length, double *q, double *p)
{
    const int kind = *(const int *)context;
    for (size_t i = 0; i < length; i++) {
        const double y = losses[i];
        q[i] = (double)normal_upper(0.5L - (long double)y);
        p[i] = (double)normal_upper(-0.5L - (long double)y);
        if (kind == 0) q[i] *= 2.0;
        if (kind == 1) q[i] = 1.0 - q[i];
        if (kind == 2) q[i] = NAN;
        if (kind == 3) p[i] = q[i];
        if (kind == 4 && q[i] > 1.0 - 4.0 * DBL_EPSILON) q[i] = 1.0 + DBL_EPSILON;
        if (kind == 4 && p[i] > 1.0 - 4.0 * DBL_EPSILON) p[i] = 1.0 + DBL_EPSILON;
    }
    return 0;
}
/* Tails of Gaussian noise of shift 1: right, failing, of a great error, nan, rising, or of no pair, by
 * *context. */
static int some_tails(void *context, int reversed, const double *losses, size_t length, double *tail_q,
                      double *tail_p, double *scaled_p, double *error)
{
    const int kind = *(const int *)context;
    (void)reversed; /* the pair equals its reverse */
    if (kind == 1) return 1;
    for (size_t i = 0; i < length; i++) {
        const long double y = losses[i], q = y - 0.5L, p = y + 0.5L;
        tail_q[i] = (double)(q > 0.0L ? normal_upper(q) : -normal_upper(-q));
        tail_p[i] = (double)(p > 0.0L ? normal_upper(p) : -normal_upper(-p));
        scaled_p[i] = (double)fminl(expl(y) * normal_upper(p), 1.0L);
        if (kind == 3) tail_q[i] = NAN;
        if (kind == 4) tail_p[i] = -tail_p[i];
        if (kind == 5) tail_p[i] = tail_q[i];
    }
    *error = kind == 2 ? 0x1p-12 : 1e-14;
    return 0;
}
/* Above 1, nan, rising, failing, and a right one. */
static int wrong_curve(void *context, const double *epsilons, size_t length, double *deltas)
{
    const int kind = *(const int *)context;
    if (kind == 3) return 1;
    for (size_t i = 0; i < length; i++)
        deltas[i] = kind == 0   ? 2.0
                    : kind == 1 ? NAN
                    : kind == 2 ? 1.0 / (1.0 + exp(-epsilons[i]))
                                : -expm1(fmin(epsilons[i], 0.0));
    return 0;
}
static int stop_after(void *context, const prv_progress *progress)
{
    int *left = context;
    (void)progress;
    return (*left)-- <= 0;
}
static prv_status no_plan(void *context, size_t length, prv_fft *fft)
{
    (void)context, (void)length, (void)fft;
    return PRV_ERR_FFT;
}

static prv_status unknown_plan(void *context, size_t length, prv_fft *fft)
{
    (void)context, (void)length, (void)fft;
    return (prv_status)(PRV_STATUS_COUNT + 7);
}

/* Records and groups, or groups of different sizes, are asked about together; whichever question it is. */
static void mixed_groups(const prv_step *records)
{
    prv_mechanism *pair = NULL, *three = NULL, *sampled = NULL, *always = NULL, *one = NULL, *never = NULL,
                  *m = NULL;
    if (prv_mechanism_group_gaussian(1.0, 0.5, 2, &pair) != PRV_OK) abort();
    if (prv_mechanism_group_gaussian(1.0, 0.5, 3, &three) != PRV_OK) abort();
    if (prv_mechanism_poisson_subsampled(three, 0.5, &sampled) != PRV_OK) abort();
    if (prv_mechanism_group_gaussian(1.0, 1.0, 3, &always) != PRV_OK) abort();
    if (prv_mechanism_group_gaussian(1.0, 0.5, 1, &one) != PRV_OK) abort();
    if (prv_mechanism_poisson_subsampled(always, 0.0, &never) != PRV_OK) abort();
    const prv_step mixed[][2] = {{*records, {pair, 1}},
                                 {{pair, 1}, {three, 1}},
                                 {{pair, 2}, {sampled, 1}},
                                 {{always, 1}, *records},
                                 {{never, 1}, *records}};
    const prv_step same[][2] = {{*records, {one, 1}},
                                {{three, 1}, {sampled, 1}},
                                {{three, 1}, {always, 1}},
                                {*records, {pair, 0}},
                                {{three, 1}, {never, 1}}};
    prv_options o = options_of(1e-2);
    const double delta = 1e-3, epsilon = 1.0, rate = 0.5, order = 2.0;
    prv_bounds b;
    prv_calibration c;
    prv_history *history = NULL;
    if (prv_history_new(&history) != PRV_OK) abort();
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++) {
        expect(prv_check_steps(mixed[i], 2, o.neighbors), PRV_ERR_GROUPS, "mixed groups");
        expect(prv_epsilon(mixed[i], 2, &o, &delta, 1, &b, NULL), PRV_ERR_GROUPS, "... epsilon");
        expect(prv_delta(mixed[i], 2, &o, &epsilon, 1, &b, NULL), PRV_ERR_GROUPS, "... delta");
        expect(prv_history_epsilon(history, mixed[i], 2, &o, &delta, 1, &b, NULL), PRV_ERR_GROUPS,
               "... of a history");
        expect(prv_history_delta(history, mixed[i], 2, &o, &epsilon, 1, &b, NULL), PRV_ERR_GROUPS,
               "... and delta");
        expect(prv_power(mixed[i], 2, &o, &rate, 1, &b, NULL), PRV_ERR_GROUPS, "... power");
        expect(prv_gaussian_mu(mixed[i], 2, &o, &delta, 1, &b, NULL), PRV_ERR_GROUPS, "... mu");
        expect(prv_renyi_divergence(mixed[i], 2, &o, &order, 1, &b), PRV_ERR_GROUPS,
               "... a Renyi divergence");
        for (int p = PRV_NOISE_SCALE; p <= PRV_STEPS; p++)
            for (size_t fixed = 0; fixed < 2; fixed++)
                expect(prv_calibrate(mixed[i], 2, fixed, (prv_parameter)p, 1.0, 1e-3, 1e-3, &o, &c),
                       PRV_ERR_GROUPS, "... a calibration");
        uint64_t left;
        expect(prv_steps_left(mixed[i], 1, mixed[i][1].mechanism, 1.0, 1e-3, 1e-3, &o, &left), PRV_ERR_GROUPS,
               "... steps left");
        expect(prv_epsilon(same[i], 2, &o, &delta, 1, &b, NULL), PRV_OK, "the same unit");
        expect(prv_history_epsilon(history, same[i], 2, &o, &delta, 1, &b, NULL), PRV_OK, "... of a history");
    }
    expect(prv_mechanism_subsampled_without_replacement(pair, 0.5, &m), PRV_ERR_NEIGHBORS,
           "a group in a sample of fixed size");
    expect(prv_mechanism_subsampled_without_replacement(always, 0.5, &m), PRV_ERR_NEIGHBORS,
           "... of the whole group");
    expect(prv_mechanism_subsampled_without_replacement(never, 0.5, &m), PRV_ERR_NEIGHBORS,
           "... of none of it");
    prv_mechanism *noisy = NULL;
    expect(prv_mechanism_scaled(always, PRV_NOISE_SCALE, 1e300, &noisy), PRV_OK, "a group, much noise");
    expect(prv_mechanism_scaled(noisy, PRV_NOISE_SCALE, 1e300, &m), PRV_ERR_NOISE_MULTIPLIER,
           "... and too much");
    prv_mechanism_free(noisy);
    expect(prv_mechanism_scaled(pair, PRV_SAMPLING_PROBABILITY, 1e-310, &m), PRV_ERR_SAMPLING_PROBABILITY,
           "a group, sampled too rarely");
    prv_mechanism *made[] = {pair, three, sampled, always, one, never};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) prv_mechanism_free(made[i]);
    prv_history_free(history);
}

/* Parameters of mechanisms that are out of their ranges. */
static void parameters(void)
{
    prv_mechanism *m = NULL;
    expect(prv_mechanism_gaussian(-1.0, &m), PRV_ERR_NOISE_MULTIPLIER, "negative noise");
    expect(prv_mechanism_gaussian(NAN, &m), PRV_ERR_NOISE_MULTIPLIER, "nan noise");
    expect(prv_mechanism_gaussian(HUGE_VAL, &m), PRV_ERR_NOISE_MULTIPLIER, "infinite noise");
    expect(prv_mechanism_laplace(-1.0, 1.0, &m), PRV_ERR_SCALE, "negative scale");
    expect(prv_mechanism_laplace(1.0, 0.0, &m), PRV_ERR_SENSITIVITY, "no sensitivity");
    expect(prv_mechanism_discrete_gaussian(0.0, 1, &m), PRV_ERR_SCALE, "discrete Gaussian without scale");
    expect(prv_mechanism_discrete_gaussian(1.0, 0, &m), PRV_ERR_SENSITIVITY,
           "discrete Gaussian, sensitivity 0");
    expect(prv_mechanism_discrete_gaussian(1e9, 1, &m), PRV_ERR_SUPPORT,
           "discrete Gaussian of too many atoms");
    expect(prv_mechanism_discrete_laplace(NAN, 1, &m), PRV_ERR_SCALE, "discrete Laplace of nan scale");
    expect(prv_mechanism_discrete_laplace(1.0, INT64_MAX, &m), PRV_ERR_SUPPORT,
           "discrete Laplace of too many atoms");
    expect(prv_mechanism_approximate_dp(-1.0, 0.0, &m), PRV_ERR_EPSILON, "negative epsilon");
    expect(prv_mechanism_approximate_dp(1.0, 1.5, &m), PRV_ERR_DELTA, "delta above 1");
    const double falling[] = {1.0, 0.0}, rising[] = {0.0, 1.0}, half[] = {0.5, 0.5}, low[] = {-9.0, 1.0};
    expect(prv_mechanism_table(falling, half, 2, 0.0, &m), PRV_ERR_TABLE, "falling losses");
    expect(prv_mechanism_table(rising, half, 2, 0.5, &m), PRV_ERR_TABLE_SUM, "a table of sum 1.5");
    expect(prv_mechanism_table(low, half, 2, 0.0, &m), PRV_ERR_TABLE_REVERSE, "a table with P above 1");
    const double negative[] = {-1.0, 0.0}, apart[] = {1e-200, 1e-10};
    expect(prv_mechanism_gaussian_mixture(-1.0, rising, half, 2, &m), PRV_ERR_NOISE_MULTIPLIER,
           "mixture, noise");
    expect(prv_mechanism_gaussian_mixture(1.0, negative, half, 2, &m), PRV_ERR_COMPONENTS, "sensitivity -1");
    expect(prv_mechanism_gaussian_mixture(1.0, half, half, 1, &m), PRV_ERR_COMPONENTS,
           "a mixture of sum 1/2");
    expect(prv_mechanism_gaussian_mixture(1e-200, apart, half, 2, &m), PRV_ERR_COMPONENTS,
           "sensitivities apart");
    expect(prv_mechanism_gaussian_mixture(1.0, half, half, 0, &m), PRV_ERR_COMPONENTS, "an empty mixture");
    expect(prv_mechanism_group_gaussian(1.0, 2.0, 2, &m), PRV_ERR_SAMPLING_PROBABILITY,
           "group, probability 2");
    expect(prv_mechanism_group_gaussian(1.0, 0.5, 0, &m), PRV_ERR_COMPONENTS, "a group of none");
    expect(prv_mechanism_fixed_size_group_gaussian(1.0, 100, 10, 1, &m), PRV_ERR_COMPONENTS,
           "a group of one on samples of fixed size");
    expect(prv_mechanism_fixed_size_group_gaussian(-1.0, 100, 10, 2, &m), PRV_ERR_NOISE_MULTIPLIER,
           "... negative noise");
    expect(prv_mechanism_fixed_size_group_gaussian(1.0, 11, 10, 2, &m), PRV_ERR_BATCHES,
           "... samples larger than the data set without the group");
    expect(prv_mechanism_fixed_size_group_gaussian(1.0, 2, 0, 2, &m), PRV_ERR_BATCHES, "... empty samples");
    prv_mechanism *fixed = NULL;
    if (prv_mechanism_fixed_size_group_gaussian(1.0, 100, 10, 2, &fixed) != PRV_OK) abort();
    expect(prv_mechanism_poisson_subsampled(fixed, 0.5, &m), PRV_ERR_PART, "... in a Poisson sample");
    expect(prv_mechanism_scaled(fixed, PRV_SAMPLING_PROBABILITY, 0.5, &m), PRV_ERR_PARAMETER,
           "... which have no sampling probability");
    prv_mechanism_free(fixed);
    expect(prv_mechanism_truncated_poisson_gaussian(1.0, 0.5, 0, 1, &m), PRV_ERR_BATCHES,
           "a data set of none");
    expect(prv_mechanism_truncated_poisson_gaussian(1.0, 0.5, 9, UINT64_MAX, &m), PRV_ERR_BATCHES,
           "a huge batch");
    expect(prv_mechanism_truncated_poisson_gaussian(-1.0, 0.5, 9, 3, &m), PRV_ERR_NOISE_MULTIPLIER,
           "truncated");
    expect(prv_mechanism_shuffled_from_below(1.0, 0, 0, &m), PRV_ERR_BATCHES, "no batches to shuffle");
    expect(prv_mechanism_bounded_range(-1.0, &m), PRV_ERR_EPSILON, "a range of -1");
    prv_mechanism *part;
    expect(prv_mechanism_bounded_range(1.0, &part), PRV_OK, "a range");
    expect(prv_mechanism_random_allocation(part, 3, &m), PRV_ERR_PART, "... as a part");
    expect(prv_mechanism_random_allocation(part, 0, &m), PRV_ERR_BATCHES, "... of no batches");
    expect(prv_mechanism_random_selection(part, 3, 4, &m), PRV_ERR_BATCHES, "... of more than there are");
    prv_mechanism_free(part);
    prv_mechanism *allocated;
    expect(prv_mechanism_approximate_dp(1.0, 0.0, &part), PRV_OK, "a guarantee");
    expect(prv_mechanism_random_allocation(part, 3, &allocated), PRV_OK, "... allocated");
    const prv_step of_others = {allocated, 1};
    const prv_options loose = options_of(1e-3);
    const double second = 2.0;
    prv_bounds renyi;
    expect(prv_renyi_divergence(&of_others, 1, &loose, &second, 1, &renyi), PRV_ERR_COMBINED,
           "... has no Renyi divergence");
    prv_mechanism_free(allocated);
    prv_mechanism_free(part);
    expect(prv_mechanism_randomized_response(NAN, 2, &m), PRV_ERR_EPSILON, "randomized response of nan");
    expect(prv_mechanism_randomized_response(1.0, 1, &m), PRV_ERR_COMPONENTS, "one category");
    expect(prv_mechanism_group_gaussian(1.0, 5e-324, 2, &m), PRV_ERR_SAMPLING_PROBABILITY,
           "group, probability 2^-1074");
    expect(prv_mechanism_group_gaussian(1.0, 0.5, 2000, &m), PRV_ERR_GROUP,
           "a group that samples always have");
}

/* Neighbours that a mechanism has not, and samples of such. */
static void relations(void)
{
    prv_mechanism *m = NULL;
    prv_bounds b;
    prv_mechanism *good = gaussian(2.0);
    prv_mechanism *response = NULL, *table = NULL;
    const double even[] = {-1.0, 1.0}, odds[] = {1.0 / (1.0 + exp(1.0)), 1.0 / (1.0 + exp(-1.0))};
    if (prv_mechanism_randomized_response(1.0, 3, &response) != PRV_OK) abort();
    if (prv_mechanism_table(even, odds, 2, 0.0, &table) != PRV_OK) abort();
    expect(prv_mechanism_poisson_subsampled(response, 0.5, &m), PRV_ERR_NEIGHBORS,
           "a sample of replaced records");
    expect(prv_mechanism_subsampled_without_replacement(table, 0.5, &m), PRV_ERR_NEIGHBORS,
           "a table replaced");
    prv_mechanism *replaced = NULL, *any = NULL, *above = NULL;
    expect(prv_mechanism_stated(good, PRV_RELATION_ANY, 1, &m), PRV_ERR_NEIGHBORS, "noise is not one's own");
    expect(prv_mechanism_stated(table, (prv_relation)3, 1, &m), PRV_ERR_OPTIONS, "no such relation");
    if (prv_mechanism_stated(table, PRV_RELATION_REPLACE_ONE, 1, &replaced) != PRV_OK ||
        prv_mechanism_stated(table, PRV_RELATION_ANY, 1, &any) != PRV_OK ||
        prv_mechanism_stated(table, PRV_RELATION_ADD_OR_REMOVE, 0, &above) != PRV_OK)
        abort();
    check(prv_mechanism_check_neighbors(replaced, PRV_REPLACE_ONE) == PRV_OK &&
              prv_mechanism_check_neighbors(replaced, PRV_ADD) == PRV_ERR_NEIGHBORS &&
              prv_mechanism_check_neighbors(any, PRV_REPLACE_ONE) == PRV_OK &&
              prv_mechanism_check_neighbors(any, PRV_REMOVE) == PRV_OK &&
              prv_mechanism_check_neighbors(above, PRV_REPLACE_ONE) == PRV_ERR_NEIGHBORS,
          "tables are for the neighbours that they were stated for");
    expect(prv_mechanism_poisson_subsampled(replaced, 0.5, &m), PRV_ERR_NEIGHBORS,
           "a sample of replaced ones");
    expect(prv_mechanism_subsampled_without_replacement(any, 0.5, &m), PRV_ERR_NEIGHBORS,
           "a sample of fixed size of a table");
    expect(prv_mechanism_composed(&(prv_step){above, 2}, 1, &m), PRV_ERR_PART, "an upper bound as a part");
    prv_mechanism_free(replaced);
    prv_mechanism_free(any);
    prv_mechanism_free(above);
    expect(prv_mechanism_subsampled_without_replacement(good, 1.5, &m), PRV_ERR_SAMPLING_PROBABILITY, "1.5");
    check(prv_mechanism_check_neighbors(response, PRV_ADD) == PRV_ERR_NEIGHBORS &&
              prv_mechanism_check_neighbors(response, PRV_REPLACE_ONE) == PRV_OK &&
              prv_mechanism_check_neighbors(table, PRV_ADD_OR_REMOVE) == PRV_OK &&
              prv_mechanism_check_neighbors(table, PRV_REPLACE_ONE) == PRV_ERR_NEIGHBORS,
          "neighbours that mechanisms have");
    expect(prv_mechanism_poisson_subsampled(good, 1.5, &m), PRV_ERR_SAMPLING_PROBABILITY, "probability 1.5");
    expect(prv_mechanism_poisson_subsampled(good, NAN, &m), PRV_ERR_SAMPLING_PROBABILITY, "probability nan");
    prv_mechanism *rare = NULL;
    if (prv_mechanism_poisson_subsampled(good, 1e-200, &rare) != PRV_OK) abort();
    expect(prv_mechanism_poisson_subsampled(rare, 1e-200, &m), PRV_ERR_SAMPLING_PROBABILITY,
           "a product of 1e-400");
    expect(prv_mechanism_poisson_subsampled(rare, 1e-120, &m), PRV_ERR_SAMPLING_PROBABILITY,
           "a product of 1e-320");
    prv_mechanism_free(rare);
    const prv_step step = {good, 10};
    prv_options o = options_of(1e-2);
    const prv_step answers = {response, 3}, rows = {table, 3};
    const double small = 1e-3;
    expect(prv_epsilon(&answers, 1, &o, &small, 1, &b, NULL), PRV_ERR_NEIGHBORS, "answers added");
    o.neighbors = PRV_REPLACE_ONE;
    expect(prv_epsilon(&rows, 1, &o, &small, 1, &b, NULL), PRV_ERR_NEIGHBORS, "rows of a table replaced");
    mixed_groups(&step);
    prv_mechanism_free(good);
    prv_mechanism_free(response);
    prv_mechanism_free(table);
}

/* Values that no question has. */
static void values(void)
{
    prv_bounds b;
    prv_mechanism *good = gaussian(2.0);
    const prv_step step = {good, 10};
    prv_options o = options_of(1e-2);
    o.neighbors = PRV_REMOVE;
    const double bad = 1.5, nothing = NAN;
    expect(prv_epsilon(&step, 1, &o, &bad, 1, &b, NULL), PRV_ERR_DELTA, "delta 1.5 asked");
    expect(prv_epsilon(&step, 1, &o, &nothing, 1, &b, NULL), PRV_ERR_DELTA, "delta nan asked");
    expect(prv_delta(&step, 1, &o, &nothing, 1, &b, NULL), PRV_ERR_EPSILON, "epsilon nan asked");
    expect(prv_power(&step, 1, &o, &bad, 1, &b, NULL), PRV_ERR_RATE, "a false positive rate of 1.5");
    expect(prv_bayes_risk(&step, 1, &o, &bad, 1, &b, NULL), PRV_ERR_PRIOR, "a prior of 1.5");
    const double zero = 0.0, one = 1.0;
    expect(prv_gaussian_mu(&step, 1, &o, &zero, 1, &b, NULL), PRV_ERR_DELTA,
           "the mu of a Gaussian down to delta 0");
    expect(prv_renyi_divergence(&step, 1, &o, &one, 1, &b), PRV_ERR_ORDER, "a Renyi divergence of order 1");
    prv_calibration calibration;
    expect(prv_calibrate(&step, 1, 0, PRV_SAMPLING_PROBABILITY, 1.0, 1e-5, 1e-3, &o, &calibration),
           PRV_ERR_PARAMETER, "the sampling probability of what is not sampled");
    expect(prv_calibrate(&step, 1, 2, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-3, &o, &calibration),
           PRV_ERR_FIXED_COUNT, "two fixed steps of one");
    expect(prv_calibrate_risk(&step, 1, 2, PRV_NOISE_SCALE, PRV_ADVANTAGE, 0.0, 0.5, 1e-3, &o, &calibration),
           PRV_ERR_FIXED_COUNT, "... for a risk");
    expect(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 0.5, &o, &calibration), PRV_ERR_TOLERANCE,
           "tolerance 0.5");
    expect(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 0.0, 1e-3, &o, &calibration), PRV_ERR_TARGET,
           "delta 0 by noise");
    expect(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_ADVANTAGE, 0.0, 1.5, 1e-3, &o, &calibration),
           PRV_ERR_RISK, "an advantage of 1.5");
    prv_mechanism_free(good);
}

/* What no file has, and what cannot be written. */
static void files(void)
{
    prv_accountant *nobody = NULL;
    expect(prv_accountant_from_json("[]", 2, NULL, NULL, &nobody), PRV_ERR_JSON, "no schedule");
    prv_mechanism *shuffled = NULL;
    if (prv_mechanism_shuffled_from_below(0.7, 10, 0, &shuffled) != PRV_OK) abort();
    size_t text_length;
    expect(prv_steps_to_json(&(prv_step){shuffled, 1}, 1, NULL, 0, &text_length), PRV_ERR_NO_JSON,
           "shuffled batches as JSON");
    prv_mechanism_free(shuffled);
}

/* More steps than are counted. */
static void counts(void)
{
    prv_bounds b;
    const double delta = 1e-5;
    prv_mechanism *good = gaussian(2.0);
    const prv_options o = options_of(1e-2);
    prv_calibration calibration;
    /* One more than 2^53 rounds to it. */
    const prv_step many[] = {{good, (uint64_t)1 << 53}, {good, 1}}, more = {good, ((uint64_t)1 << 53) + 1};
    const prv_step most[] = {{good, (uint64_t)1 << 63}, {good, (uint64_t)1 << 63}};
    expect(prv_epsilon(many, 2, &o, &delta, 1, &b, NULL), PRV_ERR_COUNT, "counts above 2^53");
    expect(prv_epsilon(&more, 1, &o, &delta, 1, &b, NULL), PRV_ERR_COUNT, "2^53 + 1 steps");
    expect(prv_epsilon(most, 2, &o, &delta, 1, &b, NULL), PRV_ERR_COUNT, "counts whose sum overflows");
    expect(prv_calibrate(many, 2, 1, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-3, &o, &calibration), PRV_ERR_COUNT,
           "2^53 + 1 steps");
    prv_mechanism_free(good);
}

/* Options out of their ranges, and providers of no transform. */
static void options(void)
{
    prv_bounds b;
    const double delta = 1e-5;
    prv_mechanism *good = gaussian(2.0);
    const prv_step step = {good, 10};
    prv_calibration calibration;
    prv_options wrong = options_of(-1.0);
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "negative width");
    static const double no_parts[] = {-1e-3, 1.0, HUGE_VAL, NAN};
    for (size_t i = 0; i < sizeof no_parts / sizeof *no_parts; i++) {
        wrong = options_of(1e-2);
        wrong.delta_relative_error = no_parts[i];
        expect(prv_delta(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "no part of delta");
    }
    static const double no_thresholds[] = {-1.0, HUGE_VAL, NAN};
    for (size_t i = 0; i < sizeof no_thresholds / sizeof *no_thresholds; i++) {
        wrong = options_of(1e-2);
        wrong.threshold = no_thresholds[i];
        expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "no threshold");
    }
    wrong = options_of(1e-2);
    wrong.threshold = 1.0;
    expect(prv_power(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "a power at a threshold");
    expect(prv_bayes_risk(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "a risk at a threshold");
    expect(prv_calibrate(&step, 1, 0, PRV_NOISE_SCALE, 1.0, 1e-5, 1e-3, &wrong, &calibration),
           PRV_ERR_OPTIONS, "a calibration at a threshold");
    wrong = options_of(0.0);
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "no width at all");
    wrong = options_of(1e-2);
    wrong.mesh_size = NAN;
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS, "mesh nan");
    wrong = options_of(1e-2);
    wrong.discretization = PRV_MEAN_MATCHING;
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_OPTIONS,
           "mean-matching without delta_error");
    wrong = options_of(1e-2);
    wrong.engine = PRV_ENGINE_CONVOLUTION;
    const prv_step transformed = {good, 1000};
    const prv_fft_provider refusing = {NULL, no_plan};
    wrong.fft = &refusing;
    expect(prv_epsilon(&transformed, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_FFT,
           "a provider that cannot plan");
    const prv_fft_provider lying = {NULL, unknown_plan};
    wrong.fft = &lying;
    expect(prv_epsilon(&transformed, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_FFT,
           "a provider with a status of its own");
    prv_mechanism_free(good);
}

/* What a limit of memory, or the width of a number, leaves no room for. */
static void limits(void)
{
    prv_bounds b;
    const double delta = 1e-5;
    prv_mechanism *good = gaussian(2.0);
    const prv_step step = {good, 10};
    prv_options wrong = options_of(1e-2);
    wrong.mesh_size = 1e-6;
    wrong.memory_limit = 1000;
    prv_report r;
    memset(&r, 0, sizeof r);
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, &r), PRV_ERR_MEMORY_LIMIT,
           "a mesh above the memory limit");
    check(r.memory > 1000, "... and the report says what it needs (%zu)", r.memory);
    /* Such a window is longer than any transform on a machine of 32 bits, and its bytes are more than a size
     * holds. */
    wrong.engine = PRV_ENGINE_CONVOLUTION;
    wrong.mesh_size = 1e-9;
    wrong.memory_limit = (size_t)1 << 29;
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, &r), PRV_ERR_MEMORY_LIMIT,
           "a mesh of more bytes than 2^32");
    check(r.memory > (size_t)UINT32_MAX || r.memory == SIZE_MAX, "... which the report says (%zu)", r.memory);
    wrong.engine = PRV_ENGINE_AUTO;
    wrong.discretization = PRV_MEAN_MATCHING;
    wrong.delta_error = 1e-10;
    r.memory = 0;
    expect(prv_epsilon(&step, 1, &wrong, &delta, 1, &b, &r), PRV_ERR_MEMORY_LIMIT, "... by mean-matching");
    check(r.memory > (size_t)UINT32_MAX || r.memory == SIZE_MAX, "... which the report says (%zu)", r.memory);
    wrong = options_of(0.1);
    wrong.discretization = PRV_MEAN_MATCHING;
    wrong.delta_error = 1e-30;
    const double tiny = 1e-25;
    const prv_status precision = prv_epsilon(&step, 1, &wrong, &tiny, 1, &b, NULL);
    expect(precision, PRV_ERR_PRECISION, "mean-matching at a tiny delta");
    prv_mechanism_free(good);
}

/* Functions of one's own that fail, or belong to no pair. */
static void callbacks(void)
{
    prv_mechanism *m = NULL;
    prv_bounds b;
    const double delta = 1e-5, epsilon = 0.5;
    prv_options o = options_of(1e-2);
    o.neighbors = PRV_REMOVE;
    expect(prv_mechanism_cdfs(failing_cdfs, NULL, 2.0, &m), PRV_ERR_TABLE, "mass at infinity 2");
    if (prv_mechanism_cdfs(failing_cdfs, NULL, 0.0, &m) != PRV_OK) abort();
    prv_step own = {m, 2};
    expect(prv_epsilon(&own, 1, &o, &delta, 1, &b, NULL), PRV_ERR_CALLBACK, "cdfs that fail");
    expect(prv_delta(&own, 1, &o, &epsilon, 1, &b, NULL), PRV_ERR_CALLBACK, "cdfs that fail, delta");
    prv_mechanism_free(m);
    int rounded = 4;
    if (prv_mechanism_cdfs(wrong_cdfs, &rounded, 0.0, &m) != PRV_OK) abort();
    own.mechanism = m;
    expect(prv_epsilon(&own, 1, &o, &delta, 1, &b, NULL), PRV_OK, "cdfs that rounding takes above 1");
    prv_mechanism_free(m);
    for (int kind = 0; kind < 4; kind++) {
        if (prv_mechanism_cdfs(wrong_cdfs, &kind, 0.0, &m) != PRV_OK) abort();
        own.mechanism = m;
        static const char *const names[] = {"a cdf above 1", "a falling cdf", "a nan cdf", "cdfs of no pair"};
        expect(prv_epsilon(&own, 1, &o, &delta, 1, &b, NULL), kind == 3 ? PRV_ERR_CDF_PAIR : PRV_ERR_CDF,
               names[kind]);
        prv_mechanism_free(m);
        if (prv_mechanism_curve(wrong_curve, &kind, 0.0, &m) != PRV_OK) abort();
        own.mechanism = m;
        static const char *const curves[] = {"a curve above 1", "a nan curve", "a rising curve",
                                             "a curve that fails"};
        expect(prv_epsilon(&own, 1, &o, &delta, 1, &b, NULL), kind == 3 ? PRV_ERR_CALLBACK : PRV_ERR_CURVE,
               curves[kind]);
        prv_mechanism_free(m);
    }
    for (int kind = 0; kind < 6; kind++) {
        static const char *const names[] = {"right tails", "tails that fail", "tails of a great error",
                                            "a nan tail",  "rising tails",    "tails of no pair"};
        static const prv_status ends[] = {PRV_OK,      PRV_ERR_CALLBACK, PRV_ERR_CDF,
                                          PRV_ERR_CDF, PRV_ERR_CDF,      PRV_ERR_CDF_PAIR};
        if (prv_mechanism_tails(some_tails, &kind, 1, &m) != PRV_OK) abort();
        own.mechanism = m;
        expect(prv_epsilon(&own, 1, &o, &delta, 1, &b, NULL), ends[kind], names[kind]);
        prv_mechanism_free(m);
        if (kind > 0) continue;
        prv_mechanism *gaussian;
        if (prv_mechanism_gaussian(1.0, &gaussian) != PRV_OK) abort();
        prv_bounds exact;
        const prv_step known = {gaussian, own.count};
        expect(prv_epsilon(&known, 1, &o, &delta, 1, &exact, NULL), PRV_OK, "the same in closed form");
        check(b.lower <= exact.upper && exact.lower <= b.upper && b.upper - b.lower < 0.2,
              "tails that are told: [%.9g, %.9g] holds [%.9g, %.9g]", b.lower, b.upper, exact.lower,
              exact.upper);
        prv_mechanism_free(gaussian);
    }
    int right = 4;
    if (prv_mechanism_curve(wrong_curve, &right, 0.0, &m) != PRV_OK) abort();
    own.mechanism = m;
    prv_options wrong = options_of(0.1);
    wrong.discretization = PRV_MEAN_MATCHING;
    wrong.delta_error = 1e-8;
    expect(prv_epsilon(&own, 1, &wrong, &delta, 1, &b, NULL), PRV_ERR_DISCRETIZATION,
           "mean-matching of a curve");
    const double order = 2.0;
    expect(prv_renyi_divergence(&own, 1, &o, &order, 1, &b), PRV_ERR_MOMENTS,
           "a Renyi divergence of a curve");
    prv_mechanism_free(m);
}

/* Interrupts at every place where they are asked about. */
static void interrupts(void)
{
    prv_bounds b;
    const double delta = 1e-5;
    prv_mechanism *good = gaussian(2.0);
    const prv_step step = {good, 10};
    int stops = 0, calls = 0;
    for (int n = 0; n < 10000; n++) {
        int left = n;
        prv_options i = options_of(1e-2);
        i.engine = PRV_ENGINE_CONVOLUTION;
        i.progress = stop_after;
        i.progress_context = &left;
        const prv_status status = prv_epsilon(&step, 1, &i, &delta, 1, &b, NULL);
        reached[status] = 1;
        if (status == PRV_OK) break;
        calls++;
        stops += status == PRV_ERR_INTERRUPTED;
    }
    check(calls >= 3 && stops == calls, "interrupts stop a query at %d places", stops);
    prv_mechanism_free(good);
}

/* Each status has a message, and was reached above. */
static void all_of_them(void)
{
    for (int i = 0; i < PRV_STATUS_COUNT; i++) {
        const char *message = prv_status_message((prv_status)i);
        const size_t length = message != NULL ? strlen(message) : 0;
        if (length == 0 || message[length - 1] == '.') check(0, "status %d has no proper message", i);
    }
    check(prv_status_message((prv_status)12345) != NULL, "an unknown status has a message too");
    for (int i = 0; i < PRV_STATUS_COUNT; i++)
        /* A spectrum that falls too slowly takes long to tell: test_spectrum.c limits its work. Other
         * arithmetic: test_arithmetic.c. Bounds that contradict each other would be a fault: test_gate.c
         * makes some. */
        if (!reached[i] && i != PRV_ERR_MEMORY && i != PRV_ERR_ENGINE && i != PRV_ERR_ARITHMETIC &&
            i != PRV_ERR_BOUNDS)
            check(0, "status %d was not reached: %s", i, prv_status_message((prv_status)i));
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    parameters();
    relations();
    values();
    files();
    counts();
    options();
    limits();
    callbacks();
    interrupts();
    all_of_them();
    prv_fft_provider_free(provider);
    return summary();
}
