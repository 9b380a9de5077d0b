#include "composition/spectrum_sum.h"

#include <math.h>

#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "composition/kernel.h"

/* Sums of Re (a e^(-i theta_j n)) over a run of frequencies, eight rotated together; `turn` is -n modulo N.
 */
PRV_VECTOR static void add_run(const prv_spectrum *s, const prv_run *run, size_t begin, double turn,
                               double *finite, double *reverse)
{
    double turned_re[PRV_LANES], turned_im[PRV_LANES], d[PRV_LANES] = {0}, b[PRV_LANES] = {0}, step_re,
                                                       step_im;
    const double inverse = 1.0 / s->points;
    prv_vm_turn(prv_turns(PRV_LANES * turn, s->points, inverse), &step_re, &step_im);
    for (size_t l = 0; l < PRV_LANES; l++) {
        prv_vm_turn(prv_turns((run->first + (double)l) * turn, s->points, inverse), &turned_re[l],
                    &turned_im[l]);
        turned_re[l] += 1.0;
    }
    const double *restrict d_re = s->finite_re + begin, *restrict d_im = s->finite_im + begin;
    const double *restrict b_re = s->reverse_re + begin, *restrict b_im = s->reverse_im + begin;
    for (size_t j = 0; j < run->length; j += PRV_LANES)
        for (size_t l = 0; l < PRV_LANES; l++) {
            d[l] += d_re[j + l] * turned_re[l] - d_im[j + l] * turned_im[l];
            b[l] += b_re[j + l] * turned_re[l] - b_im[j + l] * turned_im[l];
            const double next = turned_re[l] + (turned_re[l] * step_re - turned_im[l] * step_im);
            turned_im[l] = turned_im[l] + (turned_re[l] * step_im + turned_im[l] * step_re);
            turned_re[l] = next;
        }
    double all_d = 0.0, all_b = 0.0;
    for (size_t l = 0; l < PRV_LANES; l++) {
        all_d += d[l];
        all_b += b[l];
    }
    *finite += all_d;
    *reverse += all_b;
}

void prv_spectrum_at(const prv_spectrum *s, double n, double *finite, double *reverse)
{
    const double turn = -rint(prv_turns(n, s->points, 1.0 / s->points) * s->points);
    *finite = *reverse = 0.0;
    size_t begin = 0;
    for (size_t i = 0; i < s->run_count; i++) {
        add_run(s, &s->runs[i], begin, turn, finite, reverse);
        begin += s->runs[i].length;
    }
}

double prv_spectrum_images(const prv_composed *c, double *low_epsilon, double *high_epsilon)
{
    const prv_spectrum *s = c->spectral.spectrum;
    const prv_tilted *t = &c->tilted;
    const double period = s->points * c->spacing, log_tolerance = log(s->tolerance);
    const double again = exp(-t->tilt * period), rest = -expm1(-t->tilt * period);
    const double weight = prv_kernel_maximum(t->tilt) + again / rest;
    /* Of what lies a period above low_epsilon, as much as weighs the tolerance. */
    double high = s->tolerance / weight;
    const double errors = t->log_error + t->relative_error +
                          4.0 * PRV_UNIT * (1.0 + fabs(t->log_up) + fabs(log(high)));
    *low_epsilon = t->shift_up > 0.0
                       ? (t->log_up - log(high) + errors * PRV_SECOND_ORDER) / t->shift_up - period
                       : HUGE_VAL;
    if (t->support_high - period < *low_epsilon) {
        *low_epsilon = t->support_high - period + c->spacing + prv_tilted_blur(t);
        high = 0.0;
    }
    *high_epsilon = s->low + period + log_tolerance / t->tilt;
    const double rounding = 16.0 * DBL_EPSILON * (8.0 + t->tilt * (fabs(s->low) + period));
    return ((s->below + high) * weight + s->tolerance / rest) * (1.0 + rounding);
}
