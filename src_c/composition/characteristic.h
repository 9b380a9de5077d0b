/* The characteristic function of one step's tilted law at a block of frequencies. */
#ifndef PRV_CHARACTERISTIC_H
#define PRV_CHARACTERISTIC_H

#include "lattices/lattice.h"

/* Frequencies between fresh starts of the rotation. */
enum { PRV_FREQUENCY_BLOCK = 32 };

/* Atoms of one step. */
typedef struct prv_source {
    size_t length;    /* rounded up to whole vectors: the last atoms have weight 0 */
    double *position; /* units q above the step's heaviest atom, increasing */
    double *weight;   /* tilted; those of all atoms of the step sum to 1 */
    double total;     /* sum w */
    double count;     /* k */
    double spread;    /* sum w |position| */
    double *block;
    /* The subset that bounds |phi| at present, see remainder.h. */
    size_t first, end;
    double radius; /* positions within it */
    double mass, curvature, modulus_square;
    double next_square, gap; /* at the other end of the interval looked at, and 1 - |phi|^2 on it, at least */
    double most_gap;         /* a larger one is not made use of */
} prv_source;

/* The first atom of the greatest weight. */
size_t prv_heaviest(const double *weight, size_t length);

/* The greatest divisor of all distances between atoms, in spacings of the lattice, and of `divisor` (0: of
 * none). */
int64_t prv_unit(const prv_lattice *lattice, const double *weight, int64_t divisor);

/* The atoms of positive weight, weight[lattice->length], their positions counted in spacings of the lattice
 * from the one at `origin`; prv_source_scale counts them in units. Free source->block with prv_release.
 * PRV_ERR_MEMORY. */
prv_status prv_source_new(const prv_lattice *lattice, const double *weight, size_t origin, double count,
                          prv_source *source);
void prv_source_scale(prv_source *source, double divisor);

/* sum w (e^(i theta_j position) - 1), theta_j = 2 pi j / points, at `count` <= PRV_FREQUENCY_BLOCK
 * frequencies from `first` on: phi - 1, where the weights sum to 1. Positions and products of a position
 * modulo points with a frequency are integers below 2^52. O(length * count), vectorised. */
void prv_characteristic(const prv_source *source, double first, size_t count, double points, double *re,
                        double *im);

/* Its error in a block that ends before frequency `end`: SPECTRUM.md, section 4. */
double prv_characteristic_error(const prv_source *source, double end, double points);

/* x modulo `period` as a part of it in [-1/2, 1/2], inverse = 1 / period. Exact but for one rounding where x
 * is an integer below 2^52, and `period` one too, or 1. */
static inline double prv_turns(double x, double period, double inverse)
{
    const double shifter = 0x1.8p52; /* adding and taking it away rounds to an integer */
    const double whole = (x * inverse + shifter) - shifter;
    return (x - whole * period) * inverse;
}

#endif
