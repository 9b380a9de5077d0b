#include "plan.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "allocate.h"
#include "certificate.h"

/* ---- Steps of one direction ---------------------------------------------------------------- */

prv_status prv_side_view_new(const prv_step *steps, size_t step_count, int add, prv_side_view *view)
{
    memset(view, 0, sizeof *view);
    view->add = add;
    view->mechanisms = prv_allocate(step_count, sizeof *view->mechanisms);
    view->counts = prv_allocate(step_count, sizeof *view->counts);
    view->profiles = prv_allocate(step_count, sizeof *view->profiles);
    view->first = prv_allocate(2 * step_count, sizeof *view->first);
    if (view->mechanisms == NULL || view->counts == NULL || view->profiles == NULL ||
        view->first == NULL) {
        prv_side_view_free(view);
        return PRV_ERR_MEMORY;
    }
    view->end = view->first + step_count;
    view->fineness = 1;
    double log_finite = 0.0;
    for (size_t j = 0; j < step_count; j++) {
        if (steps[j].count == 0) continue;
        const size_t k = view->steps;
        const prv_mechanism *m = steps[j].mechanism;
        const prv_status status = prv_profile_new(m, add, 1, &view->profiles[k]);
        if (status != PRV_OK) {
            prv_side_view_free(view);
            return status;
        }
        view->steps++;
        view->mechanisms[k] = m;
        view->counts[k] = (double)steps[j].count;
        view->first[k] = 0;
        view->end[k] = view->profiles[k].length;
        view->total += view->counts[k];
        view->greatest_loss += view->counts[k] * prv_greatest_loss(m, add);
        log_finite += view->counts[k] * log1p(-fmin(prv_infinite_mass(m, add), 1.0));
    }
    view->infinite_mass = -expm1(log_finite);
    return PRV_OK;
}

void prv_side_view_free(prv_side_view *view)
{
    for (size_t j = 0; j < view->steps; j++) prv_profile_free(&view->profiles[j]);
    prv_release(view->mechanisms);
    prv_release(view->counts);
    prv_release(view->profiles);
    prv_release(view->first);
    memset(view, 0, sizeof *view);
}

prv_status prv_side_view_refine(prv_side_view *view, double saddle, int *changed)
{
    *changed = 0;
    if (view->fineness >= 16) return PRV_OK;
    for (size_t j = 0; j < view->steps && !*changed; j++) {
        const prv_profile *p = &view->profiles[j];
        const size_t first = view->first[j], end = view->end[j];
        double *weight = prv_allocate(p->length, sizeof *weight);
        if (weight == NULL) return PRV_ERR_MEMORY;
        prv_tilt(p->center + first, p->mass + first, end - first, saddle, weight + first);
        for (size_t c = first; c < end && !*changed; c++)
            *changed = view->counts[j] * weight[c] > 1e-2 && saddle * (p->high[c] - p->low[c]) > 2.0;
        prv_release(weight);
    }
    if (!*changed) return PRV_OK;
    view->fineness *= 4;
    for (size_t j = 0; j < view->steps; j++) {
        prv_profile_free(&view->profiles[j]);
        const prv_status status =
            prv_profile_new(view->mechanisms[j], view->add, view->fineness, &view->profiles[j]);
        if (status != PRV_OK) return status;
        view->first[j] = 0;
        view->end[j] = view->profiles[j].length;
    }
    return PRV_OK;
}

/* ---- Moments of the composition from the profiles ------------------------------------------- */

/* Moments with one more atom: the mass below the range in use, which the dominating lattice puts onto its
 * first knot. */
static prv_moments with_atom(prv_moments m, double mass, double loss, double lam)
{
    if (!(mass > 0.0)) return m;
    const double log_atom = log(mass) + lam * loss;
    const double top = fmax(log_atom, m.log_moment);
    const double a = exp(log_atom - top), b = exp(m.log_moment - top);
    const double part = a / (a + b), distance = loss - m.mean;
    prv_moments r = {top + log(a + b), m.mean + part * distance,
                     (1.0 - part) * (m.variance + part * distance * distance)};
    return r;
}

static prv_moments composed_moments(const prv_side_view *view, double lam)
{
    prv_moments sum = {0.0, 0.0, 0.0};
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        const size_t first = view->first[j];
        prv_moments m =
            prv_tilt(p->center + first, p->mass + first, view->end[j] - first, lam, NULL);
        if (first > 0) m = with_atom(m, p->tail[0] - p->tail[first], p->low[first], lam);
        sum.log_moment += view->counts[j] * m.log_moment;
        sum.mean += view->counts[j] * m.mean;
        sum.variance += view->counts[j] * m.variance;
    }
    return sum;
}

/* Root of an increasing function of lam > 0, searched on a logarithmic scale from `start`, to 1 % or the
 * end of the range: tilts need no more. */
typedef double (*increasing)(const prv_side_view *view, double lam, const void *parameter);

static double root(const prv_side_view *view, increasing f, const void *parameter, double start)
{
    const double least = 1e-12, greatest = 1e12;
    double low = start, high = start;
    if (f(view, start, parameter) < 0.0) {
        do {
            low = high;
            high *= 4.0;
        } while (high < greatest && f(view, high, parameter) < 0.0);
        if (high >= greatest) return high;
    } else {
        do {
            high = low;
            low *= 0.25;
        } while (low > least && f(view, low, parameter) >= 0.0);
        if (low <= least) return low;
    }
    double f_low = f(view, low, parameter), f_high = f(view, high, parameter);
    for (int i = 0; i < 24 && high > 1.02 * low; i++) {
        /* Regula falsi in log lam, kept away from the ends. */
        double part = f_high > f_low ? -f_low / (f_high - f_low) : 0.5;
        if (!(part > 0.1 && part < 0.9)) part = part < 0.5 ? 0.1 : 0.9;
        if (i % 3 == 2) part = 0.5;
        const double middle = low * pow(high / low, part), value = f(view, middle, parameter);
        if (value < 0.0) {
            low = middle;
            f_low = value;
        } else {
            high = middle;
            f_high = value;
        }
    }
    return sqrt(low * high);
}

/* ---- Aims ---------------------------------------------------------------------------------- */

/* Chernoff's bound of epsilon, (L - log delta + log g(lam)) / lam, is smallest where
 *     lam L' - L + log delta + log(1 + lam) = 0,
 * whose left side grows with lam. `least` bounds the logarithms from below: see prv_aim_at_delta. */
typedef struct entropy_goal {
    double log_delta, least;
} entropy_goal;

static double entropy_excess(const prv_side_view *view, double lam, const void *goal)
{
    const entropy_goal *g = goal;
    const prv_moments m = composed_moments(view, lam);
    return lam * m.mean - m.log_moment + fmax(g->log_delta + log1p(lam), g->least);
}

static double saddle_excess(const prv_side_view *view, double lam, const void *epsilon)
{
    return composed_moments(view, lam).mean - *(const double *)epsilon - 1.0 / lam - 1.0 / (1.0 + lam);
}

static void use_whole_profiles(prv_side_view *view)
{
    for (size_t j = 0; j < view->steps; j++) {
        view->first[j] = 0;
        view->end[j] = view->profiles[j].length;
    }
}

/* log of the factor between delta and M e^(-lam eps): Gaussian at the saddle, at most g. */
static double log_saddle_factor(double lam, double variance)
{
    const double gaussian = -0.5 * log(2.0 * 3.14159265358979 * fmax(variance, 1e-300)) -
                            log(lam) - log1p(lam);
    return fmin(gaussian, log(prv_kernel_maximum(lam)));
}

double prv_width_asked(const prv_options *o, double epsilon)
{
    if (o->eps_error > 0.0) return o->eps_error;
    return o->eps_relative_error * fmax(fabs(epsilon), o->eps_floor);
}

/* Mass above these cells matters only as mass at infinity; without it the tilt finds the bulk. */
static void cut_tops(prv_side_view *view, double mass_above)
{
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        const double above = mass_above / view->counts[j];
        size_t end = p->length;
        while (end > 1 && p->tail[end - 1] <= above) end--;
        view->end[j] = end;
    }
}

/* What truncation may cost as a part of delta: a small part of the width asked. */
static double truncation_share(double slope, double width)
{
    return fmin(fmax(0.005 * slope * width, 1e-9), 1e-4);
}

static void guess_epsilon(const prv_side_view *view, prv_aim *aim)
{
    const prv_moments m = composed_moments(view, aim->saddle);
    const double factor = log_saddle_factor(aim->saddle, m.variance);
    const double guess = (m.log_moment + factor - aim->log_delta) / aim->saddle;
    const double most = (m.log_moment + log(prv_kernel_maximum(aim->saddle)) - aim->log_delta) / aim->saddle;
    aim->epsilon = fmin(fmax(guess, 0.0), fmax(view->greatest_loss, 0.0));
    aim->reach = fmax(most - aim->epsilon, 0.05 * fabs(aim->epsilon));
}

void prv_aim_at_delta(prv_side_view *view, const prv_options *options, double delta, prv_aim *aim)
{
    aim->log_delta = log(delta);
    aim->top_share = 1e-4;
    /* Twice: the first saddle tells how much the tops may cost. */
    for (int round = 0; round < 2; round++) {
        use_whole_profiles(view);
        cut_tops(view, aim->top_share * delta / (double)view->steps);
        /* The entropy cannot exceed that of the topmost cells alone; a delta below their probability
         * is decided by them, and a tilt that singles them out is enough. */
        double log_top = 0.0;
        for (size_t j = 0; j < view->steps; j++) {
            const prv_profile *p = &view->profiles[j];
            log_top += view->counts[j] * log(p->mass[view->end[j] - 1]);
        }
        const entropy_goal goal = {aim->log_delta, 0.98 * log_top};
        aim->saddle = root(view, entropy_excess, &goal, round == 0 ? 4.0 : aim->saddle);
        guess_epsilon(view, aim);
        /* With (4 - log delta) / width Chernoff's bound is within the width of the largest loss. */
        const double most = 4.0 * (4.0 - aim->log_delta) / prv_width_asked(options, aim->epsilon);
        if (aim->saddle > most) {
            aim->saddle = most;
            guess_epsilon(view, aim);
        }
        aim->slope = aim->saddle;
        const double share = truncation_share(aim->slope, prv_width_asked(options, aim->epsilon));
        if (share > 0.3 * aim->top_share) break;
        aim->top_share = share;
    }
}

/* Saddle-point guess of log delta at epsilon from the cells in use. */
static double log_delta_guess(const prv_side_view *view, double epsilon)
{
    const double lam = root(view, saddle_excess, &epsilon, 4.0);
    const prv_moments m = composed_moments(view, lam);
    return fmin(m.log_moment - lam * epsilon + log_saddle_factor(lam, m.variance), 0.0);
}

void prv_aim_at_epsilon(prv_side_view *view, const prv_options *options, double epsilon, prv_aim *aim)
{
    use_whole_profiles(view);
    double guess = log_delta_guess(view, epsilon);
    /* Where few rare jumps dominate, the saddle-point guess is far too large; then delta is about that
     * of one jump, or of the rest without large jumps. */
    double jumps = 0.0;
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        for (size_t c = p->length; c-- > 0 && p->center[c] > epsilon;)
            jumps -= view->counts[j] * p->mass[c] * expm1(epsilon - p->center[c]);
        size_t end = p->length;
        while (end > 1 && p->center[end - 1] > 0.5 * epsilon) end--;
        view->end[j] = end;
    }
    const double rest = log_delta_guess(view, epsilon);
    if (jumps > 0.0) guess = fmin(guess, log(jumps + exp(rest)));
    prv_aim_at_delta(view, options, fmin(exp(fmax(guess, -737.0)), 0.999), aim);
    aim->epsilon = epsilon;
    aim->reach = 0.0;
}

double prv_chernoff_epsilon(const prv_side_view *view, double delta)
{
    double log_finite = 0.0, log_moment = 0.0;
    /* Any tilt gives a bound; the saddle of the merged profile is near the best. */
    const entropy_goal goal = {log(delta), -HUGE_VAL};
    const double lam = root(view, entropy_excess, &goal, 4.0);
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        log_finite += view->counts[j] * log1p(-fmin(p->dominating_infinite, 1.0));
        log_moment += view->counts[j] *
                      prv_tilt(p->knots, p->dominating, p->knot_count, lam, NULL).log_moment;
    }
    const double finite = delta + expm1(log_finite);
    if (!(finite > 0.5 * delta)) return HUGE_VAL;
    /* 1e-6 covers all rounding of cells and moments, and the log of delta. */
    return (log_moment + log(prv_kernel_maximum(lam)) - log(finite)) / lam * (1.0 + 1e-6) +
           1e-9 * view->total / fmin(lam, 1.0);
}

double prv_law_step(const prv_side_view *view, const prv_aim *aim)
{
    return sqrt(7.0 * aim->width / (view->total * (aim->saddle + 1.0)));
}

/* ---- Ranges -------------------------------------------------------------------------------- */

/* A step's own knots end where the tilted mass below does not matter. */
static void cut_bottoms(prv_side_view *view, double tilt, double tilted_below)
{
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        const double below = tilted_below / view->counts[j];
        const size_t end = view->end[j];
        size_t first = 0;
        const double log_moment = prv_tilt(p->center, p->mass, end, tilt, NULL).log_moment;
        double sum = 0.0;
        for (; first + 1 < end; first++) {
            sum += exp(log(p->mass[first]) + tilt * p->center[first] - log_moment);
            if (sum > below) break;
        }
        view->first[j] = first;
    }
}

/* The shift of the tilt whose bound of the mass beyond the shifted mean is e^log_mass, and that mean. */
static double tail_shift(const prv_side_view *view, double tilt, double sign, double log_mass,
                         double *end_of_window)
{
    const prv_moments base = composed_moments(view, tilt);
    double shift = sqrt(-2.0 * log_mass / fmax(base.variance, 1e-300)), low = 0.0, high = HUGE_VAL;
    shift = fmin(shift, 1e9);
    prv_moments m = base;
    for (int i = 0; i < 60; i++) {
        m = composed_moments(view, tilt + sign * shift);
        const double exponent =
            sign * shift * m.mean - (m.log_moment - base.log_moment) + log_mass;
        if (exponent >= 0.0)
            high = shift;
        else
            low = shift;
        if (exponent >= 0.0 && exponent <= -0.02 * log_mass) break;
        if (high < HUGE_VAL && high <= 1.001 * low) break;
        if (low > 1e12) break; /* the end of the support holds more than that */
        /* The exponent grows about like shift^2. */
        double next = shift * sqrt(-1.01 * log_mass / fmax(exponent - log_mass, -1e-3 * log_mass));
        if (!(next > low && next < high)) next = high < HUGE_VAL ? 0.5 * (low + high) : 4.0 * shift;
        shift = next;
    }
    *end_of_window = (m.log_moment - base.log_moment - log_mass) / (sign * shift);
    return shift;
}

/* ---- Meshes -------------------------------------------------------------------------------- */

/* Power of two at most x, at least 1. */
static int64_t power_of_two(double x)
{
    int exponent;
    if (!(x >= 2.0)) return 1;
    frexp(fmin(x, 0x1p40), &exponent);
    return (int64_t)1 << (exponent - 1);
}

typedef struct mesh_builder {
    double anchor, step;
    int on_knots;
    int64_t period; /* in steps; atoms lie at 0 and at a period from it, on either side */
    size_t lattice_length, knot_length;
    int64_t *index; /* NULL: count only */
    size_t *knot;
    double *knots;
} mesh_builder;

static void put_knot(mesh_builder *b, int64_t index, int64_t stride, int parts, int is_last)
{
    /* An atom in the middle of continuous mass gets a cell of its own: merged with what lies just below,
     * its ratio would fall short of the knot's, and nothing above could make up for that. */
    if (b->on_knots && (index == 0 || index == b->period || index == -b->period) && b->knot_length > 0) {
        const double x = b->anchor + b->step * (double)index, below = x - 1e-7 * b->step;
        if (x - below > 8.0 * DBL_EPSILON * fabs(x)) {
            if (b->index != NULL) b->knots[b->knot_length] = below;
            b->knot_length++;
        }
    }
    if (b->index != NULL) {
        b->index[b->lattice_length] = index;
        b->knot[b->lattice_length] = b->knot_length;
        b->knots[b->knot_length] = b->anchor + b->step * (double)index;
    }
    b->lattice_length++;
    b->knot_length++;
    if (is_last) return;
    for (int i = 1; i < parts; i++, b->knot_length++)
        if (b->index != NULL)
            b->knots[b->knot_length] =
                b->anchor + b->step * ((double)index + (double)stride * i / (double)parts);
}

/* Walks the lattice from bottom to top. Spacings are powers of two, larger where little tilted mass is:
 * the error is the sum of mass * spacing^2, the cost the number of knots, and the minimum has
 * spacing proportional to density^(-1/3). Where a cell holds much mass, it is divided further: merging
 * needs to see what is inside. */
static void walk(mesh_builder *b, const prv_profile *p, size_t first, size_t end, const double *weight,
                 const double *spacing, int64_t bottom, int64_t top)
{
    size_t cell = first;
    b->lattice_length = b->knot_length = 0;
    int64_t index = bottom;
    while (index < top) {
        const double x = b->anchor + b->step * (double)index;
        while (cell + 1 < end && p->high[cell] <= x) cell++;
        int64_t stride = power_of_two(spacing[cell]);
        while (stride > 1 && index % stride != 0) stride /= 2;
        /* Do not step over where it should be finer. */
        while (stride > 1 && cell + 1 < end && spacing[cell + 1] < (double)stride &&
               x + b->step * (double)stride > p->high[cell] + b->step)
            stride /= 2;
        while (stride > 1 && index + stride > top) stride /= 2;
        const double high = x + b->step * (double)stride;
        double share = 0.0;
        for (size_t c = cell; c < end && p->low[c] < high; c++) {
            const double size = p->high[c] - p->low[c];
            const double overlap = fmin(high, p->high[c]) - fmax(x, p->low[c]);
            share += size > 0.0 ? weight[c] * fmin(fmax(overlap / size, 0.0), 1.0) : weight[c];
        }
        int parts = share > 0.03 ? 8 : share > 0.01 ? 4 : share > 0.002 ? 2 : 1;
        if (b->on_knots && parts < 2) parts = 2;
        put_knot(b, index, stride, parts, 0);
        index += stride;
    }
    put_knot(b, top, 1, 1, 1);
}

/* How much of delta at the aim's epsilon one jump of this loss and mass makes up, about. */
static double reach_by_a_jump(const prv_aim *aim, double mass, double loss)
{
    return mass * exp(fmin(aim->slope * (loss - aim->epsilon), 0.0));
}

/* What a profile cell weighs in the error of delta: half its tilted mass, half its part in reaching epsilon by
 * a single jump, as far as such jumps make up delta at all. Where few rare jumps dominate, no tilt
 * centres the law on them, and the tilted mass alone would leave the mesh coarse there. */
static void importance(const prv_side_view *view, size_t j, const prv_aim *aim, double *weight)
{
    const prv_profile *p = &view->profiles[j];
    const size_t first = view->first[j], end = view->end[j];
    prv_tilt(p->center + first, p->mass + first, end - first, aim->saddle, weight + first);
    double jumps = 0.0;
    for (size_t c = end; c-- > first && p->center[c] >= 0.5 * aim->epsilon;)
        jumps += reach_by_a_jump(aim, p->mass[c], p->center[c]);
    const double share = 0.5 * fmin(view->counts[j] * jumps * exp(-aim->log_delta), 1.0);
    for (size_t c = first; c < end; c++) {
        weight[c] *= 1.0 - share;
        if (p->center[c] >= 0.5 * aim->epsilon)
            weight[c] += share / jumps * reach_by_a_jump(aim, p->mass[c], p->center[c]);
    }
}

/* Part of the error that a cell of step j makes at spacing 1: its weight under k_j of all K steps. */
static double cell_error(const prv_side_view *view, size_t j, double weight)
{
    return view->counts[j] / view->total * weight;
}

/* sum over cells of (error length^2)^(1/3), see `spacings`. */
static double mesh_load(const prv_side_view *view, size_t j, const double *weight)
{
    const prv_profile *p = &view->profiles[j];
    double sum = 0.0;
    for (size_t c = view->first[j]; c < view->end[j]; c++) {
        const double length = p->high[c] - p->low[c];
        sum += cbrt(cell_error(view, j, weight[c]) * length * length);
    }
    return sum;
}

/* Spacings wanted in each cell of a step's profile, nats: scale (length / error)^(1/3), which makes
 *     sum error spacing^2 = scale^2 (sum of the steps' loads)
 * at the fewest knots of all steps together. None is above 1 / (2 saddle): the tilt makes exponentially much of a
 * split over more. Returns the least that is not an atom's. */
static double spacings(const prv_side_view *view, size_t j, const prv_aim *aim, double scale, double step,
                       const double *weight, double *spacing)
{
    const prv_profile *p = &view->profiles[j];
    double least = HUGE_VAL;
    for (size_t c = view->first[j]; c < view->end[j]; c++) {
        const double length = p->high[c] - p->low[c];
        const double wanted =
            scale * cbrt(fmax(length, 1e-3 * step) / fmax(cell_error(view, j, weight[c]), 1e-60));
        spacing[c] = fmin(fmin(fmin(wanted, 0.5 / aim->saddle), 0.5 * length), PRV_WIDEST_CELL);
        if (length > 0.0) least = fmin(least, wanted);
    }
    return least;
}

/* A uniform mesh's transforms cost the same whatever knots are left out, so only a quarter of its error more
 * is spent on larger spacings; a spectrum has the spacings that are best. */
static double error_share(prv_engine engine)
{
    return engine == PRV_ENGINE_SPECTRUM ? 1.2 : 0.25;
}

static prv_status mesh_of_step(const prv_side_view *view, size_t j, const prv_aim *aim, double *weight,
                               prv_layout *layout)
{
    const double saddle = aim->saddle, step = layout->step;
    const prv_profile *p = &view->profiles[j];
    const prv_features f = prv_mechanism_features(view->mechanisms[j], view->add);
    const size_t first = view->first[j], end = view->end[j];
    double *spacing = weight + p->length;
    importance(view, j, aim, weight);
    spacings(view, j, aim, layout->scale, layout->law_step, weight, spacing);
    for (size_t c = first; c < end; c++) spacing[c] /= step;

    const double greatest = prv_greatest_loss(view->mechanisms[j], view->add);
    double low = p->low[first], high = fmin(p->high[end - 1], greatest);
    if (!f.atoms && f.anchor < 0.0) low = fmax(low, f.anchor); /* an edge of the support */
    if (!f.atoms && f.anchor > 0.0) high = fmin(high, f.anchor);
    const double slack = 1e-6;
    /* One knot below the lowest atom: what lies at or below the first knot is dropped from below. */
    const double bottom = floor((low - f.anchor) / step + slack) - (f.atoms ? 1.0 : 0.0);
    /* And one above the highest: rounding may place it on either side of its knot. */
    const double top = fmax(ceil((high - f.anchor) / step - slack) + (f.atoms ? 1.0 : 0.0), bottom + 1.0);
    if (!(fabs(bottom) < 0x1p52 && fabs(top) < 0x1p52)) return PRV_ERR_MEMORY_LIMIT;

    const double period = fmin(nearbyint(f.period / step), 0x1p60);
    mesh_builder b = {f.anchor, step, f.atoms, (int64_t)period, 0, 0, NULL, NULL, NULL};
    walk(&b, p, first, end, weight, spacing, (int64_t)bottom, (int64_t)top);
    prv_mesh *mesh = &layout->meshes[j];
    prv_status status = prv_mesh_new(b.lattice_length, mesh);
    if (status == PRV_OK) status = prv_cells_new(b.knot_length, &layout->cells[j]);
    if (status != PRV_OK) {
        prv_mesh_free(mesh);
        return status;
    }
    mesh->offset = f.anchor;
    mesh->step = step;
    mesh->on_knots = f.atoms;
    mesh->tilt = saddle;
    b.index = mesh->index;
    b.knot = mesh->knot;
    b.knots = layout->cells[j].knots;
    walk(&b, p, first, end, weight, spacing, (int64_t)bottom, (int64_t)top);
    layout->steps++;
    if (b.lattice_length > layout->longest) layout->longest = b.lattice_length;
    return PRV_OK;
}

/* The step that puts sharp features onto the lattice: the period of the most frequent mechanism that has
 * one becomes a multiple of it (or it a multiple of the period). */
static double align(const prv_side_view *view, double step)
{
    double period = 0.0, count = 0.0;
    for (size_t j = 0; j < view->steps; j++) {
        const prv_features f = prv_mechanism_features(view->mechanisms[j], view->add);
        if (f.period > 0.0 && view->counts[j] > count) {
            period = f.period;
            count = view->counts[j];
        }
    }
    if (!(period > 0.0)) return step;
    /* A lattice just finer than the step asked is taken whole: it is exact. */
    if (period <= step) return period > 0.125 * step ? period : period * floor(step / period);
    return period / ceil(period / step);
}

/* ---- Layout -------------------------------------------------------------------------------- */

double prv_log_part(prv_side_view *view, const prv_aim *aim, double tilt)
{
    use_whole_profiles(view);
    cut_tops(view, aim->top_share * exp(aim->log_delta) / (double)view->steps);
    return fmin(aim->log_delta - composed_moments(view, tilt).log_moment + tilt * aim->epsilon -
                    log(prv_kernel_maximum(tilt)), 0.0);
}

/* Support of the composition by the cells in use, one step beyond. */
static void support_in_use(const prv_side_view *view, double step, double *least, double *greatest)
{
    *least = *greatest = 0.0;
    for (size_t j = 0; j < view->steps; j++) {
        const prv_profile *p = &view->profiles[j];
        *least += view->counts[j] * (p->low[view->first[j]] - step);
        *greatest += view->counts[j] * (p->high[view->end[j] - 1] + step);
    }
}

/* Where the composed loss is looked at, so that what lies outside costs no more than the budget. */
static void lay_out_window(const prv_side_view *view, const prv_aim *aim, double log_budget, prv_layout *layout)
{
    prv_window *w = &layout->window;
    const double tilt = layout->tilt;
    double low, high, least, greatest;
    w->shift_up = tail_shift(view, tilt, 1.0, log_budget, &high);
    w->shift_down = tail_shift(view, tilt, -1.0, log_budget, &low);
    support_in_use(view, layout->step, &least, &greatest);
    /* A single step is not transformed, and wraps nowhere; a window that holds most of the support may
     * as well hold all of it: then nothing lies outside, with certainty. */
    const int whole = view->total == 1.0 || greatest - least <= 2.0 * (high - low);
    low = whole ? least : fmax(low, least);
    high = whole ? greatest : fmin(high, greatest);
    /* Coarse moments are about 1 % off, and the lattices have their own: leave some room. */
    const double room = 0.02 * (high - low) + 4.0 * layout->step;
    low -= room;
    high += room;
    /* At the end of a bounded support no shift is too large for the profile; but lattices carry
     * rounding noise a step beyond it, and this much suffices. */
    const double most_shift = (5.0 - log_budget) / room;
    w->shift_up = fmin(w->shift_up, most_shift);
    w->shift_down = fmin(w->shift_down, most_shift);
    w->lowest = low;
    layout->uniform_points = (high - low) / layout->law_step;
    w->length = prv_transform_length(ceil(layout->uniform_points), 0);
    const double reach = fmax(aim->reach, 0.1 * aim->width); /* the shift slack is below that */
    w->low_epsilon = aim->epsilon - reach;
    w->high_epsilon = aim->epsilon + reach;
    /* The estimate is not corrected for images. */
    w->tolerance = 0.1 * exp(log_budget) * prv_kernel_maximum(tilt);
}

int prv_separate_jumps(prv_side_view *view, const prv_aim *aim, prv_window *w)
{
    const double share = truncation_share(aim->slope, aim->width) / aim->strictness;
    const double log_target = aim->log_delta + log(share) - 1.0;
    w->separate = 0;
    w->bulk_low = 0.4 * aim->epsilon; /* the guess may be far off */
    if (!(aim->epsilon > 0.0)) return 0;
    for (double bulk = 0.5 * w->bulk_low; bulk > 1e-3 * w->bulk_low; bulk *= 0.7) {
        use_whole_profiles(view);
        for (size_t j = 0; j < view->steps; j++) {
            const prv_profile *p = &view->profiles[j];
            size_t end = view->end[j];
            while (end > 1 && p->high[end - 1] > bulk) end--;
            view->end[j] = end;
            if (p->high[end - 1] > bulk) return 0;
        }
        const double tilt = root(view, saddle_excess, &w->bulk_low, 4.0 * aim->saddle);
        const prv_moments m = composed_moments(view, tilt);
        if (m.log_moment - tilt * w->bulk_low + log(prv_kernel_maximum(tilt)) > log_target) continue;
        w->separate = 1;
        w->bulk = bulk;
        w->bulk_tilt = tilt;
        return 1;
    }
    return 0;
}

/* The scale of the spacings, and for a spectrum the lattice: the step by a power of two, so that the least spacing
 * wanted is on it. */
static void scale_meshes(const prv_side_view *view, const prv_aim *aim, double *weight, prv_layout *layout)
{
    double load = 0.0, least = layout->law_step;
    for (size_t j = 0; j < view->steps; j++) {
        importance(view, j, aim, weight);
        load += mesh_load(view, j, weight);
    }
    layout->scale = load > 0.0 ? layout->law_step * sqrt(error_share(layout->engine) / load) : HUGE_VAL;
    if (layout->engine != PRV_ENGINE_SPECTRUM || layout->exact) return;
    for (size_t j = 0; j < view->steps; j++) {
        importance(view, j, aim, weight);
        least = fmin(least, spacings(view, j, aim, layout->scale, layout->law_step, weight,
                                     weight + view->profiles[j].length));
    }
    while (layout->step > least && layout->step > 0x1p-24 * layout->law_step) layout->step *= 0.5;
}

prv_status prv_layout_new(prv_side_view *view, const prv_aim *aim, double tilt, double step,
                          int exact_step, prv_engine engine, double memory_limit, prv_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    use_whole_profiles(view);
    layout->tilt = tilt;
    layout->engine = engine;
    layout->exact = exact_step;
    const double law_step = exact_step ? step : align(view, fmin(step, PRV_WIDEST_CELL));
    layout->step = layout->law_step = law_step;
    layout->meshes = prv_allocate(view->steps, sizeof *layout->meshes);
    layout->cells = prv_allocate(view->steps, sizeof *layout->cells);
    size_t longest = 1;
    for (size_t j = 0; j < view->steps; j++)
        if (view->profiles[j].length > longest) longest = view->profiles[j].length;
    double *weight = prv_allocate(2 * longest, sizeof *weight);
    prv_status status = layout->meshes != NULL && layout->cells != NULL && weight != NULL
                            ? PRV_OK : PRV_ERR_MEMORY;
    if (status == PRV_OK) {
        const double share = truncation_share(aim->slope, aim->width) / aim->strictness;
        const double log_budget = log(share) + prv_log_part(view, aim, tilt);
        cut_bottoms(view, tilt, exp(log_budget) / (double)view->steps);
        scale_meshes(view, aim, weight, layout);
        lay_out_window(view, aim, log_budget, layout);
        if (engine == PRV_ENGINE_CONVOLUTION)
            layout->bytes = layout->window.length > 0
                                ? prv_workspace_bytes(layout->window.length, view->steps)
                                : 16.0 * layout->uniform_points;
        if (!(layout->bytes <= memory_limit)) status = PRV_ERR_MEMORY_LIMIT;
    }
    for (size_t j = 0; j < view->steps && status == PRV_OK; j++)
        status = mesh_of_step(view, j, aim, weight, layout);
    for (size_t j = 0; j < layout->steps; j++)
        layout->bytes +=
            64.0 * (double)layout->meshes[j].length + 96.0 * (double)layout->cells[j].length;
    if (status == PRV_OK && !(layout->bytes <= memory_limit)) status = PRV_ERR_MEMORY_LIMIT;
    prv_release(weight);
    const double bytes = layout->bytes;
    if (status != PRV_OK) prv_layout_free(layout);
    layout->bytes = bytes;
    return status;
}

void prv_layout_free(prv_layout *layout)
{
    for (size_t j = 0; j < layout->steps; j++) {
        prv_mesh_free(&layout->meshes[j]);
        prv_cells_free(&layout->cells[j]);
    }
    prv_release(layout->meshes);
    prv_release(layout->cells);
    memset(layout, 0, sizeof *layout);
}
