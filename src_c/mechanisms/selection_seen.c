#include "mechanisms/selection_seen.h"

#include <math.h>

#include "numerics/normal.h"
#include "numerics/rounding.h"
#include "mechanisms/largest.h"
#include "mechanisms/support.h"

/* Pairs are compared by epsilon at this delta, for one run, if a record is added; and the largest output is
 * seen in so many slices. Lower bounds hold whatever is chosen. */
#define COMPARED_AT 1e-6
enum { SLICES = 1000 };

/* Bisections of epsilon, which is at most the loss of an outcome. */
#define MOST_EPSILON 700.0
enum { BISECTIONS = 50 };

/* delta of a pair at an epsilon, about. */
typedef double (*curve_function)(const void *pair, double epsilon);

static double epsilon_of(curve_function curve, const void *pair)
{
    double low = 0.0, high = MOST_EPSILON;
    for (int i = 0; i < BISECTIONS; i++) {
        const double middle = 0.5 * (low + high);
        if (curve(pair, middle) > COMPARED_AT)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A Gaussian pair of this separation, on a Poisson sample. */
typedef struct sampled_gaussian {
    double mu, p;
} sampled_gaussian;

static double gaussian_curve(const void *pair, double epsilon)
{
    const sampled_gaussian *g = pair;
    const double inner = log1p(expm1(epsilon) / g->p), at = inner / g->mu;
    const double second = prv_log_upper_tail(at + 0.5 * g->mu) + inner;
    return g->p * (prv_upper_tail(at - 0.5 * g->mu) - exp(second));
}

static double atoms_curve(const void *pair, double epsilon)
{
    const prv_atoms *a = pair;
    double sum = a->q_only;
    for (size_t i = 0; i < a->length; i++)
        if (a->loss[i] > epsilon) sum += a->q[i] * -expm1(epsilon - a->loss[i]);
    return sum;
}

/* The pair of the largest outcome, of not more separation than there is. */
static prv_status largest_of(double mu, uint64_t batches, uint64_t selected, prv_mechanism **mechanism)
{
    const prv_variables with = {mu, selected, batches - selected}, without = {0.0L, 0, batches};
    return prv_mechanism_largest(&with, &without, SLICES, mechanism);
}

static prv_status seen_of_gaussian(const prv_mechanism *base, uint64_t batches, uint64_t selected,
                                   prv_mechanism **mechanism)
{
    const double t = (double)batches, k = (double)selected;
    const double off = 1.0 + 2.0 * base->scale_error + 8.0 * PRV_UNIT, mu = 1.0 / (base->scale * off);
    const sampled_gaussian sum = {k / sqrt(t) * mu, 1.0}, first = {mu, k / t};
    prv_mechanism *largest = NULL;
    prv_status status = largest_of(mu * (1.0 - 4.0 * PRV_UNIT), batches, selected, &largest);
    if (status != PRV_OK) return status;
    const double of_sum = epsilon_of(gaussian_curve, &sum), of_first = epsilon_of(gaussian_curve, &first),
                 of_largest = epsilon_of(atoms_curve, largest->atoms[0]);
    if (of_largest > fmax(of_sum, of_first)) {
        *mechanism = largest;
        return PRV_OK;
    }
    prv_mechanism_free(largest);
    if (of_first > of_sum)
        return prv_mechanism_poisson_subsampled(base, k / t * (1.0 - 4.0 * PRV_UNIT), mechanism);
    return prv_mechanism_gaussian(base->scale * (sqrt(t) / k) * off, mechanism);
}

prv_status prv_selection_seen(const prv_mechanism *base, uint64_t batches, uint64_t selected,
                              prv_mechanism **mechanism)
{
    const bool gaussian = base->base == PRV_BASE_GAUSSIAN && base->noise == PRV_NOISE_GAUSSIAN &&
                          !base->sampled && base->scale > 1e-3 && base->scale < 1e100;
    if (gaussian) return seen_of_gaussian(base, batches, selected, mechanism);
    return prv_mechanism_poisson_subsampled(base, (double)selected / (double)batches * (1.0 - 4.0 * PRV_UNIT),
                                            mechanism);
}
