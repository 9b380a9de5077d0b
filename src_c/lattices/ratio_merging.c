#include "lattices/ratio_merging.h"

#include <math.h>

#include "numerics/rounding.h"

/* How many points are searched for mass that an outcome can be merged with. Outcomes are carried on over so
 * many cells with less mass than this part of theirs: beyond, what they could be merged with is too far away.
 * Tightness alone depends on these. */
enum { REACH = 64, GAP = 4 };
#define DENSE 0.25

/* Outcomes gathered on one side of a point x, with |1 - R / x| summed over their mass. */
typedef struct gathered {
    double mass, distance;
    size_t outcomes; /* for rounding: so many were added up */
} gathered;

typedef struct merging {
    const double *mass, *upper;
    double *null;
    double spacing;
    double grown, shrunk; /* e^spacing - 1, and 1 - e^-spacing */
    size_t points;
    double rounding; /* of means, at most so far */
    bool up;
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

/* Moves outcomes that lie on one side of a point to the safe side of their mean. */
static void move(merging *m, const gathered *g, size_t point, bool below)
{
    size_t at = point;
    note(m, g);
    /* The mean is as `note` says; its logarithm and a quotient are rounded besides. */
    const double mean = g->distance / g->mass, slack = 1e-9 + 8.0 * PRV_UNIT * (double)m->points;
    if (below && !m->up) {
        const double points = ceil(-log1p(-fmin(mean, 1.0)) / m->spacing + slack);
        if (!(points <= (double)point)) return; /* below all points: dropped, which is as R = 0 */
        at = point - (size_t)points;
    } else if (!below && m->up) {
        const double points = ceil(log1p(mean) / m->spacing + slack);
        if (!(points < (double)(m->points - point))) return; /* dropped: R is infinite */
        at = point + (size_t)points;
    }
    m->null[at] += g->mass;
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
    merging m = {mass, upper, null, spacing, expm1(spacing), -expm1(-spacing), cells + 1, 0.0, up};
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
                null[up ? mode + 1 : mode] += left * mass[mode];
        }
    }
    return m.rounding;
}
