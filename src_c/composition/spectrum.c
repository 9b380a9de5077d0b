#include "composition/spectrum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "lattices/tilt.h"
#include "composition/kernel.h"
#include "composition/remainder.h"
#include "composition/spectrum_coefficients.h"

/* Logarithms and sines at one frequency of one step take as long as this many atoms. */
#define FREQUENCY_WORK 256.0

/* Angles are products of a position and a frequency; these are exact as long as they stay below 2^52. */
#define MOST_TURNS 0x1p52

/* Weights that are summed before other such sums are added. */
enum { BLOCK_OF_SUM = 256 };

/* Jumps that hold more than this part of the tilted mass of a step are no rare ones. Any value is sound. */
#define MOST_JUMPS 0.25
/* A gap of the bulk counts as at most this: |b| is then at least 1/2 in bounds (SPECTRUM.md, section 7). */
#define BULK_GAP 0.75

/* A spectrum that so many frequencies show to be small is expected to stay so: what is left out is bounded in
 * any case. */
#define ENOUGH_SMALL 4

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
    for (size_t at = 0; at < y->length; at += BLOCK_OF_SUM) {
        long double part = 0.0L;
        for (size_t i = at; i < y->length && i < at + BLOCK_OF_SUM; i++) part += (long double)weight[i];
        sum += part;
    }
    const double additions = BLOCK_OF_SUM + (double)y->length / BLOCK_OF_SUM; /* in a row, at most */
    const double missing = fabs((double)(sum - 1.0L)) + additions * PRV_LONG_EPSILON;
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
             length < PRV_FREQUENCY_BLOCK && at + length < e->count && !prv_starts_run(e, at + length);)
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
    const double moment = prv_log_moment_above(y->loss, y->mass, split, window->bulk_tilt);
    *log_bulk = prv_above(*log_bulk + prv_above(count * moment));
    const bool fails = jumps[heaviest] > 0.0 || source->total > MOST_JUMPS || window->bulk_tilt < tilt;
    return fails ? PRV_ERR_PRECISION : PRV_OK;
}

/* The sources in a common unit, and the lattice of sums in `composed`. With window->separate, sources[steps +
 * m] has the jumps of step m, and *log_bulk is the log-moment of all without them at window->bulk_tilt, from
 * above. *before, unless NULL, becomes what `composed` is without the last step. */
static prv_status sources_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                              double tilt, const prv_window *window, prv_source *sources, double *log_bulk,
                              prv_composed *composed, prv_composed *before)
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
        if (before != NULL && m + 1 == steps) *before = *composed;
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
    prv_exponents *before; /* without the last step; NULL: not asked for */
    const prv_source *sources, *jumps;
    size_t steps;
    double runs; /* of the sources, that the frequencies are chosen for */
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
    for (size_t m = 0; m < b->steps; m++) {
        if (b->before != NULL && m + 1 == b->steps)
            status = prv_exponents_append_from(b->before, b->e, at, (size_t)count);
        if (status != PRV_OK) return status;
        prv_exponents_add(b->e, at, (size_t)count, &b->sources[m], b->jumps != NULL ? &b->jumps[m] : NULL,
                          b->points);
    }
    return PRV_OK;
}

/* Whether each of the last `length` frequencies of the last block, at most, makes up less than e^log_most,
 * roughly. */
static bool last_are_below(const builder *b, size_t length, double log_most)
{
    const prv_exponents *e = b->e;
    const bool separate = b->jumps != NULL;
    const size_t block = (e->count - 1) / PRV_FREQUENCY_BLOCK * PRV_FREQUENCY_BLOCK;
    for (size_t j = e->count - block > length ? e->count - length : block; j < e->count; j++) {
        const double jumps = !separate ? 1.0
                             : e->jump_error[j] < PRV_MOST_JUMP_ERROR
                                 ? fmin(expm1(hypot(e->jump_re[j], e->jump_im[j])), 2.0)
                                 : 2.0;
        if (!(b->runs * e->log_modulus[j] + log(jumps / (e->number[j] + 1.0)) < log_most)) return false;
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

/* Once this part of the work is done, blocks at these parts of the frequencies that it suffices for tell
 * whether the spectrum falls in time. */
#define WORK_TO_LOOK_AHEAD 0.125
static const double look_ahead[] = {1.0, 0.7};

/* *falls: whether a block far ahead is small, or lies beyond the last frequency. */
static prv_status look_ahead_of(const builder *b, double last, double log_most, bool *falls)
{
    const double end = b->most_work / b->work_each;
    prv_status status = PRV_OK;
    *falls = false;
    for (size_t i = 0; i < sizeof look_ahead / sizeof *look_ahead && status == PRV_OK && !*falls; i++) {
        const double first = floor(look_ahead[i] * end);
        prv_exponents e = {0};
        builder ahead = *b;
        ahead.e = &e;
        ahead.before = NULL;
        ahead.work = 0.0;
        *falls = first + PRV_FREQUENCY_BLOCK > last;
        if (*falls) break;
        status = extend(&ahead, first);
        if (status == PRV_OK) *falls = last_are_below(&ahead, PRV_FREQUENCY_BLOCK, log_most);
        prv_exponents_free(&e);
    }
    return status;
}

/* Frequencies from 0 on until so many in a row are small, and the blocks farther out that are not.
 * *left_out bounds what all others make up. */
static prv_status add_frequencies(builder *b, prv_march *walk, double unit, double tilt, double tolerance,
                                  double *left_out)
{
    const double last = 0.5 * (b->points - 1.0);
    const double small = log(tolerance) - log(0.125 * b->points * unit);
    bool falls = false;
    while ((double)b->e->count <= last && !(b->e->count > 0 && last_are_below(b, ENOUGH_SMALL, small))) {
        if (!falls && b->work > WORK_TO_LOOK_AHEAD * b->most_work) {
            const prv_status ahead = look_ahead_of(b, last, small, &falls);
            if (ahead != PRV_OK) return ahead;
            if (!falls) return PRV_ERR_PRECISION;
        }
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

/* `before` and `before_composed`: of the sums over all steps but the last, or NULL. */
static prv_status spectrum_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                               double tilt, const prv_window *window, double most_work, prv_spectrum *out,
                               prv_composed *composed, prv_exponents *before, prv_composed *before_composed)
{
    memset(out, 0, sizeof *out);
    memset(composed, 0, sizeof *composed);
    composed->engine = PRV_ENGINE_SPECTRUM;
    prv_exponents e = {0};
    prv_kernels kernels;
    prv_march walk = {.steps = steps, .options = window->options};
    const size_t source_count = window->separate ? 2 * steps : steps;
    prv_source *sources = prv_allocate(source_count, sizeof *sources);
    if (sources == NULL) return PRV_ERR_MEMORY;
    memset(sources, 0, source_count * sizeof *sources);
    prv_source *jumps = window->separate ? sources + steps : NULL;
    double log_bulk;
    prv_status status = sources_new(lattices, counts, steps, tilt, window, sources, &log_bulk, composed,
                                    before_composed);
    if (status != PRV_OK) goto done;

    const double period = period_of(&composed->tilted, window, &out->low);
    composed->spacing = fmin(composed->spacing, fmax(period, 1.0));
    const double unit = composed->spacing, points = 2.0 * ceil(0.5 * period / unit) + 1.0;
    if (before_composed != NULL) before_composed->spacing = unit;
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
        builder b = {&e, before, sources, jumps, steps, 1.0, points, work, most_work, 0.0, window->options};
        walk.sources = sources;
        walk.jumps = jumps;
        walk.kept_work = work;
        status = add_frequencies(&b, &walk, unit, tilt, window->tolerance, &out->left_out);
        if (status != PRV_OK) goto done;
        status = prv_kernels_new(&e, unit, tilt, points, &kernels);
        if (status == PRV_OK) status = prv_spectrum_fill(&e, steps, jumps != NULL, points, &kernels, out);
        prv_kernels_free(&kernels);
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

prv_status prv_spectrum_new(const prv_lattice *const *lattices, const double *counts, size_t steps,
                            double tilt, const prv_window *window, double most_work, prv_spectrum *out,
                            prv_composed *composed)
{
    return spectrum_new(lattices, counts, steps, tilt, window, most_work, out, composed, NULL, NULL);
}

prv_status prv_spectrum_beginning(const prv_lattice *const *lattices, const double *counts, size_t steps,
                                  double tilt, const prv_window *window, double most_work, prv_spectrum *out,
                                  prv_composed *composed, prv_exponents *before,
                                  prv_composed *before_composed)
{
    memset(out, 0, sizeof *out);
    if (window->separate) return PRV_ERR_PRECISION;
    return spectrum_new(lattices, counts, steps, tilt, window, most_work, out, composed, before,
                        before_composed);
}

/* As prv_spectrum_new does it for `least` runs, but for the coefficients. */
prv_status prv_spectrum_once(const prv_lattice *y, double least, double tilt, const prv_window *window,
                             double most_work, prv_spectrum *out, prv_exponents *once, prv_composed *composed)
{
    memset(out, 0, sizeof *out);
    memset(composed, 0, sizeof *composed);
    composed->engine = PRV_ENGINE_SPECTRUM;
    if (window->separate) return PRV_ERR_PRECISION;
    const double one = 1.0;
    double log_bulk;
    prv_source source = {0}, of_least;
    prv_march walk = {.steps = 1, .options = window->options};
    prv_status status = sources_new(&y, &one, 1, tilt, window, &source, &log_bulk, composed, NULL);
    if (status != PRV_OK) goto done;
    const prv_tilted tilted = prv_tilted_repeat(&composed->tilted, y, least);
    const double period = period_of(&tilted, window, &out->low);
    const double unit = composed->spacing, points = 2.0 * ceil(0.5 * period / unit) + 1.0;
    if (!(points < 0x1p50) || !isfinite(unit) || source.length == 0) {
        status = PRV_ERR_PRECISION;
        goto done;
    }
    of_least = source;
    of_least.count = least;
    const double work = FREQUENCY_WORK + (double)source.length;
    builder b = {once, NULL, &source, NULL, 1, least, points, work, most_work, 0.0, window->options};
    walk.sources = &of_least;
    walk.kept_work = work;
    status = add_frequencies(&b, &walk, unit, tilt, window->tolerance, &out->left_out);
    if (status != PRV_OK) goto done;
    out->points = points;
    out->count = once->count;
    out->tolerance = window->tolerance;
    out->work = b.work + walk.work;
done:
    prv_release(source.block);
    prv_release(walk.kept);
    return status;
}

void prv_spectrum_free(prv_spectrum *spectrum)
{
    prv_release(spectrum->block);
    prv_release(spectrum->runs);
    memset(spectrum, 0, sizeof *spectrum);
}
