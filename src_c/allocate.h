/* Every allocation of the core goes through here: sizes are checked for overflow, buffers are aligned for transforms and
 * vector code, and come from the allocator of the thread (prv_use_allocator). */
#ifndef PRV_ALLOCATE_H
#define PRV_ALLOCATE_H

#include <stddef.h>

/* count elements of `size` bytes, aligned to PRV_FFT_ALIGNMENT, not cleared; NULL when it fails or
 * the product overflows. A count of 0 gives a pointer that may be freed. */
void *prv_allocate(size_t count, size_t size);

/* To where it was allocated, in any thread. NULL is allowed. */
void prv_release(void *pointer);

#endif
