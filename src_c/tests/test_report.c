/* What a report tells of an answer: what kept bounds wide, whether they are attained, which direction
 * decides. */
#include "prvcore.h"

#include "asking.h"

static prv_mechanism *sampled_laplace(double scale, double probability)
{
    prv_mechanism *base, *sample;
    if (prv_mechanism_laplace(scale, 1.0, &base) != PRV_OK) abort();
    if (prv_mechanism_poisson_subsampled(base, probability, &sample) != PRV_OK) abort();
    prv_mechanism_free(base);
    return sample;
}

/* Small passes answer as all passes do, or say that larger ones would come closer. */
static void small_passes(void)
{
    const double delta = 4e-6;
    static const struct {
        double scale, width;
        prv_limit limit;
    } cases[] = {{0.1, 1e-7, PRV_LIMIT_ENGINE}, {8.444, 0.1, PRV_LIMIT_NONE}};
    prv_mechanism *m = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_mechanism_free(m);
        m = sampled_laplace(cases[i].scale, 0.3);
        const prv_step step = {m, 1000};
        prv_options o = options_of(cases[i].width);
        prv_bounds b, all;
        prv_report r;
        o.engine = PRV_ENGINE_SMALL;
        const prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, &r);
        check(status == PRV_OK && r.limit == cases[i].limit && r.memory <= 32000000 &&
                  r.accurate == (r.limit == PRV_LIMIT_NONE),
              "small passes at width %g: [%.9g, %.9g], limit %d, %zu bytes", cases[i].width, b.lower, b.upper,
              (int)r.limit, r.memory);
        o.eps_error = 0.1;
        o.engine = PRV_ENGINE_AUTO;
        if (prv_epsilon(&step, 1, &o, &delta, 1, &all, NULL) != PRV_OK) abort();
        check(b.lower <= all.upper && all.lower <= b.upper, "... where all passes are");
        if (cases[i].limit == PRV_LIMIT_NONE)
            check(b.lower == all.lower && b.upper == all.upper, "... to the bit, as none was left out");
    }
    /* A mesh that is asked for is made, whatever it takes. */
    prv_options o = options_of(1e-3);
    prv_bounds small, all;
    o.mesh_size = 2e-6;
    o.engine = PRV_ENGINE_SMALL;
    const prv_step few = {m, 10};
    if (prv_epsilon(&few, 1, &o, &delta, 1, &small, NULL) != PRV_OK) abort();
    o.engine = PRV_ENGINE_AUTO;
    if (prv_epsilon(&few, 1, &o, &delta, 1, &all, NULL) != PRV_OK) abort();
    check(small.lower == all.lower && small.upper == all.upper, "a mesh size makes small passes like all");
    prv_mechanism_free(m);
}

/* Two steps of range 1: the greatest delta at 1/2 is that of two responses with the losses 1/2 and -1/2
 * (PAIRS.md, section 8), which is less than the dominating pair's. */
static void what_is_attained(void)
{
    prv_mechanism *range = NULL;
    if (prv_mechanism_bounded_range(1.0, &range) != PRV_OK) abort();
    const prv_step once = {range, 1}, twice = {range, 2}, split[] = {{range, 1}, {range, 0}, {range, 1}};
    check(prv_is_attained(&once, 1, PRV_REMOVE) && !prv_is_attained(&twice, 1, PRV_REMOVE) &&
              !prv_is_attained(split, 3, PRV_REMOVE) && prv_is_attained(NULL, 0, PRV_REMOVE),
          "a bounded range is attained once");
    const long double high = -expm1l(-0.5L) / -expm1l(-1.0L), both = high * high * -expm1l(-0.5L);
    const prv_options o = options_of(1e-3);
    const double half = 0.5;
    prv_bounds b;
    prv_report r;
    check(prv_delta(&twice, 1, &o, &half, 1, &b, &r) == PRV_OK && (long double)b.lower <= both &&
              both <= (long double)b.upper,
          "... and twice bounded by data sets (%.9Lg in [%.9g, %.9g])", both, b.lower, b.upper);
    check(!r.attained && r.accurate && r.unattained > 0.0 && r.unattained <= r.width,
          "... which the report tells");
    const double asked = 0.05;
    check(prv_epsilon(&twice, 1, &o, &asked, 1, &b, &r) == PRV_OK && !r.attained && b.lower < b.upper &&
              fabs(r.width - (b.upper - b.lower)) <= 4.0 * DBL_EPSILON * b.upper && r.unattained <= r.width,
          "... which is %g wide in epsilon, as the report says", b.upper - b.lower);
    check(prv_delta(&once, 1, &o, &half, 1, &b, &r) == PRV_OK && r.attained && r.unattained == 0.0,
          "... and once as well");
    prv_mechanism_free(range);
}

/* What kept bounds wide is told, and nothing where nothing did. */
static void what_kept_bounds_wide(void)
{
    prv_mechanism *base = gaussian(0.8), *sampled = NULL;
    check(prv_mechanism_poisson_subsampled(base, 1e-3, &sampled) == PRV_OK, "a sampled Gaussian");
    const prv_step step = {sampled, 1000};
    const double delta = 1e-7;
    const struct {
        double width, mesh_size;
        size_t memory_limit;
        prv_limit limit;
    } cases[] = {{1e-3, 0.0, (size_t)1 << 30, PRV_LIMIT_NONE},
                 {1e-7, 0.0, (size_t)1 << 18, PRV_LIMIT_MEMORY},
                 {1e-12, 0.0, (size_t)1 << 26, PRV_LIMIT_ROUNDING},
                 {1e-3, 0.05, (size_t)1 << 30, PRV_LIMIT_MESH_SIZE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_options o = options_of(cases[i].width);
        o.mesh_size = cases[i].mesh_size;
        o.memory_limit = cases[i].memory_limit;
        prv_bounds b;
        prv_report r;
        const prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, &r);
        check(status == PRV_OK && r.limit == cases[i].limit, "case %zu: status %d, limit %d", i, (int)status,
              (int)r.limit);
        check(r.accurate == (r.limit == PRV_LIMIT_NONE || r.limit == PRV_LIMIT_MESH_SIZE),
              "... and accurate if there is none, or a mesh was asked for");
    }
    prv_mechanism_free(sampled);
    prv_mechanism_free(base);
}

/* The direction told is the one that is worse if asked alone. Below epsilon 0 and at high rates, that is
 * 'add'. */
static void deciding_direction(void)
{
    prv_mechanism *m = subsampled(1.0, 0.2);
    const prv_step step = {m, 10.0};
    const double places[2][2] = {{-0.5, 0.5}, {0.01, 0.9}};
    int told[2][2] = {{0, 0}, {0, 0}}, right = 1;
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < 2; i++) {
            const prv_neighbors asked[3] = {PRV_ADD_OR_REMOVE, PRV_REMOVE, PRV_ADD};
            prv_bounds b[3];
            prv_report r[3];
            for (int j = 0; j < 3; j++) {
                prv_options o = options_of(0.01);
                o.neighbors = asked[j];
                const double *x = &places[kind][i];
                check((kind ? prv_power(&step, 1, &o, x, 1, &b[j], &r[j])
                            : prv_delta(&step, 1, &o, x, 1, &b[j], &r[j])) == PRV_OK,
                      "an answer");
            }

            const int adds = b[2].upper > b[1].upper;
            right = right && r[1].direction == PRV_REMOVE && r[2].direction == PRV_ADD &&
                    r[0].direction == (adds ? PRV_ADD : PRV_REMOVE);
            told[kind][adds]++;
        }
    check(right, "the direction that decides is told");
    check(told[0][0] == 1 && told[0][1] == 1 && told[1][0] == 1 && told[1][1] == 1,
          "... removing and adding by turns");
    prv_mechanism_free(m);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    what_is_attained();
    what_kept_bounds_wide();
    small_passes();
    deciding_direction();
    prv_fft_provider_free(provider);
    return summary();
}
