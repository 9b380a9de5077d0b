/* Checks delta and epsilon of composed, tilted masses against direct long double sums. */
#include "check.h"

#include "numerics/wide.h"
#include "composition/kernel.h"
#include "curve/certificate.h"
#include "curve/curve.h"

#define U (0.5 * DBL_EPSILON)

static const prv_slack none = {.additive = 0.0};

/* Untilted masses are what is drawn; the composed ones follow from them. */
typedef struct law {
    prv_composed c;
    double *loss, *mass; /* untilted, in the order of the window */
} law;

static const prv_rounding exact_cells = {0.0, 0.0};

static law law_new(size_t n, double tilt)
{
    law l;
    memset(&l, 0, sizeof l);
    l.c.engine = PRV_ENGINE_CONVOLUTION;
    l.c.convolved.length = n;
    l.c.spacing = log_uniform(1e-4, 1.0);
    l.c.tilted.tilt = tilt / (l.c.spacing * (double)n);
    l.c.convolved.start = random_below(n);
    l.c.lowest = (long double)uniform(-0.7, 0.1) * (long double)(l.c.spacing * (double)n);
    if (random_below(2)) prv_infinite_add(&l.c.tilted.infinite, log_uniform(1e-15, 1e-3), 0.0, 1.0);
    l.c.convolved.mass = calloc(n + 2, sizeof(double));
    l.loss = calloc(n, sizeof(double));
    l.mass = calloc(n, sizeof(double));
    long double total = 0.0L, moment = 0.0L;
    for (size_t i = 0; i < n; i++) {
        l.loss[i] = (double)(l.c.lowest + (long double)l.c.spacing * (long double)i);
        l.mass[i] = i > 0 && random_below(5) == 0
                        ? 0.0
                        : log_uniform(1e-6, 1.0) * exp(-l.c.tilted.tilt * (l.loss[i] - l.loss[0]));
        total += (long double)l.mass[i];
    }
    for (size_t i = 0; i < n; i++) {
        l.mass[i] = (double)((long double)l.mass[i] * (1.0L - (long double)l.c.tilted.infinite.mass) / total);
        const long double x = l.c.lowest + (long double)l.c.spacing * (long double)i;
        moment += (long double)l.mass[i] * expl((long double)l.c.tilted.tilt * x);
    }
    l.c.tilted.support_low = l.loss[0];
    l.c.tilted.support_high = l.loss[n - 1];
    l.c.tilted.log_moment = (double)logl(moment);
    const long double exact = expl((long double)l.c.tilted.log_moment);
    for (size_t i = 0; i < n; i++) {
        const long double x = l.c.lowest + (long double)l.c.spacing * (long double)i;
        l.c.convolved.mass[(l.c.convolved.start + i) % n] = (double)((long double)l.mass[i] *
                                                                     expl((long double)l.c.tilted.tilt * x) /
                                                                     exact);
    }
    return l;
}

static void law_free(law *l)
{
    free(l->c.convolved.mass);
    free(l->loss);
    free(l->mass);
}

static long double finite_of(const law *l, long double epsilon)
{
    long double sum = 0.0L;
    for (size_t i = l->c.convolved.length; i-- > 0;) {
        const long double x = l->c.lowest + (long double)l->c.spacing * (long double)i;
        if (x > epsilon) sum -= (long double)l->mass[i] * expm1l(epsilon - x);
    }
    return sum;
}

static long double delta_of(const law *l, long double epsilon)
{
    return finite_of(l, epsilon) + (long double)l->c.tilted.infinite.mass;
}

static double random_epsilon(const law *l)
{
    const size_t n = l->c.convolved.length;
    switch (random_below(4)) {
    case 0: return l->loss[random_below(n)]; /* at a lattice point */
    case 1: return l->loss[0] - uniform(0.0, 2.0);
    default: return uniform(l->loss[0], l->loss[n - 1]);
    }
}

/* The search must end anywhere. */
static double random_guess(const law *l)
{
    return random_below(3) ? random_epsilon(l) : random_below(2) ? 0.0 : 1e6;
}

static void deltas(double tilt)
{
    double worst = 0.0, worst_slope = 0.0;
    int slack_ok = 1, above_zero = 1;
    for (int trial = 0; trial < 400; trial++) {
        const size_t n = 1 + random_below(300);
        law l = law_new(n, tilt);
        /* The recurrences' relative error, as the certificate states it. */
        const double allowed = prv_certificate(&l.c, &exact_cells).slack.relative + 32.0 * U;
        const double epsilon = random_epsilon(&l);
        const long double truth = delta_of(&l, (long double)epsilon);
        const prv_value v = prv_curve_delta(&l.c, epsilon, PRV_DOMINATING, &none);
        /* An ulp of epsilon or of a loss shifts delta by up to slope ulp; near the top that is all of it. */
        const long double moved = delta_of(&l, (long double)epsilon +
                                                   (long double)(4.0 * U * (1.0 + fabs(epsilon))));
        const double noise = (double)fabsl(truth - moved);
        const double error = (double)fabsl((long double)v.plain - truth);
        worst = fmax(worst, error / ((double)truth * allowed + 2.0 * noise + 1e-320));
        const double finite = (double)finite_of(&l, (long double)epsilon);
        if (finite > 1e-200 && epsilon < l.loss[n - 1] - 1e-6 * l.c.spacing) {
            long double reverse = 0.0L;
            for (size_t i = n; i-- > 0;)
                if (l.loss[i] > epsilon)
                    reverse += (long double)l.mass[i] * expl((long double)epsilon - (long double)l.loss[i]);
            if (fabs(remainder(epsilon - l.loss[0], l.c.spacing)) > 1e-6 * l.c.spacing)
                worst_slope = fmax(worst_slope, fabs(v.slope * finite / (double)reverse - 1.0));
        }
        /* Slack: delta of the shifted curve, plus additive times the scale, times the factor; less, divided.
         */
        const prv_slack slack = {.additive = log_uniform(1e-12, 1e-3),
                                 .relative = log_uniform(1e-12, 1e3),
                                 .shift = log_uniform(1e-9, 1e-3)};
        const prv_value up = prv_curve_delta(&l.c, epsilon, PRV_DOMINATING, &slack);
        const prv_value down = prv_curve_delta(&l.c, epsilon, PRV_DOMINATED, &slack);
        const long double infinite = (long double)l.c.tilted.infinite.mass;
        for (int side = 1; side >= -1; side -= 2) {
            const long double s = (long double)side, at = (long double)epsilon - s * (long double)slack.shift;
            const long double scale = expl((long double)l.c.tilted.log_moment -
                                           (long double)l.c.tilted.tilt * at);
            const long double slackened = finite_of(&l, at) + s * scale * (long double)slack.additive;
            const long double factor = 1.0L + (long double)slack.relative;
            long double want = fmaxl(slackened, 0.0L) * (side > 0 ? factor : 1.0L / factor) + infinite;
            want = fminl(fmaxl(want, 0.0L), 1.0L);
            const double got = side > 0 ? up.delta : down.delta;
            slack_ok = slack_ok && fabsl((long double)got - want) <=
                                       1e-9L * want + 1e-12L * scale * (long double)slack.additive + 1e-14L;
            /* Slack only widens. */
            above_zero = above_zero &&
                         (side > 0 ? got >= v.plain * (1.0 - 1e-12) : got <= v.plain * (1.0 + 1e-12)) &&
                         got >= 0.0 && got <= 1.0;
        }
        law_free(&l);
    }
    check(worst <= 1.0, "tilt * window %g: delta is the direct sum (%.2g of the certificate's rounding)",
          tilt, worst);
    check(worst_slope <= 1e-7, "tilt * window %g: slope (off by %.2g)", tilt, worst_slope);
    check(slack_ok, "tilt * window %g: slack enters as stated", tilt);
    check(above_zero, "tilt * window %g: slack widens, and stays within [0, 1]", tilt);
}

static void epsilons(double tilt)
{
    int inverse = 1, sides = 1, resolved = 1, found = 0;
    double worst = 0.0;
    for (int trial = 0; trial < 400; trial++) {
        const size_t n = 2 + random_below(300);
        law l = law_new(n, tilt);
        /* Below the window nothing is known, and in its top cell slack and masses cannot be told apart. */
        const double low = fmax(l.loss[0], 0.0), high = l.loss[n - 2];
        const double epsilon = high > low ? uniform(low, high) : 0.0;
        const long double exact = delta_of(&l, (long double)epsilon);
        const double delta = (double)exact;
        if (!(epsilon > 1e-3 * l.c.spacing && delta > 2.0 * l.c.tilted.infinite.mass && delta > 1e-250)) {
            law_free(&l);
            continue;
        }
        found++;
        const prv_inverse e = prv_curve_epsilon(&l.c, delta, PRV_DOMINATING, &none, random_guess(&l));
        const long double back = delta_of(&l, (long double)e.plain);
        worst = fmax(worst, fabs((double)(back / exact) - 1.0));
        inverse = inverse && fabsl(back / exact - 1.0L) <= 1e-10L;
        const prv_slack slack = {.additive = log_uniform(1e-13, 1e-9),
                                 .relative = log_uniform(1e-12, 1e-6),
                                 .shift = log_uniform(1e-12, 1e-6)};
        const prv_inverse up = prv_curve_epsilon(&l.c, delta, PRV_DOMINATING, &slack, random_guess(&l));
        const prv_inverse down = prv_curve_epsilon(&l.c, delta, PRV_DOMINATED, &slack, random_guess(&l));
        sides = sides && down.epsilon <= epsilon * (1.0 + 1e-12) && up.epsilon >= epsilon * (1.0 - 1e-12);
        /* At the bound the slackened curve is indeed on the right side of delta. */
        if (isfinite(up.epsilon))
            sides = sides &&
                    prv_curve_delta(&l.c, up.epsilon * (1.0 + 1e-12), PRV_DOMINATING, &slack).delta <=
                        delta * (1.0 + 1e-10);
        if (down.epsilon > 0.0)
            sides = sides &&
                    prv_curve_delta(&l.c, down.epsilon * (1.0 - 1e-12), PRV_DOMINATED, &slack).delta >=
                        delta * (1.0 - 1e-10);
        resolved = resolved && e.resolved;
        law_free(&l);
    }
    check(found > 50, "tilt * window %g: %d crossings", tilt, found);
    check(inverse, "tilt * window %g: delta(epsilon(delta)) = delta (off by %.2g)", tilt, worst);
    check(sides, "tilt * window %g: bounds of epsilon lie on their sides, and no farther than the slack",
          tilt);
    check(resolved, "tilt * window %g: crossings inside the window are resolved", tilt);
}

/* delta = q (1 - e^(eps - 1)) + inf for one atom of mass q at loss 1. */
static void by_hand(void)
{
    double mass[3 + 2] = {0.0, 1.0, 0.0, 0.0, 0.0};
    prv_composed c;
    memset(&c, 0, sizeof c);
    c.engine = PRV_ENGINE_CONVOLUTION;
    c.convolved.mass = mass;
    c.convolved.length = 3;
    c.lowest = 0.0L;
    c.spacing = 1.0;
    c.tilted.support_high = 2.0;
    prv_infinite_add(&c.tilted.infinite, 0.25, 0.0, 1.0);
    c.tilted.log_moment = log(0.75);
    const prv_value half = prv_curve_delta(&c, 0.5, PRV_DOMINATING, &none);
    check(fabs(half.plain - (0.25 + 0.75 * -expm1(-0.5))) <= 8.0 * U, "one atom: delta between points");
    check(prv_curve_delta(&c, 1.0, PRV_DOMINATING, &none).plain == 0.25,
          "one atom: delta at its loss is the mass at infinity");
    check(prv_curve_delta(&c, 50.0, PRV_DOMINATING, &none).plain == 0.25, "one atom: delta far above");
    check(fabs(prv_curve_delta(&c, -50.0, PRV_DOMINATING, &none).plain - 1.0) <= 8.0 * U,
          "one atom: delta far below is 1");
    /* Of a mass that a sum beside the one at infinity does not show. */
    c.tilted.log_moment = log(0x1p-60);
    check(prv_curve_delta(&c, 0.5, PRV_DOMINATING, &none).delta > 0.25 &&
              prv_curve_delta(&c, 0.5, PRV_DOMINATED, &none).delta <= 0.25,
          "one atom of 2^-60: delta is more than the mass at infinity, by less than doubles tell");
    c.tilted.log_moment = log(0.75);
    const prv_inverse e = prv_curve_epsilon(&c, 0.25 + 0.75 * -expm1(-0.5), PRV_DOMINATING, &none, 0.3);
    check(fabs(e.plain - 0.5) <= 16.0 * U && fabs(e.epsilon - 0.5) <= 128.0 * U && e.resolved,
          "one atom: epsilon between points");
    check(isinf(prv_curve_epsilon(&c, 0.25, PRV_DOMINATING, &none, 0.3).epsilon) &&
              isinf(prv_curve_epsilon(&c, 0.1, PRV_DOMINATED, &none, 0.3).epsilon),
          "one atom: no epsilon at or below the mass at infinity");
    check(prv_curve_epsilon(&c, 0.9, PRV_DOMINATING, &none, 0.3).epsilon == 0.0,
          "one atom: epsilon above delta(0) is 0");
    /* A slack that hides everything leaves a weak bound, and says so. */
    const prv_slack much = {.additive = 0.9};
    const prv_inverse hidden = prv_curve_epsilon(&c, 0.3, PRV_DOMINATING, &much, 0.3);
    check(!hidden.resolved && isinf(hidden.epsilon), "slack above delta at the top: not resolved, infinite");
    check(prv_curve_epsilon(&c, 0.3, PRV_DOMINATED, &much, 0.3).epsilon == 0.0,
          "slack above delta: the lower bound is 0");
    for (double lam = 1e-6; lam < 1e6; lam *= 7.0) {
        double greatest = 0.0;
        for (double s = 1e-7; s < 60.0; s *= 1.003) greatest = fmax(greatest, -exp(-lam * s) * expm1(-s));
        const double g = prv_kernel_maximum(lam);
        if (!(g >= greatest * (1.0 - 1e-12) && g <= greatest * (1.0 + 1e-4)))
            check(0, "g(%g) = %g is the greatest of the kernel, %g", lam, g, greatest);
    }
    check(prv_kernel_maximum(0.0) == 1.0, "g(0) = 1");
}

int main(void)
{
    printf("wide unit %g\n", PRV_WIDE_UNIT);
    by_hand();
    static const double tilts[] = {0.0, 3.0, 40.0, 400.0};
    for (size_t i = 0; i < sizeof tilts / sizeof *tilts; i++) {
        deltas(tilts[i]);
        epsilons(tilts[i]);
    }
    return summary();
}
