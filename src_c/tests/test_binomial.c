/* Checks tails of binomial laws against exact sums of integers, identities and known values. */
#include "check.h"

#include "numerics/binomial.h"

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

static int close_to(double found, long double truth, double error)
{
    return fabs((double)((long double)found / truth - 1.0L)) <= error;
}

/* n over k, for n <= 60, exact. */
static uint64_t choices(unsigned n, unsigned k)
{
    uint64_t c = 1;
    for (unsigned j = 0; j < k; j++) c = c * (n - j) / (j + 1);
    return c;
}

static void hypergeometric(void)
{
    int within = 1;
    for (unsigned size = 2; size <= 60; size++)
        for (unsigned marked = 1; marked < size; marked++)
            for (unsigned drawn = 1; drawn <= size - marked; drawn++) {
                double masses[61];
                const unsigned most = marked < drawn ? marked : drawn;
                prv_hypergeometric_probabilities(size, marked, drawn, masses);
                for (unsigned k = 0; k <= most; k++) {
                    const long double truth = (long double)choices(marked, k) *
                                              (long double)choices(size - marked, drawn - k) /
                                              (long double)choices(size, drawn);
                    within = within && close_to(masses[k], truth, 2.0 * DBL_EPSILON);
                }
            }
    check(within, "marked ones among those drawn without replacement");
    double rare[61];
    check(prv_hypergeometric_probabilities(100, 20, 20, rare), "all are normal doubles");
    check(!prv_hypergeometric_probabilities((uint64_t)1 << 32, 60, 60, rare) && rare[60] == 0.0,
          "what is below the normal doubles is left out");
    check(!prv_binomial_probabilities(60, 0x1p-40, 0.0, rare) && rare[60] == 0.0, "... of coins, too");
}

/* Hoeffding's bound is not below the tail, and for whole numbers k above n p not more than a factor of sqrt(8
 * k (1 - k / n)) above it (Ash, "Information Theory", 1965, lemma 4.7.2), or 1 where k is n. */
static void logarithms_of_tails(void)
{
    int above = 1, near = 1;
    for (int trial = 0; trial < 3000; trial++) {
        const uint64_t n = 1 + (uint64_t)log_uniform(1.0, 4e9);
        const double p = log_uniform(1e-9, 1.0);
        const uint64_t k = n - (uint64_t)((double)n * (1.0 - p) * uniform(0.0, 1.0) * log_uniform(1e-6, 1.0));
        if (!((double)k > (double)n * p)) continue;
        const prv_binomial_tails t = prv_binomial_tails_at(n, p, k);
        const double found = prv_log_binomial_tail_above(n, p, k);
        if (!(t.from >= DBL_MIN)) {
            above = above && found < 0.0;
            continue;
        }
        const double spread = 8.0 * (double)k * (1.0 - (double)k / (double)n);
        above = above && found >= log(t.from) - t.error - 1e-13 * fabs(found);
        near = near && found <= log(t.from) + 0.5 * log(fmax(spread, 1.0)) + t.error + 1e-9 * fabs(found);
    }
    check(above, "logarithms of tails from above");
    check(near, "... and near");
    check(close_to(prv_log_binomial_tail_above(1000, 0.001, 1000), 1000.0L * logl(0.001L), 1e-14),
          "of all draws");
    check(close_to(prv_log_binomial_tail_above(999999, 0.001, 3000), -1297.16L, 1e-3),
          "of a tail below all doubles");
}

int main(void)
{
    hypergeometric();
    logarithms_of_tails();
    int within = 1;
    for (unsigned n = 1; n <= 60; n++)
        for (unsigned k = 1; k <= n; k++) {
            const prv_binomial_tails t = prv_binomial_tails_at(n, 0.5, k);
            within = within && close_to(t.from, half_tail(n, k), t.error) &&
                     close_to(t.below, half_tail(n, n - k + 1), t.error);
        }
    check(within, "fair coins: both tails within the error stated");

    const prv_binomial_tails none = prv_binomial_tails_at(10, 0.3, 0),
                             all_of = prv_binomial_tails_at(10, 0.3, 11);
    const prv_binomial_tails never = prv_binomial_tails_at(10, 0.0, 1),
                             always = prv_binomial_tails_at(10, 1.0, 10);
    check(none.from == 1.0 && none.below == 0.0 && all_of.from == 0.0 && all_of.below == 1.0,
          "ends of k are exact");
    check(never.from == 0.0 && never.below == 1.0 && always.from == 1.0 && always.below == 0.0,
          "ends of p are exact");

    /* All of n draws: p^n; at least one: 1 - (1 - p)^n. */
    static const double probabilities[] = {0.9, 0.5, 0.01, 1e-9};
    static const uint64_t sizes[] = {1, 15, 16, 17, 100, 1000000};
    for (size_t i = 0; i < sizeof probabilities / sizeof *probabilities; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            const long double p = (long double)probabilities[i], n = (long double)sizes[j];
            const long double all = expl(n * logl(p)), some = -expm1l(n * log1pl(-p)),
                              rest = expl(n * log1pl(-p));
            const prv_binomial_tails last = prv_binomial_tails_at(sizes[j], probabilities[i], sizes[j]);
            const prv_binomial_tails first = prv_binomial_tails_at(sizes[j], probabilities[i], 1);
            if (all > 1e-290L) check(close_to(last.from, all, last.error), "all of %.0Lf draws of %Lg", n, p);
            check(close_to(first.from, some, first.error), "some of %.0Lf draws of %Lg", n, p);
            if (rest > 1e-290L)
                check(close_to(first.below, rest, first.error), "none of %.0Lf draws of %Lg", n, p);
        }

    /* The same tail, of successes and of failures. */
    within = 1;
    for (uint64_t k = 1; k < 2000; k += 37) {
        const prv_binomial_tails t = prv_binomial_tails_at(2000, 0.25, k),
                                 f = prv_binomial_tails_at(2000, 0.75, 2001 - k);
        const int normal = t.from >= DBL_MIN;
        within = within && (!normal || close_to(t.from, (long double)f.below, t.error + f.error)) &&
                 close_to(t.below, (long double)f.from, t.error + f.error);
    }
    check(within, "successes and failures have the same tails");

    /* From 40 digits of mpmath: regularised incomplete beta functions. */
    static const struct {
        uint64_t n;
        double p;
        uint64_t k;
        double truth;
    } rows[] = {
        {9999, 0.01, 110, 0.16913600235407109},      {9999, 0.01, 160, 1.695816139832486e-08},
        {9999, 0.01, 400, 7.681098653858057e-115},   {59999, 0.00390625, 300, 2.100796771763971e-05},
        {1000000, 0.5, 500500, 0.15889734568165276}, {1000000, 0.0009765625, 1500, 1.4062722853217715e-54},
        {123457, 0.75, 92000, 0.9999501937015772},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const prv_binomial_tails t = prv_binomial_tails_at(rows[i].n, rows[i].p, rows[i].k);
        check(close_to(t.from, (long double)rows[i].truth, t.error + DBL_EPSILON),
              "n %.0f, p %g, k %.0f: %.3g", (double)rows[i].n, rows[i].p, (double)rows[i].k, t.from);
    }
    return summary();
}
