/* Mechanisms made of others: merging onto a lattice, an allocation whose curve is a binomial sum, and
 * refusals. */
#include "asking.h"

#include "numerics/wide.h"
#include "mechanisms/combined.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/replace_one.h"
#include "lattices/combining.h"
#include "lattices/ratio_average.h"
#include "lattices/ratio_cells.h"
#include "lattices/ratio_discretize.h"
#include "lattices/ratio_ends.h"
#include "lattices/ratio_merging.h"
#include "lattices/ratio_mixture.h"
#include "lattices/ratio_product.h"
#include "lattices/ratio_thinning.h"

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
    for (int trial = 0; trial < trials_of(800); trial++) {
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
        const double share = spacing * log_uniform(1.0, 1e4);
        const prv_status status[3] = {prv_ratio_mixture(&a, trial % 5 ? p : 1.0, spacing, &side, &made_of[0]),
                                      prv_ratio_average(&a, &b, weight, finer, share, &side, &made_of[1]),
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
    check(held && made > trials_of(1600), "places lie in the cells: %d laws", made);

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

/* A law of random masses on every point, or on fewer, in stretches; of mass 1 in all. */
static void law_of_stretches(double spacing, int64_t first, prv_ratio_law *law)
{
    if (prv_ratio_law_new(40 + (size_t)random_below(260), law) != PRV_OK) abort();
    law->spacing = spacing;
    law->first = first;
    double sum = 0.0;
    uint64_t stride = 1;
    for (size_t i = 0; i < law->length; i++) {
        if (random_below(40) == 0) stride = 1u << random_below(7);
        const uint64_t number = (uint64_t)(law->first + (int64_t)i);
        if (number % stride == 0) law->null[i] = exp(-uniform(0.0, 40.0));
        sum += law->null[i];
    }
    if (sum == 0.0) law->null[0] = sum = 1.0; /* no point was on a wide stride */
    for (size_t i = 0; i < law->length; i++) law->null[i] /= sum;
}

/* One of two masses, which are so few that pairs of them are added up one by one. */
static void law_of_two_points(double spacing, int64_t first, prv_ratio_law *law)
{
    if (prv_ratio_law_new(300, law) != PRV_OK) abort();
    law->spacing = spacing;
    law->first = first;
    const double mass = uniform(0.0, 1.0);
    law->null[random_below(100)] = mass;
    law->null[200 + random_below(100)] = 1.0 - mass;
}

static long double value_of(const prv_ratio_law *law, long double a, int rises)
{
    long double sum = rises ? law->infinite : law->zero;
    for (size_t i = 0; i < law->length; i++) {
        const long double r = expl((long double)prv_ratio_point(law, i));
        sum += law->null[i] * fmaxl(rises ? r - a : 1.0L - a * r, 0.0L);
    }
    return sum;
}

/* The average of all pairs of points, one by one. */
static long double value_of_pairs(const prv_ratio_law *x, const prv_ratio_law *y, double w, long double a,
                                  int rises)
{
    long double sum = 0.0L;
    for (size_t i = 0; i < x->length; i++) {
        if (x->null[i] == 0.0) continue;
        const long double r = (long double)w * expl((long double)prv_ratio_point(x, i));
        for (size_t j = 0; j < y->length; j++) {
            const long double both = r + (1.0L - (long double)w) * expl((long double)prv_ratio_point(y, j));
            sum += (long double)x->null[i] * y->null[j] * fmaxl(rises ? both - a : 1.0L - a * both, 0.0L);
        }
    }
    return sum;
}

/* Averages of laws in stretches, against all pairs of their points. The mean of R need not be 1, so that the
 * law from above need not have its mass; the tests are of convex functions alone. */
static void averages(void)
{
    int held = 1, close = 1, shifted = 1;
    for (int trial = 0; trial < trials_of(120); trial++) {
        const int add = trial % 2, below = trial / 2 % 2, same = trial % 3 == 0;
        const prv_ratio_side side = {add, below ? PRV_DOMINATED : PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        const double spacing = log_uniform(1e-4, 0.05), w = same ? 0.5 : uniform(0.01, 0.5);
        const double share = spacing * log_uniform(1.0, 1e4);
        const int64_t first = -20 - (int64_t)random_below(200);
        prv_ratio_law a, b, average = {0};
        void (*const law_of)(double, int64_t, prv_ratio_law *) = trial % 5 == 4 ? law_of_two_points
                                                                                : law_of_stretches;
        law_of(spacing, first, &a);
        law_of(spacing, first + (int64_t)random_below(100), &b);
        const prv_ratio_law *other = same ? &a : &b;
        a.shift = uniform(0.0, 1e-6);
        b.shift = uniform(0.0, 1e-6);
        check(prv_ratio_average(&a, other, w, 1u << random_below(3), share, &side, &average) == PRV_OK,
              "an average");
        shifted = shifted && average.shift >= fmax(a.shift, other->shift);
        for (int k = 0; k < 6; k++) {
            const long double at = expl((long double)uniform(-100.0, 150.0) * spacing);
            const long double exact = value_of_pairs(&a, other, w, add ? 1.0L / at : at, !add);
            const long double found = value_of(&average, add ? 1.0L / at : at, !add);
            const long double off = 1e-13L * (1.0L + at);
            held = held && (below ? found <= exact + off : found >= exact - off);
            close = close && (below || found - exact <= spacing * (1.0L + at));
        }
        prv_ratio_law_free(&a);
        prv_ratio_law_free(&b);
        prv_ratio_law_free(&average);
    }
    check(held, "averages lie on the safe side of all pairs of points");
    check(close, "... and near to them from above");
    check(shifted, "... and are off by no less than either law");
}

static long double place_of(const prv_ratio_law *law, size_t i)
{
    return (long double)law->offset + (long double)law->spacing * (long double)(law->first + (int64_t)i);
}

/* Of a sample of probability p, 1 for the law itself, as exactly as long doubles tell. */
static long double value_of_sample(const prv_ratio_law *law, long double p, long double a, int rises)
{
    long double sum = rises ? p * (long double)law->infinite : 0.0L;
    for (size_t i = 0; i <= law->length; i++) { /* and R = 0 */
        const long double mass = i < law->length ? law->null[i] : law->zero;
        const long double r = 1.0L - p + (i < law->length ? p * expl(place_of(law, i)) : 0.0L);
        sum += mass * fmaxl(rises ? r - a : 1.0L - a * r, 0.0L);
    }
    return sum;
}

/* Samples of laws whose points have numbers far from 0, so that their places are rounded. A mass that is
 * split with its mean kept adds to a test what it did, unless the test begins in its cell: nothing but
 * rounding lies between both. */
static void samples(void)
{
    int held = 1;
    for (int trial = 0; trial < trials_of(400); trial++) {
        const int add = trial % 2, below = trial / 2 % 2;
        const prv_ratio_side side = {add, below ? PRV_DOMINATED : PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        const double spacing = log_uniform(1e-3, 0.1), high = uniform(0.9, 1.0);
        const double p = trial % 5 == 0 ? 1.0 : trial % 5 == 1 ? high : log_uniform(1e-3, 1.0);
        prv_ratio_law law, sample = {0};
        random_law(spacing, &side, &law);
        law.first = -(int64_t)random_below(60) - (int64_t)(1e3 / spacing);
        law.offset = 1e3 + uniform(0.0, 1.0);
        check(prv_ratio_mixture(&law, p, 1e-3, &side, &sample) == PRV_OK, "a sample of a law");
        for (int k = 0; k < 10; k++) {
            const long double at = expl((long double)uniform(-1.0, 1.0)), a = add ? 1.0L / at : at;
            const long double exact = value_of_sample(&law, (long double)p, a, !add),
                              found = value_of_sample(&sample, 1.0L, a, !add);
            const long double own = 2e3L * (long double)LDBL_EPSILON * (1.0L + a + 10.0L),
                              shift = 2.0L * (long double)sample.shift * (1.0L + a);
            held = held && (below ? found <= exact + own + shift : found >= exact - own);
        }
        prv_ratio_law_free(&law);
        prv_ratio_law_free(&sample);
    }
    check(held, "samples of laws lie on the safe side of what they are");
}

/* Laws with fewer points far from 0, against the laws that they were. */
static void thinning(void)
{
    int held = 1, close = 1, kept = 1, fewer = 0, wider = 0;
    for (int trial = 0; trial < trials_of(800); trial++) {
        const int add = trial % 2, below = trial / 2 % 2;
        const prv_ratio_side side = {add, below ? PRV_DOMINATED : PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        const double spacing = log_uniform(1e-5, 0.02), share = spacing * log_uniform(1.0, 1e4);
        const double coarser = trial % 8 < 4 ? 1.0 : log_uniform(1.0, 1e3);
        prv_ratio_law law, before;
        law_of_stretches(spacing, -20 - (int64_t)random_below(500), &law);
        check(prv_ratio_law_copy(&law, &before) == PRV_OK &&
                  prv_ratio_thin(&side, share, coarser, &law) == PRV_OK,
              "a thinned law");
        wider += law.spacing > before.spacing;
        fewer += prv_ratio_point_count(&law) < prv_ratio_point_count(&before);
        for (int k = 0; k < 20; k++) {
            const double at = exp(uniform(-500.0, 300.0) * spacing), a = add ? 1.0 / at : at;
            const long double exact = value_of(&before, a, !add), found = value_of(&law, a, !add);
            /* Points are doubles, and from below they may be moved by what the law says. */
            const long double off = (2.0L * (law.shift - before.shift) + 1e-15L) * (1.0L + at);
            held = held && (below ? found <= exact + off : found >= exact - off);
            close = close && fabsl(found - exact) <= expm1l(64.0L * spacing) * (1.0L + at);
        }
        const long double mean = value_of(&before, 0.0L, 1);
        kept = kept && (below || fabsl(value_of(&law, 0.0L, 1) - mean) <= 1e-12L * (1.0L + mean));
        prv_ratio_law_free(&law);
        prv_ratio_law_free(&before);
    }
    check(held, "laws with fewer points lie on the safe side");
    check(kept, "... from above with the mean of R that they had");
    check(close && fewer > trials_of(300), "... near to the laws that they were, and %d have fewer", fewer);
    check(wider > trials_of(50), "... %d of them on a wider lattice", wider);
}

/* The mass of a law under the null measure, less 1, to a part of PRV_WIDE_UNIT for each point. */
static double beyond_one(const prv_ratio_law *law)
{
    prv_wide sum = prv_wide_add(prv_wide_of(-1.0), prv_wide_of(law->zero));
    for (size_t i = 0; i < law->length; i++) sum = prv_wide_add(sum, prv_wide_of(law->null[i]));
    return prv_wide_value(sum);
}

/* Laws whose mass is 1 to some roundings, with heavy points at the ends: an ulp of them to the wrong side
 * would be seen. */
static void ends(void)
{
    int whole = 1, close = 1, absorbed = 0;
    for (int trial = 0; trial < trials_of(3000); trial++) {
        const int add = trial % 2, below = trial / 2 % 2;
        const double low_cut = below ? 1e-9 : 0.0;
        const prv_ratio_side side = {add, below ? PRV_DOMINATED : PRV_DOMINATING, 0.0, low_cut, 0.0, NULL};
        prv_ratio_law law;
        random_law(log_uniform(1e-3, 0.1), &side, &law);
        for (size_t i = 0; i < law.length; i++) law.null[i] *= 0.4;
        law.null[add ? law.length - 1 : (size_t)below] += 0.3;
        law.null[law.length / 2] += 0.2;
        law.zero = trial % 3 == 0 ? 0.3 : 0.0;
        const double size = 1.0 + beyond_one(&law), aim = below ? 1.0 - log_uniform(1e-12, 1e-8) : 1.0;
        for (size_t i = 0; i < law.length; i++) law.null[i] *= aim / size * uniform(1.0 - 2e-15, 1.0 + 2e-15);
        law.zero *= aim / size;
        if (below && !add) absorbed += -beyond_one(&law) <= 4.0 * low_cut;
        prv_ratio_complete(&side, &law);
        const double beyond = beyond_one(&law), measured = 8.0 * (double)law.length * PRV_WIDE_UNIT;
        whole = whole && (below ? beyond <= measured : beyond >= -measured);
        close = close && (below ? beyond >= -2e-8 : beyond <= 1e-14);
        prv_ratio_law_free(&law);
    }
    check(whole, "a completed law has no less mass than 1 from above, and no more from below");
    check(close && absorbed > trials_of(200), "... and nearly as much; of %d the mass at R = 0 was merged",
          absorbed);
}

/* A cell's mass is a sum of many terms, each of which is rounded: in a law from above it is no less. */
static void sums_of_cells(void)
{
    enum { TERMS = 1000 };
    int held = 1, close = 1;
    for (int trial = 0; trial < trials_of(200); trial++) {
        const prv_ratio_side side = {trial % 2, PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        prv_ratio_cells cells;
        prv_ratio_law law = {0};
        if (prv_ratio_cells_new(0.0, 10.0, 0.0, 1, 0.0, 0.1, &cells) != PRV_OK) abort();
        prv_wide sum = prv_wide_of(0.0);
        const double other = 0.01; /* at the ends, where what is missing of 1 is put */
        prv_ratio_cells_add(&cells, 0, &other, 1, 1.0, 0.5);
        prv_ratio_cells_add(&cells, 9, &other, 1, 1.0, 0.5);
        for (int i = 0; i < TERMS; i++) {
            const double mass = 0.5 / TERMS * uniform(0.0, 1.0);
            prv_ratio_cells_add(&cells, 5, &mass, 1, 1.0, 0.375);
            sum = prv_wide_add(sum, prv_wide_of(-mass));
        }
        cells.terms = TERMS;
        if (prv_ratio_cells_close(&cells, &side, &law) != PRV_OK) abort();
        const size_t at = (size_t)(5 - law.first);
        sum = prv_wide_add(sum, prv_wide_add(prv_wide_of(law.null[at]), prv_wide_of(law.null[at + 1])));
        held = held && prv_wide_value(sum) >= -2.0 * TERMS * PRV_WIDE_UNIT;
        close = close && prv_wide_value(sum) <= 1e-12;
        prv_ratio_law_free(&law);
    }
    check(held && close, "masses that were added up in a cell are no less from above than their exact sum");
}

/* A law of a pair whose densities may be off: it holds those of a pair whose rare outcome, which has next to
 * no mass under the special measure, has that much more under the null one. */
static void uncertain_densities(void)
{
    const prv_options plain = options_of(0.1);
    const double rare = 0.01, off = 0.005, special[] = {rare * exp(-20.0), 1.0 - rare * exp(-20.0)};
    const double null[] = {rare, 1.0 - rare};
    const prv_ratio_side side = {true, PRV_DOMINATING, 0.0, 0.0, 0.0, &plain};
    const prv_ratio_points points = {0.0, 0.5, -50, 50, 0, false};
    prv_mechanism *m = NULL;
    prv_ratio_law law = {0};
    if (prv_mechanism_outcomes(special, null, 2, &m) != PRV_OK) abort();
    m->density_error = off;
    check(prv_ratio_discretize(m, &side, &points, &law) == PRV_OK, "the law of a pair that is off");
    /* (1 - 2 R)_+, to which the other outcome adds nothing. */
    const long double found = value_of(&law, 2.0L * expl(-(long double)law.shift), false);
    const long double truth = (long double)rare * (1.0L + (long double)off - 2.0L * expl(-20.0L));
    check(found >= truth && found <= 1.1L * truth, "... holds what may be true: %.9Lg is above %.9Lg", found,
          truth);
    prv_ratio_law_free(&law);
    prv_mechanism_free(m);
}

/* A little mass at R = 0 is merged with many points of less: in all there is no more of it than before. */
static void little_by_little(void)
{
    int held = 1, merged = 0;
    for (int trial = 0; trial < 500; trial++) {
        const double zero = log_uniform(1e-9, 3e-9), spacing = uniform(0.2, 0.5);
        const double each = zero / (40.0 * expm1(spacing));
        const prv_ratio_side kept = {false, PRV_DOMINATED, 0.0, 0.0, 0.0, NULL},
                             joined = {false, PRV_DOMINATED, 0.0, 1e-9, 0.0, NULL};
        prv_ratio_law law, before;
        if (prv_ratio_law_new(51, &law) != PRV_OK) abort();
        law.spacing = spacing;
        law.first = -25;
        double rest = 1.0 - zero;
        for (size_t i = 0; i < 50; i++) rest -= law.null[i] = each * uniform(0.9, 1.1);
        law.null[50] = rest;
        if (prv_ratio_law_copy(&law, &before) != PRV_OK) abort();
        prv_ratio_complete(&kept, &before);
        prv_ratio_complete(&joined, &law);
        merged += law.zero < before.zero;
        prv_wide sum = prv_wide_add(prv_wide_of(law.zero), prv_wide_of(-before.zero));
        for (size_t i = 0; i < 50; i++)
            sum = prv_wide_add(sum, prv_wide_add(prv_wide_of(law.null[i]), prv_wide_of(-before.null[i])));
        held = held && prv_wide_value(sum) <= 1e-9 * 200.0 * PRV_WIDE_UNIT;
        prv_ratio_law_free(&law);
        prv_ratio_law_free(&before);
    }
    check(held && merged > 400, "merging what lies at R = 0 makes no mass; %d laws", merged);
}

/* Masses that vanished have at most the greatest likelihood ratio of the lattice. */
static void vanished_masses(void)
{
    int held = 1;
    for (int trial = 0; trial < 200; trial++) {
        const int add = trial % 2;
        const prv_ratio_side side = {add, PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        prv_ratio_law law;
        random_law(log_uniform(1e-3, 0.1), &side, &law);
        law.first = (int64_t)uniform(0.0, 500.0 / law.spacing);
        const double each = log_uniform(1e-300, 1e-280);
        const long double greatest = expl((long double)prv_ratio_point(&law, law.length - 1));
        law.zero = law.infinite = 0.0;
        prv_ratio_allow_for_vanished(7, each, &side, &law);
        const long double wanted = 7.0L * (long double)each * (add ? 1.0L : greatest);
        const long double found = (long double)(add ? law.zero : law.infinite);
        held = held && fabsl(found / wanted - 1.0L) <= 1e-12L && (add ? law.infinite : law.zero) == 0.0;
        prv_ratio_law_free(&law);
    }
    check(held, "what vanished counts with the greatest likelihood ratio");
}

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

/* Laws of noise on a lattice, whose masses are widened by all that rounding may have done to them. */
static void discretised(void)
{
    const prv_options plain = options_of(0.1);
    int whole = 1, close = 1;
    for (int trial = 0; trial < trials_of(40); trial++) {
        const int add = trial % 2, below = trial / 2 % 2;
        const prv_ratio_side side = {add,   below ? PRV_DOMINATED : PRV_DOMINATING, 1e-20, 1e-20, 1e-20,
                                     &plain};
        const double noise = log_uniform(0.5, 5.0), spacing = log_uniform(0.003, 0.03);
        const int64_t reach = (int64_t)(9.0 / noise / spacing + 1.0 / (noise * noise * spacing));
        const prv_ratio_points points = {0.5 / (noise * noise), spacing, -reach, reach, 0, false};
        prv_mechanism *m = gaussian(noise);
        prv_ratio_law law = {0};
        check(prv_ratio_discretize(m, &side, &points, &law) == PRV_OK, "the law of a Gaussian");
        const double beyond = beyond_one(&law), measured = 8.0 * (double)law.length * PRV_WIDE_UNIT;
        whole = whole && (below ? beyond <= measured : beyond >= -measured);
        close = close && fabs(beyond) <= 1e-9;
        prv_ratio_law_free(&law);
        prv_mechanism_free(m);
    }
    check(whole, "laws of noise have no less mass than 1 from above, and no more from below");
    check(close, "... and nearly as much");
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

/* Of many batches, whose ratios are composed as losses are: epsilon at the delta of a binomial sum. */
static void many_batches(void)
{
    const int batches[] = {640, 1000, 4000};
    int held = 1, close = 1;
    for (int t = 0; t < 3; t++)
        for (int trial = 0; trial < 6; trial++) {
            const int add = trial % 2;
            const double guarantee = trial < 4 ? 0.8 : 2.0, at = (trial < 2 ? 0.02 : 0.07) * guarantee;
            const double delta = (double)allocated_delta(guarantee, batches[t], at, add);
            prv_mechanism *base = NULL, *m = NULL;
            check(prv_mechanism_approximate_dp(guarantee, 0.0, &base) == PRV_OK &&
                      prv_mechanism_random_allocation(base, (uint64_t)batches[t], &m) == PRV_OK,
                  "an allocation to %d batches", batches[t]);
            const prv_step step = {m, 1};
            prv_options o = options_of(1e-4);
            o.neighbors = add ? PRV_ADD : PRV_REMOVE;
            prv_bounds b;
            prv_report r;
            held = held && prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) == PRV_OK && b.lower <= at &&
                   at <= b.upper;
            close = close && r.accurate && b.upper - b.lower <= 1.01e-4;
            prv_mechanism_free(m);
            prv_mechanism_free(base);
        }
    check(held, "epsilon of many batches lies between the bounds");
    check(close, "... which are as close as asked");
}

/* The same of Gaussian noise, whose averages are another way to delta. */
static void many_noisy_batches(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 18; trial++) {
        const double noise = (const double[]){0.4, 1.0, 2.5}[trial % 3], delta = trial % 2 ? 1e-5 : 1e-9;
        const uint64_t batches = (const uint64_t[]){192, 1100, 50000}[trial / 3 % 3];
        prv_mechanism *base = gaussian(noise), *m = NULL;
        if (prv_mechanism_random_allocation(base, batches, &m) != PRV_OK) abort();
        const prv_step step = {m, 1};
        prv_options o = prv_options_default();
        o.fft = provider;
        o.eps_relative_error = 5e-3;
        o.eps_floor = 1e-9;
        o.neighbors = trial >= 9 ? PRV_ADD : PRV_REMOVE;
        prv_bounds b, below, above;
        prv_report r;
        held = held && prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) == PRV_OK;
        close = close && r.accurate && b.upper - b.lower <= 5e-3 * b.upper;
        o.eps_relative_error = 2e-2;
        held = held && prv_delta(&step, 1, &o, &b.upper, 1, &below, NULL) == PRV_OK &&
               prv_delta(&step, 1, &o, &b.lower, 1, &above, NULL) == PRV_OK && below.lower <= delta &&
               delta <= above.upper;
        prv_mechanism_free(m);
        prv_mechanism_free(base);
    }
    check(held, "bounds of epsilon agree with those of delta");
    check(close, "... and are as close as asked");
}

/* One step of many batches, to the width asked. */
static void closeness(void)
{
    prv_mechanism *base = gaussian(1.0), *m = NULL;
    check(prv_mechanism_random_allocation(base, 8, &m) == PRV_OK, "an allocation");
    const prv_step step = {m, 1};
    const prv_options o = options_of(1e-4);
    const double delta = 1e-5, epsilon = 1.0;
    prv_bounds b;
    prv_report r;
    prv_status status = prv_epsilon(&step, 1, &o, &delta, 1, &b, &r);
    check(status == PRV_OK && r.accurate && b.upper - b.lower <= 1.01e-4, "an epsilon within %g, as asked",
          b.upper - b.lower);
    status = prv_delta(&step, 1, &o, &epsilon, 1, &b, &r);
    check(status == PRV_OK && r.accurate && b.upper - b.lower <= 1e-3 * b.upper,
          "a delta within %g of itself", (b.upper - b.lower) / b.upper);
    /* More than the first look gives, and more than that sees of mass far out. */
    prv_options finer = o;
    finer.eps_error = 1e-9;
    const double far[] = {1.0, 6.0, 14.0}, parts[] = {1e-2, 1e-4};
    prv_bounds first = {0.0, 0.0, 1.0};
    const size_t asked = trials_of(3) < 3 ? 2 : 3; /* what no refinement tells takes nearly all of the time */
    int kept = 1, accurate = 0, same = 1;
    for (size_t i = 0; i < asked; i++)
        for (size_t j = 0; j < 2; j++) {
            finer.delta_relative_error = parts[j];
            status = prv_delta(&step, 1, &finer, &far[i], 1, &b, &r);
            kept = kept && status == PRV_OK && (!r.accurate || b.upper - b.lower <= parts[j] * b.upper);
            if (j == 0) first = b;
            same = same && b.lower <= first.upper && first.lower <= b.upper;
            accurate += r.accurate;
        }
    check(kept && accurate >= 4, "%d deltas to 1e-2 and 1e-4 of themselves, if they say so", accurate);
    check(same, "... the closer ones between the others");
    prv_mechanism_free(m);
    prv_mechanism_free(base);
}

/* What an average dominates: a sample whose probability is no more than that of each batch. */
static void simpler_averages(void)
{
    prv_mechanism *noise = gaussian(1.0);
    int held = 1;
    for (uint64_t batches = 2; batches <= 300; batches++) {
        prv_mechanism *average = NULL, *sample = NULL;
        if (prv_mechanism_random_allocation(noise, batches, &average) != PRV_OK ||
            prv_combined_simpler(average, false, &sample) != PRV_OK)
            abort();
        /* fma tells a product of doubles from 1 exactly. */
        const double over = fma(sample->sampling_probability, (double)batches, -1.0);
        held = held && over <= 0.0 && over >= -4.0 * DBL_EPSILON;
        prv_mechanism_free(sample);
        prv_mechanism_free(average);
    }
    prv_mechanism_free(noise);
    check(held, "the sample that an average dominates has a probability of 1 / batches, from below");
}

/* So little noise that no lattice of averages is wide enough: bounds are those of the sample below and of a
 * batch above, between which lies the loss of a batch, less by log(batches), which has the same delta. */
static void little_noise(void)
{
    prv_mechanism *noise = gaussian(0.02), *average = NULL, *sample = subsampled(0.02, 0.01);
    if (prv_mechanism_random_allocation(noise, 100, &average) != PRV_OK) abort();
    const prv_step steps[] = {{average, 1}, {noise, 1}, {sample, 1}};
    const prv_options o = options_of(1e-3);
    const double delta = 1e-5;
    prv_bounds b[3];
    for (size_t i = 0; i < 3; i++)
        if (prv_epsilon(&steps[i], 1, &o, &delta, 1, &b[i], NULL) != PRV_OK) abort();
    check(b[0].upper <= b[1].upper + 1e-3 && b[0].lower >= b[2].lower - 1e-3,
          "little noise in many batches: [%g, %g] is between simpler mechanisms", b[0].lower, b[0].upper);
    check(b[0].lower <= b[1].upper - log(100.0) && b[1].lower - log(100.0) <= b[0].upper,
          "... and around what one batch tells");
    prv_mechanism_free(sample);
    prv_mechanism_free(average);
    prv_mechanism_free(noise);
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

/* log(1 - p + p e^x), against long double. */
static void logarithms_of_mixtures(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 2000; trial++) {
        const double x = trial % 2 == 0 ? uniform(30.0, 700.0) : uniform(-40.0, 40.0),
                     p = log_uniform(1e-300, 1.0);
        double error;
        const double found = prv_ratio_log_mixture(x, p, &error);
        const long double truth = log1pl((long double)p * expm1l((long double)x));
        held = held && fabsl((long double)found - truth) <=
                           (long double)error + 16.0L * (long double)LDBL_EPSILON * (1.0L + fabsl(truth));
        close = close && error <= 3e-12;
    }
    check(held && close, "log ratios of mixtures are within their errors, which are below 3e-12");
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    merging();
    heavy_outcomes();
    parts_of_one();
    places();
    averages();
    samples();
    thinning();
    ends();
    sums_of_cells();
    uncertain_densities();
    little_by_little();
    vanished_masses();
    probabilities_of_pairs();
    discretised();
    allocations();
    many_batches();
    many_noisy_batches();
    closeness();
    simpler_averages();
    little_noise();
    losses_beyond_doubles();
    refusals();
    histories();
    logarithms_of_mixtures();
    prv_fft_provider_free(provider);
    return summary();
}
