/* Randomized response: prvcore.h has the constructor. */
#include <math.h>

#include "base/arithmetic.h"
#include "mechanisms/mechanism.h"

static prv_status make_randomized_response(double epsilon, uint64_t categories, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (!(epsilon >= 0.0 && isfinite(epsilon))) return PRV_ERR_EPSILON;
    if (categories < 2) return PRV_ERR_COMPONENTS;
    /* Probabilities of the true answer, of each other one, and of all that are neither of two true answers.
     */
    const double others = (double)categories - 1.0, own = 1.0 / (1.0 + others * exp(-epsilon));
    const double other = 1.0 / (exp(epsilon) + others), neither = (others - 1.0) * other;
    const size_t length = epsilon > 0.0 ? (categories > 2 ? 3 : 2) : 1;
    prv_atoms *a = prv_atoms_new(length);
    if (a != NULL && length == 1) {
        a->loss[0] = 0.0;
        a->q[0] = a->p[0] = 1.0;
    } else if (a != NULL) {
        a->loss[0] = -epsilon;
        a->q[0] = a->p[length - 1] = other;
        a->loss[length - 1] = epsilon;
        a->q[length - 1] = a->p[0] = own;
        if (length == 2) a->response = epsilon;
        if (length == 3) {
            a->loss[1] = 0.0;
            a->q[1] = a->p[1] = neither;
        }
    }
    prv_status status = prv_mechanism_of_atoms(a, mechanism);
    status = prv_with_replacement(status, PRV_REPLACED_ALIKE, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->replaced_only = true;
    return PRV_OK;
}

prv_status prv_mechanism_randomized_response(double epsilon, uint64_t categories, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_RANDOMIZED_RESPONSE,
        .epsilon = epsilon,
        .categories = categories,
    };
    return prv_described(make_randomized_response(epsilon, categories, mechanism), &made, mechanism);
}
