/* Laws of likelihood ratios (ratio_law.h), made of noise and of each other: that they dominate, or are
 * dominated, and that they are close. */
#include "asking.h"

#include "numerics/wide.h"
#include "mechanisms/mechanism.h"
#include "lattices/ratio_average.h"
#include "lattices/ratio_cells.h"
#include "lattices/ratio_discretize.h"
#include "lattices/ratio_ends.h"
#include "lattices/ratio_means.h"
#include "lattices/ratio_mixture.h"
#include "lattices/ratio_product.h"
#include "lattices/ratio_thinning.h"

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

/* What R = 0 of one law beside the points of the other adds to the value of an average. */
static long double value_beside_zeros(const prv_ratio_law *x, const prv_ratio_law *y, double w, long double a,
                                      int rises)
{
    long double sum = rises ? 0.0L : (long double)x->zero * y->zero;
    for (int of_x = 0; of_x < 2; of_x++) {
        const prv_ratio_law *law = of_x ? x : y;
        const long double zero = of_x ? y->zero : x->zero,
                          part = of_x ? (long double)w : 1.0L - (long double)w;
        for (size_t i = 0; i < law->length; i++) {
            const long double r = part * expl((long double)prv_ratio_point(law, i));
            sum += zero * law->null[i] * fmaxl(rises ? r - a : 1.0L - a * r, 0.0L);
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

/* What all pairs of points make up, one by one, with the most that the sums here may be off by. */
static long double value_of_products(const prv_ratio_law *x, const prv_ratio_law *y, long double a, int rises,
                                     long double *off)
{
    long double sum = 0.0L, all = 0.0L, whole = 0.0L, count = (long double)(x->length + y->length + 64);
    for (size_t i = 0; i < x->length; i++)
        for (size_t j = 0; j < y->length; j++) {
            const long double mass = (long double)x->null[i] * y->null[j];
            if (mass == 0.0L) continue;
            const long double r = expl((long double)prv_ratio_point(x, i) + prv_ratio_point(y, j));
            sum += mass * fmaxl(rises ? r - a : 1.0L - a * r, 0.0L);
            all += mass * (rises ? r + a : 1.0L + a * r);
            whole += mass;
            count++;
        }
    /* The masses of both laws are rounded, and what they sum to beyond 1 is taken from the product. */
    *off = (count * LDBL_EPSILON + fmaxl(whole - 1.0L, 0.0L)) * all;
    return sum;
}

/* Products of laws against all pairs of their points, which lie where those of the product do. */
static void products(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < trials_of(200); trial++) {
        const int add = trial % 2, below = trial / 2 % 2;
        const prv_ratio_side side = {add, below ? PRV_DOMINATED : PRV_DOMINATING, 0.0, 0.0, 0.0, NULL};
        const double spacing = ldexp(1.0, -5 - (int)random_below(5)); /* places are exact */
        prv_ratio_law a, b, product = {0};
        void (*const law_of)(double, int64_t, prv_ratio_law *) = trial % 3 ? law_of_two_points
                                                                           : law_of_stretches;
        law_of(spacing, -20 - (int64_t)random_below(200), &a);
        law_of(spacing, -20 - (int64_t)random_below(200), &b);
        check(prv_ratio_product(&a, &b, &side, &product) == PRV_OK, "a product");
        for (int k = 0; k < 6; k++) {
            const long double at = expl((long double)uniform(-200.0, 200.0) * spacing);
            long double off;
            const long double exact = value_of_products(&a, &b, at, !add, &off);
            const long double found = value_of(&product, at, !add);
            held = held && (below ? found <= exact + off : found >= exact - off);
            close = close && fabsl(found - exact) <= 1e4L * off;
        }
        prv_ratio_law_free(&a);
        prv_ratio_law_free(&b);
        prv_ratio_law_free(&product);
    }
    check(held, "products lie on the safe side of all pairs of points");
    check(close, "... and near to them");
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

/* A list of points anywhere, most of them light and some heavy. */
static void random_list(size_t length, double reach, const prv_ratio_side *side, prv_ratio_law *law)
{
    prv_ratio_listed *points = calloc(length, sizeof *points);
    if (points == NULL) abort();
    double sum = 0.0;
    for (size_t i = 0; i < length; i++) {
        const double x = uniform(-reach, reach);
        const double heavy = random_below(50) == 0 ? 1e3 : 1.0;
        points[i] = (prv_ratio_listed){x, random_below(20) == 0 ? 0.0 : heavy * exp(-uniform(0.0, 40.0))};
        sum += points[i].mass;
    }
    const double zero = random_below(3) == 0 ? 0.1 : 0.0;
    for (size_t i = 0; i < length; i++) points[i].mass *= (1.0 - zero) / sum;
    *law = (prv_ratio_law){.zero = zero, .shift = uniform(0.0, 1e-6)};
    if (prv_ratio_list_close(points, length, 0.0, side, law) != PRV_OK) abort();
    free(points);
}

/* Averages of lists from below, whose cells become their means: convex functions lose, by no more than cells
 * are wide, and by nothing where no cell holds the bend. So do they where points of one list become means. */
static void means_of_lists(void)
{
    int held = 1, close = 1, shifted = 1, exact_mean = 1, fewer = 0;
    for (int trial = 0; trial < trials_of(60); trial++) {
        const int add = trial % 2, same = trial % 3 == 0;
        const prv_ratio_side side = {add, PRV_DOMINATED, 0.0, 0.0, 0.0, NULL};
        const double spacing = log_uniform(1e-3, 0.1), reach = log_uniform(0.1, 30.0),
                     w = same ? 0.5 : uniform(0.01, 0.5);
        prv_ratio_law a, b, average = {0}, thin;
        random_list(400 + (size_t)random_below(200), reach, &side, &a);
        random_list(400 + (size_t)random_below(200), reach, &side, &b);
        const prv_ratio_law *other = same ? &a : &b;
        check(prv_ratio_have_means(&a, other, w, &side) &&
                  prv_ratio_average_means(&a, other, w, spacing, &side, &average) == PRV_OK &&
                  prv_ratio_law_copy(&a, &thin) == PRV_OK &&
                  prv_ratio_thin(&side, spacing, 1.0, &thin) == PRV_OK,
              "an average of lists, and a list with fewer points");
        shifted = shifted && average.shift >= fmax(a.shift, other->shift) && thin.shift >= a.shift;
        fewer += thin.length < a.length;
        for (int k = 0; k < 10; k++) {
            const long double at = expl((long double)uniform(-reach, reach)), t = add ? 1.0L / at : at;
            const long double exact = value_of_pairs(&a, other, w, t, !add) +
                                      value_beside_zeros(&a, other, w, t, !add);
            const long double found = value_of(&average, t, !add), off = 1e-17L * (1.0L + at);
            held = held && found <= exact + off;
            close = close && found >= exact - 1.5L * (long double)spacing * (1.0L + at);
            const long double before = value_of(&a, t, !add), after = value_of(&thin, t, !add);
            held = held && after <= before + off;
            close = close && after >= before - expm1l(0.3L * (long double)spacing) * (1.0L + at);
        }
        const long double mean = value_of_pairs(&a, other, w, 0.0L, 1) +
                                 value_beside_zeros(&a, other, w, 0.0L, 1);
        exact_mean = exact_mean && (add || fabsl(value_of(&average, 0.0L, 1) - mean) <= 1e-10L * mean);
        prv_ratio_law_free(&a);
        prv_ratio_law_free(&b);
        prv_ratio_law_free(&average);
        prv_ratio_law_free(&thin);
    }
    check(
        held,
        "means of averages of lists lie on the safe side of all pairs, and means of points on that of them");
    check(close && exact_mean, "... near to them, with the mean that they had");
    check(shifted, "... and are off by no less than either law");
    check(fewer > trials_of(30), "%d lists have fewer points", fewer);
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
    places();
    averages();
    products();
    samples();
    thinning();
    means_of_lists();
    ends();
    sums_of_cells();
    uncertain_densities();
    little_by_little();
    vanished_masses();
    discretised();
    logarithms_of_mixtures();
    prv_fft_provider_free(provider);
    return summary();
}
