/* The paper's ComposePRV, of lattices that DiscretizePRV makes (discretize_prv.h), with the errors of its
 * Theorem 5.5 and, on top of them, those of floating point. */
#include "questions/mean_matching.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "lattices/conditional_mean.h"
#include "lattices/discretize_prv.h"
#include "composition/convolution.h"
#include "curve/certificate.h"
#include "curve/chernoff.h"
#include "curve/gate.h"
#include "curve/untilted.h"
#include "questions/question.h"
#include "questions/truncation.h"
#include "questions/worst_case.h"

/* Rounding is low enough if it is below this part of the least delta asked, or so many delta_error: the
 * theorem itself leaves more open. */
#define LOST_PART 0.02
#define LOST_ERRORS 10.0

/* Bytes of each point: of a lattice (index, loss, mass), of the cells of one step with their scratch, and of
 * the weights in the workspace. They count towards the memory limit. */
#define LATTICE_BYTES 24.0
#define CELL_BYTES 64.0
#define WEIGHT_BYTES 8.0

/* ---- The setting ----------------------------------------------------------------------------- */

/* The parameters of the paper for one direction; the lattices of all its steps share them. */
typedef struct setting {
    double spacing; /* of the lattices, nats */
    double eps_error, delta_error;
    size_t length; /* of the circle, 2n + 1 points: 2L = length * spacing */
    double bytes;  /* of the largest buffers together */
} setting;

static prv_status setting_new(const prv_direction *direction, const prv_options *options, setting *s)
{
    const double spread = sqrt(0.5 * direction->all.count * log(12.0 / options->delta_error));
    s->delta_error = options->delta_error;
    s->eps_error = options->mesh_size > 0.0 ? options->mesh_size * spread : options->eps_error;
    s->spacing = options->mesh_size > 0.0 ? options->mesh_size : options->eps_error / spread;
    const double limit = prv_truncation(direction, s->eps_error, s->delta_error);
    if (!isfinite(limit)) return PRV_ERR_PRECISION;
    const double wanted = fmax(ceil(2.0 * limit / s->spacing), 3.0);
    s->length = prv_transform_length(wanted, true);
    const double n = fmax(wanted, (double)s->length), steps = (double)direction->steps;
    /* The lattices of all steps; and first the cells of one, then the transforms. */
    const double transforms = prv_workspace_bytes(n, direction->steps) + WEIGHT_BYTES * n;
    s->bytes = LATTICE_BYTES * n * steps + fmax(CELL_BYTES * n, transforms);
    return s->length > 0 && s->bytes <= (double)options->memory_limit ? PRV_OK : PRV_ERR_MEMORY_LIMIT;
}

/* ---- Composition ----------------------------------------------------------------------------- */

/* Rounding of the lattices, of each step as often as it runs: see prv_discretization_error. */
typedef struct errors {
    double cells, means, cdfs;
    size_t knots; /* of each step once */
} errors;

/* Errors beside those of the theorem. */
typedef struct slack {
    double additive, relative; /* to delta of the finite losses */
    double absolute;           /* to delta */
    double shift;              /* to epsilon, nats */
} slack;

/* One direction, composed in the workspace. All 0 before compose. */
typedef struct composition {
    prv_workspace work;
    prv_composed composed;
    errors errors;
    slack slack;
    size_t transforms;
} composition;

static slack slack_of(const prv_composed *c, const errors *e)
{
    prv_composed inside = *c;
    inside.convolved.outside = 0.0; /* the theorem counts what wraps around */
    const prv_rounding cells = prv_rounding_of_tails(e->cells);
    const prv_slack_parts p = prv_certificate(&inside, &cells);
    /* The certificate sums the largest error over all points; against a kernel of at most 1 all errors
     * together weigh at most their norm times that of the kernel. */
    const double together = c->convolved.rounding_norm * sqrt((double)c->convolved.length);
    return (slack){fmin(p.slack.additive, together), p.slack.relative, e->cdfs, p.slack.shift + e->means};
}

/* Composes lattices in the plain or the precise way, anew over what the workspace holds. */
static prv_status compose_once(const prv_direction *direction, const prv_lattice *const *list,
                               const setting *s, const prv_fft *fft, bool precise, composition *c)
{
    /* Sums are reduced modulo 2L to (-L, L]. The shifts serve a bound that is not used here. */
    const double lowest = s->spacing * (1.0 - 0.5 * (double)s->length);
    const prv_window window = {.lowest = lowest, .length = s->length, .precise = precise};
    const prv_status status = prv_compose(list, direction->counts, direction->steps, 0.0, &window, fft,
                                          &c->work, &c->composed);
    if (status != PRV_OK) return status;
    c->transforms += c->composed.convolved.transforms;
    c->slack = slack_of(&c->composed, &c->errors);
    return PRV_OK;
}

/* Composes the plain way if its rounding is at most `needed`, else the way with less of it. */
static prv_status compose_lattices(const prv_direction *direction, const prv_options *options,
                                   const prv_lattice *const *list, const setting *s, double needed,
                                   composition *c)
{
    prv_fft plans;
    const prv_fft *fft = direction->all.count > 1.0 ? &plans : NULL; /* one step needs none */
    prv_status status = prv_workspace_new(s->length, direction->steps, s->length, &c->work);
    if (status != PRV_OK) return status;
    if (fft != NULL) status = prv_plan_fft(options, s->length, &plans);
    if (status != PRV_OK) return status;
    status = prv_check_interrupt(options);
    if (status != PRV_OK) return status;
    status = compose_once(direction, list, s, fft, false, c);
    const double plain = status == PRV_OK ? c->slack.additive : HUGE_VAL;
    if ((status != PRV_OK && status != PRV_ERR_PRECISION) || plain <= needed) return status;
    status = prv_check_interrupt(options);
    if (status != PRV_OK) return status;
    status = compose_once(direction, list, s, fft, true, c);
    const bool worse = status == PRV_ERR_PRECISION || (status == PRV_OK && c->slack.additive > plain);
    if (isfinite(plain) && worse) status = compose_once(direction, list, s, fft, false, c);
    return status;
}

/* The lattice of one step, whose errors are counted in c. */
static prv_status discretize(const prv_direction *direction, size_t j, const prv_options *options,
                             const setting *s, prv_lattice *lattice, composition *c)
{
    prv_status status = prv_check_interrupt(options);
    if (status != PRV_OK) return status;
    prv_discretization_error error;
    status = prv_discretize_prv(direction->mechanisms[j], direction->add, s->spacing, s->length / 2, options,
                                lattice, &error);
    if (status != PRV_OK) return status;
    const double count = direction->counts[j];
    c->errors.cells += count * error.cells;
    c->errors.means += count * error.mean;
    c->errors.cdfs += count * error.cdfs;
    c->errors.knots += error.knots;
    return PRV_OK;
}

static prv_status compose(const prv_direction *direction, const prv_options *options, const setting *s,
                          double needed, composition *c)
{
    prv_status status = PRV_OK;
    size_t made = 0;
    prv_lattice *lattices = prv_allocate(direction->steps, sizeof *lattices);
    const prv_lattice **list = prv_allocate(direction->steps, sizeof *list);
    if (lattices == NULL || list == NULL) {
        status = PRV_ERR_MEMORY;
        goto done;
    }
    for (; made < direction->steps; made++) {
        status = discretize(direction, made, options, s, &lattices[made], c);
        if (status != PRV_OK) goto done;
        list[made] = &lattices[made];
    }
    status = compose_lattices(direction, options, list, s, needed, c);
done:
    for (size_t j = 0; j < made; j++) prv_lattice_free(&lattices[j]);
    prv_release(lattices);
    prv_release((void *)list);
    return status;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* The composed curve of one direction, and what its values may be off by. */
typedef struct matched_curve {
    const prv_direction *direction;
    const setting *setting;
    slack slack;
    prv_untilted_curve curve;
} matched_curve;

static prv_status read_epsilon(const matched_curve *m, double delta, prv_bounds *b, prv_report *r)
{
    const prv_untilted_curve *curve = &m->curve;
    const setting *s = m->setting;
    const slack *add = &m->slack;
    const prv_composed *c = curve->composed;
    const double scale = exp(-c->tilted.log_moment), infinite = c->tilted.infinite.mass;
    const double error = s->delta_error, outer = add->absolute + PRV_UNIT * (4.0 * delta + 4.0 * error);
    const double high = (delta - error - outer - c->tilted.infinite.high) * scale / (1.0 + add->relative);
    const double low = (delta + error + outer - c->tilted.infinite.low) * scale * (1.0 + add->relative);
    const double upper = prv_untilted_epsilon(curve, high - add->additive) + s->eps_error + add->shift;
    const double lower = prv_untilted_epsilon(curve, low + add->additive) - s->eps_error - add->shift;
    *b = (prv_bounds){lower, prv_untilted_epsilon(curve, (delta - infinite) * scale), fmax(upper, 0.0)};
    const prv_status status = prv_gate_close(&m->direction->all, PRV_ASK_EPSILON, delta, b);

    const double above = prv_untilted_epsilon(curve, (delta - error - infinite) * scale);
    const double below = prv_untilted_epsilon(curve, (delta + error - infinite) * scale);
    r->width = b->upper - b->lower;
    r->discretization = 2.0 * s->eps_error;
    r->truncation = isfinite(above) && isfinite(below) ? above - below : 0.0;
    r->rounding = isfinite(upper) && isfinite(lower)
                      ? fmax(upper - lower - r->discretization - r->truncation, 0.0)
                      : 0.0;
    return status;
}

static prv_status read_delta(const matched_curve *m, double epsilon, prv_bounds *b, prv_report *r)
{
    const prv_untilted_curve *curve = &m->curve;
    const setting *s = m->setting;
    const slack *add = &m->slack;
    const prv_composed *c = curve->composed;
    const double scale = exp(c->tilted.log_moment), infinite = c->tilted.infinite.mass;
    const double outer = s->delta_error + add->absolute;
    const double moved = s->eps_error + add->shift;
    double slope, ignored;
    const double high = prv_untilted_delta(curve, epsilon - moved, &ignored);
    const double low = prv_untilted_delta(curve, epsilon + moved, &ignored);
    const double plain = prv_untilted_delta(curve, epsilon, &slope);
    const double most = (high + add->additive) * (1.0 + add->relative) * scale + c->tilted.infinite.high +
                        outer;
    const double certain = fmax(low - add->additive, 0.0) / (1.0 + add->relative);
    const double least = certain * scale + c->tilted.infinite.low;
    /* Four products and sums. */
    *b = (prv_bounds){least * (1.0 - 4.0 * PRV_UNIT) - outer * (1.0 + 4.0 * PRV_UNIT),
                      plain * scale + infinite, most * (1.0 + 8.0 * PRV_UNIT)};
    const prv_status status = prv_gate_close(&m->direction->all, PRV_ASK_DELTA, epsilon, b);

    slope = fmax(slope, 1e-300);
    r->discretization = 2.0 * s->eps_error;
    r->truncation = fmin(2.0 * s->delta_error / (scale * slope), 1e300);
    const double moved_delta = add->additive + add->relative * plain + add->absolute / scale;
    r->rounding = fmin(2.0 * moved_delta / slope + 2.0 * add->shift, 1e300);
    r->width = r->discretization + r->truncation + r->rounding;
    return status;
}

/* The worse of two directions decides; transforms of both count. */
static void take_worse(bool is_first, const prv_bounds *b, const prv_report *r, prv_bounds *bounds,
                       prv_report *report)
{
    const size_t before = is_first ? 0 : report->transforms;
    prv_take_worse(is_first, b, r, bounds, report);
    report->transforms = before + r->transforms;
}

static prv_report report_of(const prv_direction *direction, const prv_options *options, const setting *s,
                            const composition *c)
{
    const bool is_composed = direction->all.count > 1.0;
    prv_report r = {0};
    r.accurate = 1;
    r.direction = prv_neighbors_of(direction->add, options->neighbors);
    r.engine = is_composed ? PRV_ENGINE_CONVOLUTION : PRV_ENGINE_AUTO;
    r.mesh_size = s->spacing;
    r.cells = c->errors.knots;
    r.transform_length = is_composed ? s->length : 0;
    r.transforms = c->transforms;
    r.memory = prv_size_of(s->bytes);
    return r;
}

/* ---- Directions ------------------------------------------------------------------------------ */

static prv_status answer(const prv_direction *direction, const prv_options *options, const setting *s,
                         prv_question question, const double *values, size_t length, bool is_first,
                         prv_bounds *bounds, prv_report *reports)
{
    const bool ask_epsilon = question == PRV_ASK_EPSILON;
    double floor = 0.0, smallest = ask_epsilon ? 1.0 : 0.0; /* of the epsilons, and of the deltas asked */
    for (size_t i = 0; i < length; i++) {
        if (ask_epsilon)
            smallest = fmin(smallest, values[i]);
        else
            floor = fmin(floor, values[i]);
    }
    composition c;
    memset(&c, 0, sizeof c);
    prv_status status = compose(direction, options, s,
                                fmax(LOST_PART * smallest, LOST_ERRORS * s->delta_error), &c);
    if (status != PRV_OK) goto done;
    /* One of the two buffers holds the masses. */
    double *sums = c.composed.convolved.mass == c.work.spectrum ? c.work.real : c.work.spectrum;
    const double moved = s->eps_error + c.slack.shift;
    const matched_curve m = {direction, s, c.slack, prv_untilted_curve_of(&c.composed, floor - moved, sums)};
    prv_report r = report_of(direction, options, s, &c);
    for (size_t i = 0; i < length; i++) {
        prv_bounds b;
        status = (ask_epsilon ? read_epsilon : read_delta)(&m, values[i], &b, &r);
        if (status != PRV_OK) goto done;
        if (ask_epsilon && !isfinite(b.upper)) {
            status = PRV_ERR_PRECISION;
            goto done;
        }
        take_worse(is_first, &b, &r, &bounds[i], &reports[i]);
    }
done:
    prv_workspace_free(&c.work);
    return status;
}

/* Whether this direction cannot raise any of the bounds found for the other. */
static bool is_below(prv_direction *direction, prv_question question, const double *values, size_t length,
                     const prv_bounds *bounds)
{
    for (size_t i = 0; i < length; i++) {
        const double lower = bounds[i].lower;
        const bool below = question == PRV_ASK_EPSILON
                               ? prv_chernoff_epsilon(direction, values[i], lower) <= lower
                               : lower > 0.0 &&
                                     prv_chernoff_epsilon(direction, lower, values[i]) <= values[i];
        if (!below) return false;
    }
    return true;
}

/* One composition a direction for all values, none of which the totals answer. */
static prv_status match_means(prv_direction *directions, size_t direction_count, const prv_options *options,
                              prv_question question, const double *values, size_t length, prv_bounds *bounds,
                              prv_report *reports)
{
    for (size_t i = 0; i < direction_count; i++)
        for (size_t j = 0; j < directions[i].steps; j++)
            if (!prv_mean_exists(directions[i].mechanisms[j])) return PRV_ERR_DISCRETIZATION;
    setting settings[2];
    for (size_t i = 0; i < direction_count; i++) {
        const prv_status status = setting_new(&directions[i], options, &settings[i]);
        if (status == PRV_ERR_MEMORY_LIMIT)
            for (size_t k = 0; k < length; k++) reports[k].memory = prv_size_of(settings[i].bytes);
        if (status != PRV_OK) return status;
    }
    /* First the direction whose losses reach farther; the other may turn out not to matter. */
    const size_t first = direction_count == 2 && settings[1].length > settings[0].length ? 1 : 0;
    for (size_t n = 0; n < direction_count; n++) {
        const size_t i = n == 0 ? first : 1 - first;
        if (n > 0 && is_below(&directions[i], question, values, length, bounds)) break;
        const prv_status status = answer(&directions[i], options, &settings[i], question, values, length,
                                         n == 0, bounds, reports);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

/* found[] and told[] hold the bounds and the reports of those values whose numbers are in open[]. */
prv_status prv_mean_matching(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, const double *values, size_t length, prv_bounds *bounds,
                             prv_report *reports)
{
    prv_status status = PRV_ERR_MEMORY;
    size_t *open = prv_allocate(length, sizeof *open), count = 0;
    double *asked = prv_allocate(length, sizeof *asked);
    prv_bounds *found = prv_allocate(length, sizeof *found);
    prv_report *told = prv_allocate(length, sizeof *told);
    if (open == NULL || asked == NULL || found == NULL || told == NULL) goto done;
    for (size_t i = 0; i < length; i++) {
        status = prv_check_interrupt(options);
        if (status != PRV_OK) goto done;
        if (!prv_answer_by_totals(directions, direction_count, question, values[i], &bounds[i])) {
            asked[count] = values[i];
            open[count++] = i;
        } else if (reports != NULL) {
            prv_report_known(options, &reports[i]);
        }
    }
    if (count == 0) {
        status = PRV_OK;
        goto done;
    }
    status = match_means(directions, direction_count, options, question, asked, count, found, told);
    if (status == PRV_ERR_MEMORY_LIMIT && reports != NULL) reports[0].memory = told[0].memory;
    if (status != PRV_OK) goto done;
    for (size_t i = 0; i < count; i++) {
        bounds[open[i]] = found[i];
        if (reports != NULL) reports[open[i]] = told[i];
    }
done:
    prv_release(open);
    prv_release(asked);
    prv_release(found);
    prv_release(told);
    return status;
}
