/* What a composition should look like to answer one question: which tilt, which mesh for each step, which
 * window. Every choice here is sound; a bad one makes bounds wide, which the query notices. */
#ifndef PRV_PLAN_H
#define PRV_PLAN_H

#include "convolution.h"
#include "profile.h"

/* The steps of one direction, with the part of each profile that matters to the question. */
typedef struct prv_side_view {
    size_t steps;
    int add;
    const prv_mechanism **mechanisms; /* [steps] */
    double *counts;                   /* [steps], > 0 */
    prv_profile *profiles;            /* [steps] */
    size_t *first, *end;              /* [steps] range of the profile's cells in use */
    double total;                     /* sum of the counts */
    double infinite_mass;             /* of the composition, true */
    double greatest_loss;             /* of the composition */
    size_t fineness;                  /* of the profiles */
} prv_side_view;

typedef struct prv_aim {
    double log_delta; /* of the finite part */
    double epsilon;   /* expected or asked */
    double reach;     /* how far epsilon may lie from that, about */
    double saddle;    /* tilt that centres the composed loss on it */
    double slope;     /* -d log(delta) / d eps there: the saddle, until a pass has measured it */
    double width;     /* asked, in epsilon */
    double top_share;  /* part of delta that the mass above the steps' tops may cost */
    double strictness; /* divides what truncation may cost, 1 to begin with */
} prv_aim;

prv_status prv_side_view_new(const prv_step *steps, size_t step_count, int add, prv_side_view *view);
/* Makes the profiles finer until a tilt of `saddle` sees small steps where its mass is; *changed tells
 * whether it did, and aims should be taken anew. */
prv_status prv_side_view_refine(prv_side_view *view, double saddle, int *changed);
void prv_side_view_free(prv_side_view *view);

/* Chernoff's bound of epsilon at delta from the coarse dominating lattices: a true upper bound. */
double prv_chernoff_epsilon(const prv_side_view *view, double delta);

/* Saddle for a delta (the finite part's, > 0), with a guess of epsilon; and for an epsilon, with a
 * guess of delta. */
void prv_aim_at_delta(prv_side_view *view, const prv_options *options, double delta, prv_aim *aim);
void prv_aim_at_epsilon(prv_side_view *view, const prv_options *options, double epsilon, prv_aim *aim);

/* log of delta in units of M e^(-lam eps) g(lam) at this tilt, at most 0: what masses outside a window, and
 * rounding, are to be compared with. */
double prv_log_part(prv_side_view *view, const prv_aim *aim, double tilt);

/* Losses of how rare jumps can be told from those of the bulk, so that the bulk alone does not reach epsilon: fills
 * window->separate and what belongs to it (spectrum.h). 0 if there is no such loss. */
int prv_separate_jumps(prv_side_view *view, const prv_aim *aim, prv_window *window);

/* The width that the options ask for at an epsilon. */
double prv_width_asked(const prv_options *options, double epsilon);

/* The step of the error law (design: a width w takes h = sqrt(8 w / (k (lam + 1)))). */
double prv_law_step(const prv_side_view *view, const prv_aim *aim);

typedef struct prv_layout {
    size_t steps;
    double step, tilt;   /* of the lattice */
    double law_step;     /* of the error law: the step of a uniform mesh that is as good */
    prv_mesh *meshes;    /* [steps] */
    prv_cells *cells;    /* [steps], knots filled */
    prv_engine engine;
    prv_window window;   /* length 0: nothing fits */
    int exact;           /* the step is as asked */
    double scale;        /* of the spacings */
    double uniform_points; /* of a uniform mesh in the window, about */
    size_t longest;      /* mesh */
    double bytes;        /* of the largest buffers that this takes */
} prv_layout;

/* Lays out meshes of about `step` (aligned to the sharp features where there are any) and the window at
 * the tilt given. `exact_step`: take the step as it is. PRV_ERR_MEMORY_LIMIT if it takes more bytes; layout->bytes is
 * then what it would take, before anything that large is allocated. */
prv_status prv_layout_new(prv_side_view *view, const prv_aim *aim, double tilt, double step,
                          int exact_step, prv_engine engine, double memory_limit, prv_layout *layout);
void prv_layout_free(prv_layout *layout);

#endif
