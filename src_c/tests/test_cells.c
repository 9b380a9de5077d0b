/* Checks the masses of cells against long double closed forms. */
#include "check.h"

#include "numerics/rounding.h"
#include "mechanisms/replace_one.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"
#include "lattices/cells.h"

#define U (0.5 * DBL_EPSILON)

/* ---- Truth: tails of Q and P (upper), and lower ones, at a loss ------------------------------ */

typedef struct tails {
    long double upper_q, upper_p, lower_q, lower_p;
} tails;

static long double base_loss(long double x, long double p)
{
    if (p == 1.0L) return x;
    if (x > 1000.0L) return x - logl(p);
    const long double ratio = expm1l(x) / p;
    return ratio <= -1.0L ? -HUGE_VALL : log1pl(ratio);
}

static tails gaussian(long double y, long double mu)
{
    const long double zq = y / mu - 0.5L * mu, zp = y / mu + 0.5L * mu;
    const tails t = {normal_upper(zq), normal_upper(zp), normal_upper(-zq), normal_upper(-zp)};
    return t;
}

static tails laplace(long double y, long double mu)
{
    tails t = {0.0L, 0.0L, 1.0L, 1.0L};
    if (y >= mu) return t;
    if (y < -mu) {
        const tails all = {1.0L, 1.0L, 0.0L, 0.0L};
        return all;
    }
    t.lower_q = 0.5L * expl(0.5L * (y - mu));
    t.upper_q = 1.0L - t.lower_q;
    t.upper_p = 0.5L * expl(-0.5L * (y + mu));
    t.lower_p = 1.0L - t.upper_p;
    return t;
}

/* Q has the density e^((mu + y) / 2) / (2 (e^mu - 1)) on [-mu, mu]. */
static tails bounded_range(long double y, long double mu)
{
    const long double at = fmaxl(fminl(y, mu), -mu), whole = -expm1l(-mu);
    const long double upper = -expm1l(0.5L * (at - mu)) / whole, lower = -expm1l(-0.5L * (mu + at)) / whole;
    const tails t = {upper, upper * expl(-0.5L * (mu + at)), lower * expl(0.5L * (at - mu)), lower};
    return t;
}

typedef enum noise_kind { GAUSSIAN, LAPLACE, BOUNDED_RANGE } noise_kind;

/* Of (P, (1-p)P + pQ), or of its reverse. */
static tails truth(noise_kind kind, long double x, long double mu, long double p, int add)
{
    const long double y = base_loss(add ? -x : x, p);
    const tails b = kind == LAPLACE    ? laplace(y, mu)
                    : kind == GAUSSIAN ? gaussian(y, mu)
                                       : bounded_range(y, mu);
    const tails r = {(1.0L - p) * b.upper_p + p * b.upper_q, b.upper_p,
                     (1.0L - p) * b.lower_p + p * b.lower_q, b.lower_p};
    if (!add) return r;
    const tails reversed = {r.lower_p, r.lower_q, r.upper_p, r.upper_q};
    return reversed;
}

/* A mixture's, whose outcome of a loss is found by bisection. */
typedef struct mixture {
    size_t length;
    long double center[4], weight[4];
    int mirrored;
} mixture;

static long double mixture_moment(const mixture *m, long double z, long double sign)
{
    long double sum = 0.0L, rest = 0.0L;
    for (size_t i = 0; i < m->length; i++) {
        const long double t = sign * m->center[i] * (z - sign * 0.5L * m->center[i]);
        sum += m->weight[i] * expl(t);
        rest += m->weight[i] * expm1l(t);
    }
    return fabsl(rest) < 0.5L ? log1pl(rest) : logl(sum);
}

static tails mixture_tails(const mixture *m, long double x)
{
    long double low = -60.0L, high = 60.0L;
    for (size_t i = 0; i < m->length; i++) high = fmaxl(high, m->center[i] + 60.0L);
    for (int i = 0; i < 100; i++) {
        const long double z = 0.5L * (low + high);
        const long double loss = mixture_moment(m, z, 1.0L) -
                                 (m->mirrored ? mixture_moment(m, z, -1.0L) : 0.0L);
        if (loss < x)
            low = z;
        else
            high = z;
    }
    tails t = {0.0L, normal_upper(low), 0.0L, normal_upper(-low)};
    if (m->mirrored) t.upper_p = t.lower_p = 0.0L;
    for (size_t i = 0; i < m->length; i++) {
        t.upper_q += m->weight[i] * normal_upper(low - m->center[i]);
        t.lower_q += m->weight[i] * normal_upper(m->center[i] - low);
        if (!m->mirrored) continue;
        t.upper_p += m->weight[i] * normal_upper(low + m->center[i]);
        t.lower_p += m->weight[i] * normal_upper(-m->center[i] - low);
    }
    return t;
}

/* What a pair is told by: additive noise, or a mixture. */
typedef struct law {
    noise_kind kind;
    long double mu, p;
    const mixture *mixture;
    int add, folded;
} law;

static tails tails_of(const law *l, long double x)
{
    if (l->folded) {
        /* 'remove' above 0 and 'add' below, whose upper tail is what its lower one leaves. */
        const tails t = truth(l->kind, x, l->mu, l->p, x < 0.0L);
        const tails all = {x < 0.0L ? 1.0L - t.lower_q : t.upper_q, x < 0.0L ? 1.0L - t.lower_p : t.upper_p,
                           x < 0.0L ? t.lower_q : 1.0L - t.upper_q, x < 0.0L ? t.lower_p : 1.0L - t.upper_p};
        return all;
    }
    if (l->mixture == NULL) return truth(l->kind, x, l->mu, l->p, l->add);
    if (!l->add) return mixture_tails(l->mixture, x);
    const tails t = mixture_tails(l->mixture, -x), reversed = {t.lower_p, t.lower_q, t.upper_p, t.upper_q};
    return reversed;
}

static long double cell_of(long double upper, long double upper_above, long double lower,
                           long double lower_above)
{
    return lower_above < 0.25L ? lower_above - lower : upper - upper_above;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static prv_mechanism *subsampled(int is_laplace, double noise, double p)
{
    prv_mechanism *base = NULL, *m = NULL;
    if ((is_laplace ? prv_mechanism_laplace(noise, 1.0, &base) : prv_mechanism_gaussian(noise, &base)) !=
        PRV_OK)
        abort();
    if (prv_mechanism_poisson_subsampled(base, p, &m) != PRV_OK) abort();
    prv_mechanism_free(base);
    return m;
}

static void ordered(const prv_cells *c, const char *what)
{
    int ok = 1, finite = 1;
    long double sum = (long double)c->infinite_mass, sum_p = 0.0L;
    for (size_t i = 0; i <= c->length; i++) {
        finite = finite && isfinite(c->mass[i]) && c->mass[i] >= 0.0 && c->relative[i] >= 0.0;
        if (i > 0) finite = finite && isfinite(c->relative[i]);
        sum += (long double)c->mass[i];
        const double anchor = c->knots[i > 0 ? i - 1 : 0];
        sum_p += c->relative[i] > 0.0 ? expl(logl((long double)c->relative[i]) - (long double)anchor) : 0.0L;
        if (i == 0) continue;
        const double width = i < c->length ? c->knots[i] - c->knots[i - 1] : HUGE_VAL;
        ok = ok && c->relative[i] <= c->mass[i] &&
             c->relative[i] >= c->mass[i] * exp(-width) * (1.0 - 8.0 * U);
    }
    check(finite, "%s: all masses are finite and not negative", what);
    check(ok, "%s: relative lies between mass e^-width and mass", what);
    const double slack = 64.0 * U * (double)(c->length + 1);
    check(fabsl(sum - 1.0L) <= (long double)slack, "%s: the masses sum to 1 (off by %.2Lg)", what,
          sum - 1.0L);
    if (isfinite(c->relative[0]))
        check(sum_p <= 1.0L + (long double)(slack + c->tail_error),
              "%s: P's masses sum to at most 1 (%.2Lg over)", what, sum_p - 1.0L);
}

/* Tails of the computed masses against the truth's, as cells.h promises: a relative error and a shift of the
 * knot, both below tail_error. */
static void against(const prv_mechanism *m, const law *l, double low, double high, size_t length,
                    const char *what)
{
    prv_cells c;
    if (prv_cells_new(length, &c) != PRV_OK) abort();
    for (size_t i = 0; i < length; i++) c.knots[i] = low + (high - low) * (double)i / (double)(length - 1);
    check(prv_cells_compute(m, l->add, PRV_DOMINATING, &c) == PRV_OK, "%s: computes", what);
    ordered(&c, what);

    const double e = c.tail_error;
    long double q = (long double)c.mass[length], r = (long double)c.relative[length];
    int q_within = 1, r_within = 1;
    double worst = 0.0;
    /* r is P's upper tail times e^(knot), carried down. */
    for (size_t i = length; i-- > 0;) {
        const long double x = (long double)c.knots[i];
        if (i == 0 || is_drawn()) {
            const long double shift = (long double)e, factor = 1.0L + (long double)e;
            const tails above = tails_of(l, x + shift), below = tails_of(l, x - shift), at = tails_of(l, x);
            const long double tiny = (long double)DBL_MIN * (long double)(length - i);
            /* 'add' has its lower tail computed: what is not below a knot by rounding is above it. */
            if (!(q <= below.upper_q * factor + tiny && q * factor + tiny >= above.upper_q)) q_within = 0;
            if (at.upper_q > 1e-290L) worst = fmax(worst, fabs((double)(q / at.upper_q - 1.0L)));
            if (x < 300.0L && at.upper_p > 1e-300L) {
                const long double scaled = expl(x);
                if (!(r <= scaled * below.upper_p * factor + tiny &&
                      r * factor + tiny >= scaled * above.upper_p))
                    r_within = 0;
            }
        }
        if (i == 0) break;
        q += (long double)c.mass[i];
        const long double width = x - (long double)c.knots[i - 1];
        r = r * expl(-width) + (long double)c.relative[i];
    }
    check(q_within, "%s: Q's tails are within tail_error = %.2g (worst %.2g)", what, e, worst);
    check(r_within, "%s: P's tails are within tail_error", what);
    prv_cells_free(&c);
}

static void additive(int is_laplace, double noise, double p, int add, double low, double high, size_t length)
{
    char what[120];
    snprintf(what, sizeof what, "%s noise %g p %g %s on [%g, %g]", is_laplace ? "Laplace" : "Gaussian", noise,
             p, add ? "add" : "remove", low, high);
    prv_mechanism *m = subsampled(is_laplace, noise, p);
    const law l = {is_laplace ? LAPLACE : GAUSSIAN, 1.0L / (long double)noise, (long double)p, NULL, add, 0};
    against(m, &l, low, high, length, what);
    prv_mechanism_free(m);
}

/* Samples without replacement: 'remove' above 0 and 'add' below, of twice the sensitivity; with knots at 0
 * and without. */
static void folds(void)
{
    static const double probabilities[] = {0.9, 0.1, 1e-4};
    for (int kind = GAUSSIAN; kind <= BOUNDED_RANGE; kind++)
        for (size_t j = 0; j < sizeof probabilities / sizeof *probabilities; j++)
            for (size_t length = 800; length <= 801; length++) {
                prv_mechanism *base = NULL, *m = NULL;
                const prv_status status = kind == LAPLACE    ? prv_mechanism_laplace(2.0, 1.0, &base)
                                          : kind == GAUSSIAN ? prv_mechanism_gaussian(2.0, &base)
                                                             : prv_mechanism_bounded_range(1.0, &base);
                if (status != PRV_OK) abort();
                if (prv_mechanism_subsampled_without_replacement(base, probabilities[j], &m) != PRV_OK)
                    abort();
                char what[120];
                snprintf(what, sizeof what, "kind %d without replacement, p %g, %zu knots", kind,
                         probabilities[j], length);
                const law l = {(noise_kind)kind, 1.0L, (long double)probabilities[j], NULL, 0, 1};
                const double reach = kind == GAUSSIAN ? 8.0 : prv_greatest_loss(m, 0) * 1.1;
                against(m, &l, -reach, reach, length, what);
                /* All knots on one side. */
                against(m, &l, 0.1 * reach, reach, 100, what);
                against(m, &l, -reach, -0.1 * reach, 100, what);
                prv_mechanism_free(base);
                prv_mechanism_free(m);
            }
}

static void mixtures(void)
{
    static const double noises[] = {0.1, 1.0, 30.0};
    static const double sensitivities[][4] = {{0.0, 1.0}, {2.0, 0.0, 1.0}, {1.0, 0.5}, {0.0, 1.0, 5.0, 0.25}};
    static const double probabilities[][4] = {{0.75, 0.25},
                                              {0x1p-50, 1.0 - 0x1p-10 - 0x1p-50, 0x1p-10},
                                              {0.5, 0.5},
                                              {0.75, 0.125, 0x1p-40, 0.125 - 0x1p-40}};
    static const size_t lengths[] = {2, 3, 2, 4};
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++)
            for (int add = 0; add <= 1; add++) {
                char what[120];
                snprintf(what, sizeof what, "mixture %zu of noise %g, %s", j, noises[i],
                         add ? "add" : "remove");
                prv_mechanism *m = NULL;
                mixture law_m = {lengths[j], {0}, {0}, 0};
                double reach = 0.0;
                for (size_t k = 0; k < lengths[j]; k++) {
                    const double center = sensitivities[j][k] / noises[i];
                    law_m.center[k] = (long double)center;
                    law_m.weight[k] = (long double)probabilities[j][k];
                    reach = fmax(reach, center);
                }
                if (prv_mechanism_gaussian_mixture(noises[i], sensitivities[j], probabilities[j], lengths[j],
                                                   &m) != PRV_OK)
                    abort();
                const law l = {GAUSSIAN, 0.0L, 0.0L, &law_m, add, 0};
                const double top = 0.5 * reach * reach + 12.0 * reach;
                against(m, &l, add ? -top : -fmin(top, 3.0), add ? fmin(top, 3.0) : top, 801, what);
                prv_mechanism_free(m);
            }
    /* A group of three is what three independent draws make of it; one record is the subsampled Gaussian. */
    prv_mechanism *group = NULL;
    if (prv_mechanism_group_gaussian(2.0, 0.125, 3, &group) != PRV_OK) abort();
    const long double p = 0.125L, rest = 0.875L;
    const mixture three = {4,
                           {0.0L, 0.5L, 1.0L, 1.5L},
                           {rest * rest * rest, 3.0L * p * rest * rest, 3.0L * p * p * rest, p * p * p},
                           0};
    const law of_three = {GAUSSIAN, 0.0L, 0.0L, &three, 0, 0}, of_one = {GAUSSIAN, 0.5L, p, NULL, 0, 0};
    against(group, &of_three, -1.0, 12.0, 801, "a group of three");
    prv_mechanism_free(group);
    /* Each member of a group enters one more sample by itself, in whatever order, also where the group always
     * did. */
    static const double again[][2] = {{0.25, 0.5}, {1.0, 0.125},   {0.125, 1.0},
                                      {0.3, 0.7},  {1e-3, 0.9999}, {1.0 - 0x1p-52, 1.0 - 0x1p-50}};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        for (int changed = 0; changed <= 1; changed++) {
            prv_mechanism *base = NULL, *sampled = NULL;
            if (prv_mechanism_group_gaussian(changed ? 8.0 : 2.0, again[i][0], 3, &base) != PRV_OK) abort();
            if (prv_mechanism_poisson_subsampled(base, again[i][1], &group) != PRV_OK) abort();
            if (changed && prv_mechanism_scaled(group, PRV_NOISE_SCALE, 0.25, &sampled) != PRV_OK) abort();
            const long double a = (long double)again[i][0], b = (long double)again[i][1], t = a * b;
            const long double not_a = 1.0L - a, not_b = 1.0L - b, r = not_a + a * not_b;
            const mixture drawn = {
                4, {0.0L, 0.5L, 1.0L, 1.5L}, {r * r * r, 3.0L * t * r * r, 3.0L * t * t * r, t * t * t}, 0};
            const law of_drawn = {GAUSSIAN, 0.0L, 0.0L, &drawn, 0, 0};
            const double lowest = i + 1 < sizeof again / sizeof *again ? -1.0 : -8.0;
            against(changed ? sampled : group, &of_drawn, lowest, 12.0, 801,
                    "a group of three sampled again");
            prv_mechanism_free(base);
            prv_mechanism_free(group);
            prv_mechanism_free(sampled);
        }
    if (prv_mechanism_group_gaussian(2.0, 0.125, 1, &group) != PRV_OK) abort();
    against(group, &of_one, -1.0, 12.0, 801, "a group of one");
    prv_mechanism_free(group);
    /* A record replaced in a Poisson sample: two mixtures, mirrored. */
    prv_mechanism *plain = subsampled(0, 0.5, 0.125), *pair = NULL;
    if (prv_mechanism_replaced(plain, &pair) != PRV_OK) abort();
    const mixture mirrored = {2, {0.0L, 2.0L}, {0.875L, 0.125L}, 1};
    const law replaced = {GAUSSIAN, 0.0L, 0.0L, &mirrored, 0, 0};
    against(pair, &replaced, -20.0, 40.0, 801, "a record replaced in a Poisson sample");
    check(prv_is_symmetric(pair), "... the same pair in both directions");
    prv_mechanism_free(plain);
    prv_mechanism_free(pair);
}

/* Cells of a truncated Poisson sample are those of its parts, in the ratio of their probabilities. */
static void choices(void)
{
    prv_mechanism *m = NULL;
    if (prv_mechanism_truncated_poisson_gaussian(2.0, 0.125, 100, 15, &m) != PRV_OK) abort();
    check(fabs(m->part_weight[0] + m->part_weight[1] - 1.0) <= U, "weights of a choice sum to 1");
    for (int add = 0; add <= 1; add++) {
        prv_cells c[3];
        for (int j = 0; j < 3; j++) {
            if (prv_cells_new(401, &c[j]) != PRV_OK) abort();
            for (size_t i = 0; i < 401; i++) c[j].knots[i] = 0.01 * ((double)i - (add ? 300.0 : 100.0));
            const prv_mechanism *of = j == 2 ? m : m->part[j];
            if (prv_cells_compute(of, add, PRV_DOMINATING, &c[j]) != PRV_OK) abort();
        }
        int same = 1;
        for (size_t i = 0; i < 402; i++) {
            const double mass = m->part_weight[0] * c[0].mass[i] + m->part_weight[1] * c[1].mass[i];
            same = same && fabs(c[2].mass[i] - mass) <= 4.0 * U * mass;
        }
        check(same, "a choice, %s: masses are those of its parts", add ? "add" : "remove");
        ordered(&c[2], "a choice");
        check(c[2].tail_error >= fmax(c[0].tail_error, c[1].tail_error) + m->part_weight_error,
              "... and so is the error");
        for (int j = 0; j < 3; j++) prv_cells_free(&c[j]);
    }
    prv_mechanism_free(m);
}

/* Single cells deep in both tails keep their own relative accuracy. */
static void deep_tails(void)
{
    prv_mechanism *m = subsampled(0, 1.0, 1.0);
    static const double width = 0.25;
    for (int up = 0; up <= 1; up++) {
        double worst = 0.0, worst_relative = 0.0, least = 1.0;
        for (double z = 1.0; z <= 37.0; z += 0.5) {
            prv_cells c;
            if (prv_cells_new(2, &c) != PRV_OK) abort();
            c.knots[0] = (up ? z : -z) + 0.5;
            c.knots[1] = c.knots[0] + width;
            if (prv_cells_compute(m, 0, PRV_DOMINATING, &c) != PRV_OK) abort();
            const tails a = truth(0, (long double)c.knots[0], 1.0L, 1.0L, 0);
            const tails b = truth(0, (long double)c.knots[1], 1.0L, 1.0L, 0);
            const long double q = cell_of(a.upper_q, b.upper_q, a.lower_q, b.lower_q);
            const long double p = cell_of(a.upper_p, b.upper_p, a.lower_p, b.lower_p) *
                                  expl((long double)c.knots[0]);
            worst = fmax(worst, fabs((double)((long double)c.mass[1] / q - 1.0L)) / (1.0 + z));
            /* Where e^-z^2/2 of P leaves the normal range nothing is promised. */
            if (p / expl((long double)c.knots[0]) > 1e-290L)
                worst_relative = fmax(worst_relative,
                                      fabs((double)((long double)c.relative[1] / p - 1.0L)) / (1.0 + z));
            least = fmin(least, (double)q);
            prv_cells_free(&c);
        }
        const double allowed = 100.0 * U;
        check(least < 1e-290 && worst < allowed,
              "Gaussian %s tail down to %.1g: masses within %.1f u (1 + z)", up ? "upper" : "lower", least,
              worst / U);
        check(worst_relative < allowed, "Gaussian %s tail: relative masses within %.1f u (1 + z)",
              up ? "upper" : "lower", worst_relative / U);
    }
    prv_mechanism_free(m);
}

/* Sampling with probability 1 is the base mechanism, bit for bit, in both directions. */
static void no_sampling(void)
{
    for (int is_laplace = 0; is_laplace <= 1; is_laplace++) {
        prv_mechanism *base = NULL, *m = subsampled(is_laplace, 0.7, 1.0);
        if ((is_laplace ? prv_mechanism_laplace(0.7, 1.0, &base) : prv_mechanism_gaussian(0.7, &base)) !=
            PRV_OK)
            abort();
        prv_cells c[3];
        for (int j = 0; j < 3; j++) {
            if (prv_cells_new(501, &c[j]) != PRV_OK) abort();
            for (size_t i = 0; i < 501; i++) c[j].knots[i] = -5.0 + 0.02 * (double)i;
            if (prv_cells_compute(j == 0 ? base : m, j == 2, PRV_DOMINATING, &c[j]) != PRV_OK) abort();
        }
        const size_t bytes = 502 * sizeof(double);
        check(memcmp(c[0].mass, c[1].mass, bytes) == 0 && memcmp(c[0].relative, c[1].relative, bytes) == 0,
              "%s: p = 1 is the base bit for bit", is_laplace ? "Laplace" : "Gaussian");
        check(memcmp(c[1].mass, c[2].mass, bytes) == 0 && memcmp(c[1].relative, c[2].relative, bytes) == 0,
              "%s: both directions are the same bit for bit", is_laplace ? "Laplace" : "Gaussian");
        for (int j = 0; j < 3; j++) prv_cells_free(&c[j]);
        prv_mechanism_free(base);
        prv_mechanism_free(m);
    }
}

/* Masses of discrete losses add up what falls into a cell, atoms on a knot belonging to the cell below. */
static void discrete(void)
{
    prv_mechanism *m = NULL;
    const double losses[] = {-2.0, -1.0, 0.5, 1.0}, q[] = {0.1, 0.2, 0.3, 0.15};
    check(prv_mechanism_table(losses, q, 4, 0.25, &m) == PRV_ERR_TABLE_REVERSE,
          "table: P's masses may not exceed 1");
    const double fair[] = {0.05, 0.1, 0.3, 0.3};
    if (prv_mechanism_table(losses, fair, 4, 0.25, &m) != PRV_OK) abort();
    prv_cells c;
    if (prv_cells_new(3, &c) != PRV_OK) abort();
    c.knots[0] = -1.0;
    c.knots[1] = 0.75;
    c.knots[2] = 1.0;
    if (prv_cells_compute(m, 0, PRV_DOMINATING, &c) != PRV_OK) abort();
    const double masses[] = {0.15, 0.3, 0.3, 0.0};
    int ok = 1;
    for (size_t i = 0; i < 4; i++) ok = ok && fabs(c.mass[i] - masses[i]) <= 4.0 * U;
    check(ok, "table: every atom is in its cell");
    check(fabs(c.relative[1] - 0.3 * exp(-1.5)) <= 8.0 * U &&
              fabs(c.relative[2] - 0.3 * exp(-0.25)) <= 8.0 * U,
          "table: relative masses are the atoms' e^(knot - loss)");
    check(c.infinite_mass == 0.25, "table: the mass at infinity is kept");
    ordered(&c, "table");
    prv_cells_free(&c);
    prv_mechanism_free(m);

    /* Randomized response, subsampled: masses in closed form, both directions. */
    prv_mechanism *base = NULL;
    if (prv_mechanism_approximate_dp(1.0, 0.01, &base) != PRV_OK) abort();
    if (prv_mechanism_poisson_subsampled(base, 0.25, &m) != PRV_OK) abort();
    const long double e = expl(1.0L), high = 0.99L * e / (1.0L + e), low = 0.99L / (1.0L + e);
    const long double mixed_high = 0.25L * high + 0.75L * low, mixed_low = 0.25L * low + 0.75L * high;
    for (int add = 0; add <= 1; add++) {
        if (prv_cells_new(2001, &c) != PRV_OK) abort();
        for (size_t i = 0; i < 2001; i++) c.knots[i] = -2.0 + 0.002 * (double)i;
        if (prv_cells_compute(m, add, PRV_DOMINATING, &c) != PRV_OK) abort();
        ordered(&c, add ? "subsampled randomized response, add" : "subsampled randomized response, remove");
        /* Losses in ascending order, with Q's masses. */
        const long double at[2][3] = {{logl(0.75L), logl(mixed_low / high), logl(mixed_high / low)},
                                      {logl(low / mixed_high), logl(high / mixed_low), -logl(0.75L)}};
        const long double mass[2][3] = {{0.75L * 0.01L, mixed_low, mixed_high}, {low, high, 0.01L}};
        double worst = 0.0;
        long double sum[3] = {0.0L, 0.0L, 0.0L};
        for (size_t i = 1; i < 2001; i++)
            for (int j = 0; j < 3; j++)
                if ((long double)c.knots[i - 1] < at[add][j] && at[add][j] <= (long double)c.knots[i])
                    sum[j] += (long double)c.mass[i];
        for (int j = 0; j < 3; j++) worst = fmax(worst, fabs((double)(sum[j] / mass[add][j] - 1.0L)));
        check(worst <= 16.0 * U, "subsampled randomized response, %s: atoms within %.1f u",
              add ? "add" : "remove", worst / U);
        const double infinite = add ? 0.0 : 0.25 * 0.01;
        check(fabs(c.infinite_mass - infinite) <= 4.0 * U, "... and the mass at infinity");
        prv_cells_free(&c);
    }
    prv_mechanism_free(base);
    prv_mechanism_free(m);

    /* Discrete Gaussian, deep into the tails. */
    if (prv_mechanism_discrete_gaussian(2.0, 1, &m) != PRV_OK) abort();
    long double normaliser = 0.0L;
    for (int x = -200; x <= 200; x++) normaliser += expl(-(long double)(x * x) / 8.0L);
    if (prv_cells_new(140, &c) != PRV_OK) abort();
    for (size_t i = 0; i < 140; i++) c.knots[i] = 0.25 * ((double)i - 70.0);
    if (prv_cells_compute(m, 0, PRV_DOMINATING, &c) != PRV_OK) abort();
    ordered(&c, "discrete Gaussian");
    double worst = 0.0;
    for (size_t i = 1; i < 140; i++) {
        /* Q centred on 1: outcome x has loss (2x - 1)/8, the only one in its cell of width 1/4. */
        const double x = floor(4.0 * c.knots[i] + 0.5);
        const long double q_true = expl(-(long double)((x - 1.0) * (x - 1.0)) / 8.0L) / normaliser;
        worst = fmax(worst, fabs((double)((long double)c.mass[i] / q_true - 1.0L)));
    }
    check(worst <= c.tail_error, "discrete Gaussian: masses within tail_error (worst %.2g)", worst);
    prv_cells_free(&c);
    prv_mechanism_free(m);
}

/* Hundreds of outcomes in each cell. */
static void many_outcomes(void)
{
    prv_mechanism *m = NULL;
    prv_cells c;
    const double scale = 100.0, spacing = 0.0301;
    if (prv_mechanism_discrete_gaussian(scale, 1, &m) != PRV_OK) abort();
    long double normaliser = 0.0L;
    for (int x = -5000; x <= 5000; x++) normaliser += expl(-(long double)(x * x) / 2e4L);
    if (prv_cells_new(13, &c) != PRV_OK) abort();
    for (size_t i = 0; i < 13; i++) c.knots[i] = spacing * ((double)i - 6.0);
    if (prv_cells_compute(m, 0, PRV_DOMINATING, &c) != PRV_OK) abort();
    ordered(&c, "many outcomes in a cell");
    double worst = 0.0;
    for (size_t i = 1; i < 13; i++) {
        long double masses[3] = {0.0L, 0.0L, 0.0L};
        for (int x = -5000; x <= 5000; x++) {
            const long double loss = (2.0L * x - 1.0L) / 2e4L, down = (long double)c.knots[i - 1] - loss;
            if (!(down < 0.0L && loss <= (long double)c.knots[i])) continue;
            const long double q = expl(-(x - 1.0L) * (x - 1.0L) / 2e4L) / normaliser;
            masses[0] += q;
            masses[1] += q * expl(down);
            masses[2] -= q * expm1l(down);
        }
        const double found[3] = {c.mass[i], c.relative[i], c.excess[i]};
        for (int j = 0; j < 3; j++)
            worst = fmax(worst, fabs((double)((long double)found[j] / masses[j] - 1.0L)));
    }
    check(worst <= c.tail_error, "many outcomes in a cell: masses within tail_error (worst %.2g)", worst);
    prv_cells_free(&c);
    prv_mechanism_free(m);
}

/* Losses of samples, and what they say they are off by. */
static void sampled_losses(void)
{
    int held = 1;
    for (int trial = 0; trial < trials_of(20000); trial++) {
        const double p = random_below(2) ? log_uniform(1e-305, 1.0) : uniform(0.0, 1.0);
        const double size = random_below(2) ? log_uniform(1e-9, 700.0) : uniform(700.0, 1400.0);
        const double y = random_below(2) ? size : -size;
        const long double q = (long double)p, growth = q * expm1l((long double)y);
        const long double exact = growth < -0.5L ? logl((1.0L - q) + q * expl((long double)y))
                                                 : log1pl(growth);
        const long double off = fabsl((long double)prv_subsampled_loss(y, p) - exact);
        held = held && off <= (long double)prv_subsampled_loss_error(y, 0.0) * fabsl(exact) + DBL_TRUE_MIN;
    }
    check(held, "losses of samples are off by no more than they say");
}

/* The inverse, within 16 roundings of the loss and of itself. */
static void base_losses(void)
{
    int held = 1;
    for (int trial = 0; trial < trials_of(20000); trial++) {
        const double p = random_below(2) ? log_uniform(DBL_MIN, 1e-280) : log_uniform(1e-280, 0.25);
        const double x = log_uniform(1e-9, 700.0);
        const long double q = (long double)p, exact = log1pl(expm1l((long double)x) / q);
        const long double by_loss = (long double)x * expl((long double)x - exact) / q;
        const long double off = fabsl((long double)prv_base_loss(x, p) - exact);
        held = held && off <= 16.0L * U * (by_loss - logl(q) + fabsl(exact));
    }
    check(held, "losses of bases of samples are within their roundings");
}

/* Those of discrete Laplace noise, quotients of whole numbers and a scale. */
static void losses_of_discrete_noise(void)
{
    int held = 1, ratios = 1;
    for (int trial = 0; trial < 200; trial++) {
        const double scale = log_uniform(0.1, 100.0);
        const int64_t sensitivity = 1 + (int64_t)random_below(40);
        prv_mechanism *m = NULL;
        if (prv_mechanism_discrete_laplace(scale, sensitivity, &m) != PRV_OK) abort();
        const prv_atoms *a = m->atoms[0];
        for (size_t i = 0; i < a->length; i++) {
            const long double exact = (2.0L * (long double)i - (long double)sensitivity) / (long double)scale;
            const long double off = fabsl((long double)a->loss[i] - exact), own = (long double)LDBL_EPSILON;
            held = held && off <= ((long double)a->loss_error + own) * fabsl(exact);
            if (a->q[i] < DBL_MIN || a->p[i] < DBL_MIN) continue;
            const long double rounding = 16.0L * U * (1.0L + (long double)sensitivity / (long double)scale);
            ratios = ratios && fabsl(a->q[i] / (a->p[i] * expl(exact)) - 1.0L) <= rounding + own;
        }
        prv_mechanism_free(m);
    }
    check(held, "losses of discrete Laplace noise are off by no more than they say");
    check(ratios, "... and are the logarithms of the ratios of its masses");
}

int main(void)
{
    static const double noises[] = {0.3, 1.0, 5.0, 100.0};
    static const double probabilities[] = {1.0, 0.9, 0.1, 1e-3, 1e-6};
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++)
        for (size_t j = 0; j < sizeof probabilities / sizeof *probabilities; j++)
            for (int add = 0; add <= 1; add++) {
                const double mu = 1.0 / noises[i], p = probabilities[j];
                const double top = 0.5 * mu * mu + 12.0 * mu;
                const double reach = p < 1.0 && add ? -1.2 * log1p(-p) : fmax(top + log(p), 0.1 * p);
                const double bottom = p < 1.0 && !add ? 1.2 * log1p(-p) : -reach;
                additive(0, noises[i], p, add, fmax(bottom, -reach), reach, 801);
                additive(1, noises[i], p, add, -1.1 * mu, 1.1 * mu, 801);
            }
    /* Probabilities whose quotients (e^x - 1) / p overflow at some of the knots. */
    static const double tiny[] = {1e-290, 1.9e-303, DBL_MIN};
    for (size_t j = 0; j < sizeof tiny / sizeof *tiny; j++)
        for (int add = 0; add <= 1; add++)
            for (int is_laplace = 0; is_laplace <= 1; is_laplace++) {
                additive(is_laplace, 0.335, tiny[j], add, -30.0, 30.0, 801);
                additive(is_laplace, 0.335, tiny[j], add, -2.0 * tiny[j], 2.0 * tiny[j], 801);
            }
    /* Losses of thousands: nothing overflows. */
    for (int add = 0; add <= 1; add++) {
        additive(0, 0.01, 1.0, add, -6500.0, 7500.0, 2001);
        additive(0, 0.01, 0.01, add, add ? -7500.0 : -1.0, add ? 1.0 : 7500.0, 2001);
        additive(1, 0.001, 0.5, add, -1100.0, 1100.0, 2001);
    }
    mixtures();
    folds();
    choices();
    /* The dominating pair of a bounded range, sampled and not. */
    for (int add = 0; add <= 1; add++)
        for (int sampled = 0; sampled <= 1; sampled++) {
            prv_mechanism *range = NULL, *m = NULL;
            if (prv_mechanism_bounded_range(3.0, &range) != PRV_OK) abort();
            if (prv_mechanism_poisson_subsampled(range, sampled ? 0.01 : 1.0, &m) != PRV_OK) abort();
            const law l = {BOUNDED_RANGE, 3.0L, sampled ? (long double)0.01 : 1.0L, NULL, add, 0};
            against(m, &l, -3.3, 3.3, 801, sampled ? "bounded range, sampled" : "bounded range");
            prv_mechanism_free(range);
            prv_mechanism_free(m);
        }
    deep_tails();
    no_sampling();
    discrete();
    if (PRV_LONG_EPSILON < DBL_EPSILON) {
        many_outcomes();
        sampled_losses();
        base_losses();
    }
    losses_of_discrete_noise();
    return summary();
}
