/* Plans of one library, made once for each length and kept until their provider is freed. */
#ifndef PRV_PLANS_H
#define PRV_PLANS_H

#include "prvcore.h"

/* What a library has to bring. plan is never called twice at a time for one provider. */
typedef struct prv_planner {
    const char *name;
    prv_status (*plan)(size_t length, prv_fft *fft);
    void (*release)(prv_fft *fft); /* what plan made */
} prv_planner;

extern const prv_planner prv_portable_planner, prv_fftw_planner;

/* A provider with an empty cache; planner must outlive it. */
prv_status prv_provider_new(const prv_planner *planner, prv_fft_provider **provider);

#endif
