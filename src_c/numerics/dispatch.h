/* PRV_VECTOR marks a function whose loops are worth compiling twice, for the baseline and for AVX2 with
 * FMA; the loader picks one. Elsewhere, and with PRV_NO_DISPATCH, it is nothing: the code is plain C either
 * way. Picking is work for the loader of glibc; that of musl leaves the pointers empty, and gcc says
 * __gnu_linux__ for both.
 * __GLIBC__ is known after a header of the C library. */
#ifndef PRV_DISPATCH_H
#define PRV_DISPATCH_H

#include <limits.h>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) &&                     \
    defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                 \
    !defined(PRV_NO_DISPATCH)
#define PRV_VECTOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define PRV_VECTOR
#endif

/* A part of a function marked PRV_VECTOR, which is compiled with it, as often as it is. A function with a
 * name of its own would be compiled for the baseline alone. */
#if defined(__GNUC__)
#define PRV_VECTOR_PART __attribute__((always_inline)) static inline
#else
#define PRV_VECTOR_PART static inline
#endif

#endif
