#include "query.h"
prv_status prv_mean_matching(prv_side_view *views, size_t view_count, const prv_options *options,
                             prv_question question, const double *values, size_t length,
                             prv_bounds *bounds, prv_report *reports)
{
    (void)views; (void)view_count; (void)options; (void)question; (void)values; (void)length; (void)bounds; (void)reports;
    return PRV_ERR_OPTIONS;
}
