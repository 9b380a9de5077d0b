/* The paper's ComposePRV, of lattices that DiscretizePRV makes (discretize_prv.h), with the errors of its
 * Theorem 5.5 and, on top of them, those of floating point. */
#include "questions/mean_matching.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/rounding.h"
#include "numerics/wide.h"
#include "mechanisms/support.h"
#include "lattices/conditional_mean.h"
#include "lattices/discretize_prv.h"
#include "composition/convolution.h"
#include "composition/kernel.h"
#include "curve/certificate.h"
#include "planning/aim.h"
#include "questions/question.h"

/* ---- The truncation L ---------------------------------------------------------------------- */

/* Tails of the finite losses of all steps together, or of one step taken once. */
typedef struct tail {
    const prv_direction *direction;
    size_t first, end;
    int once;
    int lower;
    double log_delta;
} tail;

static double times(const tail *t, size_t j)
{
    return t->once ? 1.0 : t->direction->counts[j];
}

/* Chernoff's bound at one tilt: above, of the epsilon at which the curve of the finite losses is
 * delta; below, of the -y such that a loss below y has this probability. The coarse dominating
 * lattice keeps both masses of each cell and spreads them, so its E[e^(-t Y)] is an upper bound
 * for t <= 0 and t >= 1. */
static double bound_at(const tail *t, double lam)
{
    double sum = t->lower ? 0.0 : log(prv_kernel_maximum(lam));
    for (size_t j = t->first; j < t->end; j++) {
        const prv_profile *p = &t->direction->profiles[j];
        const double log_moment =
            prv_tilt(p->knots, p->dominating, p->knot_count, t->lower ? -lam : lam, NULL).log_moment;
        const double error = p->rounding.relative + lam * p->rounding.shift +
                             prv_tilt_error(p->knots, p->knot_count, lam, log_moment) + p->infinite_error;
        sum += times(t, j) * (log_moment - log1p(-p->infinite_mass) + error);
    }
    /* Each step's term rounds by a few units of all that is summed. */
    const double rounding = PRV_UNIT * (8.0 + 4.0 * (double)(t->end - t->first)) *
                            (1.0 + fabs(sum) + fabs(t->log_delta));
    return (sum - t->log_delta + rounding) / lam;
}

/* Any tilt gives a bound; the best is looked for to about 10 %. */
static double least_bound(const tail *t)
{
    const double floor = t->lower ? 1.0 : 1e-12;
    double lam = 2.0, best = bound_at(t, lam);
    for (double factor = 4.0; factor > 1.1; factor = sqrt(factor)) {
        for (int up = 0; up <= 1; up++)
            for (;;) {
                const double next = up ? lam * factor : lam / factor;
                if (!(next >= floor && next <= 1e12)) break;
                const double bound = bound_at(t, next);
                if (!(bound < best)) break;
                best = bound;
                lam = next;
            }
    }
    return best;
}

/* How far the tail reaches at the probability delta, at most. HUGE_VAL if the profiles do not
 * tell. */
static double reach(tail t, double delta)
{
    double outer = 0.0, limit = 0.0, log_finite = 0.0;
    for (size_t j = t.first; j < t.end; j++) {
        const prv_profile *p = &t.direction->profiles[j];
        const double finite = 1.0 - p->infinite_mass, k = times(&t, j);
        const int has_bottom = p->length > 0 && p->high[0] <= p->knots[0];
        /* What lies beyond the profile's knots counts as beyond everything. */
        outer += k *
                 (t.lower ? (has_bottom ? p->mass[0] : 0.0)
                          : fmax(p->dominating_infinite - p->infinite_mass, 0.0)) /
                 finite;
        limit += k * prv_greatest_loss(t.direction->mechanisms[j], t.direction->add != t.lower);
        log_finite += k * log1p(-p->infinite_mass);
    }
    /* E[e^(-Y)] is a probability of P. */
    double bound = t.lower ? -log(delta) - log_finite : HUGE_VAL;
    if (outer < 0.5 * delta) {
        t.log_delta = log(delta - outer);
        bound = fmin(bound, least_bound(&t));
    }
    return fmax(fmin(bound * (1.0 + 1e-6), limit), 0.0);
}

/* L >= 2 + max(eps_error + eps(delta_error / 4), max_i eps_i(delta_error / (8 k))), both tails. */
static double truncation(const prv_direction *direction, double eps_error, double delta_error)
{
    double single = 0.0, all = 0.0;
    for (int lower = 0; lower <= 1; lower++) {
        const tail t = {direction, 0, direction->steps, 0, lower, 0.0};
        all = fmax(all, reach(t, 0.25 * delta_error));
        for (size_t j = 0; j < direction->steps; j++) {
            const tail step = {direction, j, j + 1, 1, lower, 0.0};
            single = fmax(single, reach(step, 0.125 * delta_error / direction->all.count));
        }
    }
    return 2.0 + fmax(eps_error + all, single);
}

/* ---- The lattices -------------------------------------------------------------------------- */

/* Everything that holds for all steps of one direction. */
typedef struct setting {
    double step, eps_error, delta_error;
    size_t length; /* of the circle, 2n + 1 points: 2L = length * step */
    double bytes;
} setting;

/* What the certificate needs to know of the steps, each times its count: prv_discretization_error. */
typedef struct errors {
    double cells, means, cdfs;
    size_t knots;
} errors;

/* Counts a step's errors of rounding as often as it runs. */
static void add_errors(errors *e, const prv_discretization_error *of_step, double count)
{
    e->cells += count * of_step->cells;
    e->means += count * of_step->mean;
    e->cdfs += count * of_step->cdfs;
    e->knots += of_step->knots;
}

/* ---- The composed curve, for many questions ------------------------------------------------- */

/* At each point of the window, D and B of curve.h without a tilt. D falls with the loss;
 * rounding of the transforms makes it wavy, so its greatest value from the top down is kept:
 * that is as close to the true one, since the true one falls. */
typedef struct composed_curve {
    const prv_composed *composed;
    size_t bottom;   /* lowest point that was looked at */
    double *sums;    /* [length] D, by point */
    double *reverse; /* [length] B, by position on the circle: in place of the masses */
} composed_curve;

/* Takes the masses of `composed`, down to the loss `floor`; sums has room for its length. */
static composed_curve curve_of(const prv_composed *c, double floor, double *sums)
{
    const double below = (floor - (double)c->lowest) / c->step - 2.0;
    const size_t bottom = prv_size_of(fmin(below, (double)c->length - 1.0));
    const composed_curve curve = {c, bottom, sums, c->mass};
    const prv_wide decay = prv_wide_of(exp(-c->step)), step = prv_wide_of(-expm1(-c->step));
    prv_wide d = prv_wide_of(0.0), b = prv_wide_of(0.0);
    double greatest = 0.0;
    size_t at = (c->start + c->length - 1) % c->length;
    for (size_t point = c->length; point-- > bottom;) {
        d = prv_wide_add(d, prv_wide_mul(step, b));
        b = prv_wide_add(prv_wide_mul(decay, b), prv_wide_of(c->mass[at]));
        const double value = prv_wide_value(d);
        greatest = value > greatest ? value : greatest;
        sums[point] = greatest;
        curve.reverse[at] = prv_wide_value(b);
        at = at > 0 ? at - 1 : c->length - 1;
    }
    return curve;
}

static double reverse_at(const composed_curve *curve, size_t point)
{
    const prv_composed *c = curve->composed;
    const size_t at = c->start + point;
    return curve->reverse[at < c->length ? at : at - c->length];
}

/* delta of the finite losses, and B e^v: minus its derivative by epsilon. */
static double finite_delta(const composed_curve *curve, double epsilon, double *slope)
{
    const prv_composed *c = curve->composed;
    const double top = prv_composed_loss(c, c->length - 1), above = epsilon - (double)c->lowest;
    *slope = 0.0;
    if (epsilon >= top) return 0.0;
    size_t point = curve->bottom;
    if (above > 0.0) point = prv_size_of(fmin(fmax(above / c->step, (double)point), (double)c->length - 1.0));
    while (point > curve->bottom && prv_composed_loss(c, point - 1) > epsilon) point--;
    while (prv_composed_loss(c, point) <= epsilon) point++;
    const double v = epsilon - prv_composed_loss(c, point), b = reverse_at(curve, point);
    *slope = b * exp(v);
    return curve->sums[point] - b * expm1(v);
}

/* The greatest epsilon at which finite_delta is `level`, infinite if it is everywhere above;
 * below the floor any number below the floor may come out. */
static double crossing(const composed_curve *curve, double level)
{
    const prv_composed *c = curve->composed;
    if (!(level > 0.0)) return HUGE_VAL;
    size_t low = curve->bottom, high = c->length - 1; /* sums[high] = 0 < level */
    if (curve->sums[low] < level) {
        const double b = reverse_at(curve, low);
        const double ratio = b > 0.0 ? (curve->sums[low] - level) / b : -1.0;
        return ratio > -1.0 ? prv_composed_loss(c, low) + log1p(ratio) : -HUGE_VAL;
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (curve->sums[middle] >= level)
            low = middle;
        else
            high = middle;
    }
    const double b = reverse_at(curve, high);
    const double ratio = b > 0.0 ? (curve->sums[high] - level) / b : 0.0;
    const double v = ratio > -1.0 ? log1p(ratio) : -HUGE_VAL;
    return prv_composed_loss(c, high) + fmin(fmax(v, -c->step), 0.0);
}

/* ---- Bounds --------------------------------------------------------------------------------- */

/* What is added to the errors of the theorem: `additive` and `relative` to delta of the finite
 * losses, `absolute` to delta, `shift` to epsilon. */
typedef struct slack {
    double additive, relative, absolute, shift;
} slack;

static slack slack_of(const prv_composed *c, const errors *e)
{
    prv_composed inside = *c;
    inside.outside = 0.0; /* the theorem counts what wraps around */
    const prv_rounding cells = {1.5 * e->cells, 2.5 * e->cells};
    const prv_slack_parts p = prv_certificate(&inside, &cells);
    /* The certificate sums the largest error over all points; against a kernel of at most 1 all
     * errors together weigh at most their norm times that of the kernel. */
    const double together = c->rounding_norm * sqrt((double)c->length);
    const slack s = {fmin(p.slack.additive, together), p.slack.relative, e->cdfs, p.slack.shift + e->means};
    return s;
}

static prv_status ask_epsilon(const composed_curve *curve, const prv_direction *direction, const setting *s,
                              const slack *add, double delta, prv_bounds *b, prv_report *r)
{
    const prv_composed *c = curve->composed;
    const double scale = exp(-c->tilted.log_moment), infinite = c->tilted.infinite.mass;
    const double error = s->delta_error, outer = add->absolute + PRV_UNIT * (4.0 * delta + 4.0 * error);
    const double high = (delta - error - outer - c->tilted.infinite.high) * scale / (1.0 + add->relative);
    const double low = (delta + error + outer - c->tilted.infinite.low) * scale * (1.0 + add->relative);
    const double upper = crossing(curve, high - add->additive) + s->eps_error + add->shift;
    const double lower = crossing(curve, low + add->additive) - s->eps_error - add->shift;
    *b = (prv_bounds){lower, crossing(curve, (delta - infinite) * scale), fmax(upper, 0.0)};
    const prv_status status = prv_gate_close(&direction->all, PRV_ASK_EPSILON, delta, b);

    const double above = crossing(curve, (delta - error - infinite) * scale);
    const double below = crossing(curve, (delta + error - infinite) * scale);
    r->width = b->upper - b->lower;
    r->discretization = 2.0 * s->eps_error;
    r->truncation = isfinite(above) && isfinite(below) ? above - below : 0.0;
    r->rounding = isfinite(upper) && isfinite(lower)
                      ? fmax(upper - lower - r->discretization - r->truncation, 0.0)
                      : 0.0;
    return status;
}

static prv_status ask_delta(const composed_curve *curve, const prv_direction *direction, const setting *s,
                            const slack *add, double epsilon, prv_bounds *b, prv_report *r)
{
    const prv_composed *c = curve->composed;
    const double scale = exp(c->tilted.log_moment), infinite = c->tilted.infinite.mass;
    const double outer = s->delta_error + add->absolute;
    const double moved = s->eps_error + add->shift;
    double slope, ignored;
    const double high = finite_delta(curve, epsilon - moved, &ignored);
    const double low = finite_delta(curve, epsilon + moved, &ignored);
    const double plain = finite_delta(curve, epsilon, &slope);
    const double most = (high + add->additive) * (1.0 + add->relative) * scale + c->tilted.infinite.high +
                        outer;
    const double certain = fmax(low - add->additive, 0.0) / (1.0 + add->relative);
    const double least = certain * scale + c->tilted.infinite.low;
    /* Four products and sums. */
    *b = (prv_bounds){least * (1.0 - 4.0 * PRV_UNIT) - outer * (1.0 + 4.0 * PRV_UNIT),
                      plain * scale + infinite, most * (1.0 + 8.0 * PRV_UNIT)};
    const prv_status status = prv_gate_close(&direction->all, PRV_ASK_DELTA, epsilon, b);

    slope = fmax(slope, 1e-300);
    r->discretization = 2.0 * s->eps_error;
    r->truncation = fmin(2.0 * s->delta_error / (scale * slope), 1e300);
    const double moved_delta = add->additive + add->relative * plain + add->absolute / scale;
    r->rounding = fmin(2.0 * moved_delta / slope + 2.0 * add->shift, 1e300);
    r->width = r->discretization + r->truncation + r->rounding;
    return status;
}

/* ---- One direction -------------------------------------------------------------------------- */

static prv_status setting_new(const prv_direction *direction, const prv_options *options, setting *s)
{
    const double spread = sqrt(0.5 * direction->all.count * log(12.0 / options->delta_error));
    s->delta_error = options->delta_error;
    s->eps_error = options->mesh_size > 0.0 ? options->mesh_size * spread : options->eps_error;
    s->step = options->mesh_size > 0.0 ? options->mesh_size : options->eps_error / spread;
    const double limit = truncation(direction, s->eps_error, s->delta_error);
    if (!isfinite(limit)) return PRV_ERR_PRECISION;
    const double wanted = fmax(ceil(2.0 * limit / s->step), 3.0);
    s->length = prv_transform_length(wanted, 1);
    const double n = fmax(wanted, (double)s->length), steps = (double)direction->steps;
    /* The lattices of all steps; and first the cells of one with their scratch, then the
     * transforms. */
    const double transforms = prv_workspace_bytes(n, direction->steps) + 8.0 * n;
    s->bytes = 24.0 * n * steps + fmax(64.0 * n, transforms);
    return s->length > 0 && s->bytes <= (double)options->memory_limit ? PRV_OK : PRV_ERR_MEMORY_LIMIT;
}

static void lattices_free(prv_lattice *lattices, const prv_lattice **list, size_t count)
{
    for (size_t j = 0; j < count; j++) prv_lattice_free(&lattices[j]);
    prv_release(lattices);
    prv_release((void *)list);
}

/* One direction, composed in the workspace. */
typedef struct composition {
    prv_workspace work;
    prv_composed composed;
    slack add;
    size_t transforms, knots;
} composition;

/* Composes lattices in the plain or the precise way, anew over what the workspace holds. */
static prv_status compose_once(const prv_direction *direction, const prv_lattice *const *list,
                               const setting *s, const prv_fft *fft, const errors *e, int precise,
                               composition *c)
{
    /* Sums are reduced modulo 2L to (-L, L]. The shifts serve a bound that is not used here. */
    const double lowest = s->step * (1.0 - 0.5 * (double)s->length);
    const prv_window window = {.lowest = lowest, .length = s->length, .precise = precise};
    const prv_status status = prv_compose(list, direction->counts, direction->steps, 0.0, &window, fft,
                                          &c->work, &c->composed);
    if (status != PRV_OK) return status;
    c->transforms += c->composed.transforms;
    c->add = slack_of(&c->composed, e);
    return PRV_OK;
}

/* The plain way where its rounding is below `needed`, else the way with less of it. */
static prv_status compose_lattices(const prv_direction *direction, const prv_options *options,
                                   const prv_lattice *const *list, const setting *s, const errors *e,
                                   double needed, composition *c)
{
    prv_fft plans;
    const prv_fft *fft = direction->all.count > 1.0 ? &plans : NULL; /* one step needs none */
    prv_status status = prv_workspace_new(s->length, direction->steps, s->length, &c->work);
    if (status == PRV_OK && fft != NULL) status = prv_plan_fft(options, s->length, &plans);
    if (status == PRV_OK) status = prv_check_interrupt(options);
    if (status != PRV_OK) return status;
    status = compose_once(direction, list, s, fft, e, 0, c);
    const double plain = status == PRV_OK ? c->add.additive : HUGE_VAL;
    if ((status != PRV_OK && status != PRV_ERR_PRECISION) || plain <= needed) return status;
    status = prv_check_interrupt(options);
    if (status == PRV_OK) status = compose_once(direction, list, s, fft, e, 1, c);
    const int worse = status == PRV_ERR_PRECISION || (status == PRV_OK && c->add.additive > plain);
    if (isfinite(plain) && worse) status = compose_once(direction, list, s, fft, e, 0, c);
    return status;
}

static prv_status compose(const prv_direction *direction, const prv_options *options, const setting *s,
                          double needed, composition *c)
{
    memset(c, 0, sizeof *c);
    prv_lattice *lattices = prv_allocate(direction->steps, sizeof *lattices);
    const prv_lattice **list = prv_allocate(direction->steps, sizeof *list);
    prv_status status = lattices != NULL && list != NULL ? PRV_OK : PRV_ERR_MEMORY;
    errors e = {0.0, 0.0, 0.0, 0};
    size_t made = 0;
    for (; made < direction->steps && status == PRV_OK; made++) {
        status = prv_check_interrupt(options);
        if (status != PRV_OK) break;
        prv_discretization_error error;
        status = prv_discretize_prv(direction->mechanisms[made], direction->add, s->step, s->length / 2,
                                    options, &lattices[made], &error);
        if (status != PRV_OK) break;
        add_errors(&e, &error, direction->counts[made]);
        list[made] = &lattices[made];
    }
    if (status == PRV_OK) status = compose_lattices(direction, options, list, s, &e, needed, c);
    c->knots = e.knots;
    lattices_free(lattices, list, made);
    return status;
}

/* The larger of both directions decides. */
static void merge(const prv_bounds *b, const prv_report *r, int is_first, prv_bounds *bounds,
                  prv_report *report)
{
    const size_t transforms = is_first ? 0 : report->transforms;
    if (is_first || b->upper > bounds->upper) *report = *r;
    if (is_first)
        *bounds = *b;
    else
        prv_gate_worst(bounds, b);
    report->transforms = transforms + r->transforms;
}

static prv_status answer(const prv_direction *direction, const prv_options *options, const setting *s,
                         prv_question question, const double *values, size_t length, int is_first,
                         prv_bounds *bounds, prv_report *reports)
{
    /* Rounding below these is lost in what the theorem itself leaves open. */
    double floor = 0.0, smallest = question == PRV_ASK_EPSILON ? 1.0 : 0.0;
    for (size_t i = 0; i < length; i++) {
        if (question == PRV_ASK_EPSILON)
            smallest = fmin(smallest, values[i]);
        else
            floor = fmin(floor, values[i]);
    }
    const double needed = fmax(0.02 * smallest, 10.0 * s->delta_error);
    composition c;
    prv_status status = compose(direction, options, s, needed, &c);
    if (status == PRV_OK) {
        const double moved = s->eps_error + c.add.shift;
        /* One of the two buffers holds the masses. */
        double *sums = c.composed.mass == c.work.spectrum ? c.work.real : c.work.spectrum;
        const composed_curve curve = curve_of(&c.composed, floor - moved, sums);
        prv_report r;
        memset(&r, 0, sizeof r);
        r.accurate = 1;
        r.direction = prv_neighbors_of(direction->add, options->neighbors);
        r.engine = direction->all.count > 1.0 ? PRV_ENGINE_CONVOLUTION : PRV_ENGINE_AUTO;
        r.mesh_size = s->step;
        r.cells = c.knots;
        r.transform_length = direction->all.count > 1.0 ? s->length : 0;
        r.transforms = c.transforms;
        r.memory = prv_size_of(s->bytes);
        for (size_t i = 0; i < length && status == PRV_OK; i++) {
            prv_bounds b;
            if (question == PRV_ASK_EPSILON)
                status = ask_epsilon(&curve, direction, s, &c.add, values[i], &b, &r);
            else
                status = ask_delta(&curve, direction, s, &c.add, values[i], &b, &r);
            if (status != PRV_OK) break;
            if (question == PRV_ASK_EPSILON && !isfinite(b.upper)) status = PRV_ERR_PRECISION;
            merge(&b, &r, is_first, &bounds[i], &reports[i]);
        }
    }
    prv_workspace_free(&c.work);
    return status;
}

/* 1 if this direction cannot raise any of the bounds found for the other. */
static int is_below(prv_direction *direction, prv_question question, const double *values, size_t length,
                    const prv_bounds *bounds)
{
    for (size_t i = 0; i < length; i++) {
        const double lower = bounds[i].lower;
        const int below = question == PRV_ASK_EPSILON
                              ? prv_chernoff_epsilon(direction, values[i], lower) <= lower
                              : lower > 0.0 && prv_chernoff_epsilon(direction, lower, values[i]) <= values[i];
        if (!below) return 0;
    }
    return 1;
}

prv_status prv_mean_matching(prv_direction *directions, size_t direction_count, const prv_options *options,
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
