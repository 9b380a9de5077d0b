/* Bounds against values from elsewhere, in high precision, through the transforms of one provider: test_truth
 * PROVIDER. */
#include "prvcore.h"

#include "check.h"
#include "planners.h"

typedef struct truth_step {
    const char *type;
    uint64_t count;
    double parameter, sampling_probability, delta;
    int64_t sensitivity;
} truth_step;

typedef struct truth_row {
    const char *id, *direction, *eps, *delta, *eps_at_delta, *target_delta, *dlogdelta_deps;
    size_t step_count;
    truth_step steps[8];
} truth_row;

static const truth_row rows[] = {
#include "truth.inc"
};

#define SLACK 1e-12 /* the decimal strings are rounded to binary before they are used */

static prv_mechanism *mechanism_of(const truth_step *s)
{
    static const char subsampled[] = "subsampled_";
    const int sampled = strncmp(s->type, subsampled, sizeof subsampled - 1) == 0;
    const char *type = s->type + (sampled ? sizeof subsampled - 1 : 0);
    prv_mechanism *base = NULL, *m = NULL;
    prv_status status = PRV_ERR_OPTIONS;
    if (strcmp(type, "gaussian") == 0) status = prv_mechanism_gaussian(s->parameter, &base);
    if (strcmp(type, "laplace") == 0) status = prv_mechanism_laplace(s->parameter, 1.0, &base);
    if (strcmp(type, "epsilon_delta") == 0)
        status = prv_mechanism_approximate_dp(s->parameter, s->delta, &base);
    if (strcmp(type, "discrete_gaussian") == 0)
        status = prv_mechanism_discrete_gaussian(s->parameter, s->sensitivity, &base);
    if (strcmp(type, "discrete_laplace") == 0)
        status = prv_mechanism_discrete_laplace(s->parameter, s->sensitivity, &base);
    if (status != PRV_OK) abort();
    if (!sampled) return base;
    if (prv_mechanism_poisson_subsampled(base, s->sampling_probability, &m) != PRV_OK) abort();
    prv_mechanism_free(base);
    return m;
}

static void test_row(const truth_row *row, prv_options o)
{
    prv_step steps[8];
    prv_mechanism *mechanisms[8];
    for (size_t i = 0; i < row->step_count; i++) {
        mechanisms[i] = mechanism_of(&row->steps[i]);
        steps[i] = (prv_step){mechanisms[i], row->steps[i].count};
    }
    o.neighbors = row->direction[0] == 'r'   ? PRV_REMOVE
                  : row->direction[0] == 'a' ? PRV_ADD
                                             : PRV_ADD_OR_REMOVE;
    const double eps = strtod(row->eps, NULL), delta = strtod(row->delta, NULL);
    const double slope = row->dlogdelta_deps != NULL ? fabs(strtod(row->dlogdelta_deps, NULL)) : 0.0;
    const double slack = SLACK + slope * eps * DBL_EPSILON;
    const char *way = o.discretization == PRV_MEAN_MATCHING ? "mean-matching" : "bracketing";
    prv_bounds b = {0.0, 0.0, 0.0};
    prv_status status = prv_delta(steps, row->step_count, &o, &eps, 1, &b, NULL);
    const int refused = o.discretization == PRV_MEAN_MATCHING &&
                        (status == PRV_ERR_PRECISION || status == PRV_ERR_MEMORY_LIMIT);
    if (!refused)
        check(status == PRV_OK && b.lower <= delta * (1.0 + slack) + 5e-324 &&
                  b.upper >= delta * (1.0 - slack) && b.lower <= b.estimate && b.estimate <= b.upper,
              "%s, %s: delta %.9g in [%.9g, %.9g] (%s)", row->id, way, delta, b.lower, b.upper,
              prv_status_message(status));
    if (!refused && row->eps_at_delta != NULL) {
        const double asked = strtod(row->target_delta, NULL), truth = strtod(row->eps_at_delta, NULL);
        status = prv_epsilon(steps, row->step_count, &o, &asked, 1, &b, NULL);
        const double near = SLACK * fmax(1.0, truth);
        if (o.discretization != PRV_MEAN_MATCHING || status != PRV_ERR_PRECISION)
            check(status == PRV_OK && b.lower <= truth + near && b.upper >= truth - near,
                  "%s, %s: epsilon %.9g in [%.9g, %.9g] (%s)", row->id, way, truth, b.lower, b.upper,
                  prv_status_message(status));
    }
    for (size_t i = 0; i < row->step_count; i++) prv_mechanism_free(mechanisms[i]);
}

int main(int argc, char **argv)
{
    prv_fft_provider *provider = NULL;
    for (size_t i = 0; i < PLANNER_COUNT; i++)
        if (argc == 2 && strcmp(argv[1], planners[i]->name) == 0 &&
            prv_provider_new(planners[i], &provider) != PRV_OK)
            abort();
    if (provider == NULL) {
        fprintf(stderr, "usage: test_truth PROVIDER\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *scale = rows[i].eps_at_delta != NULL ? rows[i].eps_at_delta : rows[i].eps;
        prv_options o = {.eps_error = fmax(1e-2, 1e-3 * strtod(scale, NULL)),
                         .engine = PRV_ENGINE_CONVOLUTION,
                         .memory_limit = (size_t)1 << 25,
                         .fft = provider};
        test_row(&rows[i], o);
        o.discretization = PRV_MEAN_MATCHING; /* transforms of odd lengths */
        o.eps_error = 0.2;
        o.delta_error = 1e-8;
        test_row(&rows[i], o);
    }
    prv_fft_provider_free(provider);
    return summary();
}
