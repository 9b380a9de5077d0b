/* Histories that grow: closed forms, and that what they keep makes no difference. */
#include "asking.h"
#include "pool.h"

enum { KINDS = 24 };

static prv_mechanism *made[KINDS];

/* Noise that differs from step to step, the later ones having less. */
static void make_mechanisms(int sampled)
{
    for (size_t i = 0; i < KINDS; i++) {
        const double noise = (sampled ? 1.5 : 30.0) * pow(0.99, (double)i);
        made[i] = sampled ? subsampled(noise, 0.01) : gaussian(noise);
    }
}

static void free_mechanisms(void)
{
    for (size_t i = 0; i < KINDS; i++) prv_mechanism_free(made[i]);
}

static prv_history *new_history(void)
{
    prv_history *h = NULL;
    if (prv_history_new(&h) != PRV_OK) abort();
    return h;
}

/* Gaussians compose to one with the mu that is the root of the sum of squares (Dong, Roth, Su 2022,
 * Corollary 3.3). */
static void closed_forms(void)
{
    make_mechanisms(0);
    prv_history *h = new_history();
    prv_step steps[KINDS];
    const prv_options o = options_of(1e-3);
    const double epsilon = 2.0, far = 1e-12;
    long double square = 0.0L;
    int within = 1, narrow = 1, spectral = 0;
    double last = 0.0;
    for (size_t i = 0; i < KINDS; i++) {
        const double noise = 30.0 * pow(0.99, (double)i);
        steps[i] = (prv_step){made[i], 20 + i};
        square += (long double)steps[i].count / ((long double)noise * (long double)noise);
        const double delta = (double)gaussian_delta((long double)epsilon, sqrtl(square));
        prv_bounds b;
        prv_report r;
        int ok = prv_history_epsilon(h, steps, i + 1, &o, &delta, 1, &b, &r) == PRV_OK &&
                 b.lower <= epsilon && epsilon <= b.upper;
        narrow = narrow && b.upper - b.lower <= 1e-3 * (1.0 + 1e-9) && r.accurate;
        spectral += r.engine == PRV_ENGINE_SPECTRUM;
        ok = ok && prv_history_delta(h, steps, i + 1, &o, &epsilon, 1, &b, NULL) == PRV_OK &&
             b.lower <= delta * (1.0 + 1e-11) && delta * (1.0 - 1e-11) <= b.upper;
        ok = ok && prv_history_epsilon(h, steps, i + 1, &o, &far, 1, &b, NULL) == PRV_OK &&
             b.lower >= last * (1.0 - 1e-3);
        last = b.lower;
        within = within && ok;
    }
    int close = 1;
    prv_options part = options_of(1e-7);
    part.delta_relative_error = 1e-3;
    square = 0.0L;
    for (size_t i = 0; i < KINDS; i++) {
        const long double noise = (long double)(30.0 * pow(0.99, (double)i));
        square += (long double)steps[i].count / (noise * noise);
        const long double delta = gaussian_delta((long double)epsilon, sqrtl(square));
        prv_bounds b;
        prv_report r;
        close = close && prv_history_delta(h, steps, i + 1, &part, &epsilon, 1, &b, &r) == PRV_OK &&
                r.accurate && (long double)b.lower <= delta * (1.0L + 1e-11L) &&
                delta * (1.0L - 1e-11L) <= (long double)b.upper && b.upper - b.lower <= 1e-3 * b.upper &&
                (r.width > 1e-7 || r.engine == PRV_ENGINE_CLOSED_FORM);
    }
    check(close, "a delta is done within a thousandth of itself");
    check(within, "bounds hold the closed form after each of %d Gaussians", KINDS);
    check(narrow && spectral == KINDS, "... as narrow as asked, by %d spectra", spectral);
    prv_history_free(h);
    free_mechanisms();
}

/* Both ways of composing are certified, so that their bounds overlap; and one history that is asked all kinds
 * of things answers as one that is asked nothing else, bit by bit. */
static void what_is_kept_makes_no_difference(void)
{
    make_mechanisms(1);
    prv_history *h = new_history();
    prv_step steps[KINDS];
    size_t length = 0;
    int alike = 1, overlap = 1, asked = 0;
    for (int round = 0; round < 60; round++) {
        const size_t action = random_below(8);
        if (action == 0 && length > 1)
            length -= 1 + random_below(length - 1); /* another history of the same beginning */
        else if (action == 1 && length > 0)
            steps[random_below(length)].count += random_below(5); /* an old step runs again */
        else if (action < 4 && length > 0)
            steps[length - 1].count += 1 + random_below(200);
        else if (length < KINDS) {
            steps[length] = (prv_step){made[random_below(5) ? length : random_below(KINDS)],
                                       1 + random_below(300)};
            length++;
        }
        if (length == 0) continue;
        prv_options o = options_of(random_below(20) ? 2e-3 : 3e-3);
        o.neighbors = random_below(20) ? PRV_ADD_OR_REMOVE : PRV_ADD;
        static const double deltas[] = {1e-5, 1e-8, 0.3, 1.0, 0.0, 1e-12},
                            epsilons[] = {1.0, 3.0, -0.5, HUGE_VAL, 0.0};
        double values[2];
        const int ask_epsilon = random_below(2) > 0;
        const size_t count = 1 + random_below(2);
        for (size_t i = 0; i < count; i++)
            values[i] = ask_epsilon ? deltas[random_below(6)] : epsilons[random_below(5)];
        prv_history *other = new_history();
        prv_bounds a[2], b[2], whole[2];
        const prv_status status[] = {
            (ask_epsilon ? prv_history_epsilon : prv_history_delta)(h, steps, length, &o, values, count, a,
                                                                    NULL),
            (ask_epsilon ? prv_history_epsilon : prv_history_delta)(other, steps, length, &o, values, count,
                                                                    b, NULL),
            (ask_epsilon ? prv_epsilon : prv_delta)(steps, length, &o, values, count, whole, NULL),
        };
        prv_history_free(other);
        if (status[0] != PRV_OK || status[1] != PRV_OK || status[2] != PRV_OK) {
            check(0, "%s, %s, %s", prv_status_message(status[0]), prv_status_message(status[1]),
                  prv_status_message(status[2]));
            continue;
        }
        asked++;
        alike = alike && memcmp(a, b, count * sizeof *a) == 0;
        for (size_t i = 0; i < count; i++)
            overlap = overlap && a[i].lower <= whole[i].upper && whole[i].lower <= a[i].upper &&
                      a[i].lower <= a[i].estimate && a[i].estimate <= a[i].upper;
    }
    check(alike, "%d answers are those of histories that were asked nothing before", asked);
    check(overlap, "... and overlap with those of the composition as a whole");
    prv_history_free(h);
    free_mechanisms();
}

static int stop_after(void *context, const prv_progress *progress)
{
    int *left = context;
    (void)progress;
    return (*left)-- <= 0;
}

/* Wherever a call ends, the history is as good as new. */
static void interruptions(void)
{
    make_mechanisms(1);
    prv_step steps[KINDS];
    for (size_t i = 0; i < KINDS; i++) steps[i] = (prv_step){made[i], 50};
    const double delta = 1e-6;
    prv_options o = options_of(2e-3);
    prv_bounds right, b;
    prv_history *h = new_history();
    if (prv_history_epsilon(h, steps, KINDS, &o, &delta, 1, &right, NULL) != PRV_OK) abort();
    int interrupted = 0, good = 1;
    for (int after = 0; after < 400; after += 23) {
        int left = after;
        prv_options stopping = o;
        stopping.progress = stop_after;
        stopping.progress_context = &left;
        good = good && prv_history_epsilon(h, steps, KINDS / 2, &o, &delta, 1, &b, NULL) == PRV_OK;
        interrupted += prv_history_epsilon(h, steps, KINDS, &stopping, &delta, 1, &b, NULL) ==
                       PRV_ERR_INTERRUPTED;
        good = good && prv_history_epsilon(h, steps, KINDS, &o, &delta, 1, &b, NULL) == PRV_OK &&
               memcmp(&b, &right, sizeof b) == 0;
    }
    check(good && interrupted > 5, "the same answer after each of %d interruptions", interrupted);
    prv_history_free(h);
    free_mechanisms();
}

static void failing_memory(void)
{
    make_mechanisms(1);
    prv_step steps[KINDS];
    for (size_t i = 0; i < KINDS; i++) steps[i] = (prv_step){made[i], 50};
    const double delta = 1e-6;
    const prv_options o = options_of(2e-3);
    prv_bounds right, b;
    prv_history *h = new_history();
    if (prv_history_epsilon(h, steps, KINDS, &o, &delta, 1, &right, NULL) != PRV_OK) abort();
    prv_history_free(h);
    int failures = 0, good = 1;
    pool p = {.left = 0};
    const prv_allocator allocator = allocator_of(&p);
    for (long left = 0; left < 3000; left += left < 20 ? 1 : 83) {
        const prv_allocator before = prv_use_allocator(allocator);
        p.left = left;
        prv_status status = prv_history_new(&h);
        if (status == PRV_OK) {
            status = prv_history_epsilon(h, steps, KINDS / 2, &o, &delta, 1, &b, NULL);
            if (status == PRV_OK) status = prv_history_epsilon(h, steps, KINDS, &o, &delta, 1, &b, NULL);
            failures += status == PRV_ERR_MEMORY;
            good = good && (status == PRV_OK || status == PRV_ERR_MEMORY);
            p.left = -1;
            good = good && prv_history_epsilon(h, steps, KINDS, &o, &delta, 1, &b, NULL) == PRV_OK &&
                   memcmp(&b, &right, sizeof b) == 0;
            prv_history_free(h);
        }
        prv_use_allocator(before);
        good = good && p.live == 0 && p.misused == 0;
    }
    check(good && failures > 15, "the same answer after each of %d failures to allocate, and nothing lost",
          failures);
    free_mechanisms();
}

static void refusals(void)
{
    make_mechanisms(0);
    prv_history *h = new_history();
    const prv_step step = {made[0], 10}, many[] = {{made[0], (uint64_t)1 << 53}, {made[1], 1}};
    const prv_options o = options_of(1e-3);
    prv_options convolved = o, matched = o;
    const double bad = 1.5, nothing = NAN, delta = 1e-5;
    prv_bounds b, whole;
    check(prv_history_epsilon(h, &step, 1, &o, &bad, 1, &b, NULL) == PRV_ERR_DELTA, "delta 1.5 asked");
    check(prv_history_delta(h, &step, 1, &o, &nothing, 1, &b, NULL) == PRV_ERR_EPSILON, "epsilon nan asked");
    check(prv_history_epsilon(h, many, 2, &o, &delta, 1, &b, NULL) == PRV_ERR_COUNT, "counts above 2^53");
    check(prv_history_epsilon(h, NULL, 0, &o, &delta, 1, &b, NULL) == PRV_OK && b.upper == 0.0,
          "nothing has run: epsilon 0");
    convolved.engine = PRV_ENGINE_CONVOLUTION;
    matched.discretization = PRV_MEAN_MATCHING;
    matched.eps_error = 0.1;
    matched.delta_error = 1e-10;
    for (int i = 0; i < 2; i++) {
        const prv_options *other = i == 0 ? &convolved : &matched;
        check(prv_history_epsilon(h, &step, 1, other, &delta, 1, &b, NULL) == PRV_OK &&
                  prv_epsilon(&step, 1, other, &delta, 1, &whole, NULL) == PRV_OK &&
                  memcmp(&b, &whole, sizeof b) == 0,
              "what has no spectrum is composed as a whole");
    }
    prv_history_free(h);
    prv_history_free(NULL);
    free_mechanisms();
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    closed_forms();
    what_is_kept_makes_no_difference();
    interruptions();
    failing_memory();
    refusals();
    prv_fft_provider_free(provider);
    return summary();
}
