/* Compositions whose parameter is multiplied by a factor: what the two parts of a calibration share, the
 * coarse search (calibration_crossing.h) and the proof (calibration_proof.h).
 *
 * Both compare levels: epsilon, nats; or, if a risk is the target, the mu of the Gaussian mechanism that has
 * the same risk, which is nearly proportional to 1 / noise too. Levels choose where to look and how closely;
 * whether a target is met is read off the bounds of the quantity itself. */
#ifndef PRV_CALIBRATION_SEARCH_H
#define PRV_CALIBRATION_SEARCH_H

#include <stdbool.h>

#include "base/progress.h"
#include "mechanisms/mechanism.h"
#include "questions/calibration_risk.h"

/* The width of coarse bounds, over the level; the estimate between them is much closer than that. */
#define PRV_COARSE_WIDTH 0.05
/* Coarse widths are relative to the level, but no less than for this one. */
#define PRV_COARSE_FLOOR 1e-3

typedef struct prv_calibration_search {
    const prv_step *steps; /* [step_count], of which the first `fixed_count` stay as they are */
    size_t step_count, fixed_count;
    prv_parameter parameter;
    const prv_risk_target *risk; /* the target, or NULL if it is an epsilon */
    double delta;                /* where epsilon is asked */
    double target;               /* as a level; that of an epsilon is exact */
    double tolerance;            /* of the logarithm of the factor */
    prv_options options;
    prv_layer *layer;
    double sign;          /* position = sign * log(factor): the level falls along positions */
    double risky, safe;   /* ends of the range of the factor: of the highest and of the lowest level */
    prv_step *scaled;     /* [step_count] */
    prv_mechanism **made; /* [step_count] mechanisms of `scaled` that are not those of `steps`, or NULL */
    double nats;          /* width of epsilon over that of the level, as last measured */
    size_t compositions;  /* measured in all */
    size_t fine;          /* of these, by the proof */
} prv_calibration_search;

/* What is known at one factor. */
typedef struct prv_calibration_point {
    double factor, position;
    prv_bounds found; /* of the quantity itself */
    bool is_met;      /* all values between its bounds meet the target */
    bool is_missed;   /* none of them does */
    bool is_above;    /* no closer bounds meet it: the pair itself misses it, whatever data sets attain */
    prv_bounds level;
    double eps_error; /* asked, nats */
    double scale;     /* by which the level changes as delta changes e-fold: 1 / tilt; 0 if unknown */
    double width;     /* of the bounds, but for what is owed to a pair that no data sets have */
    double rounding;  /* the part of it that rounding makes */
    double closest;   /* the least width worth asking for: rounding would be much of one below it */
    bool is_stopped;  /* another engine might have come closer (PRV_LIMIT_ENGINE) */
    bool is_final;    /* a smaller eps_error would not make the bounds closer */
} prv_calibration_point;

/* Whether factors change step j. */
bool prv_calibration_changes(const prv_calibration_search *search, size_t j);

/* The factor of a position, in its range. */
double prv_calibration_factor(const prv_calibration_search *search, double position);

/* Bounds the quantity at a factor: of the absolute width `width` of its level, or if it is 0 of a coarse one,
 * which is relative to the level `floor` at least. Statuses of prv_epsilon. */
prv_status prv_calibration_measure(prv_calibration_search *search, double factor, double width, double floor,
                                   prv_calibration_point *point);

/* Bounds to find the way by: as above, but without large passes, if these are not the only ones. */
prv_status prv_calibration_estimate(prv_calibration_search *search, double factor, double width, double floor,
                                    prv_calibration_point *point);

/* Tells progress how far the search has come, a guess: it never falls. */
void prv_calibration_tell(prv_calibration_search *search, double fraction);

/* Frees the mechanisms in `made`. */
void prv_calibration_release(prv_calibration_search *search);

#endif
