/* The passes over one direction: each narrows the bounds, and the next is planned by what the last one
 * found. */
#ifndef PRV_REFINEMENT_H
#define PRV_REFINEMENT_H

#include <stdbool.h>

#include "questions/pass.h"

/* Parts of the saddle that are tried as tilts (next_pass.c). */
enum { PRV_TILT_PARTS = 6, PRV_KEPT_WINDOWS = 4 };

/* Windows of convolutions: what they were planned for, and their points, at a tilt and at smaller ones; 0 of
 * those that were not planned. */
typedef struct prv_windows {
    prv_aim aim;
    double tilt, spacing; /* nats */
    double points[PRV_TILT_PARTS], longest;
} prv_windows;

/* What the choice of a next pass leaves to the following ones. */
typedef struct prv_plans {
    double finest;  /* nats: on finer meshes rounding of transforms hides the answer; 0 if unknown */
    int drowned;    /* passes whose answer it hid */
    int stricter;   /* times that the window was made stricter */
    int multiplied; /* whether prv_is_multiplied_out: 1 or -1; 0 if unknown */
    prv_windows windows[PRV_KEPT_WINDOWS]; /* the last ones, as one choice asks for several */
    size_t windows_planned;
} prv_plans;

typedef struct prv_refinement {
    prv_task task;
    prv_aim aim;
    prv_outcome narrowest, last; /* passes; only narrowest.bytes is set after a failure */
    prv_outcome earlier;         /* the pass before the last one, if there were two */
    prv_bounds bounds;           /* all passes hold: the best of each */
    int passes;
    size_t transforms;  /* of all passes */
    size_t tilt_choice; /* of the next pass: next_pass.h */
    double
        rounding_demand; /* factor on the guess of rounding, by which the tilt is chosen; 1 to begin with */
    double enclosing_factor; /* on the guess of what enclosed mechanisms take of the width */
    int over_same_pairs;     /* passes since the pairs that enclose them were made */
    double capped_at; /* nats: an epsilon asked for may lie up to here, about, for tops to be counted; or 0 */
    bool tops_failed; /* lattices ended above an expected epsilon, in vain */
    int in_vain;      /* passes of finer meshes, one after another, that came no closer */
    int repeated;     /* passes, one after another, that repeated one of the two before */
    int idle;         /* precise passes, one after another, after which the bounds were hardly closer */
    bool jumps_later; /* jumps are to be counted if the first passes of other engines do not answer */
    double spacing_for_tops; /* nats: no lattice under caps is coarser, so that tops can be counted; or 0 */
    int finer_for_tops;      /* passes that it was made less for */
    bool is_finer_for_tops;  /* the next pass is the last one, but for that */
    double points_for_cells; /* of a pass that failed: pass.h */
    bool counted;            /* `bounds` begins with those of counted jumps, which were not close enough */
    bool aimed_anew;         /* the last pass aimed so far off that it tells nothing of the next one */
    bool hopeless;     /* a pass was made although it was expected to hide the answer (prv_is_hopeless) */
    bool is_at_saddle; /* the next pass is a spectrum at the saddle, although rounding may hide delta */
    double noise_at_saddle; /* what rounding was in such a pass, as a part of delta; 0 if there was none */
    bool first_order;       /* the width falls like the spacing or more slowly, not like its square */
    bool rounding_decides;  /* rounding alone is wider than asked, or hides the answer */
    prv_limit stopped_by;   /* PRV_LIMIT_NONE as long as something is left to try */
    prv_plans plans;
} prv_refinement;

/* A refinement without passes, aimed at the value by the direction's coarse profiles. */
void prv_refinement_begin(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_refinement *refinement);

/* If rare large losses would have most of the tilted mass, lets the lattices of an epsilon that is asked for
 * end above the epsilon expected (tops.h). To be called before the first pass. */
void prv_refinement_count_tops(prv_refinement *refinement);

/* The width in epsilon (nats) to go for, if the width asked is that at the epsilon `at`. */
double prv_refinement_width(const prv_refinement *refinement, double at);

/* One more pass towards `width`, which is not less than the width `asked` (nats); or refinement->stopped_by,
 * if nothing is left to try. If the first pass fails, narrowest.bytes is what it needs. Statuses of prv_pass.
 */
prv_status prv_refinement_advance(prv_refinement *refinement, double asked, double width);

/* Fills the report of bounds of this width (nats), but for the number of transforms and `limit`. */
void prv_refinement_report(const prv_refinement *refinement, prv_neighbors asked, double width, bool accurate,
                           prv_report *report);

/* The reason why the width is above the one asked; `report` has the width and its parts. */
prv_limit prv_refinement_limit(const prv_refinement *refinement, const prv_report *report);

#endif
