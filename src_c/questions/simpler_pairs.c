#include "questions/simpler_pairs.h"

#include <string.h>

#include "base/allocate.h"
#include "mechanisms/combined.h"

/* What a step was before it was enclosed. */
static const prv_mechanism *mechanism_of(const prv_direction *d, size_t j)
{
    return d->enclosed[j] != NULL ? d->enclosed[j]->enclosed : d->mechanisms[j];
}

bool prv_have_averages(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (prv_combined_has_averages(mechanism_of(direction, j))) return true;
    return false;
}

static bool is_product(const prv_mechanism *m)
{
    return m->base == PRV_BASE_COMBINED && m->combination == PRV_COMBINED_PRODUCT;
}

/* So many steps does a mechanism make: a product makes one for each of its parts. */
static size_t steps_of(const prv_mechanism *m)
{
    return is_product(m) ? m->part_count : 1;
}

static prv_status put_steps(const prv_mechanism *m, uint64_t count, prv_step *steps)
{
    if (!is_product(m)) {
        steps[0] = (prv_step){m, count};
        return PRV_OK;
    }
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->part_counts[i] > PRV_MOST_STEPS / count) return PRV_ERR_COUNT;
        steps[i] = (prv_step){m->parts[i], m->part_counts[i] * count};
    }
    return PRV_OK;
}

static prv_status make_mechanisms(const prv_direction *d, bool above, prv_simpler_pairs *pairs)
{
    pairs->made = prv_allocate(d->steps, sizeof *pairs->made);
    if (pairs->made == NULL) return PRV_ERR_MEMORY;
    for (; pairs->count < d->steps; pairs->count++) {
        const prv_status status = prv_combined_simpler(mechanism_of(d, pairs->count), above,
                                                       &pairs->made[pairs->count]);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

prv_status prv_simpler_pairs_new(const prv_direction *directions, size_t count, bool above,
                                 const prv_options *options, prv_simpler_pairs *pairs)
{
    memset(pairs, 0, sizeof *pairs);
    const prv_direction *d = &directions[0];
    prv_status status = make_mechanisms(d, above, pairs);
    if (status != PRV_OK) return status;
    size_t length = 0;
    for (size_t j = 0; j < pairs->count; j++) length += steps_of(pairs->made[j]);
    prv_step *steps = prv_allocate(length, sizeof *steps);
    if (steps == NULL) return PRV_ERR_MEMORY;
    for (size_t j = 0, n = 0; j < pairs->count; n += steps_of(pairs->made[j]), j++) {
        status = put_steps(pairs->made[j], (uint64_t)d->counts[j], steps + n);
        if (status != PRV_OK) goto done;
    }
    while (pairs->directions.count < count) {
        const size_t i = pairs->directions.count;
        const bool add = directions[i].add;
        status = prv_direction_new(steps, length, PRV_ADD_OR_REMOVE, add, NULL, options,
                                   &pairs->directions.each[i]);
        if (status != PRV_OK) goto done;
        pairs->directions.count++;
    }
done:
    prv_release(steps);
    return status;
}

void prv_simpler_pairs_free(prv_simpler_pairs *pairs)
{
    prv_directions_free(&pairs->directions);
    for (size_t j = 0; j < pairs->count; j++) prv_mechanism_free(pairs->made[j]);
    prv_release(pairs->made);
    memset(pairs, 0, sizeof *pairs);
}
