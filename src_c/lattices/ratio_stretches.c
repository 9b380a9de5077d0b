#include "lattices/ratio_stretches.h"

#include <string.h>

#include "base/allocate.h"

/* Two neighbours become one stretch if that has no more points more than this: runs of few points cost more
 * than the points between them. */
#define FEW_MORE 48

/* The points of a stretch from one number up to another: `end` is not one of them. */
static prv_ratio_stretch stretch_between(int64_t low, int64_t end, size_t stride)
{
    const int64_t s = (int64_t)stride, first = prv_ratio_multiple_below(low + s - 1, s);
    return (prv_ratio_stretch){first, stride, first < end ? (size_t)((end - 1 - first) / s) + 1 : 0};
}

/* The stride of the points with mass among those from number `low` up to `end`. */
static size_t stride_of(const prv_ratio_law *law, int64_t low, int64_t end)
{
    uint64_t bits = PRV_WIDEST_STRIDE;
    for (int64_t n = low; n < end; n++)
        if (law->null[n - law->first] > 0.0) bits |= (uint64_t)n; /* modulo 2^64, which a stride divides */
    return (size_t)(bits & (~bits + 1));
}

/* A stretch with where it ends: the first number beyond it. */
typedef struct reach {
    int64_t low, end;
    size_t stride;
} reach;

static size_t points_of(const reach *r)
{
    return stretch_between(r->low, r->end, r->stride).count;
}

static reach joined(const reach *a, const reach *b)
{
    return (reach){a->low, b->end, a->stride < b->stride ? a->stride : b->stride};
}

/* Joins the neighbours that are cheapest to join, until few are left. */
static size_t join_neighbours(reach *r, size_t count)
{
    while (count > 1) {
        size_t best = 0, least = SIZE_MAX;
        for (size_t i = 0; i + 1 < count; i++) {
            const reach both = joined(&r[i], &r[i + 1]);
            const size_t more = points_of(&both) - points_of(&r[i]) - points_of(&r[i + 1]);
            if (more < least) {
                least = more;
                best = i;
            }
        }
        if (count <= PRV_MOST_STRETCHES && least > FEW_MORE) break;
        r[best] = joined(&r[best], &r[best + 1]);
        memmove(&r[best + 1], &r[best + 2], (count - best - 2) * sizeof *r);
        count--;
    }
    return count;
}

prv_status prv_ratio_find_stretches(const prv_ratio_law *law, prv_ratio_stretches *stretches)
{
    reach *r = prv_allocate(law->length / PRV_WIDEST_STRIDE + 2, sizeof *r);
    if (r == NULL) return PRV_ERR_MEMORY;
    const int64_t last = law->first + (int64_t)law->length;
    size_t n = 0;
    for (int64_t low = law->first; low < last;) {
        int64_t end = prv_ratio_block_of(low) + PRV_WIDEST_STRIDE;
        if (end > last) end = last;
        const reach block = {low, end, stride_of(law, low, end)};
        if (n > 0 && r[n - 1].stride == block.stride)
            r[n - 1].end = end;
        else
            r[n++] = block;
        low = end;
    }
    n = join_neighbours(r, n);
    stretches->count = 0;
    stretches->widest = 1;
    for (size_t i = 0; i < n; i++) {
        const prv_ratio_stretch s = stretch_between(r[i].low, r[i].end, r[i].stride);
        if (s.count == 0) continue;
        stretches->at[stretches->count++] = s;
        if (s.stride > stretches->widest) stretches->widest = s.stride;
    }
    prv_release(r);
    return PRV_OK;
}
