#include "base/allocate.h"

#include <stdint.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

#include "prvcore.h"

#if defined(_MSC_VER)
static __declspec(thread) prv_allocator current;
#else
static _Thread_local prv_allocator current;
#endif

/* In front of each block, so that it is released where it came from, whichever thread does it. */
typedef struct header {
    prv_allocator from;
    size_t size; /* of the block and this */
} header;

/* The header takes as much as keeps what follows aligned. */
enum { ROOM = PRV_FFT_ALIGNMENT };
_Static_assert(sizeof(header) <= ROOM, "a header does not fit in front of its block");

static void *library_allocate(size_t size)
{
#if defined(_WIN32)
    return _aligned_malloc(size, PRV_FFT_ALIGNMENT);
#else
    return aligned_alloc(PRV_FFT_ALIGNMENT, size);
#endif
}

static void library_release(void *pointer)
{
#if defined(_WIN32)
    _aligned_free(pointer);
#else
    free(pointer);
#endif
}

prv_allocator prv_use_allocator(prv_allocator allocator)
{
    const prv_allocator before = current;
    current = allocator;
    return before;
}

void *prv_allocate(size_t count, size_t size)
{
    if (count > (SIZE_MAX - 2 * ROOM) / size) return NULL;
    /* aligned_alloc wants a multiple of the alignment; and an empty block, too, has a byte after the header:
     * checkers of leaks hold a block lost to which nothing but the address of its end leads. */
    const size_t bytes = ROOM + (count * size / ROOM + 1) * ROOM;
    void *block = current.allocate != NULL ? current.allocate(current.context, bytes, PRV_FFT_ALIGNMENT)
                                           : library_allocate(bytes);
    if (block == NULL) return NULL;
    *(header *)block = (header){current, bytes};
    return (unsigned char *)block + ROOM;
}

void prv_release(void *pointer)
{
    if (pointer == NULL) return;
    void *block = (unsigned char *)pointer - ROOM;
    const header h = *(const header *)block;
    if (h.from.allocate != NULL)
        h.from.release(h.from.context, block, h.size, PRV_FFT_ALIGNMENT);
    else
        library_release(block);
}
