/* Steps that a budget leaves after many different ones: the most, by another engine; what prv_calibrate
 * finds; and the same where one of them has run before, or directions differ. */
#include "asking.h"

enum { MANY = 12 };

/* Bounds by convolution after `left` runs more. */
static prv_bounds after(const prv_step *steps, const prv_mechanism *mechanism, uint64_t left,
                        prv_neighbors neighbors, double delta)
{
    prv_step all[MANY + 1];
    memcpy(all, steps, MANY * sizeof *all);
    all[MANY] = (prv_step){mechanism, left};
    prv_options o = options_of(1e-5);
    o.neighbors = neighbors;
    o.engine = PRV_ENGINE_CONVOLUTION;
    prv_bounds b;
    if (prv_epsilon(all, MANY + 1, &o, &delta, 1, &b, NULL) != PRV_OK) abort();
    return b;
}

static void leaves(const prv_step *steps, const prv_mechanism *mechanism, double epsilon, double delta,
                   prv_neighbors neighbors)
{
    prv_options o = options_of(0.0);
    o.neighbors = neighbors;
    uint64_t left = 0;
    const prv_status status = prv_steps_left(steps, MANY, mechanism, epsilon, delta, 1e-4, &o, &left);
    check(status == PRV_OK && left > 0, "%d: %llu are left", (int)status, (unsigned long long)left);
    check(after(steps, mechanism, left, neighbors, delta).lower <= epsilon, "... which fit");
    /* Bounds may cost less than one step. */
    check(after(steps, mechanism, left + 2, neighbors, delta).lower > epsilon, "... and no two more");
    prv_step all[MANY + 1];
    memcpy(all, steps, MANY * sizeof *all);
    all[MANY] = (prv_step){mechanism, 1};
    prv_calibration c;
    const prv_status searched = prv_calibrate(all, MANY + 1, MANY, PRV_STEPS, epsilon, delta, 1e-4, &o, &c);
    check(searched == PRV_OK && fabs(c.factor - (double)left) <= 1.0, "... %g by calibration", c.factor);
}

static void refusals(const prv_step *steps, const prv_mechanism *mechanism)
{
    const prv_options o = options_of(0.0);
    uint64_t left = 7;
    check(prv_steps_left(steps, MANY, mechanism, -1.0, 1e-5, 1e-4, &o, &left) == PRV_ERR_EPSILON &&
              prv_steps_left(steps, MANY, mechanism, 1.0, 1.5, 1e-4, &o, &left) == PRV_ERR_DELTA &&
              prv_steps_left(steps, MANY, mechanism, 1.0, 1e-5, 0.5, &o, &left) == PRV_ERR_TOLERANCE &&
              prv_steps_left(steps, MANY, mechanism, 1e-3, 1e-5, 1e-4, &o, &left) == PRV_ERR_TARGET &&
              left == 7,
          "refusals write nothing");
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    prv_step steps[MANY];
    for (int j = 0; j < MANY; j++) steps[j] = (prv_step){subsampled(0.8 + 0.05 * j, 2e-3), 10 + (uint64_t)j};
    prv_mechanism *other = subsampled(1.1, 3e-3);
    leaves(steps, other, 1.0, 1e-6, PRV_ADD_OR_REMOVE);
    leaves(steps, other, 0.8, 1e-5, PRV_ADD);
    leaves(steps, other, 2.0, 1e-6, PRV_REPLACE_ONE);
    leaves(steps, steps[3].mechanism, 1.0, 1e-6, PRV_REMOVE);
    refusals(steps, other);
    prv_mechanism_free(other);
    for (int j = 0; j < MANY; j++) prv_mechanism_free((prv_mechanism *)steps[j].mechanism);
    prv_fft_provider_free(provider);
    return summary();
}
