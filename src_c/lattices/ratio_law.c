#include "lattices/ratio_law.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"

prv_status prv_ratio_check_memory(const prv_ratio_side *s, double numbers)
{
    const prv_options *options = s->options;
    const double limit = options != NULL ? (double)options->memory_limit : 0x1p40;
    return numbers * (double)sizeof(double) <= limit ? PRV_OK : PRV_ERR_MEMORY_LIMIT;
}

prv_status prv_ratio_law_new(size_t length, prv_ratio_law *law)
{
    memset(law, 0, sizeof *law);
    law->length = length;
    law->null = prv_allocate(length, sizeof *law->null);
    if (law->null == NULL) return PRV_ERR_MEMORY;
    memset(law->null, 0, length * sizeof *law->null);
    return PRV_OK;
}

prv_status prv_ratio_law_copy(const prv_ratio_law *law, prv_ratio_law *copy)
{
    *copy = *law;
    copy->null = prv_allocate(law->length, sizeof *copy->null);
    copy->at = law->at != NULL ? prv_allocate(law->length, sizeof *copy->at) : NULL;
    if (copy->null == NULL || (law->at != NULL && copy->at == NULL)) {
        prv_ratio_law_free(copy);
        return PRV_ERR_MEMORY;
    }
    memcpy(copy->null, law->null, law->length * sizeof *law->null);
    if (law->at != NULL) memcpy(copy->at, law->at, law->length * sizeof *law->at);
    return PRV_OK;
}

void prv_ratio_law_free(prv_ratio_law *law)
{
    prv_release(law->null);
    prv_release(law->at);
    memset(law, 0, sizeof *law);
}

void prv_law_pair_free(prv_law_pair *e)
{
    for (int side = 0; side < 2; side++) prv_ratio_law_free(&e->law[side]);
}

/* The special measure's mass of a point: e^x is off by its own rounding and that of x. */
double prv_ratio_special(const prv_ratio_law *law, size_t i)
{
    return law->null[i] > 0.0 ? law->null[i] * exp(prv_ratio_point(law, i)) : 0.0;
}

double prv_ratio_special_error(const prv_ratio_law *law)
{
    const double reach = fmax(fabs(prv_ratio_point(law, 0)), fabs(prv_ratio_point(law, law->length - 1)));
    return PRV_UNIT * (8.0 + 4.0 * (reach + fabs(law->offset)));
}

size_t prv_ratio_point_count(const prv_ratio_law *law)
{
    size_t count = 0;
    for (size_t i = 0; i < law->length; i++) count += law->null[i] > 0.0 ? 1 : 0;
    return count;
}

double prv_ratio_variance(const prv_ratio_law *law)
{
    double mass = 0.0, mean = 0.0, square = 0.0;
    for (size_t i = 0; i < law->length; i++) {
        const double x = prv_ratio_point(law, i) - prv_ratio_point(law, 0);
        mass += law->null[i];
        mean += law->null[i] * x;
        square += law->null[i] * x * x;
    }
    mean /= mass;
    return fmax(square / mass - mean * mean, 0.0);
}

prv_atoms *prv_ratio_atoms(const prv_ratio_law *law, const prv_ratio_side *s, double *error)
{
    prv_atoms *a = prv_atoms_new(prv_ratio_point_count(law));
    if (a == NULL) return NULL;
    size_t n = 0;
    for (size_t i = 0; i < law->length; i++) {
        const size_t from = s->add ? law->length - 1 - i : i;
        if (!(law->null[from] > 0.0)) continue;
        const double x = prv_ratio_point(law, from);
        a->loss[n] = s->add ? -x : x;
        a->q[n] = s->add ? law->null[from] : prv_ratio_special(law, from);
        a->p[n++] = s->add ? prv_ratio_special(law, from) : law->null[from];
    }
    a->q_only = s->add ? law->zero : law->infinite;
    a->p_only = s->add ? law->infinite : law->zero;
    a->loss_error = 2.0 * PRV_UNIT;
    *error = prv_ratio_special_error(law) + 2.0 * law->shift + 4.0 * PRV_UNIT * fabs(law->offset);
    return a;
}
