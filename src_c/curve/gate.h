/* The gate: every answer passes one of these functions on its way out.
 *
 * Mass at infinity, the greatest loss, and the floor 1 - e^epsilon that no curve is below are facts of a
 * composition that its steps tell one by one (prv_totals). An answer that needs no more is given by
 * prv_gate_direct; every other one is clipped to them by prv_gate_close, which refuses bounds that contradict
 * each other. Both know one direction at a time; prv_gate_worst alone combines bounds of two. Answers by
 * inequalities (questions/inequalities.c) are of all directions at once: these pass prv_gate_range. */
#ifndef PRV_GATE_H
#define PRV_GATE_H

#include "mechanisms/mechanism.h"
#include "composition/infinite_mass.h"

typedef enum prv_question { PRV_ASK_EPSILON, PRV_ASK_DELTA } prv_question;

/* What is known of a composition in one direction from its steps one by one. */
typedef struct prv_totals {
    double count;          /* of steps */
    double lost;           /* prv_lost_delta of all steps */
    prv_infinite infinite; /* mass at infinity */
    double greatest_loss;  /* nats */
    double greatest_error; /* of greatest_loss, at most, nats */
    bool greatest_unknown; /* the greatest loss may be any less */
} prv_totals;

/* Adds a step of this count; all 0 before the first. */
void prv_totals_add(prv_totals *totals, const prv_mechanism *mechanism, double count, bool add);

/* The largest finite epsilon that the composition may have: its greatest loss, or 0 if that is negative. */
double prv_greatest_epsilon(const prv_totals *totals);

/* Bounds of epsilon at the delta `value` in [0, 1], or of delta at the epsilon `value` (any but nan), over
 * `count` directions: true if that needs no composition. */
bool prv_gate_direct(const prv_totals *const *directions, size_t count, prv_question question, double value,
                     prv_bounds *bounds);

/* The bounds of one direction as they may be told: clipped to what its totals say, the estimate between them.
 * Bounds that are no numbers count as unknown. PRV_ERR_BOUNDS if the lower one is above the upper one. */
prv_status prv_gate_close(const prv_totals *totals, prv_question question, double value, prv_bounds *bounds);

/* Bounds of any other quantity, which is known to lie in [least, greatest]. As above. */
prv_status prv_gate_range(double least, double greatest, prv_bounds *bounds);

/* The worst of two directions, each already closed: the greater of both in each place. */
void prv_gate_worst(prv_bounds *worst, const prv_bounds *other);

#endif
