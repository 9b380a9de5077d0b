/* Lattices of random atoms: dense or with gaps, with rare atoms or none, some nearly periodic. */
#ifndef PRV_TESTS_RANDOM_LATTICE_H
#define PRV_TESTS_RANDOM_LATTICE_H

#include "check.h"

#include "lattices/lattice.h"

static inline prv_lattice random_lattice(size_t length, double spacing, size_t gap)
{
    prv_lattice y;
    if (prv_lattice_new(length, &y) != PRV_OK) abort();
    y.offset = uniform(-0.3, 0.3);
    y.spacing = spacing;
    y.infinite_mass = random_below(2) ? log_uniform(1e-12, 0.1) : 0.0;
    int64_t index = -(int64_t)random_below(20);
    double total = 0.0;
    const double rare = random_below(2) ? 1.0 : log_uniform(1e-6, 1.0);
    /* Where nearly all mass is on every 8th point, |phi| is near 1 again at other frequencies. */
    const int nearly_periodic = random_below(4) == 0;
    for (size_t i = 0; i < length; i++) {
        const int between = nearly_periodic && i > 0 && random_below(8) == 0;
        if (nearly_periodic) index = 8 * index + between;
        y.index[i] = index;
        y.loss[i] = y.offset + spacing * (double)index;
        y.mass[i] = random_below(6) == 0 ? 0.0 : log_uniform(1e-3, 1.0) * (i == length / 2 ? 1.0 : rare);
        if (between) y.mass[i] *= 1e-5;
        total += y.mass[i];
        if (nearly_periodic) index = (index - between) / 8;
        index += 1 + (int64_t)random_below(gap);
    }
    if (total == 0.0) y.mass[0] = total = 1.0;
    for (size_t i = 0; i < length; i++) y.mass[i] *= (1.0 - y.infinite_mass) / total;
    return y;
}

#endif
