#include "composition/spectrum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/complex.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "lattices/tilt.h"
#include "composition/kernel.h"
#include "composition/remainder.h"

/* Logarithms and sines at one frequency of one step take as long as this many atoms. */
#define FREQUENCY_WORK 256.0

/* Angles are products of a position and a frequency; these are exact as long as they stay below 2^52. */
#define MOST_TURNS 0x1p52

/* Frequencies that are rotated together when the series is summed. */
enum { LANES = 8 };

/* If the error of L = sum k log1p(j / b) is no less than this, the term of that frequency is taken as 0 and
 * bounded (SPECTRUM.md, section 7). Any value is sound. */
#define MOST_JUMP_ERROR 0.5

/* Jumps that hold more than this part of the tilted mass of a step are no rare ones. Any value is sound. */
#define MOST_JUMPS 0.25
/* A gap of the bulk counts as at most this: |b| is then at least 1/2 in bounds (SPECTRUM.md, section 7). */
#define BULK_GAP 0.75

/* ---- The stage ------------------------------------------------------------------------------ */

/* Whether frequency j begins a run. */
static bool starts_run(const prv_exponents *e, size_t j)
{
    return j == 0 || e->number[j] != e->number[j - 1] + 1.0;
}

/* |a| from above: its rounding is 3 u, and squares that underflow are less than what is added. */
static inline double modulus_above(prv_complex a)
{
    return sqrt(prv_cabs_square(a)) + 0x1p-500;
}

/* What the kernels of section 1 are made of: e^(-lam q) and e^(-(lam + 1) q), 1 less each, and 1 - e^(-q). */
typedef struct kernel_factors {
    double decay, decay_more;
    double rest, rest_more;
    double gain;
} kernel_factors;

static kernel_factors factors_of(double tilt, double unit)
{
    return (kernel_factors){.decay = exp(-tilt * unit),
                            .decay_more = exp(-(tilt + 1.0) * unit),
                            .rest = -expm1(-tilt * unit),
                            .rest_more = -expm1(-(tilt + 1.0) * unit),
                            .gain = -expm1(-unit)};
}

/* 1 - r e^(-i theta) = (1 - r) + 2 r sin^2(theta / 2) + i r sin theta: no term cancels another, as 1 - r cos
 * theta would. rest = 1 - r; sin_half and sin_all: of theta / 2 and theta. */
static inline prv_complex one_less_turned(double r, double rest, double sin_half, double sin_all)
{
    return (prv_complex){rest + 2.0 * r * sin_half * sin_half, r * sin_all};
}

/* The kernels of D and B at z = lam + i theta / q: with a = 1 - e^(-z q) and b = 1 - e^(-(z + 1) q), kern_D =
 * e^(-z q) (1 - e^(-q)) / (a b) and kern_B = 1 / b. */
static inline void kernels_at(const kernel_factors *f, double theta, prv_complex *kern_d, prv_complex *kern_b)
{
    const double sin_half = sin(0.5 * theta);
    const prv_complex turn = {cos(theta), sin(theta)};
    const prv_complex a = one_less_turned(f->decay, f->rest, sin_half, turn.im);
    const prv_complex b = one_less_turned(f->decay_more, f->rest_more, sin_half, turn.im);
    *kern_b = prv_cinverse(b);
    *kern_d = prv_cscale(f->gain * f->decay, prv_cmul_conj(prv_cdiv(*kern_b, a), turn));
}

/* Phi at one frequency, and what it may be off by. */
typedef struct phi {
    prv_complex value;
    double error;
} phi;

/* prod phi^k, or prod b^k with jumps apart. The sums over the steps round by u of all that they hold, each
 * time. */
static phi phi_at(const prv_exponents *e, size_t j, size_t steps)
{
    const double modulus = exp(e->log_modulus[j]);
    const double relative = e->error[j] + (4.0 + (double)steps) * PRV_UNIT * e->size[j];
    return (phi){prv_cscale(modulus, (prv_complex){cos(e->phase[j]), sin(e->phase[j])}),
                 exp(fmin(e->log_bound[j], 0.0)) * fmin(relative, 2.0)};
}

/* From prod b^k, prod (b + j)^k - prod b^k = prod b^k (e^L - 1), L = sum k log1p(j / b): section 7, the
 * frequencies kept. */
static phi phi_of_jumps(const prv_exponents *e, size_t j, size_t steps, phi bulk)
{
    /* |log(1 + z)| <= 2 log(1 + |z|) if |z| < 1/2. */
    const double error = e->jump_error[j] + 2.0 * (double)steps * PRV_UNIT * e->jump_bound[j];
    if (!(error < MOST_JUMP_ERROR)) {
        const double both = 2.0 * exp(fmin(e->log_bound[j] + e->jump_bound[j], 0.0));
        return (phi){{0.0, 0.0}, both};
    }
    const double sin_half = sin(0.5 * e->jump_im[j]), grown = expm1(e->jump_re[j]);
    const prv_complex factor = {grown * cos(e->jump_im[j]) - 2.0 * sin_half * sin_half,
                                (1.0 + grown) * sin(e->jump_im[j])};
    const double size = hypot(factor.re, factor.im), bulk_bound = exp(fmin(e->log_bound[j], 0.0));
    return (phi){prv_cmul(bulk.value, factor),
                 bulk.error * size + bulk_bound * ((1.0 + grown) * expm1(error) + 22.0 * PRV_UNIT * size)};
}

/* Room for `count` coefficients, and zeros after them to the next multiple of LANES; and for the runs. */
static prv_status reserve(const prv_exponents *e, prv_spectrum *out)
{
    const size_t padded = e->count + LANES;
    out->block = prv_allocate(4 * padded, sizeof *out->block);
    if (out->block == NULL) return PRV_ERR_MEMORY;
    out->finite_re = out->block;
    out->finite_im = out->finite_re + padded;
    out->reverse_re = out->finite_im + padded;
    out->reverse_im = out->reverse_re + padded;
    out->count = e->count;
    for (size_t j = e->count; j < padded; j++)
        out->finite_re[j] = out->finite_im[j] = out->reverse_re[j] = out->reverse_im[j] = 0.0;
    for (size_t j = 0; j < e->count; j++)
        if (starts_run(e, j)) out->run_count++;
    out->runs = prv_allocate(out->run_count, sizeof *out->runs);
    return out->runs != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

prv_status prv_spectrum_fill(const prv_exponents *e, size_t steps, bool separate, double unit, double tilt,
                             double points, prv_spectrum *out)
{
    const prv_status status = reserve(e, out);
    if (status != PRV_OK) return status;
    out->points = points;
    const kernel_factors factors = factors_of(tilt, unit);
    double rounding = 0.0;
    prv_run *run = NULL;
    for (size_t j = 0; j < e->count; j++) {
        const double number = e->number[j];
        if (starts_run(e, j)) {
            run = run == NULL ? out->runs : run + 1;
            *run = (prv_run){number, 0};
        }
        run->length++;
        phi p = phi_at(e, j, steps);
        if (separate) p = phi_of_jumps(e, j, steps, p);
        prv_complex kern_d, kern_b;
        kernels_at(&factors, 2.0 * PRV_PI * number / points, &kern_d, &kern_b);
        /* j and -j are conjugates, so that they make one real term of twice the weight; 0 stands alone. */
        const double weight = (number == 0.0 ? 1.0 : 2.0) / points;
        const prv_complex finite = prv_cscale(weight, prv_cmul(p.value, kern_d));
        const prv_complex reverse = prv_cscale(weight, prv_cmul(p.value, kern_b));
        out->finite_re[j] = finite.re;
        out->finite_im[j] = finite.im;
        out->reverse_re[j] = reverse.re;
        out->reverse_im[j] = reverse.im;
        /* Section 4, terms and their sum. */
        const double size = weight * (modulus_above(kern_d) + unit * modulus_above(kern_b));
        const double own = PRV_UNIT * (160.0 + 3.0 * fabs(e->log_modulus[j]) + 14.0 * (number - run->first) +
                                       (double)e->count / 6.0);
        rounding += size * (p.error + own * modulus_above(p.value));
    }
    /* A sum of n terms, and products of errors: parts of n u, and of errors, of itself. */
    out->rounding = PRV_SECOND_ORDER * rounding;
    return PRV_OK;
}

/* Moves the losses above `bulk` from weight[] to jumps[]. Returns where they begin. */
static size_t split_jumps(const prv_lattice *y, double bulk, double *weight, double *jumps)
{
    size_t split = y->length;
    while (split > 0 && y->loss[split - 1] > bulk) split--;
    for (size_t i = 0; i < y->length; i++) jumps[i] = i < split ? 0.0 : weight[i];
    for (size_t i = split; i < y->length; i++) weight[i] = 0.0;
    return split;
}

/* Tilts a step's law into weight[], adds what it contributes to `composed` but for the unit of the lattice of
 * sums, and returns its heaviest atom. */
static size_t add_law(const prv_lattice *y, double count, double *weight, prv_composed *composed)
{
    prv_tilted_add(&composed->tilted, y, count, weight);
    const size_t heaviest = prv_heaviest(weight, y->length);
    const long double place = (long double)count *
                              ((long double)y->offset +
                               (long double)y->spacing * (long double)y->index[heaviest]);
    composed->lowest += place;
    composed->spectral.place_size += fabs((double)place);
    composed->spectral.laws++;
    /* phi = 1 + sum w (e^(i ...) - 1) leaves the heaviest atom what the others leave of 1. */
    long double sum = 0.0L;
    for (size_t i = 0; i < y->length; i++) sum += (long double)weight[i];
    const double missing = fabs((double)(sum - 1.0L)) + (double)y->length * PRV_LONG_EPSILON;
    if (y->length > 0) composed->tilted.relative_error += count * missing / weight[heaviest];
    return heaviest;
}

prv_status prv_spectrum_add(const prv_lattice *y, double count, int64_t divisor, double points,
                            double *weight, prv_exponents *e, prv_composed *composed)
{
    const size_t heaviest = add_law(y, count, weight, composed);
    if (prv_unit(y, weight, divisor) != divisor) return PRV_ERR_PRECISION;
    prv_source source;
    const prv_status status = prv_source_new(y, weight, heaviest, count, &source);
    if (status != PRV_OK) return status;
    prv_source_scale(&source, (double)divisor);
    for (size_t at = 0, length = 0; at < e->count; at += length) {
        for (length = 1;
             length < PRV_FREQUENCY_BLOCK && at + length < e->count && !starts_run(e, at + length);)
            length++;
        prv_exponents_add(e, at, length, &source, NULL, points);
    }
    prv_release(source.block);
    return PRV_OK;
}

/* Moves the jumps of a step from weight[] to jumps[], with a source of their own, and adds the log-moment of
 * the bulk at window->bulk_tilt, from above, to *log_bulk. PRV_ERR_PRECISION if this leaves no bulk, or if
 * the bulk's bound does not fall faster than M e^(-lam eps). */
static prv_status separate_jumps(const prv_lattice *y, double count, size_t heaviest, double tilt,
                                 const prv_window *window, double *weight, double *jumps, prv_source *source,
                                 double *log_bulk)
{
    const size_t split = split_jumps(y, window->bulk, weight, jumps);
    const prv_status status = prv_source_new(y, jumps, heaviest, count, source);
    if (status != PRV_OK) return status;
    const double moment = prv_tilt(y->loss, y->mass, split, window->bulk_tilt, NULL).log_moment;
    const double error = prv_tilt_error(y->loss, split, window->bulk_tilt, moment);
    *log_bulk += count * (moment + error + 4.0 * PRV_UNIT * fabs(moment));
    const bool fails = jumps[heaviest] > 0.0 || source->total > MOST_JUMPS || window->bulk_tilt < tilt;
    return fails ? PRV_ERR_PRECISION : PRV_OK;
}

/* The sources in a common unit, and the lattice of sums in `composed`. With window->separate, sources[steps +
 * m] has the jumps of step m, and *log_bulk is the log-moment of all without them at window->bulk_tilt, from
 * above. */
static prv_status sources_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                              double tilt, const prv_window *window, prv_source *sources, double *log_bulk,
                              prv_composed *composed)
{
    size_t longest = 0;
    for (size_t m = 0; m < steps; m++)
        if (lattices[m]->length > longest) longest = lattices[m]->length;
    double *weight = prv_allocate(2 * longest, sizeof *weight);
    if (weight == NULL) return PRV_ERR_MEMORY;
    composed->tilted = prv_tilted_new(tilt, window);
    prv_status status = PRV_OK;
    int64_t divisor = 0;
    *log_bulk = 0.0;
    for (size_t m = 0; m < steps; m++) {
        const prv_lattice *y = lattices[m];
        const size_t heaviest = add_law(y, counts[m], weight, composed);
        divisor = prv_unit(y, weight, divisor);
        if (window->separate)
            status = separate_jumps(y, counts[m], heaviest, tilt, window, weight, weight + longest,
                                    &sources[steps + m], log_bulk);
        if (status != PRV_OK) goto done;
        status = prv_source_new(y, weight, heaviest, counts[m], &sources[m]);
        if (status != PRV_OK) goto done;
    }
    /* Steps of one atom each have no unit: the period itself will do for the one point of their sum. */
    composed->spacing = divisor > 0 ? lattices[0]->spacing * (double)divisor : HUGE_VAL;
    for (size_t m = 0; m < (window->separate ? 2 * steps : steps); m++)
        prv_source_scale(&sources[m], divisor > 0 ? (double)divisor : 1.0);
done:
    prv_release(weight);
    return status;
}

/* Frequencies added block by block. */
typedef struct builder {
    prv_exponents *e;
    const prv_source *sources, *jumps;
    size_t steps;
    double points;
    double work_each; /* of a frequency */
    double most_work, work;
    const prv_options *options;
} builder;

/* One block of frequencies more, from `first` on. */
static prv_status extend(builder *b, double first)
{
    const double count = fmin(PRV_FREQUENCY_BLOCK, 0.5 * (b->points - 1.0) + 1.0 - first);
    if ((first + PRV_FREQUENCY_BLOCK) * b->points > MOST_TURNS || b->work > b->most_work)
        return PRV_ERR_PRECISION;
    prv_status status = prv_check_interrupt(b->options);
    if (status != PRV_OK) return status;
    b->work += b->work_each * count;
    const size_t at = b->e->count;
    status = prv_exponents_append(b->e, first, (size_t)count);
    if (status != PRV_OK) return status;
    for (size_t m = 0; m < b->steps; m++)
        prv_exponents_add(b->e, at, (size_t)count, &b->sources[m], b->jumps != NULL ? &b->jumps[m] : NULL,
                          b->points);
    return PRV_OK;
}

/* Whether each frequency of the last block makes up less than e^log_most, roughly. */
static bool last_block_is_below(const prv_exponents *e, bool separate, double log_most)
{
    for (size_t j = (e->count - 1) / PRV_FREQUENCY_BLOCK * PRV_FREQUENCY_BLOCK; j < e->count; j++) {
        const double jumps = !separate ? 1.0
                             : e->jump_error[j] < MOST_JUMP_ERROR
                                 ? fmin(expm1(hypot(e->jump_re[j], e->jump_im[j])), 2.0)
                                 : 2.0;
        if (!(e->log_modulus[j] + log(jumps / (double)(j + 1)) < log_most)) return false;
    }
    return true;
}

/* Adds every frequency up to the last one. */
static prv_status extend_to_end(builder *b, double last)
{
    while ((double)b->e->count <= last) {
        const prv_status status = extend(b, (double)b->e->count);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* Frequencies from 0 on until a whole block of them is small, and the blocks farther out that are not.
 * *left_out bounds what all others make up. */
static prv_status add_frequencies(builder *b, prv_march *walk, double unit, double tilt, double tolerance,
                                  double *left_out)
{
    const double last = 0.5 * (b->points - 1.0);
    const double small = log(tolerance) - log(0.125 * b->points * unit);
    while ((double)b->e->count <= last &&
           !(b->e->count > 0 && last_block_is_below(b->e, b->jumps != NULL, small))) {
        const prv_status status = extend(b, (double)b->e->count);
        if (status != PRV_OK) return status;
    }
    const double first = (double)b->e->count, rest = b->work_each * (last + 1.0 - first);
    walk->most_work = fmin(rest, b->most_work);
    prv_status status = prv_left_out(walk, first, b->points, unit, tilt, tolerance, left_out);
    if (status == PRV_ERR_PRECISION && b->work + rest <= b->most_work) {
        /* To look for these blocks costs more than to leave nothing out. */
        *left_out = 0.0;
        return extend_to_end(b, last);
    }
    for (size_t i = 0; status == PRV_OK && i < walk->kept_length; i++) status = extend(b, walk->kept[i]);
    return status;
}

/* The period for which images cost no more than the tolerance (SPECTRUM.md, section 3): what lies above `low`
 * comes back one period higher, damped by the tilt, and what lies more than a period above epsilon comes down
 * to it. */
static double period_of(const prv_tilted *t, const prv_window *w, double *low)
{
    const double g = prv_kernel_maximum(t->tilt), log_mass = log(w->tolerance / g) - 0.02,
                 longest = 1.0 + w->room_to_grow;
    *low = fmax((log_mass - fmax(t->log_down, longest * t->log_down)) / t->shift_down,
                fmin(t->support_low, longest * t->support_low) - 1e-6 * fabs(t->support_low) - 1e-6);
    const double high = fmin((fmax(t->log_up, longest * t->log_up) - log_mass) / t->shift_up,
                             fmax(t->support_high, longest * t->support_high));
    return fmax(high - w->low_epsilon, w->high_epsilon - *low - log(w->tolerance) / t->tilt);
}

/* What sums without a jump make up, in units of M e^(-lam eps), by Chernoff's inequality. */
static double bulk_from_above(const prv_tilted *t, const prv_window *w, double log_bulk, size_t steps)
{
    const double away = (w->bulk_tilt - t->tilt) * w->bulk_low;
    /* The moment that is the unit is off by relative_error, sums by u for each step of what is summed. */
    const double errors = t->relative_error + PRV_UNIT * (8.0 + (double)steps) *
                                                  (1.0 + fabs(log_bulk) + fabs(t->log_moment) + fabs(away));
    return DBL_MIN + prv_outwards(prv_kernel_maximum(w->bulk_tilt) *
                                      exp(log_bulk - t->log_moment - away + errors * PRV_SECOND_ORDER),
                                  16.0 * PRV_UNIT, 1);
}

/* The spectrum of a composition of which a lattice has no finite mass: there is nothing to sum. */
static void sum_nothing(prv_tilted *t, prv_spectrum *out)
{
    t->log_moment = t->relative_error = t->log_error = 0.0;
    t->log_up = t->log_down = -HUGE_VAL;
    out->points = 1.0;
}

prv_status prv_spectrum_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                            double tilt, const prv_window *window, double most_work, prv_spectrum *out,
                            prv_composed *composed)
{
    memset(out, 0, sizeof *out);
    memset(composed, 0, sizeof *composed);
    composed->engine = PRV_ENGINE_SPECTRUM;
    prv_exponents e = {0};
    prv_march walk = {.steps = steps, .options = window->options};
    const size_t source_count = window->separate ? 2 * steps : steps;
    prv_source *sources = prv_allocate(source_count, sizeof *sources);
    if (sources == NULL) return PRV_ERR_MEMORY;
    memset(sources, 0, source_count * sizeof *sources);
    prv_source *jumps = window->separate ? sources + steps : NULL;
    double log_bulk;
    prv_status status = sources_new(lattices, counts, steps, tilt, window, sources, &log_bulk, composed);
    if (status != PRV_OK) goto done;

    const double period = period_of(&composed->tilted, window, &out->low);
    composed->spacing = fmin(composed->spacing, fmax(period, 1.0));
    const double unit = composed->spacing, points = 2.0 * ceil(0.5 * period / unit) + 1.0;
    double work = FREQUENCY_WORK * (double)steps, expected = 0.0; /* work: at each frequency */
    bool nothing = false;
    for (size_t m = 0; m < steps; m++) {
        work += (double)(sources[m].length + (jumps != NULL ? jumps[m].length : 0));
        nothing = nothing || sources[m].length == 0;
        if (jumps == NULL) continue;
        sources[m].most_gap = BULK_GAP;
        expected += jumps[m].count * jumps[m].total;
    }
    /* Without jumps nothing would be left. */
    if (!(points < 0x1p50) || (jumps != NULL && !(expected > 0.0))) {
        status = PRV_ERR_PRECISION;
        goto done;
    }
    if (nothing) {
        sum_nothing(&composed->tilted, out);
    } else {
        builder b = {&e, sources, jumps, steps, points, work, most_work, 0.0, window->options};
        walk.sources = sources;
        walk.jumps = jumps;
        walk.kept_work = work;
        status = add_frequencies(&b, &walk, unit, tilt, window->tolerance, &out->left_out);
        if (status != PRV_OK) goto done;
        status = prv_spectrum_fill(&e, steps, jumps != NULL, unit, tilt, points, out);
        if (status != PRV_OK) goto done;
        if (jumps != NULL) out->bulk = bulk_from_above(&composed->tilted, window, log_bulk, steps);
        out->work = b.work + walk.work;
    }
    out->tolerance = window->tolerance;
    out->below = prv_tilted_below(&composed->tilted, out->low);
    out->bulk_low = window->bulk_low;
    out->apart = jumps != NULL;
    composed->spectral.spectrum = out;
done:
    for (size_t m = 0; m < source_count; m++) prv_release(sources[m].block);
    prv_release(sources);
    prv_release(walk.kept);
    prv_exponents_free(&e);
    return status;
}

void prv_spectrum_free(prv_spectrum *spectrum)
{
    prv_release(spectrum->block);
    prv_release(spectrum->runs);
    memset(spectrum, 0, sizeof *spectrum);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* Sums of Re (a e^(-i theta_j n)) over a run of frequencies, eight rotated together; `turn` is -n modulo N.
 */
PRV_VECTOR static void add_run(const prv_spectrum *s, const prv_run *run, size_t begin, double turn,
                               double *finite, double *reverse)
{
    double turned_re[LANES], turned_im[LANES], d[LANES] = {0}, b[LANES] = {0}, step_re, step_im;
    const double inverse = 1.0 / s->points;
    prv_vm_turn(prv_turns(LANES * turn, s->points, inverse), &step_re, &step_im);
    for (size_t l = 0; l < LANES; l++) {
        prv_vm_turn(prv_turns((run->first + (double)l) * turn, s->points, inverse), &turned_re[l],
                    &turned_im[l]);
        turned_re[l] += 1.0;
    }
    const double *restrict d_re = s->finite_re + begin, *restrict d_im = s->finite_im + begin;
    const double *restrict b_re = s->reverse_re + begin, *restrict b_im = s->reverse_im + begin;
    for (size_t j = 0; j < run->length; j += LANES)
        for (size_t l = 0; l < LANES; l++) {
            d[l] += d_re[j + l] * turned_re[l] - d_im[j + l] * turned_im[l];
            b[l] += b_re[j + l] * turned_re[l] - b_im[j + l] * turned_im[l];
            const double next = turned_re[l] + (turned_re[l] * step_re - turned_im[l] * step_im);
            turned_im[l] = turned_im[l] + (turned_re[l] * step_im + turned_im[l] * step_re);
            turned_re[l] = next;
        }
    double all_d = 0.0, all_b = 0.0;
    for (size_t l = 0; l < LANES; l++) {
        all_d += d[l];
        all_b += b[l];
    }
    *finite += all_d;
    *reverse += all_b;
}

void prv_spectrum_at(const prv_spectrum *s, double n, double *finite, double *reverse)
{
    const double turn = -rint(prv_turns(n, s->points, 1.0 / s->points) * s->points);
    *finite = *reverse = 0.0;
    size_t begin = 0;
    for (size_t i = 0; i < s->run_count; i++) {
        add_run(s, &s->runs[i], begin, turn, finite, reverse);
        begin += s->runs[i].length;
    }
}

double prv_spectrum_images(const prv_composed *c, double *low_epsilon, double *high_epsilon)
{
    const prv_spectrum *s = c->spectral.spectrum;
    const prv_tilted *t = &c->tilted;
    const double period = s->points * c->spacing, log_tolerance = log(s->tolerance);
    const double again = exp(-t->tilt * period), rest = -expm1(-t->tilt * period);
    const double weight = prv_kernel_maximum(t->tilt) + again / rest;
    /* Of what lies a period above low_epsilon, as much as weighs the tolerance. */
    double high = s->tolerance / weight;
    const double errors = t->log_error + t->relative_error +
                          4.0 * PRV_UNIT * (1.0 + fabs(t->log_up) + fabs(log(high)));
    *low_epsilon = t->shift_up > 0.0
                       ? (t->log_up - log(high) + errors * PRV_SECOND_ORDER) / t->shift_up - period
                       : HUGE_VAL;
    if (t->support_high - period < *low_epsilon) {
        *low_epsilon = t->support_high - period + c->spacing + prv_tilted_blur(t);
        high = 0.0;
    }
    *high_epsilon = s->low + period + log_tolerance / t->tilt;
    const double rounding = 16.0 * DBL_EPSILON * (8.0 + t->tilt * (fabs(s->low) + period));
    return ((s->below + high) * weight + s->tolerance / rest) * (1.0 + rounding);
}
