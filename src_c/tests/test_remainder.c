/* What a spectrum leaves out: the frequencies above those that are summed, bounded by a march over them. */
#include <complex.h>

#include "base/allocate.h"

#include "random_lattice.h"

#include "lattices/tilt.h"
#include "composition/kernel.h"
#include "composition/remainder.h"

typedef long double complex wide_complex;

/* sum w e^(i theta position). */
static wide_complex characteristic(const prv_source *s, long double theta)
{
    wide_complex phi = 0.0L;
    for (size_t a = 0; a < s->length; a++)
        phi += (long double)s->weight[a] * cexpl(I * theta * (long double)s->position[a]);
    return phi;
}

/* log |prod b^k| and of |prod (b + j)^k - prod b^k|, without cancellation. */
static long double log_of_jumps(const prv_source *bulk, const prv_source *jumps, size_t steps,
                                long double theta)
{
    long double log_bulk = 0.0L, re = 0.0L, im = 0.0L;
    for (size_t m = 0; m < steps; m++) {
        const wide_complex b = characteristic(&bulk[m], theta), z = characteristic(&jumps[m], theta) / b;
        const long double k = (long double)bulk[m].count, x = creall(z), y = cimagl(z);
        log_bulk += k * logl(cabsl(b));
        re += 0.5L * k * log1pl(2.0L * x + x * x + y * y);
        im += k * atan2l(y, 1.0L + x);
    }
    const long double s = sinl(0.5L * im);
    return log_bulk + logl(cabsl(expm1l(re) * cosl(im) - 2.0L * s * s + I * expl(re) * sinl(im)) + 1e-4000L);
}

/* SPECTRUM.md, sections 5 and 7: subsets and curvature never promise less than each frequency's |Phi| times
 * the bound of its kernel. */
static void gaps(size_t atoms, double most_count, int apart, int trials)
{
    int ok = 1, tried = 0, kept = 0;
    double closest = HUGE_VAL;
    for (int trial = 0; trial < trials; trial++) {
        const size_t steps = 1 + random_below(2);
        prv_lattice y[2];
        prv_source sources[4]; /* as prv_spectrum_new has them */
        double weight[2][64], jumps[64];
        const double tilt = log_uniform(0.1, 5.0), spacing = log_uniform(1e-3, 0.3);
        int64_t divisor = 0;
        for (size_t m = 0; m < steps; m++) {
            y[m] = random_lattice(2 + random_below(atoms - 1), spacing, 1 + random_below(30));
            prv_tilt(y[m].loss, y[m].mass, y[m].length, tilt, weight[m]);
            divisor = prv_unit(&y[m], weight[m], divisor);
        }
        if (divisor == 0) divisor = 1;
        for (size_t m = 0; m < steps; m++) {
            const size_t heaviest = prv_heaviest(weight[m], y[m].length),
                         first = heaviest + 1 + random_below(atoms);
            const double count = floor(log_uniform(1.0, most_count));
            double sum = 0.0, total = 0.0;
            for (size_t i = 0; i < y[m].length; i++) {
                jumps[i] = apart && i >= first ? weight[m][i] : 0.0;
                sum += jumps[i];
            }
            const double rare = sum > 0.0 ? log_uniform(1e-9, 0.2) / sum : 1.0; /* about their part of all */
            for (size_t i = 0; i < y[m].length; i++) {
                jumps[i] *= rare;
                if (jumps[i] > 0.0) weight[m][i] = 0.0;
                total += weight[m][i] + jumps[i];
            }
            for (size_t i = 0; i < y[m].length; i++) {
                weight[m][i] /= total;
                jumps[i] /= total;
            }
            if (prv_source_new(&y[m], weight[m], heaviest, count, &sources[m]) != PRV_OK) abort();
            if (prv_source_new(&y[m], jumps, heaviest, count, &sources[steps + m]) != PRV_OK) abort();
            prv_source_scale(&sources[m], (double)divisor);
            prv_source_scale(&sources[steps + m], (double)divisor);
            if (apart) sources[m].most_gap = 0.75;
        }
        const double unit = spacing * (double)divisor,
                     points = 2.0 * (double)(200 + random_below(2000)) + 1.0;
        const size_t first = 1 + random_below(150);
        const double tolerance = log_uniform(1e-12, 1.0);
        double result;
        prv_march march = {
            .sources = sources, .jumps = apart ? sources + steps : NULL, .steps = steps, .most_work = 1e9};
        const prv_status status = prv_left_out(&march, (double)first, points, unit, tilt, tolerance, &result);
        if (status == PRV_OK) {
            long double sum = 0.0L;
            for (size_t j = first, block = 0; (double)j <= 0.5 * (points - 1.0); j++) {
                if (block < march.kept_length && (double)j >= march.kept[block] + PRV_FREQUENCY_BLOCK)
                    block++;
                if (block < march.kept_length && (double)j >= march.kept[block]) continue;
                const long double theta = 6.283185307179586476925286766559L * (long double)j /
                                          (long double)points;
                long double log_modulus = apart ? log_of_jumps(sources, sources + steps, steps, theta) : 0.0L;
                for (size_t m = 0; !apart && m < steps; m++)
                    log_modulus += (long double)sources[m].count *
                                   logl(cabsl(characteristic(&sources[m], theta)) + 1e-18L);
                sum += 2.0L / (long double)points * expl(log_modulus) *
                       (long double)(unit / prv_kernel_divisor(tilt * unit, (double)theta));
            }
            ok = ok && (double)sum <= result * (1.0 + 1e-12) + 1e-300 && result <= tolerance;
            kept += march.kept_length > 0;
            if (sum > 1e-200L) closest = fmin(closest, result / (double)sum);
            tried++;
        }
        prv_release(march.kept);
        for (size_t m = 0; m < steps; m++) {
            prv_release(sources[m].block);
            prv_release(sources[steps + m].block);
            prv_lattice_free(&y[m]);
        }
    }
    check(
        ok && tried > trials / 8,
        "%d atoms, up to %g times%s: what is left out is not more than the march says (%d marches, %d keep some; at least %.3g times as much)",
        (int)atoms, most_count, apart ? ", jumps apart" : "", tried, kept, closest);
}

/* A bulk of one atom, and jumps of two, whose modulus falls between the samples: intervals of frequencies are
 * bounded by the end where it is greater. */
static void falling_jumps(void)
{
    int ok = 1, tried = 0;
    double closest = HUGE_VAL;
    for (int trial = 0; trial < 200; trial++) {
        prv_lattice y;
        if (prv_lattice_new(3, &y) != PRV_OK) abort();
        y.offset = y.infinite_mass = 0.0;
        y.spacing = log_uniform(1e-3, 0.3);
        for (size_t i = 0; i < 3; i++) {
            y.index[i] = (int64_t)i;
            y.loss[i] = y.spacing * (double)i;
        }
        const double rare = log_uniform(1e-9, 1e-3), count = floor(uniform(1e-3, 0.1) / rare) + 1.0;
        const double weight[3] = {1.0 - rare, 0.0, 0.0}, jumps[3] = {0.0, 0.5 * rare, 0.5 * rare};
        prv_source sources[2]; /* as prv_spectrum_new has them */
        if (prv_source_new(&y, weight, 0, count, &sources[0]) != PRV_OK ||
            prv_source_new(&y, jumps, 0, count, &sources[1]) != PRV_OK)
            abort();
        for (size_t i = 0; i < 2; i++) prv_source_scale(&sources[i], 1.0);
        sources[0].most_gap = 0.75;
        const double points = 2001.0, tilt = log_uniform(0.1, 5.0);
        const double first = 500.0 + (double)random_below(400), angle = 3.14159265358979 * first / points;
        /* Small enough that the jumps' total is too much, large enough for their modulus at the first
         * frequency. */
        const double tolerance = points * y.spacing / (4.0 * first) * count * rare * cos(angle) *
                                 uniform(1.05, 1.5);
        double result;
        prv_march march = {.sources = sources, .jumps = sources + 1, .steps = 1, .most_work = 1e9};
        if (prv_left_out(&march, first, points, y.spacing, tilt, tolerance, &result) == PRV_OK &&
            march.kept_length == 0) {
            long double sum = 0.0L;
            for (double j = first; j <= 0.5 * (points - 1.0); j += 1.0) {
                const long double theta = 6.283185307179586476925286766559L * (long double)j /
                                          (long double)points;
                sum += 2.0L / (long double)points * expl(log_of_jumps(sources, sources + 1, 1, theta)) *
                       (long double)(y.spacing / prv_kernel_divisor(tilt * y.spacing, (double)theta));
            }
            ok = ok && (double)sum <= result;
            closest = fmin(closest, result / (double)sum);
            tried++;
        }
        prv_release(march.kept);
        for (size_t i = 0; i < 2; i++) prv_release(sources[i].block);
        prv_lattice_free(&y);
    }
    check(
        ok && tried > 100,
        "falling jumps: what is left out is not more than the march says (%d marches; at least %.3g times as much)",
        tried, closest);
}

/* Steps whose atoms lie unlike distances apart: the subsets that tell of the one are of no use for the other.
 * Work is counted, and the same everywhere. */
static void unlike_steps(void)
{
    const size_t lengths[3] = {161, 2, 2};
    const int64_t apart[3] = {50, 16, 11};
    const double counts[3] = {41.0, 3634.0, 1011.0};
    prv_source sources[3];
    for (size_t m = 0; m < 3; m++) {
        prv_lattice y;
        double weight[161], sum = 0.0;
        if (prv_lattice_new(lengths[m], &y) != PRV_OK) abort();
        for (size_t i = 0; i < lengths[m]; i++) {
            const double from = (double)i - 0.5 * (double)(lengths[m] - 1);
            y.index[i] = (int64_t)i * apart[m];
            weight[i] = exp(-0.5 * from * from / 900.0);
            sum += weight[i];
        }
        for (size_t i = 0; i < lengths[m]; i++) weight[i] /= sum;
        if (prv_source_new(&y, weight, prv_heaviest(weight, lengths[m]), counts[m], &sources[m]) != PRV_OK)
            abort();
        prv_source_scale(&sources[m], 1.0);
        prv_lattice_free(&y);
    }
    prv_march march = {.sources = sources, .steps = 3, .most_work = 1e9};
    double left_out;
    const prv_status status = prv_left_out(&march, 64.0, 68321.0, 1e-3, 0.25, 1e-6, &left_out);
    check(status == PRV_OK && march.kept_length == 0 && left_out <= 1e-6 && march.work < 1e6,
          "of steps whose atoms lie unlike distances apart a march takes little work");
    prv_release(march.kept);
    for (size_t m = 0; m < 3; m++) prv_release(sources[m].block);
}

/* Laws of hundreds of atoms at one distance and at twice that, whose weights change slowly: stretches tell of
 * most intervals without a look at atoms. */
static void smooth_steps(int trials)
{
    enum { ATOMS = 400 };
    int ok = 1, tried = 0;
    double closest = HUGE_VAL, most_work = 0.0;
    for (int trial = 0; trial < trials; trial++) {
        prv_source sources[2];
        for (size_t m = 0; m < 2; m++) {
            prv_lattice y;
            double weight[ATOMS], sum = 0.0;
            if (prv_lattice_new(ATOMS, &y) != PRV_OK) abort();
            const size_t finest = random_below(ATOMS);
            const double center = uniform(0.0, ATOMS), wide = uniform(20.0, 200.0);
            for (size_t i = 0; i < ATOMS; i++) {
                const double from = ((double)i - center) / wide;
                const int64_t stride = i < finest ? 2 : 1;
                y.index[i] = i == 0 ? 0 : y.index[i - 1] + stride;
                weight[i] = (double)stride * exp(-0.5 * from * from);
                sum += weight[i];
            }
            weight[random_below(ATOMS)] += uniform(0.0, 2.0) * sum; /* an atom on top */
            sum = 0.0;
            for (size_t i = 0; i < ATOMS; i++) sum += weight[i];
            for (size_t i = 0; i < ATOMS; i++) weight[i] /= sum;
            if (prv_source_new(&y, weight, prv_heaviest(weight, ATOMS), floor(log_uniform(1.0, 100.0)),
                               &sources[m]) != PRV_OK)
                abort();
            prv_source_scale(&sources[m], 1.0);
            prv_lattice_free(&y);
        }
        const double points = 2.0 * (double)(1000 + random_below(1000)) + 1.0, unit = 1e-3, tilt = 0.25;
        const double first = 1.0 + (double)random_below(150), tolerance = log_uniform(1e-12, 1e-2);
        prv_march march = {.sources = sources, .steps = 2, .most_work = 1e9};
        double result;
        const prv_status status = prv_left_out(&march, first, points, unit, tilt, tolerance, &result);
        if (status == PRV_OK) {
            long double sum = 0.0L;
            size_t block = 0;
            for (double j = first; j <= 0.5 * (points - 1.0); j += 1.0) {
                if (block < march.kept_length && j >= march.kept[block] + PRV_FREQUENCY_BLOCK) block++;
                if (block < march.kept_length && j >= march.kept[block]) continue;
                const long double theta = 6.283185307179586476925286766559L * (long double)j /
                                          (long double)points;
                long double log_modulus = 0.0L;
                for (size_t m = 0; m < 2; m++)
                    log_modulus += (long double)sources[m].count *
                                   logl(cabsl(characteristic(&sources[m], theta)) + 1e-18L);
                sum += 2.0L / (long double)points * expl(log_modulus) *
                       (long double)(unit / prv_kernel_divisor(tilt * unit, (double)theta));
            }
            ok = ok && (double)sum <= result * (1.0 + 1e-12) + 1e-300 && result <= tolerance;
            if (sum > 1e-200L) closest = fmin(closest, result / (double)sum);
            most_work = fmax(most_work, march.work);
            tried++;
        }
        prv_release(march.kept);
        for (size_t m = 0; m < 2; m++) prv_release(sources[m].block);
    }
    check(
        ok && tried == trials,
        "smooth laws: what is left out is not more than the march says (%d marches; at least %.3g times as much, work of %.3g)",
        tried, closest, most_work);
}

int main(void)
{
    gaps(8, 300.0, 0, trials_of(300));
    gaps(60, 30000.0, 0, trials_of(150));
    gaps(8, 300.0, 1, trials_of(200));
    gaps(60, 30000.0, 1, trials_of(150));
    falling_jumps();
    unlike_steps();
    smooth_steps(trials_of(8));
    return summary();
}
