#include "lattices/conditional_mean.h"

#include <float.h>
#include <math.h>

#include "numerics/constants.h"
#include "numerics/rounding.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"

/* Of a term relative to the sum of all: what libm's functions are off by; or, where these have 113 bits, the
 * rule, whose nodes and weights below have 26 digits, and which is exact to 1e-23. */
#define WIDE_UNIT fmax(PRV_WIDE_LIBM_UNIT, 0x1p-80)

/* The positive nodes of the Gauss-Legendre rule of 16 points on [-1, 1], and their weights. */
enum { HALF_NODES = 8 };
static const long double nodes[HALF_NODES] = {
    0.095012509837637440185319335L, 0.2816035507792589132304605L,  0.45801677765722738634241944L,
    0.61787624440264374844667176L,  0.75540440835500303389510119L, 0.8656312023878317438804679L,
    0.94457502307323257607798842L,  0.98940093499164993259615417L,
};
static const long double weights[HALF_NODES] = {
    0.18945061045506849628539672L,  0.18260341504492358886676367L,  0.16915651939500253818931208L,
    0.14959598881657673208150173L,  0.12462897125553387205247628L,  0.095158511682492784809925108L,
    0.062253523938647892862843837L, 0.027152459411754094851780572L,
};

typedef struct total {
    long double value, absolute;
} total;

/* One part of the law of the base's loss: y = center + slope * s, s of density e^(-s^2/2) /
 * sqrt(2 pi) or (e^(-s/2) / 4). */
typedef struct part {
    int gaussian;
    long double center, slope, weight;
    long double first, last; /* of s, where the density matters */
} part;

/* log(1 + p (e^y - 1)). */
static long double subsampled_loss(long double y, long double p)
{
    if (p == 1.0L) return y;
    if (y > 700.0L) return y + logl(p) + log1pl((1.0L - p) / p * expl(-y));
    const long double growth = p * expm1l(y);
    return growth < -0.5L ? logl((1.0L - p) + p * expl(y)) : log1pl(growth); /* 1 + growth would cancel */
}

static long double density(const part *f, long double s)
{
    return f->gaussian ? PRV_INV_SQRT_2PI_LONG * expl(-0.5L * s * s) : 0.25L * expl(-0.5L * s);
}

static void add_panel(const part *f, long double p, long double from, long double width, total *sum)
{
    const long double half = 0.5L * width, middle = from + half;
    for (int i = 0; i < 2 * HALF_NODES; i++) {
        const long double s = middle + (i % 2 == 0 ? half : -half) * nodes[i / 2];
        const long double term = f->weight * half * weights[i / 2] * density(f, s) *
                                 subsampled_loss(f->center + f->slope * s, p);
        sum->value += term;
        sum->absolute += fabsl(term);
    }
}

/* The part's integral of the subsampled loss over base losses in (low, high]. The loss has its
 * only singularities at log((1-p)/p) + i pi (2j + 1): panels stay as far from them as makes 16
 * points exact to about 1e-23, which is an even width near them and a growing one away from
 * them. */
static void integrate(const part *f, long double p, long double low, long double high, total *sum)
{
    const long double a = (low - f->center) / f->slope, b = (high - f->center) / f->slope;
    long double s = fmaxl(f->first, fminl(a, b));
    const long double end = fminl(f->last, fmaxl(a, b));
    const long double pole = p < 1.0L ? (logl((1.0L - p) / p) - f->center) / f->slope : -HUGE_VALL;
    const long double least = 0.75L * PRV_PI_LONG / fabsl(f->slope);
    while (s < end) {
        const long double distance = pole > s ? 0.5L * (pole - s) : s - pole;
        long double width = fminl(fmaxl(distance, least), 2.0L);
        /* No sliver at the end, and no endless loop where s + width rounds to s. */
        if (end - s < 1.25L * width) width = end - s;
        add_panel(f, p, s, width, sum);
        if (!(s + width > s)) break;
        s += width;
    }
}

static void add_atom(long double mass, long double loss, total *sum)
{
    sum->value += mass * loss;
    sum->absolute += fabsl(mass * loss);
}

/* 'remove' is S(y) = log(1 + p (e^y - 1)) under (1-p) P + p Q, 'add' is -S(y) under P. */
static total additive_noise(const prv_mechanism *m, bool add, double low, double high)
{
    const double q = m->sampling_probability;
    const long double p = (long double)q, mu = (long double)m->mu;
    const long double y_low = (long double)prv_base_loss(add ? -high : low, q);
    const long double y_high = (long double)prv_base_loss(add ? -low : high, q);
    const long double sign = add ? -1.0L : 1.0L;
    total sum = {0.0L, 0.0L};
    for (int of_q = 0; of_q <= 1; of_q++) {
        const long double weight = sign * (add ? (of_q ? 0.0L : 1.0L) : of_q ? p : 1.0L - p);
        if (weight == 0.0L) continue;
        if (m->base == PRV_BASE_GAUSSIAN) {
            const long double center = (of_q ? 0.5L : -0.5L) * mu * mu;
            const part f = {1, center, mu, weight, -13.0L, 13.0L};
            integrate(&f, p, y_low, y_high, &sum);
        } else {
            const long double edge = of_q ? mu : -mu;
            /* A bounded range has no atoms, and its density the mass of 1. */
            const bool atoms = m->base == PRV_BASE_LAPLACE;
            const long double whole = atoms ? weight : weight * 2.0L / -expm1l(-mu);
            const part f = {0, edge, of_q ? -1.0L : 1.0L, whole, 0.0L, fminl(2.0L * mu, 120.0L)};
            integrate(&f, p, y_low, y_high, &sum);
            if (!atoms) continue;
            const long double far = 0.5L * expl(-mu);
            if (mu > y_low && mu <= y_high)
                add_atom(weight * (of_q ? 0.5L : far), subsampled_loss(mu, p), &sum);
            if (-mu > y_low && -mu <= y_high)
                add_atom(weight * (of_q ? far : 0.5L), subsampled_loss(-mu, p), &sum);
        }
    }
    return sum;
}

/* log sum w e^(c (z - c / 2)). */
static long double log_moment(const prv_components *c, long double z)
{
    long double top = -HUGE_VALL, sum = 0.0L;
    for (size_t i = 0; i < c->length; i++) {
        const long double center = (long double)c->center[i], t = center * (z - 0.5L * center);
        top = fmaxl(top, t);
        sum += (long double)c->weight[i] * expm1l(t);
    }
    if (top < 30.0L && sum > -0.5L) return log1pl(sum);
    sum = 0.0L;
    for (size_t i = 0; i < c->length; i++) {
        const long double center = (long double)c->center[i];
        sum += (long double)c->weight[i] * expl(center * (z - 0.5L * center) - top);
    }
    return top + logl(sum);
}

static void add_mixture_panel(const prv_gaussian_mixture *m, const prv_components *law, long double sign,
                              long double from, long double width, total *sum)
{
    const long double half = 0.5L * width, middle = from + half;
    for (int i = 0; i < 2 * HALF_NODES; i++) {
        const long double z = middle + (i % 2 == 0 ? half : -half) * nodes[i / 2];
        long double mass = 0.0L;
        for (size_t j = 0; j < law->length; j++) {
            const long double u = z - (long double)law->center[j];
            mass += (long double)law->weight[j] * expl(-0.5L * u * u);
        }
        const long double loss = log_moment(&m->q, z) - log_moment(&m->p, z);
        const long double term = sign * half * weights[i / 2] * PRV_INV_SQRT_2PI_LONG * mass * loss;
        sum->value += term;
        sum->absolute += fabsl(term);
    }
}

/* The integral of the loss over the outcomes of losses in (low, high], where the density matters: within 13
 * of a centre. log sum w e^(c z) is analytic within pi / reach of the real axis, where the terms of the sum
 * lie in a half-plane. Panels are as narrow as above. */
static total mixture(const prv_gaussian_mixture *m, bool add, double low, double high)
{
    const prv_components *law = add ? &m->p : &m->q;
    const long double first = (long double)prv_gaussian_mixture_outcome(m, add ? -high : low);
    const long double last = (long double)prv_gaussian_mixture_outcome(m, add ? -low : high);
    const long double widest = fminl(2.0L, 0.75L * PRV_PI_LONG / (long double)m->q.reach);
    total sum = {0.0L, 0.0L};
    long double z = first;
    for (size_t i = 0; i < law->length; i++) {
        const long double center = (long double)law->center[law == &m->p ? law->length - 1 - i : i];
        z = fmaxl(z, center - 13.0L);
        const long double end = fminl(center + 13.0L, last);
        while (z < end) {
            const long double width = end - z < 1.25L * widest ? end - z : widest;
            add_mixture_panel(m, law, add ? -1.0L : 1.0L, z, width, &sum);
            if (!(z + width > z)) break;
            z += width;
        }
    }
    return sum;
}

/* Of a sample without replacement: 'remove' above 0, 'add' below. */
static total folded(const prv_mechanism *m, double low, double high)
{
    total sum = {0.0L, 0.0L};
    for (int add = 0; add <= 1; add++) {
        const double from = add ? low : fmax(low, 0.0), to = add ? fmin(high, 0.0) : high;
        if (!(from < to)) continue;
        const total side = additive_noise(m, add, from, to);
        sum.value += side.value;
        sum.absolute += side.absolute;
    }
    return sum;
}

static total discrete(const prv_atoms *a, double low, double high)
{
    total sum = {0.0L, 0.0L};
    for (size_t i = 0; i < a->length; i++)
        if (a->loss[i] > low && a->loss[i] <= high)
            add_atom((long double)a->q[i], (long double)a->loss[i], &sum);
    return sum;
}

/* With m and n e^x of a cell (x, x + h] known, E[e^-(Y - x)] there is their ratio, and E[Y] lies
 * between that of one atom (Jensen) and that of two atoms on the cell's ends; where the law is
 * smooth in the cell at two thirds of the way towards the former. */
static total from_cells(const prv_cells *cells, double cdf_error, double *error)
{
    const double *x = cells->knots;
    total sum = {0.0L, 0.0L};
    long double range = 0.0L;
    for (size_t i = 1; i < cells->length; i++) {
        const double m = cells->mass[i], r = cells->relative[i], h = x[i] - x[i - 1];
        if (!(m > 0.0)) continue;
        const double two = (m - r) / -expm1(-h) * h, one = fmin(m * log(m / r), m * h);
        const double inside = (2.0 * one + two) / 3.0;
        add_atom((long double)m, (long double)x[i - 1], &sum);
        add_atom(1.0L, (long double)inside, &sum);
        /* The cdfs' own errors move the ratio; x m sums by parts to the term below. */
        const double cdfs = 4.0 * cdf_error * (1.0 + exp(fmin(x[i], 700.0)));
        range += (long double)fmin(fmax(two - one, 0.0) + cdfs, m * h);
    }
    const double reach = fmax(fabs(x[0]), fabs(x[cells->length - 1]));
    *error = (double)range + 4.0 * cdf_error * reach;
    return sum;
}

bool prv_mean_exists(const prv_mechanism *m)
{
    return m->base != PRV_BASE_TAILS && m->base != PRV_BASE_CURVE && m->base != PRV_BASE_COMBINED &&
           m->base != PRV_BASE_ENCLOSED;
}

static total total_of(const prv_mechanism *m, bool add, const prv_cells *cells, double *error)
{
    const double low = cells->knots[0], high = cells->knots[cells->length - 1];
    if (m->base == PRV_BASE_CHOICE) {
        total sum = {0.0L, 0.0L};
        for (int i = 0; i < 2; i++) {
            const total part_sum = total_of(m->part[i], add, cells, error);
            sum.value += (long double)m->part_weight[i] * part_sum.value;
            sum.absolute += (long double)m->part_weight[i] * part_sum.absolute;
        }
        *error += m->part_weight_error * (double)sum.absolute;
        return sum;
    }
    if (m->base == PRV_BASE_ATOMS) return discrete(m->atoms[add], low, high);
    if (m->base == PRV_BASE_CDFS) return from_cells(cells, prv_absolute_cdf_error(m), error);
    if (m->folded) return folded(m, low, high);
    if (m->base == PRV_BASE_MIXTURE) return mixture(m->mixture, add && !prv_is_symmetric(m), low, high);
    return additive_noise(m, add && m->sampling_probability < 1.0, low, high);
}

prv_mean prv_conditional_mean(const prv_mechanism *m, bool add, const prv_cells *cells, double outside)
{
    const double low = cells->knots[0], high = cells->knots[cells->length - 1];
    const long double inside = 1.0L - (long double)outside;
    double error = 0.0;
    const total sum = total_of(m, add, cells, &error);
    prv_mean mean = {sum.value / inside, 0.0};
    /* Masses of atoms are doubles; the outermost knots are rounded where the mass beyond them
     * begins. */
    const bool wide = m->mu > 0.0; /* of additive noise, and a bounded range */
    /* A term is a product of ten or so factors, whose densities are off by (2 + s^2 / 2) WIDE_UNIT, s < 40,
     * and of a loss. Of log(1 + g), g = p (e^y - 1) off by PRV_WIDE_LIBM_EXPM1_ERROR(y) of itself, the
     * relative error is no more than that. */
    const double unit = wide ? 1024.0 * WIDE_UNIT : 4.0 * DBL_EPSILON;
    error += 2.0 * m->density_error * (1.0 + (double)sum.absolute); /* masses, and losses: cells.c */
    mean.error = (error + unit * (double)sum.absolute) / (double)inside +
                 4.0 * DBL_EPSILON * (double)fabsl(mean.value) +
                 1e-12 * fmin(outside, 1.0) * fmin(fmax(fabs(low), fabs(high)), 1e300);
    return mean;
}
