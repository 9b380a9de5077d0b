#include "questions/worst_case.h"

#include <math.h>

#include "base/progress.h"

void prv_take_worse(bool is_first, const prv_bounds *bounds, const prv_report *bounds_report,
                    prv_bounds *worst, prv_report *report)
{
    if (is_first || bounds->upper > worst->upper) *report = *bounds_report;
    if (is_first)
        *worst = *bounds;
    else
        prv_gate_worst(worst, bounds);
}

static prv_status worst_of_directions(const prv_quantity *quantity, prv_directions *directions,
                                      const prv_options *options, double value, prv_bounds *worst,
                                      prv_report *report)
{
    for (size_t i = 0; i < directions->count; i++) {
        prv_bounds b;
        prv_report r = {0};
        prv_status status = prv_check_interrupt(options);
        if (status != PRV_OK) return status;
        status = quantity->answer(&directions->each[i], options, value, &b, &r);
        if (status == PRV_ERR_MEMORY_LIMIT) report->memory = r.memory;
        if (status != PRV_OK) return status;
        prv_take_worse(i == 0, &b, &r, worst, report);
    }
    return PRV_OK;
}

/* Raises *lower to the lower bounds of pairs of data sets that are chosen by this tilt. */
static prv_status raise_by_data(const prv_quantity *quantity, const prv_directions *directions,
                                const prv_options *options, double tilt, double value, double *lower)
{
    const double tilts[2] = {tilt, tilt};
    prv_directions data;
    prv_status status = prv_data_directions_new(directions->each, directions->count, options, tilts, 0.0,
                                                &data);
    if (status != PRV_OK) goto done;
    for (size_t i = 0; i < data.count; i++) {
        prv_bounds b;
        prv_report unwanted = {0};
        status = quantity->answer(&data.each[i], options, value, &b, &unwanted);
        if (status != PRV_OK) goto done;
        *lower = fmax(*lower, b.lower);
    }
done:
    prv_directions_free(&data);
    return status;
}

prv_status prv_worst_case(const prv_quantity *quantity, prv_directions *directions,
                          const prv_options *options, double value, prv_bounds *bounds, prv_report *report)
{
    prv_status status = worst_of_directions(quantity, directions, options, value, bounds, report);
    if (status != PRV_OK) return status;
    if (prv_direction_attainment(&directions->each[0]) == PRV_ATTAINED) return PRV_OK;
    double lower = 0.0;
    const size_t choices = prv_has_range(&directions->each[0]) ? quantity->tilt_count : 1;
    for (size_t i = 0; i < choices; i++) {
        status = raise_by_data(quantity, directions, options, quantity->tilts[i], value, &lower);
        if (status != PRV_OK) return status;
    }
    bounds->lower = lower;
    report->attained = 0;
    return prv_gate_range(quantity->least, quantity->greatest, bounds);
}
