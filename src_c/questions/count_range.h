/* A range of counts of one mechanism, of which one plan answers for all: what does not depend on the count is
 * computed once. Lattices, tilt, period and frequencies are those of a plan for the greatest count of the
 * range, with frequencies for the least one; the spectrum of k runs is a power at each frequency
 * (SPECTRUM.md, section 9).
 *
 * A question of k steps belongs to one range, and its answer is a function of the range and of k: the same
 * bits, whether other counts were asked of the range or none. */
#ifndef PRV_COUNT_RANGE_H
#define PRV_COUNT_RANGE_H

#include "lattices/enclosure.h"
#include "composition/growing_spectrum.h"
#include "questions/refinement.h"

/* The plan for one direction. */
typedef struct prv_range_plan {
    prv_refinement refinement;    /* of the greatest count: the aim is its own */
    bool made, fails;             /* fails: there is none */
    double least_epsilon;         /* nats, of the least count, about */
    double spacing, tilt, bytes;  /* for reports: nats, and bytes of the largest buffers */
    prv_enclosure enclosure;      /* of one run */
    prv_growing_plan side[2];     /* by prv_side */
    prv_growing_spectrum once[2]; /* sums over one run */
} prv_range_plan;

typedef struct prv_count_range {
    double least, most;        /* counts */
    double delta;              /* asked */
    prv_direction *directions; /* [count] the caller's */
    size_t count;              /* 1 or 2 */
    bool fails;                /* another way is expected to be cheaper */
    bool may_exclude;          /* Chernoff's inequality may show that the second direction has less */
    double exclude_tilt;       /* by which it may, of the least count */
    prv_range_plan plans[2];   /* [count] the direction that looks larger first */
} prv_count_range;

/* The range to which a question to these directions of one mechanism each belongs; false if it belongs to
 * none. The numbers alone are filled. */
bool prv_count_range_of(const prv_direction *directions, size_t count, const prv_options *options,
                        prv_question question, double value, prv_count_range *range);

/* Whether both are the range of the same question, if mechanism and options are the same. */
bool prv_is_same_range(const prv_count_range *a, const prv_count_range *b);

/* Plans for the range. The directions, which live as long as the range, are changed. prv_count_range_free
 * frees it, whatever is returned. */
prv_status prv_count_range_begin(prv_direction *directions, const prv_options *options,
                                 prv_count_range *range);
void prv_count_range_free(prv_count_range *range);

/* Bounds of epsilon for this count within the range. *found is false if the range has none that are as close
 * as asked: then the count has to be asked alone. */
prv_status prv_count_range_answer(prv_count_range *range, double count, const prv_options *options,
                                  bool *found, prv_bounds *bounds, prv_report *report);

#endif
