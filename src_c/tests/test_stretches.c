/* Stretches of atoms at equal distances: what they say of |phi| at whole intervals of frequencies. */
#include <complex.h>

#include "base/allocate.h"

#include "random_lattice.h"

#include "composition/stretches.h"

typedef long double complex wide_complex;

/* A law of so many stretches whose masses fall or rise slowly, beside one another; some masses are rough. */
static prv_lattice stretched_lattice(size_t length, size_t stretches)
{
    prv_lattice y;
    if (prv_lattice_new(length, &y) != PRV_OK) abort();
    y.offset = y.infinite_mass = 0.0;
    y.spacing = 1e-3;
    const double rough = random_below(3) == 0 ? log_uniform(1e-3, 1.0) : 0.0;
    int64_t index = -(int64_t)random_below(1000), stride = 1;
    double total = 0.0, fall = 1.0, mass = 1.0;
    for (size_t i = 0; i < length; i++) {
        if (i % (length / stretches + 1) == 0) {
            stride = (int64_t)1 << random_below(4);
            fall = exp(uniform(-0.1, 0.1));
            mass = log_uniform(0.1, 10.0) * (double)stride;
        }
        y.index[i] = index;
        y.loss[i] = y.spacing * (double)index;
        y.mass[i] = mass * (1.0 + rough * uniform(-0.5, 0.5));
        total += y.mass[i];
        index += stride;
        mass *= fall;
    }
    /* One atom may have most of the mass. */
    const size_t heavy = random_below(length);
    y.mass[heavy] += total * log_uniform(1e-3, 3.0);
    total = 0.0;
    for (size_t i = 0; i < length; i++) total += y.mass[i];
    for (size_t i = 0; i < length; i++) y.mass[i] /= total;
    return y;
}

/* |phi|, whose heaviest weight is what the others leave of 1. */
static long double modulus(const prv_source *s, long double theta)
{
    wide_complex phi = 1.0L;
    for (size_t a = 0; a < s->length; a++) {
        const long double half = sinl(0.5L * theta * (long double)s->position[a]);
        phi += (long double)s->weight[a] *
               (-2.0L * half * half + I * sinl(theta * (long double)s->position[a]));
    }
    return cabsl(phi);
}

/* SPECTRUM.md, section 5: no frequency of an interval has less than the gap. */
static void gaps(size_t atoms, size_t stretches, int trials)
{
    int ok = 1, told = 0;
    double closest = HUGE_VAL;
    for (int trial = 0; trial < trials; trial++) {
        prv_lattice y = trial % 4 == 3 ? random_lattice(atoms, 1e-3, 3)
                                       : stretched_lattice(atoms, 1 + random_below(stretches));
        prv_source s;
        if (prv_source_new(&y, y.mass, prv_heaviest(y.mass, y.length), 1.0, &s) != PRV_OK) abort();
        prv_source_scale(&s, 1.0);
        const prv_stretches all = prv_stretches_of(&s);
        const double points = 2.0 * (double)(2000 + random_below(3000)) + 1.0, end = 0.5 * (points - 1.0);
        for (int i = 0; i < 8; i++) {
            const double first = fmin(floor(log_uniform(1.0, end)), end),
                         last = fmin(first + floor(log_uniform(1.0, 100.0)) - 1.0, end);
            const double gap = prv_gap_of_stretches(&all, first, last, points);
            double least = 1.0;
            for (double j = first; j <= last; j += 1.0) {
                const long double m = modulus(&s, 6.283185307179586476925286766559L * (long double)j /
                                                      (long double)points);
                least = fmin(least, (double)((1.0L - m) * (1.0L + m)));
            }
            ok = ok && gap >= 0.0 && gap <= least + 1e-17;
            told += gap > 0.0;
            if (gap > 0.0) closest = fmin(closest, least / gap);
        }
        prv_release(s.block);
        prv_lattice_free(&y);
    }
    check(
        ok && told > trials,
        "%d atoms, up to %d stretches: |phi| falls as far below 1 as they say (%d intervals; at least %.4g times as far)",
        (int)atoms, (int)stretches, told, closest);
}

/* Equal masses at distances of `stride`, and one atom above them: |phi| is known, but for where the angle of
 * a stride is near a whole turn. */
static void equal_masses(double stride)
{
    enum { ATOMS = 1000 };
    prv_lattice y;
    if (prv_lattice_new(ATOMS + 1, &y) != PRV_OK) abort();
    y.offset = y.infinite_mass = 0.0;
    y.spacing = 1.0;
    for (size_t i = 0; i <= ATOMS; i++) {
        y.index[i] = (int64_t)(stride * (double)i);
        y.loss[i] = (double)y.index[i];
        y.mass[i] = i < ATOMS ? 0.5 / ATOMS : 0.5;
    }
    prv_source s;
    if (prv_source_new(&y, y.mass, ATOMS, 1.0, &s) != PRV_OK) abort();
    prv_source_scale(&s, 1.0);
    const prv_stretches all = prv_stretches_of(&s);
    const double points = 100001.0, turn = ceil(points / stride);
    const double across = prv_gap_of_stretches(&all, turn - 2.0, turn, points);
    const double beside = prv_gap_of_stretches(&all, floor(0.25 * turn), floor(0.5 * turn), points);
    /* 1 - |phi| is at least 1/2 - 1 / (2000 sin(pi / 4)) there, and at most 1/2 and as much. */
    check(
        all.count == 1 && all.each[0].stride == stride && across == 0.0 && beside > 0.748 && beside < 0.75,
        "equal masses at distances of %g: half of |phi| goes away from whole turns, and nothing is known at one",
        stride);
    prv_release(s.block);
    prv_lattice_free(&y);
}

int main(void)
{
    gaps(40, 3, trials_of(100));
    gaps(300, 8, trials_of(40));
    gaps(400, 40, trials_of(20)); /* more than are kept */
    equal_masses(2.0);
    equal_masses(8.0);
    return summary();
}
