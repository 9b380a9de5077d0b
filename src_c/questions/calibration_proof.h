/* The proof of a calibration: fine bounds at two neighbouring factors, of which one meets the target and the
 * other fails it. */
#ifndef PRV_CALIBRATION_PROOF_H
#define PRV_CALIBRATION_PROOF_H

#include "questions/calibration_crossing.h"

/* Whether the bounds show that the target is met. */
typedef enum prv_verdict { PRV_MEETS, PRV_FAILS } prv_verdict;

/* Measures a factor with *eps_error, and closer, down to `least`, while both sides of the target are
 * possible and closer bounds may decide; less closely if these would take large passes or lose more to
 * rounding than they gain: *eps_error is then what the next factor should begin with. Statuses of
 * prv_epsilon.
 */
prv_status prv_calibration_judge(prv_calibration_search *search, double factor, double *eps_error,
                                 double least, prv_calibration_point *point, prv_verdict *verdict);

/* Fills all of *found that belongs to the point that meets and the one that fails; `fails` is NULL if no
 * factor is left to fail. */
void prv_calibration_report(const prv_calibration_point *meets, const prv_calibration_point *fails,
                            prv_calibration *found);

/* Finds both points, beginning at the crossing. PRV_ERR_TARGET if the safest factor fails: found->epsilon is
 * then its bounds. */
prv_status prv_calibration_prove(prv_calibration_search *search, const prv_crossing *crossing,
                                 prv_calibration *found);

#endif
