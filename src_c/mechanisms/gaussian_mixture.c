#include "mechanisms/gaussian_mixture.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/vector_math.h"

/* Normal tails beyond this are below the smallest double. */
#define FARTHEST 40.0

/* ---- Construction ------------------------------------------------------------------------- */

typedef struct component {
    double center, weight;
} component;

static int by_center(const void *a, const void *b)
{
    const double x = ((const component *)a)->center, y = ((const component *)b)->center;
    return (x > y) - (x < y);
}

/* The two arrays share one block. */
static prv_status components_new(size_t length, prv_components *c)
{
    memset(c, 0, sizeof *c);
    c->center = prv_allocate(2 * length, sizeof *c->center);
    if (c->center == NULL) return PRV_ERR_MEMORY;
    c->weight = c->center + length;
    c->length = length;
    return PRV_OK;
}

/* Sorts, merges and normalises. `sorted` is scratch of `length`. */
static prv_status components_of(const double *centers, const double *weights, size_t length,
                                component *sorted, prv_components *c)
{
    size_t n = 0, distinct = 0;
    long double sum = 0.0L;
    for (size_t i = 0; i < length; i++) {
        if (!(weights[i] > 0.0)) continue;
        sorted[n++] = (component){centers[i], weights[i]};
        sum += (long double)weights[i];
    }
    qsort(sorted, n, sizeof *sorted, by_center);
    const prv_status status = components_new(n, c);
    if (status != PRV_OK) return status;
    for (size_t i = 0; i < n; i++) {
        const double weight = (double)((long double)sorted[i].weight / sum);
        if (distinct > 0 && c->center[distinct - 1] == sorted[i].center) {
            c->weight[distinct - 1] += weight;
        } else {
            c->center[distinct] = sorted[i].center;
            c->weight[distinct++] = weight;
        }
    }
    c->length = distinct;
    c->reach = c->center[distinct - 1];
    return PRV_OK;
}

static prv_status components_mirrored(const prv_components *from, prv_components *c)
{
    const prv_status status = components_new(from->length, c);
    if (status != PRV_OK) return status;
    for (size_t i = 0; i < from->length; i++) {
        c->center[i] = 0.0 - from->center[i];
        c->weight[i] = from->weight[i];
    }
    c->reach = from->reach;
    return PRV_OK;
}

static prv_status standard_normal(prv_components *c)
{
    const prv_status status = components_new(1, c);
    if (status != PRV_OK) return status;
    c->center[0] = 0.0;
    c->weight[0] = 1.0;
    return PRV_OK;
}

prv_status prv_gaussian_mixture_new(const double *centers, const double *weights, size_t length,
                                    bool mirrored, prv_gaussian_mixture **mixture)
{
    prv_gaussian_mixture *m = prv_allocate(1, sizeof *m);
    component *sorted = prv_allocate(length, sizeof *sorted);
    prv_status status = m != NULL && sorted != NULL ? PRV_OK : PRV_ERR_MEMORY;
    if (m != NULL) memset(m, 0, sizeof *m);
    if (status != PRV_OK) goto done;
    status = components_of(centers, weights, length, sorted, &m->q);
    if (status != PRV_OK) goto done;
    status = mirrored ? components_mirrored(&m->q, &m->p) : standard_normal(&m->p);
    if (status != PRV_OK) goto done;
    m->mirrored = mirrored;
    m->lowest_loss = -HUGE_VAL;
    if (!mirrored && m->q.center[0] == 0.0) {
        /* The logarithm of the weight at 0, which is near 1 if sampling is rare. */
        double others = 0.0;
        for (size_t i = m->q.length; i-- > 1;) others += m->q.weight[i];
        m->lowest_loss = others < 0.5 ? log1p(-others) : log(m->q.weight[0]);
    }
    *mixture = m;
done:
    prv_release(sorted);
    if (status != PRV_OK) prv_gaussian_mixture_free(m);
    return status;
}

static prv_status copy_components(const prv_components *c, prv_components *copy)
{
    const prv_status status = components_new(c->length, copy);
    if (status != PRV_OK) return status;
    memcpy(copy->center, c->center, c->length * sizeof *c->center);
    memcpy(copy->weight, c->weight, c->length * sizeof *c->weight);
    copy->reach = c->reach;
    return PRV_OK;
}

prv_status prv_gaussian_mixture_copy(const prv_gaussian_mixture *mixture, prv_gaussian_mixture **copy)
{
    prv_gaussian_mixture *m = prv_allocate(1, sizeof *m);
    if (m == NULL) return PRV_ERR_MEMORY;
    *m = *mixture;
    m->q.center = m->p.center = NULL;
    prv_status status = copy_components(&mixture->q, &m->q);
    if (status == PRV_OK) status = copy_components(&mixture->p, &m->p);
    if (status != PRV_OK) {
        prv_gaussian_mixture_free(m);
        return status;
    }
    *copy = m;
    return PRV_OK;
}

void prv_gaussian_mixture_free(prv_gaussian_mixture *m)
{
    if (m == NULL) return;
    prv_release(m->q.center);
    prv_release(m->p.center);
    prv_release(m);
}

/* ---- The loss and its inverse ------------------------------------------------------------- */

/* Terms are computed so many components at once, and then summed in order. */
enum { AT_ONCE = 32 };

/* With t = c (z - c / 2) below 30: w (e^t - 1) and w c e^t. */
PRV_VECTOR static void near_terms(const double *restrict center, const double *restrict weight, size_t length,
                                  double z, double *restrict term, double *restrict moment)
{
    for (size_t i = 0; i < length; i++) {
        const double t = center[i] * (z - 0.5 * center[i]);
        const double e = prv_vm_expm1_near(prv_vm_max(t, -64.0));
        term[i] = weight[i] * e;
        moment[i] = weight[i] * center[i] * (1.0 + e);
    }
}

/* w e^(t - top), t as above. */
PRV_VECTOR static void far_terms(const double *restrict center, const double *restrict weight, size_t length,
                                 double z, double top, double *restrict term)
{
    for (size_t i = 0; i < length; i++) {
        const double t = center[i] * (z - 0.5 * center[i]) - top;
        const double e = prv_vm_exp_near(prv_vm_max(t, -700.0));
        term[i] = t > -700.0 ? weight[i] * e : 0.0;
    }
}

static size_t at_once(const prv_components *c, size_t first)
{
    return c->length - first < AT_ONCE ? c->length - first : AT_ONCE;
}

/* log sum w e^(c (z - c / 2)) and its derivative, the mean of the centres given z. */
static double log_moment(const prv_components *c, double z, double *slope)
{
    if (c->reach == 0.0) {
        *slope = 0.0;
        return 0.0;
    }
    double term[AT_ONCE], part[AT_ONCE], top = -HUGE_VAL;
    for (size_t i = 0; i < c->length; i++) {
        const double t = c->center[i] * (z - 0.5 * c->center[i]);
        if (t > top) top = t;
    }
    if (top < 30.0) {
        /* The sum of differences from 1 keeps the digits of rare components. */
        double sum = 0.0, moment = 0.0;
        for (size_t first = 0; first < c->length; first += AT_ONCE) {
            const size_t n = at_once(c, first);
            near_terms(c->center + first, c->weight + first, n, z, term, part);
            for (size_t i = 0; i < n; i++) {
                sum += term[i];
                moment += part[i];
            }
        }
        if (sum > -0.5) {
            *slope = moment / (1.0 + sum);
            return log1p(sum);
        }
    }
    double sum = 0.0, moment = 0.0;
    for (size_t first = 0; first < c->length; first += AT_ONCE) {
        const size_t n = at_once(c, first);
        far_terms(c->center + first, c->weight + first, n, z, top, term);
        for (size_t i = 0; i < n; i++) {
            sum += term[i];
            moment += term[i] * c->center[first + i];
        }
    }
    *slope = moment / sum;
    return top + log(sum);
}

static double loss_and_slope(const prv_gaussian_mixture *m, double z, double *slope)
{
    double slope_q, slope_p;
    const double q = log_moment(&m->q, z, &slope_q), p = log_moment(&m->p, z, &slope_p);
    *slope = slope_q - slope_p;
    return q - p;
}

double prv_gaussian_mixture_loss(const prv_gaussian_mixture *m, double z)
{
    double slope;
    return loss_and_slope(m, z, &slope);
}

/* Finds outcomes of increasing losses, each from the one before. */
typedef struct inverter {
    const prv_gaussian_mixture *mixture;
    double low, high;       /* outcomes beyond which tails underflow */
    double lowest, highest; /* losses of these two */
    double at, loss,
        slope; /* the outcome that was found last, its loss, and the derivative of the loss there */
} inverter;

static inverter inverter_new(const prv_gaussian_mixture *m)
{
    inverter v;
    v.mixture = m;
    v.low = -FARTHEST - m->p.reach;
    v.high = FARTHEST + m->q.reach;
    /* No outcome has a loss at or below the edge of the support, however flat the loss is above it. */
    v.lowest = fmax(prv_gaussian_mixture_loss(m, v.low), m->lowest_loss);
    v.highest = prv_gaussian_mixture_loss(m, v.high);
    v.at = 0.0;
    v.loss = loss_and_slope(m, 0.0, &v.slope);
    return v;
}

/* The outcome of loss x, by Newton's method between ends that close in; -+infinity beyond the ends. The
 * search stops when the rounding of z explains the difference. */
static double outcome(inverter *v, double x)
{
    if (!(x > v->lowest)) return -HUGE_VAL;
    if (!(x < v->highest)) return HUGE_VAL;
    double low = v->low, high = v->high, z = v->at, loss = v->loss, slope = v->slope;
    for (int i = 0; i < 200; i++) {
        const double excess = loss - x;
        if (fabs(excess) <= DBL_EPSILON * (fabs(x) + slope * (fabs(z) + v->mixture->q.reach))) break;
        if (excess > 0.0)
            high = z;
        else
            low = z;
        double next = z - excess / slope;
        if (!(next > low && next < high)) next = low + 0.5 * (high - low);
        if (!(next > low && next < high)) break;
        z = next;
        loss = loss_and_slope(v->mixture, z, &slope);
    }
    v->at = z;
    v->loss = loss;
    v->slope = slope;
    return z;
}

double prv_gaussian_mixture_outcome(const prv_gaussian_mixture *m, double loss)
{
    inverter v = inverter_new(m);
    return outcome(&v, loss);
}

/* ---- Masses ------------------------------------------------------------------------------- */

enum { KNOTS_AT_ONCE = 256 }; /* knots between two questions to the caller whether to go on */

/* The smaller tails of N(0, 1) at z - c: +T for the upper tail T, or minus the lower one. z is finite. */
PRV_VECTOR static void smaller_tails(const double *restrict center, size_t length, double z,
                                     double *restrict tail)
{
    for (size_t i = 0; i < length; i++) {
        const double u = z - center[i];
        tail[i] = copysign(PRV_INV_SQRT_2PI * prv_vm_normal_density_exponent(u) * prv_vm_mills(fabs(u)), u);
    }
}

/* The mass between z and the previous outcome, whose tails `before` are replaced by those at z. */
static double mass_up_to(const prv_components *c, double z, double *before)
{
    double mass = 0.0, tail[AT_ONCE];
    for (size_t first = 0; first < c->length; first += AT_ONCE) {
        const size_t n = at_once(c, first);
        if (isfinite(z)) smaller_tails(c->center + first, n, z, tail);
        for (size_t i = 0; i < n; i++) {
            const double at = isfinite(z) ? tail[i] : z > 0.0 ? 0.0 : -0.0, last = before[first + i];
            mass += c->weight[first + i] * (last - at + (signbit(last) && !signbit(at) ? 1.0 : 0.0));
            before[first + i] = at;
        }
    }
    return mass > 0.0 ? mass : 0.0;
}

/* Q's densities at z over its constant, by component. */
PRV_VECTOR static void density_terms(const double *restrict center, const double *restrict weight,
                                     size_t length, double z, double *restrict term)
{
    for (size_t i = 0; i < length; i++) term[i] = weight[i] * prv_vm_normal_density_exponent(z - center[i]);
}

static double density_at(const prv_components *c, double z)
{
    double density = 0.0, term[AT_ONCE];
    for (size_t first = 0; first < c->length; first += AT_ONCE) {
        const size_t n = at_once(c, first);
        density_terms(c->center + first, c->weight + first, n, z, term);
        for (size_t i = 0; i < n; i++) density += term[i];
    }
    return density;
}

prv_status prv_gaussian_mixture_masses(const prv_gaussian_mixture *m, const double *x, size_t length,
                                       const prv_options *options, double *mass_q, double *mass_p)
{
    double *before_q = prv_allocate(m->q.length + m->p.length, sizeof *before_q);
    if (before_q == NULL) return PRV_ERR_MEMORY;
    double *before_p = before_q + m->q.length;
    for (size_t i = 0; i < m->q.length + m->p.length; i++) before_q[i] = -0.0;
    inverter v = inverter_new(m);
    prv_status status = PRV_OK;
    for (size_t i = 0; i <= length; i++) {
        if (i % KNOTS_AT_ONCE == 0) status = prv_check_interrupt(options);
        if (status != PRV_OK) goto done;
        const double z = i < length ? outcome(&v, x[i]) : HUGE_VAL;
        mass_q[i] = mass_up_to(&m->q, z, before_q);
        mass_p[i] = mass_up_to(&m->p, z, before_p);
    }
done:
    prv_release(before_q);
    return status;
}

/* With phi the density of N(0, 1): Q's density at z is phi(z) sum q e^(a (z - a / 2)), P's upper tail
 * phi(z) sum p e^(b (z - b / 2)) mills(z - b), and e^x the ratio of the two sums, so that the product is
 * Q's density times a mean of Mills ratios. If the loss is positive, z is positive too. */
prv_status prv_gaussian_mixture_scaled_tails(const prv_gaussian_mixture *m, const double *x, size_t length,
                                             const prv_options *options, double *scaled)
{
    inverter v = inverter_new(m);
    for (size_t i = 0; i < length; i++) {
        const prv_status status = i % KNOTS_AT_ONCE == 0 ? prv_check_interrupt(options) : PRV_OK;
        if (status != PRV_OK) return status;
        const double z = outcome(&v, x[i]);
        scaled[i] = 0.0;
        if (!isfinite(z)) continue;
        const double density = density_at(&m->q, z);
        double sum = 0.0, mills = 0.0;
        /* P's components are scaled by the first, whose centre is nearest to 0, so that not all of them
         * underflow. */
        const double first = m->p.center[0] * (z - 0.5 * m->p.center[0]);
        for (size_t j = 0; j < m->p.length; j++) {
            const double t = m->p.center[j] * (z - 0.5 * m->p.center[j]) - first;
            const double share = m->p.weight[j] * prv_vm_exp(t);
            sum += share;
            mills += share * prv_vm_mills(fabs(z - m->p.center[j]));
        }
        scaled[i] = PRV_INV_SQRT_2PI * density * (mills / sum);
    }
    return PRV_OK;
}

double prv_gaussian_mixture_error(const prv_gaussian_mixture *m)
{
    return (double)(m->q.length + m->p.length) + 12.0 * m->q.reach * (FARTHEST + m->q.reach);
}
