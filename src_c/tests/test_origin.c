/* Mechanisms that are read, compared and shared, and accountants that hold them. */
#include <pthread.h>
#include <string.h>

#include "asking.h"
#include "no_callbacks.h"

#include "mechanisms/origin.h"

/* ---- Every constructor ------------------------------------------------------------------------------- */

static int others; /* a context */

/* The arguments of a constructor are functions of which: 0, or 1 for others. */
static prv_status make(prv_kind kind, int which, prv_mechanism **m)
{
    const double w = (double)which, s = 0.7 + w, p = 0.1 + 0.1 * w;
    const double values[] = {0.0, 1.0 + w}, masses[] = {0.5, 0.5}, noises[] = {s, 1.1};
    const uint64_t counts[] = {2, 3}, u = 3 + (uint64_t)which;
    prv_mechanism *base = kind == PRV_KIND_SCALED ? subsampled(0.7, 0.1) : gaussian(s);
    const prv_step steps[] = {{base, 2}, {NULL, 0}, {base, u}};
    prv_status status = PRV_ERR_BOUNDS;
    switch (kind) {
    case PRV_KIND_GAUSSIAN: status = prv_mechanism_gaussian(s, m); break;
    case PRV_KIND_GAUSSIANS: status = prv_mechanism_gaussians(noises, counts, 2, m); break;
    case PRV_KIND_LAPLACE: status = prv_mechanism_laplace(s, 1.0, m); break;
    case PRV_KIND_DISCRETE_GAUSSIAN: status = prv_mechanism_discrete_gaussian(s, 2, m); break;
    case PRV_KIND_DISCRETE_LAPLACE: status = prv_mechanism_discrete_laplace(s, 2, m); break;
    case PRV_KIND_APPROXIMATE_DP: status = prv_mechanism_approximate_dp(1.0, 1e-6 * s, m); break;
    case PRV_KIND_BOUNDED_RANGE: status = prv_mechanism_bounded_range(s, m); break;
    case PRV_KIND_RANDOMIZED_RESPONSE: status = prv_mechanism_randomized_response(1.0, u, m); break;
    case PRV_KIND_POISSON_SUBSAMPLED: status = prv_mechanism_poisson_subsampled(base, p, m); break;
    case PRV_KIND_SUBSAMPLED_WITHOUT_REPLACEMENT:
        status = prv_mechanism_subsampled_without_replacement(base, p, m);
        break;
    case PRV_KIND_COMPOSED: status = prv_mechanism_composed(steps, 3, m); break;
    case PRV_KIND_RANDOM_ALLOCATION: status = prv_mechanism_random_allocation(base, u, m); break;
    case PRV_KIND_RANDOM_SELECTION: status = prv_mechanism_random_selection(base, u, 2, m); break;
    case PRV_KIND_TABLE: status = prv_mechanism_table(values, masses, 2, 0.0, m); break;
    case PRV_KIND_CDFS: status = prv_mechanism_cdfs(no_cdfs, NULL, p, m); break;
    case PRV_KIND_TAILS: status = prv_mechanism_tails(no_tails, NULL, which, m); break;
    case PRV_KIND_CURVE: status = prv_mechanism_curve(no_curve, which ? &others : NULL, 0.0, m); break;
    case PRV_KIND_GAUSSIAN_MIXTURE: status = prv_mechanism_gaussian_mixture(0.7, values, masses, 2, m); break;
    case PRV_KIND_GROUP_GAUSSIAN: status = prv_mechanism_group_gaussian(s, 0.1, 3, m); break;
    case PRV_KIND_FIXED_SIZE_GROUP_GAUSSIAN:
        status = prv_mechanism_fixed_size_group_gaussian(0.7, 100, u + 3, 3, m);
        break;
    case PRV_KIND_TRUNCATED_POISSON_GAUSSIAN:
        status = prv_mechanism_truncated_poisson_gaussian(s, 0.1, 100, 20, m);
        break;
    case PRV_KIND_SHUFFLED_FROM_BELOW: status = prv_mechanism_shuffled_from_below(0.7, 10, which, m); break;
    case PRV_KIND_SCALED: {
        prv_mechanism *group = NULL;
        status = prv_mechanism_group_gaussian(0.7, 0.1, 3, &group);
        if (status == PRV_OK) status = prv_mechanism_scaled(group, PRV_NOISE_SCALE, 1.1 + w, m);
        prv_mechanism_free(group); /* of which m has a reference */
        break;
    }
    case PRV_KIND_STATED: {
        prv_mechanism *table = NULL;
        status = prv_mechanism_table(values, masses, 2, 0.0, &table);
        if (status == PRV_OK) status = prv_mechanism_stated(table, PRV_RELATION_ANY, 1 - which, m);
        prv_mechanism_free(table);
        break;
    }
    }
    prv_mechanism_free(base);
    return status;
}

static void every_kind(void)
{
    prv_mechanism *before = NULL;
    for (int kind = PRV_KIND_GAUSSIAN; kind <= PRV_KIND_FIXED_SIZE_GROUP_GAUSSIAN; kind++) {
        prv_mechanism *a = NULL, *again = NULL, *other = NULL;
        const int made = make((prv_kind)kind, 0, &a) == PRV_OK && make((prv_kind)kind, 0, &again) == PRV_OK &&
                         make((prv_kind)kind, 1, &other) == PRV_OK;
        if (!made) abort();
        check(prv_mechanism_description(a)->kind == (prv_kind)kind, "kind %d says so", kind);
        check(prv_mechanism_equal(a, a) && prv_mechanism_equal(a, again) && prv_mechanism_equal(again, a),
              "kind %d: equal arguments", kind);
        check(prv_mechanism_hash(a) == prv_mechanism_hash(again), "kind %d: equal hashes", kind);
        check(!prv_mechanism_equal(a, other) && !prv_mechanism_equal(other, a), "kind %d: other arguments",
              kind);
        check(before == NULL || !prv_mechanism_equal(a, before), "kind %d is not the one before", kind);
        prv_mechanism_free(before);
        prv_mechanism_free(again);
        prv_mechanism_free(other);
        before = a;
    }
    prv_mechanism_free(before);
}

/* ---- What is read ------------------------------------------------------------------------------------ */

static void arguments(void)
{
    prv_mechanism *base = gaussian(0.7), *sample = NULL, *again = NULL, *mixture = NULL;
    const double values[] = {0.0, 1.5}, masses[] = {0.25, 0.75};
    if (prv_mechanism_poisson_subsampled(base, 0.125, &sample) != PRV_OK ||
        prv_mechanism_scaled(sample, PRV_NOISE_SCALE, 2.0, &again) != PRV_OK ||
        prv_mechanism_gaussian_mixture(0.7, values, masses, 2, &mixture) != PRV_OK)
        abort();
    prv_mechanism_free(base); /* the sample has a reference */
    const prv_description *d = prv_mechanism_description(sample);
    check(d->sampling_probability == 0.125 && d->part_count == 1 && d->parts[0].count == 1 &&
              d->parts[0].mechanism == base && d->values == NULL && d->length == 0,
          "a sample has its probability and its base");
    check(prv_mechanism_description(d->parts[0].mechanism)->noise == 0.7, "whose noise can be read");
    d = prv_mechanism_description(again);
    check(d->kind == PRV_KIND_POISSON_SUBSAMPLED && d->sampling_probability == 0.125 &&
              prv_mechanism_description(d->parts[0].mechanism)->noise == 1.4,
          "scaled noise is of its own kind");
    prv_mechanism *twice = subsampled(1.4, 0.125);
    check(prv_mechanism_equal(again, twice), "... and equals what was made so");
    d = prv_mechanism_description(mixture);
    check(d->length == 2 && d->values != values && memcmp(d->values, values, sizeof values) == 0 &&
              memcmp(d->probabilities, masses, sizeof masses) == 0 && d->counts == NULL,
          "arrays are copied");
    prv_mechanism_free(sample);
    prv_mechanism_free(again);
    prv_mechanism_free(twice);
    prv_mechanism_free(mixture);
}

static void failures(void)
{
    prv_mechanism *const some = gaussian(1.0), *m = some;
    check(prv_mechanism_gaussian(-1.0, &m) == PRV_ERR_NOISE_MULTIPLIER && m == NULL, "a failure leaves NULL");
    m = some;
    check(prv_mechanism_poisson_subsampled(some, 2.0, &m) == PRV_ERR_SAMPLING_PROBABILITY && m == NULL,
          "... of a sample");
    m = some;
    check(prv_mechanism_scaled(some, PRV_STEPS, 2.0, &m) == PRV_ERR_PARAMETER && m == NULL,
          "... of a factor");
    prv_mechanism *whole = NULL, *response = NULL;
    if (prv_mechanism_randomized_response(1.0, 3, &response) != PRV_OK ||
        prv_mechanism_laplace(1.0, 1.0, &whole) != PRV_OK)
        abort();
    prv_mechanism *table = NULL;
    const double losses[] = {0.0}, q[] = {1.0};
    if (prv_mechanism_table(losses, q, 1, 0.0, &table) != PRV_OK) abort();
    const prv_step steps[] = {{response, 1}, {table, 1}};
    m = some;
    check(prv_mechanism_composed(steps, 2, &m) == PRV_ERR_NEIGHBORS && m == NULL,
          "... of parts that do not fit");
    prv_mechanism_free(some);
    prv_mechanism_free(whole);
    prv_mechanism_free(response);
    prv_mechanism_free(table);
}

/* ---- References -------------------------------------------------------------------------------------- */

enum { THREADS = 4, TIMES = 2000 };

static void *share(void *shared)
{
    const prv_mechanism *m = shared;
    for (int i = 0; i < TIMES; i++) {
        prv_mechanism *mine = prv_mechanism_retain(m), *sample = NULL;
        if (i % 100 == 0 && prv_mechanism_poisson_subsampled(mine, 0.5, &sample) != PRV_OK) abort();
        prv_mechanism_free(mine);
        prv_mechanism_free(sample);
    }
    prv_mechanism_free((prv_mechanism *)shared);
    return NULL;
}

static void references(void)
{
    prv_mechanism *m = gaussian(0.7);
    prv_mechanism *handles[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) handles[i] = prv_mechanism_retain(m);
    prv_mechanism_free(m);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, share, handles[i]) != 0) abort();
    for (int i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
    check(prv_mechanism_description(handles[0])->noise == 0.7, "one reference is left");
    prv_mechanism_free(handles[0]);
}

/* ---- Compositions ------------------------------------------------------------------------------------ */

static int same(const prv_bounds *a, const prv_bounds *b)
{
    return a->lower == b->lower && a->estimate == b->estimate && a->upper == b->upper;
}

/* Equal mechanisms are one, to the last bit of the bounds, and in the number of cells. */
static void equal_steps(void)
{
    enum { EQUAL = 30 };
    prv_mechanism *each[EQUAL];
    prv_step steps[EQUAL], once;
    for (size_t i = 0; i < EQUAL; i++) {
        each[i] = subsampled(0.8, 0.01);
        steps[i] = (prv_step){each[i], 4};
    }
    once = (prv_step){each[0], 4 * EQUAL};
    const prv_options o = options_of(1e-3);
    const double delta = 1e-6;
    prv_bounds of_many, of_one;
    prv_report many, one;
    check(prv_epsilon(steps, EQUAL, &o, &delta, 1, &of_many, &many) == PRV_OK &&
              prv_epsilon(&once, 1, &o, &delta, 1, &of_one, &one) == PRV_OK && same(&of_many, &of_one) &&
              many.cells == one.cells,
          "equal mechanisms merge");
    for (size_t i = 0; i < EQUAL; i++) prv_mechanism_free(each[i]);
}

static void accountants(void)
{
    prv_accountant *a = NULL, *b = NULL;
    const prv_options o = options_of(1e-3);
    const double delta = 1e-6, epsilon = 1.0;
    if (prv_accountant_new(&a) != PRV_OK) abort();
    size_t length = 1;
    prv_accountant_steps(a, &length);
    check(length == 0, "nothing has run");
    prv_bounds bounds, expected;
    check(prv_accountant_epsilon(a, &o, &delta, 1, &bounds, NULL) == PRV_OK && bounds.upper == 0.0,
          "... epsilon 0");
    prv_step steps[20];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20; i++) {
            prv_mechanism *m = subsampled(1.0 + 0.01 * i, 0.01);
            if (prv_accountant_add(a, m, 10) != PRV_OK) abort();
            if (round == 0) steps[i] = (prv_step){m, 20};
            if (round == 0) continue; /* freed below */
            prv_mechanism_free(m);
        }
    const prv_step *held = prv_accountant_steps(a, &length);
    check(length == 20 && held[3].mechanism == steps[3].mechanism && held[3].count == 20,
          "equal steps are one");
    for (int i = 0; i < 20; i++) prv_mechanism_free((prv_mechanism *)steps[i].mechanism);
    prv_history *h = NULL;
    if (prv_history_new(&h) != PRV_OK || prv_accountant_copy(a, &b) != PRV_OK) abort();
    check(prv_accountant_epsilon(a, &o, &delta, 1, &bounds, NULL) == PRV_OK &&
              prv_history_epsilon(h, held, length, &o, &delta, 1, &expected, NULL) == PRV_OK &&
              same(&bounds, &expected),
          "epsilon as that of a history");
    check(prv_accountant_delta(a, &o, &epsilon, 1, &bounds, NULL) == PRV_OK &&
              prv_history_delta(h, held, length, &o, &epsilon, 1, &expected, NULL) == PRV_OK &&
              same(&bounds, &expected),
          "delta, too");
    prv_history_free(h);
    check(prv_accountant_add(a, held[0].mechanism, (uint64_t)1 << 53) == PRV_ERR_COUNT, "too many steps");
    check(prv_accountant_add(a, NULL, 0) == PRV_OK, "no step needs no mechanism");
    prv_accountant_steps(a, &length);
    check(length == 20, "... and nothing was added");
    prv_accountant_free(a);
    check(prv_accountant_delta(b, &o, &epsilon, 1, &bounds, NULL) == PRV_OK && same(&bounds, &expected),
          "a copy goes on by itself");
    prv_accountant_free(b);
    prv_accountant_free(NULL);
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static void faults(void)
{
    prv_options o = prv_options_default();
    check(prv_options_fault(&o) == NULL, "default options");
#define FAULT(field, value)                                                                                  \
    o = prv_options_default();                                                                               \
    o.field = value;                                                                                         \
    check(prv_options_fault(&o) != NULL && strcmp(prv_options_fault(&o), #field) == 0, #field " of " #value)
    FAULT(discretization, (prv_discretization)7);
    FAULT(engine, PRV_ENGINE_JUMPS);
    FAULT(neighbors, (prv_neighbors)9);
    FAULT(eps_error, -1.0);
    FAULT(eps_error, NAN);
    FAULT(eps_error, HUGE_VAL);
    FAULT(eps_relative_error, 0.0);
    FAULT(eps_floor, 0.0);
    FAULT(delta_relative_error, 1.0);
    FAULT(threshold, -1.0);
    FAULT(mesh_size, 101.0);
    FAULT(memory_limit, 0);
    FAULT(discretization, (prv_discretization)-1);
#undef FAULT
    o = prv_options_default();
    o.reserved[7] = 1;
    check(strcmp(prv_options_fault(&o), "reserved") == 0, "reserved");
    memset(&o, 0, sizeof o);
    check(strcmp(prv_options_fault(&o), "eps_relative_error") == 0, "all zero");
    o = prv_options_default();
    o.discretization = PRV_MEAN_MATCHING;
    check(strcmp(prv_options_fault(&o), "eps_error") == 0, "mean-matching without a width");
    o.eps_error = 0.1;
    check(strcmp(prv_options_fault(&o), "delta_error") == 0, "mean-matching without a delta_error");
    o.delta_error = 1e-10;
    check(prv_options_fault(&o) == NULL, "mean-matching");
    o.threshold = 1.0;
    check(strcmp(prv_options_fault(&o), "threshold") == 0, "mean-matching with a threshold");
    prv_bounds bounds;
    const double delta = 1e-5;
    check(prv_epsilon(NULL, 0, &o, &delta, 1, &bounds, NULL) == PRV_ERR_OPTIONS, "which a query refuses");
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    every_kind();
    arguments();
    failures();
    references();
    equal_steps();
    accountants();
    faults();
    prv_fft_provider_free(provider);
    return summary();
}
