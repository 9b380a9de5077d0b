#include "mechanisms/origin.h"

#include <string.h>

#include "base/allocate.h"
#include "base/references.h"
#include "mechanisms/mechanism.h"

struct prv_origin {
    prv_description description; /* whose arrays and parts are owned */
    uint64_t hash;
    prv_references references;
};

/* ---- Hashes ------------------------------------------------------------------------------------ */

/* FNV-1a by words, with a shift, since the low bits of most doubles are 0. */
static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t mixed_number(uint64_t hash, double number)
{
    const double one_zero = number + 0.0; /* -0 equals 0 */
    uint64_t word;
    memcpy(&word, &one_zero, sizeof word);
    return mixed(hash, word);
}

/* Of everything but callbacks, which are rare. */
static uint64_t hash_of(const prv_description *d)
{
    uint64_t hash = mixed(0, (uint64_t)d->kind);
    const double numbers[] = {d->noise,   d->sensitivity, d->sampling_probability,
                              d->epsilon, d->delta,       d->mass_at_infinity,
                              d->factor};
    const uint64_t wholes[] = {d->categories,         d->group_size,          d->batches,
                               d->selected,           d->dataset_size,        d->maximum_batch_size,
                               (uint64_t)d->replaced, (uint64_t)d->parameter, (uint64_t)d->relation,
                               (uint64_t)d->attained, d->batch_size};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) hash = mixed_number(hash, numbers[i]);
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) hash = mixed(hash, wholes[i]);
    for (size_t i = 0; i < d->length; i++) {
        hash = mixed_number(hash, d->values[i]);
        if (d->probabilities != NULL) hash = mixed_number(hash, d->probabilities[i]);
        if (d->counts != NULL) hash = mixed(hash, d->counts[i]);
    }
    for (size_t i = 0; i < d->part_count; i++)
        hash = mixed(mixed(hash, d->parts[i].count), prv_mechanism_hash(d->parts[i].mechanism));
    return hash;
}

uint64_t prv_mechanism_hash(const prv_mechanism *m)
{
    return m->origin != NULL ? m->origin->hash : mixed(0, (uint64_t)(uintptr_t)m);
}

/* ---- The object -------------------------------------------------------------------------------- */

/* A copy of `length` elements of `size` bytes; NULL of NULL. *status is PRV_ERR_MEMORY if it fails. */
static void *copy_of(const void *array, size_t length, size_t size, prv_status *status)
{
    if (array == NULL || *status != PRV_OK) return NULL;
    void *copy = prv_allocate(length, size);
    if (copy == NULL)
        *status = PRV_ERR_MEMORY;
    else if (length > 0)
        memcpy(copy, array, length * size);
    return copy;
}

static prv_status origin_new(const prv_description *d, prv_origin **origin)
{
    prv_origin *o = prv_allocate(1, sizeof *o);
    if (o == NULL) return PRV_ERR_MEMORY;
    prv_references_begin(&o->references);
    prv_description *own = &o->description;
    *own = *d;
    prv_status status = PRV_OK;
    own->values = copy_of(d->values, d->length, sizeof *d->values, &status);
    own->probabilities = copy_of(d->probabilities, d->length, sizeof *d->probabilities, &status);
    own->counts = copy_of(d->counts, d->length, sizeof *d->counts, &status);
    own->part_count = 0;
    prv_step *parts = status == PRV_OK ? prv_allocate(d->part_count, sizeof *parts) : NULL;
    own->parts = parts;
    if (parts == NULL) {
        prv_origin_free(o);
        return PRV_ERR_MEMORY;
    }
    for (size_t i = 0; i < d->part_count; i++)
        if (d->parts[i].count > 0)
            parts[own->part_count++] = (prv_step){prv_mechanism_retain(d->parts[i].mechanism),
                                                  d->parts[i].count};
    o->hash = hash_of(own);
    *origin = o;
    return PRV_OK;
}

void prv_origin_free(prv_origin *o)
{
    if (o == NULL) return;
    const prv_description *d = &o->description;
    for (size_t i = 0; i < d->part_count; i++) prv_mechanism_free((prv_mechanism *)d->parts[i].mechanism);
    prv_release((void *)d->values);
    prv_release((void *)d->probabilities);
    prv_release((void *)d->counts);
    prv_release((void *)d->parts);
    prv_release(o);
}

bool prv_origin_drop(prv_origin *origin)
{
    return origin == NULL || prv_references_drop(&origin->references);
}

prv_status prv_described(prv_status status, const prv_description *d, prv_mechanism **mechanism)
{
    prv_origin *origin = NULL;
    bool known = true;
    if (status != PRV_OK) goto failed; /* what follows reads only what the constructor has accepted */
    for (size_t i = 0; i < d->part_count; i++)
        known = known && (d->parts[i].count == 0 || d->parts[i].mechanism->origin != NULL);
    if (known) status = origin_new(d, &origin);
    if (status != PRV_OK) {
        prv_mechanism_free(*mechanism);
        goto failed;
    }
    prv_origin_free((*mechanism)->origin);
    (*mechanism)->origin = origin;
    return PRV_OK;
failed:
    *mechanism = NULL;
    return status;
}

/* ---- For programs ------------------------------------------------------------------------------ */

prv_mechanism *prv_mechanism_retain(const prv_mechanism *m)
{
    prv_references_add(&m->origin->references);
    return (prv_mechanism *)m;
}

const prv_description *prv_mechanism_description(const prv_mechanism *m)
{
    return &m->origin->description;
}

static bool same_arrays(const prv_description *a, const prv_description *b)
{
    if (a->length != b->length || a->part_count != b->part_count) return false;
    for (size_t i = 0; i < a->length; i++) {
        if (a->values[i] != b->values[i]) return false;
        if (a->probabilities != NULL && a->probabilities[i] != b->probabilities[i]) return false;
        if (a->counts != NULL && a->counts[i] != b->counts[i]) return false;
    }
    for (size_t i = 0; i < a->part_count; i++)
        if (a->parts[i].count != b->parts[i].count ||
            !prv_mechanism_equal(a->parts[i].mechanism, b->parts[i].mechanism))
            return false;
    return true;
}

static bool same_arguments(const prv_description *a, const prv_description *b)
{
    return a->kind == b->kind && a->noise == b->noise && a->sensitivity == b->sensitivity &&
           a->sampling_probability == b->sampling_probability && a->epsilon == b->epsilon &&
           a->delta == b->delta && a->mass_at_infinity == b->mass_at_infinity && a->factor == b->factor &&
           a->categories == b->categories && a->group_size == b->group_size && a->batches == b->batches &&
           a->selected == b->selected && a->dataset_size == b->dataset_size &&
           a->maximum_batch_size == b->maximum_batch_size && a->replaced == b->replaced &&
           a->parameter == b->parameter && a->cdfs == b->cdfs && a->tails == b->tails &&
           a->mirrored == b->mirrored && a->curve == b->curve && a->context == b->context &&
           a->batch_size == b->batch_size && a->relation == b->relation && a->attained == b->attained &&
           same_arrays(a, b);
}

int prv_mechanism_equal(const prv_mechanism *a, const prv_mechanism *b)
{
    if (a == b) return 1;
    if (a->origin == NULL || b->origin == NULL || a->origin->hash != b->origin->hash) return 0;
    return same_arguments(&a->origin->description, &b->origin->description);
}
