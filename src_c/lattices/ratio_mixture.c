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

void prv_ratio_set_ends_of_mixture(const prv_ratio_law *a, double p, const prv_ratio_side *s,
                                   prv_ratio_law *mixture)
{
    if (!s->add && a->infinite > 0.0)
        mixture->infinite = prv_ratio_safe_mass(s, p * a->infinite, 4.0 * PRV_UNIT);
}

/* How much the point x of a law may be off, and the place that is made of it. */
static double error_of_point(const prv_ratio_law *a, double x)
{
    return 4.0 * PRV_UNIT * (fabs(x) + fabs(a->offset));
}

static double lowest_place(double p, double *error)
{
    const double value = log1p(-p);
    *error = PRV_UNIT * (8.0 + 8.0 * fabs(value));
    return value;
}

/* The lowest and the highest place of the mixture, that of R = 0 among them if it spreads; all places, these
 * too, are known to `error` at most. */
static void ends_of(const prv_ratio_law *a, double p, bool spreads, double *lowest, double *highest,
                    double *error)
{
    const double x = prv_ratio_point(a, 0), y = prv_ratio_point(a, a->length - 1);
    double of_low, of_high, of_zero = 0.0;
    *lowest = prv_ratio_log_mixture(x, p, &of_low);
    *highest = prv_ratio_log_mixture(y, p, &of_high);
    if (spreads) *lowest = lowest_place(p, &of_zero);
    /* |x| and |log(1 - p + p e^x)| are greatest at the ends, and both ends are as far off as their places. */
    const double of_points = of_low + of_high + error_of_point(a, fmax(fabs(x), fabs(y)));
    *error = 2.0 * (of_points + of_zero);
}

prv_status prv_ratio_mixture(const prv_ratio_law *a, double p, double spacing, const prv_ratio_side *s,
                             prv_ratio_law *mixture)
{
    const bool spreads = p < 1.0 && a->zero > prv_ratio_least_zero(s);
    double error, lowest, highest;
    ends_of(a, p, spreads, &lowest, &highest, &error);
    const double first = floor(lowest / spacing), last = ceil(highest / spacing);
    if (!(last - first < 0x1p30)) return PRV_ERR_ENGINE;
    prv_status status = prv_ratio_check_memory(s, 5.0 * (last - first + 8.0));
    if (status != PRV_OK) return status;
    prv_ratio_cells cells;
    status = prv_ratio_cells_new(first, last, error, 1, 0.0, spacing, &cells);
    if (status != PRV_OK) return status;
    cells.terms = 2;
    size_t run = 0;
    int64_t before = 0;
    for (size_t i = 0; i < a->length; i++) {
        if (!(a->null[i] > 0.0)) continue;
        const double x = prv_ratio_point(a, i), value = prv_ratio_log_mixture(x, p, &error);
        const prv_ratio_place at = prv_ratio_place_of(value, error + error_of_point(a, x), spacing,
                                                      prv_ratio_up_is_safe(s));
        prv_ratio_cells_add(&cells, at.cell, &a->null[i], 1, 1.0, at.upper);
        run = at.cell == before ? run + 1 : 1;
        before = at.cell;
        if (run + 2 > cells.terms) cells.terms = run + 2;
    }
    memset(mixture, 0, sizeof *mixture);
    if (spreads) {
        const double value = lowest_place(p, &error);
        const prv_ratio_place at = prv_ratio_place_of(value, error, spacing, prv_ratio_up_is_safe(s));
        prv_ratio_cells_add(&cells, at.cell, &a->zero, 1, 1.0, at.upper);
        cells.terms++;
    } else {
        mixture->zero = a->zero;
    }
    prv_ratio_set_ends_of_mixture(a, p, s, mixture);
    mixture->shift = a->shift;
    return prv_ratio_cells_close(&cells, s, mixture);
}
