#include "composition/jump_law.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

#define LONGEST 2e6 /* masses; more are never worth their work */

/* Tilts that a tail is bounded with, as parts of the one that was guessed: the large ones are for a bulk
 * whose losses are far below epsilon. Any of them gives a bound. */
static const double tilts[] = {0.35, 0.6,  1.0,  1.5,  2.2,  3.2,   5.0,   8.0,
                               13.0, 21.0, 34.0, 55.0, 90.0, 150.0, 250.0, 400.0};

/* ---- Polynomials of lattices ----------------------------------------------------------------- */

/* Masses have to be normal doubles, and products with integers, too: smaller ones are left out from below,
 * and raised to this from above. */
#define LEAST_MASS 1e-290

/* The masses of a lattice from its lowest point with mass on, which is at *lowest; `before` > 0 is a term at
 * exponent 0 of a lattice whose indices are exponents. */
static prv_status polynomial_of(const prv_lattice *y, prv_side side, double before, prv_polynomial *f,
                                int64_t *lowest)
{
    prv_status status = prv_polynomial_new(y->length + 1, f);
    if (status != PRV_OK) return status;
    size_t n = 0;
    *lowest = 0;
    if (before > 0.0) {
        f->at[n] = 0;
        f->weight[n++] = before;
    }
    for (size_t i = 0; i < y->length; i++) {
        double mass = y->mass[i];
        if (mass < LEAST_MASS) {
            if (side == PRV_DOMINATED || !(mass > 0.0)) continue;
            mass = LEAST_MASS;
        }
        if (before > 0.0 && y->index[i] == 0) {
            f->weight[0] += mass;
            continue;
        }
        if (n == 0) *lowest = y->index[i];
        f->at[n] = (size_t)(y->index[i] - *lowest);
        f->weight[n++] = mass;
    }
    f->count = n;
    return n > 0 ? PRV_OK : PRV_ERR_ENGINE;
}

static double sum_of(const prv_lattice *y)
{
    double sum = 0.0;
    for (size_t i = y->length; i-- > 0;) sum += y->mass[i];
    return sum;
}

/* sum of mass e^(least - loss): P's masses times e^least. */
PRV_VECTOR static double relative_sum(const prv_lattice *y, double least)
{
    double sum = 0.0;
    for (size_t i = 0; i < y->length; i++) sum += y->mass[i] * prv_vm_exp(least - y->loss[i]);
    return sum;
}

/* ---- How far sums reach ---------------------------------------------------------------------- */

/* log of f(e^lam), and what it is off by: its terms are positive, each with an exponent, an exponential and a
 * product. */
PRV_VECTOR static double log_moment(const prv_polynomial *f, double lam, double *error)
{
    double sum = 0.0;
    for (size_t a = 0; a < f->count; a++) sum += f->weight[a] * prv_vm_exp(lam * (double)f->at[a]);
    const double reach = lam * (double)f->at[f->count - 1];
    *error = ((double)f->count + 8.0 + reach) * PRV_UNIT;
    const double value = log(sum);
    *error += fabs(value) * PRV_LIBM_ERROR;
    return value;
}

/* The least number of coefficients above which those of f^count sum to at most `lost`, by Chernoff's bound:
 * sum over n >= N of g_n <= f(e^lam)^count e^(-lam N). `lam` is a guess, for one spacing of the lattice. */
static double reach_of(const prv_polynomial *f, double count, double lost, double lam)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < sizeof tilts / sizeof *tilts; i++) {
        const double tilt = tilts[i] * lam;
        if (tilt * (double)f->at[f->count - 1] > 600.0) continue;
        double error;
        const double moment = count * log_moment(f, tilt, &error);
        const double off = count * error + 4.0 * PRV_UNIT * (fabs(moment) + fabs(log(lost)));
        const double n = (moment - log(lost) + off * PRV_SECOND_ORDER) / tilt;
        least = fmin(least, ceil(n * (1.0 + 8.0 * PRV_UNIT)) + 1.0);
    }
    return fmax(fmin(least, count * (double)f->at[f->count - 1] + 1.0), 1.0);
}

/* The least number of jumps that more of `count` runs have with at most the mass `lost`: by Chernoff's bound,
 * at least n jumps have the mass (stay + leave e^theta)^count e^(-theta n) or less, with e^theta = n / mean
 * here. Both sums have `terms` terms. */
static double most_jumps(double stay, double leave, double count, double terms, double lost)
{
    const double mean = count * leave;
    for (double n = floor(mean) + 2.0; n <= count; n += 1.0) {
        const double log_sum = log(stay + n / count), tilted = n * log(n / mean);
        const double off = (count * (terms + 8.0 + 2.0 * fabs(log_sum)) + n * (terms + 8.0) + 4.0 * tilted) *
                           PRV_UNIT;
        if (count * log_sum - tilted + off * PRV_SECOND_ORDER <= log(lost)) return n - 1.0;
    }
    return count;
}

/* ---- Sums from the top down ------------------------------------------------------------------ */

/* Masses become the sums of prv_jump_law. */
static void sum_from_above(size_t length, double spacing, double *masses, double *below)
{
    const double decay = exp(-spacing), rise = -expm1(-spacing);
    double b = 0.0, d = 0.0;
    for (size_t i = length; i-- > 0;) {
        d += rise * b;
        b = masses[i] + decay * b;
        masses[i] = b;
        below[i] = d;
    }
}

/* ---- Composition ----------------------------------------------------------------------------- */

typedef struct power {
    prv_polynomial f;
    double count;
    size_t length;
    double lost, negligible;
    prv_power_error error;
} power;

/* Masses of a power, twice while it is multiplied out, and the sums of prv_jump_law. */
#define BYTES_OF_MASS (5.0 * sizeof(double))

static prv_status plan_power(power *p, double count, const prv_jump_limits *limits, double spacing,
                             prv_jump_law *law)
{
    p->count = count;
    p->lost = p->negligible = limits->lost;
    const double length = reach_of(&p->f, count, limits->lost, limits->tilt * spacing);
    if (!(length < LONGEST)) return PRV_ERR_ENGINE;
    p->length = prv_size_of(length);
    if (length > count * (double)p->f.at[p->f.count - 1]) p->lost = 0.0;
    law->work += prv_positive_power_work(&p->f, count, p->length, limits->lost);
    law->bytes += BYTES_OF_MASS * length;
    return law->work <= limits->work && law->bytes <= limits->bytes ? PRV_OK : PRV_ERR_ENGINE;
}

static void add_powers_error(const power *p, prv_jump_law *law)
{
    law->rounding.relative += p->error.relative;
    law->lost += p->error.absolute;
    if (law->side == PRV_DOMINATING) law->lost += p->lost;
}

/* The powers M^k and R^k are normal numbers, whose roundings are relative, if their logarithms are above
 * this. */
#define LEAST_LOG_POWER (-700.0)

/* The outcomes above the top. With M and R the masses of all others, Q's and P's times e^least, the sets with
 * at least one of them have (M + m)^k - M^k and (R + r)^k - R^k. */
static prv_status set_top(const prv_jump_lattice *y, const prv_jump_mesh *mesh, prv_jump_law *law)
{
    const double k = law->count, top = prv_jump_mesh_top(mesh);
    const double mass = sum_of(&y->bulk) + sum_of(&y->jumps);
    const double relative = relative_sum(&y->bulk, mesh->least) + relative_sum(&y->jumps, mesh->least);
    const double r = y->top_relative * exp(-top);
    if (!(k * log(mass) > LEAST_LOG_POWER && k * log(relative) > LEAST_LOG_POWER)) return PRV_ERR_ENGINE;
    law->top_mass = exp(k * log(mass)) * expm1(k * log1p(y->top_mass / mass));
    law->top_relative = exp(k * log(relative)) * expm1(k * log1p(r / relative));
    /* Each sum has so many terms of a few roundings and of an exponent below 2 top. */
    const double terms = (double)(y->bulk.length + y->jumps.length) + 16.0 + 4.0 * top;
    const double logs = fmax(fabs(log(mass)), fabs(log(relative)));
    const double rises = k * fmax(y->top_mass / mass, r / relative);
    /* A logarithm near 0 is off by what its argument is; e^x - 1 by that part of x and as much of x itself
     * more. */
    law->top_error = ((2.0 * k + 2.0) * (terms + 4.0) + 8.0 * k * logs +
                      8.0 * (1.0 + rises) * (terms + 8.0)) *
                     PRV_UNIT;
    return PRV_OK;
}

static prv_status finish(const power *bulk, const power *jumps, const prv_options *options, prv_jump_law *law)
{
    law->bulks = bulk != NULL ? bulk->length : 1;
    law->jumps = jumps->length;
    law->block = prv_allocate(law->bulks + 2 * law->jumps, sizeof *law->block);
    if (law->block == NULL) return PRV_ERR_MEMORY;
    law->bulk = law->block;
    law->above = law->bulk + law->bulks;
    law->below = law->above + law->jumps;
    law->bulk[0] = 1.0;
    prv_status status = PRV_OK;
    prv_power_error error;
    power p;
    if (bulk != NULL) {
        p = *bulk;
        status = prv_positive_power(&p.f, p.count, p.length, p.negligible, options, law->bulk, &p.error);
        if (status != PRV_OK) return status;
        add_powers_error(&p, law);
    }
    p = *jumps;
    status = prv_positive_power(&p.f, p.count, p.length, p.negligible, options, law->above, &error);
    if (status != PRV_OK) return status;
    p.error = error;
    add_powers_error(&p, law);
    sum_from_above(law->jumps, law->jump_spacing, law->above, law->below);
    /* Each point down has four roundings and those of two constants. Then a product of two sums of `bulks`
     * terms. */
    law->rounding.relative += (8.0 * (double)law->jumps + (double)law->bulks + 16.0) * PRV_UNIT;
    return PRV_OK;
}

/* All of the step on the lattice of the bulk, whose k-th power is that of the jumps here. */
static prv_status compose_together(const prv_jump_lattice *y, const prv_jump_limits *limits,
                                   const prv_options *options, prv_jump_law *law)
{
    power all;
    int64_t lowest;
    memset(&all, 0, sizeof all);
    prv_status status = polynomial_of(&y->bulk, law->side, 0.0, &all.f, &lowest);
    if (status == PRV_OK) status = plan_power(&all, law->count, limits, law->bulk_spacing, law);
    if (status == PRV_OK) {
        law->offset = law->count * ((y->bulk.offset - law->least) + law->bulk_spacing * (double)lowest);
        law->jump_spacing = law->bulk_spacing;
        status = finish(NULL, &all, options, law);
    }
    prv_polynomial_free(&all.f);
    return status;
}

/* -log(relative / mass) from below. */
static double merged_place(const prv_lattice *y, double mass, double least)
{
    const double relative = relative_sum(y, least);
    const double error = 2.0 * ((double)y->length + 16.0) * PRV_UNIT;
    return fmax(-log(relative / mass) - error * PRV_SECOND_ORDER, 0.0);
}

static prv_status compose_apart(const prv_jump_lattice *y, const prv_jump_mesh *mesh,
                                const prv_jump_limits *limits, const prv_options *options, prv_jump_law *law)
{
    power bulk, jumps;
    memset(&bulk, 0, sizeof bulk);
    memset(&jumps, 0, sizeof jumps);
    int64_t lowest, none;
    const bool up = law->side == PRV_DOMINATING;
    const double k = law->count, stay = sum_of(&y->bulk), leave = sum_of(&y->jumps);
    const double place = merged_place(&y->bulk, stay, mesh->least);
    prv_status status = polynomial_of(&y->bulk, law->side, 0.0, &bulk.f, &lowest);
    if (status != PRV_OK) goto done;
    status = polynomial_of(&y->jumps, law->side, stay, &jumps.f, &none);
    if (status != PRV_OK) goto done;
    const double terms = (double)(y->bulk.length + y->jumps.length);
    const double most = up || !(leave > 0.0) ? 0.0 : most_jumps(stay, leave, k, terms, limits->lost);
    if (!up && most < k) law->lost += limits->lost;
    const double bulks = k - most;
    for (size_t a = 0; a < bulk.f.count; a++) bulk.f.weight[a] /= stay;
    status = plan_power(&bulk, bulks, limits, law->bulk_spacing, law);
    if (status == PRV_OK) status = plan_power(&jumps, k, limits, law->jump_spacing, law);
    if (status != PRV_OK) goto done;
    law->offset = bulks * ((y->bulk.offset - law->least) + law->bulk_spacing * (double)lowest) +
                  most * fmin(mesh->carried, place);
    /* Of a dominating law, jumps may count as `carried` less only if that is no more than the bulk's place;
     * there are at most `length` of them. */
    if (up) law->rounding.shift += (double)jumps.length * fmax(mesh->carried - place, 0.0);
    /* The bulk's masses were divided by their sum, which is off by a part of itself. */
    law->rounding.relative += k * (2.0 * (double)y->bulk.length + 4.0) * PRV_UNIT;
    status = finish(&bulk, &jumps, options, law);
done:
    prv_polynomial_free(&bulk.f);
    prv_polynomial_free(&jumps.f);
    return status;
}

prv_status prv_jump_law_new(const prv_jump_lattices *lattices, const prv_jump_mesh *mesh, prv_side side,
                            double count, const prv_jump_limits *limits, const prv_options *options,
                            prv_jump_law *law)
{
    memset(law, 0, sizeof *law);
    const bool up = side == PRV_DOMINATING;
    const prv_jump_lattice *y = up ? &lattices->dominating : &lattices->dominated;
    law->side = side;
    law->count = count;
    law->least = mesh->least;
    law->bulk_spacing = mesh->bulk_spacing;
    law->jump_spacing = mesh->jump_spacing;
    law->rounding.relative = count * lattices->rounding.relative;
    law->rounding.shift = count * lattices->rounding.shift;
    prv_status status = set_top(y, mesh, law);
    if (status != PRV_OK) return status;
    status = mesh->jump_length > 0 ? compose_apart(y, mesh, limits, options, law)
                                   : compose_together(y, limits, options, law);
    if (status != PRV_OK) {
        prv_jump_law_free(law);
        return status;
    }
    /* Places are sums and products of these numbers, each rounded a few times. */
    const double size = count * fabs(law->least) + fabs(law->offset) +
                        (double)law->bulks * law->bulk_spacing + (double)law->jumps * law->jump_spacing;
    law->rounding.shift += 16.0 * PRV_UNIT * size;
    /* Of atoms above the top little is known at larger epsilons, from below, too. */
    law->greatest = up || mesh->on_knots
                        ? count * law->least + prv_jump_mesh_top(mesh) - 4.0 * law->rounding.shift
                        : HUGE_VAL;
    return PRV_OK;
}

void prv_jump_law_free(prv_jump_law *law)
{
    prv_release(law->block);
    law->block = NULL;
}

/* ---- Evaluation ------------------------------------------------------------------------------ */

/* The sums over the bulk at x = b bulk_spacing: of jumps above the rest, as values and as P's part. */
typedef struct sums {
    double value, relative;
} sums;

PRV_VECTOR static sums evaluate(const prv_jump_law *law, double x)
{
    const double h = law->jump_spacing, inverse = 1.0 / h, last = (double)law->jumps;
    sums s = {0.0, 0.0};
    for (size_t b = law->bulks; b-- > 0;) {
        const double rest = x - law->bulk_spacing * (double)b;
        const double guess = rest < 0.0 ? 0.0 : floor(rest * inverse) + 1.0;
        /* The next point is above `rest`, whatever rounding made of the quotient. */
        const double next = h * guess > rest ? guess : guess + 1.0;
        if (!(next < last)) continue;
        const size_t i = (size_t)next;
        const double down = prv_vm_expm1(prv_vm_max(rest - h * next, -700.0));
        s.value += law->bulk[b] * (law->below[i] - law->above[i] * down);
        s.relative += law->bulk[b] * law->above[i] * (1.0 + down);
    }
    return s;
}

prv_jump_value prv_jump_delta(const prv_jump_law *law, double epsilon)
{
    const bool up = law->side == PRV_DOMINATING;
    if (!(epsilon <= law->greatest))
        return up ? (prv_jump_value){1.0, 1.0, 0.0} : (prv_jump_value){0.0, 0.0, 0.0};
    const double shift = law->rounding.shift + 16.0 * PRV_UNIT * fabs(epsilon);
    const double moved = epsilon + (up ? -shift : shift) * PRV_SECOND_ORDER;
    const double t = moved - law->count * law->least;
    const sums s = evaluate(law, t - law->offset);
    const double growth = exp(t), top_relative = growth * law->top_relative;
    const double top = law->top_mass - top_relative;
    /* t is off by part of the shift; the exponential by 2 u more, the products by u. */
    const double top_error = (law->top_error + 8.0 * PRV_UNIT) * (law->top_mass + top_relative) *
                             PRV_SECOND_ORDER;
    /* Below the normal numbers, where P's part far above the bulk lies, roundings are absolute: that of R's
     * or M's part r is multiplied by the derivative of (R + r)^k, at most k, and a few products follow. */
    const double underflown = (2.0 * law->count + 16.0) * 0x1p-1074 * (1.0 + growth);
    const double plain = fmax(s.value + top, 0.0), factor = exp(law->rounding.relative * PRV_SECOND_ORDER);
    prv_jump_value v = {plain, plain, 0.0};
    const double off = (top_error + underflown + law->lost) * PRV_SECOND_ORDER;
    v.delta = up ? prv_above((plain + off) * factor) : prv_below((plain - off) / factor);
    /* What is not a number is no bound. */
    if (isnan(v.delta)) v.delta = up ? 1.0 : 0.0;
    v.delta = fmin(fmax(v.delta, 0.0), 1.0);
    if (plain > 0.0) v.slope = (s.relative + top_relative) / plain;
    return v;
}
