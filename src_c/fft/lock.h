/* A mutual exclusion on POSIX and Windows. */
#ifndef PRV_LOCK_H
#define PRV_LOCK_H

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef SRWLOCK prv_lock;
static inline int prv_lock_new(prv_lock *lock)
{
    InitializeSRWLock(lock);
    return 1;
}
static inline void prv_lock_free(prv_lock *lock)
{
    (void)lock;
}
static inline void prv_lock_take(prv_lock *lock)
{
    AcquireSRWLockExclusive(lock);
}
static inline void prv_lock_give(prv_lock *lock)
{
    ReleaseSRWLockExclusive(lock);
}

#else
#include <pthread.h>

typedef pthread_mutex_t prv_lock;
static inline int prv_lock_new(prv_lock *lock)
{
    return pthread_mutex_init(lock, NULL) == 0;
}
static inline void prv_lock_free(prv_lock *lock)
{
    pthread_mutex_destroy(lock);
}
static inline void prv_lock_take(prv_lock *lock)
{
    pthread_mutex_lock(lock);
}
static inline void prv_lock_give(prv_lock *lock)
{
    pthread_mutex_unlock(lock);
}

#endif
#endif
