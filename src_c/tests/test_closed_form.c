/* Closed forms: each curve against its definition in long double, tables against sums over all outcomes, and
 * answers through the public queries. Tests in Python (test_closed_forms.py) have exact values. */
#include "prvcore.h"

#include "asking.h"
#include "check.h"

#include "numerics/normal.h"
#include "numerics/rounding.h"
#include "mechanisms/mechanism.h"
#include "closed/loss_table.h"
#include "closed/smooth_curve.h"

/* What sums and tails of this test are off by. */
#define TRUSTED (64.0L * (long double)PRV_WIDE_LIBM_UNIT)

static void holds(const prv_closed_value *v, long double truth, long double truth_error, const char *name,
                  double at)
{
    const long double off = fabsl(v->delta - truth);
    check(off <= v->error + truth_error, "%s at %g: %.20Lg, off by %.3Lg, which is counted as %.3Lg", name,
          at, v->delta, off, v->error);
}

static void mills_ratios(void)
{
    double worst = 0.0;
    for (double x = 3.0; x < 90.0; x += 0.0713) {
        const long double z = x, truth = normal_upper(z) * expl(0.5L * z * z) *
                                         2.50662827463100050241576528481104525L;
        const long double off = fabsl(prv_wide_mills_ratio(z) / truth - 1.0L) /
                                (long double)PRV_WIDE_LIBM_UNIT;
        worst = fmax(worst, (double)(off - (16.0L + 2.0L * z * z)));
    }
    check(worst <= 8.0, "Mills' ratio in long double is off by %.3g units more than its test", worst);
}

static void gaussian_curves(void)
{
    static const double sizes[] = {1e-3, 0.1, 1.0, 3.0, 20.0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const long double mu = (long double)sizes[i];
        const prv_smooth_curve c = {.kind = PRV_SMOOTH_GAUSSIAN, .size = mu, .probability = 1.0L};
        for (double x = -3.0; x < 9.0; x += 0.37) {
            const long double e = mu * ((long double)x + 0.5L * mu);
            if (e > 600.0L) continue;
            const prv_closed_value v = prv_smooth_curve_at(&c, e, 0.0L);
            const long double first = normal_upper(e / mu - 0.5L * mu);
            holds(&v, gaussian_delta(e, mu), TRUSTED * (2.0L + e * e / (mu * mu) + mu * mu) * 2.0L * first,
                  "Gaussian", (double)e);
            check(v.error <= 1e-9L * v.delta, "Gaussian at %g: known to %.2Lg", (double)e, v.error / v.delta);
        }
    }
}

/* What is not known of epsilon is in the error: values at either end of the blur lie within it. */
static void blurs(void)
{
    const long double blur = 1e-4L;
    long double widest = 0.0L;
    static const prv_smooth_kind kinds[] = {PRV_SMOOTH_NONE, PRV_SMOOTH_GAUSSIAN, PRV_SMOOTH_LAPLACE,
                                            PRV_SMOOTH_RANGE};
    for (size_t k = 0; k < 4; k++)
        for (int sample = 0; sample < 3; sample++) {
            const prv_smooth_curve c = {kinds[k],   1.0L,       0.0,
                                        sample > 0, sample > 1, sample > 0 ? 0.25L : 1.0L};
            for (double e = -3.0; e < 3.0; e += 0.0317) {
                const prv_closed_value v = prv_smooth_curve_at(&c, (long double)e, blur);
                for (int side = -1; side <= 1; side += 2) {
                    const prv_closed_value moved = prv_smooth_curve_at(&c, (long double)e + side * blur,
                                                                       0.0L);
                    holds(&v, moved.delta, moved.error, "a blurred epsilon", e);
                    widest = fmaxl(widest, moved.error);
                }
            }
        }
    check(widest <= 1e-12L, "without blur, values are off by %.3Lg at most", widest);
}

/* mu of Gaussian noise that is not what its scale says, as of groups: a product of doubles, off by 4 u. */
static void rounded_sizes(void)
{
    prv_mechanism *m = gaussian(1.0);
    const prv_options o = options_of(1e-3);
    int held = 1, close = 1;
    for (int trial = 0; trial < 200; trial++) {
        m->mu = uniform(0.3, 0.9);
        const prv_step step = {m, 1};
        const double epsilon = uniform(1.0, 10.0);
        prv_bounds b;
        if (prv_delta(&step, 1, &o, &epsilon, 1, &b, NULL) != PRV_OK) abort();
        for (int side = -1; side <= 1; side += 2) {
            const long double mu = (long double)m->mu * (1.0L + side * 4.0L * (long double)PRV_UNIT),
                              e = (long double)epsilon, size = e / mu + mu, truth = gaussian_delta(e, mu),
                              own = TRUSTED * (2.0L + size * size) * normal_upper(e / mu - 0.5L * mu);
            held = held && (long double)b.lower <= truth + own && truth - own <= (long double)b.upper;
            close = close && b.upper - b.lower <= 1e-9 * b.upper;
        }
    }
    check(held, "Gaussian noise whose mu is off by 4 u: both ends of that are within the bounds");
    check(close, "... which are close");
    prv_mechanism_free(m);
}

static long double binomial(double n, double k)
{
    return expl(lgammal((long double)n + 1.0L) - lgammal((long double)k + 1.0L) -
                lgammal((long double)(n - k) + 1.0L));
}

/* Of losses +epsilon or -epsilon with odds of e^epsilon to 1. */
static prv_status table_of_responses(long double epsilon, double count, double least, bool *known,
                                     prv_loss_table *t)
{
    const prv_two_losses two = prv_two_losses_of_response(epsilon, 0.0);
    return prv_loss_table_of_two(&two, count, least, known, t);
}

static void response_tables(void)
{
    static const double counts[] = {1.0, 2.0, 9.0, 100.0, 400.0}, losses[] = {1e-3, 0.3, 4.0};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 3; j++) {
            const double n = counts[i], y = losses[j];
            bool known;
            prv_loss_table t;
            check(table_of_responses((long double)y, n, 1e-300, &known, &t) == PRV_OK && known,
                  "a table of %g responses", n);
            const long double q = 1.0L / (1.0L + expl(-(long double)y)),
                              p = 1.0L / (1.0L + expl((long double)y));
            for (double part = -1.03; part < 1.0; part += 0.0431) {
                const long double e = (long double)(part * n * y);
                long double truth = 0.0L;
                for (double k = 0.0; k <= n; k += 1.0) {
                    const long double mass = binomial(n, k) * powl(q, (long double)k) *
                                             powl(p, (long double)(n - k));
                    const long double loss = (long double)(2.0 * k - n) * (long double)y;
                    if (loss > e) truth -= mass * expm1l(e - loss);
                }
                const prv_closed_value v = prv_loss_table_at(&t, e, 0.0L);
                /* Factorials by their logarithms, and powers. */
                holds(&v, truth, truth * TRUSTED * (long double)(8.0 + n * (8.0 + y)), "responses",
                      (double)e);
                check(v.error <= 1e-10L * v.delta || v.delta < 1e-290L, "%g responses at %g: known to %.2Lg",
                      n, (double)e, v.error / v.delta);
            }
            prv_loss_table_free(&t);
        }
}

/* Sums of losses that are one of two numbers: of atoms whose densities are off by a known part, the curve of
 * the true ones, by all numbers of both. */
static void tables_of_two_losses(void)
{
    static const double counts[] = {1.0, 2.0, 7.0, 60.0};
    static const double q[][2] = {{0.3, 0.7}, {0.999, 0.001}, {0.5, 0.5}};
    static const double p[][2] = {{0.6, 0.4}, {0.9999, 0.0001}, {0.125, 0.875}};
    for (int i = 0; i < 4 * 3 * 3; i++) {
        const double n = counts[i % 4], off = i / 12 == 0 ? 0.0 : 1e-12 * pow(1e4, i / 12 - 1.0);
        const double *given_q = q[i / 4 % 3], *given_p = p[i / 4 % 3];
        prv_atoms *a = prv_atoms_of_outcomes(given_q, given_p, 2);
        if (a == NULL) abort();
        const bool first_is_low = logl((long double)given_q[0] / (long double)given_p[0]) < 0.0L;
        bool known;
        prv_loss_table t;
        const prv_two_losses two = prv_two_losses_of_atoms(a, off);
        check(prv_loss_table_of_two(&two, n, 1e-300, &known, &t) == PRV_OK && known,
              "a table of %g times two losses", n);
        /* The true masses lie at one end of what the given ones may be off by; those of P with them. */
        const long double high_q = (long double)given_q[first_is_low] * (1.0L - 0.9L * (long double)off),
                          high_p = (long double)given_p[first_is_low] * (1.0L + 0.9L * (long double)off);
        const long double low_q = 1.0L - high_q, low_p = 1.0L - high_p;
        const long double low = logl(low_q / low_p), high = logl(high_q / high_p);
        const bool is_far = fabsl(low_q / (long double)given_q[!first_is_low] - 1.0L) > (long double)off ||
                            fabsl(low_p / (long double)given_p[!first_is_low] - 1.0L) > (long double)off;
        for (double part = 0.0217; part < 1.03 && (!is_far || off == 0.0); part += 0.0431) {
            const long double e = (long double)n * (low + (long double)part * (high - low));
            long double truth = 0.0L;
            for (double k = 0.0; k <= n; k += 1.0) {
                const long double mass = binomial(n, k) * powl(high_q, (long double)k) *
                                         powl(low_q, (long double)(n - k));
                const long double loss = (long double)k * high + (long double)(n - k) * low;
                if (loss > e) truth -= mass * expm1l(e - loss);
            }
            const prv_closed_value v = prv_loss_table_at(&t, e, 0.0L);
            holds(&v, truth, truth * TRUSTED * (long double)(8.0 + 16.0 * n), "two losses", (double)e);
            check(v.error <= (1e-10L + 10.0L * (long double)(n * off)) * (v.delta + v.fall), "known to %.2Lg",
                  v.error / v.delta);
        }
        prv_loss_table_free(&t);
        prv_atoms_free(a);
    }
}

static void tables_that_are_refused(void)
{
    bool known = true;
    prv_loss_table t;
    check(table_of_responses(1e-3L, 0x1p53, 1e-10, &known, &t) == PRV_OK && !known,
          "2^53 responses make no table");
    check(table_of_responses((long double)HUGE_VAL, 1.0, 1e-10, &known, &t) == PRV_OK && !known,
          "an infinite loss makes no table");
}

/* A blur that no value can stand says so. */
/* Outcomes whose masses are known up to a relative error only: the curve of the true ones is in the interval,
 * also at an epsilon so near a loss that delta hangs on that loss alone. */
static void densities_that_are_off(void)
{
    /* Where the greatest loss is large, delta hangs on the masses of Q. */
    static const double q[] = {0.5, 0.3, 0.2}, of_p[][3] = {{0.45, 0.31, 0.24}, {1e-5, 0.5, 0.49999}};
    for (double off = 1e-12; off < 0.1; off *= 100.0)
        for (int which = 0; which < 4; which++) {
            const int side = which % 2 > 0 ? 1 : -1;
            const double *p = of_p[which / 2];
            double given_q[3], given_p[3];
            for (int i = 0; i < 3; i++) {
                given_q[i] = q[i] * (1.0 - 0.9 * side * off);
                given_p[i] = p[i] * (1.0 + 0.9 * side * off);
            }
            prv_atoms *a = prv_atoms_of_outcomes(given_q, given_p, 3);
            bool known;
            prv_loss_table t;
            check(a != NULL && prv_loss_table_of_atoms(a, off, 1e-300, &known, &t) == PRV_OK && known,
                  "a table");
            const long double greatest = logl((long double)q[0] / (long double)p[0]);
            for (int nearer = 1; nearer <= 16; nearer++) {
                const long double e = greatest - ldexpl(greatest, -3 * nearer);
                const prv_closed_value v = prv_loss_table_at(&t, e, 0.0L);
                holds(&v, (long double)q[0] - expl(e) * (long double)p[0], TRUSTED, "densities that are off",
                      off);
            }
            prv_loss_table_free(&t);
            prv_atoms_free(a);
        }
}

static void nothing_is_said_of_much_blur(void)
{
    const prv_smooth_curve c = {.kind = PRV_SMOOTH_GAUSSIAN, .size = 1.0L, .probability = 1.0L};
    const prv_closed_value v = prv_smooth_curve_at(&c, 1.0L, 1.0L);
    check(isinf((double)v.error), "a blur of 1 leaves an error of %g", (double)v.error);
}

static void answers(void)
{
    prv_mechanism *noise = gaussian(2.0), *pure = NULL;
    check(prv_mechanism_approximate_dp(0.5, 1e-9, &pure) == PRV_OK, "constructor");
    const prv_step steps[] = {{noise, 9}, {pure, 11}};
    prv_options o = options_of(1e-3);
    const double deltas[] = {1e-3, 1e-6}, epsilons[] = {1.0, 20.0};
    prv_bounds b[2], lattice[2];
    prv_report r[2];
    check(prv_epsilon(steps, 2, &o, deltas, 2, b, r) == PRV_OK, "epsilon");
    o.engine = PRV_ENGINE_CONVOLUTION;
    check(prv_epsilon(steps, 2, &o, deltas, 2, lattice, NULL) == PRV_OK, "epsilon by lattices");
    for (int i = 0; i < 2; i++) {
        check(r[i].engine == PRV_ENGINE_CLOSED_FORM && r[i].accurate && r[i].transforms == 0, "the report");
        check(lattice[i].lower <= b[i].lower && b[i].upper <= lattice[i].upper, "lattices are wider");
        check(b[i].upper - b[i].lower <= 1e-10 * b[i].upper, "epsilon is known to %g",
              b[i].upper - b[i].lower);
    }
    o.engine = PRV_ENGINE_AUTO;
    check(prv_delta(steps, 2, &o, epsilons, 2, b, r) == PRV_OK, "delta");
    for (int i = 0; i < 2; i++)
        check(r[i].engine == PRV_ENGINE_CLOSED_FORM && b[i].upper - b[i].lower <= 1e-8 * b[i].upper,
              "delta at %g in [%.17g, %.17g] by engine %d", epsilons[i], b[i].lower, b[i].upper,
              (int)r[i].engine);
    o.engine = PRV_ENGINE_CLOSED_FORM;
    check(prv_epsilon(steps, 2, &o, deltas, 2, b, r) == PRV_ERR_OPTIONS, "it is no engine to ask for");
    prv_mechanism_free(noise);
    prv_mechanism_free(pure);
}

/* One step of noise or of a response: bounds that are some roundings apart hold what long doubles tell. */
static void to_the_last_digit(void)
{
    prv_mechanism *kinds[3] = {NULL};
    if (prv_mechanism_approximate_dp(1.0, 0.0, &kinds[0]) != PRV_OK ||
        prv_mechanism_laplace(1.0, 1.0, &kinds[1]) != PRV_OK ||
        prv_mechanism_gaussian(1.0, &kinds[2]) != PRV_OK)
        abort();
    const prv_options o = options_of(1e-3);
    int held = 1, close = 1;
    for (int kind = 0; kind < 3; kind++)
        for (int trial = 0; trial < 100; trial++) {
            const prv_step step = {kinds[kind], 1};
            const double epsilon = uniform(0.01, 0.9);
            prv_bounds b;
            if (prv_delta(&step, 1, &o, &epsilon, 1, &b, NULL) != PRV_OK) abort();
            const long double e = epsilon, above = normal_upper(e - 0.5L);
            const long double truth = kind == 0   ? -expm1l(e - 1.0L) / (1.0L + expl(-1.0L))
                                      : kind == 1 ? -expm1l(0.5L * (e - 1.0L))
                                                  : above - expl(e) * normal_upper(e + 0.5L);
            const long double own = 16.0L * (long double)LDBL_EPSILON * (kind < 2 ? truth : 1.0L);
            held = held && (long double)b.lower <= truth + own && truth - own <= (long double)b.upper;
            close = close && b.upper - b.lower <= 8.0 * DBL_EPSILON * b.upper;
        }
    check(held && close, "deltas of one step are within bounds that are some roundings apart");
    for (int kind = 0; kind < 3; kind++) prv_mechanism_free(kinds[kind]);
}

/* A response in a step that may also tell everything, just below its greatest loss: what the finite losses
 * add to the mass at infinity is 0.9 * 2^-64, about, which no double beside 0.1 shows. */
static void beside_infinite_losses(void)
{
    prv_mechanism *m = NULL;
    if (prv_mechanism_approximate_dp(0x1p-10, 0.1, &m) != PRV_OK) abort();
    const prv_step step = {m, 1};
    const prv_options o = options_of(1e-3);
    const double epsilon = prv_below(0x1p-10);
    prv_bounds b;
    check(prv_delta(&step, 1, &o, &epsilon, 1, &b, NULL) == PRV_OK, "delta beside infinite losses");
    check(b.lower <= 0.1 && b.upper > 0.1, "... is just above 0.1, and in [%.17g, %.17g]", b.lower, b.upper);
    prv_mechanism_free(m);
}

/* Gaussian noise and 3000 responses of one epsilon y: the sum over the number of those that favour Q, whose
 * binomial masses are multiplied up from the mode and divided by their sum. */
static void noise_and_responses(void)
{
    enum { RUNS = 3000 };
    const long double y = 0x1p-7L, mu = 1.5L, p = 1.0L / (1.0L + expl(-y));
    static long double mass[RUNS + 1];
    const int mode = (int)(RUNS * p);
    long double whole = 0.0L;
    mass[mode] = 1.0L;
    for (int i = mode; i < RUNS; i++) mass[i + 1] = mass[i] * (RUNS - i) * p / ((i + 1) * (1.0L - p));
    for (int i = mode; i > 0; i--) mass[i - 1] = mass[i] * i * (1.0L - p) / ((RUNS + 1 - i) * p);
    for (int i = 0; i <= RUNS; i++) whole += mass[i];
    prv_mechanism *noise = gaussian(2.0), *pure = NULL;
    if (prv_mechanism_approximate_dp(0x1p-7, 0.0, &pure) != PRV_OK) abort();
    const prv_step steps[] = {{noise, 9}, {pure, RUNS}};
    const prv_options o = options_of(1e-3);
    int held = 1;
    for (double epsilon = 0.5; epsilon < 6.0; epsilon += 0.0625) {
        long double exact = 0.0L;
        for (int i = 0; i <= RUNS; i++) {
            if (mass[i] < 1e-40L) continue;
            exact += mass[i] / whole * gaussian_delta((long double)epsilon - (2 * i - RUNS) * y, mu);
        }
        prv_bounds b;
        prv_report r;
        if (prv_delta(steps, 2, &o, &epsilon, 1, &b, &r) != PRV_OK) abort();
        /* What matters lies within a hundred steps of the mode, of 4 roundings each; and errors are of either
         * sign. */
        const long double own = 200.0L * (long double)LDBL_EPSILON;
        held = held && (long double)b.lower <= exact * (1.0L + own) &&
               exact * (1.0L - own) <= (long double)b.upper && b.upper - b.lower <= 1e-9 * b.upper &&
               r.engine == PRV_ENGINE_CLOSED_FORM;
    }
    check(held, "9 Gaussians and 3000 responses: the sum is within its bounds, which are close");
    prv_mechanism_free(noise);
    prv_mechanism_free(pure);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    mills_ratios();
    gaussian_curves();
    blurs();
    rounded_sizes();
    response_tables();
    tables_of_two_losses();
    tables_that_are_refused();
    densities_that_are_off();
    nothing_is_said_of_much_blur();
    answers();
    to_the_last_digit();
    beside_infinite_losses();
    noise_and_responses();
    prv_fft_provider_free(provider);
    return summary();
}
