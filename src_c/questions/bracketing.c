#include "questions/bracketing.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "curve/attained.h"
#include "curve/chernoff.h"
#include "curve/gate.h"
#include "planning/layout.h"
#include "questions/jump_passes.h"
#include "questions/next_pass.h"
#include "questions/question.h"
#include "questions/refinement.h"

/* The refinement gives up after so many passes over all directions. Each makes the mesh up to 50 times finer,
 * so that it takes a few. */
#define MOST_PASSES 24

/* A pass aims at this part of the width asked, so that a guess that is a little off is close enough. */
#define AIM_WITHIN 0.95

/* To tell on which side of a threshold an answer lies, a pass aims at this part of the distance of its
 * estimate, which is much closer to the answer than the bounds, but at no more than this part of epsilon; and
 * each pass that did not tell at less: the width may have been owed to something else than the mesh. */
#define DECIDING_PART 0.5
#define WIDEST_PART 0.25
#define NEXT_PART 0.5

/* A coarse pass aims at these parts of epsilon and of the deviation of the composed loss. If the width wanted
 * takes so few knots, a coarse pass takes about as long, and there is none. To show that one direction has
 * less than the other, a pass aims at so many times the distance: bounds lie closer than coarse passes aim.
 */
#define COARSE_PART 0.03
#define COARSE_DEVIATIONS 30.0
#define CHEAP_KNOTS 500.0
#define BELOW_KNOWN 2.0

typedef struct bracket {
    prv_direction *directions; /* [direction_count], as they were given */
    size_t direction_count;
    const prv_options *options; /* of the layer */
    prv_question question;
    double value;
    prv_refinement refinements[2]; /* the direction that looks larger first */
    size_t needed;                 /* so many of these have had a pass: the others do not matter */
    double most_of_next;           /* Chernoff's bound of the next one; HUGE_VAL as long as there is none */
    bool raises_lower;             /* whether the next one is wanted for a lower bound alone */
    prv_layer layer;
} bracket;

/* The width (nats) of bounds that tell on which side of the threshold an answer lies, if it is about this;
 * 0 if that was not asked. */
static double width_that_decides(const prv_refinement *r, double answer)
{
    const double threshold = r->task.options->threshold;
    if (!(threshold > 0.0 && answer > 0.0 && isfinite(answer))) return 0.0;
    const double distance = r->task.question == PRV_ASK_EPSILON
                                ? fabs(answer - threshold)
                                : fabs(log(answer / threshold)) / r->aim.slope;
    const double width = fmin(DECIDING_PART * distance, WIDEST_PART * fabs(r->aim.epsilon));
    return width * pow(NEXT_PART, r->passes);
}

static void begin(bracket *b)
{
    for (size_t i = 0; i < b->direction_count; i++)
        prv_refinement_begin(&b->directions[i], b->options, b->question, b->value, &b->refinements[i]);
    if (b->direction_count < 2) return;
    /* The other one may turn out not to matter. */
    const prv_aim *first = &b->refinements[0].aim, *second = &b->refinements[1].aim;
    const bool swaps = b->question == PRV_ASK_EPSILON ? second->epsilon > first->epsilon
                                                      : second->log_delta > first->log_delta;
    if (!swaps) return;
    const prv_refinement swap = b->refinements[0];
    b->refinements[0] = b->refinements[1];
    b->refinements[1] = swap;
}

static bool is_cheap(prv_refinement *r, double width)
{
    prv_aim aim = r->aim;
    aim.width = width;
    /* A coarse spectrum of rare jumps tells more than the convolution that would do without its rounding. */
    if (aim.is_rare && !prv_has_tilt(r, width)) return false;
    return prv_first_knots(r->task.direction, &aim, r->task.engine) <= CHEAP_KNOTS;
}

/* Answers of a delta that is below the least that bounds are promised for by Chernoff's bound from the
 * profiles that an aim made finer; true if it did, without a pass. */
static bool is_below_least(prv_refinement *r)
{
    const prv_task *t = &r->task;
    const prv_infinite *infinite = &t->direction->all.infinite;
    if (t->question != PRV_ASK_DELTA || !(t->value > 0.0) || t->options->mesh_size > 0.0 ||
        t->direction->observer != NULL || !(exp(r->aim.log_delta) <= PRV_LEAST_DELTA))
        return false;
    const double most = prv_chernoff_delta(t->direction, t->value, PRV_LEAST_DELTA);
    if (most <= PRV_LEAST_DELTA) {
        r->bounds = (prv_bounds){infinite->low, fmin(fmax(infinite->mass, infinite->low), most), most};
        return true;
    }
    /* Chernoff's bound had its own cells in use. */
    prv_use_cells_of_aim(t->direction, &r->aim);
    return false;
}

/* A first pass over a direction finds out where epsilon is, and which direction decides. It is coarse, unless
 * the width wanted is cheap; and if the other direction has at least `known`, as coarse as shows that this
 * one has less. */
static prv_status pass_first(prv_refinement *r, double known)
{
    const prv_task *t = &r->task;
    r->jumps_later = prv_is_counting_later(r);
    const prv_status jumps = r->jumps_later ? PRV_ERR_ENGINE : prv_jump_passes(r);
    if (jumps != PRV_ERR_ENGINE) return jumps;
    const prv_status status = prv_refine_aim(t->direction, t->options, t->question, t->value, &r->aim);
    if (status != PRV_OK || is_below_least(r)) return status;
    prv_refinement_count_tops(r);
    const bool ask_epsilon = t->question == PRV_ASK_EPSILON;
    const double at = r->aim.epsilon;
    const double answer = ask_epsilon ? at : t->direction->all.infinite.mass + exp(r->aim.log_delta);
    const double decides = width_that_decides(r, answer);
    const double asked = AIM_WITHIN * fmax(prv_width_asked(t->options, at), decides);
    const double wanted = AIM_WITHIN * fmax(prv_refinement_width(r, at), decides);
    double coarse = fmin(COARSE_PART * fabs(at), COARSE_DEVIATIONS * r->aim.deviation);
    if (ask_epsilon && known > at)
        coarse = fmin(coarse, BELOW_KNOWN * (known - at));
    else if (is_cheap(r, wanted))
        coarse = 0.0;
    return prv_refinement_advance(r, fmax(asked, coarse), fmax(wanted, coarse));
}

/* Chernoff's bound of what is asked, in one direction; `at_least` suffices. */
static double chernoff_bound(const bracket *b, prv_direction *direction, double at_least)
{
    return b->question == PRV_ASK_DELTA ? prv_chernoff_delta(direction, b->value, at_least)
                                        : prv_chernoff_epsilon(direction, b->value, at_least);
}

/* Whether Chernoff's bound exists: deltas at epsilons <= 0 have none. */
static bool has_chernoff(const bracket *b)
{
    return b->question == PRV_ASK_EPSILON || b->value > 0.0;
}

/* Tilts of two directions that differ by less than this factor tell of laws that are alike. */
#define ALIKE 1.25

/* Whether a spectrum fell too slowly in the first direction, so that it would in the other one, which is like
 * it. */
static bool was_convolved(const prv_refinement *first, const prv_refinement *other)
{
    return first->task.engine == PRV_ENGINE_CONVOLUTION && !first->task.precise &&
           other->task.engine == PRV_ENGINE_SPECTRUM && prv_is_engine_open(other->task.options) &&
           other->aim.saddle < ALIKE * first->aim.saddle && first->aim.saddle < ALIKE * other->aim.saddle;
}

/* The passes of all directions together. */
typedef struct found {
    prv_refinement *top; /* the direction that decides the upper bound */
    prv_bounds bounds;
    int passes;
    size_t transforms;
} found;

static found found_so_far(bracket *b)
{
    found f = {.top = &b->refinements[0]};
    for (size_t i = 0; i < b->needed; i++) {
        prv_refinement *r = &b->refinements[i];
        if (r->bounds.upper > f.top->bounds.upper) f.top = r;
        prv_gate_worst(&f.bounds, &r->bounds);
        f.passes += r->passes;
        f.transforms += r->transforms;
    }
    return f;
}

/* First passes over the directions that matter: none over one that has no more than the upper bound of those
 * before, by Chernoff's inequality, unless these come to lie below that, or find no lower bound. On
 * PRV_ERR_MEMORY_LIMIT, *bytes would be needed. */
static prv_status first_passes(bracket *b, double *bytes)
{
    for (; b->needed < b->direction_count; b->layer.now.passes = ++b->needed) {
        prv_refinement *r = &b->refinements[b->needed];
        const found f = found_so_far(b);
        if (b->needed > 0 && has_chernoff(b)) {
            const double upper = f.bounds.upper;
            if (b->most_of_next > upper)
                b->most_of_next = fmin(b->most_of_next, chernoff_bound(b, r->task.direction, upper));
            const double least = b->question == PRV_ASK_DELTA ? PRV_LEAST_DELTA : 0.0;
            const double known = b->raises_lower ? fmax(f.bounds.lower, least) : HUGE_VAL;
            if (b->most_of_next <= fmin(known, upper)) break;
            /* Chernoff's bound had its own cells in use. */
            prv_take_aim(r->task.direction, b->options, b->question, b->value, &r->aim);
        }
        if (b->needed > 0 && was_convolved(&b->refinements[0], r)) r->task.engine = PRV_ENGINE_CONVOLUTION;
        const prv_status status = pass_first(r, f.bounds.lower);
        *bytes = r->narrowest.bytes;
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* Whether the passes bound epsilon by no less than what is known without them. */
static bool says_nothing(const found *f)
{
    return f->bounds.upper >= prv_greatest_epsilon(&f->top->task.direction->all);
}

/* If rounding or memory stop the composition, or a mesh does not show it, Chernoff's inequality may still
 * bound the answer. */
static void bound_by_chernoff(const bracket *b, const prv_refinement *top, prv_bounds *bounds)
{
    double chernoff = 0.0;
    if (!has_chernoff(b)) return;
    for (size_t i = 0; i < b->direction_count; i++)
        chernoff = fmax(chernoff, chernoff_bound(b, &b->directions[i], chernoff));
    prv_take_upper(top->task.direction, chernoff, bounds);
    bounds->estimate = fmin(bounds->estimate, bounds->upper);
}

static double width_of(const bracket *b, const found *f)
{
    if (b->question != PRV_ASK_EPSILON) return f->top->narrowest.read.width;
    return f->bounds.upper == f->bounds.lower ? 0.0 : f->bounds.upper - f->bounds.lower;
}

/* Each pass narrows the bounds by about the same factor. */
static double part_done(double first, double width, double asked)
{
    if (!(width > asked)) return 1.0;
    return isfinite(first) ? fmax(log(first / width), 0.0) / log(first / asked) : 0.0;
}

static void tell(prv_progress *now, const found *f, double first, double width, double asked)
{
    now->passes = (size_t)f->passes;
    now->width = width;
    now->width_asked = asked;
    now->fraction = part_done(first, width, asked);
}

/* One more pass over the direction that decides the upper bound. */
static prv_status advance(const bracket *b, const found *f)
{
    /* As long as the lower bound is far off, the estimate tells which width will be asked. */
    const double lower = f->bounds.lower, estimate = fmin(f->bounds.estimate, f->bounds.upper);
    const double at = b->question == PRV_ASK_EPSILON ? fmax(lower, 0.95 * estimate) : b->value;
    const double decides = width_that_decides(f->top, estimate);
    const double asked = fmax(prv_width_asked(b->options, at), decides);
    return prv_refinement_advance(f->top, AIM_WITHIN * asked,
                                  AIM_WITHIN * fmax(prv_refinement_width(f->top, at), asked));
}

static prv_status bracket_directions(prv_direction *directions, size_t direction_count,
                                     const prv_options *options, prv_question question, double value,
                                     prv_bounds *bounds, prv_report *report)
{
    const bool ask_epsilon = question == PRV_ASK_EPSILON, exact = options->mesh_size > 0.0;
    const prv_fineness coarse = PRV_COARSE_FINENESS;
    bracket b = {
        .directions = directions, .direction_count = direction_count, .question = question, .value = value};
    b.options = prv_layer_over(&b.layer, PRV_KNOWS_PASSES, options);
    for (size_t i = 0; i < direction_count; i++) {
        const prv_status enclosed = prv_direction_enclose_first(&directions[i], &coarse, options);
        if (enclosed != PRV_OK) return enclosed;
    }
    begin(&b);
    b.most_of_next = HUGE_VAL;
    b.raises_lower = exact;
    for (double first = HUGE_VAL;;) {
        double bytes = 0.0;
        prv_status status = first_passes(&b, &bytes);
        if (status == PRV_ERR_MEMORY_LIMIT) report->memory = prv_size_of(bytes);
        if (status != PRV_OK) return status;
        found f = found_so_far(&b);
        const bool spent = f.top->stopped_by != PRV_LIMIT_NONE || f.passes >= MOST_PASSES;
        if (ask_epsilon && (spent || f.top->rounding_decides || f.top->last.capped || says_nothing(&f)))
            bound_by_chernoff(&b, f.top, &f.bounds);
        if (!ask_epsilon && spent) bound_by_chernoff(&b, f.top, &f.bounds);
        const double at = ask_epsilon ? f.bounds.lower : value, width = width_of(&b, &f);
        const bool close = width <= prv_width_asked(options, at) * (1.0 + 1e-12) ||
                           prv_is_relatively_close(options, question, f.bounds.lower, f.bounds.upper) ||
                           prv_is_decided(options, f.bounds.lower, f.bounds.upper);
        if (spent && !close && !exact && b.needed < b.direction_count && !b.raises_lower) {
            b.raises_lower = true;
            continue;
        }
        if (close || exact || spent) {
            *bounds = f.bounds;
            prv_refinement_report(f.top, options->neighbors, width, close || exact, report);
            report->transforms = f.transforms;
            /* Chernoff's bound may be close where a large pass would have answered. */
            const bool is_cut = prv_is_engine_small(options) && f.top->stopped_by == PRV_LIMIT_ENGINE;
            if (!close || is_cut) report->limit = prv_refinement_limit(f.top, report);
            return prv_gate_range(ask_epsilon ? 0.0 : -HUGE_VAL, HUGE_VAL, bounds);
        }
        if (!isfinite(first)) first = width;
        tell(&b.layer.now, &f, first, width, prv_refinement_width(f.top, at));
        status = advance(&b, &f);
        if (status != PRV_OK) return status;
    }
}

/* Tops are counted at an epsilon that is known. A witness shows lattices without tops. */
static bool may_count_tops(const prv_direction *direction, const prv_options *options, prv_question question)
{
    return question == PRV_ASK_DELTA && !(options->mesh_size > 0.0) && direction->observer == NULL;
}

prv_status prv_bracket(prv_direction *directions, size_t direction_count, const prv_options *options,
                       prv_question question, double value, prv_bounds *bounds, prv_report *report)
{
    for (size_t i = 0; i < direction_count; i++)
        if (may_count_tops(&directions[i], options, question)) prv_set_caps(&directions[i], value);
    const prv_status status = bracket_directions(directions, direction_count, options, question, value,
                                                 bounds, report);
    for (size_t i = 0; i < direction_count; i++) prv_clear_caps(&directions[i]);
    return status;
}
