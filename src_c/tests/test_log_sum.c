/* Sums of exponentials against long double sums, within their stated errors. */
#include "check.h"

#include "numerics/log_sum.h"
#include "numerics/rounding.h"

/* Of terms e^x, x within `spread` of `center`: the exact logarithm lies between the bounds, which are close.
 */
static void sums_hold_the_exact_logarithm(double center, double spread, size_t terms)
{
    int held = 1;
    double widest = 0.0;
    for (int trial = 0; trial < 200; trial++) {
        prv_log_sum sum = PRV_EMPTY_LOG_SUM;
        long double exact = 0.0L;
        for (size_t i = 0; i < terms; i++) {
            const double x = uniform(-spread, spread);
            exact += expl((long double)x);
            prv_log_sum_add(&sum, center + x);
            /* center + x is rounded: the exact sum is that of what was added. */
            exact += expl((long double)x) *
                     expm1l((long double)(center + x) - (long double)center - (long double)x);
        }
        const long double truth = (long double)center + logl(exact);
        const double below = prv_log_sum_below(&sum), above = prv_log_sum_above(&sum);
        held = held && (long double)below <= truth && truth <= (long double)above &&
               below <= prv_log_sum_value(&sum) && prv_log_sum_value(&sum) <= above;
        widest = fmax(widest, above - below);
    }
    check(held, "%d terms about e^%g: the exact logarithm is within the bounds", (int)terms, center);
    check(widest < 1e-12 * (1.0 + fabs(center)), "... which are %.2g apart at most", widest);
}

static void edges(void)
{
    prv_log_sum sum = PRV_EMPTY_LOG_SUM;
    check(prv_log_sum_value(&sum) == -HUGE_VAL && prv_log_sum_above(&sum) == -HUGE_VAL, "no term: log 0");
    prv_log_sum_add(&sum, -HUGE_VAL);
    check(sum.terms == 0.0, "a term of 0 is none");
    prv_log_sum_add(&sum, HUGE_VAL);
    prv_log_sum_add(&sum, 1.0);
    prv_log_sum_add(&sum, HUGE_VAL);
    check(prv_log_sum_value(&sum) == HUGE_VAL && prv_log_sum_below(&sum) == HUGE_VAL,
          "an infinite term makes the sum infinite");
    prv_log_sum one = PRV_EMPTY_LOG_SUM;
    prv_log_sum_add(&one, -1e5);
    check(prv_log_sum_value(&one) == -1e5, "a term below the least double keeps its logarithm");
}

static void differences(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 1000; trial++) {
        const double a = uniform(-50.0, 50.0), d = log_uniform(1e-12, 50.0), b = a - d;
        const long double truth = (long double)a + logl(-expm1l((long double)b - (long double)a));
        const double below = prv_log_difference_below(a, b);
        held = held && (long double)below <= truth;
        close = close && truth - (long double)below <= 1e-13L * (50.0L + fabsl(truth));
    }
    check(held && close, "log(e^a - e^b): not above the exact one, and close");
    check(prv_log_difference(1.0, 1.0) == -HUGE_VAL && prv_log_difference(1.0, 2.0) == -HUGE_VAL,
          "no positive difference: log 0");
}

/* A part of a power of 2 of a double is a double, and so are the distances of doubles as close as these. */
static void moving_outwards(void)
{
    static const double parts[] = {0.0, 0x1p-53, 0x1p-50, 0x1p-40};
    int enough = 1, near = 1;
    for (int trial = 0; trial < 4000; trial++) {
        const double x = ldexp(uniform(1.0, 2.0), (int)random_below(1800) - 900), part = parts[trial % 4];
        const double below = x - prv_outwards(x, part, -1), above = prv_outwards(x, part, 1) - x;
        enough = enough && below >= part * x && above >= part * x && below > 0.0 && above > 0.0;
        near = near && fmax(below, above) <= 1.01 * part * x + 4.0 * DBL_EPSILON * x;
    }
    check(enough, "a value is moved outwards by what it may be off by, and by some");
    check(near, "... and not by much more");
}

/* Sums of a double and an error of some of its last digits, in long double. */
static void moving_apart(void)
{
    int enough = prv_apart(0.1, 0.0, 1) == 0.1 && prv_apart(0.1, 0.0, -1) == 0.1, near = 1;
    for (int trial = 0; trial < 4000; trial++) {
        const double x = uniform(0.5, 2.0), error = DBL_EPSILON * uniform(0.0, 8.0);
        const double below = prv_apart(x, error, -1), above = prv_apart(x, error, 1);
        enough = enough && (long double)below <= (long double)x - (long double)error &&
                 (long double)above >= (long double)x + (long double)error;
        near = near && above - below <= 2.0 * error + 4.0 * DBL_EPSILON;
    }
    check(enough, "a value is moved by what it may be off by, and not at all where it is not off");
    check(near, "... and not by much more");
}

int main(void)
{
    sums_hold_the_exact_logarithm(0.0, 1.0, 3);
    sums_hold_the_exact_logarithm(-2000.0, 30.0, 100);
    sums_hold_the_exact_logarithm(5000.0, 5.0, 1000);
    edges();
    differences();
    moving_outwards();
    moving_apart();
    return summary();
}
