/* The library's own transforms, for callers who bring none. */
#ifndef PRV_OWN_TRANSFORMS_H
#define PRV_OWN_TRANSFORMS_H

#include "prvcore.h"

/* What a public function holds while it answers. */
typedef struct prv_own_transforms {
    prv_options options;
    prv_fft_provider *provider; /* or NULL: the caller's, or none in this library */
} prv_own_transforms;

/* Sets *with to the caller's options if these have transforms, else to a copy of them with a provider of
 * prv_fft_provider_new, which keeps its plans until prv_own_transforms_end. If the library was built without
 * transforms, the copy has none either, and a question that needs some fails with PRV_ERR_FFT.
 * PRV_ERR_MEMORY; then there is nothing to end. */
prv_status prv_own_transforms_begin(prv_own_transforms *own, const prv_options *options,
                                    const prv_options **with);

void prv_own_transforms_end(prv_own_transforms *own);

#endif
