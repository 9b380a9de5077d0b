/* Normal tails against the C library's in long double. */
#include "check.h"

#include "numerics/normal.h"
#include "numerics/rounding.h"

/* Relative error in units of u. The long double functions are trusted to a few of their own units, which are
 * of the size of u where long double is no longer than double; e^(x^2 / 2) is off by x^2 of them. */
static void mills_ratio(void)
{
    double worst = 0.0, at = 0.0;
    for (double x = 2.0; x < 30.0; x += 0.00731) {
        const long double z = x;
        const long double truth = normal_upper(z) * expl(0.5L * z * z) *
                                  2.50662827463100050241576528481104525L;
        const double trusted = PRV_WIDE_LIBM_UNIT * (16.0 + 2.0 * x * x) / PRV_UNIT;
        const double error = (double)fabsl((long double)prv_mills_ratio(x) / truth - 1.0L) / PRV_UNIT -
                             trusted;
        if (error > worst) {
            worst = error;
            at = x;
        }
    }
    check(worst <= 4.0, "Mills' ratio: off by %.2g u at most, at %g", worst, at);
}

int main(void)
{
    mills_ratio();
    return summary();
}
