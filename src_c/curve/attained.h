/* What a lower bound is a bound of: pairs that two data sets really have, where the dominating pair is none
 * of them (PAIRS.md, section 8). */
#ifndef PRV_ATTAINED_H
#define PRV_ATTAINED_H

#include "curve/direction.h"

typedef enum prv_attainment {
    PRV_ATTAINED,      /* the dominating pair is that of two data sets, once and composed */
    PRV_ATTAINED_EACH, /* each value of its curve is that of two data sets, others at others; which does not
                          compose */
    PRV_NOT_ATTAINED   /* its curve is above those of all data sets, as far as is known */
} prv_attainment;

/* Of a composition of steps with counts > 0, whichever pairs they stand for. */
prv_attainment prv_attainment_of(const prv_step *steps, size_t step_count);
prv_attainment prv_view_attainment(const prv_side_view *view);

/* 1 if a step has a bounded range, of which data sets that are worst at one question are not at another. */
int prv_has_range(const prv_side_view *view);

/* 1 if the losses of attained pairs have atoms alone. */
int prv_are_data_discrete(const prv_side_view *view);

/* Views of attained pairs: all steps of one have the laws of the same two data sets, with queries chosen for
 * them. */
typedef struct prv_data_views {
    size_t count;
    prv_side_view views[2];
} prv_data_views;

/* For the directions of `views` (1 or 2); those with a record replaced stand for both orders of the data
 * sets. lam[v]: the tilt of the question in views[v], which chooses among data sets. Sums of few steps of two
 * losses each lie on a coarse lattice, which 1 / steps of the range moves by its period: `offset`, in [-1/2,
 * 1/2], moves it by a part of that. prv_data_views_free it in any case. */
prv_status prv_data_views_new(const prv_side_view *views, size_t view_count, prv_neighbors neighbors,
                              const double *lam, double offset, prv_data_views *data);
void prv_data_views_free(prv_data_views *data);

#endif
