/* Epsilon of 1000 steps of DP-SGD at delta 1e-7 again, from the two distribution functions of the loss, as a
 * mechanism of one's own would have it; the query gives up after ten seconds. */
#include <math.h>
#include <prvcore.h>
#include <stdio.h>
#include <time.h>

typedef struct noise {
    double multiplier, sampling_probability;
} noise;

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

/* With the record in the data: Q = (1 - p) N(0, s^2) + p N(1, s^2); without it: P = N(0, s^2). The loss
 * log(dQ/dP) = log(1 - p + p e^((2x - 1) / (2 s^2))) rises with the outcome x, and is above log(1 - p). */
static int distribution_of_loss(void *context, const double *losses, size_t length, double *cdf_q,
                                double *cdf_p)
{
    const noise *n = context;
    const double s = n->multiplier, p = n->sampling_probability;
    for (size_t i = 0; i < length; i++) {
        const double ratio = 1.0 + expm1(losses[i]) / p; /* e^((2x - 1) / (2 s^2)) */
        const double x = ratio > 0.0 ? s * s * log(ratio) + 0.5 : -HUGE_VAL;
        cdf_p[i] = normal_cdf(x / s);
        cdf_q[i] = (1.0 - p) * cdf_p[i] + p * normal_cdf((x - 1.0) / s);
    }
    return 0; /* anything else ends the query with PRV_ERR_CALLBACK */
}

static int is_late(void *context, const prv_progress *progress)
{
    const time_t *start = context;
    (void)progress;
    return difftime(time(NULL), *start) > 10.0; /* ends the query with PRV_ERR_INTERRUPTED */
}

int main(void)
{
    noise n = {0.8, 1e-3}; /* read by queries: it outlives the mechanism */
    time_t start = time(NULL);
    prv_mechanism *mechanism = NULL;
    prv_bounds epsilon;
    prv_status status = prv_mechanism_cdfs(distribution_of_loss, &n, 0.0, &mechanism);
    if (status == PRV_OK) {
        const prv_step steps[] = {{mechanism, 1000}};
        const double delta = 1e-7;
        prv_options options = prv_options_default();
        options.neighbors = PRV_REMOVE; /* Q is the law with the record */
        options.progress = is_late;
        options.progress_context = &start;
        status = prv_epsilon(steps, 1, &options, &delta, 1, &epsilon, NULL);
    }
    prv_mechanism_free(mechanism);
    if (status != PRV_OK) {
        fprintf(stderr, "%s\n", prv_status_message(status));
        return 1;
    }
    printf("%.17g <= epsilon <= %.17g\n", epsilon.lower, epsilon.upper);
    return 0;
}
