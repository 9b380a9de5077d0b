/* Checks tails of binomial laws against exact sums of integers, identities and known values. */
#include "../binomial.h"

#include "check.h"

/* sum over j >= k of C(n, j) / 2^n, for n <= 60, exact. */
static long double half_tail(unsigned n, unsigned k)
{
    uint64_t sum = 0, choose = 1;
    for (unsigned j = 0; j <= n; j++) {
        if (j >= k) sum += choose;
        choose = choose * (n - j) / (j + 1);
    }
    return (long double)sum / (long double)((uint64_t)1 << n);
}

static double off(double found, long double truth)
{
    return fabs((double)((long double)found / truth - 1.0L));
}

int main(void)
{
    double worst = 0.0;
    for (unsigned n = 1; n <= 60; n++)
        for (unsigned k = 0; k <= n; k++) {
            const long double truth = half_tail(n, k);
            worst = fmax(worst, off(prv_binomial_upper_tail(n, 0.5, k), truth) / prv_binomial_error((double)truth));
        }
    check(worst <= 1.0, "fair coins: within %.2f of the error stated", worst);

    check(prv_binomial_upper_tail(10, 0.3, 0) == 1.0 && prv_binomial_upper_tail(10, 0.3, 11) == 0.0 &&
              prv_binomial_upper_tail(10, 0.0, 1) == 0.0 && prv_binomial_upper_tail(10, 1.0, 10) == 1.0,
          "ends are exact");

    /* All of n draws: p^n; at least one: 1 - (1 - p)^n. */
    static const double probabilities[] = {0.9, 0.5, 0.01, 1e-9};
    static const uint64_t sizes[] = {1, 15, 16, 17, 100, 1000000};
    for (size_t i = 0; i < sizeof probabilities / sizeof *probabilities; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            const long double p = (long double)probabilities[i], n = (long double)sizes[j];
            const long double all = expl(n * logl(p)), some = -expm1l(n * log1pl(-p));
            if (all > 1e-290L)
                check(off(prv_binomial_upper_tail(sizes[j], probabilities[i], sizes[j]), all) <=
                          prv_binomial_error((double)all),
                      "all of %.0Lf draws of %Lg", n, p);
            check(off(prv_binomial_upper_tail(sizes[j], probabilities[i], 1), some) <=
                      prv_binomial_error((double)some),
                  "some of %.0Lf draws of %Lg", n, p);
        }

    /* Both tails add up to 1, wherever they are summed from. */
    worst = 0.0;
    for (uint64_t k = 1; k < 2000; k += 37) {
        const double upper = prv_binomial_upper_tail(2000, 0.25, k), lower = prv_binomial_upper_tail(2000, 0.75, 2001 - k);
        worst = fmax(worst, fabs(upper + lower - 1.0));
    }
    check(worst <= 8.0 * DBL_EPSILON, "both tails add up to 1 within %.2g", worst);

    /* From 40 digits of mpmath: regularised incomplete beta functions. */
    static const struct {
        uint64_t n;
        double p;
        uint64_t k;
        double truth;
    } rows[] = {
        {9999, 0.01, 110, 0.16913600235407109},
        {9999, 0.01, 160, 1.695816139832486e-08},
        {9999, 0.01, 400, 7.681098653858057e-115},
        {59999, 0.00390625, 300, 2.100796771763971e-05},
        {1000000, 0.5, 500500, 0.15889734568165276},
        {1000000, 0.0009765625, 1500, 1.4062722853217715e-54},
        {123457, 0.75, 92000, 0.9999501937015772},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double found = prv_binomial_upper_tail(rows[i].n, rows[i].p, rows[i].k);
        check(off(found, (long double)rows[i].truth) <= prv_binomial_error(found) + DBL_EPSILON,
              "n %.0f, p %g, k %.0f: %.3g", (double)rows[i].n, rows[i].p, (double)rows[i].k, found);
    }
    return summary();
}
