#include "lattices/ratio_mixture.h"

#include <math.h>
#include <string.h>

#include "numerics/rounding.h"
#include "lattices/ratio_average.h"
#include "lattices/ratio_cells.h"

double prv_ratio_log_mixture(double x, double p, double *error)
{
    const double value = p < 1.0
                             ? (x > 30.0 ? x + log(p) + log1p((1.0 - p) / p * exp(-x)) : log1p(p * expm1(x)))
                             : x;
    const double rest = p < 1.0 && value < -0.5 ? log((1.0 - p) + p * exp(x)) : value;
    /* x and log p, which may be far greater than their sum, are rounded too. */
    const double of_probability = p < 1.0 && x > 30.0 ? fabs(log(p)) : 0.0;
    *error = PRV_UNIT * (16.0 + 8.0 * (fabs(rest) + fabs(x) + of_probability));
    return rest;
}

prv_status prv_ratio_mixture(const prv_ratio_law *a, double p, double spacing, const prv_ratio_side *s,
                             prv_ratio_law *mixture)
{
    double error;
    const bool spreads = p < 1.0 && a->zero > prv_ratio_least_zero(s);
    const double lowest = spreads ? log1p(-p) : prv_ratio_log_mixture(prv_ratio_point(a, 0), p, &error);
    const double highest = prv_ratio_log_mixture(prv_ratio_point(a, a->length - 1), p, &error);
    const double first = floor(lowest / spacing) - 4.0, last = ceil(highest / spacing) + 4.0;
    if (!(fabs(first) < 0x1p52 && last - first < 0x1p30)) return PRV_ERR_ENGINE;
    prv_status status = prv_ratio_check_memory(s, 5.0 * (last - first));
    if (status != PRV_OK) return status;
    prv_ratio_cells cells;
    status = prv_ratio_cells_new((int64_t)first, (int64_t)last, 1, 0.0, spacing, &cells);
    if (status != PRV_OK) return status;
    cells.terms = 2;
    size_t run = 0;
    int64_t before = 0;
    for (size_t i = 0; i < a->length; i++) {
        if (!(a->null[i] > 0.0)) continue;
        const double x = prv_ratio_point(a, i), value = prv_ratio_log_mixture(x, p, &error);
        const double of_point = 4.0 * PRV_UNIT * (fabs(x) + fabs(a->offset));
        const prv_ratio_place at = prv_ratio_place_of(value, error + of_point, spacing,
                                                      prv_ratio_up_is_safe(s));
        prv_ratio_cells_add(&cells, at.cell, &a->null[i], 1, 1.0, at.upper);
        run = at.cell == before ? run + 1 : 1;
        before = at.cell;
        if (run + 2 > cells.terms) cells.terms = run + 2;
    }
    memset(mixture, 0, sizeof *mixture);
    if (spreads) {
        const double value = log1p(-p);
        const prv_ratio_place at = prv_ratio_place_of(value, PRV_UNIT * (8.0 + 8.0 * fabs(value)), spacing,
                                                      prv_ratio_up_is_safe(s));
        prv_ratio_cells_add(&cells, at.cell, &a->zero, 1, 1.0, at.upper);
        cells.terms++;
    } else {
        mixture->zero = a->zero;
    }
    if (!s->add) mixture->infinite = p * a->infinite * prv_ratio_outwards(s, 4.0 * PRV_UNIT);
    mixture->shift = a->shift;
    return prv_ratio_cells_close(&cells, s, mixture);
}
