/* What a question is about: the tilt that centres the law on it, the epsilon or delta to be expected, and how
 * exact the answer has to be. */
#ifndef PRV_AIM_H
#define PRV_AIM_H

#include <stdbool.h>

#include "curve/direction.h"

/* Bounds of delta need not be closer than this part of it: where the curve is flat, near 1, doubles do not
 * tell widths in epsilon apart. */
#define PRV_FINEST_DELTA 1e-9

/* If delta is at most this, 0 is close enough as a lower bound: bounds are promised for deltas from 1e-300
 * on. */
#define PRV_LEAST_DELTA 1e-301

typedef struct prv_aim {
    double log_delta; /* of the finite part */
    double epsilon;   /* expected or asked */
    double reach;     /* how far epsilon may lie from that, about */
    double saddle;    /* tilt that centres the composed loss on it */
    double deviation; /* of the composed loss at that tilt */
    double slope;     /* -d log(delta) / d eps there: the saddle, until a pass has measured it */
    double width; /* the pass is to have, in epsilon: the one asked, or that of delta_relative_error if it is
                     wider */
    double asked; /* in epsilon, by which a reading without digits of delta is judged: at most `width` */
    double top_share;  /* part of delta that the mass above the steps' tops may cost */
    double strictness; /* divides what truncation may cost, 1 to begin with */
} prv_aim;

/* False if Chernoff's bound of epsilon at delta hardly gets down to this epsilon > 0. A fraction of its cost.
 */
bool prv_chernoff_may_reach(prv_direction *direction, double delta, double epsilon);

/* Saddle-point guess of epsilon at delta (the finite part's, > 0), whatever width is asked. O(cells). */
double prv_rough_epsilon(prv_direction *direction, double delta);

/* Saddle for a delta (the finite part's, > 0), with a guess of epsilon; and for an epsilon, with a
 * guess of delta. */
void prv_aim_at_delta(prv_direction *direction, const prv_options *options, double delta, prv_aim *aim);

/* One of these: `value` is a delta above the mass at infinity, or an epsilon. And once more, as often as the
 * profiles have to be made finer for the saddle found. */
void prv_take_aim(prv_direction *direction, const prv_options *options, prv_question question, double value,
                  prv_aim *aim);
prv_status prv_refine_aim(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_aim *aim);

/* Before the first pass: its mesh may move epsilon by about this part of aim->width. */
void prv_widen_reach(prv_aim *aim);

/* log of delta in units of M e^(-lam eps) g(lam) at this tilt, at most 0: what masses outside a window, and
 * rounding, are to be compared with. */
double prv_log_part(prv_direction *direction, const prv_aim *aim, double tilt);

/* The width that the options ask for at an epsilon. */
double prv_width_asked(const prv_options *options, double epsilon);

/* The width in epsilon that answers a question: the one asked, or, of a delta, about that which
 * delta_relative_error allows where its logarithm falls by aim->slope, if it is wider. `whole` is delta, with
 * the mass at infinity, over its finite part: >= 1. */
double prv_width_wanted(const prv_options *options, prv_question question, const prv_aim *aim, double epsilon,
                        double whole);

/* Whether bounds of a delta are within delta_relative_error of the upper one; never of an epsilon. */
bool prv_is_relatively_close(const prv_options *options, prv_question question, double lower, double upper);

/* The step of the error law (design: a width w takes h = sqrt(8 w / (k (lam + 1)))). */
double prv_law_step(const prv_direction *direction, const prv_aim *aim);

/* What truncation may cost as a part of delta: a small part of the width asked. */
double prv_truncation_share(double slope, double width);

#endif
