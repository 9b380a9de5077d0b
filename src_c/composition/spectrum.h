/* Stage 3, the other way: the spectrum of the tilted composition at a few hundred frequencies, whatever the
 * number of steps: those from 0 on until it is small, and later ones where it is not. With unit q of the
 * lattice, N = W / q points (odd), theta_j = 2 pi j / N, and x a lattice point, D(x) = sum_{y >= x} c(y)
 * e^(-lam (y - x)) (1 - e^(-(y - x))) = (1/N) sum_j Phi(theta_j) e^(-i theta_j x / q) kern(lam q + i theta_j)
 * + what is left out, and B(x) likewise (curve.h).
 *
 * Where delta is decided by jumps so rare that no tilt centres the law on it, Phi is nearly that of no jump
 * at all, which has nothing to do with delta: its rounding would drown the rest. With b and j the parts of
 * phi by losses up to and above window->bulk, prod (b + j)^k - prod b^k = prod b^k expm1(sum k log1p(j / b))
 * leaves it out and keeps relative accuracy; what it makes up of delta is bounded by Chernoff at
 * window->bulk_tilt. SPECTRUM.md proves what the certificate adds for frequencies left out, periodic images
 * and rounding. */
#ifndef PRV_SPECTRUM_H
#define PRV_SPECTRUM_H

#include <stdbool.h>

#include "composition/composed.h"
#include "composition/log_spectrum.h"

/* Frequencies that are rotated together when the series is summed: coefficients are padded with zeros to a
 * multiple. */
enum { PRV_LANES = 8 };

/* Frequencies one after another. */
typedef struct prv_run {
    double first;  /* number of its first frequency */
    size_t length; /* a multiple of PRV_LANES but in the last run */
} prv_run;

struct prv_spectrum {
    size_t count; /* frequencies, in */
    size_t run_count;
    prv_run *runs;
    double points;                                           /* N, odd */
    double *finite_re, *finite_im, *reverse_re, *reverse_im; /* [count] Phi times the kernels, over N */
    double tolerance;                                        /* asked, in units of M e^(-lam eps) */
    double left_out; /* what frequencies left out may add or take, in these units */
    double rounding; /* and the rounding of those kept */
    double below;    /* tilted mass at or below `low`, at most */
    double low;      /* nats: images of what lies above it are counted apart */
    bool apart;      /* jumps are separate */
    double bulk;     /* if apart: what sums without a jump make up at most, at epsilons from bulk_low on */
    double bulk_low; /* nats */
    double work;     /* products of an atom and a frequency */
    double *block;
};

/* Composes at composed->spectral.spectrum = spectrum. `most_work` limits the products of atoms and
 * frequencies: PRV_ERR_PRECISION when the spectrum falls too slowly for that, or not at all. Cost: sum of
 * atoms * count.
 */
prv_status prv_spectrum_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                            double tilt, const prv_window *window, double most_work, prv_spectrum *spectrum,
                            prv_composed *composed);
void prv_spectrum_free(prv_spectrum *spectrum);

/* The same, and the sums over all steps but the last at its frequencies: *before and *before_composed, as
 * prv_spectrum_add makes them. They cost nothing more. *before is to be freed whatever is returned.
 * PRV_ERR_PRECISION also if window->separate. */
prv_status prv_spectrum_beginning(const prv_lattice *const *lattices, const double *counts, size_t steps,
                                  double tilt, const prv_window *window, double most_work,
                                  prv_spectrum *spectrum, prv_composed *composed, prv_exponents *before,
                                  prv_composed *before_composed);

/* For `least` or more runs of one step: chooses the period, which has room for window->room_to_grow more, and
 * the frequencies of `least` runs, and bounds what those left out make up. *once, which is to be freed
 * whatever is returned, gets the sums over one run at them, and *composed what else one run contributes;
 * *spectrum has no coefficients. PRV_ERR_PRECISION as above, or if window->separate. */
prv_status prv_spectrum_once(const prv_lattice *lattice, double least, double tilt, const prv_window *window,
                             double most_work, prv_spectrum *spectrum, prv_exponents *once,
                             prv_composed *composed);

/* A step's part in a spectrum that grows: adds the lattice's logarithms at the frequencies there are, of N =
 * points, and its moments to `composed`. Its atoms must be `divisor` spacings apart, or multiples: else
 * PRV_ERR_PRECISION. weight: scratch double[lattice->length]. O(length * frequencies). */
prv_status prv_spectrum_add(const prv_lattice *lattice, double count, int64_t divisor, double points,
                            double *weight, prv_exponents *exponents, prv_composed *composed);

#endif
