#include "questions/jump_passes.h"

#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "mechanisms/support.h"
#include "composition/jump_law.h"
#include "planning/jump_plan.h"
#include "planning/layout.h"
#include "questions/next_pass.h"
#include "questions/question.h"

/* Passes of one question, and evaluations of one curve, at most. */
enum { MOST_PASSES = 8, MOST_EVALUATIONS = 60 };

/* Products of the last pass up to which counting is expected to take less time than another engine; and those
 * that one law may take, as the guess is often too low. Other engines take long if the saddle point's guess,
 * which takes rare jumps for frequent ones, is so many times the guess from one jump (RARE, VERY_RARE), or if
 * losses reach FAR times as far as the bulk, or if delta is so small (TINY, a logarithm) that rounding of
 * transforms hides it at most tilts. */
#define MOST_EXPECTED 2e5
#define MOST_WORK 1e6
#define MOST_EXPECTED_IF_RARE 1e6
#define MOST_WORK_IF_RARE 3e6
#define MOST_EXPECTED_IF_VERY_RARE 5e6
#define MOST_WORK_IF_VERY_RARE 1e7
#define MOST_EXPECTED_IF_TINY 7e7
#define MOST_WORK_IF_TINY 2e8
#define TINY (-100.0)
#define RARE 1.5
#define VERY_RARE 3.0
#define FAR 1e6

/* The same of discrete losses, for which other engines need lattices that are fine enough for each atom. */
#define MOST_EXPECTED_OF_ATOMS 4e6
#define MOST_WORK_OF_ATOMS 1.5e7
/* More, as of other TINY deltas, if a convolution would have more points than this, and of so few runs that a
 * spectrum falls slowly. */
#define MANY_POINTS 1e6
#define FEW_RUNS 100.0

/* If more products are expected than this, a TINY delta is left to the first passes of other engines, which
 * take some milliseconds and often answer. */
#define MOST_BEFORE_OTHERS 1e7

/* If delta is TINY, a convolution takes about as long as so many products for each of its points; but if
 * delta is less than exp of HIDDEN of the tilted law, it is multiplied out, in about so many products for
 * each pair of its points. */
#define PRODUCTS_OF_POINT 500.0
#define PRODUCTS_OF_PAIR 0.025
#define HIDDEN (-14.0)

/* The slope that a coarse pass finds is at most so many times off. */
#define MOST_CHANGE_OF_SLOPE 3.0

/* The first pass is this part of epsilon wide, each later one this part of the width before. A pass whose
 * width would be within this factor of the one asked goes for that. */
#define COARSE 0.02
#define NARROWER 0.05
/* The width of a pass falls more slowly than what its meshes are planned for, which therefore falls by this
 * power; but not that of discrete losses, which is of first order. */
#define SLOWLY 1.4
#define NEARLY 4.0

/* Parts of the width that a pass goes for: of its meshes, and of what is left out. */
#define PART_OF_MESHES 0.7
#define PART_LEFT_OUT 0.02
/* Less of a TINY delta of atoms, which may be guessed too large by a factor as high as 1e3. */
#define PART_OF_GUESS 1e-4

/* If rounding is wider than asked, bounds that are at most so many times as wide will do. */
#define NEARLY_ROUNDING 2.5

/* The rounding of cells is at most about this for each run of the mechanism, nats. What is more is that of
 * jumps which are carried to knots far below them, and other engines have none of it. */
#define ROUNDING_OF_STEP 1e-10

/* Of all runs, for planning: a delta of 1e-12 has room for some more. */
#define MOST_JUMPS_EXPECTED 10.0

/* Deltas below this leave no room for what underflows. */
#define LEAST_DELTA 1e-270

/* One pass: its aim, and its findings. */
typedef struct pass {
    prv_jump_aim aim;
    double expected; /* epsilon, nats: where the search for a crossing begins */
    prv_bounds bounds;
    double slope;          /* of the dominating curve at its bound */
    double rounding, lost; /* parts of the width, nats */
    double spacing, bytes;
    size_t knots;
    bool beyond; /* the crossing lies above the top of the lattices */
} pass;

/* ---- From delta to epsilon ------------------------------------------------------------------- */

typedef struct crossing {
    double epsilon, slope;
} crossing;

/* A point at which the bound was found to be below delta, of a dominating law, or not below delta, of a
 * dominated one; infinity and 0 if none was found. Newton's method on log delta, a little further each time,
 * so that two points enclose the crossing, `exact` apart at last. */
static crossing cross(const prv_jump_law *law, double delta, double guess, double exact)
{
    double below = 0.0, above = law->greatest, x = fmin(fmax(guess, 0.0), above), slope = 0.0;
    bool is_below = false, is_above = false; /* found */
    for (int i = 0; i < MOST_EVALUATIONS; i++) {
        const prv_jump_value v = prv_jump_delta(law, x);
        if (v.delta >= delta) {
            is_below = true;
            below = x;
            if (x >= law->greatest) break;
        } else {
            is_above = true;
            above = x;
            if (x <= 0.0) break;
        }
        if (is_below && is_above && above - below <= exact) break;
        if (v.slope > 0.0) slope = v.slope;
        double next = x + log(v.delta / delta) / v.slope + (v.delta >= delta ? 0.4 : -0.4) * exact;
        if (!(next > below && next < above)) {
            if (next >= above && !is_above && isfinite(above))
                next = above;
            else if (next <= below && !is_below)
                next = below;
            else
                next = 0.5 * below + 0.5 * fmin(above, 2.0 * x + 1.0);
        }
        x = next;
    }
    if (law->side == PRV_DOMINATING) return (crossing){is_above ? above : HUGE_VAL, slope};
    return (crossing){below, slope}; /* 0, if nothing was found */
}

/* ---- One pass -------------------------------------------------------------------------------- */

static void read_epsilon(const prv_jump_law *law, double delta, pass *p)
{
    const crossing c = cross(law, delta, p->expected, 1e-3 * p->aim.width);
    if (law->side == PRV_DOMINATING) {
        p->bounds.upper = c.epsilon;
        p->slope = c.slope;
        p->beyond = !isfinite(c.epsilon);
    } else {
        p->bounds.lower = c.epsilon;
    }
}

static void read_delta(const prv_jump_law *law, double epsilon, pass *p)
{
    const prv_jump_value v = prv_jump_delta(law, epsilon);
    if (law->side == PRV_DOMINATING) {
        p->bounds.upper = v.delta;
        p->slope = v.slope;
    } else {
        p->bounds.lower = v.delta;
    }
}

static void read_law(const prv_task *t, const prv_jump_law *law, pass *p)
{
    if (t->question == PRV_ASK_EPSILON)
        read_epsilon(law, t->value, p);
    else
        read_delta(law, t->value, p);
    const double slope = fmax(p->slope, 1e-300);
    p->rounding += law->rounding.relative / slope + law->rounding.shift;
    p->lost += law->lost * exp(-p->aim.log_delta) / slope;
    p->bytes = fmax(p->bytes, law->bytes);
}

/* Both sides; of the dominated one nothing where the crossing is `beyond`. */
static prv_status make_pass(const prv_task *t, double work, pass *p)
{
    const prv_direction *d = t->direction;
    prv_jump_mesh mesh;
    prv_jump_lattices lattices;
    memset(&lattices, 0, sizeof lattices);
    p->rounding = p->lost = p->bytes = 0.0;
    p->beyond = false;
    prv_status status = prv_jump_plan(d, &p->aim, &mesh);
    if (status != PRV_OK) return status;
    status = prv_jump_lattices_new(d->mechanisms[0], d->add, &mesh, t->options, &lattices);
    p->spacing = mesh.bulk_spacing;
    p->knots = lattices.knots;
    const bool is_guess = p->aim.log_delta < TINY && d->mechanisms[0]->base == PRV_BASE_ATOMS;
    const double part = PART_LEFT_OUT * fmin(p->aim.slope * p->aim.width, 1.0) *
                        (is_guess ? PART_OF_GUESS : 1.0);
    const prv_jump_limits limits = {part * exp(p->aim.log_delta), p->aim.slope, work,
                                    (double)t->options->memory_limit};
    for (int side = 0; side < 2 && status == PRV_OK && !p->beyond; side++) {
        prv_jump_law law;
        status = prv_check_interrupt(t->options);
        if (status != PRV_OK) break;
        status = prv_jump_law_new(&lattices, &mesh, side == 0 ? PRV_DOMINATING : PRV_DOMINATED, d->counts[0],
                                  &limits, t->options, &law);
        if (status != PRV_OK) break;
        read_law(t, &law, p);
        prv_jump_law_free(&law);
    }
    prv_jump_lattices_free(&lattices);
    prv_jump_mesh_free(&mesh);
    return status;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* All passes of one direction. */
typedef struct search {
    prv_refinement *refinement;
    double start;   /* nats: the sum of losses lies above minus this */
    double reach;   /* nats: no crossing is expected above */
    double scale;   /* of the meshes' width, where they were worse than planned */
    double work;    /* products that one law may take */
    double planned; /* products that one may be planned to take */
    prv_bounds best;
    pass pass;
    int passes;
} search;

/* The width in epsilon of the best bounds of a delta, by the slope. */
static double width_of(const search *s)
{
    const prv_bounds *b = &s->best;
    if (s->refinement->task.question == PRV_ASK_EPSILON) return b->upper - b->lower;
    return b->lower > 0.0 && s->pass.slope > 0.0 ? log(b->upper / b->lower) / s->pass.slope : HUGE_VAL;
}

static double width_wanted(const search *s)
{
    const prv_task *t = &s->refinement->task;
    if (t->question == PRV_ASK_DELTA) return prv_refinement_width(s->refinement, t->value);
    return prv_width_asked(t->options, s->passes > 0 ? s->best.lower : s->pass.expected);
}

/* Whether rounding alone is wider than asked. It is that of cells, times the count, which every engine has.
 */
static bool is_rounding_wider(const search *s)
{
    return s->passes > 0 && s->pass.rounding > width_wanted(s);
}

/* Whether rounding is that of the counting, which no other engine has. */
static bool is_rounding_its_own(const search *s)
{
    return s->pass.rounding > ROUNDING_OF_STEP * s->refinement->task.direction->counts[0];
}

/* Whether a finer mesh would gain little, as most of the width is rounding. */
static bool is_nearly_rounding(const search *s)
{
    return is_rounding_wider(s) && width_of(s) <= NEARLY_ROUNDING * s->pass.rounding;
}

static bool is_close(const search *s)
{
    const prv_task *t = &s->refinement->task;
    return width_of(s) <= width_wanted(s) ||
           prv_is_relatively_close(t->options, t->question, s->best.lower, s->best.upper) ||
           prv_is_decided(t->options, s->best.lower, s->best.upper);
}

static bool is_discrete(const search *s)
{
    return s->refinement->task.direction->mechanisms[0]->base == PRV_BASE_ATOMS;
}

/* Aims at the width wanted, or at a wider one on the way there. */
static void aim_pass(search *s)
{
    const bool ask_epsilon = s->refinement->task.question == PRV_ASK_EPSILON;
    /* A mesh as fine as rounding is fine enough. */
    const double wanted = fmax(width_wanted(s), s->passes > 0 ? s->pass.rounding : 0.0);
    const double before = width_of(s);
    double width = wanted;
    if (ask_epsilon) {
        const double next = s->passes > 0 ? NARROWER * before : COARSE * (s->pass.expected + s->start);
        if (next > NEARLY * wanted) width = next;
    }
    if (s->passes > 0 && width == wanted && before > wanted && s->pass.aim.width <= PART_OF_MESHES * wanted)
        s->scale *= fmin(fmax(pow(0.8 * wanted / before, is_discrete(s) ? 1.0 : SLOWLY), 0.05), 1.0);
    s->pass.aim.width = PART_OF_MESHES * s->scale * width;
    s->pass.aim.epsilon = s->reach + (ask_epsilon ? 2.0 * width : 0.0);
}

/* Where the answer is expected: between what one jump makes of delta, and the saddle point's guess, which
 * takes rare jumps for frequent ones. */
static void begin(prv_refinement *r, search *s)
{
    const prv_task *t = &r->task;
    const prv_direction *d = t->direction;
    memset(s, 0, sizeof *s);
    s->refinement = r;
    s->scale = 1.0;
    s->best.upper = HUGE_VAL;
    s->start = -d->counts[0] * prv_lowest_loss(d->mechanisms[0], d->add);
    pass *p = &s->pass;
    p->aim.most_jumps = MOST_JUMPS_EXPECTED;
    p->aim.slope = r->aim.slope;
    p->aim.log_delta = r->aim.log_delta;
    p->expected = s->reach = t->value;
    if (t->question == PRV_ASK_DELTA) return;
    double guess, slope;
    prv_jump_guess(d, r->aim.log_delta, &guess, &slope);
    p->expected = r->aim.frequent_epsilon;
    if (guess < p->expected) {
        p->expected = fmax(guess, 0.0);
        p->aim.slope = fmax(slope, p->aim.slope);
    }
    s->reach = p->expected + 0.1 * (p->expected + s->start);
}

/* The points of a convolution at the saddle, about; 0 if that is not known. */
static double points_at_saddle(prv_refinement *r, double width)
{
    prv_aim aim = r->aim;
    prv_layout layout;
    aim.width = width;
    prv_direction *d = r->task.direction;
    const double spacing = prv_first_spacing(d, &aim);
    /* Too long for memory is long. */
    const prv_status status = prv_layout_plan(d, &aim, aim.saddle, spacing, false, PRV_ENGINE_CONVOLUTION,
                                              HUGE_VAL, &layout);
    return status == PRV_OK || status == PRV_ERR_MEMORY_LIMIT ? layout.uniform_points : 0.0;
}

/* The products that take as long as a convolution, if delta is TINY. */
static double most_if_tiny(prv_refinement *r, double width)
{
    prv_aim aim = r->aim;
    aim.width = width;
    const double n = points_at_saddle(r, width);
    if (!(n > 0.0)) return MOST_EXPECTED;
    const bool hidden = prv_log_part(r->task.direction, &aim, aim.saddle) < HIDDEN;
    return fmin(hidden ? PRODUCTS_OF_PAIR * n * n : PRODUCTS_OF_POINT * n, MOST_EXPECTED_IF_TINY);
}

/* The products of the last pass. */
static double expected_work(const search *s)
{
    prv_jump_aim aim = s->pass.aim;
    aim.width = PART_OF_MESHES * width_wanted(s);
    aim.epsilon = s->reach;
    return prv_jump_work(s->refinement->task.direction, &aim);
}

/* Whether counting is expected to be the cheapest way. */
static bool is_cheapest(search *s)
{
    const prv_refinement *r = s->refinement;
    const double work = expected_work(s);
    const double count = r->task.direction->counts[0], sum = s->pass.expected + s->start;
    const double rare = (r->aim.frequent_epsilon + s->start) / sum;
    if (is_discrete(s)) {
        s->work = MOST_WORK_OF_ATOMS;
        if (work <= MOST_EXPECTED_OF_ATOMS) return true;
        if (count > FEW_RUNS || !(points_at_saddle(s->refinement, width_wanted(s)) > MANY_POINTS))
            return false;
    }
    if (r->aim.log_delta < TINY && work > MOST_EXPECTED) {
        s->work = MOST_WORK_IF_TINY;
        if (work <= MOST_EXPECTED_IF_TINY) s->planned = most_if_tiny(s->refinement, width_wanted(s));
        return work <= s->planned;
    }
    if (is_discrete(s)) return false;
    if (rare > VERY_RARE) {
        s->work = MOST_WORK_IF_VERY_RARE;
        return work <= MOST_EXPECTED_IF_VERY_RARE;
    }
    const bool is_rare = rare > RARE || sum > FAR * s->start / count;
    s->work = is_rare ? MOST_WORK_IF_RARE : MOST_WORK;
    return work <= (is_rare ? MOST_EXPECTED_IF_RARE : MOST_EXPECTED);
}

static void take(search *s)
{
    const bool ask_epsilon = s->refinement->task.question == PRV_ASK_EPSILON;
    pass *p = &s->pass;
    if (p->beyond) {
        p->expected = s->reach;
        s->reach += 0.8 * (s->reach + s->start);
        return;
    }
    s->best.lower = fmax(s->best.lower, p->bounds.lower);
    s->best.upper = fmin(s->best.upper, p->bounds.upper);
    s->passes++;
    if (p->slope > 0.0)
        p->aim.slope *= fmin(fmax(p->slope / p->aim.slope, 1.0 / MOST_CHANGE_OF_SLOPE), MOST_CHANGE_OF_SLOPE);
    s->best.estimate = s->best.lower + (s->best.upper - s->best.lower) / 3.0;
    if (ask_epsilon) {
        p->expected = s->best.estimate;
        s->reach = s->best.upper;
    } else if (s->best.estimate > 0.0) {
        p->aim.log_delta = log(s->best.estimate);
        s->refinement->aim.slope = p->aim.slope;
    }
}

/* The bounds of passes of other engines hold, too. */
static void keep(const search *s)
{
    prv_refinement *r = s->refinement;
    const prv_bounds before = r->bounds;
    r->bounds = s->best;
    if (r->passes == 0) return;
    r->bounds.lower = fmax(before.lower, s->best.lower);
    r->bounds.upper = fmin(before.upper, s->best.upper);
}

static void tell(const search *s)
{
    prv_refinement *r = s->refinement;
    const pass *p = &s->pass;
    prv_outcome o;
    memset(&o, 0, sizeof o);
    o.engine = PRV_ENGINE_JUMPS;
    o.spacing = p->spacing;
    o.cells = p->knots;
    o.bytes = p->bytes;
    o.read.bounds = s->best;
    o.read.width = width_of(s);
    o.read.epsilon = p->expected;
    o.read.log_delta = p->aim.log_delta;
    o.read.slope = p->slope;
    o.read.resolved = 1;
    o.read.rounding = fmin(p->rounding, o.read.width);
    o.read.truncation = fmin(p->lost, o.read.width - o.read.rounding);
    o.read.discretization = o.read.width - o.read.rounding - o.read.truncation;
    r->narrowest = r->last = o;
    keep(s);
    r->passes += s->passes;
}

/* Bounds that were not close enough hold, too. */
static prv_status keep_bounds(const search *s)
{
    prv_refinement *r = s->refinement;
    if (s->passes == 0) return PRV_OK;
    r->counted = true;
    keep(s);
    return prv_gate_close(&r->task.direction->all, r->task.question, r->task.value, &r->bounds);
}

/* Whether jumps may be counted. */
static bool may_count(const prv_refinement *r)
{
    const prv_task *t = &r->task;
    return prv_is_engine_open(t->options) && !(t->options->mesh_size > 0.0) &&
           !prv_is_enclosed(t->direction) && prv_may_count_jumps(t->direction) &&
           exp(r->aim.log_delta) > LEAST_DELTA;
}

bool prv_is_counting_later(prv_refinement *r)
{
    search s;
    if (r->task.question != PRV_ASK_DELTA || !(r->aim.log_delta < TINY) || !may_count(r)) return false;
    if (r->task.engine != PRV_ENGINE_SPECTRUM && !prv_is_multiplied_out(r)) return false;
    begin(r, &s);
    return !is_discrete(&s) && expected_work(&s) > MOST_BEFORE_OTHERS;
}

prv_status prv_jump_passes(prv_refinement *r)
{
    const prv_task *t = &r->task;
    if (!may_count(r)) return PRV_ERR_ENGINE;
    search s;
    begin(r, &s);
    if (!is_cheapest(&s)) return PRV_ERR_ENGINE;
    const double saddle = r->aim.slope;
    if (t->question == PRV_ASK_EPSILON && !(r->aim.log_delta < TINY))
        s.reach += 0.4 * (s.pass.expected + s.start);
    for (int i = 0; i < MOST_PASSES; i++) {
        aim_pass(&s);
        if (s.planned > 0.0 && s.passes > 0 && prv_jump_work(t->direction, &s.pass.aim) > s.planned) break;
        const prv_status status = make_pass(t, s.work, &s.pass);
        if (status == PRV_ERR_ENGINE) break;
        if (status != PRV_OK) return status;
        take(&s);
        /* A mesh that sees nothing twice is not the right one. */
        if (s.passes >= 2 && !isfinite(width_of(&s))) break;
        if (s.passes == 0 || !(is_close(&s) || is_nearly_rounding(&s))) continue;
        if (!is_close(&s) && is_rounding_its_own(&s)) break;
        tell(&s);
        if (!is_close(&s)) {
            r->rounding_decides = true;
            r->stopped_by = PRV_LIMIT_ROUNDING;
        }
        return prv_gate_close(&t->direction->all, t->question, t->value, &r->bounds);
    }
    r->aim.slope = saddle;
    const prv_status kept = keep_bounds(&s);
    return kept == PRV_OK ? PRV_ERR_ENGINE : kept;
}
