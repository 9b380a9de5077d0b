/* Epsilon of 1000 steps of DP-SGD at delta 1e-7 again, from its parts: a mechanism that is described once, an
 * array of steps, and options. */
#include <prvcore.h>
#include <stdio.h>

static prv_status epsilon_of_dp_sgd(prv_bounds *epsilon)
{
    prv_mechanism *gaussian = NULL, *step = NULL;
    prv_status status = prv_mechanism_gaussian(0.8, &gaussian);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(gaussian, 1e-3, &step);
    if (status == PRV_OK) {
        const prv_step steps[] = {{step, 1000}}; /* and others, in any order */
        const double delta = 1e-7;
        prv_options options = prv_options_default();
        options.neighbors = PRV_REMOVE;
        options.eps_relative_error = 1e-4;
        status = prv_epsilon(steps, 1, &options, &delta, 1, epsilon, NULL);
    }
    prv_mechanism_free(step); /* each of these may be NULL */
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
