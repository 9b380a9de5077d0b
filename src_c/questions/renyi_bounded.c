#include "questions/renyi_bounded.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "lattices/profile.h"

/* How far cells are refined: time and closeness alone. */
enum { MOST_KNOTS = 1 << 16, MOST_ROUNDS = 20 };

/* The lowest knot lies this far below the next, relatively: the least loss, which may be an atom, is in a
 * cell of its own. */
#define BELOW_LEAST_LOSS 1e-9

/* Bounds of the logarithm of what cell i adds. The last cell ends at the greatest loss. */
static void bound_cell(const prv_cells *c, size_t i, double greatest, double alpha, double *lower,
                       double *upper)
{
    const double *x = c->knots;
    const size_t n = c->length;
    const double anchor = x[i > 0 ? i - 1 : 0], high = i < n ? x[i] : fmax(greatest, x[n - 1]);
    *lower = *upper = -HUGE_VAL;
    if (i == n && c->mass[n] > 0.0 && !isfinite(high)) {
        *upper = HUGE_VAL;
        return;
    }
    if (!(c->relative[i] > 0.0 || c->mass[i] > 0.0)) return;
    const double relative = fmax(c->relative[i], DBL_MIN);
    const double log_mass = log(relative) - anchor, y = anchor + log(c->mass[i] / relative);
    if (i > 0) {
        /* The logarithms, their sum, and a quotient; what masses are off by is in tail_error. */
        const double y_error = PRV_UNIT * (8.0 + 4.0 * (fabs(anchor) + fabs(y)));
        const double mass_error = PRV_UNIT * (8.0 + 4.0 * (fabs(anchor) + fabs(log_mass)));
        prv_excess_bounds_of_cell(log_mass, mass_error, fmin(fmax(y, anchor), high), y_error, anchor, high,
                                  alpha, lower, upper);
    } else {
        /* Ratios lie between 0, where f is alpha - 1, and that at the end. */
        const double log_rest = log(alpha - 1.0);
        prv_excess_bounds_at(anchor, 0.0, alpha, lower, upper);
        *upper = fmax(*upper, log_rest + 4.0 * PRV_UNIT * fabs(log_rest)) + log_mass;
        *upper += PRV_UNIT * (8.0 + 4.0 * (fabs(log_mass) + fabs(*upper)));
        *lower = -HUGE_VAL;
    }
}

/* What all cells add, and knots that halve the cells whose bounds are too far apart. `finer` has room for
 * twice the knots; *finer_length is 0 if the bounds are close enough. */
static void add_cells(const prv_cells *c, double greatest, double alpha, prv_excess *e, double *finer,
                      size_t *finer_length)
{
    const size_t n = c->length;
    const double *x = c->knots;
    double lower, upper;
    *e = (prv_excess)PRV_NO_EXCESS;
    for (size_t i = 0; i <= n; i++) {
        bound_cell(c, i, greatest, alpha, &lower, &upper);
        prv_excess_add(e, lower, upper);
    }
    const double most_gap = prv_log_sum_value(&e->lower) + log(PRV_RENYI_TOLERANCE / (double)n);
    size_t count = 0;
    bool halved = false;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            bound_cell(c, i, greatest, alpha, &lower, &upper);
            if (prv_log_difference(upper, lower) > most_gap) {
                finer[count++] = 0.5 * (x[i - 1] + x[i]);
                halved = true;
            }
        }
        finer[count++] = x[i];
    }
    *finer_length = halved ? count : 0;
}

/* E_P[r^alpha] is an integral of H_gamma(Q, P) alpha (alpha - 1) gamma^(alpha - 2) over gamma > 0: tails off
 * by a, at losses off by b, make it a factor of (1 +- a) e^(+- (alpha - 1) b). */
static void allow_for_cells(const prv_cells *c, double alpha, prv_excess *e)
{
    const double error = c->tail_error * (1.0 + alpha);
    const double log_error = log(expm1(error)) +
                             PRV_UNIT * 64.0; /* of expm1 and of a logarithm of 40 at most */
    prv_log_sum_add(&e->upper, prv_log_sum_above(&e->upper) + log_error);
    prv_log_sum_add(&e->upper, log_error);
    const double lower = prv_log_difference_below(prv_log_sum_below(&e->lower), log(2.0) + log_error);
    e->lower = (prv_log_sum)PRV_EMPTY_LOG_SUM;
    if (error < 0.25) prv_log_sum_add(&e->lower, lower + log1p(-2.0 * error));
}

/* Bounds from the cells between knots[*length], and finer knots, 0 of them if these will do. */
static prv_status bound_between(const prv_mechanism *m, bool add, double greatest, double alpha,
                                double *knots, size_t *length, prv_excess *e)
{
    prv_cells cells;
    prv_status status = prv_cells_new(*length, &cells);
    if (status != PRV_OK) return status;
    memcpy(cells.knots, knots, *length * sizeof *knots);
    status = prv_cells_compute(m, add, PRV_DOMINATING, &cells);
    if (status != PRV_OK) goto done;
    add_cells(&cells, greatest, alpha, e, knots, length);
    allow_for_cells(&cells, alpha, e);
done:
    prv_cells_free(&cells);
    return status;
}

prv_status prv_bounded_excess(const prv_mechanism *m, bool add, double alpha, const prv_options *options,
                              prv_excess *excess)
{
    double *knots = NULL;
    prv_profile profile;
    prv_status status = prv_profile_new(m, add, 1, &profile);
    if (status != PRV_OK) return status;
    knots = prv_allocate(2 * (size_t)MOST_KNOTS, sizeof *knots);
    if (knots == NULL) {
        status = PRV_ERR_MEMORY;
        goto done;
    }
    size_t length = profile.knot_count + 1;
    memcpy(knots + 1, profile.knots, profile.knot_count * sizeof *knots);
    knots[0] = knots[1] - BELOW_LEAST_LOSS * (1.0 + fabs(knots[1]));
    const double greatest = prv_greatest_loss(m, add) + prv_greatest_loss_error(m, add);
    for (int round = 0; round < MOST_ROUNDS && length > 0 && length <= MOST_KNOTS; round++) {
        status = prv_check_interrupt(options);
        if (status == PRV_OK) status = bound_between(m, add, greatest, alpha, knots, &length, excess);
        if (status != PRV_OK) goto done;
    }
done:
    prv_release(knots);
    prv_profile_free(&profile);
    return status;
}
