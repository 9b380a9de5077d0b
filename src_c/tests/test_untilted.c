/* The untilted curve against sums over its atoms in long double. */
#include "check.h"

#include "curve/untilted.h"

enum { LENGTH = 301 };

/* A law on LENGTH points whose lowest lies at a random position of the circle. */
typedef struct law {
    double on_circle[LENGTH + 2], loss[LENGTH], mass[LENGTH]; /* the latter two by point, upwards */
    double sums[LENGTH];
    prv_composed composed;
} law;

static void random_law(law *l)
{
    memset(l, 0, sizeof *l);
    prv_composed *c = &l->composed;
    c->engine = PRV_ENGINE_CONVOLUTION;
    c->spacing = log_uniform(1e-3, 0.1);
    c->lowest = -(long double)c->spacing * uniform(0.3, 0.7) * LENGTH;
    c->convolved.length = LENGTH;
    c->convolved.start = random_below(LENGTH);
    c->convolved.mass = l->on_circle;
    double total = 0.0;
    for (size_t i = 0; i < LENGTH; i++) {
        const double z = 6.0 * (double)i / LENGTH - 3.0;
        l->loss[i] = (double)(c->lowest + (long double)c->spacing * (long double)i);
        l->mass[i] = uniform(0.2, 1.0) * exp(-0.5 * z * z);
        total += l->mass[i];
    }
    for (size_t i = 0; i < LENGTH; i++) {
        l->mass[i] /= total;
        l->on_circle[(c->convolved.start + i) % LENGTH] = l->mass[i];
    }
}

static void curves(void)
{
    int exact = 1, slopes = 1, inverse = 1;
    for (int trial = 0; trial < 50; trial++) {
        law l;
        random_law(&l);
        const double low = l.loss[0], high = l.loss[LENGTH - 1], floor = low + 0.2 * (high - low);
        const prv_untilted_curve curve = prv_untilted_curve_of(&l.composed, floor, l.sums);
        for (int i = 0; i < 40; i++) {
            const double epsilon = uniform(floor, high + 0.01);
            const long double truth = atoms_delta(l.loss, l.mass, LENGTH, 0.0, epsilon);
            double slope;
            const double delta = prv_untilted_delta(&curve, epsilon, &slope);
            exact = exact && fabsl(delta - truth) <= 1e-13L * truth + 1e-18L;
            const long double h = 1e-9L;
            const long double fall = truth - atoms_delta(l.loss, l.mass, LENGTH, 0.0, epsilon + h);
            slopes = slopes && fabsl(fall / h - slope) <= 1e-5L * slope + 1e-4L;
            if (!(truth > 1e-10L)) continue;
            inverse = inverse && fabs(prv_untilted_epsilon(&curve, delta) - epsilon) <= 1e-8;
        }
        inverse = inverse && prv_untilted_epsilon(&curve, 0.0) == HUGE_VAL &&
                  prv_untilted_epsilon(&curve, 1.1) < floor;
        double slope;
        exact = exact && prv_untilted_delta(&curve, high, &slope) == 0.0 && slope == 0.0;
    }
    check(exact, "delta of a convolution: the sum over its atoms");
    check(slopes, "... with its slope");
    check(inverse, "... and the epsilon of a delta");
}

/* Rounding of transforms: a mass below 0 does not let the curve rise with the loss. */
static void waves(void)
{
    int falls = 1;
    for (int trial = 0; trial < 20; trial++) {
        law l;
        random_law(&l);
        for (size_t i = 0; i < LENGTH; i++) l.on_circle[i] += uniform(-1e-3, 1e-3);
        const prv_untilted_curve curve = prv_untilted_curve_of(&l.composed, l.loss[0], l.sums);
        for (size_t i = curve.bottom + 1; i < LENGTH; i++) falls = falls && l.sums[i] <= l.sums[i - 1];
    }
    check(falls, "D falls with the loss, whatever rounding did to the masses");
}

int main(void)
{
    curves();
    waves();
    return summary();
}
