/* The provider that the library was built with: PRV_FFT_PLANNER names its planner; undefined, there is none.
 */
#include "fft/plans.h"

#ifdef PRV_FFT_PLANNER

prv_status prv_fft_provider_new(prv_fft_provider **provider)
{
    return prv_provider_new(&PRV_FFT_PLANNER, provider);
}

const char *prv_fft_provider_name(void)
{
    return PRV_FFT_PLANNER.name;
}

#else

prv_status prv_fft_provider_new(prv_fft_provider **provider)
{
    (void)provider;
    return PRV_ERR_FFT;
}

const char *prv_fft_provider_name(void)
{
    return "none";
}

#endif
