/* Counting rare jumps: powers of polynomials against products one by one, laws of small lattices against all
 * outcomes, and a step's bounds against its curve in closed form. Nothing is forgiven. */
#include "prvcore.h"

#include "asking.h"

#include "numerics/rounding.h"
#include "lattices/jump_lattices.h"
#include "composition/jump_law.h"
#include "composition/positive_power.h"

/* ---- Powers ---------------------------------------------------------------------------------- */

static void random_polynomial(size_t count, size_t widest, prv_polynomial *f)
{
    double sum = 0.0;
    size_t at = 0;
    prv_polynomial_new(count, f);
    for (size_t a = 0; a < count; a++) {
        f->at[a] = at;
        at += 1 + random_below(widest);
        f->weight[a] = log_uniform(1e-12, 1.0) * (a == 0 && random_below(2) ? 100.0 : 1.0);
        sum += f->weight[a];
    }
    for (size_t a = 0; a < count; a++) f->weight[a] /= sum * (1.0 + 1e-15);
}

/* The most by which a coefficient leaves what it claims to be off by, as a part of that. */
static double excess_of_power(const prv_polynomial *f, size_t power, size_t length, double negligible)
{
    double *g = calloc(length, sizeof *g);
    long double *now = calloc(length, sizeof *now), *next = calloc(length, sizeof *next);
    prv_power_error error = {0.0, 0.0};
    double worst = HUGE_VAL;
    if (g != NULL && now != NULL && next != NULL &&
        prv_positive_power(f, (double)power, length, negligible, NULL, g, &error) == PRV_OK) {
        worst = 0.0;
        now[0] = 1.0L;
        for (size_t j = 0; j < power; j++) {
            for (size_t n = 0; n < length; n++) {
                next[n] = 0.0L;
                for (size_t a = 0; a < f->count && f->at[a] <= n; a++)
                    next[n] += now[n - f->at[a]] * (long double)f->weight[a];
            }
            memcpy(now, next, length * sizeof *now);
        }
        for (size_t n = 0; n < length; n++) {
            const double off = (double)fabsl((long double)g[n] - now[n]);
            const double most = error.relative * (double)now[n] + error.absolute;
            if (off > 0.0) worst = fmax(worst, off / most);
        }
    }
    free(g);
    free(now);
    free(next);
    return worst;
}

static void test_powers(void)
{
    for (int i = 0; i < 60; i++) {
        prv_polynomial f;
        random_polynomial(1 + random_below(50), 1 + random_below(25), &f);
        const size_t power = random_below(i % 3 == 0 ? 1500 : 40), length = 1 + random_below(300);
        /* So little is negligible that no recursion is allowed. */
        const double worst = excess_of_power(&f, power, length, i % 4 == 0 ? 0.0 : 1e-30);
        check(worst <= 1.0, "power %zu of %zu terms below %zu: %.2g of the error", power, f.count, length,
              worst);
        prv_polynomial_free(&f);
    }
}

/* The recursion begins with 1e-280, and the next coefficients are below the normal doubles, so that their
 * rounding is absolute. */
static void test_vanishing_powers(void)
{
    for (int i = 0; i < 20; i++) {
        prv_polynomial f;
        random_polynomial(4, 2, &f);
        f.weight[0] = 0.01;
        for (size_t a = 1; a < f.count; a++) f.weight[a] = log_uniform(1e-36, 1e-33);
        const double worst = excess_of_power(&f, 140, 12, 1e-30);
        check(worst > 0.0 && worst <= 1.0, "a power of coefficients that underflow: %.2g of the error",
              worst);
        prv_polynomial_free(&f);
    }
}

/* ---- Laws ------------------------------------------------------------------------------------ */

static void new_lattice(size_t length, double offset, double spacing, prv_lattice *y)
{
    if (prv_lattice_new(length, y) != PRV_OK) exit(2);
    y->offset = offset;
    y->spacing = spacing;
}

/* A lattice that dominates itself and is dominated by itself, with a few points of bulk and jumps. */
typedef struct small {
    prv_jump_mesh mesh;
    prv_jump_lattices lattices;
    double loss[64], mass[64]; /* of all finite points */
    size_t points;
} small;

static void add_point(small *s, prv_lattice *y, size_t at, int64_t index, double mass)
{
    y->index[at] = index;
    y->mass[at] = mass;
    y->loss[at] = y->offset + y->spacing * (double)index;
    s->loss[s->points] = y->loss[at];
    s->mass[s->points++] = mass;
}

static void new_small(small *s, size_t bulk, size_t jumps, double rare)
{
    memset(s, 0, sizeof *s);
    if (prv_jump_mesh_new(bulk, jumps, &s->mesh) != PRV_OK) exit(2);
    prv_jump_mesh *m = &s->mesh;
    m->least = -0x1p-7; /* all places are exact */
    m->bulk_spacing = 0x1p-8;
    m->jump_spacing = 0x1p-4;
    m->tilt = 3.0;
    prv_jump_lattice *y = &s->lattices.dominating;
    new_lattice(bulk, m->least, m->bulk_spacing, &y->bulk);
    double left = 1.0 - rare, mass = 0.0, relative = 0.0;
    for (size_t i = 0; i < bulk; i++) {
        m->bulk_index[i] = (int64_t)(i * (1 + i / 2));
        const double q = i + 1 < bulk ? left * uniform(0.2, 0.9) : left * 0.999;
        add_point(s, &y->bulk, i, m->bulk_index[i], q);
        left -= q;
        mass += q;
        relative += q * exp(-m->bulk_spacing * (double)m->bulk_index[i]);
    }
    /* Any number up to the place of the bulk merged; a multiple of a power of two. */
    m->carried = floor(-log(relative / mass) * 0x1p20) * 0x1p-20;
    double rest = rare;
    if (jumps > 0) {
        new_lattice(jumps, m->least + m->carried, m->jump_spacing, &y->jumps);
        const size_t first = random_below(2) == 0 ? 0 : 4; /* 0: beside what the bulk is merged to */
        for (size_t i = 0; i < jumps; i++) {
            m->jump_index[i] = (int64_t)(first + 2 * i);
            const double q = rest * uniform(0.1, 0.5);
            add_point(s, &y->jumps, i, m->jump_index[i], q);
            rest -= q;
        }
    }
    y->top_mass = 0.5 * rest;
    y->top_relative = y->top_mass * uniform(0.1, 0.9);
    s->lattices.dominated = *y;
}

static void free_small(small *s)
{
    memset(&s->lattices.dominated, 0, sizeof s->lattices.dominated);
    prv_jump_lattices_free(&s->lattices);
    prv_jump_mesh_free(&s->mesh);
}

/* delta of `runs` more steps, with P's part, given what the others lost: every outcome, one by one. */
static long double enumerate(const small *s, int runs, long double mass, long double loss,
                             long double epsilon)
{
    if (runs == 0) return loss > epsilon ? -mass * expm1l(epsilon - loss) : 0.0L;
    long double sum = 0.0L;
    for (size_t i = 0; i < s->points; i++)
        sum += enumerate(s, runs - 1, mass * (long double)s->mass[i], loss + (long double)s->loss[i],
                         epsilon);
    const prv_jump_lattice *y = &s->lattices.dominating;
    const long double top = (long double)s->mesh.least + (long double)prv_jump_mesh_top(&s->mesh);
    const long double above = top - logl((long double)y->top_relative / (long double)y->top_mass);
    return sum + enumerate(s, runs - 1, mass * (long double)y->top_mass, loss + above, epsilon);
}

static void check_law(const small *s, int runs, double lost)
{
    const prv_jump_limits limits = {lost, 5.0, 1e9, 1e9};
    prv_jump_law up, down;
    const prv_jump_lattices *l = &s->lattices;
    const prv_status a = prv_jump_law_new(l, &s->mesh, PRV_DOMINATING, runs, &limits, NULL, &up);
    const prv_status b = prv_jump_law_new(l, &s->mesh, PRV_DOMINATED, runs, &limits, NULL, &down);
    int wrong = a != PRV_OK || b != PRV_OK;
    double widest = 0.0;
    const double least = runs * s->mesh.least, top = prv_jump_mesh_top(&s->mesh);
    for (int i = 0; i < 25 && !wrong; i++) {
        /* Points of both lattices, and others. */
        const double above = top * (i / 25.0);
        const double epsilon = least + (i % 2 == 0 ? above : floor(above * 256.0) / 256.0);
        const long double exact = enumerate(s, runs, 1.0L, 0.0L, (long double)epsilon);
        const double low = prv_jump_delta(&down, epsilon).delta, high = prv_jump_delta(&up, epsilon).delta;
        wrong = !((long double)low <= exact && exact <= (long double)high);
        if (wrong) printf("     at %.17g: %.17g, %.17Lg, %.17g\n", epsilon, low, exact, high);
        widest = fmax(widest, high - low);
    }
    check(!wrong, "%d runs of %zu points (%zu of jumps): all outcomes, bounds within %.3g", runs, s->points,
          s->mesh.jump_length, widest);
    if (s->mesh.jump_length == 0 && lost < 1e-20) check(widest < 1e-11, "nothing was lost");
    /* Products below the normal doubles are rounded to multiples of the least one. */
    if (runs > 1) check(down.lost >= DBL_TRUE_MIN, "... but what powers lose there: %.3g", down.lost);
    prv_jump_law_free(&up);
    prv_jump_law_free(&down);
}

static void test_laws(void)
{
    for (int i = 0; i < 24; i++) {
        small s;
        const size_t jumps = i % 3 == 0 ? 0 : 2 + random_below(3);
        new_small(&s, 2 + random_below(3), jumps, log_uniform(1e-9, 0.1));
        check_law(&s, 1 + (int)random_below(5), i % 2 == 0 ? 1e-30 : 1e-6);
        free_small(&s);
    }
}

/* ---- A step ---------------------------------------------------------------------------------- */

/* delta of Gaussian noise on a sample, a record removed: Q = (1 - p) N(0, 1) + p N(mu, 1) against N(0, 1). */
static long double exact_delta(double noise, double p, double epsilon)
{
    const long double mu = 1.0L / (long double)noise, q = (long double)p;
    const long double base = log1pl(expm1l((long double)epsilon) / q), z = base / mu + 0.5L * mu;
    const long double half = sqrtl(0.5L);
    const long double none = 0.5L * erfcl(z * half), one = 0.5L * erfcl((z - mu) * half);
    return q * one - (expm1l((long double)epsilon) + q) * none;
}

/* The same for a group: j of its members are in the sample with the probability of a binomial law, and move
 * the noise by j mu. delta is the greatest of Q - e^epsilon P above any z, and flat about its place, which is
 * halved for. */
static long double exact_delta_of_group(double noise, double p, int group, double epsilon)
{
    const long double mu = 1.0L / (long double)noise, half = sqrtl(0.5L);
    long double weight[8], low = -60.0L, high = 60.0L;
    for (int j = 0; j <= group; j++)
        weight[j] = expl(lgammal(group + 1.0L) - lgammal(j + 1.0L) - lgammal(group - j + 1.0L) +
                         j * logl((long double)p) + (group - j) * log1pl(-(long double)p));
    for (int i = 0; i < 200; i++) {
        const long double z = 0.5L * (low + high);
        long double ratio = 0.0L;
        for (int j = 0; j <= group; j++) ratio += weight[j] * expl(j * mu * (z - 0.5L * j * mu));
        if (ratio > expl((long double)epsilon))
            high = z;
        else
            low = z;
    }
    long double sum = -expl((long double)epsilon) * 0.5L * erfcl(low * half);
    for (int j = 0; j <= group; j++) sum += weight[j] * 0.5L * erfcl((low - j * mu) * half);
    return sum;
}

static long double exact_delta_of(double noise, double p, int group, double epsilon)
{
    return group == 1 ? exact_delta(noise, p, epsilon) : exact_delta_of_group(noise, p, group, epsilon);
}

static void test_steps(int group)
{
    for (int i = 0; i < 20; i++) {
        const double noise = log_uniform(0.3, 2.0), p = log_uniform(group == 1 ? 1e-6 : 1e-3, 0.1);
        prv_mechanism *base = NULL, *m = NULL;
        prv_jump_mesh mesh;
        prv_jump_lattices l;
        if (group == 1) {
            prv_mechanism_gaussian(noise, &base);
            prv_mechanism_poisson_subsampled(base, p, &m);
        } else {
            prv_mechanism_group_gaussian(noise, p, (uint64_t)group, &m);
        }
        const size_t bulk = 40, jumps = 40;
        if (prv_jump_mesh_new(bulk, jumps, &mesh) != PRV_OK) exit(2);
        const double cut = log1p(p * log_uniform(3.0, 30.0));
        mesh.least = group * log1p(-p);
        mesh.bulk_spacing = cut / (double)(bulk - 1);
        mesh.carried = 0.01 * cut;
        mesh.jump_spacing = (cut - mesh.carried) / 4.0;
        mesh.tilt = 10.0;
        for (size_t k = 0; k < bulk; k++) mesh.bulk_index[k] = (int64_t)k;
        for (size_t k = 0; k < jumps; k++) mesh.jump_index[k] = (int64_t)(4 + 2 * k);
        prv_jump_law up, down;
        const prv_jump_limits limits = {1e-40, 10.0, 1e9, 1e9};
        int wrong = prv_jump_lattices_new(m, false, &mesh, NULL, &l) != PRV_OK ||
                    prv_jump_law_new(&l, &mesh, PRV_DOMINATING, 1.0, &limits, NULL, &up) != PRV_OK ||
                    prv_jump_law_new(&l, &mesh, PRV_DOMINATED, 1.0, &limits, NULL, &down) != PRV_OK;
        double closest = 1.0;
        for (int k = 1; k < 30 && !wrong; k++) {
            const double epsilon = (mesh.least + prv_jump_mesh_top(&mesh)) * k / 30.0;
            const long double exact = exact_delta_of(noise, p, group, epsilon);
            const double low = prv_jump_delta(&down, epsilon).delta,
                         high = prv_jump_delta(&up, epsilon).delta;
            wrong = !((long double)low <= exact && exact <= (long double)high);
            if (wrong) printf("     at %.17g: %.17g, %.17Lg, %.17g\n", epsilon, low, exact, high);
            closest = fmin(closest, low / high);
        }
        check(!wrong, "noise %.3g, p %.2g, %d records: the curve of a step, bounds within %.2g", noise, p,
              group, 1.0 - closest);
        /* So few points are close where jumps are plain. */
        if (noise < 0.4) check(closest > 0.8, "... which is close");
        prv_jump_law_free(&up);
        prv_jump_law_free(&down);
        prv_jump_lattices_free(&l);
        prv_jump_mesh_free(&mesh);
        prv_mechanism_free(m);
        prv_mechanism_free(base);
    }
}

/* Discrete noise on a sample: every outcome, one by one. */
static long double exact_delta_of_atoms(double scale, double p, double epsilon)
{
    const long double s = (long double)scale, q = (long double)p, t = expl((long double)epsilon);
    const int reach = (int)(60.0 * scale) + 8;
    long double all = 0.0L, sum = 0.0L;
    for (int x = -reach; x <= reach; x++) all += expl(-0.5L * (x / s) * (x / s));
    for (int x = -reach; x <= reach; x++) {
        const long double without = expl(-0.5L * (x / s) * (x / s)),
                          with = expl(-0.5L * ((x - 1) / s) * ((x - 1) / s));
        const long double excess = q * (with - without) - (t - 1.0L) * without;
        if (excess > 0.0L) sum += excess;
    }
    return sum / all;
}

static void test_discrete_steps(void)
{
    for (int i = 0; i < 30; i++) {
        const double scale = log_uniform(0.3, 3.0), p = log_uniform(1e-5, 0.1);
        prv_mechanism *base = NULL, *m = NULL;
        prv_jump_mesh mesh;
        prv_jump_lattices l;
        prv_mechanism_discrete_gaussian(scale, 1, &base);
        prv_mechanism_poisson_subsampled(base, p, &m);
        const size_t bulk = 60, jumps = 300;
        if (prv_jump_mesh_new(bulk, jumps, &mesh) != PRV_OK) exit(2);
        const double cut = log1p(p * log_uniform(3.0, 30.0));
        mesh.on_knots = true;
        mesh.least = log1p(-p) - 1e-10 * cut;
        mesh.bulk_spacing = cut / (double)(bulk - 1);
        mesh.carried = 0.01 * cut;
        mesh.jump_spacing = (cut - mesh.carried) / 8.0;
        mesh.tilt = 10.0;
        for (size_t k = 0; k < bulk; k++) mesh.bulk_index[k] = (int64_t)k;
        for (size_t k = 0; k < jumps; k++) mesh.jump_index[k] = (int64_t)(8 + k);
        prv_jump_law up, down;
        const prv_jump_limits limits = {1e-40, 10.0, 1e9, 1e9};
        int wrong = prv_jump_lattices_new(m, false, &mesh, NULL, &l) != PRV_OK ||
                    prv_jump_law_new(&l, &mesh, PRV_DOMINATING, 1.0, &limits, NULL, &up) != PRV_OK ||
                    prv_jump_law_new(&l, &mesh, PRV_DOMINATED, 1.0, &limits, NULL, &down) != PRV_OK;
        double closest = 1.0;
        for (int k = 0; k < 60 && !wrong; k++) {
            /* The last ones lie above all that is bounded. */
            const double epsilon = (mesh.least + prv_jump_mesh_top(&mesh)) * k / 57.0;
            const long double exact = exact_delta_of_atoms(scale, p, epsilon);
            const double low = prv_jump_delta(&down, epsilon).delta,
                         high = prv_jump_delta(&up, epsilon).delta;
            wrong = !((long double)low <= exact && exact <= (long double)high);
            if (wrong) printf("     at %.17g: %.17g, %.17Lg, %.17g\n", epsilon, low, exact, high);
            closest = fmin(closest, 1.0 - low / high);
        }
        check(!wrong, "discrete noise %.3g, p %.2g: the curve of a step, bounds within %.2g", scale, p,
              closest);
        /* Somewhere between the atoms, wherever they are, what matters is an atom that is on a knot. */
        if (scale < 0.5) check(closest < 0.2, "... which is close");
        prv_jump_law_free(&up);
        prv_jump_law_free(&down);
        prv_jump_lattices_free(&l);
        prv_jump_mesh_free(&mesh);
        prv_mechanism_free(m);
        prv_mechanism_free(base);
    }
}

/* Whole questions whose rare jumps are counted: what the report says of their bounds is so. */
static void test_questions(void)
{
    prv_mechanism *m = subsampled(0.4, 1e-6);
    const prv_step step = {m, 2000};
    const double widths[] = {0.1, 1e-2, 1e-3}, delta = 1e-5, epsilon = 3.0;
    int counted = 0, told = 1, close = 1, same = 1;
    prv_bounds of_delta = {0.0, 0.0, 1.0},
               of_epsilon = {0.0, 0.0, HUGE_VAL}; /* by the narrowest, which come first */
    for (int i = 2; i >= 0; i--) {
        prv_options o = options_of(widths[i]);
        o.neighbors = PRV_REMOVE;
        prv_bounds b;
        prv_report r;
        if (prv_epsilon(&step, 1, &o, &delta, 1, &b, &r) != PRV_OK) abort();
        counted += r.engine == PRV_ENGINE_JUMPS;
        told = told && fabs(r.width - (b.upper - b.lower)) <= 1e-12;
        close = close && r.accurate && b.upper - b.lower <= widths[i] * (1.0 + 1e-9);
        if (i == 2) of_epsilon = b;
        same = same && b.lower <= of_epsilon.upper && of_epsilon.lower <= b.upper;
        o.eps_error = 1e-9;
        o.delta_relative_error = widths[i];
        if (prv_delta(&step, 1, &o, &epsilon, 1, &b, &r) != PRV_OK) abort();
        counted += r.engine == PRV_ENGINE_JUMPS;
        close = close && r.accurate && b.upper - b.lower <= widths[i] * b.upper;
        if (i == 2) of_delta = b;
        same = same && b.lower <= of_delta.upper && of_delta.lower <= b.upper;
    }
    check(counted >= 5, "rare jumps are counted in %d questions of 6", counted);
    check(told, "... whose reports tell how wide bounds are");
    check(close, "... which are as close as asked");
    check(same, "... and hold what narrower ones hold");
    prv_mechanism_free(m);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    test_powers();
    test_vanishing_powers();
    test_laws();
    if (PRV_LONG_EPSILON < DBL_EPSILON) { /* exact values of curves take more digits */
        test_steps(1);
        test_steps(4);
        test_discrete_steps();
    }
    test_questions();
    prv_fft_provider_free(provider);
    return summary();
}
