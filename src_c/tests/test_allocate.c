/* The allocator of a thread: every allocation failing once, counts that balance, blocks that go back where
 * they came from. */
#include "base/allocate.h"

#include "asking.h"
#include "pool.h"

/* ---- Sizes ------------------------------------------------------------------------------------------ */

static void sizes(void)
{
    const double most = (double)SIZE_MAX; /* or the power of two above */
    check(prv_size_of(0.0) == 0 && prv_size_of(-0.0) == 0 && prv_size_of(0.999) == 0 &&
              prv_size_of(1.0) == 1 && prv_size_of(12345.678) == 12345 &&
              prv_size_of(0x1p31) == (size_t)1 << 31,
          "sizes are whole parts");
    check(prv_size_of(-1e-300) == 0 && prv_size_of(-1.0) == 0 && prv_size_of(-HUGE_VAL) == 0,
          "no size is below 0");
    check(prv_size_of(most) == SIZE_MAX && prv_size_of(2.0 * most) == SIZE_MAX &&
              prv_size_of(0x1p64) == SIZE_MAX && prv_size_of(1e300) == SIZE_MAX &&
              prv_size_of(HUGE_VAL) == SIZE_MAX && prv_size_of(NAN) == SIZE_MAX,
          "what no size holds is the largest");
    const double below = nextafter(most, 0.0);
    check((double)prv_size_of(below) == floor(below), "the double below that is its own size");
}

/* ---- Jobs ------------------------------------------------------------------------------------------ */

static prv_status a_gaussian(void)
{
    prv_mechanism *m = NULL;
    const prv_status status = prv_mechanism_gaussian(1.0, &m);
    if (status == PRV_OK) prv_mechanism_free(m);
    return status;
}

static prv_status subsampled_atoms(void)
{
    prv_mechanism *m = NULL, *s = NULL;
    prv_status status = prv_mechanism_discrete_gaussian(2.0, 1, &m);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(m, 0.1, &s);
    if (status == PRV_OK) prv_mechanism_free(s);
    prv_mechanism_free(m);
    return status;
}

static prv_status a_table(void)
{
    prv_mechanism *m = NULL, *s = NULL, *t = NULL;
    const double losses[] = {0.0, 1.0}, q[] = {0.5, 0.5};
    prv_status status = prv_mechanism_table(losses, q, 2, 0.0, &m);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(m, 0.1, &s);
    if (status == PRV_OK) status = prv_mechanism_scaled(s, PRV_SAMPLING_PROBABILITY, 2.0, &t);
    prv_mechanism_free(m);
    prv_mechanism_free(s);
    prv_mechanism_free(t);
    return status;
}

static prv_status a_subsampled_group(void)
{
    prv_mechanism *group = NULL, *m = NULL;
    prv_status status = prv_mechanism_group_gaussian(1.0, 0.1, 5, &group);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(group, 0.5, &m);
    prv_mechanism_free(group);
    if (status == PRV_OK) prv_mechanism_free(m);
    return status;
}

static prv_status a_subsampled_mixture(void)
{
    const double changes[] = {0.0, 1.0, 2.0}, odds[] = {0.9604, 0.0392, 0.0004};
    prv_mechanism *mixture = NULL, *m = NULL, *scaled = NULL;
    prv_status status = prv_mechanism_gaussian_mixture(1.0, changes, odds, 3, &mixture);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(mixture, 0.5, &m);
    if (status == PRV_OK) status = prv_mechanism_scaled(m, PRV_SAMPLING_PROBABILITY, 0.5, &scaled);
    prv_mechanism_free(mixture);
    prv_mechanism_free(m);
    prv_mechanism_free(scaled);
    return status;
}

static prv_status a_group_without_noise(void)
{
    prv_mechanism *group = NULL, *one = NULL, *scaled = NULL;
    prv_status status = prv_mechanism_group_gaussian(0.0, 0.1, 5, &group);
    if (status == PRV_OK) status = prv_mechanism_group_gaussian(2.0, 0.1, 1, &one);
    if (status == PRV_OK) status = prv_mechanism_scaled(group, PRV_SAMPLING_PROBABILITY, 10.0, &scaled);
    prv_mechanism_free(group);
    prv_mechanism_free(one);
    prv_mechanism_free(scaled);
    return status;
}

static prv_status a_sample_without_replacement(void)
{
    prv_mechanism *base = NULL, *m = NULL, *scaled = NULL;
    prv_status status = prv_mechanism_discrete_laplace(2.0, 1, &base);
    if (status == PRV_OK) status = prv_mechanism_subsampled_without_replacement(base, 0.5, &m);
    prv_mechanism_free(base);
    if (status == PRV_OK) status = prv_mechanism_scaled(m, PRV_SAMPLING_PROBABILITY, 0.5, &scaled);
    prv_mechanism_free(m);
    prv_mechanism_free(scaled);
    return status;
}

/* More steps than an accountant has room for at first, and parts of others. */
static prv_status an_accountant(void)
{
    prv_accountant *a = NULL, *copy = NULL;
    prv_mechanism *m = NULL, *whole = NULL;
    prv_status status = prv_accountant_new(&a);
    for (int i = 0; i < 10 && status == PRV_OK; i++) {
        status = prv_mechanism_gaussian(1.0 + i, &m);
        if (status == PRV_OK) status = prv_accountant_add(a, m, 1);
        prv_mechanism_free(m);
    }
    size_t length = 0;
    const prv_step *steps = status == PRV_OK ? prv_accountant_steps(a, &length) : NULL;
    if (status == PRV_OK) status = prv_mechanism_composed(steps, length, &whole);
    if (status == PRV_OK) status = prv_accountant_copy(a, &copy);
    prv_accountant_free(a);
    prv_accountant_free(copy);
    prv_mechanism_free(whole);
    return status;
}

/* Steps read from a text: arrays, lists on one sample, a table that is stated. */
static prv_status a_file(void)
{
    static const char text[] =
        "{\"steps\": [{\"type\": \"PoissonSubsampled\", \"sampling_probability\": 0.5, \"mechanism\": "
        "[{\"type\": \"Gaussian\", \"noise_multiplier\": 2}, [{\"type\": \"Laplace\", \"scale\": 3}, 2]]}, "
        "{\"type\": \"FromTable\", \"losses\": [-0.5, 0.5], \"probabilities\": [0.375, 0.625], "
        "\"neighbors\": \"any\"}, {\"type\": \"BallsInBins\", \"mechanism\": {\"type\": \"Gaussian\", "
        "\"noise_multiplier\": 2}, \"bins\": 5, \"epochs\": 3}]}";
    prv_accountant *a = NULL;
    const prv_status status = prv_accountant_from_json(text, sizeof text - 1, NULL, NULL, &a);
    if (status != PRV_OK && a != NULL) abort();
    prv_accountant_free(a);
    return status;
}

/* Calls with transforms. */
static prv_status with_provider(job call)
{
    prv_status status = prv_provider_new(&prv_portable_planner, &provider);
    if (status != PRV_OK) return status;
    status = call();
    prv_fft_provider_free(provider);
    return status;
}

/* Gaussians, one on a Poisson sample and one on a sample of fixed size, where a record is replaced. */
static prv_status the_replaced_records(void)
{
    static const double delta = 1e-5;
    prv_mechanism *base = NULL, *sampled = NULL, *fixed = NULL;
    prv_status status = prv_mechanism_gaussian(5.0, &base);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(base, 0.1, &sampled);
    if (status == PRV_OK) status = prv_mechanism_subsampled_without_replacement(base, 0.1, &fixed);
    if (status == PRV_OK) {
        const prv_step steps[] = {{base, 2}, {sampled, 2}, {fixed, 2}};
        prv_options o = options_of(0.05);
        prv_bounds b;
        o.neighbors = PRV_REPLACE_ONE;
        status = prv_epsilon(steps, 3, &o, &delta, 1, &b, NULL);
    }
    prv_mechanism_free(base);
    prv_mechanism_free(sampled);
    prv_mechanism_free(fixed);
    return status;
}

static prv_status replaced_records(void)
{
    return with_provider(the_replaced_records);
}

/* Truncated batches, whose records are added or removed, or replaced. */
static prv_neighbors truncated_neighbors;
static prv_discretization truncated_way;

static prv_status the_truncated_batches(void)
{
    static const double delta = 1e-3;
    prv_mechanism *m = NULL;
    prv_status status = prv_mechanism_truncated_poisson_gaussian(3.0, 0.1, 50, 8, &m);
    if (status == PRV_OK) {
        const prv_step step = {m, 3};
        prv_options o = options_of(0.2);
        prv_bounds b;
        o.delta_error = 1e-8;
        o.neighbors = truncated_neighbors;
        o.discretization = truncated_way;
        status = prv_epsilon(&step, 1, &o, &delta, 1, &b, NULL);
    }
    prv_mechanism_free(m);
    return status;
}

static prv_status truncated_batches(void)
{
    return with_provider(the_truncated_batches);
}

static prv_status shuffled_batches(void)
{
    prv_mechanism *m = NULL;
    const prv_status status = prv_mechanism_shuffled_from_below(1.0, 10, 1, &m);
    if (status == PRV_OK) prv_mechanism_free(m);
    return status;
}

static prv_step query_steps[3];
static prv_discretization query_way;
static prv_engine query_engine = PRV_ENGINE_AUTO;
static int query_delta;

static prv_status the_query(void)
{
    prv_options o = options_of(query_way == PRV_MEAN_MATCHING ? 0.2 : 2e-2);
    o.discretization = query_way;
    o.engine = query_engine;
    o.delta_error = 1e-8;
    const double deltas[] = {1e-5, 0.1}, epsilons[] = {0.5, 2.0};
    prv_bounds b[2];
    prv_report r[2];
    return query_delta ? prv_delta(query_steps, 3, &o, epsilons, 2, b, r)
                       : prv_epsilon(query_steps, 3, &o, deltas, 2, b, r);
}

static prv_status a_query(void)
{
    return with_provider(the_query);
}

static prv_status the_power(void)
{
    const prv_options o = options_of(0.1);
    const double rate = 0.1;
    prv_bounds b;
    return prv_power(query_steps, 1, &o, &rate, 1, &b, NULL);
}

static prv_status a_power(void)
{
    return with_provider(the_power);
}

static prv_status the_risk(void)
{
    const prv_options o = options_of(0.1);
    const double prior = 0.3;
    prv_bounds b;
    return prv_bayes_risk(query_steps, 1, &o, &prior, 1, &b, NULL);
}

static prv_status a_risk(void)
{
    return with_provider(the_risk);
}

/* epsilon of an allocation to many batches. */
static prv_status the_average(void)
{
    prv_mechanism *m = NULL;
    prv_status status = prv_mechanism_random_allocation(query_steps[0].mechanism, 2000, &m);
    if (status != PRV_OK) return status;
    const prv_options o = options_of(1e-3);
    const prv_step step = {m, 1};
    const double delta = 1e-5;
    prv_bounds b;
    status = prv_epsilon(&step, 1, &o, &delta, 1, &b, NULL);
    prv_mechanism_free(m);
    return status;
}

static prv_status an_average(void)
{
    return with_provider(the_average);
}

static prv_status the_mu(void)
{
    const prv_options o = options_of(0.1);
    const double delta = 1e-3;
    prv_bounds b;
    return prv_gaussian_mu(query_steps, 1, &o, &delta, 1, &b, NULL);
}

static prv_status a_mu(void)
{
    return with_provider(the_mu);
}

static prv_status the_divergence(void)
{
    const prv_options o = options_of(0.1);
    const double order = 2.0;
    prv_bounds b;
    return prv_renyi_divergence(query_steps, 2, &o, &order, 1, &b);
}

static prv_status a_divergence(void)
{
    return with_provider(the_divergence);
}

static prv_status the_calibration(void)
{
    const prv_options o = options_of(0.0);
    prv_calibration c;
    return prv_calibrate(query_steps, 1, 0, PRV_NOISE_SCALE, 2.0, 1e-4, 0.05, &o, &c);
}

static prv_status a_calibration(void)
{
    return with_provider(the_calibration);
}

/* ---- Tests ----------------------------------------------------------------------------------------- */

static void allocations(void)
{
    every_allocation(a_gaussian, "a Gaussian");
    every_allocation(subsampled_atoms, "a subsampled discrete Gaussian");
    every_allocation(a_table, "a subsampled table");
    every_allocation(a_subsampled_group, "a subsampled group");
    every_allocation(a_subsampled_mixture, "a subsampled mixture, scaled");
    every_allocation(a_group_without_noise, "groups without noise, and of one");
    every_allocation(a_sample_without_replacement, "a sample without replacement");
    every_allocation(an_accountant, "an accountant");
    every_allocation(a_file, "a file");
    every_allocation(replaced_records, "replaced records");
    every_allocation(shuffled_batches, "shuffled batches");
    for (int i = 0; i < 4; i++) {
        truncated_neighbors = i % 2 == 0 ? PRV_ADD_OR_REMOVE : PRV_REPLACE_ONE;
        truncated_way = i / 2 == 0 ? PRV_BRACKETING : PRV_MEAN_MATCHING;
        every_allocation(truncated_batches, "truncated batches");
    }
    prv_mechanism *laplace = NULL;
    if (prv_mechanism_laplace(5.0, 1.0, &laplace) != PRV_OK) abort();
    query_steps[0] = (prv_step){gaussian(10.0), 4};
    every_allocation(an_average, "an allocation to many batches");
    prv_mechanism *mixture = NULL;
    const double changes[] = {0.0, 1.0, 2.0}, odds[] = {0.9604, 0.0392, 0.0004};
    if (prv_mechanism_gaussian_mixture(1.0, changes, odds, 3, &mixture) != PRV_OK) abort();
    query_steps[1] = (prv_step){mixture, 5};
    query_steps[2] = (prv_step){laplace, 2};
    for (query_delta = 0; query_delta <= 1; query_delta++) {
        query_way = PRV_BRACKETING;
        every_allocation(a_query, query_delta ? "delta, bracketing" : "epsilon, bracketing");
        query_way = PRV_MEAN_MATCHING;
        every_allocation(a_query, query_delta ? "delta, mean-matching" : "epsilon, mean-matching");
        query_way = PRV_BRACKETING;
        query_steps[1]
            .count = 500; /* more than are multiplied out, and the number from which spectra are taken */
        query_engine = PRV_ENGINE_CONVOLUTION;
        every_allocation(a_query, query_delta ? "delta, transforms" : "epsilon, transforms");
        query_engine = PRV_ENGINE_AUTO;
        every_allocation(a_query, query_delta ? "delta, spectrum" : "epsilon, spectrum");
        query_steps[1].count = 5;
    }
    every_allocation(a_power, "a power");
    every_allocation(a_risk, "a Bayes risk");
    every_allocation(a_mu, "the mu of a Gaussian");
    every_allocation(a_divergence, "a Renyi divergence");
    every_allocation(a_calibration, "a calibration");
    for (size_t i = 0; i < 3; i++) prv_mechanism_free((prv_mechanism *)(uintptr_t)query_steps[i].mechanism);
}

/* What was made by one allocator goes back to it under any other, and queries use the one that is set. */
static void blocks_go_back(void)
{
    pool made = {.left = -1}, asked = {.left = -1};
    const prv_allocator library = prv_use_allocator(allocator_of(&made));
    check(library.allocate == NULL && library.release == NULL && library.context == NULL,
          "at first, the C library's");
    prv_mechanism *m = subsampled(1.0, 0.01), *s = NULL;
    check(made.live > 0, "a mechanism is in the pool that was set (%ld blocks)", made.live);
    const long live = made.live;
    prv_use_allocator(allocator_of(&asked));
    const prv_options o = options_of(1e-2); /* of a spectrum, without transforms */
    const prv_step step = {m, 200};
    const double delta = 1e-5;
    prv_bounds in_pool, outside;
    check(prv_epsilon(&step, 1, &o, &delta, 1, &in_pool, NULL) == PRV_OK && asked.made > 0 &&
              asked.live == 0 && made.live == live,
          "a query in another pool leaves both as they were (%ld blocks)", asked.made);
    check(prv_mechanism_scaled(m, PRV_NOISE_SCALE, 2.0, &s) == PRV_OK && asked.live > 0 && made.live == live,
          "a mechanism made of another is in the pool that is set");
    prv_use_allocator(library);
    check(prv_epsilon(&step, 1, &o, &delta, 1, &outside, NULL) == PRV_OK && in_pool.lower == outside.lower &&
              in_pool.estimate == outside.estimate && in_pool.upper == outside.upper,
          "the same bits with any allocator");
    prv_mechanism_free(m);
    check(made.live == 0 && asked.live > 0, "freed under the C library's, it goes back to its pool");
    prv_mechanism_free(s);
    check(asked.live == 0 && made.misused == 0 && asked.misused == 0 && made.bytes == 0 && asked.bytes == 0,
          "and so does the other");
}

int main(void)
{
    sizes();
    blocks_go_back();
    allocations();
    return summary();
}
