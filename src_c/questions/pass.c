#include "questions/pass.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "composition/characteristic.h"
#include "composition/convolution.h"
#include "composition/direct_convolution.h"
#include "composition/spectrum.h"
#include "planning/layout.h"
#include "questions/question.h"
#include "questions/witness.h"

/* The numbers below trade time; no bound relies on them. */

/* Products that a convolution may take without transforms: about as many as take the time of planning the
 * first transforms of a length; more in the precise way where delta is less than exp of PART_LIKE_ROUNDING of
 * the tilted law, since products have the relative accuracy that transforms lack. */
#define MOST_PRODUCTS 2e6
#define MOST_PRECISE_PRODUCTS 2e8
#define PART_LIKE_ROUNDING (-14.0)

/* A convolution is not worth its transforms if the cells' rounding alone multiplies delta by e to this. */
#define MOST_CONVOLVED_ERROR 30.0

/* Products of an atom and a frequency that a spectrum may take if it was asked for. Else it may take about as
 * long as the convolution that is done if a spectrum falls too slowly: a plain one, of each step (a coarse
 * pass may take longer, as the convolution that answers is a finer one), or a precise one, and in both cases
 * some products for each operation of its transforms, up to a limit, which is higher for millions of points.
 * Transforms longer than LONG take longer for each operation, and round so much that there are more passes.
 * Where delta is so small that a convolution takes the precise way, a spectrum may take LOOSE times as long;
 * LOOSE_IF_PLAIN times if it is coarse, or if only atoms of several steps are on no common lattice, which a
 * convolution may need a finer one for than is guessed. BRIEF_WORK takes some 10 ms. The lower side, which is
 * like the upper one, may take WORK_OF_OTHER_SIDE times as long as that, unless a convolution has the lattice
 * of one step's atoms. */
#define MOST_WORK 5e9
#define PLAIN_WORK 2e5
#define COARSE_WORK 5e5
#define LOOSE 5.0
#define LOOSE_IF_PLAIN 2.0
#define LONG 32768.0
#define PRECISE_WORK 4e7
#define PRECISE_WORK_OF_POINT 300.0
#define WORK_OF_TRANSFORMS 1.0
#define MOST_WORK_OF_POINT 8.0
#define MOST_WORK_OF_TRANSFORMS 1e8
#define MOST_WORK_OF_LONGEST 2e8
#define BRIEF_WORK 1.2e7
#define WORK_OF_OTHER_SIDE 1.5
/* The masses of a knot's cell take about as long as so many products. */
#define WORK_OF_KNOT 150.0

/* If a layout exceeds the memory limit, its spacing grows by the excess and 5 % more, but at least by 5 % and
 * at most 64 times, so often at most. */
#define COARSER_BEYOND 1.05
#define LEAST_COARSER 1.05
#define MOST_COARSER 64.0
#define MOST_LAYOUTS 40

/* Bytes of a small pass (PRV_ENGINE_SMALL), which take some 0.1 s. */
#define MOST_OF_SMALL 32e6

typedef struct lattices {
    size_t steps;
    prv_enclosure *each;      /* [steps] */
    const prv_lattice **list; /* [steps] those of the side that is composed */
    prv_enclosed sums;
    double greatest;   /* nats: the greatest epsilon for which the tops that lattices keep may be counted */
    bool without_tops; /* no top could be counted: each is at infinity */
} lattices;

static void lattices_free(lattices *l)
{
    for (size_t j = 0; j < l->steps; j++) prv_enclosure_free(&l->each[j]);
    prv_release(l->each);
    prv_release((void *)l->list);
}

/* Puts the tops of all lattices at infinity where they may not be counted, as the lower ones drop them. */
static void give_up_tops(lattices *l)
{
    for (size_t j = 0; j < l->steps; j++) {
        prv_lattice *above = &l->each[j].dominating;
        above->infinite_mass += above->top_mass;
        above->infinite_error += PRV_UNIT * above->infinite_mass + above->rounding.relative * above->top_mass;
        above->top_mass = l->each[j].dominated.top_mass = 0.0;
    }
}

static void look_at_tops(const prv_task *t, const prv_aim *aim, lattices *l)
{
    const prv_direction *d = t->direction;
    l->greatest = -HUGE_VAL;
    if (!prv_is_capped(d)) return;
    for (size_t j = 0; j < l->steps; j++) l->list[j] = &l->each[j].dominating;
    l->greatest = prv_tops_greatest(d->mechanisms, d->add, l->list, d->counts, l->steps, l->sums.above.shift);
    l->without_tops = !(l->greatest >= aim->epsilon);
    if (l->without_tops) give_up_tops(l);
}

/* Cells and both lattices of every step. lattices_free frees them, whatever is returned. */
static prv_status build_lattices(const prv_task *t, const prv_aim *aim, prv_layout *layout, lattices *l)
{
    const size_t steps = t->direction->steps;
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
    look_at_tops(t, aim, l);
    return PRV_OK;
}

/* By how much a pass is coarser than the answer: that of a delta is not known. */
static double coarseness(const prv_task *t, const prv_aim *aim)
{
    if (t->question != PRV_ASK_EPSILON) return 1.0;
    return fmax(aim->width / prv_width_asked(t->options, aim->epsilon), 1.0);
}

/* Below this, plain transforms lose delta in their rounding. */
#define SMALL_LOG_DELTA (-20.0)

/* Runs of which atoms off the lattice add up to much. */
#define RUNS_OF_LOOSE_ATOMS 16.0

static size_t steps_with_atoms(const prv_direction *d)
{
    size_t steps = 0;
    for (size_t j = 0; j < d->steps; j++)
        if (d->mechanisms[j]->base != PRV_BASE_GAUSSIAN && d->mechanisms[j]->base != PRV_BASE_MIXTURE)
            steps++;
    return steps;
}

/* Whether more than one step has atoms, and runs often. */
static bool have_several_atoms(const prv_direction *d)
{
    return d->all.count >= RUNS_OF_LOOSE_ATOMS && steps_with_atoms(d) > 1;
}

static double most_work_of_spectrum(const prv_task *t, const prv_aim *aim, const prv_layout *layout)
{
    if (t->options->engine == PRV_ENGINE_SPECTRUM) return MOST_WORK;
    if (t->work > 0.0) return t->work;
    if (t->brief) return BRIEF_WORK;
    const double coarse = coarseness(t, aim), steps = (double)t->direction->steps;
    const double n = layout->convolved_points * sqrt(coarse); /* of the convolution that would answer */
    const bool is_small = aim->log_delta < SMALL_LOG_DELTA;
    const bool is_loose = have_several_atoms(t->direction) || is_small;
    const bool is_coarse = coarse > 2.0;
    const double loose = !is_loose ? 1.0 : is_coarse || !is_small ? LOOSE_IF_PLAIN : LOOSE;
    const double each = (is_coarse ? COARSE_WORK : PLAIN_WORK) * loose;
    const double like = fmax(each * (steps + 1.0), t->jumps == PRV_JUMPS_SEPARATE
                                                       ? fmin(PRECISE_WORK, PRECISE_WORK_OF_POINT * n)
                                                       : 0.0);
    const double of_point = is_loose ? MOST_WORK_OF_POINT
                                     : fmin(WORK_OF_TRANSFORMS * (steps + 1.0) * fmax(n / LONG, 1.0),
                                            MOST_WORK_OF_POINT);
    const double operations = n * log2(n);
    const double most = fmin(fmax(MOST_WORK_OF_TRANSFORMS, operations), MOST_WORK_OF_LONGEST);
    return like + fmin(of_point * operations, most);
}

/* Whether lattices and one block of frequencies take more work than the spectrum may. */
static bool is_spectrum_hopeless(const prv_task *t, const prv_aim *aim, const prv_layout *layout)
{
    if (layout->spacing.engine != PRV_ENGINE_SPECTRUM) return false;
    double work = 0.0;
    for (size_t j = 0; j < layout->steps; j++)
        work += (double)PRV_FREQUENCY_BLOCK * (double)layout->meshes[j].length +
                WORK_OF_KNOT * (double)layout->cells[j].length;
    return work > most_work_of_spectrum(t, aim, layout);
}

/* Buffers and plans of a convolution, or a spectrum. */
typedef struct composer {
    prv_workspace work;
    prv_fft fft; /* length 0 as long as no transform was needed */
    prv_spectrum spectrum;
    double most_products; /* that are taken without transforms */
    double most_work;     /* that a spectrum may take */
} composer;

static prv_status composer_new(const prv_task *t, const prv_aim *aim, const prv_layout *layout, composer *c)
{
    memset(c, 0, sizeof *c);
    const bool drowns = t->precise && prv_log_part(t->direction, aim, layout->tilt) < PART_LIKE_ROUNDING;
    c->most_products = drowns ? MOST_PRECISE_PRODUCTS : MOST_PRODUCTS;
    c->most_work = most_work_of_spectrum(t, aim, layout);
    if (layout->spacing.engine == PRV_ENGINE_SPECTRUM) return PRV_OK;
    return prv_workspace_new(layout->window.length, t->direction->steps, layout->longest, &c->work);
}

static void composer_free(composer *c)
{
    prv_workspace_free(&c->work);
    prv_spectrum_free(&c->spectrum);
}

static prv_status convolve(const prv_task *t, const lattices *l, const prv_layout *layout, composer *c,
                           prv_composed *composed)
{
    const double products = prv_direct_products(l->list, t->direction->counts, l->steps,
                                                layout->window.length);
    const bool direct = t->direction->all.count <= 1.0 || products < c->most_products;
    if (!direct && c->fft.length == 0) {
        const prv_status status = prv_plan_fft(t->options, layout->window.length, &c->fft);
        if (status != PRV_OK) return status;
    }
    return prv_compose(l->list, t->direction->counts, l->steps, layout->tilt, &layout->window,
                       direct ? NULL : &c->fft, &c->work, composed);
}

static prv_status compose_on_lattices(const prv_task *t, const lattices *l, prv_side side,
                                      const prv_layout *layout, composer *c, prv_composed *composed)
{
    for (size_t j = 0; j < l->steps; j++)
        l->list[j] = side == PRV_DOMINATING ? &l->each[j].dominating : &l->each[j].dominated;
    prv_status status = prv_check_interrupt(t->options);
    if (status != PRV_OK) return status;
    if (layout->spacing.engine == PRV_ENGINE_CONVOLUTION) return convolve(t, l, layout, c, composed);
    prv_spectrum_free(&c->spectrum);
    status = prv_spectrum_new(l->list, t->direction->counts, l->steps, layout->tilt, &layout->window,
                              c->most_work, &c->spectrum, composed);
    if (status == PRV_OK && steps_with_atoms(t->direction) != 1)
        c->most_work = fmax(c->most_work, WORK_OF_OTHER_SIDE * c->spectrum.work);
    return status == PRV_ERR_PRECISION ? PRV_ERR_ENGINE : status;
}

static prv_status compose_side(const prv_task *t, const lattices *l, prv_side side, const prv_layout *layout,
                               composer *c, prv_composed *composed)
{
    const prv_status status = compose_on_lattices(t, l, side, layout, c, composed);
    if (status == PRV_OK && prv_is_capped(t->direction))
        composed->tops = prv_tops_new(l->list, t->direction->counts, l->steps,
                                      side == PRV_DOMINATING ? l->greatest : HUGE_VAL);
    return status;
}

/* Composes the dominating side, then the dominated one, and reads both. */
static prv_status compose_sides(const prv_task *t, const prv_asked *asked, const lattices *l,
                                const prv_layout *layout, prv_outcome *o)
{
    composer c;
    prv_status status = composer_new(t, asked->aim, layout, &c);
    if (status != PRV_OK) goto done;
    for (prv_side side = PRV_DOMINATING; side <= PRV_DOMINATED; side++) {
        prv_composed composed;
        status = compose_side(t, l, side, layout, &c, &composed);
        if (status != PRV_OK) goto done;
        prv_read_side(asked, side, &composed, &o->read);
    }
    o->transform_length = c.fft.length;
    /* A single step that is "convolved" is read as it is. */
    const bool composes = t->direction->all.count > 1.0 || layout->spacing.engine == PRV_ENGINE_SPECTRUM;
    o->engine = composes ? layout->spacing.engine : PRV_ENGINE_AUTO;
done:
    composer_free(&c);
    return status;
}

/* Lays out meshes no finer than the memory limit allows; none if a small pass was asked for and it is large.
 */
static prv_status fit_layout(const prv_task *t, const prv_aim *aim, double tilt, double spacing, bool exact,
                             prv_layout *layout, prv_outcome *o)
{
    const double limit = (double)t->options->memory_limit;
    const bool is_small = prv_is_engine_small(t->options) && !exact && MOST_OF_SMALL < limit;
    for (int attempt = 0; attempt < MOST_LAYOUTS; attempt++) {
        const prv_status interrupted = prv_check_interrupt(t->options);
        if (interrupted != PRV_OK) return interrupted;
        const prv_status status = prv_layout_new(t->direction, aim, tilt, spacing, exact, t->engine,
                                                 is_small ? MOST_OF_SMALL : limit, t->options, layout);
        if (status != PRV_ERR_MEMORY_LIMIT || exact) return status;
        if (is_small) {
            o->too_large = true;
            return PRV_ERR_ENGINE;
        }
        o->capped = true;
        spacing *= fmin(fmax(COARSER_BEYOND * layout->bytes / (limit + 1.0), LEAST_COARSER), MOST_COARSER);
    }
    return PRV_ERR_MEMORY_LIMIT;
}

prv_status prv_pass(const prv_task *t, const prv_aim *aim, double tilt, double spacing, bool exact,
                    prv_outcome *o)
{
    prv_layout layout = {0};
    lattices l = {0};
    memset(o, 0, sizeof *o);
    prv_status status = fit_layout(t, aim, tilt, spacing, exact, &layout, o);
    o->bytes = layout.bytes;
    if (status != PRV_OK) return status;
    layout.window.options = t->options;
    layout.window.precise = t->precise;
    if (t->jumps == PRV_JUMPS_SEPARATE && layout.spacing.engine == PRV_ENGINE_SPECTRUM)
        prv_separate_jumps(t->direction, aim, &layout.window);
    status = is_spectrum_hopeless(t, aim, &layout) ? PRV_ERR_ENGINE : build_lattices(t, aim, &layout, &l);
    if (status != PRV_OK) goto done;

    if (layout.spacing.engine == PRV_ENGINE_SPECTRUM && layout.spacing.lattice < layout.spacing.coarsest)
        o->points_for_cells = layout.uniform_points * layout.spacing.convolved / layout.spacing.lattice;
    o->without_tops = l.without_tops;
    o->tops_greatest = l.greatest;
    o->spacing = layout.spacing.law;
    o->coarsened = layout.spacing.lattice > layout.spacing.law;
    o->tilt = layout.tilt;
    o->precise = t->precise && layout.spacing.engine == PRV_ENGINE_CONVOLUTION;
    o->cells = l.sums.knots;
    o->cells_rounding = prv_enclosed_rounding(&l.sums);
    o->read = prv_reading_begin(aim->epsilon);
    const prv_asked asked = {t->question, t->value, &t->direction->all, aim, &l.sums};
    const double most_error = layout.spacing.engine == PRV_ENGINE_CONVOLUTION ? MOST_CONVOLVED_ERROR
                                                                              : PRV_MOST_CELL_ERROR;
    if (o->cells_rounding.relative < most_error)
        status = compose_sides(t, &asked, &l, &layout, o);
    else
        prv_read_nothing(&asked, &o->read);
    if (status != PRV_OK) goto done;
    status = prv_finish_reading(&asked, &o->read);
    if (status != PRV_OK || t->direction->observer == NULL) goto done;
    status = prv_show_pass(t->direction, t->options->neighbors, l.each, o);
done:
    lattices_free(&l);
    prv_layout_free(&layout);
    return status;
}
