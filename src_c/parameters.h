/* Changes of a parameter: prvcore.h has prv_mechanism_scaled. */
#ifndef PRV_PARAMETERS_H
#define PRV_PARAMETERS_H

#include "mechanisms.h"

/* 1 if prv_mechanism_scaled can multiply this parameter of it. */
int prv_has_parameter(const prv_mechanism *m, prv_parameter parameter);

#endif
