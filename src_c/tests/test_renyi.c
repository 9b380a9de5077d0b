/* Renyi divergences against closed forms. */
#include "asking.h"
#include "pool.h"

#include "mechanisms/mechanism.h"
#include "questions/renyi_discrete.h"
#include "questions/renyi_excess.h"
#include "questions/renyi_gaussian.h"

static const double orders[] = {1.0 + 0x1p-20, 1.5, 2.0, 3.0, 8.0, 64.0};
enum { ORDERS = sizeof orders / sizeof *orders };

/* The bounds hold the truth, which is known to 1e-14 of itself, and are as close as `width`, relatively. */
static int holds(const prv_bounds *b, long double truth, double width)
{
    const long double rounding = 1e-14L * truth;
    return (long double)b->lower <= truth + rounding && truth - rounding <= (long double)b->upper &&
           b->lower <= b->estimate && b->estimate <= b->upper && b->upper - b->lower <= width * b->upper;
}

static void asks(const prv_mechanism *m, uint64_t count, prv_neighbors neighbors, prv_bounds b[ORDERS])
{
    prv_options o = options_of(1e-3);
    o.neighbors = neighbors;
    const prv_step step = {m, count};
    if (prv_renyi_divergence(&step, 1, &o, orders, ORDERS, b) != PRV_OK) abort();
}

/* alpha / (2 sigma^2) for each step (Mironov 2017, Corollary 3). */
static void gaussians(void)
{
    static const double noises[] = {0.1, 1.0, 40.0};
    for (size_t i = 0; i < 3; i++) {
        prv_mechanism *m = gaussian(noises[i]);
        prv_bounds b[ORDERS];
        asks(m, 7, PRV_ADD_OR_REMOVE, b);
        int ok = 1;
        for (size_t j = 0; j < ORDERS; j++) {
            const long double noise = noises[i];
            ok = ok && holds(&b[j], 7.0L * (long double)orders[j] / (2.0L * noise * noise), 1e-9);
        }
        check(ok, "7 Gaussians of noise %g", noises[i]);
        prv_mechanism_free(m);
    }
}

/* The same for scales that are powers of 2, so that the truth is a double. */
static void gaussians_exactly(void)
{
    static const int exponents[] = {300, 40, 17, 3, 0, -3, -9};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        prv_mechanism *m = gaussian(ldexp(1.0, exponents[i]));
        prv_bounds b[ORDERS];
        asks(m, 7, PRV_ADD_OR_REMOVE, b);
        int ok = 1;
        for (size_t j = 0; j < ORDERS; j++) {
            const double truth = ldexp(7.0 * orders[j], -1 - 2 * exponents[i]);
            ok = ok && b[j].lower <= truth && truth <= b[j].upper && b[j].upper - b[j].lower <= 1e-9 * truth;
        }
        check(ok, "7 Gaussians of noise 2^%d, without any tolerance", exponents[i]);
        prv_mechanism_free(m);
    }
}

/* Poisson samples, for an integer order alpha: M = sum over k of binomial(alpha, k) (1-p)^(alpha-k) p^k
 * e^(k (k-1) / (2 sigma^2)) (Mironov, Talwar, Zhang 2019, section 3.3). */
static void sampled_gaussians(void)
{
    const double noise = 1.1, p = 0.02;
    prv_mechanism *m = subsampled(noise, p);
    prv_bounds b[ORDERS];
    asks(m, 1, PRV_REMOVE, b);
    for (size_t j = 0; j < ORDERS; j++) {
        const double alpha = orders[j];
        if (alpha != rint(alpha) || alpha > 8.0) continue; /* the terms overflow short long doubles */
        long double excess = 0.0L, binomial = 1.0L;
        for (double k = 0.0; k <= alpha; k += 1.0) {
            const long double law = binomial * powl(1.0L - (long double)p, (long double)(alpha - k)) *
                                    powl((long double)p, (long double)k);
            excess += law *
                      expm1l((long double)(k * (k - 1.0)) / (2.0L * (long double)noise * (long double)noise));
            binomial *= (long double)(alpha - k) / (long double)(k + 1.0);
        }
        const long double truth = log1pl(excess) / (long double)(alpha - 1.0);
        check(holds(&b[j], truth, 2e-4), "a sampled Gaussian, alpha %g: %.12Lg", alpha, truth);
    }
    prv_mechanism_free(m);
}

/* Mironov 2017, Proposition 6: log((alpha e^((alpha-1)/s) + (alpha-1) e^(-alpha/s)) / (2 alpha - 1)). */
static void laplace(void)
{
    const double scale = 1.7;
    prv_mechanism *m = NULL;
    if (prv_mechanism_laplace(scale, 1.0, &m) != PRV_OK) abort();
    prv_bounds b[ORDERS];
    asks(m, 1, PRV_ADD_OR_REMOVE, b);
    for (size_t j = 1; j < ORDERS; j++) {
        const long double a = orders[j], s = scale;
        const long double moment = (a * expl((a - 1.0L) / s) + (a - 1.0L) * expl(-a / s)) / (2.0L * a - 1.0L);
        check(holds(&b[j], logl(moment) / (a - 1.0L), 2e-4), "Laplace noise, alpha %g", orders[j]);
    }
    prv_mechanism_free(m);
}

/* Tables: the sum itself. */
static void tables(void)
{
    static const double loss[] = {-0.7, 0.1, 0.9};
    double q[] = {0.2, 0.3, 0.5}, reverse = 0.0;
    for (size_t i = 0; i < 3; i++) reverse += q[i] * exp(-loss[i]);
    /* Losses are moved so that P has mass 1 but for rounding. */
    double moved[3];
    for (size_t i = 0; i < 3; i++) moved[i] = loss[i] + log(reverse) + 1e-15;
    prv_mechanism *m = NULL;
    if (prv_mechanism_table(moved, q, 3, 0.0, &m) != PRV_OK) abort();
    prv_bounds b[ORDERS];
    asks(m, 5, PRV_REMOVE, b);
    int ok = 1;
    for (size_t j = 1; j < ORDERS; j++) {
        const long double a = orders[j];
        long double moment = 0.0L;
        for (size_t i = 0; i < 3; i++) moment += (long double)q[i] * expl((a - 1.0L) * (long double)moved[i]);
        const long double truth = 5.0L * logl(moment) / (a - 1.0L);
        ok = ok && (long double)b[j].lower <= truth * (1.0L + 1e-12L) &&
             truth * (1.0L - 1e-12L) <= (long double)b[j].upper &&
             b[j].upper - b[j].lower <= 1e-9 * b[j].upper;
    }
    check(ok, "tables: sums over the outcomes");
    prv_mechanism_free(m);
}

/* Bounds of M - 1 itself hold the truth, which is known to `own`, both by their logarithms. */
static int excess_holds(const prv_excess *e, long double log_truth, long double own, double width)
{
    const double lower = prv_log_sum_below(&e->lower), upper = prv_log_sum_above(&e->upper);
    return (long double)lower <= log_truth + own && log_truth - own <= (long double)upper &&
           upper - lower <= width;
}

/* An outcome of probability q, as rare as the logarithms of doubles are large, at a loss of 1, beside one of
 * nearly all mass at a loss of nearly 0. M - 1 is q (e^(alpha - 1) - e^-1 (1 + alpha (e - 1))), but for q^2.
 */
static void rare_outcomes(void)
{
    int held = 1;
    for (int trial = 0, trials = trials_of(200); trial < trials; trial++) {
        const double rare = log_uniform(1e-300, 1e-200), losses[] = {rare * expm1(-1.0), 1.0};
        const double q[] = {1.0, rare};
        prv_mechanism *m = NULL;
        if (prv_mechanism_table(losses, q, 2, 0.0, &m) != PRV_OK) abort();
        for (size_t j = 1; j < ORDERS; j++) {
            const long double a = orders[j], e = expl(1.0L);
            const long double excess = expl(a - 1.0L) - (1.0L + a * (e - 1.0L)) / e;
            prv_excess found;
            if (prv_discrete_excess(m, false, orders[j], NULL, &found) != PRV_OK) abort();
            held = held && excess_holds(&found, logl(excess) + logl((long double)rare),
                                        (1e3L + a) * (long double)LDBL_EPSILON, 1e-11);
        }
        prv_mechanism_free(m);
    }
    check(held, "outcomes of probability 1e-300 to 1e-200: M - 1 is within its bounds, which are close");
}

/* A cell of one ratio, whose mass is off: both ends of that hold, and are no farther apart. */
static void uncertain_masses(void)
{
    int held = 1;
    for (int trial = 0, trials = trials_of(200); trial < trials; trial++) {
        const double y = uniform(0.5, 3.0), log_mass = uniform(-30.0, 0.0), off = log_uniform(1e-12, 0.5);
        for (size_t j = 0; j < ORDERS; j++) {
            const long double a = orders[j], r = expm1l((long double)y);
            const long double truth = logl(expm1l(a * (long double)y) - a * r) + (long double)log_mass;
            /* Of these differences, in units of what is left. */
            const long double own = (32.0L + 32.0L * a * expl(a * (long double)y) /
                                                 (expm1l(a * (long double)y) - a * r)) *
                                    (long double)LDBL_EPSILON;
            double lower, upper;
            prv_excess_bounds_of_cell(log_mass, off, y, 0.0, y, y, orders[j], &lower, &upper);
            held = held && (long double)lower <= truth - (long double)off + own &&
                   truth + (long double)off - own <= (long double)upper && upper - lower <= 2.0 * off + 1e-6;
        }
    }
    check(held, "cells of masses that are off by 1e-12 to 0.5: both ends are within the bounds");
}

/* The parts of a cell's bounds, each where it alone decides: f is (r - 1)^2 (r + 2) for alpha = 3, (s - 1)^2
 * (s + 1/2) for alpha = 3/2 with s^2 = r, and (r - 1)^2 for alpha = 2, whose chord is reached by a law on
 * both ends of the cell with its mean in the middle. */
static void parts_of_cells(void)
{
    int sums = 1, chords = 1;
    for (int trial = 0; trial < 2000; trial++) {
        const double alpha = trial % 3 == 0 ? 1.5 : trial % 3 == 1 ? 2.0 : 3.0, y = uniform(0.01, 0.2);
        const double log_mass = -log_uniform(1e2, 1e7), off = log_uniform(1e-3, 1e2);
        const long double one = expm1l(alpha == 1.5 ? 0.5L * (long double)y : (long double)y);
        const long double rest = alpha == 2.0 ? 1.0L : alpha == 3.0 ? 3.0L + one : 1.5L + one;
        const long double log_f = 2.0L * logl(one) + logl(rest);
        const long double own = 64.0L * (long double)LDBL_EPSILON * -(long double)log_mass;
        double lower, upper;
        prv_excess_bounds_of_cell(log_mass, off, y, 0.0, y, y, alpha, &lower, &upper);
        sums = sums && (long double)lower <= log_f + (long double)log_mass - (long double)off + own &&
               (long double)upper >= log_f + (long double)log_mass + (long double)off - own;

        const double wide = log_uniform(1e-9, 0.3), low = log1p(-wide), high = log1p(wide);
        const long double variance = -expm1l((long double)low) * expm1l((long double)high);
        prv_excess_bounds_of_cell(0.0, 0.0, 0.0, 0.0, low, high, 2.0, &lower, &upper);
        chords = chords && (long double)upper >= logl(variance) - 64.0L * (long double)LDBL_EPSILON &&
                 upper <= (double)logl(variance) + 1e-13;
    }
    check(sums, "cells of rare outcomes: bounds hold to the last digit of the mass");
    check(chords,
          "cells with all mass at their ends: the upper bound holds to the last digit, and is as close");
}

/* Q or P is a mixture of centres near `far` and 3 below it in size, whose weights are off by what the sums of
 * renyi_mixture.c allow for; the other law is far away. In a cell beside `far` the ratio is below 1e-20, and
 * f is alpha - 1 but for that. */
static void cells_of_far_mixtures(void)
{
    enum { CENTERS = 4000 };
    static double center[CENTERS], weight[CENTERS];
    for (int of_q = 0; of_q <= 1; of_q++) {
        int held = 1;
        const double far = of_q ? 16.0 : 3.0, apart = 16.0;
        double one_center = of_q ? 0.0 : apart, one_weight = 1.0;
        for (size_t i = 0; i < CENTERS; i++)
            center[i] = (i % 2 == 0 ? (of_q ? far : 0.0) : (of_q ? far - 3.0 : -3.0)) - (double)i * 0x1p-40;
        for (int sign = -1; sign <= 1; sign++) {
            const double off = sign * (8.0 * CENTERS + 16.0) * 0x1p-53;
            for (size_t i = 0; i < CENTERS; i++)
                weight[i] = 1.0 / CENTERS * (i % 2 == 0 ? 1.0 + off : 1.0 - off);
            const prv_components mixture = {CENTERS, center, weight, of_q ? far : 3.0 + CENTERS * 0x1p-40},
                                 single = {1, &one_center, &one_weight, of_q ? 0.0 : apart};
            const prv_gaussian_integrand g = {of_q ? &mixture : &single, of_q ? &single : &mixture, 1.0,
                                              1.001, of_q};
            const double a = of_q ? far - 0.5 : 0.0, b = a + 1.0;
            long double mass = 0.0L;
            for (size_t i = 0; i < CENTERS; i++)
                mass += 0.5L / CENTERS *
                        (erfcl(((long double)a - (long double)center[i]) * sqrtl(0.5L)) -
                         erfcl(((long double)b - (long double)center[i]) * sqrtl(0.5L)));
            const long double truth = logl((long double)g.alpha - 1.0L) + logl(mass);
            double lower, upper;
            prv_gaussian_excess_of_cell(&g, a, b, &lower, &upper);
            held = held && (long double)lower <= truth && truth <= (long double)upper &&
                   upper - lower < 1e-10;
        }
        check(held,
              "a cell of %s, a mixture that may be off, far from the other law: bounds hold, and are close",
              of_q ? "Q" : "P");
    }
}

/* An outcome of P alone, of probability m, beside one that both have. M is (1 - m)^(1 - alpha), and nearly
 * all of M - 1 is that outcome's. */
static void outcomes_of_one(void)
{
    int held = 1;
    for (int trial = 0, trials = trials_of(100); trial < trials; trial++) {
        const double both = 1.0 - log_uniform(1e-6, 1e-3), rest_of_p = 1.0 - both;
        prv_atoms *a = prv_atoms_new(1);
        prv_mechanism *m = NULL;
        if (a == NULL) abort();
        a->loss[0] = -log1p(-rest_of_p);
        a->q[0] = 1.0;
        a->p[0] = both;
        a->p_only = rest_of_p;
        a->loss_error = 4.0 * DBL_EPSILON;
        if (prv_mechanism_of_atoms(a, &m) != PRV_OK) abort();
        for (size_t j = 1; j < ORDERS; j++) {
            const long double rest = (long double)orders[j] - 1.0L;
            const long double excess = expm1l(-rest * log1pl(-(long double)rest_of_p));
            prv_excess found;
            if (prv_discrete_excess(m, false, orders[j], NULL, &found) != PRV_OK) abort();
            held = held && excess_holds(&found, logl(excess), 64.0L * (long double)LDBL_EPSILON, 1e-11);
        }
        prv_mechanism_free(m);
    }
    check(held, "outcomes of P alone: M - 1 is within its bounds, which are close");
}

/* Outcomes whose masses are no normal doubles, at a loss of -1 that may be off by 1e-3, beside one of a loss
 * of 0: M - 1 is q e^-y f(e^y), whatever y is between. */
static void subnormal_outcomes(void)
{
    int held = 1;
    const double q = 0.125 * DBL_MIN, p = 0.3398 * DBL_MIN; /* about e times as much */
    prv_atoms *a = prv_atoms_new(2);
    prv_mechanism *m = NULL;
    if (a == NULL) abort();
    a->loss[0] = -1.0;
    a->loss[1] = 0.0;
    a->q[0] = q;
    a->p[0] = p;
    a->q[1] = a->p[1] = 1.0;
    a->loss_error = 1e-3;
    if (prv_mechanism_of_atoms(a, &m) != PRV_OK) abort();
    for (size_t j = 1; j < ORDERS; j++) {
        prv_excess found;
        if (prv_discrete_excess(m, false, orders[j], NULL, &found) != PRV_OK) abort();
        for (int side = -1; side <= 1; side += 2) {
            const long double alpha = orders[j], y = -1.0L + 1e-3L * side;
            const long double excess = expl(-y) * (expl(alpha * y) - 1.0L - alpha * expm1l(y));
            held = held && excess_holds(&found, logl(excess) + logl((long double)q),
                                        1e3L * (long double)LDBL_EPSILON, 0.1);
        }
    }
    prv_mechanism_free(m);
    check(held, "subnormal masses at losses that are off: M - 1 is within its bounds");
}

/* The pair of samples of fixed size that is folded: M - 1, by Simpson's rule as below, and both of its
 * bounds, of which answers tell the upper one alone. */
static void folded(void)
{
    static const double noises[] = {1.5, 2.5, 4.0}, parts[] = {0.01, 0.1, 0.5};
    int held = 1;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            for (size_t j = 1; j + 2 < ORDERS; j++) {
                const double mu = 2.0 / noises[i], centers[] = {0.0, mu}, origin = 0.0, one = 1.0;
                const double weights[] = {1.0 - parts[k], parts[k]};
                const prv_components of_q = {2, (double *)centers, (double *)weights, mu},
                                     of_p = {1, (double *)&origin, (double *)&one, 0.0};
                const long double power = (long double)orders[j] - 1.0L, h = 0x1p-8L;
                long double excess = 0.0L;
                for (int n = 0; n <= 1 << 13; n++) {
                    const long double x = 0.5L * (long double)mu + h * n;
                    const long double l = log1pl((long double)parts[k] *
                                                 expm1l((long double)mu * (x - 0.5L * (long double)mu)));
                    const long double value = expl(-0.5L * x * x) *
                                              (expl(l) * expm1l(power * l) + expm1l(-power * l));
                    excess += value * (n == 0 || n == 1 << 13 ? 1.0L : n % 2 ? 4.0L : 2.0L) * h / 3.0L;
                }
                prv_excess found;
                if (prv_gaussian_excess(&of_q, &of_p, false, true, orders[j], NULL, &found) != PRV_OK)
                    abort();
                held = held && excess_holds(&found, logl(excess / sqrtl(2.0L * acosl(-1.0L))), 1e-9L, 1e-4);
            }
    check(held, "folded pairs: M - 1 is within both of its bounds");
}

/* Samples of fixed size, a record replaced: the symmetric pair whose losses above 0 are those of P = N(0, 1)
 * and Q = (1 - p) P + p N(mu, 1), mu = 2 / noise. With r = q / p > 1 from mu / 2 on, M - 1 is the integral of
 * q (r^(alpha - 1) - 1) + p (r^(1 - alpha) - 1) from there: here by Simpson's rule. */
static void samples_of_fixed_size(void)
{
    const double noise = 2.5, part = 0.1;
    prv_mechanism *base = gaussian(noise), *m = NULL;
    if (prv_mechanism_subsampled_without_replacement(base, part, &m) != PRV_OK) abort();
    prv_bounds b[ORDERS];
    asks(m, 1, PRV_REPLACE_ONE, b);
    const long double mu = 2.0L / (long double)noise, h = 0x1p-9L;
    for (size_t j = 1; j + 1 < ORDERS; j++) {
        const long double power = (long double)orders[j] - 1.0L;
        long double excess = 0.0L;
        for (int i = 0; i <= 1 << 14; i++) {
            const long double x = 0.5L * mu + h * i, p = expl(-0.5L * x * x) / sqrtl(2.0L * acosl(-1.0L));
            const long double l = log1pl((long double)part * expm1l(mu * (x - 0.5L * mu)));
            const long double value = p * (expl(l) * expm1l(power * l) + expm1l(-power * l));
            excess += value * (i == 0 || i == 1 << 14 ? 1.0L : i % 2 ? 4.0L : 2.0L) * h / 3.0L;
        }
        const long double truth = log1pl(excess) / power;
        /* No two data sets are known to have this pair: it bounds from above alone. */
        check(truth * (1.0L - 1e-10L) <= (long double)b[j].upper &&
                  (long double)b[j].upper <= truth * (1.0L + 2e-4L),
              "a sample of fixed size, alpha %g: %.12Lg, at most %.12g", orders[j], truth, b[j].upper);
    }
    prv_mechanism_free(m);
    prv_mechanism_free(base);
}

static prv_mechanism *mixture(const double *centers, double first)
{
    const double weights[] = {first, 1.0 - first};
    prv_mechanism *m = NULL;
    if (prv_mechanism_gaussian_mixture(1.3, centers, weights, 2, &m) != PRV_OK) abort();
    return m;
}

/* Mixtures that say that their densities are off by 5 %, against those of weights that are off by as much:
 * with a part that is not sampled, and without one. Whatever may be off, by however little, and whatever is
 * left out, bounds do not come closer. */
static void uncertain_weights(void)
{
    static const double centers[][2] = {{0.0, 1.0}, {0.5, 2.0}};
    int held = 1, close = 1, wider = 1;
    for (int i = 0; i < 2; i++)
        for (int add = 0; add < 2; add++) {
            const double first = 0.6, off = 0.05;
            prv_mechanism *m = mixture(centers[i], first);
            m->density_error = off;
            prv_bounds stated[ORDERS], other[ORDERS];
            asks(m, 1, add ? PRV_ADD : PRV_REMOVE, stated);
            for (int sign = -1; sign <= 1; sign++) {
                prv_mechanism *moved = mixture(centers[i], first + sign * off * (1.0 - first));
                asks(moved, 1, add ? PRV_ADD : PRV_REMOVE, other);
                for (size_t j = 1; j < ORDERS; j++) {
                    held = held && stated[j].lower <= other[j].lower && other[j].upper <= stated[j].upper;
                    close = close && stated[j].upper <= 20.0 * other[j].upper;
                }
                prv_mechanism_free(moved);
            }
            prv_mechanism_free(m);
        }
    for (int i = 0; i < 2; i++)
        for (int add = 0; add < 2; add++) {
            prv_mechanism *m = mixture(centers[i], 0.6);
            prv_bounds plain[ORDERS], off[ORDERS], without[ORDERS];
            const prv_neighbors neighbors = add ? PRV_ADD : PRV_REMOVE;
            asks(m, 1, neighbors, plain);
            m->density_error = 1e-15;
            asks(m, 1, neighbors, off);
            m->density_error = 0.0;
            m->without_rarest = true;
            asks(m, 1, neighbors, without);
            for (size_t j = 1; j < ORDERS; j++) {
                wider = wider && off[j].lower <= plain[j].lower && plain[j].upper <= off[j].upper;
                wider = wider && without[j].lower <= plain[j].lower && plain[j].upper <= without[j].upper;
            }
            prv_mechanism_free(m);
        }
    check(held, "weights that are off by what a mixture says: its bounds hold");
    check(wider, "bounds of what is off, or left out, hold those of what is not");
    check(close, "... and are near");
}

/* Samples of Laplace noise whose densities may be off by 1e-6: those of a probability that is greater by half
 * of that are within it. M - 1 of order 2 is p^2 (E - 1), E the moment of the noise (Mironov 2017,
 * Proposition 6).
 */
static void uncertain_cells(void)
{
    const double scale = 1.0, stated = 1e-3, off = 1e-6, other = stated + 0.5 * off;
    const long double noise = (2.0L * expl(1.0L) + expl(-2.0L)) / 3.0L;
    const long double truth = log1pl((long double)other * (long double)other * (noise - 1.0L));
    prv_mechanism *base = NULL, *m = NULL;
    if (prv_mechanism_laplace(scale, 1.0, &base) != PRV_OK ||
        prv_mechanism_poisson_subsampled(base, stated, &m) != PRV_OK)
        abort();
    m->density_error = off;
    prv_bounds b[ORDERS];
    asks(m, 1, PRV_REMOVE, b);
    check((long double)b[2].lower <= truth && truth <= (long double)b[2].upper && b[2].upper <= 1e-5,
          "densities that are off by 1e-6: %.9Lg is within [%.9g, %.9g]", truth, b[2].lower, b[2].upper);
    prv_mechanism_free(m);
    prv_mechanism_free(base);
}

/* A choice in the open, with a probability of 1e-300, of Gaussian noise, and else of nothing: M - 1 is that
 * of the noise as rarely. */
static void rare_choices(void)
{
    int held = 1, close = 1;
    for (int trial = 0, trials = trials_of(50); trial < trials; trial++) {
        const double loss = 0.0, whole = 1.0, weights[2] = {log_uniform(1e-300, 1e-280), 1.0};
        prv_mechanism *parts[2] = {gaussian(1.0), NULL}, *m = NULL;
        const prv_status status = prv_mechanism_table(&loss, &whole, 1, 0.0, &parts[1]);
        if (prv_mechanism_choice(status, parts, weights, 0.0, NULL, &m) != PRV_OK) abort();
        prv_bounds b[ORDERS];
        asks(m, 1, PRV_REMOVE, b);
        for (size_t j = 1; j < 4; j++) {
            const long double alpha = orders[j], own = 64.0L * (long double)LDBL_EPSILON;
            const long double truth = (long double)weights[0] * expm1l(0.5L * alpha * (alpha - 1.0L)) /
                                      (alpha - 1.0L);
            held = held && (long double)b[j].lower <= truth * (1.0L + own) &&
                   truth * (1.0L - own) <= (long double)b[j].upper;
            close = close && b[j].upper - b[j].lower <= 1e-9 * b[j].upper;
        }
        prv_mechanism_free(m);
    }
    check(held, "rare choices of noise, without any tolerance");
    check(close, "... and bounds are close");
}

static void edges(void)
{
    prv_mechanism *m = gaussian(1.0), *leaky = NULL;
    if (prv_mechanism_approximate_dp(1.0, 1e-9, &leaky) != PRV_OK) abort();
    const prv_options o = options_of(1e-3);
    const prv_step step = {m, 1}, leak = {leaky, 1};
    const double wrong[] = {1.0, 0.5, 2e6, NAN, HUGE_VAL}, two = 2.0;
    prv_bounds b;
    for (size_t i = 0; i < 5; i++)
        check(prv_renyi_divergence(&step, 1, &o, &wrong[i], 1, &b) == PRV_ERR_ORDER,
              "an order of %g is refused", wrong[i]);
    check(prv_renyi_divergence(&leak, 1, &o, &two, 1, &b) == PRV_OK && isinf(b.lower),
          "mass at infinity: infinite");
    check(prv_renyi_divergence(NULL, 0, &o, &two, 1, &b) == PRV_OK && b.upper == 0.0, "nothing run: 0");
    prv_mechanism_free(m);
    prv_mechanism_free(leaky);
}

static prv_mechanism *kinds[3];

static prv_status ask_all(void)
{
    const prv_options o = options_of(1e-3);
    const prv_step steps[] = {{kinds[0], 2}, {kinds[1], 3}, {kinds[2], 1}};
    const double order = 3.0;
    prv_bounds b;
    return prv_renyi_divergence(steps, 3, &o, &order, 1, &b);
}

static void failing_memory(void)
{
    kinds[0] = subsampled(1.0, 0.1);
    if (prv_mechanism_laplace(1.0, 1.0, &kinds[1]) != PRV_OK ||
        prv_mechanism_discrete_gaussian(2.0, 1, &kinds[2]) != PRV_OK)
        abort();
    every_allocation(ask_all, "Renyi divergences");
    for (size_t i = 0; i < 3; i++) prv_mechanism_free(kinds[i]);
}

/* Noise that is scaled keeps how rarely batches are cut, where that decides: the bounds of the scaled noise's
 * own. Another probability is refused. */
static void rare_cuts(void)
{
    prv_mechanism *one = NULL, *two = NULL, *scaled = NULL, *never = NULL;
    if (prv_mechanism_truncated_poisson_gaussian(0.25, 0.001, 1000000, 3000, &one) != PRV_OK ||
        prv_mechanism_truncated_poisson_gaussian(0.5, 0.001, 1000000, 3000, &two) != PRV_OK ||
        prv_mechanism_truncated_poisson_gaussian(0.5, 0.001, 1000000, 1000000, &never) != PRV_OK ||
        prv_mechanism_scaled(one, PRV_NOISE_SCALE, 2.0, &scaled) != PRV_OK)
        abort();
    const prv_step steps[] = {{two, 1}, {scaled, 1}, {never, 1}};
    prv_options options = options_of(1e-3);
    const double order = 20.0;
    prv_bounds b[3];
    for (int replaced = 0; replaced <= 1; replaced++) {
        options.neighbors = replaced ? PRV_REPLACE_ONE : PRV_REMOVE;
        for (int i = 0; i < 3; i++)
            if (prv_renyi_divergence(&steps[i], 1, &options, &order, 1, &b[i]) != PRV_OK) abort();
        check(b[0].upper == b[1].upper && b[0].upper > 2.0 * b[2].upper,
              "scaled noise on batches that are hardly cut");
    }
    prv_mechanism *refused = NULL;
    check(prv_mechanism_scaled(two, PRV_SAMPLING_PROBABILITY, 2.0, &refused) == PRV_ERR_PARAMETER,
          "... whose probability is not scaled");
    check(prv_mechanism_scaled(never, PRV_SAMPLING_PROBABILITY, 2.0, &refused) == PRV_OK,
          "... unless they are never cut");
    prv_mechanism_free(refused);
    prv_mechanism_free(one);
    prv_mechanism_free(two);
    prv_mechanism_free(scaled);
    prv_mechanism_free(never);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    gaussians();
    gaussians_exactly();
    sampled_gaussians();
    laplace();
    tables();
    rare_outcomes();
    uncertain_masses();
    parts_of_cells();
    cells_of_far_mixtures();
    outcomes_of_one();
    subnormal_outcomes();
    folded();
    samples_of_fixed_size();
    uncertain_weights();
    uncertain_cells();
    rare_choices();
    rare_cuts();
    edges();
    failing_memory();
    prv_fft_provider_free(provider);
    return summary();
}
