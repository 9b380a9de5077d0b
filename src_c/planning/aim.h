/* The aim of a question: the tilt that centres the law on it, the epsilon or delta to be expected, and the
 * width wanted. All of these are guesses; no bound relies on them. */
#ifndef PRV_AIM_H
#define PRV_AIM_H

#include <stdbool.h>

#include "curve/direction.h"

/* Bounds of delta need not be closer than this part of it: where the curve is flat, near 1, doubles do not
 * tell widths in epsilon apart. */
#define PRV_FINEST_DELTA 1e-9

/* Bounds of delta that are this part of it apart count as equal, whatever their distance in epsilon: where
 * the curve is flat, near 1, doubles are no closer in epsilon. */
#define PRV_SAME_DELTA 1e-13

/* If delta is at most this, 0 is close enough as a lower bound: bounds are promised for deltas from 1e-300
 * on. */
#define PRV_LEAST_DELTA 1e-301

typedef struct prv_aim {
    double log_delta; /* log of the finite part of delta, asked or expected */
    double epsilon;   /* nats, asked or expected */
    double reach;     /* nats: distance of the true epsilon from `epsilon`, about */
    double saddle;    /* the tilt that centres the composed loss on epsilon */
    double deviation; /* nats: standard deviation of the composed loss at that tilt */
    double slope;     /* -d log(delta) / d epsilon: the saddle, or what jumps make of it, until a pass has
                         measured it */
    double frequent_epsilon; /* nats: what a saddle point guesses, too large where rare jumps decide */
    double width;            /* nats: width in epsilon that the next pass is to have */
    double asked;            /* nats, at most `width`: a reading without digits of delta is judged by it */
    double top_share;        /* part of delta that the mass above the steps' tops may cost */
    double strictness;       /* divides the cost that truncation may have; 1 to begin with */
    double loose_part;       /* of the guess of what atoms off lattices cost, at most; 0 until a pass tells */
    double most_points; /* of a spectrum's lattice, unless atoms need more; 0: as many as cells ask for */
    bool is_rare;       /* rare jumps decide epsilon; the last field, as next_pass.c compares aims */
} prv_aim;

/* False if Chernoff's bound of epsilon at delta (prv_chernoff_epsilon) hardly gets down to this epsilon > 0.
 * Takes a fraction of its time. */
bool prv_chernoff_may_reach(prv_direction *direction, double delta, double epsilon);

/* Saddle-point guess of epsilon at delta (the finite part's, > 0), whatever width is asked. O(cells). */
double prv_rough_epsilon(prv_direction *direction, double delta);

/* Has the cells in use above which each step has its part of what tops may cost, and below caps. */
void prv_use_cells_of_aim(prv_direction *direction, const prv_aim *aim);

/* Aims at a delta (its finite part, > 0): finds the saddle, and guesses epsilon. */
void prv_aim_at_delta(prv_direction *direction, const prv_options *options, double delta, prv_aim *aim);

/* Aims anew at a delta that a pass found at the epsilon asked, with its slope. */
void prv_aim_again(prv_direction *direction, const prv_options *options, double epsilon, double log_delta,
                   double slope, prv_aim *aim);

/* Aims at the same epsilon and delta with the cells below caps alone (prv_set_caps), so that tilts make
 * nothing of losses far above epsilon. */
void prv_aim_below_caps(prv_direction *direction, const prv_options *options, prv_aim *aim);

/* Aims at the value of a question: a delta above the mass at infinity, or an epsilon. prv_refine_aim aims
 * again, as often as the saddle needs finer profiles. */
void prv_take_aim(prv_direction *direction, const prv_options *options, prv_question question, double value,
                  prv_aim *aim);
prv_status prv_refine_aim(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_aim *aim);

/* Epsilon at the same delta of a direction whose counts are less than those of the aim by the square of
 * `root`, about: in a small part of the time of an aim. */
double prv_guess_of_fewer(prv_direction *direction, const prv_aim *aim, double root);

/* Widens the reach before the first pass, by what the mesh may move epsilon, and by what its guess may be
 * off by. */
void prv_widen_reach(prv_aim *aim);

/* log of delta in units of M e^(-lam eps) g(lam) at this tilt, at most 0. Masses outside a window, and
 * rounding, are in the same units. */
double prv_log_part(prv_direction *direction, const prv_aim *aim, double tilt);

/* The width that the options ask for at an epsilon. */
double prv_width_asked(const prv_options *options, double epsilon);

/* The width in epsilon that is enough: the one asked; for a delta, if this is wider, about the width that
 * delta_relative_error allows, as log(delta) falls by aim->slope. `whole` is delta, with the mass at
 * infinity, over its finite part: >= 1. */
double prv_width_wanted(const prv_options *options, prv_question question, const prv_aim *aim, double epsilon,
                        double whole);

/* Whether bounds of a delta are within delta_relative_error of the upper one; false for an epsilon. */
bool prv_is_relatively_close(const prv_options *options, prv_question question, double lower, double upper);

/* The spacing (nats) at which bounds are to be aim->width apart, by the error law: lattices of spacing h keep
 * those of k steps about h^2 k (lam + 1) / 8 apart at the tilt lam. Slack has a part of the width. */
double prv_law_spacing(const prv_direction *direction, const prv_aim *aim);

/* The same, if no pass has told more: the law needs a mesh that resolves the tilt. */
double prv_first_spacing(const prv_direction *direction, const prv_aim *aim);

/* The part of delta that truncation may cost: a small part of the width wanted, for a delta of this slope. */
double prv_truncation_share(double slope, double width);

#endif
