/* What the test programs share: one line a check, random numbers that repeat, curves of atoms. */
#ifndef PRV_TESTS_CHECK_H
#define PRV_TESTS_CHECK_H

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int check(int ok, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(ok ? "ok   " : "FAIL ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    if (ok)
        passed++;
    else
        failed++;
    return ok;
}

static inline int summary(void)
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

/* Deterministic numbers: a 64-bit linear congruence with an output mix. */
static uint64_t random_state = 1;

static inline uint64_t random_bits(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t v = random_state;
    v ^= v >> 32;
    v *= UINT64_C(0x9e3779b97f4a7c15);
    return v ^ (v >> 29);
}
static inline double uniform(double low, double high)
{
    return low + (high - low) * ((double)(random_bits() >> 11) * 0x1p-53);
}
static inline double log_uniform(double low, double high)
{
    return exp(uniform(log(low), log(high)));
}
static inline size_t random_below(size_t n)
{
    return (size_t)(random_bits() % n);
}

/* How many of `trials` random trials a program makes: all of them, or if PRVCORE_TEST_TRIALS is set that many
 * per cent, and at least one. It is set where a second compiler, a sanitizer or another machine repeats what
 * has been tested in full. */
static inline int trials_of(int trials)
{
    const char *per_cent = getenv("PRVCORE_TEST_TRIALS");
    if (!per_cent) return trials;
    const int fewer = (int)((long)trials * strtol(per_cent, NULL, 10) / 100);
    return fewer > 1 ? fewer : 1;
}

/* Whether one of many settings is tried: each is, or that share of them, drawn at random. */
static inline int is_drawn(void)
{
    const int per_cent = trials_of(100);
    return per_cent >= 100 || random_below(100) < (size_t)per_cent;
}

/* sum mass (1 - e^(epsilon - loss))_+ + infinite: the privacy curve of atoms, in any order. */
static inline long double atoms_delta(const double *loss, const double *mass, size_t length, double infinite,
                                      long double epsilon)
{
    long double sum = 0.0L;
    for (size_t i = length; i-- > 0;)
        if ((long double)loss[i] > epsilon)
            sum -= (long double)mass[i] * expm1l(epsilon - (long double)loss[i]);
    return sum + (long double)infinite;
}

static inline long double normal_upper(long double z)
{
    return 0.5L * erfcl(z * 0.70710678118654752440084436210484904L);
}

#endif
