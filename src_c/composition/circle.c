#include "composition/circle.h"

#include <math.h>
#include <string.h>

#include "numerics/rounding.h"

size_t prv_circle_place(double index, size_t length)
{
    const double n = (double)length;
    const double r = fmod(index, n);
    return (size_t)(r < 0.0 ? r + n : r) % length;
}

void prv_circle_fill(const prv_lattice *lattice, const double *weight, double least, double *real,
                     size_t length)
{
    memset(real, 0, (length + 2) * sizeof *real);
    if (lattice->length == 0) return;
    size_t at = prv_circle_place((double)lattice->index[0], length);
    for (size_t i = 0; i < lattice->length; i++) {
        if (weight[i] < least) real[at] += weight[i];
        if (i + 1 < lattice->length) {
            const uint64_t next = at + (uint64_t)(lattice->index[i + 1] - lattice->index[i]);
            at = (size_t)(next >= length ? next % length : next);
        }
    }
}

double prv_circle_error(const prv_lattice *lattice, size_t length)
{
    if (lattice->length == 0) return 0.0;
    const double span = (double)(lattice->index[lattice->length - 1] - lattice->index[0]);
    return floor(span / (double)length) * PRV_UNIT;
}
