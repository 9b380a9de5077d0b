#include "allocate.h"

#include <stdint.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

#include "prvcore.h"

#ifdef PRV_TEST_ALLOCATION
/* Set by the tests alone: the allocation after which this many succeed fails. */
long prv_test_allocations_left = -1;
#endif

void *prv_allocate(size_t count, size_t size)
{
#ifdef PRV_TEST_ALLOCATION
    if (prv_test_allocations_left == 0) return NULL;
    if (prv_test_allocations_left > 0) prv_test_allocations_left--;
#endif
    if (count > (SIZE_MAX - PRV_FFT_ALIGNMENT) / size) return NULL;
    size_t bytes = count * size;
    /* aligned_alloc wants a multiple of the alignment, and more than nothing. */
    bytes = (bytes / PRV_FFT_ALIGNMENT + 1) * PRV_FFT_ALIGNMENT;
#if defined(_WIN32)
    return _aligned_malloc(bytes, PRV_FFT_ALIGNMENT);
#else
    return aligned_alloc(PRV_FFT_ALIGNMENT, bytes);
#endif
}

void prv_release(void *pointer)
{
#if defined(_WIN32)
    _aligned_free(pointer);
#else
    free(pointer);
#endif
}
