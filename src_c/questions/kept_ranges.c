#include "questions/kept_ranges.h"

#include <string.h>

#include "questions/question.h"

static void forget(prv_kept_range *k)
{
    prv_count_range_free(&k->range);
    prv_directions_free(&k->directions);
    memset(k, 0, sizeof *k);
}

void prv_kept_ranges_forget(prv_kept_ranges *kept)
{
    for (size_t i = 0; i < PRV_KEPT_RANGES; i++) forget(&kept->each[i]);
}

prv_status prv_kept_range_find(prv_kept_ranges *kept, const prv_count_range *wanted,
                               const prv_mechanism *mechanism, const prv_options *options,
                               prv_count_range **range)
{
    prv_kept_range *oldest = &kept->each[0];
    for (size_t i = 0; i < PRV_KEPT_RANGES; i++) {
        prv_kept_range *k = &kept->each[i];
        if (k->directions.count > 0 && prv_is_same_range(&k->range, wanted)) {
            k->when = ++kept->clock;
            *range = &k->range;
            return PRV_OK;
        }
        if (k->when < oldest->when) oldest = k;
    }
    forget(oldest);
    const prv_step step = {mechanism, (uint64_t)wanted->most};
    prv_status status = prv_directions_new(&step, 1, NULL, options, &oldest->directions);
    if (status != PRV_OK) return status;
    oldest->range = *wanted;
    oldest->when = ++kept->clock;
    status = prv_count_range_begin(oldest->directions.each, options, &oldest->range);
    if (status != PRV_OK) forget(oldest);
    *range = &oldest->range;
    return status;
}
