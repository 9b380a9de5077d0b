#include "files/mechanism_writing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/json.h"
#include "files/mechanism_reading.h"

static prv_status put_mechanism(prv_writing *w, const prv_mechanism *m, const uint64_t *count, int depth);

/* ---- Text -------------------------------------------------------------------------------------------- */

static void put_bytes(prv_writing *w, const char *text, size_t length)
{
    if (w->length < w->size) {
        const size_t room = w->size - w->length;
        memcpy(w->text + w->length, text, length < room ? length : room);
    }
    w->length += length;
}

void prv_put(prv_writing *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

void prv_put_number(prv_writing *w, double number)
{
    char written[40], point[PRV_POINT_SIZE];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(written, sizeof written, "%.*g", digits, number);
        if (strtod(written, NULL) == number) break;
    }
    prv_decimal_point(point);
    const char *behind = strstr(written, point);
    if (behind == NULL) {
        prv_put(w, written);
        return;
    }
    put_bytes(w, written, (size_t)(behind - written));
    prv_put(w, ".");
    prv_put(w, behind + strlen(point));
}

void prv_put_whole(prv_writing *w, uint64_t whole)
{
    char written[24];
    snprintf(written, sizeof written, "%" PRIu64, whole);
    prv_put(w, written);
}

void prv_end_writing(prv_writing *w)
{
    if (w->size > 0) w->text[w->length < w->size ? w->length : w->size - 1] = '\0';
}

/* ---- Parameters -------------------------------------------------------------------------------------- */

static void put_name(prv_writing *w, const char *name)
{
    prv_put(w, ", \"");
    prv_put(w, name);
    prv_put(w, "\": ");
}

void prv_put_named_number(prv_writing *w, const char *name, double value)
{
    put_name(w, name);
    prv_put_number(w, value);
}

static void whole(prv_writing *w, const char *name, uint64_t value)
{
    put_name(w, name);
    prv_put_whole(w, value);
}

static void numbers(prv_writing *w, const char *name, const double *values, size_t length)
{
    put_name(w, name);
    prv_put(w, "[");
    for (size_t i = 0; i < length; i++) {
        if (i > 0) prv_put(w, ", ");
        prv_put_number(w, values[i]);
    }
    prv_put(w, "]");
}

static void begin(prv_writing *w, const char *type)
{
    prv_put(w, "{\"type\": \"");
    prv_put(w, type);
    prv_put(w, "\"");
}

static prv_status base(prv_writing *w, const prv_description *d, int depth)
{
    put_name(w, "mechanism");
    return put_mechanism(w, d->parts[0].mechanism, NULL, depth + 1);
}

/* Several mechanisms on the same records. */
static prv_status composed(prv_writing *w, const prv_description *d, int depth)
{
    begin(w, "Composed");
    put_name(w, "mechanisms");
    prv_put(w, "[");
    prv_status status = PRV_OK;
    for (size_t i = 0; i < d->part_count && status == PRV_OK; i++) {
        prv_put(w, i > 0 ? ", [" : "[");
        status = put_mechanism(w, d->parts[i].mechanism, NULL, depth + 1);
        prv_put(w, ", ");
        prv_put_whole(w, d->parts[i].count);
        prv_put(w, "]");
    }
    for (size_t i = 0; d->kind == PRV_KIND_GAUSSIANS && i < d->length; i++) {
        prv_put(w, i > 0 ? ", [" : "[");
        begin(w, "Gaussian");
        prv_put_named_number(w, "noise_multiplier", d->values[i]);
        prv_put(w, "}, ");
        prv_put_whole(w, d->counts[i]);
        prv_put(w, "]");
    }
    prv_put(w, "]");
    return status;
}

static void table(prv_writing *w, const prv_description *d)
{
    begin(w, "FromTable");
    numbers(w, "losses", d->values, d->length);
    numbers(w, "probabilities", d->probabilities, d->length);
    prv_put_named_number(w, "mass_at_infinity", d->mass_at_infinity);
}

static prv_status stated(prv_writing *w, const prv_description *d)
{
    const prv_description *own = prv_mechanism_description(d->parts[0].mechanism);
    if (own->kind != PRV_KIND_TABLE) return PRV_ERR_NO_JSON;
    table(w, own);
    put_name(w, "neighbors");
    prv_put(w, "\"");
    prv_put(w, prv_relation_names[d->relation]);
    prv_put(w, "\"");
    put_name(w, "attained");
    prv_put(w, d->attained ? "true" : "false");
    return PRV_OK;
}

static prv_status poisson_subsampled(prv_writing *w, const prv_description *d, int depth)
{
    const prv_description *inner = prv_mechanism_description(d->parts[0].mechanism);
    prv_status status = PRV_OK;
    if (inner->kind == PRV_KIND_GAUSSIAN) {
        begin(w, "PoissonSubsampledGaussian");
        prv_put_named_number(w, "noise_multiplier", inner->noise);
    } else {
        begin(w, "PoissonSubsampled");
        status = base(w, d, depth);
    }
    prv_put_named_number(w, "sampling_probability", d->sampling_probability);
    return status;
}

/* ---- Mechanisms -------------------------------------------------------------------------------------- */

static void noise(prv_writing *w, const char *type, const prv_description *d)
{
    begin(w, type);
    prv_put_named_number(w, "scale", d->noise);
    prv_put_named_number(w, "sensitivity", d->sensitivity);
}

static void discrete_noise(prv_writing *w, const char *type, const prv_description *d)
{
    begin(w, type);
    prv_put_named_number(w, "scale", d->noise);
    whole(w, "sensitivity", (uint64_t)d->sensitivity);
}

static void guarantee(prv_writing *w, const prv_description *d)
{
    begin(w, d->delta == 0.0 ? "PureDP" : "ApproximateDP");
    prv_put_named_number(w, "epsilon", d->epsilon);
    if (d->delta != 0.0) prv_put_named_number(w, "delta", d->delta);
}

static prv_status sampled(prv_writing *w, const prv_description *d, int depth)
{
    begin(w, "SubsampledWithoutReplacement");
    const prv_status status = base(w, d, depth);
    prv_put_named_number(w, "sampling_probability", d->sampling_probability);
    return status;
}

static prv_status allocated(prv_writing *w, const prv_description *d, int depth)
{
    begin(w, "RandomAllocation");
    const prv_status status = base(w, d, depth);
    whole(w, "batches", d->batches);
    if (d->kind == PRV_KIND_RANDOM_SELECTION) whole(w, "selected", d->selected);
    return status;
}

static void gaussian(prv_writing *w, const char *type, const prv_description *d)
{
    begin(w, type);
    prv_put_named_number(w, "noise_multiplier", d->noise);
    if (d->kind == PRV_KIND_GAUSSIAN) return;
    prv_put_named_number(w, "sampling_probability", d->sampling_probability);
    if (d->kind == PRV_KIND_GROUP_GAUSSIAN) {
        whole(w, "group_size", d->group_size);
    } else {
        whole(w, "dataset_size", d->dataset_size);
        whole(w, "maximum_batch_size", d->maximum_batch_size);
    }
}

static prv_status put_open(prv_writing *w, const prv_description *d, int depth)
{
    switch (d->kind) {
    case PRV_KIND_GAUSSIAN: gaussian(w, "Gaussian", d); return PRV_OK;
    case PRV_KIND_LAPLACE: noise(w, "Laplace", d); return PRV_OK;
    case PRV_KIND_DISCRETE_GAUSSIAN: discrete_noise(w, "DiscreteGaussian", d); return PRV_OK;
    case PRV_KIND_DISCRETE_LAPLACE: discrete_noise(w, "DiscreteLaplace", d); return PRV_OK;
    case PRV_KIND_APPROXIMATE_DP: guarantee(w, d); return PRV_OK;
    case PRV_KIND_BOUNDED_RANGE:
        begin(w, "BoundedRange");
        prv_put_named_number(w, "epsilon", d->epsilon);
        return PRV_OK;
    case PRV_KIND_RANDOMIZED_RESPONSE:
        begin(w, "RandomizedResponse");
        prv_put_named_number(w, "epsilon", d->epsilon);
        whole(w, "categories", d->categories);
        return PRV_OK;
    case PRV_KIND_GAUSSIAN_MIXTURE:
        begin(w, "MixtureOfGaussians");
        prv_put_named_number(w, "noise_multiplier", d->noise);
        numbers(w, "sensitivities", d->values, d->length);
        numbers(w, "probabilities", d->probabilities, d->length);
        return PRV_OK;
    case PRV_KIND_FIXED_SIZE_GROUP_GAUSSIAN:
        begin(w, "GroupSubsampledWithoutReplacementGaussian");
        prv_put_named_number(w, "noise_multiplier", d->noise);
        whole(w, "dataset_size", d->dataset_size);
        whole(w, "batch_size", d->batch_size);
        whole(w, "group_size", d->group_size);
        return PRV_OK;
    case PRV_KIND_TABLE: table(w, d); return PRV_OK;
    case PRV_KIND_STATED: return stated(w, d);
    case PRV_KIND_POISSON_SUBSAMPLED: return poisson_subsampled(w, d, depth);
    case PRV_KIND_SUBSAMPLED_WITHOUT_REPLACEMENT: return sampled(w, d, depth);
    case PRV_KIND_GROUP_GAUSSIAN: gaussian(w, "GroupPoissonSubsampledGaussian", d); return PRV_OK;
    case PRV_KIND_TRUNCATED_POISSON_GAUSSIAN:
        gaussian(w, "TruncatedPoissonSubsampledGaussian", d);
        return PRV_OK;
    case PRV_KIND_RANDOM_ALLOCATION:
    case PRV_KIND_RANDOM_SELECTION: return allocated(w, d, depth);
    case PRV_KIND_COMPOSED:
    case PRV_KIND_GAUSSIANS: return composed(w, d, depth);
    case PRV_KIND_CDFS:
    case PRV_KIND_TAILS:
    case PRV_KIND_CURVE:
    case PRV_KIND_SHUFFLED_FROM_BELOW:
    case PRV_KIND_SCALED: break;
    }
    return PRV_ERR_NO_JSON;
}

static prv_status put_mechanism(prv_writing *w, const prv_mechanism *m, const uint64_t *count, int depth)
{
    if (depth > PRV_DEEPEST_MECHANISM) return PRV_ERR_NO_JSON;
    const prv_status status = put_open(w, prv_mechanism_description(m), depth);
    if (count != NULL) whole(w, "count", *count);
    prv_put(w, "}");
    return status;
}

prv_status prv_put_mechanism(prv_writing *w, const prv_mechanism *m, const uint64_t *count)
{
    return put_mechanism(w, m, count, 1);
}
