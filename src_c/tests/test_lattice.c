/* The heart of soundness: a dominating lattice's curve is nowhere below, a dominated lattice's nowhere
 * above, the curve of the step itself. Checked against closed forms of the step, and for arbitrary
 * cells against the two extreme pairs that have such cells. */
#include "check.h"

#include "lattices/dominated.h"
#include "lattices/lattice.h"
#include "lattices/tilt.h"

#define U (0.5 * DBL_EPSILON)

/* Both curves are convex and piecewise linear in e^eps between kinks at the atoms, so that atoms, with a
 * few points between, tell all. */
static double worst_epsilon, worst_low, worst_high; /* of the last comparison that failed */

typedef struct atoms {
    size_t length;
    const double *loss, *mass;
    double infinite;
} atoms;

static atoms of_lattice(const prv_lattice *l)
{
    const atoms a = {l->length, l->loss, l->mass, l->infinite_mass};
    return a;
}

/* Sorted points' deltas for one set of atoms, in O(n): sums from the top down. */
static void deltas(const atoms *a, const double *at, size_t points, long double *delta)
{
    long double d = 0.0L, b = 0.0L, here = 0.0L; /* D and B relative to `here` */
    size_t i = a->length;
    int started = 0;
    for (size_t k = points; k-- > 0;) {
        const long double e = (long double)at[k];
        while (i > 0 && (long double)a->loss[i - 1] > e) {
            i--;
            const long double x = (long double)a->loss[i];
            if (started) {
                d -= b * expm1l(x - here);
                b *= expl(x - here);
            }
            b += (long double)a->mass[i];
            here = x;
            started = 1;
        }
        if (started) {
            d -= b * expm1l(e - here);
            b *= expl(e - here);
            here = e;
        }
        delta[k] = d + (long double)a->infinite;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* low(eps + 2a)(1 - a) <= high(eps), the certificate's allowance for cells off by a, at the atoms of both and
 * at random points between. Returns the greatest excess of low, relative to high. */
static double excess_over(const atoms *low, const atoms *high, double a)
{
    const size_t points = 2 * (low->length + high->length) + 2;
    double *at = calloc(points, sizeof *at), *moved = calloc(points, sizeof *moved);
    long double *below = calloc(points, sizeof *below), *above = calloc(points, sizeof *above);
    size_t n = 0;
    for (size_t i = 0; i < low->length; i++) at[n++] = low->loss[i];
    for (size_t i = 0; i < high->length; i++) at[n++] = high->loss[i];
    qsort(at, n, sizeof *at, ascending);
    const size_t atoms_count = n;
    for (size_t i = 0; i + 1 < atoms_count; i++) at[n++] = uniform(at[i], at[i + 1]);
    if (atoms_count > 0) {
        at[n++] = at[0] - 1.0;
        at[n++] = at[atoms_count - 1] + 1.0;
    }
    qsort(at, n, sizeof *at, ascending);
    double worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double reach = fabs(at[i]);
        moved[i] = at[i] + 2.0 * a + 4.0 * U * reach;
    }
    deltas(low, moved, n, below);
    deltas(high, at, n, above);
    for (size_t i = 0; i < n; i++) {
        const long double over = below[i] * (long double)(1.0 - a) - above[i] -
                                 64.0L * (long double)LDBL_EPSILON;
        const double relative = (double)(over / (above[i] + 1e-4000L));
        if (!(over > 0.0L && relative > worst)) continue;
        worst = relative;
        worst_epsilon = at[i];
        worst_low = (double)below[i];
        worst_high = (double)above[i];
    }
    free(at);
    free(moved);
    free(below);
    free(above);
    return worst;
}

/* ---- Closed forms of the step ---------------------------------------------------------------- */

typedef struct pair {
    int is_laplace, add;
    double noise, p;
} pair;

static long double step_delta(const pair *s, long double e)
{
    const long double mu = 1.0L / (long double)s->noise, p = (long double)s->p;
    if (s->add) {
        /* delta_add(e) = 1 - e^e + e^e delta_remove(-e) cancels; the events are {base loss < y} at the
         * base loss of -e: P's lower tail less e^e times the mixture's. */
        const long double ratio = p == 1.0L ? 0.0L : expm1l(-e) / p;
        if (ratio <= -1.0L) return 0.0L;
        const long double y = p == 1.0L ? -e : log1pl(ratio);
        long double lower_p, lower_q;
        if (s->is_laplace) {
            lower_q = y >= mu ? 1.0L : y < -mu ? 0.0L : 0.5L * expl(0.5L * (y - mu));
            lower_p = y >= mu ? 1.0L : y < -mu ? 0.0L : 1.0L - 0.5L * expl(-0.5L * (y + mu));
        } else {
            lower_q = normal_upper(0.5L * mu - y / mu);
            lower_p = normal_upper(-0.5L * mu - y / mu);
        }
        return lower_p - expl(e) * ((1.0L - p) * lower_p + p * lower_q);
    }
    /* (1-p)P + pQ - e^e P = p (Q - e^y P) with e^y = (e^e - 1 + p) / p. */
    const long double ratio = p == 1.0L ? 0.0L : expm1l(e) / p;
    if (ratio <= -1.0L) return -expm1l(e);
    const long double y = p == 1.0L ? e : e > 5000.0L ? e - logl(p) : log1pl(ratio);
    if (s->is_laplace) {
        if (y >= mu) return 0.0L;
        if (y < -mu) return -expm1l(e);
        return p * -expm1l(0.5L * (y - mu));
    }
    const long double zq = y / mu - 0.5L * mu, zp = y / mu + 0.5L * mu;
    const long double reverse = normal_upper(zp);
    return p * (normal_upper(zq) - (reverse > 0.0L ? expl(y + logl(reverse)) : 0.0L));
}

/* The lattices of a step against its curve; allowance as in excess_over, and the closed form's own rounding,
 * which is absolute. */
static void against_closed_form(const pair *s, const prv_cells *cells, const prv_lattice *above,
                                const prv_lattice *below, double *worst_above, double *worst_below)
{
    const size_t n = above->length;
    double *at = calloc(4 * n, sizeof *at);
    double *up = calloc(4 * n, sizeof *up), *down = malloc(4 * n * sizeof *down);
    long double *dominating = calloc(4 * n, sizeof *dominating);
    long double *dominated = calloc(4 * n, sizeof *dominated);
    size_t points = 0;
    for (size_t i = 0; i < n; i++) {
        at[points++] = above->loss[i];
        if (i + 1 < n) {
            at[points++] = 0.5 * (above->loss[i] + above->loss[i + 1]);
            at[points++] = uniform(above->loss[i], above->loss[i + 1]);
        }
        if (i < below->length) at[points++] = below->loss[i];
    }
    qsort(at, points, sizeof *at, ascending);
    const double a = cells->tail_error;
    for (size_t i = 0; i < points; i++) {
        up[i] = at[i] + 2.0 * a;
        down[i] = at[i] - 2.0 * a;
    }
    const atoms high = of_lattice(above), low = of_lattice(below);
    deltas(&high, down, points, dominating);
    deltas(&low, up, points, dominated);
    for (size_t i = 0; i < points; i++) {
        const long double e = (long double)at[i], exact = step_delta(s, e);
        const long double noise = 64.0L * (1.0L + fabsl(e)) * (long double)LDBL_EPSILON;
        const long double over = exact - dominating[i] * (1.0L + (long double)a) - noise;
        const long double under = dominated[i] * (1.0L - (long double)a) - exact - noise;
        if (over > 0.0L) *worst_above = fmax(*worst_above, (double)(over / (exact + 1e-4000L)));
        if (under > 0.0L) {
            *worst_below = fmax(*worst_below, (double)(under / (exact + 1e-4000L)));
            worst_epsilon = at[i];
            worst_low = (double)dominated[i];
            worst_high = (double)exact;
        }
    }
    free(at);
    free(up);
    free(down);
    free(dominating);
    free(dominated);
}

/* ---- Building --------------------------------------------------------------------------------- */

typedef struct built {
    prv_cells cells;
    prv_mesh mesh;
    prv_lattice above, below;
    double *left;
} built;

/* `count` knots on lattice points index[]; targets as given. */
static void build_frame(built *b, size_t count, double offset, double spacing, const int64_t *index)
{
    if (prv_cells_new(count, &b->cells) != PRV_OK || prv_mesh_new(count, &b->mesh) != PRV_OK ||
        prv_lattice_new(count, &b->above) != PRV_OK || prv_lattice_new(count, &b->below) != PRV_OK)
        abort();
    b->left = malloc((count + 1) * sizeof *b->left);
    b->mesh.offset = offset;
    b->mesh.spacing = spacing;
    for (size_t i = 0; i < count; i++) {
        b->mesh.index[i] = index != NULL ? index[i] : (int64_t)i;
        b->mesh.knot[i] = i;
        b->cells.knots[i] = offset + spacing * (double)b->mesh.index[i];
    }
}

/* Excesses of cells that were made by hand. */
static void build_excess(built *b)
{
    for (size_t i = 0; i <= b->cells.length; i++)
        b->cells.excess[i] = b->cells.mass[i] - b->cells.relative[i];
}

static void build_lattices(built *b)
{
    prv_lattice_dominating(&b->cells, &b->mesh, &b->above);
    prv_lattice_dominated(&b->cells, &b->mesh, b->left, &b->below);
}

static void build_free(built *b)
{
    prv_cells_free(&b->cells);
    prv_mesh_free(&b->mesh);
    prv_lattice_free(&b->above);
    prv_lattice_free(&b->below);
    free(b->left);
}

/* Masses not negative, losses on the lattice and increasing, totals at most one; and P's total at most one.
 */
static int is_valid(const prv_lattice *l, double total)
{
    long double sum = (long double)l->infinite_mass;
    for (size_t i = 0; i < l->length; i++) {
        if (!(l->mass[i] >= 0.0 && isfinite(l->mass[i]))) return 0;
        const double at = l->offset + l->spacing * (double)l->index[i];
        if (fabs(l->loss[i] - at) > 4.0 * U * (fabs(l->offset) + fabs(at))) return 0;
        if (i > 0 && !(l->loss[i] > l->loss[i - 1] && l->index[i] > l->index[i - 1])) return 0;
        sum += (long double)l->mass[i];
    }
    return sum <= (long double)(total * (1.0 + 64.0 * U));
}

/* ---- Steps with closed forms ------------------------------------------------------------------ */

typedef struct tally {
    int tried, invalid;
    double above, below;
} tally;

static void run_pair(const pair *s, double spacing, double offset_part, int on_knots, int random_mesh,
                     double tilt, tally *t)
{
    const double mu = 1.0 / s->noise;
    double high = 0.5 * mu * mu + 10.0 * mu, low = -high;
    if (s->is_laplace) high = mu, low = -mu;
    if (s->p < 1.0) {
        const double top = high > 30.0 ? high + log(s->p) : log1p(s->p * expm1(high));
        const double bottom = log1p(s->p * expm1(low));
        high = s->add ? -bottom : top;
        low = s->add ? -top : bottom;
    }
    high += 2.0 * spacing;
    low -= 2.0 * spacing;
    size_t count = (size_t)fmin(ceil((high - low) / spacing) + 2.0, 3000.0);
    const double offset = low + offset_part * spacing;
    int64_t *index = malloc(count * sizeof *index);
    for (size_t i = 0; i < count; i++)
        index[i] = i == 0 ? 0
                          : index[i - 1] +
                                (random_mesh ? 1 + (int64_t)random_below(random_below(3) ? 2 : 30) : 1);
    /* Where 3000 knots do not reach the top they start around the bulk instead. */
    double from = offset;
    if ((double)index[count - 1] * spacing < high - low && !random_mesh)
        from = low + floor(uniform(0.0, (high - low) / spacing - (double)count)) * spacing +
               offset_part * spacing;

    built b;
    build_frame(&b, count, from, spacing, index);
    prv_mechanism *base = NULL, *m = NULL;
    if ((s->is_laplace ? prv_mechanism_laplace(s->noise, 1.0, &base)
                       : prv_mechanism_gaussian(s->noise, &base)) != PRV_OK ||
        prv_mechanism_poisson_subsampled(base, s->p, &m) != PRV_OK ||
        prv_cells_compute(m, s->add, PRV_DOMINATING, &b.cells) != PRV_OK)
        abort();
    b.mesh.on_knots = on_knots;
    b.mesh.tilt = tilt;
    build_lattices(&b);
    double above = 0.0, below = 0.0;
    against_closed_form(s, &b.cells, &b.above, &b.below, &above, &below);
    if (!is_valid(&b.above, 1.0) || !is_valid(&b.below, 1.0)) t->invalid++;
    t->above = fmax(t->above, above);
    t->below = fmax(t->below, below);
    t->tried++;
    if (above > 0.0 || below > 0.0)
        printf("     %s noise %g p %g %s spacing %g (%zu knots from %.17g) on_knots %d random %d tilt %g: "
               "dominating short by %.3g, dominated over by %.3g of delta (at %.17g: %.17g, %.17g)\n",
               s->is_laplace ? "Laplace" : "Gaussian", s->noise, s->p, s->add ? "add" : "remove", spacing,
               count, from, on_knots, random_mesh, tilt, above, below, worst_epsilon, worst_low, worst_high);
    build_free(&b);
    free(index);
    prv_mechanism_free(base);
    prv_mechanism_free(m);
}

/* Every second decade of spacings, which neighbours in the grid of noises and probabilities take in turn. */
static void closed_forms(int is_laplace)
{
    static const double noises[] = {0.05, 0.4, 1.0, 5.0, 200.0};
    static const double probabilities[] = {1.0, 0.7, 0.05, 1e-3, 1e-6};
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 5; j++) {
            tally t = {0, 0, 0.0, 0.0};
            for (int add = 0; add <= 1; add++) {
                const pair s = {is_laplace, add, noises[i], probabilities[j]};
                for (int on_knots = 0; on_knots <= 1; on_knots++)
                    for (int random_mesh = 0; random_mesh <= 1; random_mesh++)
                        for (double spacing = (i + j) % 2 ? 1e-7 : 1e-6; spacing < 11.0; spacing *= 100.0)
                            if (is_drawn())
                                run_pair(&s, spacing * uniform(0.5, 1.0), uniform(0.0, 1.0), on_knots,
                                         random_mesh, random_below(2) ? log_uniform(1e-2, 1e4) : 0.0, &t);
            }
            check(t.invalid == 0 && t.above == 0.0 && t.below == 0.0,
                  "%s noise %g p %g: %d pairs of lattices bracket the curve, masses valid",
                  is_laplace ? "Laplace" : "Gaussian", noises[i], probabilities[j], t.tried);
        }
    }
}

/* ---- Tightness --------------------------------------------------------------------------------- */

/* log M of the step itself from its cells: merged ones lie below it, split ones above, twice as far. */
static double true_log_moment(const built *b, double *scratch)
{
    const prv_cells *c = &b->cells;
    double *mass = scratch + c->length;
    prv_split_cells(c, mass);
    const double above = prv_tilt(c->knots, mass, c->length, b->mesh.tilt, NULL).log_moment;
    size_t n = 0;
    for (size_t i = 1; i < c->length; i++) {
        if (!(c->mass[i] > 0.0 && c->relative[i] > 0.0)) continue;
        scratch[n] = c->knots[i - 1] + log(c->mass[i] / c->relative[i]);
        mass[n++] = c->mass[i];
    }
    return (2.0 * prv_tilt(scratch, mass, n, b->mesh.tilt, NULL).log_moment + above) / 3.0;
}

/* On meshes whose spacing doubles away from 0, merging costs little more than the half of splitting that no
 * choice avoids. Some cells are cut into parts. */
static void many_spacings(void)
{
    static const struct {
        double noise, p, tilt, low, high;
        int add;
    } cases[] = {
        {0.8, 1e-3, 9.2, -5.0, 0.02, 1}, {0.8, 1e-3, 7.1, -0.02, 5.0, 0}, {0.3, 1e-4, 10.0, -12.0, 0.01, 1}};
    for (size_t k = 0; k < 3; k++) {
        const double spacing = 3e-6, p = cases[k].p, edge = cases[k].add ? -log1p(-p) : log1p(-p);
        int64_t at = cases[k].add ? (int64_t)((cases[k].low - edge) / spacing) : 0;
        const int64_t end = cases[k].add ? 0 : (int64_t)((cases[k].high - edge) / spacing);
        int64_t index[2048];
        size_t count = 0, parts = 0, knot[2048];
        while (count < 2048) {
            index[count] = at;
            knot[count] = count + parts;
            count++;
            if (at >= end) break;
            int64_t stride = 4096;
            while (stride > 1 && (at % stride != 0 || at + stride > end ||
                                  20.0 * spacing * (double)stride > fabs(edge + spacing * (double)at)))
                stride /= 2;
            if (stride == 64) parts++;
            at += stride;
        }
        built b;
        build_frame(&b, count, edge, spacing, index);
        prv_cells_free(&b.cells);
        if (prv_cells_new(count + parts, &b.cells) != PRV_OK) abort();
        for (size_t i = 0; i < count; i++) {
            b.mesh.knot[i] = knot[i];
            b.cells.knots[knot[i]] = edge + spacing * (double)index[i];
            if (i > 0 && knot[i] == knot[i - 1] + 2)
                b.cells.knots[knot[i] - 1] = edge + spacing * (double)(index[i] - 32);
        }
        b.left = realloc(b.left, (count + parts + 1) * sizeof *b.left);
        double *scratch = malloc(2 * (count + parts) * sizeof *scratch);
        prv_mechanism *base = NULL, *m = NULL;
        if (prv_mechanism_gaussian(cases[k].noise, &base) != PRV_OK ||
            prv_mechanism_poisson_subsampled(base, p, &m) != PRV_OK ||
            prv_cells_compute(m, cases[k].add, PRV_DOMINATING, &b.cells) != PRV_OK)
            abort();
        b.mesh.tilt = cases[k].tilt;
        build_lattices(&b);
        const double exact = true_log_moment(&b, scratch), tilt = b.mesh.tilt;
        const double above = prv_tilt(b.above.loss, b.above.mass, count, tilt, NULL).log_moment - exact;
        const double below = exact - prv_tilt(b.below.loss, b.below.mass, count, tilt, NULL).log_moment;
        check(above > 0.0 && below > 0.0 && below < 0.7 * above,
              "%zu knots 1 to 4096 steps apart, noise %g %s: merging costs %.2f of splitting", count,
              cases[k].noise, cases[k].add ? "add" : "remove", below / above);
        double worst_above = 0.0, worst_below = 0.0;
        const pair s = {0, cases[k].add, cases[k].noise, p};
        against_closed_form(&s, &b.cells, &b.above, &b.below, &worst_above, &worst_below);
        check(worst_above == 0.0 && worst_below == 0.0, "and both lattices bracket the curve");
        build_free(&b);
        free(scratch);
        prv_mechanism_free(base);
        prv_mechanism_free(m);
    }
}

/* ---- Arbitrary cells --------------------------------------------------------------------------- */

/* Cells of any masses. All pairs that have them lie between two: in the least, every cell is one atom of
 * the cell's ratio; in the greatest, it is split onto its ends, which is what dominates. */
static void random_cells(unsigned kind, tally *t)
{
    const size_t count = 1 + random_below(kind % 4 == 0 ? 4 : 60);
    const double spacing = log_uniform(1e-7, 5.0); /* no spacing above PRV_WIDEST_CELL */
    int64_t *index = malloc(count * sizeof *index);
    int64_t at = (int64_t)random_below(2000) - 1000;
    for (size_t i = 0; i < count; i++) {
        index[i] = at;
        at += kind % 3 == 0 ? 1 : 1 + (int64_t)random_below(random_below(4) ? 3 : 19);
    }
    built b;
    build_frame(&b, count, uniform(-spacing, spacing), spacing, index);
    prv_cells *c = &b.cells;
    long double total = 0.0L;
    for (size_t i = 0; i <= count; i++) {
        const unsigned shape = (unsigned)random_below(6);
        double mass = uniform(0.0, 1.0);
        switch (kind % 7) {
        case 1: mass = shape < 4 ? 0.0 : mass; break;                    /* isolated */
        case 2: mass = pow(10.0, uniform(-300.0, 0.0)); break;           /* any size */
        case 3: mass = shape == 0 ? 1.0 : 1e-18 * mass; break;           /* near-empty between */
        case 4: mass = i + 1 == count || shape == 0 ? mass : 0.0; break; /* only the last */
        case 5: mass = exp(-(double)i * 3.0) * mass; break;              /* steeply falling */
        case 6: mass = exp((double)i * 3.0 - 180.0) * mass; break;       /* steeply rising */
        default: break;
        }
        c->mass[i] = mass;
        total += (long double)mass;
    }
    for (size_t i = 0; i <= count; i++)
        c->mass[i] = total > 0.0L ? (double)((long double)c->mass[i] / total) : 0.0;
    c->infinite_mass = 0.0;
    for (size_t i = 0; i <= count; i++) {
        const double width = i > 0 && i < count ? c->knots[i] - c->knots[i - 1] : 1.0;
        const unsigned place = (unsigned)random_below(5);
        /* Atoms at the very ends of their cells, near them, or anywhere. */
        const double part = place == 0 ? 0.0 : place == 1 ? 1.0 : place == 2 ? 1e-12 : uniform(0.0, 1.0);
        c->relative[i] = fmin(fmax(c->mass[i] * exp(-part * width), c->mass[i] * exp(-width)), c->mass[i]);
    }
    c->tail_error = 32.0 * U * (1.0 + fmax(fabs(c->knots[0]), fabs(c->knots[count - 1])));
    b.mesh.on_knots = (int)random_below(2);
    b.mesh.lone_atoms = random_below(2) > 0;
    b.mesh.tilt = random_below(3) ? log_uniform(1e-3, 1e5) : 0.0;

    /* The least pair, outer cells at their knots' side (relative to knot 0 or the last). */
    double *loss = malloc((count + 1) * sizeof *loss), *mass = malloc((count + 1) * sizeof *mass);
    size_t n = 0;
    for (size_t i = 0; i <= count; i++) {
        if (!(c->mass[i] > 0.0)) continue;
        const double anchor = c->knots[i > 0 ? i - 1 : 0];
        if (c->relative[i] > 0.0) {
            mass[n] = c->mass[i];
            loss[n++] = i == 0 ? anchor - 0.5 : anchor + log(c->mass[i] / c->relative[i]);
        }
    }
    const atoms least = {n, loss, mass, 0.0};
    build_excess(&b);
    build_lattices(&b);
    const atoms above = of_lattice(&b.above), below = of_lattice(&b.below);
    const double over = excess_over(&below, &least, c->tail_error);
    const double short_by = excess_over(&least, &above, c->tail_error);
    if (!is_valid(&b.above, 1.0) || !is_valid(&b.below, 1.0)) t->invalid++;
    if (over > 0.0 || short_by > 0.0 || (t->invalid > 0 && t->tried == t->invalid))
        printf(
            "     kind %u, %zu knots, spacing %g, on_knots %d, tilt %g: dominating short by %.3g, dominated over by "
            "%.3g of delta (at %.17g: %.17g, %.17g)\n",
            kind, count, spacing, b.mesh.on_knots, b.mesh.tilt, short_by, over, worst_epsilon, worst_low,
            worst_high);
    t->above = fmax(t->above, short_by);
    t->below = fmax(t->below, over);
    t->tried++;
    free(loss);
    free(mass);
    free(index);
    build_free(&b);
}

static void arbitrary_cells(void)
{
    static const char *const names[] = {"uniform",       "isolated", "of any size", "nearly empty",
                                        "only the last", "falling",  "rising"};
    for (unsigned kind = 0; kind < 7; kind++) {
        tally t = {0, 0, 0.0, 0.0};
        for (unsigned i = 0; i < 12; i++)
            for (int n = trials_of(100); n-- > 0;) random_cells(kind + 7 * i, &t);
        check(t.invalid == 0, "random cells, %s: masses valid, totals at most 1 (%d of %d not)", names[kind],
              t.invalid, t.tried);
        check(t.above == 0.0, "random cells, %s: %d lattices dominate", names[kind], t.tried);
        check(t.below == 0.0, "random cells, %s: %d lattices are dominated", names[kind], t.tried);
    }
}

/* ---- Discrete losses on and off the lattice ---------------------------------------------------- */

static void discrete_losses(void)
{
    tally t = {0, 0, 0.0, 0.0};
    for (int trial = 0; trial < trials_of(2000); trial++) {
        const size_t n = 1 + random_below(6);
        double loss[8], q[8], total = 0.0, infinite = random_below(3) ? 0.0 : log_uniform(1e-12, 0.3);
        const double spacing = log_uniform(1e-6, 3.0);
        const int on = (int)random_below(2);
        /* A table needs sum q e^-loss <= 1: start with losses and fair masses, then scale. */
        for (size_t i = 0; i < n; i++) {
            const int64_t at = (int64_t)(i * 7) + (int64_t)random_below(6) - 10;
            loss[i] = on ? spacing * (double)at : spacing * ((double)at + uniform(0.05, 0.95));
            q[i] = log_uniform(1e-9, 1.0) * fmin(1.0, exp(loss[i]));
            total += q[i];
        }
        double reverse = 0.0;
        for (size_t i = 0; i < n; i++) {
            q[i] *= (1.0 - infinite) / total;
            reverse += q[i] * exp(-loss[i]);
        }
        if (reverse > 1.0) {
            infinite = 1.0 - (1.0 - infinite) / reverse;
            for (size_t i = 0; i < n; i++) q[i] /= reverse;
        }
        prv_mechanism *m = NULL;
        if (prv_mechanism_table(loss, q, n, infinite, &m) != PRV_OK) {
            t.invalid++;
            continue;
        }
        const size_t count = 64;
        built b;
        build_frame(&b, count, -15.0 * spacing, spacing, NULL);
        if (prv_cells_compute(m, 0, PRV_DOMINATING, &b.cells) != PRV_OK) abort();
        b.mesh.on_knots = on ? 1 : (int)random_below(2);
        b.mesh.lone_atoms = random_below(2) > 0;
        b.mesh.tilt = random_below(2) ? log_uniform(0.1, 1e4) : 0.0;
        build_lattices(&b);
        const atoms exact = {n, loss, q, infinite}, above = of_lattice(&b.above),
                    below = of_lattice(&b.below);
        const double a = b.cells.tail_error;
        t.above = fmax(t.above, excess_over(&exact, &above, a));
        t.below = fmax(t.below, excess_over(&below, &exact, a));
        if (!is_valid(&b.above, 1.0) || !is_valid(&b.below, 1.0)) t.invalid++;
        t.tried++;
        build_free(&b);
        prv_mechanism_free(m);
    }
    check(t.invalid == 0, "%d tables: masses valid", t.tried);
    check(t.above == 0.0, "%d tables: lattices dominate (short by %.2g)", t.tried, t.above);
    check(t.below == 0.0, "%d tables: lattices are dominated (over by %.2g)", t.tried, t.below);
}

/* ---- By hand ------------------------------------------------------------------------------------ */

static void by_hand(void)
{
    built b;
    /* Randomized response of epsilon ln 2 on its own lattice: both lattices are the loss itself. */
    prv_mechanism *m = NULL;
    const double spacing = log(2.0);
    if (prv_mechanism_approximate_dp(spacing, 0.0, &m) != PRV_OK) abort();
    build_frame(&b, 5, -2.0 * spacing, spacing, NULL);
    if (prv_cells_compute(m, 0, PRV_DOMINATING, &b.cells) != PRV_OK) abort();
    b.mesh.on_knots = 1;
    build_lattices(&b);
    const double exact[] = {0.0, 1.0 / 3.0, 0.0, 2.0 / 3.0, 0.0};
    int same_above = b.above.length == 5, same_below = b.below.length == 5;
    for (size_t i = 0; i < 5 && same_above && same_below; i++) {
        same_above = same_above && fabs(b.above.mass[i] - exact[i]) <= 64.0 * U;
        same_below = same_below && fabs(b.below.mass[i] - exact[i]) <= 64.0 * U;
    }
    check(same_above, "randomized response on its lattice: the dominating lattice is exact");
    check(same_below, "randomized response on its lattice: the dominated lattice is exact");
    build_free(&b);
    prv_mechanism_free(m);

    /* One atom of loss 0 in the middle of a cell of width 2 ln 2 splits 1 : 2, since both masses are kept:
     * a + b = 1 and 2a + b/2 = 1. */
    build_frame(&b, 2, -spacing, 2.0 * spacing, NULL);
    b.cells.mass[0] = b.cells.mass[2] = b.cells.relative[0] = b.cells.relative[2] = 0.0;
    b.cells.mass[1] = 1.0;
    b.cells.relative[1] = 0.5; /* P's mass 1 times e^-ln 2 */
    b.cells.tail_error = 32.0 * U;
    build_excess(&b);
    build_lattices(&b);
    check(fabs(b.above.mass[0] - 1.0 / 3.0) <= 4.0 * U && fabs(b.above.mass[1] - 2.0 / 3.0) <= 4.0 * U,
          "an atom between two knots is split in the ratio that keeps both masses");
    int found = 0;
    for (size_t i = 0; i < b.below.length; i++)
        if (fabs(b.below.loss[i]) <= 1e-9 && fabs(b.below.mass[i] - 1.0) <= 1e-9) found = 1;
    check(found, "the dominated lattice puts its target onto that atom");
    /* With targets on knots there is nothing above to go to, and below it loses at most what fits. */
    b.mesh.on_knots = 1;
    build_lattices(&b);
    const atoms below = of_lattice(&b.below);
    const double zero = 0.0, one = 1.0;
    const atoms truth = {1, &zero, &one, 0.0};
    check(excess_over(&below, &truth, b.cells.tail_error) == 0.0, "targets on the knots stay below it");
    build_free(&b);

    /* Everything in the outer cells: the dominating lattice has it at the first knot and at infinity. */
    build_frame(&b, 3, 0.0, 1.0, NULL);
    memset(b.cells.mass, 0, 4 * sizeof(double));
    memset(b.cells.relative, 0, 4 * sizeof(double));
    b.cells.mass[0] = 0.75;
    b.cells.relative[0] = 0.75;
    b.cells.mass[3] = 0.25;
    b.cells.tail_error = 32.0 * U;
    build_excess(&b);
    build_lattices(&b);
    check(b.above.mass[0] == 0.75 && b.above.mass[1] == 0.0 && b.above.mass[2] == 0.0 &&
              b.above.infinite_mass == 0.25,
          "outer cells go to the first knot and to infinity");
    check(b.below.mass[0] + b.below.mass[1] + b.below.mass[2] + b.below.infinite_mass == 0.0,
          "and are dropped from the dominated lattice");
    build_free(&b);
}

int main(void)
{
    by_hand();
    closed_forms(0);
    closed_forms(1);
    many_spacings();
    discrete_losses();
    arbitrary_cells();
    return summary();
}
