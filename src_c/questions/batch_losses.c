#include "questions/batch_losses.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

/* sum q e^(lam x - top). */
PRV_VECTOR static double sum_tilted(const double *restrict q, const double *restrict loss, size_t length,
                                    double lam, double top)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= length; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += q[i + k] * prv_vm_exp_near(prv_vm_max(lam * loss[i + k] - top, -700.0));
    for (; i < length; i++) sum[0] += q[i] * prv_vm_exp_near(prv_vm_max(lam * loss[i] - top, -700.0));
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* What the logarithm of a sum of so many exponentials may be off by, the greatest exponent being `top`: each
 * exponent that is not negligible beside it, by some u of 700 and of `top`. */
static double error_of_log(size_t terms, double top)
{
    return PRV_UNIT * (4096.0 + 2.0 * (double)terms + 16.0 * fabs(top));
}

/* ---- Ratios ----------------------------------------------------------------------------------- */

void prv_batch_ratios_free(prv_batch_ratios *v)
{
    prv_release(v->r);
    memset(v, 0, sizeof *v);
}

prv_status prv_batch_ratios_of(const prv_ratio_law *law, const prv_ratio_side *s, prv_batch_ratios *v)
{
    memset(v, 0, sizeof *v);
    v->r = prv_allocate(2 * (law->length + 2), sizeof *v->r);
    if (v->r == NULL) return PRV_ERR_MEMORY;
    v->mass = v->r + law->length + 2;
    const bool up = prv_ratio_up_is_safe(s);
    if (law->zero > 0.0) {
        v->r[0] = 0.0;
        v->mass[v->length++] = law->zero;
    }
    for (size_t i = 0; i < law->length; i++) {
        if (!(law->null[i] > 0.0)) continue;
        const double x = prv_ratio_point(law, i);
        const double off = fabs(law->shift) + PRV_UNIT * (32.0 + 8.0 * (fabs(x) + fabs(law->offset)));
        v->r[v->length] = exp(up ? x + off : x - off);
        v->mass[v->length++] = law->null[i];
    }
    v->most = HUGE_VAL;
    v->excess = law->infinite;
    return PRV_OK;
}

double prv_batch_deviation(const prv_batch_ratios *v, double most)
{
    double mass = 0.0, mean = 0.0, square = 0.0;
    for (size_t i = 0; i < v->length; i++) {
        const double r = fmin(v->r[i], most);
        mass += v->mass[i];
        mean += v->mass[i] * r;
        square += v->mass[i] * r * r;
    }
    mean /= mass;
    return sqrt(fmax(square / mass - mean * mean, 1e-300));
}

double prv_batch_excess_point(const prv_batch_ratios *v, double excess)
{
    double mass = 0.0, special = v->excess;
    for (size_t i = v->length; i-- > 0;) {
        if (special - v->r[i] * mass > excess) return v->r[i + 1 < v->length ? i + 1 : i];
        mass += v->mass[i];
        special += v->mass[i] * v->r[i];
    }
    return 0.0;
}

void prv_batch_cut(prv_batch_ratios *v, double most, const prv_ratio_side *s)
{
    size_t kept = v->length;
    double mass = 0.0, beyond = 0.0;
    for (; kept > 0 && v->r[kept - 1] > most; kept--) {
        mass += v->mass[kept - 1];
        beyond += v->mass[kept - 1] * (v->r[kept - 1] - most);
    }
    if (kept == v->length) return;
    const double error = PRV_UNIT * ((double)(v->length - kept) + 16.0);
    if (!s->add) v->excess += beyond;
    v->excess *= prv_ratio_outwards(s, error);
    v->length = kept;
    v->most = most;
    if (s->add && s->side == PRV_DOMINATED) return;
    v->r[kept] = most;
    v->mass[kept] = mass * prv_ratio_outwards(s, error);
    v->length++;
}

double prv_batch_probability_below(const prv_batch_ratios *v, double n, double low)
{
    double least = 0.0, mass = 0.0;
    for (size_t i = 0; i < v->length; i++) mass += v->mass[i];
    const double lost = fmax(1.0 - mass, 0.0); /* what was dropped, as R = 0 */
    for (int k = -2; k <= 2; k++) {
        const double lam = exp2(0.5 * k) * PRV_BATCH_DEVIATIONS / (v->deviation * sqrt(n));
        const double sum = sum_tilted(v->mass, v->r, v->length, -lam, 0.0) + lost;
        least = fmin(least, (n - 1.0) * (log(sum) + error_of_log(v->length, 0.0)) + lam * low);
    }
    return exp(least);
}

/* ---- Losses ----------------------------------------------------------------------------------- */

static double loss_of(const prv_batch_losses *l, double r)
{
    return l->scale * (l->add ? 1.0 - r : r - 1.0) + l->shift;
}

/* The logarithm of E e^(lam loss) over the mechanism's atoms, lam > 0. */
static double log_moment(const prv_atoms *a, double lam)
{
    const double top = fmax(lam * a->loss[a->length - 1], 0.0);
    return top + log(sum_tilted(a->q, a->loss, a->length, lam, top));
}

prv_status prv_batch_losses_new(const prv_batch_ratios *v, const prv_ratio_side *s, double n, double scale,
                                prv_batch_losses *l)
{
    *l = (prv_batch_losses){s->add, n, scale, 0.0, NULL};
    double sum = 0.0;
    for (size_t i = 0; i < v->length; i++) sum += v->mass[i] * expm1(-loss_of(l, v->r[i]));
    l->shift = fmax(log1p(fmax(sum, 0.0) * 1.001), 0.0) + 1e-18;
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_ATOMS);
    if (m == NULL) return PRV_ERR_MEMORY;
    prv_atoms *a = m->atoms[0] = m->atoms[1] = prv_atoms_new(v->length);
    if (a == NULL) return prv_mechanism_finish(PRV_ERR_MEMORY, m, &l->mechanism);
    size_t k = 0;
    const int outwards = s->side == PRV_DOMINATING ? 1 : -1;
    for (size_t i = 0; i < v->length; i++) {
        const size_t from = s->add ? v->length - 1 - i : i;
        const double off = 8.0 * PRV_UNIT * (scale * (v->r[from] + 1.0) + l->shift);
        const double x = loss_of(l, v->r[from]) + outwards * off;
        a->loss[k] = x;
        a->q[k++] = v->mass[from];
        for (; k > 1 && a->loss[k - 1] <= a->loss[k - 2]; k--) { /* one place, on the safe side */
            if (outwards < 0) a->loss[k - 2] = a->loss[k - 1];
            a->q[k - 2] = (a->q[k - 2] + a->q[k - 1]) * (1.0 + outwards * 2.0 * PRV_UNIT);
        }
    }
    a->length = k;
    for (size_t i = 0; i < k; i++) a->p[i] = a->q[i] * exp(-a->loss[i]);
    return prv_mechanism_finish(PRV_OK, m, &l->mechanism);
}

/* E (x; x > far) is at most far e^(-lam far) E e^(lam x) if lam far >= 1, since x e^(-lam x) falls from there
 * on. */
double prv_batch_delta_above(const prv_batch_losses *l, double target, double start, double deviation)
{
    enum { TRIED = 20 };
    const prv_atoms *a = l->mechanism->atoms[0];
    const double greatest = a->loss[a->length - 1];
    double lam[TRIED], log_moments[TRIED], best = 0.0;
    for (int k = 0; k < TRIED; k++) {
        lam[k] = exp2(0.75 * k - 8.0) * 4.0 / deviation;
        const double error = error_of_log(a->length, lam[k] * (greatest + l->shift));
        log_moments[k] = l->n * (log_moment(a, lam[k]) - lam[k] * l->shift + error);
    }
    for (double far = 0.5 * deviation; far < 1.0; far *= 1.25) {
        double log_rest = HUGE_VAL;
        for (int k = 0; k < TRIED; k++)
            if (lam[k] * far >= 1.0)
                log_rest = fmin(log_rest, log(far) - lam[k] * (far + start) + log_moments[k]);
        const double rest = log_rest < 700.0 ? exp(log_rest) : HUGE_VAL;
        const double delta = (target * (1.0 - 1e-13) - rest) / (1.0 + far * (0.5 + far / 12.0));
        if (delta > best)
            best = delta;
        else if (best > 0.0)
            break;
    }
    return best * (1.0 - 1e-13);
}
