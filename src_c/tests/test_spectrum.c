/* Checks the spectrum against direct convolution in long double, and each part of its certificate alone. */
#include <complex.h>

#include "base/allocate.h"

#include "random_lattice.h"

#include "lattices/tilt.h"
#include "composition/kernel.h"
#include "composition/spectrum_sum.h"
#include "curve/certificate.h"

typedef long double complex wide_complex;

static const prv_rounding exact_cells = {0.0, 0.0};

/* ---- Compositions --------------------------------------------------------------------------- */

enum { MOST_STEPS = 3 };

typedef struct problem {
    size_t steps;
    prv_lattice y[MOST_STEPS];
    const prv_lattice *list[MOST_STEPS];
    double counts[MOST_STEPS];
    double tilt;
    /* Truth: the tilted law of the sum at first + i lattice steps above offset. */
    long double *mass, offset;
    int64_t first;
    size_t span;
} problem;

static void problem_new(problem *p, size_t most_atoms, size_t most_count)
{
    memset(p, 0, sizeof *p);
    p->steps = 1 + random_below(MOST_STEPS);
    const double spacing = log_uniform(1e-3, 0.5);
    p->tilt = log_uniform(0.3, 5.0);
    p->span = 1;
    for (size_t j = 0; j < p->steps; j++) {
        p->y[j] = random_lattice(2 + random_below(most_atoms), spacing, 1 + random_below(4));
        p->list[j] = &p->y[j];
        p->counts[j] = (double)(1 + random_below(most_count));
        const prv_lattice *y = p->list[j];
        p->first += (int64_t)p->counts[j] * y->index[0];
        p->offset += (long double)p->counts[j] * (long double)y->offset;
        p->span += (size_t)p->counts[j] * (size_t)(y->index[y->length - 1] - y->index[0]);
    }
    p->mass = calloc(p->span, sizeof *p->mass);
    long double *next = calloc(p->span, sizeof *next);
    p->mass[0] = 1.0L;
    size_t used = 1;
    for (size_t j = 0; j < p->steps; j++) {
        const prv_lattice *y = p->list[j];
        long double moment = 0.0L;
        for (size_t i = 0; i < y->length; i++)
            moment += (long double)y->mass[i] * expl((long double)p->tilt * (long double)y->loss[i]);
        for (int c = 0; c < (int)p->counts[j]; c++) {
            memset(next, 0, p->span * sizeof *next);
            for (size_t i = 0; i < y->length; i++) {
                const size_t shift = (size_t)(y->index[i] - y->index[0]);
                const long double w = (long double)y->mass[i] *
                                      expl((long double)p->tilt * (long double)y->loss[i]) / moment;
                for (size_t x = 0; x < used && x + shift < p->span; x++) next[x + shift] += w * p->mass[x];
            }
            used += (size_t)(y->index[y->length - 1] - y->index[0]);
            long double *swap = p->mass;
            p->mass = next;
            next = swap;
        }
    }
    free(next);
}

static void problem_free(problem *p)
{
    for (size_t j = 0; j < p->steps; j++) prv_lattice_free(&p->y[j]);
    free(p->mass);
}

/* D and B at x by the sums that define them. */
static void direct(const problem *p, long double x, long double *finite, long double *reverse)
{
    *finite = *reverse = 0.0L;
    const long double spacing = (long double)p->list[0]->spacing, lam = (long double)p->tilt;
    for (size_t i = p->span; i-- > 0;) {
        const long double y = p->offset + spacing * (long double)(p->first + (int64_t)i), s = y - x;
        if (s < -1e-6L * spacing) break;
        *finite -= p->mass[i] * expl(-lam * s) * expm1l(-s);
        *reverse += p->mass[i] * expl(-(lam + 1.0L) * s);
    }
}

static prv_window random_window(const problem *p, double tolerance)
{
    const double spacing = p->list[0]->spacing, width = spacing * (double)p->span;
    const double at = (double)p->offset + spacing * (double)p->first + width * uniform(0.0, 0.9);
    return (prv_window){.low_epsilon = at,
                        .high_epsilon = at + width * uniform(0.0, 0.2),
                        .tolerance = tolerance,
                        .shift_up = log_uniform(0.1, 3.0) * p->tilt,
                        .shift_down = log_uniform(0.1, 3.0) * p->tilt};
}

/* Computed sums against the true ones: never below them but for what is left out and rounding, never above
 * but for that and periodic images. */
static void against_truth(size_t atoms, size_t count, int trials)
{
    int lower = 1, upper = 1, tried = 0, looked = 0;
    double most = 0.0;
    for (int trial = 0; trial < trials; trial++) {
        problem p;
        problem_new(&p, atoms, count);
        const double tolerance = log_uniform(1e-13, 1e-3);
        const prv_window window = random_window(&p, tolerance);
        prv_spectrum s;
        prv_composed c;
        if (prv_spectrum_new(p.list, p.counts, p.steps, p.tilt, &window, 1e6, &s, &c) != PRV_OK) {
            problem_free(&p);
            continue;
        }
        tried++;
        double low, high;
        const double images = prv_spectrum_images(&c, &low, &high);
        const double error = s.left_out + s.rounding;
        for (int i = 0; i < 40; i++) {
            const double at = random_below(2) ? uniform(window.low_epsilon, window.high_epsilon)
                                              : s.low + s.points * c.spacing * uniform(-0.5, 1.0);
            const double n = floor((double)(((long double)at - c.lowest) / (long double)c.spacing));
            const long double x = c.lowest + (long double)n * (long double)c.spacing;
            double finite, reverse;
            long double true_finite, true_reverse;
            prv_spectrum_at(&s, n, &finite, &reverse);
            direct(&p, x, &true_finite, &true_reverse);
            const double relative = c.tilted.relative_error * (double)true_finite;
            lower = lower && finite >= (double)true_finite - error - relative;
            if ((double)x - c.spacing < low || (double)x > high) continue;
            looked++;
            upper = upper && finite <= (double)true_finite + error + relative + images;
            most = fmax(most, (finite - (double)true_finite) / (error + relative + images));
        }
        prv_spectrum_free(&s);
        problem_free(&p);
    }
    check(lower, "%d atoms, %d times: D is never too small by more than the certificate", (int)atoms,
          (int)count);
    check(upper && looked > tried,
          "%d atoms, %d times: D is never too large by more than it, with images (%d points, %.3g of it)",
          (int)atoms, (int)count, looked, most);
}

/* D with all its periodic images, whose sum is a geometric series: what the sum over all frequencies is. */
static long double periodic(const problem *p, long double x, long double period)
{
    long double sum = 0.0L;
    const long double spacing = (long double)p->list[0]->spacing, lam = (long double)p->tilt;
    for (size_t i = 0; i < p->span; i++) {
        const long double y = p->offset + spacing * (long double)(p->first + (int64_t)i);
        long double s = fmodl(y - x, period);
        if (s < -1e-6L * spacing) s += period;
        if (s > period - 1e-6L * spacing) s -= period;
        sum += p->mass[i] * (expl(-lam * s) / -expm1l(-lam * period) -
                             expl(-(lam + 1.0L) * s) / -expm1l(-(lam + 1.0L) * period));
    }
    return sum;
}

/* What frequencies left out take away, against the sum over all of them. */
static void against_full_sum(size_t atoms, size_t count, int trials)
{
    int ok = 1, truncated = 0, apart = 0;
    double most = 0.0;
    for (int trial = 0; trial < trials; trial++) {
        problem p;
        problem_new(&p, atoms, count);
        const prv_window window = random_window(&p, log_uniform(1e-10, 1e-2));
        prv_spectrum s;
        prv_composed c;
        if (prv_spectrum_new(p.list, p.counts, p.steps, p.tilt, &window, 1e6, &s, &c) != PRV_OK) {
            problem_free(&p);
            continue;
        }
        truncated += s.left_out > 0.0;
        apart += s.run_count > 1;
        for (int i = 0; i < 30; i++) {
            const double n = floor(uniform(-0.5, 0.5) * s.points);
            double finite, reverse;
            prv_spectrum_at(&s, n, &finite, &reverse);
            const long double x = c.lowest + (long double)n * (long double)c.spacing;
            const double truth = (double)periodic(&p, x, (long double)s.points * (long double)c.spacing);
            const double error = fabs(finite - truth);
            const double allowed = s.left_out + s.rounding + (c.tilted.relative_error + 1e-14) * truth;
            ok = ok && error <= allowed;
            if (s.left_out > 0.0) most = fmax(most, error / allowed);
        }
        prv_spectrum_free(&s);
        problem_free(&p);
    }
    check(
        ok && truncated > trials / 4,
        "%d atoms, %d times: frequencies left out cost no more than the certificate says (%d of %d truncated, %d in several runs; at most %.3g of it)",
        (int)atoms, (int)count, truncated, trials, apart, most);
}

/* ---- Rounding ------------------------------------------------------------------------------- */

/* The frequencies of a spectrum. */
static void numbers(const prv_spectrum *s, double *number)
{
    for (size_t i = 0; i < s->run_count; i++)
        for (size_t j = 0; j < s->runs[i].length; j++) *number++ = s->runs[i].first + (double)j;
}

/* The same sum over the same frequencies in long double. */
static void rounding(size_t atoms, double k, double rare, int trials)
{
    int ok = 1, tried = 0, apart = 0;
    double most = 0.0, largest = 0.0;
    for (int trial = 0; trial < trials; trial++) {
        prv_lattice y = random_lattice(atoms, log_uniform(1e-3, 0.1), 3);
        for (size_t i = 0; i < y.length; i++)
            if (i != atoms / 2) y.mass[i] *= rare;
        y.infinite_mass = 0.0;
        const prv_lattice *list = &y;
        const double tilt = log_uniform(0.5, 3.0);
        long double moment = 0.0L, mean = 0.0L, square = 0.0L;
        for (size_t i = 0; i < y.length; i++) {
            const long double w = (long double)y.mass[i] * expl((long double)tilt * (long double)y.loss[i]);
            moment += w;
            mean += w * (long double)y.loss[i];
            square += w * (long double)y.loss[i] * (long double)y.loss[i];
        }
        const double center = (double)(mean / moment), variance = (double)(square / moment) - center * center;
        const double reach = 8.0 * sqrt(k * variance) + 2.0 * y.spacing * (double)atoms;
        const prv_window window = {.low_epsilon = k * center,
                                   .high_epsilon = k * center + 0.1 * reach,
                                   .shift_up = 6.0 / sqrt(k * variance),
                                   .shift_down = 6.0 / sqrt(k * variance),
                                   .tolerance = 1e-9};
        prv_spectrum s;
        prv_composed c;
        if (prv_spectrum_new(&list, &k, 1, tilt, &window, 4e5, &s, &c) != PRV_OK) {
            prv_lattice_free(&y);
            continue;
        }
        const long double turn = 6.283185307179586476925286766559L / (long double)s.points;
        const long double q = (long double)c.spacing, r = expl(-(long double)tilt * q), r1 = r * expl(-q);
        const int64_t unit = (int64_t)(c.spacing / y.spacing + 0.5);
        size_t heaviest = 0;
        for (size_t i = 0; i < y.length; i++)
            if (logl((long double)y.mass[i]) + (long double)tilt * (long double)y.loss[i] >
                logl((long double)y.mass[heaviest]) + (long double)tilt * (long double)y.loss[heaviest])
                heaviest = i;
        wide_complex *power = calloc(s.count, sizeof *power); /* log of Phi */
        double *number = calloc(s.count, sizeof *number);
        numbers(&s, number);
        for (size_t j = 0; j < s.count; j++) {
            wide_complex phi = 0.0L;
            for (size_t a = 0; a < y.length; a++) {
                const long double w = (long double)y.mass[a] *
                                      expl((long double)tilt * (long double)y.loss[a]) / moment;
                const long double position = (long double)((y.index[a] - y.index[heaviest]) / unit);
                const long double h = 0.5L * turn * (long double)number[j] * position;
                phi += w * 2.0L * sinl(h) * (-sinl(h) + I * cosl(h));
            }
            const long double x = creall(phi), z = cimagl(phi);
            power[j] = (long double)k * (0.5L * log1pl(2.0L * x + x * x + z * z) + I * atan2l(z, 1.0L + x));
        }
        for (int i = 0; i < 8; i++) {
            const double n = floor((k * center + reach * uniform(-0.3, 0.5) - (double)c.lowest) / c.spacing);
            long double sum = 0.0L, reversed = 0.0L;
            for (size_t j = 0; j < s.count; j++) {
                const long double theta = turn * (long double)number[j];
                const wide_complex turned = cexpl(power[j] -
                                                  I * theta * fmodl((long double)n, (long double)s.points));
                const wide_complex back = cexpl(-I * theta), a = 1.0L - r * back, b = 1.0L - r1 * back;
                const long double share = (number[j] == 0.0 ? 1.0L : 2.0L) / (long double)s.points;
                sum += share * creall(turned * r * back * -expm1l(-q) / (a * b));
                reversed += share * creall(turned / b);
            }
            double finite, reverse;
            prv_spectrum_at(&s, n, &finite, &reverse);
            const double error = fabs((double)((long double)finite - sum)) +
                                 (double)q * fabs((double)((long double)reverse - reversed));
            ok = ok && error <= s.rounding;
            most = fmax(most, error / s.rounding);
            largest = fmax(largest, s.rounding);
        }
        free(power);
        free(number);
        apart += s.run_count > 1;
        tried++;
        prv_spectrum_free(&s);
        prv_lattice_free(&y);
    }
    check(
        ok && tried > 0,
        "%d atoms, %g times, others at %g: rounding is within its bound (at most %.2g of it, which is up to %.2g; "
        "%d of %d in several runs)",
        (int)atoms, k, rare, most, largest, apart, tried);
}

/* ---- Jumps apart ---------------------------------------------------------------------------- */

/* A step whose jumps are as heavy as its bulk at one frequency, and one whose jumps take much of Phi there:
 * what is not computed is as large as both moduli (SPECTRUM.md, section 7). */
static void jumps_at_a_zero_of_the_bulk(void)
{
    prv_lattice y[2];
    const long double bulk[2][2] = {{0.49L, 0.49L}, {0.9L, 0.0L}}, rare[2] = {0.02L, 0.1L};
    const int64_t place[2][3] = {{0, 1, 2}, {0, 3, 3}};
    for (size_t m = 0; m < 2; m++) {
        if (prv_lattice_new(3 - m, &y[m]) != PRV_OK) abort();
        y[m].offset = y[m].infinite_mass = 0.0;
        y[m].spacing = 1.0;
        for (size_t i = 0; i < 3 - m; i++) {
            const long double w = i == 2 - m ? rare[m] : bulk[m][i];
            y[m].index[i] = place[m][i];
            y[m].loss[i] = (double)place[m][i];
            y[m].mass[i] = (double)(w * expl(-(long double)place[m][i]));
        }
    }
    const prv_lattice *list[2] = {&y[0], &y[1]};
    const double counts[2] = {1.0, 50.0};
    const prv_window window = {.low_epsilon = 5.0,
                               .high_epsilon = 6.0,
                               .shift_up = 1.0,
                               .shift_down = 1.0,
                               .tolerance = 1e-13,
                               .separate = 1,
                               .bulk = 1.5,
                               .bulk_tilt = 2.0,
                               .bulk_low = 4.0};
    prv_spectrum s;
    prv_composed c;
    if (check(prv_spectrum_new(list, counts, 2, 1.0, &window, 1e9, &s, &c) == PRV_OK && s.left_out == 0.0,
              "jumps apart")) {
        const long double r = expl(-1.0L), r1 = expl(-2.0L);
        double most = 0.0;
        for (int n = 4; n < 9; n++) {
            long double sum = 0.0L;
            for (size_t j = 0; j < s.count; j++) {
                const long double theta = 6.283185307179586476925286766559L * (long double)j /
                                          (long double)s.points;
                const wide_complex b = 0.49L + 0.49L * cexpl(I * theta),
                                   more = b + rare[0] * cexpl(2.0L * I * theta);
                const wide_complex other = 0.9L + rare[1] * cexpl(3.0L * I * theta), back = cexpl(-I * theta);
                const wide_complex phi = more * cpowl(other, 50.0L) - b * powl(0.9L, 50.0L);
                sum += (j == 0 ? 1.0L : 2.0L) / (long double)s.points *
                       creall(phi * cexpl(-I * theta * (long double)n) * r * back * -expm1l(-1.0L) /
                              ((1.0L - r * back) * (1.0L - r1 * back)));
            }
            double finite, reverse;
            prv_spectrum_at(&s, (double)n - (double)c.lowest, &finite, &reverse);
            most = fmax(most, fabs(finite - (double)sum) / s.rounding);
        }
        check(
            most <= 1.0,
            "what is not computed of the jumps' spectrum is within the rounding counted (at most %.3g of it)",
            most);
    }
    prv_spectrum_free(&s);
    for (size_t m = 0; m < 2; m++) prv_lattice_free(&y[m]);
}

/* What sums without a jump make up, by their binomial law, at all epsilons from bulk_low on. */
static void bulk_alone(double bulk_tilt)
{
    const int k = 200;
    const int64_t index[3] = {-50, 50, 400};
    const double mass[3] = {0.5, 0.499, 0.001};
    prv_lattice y;
    if (prv_lattice_new(3, &y) != PRV_OK) abort();
    y.offset = y.infinite_mass = 0.0;
    y.spacing = 0.01;
    for (size_t i = 0; i < 3; i++) {
        y.index[i] = index[i];
        y.loss[i] = 0.01 * (double)index[i];
        y.mass[i] = mass[i];
    }
    const prv_lattice *list = &y;
    const double count = (double)k;
    const prv_window window = {.low_epsilon = 2.0,
                               .high_epsilon = 9.0,
                               .shift_up = 1.0,
                               .shift_down = 1.0,
                               .tolerance = 1e-9,
                               .separate = 1,
                               .bulk = 1.0,
                               .bulk_tilt = bulk_tilt,
                               .bulk_low = 1.0};
    prv_spectrum s;
    prv_composed c;
    double most = 0.0;
    const prv_status status = prv_spectrum_new(&list, &count, 1, 1.0, &window, 1e9, &s, &c);
    for (double epsilon = 1.0; epsilon < 80.0 && status == PRV_OK; epsilon += 1.0) {
        long double sum = 0.0L;
        for (int i = 0; i <= k; i++) {
            const long double loss = 0.5L * (long double)(2 * i - k);
            if (loss > (long double)epsilon)
                sum -= expm1l((long double)epsilon - loss) *
                       expl(lgammal(k + 1.0L) - lgammal(i + 1.0L) - lgammal(k - i + 1.0L) + i * logl(0.499L) +
                            (k - i) * logl(0.5L));
        }
        most = fmax(most,
                    (double)(sum * expl((long double)epsilon - (long double)c.tilted.log_moment)) / s.bulk);
    }
    if (status == PRV_OK) {
        const prv_slack_parts slack = prv_certificate(&c, &exact_cells);
        check(slack.slack.apart && slack.slack.bulk > 0.0 && slack.slack.bulk_low == 1.0,
              "jumps apart: upper bounds hold from bulk_low on only, whatever the bulk is");
    }
    check(most <= 1.0,
          "the bulk alone, bounded at tilt %g: refused, or within its bound (at most %.3g of it)", bulk_tilt,
          most);
    prv_spectrum_free(&s);
    prv_lattice_free(&y);
}

/* A rare loss, of which Chernoff's bound at the tilt of the bulk is the curve itself: what is counted of
 * rounding is all that lies between. */
static void bulk_of_a_rare_loss(void)
{
    double most = 0.0;
    for (int trial = 0; trial < trials_of(300); trial++) {
        prv_lattice y;
        if (prv_lattice_new(3, &y) != PRV_OK) abort();
        const double spacing = uniform(0.01, 0.02), tilt = uniform(300.0, 600.0);
        const int64_t index[3] = {0, 64, 128};
        y.offset = y.infinite_mass = 0.0;
        y.spacing = spacing;
        for (size_t i = 0; i < 3; i++) {
            y.index[i] = index[i];
            y.loss[i] = spacing * (double)index[i];
        }
        const double rare = y.loss[1], epsilon = rare - log1p(1.0 / tilt);
        y.mass[0] = 1.0;
        y.mass[1] = exp(40.0 - tilt * rare);
        y.mass[2] = 1e-300;
        const prv_lattice *list = &y;
        const double once = 1.0;
        const prv_window window = {.low_epsilon = epsilon,
                                   .high_epsilon = epsilon,
                                   .shift_up = 1.0,
                                   .shift_down = 1.0,
                                   .tolerance = 1e-9,
                                   .separate = 1,
                                   .bulk = 1.5 * rare,
                                   .bulk_tilt = tilt,
                                   .bulk_low = epsilon};
        prv_spectrum s;
        prv_composed c;
        if (prv_spectrum_new(&list, &once, 1, 1.0, &window, 1e9, &s, &c) == PRV_OK) {
            const long double delta = (long double)y.mass[1] * -expm1l((long double)epsilon - rare);
            most = fmax(most, (double)(delta * expl((long double)epsilon - c.tilted.log_moment) / s.bulk));
            prv_spectrum_free(&s);
        }
        prv_lattice_free(&y);
    }
    check(most > 0.5 && most <= 1.0, "the bulk of a rare loss: within its bound (at most 1 - %.3g of it)",
          1.0 - most);
}

/* A composition that may grow: what it then has at or below `low` is no more than the period allows for. */
static void room_to_grow(void)
{
    int held = 1, made = 0;
    for (int trial = 0; trial < 200; trial++) {
        prv_lattice y;
        if (prv_lattice_new(2, &y) != PRV_OK) abort();
        y.spacing = uniform(0.2, 0.6);
        y.offset = y.infinite_mass = 0.0;
        for (size_t i = 0; i < 2; i++) {
            y.index[i] = (int64_t)i - (trial % 2 == 0);
            y.loss[i] = y.spacing * (double)y.index[i];
        }
        y.mass[0] = uniform(0.2, 0.8);
        y.mass[1] = 1.0 - y.mass[0];
        const double tilt = log_uniform(0.1, 3.0), room = (double)random_below(4), k = 5.0;
        const prv_window window = {.low_epsilon = 0.5,
                                   .high_epsilon = 1.0,
                                   .room_to_grow = room,
                                   .shift_up = 1.0,
                                   .shift_down = log_uniform(0.3, 3.0),
                                   .tolerance = log_uniform(1e-40, 1e-3)};
        const prv_lattice *list = &y;
        prv_spectrum s;
        prv_composed c;
        if (prv_spectrum_new(&list, &k, 1, tilt, &window, 1e9, &s, &c) == PRV_OK) {
            const long double up = (long double)y.mass[1] * expl((long double)tilt * (long double)y.loss[1]),
                              down = (long double)y.mass[0] *
                                     expl((long double)tilt * (long double)y.loss[0]),
                              n = (long double)(k * (1.0 + room));
            long double below = 0.0L;
            for (long double i = 0.0L; i <= n; i += 1.0L) {
                const long double sum = i * (long double)y.loss[1] + (n - i) * (long double)y.loss[0];
                if (sum <= (long double)s.low)
                    below += expl(lgammal(n + 1.0L) - lgammal(i + 1.0L) - lgammal(n - i + 1.0L) +
                                  i * logl(up / (up + down)) + (n - i) * logl(down / (up + down)));
            }
            held = held && below * (long double)prv_kernel_maximum(tilt) <= (long double)window.tolerance;
            made++;
            prv_spectrum_free(&s);
        }
        prv_lattice_free(&y);
    }
    check(held && made > 100, "compositions that may grow: what lies below is within the tolerance (%d)",
          made);
}

/* The error at a frequency, in units of e^log_bound, against that of phi, which prv_characteristic_error
 * bounds. */
static void errors_of_exponents(void)
{
    int enough = 1;
    for (int trial = 0; trial < 100; trial++) {
        prv_lattice y = random_lattice(12, 0.1, 3);
        double weight[12];
        prv_tilt(y.loss, y.mass, y.length, 0.5, weight);
        prv_source source;
        prv_exponents e = {0};
        const double points = 1001.0, first = (double)random_below(400);
        if (prv_source_new(&y, weight, prv_heaviest(weight, y.length), 1.0, &source) != PRV_OK) abort();
        prv_source_scale(&source, 1.0);
        if (prv_exponents_append(&e, first, PRV_FREQUENCY_BLOCK) != PRV_OK) abort();
        prv_exponents_add(&e, 0, PRV_FREQUENCY_BLOCK, &source, NULL, points);
        const double error = prv_characteristic_error(&source, first + PRV_FREQUENCY_BLOCK, points);
        for (size_t j = 0; j < PRV_FREQUENCY_BLOCK; j++)
            enough = enough && e.error[j] * exp(e.log_bound[j]) >= error;
        prv_exponents_free(&e);
        prv_release(source.block);
        prv_lattice_free(&y);
    }
    check(enough, "the logarithm of a characteristic function is off by no less than itself");
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void shapes(void)
{
    /* Nothing but atoms two steps apart: the unit is theirs, or |phi| would return to 1. */
    prv_lattice y = random_lattice(5, 0.25, 1);
    for (int64_t i = 0; i < 5; i++) {
        y.index[i] = 6 * i - 6;
        y.loss[i] = y.offset + 0.25 * (double)y.index[i];
        y.mass[i] = 0.2;
    }
    y.infinite_mass = 0.0;
    const prv_lattice *list = &y;
    const double k = 1000.0;
    const prv_window window = {
        .low_epsilon = 100.0, .high_epsilon = 100.0, .shift_up = 0.1, .shift_down = 0.1, .tolerance = 1e-9};
    prv_spectrum s;
    prv_composed c;
    check(prv_spectrum_new(&list, &k, 1, 0.1, &window, 1e8, &s, &c) == PRV_OK && c.spacing == 1.5 &&
              s.count < 300,
          "the unit is the greatest common divisor of the distances");
    prv_spectrum_free(&s);
    check(prv_spectrum_new(&list, &k, 1, 0.1, &window, 10.0, &s, &c) == PRV_ERR_PRECISION,
          "the work has a limit");
    /* A single atom: the sum is certain. */
    y.length = 1;
    const prv_window narrow = {
        .low_epsilon = -1.0, .high_epsilon = 1.0, .shift_up = 1.0, .shift_down = 1.0, .tolerance = 1e-9};
    const double twice = 2.0;
    if (check(prv_spectrum_new(&list, &twice, 1, 1.0, &narrow, 1e8, &s, &c) == PRV_OK, "one atom")) {
        double finite, reverse;
        prv_spectrum_at(&s, 0.0, &finite, &reverse);
        check(fabs(finite) <= s.rounding + 1e-9 && fabs(reverse - 1.0) <= 1e-9,
              "one atom: D = 0, B = 1 at the sum");
    }
    prv_spectrum_free(&s);
    /* A lattice without mass: nothing to sum. */
    y.mass[0] = 0.0;
    if (check(prv_spectrum_new(&list, &twice, 1, 1.0, &narrow, 1e8, &s, &c) == PRV_OK, "no atom")) {
        double finite, reverse, low, high;
        prv_spectrum_at(&s, 7.0, &finite, &reverse);
        check(finite == 0.0 && reverse == 0.0 && prv_spectrum_images(&c, &low, &high) >= 0.0,
              "no atom: nothing");
        const prv_slack_parts slack = prv_certificate(&c, &exact_cells);
        check(isfinite(slack.slack.relative) && isfinite(slack.slack.additive),
              "no atom: nothing is not a number");
    }
    prv_spectrum_free(&s);
    prv_lattice_free(&y);
}

/* Where |phi| of one step is far below 1, its rounding is a part of it. */
static void rounding_of_a_small_phi(void)
{
    enum { ATOMS = 801, DEVIATION = 60 };
    prv_lattice normal, pair;
    if (prv_lattice_new(ATOMS, &normal) != PRV_OK || prv_lattice_new(2, &pair) != PRV_OK) abort();
    const double spacing = 1e-3;
    normal.spacing = pair.spacing = spacing;
    double total = 0.0;
    for (int i = 0; i < ATOMS; i++) {
        const double away = (double)(i - ATOMS / 2);
        normal.index[i] = i - ATOMS / 2;
        normal.loss[i] = spacing * away;
        total += normal.mass[i] = exp(-0.5 * away * away / (DEVIATION * DEVIATION));
    }
    for (int i = 0; i < ATOMS; i++) normal.mass[i] /= total;
    for (int i = 0; i < 2; i++) {
        pair.index[i] = i;
        pair.loss[i] = spacing * i;
        pair.mass[i] = 0.5;
    }
    const prv_lattice *list[] = {&normal, &pair};
    const double counts[] = {1.0, 1.0};
    const prv_window window = {
        .low_epsilon = 0.3, .high_epsilon = 0.3, .shift_up = 20.0, .shift_down = 20.0, .tolerance = 1e-13};
    prv_spectrum s;
    prv_composed c;
    if (check(prv_spectrum_new(list, counts, 2, 2.0, &window, 1e8, &s, &c) == PRV_OK, "a small phi"))
        check(s.rounding < 1e-13, "a small phi: %.3g of rounding", s.rounding);
    prv_spectrum_free(&s);
    prv_lattice_free(&normal);
    prv_lattice_free(&pair);
}

int main(void)
{
    shapes();
    rounding_of_a_small_phi();
    against_truth(12, 4, trials_of(150));
    against_truth(40, 20, trials_of(60));
    against_truth(6, 60, trials_of(60));
    against_full_sum(30, 100, trials_of(30));
    against_full_sum(5, 400, trials_of(30));
    bulk_alone(1.5);
    bulk_alone(0.05);
    bulk_of_a_rare_loss();
    room_to_grow();
    errors_of_exponents();
    jumps_at_a_zero_of_the_bulk();
    rounding(40, 1000.0, 1.0, 6); /* a few spectra of these are given up */
    rounding(40, 100000.0, 1e-3, 6);
    rounding(20, 1e7, 1e-7, 6);
    return summary();
}
