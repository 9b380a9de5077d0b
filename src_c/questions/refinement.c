#include "questions/refinement.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "mechanisms/support.h"
#include "planning/alignment.h"
#include "questions/jump_passes.h"
#include "questions/next_pass.h"
#include "questions/question.h"

/* If rounding is this part of the width, more memory or another engine gains little: PRV_LIMIT_ROUNDING. */
#define LIMITING_ROUNDING 0.3

/* So many passes in a row of meshes that are finer by this factor, whose width is above this part of the
 * narrowest, or above that factor to the power SLOWLY of it, tell that something else than the mesh is in the
 * way: no more are made if the last one was LARGE (bytes), or if a convolution that takes long is to take the
 * place of a spectrum. */
#define MOST_IN_VAIN 2
#define FINER 0.5
#define CLOSER 0.9
#define SLOWLY 0.1
#define LARGE 8e6

/* So many precise passes in a row after which the bounds are hardly closer than before, whatever their
 * meshes, tell that the next ones would repeat them; fewer if these would take long. */
#define MOST_IDLE 3
#define MOST_IDLE_IF_LARGE 2

/* So many passes in a row that repeated one of the two before tell that all others would: a pass that aims
 * at what the last one found may be planned like the one before, and so on in turns. Passes are alike if
 * their tilts and buffers are the same to this part. */
#define MOST_REPEATED 4
#define ALIKE 1e-3

/* The guess of rounding is one from above: where rare jumps decide, spectra do better by this factor. */
#define RARE_DEMAND 0.02

/* nats: if losses outside the window move epsilon by more than this, the pass aimed at another law. */
#define FAR_OFF 1e100

/* Where the logarithm of delta is found to be so far from the one aimed at, a pass that was expected to hide
 * the answer tells nothing of the next one. */
#define MUCH_CLOSER 10.0

/* If the tilted law is wide beside epsilon, as it has rare large losses, profiles misjudge its tails by far.
 */
#define STRICTNESS_OF_WIDE_LAWS 1e8

void prv_refinement_begin(prv_direction *direction, const prv_options *options, prv_question question,
                          double value, prv_refinement *r)
{
    memset(r, 0, sizeof *r);
    r->rounding_demand = r->aim.strictness = r->enclosing_factor = 1.0;
    prv_take_aim(direction, options, question, value, &r->aim);
    /* Without the tops that an aim leaves out, atoms below caps may hardly reach an epsilon. */
    if (question == PRV_ASK_DELTA && value > 0.0 && prv_uncap_atoms(direction, value, r->aim.saddle))
        prv_take_aim(direction, options, question, value, &r->aim);
    if (r->aim.is_rare) r->rounding_demand = RARE_DEMAND;
    r->task = (prv_task){.direction = direction,
                         .options = options,
                         .question = question,
                         .value = value,
                         .engine = options->engine};
    r->aim.width = prv_refinement_width(r, r->aim.epsilon);
    if (prv_is_engine_open(options)) r->task.engine = prv_likely_engine(direction, &r->aim);
}

/* ---- Tops of an epsilon that is asked for --------------------------------------------------- */

/* Lattices end so many times as far above the sum of least losses as epsilon is expected to be; an epsilon
 * above the second part of that is found anew without tops. They are worth it if the composed loss deviates
 * by this part of that distance or more. */
#define CAPPED_AT 1.3
#define FOUND_BELOW 0.95
#define WIDE_DEVIATION 0.7

/* Sets caps of an epsilon that is asked for, and returns what they are set for (nats); 0 if there are none.
 */
static double cap_tops(prv_refinement *r)
{
    const prv_task *t = &r->task;
    prv_direction *d = t->direction;
    if (t->question != PRV_ASK_EPSILON || t->options->mesh_size > 0.0 || d->observer != NULL) return 0.0;
    double least = 0.0;
    for (size_t j = 0; j < d->steps; j++) least += d->counts[j] * prv_least_loss(d->mechanisms[j], d->add);
    const double above = r->aim.epsilon - least;
    if (!(r->aim.epsilon > 0.0 && isfinite(above))) return 0.0;
    if (!r->aim.is_rare && !(r->aim.deviation > WIDE_DEVIATION * above)) return 0.0;
    const double at = r->aim.epsilon + (CAPPED_AT - 1.0) * above;
    prv_set_caps(d, at);
    prv_use_cells_of_aim(d, &r->aim);
    if (prv_is_capped(d)) return at;
    prv_clear_caps(d);
    return 0.0;
}

void prv_refinement_count_tops(prv_refinement *r)
{
    /* A spectrum separates jumps, and needs no large tilt for them. */
    const double at = r->task.engine == PRV_ENGINE_CONVOLUTION ? cap_tops(r) : 0.0;
    if (!(at > 0.0)) return;
    r->capped_at = at;
    prv_aim_below_caps(r->task.direction, r->task.options, &r->aim);
}

static void give_up_tops(prv_refinement *r)
{
    const prv_task *t = &r->task;
    prv_clear_caps(t->direction);
    r->capped_at = 0.0;
    r->tops_failed = true;
    prv_take_aim(t->direction, t->options, t->question, t->value, &r->aim);
}

/* Lattices that are coarse for their laws have losses below the least ones: in all runs together so far that
 * no top can be counted. Finer lattices are to take this part of the room that caps leave above epsilon; they
 * are tried so often at most, and not if a convolution has more points than this. */
#define PART_OF_ROOM 0.5
#define MOST_FINER_FOR_TOPS 2
#define MOST_POINTS_FOR_TOPS 0x1p19

/* Whether the next pass is one over lattices that are finer for that. */
static bool refine_for_tops(prv_refinement *r)
{
    const double room = r->capped_at - r->aim.epsilon, fall = r->capped_at - r->last.tops_greatest;
    if (!(room > 0.0 && fall > room && isfinite(fall)) || r->finer_for_tops >= MOST_FINER_FOR_TOPS)
        return false;
    const double spacing = PART_OF_ROOM * room / fall * r->last.spacing;
    if (!(prv_points_of_convolution(r, spacing) <= MOST_POINTS_FOR_TOPS)) return false;
    r->finer_for_tops++;
    r->spacing_for_tops = spacing;
    r->is_finer_for_tops = true;
    return true;
}

/* An epsilon that is found so near the caps tells where they are to be. */
static void raise_caps(prv_refinement *r)
{
    const prv_reading *found = &r->last.read;
    give_up_tops(r);
    if (!found->resolved || !isfinite(found->width)) return;
    r->aim.epsilon = found->epsilon;
    prv_refinement_count_tops(r);
}

double prv_refinement_width(const prv_refinement *r, double at)
{
    const prv_options *options = r->task.options;
    const double infinite = r->task.direction->all.infinite.mass;
    /* A lower bound without digits of delta, which the greatest loss alone makes one of epsilon. */
    if (r->passes > 0 && isfinite(r->narrowest.read.width) && !(r->bounds.lower > infinite))
        return prv_width_asked(options, at);
    /* By the upper bound, so that bounds as close as this are relatively close, too. */
    const double finite = r->passes > 0 ? r->bounds.upper - infinite : exp(r->aim.log_delta);
    const double whole = infinite > 0.0 ? 1.0 + infinite / fmax(finite, 1e-300) : 1.0;
    return prv_width_wanted(options, r->task.question, &r->aim, at, whole);
}

/* ---- One pass, with what is tried if it fails ---------------------------------------------- */

/* Of few runs whose tops a convolution counts, this takes less time than a spectrum of separate jumps. */
#define FEW_RUNS 100.0

static bool is_convolved_without_tops(prv_refinement *r)
{
    if (!r->aim.is_rare || r->capped_at > 0.0 || !prv_may_convolve_instead(r) ||
        r->task.direction->all.count > FEW_RUNS || !(cap_tops(r) > 0.0))
        return false;
    prv_clear_caps(r->task.direction);
    return true;
}

/* A spectrum's angles are exact at all frequencies of a lattice of so many points, and to bound what
 * frequencies left out make up takes the longer the more points there are. */
#define MOST_POINTS 0x1p26

/* The mesh's cells with most of the mass asked for so fine a lattice. */
static bool coarsen_lattice(prv_refinement *r, double *spacing)
{
    (void)spacing;
    if (r->aim.most_points > 0.0 || !(r->points_for_cells > MOST_POINTS)) return false;
    r->aim.most_points = MOST_POINTS;
    return true;
}

/* A spectrum that does not fall may be the atom of no jump at all. A first guess of epsilon is too far off to
 * tell which losses are jumps. */
static bool separate_jumps(prv_refinement *r, double *spacing)
{
    (void)spacing;
    return r->passes > 0 && !is_convolved_without_tops(r) && prv_separate_jumps_next(r);
}

static bool rejoin_jumps(prv_refinement *r, double *spacing)
{
    (void)spacing;
    if (r->task.jumps != PRV_JUMPS_SEPARATE) return false;
    r->task.jumps = PRV_JUMPS_TOGETHER;
    prv_choose_way(r);
    return r->stopped_by == PRV_LIMIT_NONE;
}

/* A spectrum whose width fell no faster than its mesh, or hardly, tells nothing of a convolution's, of which
 * this part of the error law's spacing is tried first. */
#define PART_OF_LAW 0.25

static double spacing_of_convolution(const prv_refinement *r, double spacing)
{
    if ((r->in_vain == 0 && !r->first_order) || r->last.engine != PRV_ENGINE_SPECTRUM) return spacing;
    return fmax(spacing, PART_OF_LAW * prv_first_spacing(r->task.direction, &r->aim));
}

/* A first convolution of more points than this takes atoms off its lattice for no more than a part of the
 * guess, which balanced atoms are often far below: what they cost is known after it. */
#define MOST_POINTS_UNSEEN 0x1p20
#define UNSEEN_PART 0.1

static bool convolve_instead(prv_refinement *r, double *spacing)
{
    if (!prv_may_convolve_instead(r)) return false;
    r->task.engine = PRV_ENGINE_CONVOLUTION;
    r->rounding_demand = fmax(r->rounding_demand, 1.0);
    if (r->aim.is_rare && r->aim.deviation > r->aim.epsilon)
        r->aim.strictness = fmax(r->aim.strictness, STRICTNESS_OF_WIDE_LAWS);
    /* Of what is not rare, lattices that end below tops see nothing, and what was cut for them stays cut. */
    if (r->aim.is_rare && !(r->capped_at > 0.0)) prv_refinement_count_tops(r);
    prv_choose_way(r);
    if (spacing == NULL) return true;
    *spacing = spacing_of_convolution(r, *spacing);
    if (r->passes == 0 && !(r->aim.loose_part > 0.0) &&
        prv_points_of_convolution(r, *spacing) > MOST_POINTS_UNSEEN)
        r->aim.loose_part = UNSEEN_PART;
    return true;
}

static bool convolve_precisely(prv_refinement *r, double *spacing)
{
    (void)spacing;
    if (r->task.precise) return false;
    r->task.precise = true;
    return true;
}

/* Each is tried once, in this order, if a pass failed with this status and the change is possible. A mesh
 * that the caller chose is no remedy's to change: `spacing` is NULL then. */
static const struct remedy {
    prv_status failure;
    bool (*change)(prv_refinement *refinement, double *spacing);
    bool changes_engine; /* to the convolution, before which jumps that were put off are counted */
} remedies[] = {
    {PRV_ERR_ENGINE, coarsen_lattice, false},       {PRV_ERR_ENGINE, separate_jumps, false},
    {PRV_ERR_ENGINE, rejoin_jumps, false},          {PRV_ERR_ENGINE, convolve_instead, true},
    {PRV_ERR_PRECISION, convolve_precisely, false},
};

/* Whether jumps that were separated in vain have brought the way back that failed at first. */
static bool has_failed(const prv_task *t, double tilt, const prv_task *failed, double failed_tilt)
{
    return t->engine == failed->engine && t->precise == failed->precise && tilt == failed_tilt &&
           t->jumps == PRV_JUMPS_TOGETHER && failed->jumps == PRV_JUMPS_UNTRIED;
}

/* Counts jumps, which were put off. PRV_ERR_ENGINE if that does not answer. */
static prv_status count_now(prv_refinement *r)
{
    r->jumps_later = false;
    return prv_jump_passes(r);
}

/* Makes a spectrum that took too long again, which may take as long as the precise convolution at the spacing
 * `convolved` (nats) that was to take its place: that one takes long, and rounds more. If this answers, the
 * refinement is what it was when the spectrum failed. */
static prv_status pass_patiently(prv_refinement *r, const prv_refinement *failed, double convolved,
                                 double tilt, double spacing, prv_outcome *o)
{
    prv_task patient = failed->task;
    patient.brief = false;
    patient.work = prv_work_of_precise(r, convolved);
    const prv_status status = prv_pass(&patient, &failed->aim, tilt, spacing, false, o);
    if (status == PRV_OK) *r = *failed;
    return status;
}

/* *is_counted: jumps were counted instead, and nothing else is left to be done. */
static prv_status pass_with_remedies(prv_refinement *r, double spacing, bool exact, prv_outcome *o,
                                     bool *is_counted)
{
    *is_counted = false;
    r->task.brief = r->is_at_saddle;
    const prv_task first = r->task;
    const double tilt = prv_tilt_of_pass(r, spacing);
    double last_tilt = tilt, last_spacing = spacing;
    prv_status status = prv_pass(&r->task, &r->aim, tilt, spacing, exact, o);
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        if (status != remedies[i].failure || o->too_large) continue;
        if (r->jumps_later && remedies[i].changes_engine) {
            const prv_status counted = count_now(r);
            *is_counted = counted != PRV_ERR_ENGINE;
            if (*is_counted) return counted;
        }
        r->points_for_cells = o->points_for_cells;
        const prv_refinement failed = *r;
        if (!remedies[i].change(r, exact ? NULL : &spacing)) continue;
        const bool in_vain = r->in_vain >= MOST_IN_VAIN && isfinite(r->narrowest.read.width) &&
                             r->task.engine != first.engine;
        if (in_vain && prv_is_convolution_large(r, spacing)) break;
        r->task.brief = r->is_at_saddle;
        if (!exact) spacing = prv_spacing_within_rounding(r, spacing);
        if (!exact && prv_is_long_in_vain(r, spacing)) {
            if (r->hopeless) break;
            spacing = prv_hopeless_spacing(r, spacing);
        }
        const double next = prv_tilt_of_pass(r, spacing);
        if (has_failed(&r->task, next, &first, tilt)) continue;
        /* Caps are those of a convolution. */
        if (remedies[i].changes_engine && r->task.precise && !exact && r->capped_at == failed.capped_at) {
            status = pass_patiently(r, &failed, spacing, last_tilt, last_spacing, o);
            if (status != PRV_ERR_ENGINE) return status;
        }
        last_tilt = next;
        last_spacing = spacing;
        status = prv_pass(&r->task, &r->aim, next, spacing, exact, o);
    }
    return status;
}

/* ---- What a pass tells --------------------------------------------------------------------- */

static double width_without_slack(const prv_reading *read)
{
    return read->width - read->wrap_around - read->rounding;
}

/* How far bounds of an epsilon lie apart, or those of a delta by their logarithms: one of 0 counts as the
 * least normal number. */
static double distance(const prv_task *t, const prv_bounds *b)
{
    if (t->question == PRV_ASK_EPSILON) return b->upper - b->lower;
    return log(fmax(b->upper, DBL_MIN)) - log(fmax(b->lower, DBL_MIN));
}

static bool are_alike(const prv_outcome *a, const prv_outcome *b)
{
    return a->engine == b->engine && a->spacing == b->spacing && a->transform_length == b->transform_length &&
           a->read.resolved == b->read.resolved && fabs(a->tilt - b->tilt) <= ALIKE * fabs(b->tilt) &&
           fabs(a->bytes - b->bytes) <= ALIKE * b->bytes;
}

/* Bounds of all passes hold. */
static void record(prv_refinement *r, const prv_outcome *o)
{
    const prv_outcome *last = &r->last;
    r->transforms += o->read.transforms;
    if (r->is_at_saddle && o->engine == PRV_ENGINE_SPECTRUM)
        r->noise_at_saddle = fmax(o->read.noise, DBL_MIN);
    r->first_order = r->passes > 0 && isfinite(last->read.width) && o->spacing < last->spacing &&
                     width_without_slack(&o->read) > last->read.width * o->spacing / last->spacing;
    const bool is_finer = r->passes > 0 && o->spacing <= FINER * r->narrowest.spacing;
    if (is_finer) { /* two infinite widths are no closer */
        const double most = fmin(CLOSER, pow(o->spacing / r->narrowest.spacing, SLOWLY));
        r->in_vain = o->read.width < most * r->narrowest.read.width ? 0 : r->in_vain + 1;
    }
    const double before = r->passes > 0 || r->counted ? distance(&r->task, &r->bounds) : HUGE_VAL;
    const bool repeats = (r->passes > 0 && are_alike(o, last)) ||
                         (r->passes > 1 && are_alike(o, &r->earlier));
    if (r->passes == 0 && !r->counted) {
        r->bounds = o->read.bounds;
    } else {
        r->bounds.lower = fmax(r->bounds.lower, o->read.bounds.lower);
        r->bounds.upper = fmin(r->bounds.upper, o->read.bounds.upper);
    }
    const bool is_idle = !(distance(&r->task, &r->bounds) < CLOSER * before);
    r->idle = r->task.precise && is_idle ? r->idle + 1 : 0;
    r->repeated = repeats && is_idle ? r->repeated + 1 : 0;
    if (r->passes == 0 || o->read.width <= r->narrowest.read.width) {
        r->narrowest = *o;
        r->bounds.estimate = o->read.bounds.estimate;
    }
    r->earlier = r->last;
    r->last = *o;
    r->passes++;
    r->over_same_pairs++;
}

/* The next pass aims at what the last one found. */
static void correct_aim(prv_refinement *r)
{
    const prv_task *t = &r->task;
    const prv_reading *read = &r->last.read;
    const bool was_far_off = r->aimed_anew;
    r->aimed_anew = false;
    /* If rounding hides the answer, the guess before is the better one, unless it was far off. */
    if (isfinite(read->epsilon) && (read->resolved || was_far_off || read->rounding < read->wrap_around)) {
        /* A delta that was guessed too large by far cuts losses off that decide, and what is left has a
         * saddle of no use: so a reading without digits, too, tells where to aim. */
        if (t->question == PRV_ASK_DELTA && fabs(read->log_delta - r->aim.log_delta) > 1.0) {
            if (fabs(read->log_delta - r->aim.log_delta) > MUCH_CLOSER) r->hopeless = false;
            const bool has_slope = read->resolved && read->slope > 0.0 && read->slope < 1e100;
            prv_aim_again(t->direction, t->options, t->value, read->log_delta, has_slope ? read->slope : NAN,
                          &r->aim);
            r->aimed_anew = !read->resolved && read->wrap_around > FAR_OFF;
            if (r->aimed_anew) r->rounding_demand = r->aim.strictness = 1.0;
        }
        r->aim.epsilon = read->epsilon;
        r->aim.log_delta = read->log_delta;
        if (t->question == PRV_ASK_EPSILON)
            r->aim.reach = fmin(read->width, 0.1 * fabs(read->epsilon) + r->aim.width);
    }
    if (read->resolved && read->slope > 0.0 && read->slope < 1e100) r->aim.slope = read->slope;
}

/* What atoms off the lattice cost is taken for no less than this part of the guess. */
#define LEAST_LOOSE_PART 0.01

/* Atoms off the lattice of a convolution cost no more than the width that it found. */
static void correct_cost_of_atoms(prv_refinement *r)
{
    const prv_reading *read = &r->last.read;
    if (r->last.engine != PRV_ENGINE_CONVOLUTION || !read->resolved || !isfinite(read->width)) return;
    const double found = fmax(width_without_slack(read) - read->truncation, 0.0);
    const double guess = prv_cost_off_lattice(r->task.direction, &r->aim, r->last.spacing);
    if (!(guess > 0.0)) return;
    const double part = fmin(fmax(found / guess, LEAST_LOOSE_PART), 1.0);
    r->aim.loose_part = r->aim.loose_part > 0.0 ? fmin(r->aim.loose_part, part) : part;
}

/* From an epsilon on that is so many times below the first guess, tops are counted that were not. */
#define FAR_BELOW 4.0

/* A saddle point takes few rare jumps for frequent ones: if its guess is far too large, lattices that reach
 * as far as the guess have many times the points of those that end above what a pass found. */
static void count_tops_if_far_below(prv_refinement *r)
{
    if (r->capped_at > 0.0 || r->tops_failed || !(FAR_BELOW * r->aim.epsilon < r->aim.frequent_epsilon))
        return;
    prv_refinement_count_tops(r);
    if (r->capped_at > 0.0) r->idle = r->in_vain = 0;
}

/* ---- Combined mechanisms ------------------------------------------------------------------- */

/* The pairs that enclose combined mechanisms may take this part of the width, and mass at infinity this one.
 * They are made at most so many times finer at once. */
#define ENCLOSING_PART 0.7
#define CUT_PART 1e-3
#define MOST_FINER 32.0
#define FIRST_FINER 4.0

/* What of the width finer meshes do not take away, by the last two passes over the same pairs: their
 * distance. That of the lattices falls as fast as the spacing, or faster, so that this is no more than is
 * there. */
static double gap_found(const prv_refinement *r)
{
    const prv_outcome *first = &r->earlier, *second = &r->last;
    if (r->over_same_pairs < 2 || !(second->spacing < first->spacing)) return 0.0;
    const double part = second->spacing / first->spacing;
    const double gap = (width_without_slack(&second->read) - part * width_without_slack(&first->read)) /
                       (1.0 - part);
    return isfinite(gap) ? fmax(gap, 0.0) : 0.0;
}

/* Encloses combined mechanisms as finely as a width needs, if they are not: the distance of both pairs is of
 * second order in the step of their lattices. */
static prv_status enclose_finely(prv_refinement *r, double width)
{
    prv_direction *direction = r->task.direction;
    if (!prv_is_enclosed(direction)) return PRV_OK;
    prv_fineness f = direction->enclosing;
    const double delta = exp(r->aim.log_delta), part = ENCLOSING_PART * width;
    prv_use_whole_profiles(direction);
    prv_cut_tops(direction, r->aim.top_share * delta / (double)direction->steps);
    const double guess = prv_enclosing_gap(direction, r->aim.saddle, delta);
    /* What was guessed is no more than the width that the last pass found. */
    if (r->passes > 0 && isfinite(r->last.read.width) && guess > 0.0)
        r->enclosing_factor = fmin(r->enclosing_factor,
                                   fmax(width_without_slack(&r->last.read), 0.0) / guess);
    const double gap = fmax(guess * r->enclosing_factor, gap_found(r));
    const double cut = CUT_PART * fmin(r->aim.slope * width, 1.0) * delta / direction->all.count;
    const bool is_wide = gap > part, cuts = f.cut > cut;
    if (!is_wide && !cuts) return PRV_OK;
    const double most = r->passes == 0 ? FIRST_FINER : MOST_FINER;
    if (is_wide) f.share *= fmax(0.95 * sqrt(part / gap), 1.0 / most);
    f.cut = fmax(0.1 * cut, 1e-300);
    f.low_cut = fmin(CUT_PART * width / direction->all.count, 1e-8);
    const prv_status status = prv_direction_enclose(direction, &f, r->task.options);
    r->over_same_pairs = 0;
    if (status == PRV_OK && r->passes == 0)
        prv_take_aim(direction, r->task.options, r->task.question, r->task.value, &r->aim);
    return status;
}

/* ---- The next pass -------------------------------------------------------------------------- */

/* If rounding of a spectrum at the saddle was so many times delta, a convolution has no bounds to add. */
#define MOST_NOISE 100.0

/* Whether a pass that is expected to hide the answer would tell nothing new: there was one, or a spectrum
 * told more, or the lattice that atoms need makes it long whatever mesh is asked for. */
static bool is_pass_in_vain(prv_refinement *r, double spacing)
{
    if (r->hopeless) return true;
    if (!(r->noise_at_saddle > 0.0)) return false;
    return r->last.read.resolved || r->noise_at_saddle > MOST_NOISE ||
           prv_is_convolution_large(r, prv_hopeless_spacing(r, spacing));
}

/* Whether jumps that were put off are to be counted before the pass that was chosen, as others did not
 * answer. */
static bool is_time_to_count(prv_refinement *r)
{
    if (!r->jumps_later || r->passes == 0 || r->last.read.resolved) return false;
    if (r->task.engine != PRV_ENGINE_CONVOLUTION) return false;
    return r->last.engine == PRV_ENGINE_CONVOLUTION || !prv_is_multiplied_out(r);
}

/* Nothing is left to try but jumps, if these were put off, and no bounds are close. */
static prv_status stop(prv_refinement *r, prv_limit limit)
{
    if (r->jumps_later && !r->last.read.resolved) {
        const prv_status counted = count_now(r);
        if (counted != PRV_ERR_ENGINE) return counted;
    }
    if (r->stopped_by == PRV_LIMIT_NONE) r->stopped_by = limit;
    return PRV_OK;
}

prv_status prv_refinement_advance(prv_refinement *r, double asked, double width)
{
    r->plans.windows_planned = 0; /* pairs that enclose combined mechanisms may be others now */
    const prv_status enclosed = enclose_finely(r, width);
    if (prv_is_too_fine(enclosed) && r->passes > 0) {
        r->stopped_by = prv_limit_of_enclosing(enclosed);
        return PRV_OK; /* the bounds found before hold */
    }
    if (enclosed != PRV_OK && !prv_is_too_fine(enclosed)) return enclosed;
    if (r->idle >= (r->last.bytes > LARGE ? MOST_IDLE_IF_LARGE : MOST_IDLE) || r->repeated >= MOST_REPEATED ||
        (r->in_vain >= MOST_IN_VAIN && r->last.bytes > LARGE)) {
        r->stopped_by = r->rounding_decides ? PRV_LIMIT_ROUNDING : PRV_LIMIT_PASSES;
        return PRV_OK;
    }
    const prv_task *t = &r->task;
    const bool exact = t->options->mesh_size > 0.0;
    r->aim.asked = asked;
    r->aim.width = width;
    if (r->passes == 0) prv_widen_reach(&r->aim);
    double spacing = prv_first_spacing(t->direction, &r->aim);
    if (r->passes > 0 && !r->aimed_anew && !r->is_finer_for_tops && !prv_adapt(r, width, &spacing))
        return stop(r, r->last.capped ? PRV_LIMIT_MEMORY : PRV_LIMIT_ROUNDING);
    r->is_finer_for_tops = false;
    if (r->capped_at > 0.0 && r->spacing_for_tops > 0.0) spacing = fmin(spacing, r->spacing_for_tops);
    if (exact) spacing = t->options->mesh_size;
    prv_choose_way(r);
    if (r->stopped_by != PRV_LIMIT_NONE) return PRV_OK; /* PRV_ENGINE_FIRST has no other way */
    if (is_time_to_count(r)) {
        const prv_status counted = count_now(r);
        if (counted != PRV_ERR_ENGINE) return counted;
    }
    if (!exact) spacing = prv_multiplied_spacing(r, spacing);
    if (!exact && prv_is_hopeless(r, spacing)) {
        if (is_pass_in_vain(r, spacing)) return stop(r, PRV_LIMIT_ROUNDING);
        r->hopeless = true;
        spacing = prv_hopeless_spacing(r, spacing);
        if (prv_is_drowned_again(r, spacing)) return stop(r, PRV_LIMIT_ROUNDING);
    }
    if (!exact && r->passes > 0) spacing = prv_spacing_of_a_look(r, spacing);
    if (!exact && prv_is_rounding_wider(r, spacing)) return stop(r, PRV_LIMIT_ROUNDING);
    if (!exact) spacing = prv_spacing_within_rounding(r, spacing);
    prv_outcome o;
    bool is_counted;
    const prv_status status = pass_with_remedies(r, spacing, exact, &o, &is_counted);
    if (is_counted) return status;
    if ((status == PRV_ERR_ENGINE || status == PRV_ERR_PRECISION) && r->passes > 0) {
        r->stopped_by = o.too_large || (status == PRV_ERR_ENGINE && !r->rounding_decides)
                            ? PRV_LIMIT_ENGINE
                            : PRV_LIMIT_ROUNDING;
        return PRV_OK; /* the bounds found before hold */
    }
    if (status != PRV_OK) {
        r->narrowest.bytes = o.bytes;
        return status;
    }
    record(r, &o);
    correct_cost_of_atoms(r);
    correct_aim(r);
    if (o.without_tops && refine_for_tops(r)) return PRV_OK;
    if (o.without_tops)
        give_up_tops(r);
    else if (r->capped_at > 0.0 && !(r->last.read.epsilon < FOUND_BELOW * r->capped_at))
        raise_caps(r);
    else
        count_tops_if_far_below(r);
    return PRV_OK;
}

/* ---- Reports ------------------------------------------------------------------------------- */

void prv_refinement_report(const prv_refinement *r, prv_neighbors asked, double width, bool accurate,
                           prv_report *report)
{
    const prv_outcome *best = &r->narrowest;
    prv_report_reading(&best->read, asked, r->task.direction->add, width, accurate, report);
    report->mesh_size = best->spacing;
    report->memory = prv_size_of(best->bytes);
    report->tilt = best->tilt;
    report->cells = best->cells;
    report->engine = best->engine;
    report->transform_length = best->transform_length;
    if (!r->rounding_decides || (best->read.resolved && isfinite(width))) return;
    /* A width that rounding hides is not the mesh's. */
    report->discretization = 0.0;
    report->rounding = fmax(width - report->truncation - report->wrap_around, 0.0);
}

prv_limit prv_refinement_limit(const prv_refinement *r, const prv_report *report)
{
    const prv_options *options = r->task.options;
    if (options->mesh_size > 0.0) return PRV_LIMIT_MESH_SIZE;
    /* Another engine might have come closer, whatever kept this one. */
    if (prv_is_engine_small(options) && r->stopped_by == PRV_LIMIT_ENGINE) return PRV_LIMIT_ENGINE;
    if (r->rounding_decides || report->rounding >= LIMITING_ROUNDING * report->width)
        return PRV_LIMIT_ROUNDING;
    if (r->stopped_by != PRV_LIMIT_NONE) return r->stopped_by;
    return r->last.capped ? PRV_LIMIT_MEMORY : PRV_LIMIT_PASSES;
}
