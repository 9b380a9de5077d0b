/* Lattices that keep a top: compositions of small ones, by products and by transforms, and questions about
 * discrete losses, against all outcomes one by one. */
#include "prvcore.h"

#include "asking.h"
#include "check.h"
#include "fft/plans.h"

#include "numerics/rounding.h"

#include "transforms.h"

#include "mechanisms/support.h"
#include "composition/convolution.h"
#include "curve/certificate.h"
#include "curve/direction.h"

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
    for (int i = 0, trials = trials_of(24); i < trials; i++) {
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

/* ---- Discrete losses --------------------------------------------------------------------------- */

enum { ATOMS = 12 };

/* Atoms whose true losses are computed ones moved by parts of up to `error` of themselves, about a knot. */
static prv_atoms *new_atoms(double knot, double error, size_t length, long double *truth)
{
    prv_atoms *a = prv_atoms_new(length);
    if (a == NULL) exit(2);
    const double size = log_uniform(0.1, 300.0), scale = random_below(4) == 0 ? 1e-290 : 1.0;
    const int way = (int)random_below(3) - 1; /* all up, all down, or each its own way */
    double place = knot - size * uniform(0.1, 0.9);
    for (size_t i = 0; i < length; i++) {
        const double part = way == 0 ? uniform(-1.0, 1.0) : (double)way;
        a->loss[i] = place;
        a->q[i] = scale * uniform(0.01, 1.0) / (double)length;
        a->p[i] = a->q[i] * exp(-place);
        truth[i] = (long double)place * (1.0L + (long double)(part * error));
        place += size * log_uniform(1e-3, 0.5);
    }
    a->loss_error = error;
    return a;
}

/* What atoms above the last knot lose, against their top on either side, at any epsilon. */
static void test_tops_of_atoms(void)
{
    double nearest = 0.0;
    int above = 0, wrong = 0;
    const int trials = trials_of(400);
    for (int i = 0; i < trials; i++) {
        const double error = i % 5 == 0 ? 0.0 : log_uniform(1e-16, 1e-6);
        const double knot = (i % 2 == 0 ? 1.0 : -1.0) * log_uniform(1e-3, 300.0);
        const size_t length = 1 + random_below(ATOMS);
        long double truth[ATOMS];
        prv_mechanism *m = NULL;
        if (prv_mechanism_of_atoms(new_atoms(knot, error, length, truth), &m) != PRV_OK) exit(2);
        const prv_atoms *a = m->atoms[0];
        prv_cells cells;
        prv_lattice y;
        if (prv_cells_new(2, &cells) != PRV_OK || prv_lattice_new(1, &y) != PRV_OK) exit(2);
        cells.knots[0] = knot - 1.0;
        cells.knots[1] = knot;
        for (prv_side side = PRV_DOMINATING; side <= PRV_DOMINATED; side++) {
            if (prv_cells_compute(m, false, side, &cells) != PRV_OK) exit(2);
            prv_lattice_keep_top(&cells, side, &y);
            for (int k = 0; k < 30; k++) {
                const double epsilon = side == PRV_DOMINATING
                                           ? knot - (k == 0 ? 0.0 : log_uniform(1e-9, 30.0))
                                           : knot + uniform(-30.0, 400.0);
                long double exact = 0.0L;
                for (size_t j = 0; j < length; j++)
                    if (a->loss[j] > knot && truth[j] > (long double)epsilon)
                        exact -= (long double)a->q[j] * expm1l((long double)epsilon - truth[j]);
                const long double top = (long double)y.top_mass -
                                        (long double)y.top_relative * expl((long double)(epsilon - knot));
                const long double rounding = 4.0L * (long double)PRV_UNIT * (long double)y.top_mass;
                wrong += side == PRV_DOMINATING ? top < exact - rounding : top > exact + rounding;
                if (side == PRV_DOMINATING && k == 0 && error > 1e-10 && y.top_mass > 0.0 &&
                    y.top_mass > 1e-200) {
                    const double off = (double)((top - exact) / (long double)y.top_mass) /
                                       (error * (1.0 + fabs(knot)));
                    nearest = fmax(nearest, off);
                }
            }
            above += y.top_mass > 0.0;
        }
        prv_cells_free(&cells);
        prv_lattice_free(&y);
        prv_mechanism_free(m);
    }
    check(above > trials / 2 && wrong == 0, "%d tops of atoms: %d on the wrong side of what the atoms lose",
          above, wrong);
    check(nearest < 20.0, "... and no farther from it than %.2g of what losses may be off by", nearest);
}

/* Where the error of losses is as large as these, a lattice below keeps nothing, and one above drops P. */
static void test_losses_that_are_not_known(void)
{
    prv_cells cells;
    prv_lattice y;
    if (prv_cells_new(1, &cells) != PRV_OK || prv_lattice_new(1, &y) != PRV_OK) exit(2);
    cells.mass[1] = 0.5;
    cells.relative[1] = 0.25;
    cells.knots[0] = 1e6;
    cells.loss_error = 1e-6;
    prv_lattice_keep_top(&cells, PRV_DOMINATING, &y);
    check(y.top_mass == 0.5 && y.top_relative == 0.0, "a top of unknown losses is all of Q from above");
    prv_lattice_keep_top(&cells, PRV_DOMINATED, &y);
    check(y.top_mass == 0.0 && y.top_relative == 0.0, "... and nothing from below");
    prv_cells_free(&cells);
    prv_lattice_free(&y);
}

/* Outcomes on a sample: a few likely ones, and a few rare ones that lose much. */
typedef struct sampled {
    size_t length;
    long double loss[ATOMS], mass[ATOMS];
    int count;
    prv_mechanism *mechanism;
} sampled;

static void new_sampled(int count, sampled *s)
{
    double q[ATOMS], p[ATOMS], all_q = 0.0, all_p = 0.0;
    const double probability = log_uniform(1e-5, 0.3);
    s->length = 3 + random_below(3);
    s->count = count;
    for (size_t i = 0; i < s->length; i++) {
        p[i] = i < 2 ? uniform(0.3, 1.0) : log_uniform(1e-9, 1e-2);
        q[i] = i < 2 ? uniform(0.3, 1.0) : p[i] * log_uniform(3.0, 1e5);
        all_p += p[i];
        all_q += q[i];
    }
    for (size_t i = 0; i < s->length; i++) {
        p[i] /= all_p;
        q[i] /= all_q;
        const long double growth = (long double)probability * ((long double)q[i] / (long double)p[i] - 1.0L);
        s->loss[i] = log1pl(growth);
        s->mass[i] = (long double)p[i] * (1.0L + growth);
    }
    prv_mechanism *base = NULL;
    if (prv_mechanism_outcomes(q, p, s->length, &base) != PRV_OK ||
        prv_mechanism_poisson_subsampled(base, probability, &s->mechanism) != PRV_OK)
        exit(2);
    prv_mechanism_free(base);
}

/* delta of the runs from run `run` of step j on: every outcome, one by one. */
static long double delta_of_sampled(const sampled *s, size_t steps, size_t j, int run, long double mass,
                                    long double loss, long double epsilon)
{
    if (j < steps && run == s[j].count) return delta_of_sampled(s, steps, j + 1, 0, mass, loss, epsilon);
    if (j == steps) return loss > epsilon ? -mass * expm1l(epsilon - loss) : 0.0L;
    long double sum = 0.0L;
    for (size_t i = 0; i < s[j].length; i++)
        sum += delta_of_sampled(s, steps, j, run + 1, mass * s[j].mass[i], loss + s[j].loss[i], epsilon);
    return sum;
}

static bool has_caps(const prv_step *steps, double epsilon)
{
    prv_direction d;
    if (prv_direction_new(steps, 2, PRV_REMOVE, false, NULL, NULL, &d) != PRV_OK) exit(2);
    prv_set_caps(&d, epsilon);
    prv_use_cells(&d, 0.0);
    const bool has = prv_is_capped(&d);
    prv_direction_free(&d);
    return has;
}

/* Whole questions about lists of discrete losses, of which some lie above what is asked. */
static void test_discrete_lists(void)
{
    int wrong = 0, capped = 0, close = 0, asked = 0;
    const int lists = trials_of(12);
    for (int i = 0; i < lists; i++) {
        sampled s[2];
        for (int j = 0; j < 2; j++) new_sampled(1 + (int)random_below(3), &s[j]);
        const prv_step steps[2] = {{s[0].mechanism, (uint64_t)s[0].count},
                                   {s[1].mechanism, (uint64_t)s[1].count}};
        for (int k = 0; k < 6; k++) {
            const double epsilon = log_uniform(1e-4, 3.0);
            const long double exact = delta_of_sampled(s, 2, 0, 0, 1.0L, 0.0L, (long double)epsilon);
            prv_options o = options_of(1e-3 * epsilon);
            o.neighbors = PRV_REMOVE;
            o.engine = k % 2 == 0 ? PRV_ENGINE_CONVOLUTION : PRV_ENGINE_AUTO;
            o.memory_limit = (size_t)1 << 27; /* atoms that are nearly on no common lattice take seconds */
            prv_bounds b;
            const prv_status status = prv_delta(steps, 2, &o, &epsilon, 1, &b, NULL);
            if (status == PRV_ERR_MEMORY_LIMIT) continue; /* atoms that are on no common lattice */
            if (status != PRV_OK) exit(2);
            const bool holds = (long double)b.lower <= exact && exact <= (long double)b.upper;
            if (!holds) printf("     at %.17g: %.17g, %.17Lg, %.17g\n", epsilon, b.lower, exact, b.upper);
            wrong += !holds;
            asked++;
            capped += has_caps(steps, epsilon);
            close += b.upper <= 1.05 * b.lower;
        }
        for (int j = 0; j < 2; j++) prv_mechanism_free(s[j].mechanism);
    }
    check(wrong == 0 && (lists < 12 || asked > 60),
          "lists of discrete losses: %d of %d questions answered wrongly", wrong, asked);
    check(lists < 12 || (capped > asked / 4 && close > asked / 2),
          "... of which %d have losses that decide alone, and %d are close", capped, close);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    /* exact values take more digits */
    if (PRV_LONG_EPSILON < DBL_EPSILON) {
        test_lists();
        test_tiny_tops();
        test_tops_of_atoms();
        test_discrete_lists();
    }
    test_losses_that_are_not_known();
    test_greatest();
    test_no_tops();
    prv_fft_provider_free(provider);
    return summary();
}
