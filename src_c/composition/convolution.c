#include "composition/convolution.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/progress.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "composition/circle.h"
#include "composition/direct_convolution.h"
#include "composition/kernel.h"
#include "composition/spectral_power.h"

/* Sum over all factors of the spectrum of what a transform's error may change in each. Up to this,
 * COVERS_SECOND_ORDER times the first order bounds all orders (docs/bounds.rst, "Transforms"). */
#define MOST_SPECTRUM_ERROR 0.05
#define COVERS_SECOND_ORDER 1.2

/* Part of the window's tolerance that each dropped tail of a direct composition may take. Any part is sound.
 */
#define DROPPED_PART 0.01

/* ---- Without transforms --------------------------------------------------------------------- */

/* One step that runs once: its tilted masses are the law. */
static void compose_single(const prv_lattice *lattice, double count, const prv_window *window,
                           prv_workspace *work, prv_composed *result)
{
    prv_tilted_add(&result->tilted, lattice, count, work->weight);
    prv_circle_fill(lattice, work->weight, HUGE_VAL, work->real, window->length);
    result->tilted.relative_error += prv_circle_error(lattice, window->length);
}

/* Several, multiplied out. */
static prv_status compose_directly(const prv_lattice *const *lattices, const double *counts, size_t steps,
                                   double total, const prv_window *window, prv_workspace *work,
                                   prv_composed *result)
{
    /* The tails dropped from m steps count total / m times: m = 1, 2, 4, ... make up 8 times this times the
     * total. */
    const double dropped = DROPPED_PART * window->tolerance /
                           (prv_kernel_maximum(result->tilted.tilt) * total);
    double relative, lost;
    prv_direct *direct = NULL;
    prv_status status = prv_direct_new(window->length, dropped, &direct);
    if (status != PRV_OK) return status;
    for (size_t j = 0; j < steps; j++) {
        prv_tilted_add(&result->tilted, lattices[j], counts[j], work->weight);
        status = prv_direct_add(direct, lattices[j], work->weight, counts[j], window->options);
        if (status != PRV_OK) goto done;
    }
    prv_direct_masses(direct, work->real, &relative, &lost);
    result->tilted.relative_error += relative;
    result->convolved.outside = lost;
done:
    prv_direct_free(direct);
    return status;
}

/* ---- By transforms -------------------------------------------------------------------------- */

/* What the errors of the powers come to in the product: the terms of convolution.h. */
typedef struct product_errors {
    double from_weights; /* sum k |w|_2 |rest|_2, the transforms' error in L2 */
    double from_sums;    /* the same with |w|_1 */
    double from_powers;  /* sum of the powers' own errors */
    double least_power;  /* least L2 norm of the powers so far */
} product_errors;

/* Adds those of one step. */
static void add_errors(const prv_spectral_power *power, double count, double n, product_errors *errors)
{
    const double scale = 1.0 / n;
    /* Every spectrum is at most 1 in modulus, so |prod without one j|_2 is at most the norm of any of its
     * factors: this step's own to the k - 1, or a step's before it. */
    const double rest = fmin(sqrt(power->less_one_square * scale), errors->least_power);
    errors->from_weights += count * power->weight_norm * rest;
    errors->from_sums += count * power->weight_sum * rest;
    errors->from_powers += power->own_error;
    errors->least_power = fmin(errors->least_power, sqrt(power->square * scale));
}

/* product *= z, for half of the frequencies; returns the sum of the square moduli over all. */
PRV_VECTOR static double multiply_spectra(double *restrict product, const double *restrict z, size_t length)
{
    double square = 0.0;
    for (size_t i = 0; i < length; i++) {
        const double re = product[2 * i] * z[2 * i] - product[2 * i + 1] * z[2 * i + 1];
        const double im = product[2 * i] * z[2 * i + 1] + product[2 * i + 1] * z[2 * i];
        product[2 * i] = re;
        product[2 * i + 1] = im;
        square += 2.0 * (re * re + im * im);
    }
    return square;
}

static prv_status compose_by_transforms(const prv_lattice *const *lattices, const double *counts,
                                        size_t steps, const prv_window *window, const prv_fft *fft,
                                        prv_workspace *work, prv_composed *result)
{
    const size_t n = window->length, half = n / 2 + 1;
    const double points = (double)n, eta = 7.0 * PRV_UNIT * log2(points), scale = 1.0 / points;
    prv_convolved *convolved = &result->convolved;
    product_errors errors = {.least_power = HUGE_VAL};
    double product_square = 0.0, spectrum_error = 0.0;
    prv_status status;
    for (size_t j = 0; j < steps; j++) {
        status = prv_check_interrupt(window->options);
        if (status != PRV_OK) return status;
        prv_tilted_add(&result->tilted, lattices[j], counts[j], work->weight);
        result->tilted.relative_error += counts[j] * prv_circle_error(lattices[j], n);
        prv_spectral_power power;
        if (window->precise) {
            status = prv_spectral_power_precise(lattices[j], counts[j], fft, window->options, work, &power);
            if (status != PRV_OK) return status;
        } else {
            prv_spectral_power_plain(lattices[j], counts[j], fft, work, &power);
        }
        convolved->transforms += power.transforms;
        spectrum_error += counts[j] * eta * power.weight_norm * sqrt(points);
        if (spectrum_error > MOST_SPECTRUM_ERROR) return PRV_ERR_PRECISION;
        add_errors(&power, counts[j], points, &errors);
        if (steps == 1)
            product_square = power.square;
        else if (j == 0)
            memcpy(work->product, work->spectrum, 2 * half * sizeof(double));
        else
            product_square = multiply_spectra(work->product, work->spectrum, half);
    }
    status = prv_check_interrupt(window->options);
    if (status != PRV_OK) return status;
    fft->inverse(fft->inverse_plan, steps == 1 ? work->spectrum : work->product, work->real);
    convolved->transforms++;
    for (size_t i = 0; i < n; i++) work->real[i] *= scale;
    const double own = sqrt(product_square * scale);
    const double others = errors.from_powers + (eta + 4.0 * (double)steps * PRV_UNIT) * own;
    convolved->rounding = COVERS_SECOND_ORDER * (eta * errors.from_weights + others) +
                          4.0 * PRV_NEGLIGIBLE_POWER;
    convolved->rounding_norm = COVERS_SECOND_ORDER * (eta * errors.from_sums + others) +
                               4.0 * PRV_NEGLIGIBLE_POWER * sqrt(points);
    /* What overflowed, or is no number, bounds nothing. */
    if (!(convolved->rounding < HUGE_VAL && convolved->rounding_norm < HUGE_VAL)) return PRV_ERR_PRECISION;
    return prv_check_arithmetic(); /* a caller's transforms may have changed the mode */
}

/* ---- The stage ---------------------------------------------------------------------------- */

/* Where the window is on the lattice and on the circle, and what lies outside. */
static void place_window(long double offset, const prv_window *window, prv_composed *result)
{
    prv_convolved *convolved = &result->convolved;
    const double first = floor((window->lowest - (double)offset) / result->spacing);
    convolved->start = prv_circle_place(first, convolved->length);
    result->lowest = offset + (long double)first * (long double)result->spacing;
    const double above = (double)result->lowest + (double)convolved->length * result->spacing;
    const double below = (double)result->lowest - result->spacing;
    convolved->outside += prv_tilted_above(&result->tilted, above) + prv_tilted_below(&result->tilted, below);
    convolved->outside = fmin(convolved->outside, 1.0);
}

prv_status prv_compose(const prv_lattice *const *lattices, const double *counts, size_t steps, double tilt,
                       const prv_window *window, const prv_fft *fft, prv_workspace *work,
                       prv_composed *result)
{
    double total = 0.0;
    long double offset = 0.0L;
    for (size_t j = 0; j < steps; j++) {
        total += counts[j];
        offset += (long double)counts[j] * (long double)lattices[j]->offset;
    }
    memset(result, 0, sizeof *result);
    result->engine = PRV_ENGINE_CONVOLUTION;
    result->tilted = prv_tilted_new(tilt, window);
    result->spacing = lattices[0]->spacing;
    result->convolved.mass = work->real;
    result->convolved.length = window->length;
    prv_status status = PRV_OK;
    if (fft != NULL)
        status = compose_by_transforms(lattices, counts, steps, window, fft, work, result);
    else if (total > 1.0)
        status = compose_directly(lattices, counts, steps, total, window, work, result);
    else
        compose_single(lattices[0], counts[0], window, work, result);
    if (status != PRV_OK) return status;
    place_window(offset, window, result);
    return PRV_OK;
}

double prv_composed_loss(const prv_composed *composed, size_t point)
{
    return (double)(composed->lowest + (long double)composed->spacing * (long double)point);
}
