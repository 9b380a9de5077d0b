/* Checks compositions against direct convolution in long double. */
#include "check.h"
#include "fft/plans.h"
#include "transforms.h"

#include "lattices/tilt.h"
#include "composition/convolution.h"
#include "composition/direct_convolution.h"
#include "composition/kernel.h"
#include "composition/spectral_power.h"

#define U (0.5 * DBL_EPSILON)

static prv_lattice lattice(size_t length, double offset, double spacing, int64_t first, int gaps)
{
    prv_lattice y;
    if (prv_lattice_new(length, &y) != PRV_OK) abort();
    y.offset = offset;
    y.spacing = spacing;
    double total = 0.0;
    for (size_t i = 0; i < length; i++) {
        y.index[i] = i == 0 ? first : y.index[i - 1] + 1 + (gaps ? (int64_t)random_below(4) : 0);
        y.loss[i] = offset + spacing * (double)y.index[i];
        y.mass[i] = random_below(4) == 0 ? 0.0 : log_uniform(1e-12, 1.0);
        total += y.mass[i];
    }
    y.infinite_mass = random_below(2) ? log_uniform(1e-12, 0.1) : 0.0;
    if (total == 0.0) y.mass[0] = total = 1.0;
    for (size_t i = 0; i < length; i++) y.mass[i] *= (1.0 - y.infinite_mass) / total;
    return y;
}

typedef enum way { PLAIN, PRECISE, DIRECT } way;
static const char *const names[] = {"plain", "precise", "direct"};

/* One composition against the product of its laws, written out on the whole support. */
typedef struct tally {
    int tried, masses, outside, moment, infinite, place;
    double most, least; /* error of the masses over its bound, at most */
} tally;

static void compose(size_t steps, const int *counts, double tilt, size_t n, way how, double at, tally *t)
{
    prv_lattice y[3];
    const prv_lattice *list[3];
    double k[3];
    const double spacing = log_uniform(1e-3, 1.0);
    long double offset = 0.0L;
    double infinite = 1.0;
    int64_t first = 0;
    size_t span = 1;
    long double log_moment = 0.0L;
    for (size_t j = 0; j < steps; j++) {
        y[j] = lattice(1 + random_below(9), uniform(-1.0, 1.0) * spacing, spacing,
                       (int64_t)random_below(9) - 5, (int)random_below(2));
        list[j] = &y[j];
        k[j] = counts[j];
        offset += (long double)k[j] * (long double)y[j].offset;
        first += counts[j] * y[j].index[0];
        span += (size_t)counts[j] * (size_t)(y[j].index[y[j].length - 1] - y[j].index[0]);
        for (int c = 0; c < counts[j]; c++) infinite *= 1.0 - y[j].infinite_mass;
        long double moment = 0.0L;
        for (size_t i = 0; i < y[j].length; i++)
            moment += (long double)y[j].mass[i] * expl((long double)tilt * (long double)y[j].loss[i]);
        log_moment += (long double)k[j] * logl(moment);
    }
    /* Truth: tilted weights on first .. first + span - 1. */
    long double *truth = calloc(span, sizeof *truth), *next = calloc(span, sizeof *next);
    truth[0] = 1.0L;
    for (size_t j = 0; j < steps; j++) {
        long double moment = 0.0L;
        for (size_t i = 0; i < y[j].length; i++)
            moment += (long double)y[j].mass[i] * expl((long double)tilt * (long double)y[j].loss[i]);
        for (int c = 0; c < counts[j]; c++) {
            memset(next, 0, span * sizeof *next);
            for (size_t i = 0; i < y[j].length; i++) {
                const size_t shift = (size_t)(y[j].index[i] - y[j].index[0]);
                const long double w = (long double)y[j].mass[i] *
                                      expl((long double)tilt * (long double)y[j].loss[i]) / moment;
                for (size_t x = 0; x + shift < span; x++) next[x + shift] += w * truth[x];
            }
            long double *swap = truth;
            truth = next;
            next = swap;
        }
    }
    const double mean_of_window = (double)offset + spacing * ((double)first + at * (double)span);
    const prv_window window = {.lowest = mean_of_window - 0.5 * spacing * (double)n,
                               .length = n,
                               .shift_up = uniform(0.1, 2.0) / spacing,
                               .shift_down = uniform(0.1, 2.0) / spacing,
                               .tolerance = random_below(2) ? log_uniform(1e-12, 1e-3) : 0.0,
                               .precise = how == PRECISE};
    size_t longest = 0;
    for (size_t j = 0; j < steps; j++) longest = y[j].length > longest ? y[j].length : longest;
    prv_workspace work;
    if (prv_workspace_new(n, steps, longest, &work) != PRV_OK) abort();
    size_t length = n;
    const prv_fft fft = naive_fft(&length);
    prv_composed c;
    const prv_status status = prv_compose(list, k, steps, tilt, &window, how == DIRECT ? NULL : &fft, &work,
                                          &c);
    if (status != PRV_OK) {
        check(0, "composing failed: %s", prv_status_message(status));
        return;
    }
    t->tried++;
    t->infinite += fabs(c.tilted.infinite.mass - (1.0 - infinite)) <= 64.0 * U;
    t->moment += fabsl((long double)c.tilted.log_moment - log_moment) <=
                 (long double)c.tilted.relative_error + 1e-13L * fabsl(log_moment);
    /* The window starts at a lattice point at or just below the one asked. */
    const long double point = (c.lowest - offset) / (long double)spacing;
    const double rounded = floor((double)point + 0.5);
    t->place += fabsl(point - (long double)rounded) < 1e-9L &&
                (double)c.lowest <= window.lowest + 1e-9 * spacing &&
                (double)c.lowest > window.lowest - (1.0 + 1e-9) * spacing;
    /* Every mass: the circular sums of the truth. */
    const int64_t low = (int64_t)rounded;
    long double *circular = calloc(n, sizeof *circular);
    long double outside = 0.0L;
    for (size_t x = 0; x < span; x++) {
        const int64_t from_low = first + (int64_t)x - low, period = (int64_t)n;
        const int64_t r = (from_low % period + period) % period;
        circular[r] += truth[x];
        if (from_low < 0 || from_low >= period) outside += truth[x];
    }
    int within = 1;
    double square = 0.0, sum = 0.0;
    /* Tails that were dropped: the composition says that they count among what is outside. */
    const double dropped = how == DIRECT
                               ? fmin(0.1 * window.tolerance / prv_kernel_maximum(tilt), c.convolved.outside)
                               : 0.0;
    for (size_t i = 0; i < n; i++) {
        const long double error = (long double)c.convolved.mass[(c.convolved.start + i) % n] - circular[i];
        const double allowed = c.convolved.rounding + dropped +
                               c.tilted.relative_error * (double)circular[i] + 1e-300;
        within = within && fabsl(error) <= (long double)allowed;
        t->most = fmax(t->most, (double)fabsl(error) / allowed);
        const double beyond = fmax((double)fabsl(error) - c.tilted.relative_error * (double)circular[i], 0.0);
        square += beyond * beyond;
        sum += beyond;
    }
    within = within &&
             (how == DIRECT ? sum <= dropped + 1e-300 : sqrt(square) <= c.convolved.rounding_norm + 1e-300);
    t->masses += within;
    t->outside += outside <= (long double)c.convolved.outside * 1.0000001L;
    free(circular);
    free(truth);
    free(next);
    prv_workspace_free(&work);
    for (size_t j = 0; j < steps; j++) prv_lattice_free(&y[j]);
}

static void against_convolution(way how, double at, size_t least, size_t most, const char *what)
{
    tally t = {0};
    for (int trial = 0; trial < 150; trial++) {
        const size_t steps = 1 + random_below(3);
        int counts[3];
        for (size_t j = 0; j < steps; j++) counts[j] = 1 + (int)random_below(j == 0 ? 6 : 3);
        const double tilt = random_below(3) ? uniform(0.0, 3.0) : 0.0;
        compose(steps, counts, tilt, least + random_below(most - least + 1), how, at, &t);
    }
    const char *name = names[how];
    check(t.masses == t.tried,
          "%s, %s: masses are those of the written-out product within their errors (%d of %d; at most %.2g)",
          name, what, t.masses, t.tried, t.most);
    check(t.outside == t.tried, "%s, %s: `outside` bounds the mass outside the window (%d of %d)", name, what,
          t.outside, t.tried);
    check(t.place == t.tried, "%s, %s: the window starts where asked (%d of %d)", name, what, t.place,
          t.tried);
    check(t.moment == t.tried, "%s, %s: log M (%d of %d)", name, what, t.moment, t.tried);
    check(t.infinite == t.tried, "%s, %s: mass at infinity (%d of %d)", name, what, t.infinite, t.tried);
}

/* Many steps: a law of two atoms has binomial masses, and the heavy atom's part is summed on its own. */
static void binomial(way how, int k, double rare, size_t n)
{
    prv_lattice y;
    if (prv_lattice_new(2, &y) != PRV_OK) abort();
    y.offset = 0.0;
    y.spacing = 0.125;
    y.index[0] = 0;
    y.index[1] = 3;
    y.loss[0] = 0.0;
    y.loss[1] = 0.375;
    y.mass[0] = 1.0 - rare;
    y.mass[1] = rare;
    const prv_lattice *list = &y;
    const double counts = k;
    const double middle = 0.375 * floor((double)k * rare);
    const prv_window window = {.lowest = middle - 0.0625 * (double)n,
                               .length = n,
                               .shift_up = 2.0,
                               .shift_down = 2.0,
                               .tolerance = 1e-15,
                               .precise = how == PRECISE};
    prv_workspace work;
    if (prv_workspace_new(n, 1, 2, &work) != PRV_OK) abort();
    prv_fft_provider *provider = NULL;
    prv_fft fft;
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    if (provider->plan(provider->context, n, &fft) != PRV_OK) abort();
    prv_composed c;
    const prv_status status = prv_compose(&list, &counts, 1, 0.0, &window, how == DIRECT ? NULL : &fft, &work,
                                          &c);
    check(status == PRV_OK, "binomial of %d at %g, %s: composes", k, rare, names[how]);
    if (status == PRV_OK) {
        double worst = 0.0, error_most = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double x = ((double)c.lowest + 0.125 * (double)i) / 0.375, successes = floor(x + 0.5);
            long double truth = 0.0L;
            if (fabs(x - successes) < 1e-6 && successes >= 0.0 && successes <= (double)k) {
                const long double s = (long double)successes, all = (long double)k;
                truth = expl(lgammal(all + 1.0L) - lgammal(s + 1.0L) - lgammal(all - s + 1.0L) +
                             s * logl((long double)rare) + (all - s) * log1pl(-(long double)rare));
            }
            const double error = (double)fabsl((long double)c.convolved.mass[(c.convolved.start + i) % n] -
                                               truth);
            const double allowed = c.convolved.rounding + c.convolved.outside +
                                   (c.tilted.relative_error + 1e-14) * (double)truth;
            worst = error <= allowed ? fmax(worst, error / allowed)
                                     : HUGE_VAL; /* if either is no number, too */
            error_most = fmax(error_most, error);
        }
        check(worst <= 1.0,
              "binomial of %d at %g, %s: masses within the bounds (%.2g of them; error %.2g, rounding %.2g)",
              k, rare, names[how], worst, error_most, c.convolved.rounding);
    }
    prv_fft_provider_free(provider);
    prv_workspace_free(&work);
    prv_lattice_free(&y);
}

/* The sums of a precise power, against those of the transform written out, at all frequencies. */
static void sums_of_powers(void)
{
    enum { POINTS = 48 };
    prv_fft_provider *provider = NULL;
    prv_fft fft;
    prv_workspace work;
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK ||
        provider->plan(provider->context, POINTS, &fft) != PRV_OK ||
        prv_workspace_new(POINTS, 1, 8, &work) != PRV_OK)
        abort();
    int enough = 1, close = 1;
    for (int trial = 0; trial < 50; trial++) {
        prv_lattice y = lattice(8, 0.0, 0.25, -3, trial % 2);
        const double k = (double)(1 + random_below(30));
        prv_tilt(y.loss, y.mass, y.length, 0.0, work.weight);
        long double square = 0.0L, less_one_square = 0.0L;
        for (int j = 0; j < POINTS; j++) {
            long double re = 0.0L, im = 0.0L;
            for (size_t i = 0; i < y.length; i++) {
                const long double angle = 6.28318530717958647692528676655900577L *
                                          (long double)(j * y.index[i] % POINTS) / POINTS;
                re += (long double)work.weight[i] * cosl(angle);
                im -= (long double)work.weight[i] * sinl(angle);
            }
            square += powl(re * re + im * im, (long double)k);
            less_one_square += powl(re * re + im * im, (long double)k - 1.0L);
        }
        prv_spectral_power power;
        if (prv_spectral_power_precise(&y, k, &fft, NULL, &work, &power) != PRV_OK) abort();
        enough = enough && power.square >= (double)square * (1.0 - 1e-12) &&
                 power.less_one_square >= (double)less_one_square * (1.0 - 1e-12);
        close = close && power.square <= 2.0 * (double)square + 1e-9 &&
                power.less_one_square <= 2.0 * (double)less_one_square + 1e-9;
        prv_lattice_free(&y);
    }
    check(enough, "sums over the frequencies of precise powers: all are counted");
    check(close, "... and no more than twice");
    prv_workspace_free(&work);
    prv_fft_provider_free(provider);
}

/* Without a shift of the tilt to that side nothing is known of the mass outside. */
static void no_shift(void)
{
    prv_lattice y = lattice(5, 0.0, 0.5, -2, 0);
    int ok = 1;
    for (int sign = -1; sign <= 1; sign++) {
        const prv_window window = {.shift_up = sign * 3.0, .shift_down = sign * 3.0};
        prv_tilted t = prv_tilted_new(0.5, &window);
        double weight[5];
        prv_tilted_add(&t, &y, 4.0, weight);
        /* Four steps of 0.5 or more reach 2, others stay below 4. */
        const double large = weight[3] + weight[4];
        const double above = prv_tilted_above(&t, 2.0), below = prv_tilted_below(&t, 3.5);
        ok = ok && above >= pow(large, 4.0) && below >= 1.0 - pow(weight[4], 4.0) - 1e-12;
        ok = ok && (sign > 0 || (above == 1.0 && below == 1.0));
    }
    check(ok, "Chernoff's bounds are 1 where the window has no shift of the tilt for them");
    prv_lattice_free(&y);
}

static void lengths(void)
{
    int ok = 1, odd_ok = 1;
    for (int trial = 0; trial < 2000; trial++) {
        const double wanted = log_uniform(100.0, fmin(1e9, 0.5 * (double)PRV_LONGEST_TRANSFORM));
        for (int odd = 0; odd <= 1; odd++) {
            size_t n = prv_transform_length(wanted, odd);
            ok = ok && (double)n >= wanted && (double)n <= (odd ? 1.8 : 1.51) * wanted;
            odd_ok = odd_ok && (!odd || n % 2 == 1);
            static const size_t primes[] = {2, 3, 5, 7};
            for (size_t i = 0; i < 4 && n > 0; i++)
                while (n % primes[i] == 0) n /= primes[i];
            ok = ok && n == 1;
        }
    }
    check(ok, "transform lengths are long enough, not much longer, and have small factors only");
    check(odd_ok, "odd transform lengths are odd");
    const double longest = (double)PRV_LONGEST_TRANSFORM;
    ok = prv_transform_length(longest, 0) == PRV_LONGEST_TRANSFORM;
    for (int odd = 0; odd <= 1; odd++)
        ok = ok && prv_transform_length(longest + 1.0, odd) == 0 &&
             prv_transform_length(HUGE_VAL, odd) == 0 && prv_transform_length(NAN, odd) == 0 &&
             (double)prv_transform_length(0.9 * longest, odd) <= longest;
    check(ok && longest * sizeof(double) < (double)SIZE_MAX,
          "no length is above the longest, whose buffers have a size");
    prv_workspace work;
    check(prv_workspace_new(0, 2, 10, &work) == PRV_ERR_MEMORY_LIMIT,
          "a length of 0 is one that is too long");
}

/* What decides between direct products and transforms grows with the steps, and forbids long windows. */
static void predictions(void)
{
    prv_lattice y = lattice(50, 0.0, 0.1, 0, 0);
    const prv_lattice *list[2] = {&y, &y};
    int grows = 1;
    double before = 0.0;
    for (double k = 2.0; k <= 4096.0; k *= 2.0) {
        const double counts[2] = {k, k}, products = prv_direct_products(list, counts, 2, 500);
        grows = grows && products > before && products >= 2.0 * prv_direct_products(list, counts, 1, 500);
        before = products;
    }
    check(grows, "more steps take more products");
    const double counts[1] = {2.0};
    check(!isfinite(prv_direct_products(list, counts, 1, (size_t)1 << 21)) &&
              prv_direct_bytes((size_t)1 << 21) == 0.0,
          "long windows are not composed directly");
    prv_lattice_free(&y);
}

int main(void)
{
    lengths();
    no_shift();
    predictions();
    sums_of_powers();
    for (way how = PLAIN; how <= DIRECT; how++) {
        against_convolution(how, 0.5, 150, 190, "wide windows");
        against_convolution(how, 0.5, 20, 45, "narrow windows, which wrap around");
        against_convolution(how, 1.2, 30, 60, "windows beside the bulk");
        against_convolution(how, -0.4, 30, 60, "windows below the bulk");
        binomial(how, 1000, 1e-3, 320);
        binomial(how, 1, 0.5, 48); /* the spectrum is 0 at frequencies 8 and 24 */
        binomial(how, 5, 0.5, 48);
        if (how == DIRECT) break; /* the others have more steps than are composed so */
        binomial(how, 100000, 0.3, 4096);
        binomial(how, 1000000, 1e-7, 960);
        binomial(how, 50000000, 1e-7, 945);
    }
    return summary();
}
