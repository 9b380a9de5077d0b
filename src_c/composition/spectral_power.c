#include "composition/spectral_power.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/complex.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "numerics/wide.h"
#include "composition/characteristic.h"
#include "composition/circle.h"

/* log of |W|^2k below which a power is set to 0: just below 2 log PRV_NEGLIGIBLE_POWER. */
#define LOG_NEGLIGIBLE_SQUARE (-165.0)

/* ---- The plain way ------------------------------------------------------------------------ */

enum { LANES = 8 };

/* One block of (re, im) to the k-th power, and its part of the sums of squares. If all |W|^2 of the block are
 * below floor_square, it becomes 0. */
PRV_VECTOR static void power_block(double *restrict z, uint64_t k, double floor_square,
                                   prv_spectral_power *sums)
{
    double re[LANES], im[LANES], pre[LANES], pim[LANES], square[LANES], largest = 0.0;
    for (size_t j = 0; j < LANES; j++) {
        re[j] = z[2 * j];
        im[j] = z[2 * j + 1];
        square[j] = re[j] * re[j] + im[j] * im[j];
    }
    for (size_t j = 0; j < LANES; j++) largest = largest > square[j] ? largest : square[j];
    if (largest < floor_square) {
        memset(z, 0, 2 * LANES * sizeof *z);
        return;
    }
    for (size_t j = 0; j < LANES; j++) {
        pre[j] = 1.0;
        pim[j] = 0.0;
    }
    for (uint64_t bits = k;;) {
        if (bits & 1)
            for (size_t j = 0; j < LANES; j++) {
                const double r = pre[j] * re[j] - pim[j] * im[j];
                pim[j] = pre[j] * im[j] + pim[j] * re[j];
                pre[j] = r;
            }
        bits >>= 1;
        if (bits == 0) break;
        for (size_t j = 0; j < LANES; j++) {
            const double r = re[j] * re[j] - im[j] * im[j];
            im[j] = 2.0 * re[j] * im[j];
            re[j] = r;
        }
    }
    for (size_t j = 0; j < LANES; j++) {
        const double p = pre[j] * pre[j] + pim[j] * pim[j];
        sums->square += 2.0 * p;
        /* |W|^(2k-2); where W itself underflows, so does its power unless k = 1. */
        sums->less_one_square += 2.0 * (k == 1 ? 1.0 : square[j] > 0.0 ? p / square[j] : 0.0);
    }
    for (size_t j = 0; j < LANES; j++) {
        z[2 * j] = pre[j];
        z[2 * j + 1] = pim[j];
    }
}

static void raise(double *z, size_t length, uint64_t k, prv_spectral_power *sums)
{
    /* |W|^2 below this has |W|^k below PRV_NEGLIGIBLE_POWER. */
    const double floor_square = exp(LOG_NEGLIGIBLE_SQUARE / (double)k);
    size_t i = 0;
    for (; i + LANES <= length; i += LANES) power_block(z + 2 * i, k, floor_square, sums);
    if (i < length) {
        double rest[2 * LANES] = {0};
        memcpy(rest, z + 2 * i, 2 * (length - i) * sizeof *z);
        power_block(rest, k, floor_square, sums);
        memcpy(z + 2 * i, rest, 2 * (length - i) * sizeof *z);
    }
    if (k == 1) sums->less_one_square = 2.0 * (double)length;
}

void prv_spectral_power_plain(const prv_lattice *lattice, double count, const prv_fft *fft,
                              prv_workspace *work, prv_spectral_power *power)
{
    const size_t n = work->length, half = n / 2 + 1;
    const double scale = 1.0 / (double)n;
    memset(power, 0, sizeof *power);
    prv_circle_fill(lattice, work->weight, HUGE_VAL, work->real, n);
    fft->forward(fft->forward_plan, work->real, work->spectrum);
    power->transforms = 1;
    double weight_square = 0.0;
    for (size_t i = 0; i < 2 * half; i++) weight_square += work->spectrum[i] * work->spectrum[i];
    power->weight_norm = sqrt(2.0 * weight_square * scale);
    power->weight_sum = 1.0;
    raise(work->spectrum, half, (uint64_t)count, power);
    power->own_error = 3.0 * count * PRV_UNIT * sqrt(power->square * scale);
}

/* ---- The precise way ---------------------------------------------------------------------- */

/* Sines spent on the heavy atoms, for speed: at least LEAST_HEAVY atoms at every frequency that matters, more
 * if few frequencies do. But no more are heavy than leave the others a norm of LIGHT over the count: what
 * transforms do to these is then a small part of the power's own rounding, which grows with the heavy ones,
 * and is more than that of the plain way. No bound relies on these. */
enum { LEAST_HEAVY = 32, MOST_HEAVY = 4096 };
#define SINES 5e6
#define LIGHT 0.25

enum { FREQUENCIES_AT_ONCE = 1024 }; /* between questions whether to go on */
#define MOST_LENGTH 0x1p27 /* products of a frequency and a distance stay below 2^52, see prv_turns */

typedef struct heavy_part {
    size_t length; /* a multiple of LANES, padded with weight 0 */
    double *weight;
    double *distance; /* from the heaviest atom, modulo the transform's length n: -n/2 .. n/2 */
    size_t origin;    /* place of the heaviest atom on the circle */
    double least;     /* weight from which an atom counts as heavy */
    double light;     /* total weight of all others */
} heavy_part;

static size_t atoms_from(const double *weight, size_t length, double least)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += weight[i] >= least;
    return count;
}

static double norm_below(const double *weight, size_t length, double least)
{
    double square = 0.0;
    for (size_t i = 0; i < length; i++) square += weight[i] < least ? weight[i] * weight[i] : 0.0;
    return sqrt(square);
}

/* At most `most` of the heaviest atoms, by halving the least weight until the others have at most this norm.
 */
static prv_status heavy_atoms(const prv_lattice *y, const double *weight, size_t n, size_t most,
                              double light_norm, heavy_part *h)
{
    const size_t heaviest = prv_heaviest(weight, y->length);
    h->least = y->length > 0 ? weight[heaviest] : 0.0;
    for (int halvings = 0; halvings < 40 && norm_below(weight, y->length, h->least) > light_norm &&
                           atoms_from(weight, y->length, 0.5 * h->least) <= most;
         halvings++)
        h->least *= 0.5;
    const size_t count = atoms_from(weight, y->length, h->least);
    h->length = (count + LANES - 1) / LANES * LANES;
    h->weight = prv_allocate(2 * h->length, sizeof *h->weight);
    if (h->weight == NULL) return PRV_ERR_MEMORY;
    h->distance = h->weight + h->length;
    h->origin = prv_circle_place((double)y->index[heaviest], n);
    size_t at = 0;
    prv_wide light = prv_wide_of(0.0); /* one rounding, however many there are */
    for (size_t i = 0; i < y->length; i++) {
        if (!(weight[i] >= h->least)) { /* as atoms_from counts, whatever is no number */
            light = prv_wide_add(light, prv_wide_of(weight[i]));
        } else {
            const size_t above = prv_circle_place((double)(y->index[i] - y->index[heaviest]), n);
            h->distance[at] = above > n / 2 ? -(double)(n - above) : (double)above;
            h->weight[at++] = weight[i];
        }
    }
    h->light = prv_wide_value(light);
    for (; at < h->length; at++) h->weight[at] = h->distance[at] = 0.0;
    return PRV_OK;
}

/* sum w (e^(-2 pi i j distance / n) - 1), relatively accurate near 0; *absolute: sum w |e^(...) - 1| at most.
 */
PRV_VECTOR static void heavy_sum(const heavy_part *h, double j, double n, double *x, double *y,
                                 double *absolute)
{
    double re[LANES] = {0}, im[LANES] = {0}, all[LANES] = {0};
    const double *restrict weight = h->weight, *restrict distance = h->distance, inverse = 1.0 / n;
    for (size_t a = 0; a < h->length; a += LANES)
        for (size_t l = 0; l < LANES; l++) {
            double c, s;
            prv_vm_turn(prv_turns(j * distance[a + l], n, inverse), &c, &s);
            re[l] += weight[a + l] * c;
            im[l] -= weight[a + l] * s;
            all[l] += weight[a + l] * (fabs(c) + fabs(s));
        }
    *x = *y = *absolute = 0.0;
    for (size_t l = 0; l < LANES; l++) {
        *x += re[l];
        *y += im[l];
        *absolute += all[l];
    }
}

/* The power at one frequency. */
typedef struct raised {
    double modulus, less_one; /* |W|^k, and |W|^(k-1) at most */
    double error;             /* the power's own rounding, absolute */
} raised;

/* Where k times the relative error of a spectrum is above this, its power is 0, with the most that it may be
 * as its error. Below, the first order is nearly all. */
#define MOST_ERROR_OF_POWER 0.05

/* Raises z, the transform of the light atoms at frequency j of n, with the heavy ones added. turns: k *
 * h->origin modulo n. */
static raised raise_at(double *z, uint64_t j, uint64_t n, double k, uint64_t turns, const heavy_part *h)
{
    const double unit_angle = PRV_TWO_PI / (double)n;
    /* The angle is from the heaviest atom. */
    const double back = unit_angle * (double)(j * h->origin % n);
    const prv_complex light = prv_cmul((prv_complex){z[0], z[1]}, (prv_complex){cos(back), sin(back)});
    double x, y, absolute;
    heavy_sum(h, (double)j, (double)n, &x, &y, &absolute);
    x += light.re - h->light;
    y += light.im;
    absolute += h->light;
    /* docs/bounds.rst, "Transforms", counts this error of the spectrum, and those below. */
    const double off = PRV_UNIT * (56.0 + (double)h->length / 8.0) * absolute,
                 near = sqrt((1.0 + x) * (1.0 + x) + y * y);
    if (k * off > MOST_ERROR_OF_POWER * near) {
        z[0] = z[1] = 0.0;
        return (raised){0.0, pow(near + off, k - 1.0), pow(near + off, k)};
    }
    /* Near 0 the square of the modulus, less 1, has lost the modulus. */
    const double less_one = 2.0 * x + x * x + y * y;
    const double log_modulus = less_one < -0.5 ? log(near) : 0.5 * log1p(less_one);
    const double imaginary = k * atan2(y, 1.0 + x), modulus = exp(k * log_modulus);
    const double phase = imaginary - unit_angle * (double)(turns * j % n);
    z[0] = modulus * cos(phase);
    z[1] = modulus * sin(phase);
    /* The functions are off relative to the two logarithms; angles go up to 2 pi. */
    const double relative = PRV_UNIT * (8.0 * (k * fabs(log_modulus) + fabs(imaginary)) + 64.0) +
                            k * off / near;
    return (raised){modulus, exp((k - 1.0) * log_modulus), modulus * relative};
}

/* matters[j] tells whether the power at frequency j may be more than negligible, by the transform of all
 * atoms. Returns how many do. */
static size_t frequencies_that_matter(const double *z, size_t half, double k, bool *matters)
{
    const double floor_square = exp((LOG_NEGLIGIBLE_SQUARE - 1.0) / k);
    size_t count = 0;
    for (size_t j = 0; j < half; j++) {
        matters[j] = z[2 * j] * z[2 * j] + z[2 * j + 1] * z[2 * j + 1] + 1e-12 / k > floor_square;
        count += matters[j];
    }
    return count;
}

/* Raises the spectrum z of the light atoms; *error_square is the sum of squares of the power's own rounding.
 */
static prv_status raise_precisely(double *z, size_t n, double k, const heavy_part *h, const bool *matters,
                                  const prv_options *options, prv_spectral_power *power, double *error_square)
{
    const uint64_t turns = (uint64_t)fmod(k, (double)n) * h->origin % n;
    for (size_t j = 0; j < n / 2 + 1; j++) {
        if (j % FREQUENCIES_AT_ONCE == 0) {
            const prv_status status = prv_check_interrupt(options);
            if (status != PRV_OK) return status;
        }
        if (!matters[j]) {
            z[2 * j] = z[2 * j + 1] = 0.0;
            continue;
        }
        const raised at = raise_at(z + 2 * j, j, n, k, turns, h);
        power->square += 2.0 * at.modulus * at.modulus;
        power->less_one_square += 2.0 * at.less_one * at.less_one;
        *error_square += 2.0 * at.error * at.error;
    }
    return PRV_OK;
}

prv_status prv_spectral_power_precise(const prv_lattice *lattice, double count, const prv_fft *fft,
                                      const prv_options *options, prv_workspace *work,
                                      prv_spectral_power *power)
{
    const size_t n = work->length, half = n / 2 + 1;
    memset(power, 0, sizeof *power);
    if ((double)n > MOST_LENGTH) return PRV_ERR_PRECISION;
    if (norm_below(work->weight, lattice->length, HUGE_VAL) <= LIGHT / count) { /* all are light */
        prv_spectral_power_plain(lattice, count, fft, work, power);
        return PRV_OK;
    }
    bool *matters = prv_allocate(half, sizeof *matters);
    if (matters == NULL) return PRV_ERR_MEMORY;
    heavy_part h = {0};
    double *z = work->spectrum, light_square = 0.0, error_square = 0.0;
    prv_circle_fill(lattice, work->weight, HUGE_VAL, work->real, n);
    fft->forward(fft->forward_plan, work->real, z);
    const double mattering = (double)frequencies_that_matter(z, half, count, matters);
    const double affordable = fmin(fmax(SINES / mattering, LEAST_HEAVY), MOST_HEAVY);
    prv_status status = prv_check_interrupt(options);
    if (status != PRV_OK) goto done;
    status = heavy_atoms(lattice, work->weight, n, prv_size_of(affordable), LIGHT / count, &h);
    if (status != PRV_OK) goto done;
    prv_circle_fill(lattice, work->weight, h.least, work->real, n);
    fft->forward(fft->forward_plan, work->real, z);
    power->transforms = 2;
    for (size_t i = 0; i < 2 * half; i++) light_square += z[i] * z[i];
    power->weight_norm = sqrt(2.0 * light_square / (double)n);
    power->weight_sum = h.light;
    status = raise_precisely(z, n, count, &h, matters, options, power, &error_square);
    if (status != PRV_OK) goto done;
    power->own_error = sqrt(error_square * (1.0 / (double)n));
done:
    prv_release(h.weight);
    prv_release(matters);
    return status;
}
