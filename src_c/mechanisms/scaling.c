#include "mechanisms/scaling.h"

#include <float.h>
#include <math.h>

#include "base/arithmetic.h"
#include "mechanisms/combined.h"
#include "mechanisms/fixed_size_group.h"
#include "mechanisms/noise.h"
#include "mechanisms/subsampled.h"

prv_status prv_mechanism_unsampled(const prv_mechanism *m, double factor, prv_mechanism **mechanism)
{
    const double scale = m->scale * factor;
    switch (m->noise) {
    case PRV_NOISE_GAUSSIAN: return prv_mechanism_gaussian_rounded(scale, m->scale_error, mechanism);
    case PRV_NOISE_LAPLACE: return prv_mechanism_laplace(scale, m->sensitivity, mechanism);
    case PRV_NOISE_DISCRETE_GAUSSIAN:
        if (scale == 0.0) return prv_mechanism_disjoint(mechanism);
        return prv_mechanism_discrete_gaussian(scale, m->integer_sensitivity, mechanism);
    case PRV_NOISE_DISCRETE_LAPLACE:
        if (scale == 0.0) return prv_mechanism_disjoint(mechanism);
        return prv_mechanism_discrete_laplace(scale, m->integer_sensitivity, mechanism);
    case PRV_NOISE_MIXTURE: {
        /* The centres are in units of the present noise, so that the factor is the new noise. */
        const prv_components *q = m->base_mixture != NULL ? &m->base_mixture->q : &m->mixture->q;
        const prv_status status = prv_mechanism_gaussian_mixture(factor, q->center, q->weight, q->length,
                                                                 mechanism);
        if (status != PRV_OK) return status;
        (*mechanism)->scale = scale;
        return PRV_OK;
    }
    case PRV_NOISE_NONE: break;
    }
    const prv_replacement replacement = m->sampled ? m->base_replacement : m->replacement;
    prv_status status = PRV_OK;
    prv_mechanism *copy = prv_mechanism_like(m);
    if (copy == NULL) return PRV_ERR_MEMORY;
    copy->sampled = copy->without_replacement = copy->replaced_only = copy->folded = false;
    copy->sampling_probability = 1.0;
    copy->sampling_rest = 0.0;
    copy->density_error = m->table_error;
    copy->replacement = replacement;
    if (m->base == PRV_BASE_ATOMS) {
        copy->atoms[0] = copy->atoms[1] = prv_atoms_copy(m->base_atoms != NULL ? m->base_atoms : m->atoms[0]);
        if (copy->atoms[0] == NULL) status = PRV_ERR_MEMORY;
    }
    if (status == PRV_OK && m->own && m->never_attained) /* as prv_mechanism_stated makes it */
        status = prv_mechanism_approximate_dp(0.0, 0.0, &copy->attained);
    return prv_mechanism_finish(status, copy, mechanism);
}

bool prv_has_parameter(const prv_mechanism *m, prv_parameter parameter)
{
    if (m->base == PRV_BASE_COMBINED) return prv_combined_has(m, parameter);
    if (m->base == PRV_BASE_CHOICE)
        return parameter == PRV_NOISE_SCALE && prv_has_parameter(m->part[0], parameter) &&
               prv_has_parameter(m->part[1], parameter);
    /* Batches of another probability may be cut more often. */
    return parameter == PRV_NOISE_SCALE
               ? m->noise != PRV_NOISE_NONE
               : parameter == PRV_SAMPLING_PROBABILITY && m->sampled && m->cut_sampling_probability == 0.0;
}

bool prv_falls_with_noise(const prv_mechanism *m)
{
    for (size_t i = 0; i < m->part_count; i++)
        if (!prv_falls_with_noise(m->parts[i])) return 0;
    return m->noise != PRV_NOISE_DISCRETE_GAUSSIAN;
}

/* The probabilities of the parts of a choice do not depend on the noise. */
static prv_status choice_scaled(const prv_mechanism *m, double factor, prv_mechanism **mechanism)
{
    prv_mechanism *part[2] = {NULL, NULL};
    prv_mechanism *attained = NULL;
    prv_status status = prv_mechanism_scaled(m->part[0], PRV_NOISE_SCALE, factor, &part[0]);
    if (status != PRV_OK) goto done;
    status = prv_mechanism_scaled(m->part[1], PRV_NOISE_SCALE, factor, &part[1]);
    if (status != PRV_OK) goto done;
    status = prv_mechanism_scaled(m->attained, PRV_NOISE_SCALE, factor, &attained);
done: /* prv_mechanism_choice frees the parts on errors */
    status = prv_mechanism_choice(status, part, m->part_weight, m->part_weight_error, attained, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->scale = m->scale * factor;
    (*mechanism)->replacement = m->replacement;
    return PRV_OK;
}

static prv_status scaled(const prv_mechanism *m, prv_parameter parameter, double factor,
                         prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!prv_has_parameter(m, parameter)) return PRV_ERR_PARAMETER;
    if (!(factor >= 0.0 && isfinite(factor))) return PRV_ERR_PARAMETER;
    if (m->base == PRV_BASE_COMBINED) return prv_combined_scaled(m, parameter, factor, mechanism);
    if (m->base == PRV_BASE_CHOICE) return choice_scaled(m, factor, mechanism);
    const bool noise = parameter == PRV_NOISE_SCALE;
    double p = noise ? m->sampling_probability : m->sampling_probability * factor;
    if (p > 1.0 && p <= 1.0 + 2.0 * DBL_EPSILON) p = 1.0; /* p * (1 / p) */
    if (m->dataset_size > 0) return prv_fixed_size_group_scaled(m, factor, mechanism);
    if (m->group_size > 1) return prv_group_scaled(m, noise ? factor : 1.0, p, mechanism);
    prv_mechanism *base = NULL;
    prv_status status = prv_mechanism_unsampled(m, noise ? factor : 1.0, &base);
    if (status != PRV_OK) return status;
    if (!m->sampled) {
        *mechanism = base;
        return PRV_OK;
    }
    if (m->without_replacement)
        status = prv_mechanism_subsampled_without_replacement(base, p, mechanism);
    else if (noise && m->sampling_rest != 0.0)
        status = prv_sampled_like(m, base, mechanism);
    else
        status = prv_mechanism_poisson_subsampled(base, p, mechanism);
    prv_mechanism_free(base);
    if (status == PRV_OK) prv_keep_cut(m, *mechanism);
    return status;
}

/* Whether another constructor has made the scaled mechanism of the product, so that its description says all
 * of it. Of a mixture the centres are scaled, a scale that was rounded has an error besides, and what is
 * neither noise nor a sample of noise, or is cut, has no constructor that takes the product. */
static bool tells_product(const prv_mechanism *base, const prv_mechanism *made)
{
    const bool is_plain = base->noise != PRV_NOISE_NONE && base->noise != PRV_NOISE_MIXTURE;
    return is_plain && base->group_size == 1 && base->scale_error == 0.0 &&
           base->cut_sampling_probability == 0.0 && made->origin != NULL;
}

prv_status prv_mechanism_scaled(const prv_mechanism *m, prv_parameter parameter, double factor,
                                prv_mechanism **mechanism)
{
    const prv_status status = scaled(m, parameter, factor, mechanism);
    if (status == PRV_OK && tells_product(m, *mechanism)) return PRV_OK;
    const prv_description made = {
        .kind = PRV_KIND_SCALED,
        .parameter = parameter,
        .factor = factor,
        .part_count = 1,
        .parts = &(prv_step){m, 1},
    };
    return prv_described(status, &made, mechanism);
}
