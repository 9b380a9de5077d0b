/* One question to a composition that grows, in one direction: a plan for a beginning of its steps, and sums
 * over all of them at the plan's frequencies, so that asking again costs what was added. */
#ifndef PRV_GROWTH_H
#define PRV_GROWTH_H

#include "questions/growth_plan.h"
#include "questions/reading.h"

/* Sums over the first `length` steps. */
typedef struct prv_growth_sums {
    size_t length;
    bool misfit; /* the last of these is not on the plan's lattice: the sums are of no use */
    prv_totals all;
    prv_enclosed enclosed;
    prv_growing_spectrum side[2]; /* by prv_side */
} prv_growth_sums;

/* All 0 before it is used. */
typedef struct prv_growth {
    prv_growth_plan plan;
    prv_growth_sums settled; /* over all steps but the last, which may run again */
    prv_growth_sums now;     /* over all steps */
} prv_growth;

/* Whether a plan may bound a composition of these distinct steps. Plans bound pairs; data sets that are worst
 * at one question or step are asked as a whole. */
bool prv_may_grow(const prv_step *distinct, size_t count, const prv_options *options);

/* Brings plan and sums up to all steps of `past`, and reads the answer off them; *found is false if there is
 * no plan or a step does not fit: then the composition has to be bounded as a whole. After any failure the
 * growth must be freed. The answer depends on the steps and their order, never on what is kept. */
prv_status prv_growth_answer(prv_growth *growth, const prv_past *past, prv_question question, double value,
                             const prv_options *options, bool *found, prv_reading *reading);

/* Forgets what does not belong to a beginning of the steps that follow: of `length` steps the first `alike`
 * have the same mechanisms as before, and the first `same` <= alike of these the same counts too. */
void prv_growth_follow(prv_growth *growth, size_t same, size_t alike, size_t length);

void prv_growth_free(prv_growth *growth);

#endif
