/* Stretches of a law on a lattice: runs of points a stride apart, outside of which there is no mass. Laws
 * that were thinned (ratio_thinning.h) have mass on every second point or fewer far from where it matters. */
#ifndef PRV_RATIO_STRETCHES_H
#define PRV_RATIO_STRETCHES_H

#include "lattices/ratio_law.h"

/* Strides are powers of two up to this one. Stretches begin and end at its multiples, or with the law. */
#define PRV_WIDEST_STRIDE 32

/* More are not told apart: each two of them are visited together. */
enum { PRV_MOST_STRETCHES = 13 };

/* `count` points from `first` on, which is a multiple of `stride`, by their numbers in the lattice. */
typedef struct prv_ratio_stretch {
    int64_t first;
    size_t stride, count;
} prv_ratio_stretch;

/* In their order, without overlap. */
typedef struct prv_ratio_stretches {
    prv_ratio_stretch at[PRV_MOST_STRETCHES];
    size_t count;
    size_t widest; /* stride of these */
} prv_ratio_stretches;

/* The greatest multiple of a stride that is not above `number`. */
static inline int64_t prv_ratio_multiple_below(int64_t number, int64_t stride)
{
    const int64_t rest = number % stride;
    return number - (rest < 0 ? rest + stride : rest);
}

/* The same of the widest one. */
static inline int64_t prv_ratio_block_of(int64_t number)
{
    return prv_ratio_multiple_below(number, PRV_WIDEST_STRIDE);
}

/* |log R| of the point that is nearest to log R = 0, of those from `low` to `high`. */
static inline double prv_ratio_from_zero(double low, double high)
{
    return low > 0.0 ? low : high < 0.0 ? -high : 0.0;
}

/* Stretches that hold all mass on points. O(length). PRV_ERR_MEMORY. */
prv_status prv_ratio_find_stretches(const prv_ratio_law *law, prv_ratio_stretches *stretches);

#endif
