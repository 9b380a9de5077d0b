#include "mechanisms/mechanism.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"

prv_mechanism *prv_mechanism_new(prv_base base)
{
    prv_mechanism *m = prv_allocate(1, sizeof *m);
    if (m == NULL) return NULL;
    memset(m, 0, sizeof *m);
    m->base = base;
    m->sampling_probability = 1.0;
    m->group_size = 1;
    return m;
}

void prv_mechanism_free(prv_mechanism *m)
{
    if (m == NULL || !prv_origin_drop(m->origin)) return;
    prv_origin_free(m->origin);
    if (m->atoms[1] != m->atoms[0]) prv_atoms_free(m->atoms[1]);
    prv_atoms_free(m->atoms[0]);
    prv_atoms_free(m->base_atoms);
    prv_gaussian_mixture_free(m->mixture);
    prv_gaussian_mixture_free(m->base_mixture);
    for (size_t i = 0; i < m->part_count; i++) prv_mechanism_free(m->parts[i]);
    prv_release(m->parts);
    prv_release(m->part_counts);
    prv_atoms_free(m->enclosing[0]);
    prv_atoms_free(m->enclosing[1]);
    prv_mechanism_free(m->part[0]);
    prv_mechanism_free(m->part[1]);
    prv_mechanism_free(m->attained);
    prv_release(m);
}

prv_mechanism *prv_mechanism_like(const prv_mechanism *m)
{
    prv_mechanism *like = prv_mechanism_new(m->base);
    if (like == NULL) return NULL;
    *like = *m;
    like->origin = NULL;
    like->atoms[0] = like->atoms[1] = like->base_atoms = NULL;
    like->mixture = like->base_mixture = NULL;
    like->part[0] = like->part[1] = like->attained = NULL;
    like->part_count = 0;
    like->parts = NULL;
    like->part_counts = NULL;
    like->enclosing[0] = like->enclosing[1] = NULL;
    return like;
}

prv_status prv_mechanism_finish(prv_status status, prv_mechanism *m, prv_mechanism **mechanism)
{
    if (status != PRV_OK) {
        prv_mechanism_free(m);
        return status;
    }
    *mechanism = m;
    return PRV_OK;
}

prv_status prv_mechanism_of_atoms(prv_atoms *atoms, prv_mechanism **mechanism)
{
    if (atoms == NULL) return PRV_ERR_MEMORY;
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_ATOMS);
    if (m == NULL) {
        prv_atoms_free(atoms);
        return PRV_ERR_MEMORY;
    }
    m->atoms[0] = m->atoms[1] = atoms;
    *mechanism = m;
    return PRV_OK;
}

prv_status prv_with_replacement(prv_status status, prv_replacement replacement, prv_mechanism **mechanism)
{
    if (status != PRV_OK) return status;
    (*mechanism)->replacement = replacement;
    return PRV_OK;
}

prv_status prv_with_noise(prv_status status, prv_noise noise, double scale, prv_mechanism **mechanism)
{
    if (status != PRV_OK || scale == 0.0) return status;
    (*mechanism)->noise = noise;
    (*mechanism)->scale = scale;
    return PRV_OK;
}

prv_status prv_mechanism_disjoint(prv_mechanism **mechanism)
{
    prv_atoms *a = prv_atoms_new(0);
    if (a != NULL) a->q_only = a->p_only = 1.0;
    return prv_with_replacement(prv_mechanism_of_atoms(a, mechanism), PRV_REPLACED_ALIKE, mechanism);
}

void prv_keep_cut(const prv_mechanism *m, prv_mechanism *made)
{
    made->cut_log_probability = m->cut_log_probability;
    made->cut_sampling_probability = m->cut_sampling_probability;
}

bool prv_is_size(uint64_t n)
{
    return n >= 1 && n <= (uint64_t)1 << 32;
}

bool prv_is_disjoint(const prv_mechanism *m)
{
    return m->base == PRV_BASE_ATOMS && m->atoms[0]->q_only == 1.0;
}

prv_status prv_mechanism_choice(prv_status status, prv_mechanism *const part[2], const double weight[2],
                                double error, prv_mechanism *attained, prv_mechanism **mechanism)
{
    prv_mechanism *m = status == PRV_OK ? prv_mechanism_new(PRV_BASE_CHOICE) : NULL;
    if (m == NULL) {
        prv_mechanism_free(part[0]);
        prv_mechanism_free(part[1]);
        prv_mechanism_free(attained);
        return status == PRV_OK ? PRV_ERR_MEMORY : status;
    }
    m->part[0] = part[0];
    m->part[1] = part[1];
    m->part_weight[0] = weight[0];
    m->part_weight[1] = weight[1];
    m->part_weight_error = error;
    m->attained = attained;
    *mechanism = m;
    return PRV_OK;
}

/* Takes the atoms of both directions, and frees them if it fails; if either is NULL, PRV_ERR_MEMORY. */
static prv_status mechanism_of_both(prv_atoms *remove, prv_atoms *add, prv_mechanism **mechanism)
{
    if (remove == NULL || add == NULL) {
        prv_atoms_free(remove);
        prv_atoms_free(add);
        return PRV_ERR_MEMORY;
    }
    const prv_status status = prv_mechanism_of_atoms(remove, mechanism);
    if (status != PRV_OK) {
        prv_atoms_free(add);
        return status;
    }
    (*mechanism)->atoms[1] = add;
    return PRV_OK;
}

prv_status prv_mechanism_outcomes(const double *q, const double *p, size_t length, prv_mechanism **mechanism)
{
    prv_atoms *a = prv_atoms_of_outcomes(q, p, length);
    return mechanism_of_both(a, a != NULL ? prv_atoms_reversed(a) : NULL, mechanism);
}

prv_status prv_mechanism_apart(double apart, double same, prv_mechanism **mechanism)
{
    if (same == 0.0) return prv_mechanism_disjoint(mechanism);
    prv_atoms *a = prv_atoms_new(1);
    prv_atoms *reversed = NULL;
    if (a != NULL) {
        a->loss[0] = apart < 0.5 ? log1p(-apart) : log(same);
        a->q[0] = same;
        a->p[0] = 1.0;
        /* A mass of 1 would mean that no outcome is shared (prv_is_disjoint). */
        a->q_only = fmin(apart, 1.0 - 0.5 * DBL_EPSILON);
        const double relative = PRV_UNIT + (double)PRV_MAX_COMPONENTS * (double)LDBL_EPSILON;
        a->q_only_error = prv_error_of_product(a->q_only, relative); /* a quotient of sums */
        a->loss_error = 4.0 * DBL_EPSILON;
        reversed = prv_atoms_reversed(a);
    }
    return mechanism_of_both(a, reversed, mechanism);
}
