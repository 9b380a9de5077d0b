#include "fft/plans.h"

#include "base/allocate.h"

#include "fft/lock.h"

typedef struct kept_plan {
    prv_fft fft;
    struct kept_plan *next;
} kept_plan;

typedef struct plan_cache {
    prv_fft_provider provider; /* first, so that the caller's pointer leads here */
    const prv_planner *planner;
    prv_lock lock; /* of `kept`, and held while planning: threads that want one length wait for one plan */
    kept_plan *kept;
} plan_cache;

static prv_status plan_once(plan_cache *cache, size_t length, prv_fft *fft)
{
    for (const kept_plan *k = cache->kept; k != NULL; k = k->next)
        if (k->fft.length == length) {
            *fft = k->fft;
            return PRV_OK;
        }
    kept_plan *k = prv_allocate(1, sizeof *k);
    if (k == NULL) return PRV_ERR_MEMORY;
    const prv_status status = cache->planner->plan(length, &k->fft);
    if (status != PRV_OK) {
        prv_release(k);
        return status;
    }
    k->next = cache->kept;
    cache->kept = k;
    *fft = k->fft;
    return PRV_OK;
}

static prv_status plan(void *context, size_t length, prv_fft *fft)
{
    plan_cache *cache = context;
    prv_lock_take(&cache->lock);
    const prv_status status = plan_once(cache, length, fft);
    prv_lock_give(&cache->lock);
    return status;
}

prv_status prv_provider_new(const prv_planner *planner, prv_fft_provider **provider)
{
    plan_cache *cache = prv_allocate(1, sizeof *cache);
    if (cache == NULL) return PRV_ERR_MEMORY;
    if (!prv_lock_new(&cache->lock)) {
        prv_release(cache);
        return PRV_ERR_MEMORY;
    }
    cache->provider = (prv_fft_provider){cache, plan};
    cache->planner = planner;
    cache->kept = NULL;
    *provider = &cache->provider;
    return PRV_OK;
}

void prv_fft_provider_free(prv_fft_provider *provider)
{
    if (provider == NULL) return;
    plan_cache *cache = provider->context;
    while (cache->kept != NULL) {
        kept_plan *k = cache->kept;
        cache->kept = k->next;
        cache->planner->release(&k->fft);
        prv_release(k);
    }
    prv_lock_free(&cache->lock);
    prv_release(cache);
}
