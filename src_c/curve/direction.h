/* The steps of one direction: their mechanisms, coarse profiles, and the moments of their sum. */
#ifndef PRV_DIRECTION_H
#define PRV_DIRECTION_H

#include <stdbool.h>

#include "mechanisms/support.h"
#include "lattices/combining.h"
#include "lattices/profile.h"
#include "curve/gate.h"

/* The error of the composed log-moment from which profiles are made finer. No bound relies on it. */
#define PRV_MOST_MOMENT_ERROR 4.0

/* The steps of one direction, with the part of each profile that matters to the question. */
typedef struct prv_direction {
    size_t steps;
    bool add;
    const prv_mechanism **mechanisms; /* [steps] */
    prv_mechanism **replaced; /* [steps] of PRV_REPLACE_ONE: the pairs that were made for it, or NULL */
    double *counts;           /* [steps], > 0 */
    prv_mechanism **enclosed; /* [steps] of combined mechanisms: what encloses them, or NULL */
    prv_fineness enclosing;   /* how finely */
    prv_profile *profiles;    /* [steps] */
    prv_features *features;   /* [steps] of the mechanisms, which take long to find among many atoms */
    size_t *first, *end;      /* [steps] range of the profile's cells in use */
    /* [steps] nats: losses above decide alone at the epsilon that is asked about (tops.h), so that the
     * lattices of a pass may end there; HUGE_VAL if that is not so. No bound relies on these. */
    double *cap;
    bool *capped;       /* [steps] whether the cells in use end at the cap */
    double cap_spacing; /* nats: points of lattices that are no coarser stay within the caps' room for them */
    prv_totals all;
    size_t fineness;     /* of the finest profile: profile.h */
    double moment_error; /* error of the composed log-moment by profiles, about; 0 until it is known */
    prv_witness_callback observer; /* sees each pass over this direction; or NULL */
    void *observer_context;
} prv_direction;

/* The direction of steps with counts > 0; if `add`, pairs are reversed. Of the neighbours it matters only
 * whether records are replaced, whose pairs are then made. Laws of combined mechanisms are made
 * as finely as `first` says, or as PRV_COARSE_FINENESS if it is NULL, under the interrupts and the
 * memory_limit of `options`, which may be NULL. Nothing is left to be freed unless PRV_OK is returned. */
prv_status prv_direction_new(const prv_step *steps, size_t step_count, prv_neighbors neighbors, bool add,
                             const prv_fineness *first, const prv_options *options, prv_direction *direction);
/* Makes profiles finer of which a tilt of `saddle` sees large cells where its mass is, or whose moments are
 * not exact enough for the number of steps; *changed tells whether it did, so that aims should be taken anew.
 */
prv_status prv_direction_refine(prv_direction *direction, double saddle, const prv_options *options,
                                bool *changed);
/* Replaces the profiles that have another fineness by ones of this one; all cells are in use. */
prv_status prv_direction_profile(prv_direction *direction, size_t fineness, const prv_options *options);
/* Sets the count of step j. O(steps). */
void prv_direction_set_count(prv_direction *direction, size_t j, double count);
/* For a direction of one step: as it was made, for this count. */
prv_status prv_direction_restore(prv_direction *direction, double count, const prv_options *options);
void prv_direction_free(prv_direction *direction);

/* 1 if a mechanism is combined of others, which two pairs enclose. */
int prv_is_enclosed(const prv_direction *direction);
/* 1 if one of the steps has a combined mechanism. */
int prv_any_combined(const prv_step *steps, size_t step_count);
/* True if laws of combined mechanisms cannot be made as finely as asked, though perhaps more coarsely. */
bool prv_is_too_fine(prv_status status);
prv_limit prv_limit_of_enclosing(prv_status status);
/* Encloses combined mechanisms anew, and makes their profiles as fine as before. All cells are in use then.
 * If laws cannot be made so finely (prv_is_too_fine), what enclosed the mechanisms before still does. */
prv_status prv_direction_enclose(prv_direction *direction, const prv_fineness *fineness,
                                 const prv_options *options);
/* Encloses combined mechanisms as finely as a first look at a question does, unless they are: so an answer
 * does not depend on what was asked before. */
prv_status prv_direction_enclose_first(prv_direction *direction, const prv_fineness *first,
                                       const prv_options *options);
/* How far apart (nats of epsilon, about) bounds are by the pairs that enclose the mechanisms: of one
 * mechanism, at delta; else what the log-moments of both pairs at the tilt `saddle`, of losses in use, differ
 * by, over the tilt. O(atoms). */
double prv_enclosing_gap(const prv_direction *direction, double saddle, double delta);

/* One direction or both. */
typedef struct prv_directions {
    size_t count;
    prv_direction each[2];
} prv_directions;

void prv_directions_free(prv_directions *directions);

/* The absolute error of delta by masses that are known absolutely alone (prv_absolute_cdf_error); 0 if all
 * masses are known relatively. */
double prv_direction_absolute_error(const prv_direction *direction);

/* The direction that a report names, if the direction `add` decides the answer. */
prv_neighbors prv_neighbors_of(bool add, prv_neighbors asked);

/* Puts all cells of the profiles in use. */
void prv_use_whole_profiles(prv_direction *direction);

/* Takes cells out of use above which no more than this mass lies. It matters only as mass at infinity, and
 * without it a tilt finds the bulk. */
void prv_cut_tops(prv_direction *direction, double mass_above);

/* Caps for an epsilon (nats), of the steps whose lattices may keep a top; none if the least loss of another
 * step is not known. */
void prv_set_caps(prv_direction *direction, double epsilon);
void prv_clear_caps(prv_direction *direction);

/* Takes the caps of discrete losses back if the tilt `saddle`, which centres the sum of what lies below caps
 * on epsilon > 0, is so large that these hardly reach it; true if it did. */
bool prv_uncap_atoms(prv_direction *direction, double epsilon, double saddle);

/* Puts the cells in use that a composition needs: up to the cap, or those above which no more than this mass
 * lies, whichever are fewer. */
void prv_use_cells(prv_direction *direction, double mass_above);

/* Whether the cells in use of some step end at its cap. */
bool prv_is_capped(const prv_direction *direction);

/* The moments of the sum of the steps at the tilt lam, from the cells in use. O(cells). */
prv_moments prv_composed_moments(const prv_direction *direction, double lam);

/* The excess kurtosis of the sum at the tilt lam, from the cells in use: 0 of a Gaussian law, and large if
 * few large losses are most of the variance. weight: scratch for as many cells as the longest profile has.
 * O(cells). */
double prv_composed_kurtosis(const prv_direction *direction, double lam, double *weight);

#define PRV_LEAST_TILT 1e-12

/* Root of an increasing function of lam, searched on a logarithmic scale from `start`, to 2 % or an
 * end of the range [PRV_LEAST_TILT, 1 / PRV_LEAST_TILT]: tilts need no more. */
typedef double (*prv_increasing)(const prv_direction *direction, double lam, const void *parameter);
double prv_root(const prv_direction *direction, prv_increasing f, const void *parameter, double start);

/* Its root is the tilt that centres the sum on *epsilon: with M the moment, the minimum of log M(lam) - lam
 * epsilon - log(lam (lam + 1)). */
double prv_saddle_excess(const prv_direction *direction, double lam, const void *epsilon);

/* Its root is the tilt at which Chernoff's bound of epsilon at a delta, (L - log delta + log g(lam)) / lam
 * with L = log M, is least: lam L' - L + log delta + log(1 + lam) = 0, whose left side grows with lam. The
 * sum of both logarithms counts as `least` if it is less. */
typedef struct prv_entropy_goal {
    double log_delta, least;
} prv_entropy_goal;
double prv_entropy_excess(const prv_direction *direction, double lam, const void *goal);

#endif
