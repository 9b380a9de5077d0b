#include "composition/kernel.h"

#include <math.h>

double prv_kernel_maximum(double lam)
{
    if (!(lam > 0.0)) return 1.0;
    return exp(-lam * log1p(1.0 / lam) - log1p(lam));
}

double prv_kernel_divisor(double lam_q, double theta)
{
    const double r = exp(-lam_q), co = cos(theta);
    if (co < r) return co > 0.0 ? sin(theta) * sin(theta) : 1.0;
    const double s = sin(0.5 * theta), below = -expm1(-lam_q);
    return below * below + 4.0 * r * s * s;
}
