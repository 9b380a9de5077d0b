/* The gate: what is known without a composition, and what no answer may contradict. Truths are sums of long
 * double. */
#include "check.h"

#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "curve/gate.h"

#define U (0.5 * DBL_EPSILON)

static prv_totals totals_of(double count, double greatest, double greatest_error, double mass, double error)
{
    prv_totals t = {.count = count, .greatest_loss = greatest, .greatest_error = greatest_error};
    prv_infinite_add(&t.infinite, mass, error, count);
    return t;
}

/* The mass at infinity of a choice, whose products may vanish. */
static void masses_of_choices(void)
{
    int held = 1, close = 1;
    for (int trial = 0; trial < 300; trial++) {
        const double mass[2] = {log_uniform(1e-300, 0.1), log_uniform(1e-300, 0.1)},
                     weight = log_uniform(1e-300, 0.5), weights[2] = {weight, 1.0 - weight};
        prv_mechanism *parts[2] = {NULL, NULL}, *m = NULL;
        if (prv_mechanism_approximate_dp(1.0, mass[0], &parts[0]) != PRV_OK ||
            prv_mechanism_approximate_dp(1.0, trial % 2 == 0 ? mass[1] : 0.0, &parts[1]) != PRV_OK ||
            prv_mechanism_choice(PRV_OK, parts, weights, 0.0, NULL, &m) != PRV_OK)
            abort();
        const double told = prv_infinite_mass(m, false), error = prv_infinite_mass_error(m, false);
        const long double truth = (long double)weight * (long double)mass[0] +
                                  (trial % 2 == 0 ? (long double)weights[1] * (long double)mass[1] : 0.0L);
        held = held && (long double)told - (long double)error <= truth &&
               truth <= (long double)told + (long double)error;
        close = close && error <= 16.0 * U * told + 4.0 * DBL_MIN;
        prv_mechanism_free(m);
    }
    check(held, "masses at infinity of choices lie within their errors, also where they are no doubles");
    check(close, "... which are a few roundings");
}

/* Losses whose sum is above all doubles: it is finite all the same. */
static void losses_beyond_doubles(void)
{
    const double loss[2] = {0.0, 0.9 * DBL_MAX}, q[2] = {0.5, 0.5};
    prv_mechanism *m = NULL;
    if (prv_mechanism_table(loss, q, 2, 0.0, &m) != PRV_OK) abort();
    prv_totals t = {0};
    prv_totals_add(&t, m, 2.0, false);
    check(t.greatest_loss == DBL_MAX && t.greatest_error == HUGE_VAL,
          "a sum of greatest losses beyond the doubles is finite, and nothing more is known of it");
    prv_totals_add(&t, m, 1.0, false);
    check(t.greatest_loss == DBL_MAX && t.greatest_error == HUGE_VAL, "... whatever is added");
    prv_mechanism_free(m);
}

/* 1 - prod (1 - m_j)^k_j lies between both ends; exactly known masses stay exact. */
static void masses_at_infinity(void)
{
    int within = 1, tight = 1, exact = 1;
    for (int trial = 0; trial < 300; trial++) {
        prv_infinite s = {0};
        const size_t steps = 1 + random_below(3000);
        const double size = log_uniform(1e-18, 0.3);
        long double log_finite = 0.0L;
        for (size_t j = 0; j < steps; j++) {
            const double m = size * uniform(0.0, 1.0), k = floor(log_uniform(1.0, 1e6));
            prv_infinite_add(&s, m, 0.0, k);
            log_finite += (long double)k * log1pl(-(long double)m);
        }
        const long double truth = -expm1l(log_finite);
        /* The reference rounds by so much itself. */
        const long double own = truth * (long double)steps * (long double)LDBL_EPSILON;
        within = within && (long double)s.low <= truth + own && truth - own <= (long double)s.high;
        tight = tight && s.high - s.low <= (16.0 + 4.0 * (double)steps) * U * s.high;
    }
    check(within, "masses at infinity of up to 3000 distinct steps lie between both ends");
    check(tight, "... which are no farther apart than the number of steps says");
    for (double m = 1e-300; m <= 1.0; m = fmax(m * 1e7, m < 1.0 && m * 1e7 > 1.0 ? 1.0 : 0.0)) {
        prv_infinite s = {0};
        prv_infinite_add(&s, m, 0.0, 1.0);
        exact = exact && s.low == m && s.high == m && s.mass == m;
        if (m == 1.0) break;
    }
    prv_infinite s = {0};
    for (int j = 0; j < 5; j++) prv_infinite_add(&s, 0.0, 0.0, 1e9);
    check(exact && s.low == 0.0 && s.high == 0.0,
          "a mass of one step that runs once is exact, and so is none at all");
    prv_infinite_add(&s, 1.0, 0.0, 3.0);
    check(s.low == 1.0 && s.high == 1.0, "a step that gives everything away does so in a composition");
    memset(&s, 0, sizeof s);
    prv_infinite_add(&s, 0.25, 0.01, 1.0);
    check(s.low <= 0.24 && s.high >= 0.26, "what a mass is off by counts");
    int outwards = 1;
    for (int trial = 0; trial < 1000; trial++) {
        const double m = uniform(0.01, 0.9), error = U * m * uniform(0.1, 4.0);
        memset(&s, 0, sizeof s);
        prv_infinite_add(&s, m, error, 1.0);
        outwards = outwards && (long double)s.low <= (long double)m - (long double)error &&
                   (long double)s.high >= (long double)m + (long double)error;
    }
    check(outwards, "... also if that is about a rounding: both ends are rounded outwards");
}

/* Masses below the normal doubles, which sums of long double hold as they are; masses that are not told from
 * 0, or from 1. */
static void masses_at_the_ends(void)
{
    int within = 1;
    for (int trial = 0; trial < 3000; trial++) {
        prv_infinite s = {0};
        long double truth = 0.0L;
        for (int j = 0; j < 5; j++) {
            const double m = ldexp(uniform(0.0, 1.0), -1075 + (int)random_below(70)),
                         k = floor(log_uniform(1.0, 1e6));
            prv_infinite_add(&s, m, 0.0, k);
            truth += (long double)k * (long double)m; /* less a part of 1e-290 */
        }
        within = within && (long double)s.low <= truth && truth * (1.0L - 1e-18L) <= (long double)s.high;
    }
    check(within, "sums of subnormal masses lie between both ends");
    prv_infinite s = {0};
    prv_infinite_add(&s, 0.0, DBL_MIN, 1.0);
    check(s.low == 0.0 && s.high >= DBL_MIN, "a mass that came out as 0 is not none");
    prv_infinite_add(&s, 0.0, DBL_MIN, 9.0);
    check(s.low == 0.0 && s.high >= 10.0 * DBL_MIN, "... nor is a composition");
    memset(&s, 0, sizeof s);
    prv_infinite_add(&s, 1.0 - U, U, 1.0);
    prv_infinite_add(&s, 0.5, 0.0, 1.0);
    check(s.low >= 1.0 - 8.0 * U && s.low < 1.0 && s.high == 1.0,
          "a mass near 1 is as near in a composition");
    memset(&s, 0, sizeof s);
    prv_infinite_add(&s, 0.5, 0.6, 2.0);
    prv_infinite_add(&s, 0.25, 0.0, 1.0);
    check(s.low <= 0.25 && s.low >= 0.25 - 8.0 * U && s.high == 1.0,
          "... and one that is not known adds nothing");
}

static void floors(void)
{
    int within = 1, close = 1;
    for (int trial = 0; trial < 100000; trial++) {
        const double x = -log_uniform(1e-18, 800.0);
        const long double truth = -expm1l((long double)x);
        const double low = prv_least_delta(x, -1), high = prv_least_delta(x, 1);
        within = within && (long double)low <= truth && truth <= (long double)high && high <= 1.0;
        close = close && high - low <= 9.0 * U * high;
    }
    check(within && close, "1 - e^epsilon lies between its floors, a few units apart");
    check(prv_least_delta(0.0, -1) == 0.0 && prv_least_delta(3.0, 1) == 0.0,
          "... and is 0 from epsilon 0 on");
}

static int direct(const prv_totals *a, const prv_totals *b, prv_question question, double value,
                  prv_bounds *bounds)
{
    const prv_totals *each[2] = {a, b};
    return prv_gate_direct(each, b != NULL ? 2 : 1, question, value, bounds);
}

static void known_at_once(void)
{
    prv_bounds b;
    const prv_totals pure = totals_of(1.0, 2.0, 0.0, 0.0, 0.0), leaky = totals_of(1.0, 2.0, 0.0, 1e-3, 0.0);
    const prv_totals unsure = totals_of(7.0, 2.0, 1e-9, 1e-3, 0.0), nothing = {0};
    const prv_totals endless = totals_of(1.0, HUGE_VAL, 0.0, 0.0, 0.0);
    check(direct(&leaky, NULL, PRV_ASK_EPSILON, 1e-4, &b) && b.lower == HUGE_VAL && b.upper == HUGE_VAL,
          "a delta below the mass at infinity has an infinite epsilon");
    check(direct(&leaky, NULL, PRV_ASK_EPSILON, 1e-3, &b) && b.lower == 2.0 && b.upper == 2.0,
          "a delta that is the mass at infinity has the greatest loss");
    check(!direct(&leaky, NULL, PRV_ASK_EPSILON, 1.0001e-3, &b), "a delta above it needs a composition");
    check(direct(&unsure, NULL, PRV_ASK_EPSILON, unsure.infinite.mass, &b) && b.lower == 0.0 &&
              b.upper == HUGE_VAL,
          "if rounding hides which is greater, nothing is certain");
    check(direct(&unsure, NULL, PRV_ASK_EPSILON, prv_below(unsure.infinite.low), &b) && b.lower == HUGE_VAL,
          "... and just below that everything is");
    check(direct(&endless, NULL, PRV_ASK_EPSILON, 0.0, &b) && b.lower == HUGE_VAL,
          "losses without end, delta 0");
    check(direct(&nothing, NULL, PRV_ASK_EPSILON, 0.0, &b) && b.upper == 0.0, "no step, no epsilon");
    check(direct(&pure, &leaky, PRV_ASK_EPSILON, 1e-5, &b) && b.upper == HUGE_VAL,
          "one direction that gives away decides");
    const prv_totals large = totals_of(1.0, 5.0, 0.0, 0.0, 0.0);
    check(direct(&leaky, &large, PRV_ASK_EPSILON, 1e-3, &b) && b.lower == 2.0 && b.upper == 5.0 &&
              direct(&large, &leaky, PRV_ASK_EPSILON, 1e-3, &b) && b.lower == 2.0 && b.upper == 5.0,
          "of a direction that needs a composition the greatest loss is a bound");
    check(direct(&leaky, &pure, PRV_ASK_EPSILON, 1e-3, &b) && b.lower == 2.0 && b.upper == 2.0,
          "... which may be no more than the other one's");
    check(direct(&pure, NULL, PRV_ASK_DELTA, 2.0, &b) && b.upper == 0.0, "no delta at the greatest loss");
    check(direct(&leaky, NULL, PRV_ASK_DELTA, HUGE_VAL, &b) && b.lower == 1e-3 && b.upper == 1e-3,
          "delta is the mass at infinity at the end");
    check(!direct(&unsure, NULL, PRV_ASK_DELTA, 2.0, &b) && direct(&unsure, NULL, PRV_ASK_DELTA, 2.1, &b),
          "a greatest loss that is not known exactly is one from its upper end on");
    check(direct(&pure, NULL, PRV_ASK_DELTA, -HUGE_VAL, &b) && b.lower == 1.0, "delta is 1 at the other end");
    check(direct(&nothing, NULL, PRV_ASK_DELTA, -1.0, &b) && b.lower < b.upper && b.lower > 0.63,
          "no step: the floor");
    prv_totals disjoint = totals_of(1.0, -HUGE_VAL, 0.0, 1.0, 0.0);
    prv_mechanism *noise = NULL;
    check(prv_mechanism_gaussian(1.0, &noise) == PRV_OK, "Gaussian noise, whose losses have no end");
    prv_totals_add(&disjoint, noise, 3.0, false);
    prv_mechanism_free(noise);
    check(disjoint.greatest_loss == -HUGE_VAL && prv_greatest_epsilon(&disjoint) == 0.0,
          "beside a step without finite losses there are none");
    const prv_totals unknown = totals_of(1.0, NAN, 0.0, 0.0, 0.0);
    check(prv_greatest_epsilon(&unknown) == HUGE_VAL, "a greatest loss that is no number bounds nothing");
}

/* The loss of a sample of p of Laplace noise, log(1 + p (e^mu - 1)): p mu, where mu is below 1e-300, which
 * may be subnormal. */
static void tiny_losses(void)
{
    int held = 1;
    for (int trial = 0; trial < 300; trial++) {
        const double p = log_uniform(1e-15, 0.9), mu = log_uniform(1e-305, 1e-300);
        prv_mechanism *base = NULL, *m = NULL;
        if (prv_mechanism_laplace(1.0, mu, &base) != PRV_OK ||
            prv_mechanism_poisson_subsampled(base, p, &m) != PRV_OK)
            abort();
        const long double exact = (long double)p * (long double)base->mu;
        const double error = prv_greatest_loss_error(m, false);
        held = held && fabsl((long double)prv_greatest_loss(m, false) - exact) <= (long double)error;
        prv_mechanism_free(m);
        prv_mechanism_free(base);
    }
    check(held, "greatest losses of 1e-300 and below are off by no more than they say");
}

static void the_way_out(void)
{
    const prv_totals leaky = totals_of(1.0, 2.0, 0.5, 1e-3, 0.0);
    prv_bounds b = {1.0, 1.5, 9.0};
    check(prv_gate_close(&leaky, PRV_ASK_EPSILON, 0.1, &b) == PRV_OK && b.lower == 1.0 && b.upper >= 2.5 &&
              b.upper < 2.6,
          "epsilon is at most the greatest loss with its error");
    b = (prv_bounds){1.0, 1.5, 9.0};
    check(prv_gate_close(&leaky, PRV_ASK_EPSILON, 1e-4, &b) == PRV_ERR_BOUNDS,
          "a finite upper bound where the mass at infinity is above delta is refused");
    b = (prv_bounds){1.0, 1.5, HUGE_VAL};
    check(prv_gate_close(&leaky, PRV_ASK_EPSILON, 1e-4, &b) == PRV_OK && b.lower == HUGE_VAL,
          "... and an infinite one is right");
    b = (prv_bounds){0.0, 0.0, -1e-14};
    check(prv_gate_close(&leaky, PRV_ASK_EPSILON, 0.1, &b) == PRV_OK && b.lower == 0.0 && b.upper == 0.0,
          "an epsilon below 0 is one of 0");
    b = (prv_bounds){0.1, 0.1, -1e-14};
    check(prv_gate_close(&leaky, PRV_ASK_EPSILON, 0.1, &b) == PRV_ERR_BOUNDS,
          "... unless a lower bound is above it");
    b = (prv_bounds){-1.0, NAN, NAN};
    check(prv_gate_close(&leaky, PRV_ASK_DELTA, 1.0, &b) == PRV_OK && b.lower == 1e-3 && b.upper == 1.0 &&
              b.estimate >= b.lower,
          "what is no number says nothing");
    b = (prv_bounds){0.0, 0.0, 0.1};
    check(prv_gate_close(&leaky, PRV_ASK_DELTA, -1.0, &b) == PRV_ERR_BOUNDS,
          "no delta is below 1 - e^epsilon");
    b = (prv_bounds){0.3, 0.2, 0.2};
    check(prv_gate_range(0.0, 1.0, &b) == PRV_ERR_BOUNDS, "a lower bound above the upper one is refused");
    b = (prv_bounds){0.2, 7.0, 0.3};
    check(prv_gate_range(0.0, 1.0, &b) == PRV_OK && b.estimate == 0.3, "an estimate lies between its bounds");
    prv_bounds worst = {0.1, 0.2, 0.3};
    const prv_bounds other = {0.05, 0.25, 0.4};
    prv_gate_worst(&worst, &other);
    check(worst.lower == 0.1 && worst.estimate == 0.25 && worst.upper == 0.4, "the worst of two directions");
}

int main(void)
{
    masses_at_infinity();
    masses_of_choices();
    losses_beyond_doubles();
    masses_at_the_ends();
    floors();
    known_at_once();
    tiny_losses();
    the_way_out();
    return summary();
}
