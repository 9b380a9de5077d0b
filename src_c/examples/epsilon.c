/* Epsilon of 1000 steps of DP-SGD at delta 1e-7, in C. */
#include <prvcore.h>
#include <stdio.h>

static prv_status epsilon_of_dp_sgd(prv_bounds *epsilon)
{
    prv_mechanism *gaussian = NULL, *step = NULL;
    prv_fft_provider *fft = NULL;
    prv_status status = prv_mechanism_gaussian(0.8, &gaussian);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(gaussian, 1e-3, &step);
    if (status == PRV_OK) status = prv_fft_provider_new(&fft);
    if (status == PRV_OK) {
        const prv_step steps[] = {{step, 1000}};
        const double delta = 1e-7;
        const prv_options options = {
            .neighbors = PRV_REMOVE,
            .eps_relative_error = 1e-3,
            .eps_floor = 1e-3,
            .memory_limit = (size_t)1 << 30,
            .fft = fft,
        };
        status = prv_epsilon(steps, 1, &options, &delta, 1, epsilon, NULL);
    }
    prv_fft_provider_free(fft); /* each of these may be NULL */
    prv_mechanism_free(step);
    prv_mechanism_free(gaussian);
    return status;
}

int main(void)
{
    prv_bounds epsilon;
    const prv_status status = epsilon_of_dp_sgd(&epsilon);
    if (status != PRV_OK) {
        fprintf(stderr, "%s\n", prv_status_message(status));
        return 1;
    }
    printf("%.17g <= epsilon <= %.17g\n", epsilon.lower, epsilon.upper);
    return 0;
}
