/* What the frequencies that are not summed may add to or take from D: SPECTRUM.md, section 5. */
#ifndef PRV_LEFT_OUT_H
#define PRV_LEFT_OUT_H

#include "characteristic.h"

/* |kern(lam q + i theta)| <= q / prv_kernel_divisor(lam q, theta), 0 < theta <= pi: SPECTRUM.md, section 2. */
double prv_kernel_divisor(double lam_q, double theta);

typedef struct march {
    prv_source *sources;
    size_t steps;
    double *next; /* [steps] */
    double work, most_work;
    double enough; /* result > tolerance: with fewer frequencies than that it will be so again */
    double factor; /* |Phi| is at most that times e^(-decay) */
    const prv_options *options; /* asked whether to go on; may be NULL */
} prv_march;

/* Fills *result with at least sum_{j >= first} (2 / N) |Phi(theta_j)| |kern_j|, N = points; exactly enough to tell
 * whether it is below `tolerance`. PRV_ERR_PRECISION when that would take more than march->most_work. */
prv_status prv_left_out(prv_march *march, double first, double points, double unit, double tilt,
                        double tolerance, double *result);

#endif
