#include "questions/next_pass.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/allocate.h"
#include "mechanisms/support.h"
#include "planning/alignment.h"
#include "planning/layout.h"
#include "questions/question.h"

/* Parts of the saddle tilt tried for the evaluation, in this order: small tilts have small windows, but
 * lose digits to the rounding of the transforms. If rare jumps decide, the saddle is too large a tilt, and of
 * the first parts, which rounding leaves room for, the one with the shortest period of a spectrum is taken.
 */
static const double tilt_parts[PRV_TILT_PARTS] = {0.25, 0.35, 0.5, 0.7, 0.85, 1.0};
enum { FIRST_PART = 2 };

/* Spectra of smooth laws are expected to be cheaper than convolutions from SOME_STEPS times this power of 1
 * and the excess kurtosis on, and from MANY_STEPS on in any case; those of other laws from STEPS_OF_OTHERS
 * on.
 */
#define SOME_STEPS 160.0
#define STEPS_OF_KURTOSIS 0.3
#define MANY_STEPS 400.0
#define STEPS_OF_OTHERS 100.0
/* From so many steps on if losses are atoms on no lattice, for which a convolution needs one that is finer by
 * this factor. */
#define STEPS_OF_LOOSE_ATOMS 16.0
#define MUCH_FINER 0.2

/* A pass answers for its slack if it takes at most this part of the width asked; a part that takes more is
 * made smaller. */
#define SLACK_PART 0.1
/* Then the cause is made as much smaller as would take the slack to 1/20 of the width, at most so much. */
#define SLACK_AIM 0.05
#define MOST_CHANGE 1e6
/* The n-th time that a window is made stricter, the change is to the power n, up to this. */
#define MOST_STRICTER 4.0
/* Beyond these nothing is gained by a larger window. */
#define LEAST_TOP_SHARE 1e-30
#define MOST_STRICTNESS 1e60

/* The guess of the rounding of a mass; and the operations that it grows with: of a spectrum's exponentials,
 * and of a convolution's powers taken the precise way, in which errors do not grow with the count. */
#define MASS_ROUNDING 1e-14
#define SPECTRUM_OPERATIONS 8.0
#define PRECISE_OPERATIONS 16.0
#define PLAIN_OPERATIONS 2.0
/* Where a tilt falls by e over fewer points of a convolution than one in this, more of them do not count. */
#define POINTS_OF_A_MASS 0.1

/* A width of at most so many times what the cells' rounding alone takes cannot fall much further. */
#define NEAR_UNAVOIDABLE 4.0

/* The next mesh is to bring the mesh's part of the width to 0.8 of the width asked, less the slack, of which
 * up to half of this is counted. Its spacing falls by a factor in [1/50, 0.9]: less is guessed wrong, and
 * more hardly shows. */
#define MESH_PART 0.8
#define LEAST_FINER 0.02
#define MOST_FINER 0.9
/* If a pass was nearly fine enough, such that this factor will do, the error law may ask for less than the
 * pass found to be enough by a factor of LEAST_OF_FOUND only: where nearly all of a step's mass is closer
 * together than the knots, the error is far below the law's. */
#define NEARLY_FINE 0.1
#define LEAST_OF_FOUND 0.75
/* A width up to so many times the error law's is as the law says. */
#define BEYOND_LAW 2.0
/* The error law may ask for a spacing less than this part of the last one. Then a pass between both tells for
 * a small part of the time what else is in the way, and has bounds if the finest one needs too much memory.
 */
#define LEAST_OF_LAST 0.01
/* A convolution that rounds by less than this part of the width is not taken the precise way for that. */
#define MOST_OF_PLAIN 0.3
/* Jumps stay together in a spectrum that rounds by less than this part of the width, and by less yet with the
 * window that its answer tells. */
#define MOST_OF_TOGETHER 0.6
/* If rounding is wider than asked, bounds that are at most so many times as wide will do. */
#define NEARLY_ROUNDING 2.0
/* Rounding so many times as wide as another pass was. */
#define FAR_BEHIND 10.0
/* If the mesh is too coarse to see the answer at all, its spacing falls by this factor. */
#define FINER_UNSEEN 0.3
/* If rounding of transforms hides the answer, the next mesh is coarser by a factor in this range, so often at
 * most: it has less rounding, and may be multiplied out. */
#define LEAST_COARSER 1.5
#define MOST_COARSER 64.0
#define MOST_DROWNED 2

/* If delta is less than exp of this in units of the tilted law, rounding of transforms hides it whatever the
 * mesh: one pass of so many points, which fit in transforms of 2^15, tells about as much as any. In the place
 * of a spectrum that falls too slowly, a convolution has as few points only if it would have more than
 * LONG_POINTS, or if delta is less than exp of CHANCELESS_PART. */
#define HOPELESS_PART (-22.0)
#define CHANCELESS_PART (-35.0)
#define LONG_POINTS 524288.0
#define HOPELESS_POINTS 31000.0

/* If delta is less than exp of VERY_SMALL, and rounding leaves room for no tilt, a spectrum at the saddle
 * tells as much of it as a convolution by transforms, in a small part of the time. If delta is less than exp
 * of SLOW_PART of the tilted law as well, jumps are separated before any tilt is chosen: where they can be,
 * their spectrum is the shorter one. */
#define VERY_SMALL (-40.0)
#define SLOW_PART (-14.0)

/* If something else than the mesh is in the way, a convolution of more points is not worth while. */
#define LARGE_POINTS 65536.0

/* True of laws with a density, all of them. */
static bool are_smooth(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->mechanisms[j]->base != PRV_BASE_GAUSSIAN) return false;
    return true;
}

/* Spectra of discrete laws have few frequencies whatever the number of steps. */
static bool are_discrete(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->mechanisms[j]->base != PRV_BASE_ATOMS &&
            direction->mechanisms[j]->base != PRV_BASE_ENCLOSED)
            return false;
    return true;
}

/* Whether losses of some steps are atoms on no lattice. */
static bool have_loose_atoms(const prv_direction *direction)
{
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->mechanisms[j]->base == PRV_BASE_ATOMS &&
            !prv_mechanism_features(direction->mechanisms[j], direction->add).is_lattice)
            return true;
    return false;
}

/* Whether a convolution for aim->width needs a much finer lattice for atoms than for other losses. */
static bool need_fine_lattice(const prv_direction *direction, const prv_aim *aim)
{
    if (direction->all.count < STEPS_OF_LOOSE_ATOMS || !have_loose_atoms(direction)) return false;
    const double spacing = prv_first_spacing(direction, aim);
    return prv_align_spacing(direction, aim, spacing, PRV_ENGINE_CONVOLUTION) < MUCH_FINER * spacing;
}

/* The steps from which on a spectrum of smooth laws is expected to be the cheaper engine. Where few large
 * losses are most of the variance, it falls late. */
static double least_steps(const prv_direction *direction, const prv_aim *aim)
{
    const double count = direction->all.count;
    if (count < SOME_STEPS) return SOME_STEPS;
    if (count >= MANY_STEPS) return MANY_STEPS;
    size_t longest = 1;
    for (size_t j = 0; j < direction->steps; j++)
        if (direction->profiles[j].length > longest) longest = direction->profiles[j].length;
    double *weight = prv_allocate(longest, sizeof *weight);
    if (weight == NULL) return MANY_STEPS;
    const double kurtosis = prv_composed_kurtosis(direction, tilt_parts[FIRST_PART] * aim->saddle, weight);
    prv_release(weight);
    return fmin(SOME_STEPS * pow(1.0 + fmax(kurtosis, 0.0), STEPS_OF_KURTOSIS), MANY_STEPS);
}

prv_engine prv_likely_engine(const prv_direction *direction, const prv_aim *aim)
{
    const double count = direction->all.count;
    /* A law of one atom has no spectrum to speak of: all frequencies are alike. */
    const prv_moments m = prv_composed_moments(direction, 0.0);
    if (!(m.variance > 1e-20 * m.mean * m.mean)) return PRV_ENGINE_CONVOLUTION;
    if (count > 1.0 && are_discrete(direction)) return PRV_ENGINE_SPECTRUM;
    const double least = are_smooth(direction) ? least_steps(direction, aim) : STEPS_OF_OTHERS;
    return count >= least || need_fine_lattice(direction, aim) ? PRV_ENGINE_SPECTRUM : PRV_ENGINE_CONVOLUTION;
}

/* ---- Tilt and way of composing ------------------------------------------------------------- */

/* A spectrum's period grows like 1 / tilt, so that its tilt is at least the one that moves the sum by its own
 * deviation. */
static double tilt_of(const prv_refinement *r, size_t choice)
{
    const double tilt = tilt_parts[choice] * r->aim.saddle;
    if (r->task.engine != PRV_ENGINE_SPECTRUM) return tilt;
    return fmax(tilt, fmin(1.0 / r->aim.deviation, 1.0 / r->aim.width));
}

double prv_next_tilt(const prv_refinement *r)
{
    return tilt_of(r, r->tilt_choice);
}

static prv_status plan_of_convolution(const prv_refinement *r, double tilt, double spacing,
                                      prv_layout *layout)
{
    return prv_layout_plan(r->task.direction, &r->aim, tilt, spacing, false, PRV_ENGINE_CONVOLUTION, HUGE_VAL,
                           layout);
}

/* Of more runs, and of lists, the meshes that the width needs are too fine to multiply out, so that passes by
 * transforms follow, and those at small tilts are in vain. */
#define MOST_RUNS 1024.0
/* Products of a convolution that is multiplied out, at most: of each bit of a count, a square and a factor of
 * about so many atoms. Each point of a transform takes as long as so many of them. */
#define MOST_MULTIPLIED 2e8
#define ATOMS_OF_FACTOR 1000.0
#define PRODUCTS_OF_POINT 2000.0
/* A spacing is made coarser by powers of TRIED_COARSER so that a pass is multiplied out, or by powers of 1.5
 * beyond what was expected, as lattices of atoms are finer than asked: by so much at most after a pass that
 * was, too, and by so much if transforms would tell little. */
#define TRIED_COARSER 1.2
#define LITTLE_COARSER 8.0
#define MUCH_COARSER 64.0
enum { MOST_TRIED = 3 };
/* A tilt has to make a window shorter by this factor. */
#define SHORTER 0.7

/* The window's points of a convolution with this tilt; 0 if it has none. */
static double window_at(const prv_refinement *r, double tilt, double spacing)
{
    prv_layout layout;
    const prv_status status = plan_of_convolution(r, tilt, spacing, &layout);
    return status == PRV_OK ? (double)layout.window.length : 0.0;
}

/* Products of so many runs over a window of so many points, at most, about. */
static double products_of(double count, double points)
{
    return ceil(log2(count + 1.0)) * points * (0.5 * points + fmin(points, ATOMS_OF_FACTOR));
}

/* All fields before the last one, and those that may be added there, are doubles, between which there is no
 * padding. */
static bool are_same_aims(const prv_aim *a, const prv_aim *b)
{
    _Static_assert(offsetof(prv_aim, is_rare) + sizeof(double) >= sizeof(prv_aim),
                   "is_rare is the last field");
    return memcmp(a, b, offsetof(prv_aim, is_rare)) == 0 && a->is_rare == b->is_rare;
}

/* Windows at this tilt and at smaller ones. */
static const prv_windows *windows_at(prv_refinement *r, double tilt, double spacing)
{
    for (size_t i = 0; i < r->plans.windows_planned && i < PRV_KEPT_WINDOWS; i++) {
        const prv_windows *kept = &r->plans.windows[i];
        if (kept->tilt == tilt && kept->spacing == spacing && are_same_aims(&kept->aim, &r->aim)) return kept;
    }
    prv_windows *w = &r->plans.windows[r->plans.windows_planned++ % PRV_KEPT_WINDOWS];
    *w = (prv_windows){
        .aim = r->aim, .tilt = tilt, .spacing = spacing, .longest = window_at(r, tilt, spacing)};
    for (size_t choice = FIRST_PART + 1; choice < PRV_TILT_PARTS; choice++) {
        const double tried = tilt_parts[choice] * r->aim.saddle;
        if (!(tried < tilt)) break;
        w->points[choice] = window_at(r, tried, spacing);
    }
    return w;
}

/* Where losses far above epsilon have most of the mass at the saddle, a window that holds them is many times
 * as long as one at a smaller tilt, where delta is too small a part for transforms. Products have a relative
 * accuracy at any tilt. `coarser` is the spacing over that of the windows. */
static double tilt_within(const prv_refinement *r, double tilt, const prv_windows *w, double coarser)
{
    /* Transforms are no choice if they hide the answer. */
    const bool hidden = prv_log_part(r->task.direction, &r->aim, tilt) < HOPELESS_PART;
    const double longest = w->longest / coarser, count = r->task.direction->all.count;
    const double most_products = hidden ? MOST_MULTIPLIED
                                        : fmin(MOST_MULTIPLIED, PRODUCTS_OF_POINT * longest);
    double best = tilt, fewest = longest;
    for (size_t choice = 0; choice < PRV_TILT_PARTS; choice++) {
        const double points = w->points[choice] / coarser;
        if (!(points > 0.0 && points <= SHORTER * fewest && products_of(count, points) <= most_products))
            continue;
        best = tilt_parts[choice] * r->aim.saddle;
        fewest = points;
    }
    return best;
}

static bool may_multiply(const prv_refinement *r)
{
    const prv_task *t = &r->task;
    return t->precise && t->engine == PRV_ENGINE_CONVOLUTION && !(t->options->mesh_size > 0.0) &&
           t->direction->steps == 1 && t->direction->all.count <= MOST_RUNS;
}

double prv_tilt_of_pass(prv_refinement *r, double spacing)
{
    const double tilt = prv_next_tilt(r);
    if (!may_multiply(r)) return tilt;
    const prv_windows *w = windows_at(r, tilt, spacing);
    return tilt_within(r, tilt, w, 1.0);
}

/* The least factor up to `most` by which a spacing has to be coarser if a smaller tilt is to be taken; 0 if
 * there is none. Of a single run nothing is multiplied. */
static double factor_to_multiply(prv_refinement *r, double spacing, double most)
{
    if (!may_multiply(r) || r->task.direction->all.count == 1.0) return 0.0;
    const double tilt = prv_next_tilt(r);
    const prv_windows *w = windows_at(r, tilt, spacing);
    for (double coarser = 1.0; coarser <= most; coarser *= TRIED_COARSER)
        if (tilt_within(r, tilt, w, coarser) < tilt) return coarser;
    return 0.0;
}

/* Rounding errors of delta at this tilt, about, in units of MASS_ROUNDING: a convolution sums those of the
 * points within 1 / tilt. */
static double rounding_growth(const prv_refinement *r, double tilt, double spacing)
{
    const double total = r->task.direction->all.count;
    if (r->task.engine == PRV_ENGINE_SPECTRUM) return SPECTRUM_OPERATIONS + sqrt(total);
    const double points = fmax(POINTS_OF_A_MASS / (spacing * tilt), 1.0);
    return (r->task.precise ? PRECISE_OPERATIONS : PLAIN_OPERATIONS + total) * points;
}

/* The choice of a spectrum's tilt if rare jumps decide: one of the first parts from this one on. */
static size_t choice_of_rare(const prv_refinement *r, size_t from)
{
    size_t best = from;
    double shortest = HUGE_VAL;
    for (size_t choice = from; choice <= FIRST_PART; choice++) {
        const double period = prv_period_guess(r->task.direction, &r->aim, tilt_of(r, choice));
        if (period < shortest) {
            shortest = period;
            best = choice;
        }
    }
    return best;
}

/* Chooses the smallest tilt that rounding leaves room for, in units of which delta is exp(prv_log_part). If
 * there is none, chooses the tilt in whose units delta is largest, and returns false. */
static bool choose_tilt(prv_refinement *r)
{
    const bool is_spectrum = r->task.engine == PRV_ENGINE_SPECTRUM;
    if (r->task.jumps == PRV_JUMPS_SEPARATE && is_spectrum) {
        r->tilt_choice = FIRST_PART;
        return true;
    }
    const bool is_rare = r->aim.is_rare && is_spectrum;
    const double spacing = prv_first_spacing(r->task.direction, &r->aim);
    const double room = log(fmax(SLACK_PART * r->aim.slope * r->aim.width, PRV_FINEST_DELTA));
    double greatest = -HUGE_VAL;
    for (size_t choice = is_rare ? 0 : FIRST_PART; choice < PRV_TILT_PARTS; choice++) {
        const double tilt = tilt_of(r, choice), growth = rounding_growth(r, tilt, spacing);
        const double error = log(MASS_ROUNDING * growth * r->rounding_demand);
        const double part = prv_log_part(r->task.direction, &r->aim, tilt);
        if (part > greatest) {
            greatest = part;
            r->tilt_choice = choice;
        }
        if (error - part > room) continue;
        if (is_rare && choice < FIRST_PART) r->tilt_choice = choice_of_rare(r, choice);
        return true;
    }
    return false;
}

bool prv_has_tilt(const prv_refinement *r, double width)
{
    prv_refinement other = *r;
    other.aim.width = width;
    return choose_tilt(&other);
}

bool prv_separate_jumps_next(prv_refinement *r)
{
    prv_task *t = &r->task;
    prv_window window;
    if (t->engine != PRV_ENGINE_SPECTRUM || t->jumps != PRV_JUMPS_UNTRIED ||
        !prv_separate_jumps(t->direction, &r->aim, &window))
        return false;
    t->jumps = PRV_JUMPS_SEPARATE;
    r->tilt_choice = FIRST_PART; /* rounding is relative to the jumps: a small tilt will do */
    return true;
}

static bool is_very_small(const prv_refinement *r)
{
    const prv_options *options = r->task.options;
    return r->task.question == PRV_ASK_DELTA && r->aim.log_delta < VERY_SMALL &&
           prv_is_engine_open(options) && !(options->mesh_size > 0.0);
}

/* Until rounding is found to be in the way. The guess of delta may be far too small, if several jumps
 * together make it up. */
static bool sum_at_saddle(prv_refinement *r)
{
    if (r->task.engine != PRV_ENGINE_SPECTRUM || !is_very_small(r)) return false;
    const prv_reading *read = &r->last.read;
    if (r->noise_at_saddle > 0.0 && !(read->resolved && read->rounding <= SLACK_PART * r->aim.width))
        return false;
    /* Few runs are multiplied out. */
    if (r->task.direction->all.count < STEPS_OF_OTHERS || prv_is_multiplied_out(r)) return false;
    r->tilt_choice = PRV_TILT_PARTS - 1;
    r->is_at_saddle = true;
    return true;
}

static bool separate_jumps_early(prv_refinement *r)
{
    return is_very_small(r) &&
           prv_log_part(r->task.direction, &r->aim, tilt_of(r, PRV_TILT_PARTS - 1)) < SLOW_PART &&
           prv_separate_jumps_next(r);
}

bool prv_may_convolve_instead(const prv_refinement *r)
{
    const prv_engine asked = r->task.options->engine;
    if (r->rounding_decides || asked == PRV_ENGINE_SPECTRUM) return false;
    return asked != PRV_ENGINE_FIRST || r->passes == 0 || r->task.engine == PRV_ENGINE_CONVOLUTION;
}

void prv_choose_way(prv_refinement *r)
{
    prv_task *t = &r->task;
    r->is_at_saddle = false;
    if (separate_jumps_early(r) || choose_tilt(r) || t->precise) return;
    if (prv_separate_jumps_next(r) || sum_at_saddle(r)) return;
    const bool may_convolve = prv_may_convolve_instead(r);
    if (t->options->engine == PRV_ENGINE_FIRST && !may_convolve && !r->rounding_decides)
        r->stopped_by = PRV_LIMIT_ENGINE;
    if (may_convolve) {
        t->engine = PRV_ENGINE_CONVOLUTION;
        t->precise = true;
        choose_tilt(r);
    }
}

/* ---- What the last pass suffered from ------------------------------------------------------ */

/* True if delta is no larger than what callbacks' values or subnormal masses may be off by. Then no finite
 * upper bound of epsilon exists. */
static bool is_delta_hidden(const prv_task *t)
{
    const prv_direction *direction = t->direction;
    const double unknown = prv_direction_absolute_error(direction) +
                           prv_underflown(&direction->all, t->value);
    return t->question == PRV_ASK_EPSILON && t->value - direction->all.infinite.mass <= unknown;
}

/* What the rounding of the cells alone takes of the width: the certificate moves delta by a factor of
 * e^relative and epsilon by `shift`, on either side, whatever the mesh, the tilt and the engine. */
static double rounding_of_cells(const prv_refinement *r)
{
    const prv_rounding error = r->last.cells_rounding;
    const double relative = expm1(fmin(error.relative, PRV_MOST_CELL_ERROR));
    return 2.0 *
           ((r->task.question == PRV_ASK_DELTA ? relative : error.relative) / r->aim.slope + error.shift);
}

static bool adapt_tops(prv_refinement *r, double width)
{
    const double truncation = r->last.read.truncation;
    if (!(truncation > SLACK_PART * width && r->aim.top_share > LEAST_TOP_SHARE)) return false;
    r->aim.top_share *= fmax(SLACK_AIM * width / truncation, 1e-6);
    return true;
}

/* Whether rounding of a spectrum hides a tiny delta. Then no part of the width is known. */
static bool is_hidden_spectrum(const prv_refinement *r)
{
    return is_very_small(r) && r->task.engine == PRV_ENGINE_SPECTRUM && r->last.read.noise > 1.0;
}

static bool adapt_window(prv_refinement *r, double width)
{
    const double wrap_around = r->last.read.wrap_around - r->last.read.off_aim;
    if (is_hidden_spectrum(r)) return false;
    if (!(wrap_around > SLACK_PART * width && r->aim.strictness < MOST_STRICTNESS)) return false;
    const double factor = fmin(20.0 * wrap_around / width, MOST_CHANGE);
    /* If a stricter window was asked for in vain, its cost is misjudged by far. */
    r->aim.strictness *= pow(factor, fmin((double)++r->plans.stricter, MOST_STRICTER));
    return true;
}

/* nats: if what is left out moves epsilon by more than this, nothing is known of it. */
#define FAR_OUT 1e100

/* Whether jumps were separated by the last pass, and an earlier one came closer; or what the bulk makes up
 * hid the answer, though it was to be less than before. */
static bool is_separate_in_vain(const prv_refinement *r)
{
    const prv_reading *read = &r->last.read;
    if (r->task.jumps != PRV_JUMPS_SEPARATE || r->task.engine != PRV_ENGINE_SPECTRUM) return false;
    if (isfinite(r->narrowest.read.width)) return !(read->width <= r->narrowest.read.width);
    return r->plans.stricter > 0 && !read->resolved && read->wrap_around > FAR_OUT;
}

/* What of a choice decides how a pass rounds. */
typedef struct way {
    size_t tilt_choice;
    bool precise;
    prv_jumps jumps;
} way;

static way way_of(const prv_refinement *r)
{
    return (way){r->tilt_choice, r->task.precise, r->task.jumps};
}

static bool is_same_way(const prv_refinement *r, way before)
{
    return r->tilt_choice == before.tilt_choice && r->task.precise == before.precise &&
           r->task.jumps == before.jumps;
}

/* The guess of the rounding was too low, and may have been by much: it grows until it changes the choice. */
static bool adapt_way(prv_refinement *r, double width, double unavoidable)
{
    const double rounding = is_hidden_spectrum(r) ? HUGE_VAL : r->last.read.rounding;
    if (!(rounding > SLACK_PART * width + 1.5 * unavoidable)) return false;
    const prv_refinement before = *r;
    const way way_before = way_of(r);
    for (int i = 0; i < 8 && is_same_way(r, way_before); i++) {
        r->rounding_demand *= fmin(20.0 * rounding / width, MOST_CHANGE);
        prv_choose_way(r);
    }
    /* With jumps apart already, rounding is that of what the bulk makes up, which no tilt changes. */
    if (r->task.jumps == PRV_JUMPS_SEPARATE && way_before.jumps == PRV_JUMPS_SEPARATE) {
        r->task.jumps = PRV_JUMPS_TOGETHER;
        if (is_very_small(r)) r->rounding_demand = before.rounding_demand; /* it tells nothing of tilts */
        prv_choose_way(r);
    }
    /* The precise way takes many times as long, jumps apart may show less, and a finer mesh may do. */
    const bool is_precise_now = r->task.precise && !way_before.precise;
    const bool are_apart_now = r->task.jumps == PRV_JUMPS_SEPARATE && way_before.jumps != PRV_JUMPS_SEPARATE;
    if ((is_precise_now && rounding < MOST_OF_PLAIN * width) ||
        (are_apart_now && rounding < MOST_OF_TOGETHER * width))
        *r = before;
    return !is_same_way(r, way_before);
}

/* Whether rounding of transforms hid the answer of the last pass, taken the precise way. */
static bool is_drowned(const prv_refinement *r, double width)
{
    const prv_reading *read = &r->last.read;
    return r->task.precise && !read->resolved && read->transforms > 0 &&
           (read->rounding > width || read->noise > 1.0);
}

/* Whether rounding of a convolution taken the precise way was so much wider than another pass's width that no
 * tilt makes up for it, and a finer mesh rounds more. */
static bool is_far_behind(const prv_refinement *r, double width)
{
    const prv_outcome *last = &r->last;
    return r->task.precise && last->engine == PRV_ENGINE_CONVOLUTION &&
           last->read.rounding > FAR_BEHIND * fmax(width, r->narrowest.read.width);
}

/* A coarser mesh has less rounding, and is often multiplied out; its own part of the width grows like the
 * square of the spacing. */
static bool coarsen(prv_refinement *r, double width, double *spacing)
{
    const prv_outcome *last = &r->last;
    /* Multiplied out before: that was in vain. */
    if (r->narrowest.engine == PRV_ENGINE_CONVOLUTION && r->narrowest.read.transforms == 0) return false;
    /* Of so many runs, that would take long, too. */
    if (r->hopeless && r->task.direction->all.count > MOST_RUNS) return false;
    if (r->plans.drowned++ >= MOST_DROWNED) return false;
    const double rounding = fmax(last->read.rounding, last->read.noise / r->aim.slope);
    r->plans.finest = fmax(r->plans.finest, last->spacing);
    *spacing = last->spacing * fmin(fmax(cbrt(0.5 * rounding / width), LEAST_COARSER), MOST_COARSER);
    /* Atoms may need the lattice that they had. */
    return prv_align_spacing(r->task.direction, &r->aim, *spacing, r->task.engine) != last->spacing;
}

/* The relative width of delta that is asked over the one that the last pass found; 0 of an epsilon, and after
 * a first pass, whose mesh may be far too coarse to tell. */
static double part_of_delta_asked(const prv_refinement *r)
{
    const prv_bounds *b = &r->last.read.bounds;
    if (r->task.question != PRV_ASK_DELTA || r->passes < 2 || !(b->upper > b->lower)) return 0.0;
    return r->task.options->delta_relative_error * b->upper / (b->upper - b->lower);
}

/* A convolution of so many points is not made because one pass did no better than first order: as fine as the
 * second order asks for takes a small part of the time, and often suffices. */
#define MOST_POINTS_OF_FIRST_ORDER 0x1p20

/* Whether a spacing this part of the last one makes it so long. */
static bool is_long_by_first_order(const prv_refinement *r, double part)
{
    return r->task.engine == PRV_ENGINE_CONVOLUTION && part < NEARLY_FINE &&
           prv_points_of_convolution(r, part * r->last.spacing) > MOST_POINTS_OF_FIRST_ORDER;
}

/* The next mesh. `changed` tells whether the next pass is another one already, and `composes_otherwise`
 * whether it composes in another way. */
static bool adapt_mesh(const prv_refinement *r, double width, bool changed, bool composes_otherwise,
                       double *spacing)
{
    const prv_outcome *last = &r->last;
    const prv_reading *read = &last->read;
    /* Tops that took more than the width asked are cut higher up first: a mesh is not finer for them. */
    const double truncation = read->truncation > width ? read->truncation : 0.0;
    const double slack = read->wrap_around + read->rounding + truncation;
    if (!read->resolved || !isfinite(read->width)) {
        /* Nothing else is in the way: the mesh is too coarse to see the answer at all. */
        if (!changed) *spacing = fmin(*spacing, FINER_UNSEEN * last->spacing);
        if (isfinite(r->narrowest.read.width))
            *spacing = fmax(*spacing, LEAST_OF_LAST * r->narrowest.spacing);
        return true;
    }
    /* If the next pass rounds like the last one, no width is reached that is much less than the rounding. */
    const bool is_rounding_wider = !composes_otherwise && read->rounding > width;
    if (is_rounding_wider && read->width <= NEARLY_ROUNDING * read->rounding) return false;
    if (is_rounding_wider) {
        *spacing *= sqrt(read->rounding / width);
        width = read->rounding;
    }
    /* What the mesh may cost beside the slack, over what it did cost; of a delta, in either of the ways in
     * which bounds are close enough: near 1 a width in epsilon is far more than the part of delta that it
     * moves. */
    const double by_width = (MESH_PART * width - fmin(slack, 0.5 * MESH_PART * width)) /
                            fmax(read->width - slack, 1e-300);
    const double ratio = fmax(by_width, MESH_PART * part_of_delta_asked(r));
    if (ratio < 1.0 && slack < 0.5 * read->width) {
        /* The width is of second order in the spacing; of first, if the last pass did not do better than
         * that, unless it is the error law's, which a coarse one before was far below; or about an edge of
         * the support, as long as it is to change little.
         */
        const double coarser = last->spacing / *spacing, by_law = width * coarser * coarser;
        const bool first_order = (r->first_order && read->width - slack > BEYOND_LAW * by_law) ||
                                 (last->coarsened && ratio > NEARLY_FINE);
        const bool is_linear = first_order && !is_long_by_first_order(r, fmax(ratio, LEAST_FINER));
        const double factor = fmin(fmax(is_linear ? ratio : sqrt(ratio), LEAST_FINER), MOST_FINER);
        const double law = fmax(*spacing / last->spacing, LEAST_OF_LAST);
        *spacing = last->spacing *
                   fmin(factor < NEARLY_FINE ? law : fmax(law, LEAST_OF_FOUND * factor), factor);
        return true;
    }
    /* The mesh is fine enough: of what is left to change, nothing costs as much as a finer one. */
    *spacing = last->spacing;
    return changed;
}

bool prv_adapt(prv_refinement *r, double width, double *spacing)
{
    const prv_reading *read = &r->last.read;
    const way before = way_of(r);
    bool changed = false;
    /* For the lower bound alone three passes suffice. */
    if (is_delta_hidden(&r->task) && r->passes >= 3) {
        r->rounding_decides = true;
        return false;
    }
    const double unavoidable = rounding_of_cells(r);
    if (unavoidable > width) {
        const bool final = read->resolved ? read->width <= NEAR_UNAVOIDABLE * unavoidable
                                          : r->rounding_decides;
        if (final) {
            r->rounding_decides = true;
            return false;
        }
        if (!read->resolved) {
            /* Once more with a window that all its slack fits into. */
            r->aim.reach = fmax(r->aim.reach, 2.0 * unavoidable);
            r->rounding_decides = changed = true;
        }
    }
    if (is_separate_in_vain(r)) {
        if (!read->resolved) r->aim.strictness = 1.0; /* it was for the bulk */
        r->task.jumps = PRV_JUMPS_TOGETHER;
        prv_choose_way(r);
        changed = true;
    }
    if (is_drowned(r, width)) return coarsen(r, width, spacing) && !r->last.capped;
    if (is_far_behind(r, width)) return false;
    if (adapt_tops(r, width)) changed = true;
    if (read->off_aim > SLACK_PART * width) changed = true; /* the next pass aims at what was found */
    const bool is_stricter = adapt_window(r, width);
    if (is_stricter) changed = true;
    if (adapt_way(r, width, unavoidable)) changed = true;
    const bool otherwise = changed;
    changed = adapt_mesh(r, width, changed, !is_same_way(r, before), spacing);
    /* Lattices of atoms that are exact have no finer mesh. */
    if (!otherwise && *spacing < r->last.spacing &&
        prv_align_spacing(r->task.direction, &r->aim, *spacing, r->task.engine) == r->last.spacing)
        return false;
    if (r->task.precise && *spacing < LEAST_COARSER * r->plans.finest) {
        if (r->last.spacing <= LEAST_COARSER * LEAST_COARSER * r->plans.finest) return false;
        *spacing = fmax(*spacing, sqrt(r->plans.finest * r->last.spacing));
    }
    /* Beside the same memory a larger window has a coarser mesh, which is worth it if the window hid all. */
    return changed && (!r->last.capped || (is_stricter && !read->resolved));
}

/* Tilts that differ by no more than this part show what transforms do alike. */
#define SAME_TILT 1e-3

/* Whether the last pass was a convolution by transforms, taken the precise way at the tilt of the next one,
 * that shows the answer. */
static bool is_shown_by_transforms(const prv_refinement *r)
{
    const prv_outcome *last = &r->last;
    const bool shows = last->read.resolved && isfinite(last->read.width);
    return r->passes > 0 && last->precise && last->read.transforms > 0 && shows &&
           fabs(last->tilt - prv_next_tilt(r)) <= SAME_TILT * last->tilt;
}

/* Whether transforms would hide the answer of the next pass, a convolution. */
static bool is_hidden(const prv_refinement *r)
{
    if (!r->task.precise || r->task.engine != PRV_ENGINE_CONVOLUTION || is_shown_by_transforms(r))
        return false;
    return r->noise_at_saddle > 0.0 ||
           prv_log_part(r->task.direction, &r->aim, prv_next_tilt(r)) < HOPELESS_PART;
}

bool prv_is_hopeless(prv_refinement *r, double spacing)
{
    return is_hidden(r) && prv_tilt_of_pass(r, spacing) == prv_next_tilt(r);
}

double prv_points_of_convolution(const prv_refinement *r, double spacing)
{
    prv_layout layout;
    /* Too long for memory is long. */
    const prv_status status = plan_of_convolution(r, prv_next_tilt(r), spacing, &layout);
    return status == PRV_OK || status == PRV_ERR_MEMORY_LIMIT ? layout.uniform_points : 0.0;
}

/* Products that take as long as each operation of a transform of a power. */
#define WORK_OF_OPERATION 1.2

double prv_work_of_precise(const prv_refinement *r, double spacing)
{
    const prv_direction *d = r->task.direction;
    const double n = prv_points_of_convolution(r, spacing);
    double powers = 1.0; /* squares, and about half as many products */
    for (size_t j = 0; j < d->steps; j++) powers += 1.5 * log2(d->counts[j]);
    return WORK_OF_OPERATION * powers * n * log2(fmax(n, 2.0));
}

/* Rounding of a convolution taken the precise way, of each mass that adds up to delta: of 1 / (tilt spacing)
 * points, about. */
#define PRECISE_ROUNDING 5e-14

/* The rounding of delta, as a part of it, that is expected of a convolution by transforms taken the precise
 * way, of which the last pass told nothing; 0 of others. */
static double expected_noise(prv_refinement *r, double spacing)
{
    const prv_task *t = &r->task;
    const bool is_by_transforms = t->precise && t->engine == PRV_ENGINE_CONVOLUTION && !may_multiply(r);
    if (!is_by_transforms || t->options->mesh_size > 0.0 || is_shown_by_transforms(r)) return 0.0;
    /* What is multiplied out has none. */
    if (products_of(t->direction->all.count, prv_points_of_convolution(r, spacing)) <= MOST_MULTIPLIED)
        return 0.0;
    const double tilt = prv_next_tilt(r);
    return PRECISE_ROUNDING * (1.0 + 1.0 / (tilt * spacing)) *
           exp(-prv_log_part(t->direction, &r->aim, tilt));
}

bool prv_is_rounding_wider(prv_refinement *r, double spacing)
{
    const double noise = expected_noise(r, spacing);
    if (r->passes == 0 || !isfinite(r->narrowest.read.width)) return false;
    /* Of 1 and more it leaves no lower bound. */
    return noise >= 1.0 || noise > r->aim.slope * r->narrowest.read.width;
}

double prv_spacing_within_rounding(prv_refinement *r, double spacing)
{
    const double over = log1p(expected_noise(r, spacing)) / (r->aim.slope * r->aim.width);
    return over > 1.0 ? spacing * fmin(sqrt(over), MOST_COARSER) : spacing;
}

/* A spacing at which a convolution has no more than so many points, by those at this one. */
static double coarse_spacing(const prv_refinement *r, double spacing, double most)
{
    return spacing * fmax(prv_points_of_convolution(r, spacing) / most, 1.0);
}

bool prv_is_long_in_vain(prv_refinement *r, double spacing)
{
    return prv_is_hopeless(r, spacing) &&
           (prv_points_of_convolution(r, spacing) > LONG_POINTS ||
            prv_log_part(r->task.direction, &r->aim, prv_next_tilt(r)) < CHANCELESS_PART);
}

/* The spacing `factor` times as coarse, or a little coarser, at which a pass is multiplied out; 0 if there is
 * none. */
static double multiplied_at(prv_refinement *r, double spacing, double factor)
{
    double coarser = factor * spacing;
    for (int i = 0; i < MOST_TRIED && factor > 0.0; i++, coarser *= 1.5)
        if (!prv_is_hopeless(r, coarser)) return coarser;
    return 0.0;
}

double prv_hopeless_spacing(prv_refinement *r, double spacing)
{
    const double coarse = coarse_spacing(r, spacing, HOPELESS_POINTS);
    const double multiplied = multiplied_at(r, coarse, factor_to_multiply(r, coarse, MUCH_COARSER));
    return multiplied > 0.0 ? multiplied : coarse;
}

double prv_spacing_of_a_look(const prv_refinement *r, double spacing)
{
    if (!r->task.precise || r->task.engine != PRV_ENGINE_CONVOLUTION || r->last.read.resolved) return spacing;
    return coarse_spacing(r, spacing, LONG_POINTS);
}

bool prv_is_drowned_again(const prv_refinement *r, double spacing)
{
    return r->plans.drowned > 0 && r->last.engine == PRV_ENGINE_CONVOLUTION &&
           prv_align_spacing(r->task.direction, &r->aim, spacing, PRV_ENGINE_CONVOLUTION) <= r->last.spacing;
}

double prv_multiplied_spacing(prv_refinement *r, double spacing)
{
    const prv_outcome *last = &r->last;
    if (r->passes == 0 || last->engine != PRV_ENGINE_CONVOLUTION || last->read.transforms > 0 ||
        !last->read.resolved || !may_multiply(r) || !is_hidden(r))
        return spacing;
    const double factor = factor_to_multiply(r, spacing, LITTLE_COARSER);
    if (factor == 1.0) return spacing;
    const double coarser = multiplied_at(r, spacing, factor);
    const bool is_finer = coarser > 0.0 &&
                          prv_align_spacing(r->task.direction, &r->aim, coarser, PRV_ENGINE_CONVOLUTION) <
                              MOST_FINER * last->spacing;
    return is_finer ? coarser : spacing;
}

bool prv_is_multiplied_out(prv_refinement *r)
{
    if (r->plans.multiplied != 0) return r->plans.multiplied > 0;
    prv_refinement other = *r;
    other.task.engine = PRV_ENGINE_CONVOLUTION;
    other.task.precise = true;
    other.tilt_choice = PRV_TILT_PARTS - 1;
    r->plans.multiplied = -1;
    if (!may_multiply(&other) ||
        !(prv_log_part(r->task.direction, &r->aim, prv_next_tilt(&other)) < HOPELESS_PART))
        return false;
    const double coarse = coarse_spacing(&other, prv_first_spacing(r->task.direction, &r->aim),
                                         HOPELESS_POINTS);
    if (factor_to_multiply(&other, coarse, MUCH_COARSER) > 0.0) r->plans.multiplied = 1;
    return r->plans.multiplied > 0;
}

bool prv_is_convolution_large(const prv_refinement *r, double spacing)
{
    return prv_points_of_convolution(r, spacing) > LARGE_POINTS;
}
