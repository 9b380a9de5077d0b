#include "base/allocate.h"

#include <stdint.h>
#include <stdlib.h>

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
    void *whole; /* of the C library, which the block is an aligned part of */
} header;

/* The header takes as much as keeps what follows aligned. */
enum { ROOM = PRV_FFT_ALIGNMENT };
_Static_assert(sizeof(header) <= ROOM, "a header does not fit in front of its block");

/* Aligned blocks take the C library several times as long as others do. */
static void *library_allocate(size_t size, void **whole)
{
    unsigned char *start = malloc(size + ROOM);
    *whole = start;
    return start != NULL ? start + (ROOM - (uintptr_t)start % ROOM) : NULL;
}

prv_allocator prv_use_allocator(prv_allocator allocator)
{
    const prv_allocator before = current;
    current = allocator;
    return before;
}

void *prv_allocate(size_t count, size_t size)
{
    if (count > (SIZE_MAX - 3 * ROOM) / size) return NULL;
    /* A multiple of the alignment, as allocators may want it; and an empty block, too, has a byte after the
     * header: checkers of leaks hold a block lost to which nothing but the address of its end leads. */
    const size_t bytes = ROOM + (count * size / ROOM + 1) * ROOM;
    void *whole = NULL;
    void *block = current.allocate != NULL ? current.allocate(current.context, bytes, PRV_FFT_ALIGNMENT)
                                           : library_allocate(bytes, &whole);
    if (block == NULL) return NULL;
    *(header *)block = (header){current, bytes, whole};
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
        free(h.whole);
}
