/* The planners that this build can test. */
#ifndef PRV_TESTS_PLANNERS_H
#define PRV_TESTS_PLANNERS_H

#include "fft/plans.h"

static const prv_planner *const planners[] = {
    &prv_portable_planner,
#ifdef PRV_TEST_FFTW
    &prv_fftw_planner,
#endif
};
#define PLANNER_COUNT (sizeof planners / sizeof *planners)

#endif
