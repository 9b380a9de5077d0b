/* The k-th power of one step's spectrum W, the transform of its tilted weights w: DFT(w)^k. */
#ifndef PRV_SPECTRAL_POWER_H
#define PRV_SPECTRAL_POWER_H

#include "lattices/lattice.h"
#include "composition/transforms.h"

/* Frequencies whose power has at most this modulus may be set to 0. The errors below leave this out. */
#define PRV_NEGLIGIBLE_POWER 1e-36

/* What the error of a product of powers is made of. Sums are over all frequencies, of which half are stored.
 */
typedef struct prv_spectral_power {
    double square;          /* sum |W|^2k */
    double less_one_square; /* sum |W|^(2k - 2) */
    double own_error;       /* L2 norm of what rounding of the power itself does to the masses, at most */
    double weight_norm;     /* L2 norm of the weights that were transformed */
    double weight_sum;      /* and their L1 norm */
    size_t transforms;
} prv_spectral_power;

/* Transforms the weights on work->weight and takes the power, into work->spectrum, by repeated squaring. The
 * power multiplies the relative error of the spectrum by at most k. count: k, an integer >= 1. Uses
 * work->real too. O(n log(n k)).
 */
void prv_spectral_power_plain(const prv_lattice *lattice, double count, const prv_fft *fft,
                              prv_workspace *work, prv_spectral_power *power);

/* The same for a law whose bulk is a few atoms, where rare jumps decide and the factor k would drown them:
 * the spectrum of the heaviest atoms is summed as sum w (e^(i t x) - 1), the transform carries the light rest
 * alone, and the power is taken as exp(k log1p(z)), whose error is a few u of |k log1p(z)|. Costs n * 32
 * sines at most. PRV_ERR_PRECISION if n is above 2^27; PRV_ERR_MEMORY; PRV_ERR_INTERRUPTED. options may be
 * NULL. */
prv_status prv_spectral_power_precise(const prv_lattice *lattice, double count, const prv_fft *fft,
                                      const prv_options *options, prv_workspace *work,
                                      prv_spectral_power *power);

#endif
