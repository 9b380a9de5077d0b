#include "spectrum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "allocate.h"
#include "certificate.h"
#include "dispatch.h"
#include "tilt.h"
#include "vector_math.h"

#define UNIT (0.5 * DBL_EPSILON)
#define PI 3.14159265358979323846

enum {
    GROUP = 16, /* atoms that are rotated together: four chains of four hide the latency */
    BLOCK = 32  /* frequencies between fresh starts of the rotation */
};

/* Angles are products of a position and a frequency; these are exact as long as they stay below 2^52. */
#define MOST_TURNS 0x1p52

/* ---- Sources: the atoms of one step ---------------------------------------------------------- */

typedef struct source {
    size_t length;     /* a multiple of GROUP, padded with weight 0 */
    double *position;  /* units q above the heaviest atom, increasing */
    double *weight;    /* tilted; those of all atoms of the step sum to 1 */
    double total;      /* sum w */
    double count;      /* k */
    double spread;     /* sum w |position| */
    double *block;
    /* The subset that bounds |phi| at present, see `left_out`. */
    size_t first, end;
    double radius;     /* positions within it */
    double mass, curvature, modulus_square;
    double most_gap;   /* a larger one is not made use of */
} source;

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static size_t heaviest_of(const double *weight, size_t length)
{
    size_t heaviest = 0;
    for (size_t i = 0; i < length; i++)
        if (weight[i] > weight[heaviest]) heaviest = i;
    return heaviest;
}

/* The divisor of all distances between atoms and `divisor`. */
static int64_t unit_of(const prv_lattice *y, const double *weight, int64_t divisor)
{
    const int64_t origin = y->index[heaviest_of(weight, y->length)];
    for (size_t i = 0; i < y->length && divisor != 1; i++)
        if (weight[i] > 0.0) divisor = greatest_divisor(divisor, y->index[i] - origin);
    return divisor;
}

/* The atoms first .. end - 1. */
static prv_status source_new(const prv_lattice *y, const double *weight, size_t first, size_t end,
                             double count, source *s)
{
    memset(s, 0, sizeof *s);
    size_t length = 0;
    for (size_t i = first; i < end; i++) {
        length += weight[i] > 0.0;
        s->total += weight[i];
    }
    s->count = count;
    s->most_gap = 1.0;
    s->length = (length + GROUP - 1) / GROUP * GROUP;
    s->block = prv_allocate(2 * s->length, sizeof *s->block);
    if (s->block == NULL) return PRV_ERR_MEMORY;
    s->position = s->block;
    s->weight = s->block + s->length;
    const int64_t origin = y->index[heaviest_of(weight, y->length)];
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        if (weight[i] > 0.0) {
            s->position[n] = (double)(y->index[i] - origin);
            s->weight[n++] = weight[i];
        }
    for (; n < s->length; n++) {
        s->position[n] = n > 0 ? s->position[n - 1] : 0.0;
        s->weight[n] = 0.0;
    }
    return PRV_OK;
}

static void source_scale(source *s, double divisor)
{
    for (size_t i = 0; i < s->length; i++) {
        s->position[i] /= divisor;
        s->spread += s->weight[i] * fabs(s->position[i]);
    }
}

/* ---- phi - 1 at a block of frequencies ------------------------------------------------------ */

/* x modulo `period`, as a part of it in [-1/2, 1/2]; x is an integer below 2^52, so that the product is exact. */
static inline double turns(double x, double period, double inverse)
{
    const double whole = (x * inverse + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
    return (x - whole * period) * inverse;
}

/* sums[j] = sum of w (e^(i theta_(first + j) position) - 1) over a group of atoms, added. e^(i theta) - 1 is
 * rotated as d + r + d r, which keeps relative accuracy for small angles. */
PRV_VECTOR static void add_group(const double *restrict position, const double *restrict weight,
                                 double first, double points, size_t count, double (*restrict re)[GROUP],
                                 double (*restrict im)[GROUP])
{
    double dr[GROUP], di[GROUP], rr[GROUP], ri[GROUP], wr[GROUP], wi[GROUP];
    const double inverse = 1.0 / points;
    for (size_t a = 0; a < GROUP; a++) {
        const double part = turns(position[a], points, inverse), within = part * points;
        const double nearest = (within + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
        prv_vm_turn(part, &rr[a], &ri[a]);
        prv_vm_turn(turns(first * nearest, points, inverse), &dr[a], &di[a]);
        dr[a] *= weight[a];
        di[a] *= weight[a];
        wr[a] = weight[a] * rr[a];
        wi[a] = weight[a] * ri[a];
    }
    for (size_t j = 0; j < count; j++)
        for (size_t a = 0; a < GROUP; a++) {
            re[j][a] += dr[a];
            im[j][a] += di[a];
            const double next = dr[a] + wr[a] + (dr[a] * rr[a] - di[a] * ri[a]);
            di[a] = di[a] + wi[a] + (dr[a] * ri[a] + di[a] * rr[a]);
            dr[a] = next;
        }
}

/* phi - 1 at frequencies first .. first + count - 1. */
static void characteristic(const source *s, double first, size_t count, double points, double *re, double *im)
{
    double sum_re[BLOCK][GROUP], sum_im[BLOCK][GROUP];
    memset(sum_re, 0, sizeof sum_re);
    memset(sum_im, 0, sizeof sum_im);
    for (size_t a = 0; a < s->length; a += GROUP)
        add_group(s->position + a, s->weight + a, first, points, count, sum_re, sum_im);
    for (size_t j = 0; j < count; j++) {
        re[j] = im[j] = 0.0;
        for (size_t a = 0; a < GROUP; a++) {
            re[j] += sum_re[j][a];
            im[j] += sum_im[j][a];
        }
    }
}

/* Error of phi in the block that ends before frequency `end`: SPECTRUM.md, section 4. */
static double characteristic_error(const source *s, double end, double points)
{
    const double angle = 2.0 * PI / points * s->spread;
    const double most = 2.0 * s->total;
    return UNIT * ((160.0 + (double)s->length / GROUP) * fmin(most, end * angle) + 1600.0 * fmin(most, angle));
}

/* ---- Spectrum ------------------------------------------------------------------------------- */

/* log Phi and its error, by frequency. */
typedef struct exponents {
    size_t count, capacity;
    double *block;
    double *log_modulus, *phase;
    double *log_bound; /* of |Phi| with all errors of phi on top */
    double *error;     /* relative to that */
    /* With jumps apart the above are of prod b^k, and these are sum k log1p(j / b) and its error. */
    double *jump_re, *jump_im, *jump_error;
} exponents;

enum { EXPONENTS = 7 };

static prv_status exponents_reserve(exponents *e, size_t capacity)
{
    if (capacity <= e->capacity) return PRV_OK;
    double *block = prv_allocate(EXPONENTS * capacity, sizeof *block);
    if (block == NULL) return PRV_ERR_MEMORY;
    double **parts[EXPONENTS] = {&e->log_modulus, &e->phase, &e->log_bound, &e->error,
                                 &e->jump_re, &e->jump_im, &e->jump_error};
    for (size_t i = 0; i < EXPONENTS; i++) {
        if (e->count > 0) memcpy(block + i * capacity, *parts[i], e->count * sizeof *block);
        *parts[i] = block + i * capacity;
    }
    prv_release(e->block);
    e->block = block;
    e->capacity = capacity;
    return PRV_OK;
}

/* Adds k log1p(j / b) of one step, b = 1 + x + i y known to b_error. */
static void add_jumps(exponents *e, size_t at, const source *jumps, double x, double y, double j_re,
                      double j_im, double j_error, double b_error)
{
    const double k = jumps->count, square = (1.0 + x) * (1.0 + x) + y * y, b = sqrt(square);
    const double re = (j_re * (1.0 + x) + j_im * y) / square, im = (j_im * (1.0 + x) - j_re * y) / square;
    const double part = hypot(re, im);
    if (!(part < 0.5)) { /* only |b + j| <= |b| (1 + rho / |b|) is kept */
        e->jump_re[at] += k * log1p(jumps->total / b);
        e->jump_error[at] = HUGE_VAL;
        return;
    }
    e->jump_re[at] += k * 0.5 * log1p(2.0 * re + re * re + im * im);
    e->jump_im[at] += k * atan2(im, 1.0 + re);
    e->jump_error[at] += k * (j_error / b + part * b_error + 16.0 * UNIT * part) / (1.0 - part);
}

/* Appends a block of frequencies. jumps: NULL, or as many as sources. */
static prv_status exponents_extend(exponents *e, const source *sources, const source *jumps, size_t steps,
                                   double points, size_t count)
{
    if (e->count + count > e->capacity) {
        const prv_status status = exponents_reserve(e, 2 * e->capacity + 8 * BLOCK);
        if (status != PRV_OK) return status;
    }
    const size_t first = e->count;
    double *parts[EXPONENTS] = {e->log_modulus, e->phase, e->log_bound, e->error, e->jump_re, e->jump_im, e->jump_error};
    for (size_t i = 0; i < EXPONENTS; i++) memset(parts[i] + first, 0, count * sizeof(double));
    double re[BLOCK], im[BLOCK], jump_re[BLOCK], jump_im[BLOCK];
    for (size_t m = 0; m < steps; m++) {
        const source *s = &sources[m];
        const double k = s->count, end = (double)(first + count), rare = jumps != NULL ? jumps[m].total : 0.0;
        const double phi_error = characteristic_error(s, end, points) + 4.0 * UNIT * rare;
        characteristic(s, (double)first, count, points, re, im);
        double jump_error = 0.0;
        if (jumps != NULL) {
            characteristic(&jumps[m], (double)first, count, points, jump_re, jump_im);
            jump_error = characteristic_error(&jumps[m], end, points) + 8.0 * UNIT * rare;
        }
        for (size_t j = 0; j < count; j++) {
            /* |phi|^2 - 1 where |phi| is near 1, |phi|^2 itself where it is not; no smaller than its error. */
            const double x = re[j] - rare, y = im[j], excess = 2.0 * x + x * x + y * y;
            const double square = fmax((1.0 + x) * (1.0 + x) + y * y, phi_error * phi_error);
            const double log_modulus = 0.5 * (excess > -0.5 ? log1p(excess) : log(square));
            const double modulus = exp(log_modulus);
            /* The error of phi, and 4 roundings of `excess` and the logarithm's. */
            const double size = 2.0 * fabs(x) + x * x + y * y;
            const double relative = (phi_error + 4.0 * UNIT * size / modulus) / modulus +
                                    2.0 * UNIT * fabs(log_modulus);
            const double phase = k * atan2(y, 1.0 + x);
            e->log_modulus[first + j] += k * log_modulus;
            e->phase[first + j] += phase;
            /* |phi~^k - phi^k| <= k (error of phi) (|phi| + error)^(k - 1). */
            e->log_bound[first + j] += k * (log_modulus + log1p(relative));
            e->error[first + j] += k * relative / (1.0 + relative) + 4.0 * UNIT * fabs(phase);
            if (jumps != NULL)
                add_jumps(e, first + j, &jumps[m], x, y, rare + jump_re[j], jump_im[j], jump_error, relative);
        }
    }
    e->count += count;
    return PRV_OK;
}

double prv_kernel_divisor(double lam_q, double theta)
{
    const double r = exp(-lam_q), co = cos(theta);
    if (co < r) return co > 0.0 ? sin(theta) * sin(theta) : 1.0;
    const double s = sin(0.5 * theta), below = -expm1(-lam_q);
    return below * below + 4.0 * r * s * s;
}

/* ---- Frequencies left out -------------------------------------------------------------------- */

/* |A(theta)|^2 of the subset in use, A = sum w e^(i theta position), with its rounding on top. */
PRV_VECTOR static double modulus_square(const double *restrict position, const double *restrict weight,
                                        size_t length, double frequency)
{
    double re[8] = {0}, im[8] = {0}, far = 0.0, total = 0.0;
    size_t i = 0;
    for (; i + 8 <= length; i += 8)
        for (size_t l = 0; l < 8; l++) {
            const double t = frequency * position[i + l];
            const double whole = (t + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
            double x, y;
            prv_vm_turn(t - whole, &x, &y);
            re[l] += weight[i + l] * (1.0 + x);
            im[l] += weight[i + l] * y;
        }
    for (; i < length; i++) {
        const double t = frequency * position[i], whole = (t + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
        double x, y;
        prv_vm_turn(t - whole, &x, &y);
        re[0] += weight[i] * (1.0 + x);
        im[0] += weight[i] * y;
    }
    for (size_t l = 1; l < 8; l++) {
        re[0] += re[l];
        im[0] += im[l];
    }
    for (i = 0; i < length; i++) total += weight[i];
    if (length > 0) far = frequency * fmax(fabs(position[0]), fabs(position[length - 1]));
    return re[0] * re[0] + im[0] * im[0] + UNIT * (64.0 + (double)length + 16.0 * far) * total * total;
}

/* Takes the atoms within `radius` of the heaviest as the subset. */
static void take_subset(source *s, double radius)
{
    size_t low = 0, high = s->length;
    while (low < high && s->position[low] < -radius) low++;
    while (high > low && (s->position[high - 1] > radius || s->weight[high - 1] == 0.0)) high--;
    s->first = low;
    s->end = high;
    s->radius = radius;
    s->mass = 0.0;
    double second = 0.0;
    for (size_t i = low; i < high; i++) {
        s->mass += s->weight[i];
        second += s->weight[i] * s->position[i] * s->position[i];
    }
    s->curvature = 0.25 * s->mass * second;
}

static double subset_square(const source *s, double theta)
{
    return modulus_square(s->position + s->first, s->weight + s->first, s->end - s->first,
                          theta * (0.5 / PI));
}

/* k log(1 / |phi|) at least, on an interval whose larger end has |A|^2 = square. */
static double decay(const source *s, double square, double width)
{
    const double rounding = (512.0 + (double)s->length) * UNIT; /* of the weights and their sum */
    const double gap = s->mass * s->mass * (1.0 - rounding) - square - width * width * s->curvature;
    return gap > 0.0 ? -0.5 * s->count * log1p(-fmin(gap, s->most_gap)) : 0.0;
}

typedef struct march {
    source *sources;
    size_t steps;
    double *next; /* [steps] */
    double work, most_work;
    double factor; /* |Phi| is at most that times e^(-decay) */
} march;

/* Decay at the frequencies after `theta` up to theta + width, with the subsets in use; next[] gets |A|^2
 * there. A width of one frequency needs no interpolation. */
static double decay_over(march *m, double theta, double width, int one)
{
    double sum = 0.0;
    for (size_t i = 0; i < m->steps; i++) {
        source *s = &m->sources[i];
        m->next[i] = subset_square(s, theta + width);
        m->work += 4.0 * (double)(s->end - s->first);
        sum += one ? decay(s, m->next[i], 0.0) : decay(s, fmax(s->modulus_square, m->next[i]), width);
    }
    return sum;
}

/* All subsets by this factor smaller or larger, and |A|^2 at theta; 0 if none can change. */
static int resize_subsets(march *m, double factor, double theta)
{
    int changed = 0;
    for (size_t i = 0; i < m->steps; i++) {
        source *s = &m->sources[i];
        const double before = s->radius;
        const double whole = fmax(fabs(s->position[0]), fabs(s->position[s->length - 1]));
        const double radius = fmin(fmax(before * factor, 1.0), fmax(whole, 1.0));
        if (radius == before) continue;
        take_subset(s, radius);
        s->modulus_square = subset_square(s, theta);
        m->work += 4.0 * (double)(s->end - s->first);
        changed = 1;
    }
    return changed;
}

/* At most sum_{j >= first} (2 / N) |Phi(theta_j)| |kern_j|. The gap 1 - |phi|^2 = sum w_a w_b (1 - cos) is a sum of
 * terms >= 0, so that of any subset of atoms, m^2 - |A|^2, is a lower bound. The farther out the
 * frequency, the fewer atoms around the heaviest suffice. Between samples |A|^2 is bounded by its curvature. */
static prv_status left_out(march *m, double first, double points, double unit, double tilt,
                           double tolerance, double *result)
{
    *result = 0.0;
    const double last = 0.5 * (points - 1.0), scale = 2.0 * PI / points;
    if (first > last) return PRV_OK;
    /* With this decay everywhere the sum would be half the tolerance. */
    const double wanted = fmax(log(m->factor * points * unit / (4.0 * first * tolerance)), 0.5);
    double at = first - 1.0, width = floor(0.1 * first) + 1.0; /* in frequencies; those up to `at` are done */
    for (size_t i = 0; i < m->steps; i++) {
        source *s = &m->sources[i];
        take_subset(s, fmax(fmax(fabs(s->position[0]), fabs(s->position[s->length - 1])), 1.0));
        s->modulus_square = subset_square(s, scale * at);
        m->work += 4.0 * (double)s->length;
    }
    while (at < last) {
        double reached = 0.0;
        for (int attempt = 1;; attempt++) {
            width = fmin(width, last - at);
            reached = decay_over(m, scale * at, scale * width, width == 1.0);
            if (reached >= wanted) break;
            if (attempt % 4 == 0 && resize_subsets(m, 4.0, scale * at)) continue;
            if (width == 1.0) break;
            width = ceil(0.5 * width);
        }
        if (m->work > m->most_work) return PRV_ERR_PRECISION;
        *result += m->factor * 2.0 / points * width * exp(-reached) * unit /
                   prv_kernel_divisor(tilt * unit, scale * (at + 1.0));
        if (*result > 4.0 * tolerance) return PRV_OK; /* too few frequencies: no need to know exactly */
        at += width;
        for (size_t i = 0; i < m->steps; i++) m->sources[i].modulus_square = m->next[i];
        if (reached > 2.0 * wanted && resize_subsets(m, 0.5, scale * at)) {
            double now = 0.0;
            for (size_t i = 0; i < m->steps; i++)
                now += decay(&m->sources[i], m->sources[i].modulus_square, 0.0);
            if (now < 1.5 * wanted) resize_subsets(m, 2.0, scale * at);
        }
        width = fmin(2.0 * width, floor(0.25 * at) + 1.0);
    }
    *result *= 1.0 + 1e-9;
    return PRV_OK;
}

/* ---- The stage ------------------------------------------------------------------------------ */

/* Spectra times kernels, and the rounding of all sums over them. */
static prv_status fill(const exponents *e, int separate, double unit, double tilt, double points,
                       prv_spectrum *out)
{
    const size_t n = e->count;
    out->block = prv_allocate(4 * (n + 8), sizeof *out->block);
    if (out->block == NULL) return PRV_ERR_MEMORY;
    out->finite_re = out->block;
    out->finite_im = out->finite_re + n + 8;
    out->reverse_re = out->finite_im + n + 8;
    out->reverse_im = out->reverse_re + n + 8;
    out->count = n;
    out->points = points;
    const double r = exp(-tilt * unit), below = -expm1(-tilt * unit);
    const double r1 = exp(-(tilt + 1.0) * unit), below1 = -expm1(-(tilt + 1.0) * unit);
    const double gain = -expm1(-unit);
    double rounding = 0.0;
    for (size_t j = 0; j < n; j++) {
        const double theta = 2.0 * PI * (double)j / points, s = sin(0.5 * theta), si = sin(theta);
        const double co = cos(theta), half = (j == 0 ? 1.0 : 2.0) / points;
        /* 1 - e^(-z q) and 1 - e^(-(z + 1) q) without the cancellation of 1 - cos. */
        const double ar = below + 2.0 * r * s * s, ai = r * si;
        const double br = below1 + 2.0 * r1 * s * s, bi = r1 * si;
        const double a2 = ar * ar + ai * ai, b2 = br * br + bi * bi;
        const double modulus = exp(e->log_modulus[j]);
        const double size_bound = fmin(e->log_bound[j], 0.0);
        double pr = modulus * cos(e->phase[j]), pi = modulus * sin(e->phase[j]);
        double phi_error = exp(size_bound) * fmin(e->error[j], 2.0);
        if (separate) {
            /* expm1 of a complex number, and its error. */
            const double s_half = sin(0.5 * e->jump_im[j]), grown = expm1(e->jump_re[j]), real = pr;
            const double xr = grown * cos(e->jump_im[j]) - 2.0 * s_half * s_half;
            const double xi = (1.0 + grown) * sin(e->jump_im[j]), factor = hypot(xr, xi);
            if (e->jump_error[j] < 0.5) {
                pr = real * xr - pi * xi;
                pi = real * xi + pi * xr;
                phi_error = phi_error * factor +
                            exp(size_bound) * ((1.0 + grown) * expm1(e->jump_error[j]) + 16.0 * UNIT * factor);
            } else {
                pr = pi = 0.0;
                phi_error = 2.0 * exp(fmin(e->log_bound[j] + e->jump_re[j], 0.0));
            }
        }
        /* 1 / b, and e^(-z q) (1 - e^(-q)) / (a b). */
        const double fr = br / b2, fi = -bi / b2;
        const double gr = (ar * fr + ai * fi) / a2, gi = (ar * fi - ai * fr) / a2;
        const double kr = gain * r * (gr * co + gi * si), ki = gain * r * (gi * co - gr * si);
        out->finite_re[j] = half * (pr * kr - pi * ki);
        out->finite_im[j] = half * (pr * ki + pi * kr);
        out->reverse_re[j] = half * (pr * fr - pi * fi);
        out->reverse_im[j] = half * (pr * fi + pi * fr);
        const double size = half * (hypot(kr, ki) + unit * hypot(fr, fi));
        const double own = UNIT * (64.0 + 2.0 * fabs(e->log_modulus[j]) + 12.0 * (double)j);
        rounding += size * (phi_error + own * hypot(pr, pi));
    }
    for (size_t j = n; j < n + 8; j++)
        out->finite_re[j] = out->finite_im[j] = out->reverse_re[j] = out->reverse_im[j] = 0.0;
    out->rounding = 1.01 * rounding;
    return PRV_OK;
}

/* Where the losses above `bulk` begin. */
static size_t first_above(const prv_lattice *y, double bulk)
{
    size_t end = y->length;
    while (end > 0 && y->loss[end - 1] > bulk) end--;
    return end;
}

/* The sources in a common unit, and the lattice of sums in `composed`. With window->separate, sources[steps + m] has
 * the jumps of step m, and *log_bulk is the log-moment of all without them at window->bulk_tilt. */
static prv_status sources_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                              double tilt, const prv_window *window, source *sources, double *log_bulk,
                              prv_composed *composed)
{
    size_t longest = 0;
    for (size_t m = 0; m < steps; m++)
        if (lattices[m]->length > longest) longest = lattices[m]->length;
    double *weight = prv_allocate(longest, sizeof *weight);
    if (weight == NULL) return PRV_ERR_MEMORY;
    composed->tilted = prv_tilted_new(tilt, window);
    composed->lowest = 0.0L;
    prv_status status = PRV_OK;
    int64_t divisor = 0;
    *log_bulk = 0.0;
    for (size_t m = 0; m < steps && status == PRV_OK; m++) {
        const prv_lattice *y = lattices[m];
        prv_tilted_add(&composed->tilted, y, counts[m], weight);
        divisor = unit_of(y, weight, divisor);
        const size_t heaviest = heaviest_of(weight, y->length);
        const size_t split = window->separate ? first_above(y, window->bulk) : y->length;
        status = source_new(y, weight, 0, split, counts[m], &sources[m]);
        if (window->separate && status == PRV_OK) {
            status = source_new(y, weight, split, y->length, counts[m], &sources[steps + m]);
            *log_bulk += counts[m] * prv_tilt(y->loss, y->mass, split, window->bulk_tilt, NULL).log_moment;
            /* The bulk must be that. */
            if (heaviest >= split || sources[steps + m].total > 0.25) status = PRV_ERR_PRECISION;
        }
        composed->lowest += (long double)counts[m] * ((long double)y->offset +
                                (long double)y->step * (long double)y->index[heaviest]);
        /* phi = 1 + sum w (e^(i ...) - 1) leaves the heaviest atom what the others leave of 1. */
        long double sum = 0.0L;
        for (size_t i = 0; i < y->length; i++) sum += (long double)weight[i];
        const double missing = fabs((double)(sum - 1.0L)) + (double)y->length * (double)LDBL_EPSILON;
        if (y->length > 0) composed->tilted.relative_error += counts[m] * missing / weight[heaviest];
    }
    prv_release(weight);
    /* Steps of one atom each have no unit: any will do for the one point of their sum. */
    composed->step = divisor > 0 ? lattices[0]->step * (double)divisor : 1.0;
    for (size_t m = 0; m < (window->separate ? 2 * steps : steps) && status == PRV_OK; m++)
        source_scale(&sources[m], divisor > 0 ? (double)divisor : 1.0);
    return status;
}

/* The period for which images cost no more than the tolerance (SPECTRUM.md, section 3): what lies above `low` comes
 * back one period higher, damped by the tilt, and what lies more than a period above epsilon comes down to it. */
static double period_of(const prv_tilted *t, const prv_window *w, double *low)
{
    const double g = prv_kernel_maximum(t->tilt), log_mass = log(w->tolerance / g) - 0.02;
    *low = fmax((log_mass - t->log_down) / t->shift_down, t->support_low - 1e-6 * fabs(t->support_low) - 1e-6);
    const double high = fmin((t->log_up - log_mass) / t->shift_up, t->support_high);
    return fmax(high - w->low_epsilon, w->high_epsilon - *low - log(w->tolerance) / t->tilt);
}

prv_status prv_spectrum_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                            double tilt, const prv_window *window, double most_work,
                            prv_spectrum *out, prv_composed *composed)
{
    memset(out, 0, sizeof *out);
    memset(composed, 0, sizeof *composed);
    const size_t source_count = window->separate ? 2 * steps : steps;
    source *sources = prv_allocate(source_count, sizeof *sources);
    double *next = prv_allocate(steps, sizeof *next);
    exponents e = {0};
    double log_bulk = 0.0;
    if (sources != NULL) memset(sources, 0, source_count * sizeof *sources);
    prv_status status = sources != NULL && next != NULL ? PRV_OK : PRV_ERR_MEMORY;
    if (status == PRV_OK)
        status = sources_new(lattices, counts, steps, tilt, window, sources, &log_bulk, composed);
    const source *jumps = window->separate ? sources + steps : NULL;
    const double unit = composed->step;
    const double points = 2.0 * ceil(0.5 * period_of(&composed->tilted, window, &out->low) / unit) + 1.0;
    const double all = 0.5 * (points - 1.0);
    if (status == PRV_OK && !(points < 0x1p50)) status = PRV_ERR_PRECISION;
    double atoms = 0.0, expected = 0.0;
    int nothing = 0;
    for (size_t m = 0; status == PRV_OK && m < steps; m++) {
        atoms += (double)(sources[m].length + (jumps != NULL ? jumps[m].length : 0));
        nothing = nothing || sources[m].length == 0;
        if (jumps == NULL) continue;
        sources[m].most_gap = 0.75;
        expected += jumps[m].count * jumps[m].total;
    }
    if (status == PRV_OK && nothing) {
        /* A lattice without finite mass: there is nothing to sum. */
        composed->tilted.log_moment = 0.0;
        composed->tilted.log_up = composed->tilted.log_down = -HUGE_VAL;
        out->points = 1.0;
    }
    /* |prod (b + j)^k - prod b^k| <= prod beta^k expm1(sum k rho / beta) for |j| <= rho, |b| <= beta, beta >= 1/2. */
    march walk = {sources, steps, next, 0.0, most_work, jumps != NULL ? fmin(expm1(2.0 * expected), 2.0) : 1.0};
    const double small = log(window->tolerance / walk.factor);
    double wanted = BLOCK;
    while (status == PRV_OK && !nothing) {
        /* Until a whole block of frequencies is small, and at least as many as wanted. */
        while (status == PRV_OK && (double)e.count <= all) {
            const double count = fmin(BLOCK, all + 1.0 - (double)e.count);
            if ((double)(e.count + BLOCK) * points > MOST_TURNS || out->work > most_work) {
                status = PRV_ERR_PRECISION;
                break;
            }
            status = exponents_extend(&e, sources, jumps, steps, points, (size_t)count);
            out->work += atoms * count;
            if (status != PRV_OK) break;
            double greatest = -HUGE_VAL;
            for (size_t j = e.count - (size_t)count; j < e.count; j++)
                greatest = fmax(greatest, e.log_modulus[j] + log(points * unit / (8.0 * (double)(j + 1))));
            if ((double)e.count >= wanted && greatest < small) break;
        }
        if (status != PRV_OK) break;
        /* Where looking for what is left out would cost more than leaving nothing out, nothing is. */
        const double rest = atoms * (all + 1.0 - (double)e.count);
        walk.most_work = fmin(walk.work + rest, most_work);
        status = left_out(&walk, (double)e.count, points, unit, tilt, window->tolerance, &out->left_out);
        if (status == PRV_ERR_PRECISION && out->work + rest <= most_work) {
            status = PRV_OK;
            wanted = HUGE_VAL;
            continue;
        }
        if (status != PRV_OK || out->left_out <= window->tolerance) break;
        wanted = 1.5 * (double)e.count;
    }
    if (status == PRV_OK && !nothing) status = fill(&e, jumps != NULL, unit, tilt, points, out);
    if (status == PRV_OK) {
        out->work += walk.work;
        out->tolerance = window->tolerance;
        out->below = prv_tilted_below(&composed->tilted, out->low);
        out->bulk_low = window->bulk_low;
        if (jumps != NULL && !nothing)
            out->bulk = 1.01 * prv_kernel_maximum(window->bulk_tilt) *
                        exp(log_bulk - composed->tilted.log_moment - (window->bulk_tilt - tilt) * window->bulk_low);
        composed->spectrum = out;
    }
    if (sources != NULL)
        for (size_t m = 0; m < source_count; m++) prv_release(sources[m].block);
    prv_release(sources);
    prv_release(next);
    prv_release(e.block);
    return status;
}

void prv_spectrum_free(prv_spectrum *spectrum)
{
    prv_release(spectrum->block);
    memset(spectrum, 0, sizeof *spectrum);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* Sums of Re (a e^(-i theta_j n)), eight frequencies rotated together. */
PRV_VECTOR static void evaluate(const prv_spectrum *s, double part, double *finite, double *reverse)
{
    double er[8], ei[8], f[8] = {0}, b[8] = {0}, rr, ri;
    prv_vm_turn(turns(8.0 * part, 1.0, 1.0), &rr, &ri);
    for (size_t l = 0; l < 8; l++) {
        prv_vm_turn(turns((double)l * part, 1.0, 1.0), &er[l], &ei[l]);
        er[l] += 1.0;
    }
    const double *restrict fr = s->finite_re, *restrict fi = s->finite_im;
    const double *restrict br = s->reverse_re, *restrict bi = s->reverse_im;
    for (size_t j = 0; j < s->count; j += 8)
        for (size_t l = 0; l < 8; l++) {
            f[l] += fr[j + l] * er[l] - fi[j + l] * ei[l];
            b[l] += br[j + l] * er[l] - bi[j + l] * ei[l];
            const double next = er[l] + (er[l] * rr - ei[l] * ri);
            ei[l] = ei[l] + (er[l] * ri + ei[l] * rr);
            er[l] = next;
        }
    *finite = *reverse = 0.0;
    for (size_t l = 0; l < 8; l++) {
        *finite += f[l];
        *reverse += b[l];
    }
}

void prv_spectrum_at(const prv_spectrum *s, double n, double *finite, double *reverse)
{
    evaluate(s, -turns(n, s->points, 1.0 / s->points), finite, reverse);
}

double prv_spectrum_images(const prv_composed *c, double *low_epsilon, double *high_epsilon)
{
    const prv_spectrum *s = c->spectrum;
    const prv_tilted *t = &c->tilted;
    const double period = s->points * c->step, log_tolerance = log(s->tolerance);
    const double again = exp(-t->tilt * period), rest = -expm1(-t->tilt * period);
    const double weight = prv_kernel_maximum(t->tilt) + again / rest;
    /* Of what lies a period above low_epsilon, as much as weighs the tolerance. */
    double high = s->tolerance / weight;
    *low_epsilon = t->shift_up > 0.0 ? (t->log_up - log(high) + 0.01) / t->shift_up - period : HUGE_VAL;
    if (t->support_high - period < *low_epsilon) {
        *low_epsilon = t->support_high - period + c->step;
        high = 0.0;
    }
    *high_epsilon = s->low + period + log_tolerance / t->tilt;
    return (s->below + high) * weight + s->tolerance / rest;
}
