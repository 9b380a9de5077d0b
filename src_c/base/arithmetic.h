/* Every bound of rounding here is one of IEEE arithmetic that rounds to nearest and keeps subnormal numbers.
 * Neither is known when this is compiled: a thread has modes, which any function that it ever called may have
 * changed (fesetround; flush-to-zero and denormals-are-zero, which programs and libraries linked with
 * -ffast-math set as they start). */
#ifndef PRV_ARITHMETIC_H
#define PRV_ARITHMETIC_H

#include "prvcore.h"

/* PRV_ERR_ARITHMETIC where the arithmetic of the calling thread is another one now. Called first by whatever
 * is public and computes, and after each callback that may have changed it. A dozen operations. */
prv_status prv_check_arithmetic(void);

#endif
