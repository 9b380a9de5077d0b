#include "curve/direction.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "mechanisms/replace_one.h"
#include "mechanisms/support.h"

#define FINEST 16

/* ---- Steps of one direction ---------------------------------------------------------------- */

prv_status prv_side_view_new(const prv_step *steps, size_t step_count, prv_neighbors neighbors, int add,
                             prv_side_view *view)
{
    memset(view, 0, sizeof *view);
    view->add = add;
    view->mechanisms = prv_allocate(step_count, sizeof *view->mechanisms);
    view->counts = prv_allocate(step_count, sizeof *view->counts);
    view->profiles = prv_allocate(step_count, sizeof *view->profiles);
    view->first = prv_allocate(2 * step_count, sizeof *view->first);
    view->replaced = prv_allocate(step_count, sizeof *view->replaced);
    if (view->mechanisms == NULL || view->counts == NULL || view->profiles == NULL || view->first == NULL ||
        view->replaced == NULL) {
        prv_side_view_free(view);
        return PRV_ERR_MEMORY;
    }
    view->end = view->first + step_count;
    view->fineness = 1;
    for (size_t j = 0; j < step_count; j++) {
        const size_t k = view->steps;
        const prv_mechanism *m = steps[j].mechanism;
        prv_mechanism *pair = NULL;
        prv_status status = PRV_OK;
        if (neighbors == PRV_REPLACE_ONE) status = prv_mechanism_replaced(m, &pair);
        if (pair != NULL) m = pair;
        if (status == PRV_OK) status = prv_profile_new(m, add, 1, &view->profiles[k]);
        if (status != PRV_OK) {
            prv_mechanism_free(pair);
            prv_side_view_free(view);
            return status;
        }
        view->replaced[k] = pair;
        view->steps++;
        view->mechanisms[k] = m;
        view->counts[k] = (double)steps[j].count;
        view->first[k] = 0;
        view->end[k] = view->profiles[k].length;
        prv_totals_add(&view->all, m, view->counts[k], add);
    }
    return PRV_OK;
}

void prv_side_view_free(prv_side_view *view)
{
    for (size_t j = 0; j < view->steps; j++) {
        prv_profile_free(&view->profiles[j]);
        prv_mechanism_free(view->replaced[j]);
    }
    prv_release(view->replaced);
    prv_release(view->mechanisms);
    prv_release(view->counts);
    prv_release(view->profiles);
    prv_release(view->first);
    memset(view, 0, sizeof *view);
}

prv_status prv_side_view_profile(prv_side_view *view, size_t fineness)
{
    view->fineness = fineness;
    for (size_t j = 0; j < view->steps; j++) {
        prv_profile_free(&view->profiles[j]);
        const prv_status status = prv_profile_new(view->mechanisms[j], view->add, fineness,
                                                  &view->profiles[j]);
        if (status != PRV_OK) return status;
    }
    prv_use_whole_profiles(view);
    return PRV_OK;
}

prv_status prv_side_view_refine(prv_side_view *view, double saddle, int *changed)
{
    *changed = 0;
    view->moment_error = 0.0;
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        const size_t first = view->first[j], end = view->end[j];
        /* Merged and split cells are off by second order in their size, in opposite directions: over very
         * many steps that moves the sum by more than its own deviation. Those in use: a tilt makes much of
         * the others. */
        const double merged = prv_tilt(p->center + first, p->mass + first, end - first, saddle, NULL)
                                  .log_moment;
        size_t knots = p->knot_count;
        while (knots > 1 && p->knots[knots - 1] > p->high[end - 1]) knots--;
        const double split = prv_tilt(p->knots, p->dominating, knots, saddle, NULL).log_moment;
        view->moment_error += view->counts[j] * (split - merged);
    }
    if (view->fineness >= FINEST) return PRV_OK;
    *changed = view->moment_error > PRV_MOST_MOMENT_ERROR;
    for (size_t j = 0; j < view->steps && !*changed; j++) {
        const prv_profile *p = &view->profiles[j];
        const size_t first = view->first[j], end = view->end[j];
        double *weight = prv_allocate(p->length, sizeof *weight);
        if (weight == NULL) return PRV_ERR_MEMORY;
        prv_tilt(p->center + first, p->mass + first, end - first, saddle, weight + first);
        for (size_t c = first; c < end && !*changed; c++)
            *changed = view->counts[j] * weight[c] > 1e-2 && saddle * (p->high[c] - p->low[c]) > 2.0;
        prv_release(weight);
    }
    return *changed ? prv_side_view_profile(view, 4 * view->fineness) : PRV_OK;
}

/* ---- Moments of the composition from the profiles ------------------------------------------- */

/* Moments with one more atom: the mass below the range in use, which the dominating lattice puts onto its
 * first knot. */
static prv_moments with_atom(prv_moments m, double mass, double loss, double lam)
{
    if (!(mass > 0.0)) return m;
    const double log_atom = log(mass) + lam * loss;
    const double top = fmax(log_atom, m.log_moment);
    const double a = exp(log_atom - top), b = exp(m.log_moment - top);
    const double part = a / (a + b), distance = loss - m.mean;
    prv_moments r = {top + log(a + b), m.mean + part * distance,
                     (1.0 - part) * (m.variance + part * distance * distance)};
    return r;
}

prv_moments prv_composed_moments(const prv_side_view *view, double lam)
{
    prv_moments sum = {0.0, 0.0, 0.0};
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        const size_t first = view->first[j];
        prv_moments m = prv_tilt(p->center + first, p->mass + first, view->end[j] - first, lam, NULL);
        if (first > 0) m = with_atom(m, p->tail[0] - p->tail[first], p->low[first], lam);
        sum.log_moment += view->counts[j] * m.log_moment;
        sum.mean += view->counts[j] * m.mean;
        sum.variance += view->counts[j] * m.variance;
    }
    return sum;
}

double prv_root(const prv_side_view *view, prv_increasing f, const void *parameter, double start)
{
    const double least = PRV_LEAST_TILT, greatest = 1.0 / PRV_LEAST_TILT;
    double low = fmin(fmax(start, least), greatest), high = low;
    double f_low = f(view, low, parameter), f_high = f_low;
    if (f_low < 0.0) {
        do {
            low = high;
            f_low = f_high;
            high *= 4.0;
            if (high >= greatest) return high;
            f_high = f(view, high, parameter);
        } while (f_high < 0.0);
    } else {
        do {
            high = low;
            f_high = f_low;
            low *= 0.25;
            if (low <= least) return low;
            f_low = f(view, low, parameter);
        } while (f_low >= 0.0);
    }
    for (int i = 0; i < 24 && high > 1.02 * low; i++) {
        /* Regula falsi in log lam, kept away from the ends. */
        double part = f_high > f_low ? -f_low / (f_high - f_low) : 0.5;
        if (!(part > 0.1 && part < 0.9)) part = part < 0.5 ? 0.1 : 0.9;
        if (i % 3 == 2) part = 0.5;
        const double middle = low * pow(high / low, part), value = f(view, middle, parameter);
        if (value < 0.0) {
            low = middle;
            f_low = value;
        } else {
            high = middle;
            f_high = value;
        }
    }
    return sqrt(low * high);
}

double prv_saddle_excess(const prv_side_view *view, double lam, const void *epsilon)
{
    return prv_composed_moments(view, lam).mean - *(const double *)epsilon - 1.0 / lam - 1.0 / (1.0 + lam);
}

double prv_view_absolute_error(const prv_side_view *view)
{
    double error = 0.0;
    for (size_t j = 0; j < view->steps; j++)
        error += view->counts[j] * prv_absolute_cdf_error(view->mechanisms[j]);
    return error;
}

prv_neighbors prv_direction_of(int add, prv_neighbors asked)
{
    return asked != PRV_ADD_OR_REMOVE ? asked : add ? PRV_ADD : PRV_REMOVE;
}

void prv_use_whole_profiles(prv_side_view *view)
{
    for (size_t j = 0; j < view->steps; j++) {
        view->first[j] = 0;
        view->end[j] = view->profiles[j].length;
    }
}
