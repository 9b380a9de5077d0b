/* One pass of a query, cut into the stages of the core, so that each can be run and timed alone: the
 * Poisson-subsampled Gaussian, 'remove', epsilon at a delta, at the tilt and mesh of the last pass of the
 * query itself. Called by ctypes; it reads internal headers, so it is compiled from the sources that it
 * measures. */
#include <stdlib.h>

#include "lattices/merging.h"
#include "composition/convolution.h"
#include "composition/spectrum.h"
#include "curve/curve.h"
#include "planning/aim.h"
#include "planning/layout.h"
#include "planning/spacing.h"

#define MEMORY_LIMIT 1073741824.0
#define MOST_WORK 1e10 /* of a spectrum; the core takes a convolution long before */

typedef struct stages {
    prv_mechanism *mechanism;
    uint64_t count;
    prv_options options;
    double delta, tilt, step;
    prv_direction direction;
    prv_aim aim;
    prv_layout layout;
    prv_lattice dominating, dominated;
    double *left; /* scratch of merging */
    prv_workspace work;
    prv_fft fft;
    prv_spectrum spectrum;
    prv_composed composed;
    int planned, summed;
} stages;

static void forget_plan(stages *s)
{
    if (!s->planned) return;
    prv_layout_free(&s->layout);
    prv_direction_free(&s->direction);
    s->planned = 0;
}

static void forget_spectrum(stages *s)
{
    if (s->summed) prv_spectrum_free(&s->spectrum);
    s->summed = 0;
}

void stages_free(stages *s)
{
    forget_spectrum(s);
    if (s->left != NULL) {
        prv_lattice_free(&s->dominating);
        prv_lattice_free(&s->dominated);
        prv_workspace_free(&s->work);
        free(s->left);
    }
    forget_plan(s);
    prv_mechanism_free(s->mechanism);
    free(s);
}

/* Profiles, tilt, mesh, window. */
prv_status stages_plan(stages *s)
{
    forget_plan(s);
    const prv_step step = {s->mechanism, s->count};
    prv_status status = prv_direction_new(&step, 1, s->options.neighbors, 0, &s->direction);
    if (status != PRV_OK) return status;
    s->aim.strictness = 1.0;
    for (int changed = 1; changed && status == PRV_OK;) {
        prv_aim_at_delta(&s->direction, &s->options, s->delta, &s->aim);
        status = prv_direction_refine(&s->direction, s->aim.saddle, &changed);
    }
    s->aim.width = s->options.eps_error;
    if (status == PRV_OK)
        status = prv_layout_new(&s->direction, &s->aim, s->tilt, s->step, 0, s->options.engine, MEMORY_LIMIT,
                                &s->layout);
    if (status != PRV_OK) {
        prv_direction_free(&s->direction);
        return status;
    }
    s->planned = 1;
    return s->layout.engine == s->options.engine ? PRV_OK : PRV_ERR_ENGINE;
}

prv_status stages_cells(stages *s)
{
    return prv_cells_compute(s->mechanism, 0, PRV_DOMINATING, &s->layout.cells[0]);
}

prv_status stages_dominating(stages *s)
{
    prv_lattice_dominating(&s->layout.cells[0], &s->layout.meshes[0], &s->dominating);
    return PRV_OK;
}

prv_status stages_dominated(stages *s)
{
    prv_lattice_dominated(&s->layout.cells[0], &s->layout.meshes[0], s->left, &s->dominated);
    return PRV_OK;
}

/* Of the dominating lattice, by the engine asked. */
prv_status stages_compose(stages *s)
{
    const prv_lattice *lattice = &s->dominating;
    const double count = (double)s->count;
    if (s->options.engine == PRV_ENGINE_CONVOLUTION)
        return prv_compose(&lattice, &count, 1, s->layout.tilt, &s->layout.window, &s->fft, &s->work,
                           &s->composed);
    forget_spectrum(s);
    const prv_status status = prv_spectrum_new(&lattice, &count, 1, s->layout.tilt, &s->layout.window,
                                               MOST_WORK, &s->spectrum, &s->composed);
    s->summed = status == PRV_OK;
    return status;
}

/* The two transforms of that convolution. */
prv_status stages_transforms(stages *s)
{
    s->fft.forward(s->fft.forward_plan, s->work.real, s->work.spectrum);
    s->fft.inverse(s->fft.inverse_plan, s->work.spectrum, s->work.real);
    return PRV_OK;
}

/* Epsilon at delta of what was composed; returned by *epsilon. */
prv_status stages_evaluate(stages *s, double *epsilon)
{
    const prv_slack none = {0};
    *epsilon = prv_curve_epsilon(&s->composed, s->delta, 1, &none, s->aim.epsilon).plain;
    return PRV_OK;
}

/* What the stages are about: cells, points of the window, frequencies. */
void stages_sizes(const stages *s, double *sizes)
{
    const int spectrum = s->options.engine == PRV_ENGINE_SPECTRUM;
    sizes[0] = (double)s->layout.cells[0].length;
    sizes[1] = spectrum ? 0.0 : (double)s->layout.window.length;
    sizes[2] = spectrum ? (double)s->spectrum.count : 0.0;
}

/* Plans, allocates, and runs every stage once. */
prv_status stages_new(double noise_multiplier, double sampling_probability, uint64_t count, double delta,
                      double width, int engine, double tilt, double step, const prv_fft_provider *fft,
                      stages **result)
{
    stages *s = calloc(1, sizeof *s);
    if (s == NULL) return PRV_ERR_MEMORY;
    s->count = count;
    s->delta = delta;
    s->tilt = tilt;
    s->step = step;
    s->options = (prv_options){
        .engine = (prv_engine)engine, .neighbors = PRV_REMOVE, .eps_error = width, .fft = fft};
    prv_mechanism *base = NULL;
    prv_status status = prv_mechanism_gaussian(noise_multiplier, &base);
    if (status == PRV_OK)
        status = prv_mechanism_poisson_subsampled(base, sampling_probability, &s->mechanism);
    prv_mechanism_free(base);
    if (status == PRV_OK) status = stages_plan(s);
    if (status == PRV_OK) {
        const size_t cells = s->layout.cells[0].length, points = s->layout.window.length;
        s->left = malloc((cells + 1) * sizeof *s->left);
        const int failed = s->left == NULL || prv_lattice_new(s->layout.longest, &s->dominating) != PRV_OK ||
                           prv_lattice_new(s->layout.longest, &s->dominated) != PRV_OK ||
                           prv_workspace_new(points, 1, s->layout.longest, &s->work) != PRV_OK;
        if (failed) status = PRV_ERR_MEMORY;
    }
    if (status == PRV_OK && engine == PRV_ENGINE_CONVOLUTION)
        status = fft->plan(fft->context, s->layout.window.length, &s->fft);
    if (status == PRV_OK) status = stages_cells(s);
    if (status == PRV_OK) status = stages_dominating(s);
    if (status == PRV_OK) status = stages_dominated(s);
    if (status == PRV_OK) status = stages_compose(s);
    if (status != PRV_OK) {
        stages_free(s);
        return status;
    }
    *result = s;
    return PRV_OK;
}
