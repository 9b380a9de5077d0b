/* Compositions whose privacy curve has a formula or is a short sum of formulas.
 *
 * Composed losses are Y + A, where A has few atoms a of mass w(a) and the curve of Y is known, so that
 *     delta(epsilon) = sum over a of w(a) delta_Y(epsilon - a)
 * (docs/bounds.rst, Lemma 1). All Gaussian steps together are one Gaussian, whose curve is delta_Y. Losses of
 * +-epsilon, many times, are binomial, and a loss that is certain is so many times itself. A mechanism that
 * runs once may have a curve of its own; discrete losses are a table of atoms for each of few runs. Nothing
 * is rounded to a lattice: what a value is off by comes from floating point alone. */
#ifndef PRV_CLOSED_FORM_H
#define PRV_CLOSED_FORM_H

#include "curve/direction.h"
#include "closed/loss_table.h"
#include "closed/smooth_curve.h"

typedef struct prv_closed_form {
    bool known; /* false: the composition has no closed form, or one with too many atoms */
    prv_smooth_curve smooth;
    prv_loss_table table; /* of no length: the curve of Y is `smooth`; else that of this table */
    size_t atoms;         /* of A */
    long double *loss, *mass;
    double mass_error, loss_error; /* of the atoms of A: relative, and in nats */
    double above, below;           /* as of a table: mass that was left out */
    long double finite;  /* probability that no loss of Y or A is infinite, where that is not in masses */
    double finite_error; /* relative */
} prv_closed_form;

/* The closed form of a direction: what is left out of it matters to deltas below `least` alone, where it is
 * counted. PRV_ERR_MEMORY. O(steps + atoms). */
prv_status prv_closed_form_new(const prv_direction *direction, double least, prv_closed_form *form);
void prv_closed_form_free(prv_closed_form *form);

/* delta at a finite epsilon, without the mass at infinity. O(atoms). */
prv_closed_value prv_closed_form_at(const prv_closed_form *form, long double epsilon);

#endif
