/* Tilted laws: their log-moments. */
#include "random_lattice.h"

#include "lattices/tilt.h"

/* Log-moments from above, against long double. */
static void moments_from_above(void)
{
    int enough = 1, close = 1;
    for (int trial = 0; trial < 500; trial++) {
        prv_lattice y = random_lattice(1 + random_below(12), 0.1, 3);
        const double lam = log_uniform(0.1, 100.0);
        long double moment = 0.0L;
        for (size_t i = 0; i < y.length; i++)
            moment += (long double)y.mass[i] * expl((long double)lam * (long double)y.loss[i]);
        const double above = prv_log_moment_above(y.loss, y.mass, y.length, lam);
        const double error = prv_tilt_error(y.loss, y.length, lam, above);
        enough = enough && (long double)above >= logl(moment);
        close = close && above <= (double)logl(moment) + 2.1 * error;
        prv_lattice_free(&y);
    }
    check(enough, "log-moments from above are not below those of long double");
    check(close, "... and not above them by more than their error");
    const double none = 0.0;
    check(prv_log_moment_above(&none, &none, 1, 1.0) == -HUGE_VAL, "without mass they are -infinity");
}

int main(void)
{
    moments_from_above();
    return summary();
}
