/* Privacy curves that have a formula: of Gaussian noise, of Laplace noise and of bounded range, each once,
 * and of Poisson samples of the first two. */
#ifndef PRV_SMOOTH_CURVE_H
#define PRV_SMOOTH_CURVE_H

#include "closed/value.h"

typedef enum prv_smooth_kind {
    PRV_SMOOTH_NONE,     /* no loss at all: (1 - e^epsilon)_+ */
    PRV_SMOOTH_GAUSSIAN, /* N(0, 1) against N(size, 1) */
    PRV_SMOOTH_LAPLACE,  /* sensitivity / scale is size */
    PRV_SMOOTH_RANGE     /* losses in an interval of length size: PAIRS.md, section 5 */
} prv_smooth_kind;

typedef struct prv_smooth_curve {
    prv_smooth_kind kind;
    long double size;
    double size_error;       /* relative */
    bool sampled, add;       /* a Poisson sample, and which measure of its pair is the first */
    long double probability; /* of each record, off by U of itself at most */
} prv_smooth_curve;

/* The curve at any finite epsilon (nats), which is known up to `blur`. O(1). */
prv_closed_value prv_smooth_curve_at(const prv_smooth_curve *curve, long double epsilon, long double blur);

#endif
