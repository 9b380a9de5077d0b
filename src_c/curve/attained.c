#include "curve/attained.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "mechanisms/bounded_range.h"
#include "mechanisms/support.h"

static prv_attainment attainment_of_step(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_CHOICE || m->never_attained) return PRV_NOT_ATTAINED;
    /* Enclosed pairs are what they enclose. */
    if (m->base == PRV_BASE_ENCLOSED) return attainment_of_step(m->enclosed);
    if (m->base == PRV_BASE_BOUNDED_RANGE || m->attained != NULL) return PRV_ATTAINED_EACH;
    return PRV_ATTAINED;
}

/* Of a Poisson sample whose neighbours differ by a replaced record: what replace_one.c says of its folded
 * pair. */
static prv_attainment attainment_of_folded(const prv_mechanism *m)
{
    const bool each = m->base != PRV_BASE_COMBINED && m->noise == PRV_NOISE_NONE;
    return each ? PRV_ATTAINED_EACH : PRV_NOT_ATTAINED;
}

/* Of steps together of which `worst` is that of one of them. */
static prv_attainment together(prv_attainment worst, double count)
{
    return worst == PRV_ATTAINED_EACH && count > 1.0 ? PRV_NOT_ATTAINED : worst;
}

prv_attainment prv_attainment_of(const prv_step *steps, size_t step_count, prv_neighbors neighbors)
{
    prv_attainment worst = PRV_ATTAINED;
    double count = 0.0;
    for (size_t j = 0; j < step_count; j++) {
        if (steps[j].count == 0) continue;
        const prv_mechanism *m = steps[j].mechanism;
        const bool folded = neighbors == PRV_REPLACE_ONE && m->replacement == PRV_REPLACED_FOLDED;
        const prv_attainment step = folded ? attainment_of_folded(m) : attainment_of_step(m);
        if (step > worst) worst = step;
        count += (double)steps[j].count;
    }
    return together(worst, count);
}

int prv_is_attained(const prv_step *steps, size_t step_count, prv_neighbors neighbors)
{
    for (size_t j = 0; j < step_count; j++)
        if (steps[j].count > 0 && prv_delta_of_rare_cuts(steps[j].mechanism) > 0.0) return 0;
    return prv_attainment_of(steps, step_count, neighbors) != PRV_NOT_ATTAINED;
}

prv_attainment prv_direction_attainment(const prv_direction *direction)
{
    prv_attainment worst = PRV_ATTAINED;
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_attainment step = attainment_of_step(direction->mechanisms[j]);
        if (step > worst) worst = step;
    }
    return together(worst, direction->all.count);
}

void prv_take_upper(const prv_direction *direction, double upper, prv_bounds *bounds)
{
    bounds->upper = fmin(bounds->upper, upper);
    if (prv_direction_attainment(direction) == PRV_NOT_ATTAINED)
        bounds->lower = fmin(bounds->lower, bounds->upper);
}

/* The mechanism whose pair two data sets have, or that of all bounded ranges which one is to be chosen of. */
static const prv_mechanism *attained(const prv_mechanism *m)
{
    if (m->base == PRV_BASE_ENCLOSED) m = m->enclosed;
    return m->attained != NULL ? m->attained : m;
}

bool prv_has_range(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (attained(direction->mechanisms[j])->base == PRV_BASE_BOUNDED_RANGE) return true;
    return false;
}

bool prv_are_data_discrete(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++) {
        const prv_base base = attained(direction->mechanisms[j])->base;
        if (base != PRV_BASE_BOUNDED_RANGE && base != PRV_BASE_ATOMS) return false;
    }
    return true;
}

/* The worst of the bounded ranges at the tilt lam, on a sample where m is. */
static prv_status worst_response(const prv_mechanism *m, bool add, double lam, double part,
                                 prv_mechanism **worst)
{
    prv_mechanism *response = NULL;
    const double place = prv_worst_place(m, add, lam), moved = place + part * m->mu;
    const bool inside = moved > 0.0 && moved < m->mu;
    prv_status status = prv_mechanism_response(m->mu, inside ? moved : place, &response);
    if (status != PRV_OK) return status;
    status = prv_mechanism_poisson_subsampled(response, m->sampling_probability, worst);
    prv_mechanism_free(response);
    return status;
}

static prv_status data_direction(const prv_direction *direction, bool add, const prv_options *options,
                                 double lam, double offset, prv_direction *data)
{
    const size_t n = direction->steps;
    prv_status status = PRV_ERR_MEMORY;
    prv_step *steps = prv_allocate(n, sizeof *steps);
    prv_mechanism **made = prv_allocate(n, sizeof *made);
    if (steps == NULL || made == NULL) goto done;
    for (size_t j = 0; j < n; j++) made[j] = NULL;
    for (size_t j = 0; j < n; j++) {
        const prv_mechanism *m = attained(direction->mechanisms[j]);
        status = PRV_OK;
        if (m->base == PRV_BASE_BOUNDED_RANGE)
            status = worst_response(m, add, lam, offset / direction->all.count, &made[j]);
        if (status != PRV_OK) goto hand_over;
        steps[j] = (prv_step){made[j] != NULL ? made[j] : m, (uint64_t)direction->counts[j]};
    }
    status = prv_direction_new(steps, n, PRV_ADD_OR_REMOVE, add, NULL, options, data);
hand_over:
    /* The direction frees the mechanisms that were made for it. */
    for (size_t j = 0; j < n; j++) {
        if (status == PRV_OK)
            data->replaced[j] = made[j];
        else
            prv_mechanism_free(made[j]);
    }
done:
    prv_release(steps);
    prv_release(made);
    return status;
}

prv_status prv_data_directions_new(const prv_direction *directions, size_t count, const prv_options *options,
                                   const double *lam, double offset, prv_directions *data)
{
    data->count = 0;
    for (size_t v = 0; v < count; v++) {
        bool symmetric = true;
        for (size_t j = 0; j < directions[v].steps; j++)
            symmetric = symmetric && prv_is_symmetric(attained(directions[v].mechanisms[j]));
        const bool both = options->neighbors == PRV_REPLACE_ONE && !symmetric;
        for (int add = both ? 0 : directions[v].add; add <= (both ? 1 : directions[v].add); add++) {
            const prv_status status = data_direction(&directions[v], add, options, lam[v], offset,
                                                     &data->each[data->count]);
            if (status != PRV_OK) return status;
            data->count++;
        }
    }
    return PRV_OK;
}
