#include "questions/own_transforms.h"

prv_status prv_own_transforms_begin(prv_own_transforms *own, const prv_options *options,
                                    const prv_options **with)
{
    own->provider = NULL;
    *with = options;
    if (options->fft != NULL) return PRV_OK;
    const prv_status status = prv_fft_provider_new(&own->provider);
    if (status == PRV_ERR_FFT) return PRV_OK; /* there are none */
    if (status != PRV_OK) return status;
    own->options = *options;
    own->options.fft = own->provider;
    *with = &own->options;
    return PRV_OK;
}

void prv_own_transforms_end(prv_own_transforms *own)
{
    prv_fft_provider_free(own->provider);
}
