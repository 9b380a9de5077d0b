#include "mechanisms/atoms.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/rounding.h"

void prv_atoms_free(prv_atoms *a)
{
    if (a == NULL) return;
    prv_release(a->loss);
    prv_release(a);
}

/* The three arrays share one block. */
prv_atoms *prv_atoms_new(size_t length)
{
    prv_atoms *a = prv_allocate(1, sizeof *a);
    if (a == NULL) return NULL;
    memset(a, 0, sizeof *a);
    a->length = length;
    a->loss = length <= PRV_MAX_ATOMS + 1 ? prv_allocate(3 * length, sizeof *a->loss) : NULL;
    if (a->loss == NULL) {
        prv_release(a);
        return NULL;
    }
    a->q = a->loss + length;
    a->p = a->q + length;
    return a;
}

prv_atoms *prv_atoms_copy(const prv_atoms *a)
{
    prv_atoms *copy = prv_atoms_new(a->length);
    if (copy == NULL) return NULL;
    double *loss = copy->loss, *q = copy->q, *p = copy->p;
    *copy = *a;
    copy->loss = loss;
    copy->q = q;
    copy->p = p;
    memcpy(loss, a->loss, a->length * sizeof *loss);
    memcpy(q, a->q, a->length * sizeof *q);
    memcpy(p, a->p, a->length * sizeof *p);
    return copy;
}

prv_atoms *prv_atoms_reversed(const prv_atoms *a)
{
    prv_atoms *r = prv_atoms_new(a->length);
    if (r == NULL) return NULL;
    for (size_t i = 0; i < a->length; i++) {
        const size_t j = a->length - 1 - i;
        r->loss[i] = -a->loss[j];
        r->q[i] = a->p[j];
        r->p[i] = a->q[j];
    }
    r->q_only = a->p_only;
    r->p_only = a->q_only;
    r->q_only_error = a->p_only_error;
    r->p_only_error = a->q_only_error;
    r->loss_error = a->loss_error;
    r->mass_error = a->mass_error;
    r->unbounded = a->unbounded;
    return r;
}

typedef struct outcome {
    double loss, q, p;
} outcome;

static int by_loss(const void *a, const void *b)
{
    const double x = ((const outcome *)a)->loss, y = ((const outcome *)b)->loss;
    return (x > y) - (x < y);
}

prv_atoms *prv_atoms_of_outcomes(const double *q, const double *p, size_t length)
{
    outcome *sorted = prv_allocate(length, sizeof *sorted);
    prv_atoms *a = sorted != NULL ? prv_atoms_new(length) : NULL;
    if (a != NULL) {
        for (size_t i = 0; i < length; i++) sorted[i] = (outcome){log(q[i] / p[i]), q[i], p[i]};
        qsort(sorted, length, sizeof *sorted, by_loss);
        size_t n = 0;
        for (size_t i = 0; i < length; i++) {
            if (n > 0 && a->loss[n - 1] == sorted[i].loss) {
                a->q[n - 1] += sorted[i].q;
                a->p[n - 1] += sorted[i].p;
                continue;
            }
            a->loss[n] = sorted[i].loss;
            a->q[n] = sorted[i].q;
            a->p[n++] = sorted[i].p;
        }
        a->length = n;
        a->unbounded = true;
        a->loss_error = 8.0 * PRV_UNIT;
    }
    prv_release(sorted);
    return a;
}
