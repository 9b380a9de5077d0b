/* Masses of cells merged onto the points of a lattice (ratio_merging.h). */
#include "check.h"

#include "numerics/rounding.h"
#include "numerics/wide.h"
#include "lattices/ratio_merging.h"

/* Cells of random masses and means, many of them empty: convex functions lose, and those that move with the
 * safe side. */
static void merging(void)
{
    enum { CELLS = 60 };
    int held = 1, whole = 1;
    for (int trial = 0; trial < trials_of(2000); trial++) {
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

/* Heavy outcomes among many light ones: all of them are merged, so that the mean stays where it was. */
static void heavy_outcomes(void)
{
    enum { CELLS = 800 };
    int held = 1, kept = 1;
    for (int trial = 0; trial < trials_of(400); trial++) {
        const double step = log_uniform(1e-5, 1e-3);
        const int up = trial % 2;
        double mass[CELLS], upper[CELLS], null[CELLS + 1] = {0.0};
        for (int c = 0; c < CELLS; c++) {
            mass[c] = 1e-3 * uniform(0.5, 1.0);
            upper[c] = mass[c] * uniform(0.0, 1.0);
        }
        for (int heavy = 0; heavy < 3; heavy++) {
            const size_t c = 150 + 250 * (size_t)heavy + (size_t)random_below(100);
            mass[c] += uniform(0.1, 0.3);
            upper[c] = mass[c] * uniform(0.0, 1.0);
        }
        if (trial % 3 == 0) null[0] = 0.2; /* an outcome on a point stays there, or is lent */
        double before = null[0], after = 0.0;
        for (int c = 0; c < CELLS; c++) before += exp(step * c) * (mass[c] + upper[c] * expm1(step));
        double a[20], convex_before[20], convex_after[20] = {0.0};
        for (int k = 0; k < 20; k++) {
            a[k] = exp(step * uniform(0.0, CELLS));
            convex_before[k] = null[0] * fmax(up ? a[k] - 1.0 : 1.0 - a[k], 0.0);
            for (int c = 0; c < CELLS; c++) {
                const double mean = exp(step * c) * (1.0 + upper[c] / mass[c] * expm1(step));
                convex_before[k] += mass[c] * fmax(up ? a[k] - mean : mean - a[k], 0.0);
            }
        }
        prv_ratio_merge(mass, upper, CELLS, step, up, null);
        for (int c = 0; c <= CELLS; c++) {
            after += null[c] * exp(step * c);
            for (int k = 0; k < 20; k++)
                convex_after[k] += null[c] * fmax(up ? a[k] - exp(step * c) : exp(step * c) - a[k], 0.0);
        }
        kept = kept && fabs(after - before) <= 1e-3 * step * before;
        for (int k = 0; k < 20; k++) held = held && convex_after[k] <= convex_before[k] + 1e-12 * before;
    }
    check(held, "merging heavy outcomes lowers convex functions");
    check(kept, "... and keeps their mean");
}

/* Light outcomes far from each other, of which each is merged with a part of one heavy outcome on a point:
 * what is left of that is rounded down while outcomes wait. One that borrows on its way may round it up once.
 */
static void parts_of_one(void)
{
    enum { CELLS = 420, HEAVY = 210 };
    int whole = 1, taken = 0;
    for (int trial = 0; trial < 100; trial++) {
        const double step = log_uniform(1e-4, 1e-2);
        const int up = trial % 2;
        double mass[CELLS] = {0.0}, upper[CELLS] = {0.0}, null[CELLS + 1] = {0.0};
        null[HEAVY] = uniform(0.5, 0.9);
        prv_wide sum = prv_wide_of(-null[HEAVY]);
        for (int c = HEAVY - 98; c < HEAVY + 98; c += 7) {
            mass[c] = log_uniform(1e-12, 1e-9);
            upper[c] = mass[c] * uniform(0.3, 0.7);
            sum = prv_wide_add(sum, prv_wide_of(-mass[c]));
        }
        const double before = null[HEAVY];
        prv_ratio_merge(mass, upper, CELLS, step, up, null);
        taken += null[HEAVY] < before - 1e-12;
        for (int c = 0; c <= CELLS; c++) sum = prv_wide_add(sum, prv_wide_of(null[c]));
        whole = whole && prv_wide_value(sum) <= PRV_UNIT;
    }
    check(whole && taken > 50,
          "outcomes that take parts of one make no more mass than a rounding; it gave some in %d", taken);
}

int main(void)
{
    merging();
    heavy_outcomes();
    parts_of_one();
    return summary();
}
