/* Sums that grow are those of a spectrum made at once; what does not fit is told. */
#include "check.h"

#include "composition/growing_spectrum.h"

enum { STEPS = 3 };

static const double spacing = 0.01, tilt = 2.0;

/* Atoms of random masses, `gap` points of the lattice apart. */
static prv_lattice random_lattice(int64_t gap)
{
    enum { ATOMS = 40 };
    prv_lattice y;
    if (prv_lattice_new(ATOMS, &y) != PRV_OK) abort();
    y.offset = uniform(-0.1, 0.1);
    y.spacing = spacing;
    y.infinite_mass = 0.0;
    double total = 0.0;
    for (size_t i = 0; i < ATOMS; i++) {
        const int64_t place = (int64_t)i - ATOMS / 2, index = gap * place;
        y.index[i] = index;
        y.loss[i] = y.offset + spacing * (double)index;
        y.mass[i] = uniform(0.5, 1.0) * exp(-0.02 * (double)(place * place));
        total += y.mass[i];
    }
    for (size_t i = 0; i < ATOMS; i++) y.mass[i] /= total;
    return y;
}

static const double counts[STEPS] = {40.0, 25.0, 60.0};

static prv_growing_plan plan_for(const prv_lattice *const *list, size_t steps, prv_growing_spectrum *before)
{
    const prv_window window = {.shift_up = 1.0,
                               .shift_down = 1.0,
                               .tolerance = 1e-9,
                               .low_epsilon = 0.0,
                               .high_epsilon = 4.0,
                               .room_to_grow = 3.0};
    prv_growing_plan plan;
    if (prv_growing_plan_new(list, counts, steps, spacing, tilt, &window, 1e9, &plan, before) != PRV_OK)
        abort();
    return plan;
}

/* Largest distance of the sums of two spectra at the same frequencies. */
static double distance(const prv_spectrum *a, const prv_spectrum *b)
{
    double most = 0.0;
    for (size_t j = 0; j < a->count; j++) {
        most = fmax(most, hypot(a->finite_re[j] - b->finite_re[j], a->finite_im[j] - b->finite_im[j]));
        most = fmax(most, hypot(a->reverse_re[j] - b->reverse_re[j], a->reverse_im[j] - b->reverse_im[j]));
    }
    return most;
}

static int are_equal(const prv_growing_plan *plan, const prv_growing_spectrum *a,
                     const prv_growing_spectrum *b)
{
    prv_spectrum s, t;
    prv_composed c, d;
    if (prv_growing_read(plan, a, &s, &c) != PRV_OK || prv_growing_read(plan, b, &t, &d) != PRV_OK) abort();
    const int equal = s.count == t.count && distance(&s, &t) == 0.0 && s.rounding == t.rounding &&
                      c.tilted.log_moment == d.tilted.log_moment && c.lowest == d.lowest;
    prv_spectrum_free(&s);
    prv_spectrum_free(&t);
    return equal;
}

static void sums_of_the_beginning_are_its_spectrum(void)
{
    prv_lattice y[STEPS];
    const prv_lattice *list[STEPS];
    for (size_t j = 0; j < STEPS; j++) {
        y[j] = random_lattice(2);
        list[j] = &y[j];
    }
    prv_growing_spectrum before = {0}, sums = {0}, copy = {0};
    prv_growing_plan plan = plan_for(list, STEPS, &before);
    int ok = prv_growing_begin(&plan, &sums) == PRV_OK;
    for (size_t j = 0; j + 1 < STEPS; j++)
        ok = ok && prv_growing_add(&plan, list[j], counts[j], &sums) == PRV_OK;
    check(ok && memcmp(&before.composed, &sums.composed, sizeof sums.composed) == 0 &&
              are_equal(&plan, &before, &sums),
          "a plan has the sums before its last step, to the last bit");
    ok = ok && prv_growing_add(&plan, list[STEPS - 1], counts[STEPS - 1], &sums) == PRV_OK;
    prv_spectrum s;
    prv_composed c;
    ok = ok && prv_growing_read(&plan, &sums, &s, &c) == PRV_OK;
    const prv_spectrum *b = &plan.beginning;
    check(ok && s.count == b->count && distance(&s, b) <= s.rounding + b->rounding,
          "%d frequencies: sums that grew are those made at once", (int)b->count);
    check(c.spectral.spectrum == &s && c.spectral.laws == STEPS && s.left_out == b->left_out &&
              s.low == b->low && s.tolerance == b->tolerance && s.below == b->below,
          "... with what the frequencies left out make up");
    prv_spectrum_free(&s);

    ok = prv_growing_copy(&sums, &copy) == PRV_OK;
    check(ok && are_equal(&plan, &sums, &copy), "a copy is the same");
    ok = prv_growing_add(&plan, list[0], 7.0, &copy) == PRV_OK;
    check(ok && !are_equal(&plan, &sums, &copy), "... and grows by itself");
    ok = prv_growing_begin(&plan, &copy) == PRV_OK;
    for (size_t j = 0; j < STEPS; j++) ok = ok && prv_growing_add(&plan, list[j], counts[j], &copy) == PRV_OK;
    check(ok && are_equal(&plan, &sums, &copy), "begun again, the same steps give the same bits");

    prv_lattice between = random_lattice(1);
    check(prv_growing_add(&plan, &between, 1.0, &copy) == PRV_ERR_PRECISION,
          "atoms between the points of the plan's lattice are refused");
    prv_lattice_free(&between);
    for (size_t j = 0; j < STEPS; j++) prv_lattice_free(&y[j]);
    prv_growing_free(&before);
    prv_growing_free(&sums);
    prv_growing_free(&copy);
    prv_growing_plan_free(&plan);
}

/* One run, lengthened: the sums that many runs add, and the frequencies that suffice for fewer runs. */
static void one_run_repeated_is_many(void)
{
    prv_lattice y = random_lattice(2);
    const prv_lattice *list = &y;
    y.infinite_mass = 1e-9;
    const prv_window window = {.shift_up = 1.0,
                               .shift_down = 1.0,
                               .tolerance = 1e-9,
                               .low_epsilon = 0.0,
                               .high_epsilon = 4.0,
                               .room_to_grow = 1.0};
    const double least = 30.0;
    prv_growing_plan plan, at_once;
    prv_growing_spectrum once = {0}, sums = {0}, added = {0}, none = {0};
    int ok = prv_growing_plan_once(&y, least, tilt, &window, 1e9, &plan, &once) == PRV_OK &&
             prv_growing_plan_new(&list, &least, 1, spacing, tilt, &window, 1e9, &at_once, &none) == PRV_OK;
    const prv_spectrum *a = &plan.beginning, *b = &at_once.beginning;
    check(ok && a->count == b->count && a->points == b->points && a->left_out == b->left_out &&
              a->low == b->low && plan.unit == at_once.unit,
          "the frequencies of a plan for one step: %d", (int)a->count);
    for (double k = least; k <= 2.0 * least; k += 7.0) {
        prv_spectrum s, t;
        prv_composed c, d;
        ok = prv_growing_repeat(&once, &y, k, &sums) == PRV_OK &&
             prv_growing_begin(&at_once, &added) == PRV_OK &&
             prv_growing_add(&at_once, &y, k, &added) == PRV_OK &&
             prv_growing_read(&plan, &sums, &s, &c) == PRV_OK &&
             prv_growing_read(&at_once, &added, &t, &d) == PRV_OK;
        check(ok && s.count == t.count && distance(&s, &t) <= s.rounding + t.rounding,
              "%g runs of one are those added", k);
        check(fabs(c.tilted.log_moment - d.tilted.log_moment) <= 1e-13 * k && c.lowest == d.lowest &&
                  c.tilted.total == k && c.tilted.infinite.high == d.tilted.infinite.high &&
                  c.tilted.relative_error >= 0.999 * d.tilted.relative_error &&
                  c.tilted.log_error >= 0.999 * d.tilted.log_error && s.rounding >= 0.999 * t.rounding,
              "... with their errors");
        prv_spectrum_free(&s);
        prv_spectrum_free(&t);
    }
    prv_growing_free(&none);
    prv_growing_free(&once);
    prv_growing_free(&sums);
    prv_growing_free(&added);
    prv_growing_plan_free(&plan);
    prv_growing_plan_free(&at_once);
    prv_lattice_free(&y);
}

int main(void)
{
    for (int trial = 0; trial < 5; trial++) sums_of_the_beginning_are_its_spectrum();
    for (int trial = 0; trial < 5; trial++) one_run_repeated_is_many();
    return summary();
}
