#include "closed/closed_form.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "mechanisms/support.h"

#define U ((long double)PRV_WIDE_LIBM_UNIT)

/* Sums of more terms take longer than lattices: of values of a smooth curve, and of a table. */
#define MOST_SMOOTH_TERMS 1000
#define MOST_TABLE_TERMS 10000

/* mu^2 of all Gaussian mechanisms together, at least: also where a long double is a double. */
#define LEAST_PRECISION 0x1p-960L

/* Errors of certain losses, nats, beyond which a blur might be more than curves allow (PRV_MOST_BLUR). */
#define MOST_CERTAIN_ERROR (0.25 * PRV_MOST_BLUR)
/* Relative errors of the finite mass, whose squares are left out. */
#define MOST_FINITE_ERROR 1e-3

/* Tables of one composition, before the longest becomes the curve and the others become atoms. */
enum { MOST_TABLES = 4 };

/* A sum of losses that are one of two numbers each. */
typedef struct responses {
    prv_two_losses losses;
    double count;
} responses;

/* What the steps of a direction come to, by kinds. */
typedef struct parts {
    long double precision; /* of the Gaussian: mu^2, summed */
    double gaussians, precision_error;
    bool has_smooth;
    prv_smooth_curve smooth; /* of a mechanism that runs once */
    responses response[MOST_TABLES];
    size_t response_count;
    const prv_mechanism *table[MOST_TABLES]; /* of atoms, of one run each */
    size_t table_count;
    long double log_finite;
    long double certain; /* nats: all losses that are one number each */
    double certain_error;
    double finite_error; /* relative, of the masses that log_finite is of */
} parts;

/* ---- Which steps have a closed form ----------------------------------------------------------- */

/* sensitivity / scale in long double, if this is what `rounded` is; else `rounded`, a product or quotient of
 * doubles as groups and pairs of replaced records have it. *error is relative. */
static long double quotient_of(double sensitivity, double scale, double rounded, double *error)
{
    const long double quotient = (long double)sensitivity / (long double)scale;
    if (scale > 0.0 && fabsl(quotient - (long double)rounded) <= 4.0L * (long double)PRV_UNIT * quotient) {
        *error = (double)U;
        return quotient;
    }
    *error = 4.0 * PRV_UNIT;
    return (long double)rounded;
}

/* Whether the only error of the densities is that of a product of probabilities, which its rest takes away:
 * to 2^-99 of itself, and of 1 minus itself, as it is at most a half. */
static bool is_known_by_rest(const prv_mechanism *m)
{
    return m->sampling_rest != 0.0 && m->scale_error == 0.0 && m->sampling_probability <= 0.5 &&
           m->sampling_probability >= PRV_LEAST_EXACT_PRODUCT;
}

/* mu of Gaussian noise. What the scale is off by counts as an error of densities, too. */
static long double separation_of(const prv_mechanism *m, double *error)
{
    const double scale = m->noise == PRV_NOISE_GAUSSIAN ? m->scale : 0.0;
    const long double mu = quotient_of(1.0, scale, m->mu, error);
    if (m->density_error > 0.0 && !is_known_by_rest(m))
        *error = m->scale_error > 0.0 && *error < PRV_UNIT ? *error + m->scale_error : HUGE_VAL;
    return mu;
}

static bool add_gaussian(const prv_mechanism *m, double count, parts *p)
{
    double error;
    const long double mu = separation_of(m, &error);
    if (!(error <= PRV_MOST_BLUR)) return false;
    p->precision += (long double)count * mu * mu;
    p->precision_error = fmax(p->precision_error, 2.0 * error);
    p->gaussians += 1.0;
    return true;
}

static bool add_response(const prv_two_losses *losses, double count, parts *p)
{
    for (size_t i = 0; i < p->response_count; i++) {
        prv_two_losses *same = &p->response[i].losses;
        if (same->low != losses->low || same->high != losses->high || same->up != losses->up ||
            same->down != losses->down)
            continue;
        p->response[i].count += count;
        same->loss_error = fmax(same->loss_error, losses->loss_error);
        same->odds_error = fmax(same->odds_error, losses->odds_error);
        return true;
    }
    if (p->response_count + p->table_count == MOST_TABLES) return false;
    p->response[p->response_count++] = (responses){*losses, count};
    return true;
}

/* A single atom: a finite loss is certain, and so is that of `count` such steps. */
static bool add_certain_loss(const prv_mechanism *m, bool add, double count, parts *p)
{
    const prv_atoms *a = m->atoms[add];
    if (a->length != 1 || a->mass_error > 0.0 || a->unbounded || !isfinite(count * a->loss[0])) return false;
    const long double loss = (long double)count * (long double)a->loss[0];
    p->certain += loss;
    /* The product is off by U / 2 of itself, and the sum by U / 2 of itself. */
    p->certain_error += count * prv_greatest_loss_error(m, add) +
                        (double)(U * (fabsl(loss) + fabsl(p->certain)));
    /* What is not at infinity. (The atom's own mass may be 1, rounded, although some is.) */
    const long double finite = 1.0L - (long double)a->q_only;
    if (!(finite > 0.0L)) return false;
    p->log_finite += (long double)count * log1pl(-(long double)a->q_only);
    p->finite_error += count * (a->q_only_error / (double)finite) * PRV_SECOND_ORDER;
    return p->certain_error <= MOST_CERTAIN_ERROR && p->finite_error <= MOST_FINITE_ERROR;
}

/* Whether finite losses are one of two numbers, whose masses are known relatively, as those are that are
 * normal doubles. */
static bool has_two_losses(const prv_mechanism *m, bool add)
{
    const prv_atoms *a = m->atoms[add];
    return a->length == 2 && !a->unbounded && a->mass_error == 0.0 && a->q_only_error == 0.0 &&
           a->q[0] >= DBL_MIN && a->q[1] >= DBL_MIN && m->density_error <= PRV_MOST_BLUR;
}

static bool add_atoms(const prv_mechanism *m, bool add, double count, parts *p)
{
    const prv_atoms *a = m->atoms[add];
    const bool without_loss = a->length == 1 && a->loss[0] == 0.0 && a->mass_error == 0.0 && !a->unbounded;
    if ((a->response > 0.0 || without_loss) && a->q_only_error == 0.0 && a->mass_error == 0.0 &&
        m->density_error == 0.0) {
        p->log_finite += (long double)count * log1pl(-(long double)a->q_only);
        if (without_loss) return true;
        double error = a->loss_error;
        long double loss = (long double)a->response;
        if (m->noise == PRV_NOISE_DISCRETE_LAPLACE) loss = quotient_of(1.0, m->scale, a->response, &error);
        const prv_two_losses losses = prv_two_losses_of_response(loss, error);
        return add_response(&losses, count, p);
    }
    if (has_two_losses(m, add)) {
        const prv_two_losses losses = prv_two_losses_of_atoms(a, m->density_error);
        p->log_finite += (long double)count * log1pl(-(long double)a->q_only);
        return add_response(&losses, count, p);
    }
    /* Each run has a table of its own. On a lattice that is exact, lattices are as close, and faster. */
    if (count > 1.0 && prv_mechanism_features(m, add).is_lattice) return false;
    if (count > (double)(MOST_TABLES - p->response_count - p->table_count)) return false;
    for (double run = 0.0; run < count; run++) p->table[p->table_count++] = m;
    return true;
}

/* The curve of a mechanism that runs once. */
static bool add_smooth(const prv_mechanism *m, bool add, parts *p)
{
    prv_smooth_curve c = {.add = add, .probability = 1.0L};
    if (p->has_smooth || m->folded || m->without_replacement) return false;
    if (m->sampling_probability < 1.0) {
        const bool is_known = is_known_by_rest(m) || (m->density_error == 0.0 && m->sampling_rest == 0.0);
        if (!is_known || m->base == PRV_BASE_BOUNDED_RANGE) return false;
        c.sampled = true;
        c.probability = (long double)m->sampling_probability + (long double)m->sampling_rest;
    }
    switch (m->base) {
    case PRV_BASE_GAUSSIAN:
        c.kind = PRV_SMOOTH_GAUSSIAN;
        c.size = separation_of(m, &c.size_error);
        break;
    case PRV_BASE_LAPLACE:
        c.kind = PRV_SMOOTH_LAPLACE;
        c.size = quotient_of(m->sensitivity, m->noise == PRV_NOISE_LAPLACE ? m->scale : 0.0, m->mu,
                             &c.size_error);
        break;
    case PRV_BASE_BOUNDED_RANGE:
        c.kind = PRV_SMOOTH_RANGE;
        c.size = (long double)m->mu;
        break;
    default: return false;
    }
    if (!(c.size > 0.0L)) return false;
    p->smooth = c;
    p->has_smooth = true;
    return true;
}

static bool add_step(const prv_mechanism *m, bool add, double count, parts *p)
{
    if (m->base == PRV_BASE_GAUSSIAN && m->sampling_probability == 1.0 && !m->folded)
        return add_gaussian(m, count, p);
    if (m->base == PRV_BASE_ATOMS) return add_atoms(m, add, count, p) || add_certain_loss(m, add, count, p);
    return count == 1.0 && add_smooth(m, add, p);
}

static bool parts_of(const prv_direction *d, parts *p)
{
    memset(p, 0, sizeof *p);
    for (size_t j = 0; j < d->steps; j++)
        if (!add_step(d->mechanisms[j], d->add != 0, d->counts[j], p)) return false;
    if (!(p->gaussians > 0.0)) return true;
    /* Squares below the normal numbers lose 2^-1075 each, of all counts 2^-1022 at most: of a sum that is not
     * tiny that is less than U. */
    if (p->has_smooth || !(p->precision >= LEAST_PRECISION)) return false;
    p->has_smooth = true;
    /* Counts, squares and products are rounded, and then the sum and its root. */
    p->smooth = (prv_smooth_curve){.kind = PRV_SMOOTH_GAUSSIAN, .size = sqrtl(p->precision)};
    p->smooth.size_error = 0.5 * p->precision_error + (double)U * (4.0 + p->gaussians);
    return true;
}

/* ---- The sum of tables as atoms --------------------------------------------------------------- */

/* Replaces the atoms by their sums with the losses of a table. */
static prv_status add_table(const prv_loss_table *t, prv_closed_form *f)
{
    const size_t length = f->atoms * t->length;
    long double *loss = prv_allocate(2 * length, sizeof *loss);
    if (loss == NULL) return PRV_ERR_MEMORY;
    long double *mass = loss + length, greatest = 0.0L;
    for (size_t i = 0, k = 0; i < f->atoms; i++)
        for (size_t j = 0; j < t->length; j++, k++) {
            loss[k] = f->loss[i] + t->loss[j];
            mass[k] = f->mass[i] * t->mass[j];
            greatest = fmaxl(greatest, fabsl(loss[k]));
        }
    prv_release(f->loss);
    f->loss = loss;
    f->mass = mass;
    f->atoms = length;
    f->mass_error += t->mass_error + (double)U;
    f->loss_error += t->loss_error + (double)(U * greatest);
    f->above += t->above + t->absolute;
    f->below += t->below;
    return PRV_OK;
}

/* The longest table becomes the curve, if there is no other one; all others become atoms. */
static prv_status take_tables(prv_loss_table *tables, size_t count, prv_closed_form *f)
{
    size_t longest = count;
    if (f->smooth.kind == PRV_SMOOTH_NONE)
        for (size_t i = 0; i < count; i++)
            if (longest == count || tables[i].length > tables[longest].length) longest = i;
    size_t terms = 1;
    for (size_t i = 0; i < count; i++) {
        if (i == longest) continue;
        if (tables[i].length == 0 || tables[i].length > MOST_TABLE_TERMS / terms) return PRV_OK;
        terms *= tables[i].length;
    }
    if (f->smooth.kind != PRV_SMOOTH_NONE && terms > MOST_SMOOTH_TERMS) return PRV_OK;
    f->loss = prv_allocate(2, sizeof *f->loss);
    if (f->loss == NULL) return PRV_ERR_MEMORY;
    f->mass = f->loss + 1;
    f->loss[0] = 0.0L;
    f->mass[0] = 1.0L;
    f->atoms = 1;
    for (size_t i = 0; i < count; i++) {
        if (i == longest) continue;
        const prv_status status = add_table(&tables[i], f);
        if (status != PRV_OK) return status;
    }
    if (longest < count) {
        f->table = tables[longest];
        memset(&tables[longest], 0, sizeof tables[longest]);
    }
    f->known = true;
    return PRV_OK;
}

/* Adds to each atom the losses that are certain. */
static void add_certain(long double certain, double error, prv_closed_form *f)
{
    if (!f->known || certain == 0.0L) return;
    long double greatest = 0.0L;
    for (size_t i = 0; i < f->atoms; i++) {
        f->loss[i] += certain;
        greatest = fmaxl(greatest, fabsl(f->loss[i]));
    }
    f->loss_error += error + (double)(U * greatest);
}

prv_status prv_closed_form_new(const prv_direction *direction, double least, prv_closed_form *f)
{
    memset(f, 0, sizeof *f);
    parts p;
    if (direction->steps == 0 || !parts_of(direction, &p)) return PRV_OK;
    prv_loss_table tables[MOST_TABLES];
    memset(tables, 0, sizeof tables);
    size_t count = 0;
    bool known = true;
    prv_status status = PRV_OK;
    for (size_t i = 0; i < p.response_count && known; i++) {
        const responses *r = &p.response[i];
        status = prv_loss_table_of_two(&r->losses, r->count, least, &known, &tables[count++]);
        if (status != PRV_OK) goto done;
    }
    for (size_t i = 0; i < p.table_count && known; i++) {
        status = prv_loss_table_of_atoms(p.table[i]->atoms[direction->add], p.table[i]->density_error, least,
                                         &known, &tables[count++]);
        if (status != PRV_OK) goto done;
    }
    if (!known) goto done;
    if (p.has_smooth) f->smooth = p.smooth;
    f->finite = expl(p.log_finite);
    /* Each logarithm is off by 2 U of itself, each product and sum by U / 2. */
    f->finite_error = (double)(U * (2.0L + fabsl(p.log_finite) * (4.0L + (long double)direction->steps))) +
                      p.finite_error;
    status = take_tables(tables, count, f);
    add_certain(p.certain, p.certain_error, f);
done:
    for (size_t i = 0; i < count; i++) prv_loss_table_free(&tables[i]);
    if (status != PRV_OK || !f->known) {
        prv_closed_form_free(f);
        f->known = false;
    }
    return status;
}

void prv_closed_form_free(prv_closed_form *f)
{
    prv_release(f->loss);
    prv_loss_table_free(&f->table);
    memset(f, 0, sizeof *f);
}

/* ---- Its curve ------------------------------------------------------------------------------- */

prv_closed_value prv_closed_form_at(const prv_closed_form *f, long double epsilon)
{
    prv_closed_value sum = {0.0L, 0.0L, 0.0L};
    for (size_t i = 0; i < f->atoms; i++) {
        if (!(f->mass[i] > 0.0L)) continue; /* it adds nothing, not even where the curve is unknown */
        const long double at = epsilon - f->loss[i],
                          blur = (long double)f->loss_error + U * (fabsl(epsilon) + fabsl(f->loss[i]));
        const prv_closed_value v = f->table.length > 0 ? prv_loss_table_at(&f->table, at, blur)
                                                       : prv_smooth_curve_at(&f->smooth, at, blur);
        sum.delta += f->mass[i] * v.delta;
        sum.fall += f->mass[i] * v.fall;
        sum.error += f->mass[i] * v.error;
    }
    /* Errors of masses, of each product and sum, and what was left out; and then those of errors. */
    const long double relative = (long double)f->mass_error + (long double)f->below +
                                 (long double)f->finite_error + U * ((long double)f->atoms + 4.0L);
    sum.error = PRV_BLURRED * (sum.error + relative * sum.delta + (long double)f->above);
    sum.delta *= f->finite;
    sum.fall *= f->finite;
    sum.error *= f->finite;
    return sum;
}
