/* Bounds from a dominating and a dominated lattice, refined until they are as narrow as asked. */
#include "questions/bracketing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "composition/convolution.h"
#include "composition/direct_convolution.h"
#include "composition/spectrum.h"
#include "curve/attained.h"
#include "planning/layout.h"
#include "questions/question.h"
#include "questions/reading.h"

/* Parts of the saddle tilt tried for the evaluation, in this order: small tilts have small windows, but
 * lose digits to the rounding of the transforms. */
static const double dials[] = {0.5, 0.7, 0.85, 1.0};
enum { DIALS = sizeof dials / sizeof *dials, MOST_PASSES = 24 };

#define MANY_STEPS 100.0

/* Products that a convolution may take without transforms: fewer than planning the first transforms of a
 * length costs; and for the relative accuracy that transforms do not have. */
#define MOST_PRODUCTS 7e7
#define MOST_PRECISE_PRODUCTS 2e8

/* Sums of the cells' rounding, which multiplies delta by e to this, from which a composition says little more
 * than what is known without it, and is not worth a convolution. */
#define MOST_CELL_ERROR 700.0
#define MOST_CONVOLVED_ERROR 30.0

/* Products of an atom and a frequency that a spectrum may take where it was asked for; otherwise about as
 * many as take as long as a convolution, which is done if that is not enough: a plain one, of each step, or a
 * precise one. */
#define MOST_WORK 5e9
#define PLAIN_WORK 2e6
#define PRECISE_WORK 4e7

/* If rounding is this part of the width, more memory or another engine gains little. */
#define ROUNDING_DECIDES 0.3

/* What one pass over one direction found. */
typedef struct outcome {
    prv_reading read;
    int capped; /* the memory limit made the mesh coarser than asked */
    double step;
    size_t cells, transform_length;
    prv_engine engine;
    double tilt, bytes;
    prv_rounding cells_rounding; /* prv_enclosed_rounding */
} outcome;

typedef struct task {
    prv_direction *direction;
    const prv_options *options;
    prv_question question;
    double value;
    prv_engine engine; /* of the next pass */
    int separate;      /* spectrum: rare jumps apart; -1 if that was in vain */
    int precise;       /* prv_compose's way for laws whose bulk is a few atoms */
} task;

/* ---- One pass ------------------------------------------------------------------------------ */

typedef struct lattices {
    size_t steps;
    prv_enclosure *each;
    const prv_lattice **list;
    prv_enclosed sums;
} lattices;

static void lattices_free(lattices *l)
{
    for (size_t j = 0; j < l->steps; j++) prv_enclosure_free(&l->each[j]);
    prv_release(l->each);
    prv_release((void *)l->list);
}

/* Cells and both lattices of every step. */
static prv_status build_lattices(const task *t, const prv_aim *aim, prv_layout *layout, lattices *l)
{
    const size_t steps = t->direction->steps;
    memset(l, 0, sizeof *l);
    l->each = prv_allocate(steps, sizeof *l->each);
    l->list = prv_allocate(steps, sizeof *l->list);
    if (l->each == NULL || l->list == NULL) return PRV_ERR_MEMORY;
    for (; l->steps < steps; l->steps++) {
        const size_t j = l->steps;
        const prv_status status = prv_enclosure_new(t->direction->mechanisms[j], t->direction->add,
                                                    &layout->meshes[j], &layout->cells[j], aim->saddle,
                                                    t->options, &l->each[j]);
        if (status != PRV_OK) return status;
        prv_enclosed_add(&l->sums, &l->each[j], t->direction->counts[j]);
    }
    return PRV_OK;
}

/* What a pass composes with: buffers and plans for a convolution, or a spectrum. */
typedef struct composer {
    prv_workspace work;
    prv_fft fft;
    prv_spectrum spectrum;
} composer;

static prv_status composer_new(const task *t, const prv_layout *layout, composer *c)
{
    memset(c, 0, sizeof *c);
    if (layout->engine == PRV_ENGINE_SPECTRUM) return PRV_OK;
    return prv_workspace_new(layout->window.length, t->direction->steps, layout->longest, &c->work);
}

static void composer_free(composer *c)
{
    prv_workspace_free(&c->work);
    prv_spectrum_free(&c->spectrum);
}

static prv_status compose_side(const task *t, const lattices *l, int side, const prv_layout *layout,
                               composer *c, prv_composed *composed)
{
    for (size_t j = 0; j < l->steps; j++)
        l->list[j] = side > 0 ? &l->each[j].dominating : &l->each[j].dominated;
    const prv_status interrupted = prv_check_interrupt(t->options);
    if (interrupted != PRV_OK) return interrupted;
    if (layout->engine == PRV_ENGINE_CONVOLUTION) {
        const double products = prv_direct_products(l->list, t->direction->counts, l->steps,
                                                    layout->window.length);
        const int direct = t->direction->all.count <= 1.0 ||
                           products < (t->precise ? MOST_PRECISE_PRODUCTS : MOST_PRODUCTS);
        if (!direct && c->fft.length == 0) {
            const prv_status status = prv_plan_fft(t->options, layout->window.length, &c->fft);
            if (status != PRV_OK) return status;
        }
        return prv_compose(l->list, t->direction->counts, l->steps, layout->tilt, &layout->window,
                           direct ? NULL : &c->fft, &c->work, composed);
    }
    prv_spectrum_free(&c->spectrum);
    const double n = layout->uniform_points;
    const double like = fmax(PLAIN_WORK * (double)l->steps, t->separate > 0 ? PRECISE_WORK : 0.0);
    const double most_work = t->options->engine == PRV_ENGINE_SPECTRUM ? MOST_WORK
                                                                       : like + fmin(20.0 * n * log2(n), 1e8);
    const prv_status status = prv_spectrum_new(l->list, t->direction->counts, l->steps, layout->tilt,
                                               &layout->window, most_work, &c->spectrum, composed);
    return status == PRV_ERR_PRECISION ? PRV_ERR_ENGINE : status;
}

/* Lays out meshes no finer than the memory limit allows. */
static prv_status fit_layout(const task *t, const prv_aim *aim, double tilt, double step, int exact,
                             prv_layout *layout, int *capped)
{
    *capped = 0;
    const double limit = (double)t->options->memory_limit;
    for (int attempt = 0; attempt < 40; attempt++) {
        const prv_status interrupted = prv_check_interrupt(t->options);
        if (interrupted != PRV_OK) return interrupted;
        const prv_status status = prv_layout_new(t->direction, aim, tilt, step, exact, t->engine, limit,
                                                 layout);
        if (status != PRV_ERR_MEMORY_LIMIT || exact) return status;
        *capped = 1;
        step *= fmin(fmax(1.05 * layout->bytes / (limit + 1.0), 1.05), 64.0);
    }
    return PRV_ERR_MEMORY_LIMIT;
}

static prv_status pass(const task *t, const prv_aim *aim, double tilt, double step, int exact, outcome *o)
{
    prv_layout layout;
    lattices l = {0};
    composer c = {0};
    memset(o, 0, sizeof *o);
    o->read = prv_reading_begin(aim->epsilon);
    prv_status status = fit_layout(t, aim, tilt, step, exact, &layout, &o->capped);
    o->bytes = layout.bytes;
    if (status != PRV_OK) return status;
    layout.window.options = t->options;
    layout.window.precise = t->precise;
    if (t->separate > 0 && layout.engine == PRV_ENGINE_SPECTRUM)
        prv_separate_jumps(t->direction, aim, &layout.window);
    const prv_asked asked = {t->question, t->value, &t->direction->all, aim, &l.sums};
    status = build_lattices(t, aim, &layout, &l);
    const double most_error = layout.engine == PRV_ENGINE_CONVOLUTION ? MOST_CONVOLVED_ERROR
                                                                      : MOST_CELL_ERROR;
    const int composes = status == PRV_OK && prv_enclosed_rounding(&l.sums).relative < most_error;
    if (composes) status = composer_new(t, &layout, &c);
    for (int side = 1; side >= -1 && composes && status == PRV_OK; side -= 2) {
        prv_composed composed;
        status = compose_side(t, &l, side, &layout, &c, &composed);
        if (status != PRV_OK) break;
        prv_read_side(&asked, side, &composed, &o->read);
    }
    o->cells = l.sums.knots;
    o->cells_rounding = prv_enclosed_rounding(&l.sums);
    o->engine = composes && (t->direction->all.count > 1.0 || layout.engine == PRV_ENGINE_SPECTRUM)
                    ? layout.engine
                    : PRV_ENGINE_AUTO;
    o->transform_length = c.fft.length;
    o->step = layout.law_step;
    o->tilt = layout.tilt;
    if (!composes) prv_read_nothing(&asked, &o->read);
    composer_free(&c);
    lattices_free(&l);
    prv_layout_free(&layout);
    return status == PRV_OK ? prv_finish_reading(&asked, &o->read) : status;
}

/* ---- Refinement ---------------------------------------------------------------------------- */

/* How far one direction has come. */
typedef struct progress {
    task task;
    prv_aim aim;
    outcome best, recent; /* the narrowest pass, and the last one */
    prv_bounds bounds;    /* all passes hold: the best of each */
    size_t dial;
    double demand; /* on the room for rounding, 1 to begin with */
    int passes;
    int slow;        /* the width falls at first order or worse */
    int drowned;     /* rounding alone is wider than asked, or hides the answer */
    prv_limit stuck; /* why nothing is left to try, PRV_LIMIT_NONE if something is */
    size_t transforms;
} progress;

/* A spectrum's period grows like 1 / tilt, so that its tilt is at least what moves the sum by its own
 * deviation. */
static double tilt_of(const progress *d, size_t dial)
{
    const double tilt = dials[dial] * d->aim.saddle;
    if (d->task.engine != PRV_ENGINE_SPECTRUM) return tilt;
    return fmax(tilt, fmin(1.0 / d->aim.deviation, 1.0 / d->aim.width));
}

/* The smallest tilt that rounding leaves room for: the guess counts 1e-14 at each mass, K times that in the
 * plain way of convolving, in units of which delta is exp(prv_log_part). Where there is none, the tilt in
 * whose units delta is largest, and 0. */
static int choose_dial(progress *d)
{
    const double total = d->task.direction->all.count;
    if (d->task.separate > 0 && d->task.engine == PRV_ENGINE_SPECTRUM) {
        d->dial = 0;
        return 1;
    }
    const double growth = d->task.engine == PRV_ENGINE_SPECTRUM ? 8.0 + sqrt(total)
                          : d->task.precise                     ? 16.0
                                                                : 2.0 + total;
    const double error = log(1e-14 * growth * d->demand);
    const double room = log(fmax(0.1 * d->aim.slope * d->aim.width, 1e-9));
    double greatest = -HUGE_VAL;
    for (size_t dial = 0; dial < DIALS; dial++) {
        const double part = prv_log_part(d->task.direction, &d->aim, tilt_of(d, dial));
        if (part > greatest) {
            greatest = part;
            d->dial = dial;
        }
        if (error - part <= room) return 1;
    }
    return 0;
}

/* Rare jumps apart from now on, if there are any and it was not in vain before; 1 if so. */
static int set_jumps_apart(progress *d)
{
    task *t = &d->task;
    prv_window window;
    if (t->engine != PRV_ENGINE_SPECTRUM || t->separate != 0 ||
        !prv_separate_jumps(t->direction, &d->aim, &window))
        return 0;
    t->separate = 1;
    d->dial = 0; /* rounding is relative to the jumps: the smallest tilt will do */
    return 1;
}

static void choose_way(progress *d)
{
    task *t = &d->task;
    if (choose_dial(d) || t->precise || set_jumps_apart(d)) return;
    if (t->options->engine != PRV_ENGINE_SPECTRUM && !d->drowned) {
        t->engine = PRV_ENGINE_CONVOLUTION;
        t->precise = 1;
        choose_dial(d);
    }
}

/* What the rounding of the cells alone takes of the width: the certificate moves delta by a factor of
 * e^relative and epsilon by `shift`, on either side, whatever the mesh, the tilt and the engine. */
static double rounding_of_cells(const progress *d)
{
    const prv_rounding error = d->recent.cells_rounding;
    const double relative = expm1(fmin(error.relative, MOST_CELL_ERROR));
    return 2.0 *
           ((d->task.question == PRV_ASK_DELTA ? relative : error.relative) / d->aim.slope + error.shift);
}

/* What the next pass does differently: a stricter window, a larger tilt, a finer mesh. 0 if nothing is
 * left to do. */
static int adapt(progress *d, double width, double *step)
{
    const outcome *o = &d->recent;
    int changed = 0;
    /* If delta is no larger than what callbacks' values or subnormal masses may be off by, no finite upper
     * bound exists, and three passes suffice for the lower one. */
    const prv_direction *direction = d->task.direction;
    const double unknown = prv_direction_absolute_error(direction) +
                           prv_underflown(&direction->all, d->task.value);
    const int within = d->task.question == PRV_ASK_EPSILON &&
                       d->task.value - direction->all.infinite.mass <= unknown;
    if (within && d->passes >= 3) {
        d->drowned = 1;
        return 0;
    }
    const double unavoidable = rounding_of_cells(d);
    if (unavoidable > width) {
        if (o->read.resolved ? o->read.width <= 4.0 * unavoidable : d->drowned) {
            d->drowned = 1;
            return 0;
        }
        if (!o->read.resolved) {
            /* Once more with a window that all its slack fits into. */
            d->aim.reach = fmax(d->aim.reach, 2.0 * unavoidable);
            d->drowned = changed = 1;
        }
    }
    if (o->read.truncation > 0.1 * width && d->aim.top_share > 1e-30) {
        d->aim.top_share *= fmax(0.05 * width / o->read.truncation, 1e-6);
        changed = 1;
    }
    if (o->read.wrap_around > 0.1 * width && d->aim.strictness < 1e60) {
        d->aim.strictness *= fmin(20.0 * o->read.wrap_around / width, 1e6);
        changed = 1;
    }
    if (o->read.rounding > 0.1 * width + 1.5 * unavoidable) {
        const size_t dial = d->dial;
        const int precise = d->task.precise, separate = d->task.separate;
        /* The guess of the rounding was too low, and may have been by much. */
        for (int i = 0;
             i < 8 && d->dial == dial && d->task.precise == precise && d->task.separate == separate; i++) {
            d->demand *= fmin(20.0 * o->read.rounding / width, 1e6);
            choose_way(d);
        }
        if (d->task.separate > 0 && separate > 0) {
            d->task.separate = -1; /* no tilt changes what the bulk makes up */
            choose_way(d);
        }
        changed = changed || d->dial != dial || d->task.precise != precise || d->task.separate != separate;
    }
    const double slack = o->read.wrap_around + o->read.rounding;
    /* What the mesh may cost beside the slack. */
    const double ratio = (0.8 * width - fmin(slack, 0.4 * width)) / fmax(o->read.width - slack, 1e-300);
    if (!changed && !o->read.resolved && d->task.precise && o->read.transforms > 0 &&
        o->read.rounding > width) {
        /* Transforms drown it; multiplied out, as on a coarser mesh, it is often closer than asked. */
        if (d->best.engine == PRV_ENGINE_CONVOLUTION && d->best.read.transforms == 0) return 0;
        *step = 1.5 * o->step;
        changed = 1;
    } else if (!o->read.resolved || !isfinite(o->read.width)) {
        /* Nothing else in the way: the mesh is too coarse to see the answer at all. */
        if (!changed) {
            *step = fmin(*step, 0.3 * o->step);
            changed = 1;
        }
    } else if (ratio < 1.0 && slack < 0.5 * o->read.width) {
        /* Second order; first, where the last step did not do better than that. */
        const double finer = o->step * fmin(fmax(d->slow ? ratio : sqrt(ratio), 0.02), 0.9);
        *step = fmin(*step, finer);
        changed = 1;
    } else {
        *step = fmin(*step, o->step);
    }
    return changed && !o->capped;
}

static prv_status pass_by_plan(const progress *d, double step, int exact, outcome *o)
{
    return pass(&d->task, &d->aim, tilt_of(d, d->dial), step, exact, o);
}

/* The width in epsilon to go for, where `at` tells the one asked. */
static double width_wanted(const progress *d, double at)
{
    const prv_options *options = d->task.options;
    const double infinite = d->task.direction->all.infinite.mass;
    /* A lower bound without digits of delta, which the greatest loss alone makes one of epsilon. */
    if (d->passes > 0 && isfinite(d->best.read.width) && !(d->bounds.lower > infinite))
        return prv_width_asked(options, at);
    /* By the upper bound, so that what is as narrow as this is relatively close, too. */
    const double finite = d->passes > 0 ? d->bounds.upper - infinite : exp(d->aim.log_delta);
    const double whole = infinite > 0.0 ? 1.0 + infinite / fmax(finite, 1e-300) : 1.0;
    return prv_width_wanted(options, d->task.question, &d->aim, at, whole);
}

/* One more pass of a direction, towards this width, which is not less than the one asked. */
static prv_status advance(progress *d, double asked, double width)
{
    const prv_options *options = d->task.options;
    const int exact = options->mesh_size > 0.0, ask_epsilon = d->task.question == PRV_ASK_EPSILON;
    d->aim.asked = asked;
    d->aim.width = width;
    if (d->passes == 0) prv_widen_reach(&d->aim);
    double step = prv_law_step(d->task.direction, &d->aim);
    /* The law needs the mesh to resolve the tilt. */
    step = fmin(step, 1.0 / d->aim.saddle);
    if (d->passes > 0 && !adapt(d, width, &step)) {
        d->stuck = d->recent.capped ? PRV_LIMIT_MEMORY : PRV_LIMIT_ROUNDING;
        return PRV_OK;
    }
    if (exact) step = options->mesh_size;
    choose_way(d);
    outcome o;
    prv_status status = pass_by_plan(d, step, exact, &o);
    /* What does not fall may be the atom of no jump at all; a first guess of epsilon is too far off to tell.
     */
    if (status == PRV_ERR_ENGINE && d->passes > 0 && set_jumps_apart(d))
        status = pass_by_plan(d, step, exact, &o);
    if (status == PRV_ERR_ENGINE && d->task.separate > 0) {
        d->task.separate = -1;
        choose_way(d);
        status = pass_by_plan(d, step, exact, &o);
    }
    if (status == PRV_ERR_ENGINE && options->engine == PRV_ENGINE_AUTO && !d->drowned) {
        d->task.engine = PRV_ENGINE_CONVOLUTION;
        choose_way(d);
        status = pass_by_plan(d, step, exact, &o);
    }
    if (status == PRV_ERR_PRECISION && !d->task.precise) {
        d->task.precise = 1;
        status = pass_by_plan(d, step, exact, &o);
    }
    if ((status == PRV_ERR_ENGINE || status == PRV_ERR_PRECISION) && d->passes > 0) {
        d->stuck = status == PRV_ERR_ENGINE && !d->drowned ? PRV_LIMIT_ENGINE : PRV_LIMIT_ROUNDING;
        return PRV_OK; /* what was found before holds */
    }
    if (status != PRV_OK) {
        d->best.bytes = o.bytes;
        return status;
    }
    d->transforms += o.read.transforms;
    d->slow = d->passes > 0 && isfinite(d->recent.read.width) && o.step < d->recent.step &&
              o.read.width - o.read.wrap_around - o.read.rounding >
                  d->recent.read.width * o.step / d->recent.step;
    if (d->passes == 0) {
        d->bounds = o.read.bounds;
    } else {
        d->bounds.lower = fmax(d->bounds.lower, o.read.bounds.lower);
        d->bounds.upper = fmin(d->bounds.upper, o.read.bounds.upper);
    }
    if (d->passes == 0 || o.read.width <= d->best.read.width) {
        d->best = o;
        d->bounds.estimate = o.read.bounds.estimate;
    }
    d->recent = o;
    d->passes++;
    /* Where rounding hides the answer, the guess before is the better one. */
    if (isfinite(o.read.epsilon) && (o.read.resolved || o.read.rounding < o.read.wrap_around)) {
        if (d->task.question == PRV_ASK_DELTA && o.read.resolved &&
            fabs(o.read.log_delta - d->aim.log_delta) > 1.0)
            prv_aim_at_delta(d->task.direction, options, exp(o.read.log_delta), &d->aim);
        d->aim.epsilon = o.read.epsilon;
        d->aim.log_delta = o.read.log_delta;
        if (ask_epsilon) d->aim.reach = fmin(o.read.width, 0.1 * fabs(o.read.epsilon) + width);
    }
    if (o.read.resolved && o.read.slope > 0.0 && o.read.slope < 1e100) d->aim.slope = o.read.slope;
    return PRV_OK;
}

static void report_of(const progress *d, prv_neighbors asked, double width, int accurate, prv_report *r)
{
    const outcome *best = &d->best;
    prv_report_reading(&best->read, asked, d->task.direction->add, width, accurate, r);
    r->mesh_size = best->step;
    r->memory = prv_size_of(best->bytes);
    r->tilt = best->tilt;
    r->cells = best->cells;
    r->engine = best->engine;
    r->transform_length = best->transform_length;
    /* What rounding hides is not the mesh's. */
    if (!d->drowned || (best->read.resolved && isfinite(width))) return;
    r->discretization = 0.0;
    r->rounding = fmax(width - r->truncation - r->wrap_around, 0.0);
}

/* What kept the width above the one asked. `report` has the width and its parts. */
static prv_limit limit_of(const progress *d, const prv_report *report)
{
    if (d->task.options->mesh_size > 0.0) return PRV_LIMIT_MESH_SIZE;
    if (d->drowned || report->rounding >= ROUNDING_DECIDES * report->width) return PRV_LIMIT_ROUNDING;
    if (d->stuck != PRV_LIMIT_NONE) return d->stuck;
    return d->recent.capped ? PRV_LIMIT_MEMORY : PRV_LIMIT_PASSES;
}

/* From a few dozen steps on spectra fall fast; those of discrete laws have few frequencies anyway. */
static prv_engine likely_engine(const prv_direction *direction)
{
    /* A law of one atom has no spectrum to speak of: all frequencies are alike. */
    const prv_moments m = prv_composed_moments(direction, 0.0);
    if (!(m.variance > 1e-20 * m.mean * m.mean)) return PRV_ENGINE_CONVOLUTION;
    int discrete = 1;
    for (size_t j = 0; j < direction->steps; j++)
        discrete = discrete && direction->mechanisms[j]->base == PRV_BASE_ATOMS;
    return direction->all.count >= MANY_STEPS || (direction->all.count > 1.0 && discrete)
               ? PRV_ENGINE_SPECTRUM
               : PRV_ENGINE_CONVOLUTION;
}

/* Each pass narrows the bounds by about the same factor. */
static double part_done(double first, double width, double asked)
{
    if (!(width > asked)) return 1.0;
    return isfinite(first) ? fmax(log(first / width), 0.0) / log(first / asked) : 0.0;
}

prv_status prv_bracket(prv_direction *directions, size_t direction_count, const prv_options *options,
                       prv_question question, double value, prv_bounds *bounds, prv_report *report)
{
    const int ask_epsilon = question == PRV_ASK_EPSILON;
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_PASSES, options);
    progress states[2];
    memset(states, 0, sizeof states);
    for (size_t i = 0; i < direction_count; i++) {
        const prv_engine engine = options->engine != PRV_ENGINE_AUTO ? options->engine
                                                                     : likely_engine(&directions[i]);
        states[i].demand = states[i].aim.strictness = 1.0;
        states[i].task = (task){&directions[i], options, question, value, engine, 0, 0};
        prv_take_aim(&directions[i], options, question, value, &states[i].aim);
    }
    /* The direction that looks larger first; the other may turn out not to matter. */
    if (direction_count == 2 && (ask_epsilon ? states[1].aim.epsilon > states[0].aim.epsilon
                                             : states[1].aim.log_delta > states[0].aim.log_delta)) {
        const progress swap = states[0];
        states[0] = states[1];
        states[1] = swap;
    }
    double lower = 0.0;
    size_t needed = 0;
    for (size_t i = 0; i < direction_count; i++) {
        progress *d = &states[i];
        if (i > 0 && ask_epsilon) {
            if (prv_chernoff_epsilon(d->task.direction, value, lower) <= lower) break;
            prv_take_aim(d->task.direction, options, question, value,
                         &d->aim); /* the bound had its own cells in use */
        }
        prv_status status = prv_refine_aim(d->task.direction, options, question, value, &d->aim);
        if (status != PRV_OK) return status;
        /* A first, coarse pass: it finds out where epsilon is, and which direction decides. */
        const double at = d->aim.epsilon, coarse = fmin(0.03 * fabs(at), 30.0 * d->aim.deviation);
        status = advance(d, fmax(prv_width_asked(options, at), coarse), fmax(width_wanted(d, at), coarse));
        if (status == PRV_ERR_MEMORY_LIMIT) report->memory = prv_size_of(d->best.bytes);
        if (status != PRV_OK) return status;
        lower = fmax(lower, d->bounds.lower);
        layer.now.passes = ++needed;
    }

    for (double first = HUGE_VAL;;) {
        progress *top = &states[0];
        for (size_t i = 1; i < needed; i++)
            if (states[i].bounds.upper > top->bounds.upper) top = &states[i];
        lower = 0.0;
        double estimate = 0.0;
        size_t transforms = 0;
        int passes = 0;
        for (size_t i = 0; i < needed; i++) {
            lower = fmax(lower, states[i].bounds.lower);
            estimate = fmax(estimate, states[i].bounds.estimate);
            transforms += states[i].transforms;
            passes += states[i].passes;
        }
        double upper = top->bounds.upper;
        /* Where rounding or memory stop the composition, Chernoff's inequality may still bound epsilon. */
        if (ask_epsilon && (top->drowned || top->stuck || top->recent.capped || passes >= MOST_PASSES)) {
            double chernoff = 0.0;
            for (size_t i = 0; i < direction_count; i++)
                chernoff = fmax(chernoff, prv_chernoff_epsilon(&directions[i], value, chernoff));
            upper = fmin(upper, chernoff);
            /* Of bounded ranges that is a bound of the mechanism, which may lie below all that the pair has:
             * then nothing here is a lower bound, and one from data sets takes its place (question.c). */
            if (prv_direction_attainment(top->task.direction) == PRV_NOT_ATTAINED) lower = fmin(lower, upper);
        }
        const double at = ask_epsilon ? lower : value;
        const double asked = prv_width_asked(options, at);
        const double width = ask_epsilon ? (upper == lower ? 0.0 : upper - lower) : top->best.read.width;
        const int done = width <= asked * (1.0 + 1e-12) ||
                         prv_is_relatively_close(options, question, lower, upper);
        if (done || options->mesh_size > 0.0 || top->stuck || passes >= MOST_PASSES) {
            *bounds = (prv_bounds){lower, estimate, upper};
            report_of(top, options->neighbors, width, done || options->mesh_size > 0.0, report);
            report->transforms = transforms;
            if (!done) report->limit = limit_of(top, report);
            return prv_gate_range(ask_epsilon ? 0.0 : -HUGE_VAL, HUGE_VAL, bounds);
        }
        if (!isfinite(first)) first = width;
        layer.now.passes = (size_t)passes;
        layer.now.width = width;
        layer.now.width_asked = width_wanted(top, at);
        layer.now.fraction = part_done(first, width, layer.now.width_asked);
        /* Where the lower bound is still far off, the estimate tells what width will be asked. */
        const double expected = ask_epsilon ? fmax(lower, 0.95 * fmin(estimate, upper)) : value;
        const prv_status status = advance(top, 0.95 * prv_width_asked(options, expected),
                                          0.95 * width_wanted(top, expected));
        if (status != PRV_OK) return status;
    }
}
