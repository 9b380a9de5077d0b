/* DP-SGD in one call: Gaussian noise on Poisson samples, with prv_options_default. */
#include "prvcore.h"

/* Of a noise multiplier, relative. */
static const double NOISE_TOLERANCE = 1e-4;

/* Makes one step of DP-SGD. */
static prv_status new_step(double noise_multiplier, double sampling_probability, prv_mechanism **step)
{
    prv_mechanism *gaussian;
    prv_status status = prv_mechanism_gaussian(noise_multiplier, &gaussian);
    if (status != PRV_OK) return status;
    status = prv_mechanism_poisson_subsampled(gaussian, sampling_probability, step);
    prv_mechanism_free(gaussian);
    return status;
}

/* prv_epsilon or prv_delta. */
typedef prv_status (*question)(const prv_step *steps, size_t step_count, const prv_options *options,
                               const double *values, size_t length, prv_bounds *bounds, prv_report *reports);

static prv_status ask(question asked, double noise_multiplier, double sampling_probability, uint64_t steps,
                      double value, prv_bounds *bounds)
{
    prv_mechanism *step;
    prv_status status = new_step(noise_multiplier, sampling_probability, &step);
    if (status != PRV_OK) return status;
    const prv_step run = {step, steps};
    const prv_options options = prv_options_default();
    status = asked(&run, 1, &options, &value, 1, bounds, NULL);
    prv_mechanism_free(step);
    return status;
}

prv_status prv_dpsgd_epsilon(double noise_multiplier, double sampling_probability, uint64_t steps,
                             double delta, prv_bounds *epsilon)
{
    return ask(prv_epsilon, noise_multiplier, sampling_probability, steps, delta, epsilon);
}

prv_status prv_dpsgd_delta(double noise_multiplier, double sampling_probability, uint64_t steps,
                           double epsilon, prv_bounds *delta)
{
    return ask(prv_delta, noise_multiplier, sampling_probability, steps, epsilon, delta);
}

prv_status prv_dpsgd_noise(double sampling_probability, uint64_t steps, double epsilon, double delta,
                           prv_calibration *noise)
{
    prv_mechanism *step;
    prv_status status = new_step(1.0, sampling_probability,
                                 &step); /* so that factors are noise multipliers */
    if (status != PRV_OK) return status;
    const prv_step run = {step, steps};
    const prv_options options = prv_options_default();
    status = prv_calibrate(&run, 1, 0, PRV_NOISE_SCALE, epsilon, delta, NOISE_TOLERANCE, &options, noise);
    prv_mechanism_free(step);
    return status;
}
