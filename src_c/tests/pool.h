/* An allocator that watches, and fails when it is told to. */
#ifndef PRV_TESTS_POOL_H
#define PRV_TESTS_POOL_H

#include "prvcore.h"

#include "check.h"

typedef struct pool {
    long left; /* allocations that succeed; negative: all */
    long made, live;
    size_t bytes;
    int misused;
} pool;

typedef struct record {
    pool *owner;
    void *raw;
    size_t size, alignment;
} record;

/* Aligned as asked but to no more, and full of numbers that are not any. */
static void *pool_allocate(void *context, size_t size, size_t alignment)
{
    pool *p = context;
    p->misused += size == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0 || size % alignment != 0;
    if (p->left == 0) return NULL;
    if (p->left > 0) p->left--;
    unsigned char *raw = malloc(sizeof(record) + 3 * alignment + size);
    if (raw == NULL) abort();
    /* An odd multiple of the alignment. */
    const uintptr_t least = (uintptr_t)raw + sizeof(record), twice = 2 * alignment;
    unsigned char *block = raw + ((least + twice - 1) / twice * twice + alignment - (uintptr_t)raw);
    const record r = {p, raw, size, alignment};
    memcpy(block - sizeof r, &r, sizeof r);
    memset(block, 0xff, size);
    p->made++;
    p->live++;
    p->bytes += size;
    return block;
}

static void pool_release(void *context, void *pointer, size_t size, size_t alignment)
{
    pool *p = context;
    record r;
    memcpy(&r, (unsigned char *)pointer - sizeof r, sizeof r);
    p->misused += r.owner != p || r.size != size || r.alignment != alignment;
    p->live--;
    p->bytes -= size;
    free(r.raw);
}

static inline prv_allocator allocator_of(pool *p)
{
    const prv_allocator a = {p, pool_allocate, pool_release};
    return a;
}

typedef prv_status (*job)(void);

/* Runs the job again and again, so that each of its allocations fails once. */
static inline void every_allocation(job run, const char *what)
{
    long n = 0;
    int wrong = 0;
    pool p = {0};
    const prv_allocator before = prv_use_allocator(allocator_of(&p));
    for (; n < 20000; n++) {
        p.left = n;
        const prv_status status = run();
        wrong += p.live != 0 || p.bytes != 0;
        if (status == PRV_OK) break;
        wrong += status != PRV_ERR_MEMORY;
    }
    const prv_allocator used = prv_use_allocator(before);
    check(used.context == &p && used.allocate == pool_allocate && p.misused == 0,
          "%s: allocates where it should", what);
    check(n > 0 && n < 20000 && wrong == 0,
          "... fails properly and leaks nothing at each of %ld allocations (%d not)", n, wrong);
}

#endif
