/* Means of one step's loss against closed forms, series, and sums that converge exponentially. */
#include "asking.h"

#include "mechanisms/mechanism.h"
#include "lattices/conditional_mean.h"

/* The mean of all losses: outermost knots are all that is looked at. */
static prv_mean mean_of(const prv_mechanism *m, int add, double low, double high)
{
    prv_cells cells;
    if (prv_cells_new(2, &cells) != PRV_OK) abort();
    cells.knots[0] = low;
    cells.knots[1] = high;
    const prv_mean mean = prv_conditional_mean(m, add, &cells, 0.0);
    prv_cells_free(&cells);
    return mean;
}

/* The truth is known to `known` of itself. */
static int holds(const prv_mean *mean, long double truth, long double known)
{
    return fabsl(mean->value - truth) <= (long double)mean->error + known * fabsl(truth);
}

#define OF_LONG ((long double)LDBL_EPSILON)

/* Losses of 800 and -800, give or take 40 times 10: the loss is y + log p, or log(1 - p), but for e^-400. So
 * it is p (mu^2 / 2 + log p) + (1 - p) log(1 - p) on the average under Q, and -log(1 - p) under P. */
static void large_losses(void)
{
    static const double parts[] = {0.25, 0.5, 0.75};
    for (size_t i = 0; i < 3; i++) {
        const long double p = parts[i], mu = 40.0L;
        prv_mechanism *m = subsampled(1.0 / 40.0, parts[i]);
        const prv_mean remove = mean_of(m, 0, -10.0, 1e4), add = mean_of(m, 1, -1e4, 10.0);
        check(holds(&remove, p * (0.5L * mu * mu + logl(p)) + (1.0L - p) * log1pl(-p), 16.0L * OF_LONG) &&
                  remove.error < 1e-6,
              "large losses on a sample of %g: the mean is %.17Lg, to %.2g", parts[i], remove.value,
              remove.error);
        check(holds(&add, -log1pl(-p), 16.0L * OF_LONG) && add.error < 1e-6, "... and of a record added");
        prv_mechanism_free(m);
    }
}

/* With g = e^y - 1, whose powers have the means under P 0, E2 = e^(mu^2) - 1, and e^(3 mu^2) - 3 e^(mu^2) +
 * 2, the loss log(1 + p g) is p^2 E2 / 2 under Q and -log(1 + p g) the same under P, but for p^3. */
static void rare_samples(void)
{
    static const double parts[] = {1e-9, 1e-12};
    for (size_t i = 0; i < 2; i++) {
        const long double p = parts[i], half = 0.5L * p * p * expm1l(1.0L);
        prv_mechanism *m = subsampled(1.0, parts[i]);
        const prv_mean remove = mean_of(m, 0, -1.0, 60.0), add = mean_of(m, 1, -60.0, 1.0);
        check(holds(&remove, half, 100.0L * p) && remove.error < 1e-9 * parts[i],
              "a sample of %g: the mean is %.12Lg, to %.2g", parts[i], remove.value, remove.error);
        check(holds(&add, half, 100.0L * p) && add.error < 1e-9 * parts[i], "... and of a record added");
        prv_mechanism_free(m);
    }
}

/* Sums over all outcomes at equal distances, which the distance of log(1 + p (e^y - 1)) from its poles, pi /
 * mu in the outcome, makes exact to e^(-2 pi^2 / (mu h)) (Trefethen and Weideman 2014, Theorem 5.1). */
static void sums(void)
{
    static const struct {
        double noise, part;
    } cases[] = {{1.0, 0.9}, {0.7, 0.999}, {2.0, 0.01}, {1.0, 0.5}, {0.5, 0.3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const long double mu = 1.0L / (long double)cases[i].noise, p = cases[i].part, h = 0x1p-4L;
        long double under_q = 0.0L, under_p = 0.0L, size = 0.0L;
        for (int k = -400; k <= 400; k++) {
            const long double x = h * (long double)k, y = mu * (x - 0.5L * mu);
            const long double loss = logl(1.0L - p + p * expl(y)), density = h * expl(-0.5L * x * x);
            under_q += density * (1.0L - p + p * expl(y)) * loss;
            under_p -= density * loss;
            size += density * (2.0L + expl(y)) * (fabsl(loss) + 1.0L);
        }
        const long double whole = sqrtl(2.0L * acosl(-1.0L)), own = 64.0L * OF_LONG * size / whole;
        prv_mechanism *m = subsampled(cases[i].noise, cases[i].part);
        const prv_mean remove = mean_of(m, 0, -60.0, 200.0), add = mean_of(m, 1, -200.0, 60.0);
        check(fabsl(remove.value - under_q / whole) <= (long double)remove.error + own &&
                  fabsl(add.value - under_p / whole) <= (long double)add.error + own && remove.error < 1e-9 &&
                  add.error < 1e-9,
              "noise %g on a sample of %g: the mean is %.15Lg, and of a record added %.15Lg", cases[i].noise,
              cases[i].part, under_q / whole, under_p / whole);
        prv_mechanism_free(m);
        /* The same as a mixture of two centres. */
        const double centers[] = {0.0, 1.0}, weights[] = {1.0 - cases[i].part, cases[i].part};
        if (prv_mechanism_gaussian_mixture(cases[i].noise, centers, weights, 2, &m) != PRV_OK) abort();
        const prv_mean mixed = mean_of(m, 0, -60.0, 200.0);
        check(fabsl(mixed.value - under_q / whole) <= (long double)mixed.error + own && mixed.error < 1e-9,
              "... and as a mixture");
        prv_mechanism_free(m);
    }
}

/* Atoms above the lower end and up to the upper one. */
static void atoms(void)
{
    static const double losses[] = {-1.0, -0.25, 0.5, 0.75, 2.0}, q[] = {0.0625, 0.125, 0.25, 0.25, 0.125};
    prv_mechanism *m = NULL;
    if (prv_mechanism_table(losses, q, 5, 0.1875, &m) != PRV_OK) abort();
    const prv_mean whole = mean_of(m, 0, -3.0, 3.0), part = mean_of(m, 0, -0.25, 0.75);
    check(fabsl(whole.value - 0.46875L) <= (long double)whole.error && whole.error < 1e-9 &&
              fabsl(part.value - 0.3125L) <= (long double)part.error && part.error < 1e-9,
          "a table: its mean is %.15Lg, and %.15Lg of atoms between", whole.value, part.value);
    prv_mechanism_free(m);
}

/* Laplace noise: mu + e^-mu - 1, mu the sensitivity by the scale; its losses are no larger than mu. */
static void laplace(void)
{
    static const double scales[] = {0.1, 1.0, 20.0};
    for (size_t i = 0; i < 3; i++) {
        prv_mechanism *m = NULL;
        if (prv_mechanism_laplace(scales[i], 1.0, &m) != PRV_OK) abort();
        const long double mu = m->mu;
        const prv_mean mean = mean_of(m, 0, -20.0, 20.0);
        check(holds(&mean, mu + expm1l(-mu), 64.0L * OF_LONG * mu / (mu + expm1l(-mu))) && mean.error < 1e-9,
              "Laplace noise of scale %g: the mean is %.17Lg, to %.2g", scales[i], mean.value, mean.error);
        prv_mechanism_free(m);
    }
}

int main(void)
{
    large_losses();
    rare_samples();
    sums();
    atoms();
    laplace();
    return summary();
}
