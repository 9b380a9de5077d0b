/* The kernel of a spectrum's sums, whose modulus SPECTRUM.md bounds. */
#include <complex.h>

#include "check.h"

#include "composition/kernel.h"

typedef long double complex wide_complex;

/* SPECTRUM.md, section 2: |kern(z)| <= q / divisor for every u in (0, q]. */
static void kernel(void)
{
    double most = 0.0, least = HUGE_VAL;
    for (int trial = 0; trial < trials_of(200000); trial++) {
        const double q = log_uniform(1e-8, 10.0), lam = log_uniform(1e-4, 1e4);
        const double theta = random_below(2) ? log_uniform(1e-9, 3.1415926535) : uniform(1e-9, 3.1415926535);
        const double u = random_below(4) ? q * uniform(1e-9, 1.0) : q;
        const long double r = expl(-(long double)lam * (long double)q),
                          r1 = expl(-((long double)lam + 1.0L) * (long double)q);
        const wide_complex turn = cexpl(-I * (long double)theta),
                           part = cexpl(-I * (long double)theta * (long double)u / (long double)q);
        const long double s = sinl(0.5L * (long double)theta);
        const wide_complex turn_less_one = -2.0L * s * s - I * sinl((long double)theta);
        /* 1 - e^(-z q) = (1 - r) - r (turn - 1). */
        const wide_complex a = -expm1l(-(long double)lam * (long double)q) - r * turn_less_one;
        const wide_complex b = -expm1l(-((long double)lam + 1.0L) * (long double)q) - r1 * turn_less_one;
        /* e^(-z u) (1/a - e^-u / b) = e^(-z u) (b - a + a (1 - e^-u)) / (a b), b - a = e^(-z q) (1 - e^-q).
         */
        const wide_complex difference = r * turn * -expm1l(-(long double)q) - a * expm1l(-(long double)u);
        const long double modulus = cabsl(expl(-(long double)lam * (long double)u) * part * difference /
                                          (a * b));
        const double bound = q / prv_kernel_divisor(lam * q, theta), ratio = (double)modulus / bound;
        most = fmax(most, ratio);
        if (lam * q < 0.1 && theta < 0.1) least = fmin(least, ratio);
    }
    check(most <= 1.0 + 1e-12, "the kernel is within its bound (at most %.6f of it)", most);
    check(least >= 0.0 && most > 0.9, "and the bound is no larger than it need be");
}

int main(void)
{
    kernel();
    return summary();
}
