/* Ranges of counts that are kept from question to question. */
#ifndef PRV_KEPT_RANGES_H
#define PRV_KEPT_RANGES_H

#include "questions/count_range.h"

/* Ranges that are kept; the one asked longest ago gives way. */
enum { PRV_KEPT_RANGES = 16 };

typedef struct prv_kept_range {
    prv_count_range range;
    uint64_t when; /* by the clock; 0 if nothing is kept here */
} prv_kept_range;

/* All 0 before it is used. */
typedef struct prv_kept_ranges {
    uint64_t clock;
    prv_kept_range each[PRV_KEPT_RANGES];
} prv_kept_ranges;

/* The range: the one that is kept, or one begun anew. All are of the same directions, which live as long, and
 * of the same options. *range points into `kept` until the next call. Statuses of prv_count_range_begin. */
prv_status prv_kept_range_find(prv_kept_ranges *kept, const prv_count_range *wanted,
                               prv_direction *directions, const prv_options *options,
                               prv_count_range **range);

/* Forgets all ranges. */
void prv_kept_ranges_forget(prv_kept_ranges *kept);

#endif
