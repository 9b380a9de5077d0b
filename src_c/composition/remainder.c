#include "composition/remainder.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "composition/kernel.h"
#include "composition/stretches.h"

#define UNKNOWN (-1.0) /* |A|^2 not computed */

/* |A(theta)|^2 of atoms, A = sum w e^(i theta position), with its rounding on top. total: of all w. */
PRV_VECTOR static double modulus_square(const double *restrict position, const double *restrict weight,
                                        size_t length, double total, double frequency)
{
    double re[8] = {0}, im[8] = {0}, far = 0.0;
    size_t i = 0;
    for (; i + 8 <= length; i += 8)
        for (size_t l = 0; l < 8; l++) {
            const double t = frequency * position[i + l];
            const double whole = (t + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
            double x, y;
            prv_vm_turn(t - whole, &x, &y);
            re[l] += weight[i + l] * (1.0 + x);
            im[l] += weight[i + l] * y;
        }
    for (; i < length; i++) {
        const double t = frequency * position[i], whole = (t + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
        double x, y;
        prv_vm_turn(t - whole, &x, &y);
        re[0] += weight[i] * (1.0 + x);
        im[0] += weight[i] * y;
    }
    for (size_t l = 1; l < 8; l++) {
        re[0] += re[l];
        im[0] += im[l];
    }
    if (length > 0) far = frequency * fmax(fabs(position[0]), fabs(position[length - 1]));
    return re[0] * re[0] + im[0] * im[0] +
           PRV_UNIT * (128.0 + 0.25 * (double)length + 84.0 * far) * PRV_SECOND_ORDER * total * total;
}

/* The sum of w, and of w position^2. */
PRV_VECTOR static double sum_weights(const double *restrict position, const double *restrict weight,
                                     size_t length, double *second)
{
    double w[8] = {0}, square[8] = {0};
    size_t i = 0;
    for (; i + 8 <= length; i += 8)
        for (size_t l = 0; l < 8; l++) {
            w[l] += weight[i + l];
            square[l] += weight[i + l] * position[i + l] * position[i + l];
        }
    for (; i < length; i++) {
        w[0] += weight[i];
        square[0] += weight[i] * position[i] * position[i];
    }
    for (size_t l = 1; l < 8; l++) {
        w[0] += w[l];
        square[0] += square[l];
    }
    *second = square[0];
    return w[0];
}

/* The first of the atoms whose position is at least this, or above it; positions ascend. */
static size_t first_from(const prv_source *s, double position, bool above)
{
    size_t low = 0, high = s->length;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (above ? s->position[middle] > position : s->position[middle] >= position)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Takes the atoms within `radius` of the heaviest as the subset. */
static void take_subset(prv_source *s, double radius)
{
    const size_t low = first_from(s, -radius, false);
    size_t high = first_from(s, radius, true);
    while (high > low && s->weight[high - 1] == 0.0) high--; /* what fills up the last group */
    s->first = low;
    s->end = high;
    s->radius = radius;
    double second;
    s->mass = sum_weights(s->position + low, s->weight + low, high - low, &second);
    s->curvature = 0.25 * s->mass * second;
}

static double subset_square(const prv_source *s, double theta)
{
    return modulus_square(s->position + s->first, s->weight + s->first, s->end - s->first, s->mass,
                          theta * (0.5 / PRV_PI));
}

/* 1 - |phi|^2 at least, on an interval whose larger end has |A|^2 = square. */
static double gap_of(const prv_source *s, double square, double width)
{
    /* Of sums; and weights sum to 1 within 22 u, which the heaviest of n, at least 1 / n, makes up for: 22 n
     * u of it. */
    const double rounding = (512.0 + 25.0 * (double)s->length) * PRV_UNIT;
    const double gap = s->mass * s->mass * (1.0 - rounding) - square - width * width * s->curvature;
    return fmin(fmax(gap, 0.0), s->most_gap);
}

/* Takes all jumps, whose modulus knows no centre: the curvature is about their own. */
static void take_jumps(prv_source *s)
{
    double sum = 0.0, second = 0.0;
    for (size_t i = 0; i < s->length; i++) sum += s->weight[i] * s->position[i];
    const double center = s->total > 0.0 ? sum / s->total : 0.0;
    for (size_t i = 0; i < s->length; i++)
        second += s->weight[i] * (s->position[i] - center) * (s->position[i] - center);
    s->first = 0;
    s->end = s->length;
    s->mass = s->total;
    s->curvature = 0.25 * s->total * second * PRV_SECOND_ORDER; /* about any centre; the sum rounds */
}

/* A look at |A|^2 takes about as long as these products for each atom, and as so many more. */
#define LOOK_OF_ATOM 4.0
#define LOOK 16.0

static double look(prv_march *m, const prv_source *s, double theta)
{
    m->work += LOOK_OF_ATOM * (double)(s->end - s->first) + LOOK;
    return subset_square(s, theta);
}

/* A bound by a stretch takes about as long as so many products. A shorter interval is tried before a look at
 * atoms that takes DEAR times as long as stretches. */
#define WORK_OF_STRETCH 24.0
#define DEAR 32.0

static double work_of_stretches(const prv_march *m)
{
    double work = 0.0;
    for (size_t i = 0; i < m->steps; i++) work += WORK_OF_STRETCH * (double)m->stretches[i].count + LOOK;
    return work;
}

/* Of a look at the subsets in use of all steps. */
static double work_of_looks(const prv_march *m)
{
    double work = 0.0;
    for (size_t i = 0; i < m->steps; i++)
        work += LOOK_OF_ATOM * (double)(m->sources[i].end - m->sources[i].first) + LOOK;
    return work;
}

/* k log(1 / |phi|) where 1 - |phi|^2 is the gap. */
static double decay(const prv_source *s, double gap)
{
    return -0.5 * s->count * log1p(-gap);
}

/* A decay so many times the one wanted is enough: what it leaves is negligible. */
#define ENOUGH 2.0

/* Smaller subsets are tried where an interval shows this times the decay wanted, or that with which they were
 * last tried in vain. */
#define A_LITTLE_MORE 1.1

/* Nothing is known of an interval. */
static void forget_gaps(prv_march *m)
{
    for (size_t i = 0; i < m->steps; i++) {
        m->sources[i].gap = 0.0;
        m->sources[i].next_square = UNKNOWN;
        if (m->jumps != NULL) m->jumps[i].next_square = UNKNOWN;
    }
}

/* log(1 / |Phi|) at least at the frequencies from `first` to `last`, by stretches alone. Sets the gaps of all
 * steps there, and forgets |A|^2. */
static double decay_of_stretches(prv_march *m, double first, double last, double points)
{
    double sum = 0.0, jumps = 0.0;
    forget_gaps(m);
    for (size_t i = 0; i < m->steps; i++) {
        prv_source *s = &m->sources[i];
        s->gap = fmin(prv_gap_of_stretches(&m->stretches[i], first, last, points), s->most_gap);
        sum += decay(s, s->gap);
        if (m->jumps != NULL) jumps += m->jumps[i].count * m->jumps[i].total / sqrt(1.0 - s->gap);
    }
    m->work += work_of_stretches(m);
    return m->jumps == NULL ? sum : sum - log(fmin(expm1(jumps), 2.0));
}

/* What stretches tell: that frequencies may be left out; that the first one may, so that a shorter interval
 * is tried; or nothing. */
typedef enum told { TOLD_ENOUGH, TOLD_OF_THE_FIRST, TOLD_NOTHING } told;

/* Asks stretches where they take less time than a look at atoms, and sets all gaps and *reached as
 * decay_of_stretches does. */
static told ask_stretches(prv_march *m, double first, double last, double points, double wanted,
                          double *reached)
{
    const double stretches = work_of_stretches(m), looks = work_of_looks(m);
    if (!(stretches < looks)) {
        forget_gaps(m);
        return TOLD_NOTHING;
    }
    *reached = decay_of_stretches(m, first, last, points);
    if (*reached >= wanted) return TOLD_ENOUGH;
    if (!(DEAR * stretches < looks && first < last)) return TOLD_NOTHING;
    if (decay_of_stretches(m, first, first, points) >= wanted) return TOLD_OF_THE_FIRST;
    *reached = decay_of_stretches(m, first, last, points);
    return TOLD_NOTHING;
}

/* The same at the frequencies after `theta` up to theta + width, of which these gaps are known, with the
 * subsets in use, whose next_square gets |A|^2 there. A width of one frequency needs no interpolation. The
 * steps whose subsets are the smallest are looked at first, and if these suffice, others are left UNKNOWN: no
 * step's |phi| is above 1. */
static double decay_over(prv_march *m, double theta, double width, int one, double wanted)
{
    double sum = 0.0, jumps = 0.0;
    for (size_t i = 0; i < m->steps; i++) {
        const size_t step = m->order[i];
        prv_source *s = &m->sources[step];
        /* Of one atom there is no gap. */
        if (s->curvature > 0.0 && (m->jumps != NULL || !(sum > ENOUGH * wanted))) {
            if (!one && s->modulus_square == UNKNOWN) s->modulus_square = look(m, s, theta);
            s->next_square = look(m, s, theta + width);
            const double gap = one ? gap_of(s, s->next_square, 0.0)
                                   : gap_of(s, fmax(s->modulus_square, s->next_square), width);
            s->gap = fmax(s->gap, gap);
        }
        sum += decay(s, s->gap);
        if (m->jumps == NULL) continue;
        jumps += m->jumps[step].count * m->jumps[step].total / sqrt(1.0 - s->gap);
    }
    if (m->jumps == NULL) return sum;
    /* Between prod beta^k expm1(sum k |j| / beta) and the sum of both moduli. */
    const double reached = sum - log(fmin(expm1(jumps), 2.0));
    if (reached >= wanted) return reached;
    jumps = 0.0;
    for (size_t i = 0; i < m->steps; i++) {
        prv_source *j = &m->jumps[i];
        if (j->modulus_square == UNKNOWN) j->modulus_square = look(m, j, theta);
        j->next_square = look(m, j, theta + width);
        const double square = one ? j->next_square
                                  : fmax(j->modulus_square, j->next_square) + width * width * j->curvature;
        jumps += j->count * fmin(sqrt(square), j->total) / sqrt(1.0 - m->sources[i].gap);
    }
    return sum - log(fmin(expm1(jumps), 2.0));
}

/* log(1 / |Phi|) at theta alone, of the bulk, as far as `enough`. */
static double decay_at(prv_march *m, double theta, double enough)
{
    double sum = 0.0;
    for (size_t i = 0; i < m->steps && sum < enough; i++) {
        prv_source *s = &m->sources[m->order[i]];
        if (!(s->curvature > 0.0)) continue;
        if (s->modulus_square == UNKNOWN) s->modulus_square = look(m, s, theta);
        sum += decay(s, gap_of(s, s->modulus_square, 0.0));
    }
    return sum;
}

/* To where decay_over looked. */
static void move_on(prv_march *m)
{
    for (size_t i = 0; i < m->steps; i++) {
        m->sources[i].modulus_square = m->sources[i].next_square;
        if (m->jumps != NULL) m->jumps[i].modulus_square = m->jumps[i].next_square;
    }
}

/* Over frequencies that are kept, where nobody looked. */
static void move_over(prv_march *m)
{
    for (size_t i = 0; i < m->steps; i++) {
        m->sources[i].modulus_square = UNKNOWN;
        if (m->jumps != NULL) m->jumps[i].modulus_square = UNKNOWN;
    }
}

/* The distance of the atom farthest from the heaviest one, at least 1. */
static double reach_of(const prv_source *s)
{
    return fmax(fmax(fabs(s->position[0]), fabs(s->position[s->length - 1])), 1.0);
}

static size_t size_of_subset(const prv_march *m, size_t step)
{
    return m->sources[step].end - m->sources[step].first;
}

/* From the smallest subset to the largest: those of a march are in order but for a few. */
static void sort_steps(prv_march *m)
{
    for (size_t i = 1; i < m->steps; i++) {
        const size_t step = m->order[i];
        size_t at = i;
        for (; at > 0 && size_of_subset(m, m->order[at - 1]) > size_of_subset(m, step); at--)
            m->order[at] = m->order[at - 1];
        m->order[at] = step;
    }
}

/* The subsets of atoms within this distance of the heaviest one, the same in all steps: what an interval of
 * frequencies tells of atoms is bounded by the product of both. False if none changes. */
static bool resize_subsets(prv_march *m, double radius)
{
    bool changed = false;
    double longest = 1.0;
    for (size_t i = 0; i < m->steps; i++) {
        prv_source *s = &m->sources[i];
        const double reach = reach_of(s), within = fmin(fmax(radius, 1.0), reach);
        longest = fmax(longest, reach);
        if (within == s->radius) continue;
        take_subset(s, within);
        s->modulus_square = UNKNOWN;
        changed = true;
    }
    m->radius = fmin(fmax(radius, 1.0), longest);
    if (changed) sort_steps(m);
    return changed;
}

/* Subsets of half the distance, if at theta these show this decay: true if so. */
static bool try_smaller_subsets(prv_march *m, double theta, double enough)
{
    const double before = m->radius;
    memcpy(m->saved, m->sources, m->steps * sizeof *m->saved);
    if (!resize_subsets(m, 0.5 * before)) return false;
    if (decay_at(m, theta, enough) >= enough) return true;
    memcpy(m->sources, m->saved, m->steps * sizeof *m->saved);
    m->radius = before;
    sort_steps(m);
    return false;
}

static prv_status keep(prv_march *m, double first)
{
    if (m->kept_length == m->kept_capacity) {
        const size_t capacity = 2 * m->kept_capacity + 8;
        double *kept = prv_allocate(capacity, sizeof *kept);
        if (kept == NULL) return PRV_ERR_MEMORY;
        if (m->kept_length > 0) memcpy(kept, m->kept, m->kept_length * sizeof *kept);
        prv_release(m->kept);
        m->kept = kept;
        m->kept_capacity = capacity;
    }
    m->kept[m->kept_length++] = first;
    m->work += m->kept_work * PRV_FREQUENCY_BLOCK;
    return PRV_OK;
}

/* The numbers below save time; no bound relies on them. The pace of a march: where it was when this was last
 * looked at, and the work done by then. It is looked at after each such part of the work that the march may
 * take. */
typedef struct pace {
    double at, work;
} pace;
#define PACE_PART 0.05

/* Of laws with more atoms than this, the subsets shrink on the way, and a march becomes faster. */
#define FEW_ATOMS 64

/* The march to measure by. */
static pace start_of(const prv_march *m, double at)
{
    size_t atoms = 0;
    for (size_t i = 0; i < m->steps; i++)
        atoms += m->sources[i].length + (m->jumps != NULL ? m->jumps[i].length : 0);
    return (pace){at, atoms <= FEW_ATOMS ? m->work : HUGE_VAL};
}

/* Whether all of the way would take more work than the march may take, if it goes on as it came here. */
static bool is_too_slow(const prv_march *m, double at, double last, pace *p)
{
    const double work = m->work - p->work;
    if (!(work > PACE_PART * m->most_work)) return false;
    const double left = work * (last - at) / (at - p->at);
    *p = (pace){at, m->work};
    return m->work + left > m->most_work;
}

/* How far a march came by a quarter of the work that it may take. */
typedef struct progress {
    double begun;   /* the work before it */
    double quarter; /* a part of the way, by the logarithm of the frequency; 0: not there yet */
    bool asked;     /* at half of the work, whether it will arrive */
} progress;

/* If twice the work takes a march this part of the way at most, it is given up. */
#define NOT_ARRIVED 0.95

/* Frequencies grow about by a power of the work: what was gained from a quarter of it to half is gained once
 * more with all of it. Asked once. */
static bool will_not_arrive(const prv_march *m, double first, double at, double last, progress *p)
{
    const double done = (m->work - p->begun) / m->most_work;
    if (p->asked || !(done > 0.25)) return false;
    const double part = log(at / first) / log(last / first);
    if (!(p->quarter > 0.0)) p->quarter = part;
    if (!(done > 0.5)) return false;
    p->asked = true;
    return part + (part - p->quarter) < NOT_ARRIVED;
}

/* The gap 1 - |phi|^2 = sum w_a w_b (1 - cos) is a sum of
 * terms >= 0, so that of any subset of atoms, m^2 - |A|^2, is a lower bound. The farther out the
 * frequency, the fewer atoms around the heaviest suffice. Between samples |A|^2 is bounded by its curvature.
 * A lattice whose atoms are nearly all on every 2^m-th point has |phi| near 1 again at multiples of 2 pi /
 * 2^m. */
static prv_status march_on(prv_march *m, double first, double points, double unit, double tilt,
                           double tolerance, double *result)
{
    *result = 0.0;
    const double last = 0.5 * (points - 1.0), scale = 2.0 * PRV_PI / points;
    if (first > last) return PRV_OK;
    /* With this decay everywhere the sum is half the tolerance. */
    const double wanted = fmax(log(points * unit / (4.0 * first * tolerance)), 0.5);
    double at = first - 1.0, width = floor(0.1 * first) + 1.0; /* in frequencies; those up to `at` are done */
    pace latest = start_of(m, at);
    double tried = wanted; /* the decay shown when smaller subsets were last tried in vain */
    progress way = {m->work, 0.0, false};
    m->radius = 1.0;
    for (size_t i = 0; i < m->steps; i++) {
        prv_source *s = &m->sources[i];
        const double reach = reach_of(s);
        m->radius = fmax(m->radius, reach);
        take_subset(s, reach);
        s->modulus_square = UNKNOWN;
        m->stretches[i] = prv_stretches_of(s);
        m->order[i] = i;
        if (m->jumps == NULL) continue;
        take_jumps(&m->jumps[i]);
        m->jumps[i].modulus_square = UNKNOWN;
    }
    sort_steps(m);
    while (at < last) {
        double reached = 0.0;
        int attempt = 1;
        bool is_seen = false; /* by atoms: stretches did not tell enough */
        for (;; attempt++) {
            width = fmin(width, last - at);
            const told answer = ask_stretches(m, at + 1.0, at + width, points, wanted, &reached);
            if (answer == TOLD_ENOUGH) break;
            if (answer == TOLD_OF_THE_FIRST) {
                width = ceil(0.5 * width);
                attempt--;
                continue;
            }
            is_seen = true;
            reached = decay_over(m, scale * at, scale * width, width == 1.0, wanted);
            if (reached >= wanted) break;
            if ((attempt % 4 == 0 || width == 1.0) && resize_subsets(m, 4.0 * m->radius)) continue;
            if (width == 1.0) break;
            width = ceil(0.5 * width);
        }
        if (m->work > m->most_work || is_too_slow(m, at, last, &latest) ||
            will_not_arrive(m, first, at, last, &way))
            return PRV_ERR_PRECISION;
        prv_status status = prv_check_interrupt(m->options);
        if (status != PRV_OK) return status;
        if (reached < wanted) {
            status = keep(m, at + 1.0);
            if (status != PRV_OK) return status;
            width = fmin(PRV_FREQUENCY_BLOCK, last - at);
            at += width;
            move_over(m);
        } else {
            *result += 2.0 / points * width * exp(-reached) * unit /
                       prv_kernel_divisor(tilt * unit, scale * (at + 1.0));
            at += width;
            move_on(m);
        }
        bool smaller = false;
        if (is_seen && reached > fmin(ENOUGH * wanted, A_LITTLE_MORE * tried)) {
            smaller = try_smaller_subsets(m, scale * at, A_LITTLE_MORE * wanted);
            tried = smaller ? wanted : reached;
        }
        /* An interval twice as long as one that was found by halving is likely to be halved as well, unless
         * the curvature has fallen with the subsets. */
        const bool longer = attempt == 1 || smaller || reached >= ENOUGH * wanted;
        width = fmin(longer ? 2.0 * width : width, floor(0.25 * at) + 1.0);
    }
    /* A sum over intervals, each off by u for each step and each unit of its logarithm. */
    *result *= PRV_SECOND_ORDER;
    return PRV_OK;
}

prv_status prv_left_out(prv_march *m, double first, double points, double unit, double tilt, double tolerance,
                        double *result)
{
    m->saved = prv_allocate(m->steps, sizeof *m->saved);
    m->order = prv_allocate(m->steps, sizeof *m->order);
    m->stretches = prv_allocate(m->steps, sizeof *m->stretches);
    const prv_status status = m->saved == NULL || m->order == NULL || m->stretches == NULL
                                  ? PRV_ERR_MEMORY
                                  : march_on(m, first, points, unit, tilt, tolerance, result);
    prv_release(m->saved);
    prv_release(m->order);
    prv_release(m->stretches);
    m->saved = NULL;
    m->order = NULL;
    m->stretches = NULL;
    return status;
}
