/* The greatest power of a test against the Neyman-Pearson tests of known laws. */
#include "asking.h"

/* A relative width unless eps_error is given. */
static prv_options options_for(double eps_error)
{
    prv_options o = options_of(eps_error);
    o.eps_relative_error = o.eps_floor = 1e-3;
    return o;
}

static int holds(const prv_bounds *b, double truth)
{
    const double rounding = 1e-13 * truth;
    return b->lower <= truth + rounding && truth - rounding <= b->upper && 0.0 <= b->lower &&
           b->lower <= b->estimate && b->estimate <= b->upper && b->upper <= 1.0;
}

/* The test that rejects above z has false positive rate Phi(-z) and power Phi(mu - z). */
static void gaussians(void)
{
    static const struct {
        double noise;
        uint64_t count;
    } cases[] = {{1.0, 1}, {0.3, 1}, {50.0, 1}, {5.0, 9}, {20.0, 2000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prv_mechanism *m = gaussian(cases[i].noise);
        const prv_step step = {m, cases[i].count};
        const double mu = sqrt((double)cases[i].count) / cases[i].noise;
        const prv_options o = options_for(0.0);
        double rates[9], worst = 0.0;
        prv_bounds b[9];
        for (size_t j = 0; j < 9; j++) rates[j] = (double)normal_upper((long double)j * 2.0L - 6.0L);
        const prv_status status = prv_power(&step, 1, &o, rates, 9, b, NULL);
        int sound = status == PRV_OK;
        for (size_t j = 0; j < 9 && sound; j++) {
            const double truth = (double)normal_upper((long double)j * 2.0L - 6.0L - (long double)mu);
            sound = sound && holds(&b[j], truth);
            worst = fmax(worst, (b[j].upper - b[j].lower) / truth);
        }
        check(sound, "%d Gaussians of noise %g: power within its bounds", (int)cases[i].count,
              cases[i].noise);
        check(worst < 0.1, "... which are narrow (relatively %.2g)", worst);
        prv_mechanism_free(m);
    }
}

/* Any table: the likeliest atoms by loss, the last of them by the toss of a coin. */
static void tables(void)
{
    int sound = 1, tried = 0;
    double worst = 0.0;
    for (int trial = 0; trial < 40; trial++) {
        const size_t n = 2 + random_below(6);
        double loss[8], q[8], sum = 0.0, reverse = 0.0;
        for (size_t i = 0; i < n; i++) {
            loss[i] = (i > 0 ? loss[i - 1] : uniform(-3.0, 0.0)) + uniform(0.1, 1.5);
            q[i] = uniform(0.01, 1.0);
            sum += q[i];
        }
        for (size_t i = 0; i < n; i++) {
            q[i] /= sum;
            reverse += q[i] * exp(-loss[i]);
        }
        /* Losses are moved so that P has mass 1 at most. */
        const double up = random_below(2) ? log(reverse) : log(reverse) + 0.2;
        for (size_t i = 0; i < n; i++) loss[i] += up;
        prv_mechanism *m = NULL;
        if (prv_mechanism_table(loss, q, n, 0.0, &m) != PRV_OK) continue;
        const prv_step step = {m, 1};
        prv_options o = options_for(1e-3);
        o.neighbors = PRV_REMOVE;
        const double alpha = log_uniform(1e-2, 1.0);
        double left = alpha, power = 0.0;
        for (size_t i = n; i-- > 0 && left > 0.0;) {
            const double p = q[i] * exp(-loss[i]), part = fmin(1.0, left / p);
            power += part * q[i];
            left -= part * p;
        }
        prv_bounds b;
        const prv_status status = prv_power(&step, 1, &o, &alpha, 1, &b, NULL);
        tried++;
        if (status != PRV_OK || !holds(&b, fmin(power, 1.0))) {
            sound = 0;
            printf("     alpha %.17g: %.17g outside [%.17g, %.17g]\n", alpha, power, b.lower, b.upper);
        }
        worst = fmax(worst, (b.upper - b.lower) / power);
        prv_mechanism_free(m);
    }
    check(sound && tried > 30, "%d tables: power within its bounds", tried);
    check(worst < 0.1, "... which are narrow (relatively %.2g)", worst);
}

/* Tables of few outcomes, whose delta is known to some roundings and is made of straight lines, as secants
 * are: nothing but rounding lies between the power and its bounds. */
static void straight_lines(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 200; trial++) {
        const size_t n = 1 + random_below(2);
        double loss[2], q[2] = {1.0, 0.0};
        loss[0] = log_uniform(1e-9, 5.0);
        loss[1] = loss[0] + log_uniform(1e-9, 5.0);
        if (n == 2) q[1] = 1.0 - (q[0] = uniform(0.5, 0.999));
        prv_mechanism *m = NULL;
        if (prv_mechanism_table(loss, q, n, 0.0, &m) != PRV_OK) abort();
        const prv_step step = {m, 1};
        prv_options o = options_for(1e-9);
        o.neighbors = PRV_REMOVE;
        const double alpha = log_uniform(1e-6, 1.0);
        long double left = alpha, power = 0.0L;
        for (size_t i = n; i-- > 0 && left > 0.0L;) {
            const long double p = (long double)q[i] * expl(-(long double)loss[i]),
                              part = fminl(1.0L, left / p);
            power += part * (long double)q[i];
            left -= part * p;
        }
        prv_bounds b;
        if (prv_power(&step, 1, &o, &alpha, 1, &b, NULL) != PRV_OK) abort();
        const long double own = 16.0L * (long double)LDBL_EPSILON * power;
        held = held && (long double)b.lower <= power + own && power - own <= (long double)b.upper;
        close = close && b.upper - b.lower <= 0.1 * b.upper;
        prv_mechanism_free(m);
    }
    check(held, "tables of one or two outcomes: power within its bounds, without any tolerance");
    check(close, "... which are narrow");
}

static void edges(void)
{
    prv_mechanism *m = subsampled(0.8, 0.01), *leaky = NULL;
    if (prv_mechanism_approximate_dp(1.0, 0.25, &leaky) != PRV_OK) abort();
    const prv_options o = options_for(0.0);
    const prv_step step = {m, 1000}, leak = {leaky, 1};
    const double rates[] = {0.0, 1e-320, 1e-10, 1e-3, 0.5, 1.0};
    prv_bounds both[6], add[6], remove[6];
    prv_options one = o;
    one.neighbors = PRV_ADD;
    prv_report reports[6], adding[6];
    int ok = prv_power(&step, 1, &o, rates, 6, both, reports) == PRV_OK &&
             prv_power(&step, 1, &one, rates, 6, add, adding) == PRV_OK;
    one.neighbors = PRV_REMOVE;
    ok = ok && prv_power(&step, 1, &one, rates, 6, remove, NULL) == PRV_OK;
    check(ok && both[0].upper == 0.0 && both[5].lower == 1.0, "rates 0 and 1");
    int attained = ok;
    for (size_t i = 0; i < 6; i++) attained = attained && reports[i].attained && reports[i].accurate;
    check(attained, "... and all others: bounds of a pair that data sets have");
    int added = ok;
    for (size_t i = 0; i < 6; i++) added = added && adding[i].direction == PRV_ADD;
    check(added, "the direction is told, also of rates 0 and 1");
    int larger = ok, grows = ok;
    for (size_t i = 0; i < 6; i++) {
        larger = larger && both[i].upper == fmax(add[i].upper, remove[i].upper) &&
                 both[i].lower >= fmax(add[i].lower, remove[i].lower);
        grows = grows && both[i].upper >= rates[i] &&
                (i == 0 || both[i].lower >= both[i - 1].lower * (1.0 - 1e-2));
    }
    check(larger, "both directions: the greater of the two");
    check(grows, "power grows with the rate, and is no less than it");
    /* delta + e^eps alpha, alpha small. */
    const double small = 1e-3, truth = 0.25 + exp(1.0) * small;
    prv_bounds b;
    const prv_status status = prv_power(&leak, 1, &o, &small, 1, &b, NULL);
    check(status == PRV_OK && holds(&b, truth) && b.upper - b.lower < 1e-6,
          "(1, 0.25)-DP: %.9g in [%.9g, %.9g]", truth, b.lower, b.upper);
    check(prv_power(NULL, 0, &o, &small, 1, &b, NULL) == PRV_OK && b.lower == small && b.upper == small,
          "nothing run: power alpha");
    const double wrong[] = {-1e-9, 1.5, NAN};
    for (size_t i = 0; i < 3; i++)
        check(prv_power(&step, 1, &o, &wrong[i], 1, &b, NULL) == PRV_ERR_RATE, "a rate of %g is refused",
              wrong[i]);
    prv_mechanism_free(m);
    prv_mechanism_free(leaky);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    gaussians();
    tables();
    straight_lines();
    edges();
    prv_fft_provider_free(provider);
    return summary();
}
