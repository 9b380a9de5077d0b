/* Mechanisms made of others: what encloses them, what a replaced record leaves, and refusals. */
#include "asking.h"

#include "mechanisms/mechanism.h"
#include "mechanisms/replace_one.h"
#include "lattices/combining.h"

/* The replaced record of a sample of a sample is in a sample of fixed size, whose probability is no less than
 * the product. */
static void probabilities_of_pairs(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 100; trial++) {
        prv_mechanism *base = NULL, *once = NULL, *twice = NULL, *pair = NULL;
        const double p = uniform(0.1, 0.9), again = uniform(0.1, 0.9);
        if (prv_mechanism_laplace(1.0, 1.0, &base) != PRV_OK ||
            prv_mechanism_poisson_subsampled(base, p, &once) != PRV_OK ||
            prv_mechanism_poisson_subsampled(once, again, &twice) != PRV_OK ||
            prv_mechanism_replaced(twice, &pair) != PRV_OK || pair == NULL)
            abort();
        const long double product = (long double)p * (long double)again, found = pair->sampling_probability;
        const long double rounding = product * (long double)LDBL_EPSILON;
        held = held && found >= product - rounding;
        close = close && found <= product * (1.0L + 1e-15L);
        prv_mechanism_free(base);
        prv_mechanism_free(once);
        prv_mechanism_free(twice);
        prv_mechanism_free(pair);
    }
    check(held && close,
          "the probability of a sample of a sample, where a record is replaced, is rounded up");
}

/* Losses so large that the quotient of the densities overflows: what encloses has finite masses. */
static void losses_beyond_doubles(void)
{
    for (int trial = 0; trial < 8; trial++) {
        const bool add = trial % 2;
        prv_mechanism *guarantee = NULL, *noise = NULL, *m = NULL, *enclosed = NULL;
        check(prv_mechanism_approximate_dp(trial < 4 ? 700.0 : 2000.0, 0.0, &guarantee) == PRV_OK &&
                  prv_mechanism_laplace(1.0, 1.0, &noise) == PRV_OK,
              "parts of large and of small losses");
        const prv_step parts[] = {{guarantee, 3}, {noise, 1}};
        check(prv_mechanism_composed(parts, trial / 2 % 2 ? 1 : 2, &m) == PRV_OK, "... together");
        const prv_fineness fineness = PRV_COARSE_FINENESS;
        check(prv_enclose(m, add, &fineness, NULL, &enclosed) == PRV_OK, "... are enclosed");
        for (int side = 0; side < 2 && enclosed != NULL; side++) {
            const prv_atoms *a = enclosed->enclosing[side];
            double greatest = fmax(a->q_only, a->p_only), special = add ? a->p_only : a->q_only;
            for (size_t i = 0; i < a->length; i++) {
                greatest = fmax(greatest, fmax(a->q[i], a->p[i]));
                special += add ? a->p[i] : a->q[i];
            }
            check(greatest <= 2.0 && special <= 2.0 + 1e-9, "... by masses of at most 1, or hardly more");
        }
        prv_mechanism_free(enclosed);
        prv_mechanism_free(m);
        prv_mechanism_free(noise);
        prv_mechanism_free(guarantee);
    }
}

static void refusals(void)
{
    prv_mechanism *range = NULL, *noise = gaussian(1.0), *m = NULL;
    check(prv_mechanism_bounded_range(1.0, &range) == PRV_OK, "a bounded range");
    check(prv_mechanism_random_allocation(range, 3, &m) == PRV_ERR_PART, "... is no part");
    check(prv_mechanism_random_allocation(noise, 0, &m) == PRV_ERR_BATCHES, "no batch is refused");
    const prv_step many[] = {{noise, UINT64_C(1) << 53}, {noise, 1}};
    check(prv_mechanism_composed(many, 2, &m) == PRV_ERR_COUNT, "more than 2^53 parts are refused");
    check(prv_mechanism_random_allocation(noise, 3, &m) == PRV_OK, "an allocation");
    check(prv_mechanism_check_neighbors(m, PRV_REPLACE_ONE) == PRV_ERR_NEIGHBORS,
          "... has no replaced record");
    const prv_step step = {m, 2};
    const prv_options o = options_of(1e-3);
    const double order = 2.0;
    prv_bounds b;
    check(prv_renyi_divergence(&step, 1, &o, &order, 1, &b) == PRV_ERR_COMBINED,
          "... and no Renyi divergence");
    prv_mechanism_free(m);
    prv_mechanism_free(noise);
    prv_mechanism_free(range);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    probabilities_of_pairs();
    losses_beyond_doubles();
    refusals();
    prv_fft_provider_free(provider);
    return summary();
}
