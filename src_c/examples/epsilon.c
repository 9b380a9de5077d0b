/* Epsilon of 1000 steps of DP-SGD at delta 1e-7, in C. */
#include <prvcore.h>
#include <stdio.h>

int main(void)
{
    prv_bounds epsilon;
    const prv_status status = prv_dpsgd_epsilon(0.8, 1e-3, 1000, 1e-7, &epsilon);
    if (status != PRV_OK) {
        fprintf(stderr, "%s\n", prv_status_message(status));
        return 1;
    }
    printf("%.17g <= epsilon <= %.17g\n", epsilon.lower, epsilon.upper);
    return 0;
}
