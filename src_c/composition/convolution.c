#include "composition/convolution.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "numerics/wide.h"
#include "composition/characteristic.h"
#include "composition/direct_convolution.h"
#include "composition/kernel.h"

#define LANES 8

/* Spectrum values whose power is below this are set to 0, an error that the bound below contains. */
#define NEGLIGIBLE 1e-36
#define LOG_NEGLIGIBLE_SQUARE (-165.0) /* just below 2 log NEGLIGIBLE */

/* ---- Workspace ---------------------------------------------------------------------------- */

double prv_workspace_bytes(double length, size_t steps)
{
    return (steps > 1 ? 3.0 : 2.0) * sizeof(double) * (length + 2.0);
}

prv_status prv_workspace_new(size_t length, size_t steps, size_t longest, prv_workspace *work)
{
    memset(work, 0, sizeof *work);
    if (length == 0)
        return PRV_ERR_MEMORY_LIMIT; /* what prv_transform_length says of more than there can be */
    work->length = length;
    work->real = prv_allocate(length + 2, sizeof(double));
    work->spectrum = prv_allocate(length + 2, sizeof(double));
    work->weight = prv_allocate(longest, sizeof(double));
    if (steps > 1) work->product = prv_allocate(length + 2, sizeof(double));
    if (work->real != NULL && work->spectrum != NULL && work->weight != NULL &&
        (steps <= 1 || work->product != NULL))
        return PRV_OK;
    prv_workspace_free(work);
    return PRV_ERR_MEMORY;
}

void prv_workspace_free(prv_workspace *work)
{
    prv_release(work->real);
    prv_release(work->spectrum);
    prv_release(work->product);
    prv_release(work->weight);
    memset(work, 0, sizeof *work);
}

size_t prv_transform_length(double wanted, int odd)
{
    /* 64 bits on every machine: factors are multiplied past the limit. */
    uint64_t best = 0;
    const uint64_t limit = PRV_LONGEST_TRANSFORM;
    if (!(wanted <= (double)limit)) return 0;
    if (odd) {
        for (uint64_t five = 1; five <= limit; five *= 5)
            for (uint64_t three = five; three <= limit; three *= 3)
                for (uint64_t n = three, i = 0; i < 3 && n <= limit; i++, n *= 7)
                    if ((double)n >= wanted && (best == 0 || n < best)) best = n;
        return (size_t)best;
    }
    /* 2^a and 3 2^a alone: planning a length for the first time costs more than a longer transform. */
    static const uint64_t odd_parts[] = {1, 3};
    for (size_t i = 0; i < sizeof odd_parts / sizeof *odd_parts; i++)
        for (uint64_t n = 64 * odd_parts[i]; n <= limit; n *= 2)
            if ((double)n >= wanted) {
                if (best == 0 || n < best) best = n;
                break;
            }
    return (size_t)best;
}

/* ---- Power of a spectrum ------------------------------------------------------------------ */

typedef struct norms {
    double power, power_less_one; /* sums of |W|^2k and |W|^(2k-2) over the stored half, twice each */
    double error;                 /* the same sum of the square of the power's own rounding */
} norms;

/* One block: (re, im) to the k-th power, |W|^(2k-2) and |W|^2k added to the norms. */
PRV_VECTOR static void power_block(double *restrict z, uint64_t k, double log_floor, norms *sums)
{
    double re[LANES], im[LANES], pre[LANES], pim[LANES], square[LANES], largest = 0.0;
    for (size_t j = 0; j < LANES; j++) {
        re[j] = z[2 * j];
        im[j] = z[2 * j + 1];
        square[j] = re[j] * re[j] + im[j] * im[j];
    }
    for (size_t j = 0; j < LANES; j++) largest = largest > square[j] ? largest : square[j];
    if (largest < log_floor) {
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
        sums->power += 2.0 * p;
        /* |W|^(2k-2); where W itself underflows, so does its power unless k = 1. */
        sums->power_less_one += 2.0 * (k == 1 ? 1.0 : square[j] > 0.0 ? p / square[j] : 0.0);
    }
    for (size_t j = 0; j < LANES; j++) {
        z[2 * j] = pre[j];
        z[2 * j + 1] = pim[j];
    }
}

static norms power_spectrum(double *z, size_t length, uint64_t k)
{
    /* |W|^2 below this has |W|^k below NEGLIGIBLE. */
    const double floor_square = exp(LOG_NEGLIGIBLE_SQUARE / (double)k);
    norms sums = {0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + LANES <= length; i += LANES) power_block(z + 2 * i, k, floor_square, &sums);
    if (i < length) {
        double rest[2 * LANES] = {0};
        memcpy(rest, z + 2 * i, 2 * (length - i) * sizeof *z);
        power_block(rest, k, floor_square, &sums);
        memcpy(z + 2 * i, rest, 2 * (length - i) * sizeof *z);
    }
    if (k == 1) sums.power_less_one = 2.0 * (double)length;
    return sums;
}

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

/* ---- Placing a lattice on the circle ------------------------------------------------------- */

static size_t modulo(double index, size_t length)
{
    const double n = (double)length;
    const double r = fmod(index, n);
    return (size_t)(r < 0.0 ? r + n : r) % length;
}

/* Atoms of at least `least` weight are left out. */
static void scatter(const prv_lattice *lattice, const double *weight, double least, double *real,
                    size_t length)
{
    memset(real, 0, (length + 2) * sizeof *real);
    if (lattice->length == 0) return;
    size_t at = modulo((double)lattice->index[0], length);
    for (size_t i = 0; i < lattice->length; i++) {
        if (weight[i] < least) real[at] += weight[i];
        if (i + 1 < lattice->length) {
            const uint64_t next = at + (uint64_t)(lattice->index[i + 1] - lattice->index[i]);
            at = (size_t)(next >= length ? next % length : next);
        }
    }
}

/* The relative error of masses that scatter adds up: atoms that lie whole turns apart, one addition for each.
 */
static double scatter_error(const prv_lattice *y, size_t length)
{
    if (y->length == 0) return 0.0;
    return floor((double)(y->index[y->length - 1] - y->index[0]) / (double)length) * PRV_UNIT;
}

/* ---- Power of a spectrum whose bulk is a few atoms ------------------------------------------ */

/* Sines spent on the heavy atoms: at least LEAST_HEAVY atoms at every frequency that matters, more
 * where few frequencies do. */
enum { LEAST_HEAVY = 32, MOST_HEAVY = 4096 };
enum { FREQUENCIES_AT_ONCE = 1024 }; /* between looks whether to go on */
#define SINES 2e7
#define MOST_LENGTH 0x1p27 /* products of a frequency and a distance stay below 2^52, see prv_turns */

typedef struct heavy_part {
    size_t length; /* a multiple of 8, padded with weight 0 */
    double *weight;
    double *distance; /* above the heaviest, modulo the transform's length n: -n/2 .. n/2 */
    size_t origin;    /* of the heaviest, modulo the length */
    double least;     /* weight from which an atom counts as heavy */
    double light;     /* total weight of all others */
} heavy_part;

static size_t atoms_from(const double *weight, size_t length, double least)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += weight[i] >= least;
    return count;
}

/* At most `most` of the heaviest atoms, by halving the least weight. */
static prv_status heavy_atoms(const prv_lattice *y, const double *weight, size_t n, size_t most,
                              heavy_part *h)
{
    const size_t heaviest = prv_heaviest(weight, y->length);
    h->least = y->length > 0 ? weight[heaviest] : 0.0;
    for (int halvings = 0; halvings < 40 && atoms_from(weight, y->length, 0.5 * h->least) <= most; halvings++)
        h->least *= 0.5;
    const size_t count = atoms_from(weight, y->length, h->least);
    h->length = (count + 7) / 8 * 8;
    h->weight = prv_allocate(2 * h->length, sizeof *h->weight);
    if (h->weight == NULL) return PRV_ERR_MEMORY;
    h->distance = h->weight + h->length;
    h->origin = modulo((double)y->index[heaviest], n);
    size_t at = 0;
    prv_wide light = prv_wide_of(0.0); /* one rounding, however many there are */
    for (size_t i = 0; i < y->length; i++) {
        if (weight[i] < h->least) {
            light = prv_wide_add(light, prv_wide_of(weight[i]));
        } else {
            const size_t above = modulo((double)(y->index[i] - y->index[heaviest]), n);
            h->distance[at] = above > n / 2 ? -(double)(n - above) : (double)above;
            h->weight[at++] = weight[i];
        }
    }
    h->light = prv_wide_value(light);
    for (; at < h->length; at++) h->weight[at] = h->distance[at] = 0.0;
    return PRV_OK;
}

/* sum w (e^(-2 pi i j distance / n) - 1), relatively accurate near 0, and sum w |e^(...) - 1| at most. */
PRV_VECTOR static void heavy_sum(const heavy_part *h, double j, double n, double *x, double *y,
                                 double *absolute)
{
    double re[8] = {0}, im[8] = {0}, all[8] = {0};
    const double *restrict weight = h->weight, *restrict distance = h->distance, inverse = 1.0 / n;
    for (size_t a = 0; a < h->length; a += 8)
        for (size_t l = 0; l < 8; l++) {
            double c, s;
            prv_vm_turn(prv_turns(j * distance[a + l], n, inverse), &c, &s);
            re[l] += weight[a + l] * c;
            im[l] -= weight[a + l] * s;
            all[l] += weight[a + l] * (fabs(c) + fabs(s));
        }
    *x = *y = *absolute = 0.0;
    for (size_t l = 0; l < 8; l++) {
        *x += re[l];
        *y += im[l];
        *absolute += all[l];
    }
}

/* One frequency's power; *error is its own rounding, relative. */
static void power_at(double *z, uint64_t j, uint64_t n, double k, uint64_t turns, const heavy_part *h,
                     double *log_modulus, double *error)
{
    const double unit_angle = PRV_TWO_PI / (double)n;
    /* The angle is from the heaviest atom. */
    const double back = unit_angle * (double)(j * h->origin % n), co = cos(back), si = sin(back);
    double x, y, absolute;
    heavy_sum(h, (double)j, (double)n, &x, &y, &absolute);
    x += z[0] * co - z[1] * si - h->light;
    y += z[0] * si + z[1] * co;
    absolute += h->light;
    *log_modulus = 0.5 * log1p(fmax(2.0 * x + x * x + y * y, -1.0));
    const double imaginary = k * atan2(y, 1.0 + x), modulus = exp(k * *log_modulus);
    const double phase = imaginary - unit_angle * (double)(turns * j % n);
    z[0] = modulus * cos(phase);
    z[1] = modulus * sin(phase);
    /* A term of the sum is off by 28 u of itself (SPECTRUM.md, section 4) and a product, the sum by length /
     * 8 + 8 additions; what is light by its own weight's rounding, rotation and two additions. */
    *error = PRV_UNIT * (8.0 * (k * fabs(*log_modulus) + fabs(imaginary)) + 64.0 +
                         (40.0 + (double)h->length / 8.0) * k * absolute * exp(-*log_modulus));
}

/* The spectrum of a step to the k-th power in the precise way. work->real and work->spectrum are used;
 * *light_norm and *light_sum are the norms of what was transformed, in L2 and L1. */
static prv_status power_precisely(const prv_lattice *y, double k, const prv_fft *fft,
                                  const prv_options *options, prv_workspace *work, norms *sums,
                                  double *light_norm, double *light_sum)
{
    const size_t n = work->length, half = n / 2 + 1;
    if ((double)n > MOST_LENGTH) return PRV_ERR_PRECISION;
    unsigned char *matters = prv_allocate(half, sizeof *matters);
    if (matters == NULL) return PRV_ERR_MEMORY;
    /* All of it once, to see which frequencies matter. */
    scatter(y, work->weight, HUGE_VAL, work->real, n);
    fft->forward(fft->forward_plan, work->real, work->spectrum);
    const double floor_square = exp((LOG_NEGLIGIBLE_SQUARE - 1.0) / k);
    double *z = work->spectrum;
    size_t count = 0;
    for (size_t j = 0; j < half; j++) {
        matters[j] = z[2 * j] * z[2 * j] + z[2 * j + 1] * z[2 * j + 1] + 1e-12 / k > floor_square;
        count += matters[j];
    }
    const double affordable = fmin(fmax(SINES / (double)count, LEAST_HEAVY), MOST_HEAVY);
    heavy_part h = {0};
    prv_status status = prv_check_interrupt(options);
    if (status == PRV_OK) status = heavy_atoms(y, work->weight, n, prv_size_of(affordable), &h);
    if (status == PRV_OK) {
        scatter(y, work->weight, h.least, work->real, n);
        fft->forward(fft->forward_plan, work->real, z);
        double square = 0.0;
        for (size_t i = 0; i < 2 * half; i++) square += z[i] * z[i];
        *light_norm = sqrt(2.0 * square / (double)n);
        *light_sum = h.light;
        const uint64_t turns = (uint64_t)fmod(k, (double)n) * h.origin % n;
        for (size_t j = 0; j < half && status == PRV_OK; j++) {
            if (j % FREQUENCIES_AT_ONCE == 0) status = prv_check_interrupt(options);
            if (!matters[j]) {
                z[2 * j] = z[2 * j + 1] = 0.0;
                continue;
            }
            double log_modulus, error;
            power_at(z + 2 * j, j, n, k, turns, &h, &log_modulus, &error);
            const double power = exp(2.0 * k * log_modulus);
            sums->power += 2.0 * power;
            sums->power_less_one += 2.0 * power * exp(-2.0 * log_modulus);
            sums->error += 2.0 * power * error * error;
        }
    }
    prv_release(h.weight);
    prv_release(matters);
    return status;
}

/* ---- The stage ---------------------------------------------------------------------------- */

/* The law of one single step, or of steps that are convolved without transforms. */
static prv_status compose_directly(const prv_lattice *const *lattices, const double *counts, size_t steps,
                                   double total, const prv_window *window, prv_workspace *work,
                                   prv_composed *result)
{
    prv_direct *direct = NULL;
    /* The tails dropped from m steps count total / m times: m = 1, 2, 4, ... make up 8 times this times the
     * total. */
    const double dropped = 0.01 * window->tolerance / (prv_kernel_maximum(result->tilted.tilt) * total);
    prv_status status = total > 1.0 ? prv_direct_new(window->length, dropped, &direct) : PRV_OK;
    for (size_t j = 0; j < steps && status == PRV_OK; j++) {
        prv_tilted_add(&result->tilted, lattices[j], counts[j], work->weight);
        if (direct != NULL)
            status = prv_direct_add(direct, lattices[j], work->weight, counts[j], window->options);
        else
            scatter(lattices[j], work->weight, HUGE_VAL, work->real, window->length);
        if (direct == NULL) result->tilted.relative_error += scatter_error(lattices[j], window->length);
    }
    if (direct != NULL && status == PRV_OK) {
        double relative, lost;
        prv_direct_masses(direct, work->real, &relative, &lost);
        result->tilted.relative_error += relative;
        result->outside = lost;
    }
    prv_direct_free(direct);
    return status;
}

static prv_status compose_by_transforms(const prv_lattice *const *lattices, const double *counts,
                                        size_t steps, const prv_window *window, const prv_fft *fft,
                                        prv_workspace *work, prv_composed *result)
{
    const size_t n = window->length, half = n / 2 + 1;
    const double eta = 7.0 * PRV_UNIT * log2((double)n), scale = 1.0 / (double)n;
    double from_weights = 0.0, from_sums = 0.0; /* sum_j k_j |w_j| |rest|_2, in L2 and L1 */
    double power_error = 0.0;
    double least_power = HUGE_VAL, product_square = 0.0;
    for (size_t j = 0; j < steps; j++) {
        const prv_lattice *y = lattices[j];
        const double k = counts[j];
        const prv_status interrupted = prv_check_interrupt(window->options);
        if (interrupted != PRV_OK) return interrupted;
        prv_tilted_add(&result->tilted, y, k, work->weight);
        result->tilted.relative_error += k * scatter_error(y, n);
        norms s = {0.0, 0.0, 0.0};
        double weight_norm = 0.0; /* of what is transformed */
        double weight_sum = 1.0;
        if (window->precise) {
            const prv_status status = power_precisely(y, k, fft, window->options, work, &s, &weight_norm,
                                                      &weight_sum);
            if (status != PRV_OK) return status;
            result->transforms += 2;
            power_error += sqrt(s.error * scale);
        } else {
            scatter(y, work->weight, HUGE_VAL, work->real, n);
            fft->forward(fft->forward_plan, work->real, work->spectrum);
            result->transforms++;
            double weight_square = 0.0;
            for (size_t i = 0; i < 2 * half; i++) weight_square += work->spectrum[i] * work->spectrum[i];
            weight_norm = sqrt(2.0 * weight_square * scale);
            s = power_spectrum(work->spectrum, half, (uint64_t)k);
            power_error += 3.0 * k * PRV_UNIT * sqrt(s.power * scale);
        }
        /* Every spectrum is at most 1 in modulus, so |prod without one j|_2 is at most the norm of any of
         * its factors: this step's own to the k - 1, or a step's before it. */
        if (k * eta * weight_norm * sqrt((double)n) > 0.05) return PRV_ERR_PRECISION;
        const double rest = fmin(sqrt(s.power_less_one * scale), least_power);
        from_weights += k * weight_norm * rest;
        from_sums += k * weight_sum * rest;
        least_power = fmin(least_power, sqrt(s.power * scale));
        if (steps == 1) {
            product_square = s.power;
        } else if (j == 0) {
            memcpy(work->product, work->spectrum, 2 * half * sizeof(double));
        } else {
            product_square = multiply_spectra(work->product, work->spectrum, half);
        }
    }
    const prv_status interrupted = prv_check_interrupt(window->options);
    if (interrupted != PRV_OK) return interrupted;
    fft->inverse(fft->inverse_plan, steps == 1 ? work->spectrum : work->product, work->real);
    result->transforms++;
    const double own = sqrt(product_square * scale);
    const double others = power_error + (eta + 4.0 * (double)steps * PRV_UNIT) * own;
    /* The factor 1.2 covers second order: relative errors of the spectrum stay below 5 %. */
    result->rounding = 1.2 * (eta * from_weights + others) + 4.0 * NEGLIGIBLE;
    result->rounding_norm = 1.2 * (eta * from_sums + others) + 4.0 * NEGLIGIBLE * sqrt((double)n);
    for (size_t i = 0; i < n; i++) work->real[i] *= scale;
    return PRV_OK;
}

double prv_composed_loss(const prv_composed *c, size_t point)
{
    return (double)(c->lowest + (long double)c->step * (long double)point);
}

prv_status prv_compose(const prv_lattice *const *lattices, const double *counts, size_t steps, double tilt,
                       const prv_window *window, const prv_fft *fft, prv_workspace *work,
                       prv_composed *result)
{
    const size_t n = window->length;
    double total = 0.0;
    long double offset = 0.0L;
    for (size_t j = 0; j < steps; j++) {
        total += counts[j];
        offset += (long double)counts[j] * (long double)lattices[j]->offset;
    }
    memset(result, 0, sizeof *result);
    result->tilted = prv_tilted_new(tilt, window);
    const prv_status status = fft == NULL
                                  ? compose_directly(lattices, counts, steps, total, window, work, result)
                                  : compose_by_transforms(lattices, counts, steps, window, fft, work, result);
    if (status != PRV_OK) return status;
    result->mass = work->real;
    result->length = n;
    result->step = lattices[0]->step;
    const double first = floor((window->lowest - (double)offset) / result->step);
    result->start = modulo(first, n);
    result->lowest = offset + (long double)first * (long double)result->step;
    const double above = (double)result->lowest + (double)n * result->step;
    const double below = (double)result->lowest - result->step;
    result->outside += prv_tilted_above(&result->tilted, above) + prv_tilted_below(&result->tilted, below);
    result->outside = fmin(result->outside, 1.0);
    return PRV_OK;
}
