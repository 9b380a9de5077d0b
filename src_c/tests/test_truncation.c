/* How far the losses of a composition reach, against the curve of Gaussian noise. */
#include "asking.h"

#include "mechanisms/mechanism.h"
#include "questions/truncation.h"

int main(void)
{
    int enough = 1, near = 1, farther = 1;
    for (int trial = 0; trial < 60; trial++) {
        const double noise = log_uniform(0.5, 30.0), error = log_uniform(1e-12, 1e-3), width = 0.1;
        prv_mechanism *m = gaussian(noise);
        const prv_step step = {m, 1 + random_below(1000)};
        prv_direction d;
        if (prv_direction_new(&step, 1, PRV_REMOVE, false, NULL, NULL, &d) != PRV_OK) abort();
        const long double mu = sqrtl((long double)step.count) / (long double)noise;
        const long double reach = (long double)prv_truncation(&d, width, error) - 2.0L - (long double)width;
        /* delta at the reach, and the chance of a loss below -reach, are a quarter of the error at most. */
        enough = enough && reach > 0.0L && gaussian_delta(reach, mu) <= 0.25L * (long double)error &&
                 normal_upper(reach / mu + 0.5L * mu) <= 0.25L * (long double)error;
        near = near && reach <= 0.5L * mu * mu + 10.0L * mu + 3.0L;
        prv_direction_free(&d);
        m->density_error = 1e-3;
        if (prv_direction_new(&step, 1, PRV_REMOVE, false, NULL, NULL, &d) != PRV_OK) abort();
        farther = farther &&
                  (long double)prv_truncation(&d, width, error) - 2.0L - (long double)width >= reach;
        prv_direction_free(&d);
        prv_mechanism_free(m);
    }
    check(enough, "the reach of Gaussian compositions is no less than it has to be");
    check(near, "... and not much more");
    check(farther, "that of densities that are off is no less");
    return summary();
}
