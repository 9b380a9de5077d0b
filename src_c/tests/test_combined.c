/* Mechanisms made of others: merging onto a lattice, an allocation whose curve is a binomial sum, and
 * refusals. */
#include "asking.h"

#include "mechanisms/mechanism.h"
#include "lattices/combining.h"
#include "lattices/ratio_average.h"
#include "lattices/ratio_cells.h"
#include "lattices/ratio_merging.h"
#include "lattices/ratio_mixture.h"
#include "lattices/ratio_product.h"

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

/* A law of random masses on few or many points, some far from 0. */
static void random_law(double spacing, const prv_ratio_side *side, prv_ratio_law *law)
{
    if (prv_ratio_law_new(3 + (size_t)random_below(40), law) != PRV_OK) abort();
    law->spacing = spacing;
    law->first = -(int64_t)law->length / 2;
    if (random_below(3) == 0) law->first += (int64_t)uniform(-1e4, 1e4);
    double sum = 0.0;
    for (size_t i = 0; i < law->length; i++) {
        law->null[i] = random_below(4) == 0 ? 0.0 : uniform(0.0, 1.0);
        sum += law->null[i];
    }
    if (random_below(2) == 0) law->zero = 0.1;
    for (size_t i = 0; i < law->length; i++) law->null[i] *= (1.0 - law->zero) / fmax(sum, 1.0);
    if (!side->add) law->infinite = 1e-6;
}

static int is_answer(prv_status status)
{
    return status == PRV_OK || status == PRV_ERR_PRECISION || status == PRV_ERR_ENGINE;
}

/* Points as far apart as the errors of their places, or much closer, from both sides in both directions: no
 * place is outside of the cells, whose numbers are checked. */
static void places(void)
{
    int held = 1, made = 0;
    for (int trial = 0; trial < 800; trial++) {
        /* Averages beside R = 0 are as far away as the logarithm of a weight. */
        const double spacing = log_uniform(trial % 2 ? 1e-17 : 1e-2, 0.1);
        const prv_ratio_side side = {
            trial / 2 % 2, trial / 4 % 2 ? PRV_DOMINATED : PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        prv_ratio_law a, b, made_of[3] = {{0}, {0}, {0}};
        random_law(spacing, &side, &a);
        random_law(spacing, &side, &b);
        if (trial % 2) a.zero = b.zero = 0.0;
        const double p = log_uniform(1e-300, 1.0), weight = uniform(1e-9, 0.5);
        const unsigned finer = 1u << random_below(3);
        const prv_status status[3] = {prv_ratio_mixture(&a, trial % 5 ? p : 1.0, spacing, &side, &made_of[0]),
                                      prv_ratio_average(&a, &b, weight, finer, &side, &made_of[1]),
                                      prv_ratio_product(&a, &b, &side, &made_of[2])};
        for (int i = 0; i < 3; i++) {
            held = held && is_answer(status[i]);
            if (status[i] != PRV_OK) continue;
            made++;
            prv_ratio_law_free(&made_of[i]);
        }
        prv_ratio_law_free(&a);
        prv_ratio_law_free(&b);
    }
    check(held && made > 1600, "places lie in the cells: %d laws", made);

    prv_ratio_cells cells;
    check(prv_ratio_cells_new(0.0, 10.0, 0.0, 2, 0.0, 0.1, &cells) == PRV_OK, "cells");
    size_t at;
    const int64_t last = cells.first + (int64_t)(cells.planes * cells.length) - 1;
    check(prv_ratio_find_cells(&cells, last, 1, &at) &&
              prv_ratio_find_cells(&cells, cells.first, cells.length, &at) && !cells.escaped,
          "... are found");
    check(!prv_ratio_find_cells(&cells, last + 1, 1, &at) &&
              !prv_ratio_find_cells(&cells, cells.first - 1, 1, &at) &&
              !prv_ratio_find_cells(&cells, cells.first + 2, cells.length, &at),
          "... and others are not");
    prv_ratio_law law = {0};
    const prv_ratio_side side = {0, PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
    check(prv_ratio_cells_close(&cells, &side, &law) == PRV_ERR_BOUNDS, "... which is a fault");
    check(prv_ratio_cells_new(0.0, 10.0, 1.0, 2, 0.0, 1e-9, &cells) == PRV_ERR_PRECISION &&
              prv_ratio_cells_new(0.0, 0x1p51, 0.0, 2, 0.0, 1e-9, &cells) == PRV_ERR_PRECISION,
          "... nor are cells made that say nothing");
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
    check(prv_renyi_divergence(&step, 1, &o, &order, 1, &b) == PRV_ERR_COMBINED,
          "... and no Renyi divergence");
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
    places();
    allocations();
    refusals();
    histories();
    prv_fft_provider_free(provider);
    return summary();
}
