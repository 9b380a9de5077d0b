/* Risks as targets of calibrations: their bounds, which of these meet a target, and the mu of the Gaussian
 * mechanism that has the same risk. */
#ifndef PRV_CALIBRATION_RISK_H
#define PRV_CALIBRATION_RISK_H

#include <stdbool.h>

#include "prvcore.h"

/* A Bayes risk is to be at least `value`, every other risk at most that. */
typedef struct prv_risk_target {
    prv_risk risk;
    double at; /* false positive rate, prior, or least delta; 0 for PRV_ADVANTAGE */
    double value;
} prv_risk_target;

/* PRV_OK, or the rule of prv_calibrate_risk that the target breaks. */
prv_status prv_check_risk(const prv_risk_target *target);

/* The risk if nothing is released: no composition has a smaller one (of a Bayes risk: a larger one). */
double prv_least_risk(const prv_risk_target *target);

/* Bounds of the risk, and the report of the delta that decides. Statuses of prv_power. */
prv_status prv_bound_risk(const prv_risk_target *target, const prv_step *steps, size_t step_count,
                          const prv_options *options, prv_bounds *bounds, prv_report *report);

/* Whether all values between these bounds meet the target, or none does. */
bool prv_meets_risk(const prv_risk_target *target, const prv_bounds *bounds);
bool prv_misses_risk(const prv_risk_target *target, const prv_bounds *bounds);

/* The mu >= 0 of the Gaussian mechanism that has this risk, infinite if none has. No bound relies on it. */
double prv_risk_level(const prv_risk_target *target, double risk);

/* The same of bounds: their levels in increasing order. */
prv_bounds prv_risk_levels(const prv_risk_target *target, const prv_bounds *bounds);

#endif
