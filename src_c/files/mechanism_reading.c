#include "files/mechanism_reading.h"

#include <stddef.h>
#include <string.h>

#include "base/allocate.h"

/* ---- Parameters -------------------------------------------------------------------------------------- */

/* What a mechanism may have, with the defaults of the Python package. */
typedef struct arguments {
    double noise, sensitivity, probability, epsilon, delta, mass_at_infinity;
    uint64_t categories, group_size, dataset_size, batch_size, maximum_batch_size, batches, selected, bins,
        epochs;
    bool centred, attained;
    prv_relation relation;
    double *values, *probabilities; /* arrays, which are owned, as is base */
    size_t value_count, probability_count;
    prv_mechanism *base;
} arguments;

#define LEFT_OUT UINT64_MAX /* no whole number of a text is so large */

static const arguments defaults = {.sensitivity = 1.0,
                                   .categories = 2,
                                   .selected = LEFT_OUT,
                                   .attained = true,
                                   .relation = PRV_RELATION_ADD_OR_REMOVE};

typedef enum field_kind { NUMBER, WHOLE, FLAG, RELATION, VALUES, PROBABILITIES, PARTS } field_kind;

typedef struct field {
    const char *name;
    field_kind kind;
    size_t offset; /* in arguments */
} field;

static const field fields[] = {
    {"noise_multiplier", NUMBER, offsetof(arguments, noise)},
    {"scale", NUMBER, offsetof(arguments, noise)},
    {"deviation", NUMBER, offsetof(arguments, noise)},
    {"sensitivity", NUMBER, offsetof(arguments, sensitivity)},
    {"sampling_probability", NUMBER, offsetof(arguments, probability)},
    {"epsilon", NUMBER, offsetof(arguments, epsilon)},
    {"delta", NUMBER, offsetof(arguments, delta)},
    {"mass_at_infinity", NUMBER, offsetof(arguments, mass_at_infinity)},
    {"categories", WHOLE, offsetof(arguments, categories)},
    {"group_size", WHOLE, offsetof(arguments, group_size)},
    {"dataset_size", WHOLE, offsetof(arguments, dataset_size)},
    {"batch_size", WHOLE, offsetof(arguments, batch_size)},
    {"maximum_batch_size", WHOLE, offsetof(arguments, maximum_batch_size)},
    {"batches", WHOLE, offsetof(arguments, batches)},
    {"selected", WHOLE, offsetof(arguments, selected)},
    {"bins", WHOLE, offsetof(arguments, bins)},
    {"epochs", WHOLE, offsetof(arguments, epochs)},
    {"centred", FLAG, offsetof(arguments, centred)},
    {"attained", FLAG, offsetof(arguments, attained)},
    {"neighbors", RELATION, offsetof(arguments, relation)},
    {"losses", VALUES, 0},
    {"sensitivities", VALUES, 0},
    {"probabilities", PROBABILITIES, 0},
    {"mechanism", PARTS, 0},
    {"mechanisms", PARTS, 0},
};

static prv_status read_parts(prv_reading *r, uint32_t place, int depth, prv_mechanism **mechanism);

static prv_status read_numbers(prv_reading *r, uint32_t place, double **numbers, size_t *length)
{
    const prv_json_part *part = &r->json->parts[place];
    if (part->kind != PRV_JSON_ARRAY) return PRV_ERR_JSON;
    *numbers = prv_allocate(part->count, sizeof **numbers);
    if (*numbers == NULL) return PRV_ERR_MEMORY;
    *length = part->count;
    uint32_t each = place + 1;
    for (uint32_t i = 0; i < part->count; i++, each = r->json->parts[each].next) {
        r->at = each;
        if (!prv_json_number(r->json, each, &(*numbers)[i])) return PRV_ERR_JSON;
    }
    return PRV_OK;
}

const char *const prv_relation_names[PRV_RELATION_COUNT] = {"add-or-remove", "replace-one", "any"};

static prv_status read_relation(const prv_reading *r, uint32_t place, prv_relation *relation)
{
    const size_t chosen = prv_json_choice(r->json, place, prv_relation_names, PRV_RELATION_COUNT);
    if (chosen == PRV_RELATION_COUNT) return PRV_ERR_JSON;
    *relation = (prv_relation)chosen;
    return PRV_OK;
}

static prv_status read_field(prv_reading *r, uint32_t place, const field *f, int depth, arguments *a)
{
    r->at = place;
    void *to = (char *)a + f->offset;
    const prv_json_kind kind = r->json->parts[place].kind;
    switch (f->kind) {
    case NUMBER: return prv_json_number(r->json, place, to) ? PRV_OK : PRV_ERR_JSON;
    case WHOLE: return prv_json_whole(r->json, place, to) ? PRV_OK : PRV_ERR_JSON;
    case FLAG:
        *(bool *)to = kind == PRV_JSON_TRUE;
        return kind == PRV_JSON_TRUE || kind == PRV_JSON_FALSE ? PRV_OK : PRV_ERR_JSON;
    case RELATION: return read_relation(r, place, to);
    case VALUES: return read_numbers(r, place, &a->values, &a->value_count);
    case PROBABILITIES: return read_numbers(r, place, &a->probabilities, &a->probability_count);
    case PARTS: return read_parts(r, place, depth + 1, &a->base);
    }
    return PRV_ERR_JSON;
}

/* Steps as one mechanism, as the Python package makes it; see below. */
static prv_status joined(const prv_step *steps, size_t step_count, prv_mechanism **m);

/* ---- Types ------------------------------------------------------------------------------------------- */

static prv_status gaussian(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_gaussian(a->noise, m);
}

/* A count that is not centred changes by no more if a record is replaced than if it is removed, of which
 * prv_neighbors knows nothing: lower bounds for a replaced record would be too large. */
static prv_status noisy_count(const arguments *a, prv_mechanism **m)
{
    return a->centred ? prv_mechanism_gaussian(2.0 * a->noise, m) : PRV_ERR_NEIGHBORS;
}

static prv_status laplace(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_laplace(a->noise, a->sensitivity, m);
}

static bool is_whole(double number)
{
    return number >= 1.0 && number <= 0x1p53 && number == (double)(int64_t)number;
}

static prv_status discrete_gaussian(const arguments *a, prv_mechanism **m)
{
    return is_whole(a->sensitivity) ? prv_mechanism_discrete_gaussian(a->noise, (int64_t)a->sensitivity, m)
                                    : PRV_ERR_SENSITIVITY;
}

static prv_status discrete_laplace(const arguments *a, prv_mechanism **m)
{
    return is_whole(a->sensitivity) ? prv_mechanism_discrete_laplace(a->noise, (int64_t)a->sensitivity, m)
                                    : PRV_ERR_SENSITIVITY;
}

static prv_status guarantee(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_approximate_dp(a->epsilon, a->delta, m);
}

static prv_status bounded_range(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_bounded_range(a->epsilon, m);
}

static prv_status randomized_response(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_randomized_response(a->epsilon, a->categories, m);
}

static prv_status mixture(const arguments *a, prv_mechanism **m)
{
    if (a->value_count != a->probability_count) return PRV_ERR_COMPONENTS;
    return prv_mechanism_gaussian_mixture(a->noise, a->values, a->probabilities, a->value_count, m);
}

static prv_status table(const arguments *a, prv_mechanism **m)
{
    if (a->value_count != a->probability_count) return PRV_ERR_TABLE;
    prv_mechanism *own = NULL;
    prv_status status = prv_mechanism_table(a->values, a->probabilities, a->value_count, a->mass_at_infinity,
                                            &own);
    if (status != PRV_OK) return status;
    if (a->relation == PRV_RELATION_ADD_OR_REMOVE && a->attained) {
        *m = own;
        return PRV_OK;
    }
    status = prv_mechanism_stated(own, a->relation, a->attained, m);
    prv_mechanism_free(own);
    return status;
}

static prv_status poisson_subsampled(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_poisson_subsampled(a->base, a->probability, m);
}

static prv_status poisson_gaussian(const arguments *a, prv_mechanism **m)
{
    prv_mechanism *base = NULL;
    prv_status status = prv_mechanism_gaussian(a->noise, &base);
    if (status == PRV_OK) status = prv_mechanism_poisson_subsampled(base, a->probability, m);
    prv_mechanism_free(base);
    return status;
}

static prv_status without_replacement(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_subsampled_without_replacement(a->base, a->probability, m);
}

static prv_status group(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_group_gaussian(a->noise, a->probability, a->group_size, m);
}

static prv_status fixed_size_group(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_fixed_size_group_gaussian(a->noise, a->dataset_size, a->batch_size, a->group_size,
                                                   m);
}

static prv_status truncated(const arguments *a, prv_mechanism **m)
{
    return prv_mechanism_truncated_poisson_gaussian(a->noise, a->probability, a->dataset_size,
                                                    a->maximum_batch_size, m);
}

static prv_status random_allocation(const arguments *a, prv_mechanism **m)
{
    return a->selected == LEFT_OUT ? prv_mechanism_random_allocation(a->base, a->batches, m)
                                   : prv_mechanism_random_selection(a->base, a->batches, a->selected, m);
}

/* A record keeps its bin: all epochs together are what is allocated. */
static prv_status balls_in_bins(const arguments *a, prv_mechanism **m)
{
    const prv_step all = {a->base, a->epochs};
    prv_mechanism *together = NULL;
    prv_status status = joined(&all, 1, &together);
    if (status == PRV_OK) status = prv_mechanism_random_allocation(together, a->bins, m);
    prv_mechanism_free(together);
    return status;
}

static prv_status composed(const arguments *a, prv_mechanism **m)
{
    *m = prv_mechanism_retain(a->base); /* as its parts have been joined */
    return PRV_OK;
}

#define MOST_FIELDS 5

typedef struct type {
    const char *name;
    const char *names[MOST_FIELDS]; /* of its parameters, or NULL */
    size_t needed;                  /* so many, the first, have no default */
    prv_status (*make)(const arguments *a, prv_mechanism **m);
} type;

static const type types[] = {
    {"Gaussian", {"noise_multiplier"}, 1, gaussian},
    {"NoisyCount", {"deviation", "centred"}, 2, noisy_count},
    {"Laplace", {"scale", "sensitivity"}, 1, laplace},
    {"DiscreteGaussian", {"scale", "sensitivity"}, 1, discrete_gaussian},
    {"DiscreteLaplace", {"scale", "sensitivity"}, 1, discrete_laplace},
    {"PureDP", {"epsilon"}, 1, guarantee},
    {"ApproximateDP", {"epsilon", "delta"}, 2, guarantee},
    {"BoundedRange", {"epsilon"}, 1, bounded_range},
    {"RandomizedResponse", {"epsilon", "categories"}, 1, randomized_response},
    {"MixtureOfGaussians", {"noise_multiplier", "sensitivities", "probabilities"}, 3, mixture},
    {"FromTable", {"losses", "probabilities", "mass_at_infinity", "neighbors", "attained"}, 2, table},
    {"PoissonSubsampled", {"mechanism", "sampling_probability"}, 2, poisson_subsampled},
    {"PoissonSubsampledGaussian", {"noise_multiplier", "sampling_probability"}, 2, poisson_gaussian},
    {"SubsampledWithoutReplacement", {"mechanism", "sampling_probability"}, 2, without_replacement},
    {"GroupPoissonSubsampledGaussian", {"noise_multiplier", "sampling_probability", "group_size"}, 3, group},
    {"GroupSubsampledWithoutReplacementGaussian",
     {"noise_multiplier", "dataset_size", "batch_size", "group_size"},
     4,
     fixed_size_group},
    {"TruncatedPoissonSubsampledGaussian",
     {"noise_multiplier", "sampling_probability", "dataset_size", "maximum_batch_size"},
     4,
     truncated},
    {"RandomAllocation", {"mechanism", "batches", "selected"}, 2, random_allocation},
    {"BallsInBins", {"mechanism", "bins", "epochs"}, 3, balls_in_bins},
    {"Composed", {"mechanisms"}, 1, composed},
};

/* ---- Objects ----------------------------------------------------------------------------------------- */

prv_status prv_read_members(prv_reading *r, uint32_t place, const char *const *names, size_t length,
                            uint32_t *found)
{
    const prv_json_part *parts = r->json->parts;
    r->at = place;
    if (parts[place].kind != PRV_JSON_OBJECT) return PRV_ERR_JSON;
    for (size_t i = 0; i < length; i++) found[i] = 0;
    uint32_t name = place + 1;
    for (uint32_t member = 0; member < parts[place].count; member++, name = parts[name + 1].next) {
        const size_t i = prv_json_choice(r->json, name, names, length);
        r->at = name;
        if (i == length || found[i] != 0) return PRV_ERR_JSON;
        found[i] = name + 1;
    }
    r->at = place;
    return PRV_OK;
}

static const field *field_of(const char *name)
{
    const field *f = fields;
    while (strcmp(f->name, name) != 0) f++;
    return f;
}

/* The type that an object names, or NULL; r->at is where it should. */
static const type *type_of(prv_reading *r, uint32_t place)
{
    const prv_json_part *parts = r->json->parts;
    r->at = place;
    if (parts[place].kind != PRV_JSON_OBJECT) return NULL;
    uint32_t name = place + 1;
    for (uint32_t member = 0; member < parts[place].count; member++, name = parts[name + 1].next)
        if (prv_json_is(r->json, name, "type")) {
            r->at = name + 1;
            for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (prv_json_is(r->json, name + 1, types[i].name)) return &types[i];
            return NULL;
        }
    return NULL;
}

static prv_status read_mechanism(prv_reading *r, uint32_t place, int depth, uint64_t *count,
                                 prv_mechanism **mechanism)
{
    *mechanism = NULL;
    const type *t = depth <= PRV_DEEPEST_MECHANISM ? type_of(r, place) : NULL;
    if (t == NULL) return PRV_ERR_JSON;
    const char *names[MOST_FIELDS + 2];
    uint32_t found[MOST_FIELDS + 2];
    size_t length = 0;
    for (; length < MOST_FIELDS && t->names[length] != NULL; length++) names[length] = t->names[length];
    names[length] = "type";
    names[length + 1] = "count"; /* which belongs to a step */
    prv_status status = prv_read_members(r, place, names, length + (count != NULL ? 2 : 1), found);
    arguments a = defaults;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        if (found[i] != 0)
            status = read_field(r, found[i], field_of(names[i]), depth, &a);
        else if (i < t->needed)
            status = PRV_ERR_JSON;
    }
    if (status == PRV_OK && count != NULL) {
        *count = 1;
        if (found[length + 1] != 0) {
            r->at = found[length + 1];
            if (!prv_json_whole(r->json, r->at, count)) status = PRV_ERR_JSON;
        }
    }
    if (status == PRV_OK) {
        r->at = place;
        status = t->make(&a, mechanism);
    }
    prv_release(a.values);
    prv_release(a.probabilities);
    prv_mechanism_free(a.base);
    return status;
}

prv_status prv_read_mechanism(prv_reading *r, uint32_t place, uint64_t *count, prv_mechanism **mechanism)
{
    return read_mechanism(r, place, 1, count, mechanism);
}

/* ---- Several mechanisms on the same records ----------------------------------------------------------- */

static size_t gaussians_in(const prv_mechanism *m)
{
    const prv_description *d = prv_mechanism_description(m);
    return d->kind == PRV_KIND_GAUSSIAN ? 1 : d->kind == PRV_KIND_GAUSSIANS ? d->length : 0;
}

static prv_status raised(uint64_t count, uint64_t times, uint64_t *product)
{
    const uint64_t most = UINT64_C(1) << 53;
    if (times != 0 && count > most / times) return PRV_ERR_COUNT;
    *product = count * times;
    return PRV_OK;
}

/* All Gaussian noise among the steps as one mechanism, of which there are `length` kinds. */
static prv_status joined_noise(const prv_step *steps, size_t step_count, size_t length, prv_mechanism **m)
{
    double *noises = prv_allocate(length, sizeof *noises);
    uint64_t *counts = prv_allocate(length, sizeof *counts);
    prv_status status = noises != NULL && counts != NULL ? PRV_OK : PRV_ERR_MEMORY;
    size_t filled = 0;
    for (size_t i = 0; i < step_count && status == PRV_OK; i++) {
        const prv_description *d = prv_mechanism_description(steps[i].mechanism);
        const size_t own = gaussians_in(steps[i].mechanism);
        for (size_t j = 0; j < own && status == PRV_OK; j++, filled++) {
            noises[filled] = d->kind == PRV_KIND_GAUSSIAN ? d->noise : d->values[j];
            status = raised(d->kind == PRV_KIND_GAUSSIAN ? 1 : d->counts[j], steps[i].count, &counts[filled]);
        }
    }
    if (status == PRV_OK) status = prv_mechanism_gaussians(noises, counts, length, m);
    prv_release(noises);
    prv_release(counts);
    return status;
}

/* Steps of count 0 are left out; a single one that runs once is its mechanism; Gaussian noise is joined, and
 * stands behind all others. */
static prv_status joined(const prv_step *steps, size_t step_count, prv_mechanism **m)
{
    size_t kinds = 0, kept = 0, others = 0;
    prv_mechanism *noise = NULL;
    prv_step *all = prv_allocate(step_count, sizeof *all);
    prv_status status = all != NULL ? PRV_OK : PRV_ERR_MEMORY;
    if (status != PRV_OK) goto done;
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].count == 0) continue;
        kinds += gaussians_in(steps[i].mechanism);
        all[kept++] = steps[i];
    }
    if (kept == 1 && all[0].count == 1) {
        *m = prv_mechanism_retain(all[0].mechanism);
        goto done;
    }
    if (kinds > 0) {
        status = joined_noise(all, kept, kinds, &noise);
        if (status != PRV_OK) goto done;
        for (size_t i = 0; i < kept; i++)
            if (gaussians_in(all[i].mechanism) == 0) all[others++] = all[i];
        if (others == 0) {
            *m = noise;
            noise = NULL;
            goto done;
        }
        all[others] = (prv_step){noise, 1}; /* there is room, where noise was before */
        kept = others + 1;
    }
    status = prv_mechanism_composed(all, kept, m);
done:
    prv_mechanism_free(noise);
    prv_release(all);
    return status;
}

/* A mechanism, or an array of mechanisms and of pairs [mechanism, count]. */
static prv_status read_parts(prv_reading *r, uint32_t place, int depth, prv_mechanism **mechanism)
{
    const prv_json_part *parts = r->json->parts;
    r->at = place;
    if (parts[place].kind == PRV_JSON_OBJECT) return read_mechanism(r, place, depth, NULL, mechanism);
    if (parts[place].kind != PRV_JSON_ARRAY) return PRV_ERR_JSON;
    prv_step *steps = prv_allocate(parts[place].count, sizeof *steps);
    if (steps == NULL) return PRV_ERR_MEMORY;
    prv_status status = PRV_OK;
    uint32_t length = 0, each = place + 1;
    for (; length < parts[place].count && status == PRV_OK; length++, each = parts[each].next) {
        const bool is_pair = parts[each].kind == PRV_JSON_ARRAY;
        uint64_t count = 1;
        prv_mechanism *made = NULL;
        r->at = each;
        if (is_pair && (parts[each].count != 2 || !prv_json_whole(r->json, parts[each + 1].next, &count)))
            status = PRV_ERR_JSON;
        else
            status = read_mechanism(r, is_pair ? each + 1 : each, depth, NULL, &made);
        steps[length] = (prv_step){made, count};
    }
    if (status == PRV_OK) {
        r->at = place;
        status = joined(steps, length, mechanism);
    }
    while (length > 0) prv_mechanism_free((prv_mechanism *)steps[--length].mechanism);
    prv_release(steps);
    return status;
}
