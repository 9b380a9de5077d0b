/* Counts of the references to an object that threads share. */
#ifndef PRV_REFERENCES_H
#define PRV_REFERENCES_H

#include <stdbool.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>

typedef volatile long prv_references;

static inline void prv_references_begin(prv_references *count)
{
    *count = 1;
}
static inline void prv_references_add(prv_references *count)
{
    _InterlockedIncrement(count);
}
static inline bool prv_references_drop(prv_references *count)
{
    return _InterlockedDecrement(count) == 0;
}

#else
#include <stdatomic.h>
#include <stddef.h>

typedef _Atomic size_t prv_references;

/* One reference, before other threads know the object. */
static inline void prv_references_begin(prv_references *count)
{
    atomic_init(count, 1);
}
/* One more, by a thread that has one. */
static inline void prv_references_add(prv_references *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}
/* One less. True for the last one, whose owner frees the object: whatever other threads did to it happened
 * before. */
static inline bool prv_references_drop(prv_references *count)
{
    return atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

#endif
#endif
