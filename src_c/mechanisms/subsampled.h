/* Mechanisms on a sample: prvcore.h has the constructors. */
#ifndef PRV_SUBSAMPLED_H
#define PRV_SUBSAMPLED_H

#include "mechanisms/mechanism.h"

/* log(1 + p (e^y - 1)), the loss of the subsampled pair where the base has loss y; its inverse is
 * -infinity at and below log(1 - p). Both without forming e^y for large y; the former to a few roundings
 * of itself and of y, the latter to those of both losses. */
double prv_subsampled_loss(double base_loss, double p);
double prv_base_loss(double loss, double p);

/* What prv_subsampled_loss may be off by relatively, where y is by `error`: y times its derivative is at
 * most 1.5 (1 + |y|) times itself. */
double prv_subsampled_loss_error(double y, double error);

/* A group with other noise, and with another probability where that is not its own. */
prv_status prv_group_scaled(const prv_mechanism *m, double noise_factor, double probability,
                            prv_mechanism **mechanism);

#endif
