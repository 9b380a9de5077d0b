#include "composition/growing_spectrum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"

prv_status prv_growing_plan_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                                double spacing, double tilt, const prv_window *window, double most_work,
                                prv_growing_plan *plan, prv_growing_spectrum *before)
{
    prv_composed composed;
    memset(plan, 0, sizeof *plan);
    prv_growing_clear(before);
    const prv_status status = prv_spectrum_beginning(lattices, counts, steps, tilt, window, most_work,
                                                     &plan->beginning, &composed, &before->exponents,
                                                     &before->composed);
    if (status != PRV_OK) return status;
    plan->window = *window;
    plan->window.options = NULL; /* they live as long as the call that made the plan */
    plan->tilt = tilt;
    plan->unit = composed.spacing;
    plan->divisor = (int64_t)fmin(rint(composed.spacing / spacing), 0x1p53);
    const bool is_multiple = plan->divisor > 0 && plan->unit == spacing * (double)plan->divisor;
    if (!is_multiple || plan->beginning.count == 0) return PRV_ERR_PRECISION;
    return prv_kernels_new(&before->exponents, plan->unit, tilt, plan->beginning.points, &plan->kernels);
}

prv_status prv_growing_plan_once(const prv_lattice *lattice, double least, double tilt,
                                 const prv_window *window, double most_work, prv_growing_plan *plan,
                                 prv_growing_spectrum *once)
{
    memset(plan, 0, sizeof *plan);
    prv_growing_clear(once);
    const prv_status status = prv_spectrum_once(lattice, least, tilt, window, most_work, &plan->beginning,
                                                &once->exponents, &once->composed);
    plan->tilt = tilt;
    plan->unit = once->composed.spacing;
    if (status != PRV_OK) return status;
    return prv_kernels_new(&once->exponents, plan->unit, tilt, plan->beginning.points, &plan->kernels);
}

void prv_growing_plan_free(prv_growing_plan *plan)
{
    prv_spectrum_free(&plan->beginning);
    prv_kernels_free(&plan->kernels);
    memset(plan, 0, sizeof *plan);
}

prv_status prv_growing_begin(const prv_growing_plan *plan, prv_growing_spectrum *sums)
{
    prv_growing_clear(sums);
    sums->composed.tilted = prv_tilted_new(plan->tilt, &plan->window);
    sums->composed.engine = PRV_ENGINE_SPECTRUM;
    sums->composed.spacing = plan->unit;
    const prv_spectrum *b = &plan->beginning;
    for (size_t run = 0; run < b->run_count; run++) {
        const prv_status status = prv_exponents_append(&sums->exponents, b->runs[run].first,
                                                       b->runs[run].length);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

prv_status prv_growing_add(const prv_growing_plan *plan, const prv_lattice *lattice, double count,
                           prv_growing_spectrum *sums)
{
    double *weight = prv_allocate(lattice->length, sizeof *weight);
    if (weight == NULL) return PRV_ERR_MEMORY;
    const prv_status status = prv_spectrum_add(lattice, count, plan->divisor, plan->beginning.points, weight,
                                               &sums->exponents, &sums->composed);
    prv_release(weight);
    return status;
}

prv_status prv_growing_repeat(const prv_growing_spectrum *once, const prv_lattice *lattice, double count,
                              prv_growing_spectrum *sums)
{
    prv_composed *c = &sums->composed;
    *c = once->composed;
    c->tilted = prv_tilted_repeat(&once->composed.tilted, lattice, count);
    c->lowest *= (long double)count;
    c->spectral.place_size *= count;
    return prv_exponents_repeat(&once->exponents, count, &sums->exponents);
}

prv_status prv_growing_copy(const prv_growing_spectrum *from, prv_growing_spectrum *to)
{
    to->composed = from->composed;
    return prv_exponents_copy(&from->exponents, &to->exponents);
}

prv_status prv_growing_read(const prv_growing_plan *plan, const prv_growing_spectrum *sums,
                            prv_spectrum *spectrum, prv_composed *composed)
{
    memset(spectrum, 0, sizeof *spectrum);
    *composed = sums->composed;
    const prv_spectrum *b = &plan->beginning;
    const prv_status status = prv_spectrum_fill(&sums->exponents, composed->spectral.laws, false, b->points,
                                                &plan->kernels, spectrum);
    if (status != PRV_OK) return status;
    spectrum->tolerance = b->tolerance;
    spectrum->left_out = b->left_out;
    spectrum->low = b->low;
    spectrum->below = prv_tilted_below(&composed->tilted, b->low);
    composed->spectral.spectrum = spectrum;
    return PRV_OK;
}

void prv_growing_clear(prv_growing_spectrum *sums)
{
    memset(&sums->composed, 0, sizeof sums->composed);
    sums->exponents.count = 0;
}

void prv_growing_free(prv_growing_spectrum *sums)
{
    prv_exponents_free(&sums->exponents);
    memset(sums, 0, sizeof *sums);
}
