/* Lattices that keep a top: compositions of small ones, by products and by transforms, against all outcomes
 * one by one; and steps against their curves in closed form. Nothing is forgiven. */
#include "prvcore.h"

#include "check.h"
#include "fft/plans.h"

#include "numerics/rounding.h"

#include "transforms.h"

#include "mechanisms/support.h"
#include "composition/convolution.h"
#include "curve/certificate.h"

#define SPACING 0x1p-5 /* all places are exact */

enum { STEPS = 3, POINTS = 6 };

typedef struct list {
    size_t steps;
    prv_lattice each[STEPS];
    const prv_lattice *lattices[STEPS];
    double counts[STEPS];
} list;

/* A few points, and a top above the last one: rare, if it is to be so by `scale`. */
static void new_lattice(double scale, bool keeps_top, prv_lattice *y)
{
    const size_t points = 2 + random_below(POINTS - 1);
    if (prv_lattice_new(points, y) != PRV_OK) exit(2);
    y->offset = -SPACING * (double)(1 + random_below(8));
    y->spacing = SPACING;
    double left = 1.0;
    int64_t index = 0;
    for (size_t i = 0; i < points; i++) {
        y->index[i] = index;
        y->loss[i] = y->offset + SPACING * (double)index;
        y->mass[i] = left * (i == 0 ? uniform(0.3, 0.99) : scale * uniform(0.1, 0.9));
        left -= y->mass[i];
        index += 1 + (int64_t)random_below(9);
    }
    if (!keeps_top) return;
    y->top_knot = y->loss[points - 1] + SPACING * (double)random_below(3);
    y->top_mass = left * scale * uniform(0.1, 0.9);
    y->top_relative = y->top_mass * uniform(0.05, 1.0);
}

static void new_list(double scale, list *l)
{
    memset(l, 0, sizeof *l);
    l->steps = 1 + random_below(STEPS);
    for (size_t j = 0; j < l->steps; j++) {
        new_lattice(scale, j == 0 || random_below(3) > 0, &l->each[j]);
        l->lattices[j] = &l->each[j];
        l->counts[j] = (double)(1 + random_below(l->steps == 1 ? 5 : 2));
    }
}

static void free_list(list *l)
{
    for (size_t j = 0; j < l->steps; j++) prv_lattice_free(&l->each[j]);
}

/* delta of the runs from run `run` of step j on, given what the others lost: every outcome, one by one. */
static long double enumerate(const list *l, size_t j, int run, long double mass, long double loss,
                             long double epsilon)
{
    if (j == l->steps) return loss > epsilon ? -mass * expm1l(epsilon - loss) : 0.0L;
    const prv_lattice *y = &l->each[j];
    const bool is_last = run + 1 >= (int)l->counts[j];
    const size_t next = is_last ? j + 1 : j;
    const int next_run = is_last ? 0 : run + 1;
    long double sum = 0.0L;
    for (size_t i = 0; i < y->length; i++)
        sum += enumerate(l, next, next_run, mass * (long double)y->mass[i], loss + (long double)y->loss[i],
                         epsilon);
    if (!(y->top_mass > 0.0)) return sum;
    const long double top = (long double)y->top_knot -
                            logl((long double)y->top_relative / (long double)y->top_mass);
    return sum + enumerate(l, next, next_run, mass * (long double)y->top_mass, loss + top, epsilon);
}

/* The greatest epsilon for which all sums with a top lie above. */
static double greatest_epsilon(const list *l)
{
    double sum = 0.0, above = HUGE_VAL;
    for (size_t j = 0; j < l->steps; j++) {
        const prv_lattice *y = &l->each[j];
        sum += l->counts[j] * y->loss[0];
        if (y->top_mass > 0.0) above = fmin(above, y->top_knot - y->loss[0]);
    }
    return sum + above;
}

static void check_list(const list *l, double tilt, bool transforms)
{
    size_t length = 1024;
    const prv_fft fft = naive_fft(&length);
    const prv_window window = {
        .lowest = -64.0 * SPACING, .length = length, .shift_up = 4.0, .shift_down = 4.0, .tolerance = 1e-18};
    prv_workspace work;
    if (prv_workspace_new(length, l->steps, POINTS + 1, &work) != PRV_OK) exit(2);
    prv_composed c;
    const double greatest = greatest_epsilon(l);
    int wrong = prv_compose(l->lattices, l->counts, l->steps, tilt, &window, transforms ? &fft : NULL, &work,
                            &c) != PRV_OK;
    c.tops = prv_tops_new(l->lattices, l->counts, l->steps, greatest);
    const prv_rounding exact_cells = {0.0, 0.0};
    const prv_slack_parts parts = prv_certificate(&c, &exact_cells);
    double widest = 0.0;
    for (int i = 0; i < 40 && !wrong; i++) {
        const double at = -0.2 + (greatest + 0.4) * i / 39.0;
        const double epsilon = i % 2 == 0 ? at : floor(at / SPACING) * SPACING;
        const long double exact = enumerate(l, 0, 0, 1.0L, 0.0L, (long double)epsilon);
        const double low = prv_curve_delta(&c, epsilon, PRV_DOMINATED, &parts.slack).delta;
        const double high = prv_curve_delta(&c, epsilon, PRV_DOMINATING, &parts.slack).delta;
        wrong = !((long double)low <= exact && exact <= (long double)high);
        if (wrong) printf("     at %.17g: %.17g, %.17Lg, %.17g\n", epsilon, low, exact, high);
        if (epsilon > greatest) wrong = wrong || high < 1.0;
        if (epsilon < greatest - 1e-9 && low > 0.0) widest = fmax(widest, 1.0 - low / high);
    }
    check(!wrong, "%zu steps, tilt %.3g, %s: all outcomes, bounds within %.3g", l->steps, tilt,
          transforms ? "transforms" : "products", widest);
    /* A large tilt makes much of what the window leaves out. */
    if (!transforms && tilt < 20.0) check(widest < 1e-9, "products are relatively exact, tops too");
    prv_workspace_free(&work);
}

static void test_lists(void)
{
    for (int i = 0; i < 24; i++) {
        list l;
        const double scale = i % 2 == 0 ? 1.0 : log_uniform(1e-60, 1e-3);
        new_list(scale, &l);
        check_list(&l, i % 2 == 0 ? uniform(0.5, 20.0) : uniform(20.0, 120.0), i % 3 == 0);
        free_list(&l);
    }
}

/* Differences that no double holds, at scales that none holds. */
static void test_tiny_tops(void)
{
    prv_lattice y;
    if (prv_lattice_new(1, &y) != PRV_OK) exit(2);
    const prv_lattice *one = &y;
    const double count = 7.0;
    y.offset = y.loss[0] = -0.25;
    y.spacing = SPACING;
    y.index[0] = 0;
    for (int i = 0; i < 30; i++) {
        y.mass[0] = uniform(0.5, 1.0);
        y.top_mass = log_uniform(1e-300, 1e-20);
        y.top_relative = y.top_mass * uniform(0.1, 0.9);
        y.top_knot = uniform(1.0, 8.0);
        const prv_tops t = prv_tops_new(&one, &count, 1, HUGE_VAL);
        const double epsilon = y.top_knot - uniform(1.5, 3.0), log_scale = uniform(-800.0, 20.0);
        const prv_tops_value v = prv_tops_at(&t, epsilon, log_scale);
        /* of first order in the top: the next one is below 1e-18 of it, which u is a hundred times of */
        const long double powers = logl(7.0L) + 6.0L * logl((long double)y.mass[0]);
        const long double q = powers + logl((long double)y.top_mass) - (long double)log_scale;
        const long double p = powers + 6.0L * 0.25L + logl((long double)y.top_relative) -
                              (long double)y.top_knot + (long double)epsilon - (long double)log_scale;
        const long double exact = expl(q) - expl(p);
        check(fabsl((long double)v.value - exact) <= (long double)v.error && v.error < 1e-9 * v.value,
              "a top of %.2g in units of e^%.3g: off by %.2g of the error", y.top_mass, log_scale,
              (double)(fabsl((long double)v.value - exact) / (long double)v.error));
    }
    prv_lattice_free(&y);
}

/* ---- Where tops may be counted ---------------------------------------------------------------- */

static void test_greatest(void)
{
    prv_mechanism *base = NULL, *m = NULL;
    prv_mechanism_gaussian(0.8, &base);
    prv_mechanism_poisson_subsampled(base, 0.01, &m);
    const prv_mechanism *mechanisms[2] = {m, m};
    const double counts[2] = {3.0, 5.0}, least = log1p(-0.01);
    prv_lattice y[2];
    const prv_lattice *lattices[2] = {&y[0], &y[1]};
    for (int j = 0; j < 2; j++) {
        if (prv_lattice_new(2, &y[j]) != PRV_OK) exit(2);
        y[j].loss[0] = least;
        y[j].loss[1] = 1.0;
        y[j].mass[0] = 0.9;
        y[j].mass[1] = 0.05;
        y[j].top_mass = 0.05;
        y[j].top_knot = 1.0 + j;
    }
    const double all = prv_tops_greatest(mechanisms, false, lattices, counts, 2, 0.0);
    check(all <= 7.0 * least + 1.0 && all > 7.0 * least + 1.0 - 1e-12,
          "the lowest top decides, and seven others");
    check(prv_tops_greatest(mechanisms, false, lattices, counts, 2, 1e-3) < all - 3.9e-3, "shifts count");
    y[1].loss[0] = least - 0.1;
    const double lower = prv_tops_greatest(mechanisms, false, lattices, counts, 2, 0.0);
    check(fabs(lower - (all - 0.5)) < 1e-12, "a lattice with lower losses counts with these");
    y[1].mass[0] = 0.0;
    check(prv_tops_greatest(mechanisms, false, lattices, counts, 2, 0.0) == all,
          "but not without mass there");
    check(prv_tops_greatest(mechanisms, true, lattices, counts, 2, 0.0) == -HUGE_VAL,
          "losses without a least one have no tops");
    for (int j = 0; j < 2; j++) prv_lattice_free(&y[j]);
    prv_mechanism_free(m);
    prv_mechanism_free(base);
}

static void test_no_tops(void)
{
    list l;
    new_list(1.0, &l);
    for (size_t j = 0; j < l.steps; j++) l.each[j].top_mass = 0.0;
    check(!prv_tops_new(l.lattices, l.counts, l.steps, 1.0).counted, "without tops nothing is counted");
    l.each[0].top_mass = 0.1;
    for (size_t i = 0; i < l.each[0].length; i++) l.each[0].mass[i] = 0.0;
    const prv_tops t = prv_tops_new(l.lattices, l.counts, l.steps, 1.0);
    check(t.greatest == -HUGE_VAL && prv_tops_at(&t, 0.0, 0.0).value == 0.0,
          "a lattice without mass has no bound from above, and 0 from below");
    free_list(&l);
}

int main(void)
{
    /* exact values take more digits */
    if (PRV_LONG_EPSILON < DBL_EPSILON) {
        test_lists();
        test_tiny_tops();
    }
    test_greatest();
    test_no_tops();
    return summary();
}
