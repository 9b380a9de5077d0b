#include "questions/averaged_step.h"

#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "numerics/rounding.h"
#include "mechanisms/support.h"
#include "lattices/part_laws.h"
#include "planning/aim.h"
#include "questions/batch_losses.h"
#include "questions/bracketing.h"
#include "questions/question.h"

/* Averages are made (ratio_powers.h) in less time of fewer batches, of ratios whose deviation is small, if
 * there are not MANY, where one ratio is so many deviations of the sum away that decides alone, and where
 * epsilon is nearly 0. Of more batches, rounding hides the sum. */
#define LEAST_BATCHES 160
#define MANY 640.0
#define LEAST_DEVIATION 400.0 /* times the number of batches */
#define FARTHEST_JUMP 3000.0  /* deviations of the sum */
#define MOST_OF_VARIATION 0.3 /* delta, as a part of a deviation: the total variation is 0.4 of it */
#define MOST_BATCHES (UINT64_C(1) << 32)
/* A sum of points of which some are heavy, but more than a few have mass, may take long to compose: its
 * characteristic function is large again at many frequencies. */
#define HEAVY 0.1
#define FEW_POINTS 3

/* ---- One bound ---------------------------------------------------------------------------------- */

/* What is asked of one direction. */
typedef struct asked {
    bool add;
    double delta, n;
    double part;        /* width of the composition, as a part of epsilon */
    double least, most; /* bounds of epsilon that are known */
    /* In 'add': delta is asked for at an epsilon that is no less than the upper bound, or no more than the
     * lower one. A bound on the wrong side of it says nothing. */
    double presumed;
    const prv_options *options;
} asked;

/* Bytes, of some milliseconds: laws whose composition needs more are better made finer, or averaged. */
#define MOST_MEMORY ((size_t)1 << 22)

/* Bounds of the loss at which the composition of n has this delta. */
static prv_status compose(const asked *q, const prv_batch_losses *l, double delta, double relative,
                          prv_bounds *b)
{
    prv_layer layer;
    prv_options o = *prv_layer_over(&layer, PRV_KNOWS_PASSES, q->options);
    o.eps_error = 0.0;
    o.eps_relative_error = relative;
    o.eps_floor = 1e-300;
    o.threshold = 0.0;
    if (o.memory_limit > MOST_MEMORY) o.memory_limit = MOST_MEMORY;
    const prv_step step = {l->mechanism, (uint64_t)l->n};
    prv_direction d;
    prv_report unwanted;
    prv_status status = prv_direction_new(&step, 1, PRV_ADD_OR_REMOVE, false, NULL, &o, &d);
    if (status != PRV_OK) return status;
    status = prv_bracket(&d, 1, &o, PRV_ASK_EPSILON, delta, b, &unwanted);
    prv_direction_free(&d);
    return status;
}

/* epsilon where the loss of the sum is this, from above or below: HUGE_VAL or 0 if it says nothing. */
static double epsilon_of(const prv_batch_losses *l, double loss, bool above)
{
    const double error = 16.0 * PRV_UNIT, shifts = l->n * l->shift, sign = above ? 1.0 : -1.0;
    const double away = (loss - shifts + sign * error * (loss + shifts)) / (l->scale * l->n);
    const double moved = away + sign * error * fabs(away);
    if (l->add && !(moved < 1.0)) return above ? HUGE_VAL : 0.0;
    const double epsilon = l->add ? -log1p(-moved) : log1p(fmax(moved, -0.5));
    return fmax(epsilon + sign * (error * fabs(epsilon) + DBL_MIN), 0.0);
}

/* By how many times itself S - n = `away` n may be off, if epsilon may be by all of itself. */
static double relative_width(double away, bool add)
{
    if (!add) return log1p(away) * (1.0 + 1.0 / away);
    const double rest = fmax(1.0 - away, 0.1);
    return -log(rest) * rest / (1.0 - rest);
}

static bool is_uneven(const prv_batch_ratios *v)
{
    double heaviest = 0.0;
    for (size_t i = 0; i < v->length; i++) heaviest = fmax(heaviest, v->mass[i]);
    return heaviest > HEAVY && v->length > FEW_POINTS;
}

/* Of losses this small a larger delta is that of an epsilon of 0. */
#define MOST_DELTA 0.25

/* epsilon from above or below, by the law of one batch: HUGE_VAL or 0 if nothing is found. */
static prv_status bound_by(const asked *q, const prv_ratio_law *law, const prv_ratio_side *s, double *bound)
{
    const bool above = s->side == PRV_DOMINATING;
    const double nothing = above ? HUGE_VAL : 0.0;
    prv_batch_ratios v;
    prv_batch_losses l = {0};
    *bound = nothing;
    prv_status status = prv_batch_ratios_of(law, s, &v);
    if (status != PRV_OK) return status;
    const double root = sqrt(q->n), z = sqrt(2.0 * fmax(-log(q->delta), 1.0));
    const double jump = q->add ? 0.0 : prv_batch_excess_point(&v, 0.25 * q->delta);
    double most = 4.0 * (jump + q->n);
    for (int k = 0; k < 6; k++)
        most = fmin(most, jump + (z + PRV_BATCH_DEVIATIONS) * prv_batch_deviation(&v, most) * root);
    v.deviation = prv_batch_deviation(&v, most);
    const double of_sum = v.deviation * root, low = q->n - PRV_BATCH_DEVIATIONS * of_sum;
    if ((q->n < MANY && q->n * v.deviation < LEAST_DEVIATION) || jump > FARTHEST_JUMP * of_sum ||
        q->delta * root > MOST_OF_VARIATION * v.deviation || is_uneven(&v))
        goto done;
    const double known = q->n * (q->add ? -expm1(-q->most) : expm1(q->most));
    if (!q->add) most = fmin(most, 1.001 * known + PRV_BATCH_DEVIATIONS * of_sum);
    prv_batch_cut(&v, most, s);
    const bool is_cut = !q->add && isfinite(v.most);
    double excess = q->add ? 0.0 : v.excess;
    if (is_cut && !above) excess *= fmax(1.0 - prv_batch_probability_below(&v, q->n, low), 0.0);
    const double whole = q->delta * (q->add ? exp(-q->presumed) : 1.0),
                 few = above ? 8.0 * PRV_UNIT : -8.0 * PRV_UNIT;
    const double target = q->n * (whole * (1.0 - few) - excess * (1.0 + few));
    /* Where S - n is likely to lie, as a part of n. */
    const double away = fmin(known, fmax(z * of_sum, jump)) / q->n;
    /* A part of the losses' size is lost, and their rounding, which grows with n, is a part of the inverse:
     * the best size for both. */
    const double size = fmin(fmax(6e-7 * root, 1e-6), 1e-3), scale = size / (away * q->n);
    const double relative = fmin(q->part * relative_width(away, q->add), 0.5);
    if (!(target > 0.0 && scale > 1e-200 && scale < 1e200)) goto done;
    status = prv_batch_losses_new(&v, s, q->n, scale, &l);
    if (status != PRV_OK) goto done;
    const double start = scale * q->n * (q->add ? -expm1(-q->least) : expm1(q->least));
    const double delta = above ? prv_batch_delta_above(&l, scale * target, start * (1.0 - 1e-13),
                                                       scale * of_sum)
                               : scale * target * (1.0 + 1e-13);
    if (!(delta > 0.0 && delta < MOST_DELTA)) goto done;
    prv_bounds found;
    status = compose(q, &l, delta, relative, &found);
    if (status != PRV_OK) goto done;
    double epsilon = isfinite(found.upper) ? epsilon_of(&l, above ? found.upper : found.lower, above)
                                           : nothing;
    /* A lower bound holds up to where all sums lie that have a ratio that was cut. */
    if (is_cut && !above) epsilon = fmin(epsilon, fmax(log((low + v.most) / q->n) * (1.0 - 1e-13), 0.0));
    const bool wrong = above ? epsilon < q->least || (q->add && epsilon > q->presumed)
                             : q->add && epsilon < q->presumed;
    *bound = wrong ? nothing : epsilon;
done:
    prv_mechanism_free(l.mechanism);
    prv_batch_ratios_free(&v);
    return status;
}

/* ---- Both directions ------------------------------------------------------------------------------ */

bool prv_is_averaged_step(const prv_mechanism *m)
{
    return m->base == PRV_BASE_COMBINED && m->combination == PRV_COMBINED_AVERAGE &&
           m->batches >= LEAST_BATCHES && m->batches <= MOST_BATCHES;
}

/* Bounds are this part of epsilon apart, about, of a law that few large losses decide: times the square of
 * the spacing of a batch's lattice, as a part of its deviation. */
#define WIDTH_OF_SHARE 1.8
#define MOST_SHARE 0.1
#define LEAST_SHARE 0.004
/* The part of the width that the composition may take, and the part of it that is aimed at next. */
#define OF_COMPOSITION 0.15
#define NEXT_AIM 0.65
enum { MOST_ROUNDS = 5 };
/* Sums of fewer points are not smooth, so that composing them may take long. */
#define LEAST_POINTS 80.0
/* An epsilon that is presumed. */
#define MOST_PRESUMED 4.0

/* One direction, with its bounds so far. */
typedef struct bounded {
    const prv_direction *direction;
    double lower, upper;
} bounded;

/* How finely, as parts: of a deviation, and of epsilon. */
typedef struct precision {
    double share, part;
} precision;

static prv_status narrow(bounded *b, const prv_options *options, double delta, double presumed,
                         const precision *p, bool above)
{
    const bool add = b->direction->add;
    const prv_mechanism *average = b->direction->enclosed[0]->enclosed;
    const prv_ratio_side side = {
        .add = add, .side = above ? PRV_DOMINATING : PRV_DOMINATED, .options = options};
    /* No law of a batch shows what a callback's values may be off by, nor what cuts that are rare add. */
    const double error = prv_absolute_cdf_error(average) + (above ? prv_delta_of_rare_cuts(average) : 0.0),
                 shown = prv_apart(delta, error, above ? -1 : 1);
    if (!(shown > 0.0 && shown < 1.0)) return PRV_OK;
    const asked q = {add,      shown,  (double)average->batches, OF_COMPOSITION * p->part, b->lower, b->upper,
                     presumed, options};
    prv_fineness fineness = {p->share, fmax(1e-6 * delta, 1e-300), 1e-10};
    prv_law_pair laws = {0};
    double found = above ? HUGE_VAL : 0.0;
    prv_status status = prv_batch_laws(average, add, &fineness, options, &laws);
    const double points = (double)laws.law[side.side].length;
    if (status == PRV_OK && points < LEAST_POINTS) {
        prv_law_pair_free(&laws);
        fineness.share *= points / LEAST_POINTS;
        status = prv_batch_laws(average, add, &fineness, options, &laws);
    }
    if (status == PRV_OK) status = bound_by(&q, &laws.law[side.side], &side, &found);
    prv_law_pair_free(&laws);
    if (status != PRV_OK) return prv_is_too_fine(status) ? PRV_OK : status;
    if (above)
        b->upper = fmin(b->upper, found);
    else
        b->lower = fmax(b->lower, found);
    return PRV_OK;
}

/* From above, with what was found before presumed; in 'add' again, until that is close: log delta falls by
 * more than 10 where log epsilon rises by 1. */
static prv_status narrow_above(bounded *b, const prv_options *options, double delta, double presumed,
                               const precision *p)
{
    for (int k = 0; k < 3; k++) {
        const double before = fmin(b->upper, presumed);
        const prv_status status = narrow(b, options, delta, before, p, true);
        if (status != PRV_OK || !b->direction->add || before - b->upper < 3.0 * p->part) return status;
    }
    return PRV_OK;
}

static void fill_report(const bounded *top, const prv_options *options, prv_report *report)
{
    memset(report, 0, sizeof *report);
    report->accurate = report->attained = 1;
    report->direction = prv_neighbors_of(top->direction->add, options->neighbors);
    report->width = report->discretization = top->upper - top->lower;
}

static prv_status read(bounded *each, size_t count, const prv_options *options, double delta, bool *found,
                       prv_bounds *bounds, prv_report *report)
{
    precision p = {MOST_SHARE, options->eps_error > 0.0 ? 1e-2 : options->eps_relative_error};
    p.share = fmin(sqrt(p.part / WIDTH_OF_SHARE), MOST_SHARE);
    for (size_t i = 0; i < count; i++) {
        const double presumed = i > 0 ? each[0].upper : MOST_PRESUMED;
        const prv_status status = narrow_above(&each[i], options, delta, presumed, &p);
        if (status != PRV_OK || !isfinite(each[i].upper)) return status;
    }
    for (int round = 0; round < MOST_ROUNDS && p.share >= LEAST_SHARE; round++) {
        bounded *top = count > 1 && each[1].upper > each[0].upper ? &each[1] : &each[0];
        const double width_asked = prv_width_asked(options, top->upper);
        const double presumed = fmax(top->lower, (1.0 - 2.0 * p.part) * top->upper);
        const double before = top->lower;
        prv_status status = narrow(top, options, delta, presumed, &p, false);
        if (status == PRV_OK && top->direction->add && top->lower == before && before < presumed)
            status = narrow(top, options, delta, fmax(before, 0.95 * presumed), &p, false);
        if (status != PRV_OK) return status;
        const double width = top->upper == top->lower ? 0.0 : top->upper - top->lower;
        *bounds = (prv_bounds){top->lower, top->upper - width * (2.0 / 3.0), top->upper};
        *found = width <= prv_width_asked(options, top->lower) * (1.0 + 1e-12) ||
                 prv_is_decided(options, top->lower, top->upper);
        if (*found) {
            fill_report(top, options, report);
            return prv_gate_close(&top->direction->all, PRV_ASK_EPSILON, delta, bounds);
        }
        p.share *= fmin(fmax(sqrt(NEXT_AIM * width_asked / width), 0.125), 0.8);
        p.part = fmin(width_asked / top->upper, 1.0);
        status = narrow_above(top, options, delta, top->upper, &p);
        if (status != PRV_OK) return status;
    }
    return PRV_OK;
}

prv_status prv_read_averaged_step(const prv_direction *directions, size_t count, const prv_options *options,
                                  double delta, bool *found, prv_bounds *bounds, prv_report *report)
{
    bounded each[2] = {{&directions[0], 0.0, HUGE_VAL}};
    if (count > 1) each[1] = (bounded){&directions[1], 0.0, HUGE_VAL};
    *found = false;
    return read(each, count, options, delta, found, bounds, report);
}
