#include "lattices/ratio_merging.h"

#include <math.h>

#include "numerics/rounding.h"

/* How many points are searched for mass that an outcome can be merged with. Outcomes are carried on over so
 * many cells with less mass than this part of theirs: beyond, what they could be merged with is too far away.
 * Tightness alone depends on these. */
enum { REACH = 64, GAP = 4 };
#define DENSE 0.25

/* Heavy outcomes that had nothing dense beside them wait, so many at most, until all others have their
 * places, and are then merged with as many of these as they need, from at most this part of all points. */
enum { MOST_WAITING = 64, PART_OF_POINTS = 8 };

/* Outcomes gathered on one side of a point x, with |1 - R / x| summed over their mass. */
typedef struct gathered {
    double mass, distance;
    size_t outcomes; /* for rounding: so many were added up */
} gathered;

/* Outcomes that lie below a point, or above it. */
typedef struct waiting {
    gathered g;
    size_t point;
    bool below;
} waiting;

typedef struct merging {
    const double *mass, *upper;
    double *null;
    double spacing;
    double grown, shrunk; /* e^spacing - 1, and 1 - e^-spacing */
    size_t points;
    double rounding; /* of means, at most so far */
    bool up;
    size_t waiting_count;
    waiting waiting[MOST_WAITING];
} merging;

/* A distance is a sum of so many terms, of 6 roundings each and one of the sum; what balances it has 3 more
 * of each. The mean of all that is merged lies so much of the distance from the point, as parts of the point.
 */
static void note(merging *m, const gathered *g)
{
    const double mean = g->mass > 0.0 ? g->distance / g->mass : 0.0;
    m->rounding = fmax(m->rounding, PRV_UNIT * (48.0 + 8.0 * (double)g->outcomes) * mean);
}

/* A part of a cell, as seen from its upper point or from its lower one. */
static gathered from_above(const merging *m, size_t c, double part)
{
    return (gathered){part * m->mass[c], part * (m->mass[c] - m->upper[c]) * m->shrunk, 1};
}

static gathered from_below(const merging *m, size_t c, double part)
{
    return (gathered){part * m->mass[c], part * m->upper[c] * m->grown, 1};
}

/* The same from the next point: x e^spacing for outcomes below x, with 1 - R / (x e^spacing) = (1 -
 * e^-spacing) + e^-spacing (1 - R / x); x e^-spacing for outcomes above it. */
static gathered next(const merging *m, gathered g, bool upwards)
{
    const double distance = upwards ? g.mass * m->shrunk + g.distance * (1.0 - m->shrunk)
                                    : g.mass * m->grown + g.distance * (1.0 + m->grown);
    return (gathered){g.mass, distance, g.outcomes + 1};
}

/* Puts outcomes that lie below a point onto it, with mass that was placed above it; or outcomes above it,
 * with mass below. False if there is too little within reach. */
static bool borrow(merging *m, const gathered *g, size_t point, bool from_up)
{
    for (size_t n = 1; n <= REACH; n++) {
        if (from_up ? point + n >= m->points : point < n) return false;
        double *lender = &m->null[from_up ? point + n : point - n];
        const double away = (double)n * m->spacing, each = from_up ? expm1(away) : -expm1(-away);
        const double wanted = g->distance / each;
        if (!(wanted <= *lender)) continue;
        const double part = *lender > 0.0 ? wanted / *lender : 0.0, taken = part * *lender;
        *lender *= 1.0 - part;
        m->null[point] += g->mass + taken;
        note(m, g);
        return true;
    }
    return false;
}

/* Puts outcomes that lie below a point onto the next point below their mean, with mass placed lower; or
 * outcomes above it onto the next point above their mean. Where all mass lies in the same place between
 * points, near the one that is farther from the mode, this is what it needs. False if there is too little
 * within reach. */
static bool retreat(merging *m, const gathered *g, size_t point, bool below)
{
    const double mean = g->distance / g->mass;
    if (below && !(mean < 1.0)) return false;
    const double points = ceil((below ? -log1p(-mean) : log1p(mean)) / m->spacing);
    if (below ? !(points <= (double)point) : !(points < (double)(m->points - point))) return false;
    const double grown = expm1(below ? points * m->spacing
                                     : -points * m->spacing); /* R over that point, less R over this */
    /* Of outcomes below: R / x e^d - 1 = (e^d - 1) - e^d (1 - R / x), d = points * spacing; of others 1 - R /
     * x e^-d. */
    const double distance = below ? g->mass * grown - (1.0 + grown) * g->distance
                                  : -g->mass * grown - (1.0 + grown) * g->distance;
    const gathered seen = {g->mass, fmax(distance, 0.0), g->outcomes + 1};
    m->rounding = fmax(m->rounding, PRV_UNIT * (48.0 + 8.0 * (double)g->outcomes) * (mean + fabs(grown)));
    return borrow(m, &seen, below ? point - (size_t)points : point + (size_t)points, !below);
}

/* As many points beyond one, on the side that faces away from these outcomes, as hold what balances them; 0
 * if there are too few. *rest is what the last of these has to give, as a part of the distance of all. */
static size_t lenders_of(const merging *m, const gathered *g, size_t point, bool from_up, double *rest)
{
    const size_t there = from_up ? m->points - 1 - point : point, most = m->points / PART_OF_POINTS;
    double held = 0.0;
    for (size_t n = 1; n <= there && n <= most + REACH; n++) {
        const double away = (double)n * m->spacing, each = from_up ? expm1(away) : -expm1(-away);
        const double more = m->null[from_up ? point + n : point - n] * each;
        if (held + more >= g->distance) {
            *rest = fmax(g->distance - held, 0.0) / each;
            return n;
        }
        held += more;
    }
    return 0;
}

/* Puts outcomes onto a point with all masses of the next points beyond it, as many as it takes. */
static bool borrow_all(merging *m, const gathered *g, size_t point, bool from_up)
{
    double rest;
    const size_t count = lenders_of(m, g, point, from_up, &rest);
    if (count == 0) return false;
    double taken = 0.0;
    for (size_t n = 1; n < count; n++) {
        double *lender = &m->null[from_up ? point + n : point - n];
        taken += *lender;
        *lender = 0.0;
    }
    double *last = &m->null[from_up ? point + count : point - count];
    const double part = fmin(rest, *last);
    *last = fmax(prv_below(*last - part), 0.0);
    taken += part;
    m->null[point] += (g->mass + taken) * (1.0 - PRV_UNIT * ((double)count + 4.0) * PRV_SECOND_ORDER);
    const gathered all = {g->mass, g->distance, g->outcomes + count};
    note(m, &all);
    return true;
}

/* Puts outcomes that wait onto the point below their mean, with masses below it, or above, with masses above.
 * False if there are too few, or if rounding hides on which side of the point they lie. */
static bool place_waiting(merging *m, const waiting *w, bool above_mean)
{
    const gathered *g = &w->g;
    const double mean = g->distance / g->mass;
    if (w->below && !(mean < 1.0)) return false;
    const double away = (w->below ? -log1p(-mean) : log1p(mean)) / m->spacing;
    const double points = w->below == above_mean ? floor(away) : ceil(away);
    if (w->below ? !(points <= (double)w->point) : !(points < (double)(m->points - w->point))) return false;
    /* As in `retreat`; the point is on the other side of the mean if that is above outcomes below. */
    const double grown = expm1(w->below ? points * m->spacing : -points * m->spacing);
    const double beyond = w->below ? g->mass * grown - (1.0 + grown) * g->distance
                                   : -g->mass * grown - (1.0 + grown) * g->distance;
    const double distance = w->below == above_mean ? -beyond : beyond;
    const double off = PRV_UNIT * (48.0 + 8.0 * (double)g->outcomes) * (mean + fabs(grown));
    if (!(distance >= -off * g->mass)) return false;
    m->rounding = fmax(m->rounding, 2.0 * off); /* of both sides of a point that hides in it */
    const gathered seen = {g->mass, fmax(distance, 0.0), g->outcomes + 1};
    const size_t to = w->below ? w->point - (size_t)points : w->point + (size_t)points;
    return borrow_all(m, &seen, to, above_mean);
}

/* Moves outcomes that lie on one side of a point to the safe side of their mean. Of the 48 roundings of the
 * mean that are counted, by `note` as parts of the point and by `retreat`, which failed before, as parts of a
 * point far below, the mean itself has a few: the rest is more than those of its logarithm and of the
 * quotient. */
static void move_now(merging *m, const gathered *g, size_t point, bool below)
{
    size_t at = point;
    note(m, g);
    const double mean = g->distance / g->mass;
    if (below && !m->up) {
        const double points = ceil(-log1p(-fmin(mean, 1.0)) / m->spacing);
        if (!(points <= (double)point)) return; /* below all points: dropped, which is as R = 0 */
        at = point - (size_t)points;
    } else if (!below && m->up) {
        const double points = ceil(log1p(mean) / m->spacing);
        if (!(points < (double)(m->points - point))) return; /* dropped: R is infinite */
        at = point + (size_t)points;
    }
    m->null[at] += g->mass;
}

/* Lets outcomes wait, or moves them. */
static void move(merging *m, const gathered *g, size_t point, bool below)
{
    if (m->waiting_count < MOST_WAITING)
        m->waiting[m->waiting_count++] = (waiting){*g, point, below};
    else
        move_now(m, g, point, below);
}

static void place_all_waiting(merging *m)
{
    for (size_t i = 0; i < m->waiting_count; i++) {
        const waiting *w = &m->waiting[i];
        if (!place_waiting(m, w, !m->up) && !place_waiting(m, w, m->up))
            move_now(m, &w->g, w->point, w->below);
    }
}

/* Merges outcomes on one side of a point with the cell on the other side. Returns the part of the cell that
 * this takes. If the cell has too little for all, outcomes retreat to where they came from; or the part is 1,
 * and *g is what is left of the outcomes; or they are moved, if they have come through a gap. */
static double balance(merging *m, gathered *g, const gathered *cell, size_t point, bool below)
{
    if (cell->distance >= g->distance) {
        const double taken = cell->distance > 0.0 ? g->distance / cell->distance : 0.0;
        m->null[point] += g->mass + taken * cell->mass;
        note(m, g);
        g->mass = 0.0;
        return taken;
    }
    if (retreat(m, g, point, below)) {
        g->mass = 0.0;
        return 0.0;
    }
    if (!(cell->mass >= DENSE * g->mass) && g->outcomes > GAP) {
        move(m, g, point, below);
        g->mass = 0.0;
        return 0.0;
    }
    const double part = cell->distance / g->distance;
    m->null[point] += part * g->mass + cell->mass;
    note(m, g);
    g->mass *= 1.0 - part;
    g->distance *= 1.0 - part;
    return 1.0;
}

static void settle(merging *m, const gathered *g, size_t point, bool below)
{
    if (!(g->mass > 0.0)) return;
    if (!borrow(m, g, point, below) && !retreat(m, g, point, below)) move(m, g, point, below);
}

static size_t heaviest(const double *mass, size_t cells)
{
    size_t mode = 0;
    for (size_t c = 1; c < cells; c++)
        if (mass[c] > mass[mode]) mode = c;
    return mode;
}

double prv_ratio_merge(const double *mass, const double *upper, size_t cells, double spacing, bool up,
                       double *null)
{
    merging m = {.mass = mass,
                 .upper = upper,
                 .null = null,
                 .spacing = spacing,
                 .grown = expm1(spacing),
                 .shrunk = -expm1(-spacing),
                 .points = cells + 1,
                 .up = up};
    const size_t mode = heaviest(mass, cells);
    /* Towards the mode from either side: there the next cell has more mass than what was gathered. */
    gathered low = {0.0, 0.0, 0}, high = {0.0, 0.0, 0};
    for (size_t c = 0; c < mode; c++) { /* `low` lies below point c, cell c above it */
        const gathered cell = from_below(&m, c, 1.0);
        const double taken = low.mass > 0.0 ? balance(&m, &low, &cell, c, true) : 0.0;
        low = low.mass > 0.0 ? next(&m, low, true) : from_above(&m, c, 1.0 - taken);
    }
    for (size_t c = cells; c-- > mode + 1;) { /* `high` lies above point c + 1, cell c below it */
        const gathered cell = from_above(&m, c, 1.0);
        const double taken = high.mass > 0.0 ? balance(&m, &high, &cell, c + 1, false) : 0.0;
        high = high.mass > 0.0 ? next(&m, high, false) : from_below(&m, c, 1.0 - taken);
    }
    /* The rest of the heaviest cell, after both have had their part. */
    const gathered below = from_below(&m, mode, 1.0), above = from_above(&m, mode, 1.0);
    double left = 1.0;
    if (low.mass > 0.0 && low.distance <= below.distance) {
        left = 1.0 - balance(&m, &low, &below, mode, true);
    }
    if (high.mass > 0.0 && high.distance <= left * above.distance) {
        left = fmax(left - balance(&m, &high, &above, mode + 1, false), 0.0) * (1.0 - 4.0 * PRV_UNIT);
    }
    settle(&m, &low, mode, true);
    settle(&m, &high, mode + 1, false);
    const gathered rest_below = from_below(&m, mode, left), rest_above = from_above(&m, mode, left);
    if (left > 0.0 && mass[mode] > 0.0) {
        const bool nearer_up = 2.0 * upper[mode] > mass[mode];
        const bool first = nearer_up ? borrow(&m, &rest_above, mode + 1, true)
                                     : borrow(&m, &rest_below, mode, false);
        if (!first) {
            if (!(nearer_up ? borrow(&m, &rest_below, mode, false) : borrow(&m, &rest_above, mode + 1, true)))
                move(&m, &rest_above, mode + 1, true);
        }
    }
    place_all_waiting(&m);
    return m.rounding;
}
