#include "composition/stretches.h"

#include <math.h>

#include "numerics/constants.h"
#include "numerics/rounding.h"

/* Products of a stride and a frequency up to this, and sums of few of them, are exact. */
#define MOST_EXACT 0x1p52

/* Stretches that take less than this off |phi| tell nothing. */
#define LEAST_TOLD 1e-9

/* What a stretch takes off |phi| where that is most. */
static double most_of(const prv_stretch *s)
{
    return s->weight - 0.5 * s->variation;
}

/* Keeps the stretches that tell most. */
static void add_stretch(prv_stretches *all, const prv_stretch *s)
{
    if (!(most_of(s) > LEAST_TOLD)) return;
    size_t at = all->count;
    if (at < PRV_MOST_STRETCHES) {
        all->count++;
    } else {
        at = 0;
        for (size_t i = 1; i < all->count; i++)
            if (most_of(&all->each[i]) < most_of(&all->each[at])) at = i;
        if (most_of(&all->each[at]) >= most_of(s)) return;
    }
    all->each[at] = *s;
}

prv_stretches prv_stretches_of(const prv_source *source)
{
    prv_stretches all = {.count = 0};
    const double *position = source->position, *w = source->weight;
    for (size_t i = 0, end; i < source->length; i = end) {
        end = i + 1;
        /* The heaviest atom, and what fills up the last group. */
        if (position[i] == 0.0 || w[i] == 0.0) continue;
        prv_stretch s = {.weight = w[i], .variation = w[i]};
        for (; end < source->length && position[end] != 0.0 && w[end] > 0.0; end++) {
            const double stride = position[end] - position[end - 1];
            if (end == i + 1) s.stride = stride;
            if (stride != s.stride) break;
            s.weight += w[end];
            s.variation += fabs(w[end] - w[end - 1]);
        }
        s.variation += w[end - 1];
        /* Sums of positive terms, each of which rounds, too. */
        const double rounding = (double)(end - i + 4) * PRV_UNIT * PRV_SECOND_ORDER;
        s.weight *= 1.0 - rounding;
        s.variation *= 1.0 + rounding;
        add_stretch(&all, &s);
    }
    return all;
}

double prv_gap_of_stretches(const prv_stretches *stretches, double first, double last, double points)
{
    double sum = 0.0;
    for (size_t i = 0; i < stretches->count; i++) {
        const prv_stretch *s = &stretches->each[i];
        const double low = first * s->stride, high = last * s->stride, turns = floor(low / points);
        if (!(high <= MOST_EXACT)) continue;
        /* The distance of all angles from whole turns, in turns. */
        const double away = fmin(low - turns * points, (turns + 1.0) * points - high) / points;
        if (!(away > 0.0)) continue;
        /* sin x >= x - x^3 / 6 */
        const double x = PRV_PI * fmin(away, 0.5), twice = 2.0 * x * (1.0 - x * x / 6.0);
        sum += fmax(s->weight - s->variation / twice * (1.0 + 16.0 * PRV_UNIT), 0.0);
    }
    const double gap = fmin(sum, 1.0); /* of |phi| */
    return gap * (2.0 - gap) * (1.0 - 32.0 * PRV_UNIT);
}
