/* Every allocation of the core goes through here: sizes are checked for overflow, buffers are aligned for
 * transforms and vector code, and come from the allocator of the thread (prv_use_allocator). */
#ifndef PRV_ALLOCATE_H
#define PRV_ALLOCATE_H

#include <stddef.h>
#include <stdint.h>

/* count elements of `size` bytes, aligned to PRV_FFT_ALIGNMENT, not cleared; NULL when it fails or
 * the product overflows. A count of 0 gives a pointer that may be freed. */
void *prv_allocate(size_t count, size_t size);

/* To where it was allocated, in any thread. NULL is allowed. */
void prv_release(void *pointer);

/* The whole part of n as a size: 0 below 0, and SIZE_MAX of what no size holds, nan too. A plain cast of such
 * a number is undefined, and sizes have 32 bits on some machines; no buffer of SIZE_MAX elements is ever
 * allocated. */
static inline size_t prv_size_of(double n)
{
    if (n < 1.0) return 0;
    /* Where SIZE_MAX is no double, it rounds to a power of two, which is the first that does not fit. */
    return n < (double)SIZE_MAX ? (size_t)n : SIZE_MAX;
}

#endif
