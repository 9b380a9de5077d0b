/* Mechanisms made of others: merging onto a lattice, an allocation whose curve is a binomial sum, and
 * refusals. */
#include "asking.h"

#include "mechanisms/mechanism.h"
#include "lattices/combining.h"
#include "lattices/ratio_merging.h"

/* Cells of random masses and means, many of them empty: convex functions lose, and those that move with the
 * safe side. */
static void merging(void)
{
    enum { CELLS = 60 };
    int held = 1, whole = 1;
    for (int trial = 0; trial < 2000; trial++) {
        const double step = log_uniform(1e-3, 0.3);
        const int up = trial % 2, dense = trial % 3;
        double mass[CELLS], upper[CELLS], null[CELLS + 1] = {0.0}, total = 0.0, placed = 0.0;
        for (int c = 0; c < CELLS; c++) {
            const double x = (c - 25.0) / log_uniform(3.0, 20.0);
            mass[c] = dense || random_below(3) == 0 ? exp(-0.5 * x * x) * uniform(0.2, 1.0) : 0.0;
            upper[c] = mass[c] * (trial % 5 == 0 ? 0.02 : uniform(0.0, 1.0));
            total += mass[c];
        }
        prv_ratio_merge(mass, upper, CELLS, step, up, null);
        for (int c = 0; c <= CELLS; c++) placed += null[c];
        whole = whole && placed <= total * (1.0 + 1e-13) && null[0] >= 0.0;
        for (int k = 0; k < 40; k++) {
            const double a = exp(step * uniform(-1.0, CELLS + 1.0));
            double before = 0.0, after = 0.0, size = 0.0;
            for (int c = 0; c <= CELLS; c++) {
                const double r = exp(step * c);
                /* (r - a)_+ if mass may fall, (a - r)_+ if it may rise. */
                after += null[c] * fmax(up ? a - r : r - a, 0.0);
                size += null[c] * (r + a);
                if (c == CELLS || mass[c] == 0.0) continue;
                const double mean = r * (1.0 + upper[c] / mass[c] * expm1(step));
                before += mass[c] * fmax(up ? a - mean : mean - a, 0.0);
            }
            held = held && after <= before + 1e-13 * size;
        }
    }
    check(held, "merging lowers the convex functions that its side needs");
    check(whole, "... and makes no mass");
}

static long double binomial(int n, int k, long double p)
{
    return expl(lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L) + k * logl(p) +
                (n - k) * log1pl(-p));
}

/* delta of an allocation of epsilon-DP: R is e^epsilon in k of the batches, and e^-epsilon in the others. */
static long double allocated_delta(double epsilon, int batches, double at, int add)
{
    const long double up = expl(epsilon), down = expl(-epsilon), a = expl(at), p = 1.0L / (1.0L + up);
    long double sum = 0.0L;
    for (int k = 0; k <= batches; k++) {
        const long double r = (k * up + (batches - k) * down) / batches;
        sum += binomial(batches, k, p) * fmaxl(add ? 1.0L - a * r : r - a, 0.0L);
    }
    return sum;
}

static void allocations(void)
{
    const int batches[] = {2, 5, 33, 200};
    const double at[] = {0.0, 0.05, 0.2};
    int held = 1, close = 1;
    for (int t = 0; t < 4; t++)
        for (int add = 0; add < 2; add++) {
            prv_mechanism *base = NULL, *m = NULL;
            check(prv_mechanism_approximate_dp(0.8, 0.0, &base) == PRV_OK &&
                      prv_mechanism_random_allocation(base, (uint64_t)batches[t], &m) == PRV_OK,
                  "an allocation to %d batches", batches[t]);
            const prv_step step = {m, 1};
            prv_options o = options_of(1e-4);
            o.neighbors = add ? PRV_ADD : PRV_REMOVE;
            prv_bounds b[3];
            const prv_status status = prv_delta(&step, 1, &o, at, 3, b, NULL);
            for (int i = 0; i < 3 && status == PRV_OK; i++) {
                const long double exact = allocated_delta(0.8, batches[t], at[i], add);
                held = held && (long double)b[i].lower <= exact * (1.0L + 1e-15L) &&
                       exact * (1.0L - 1e-15L) <= (long double)b[i].upper;
                close = close && b[i].upper - b[i].lower <= 1e-2 * b[i].upper + 1e-12;
            }
            held = held && status == PRV_OK;
            prv_mechanism_free(m);
            prv_mechanism_free(base);
        }
    check(held, "the binomial sums lie between the bounds");
    check(close, "... which are close");
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
    check(prv_renyi_divergence(&step, 1, &o, &order, 1, &b) == PRV_ERR_PART, "... and no Renyi divergence");
    prv_mechanism_free(m);
    prv_mechanism_free(noise);
    prv_mechanism_free(range);
}

/* A history falls back on the whole composition, and another step of the same mechanism changes the answer.
 */
static void histories(void)
{
    prv_mechanism *noise = gaussian(1.0), *m = NULL;
    check(prv_mechanism_random_allocation(noise, 8, &m) == PRV_OK, "an allocation");
    prv_history *h = NULL;
    check(prv_history_new(&h) == PRV_OK, "a history");
    const prv_options o = options_of(1e-2);
    const double delta = 1e-5;
    prv_bounds first, second, whole;
    prv_step step = {m, 3};
    check(prv_history_epsilon(h, &step, 1, &o, &delta, 1, &first, NULL) == PRV_OK &&
              prv_epsilon(&step, 1, &o, &delta, 1, &whole, NULL) == PRV_OK && first.upper == whole.upper,
          "a history answers as prv_epsilon does");
    step.count = 4;
    check(prv_history_epsilon(h, &step, 1, &o, &delta, 1, &second, NULL) == PRV_OK &&
              second.lower > first.upper,
          "... and grows");
    prv_history_free(h);
    prv_mechanism_free(m);
    prv_mechanism_free(noise);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    merging();
    allocations();
    refusals();
    histories();
    prv_fft_provider_free(provider);
    return summary();
}
