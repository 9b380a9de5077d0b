#include "questions/kept_ranges.h"

#include <string.h>

#include "questions/question.h"

static void forget(prv_kept_range *k)
{
    prv_count_range_free(&k->range);
    k->when = 0;
}

void prv_kept_ranges_forget(prv_kept_ranges *kept)
{
    for (size_t i = 0; i < PRV_KEPT_RANGES; i++) forget(&kept->each[i]);
}

prv_status prv_kept_range_find(prv_kept_ranges *kept, const prv_count_range *wanted,
                               prv_direction *directions, const prv_options *options, prv_count_range **range)
{
    prv_kept_range *oldest = &kept->each[0];
    for (size_t i = 0; i < PRV_KEPT_RANGES; i++) {
        prv_kept_range *k = &kept->each[i];
        if (k->when > 0 && prv_is_same_range(&k->range, wanted)) {
            k->when = ++kept->clock;
            *range = &k->range;
            return PRV_OK;
        }
        if (k->when < oldest->when) oldest = k;
    }
    forget(oldest);
    oldest->range = *wanted;
    oldest->when = ++kept->clock;
    const prv_status status = prv_count_range_begin(directions, options, &oldest->range);
    if (status != PRV_OK) forget(oldest);
    *range = &oldest->range;
    return status;
}
