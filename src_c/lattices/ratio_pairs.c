#include "lattices/ratio_pairs.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"
#include "lattices/ratio_stretches.h"

double prv_ratio_log_average(double weight, double d, double *error)
{
    /* The greater of both terms is taken out. */
    const double one = log(weight), other = log1p(-weight) + d, top = fmax(one, other);
    const double value = fabs(d) < 1.0 && weight < 1.0 ? log1p((1.0 - weight) * expm1(d))
                                                       : top + log1p(exp(fmin(one, other) - top));
    *error = PRV_UNIT * (16.0 + 8.0 * (fabs(value) + fabs(d)));
    return value;
}

/* Errors grow with the distance of both points, and by 12 u with that of their average, which is no more. */
double prv_ratio_error_of_pairs(double weight, double farthest)
{
    double error;
    prv_ratio_log_average(weight, farthest, &error);
    return error + PRV_UNIT * (32.0 + 12.0 * farthest);
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* Where the average of two points lies whose numbers differ by d, first <= d: counted from that of a, in
 * cells of the finer lattice. Without `cell`, each is computed when it is asked for. */
typedef struct places {
    int64_t first;
    int64_t *cell;
    double *upper;
} places;

/* Places of points 0, 1, ... apart, stored upwards or downwards. */
typedef struct place_list {
    int64_t *cell;
    double *upper;
    int64_t direction;
} place_list;

static prv_ratio_place place_of_pair(const prv_ratio_averaging *v, int64_t d)
{
    const double spacing = v->a->spacing / (double)v->finer;
    double error;
    const double above = prv_ratio_log_average(v->weight, v->a->spacing * (double)d, &error);
    return prv_ratio_place_of(above, error + 4.0 * PRV_UNIT * fabs(above), spacing,
                              prv_ratio_up_is_safe(v->side));
}

static prv_ratio_place place_at(const prv_ratio_averaging *v, const places *p, int64_t d)
{
    if (p->cell == NULL) return place_of_pair(v, d);
    return (prv_ratio_place){p->cell[d - p->first], p->upper[d - p->first]};
}

/* e^-(spacing k), k < length, in so far as it is above e^-700: off by u (|x| + 4) of itself, x the exponent
 * (vector_math.h). Less than e^-700 is as good as nothing beside a weight above 2^-64. */
PRV_VECTOR static void falling_powers(double spacing, size_t length, double *power)
{
    for (size_t k = 0; k < length; k++) power[k] = prv_vm_exp_near(prv_vm_max(-spacing * (double)k, -700.0));
}

/* The relative error of y = w + (1 - w) e^-x, and of the power that it is compared with, whose exponent is
 * no more than x and a spacing: weights are off by 2 u, powers by u (x + 4), product and sum by u each. */
static double error_of_average(double x)
{
    return PRV_UNIT * (32.0 + 4.0 * x);
}

/* Places relative to the upper one of two points, from 0 to `most` points apart: `own` is its weight, `other`
 * that of the lower one. y = own + other e^-x falls as x grows, and moves down by a cell at a time. It is
 * moved by its error, and that of the power e^(-spacing c) below it, to the safe side. The part has 5
 * roundings more. */
static void find_places(double own, double other, size_t most, unsigned finer, double spacing,
                        const double *power, bool up, place_list list)
{
    const double width = expm1(spacing), off = 8.0 * PRV_UNIT;
    size_t below = 0;
    for (size_t d = 0; d <= most; d++) {
        const double error = error_of_average(spacing * (double)(d * finer));
        const double y = (own + other * power[d * finer]) * (up ? 1.0 + error : 1.0 - error);
        while (y < power[below] && below <= most * finer) below++;
        const double part = fmax(y - power[below], 0.0) / (power[below] * width);
        const int64_t at = (int64_t)d * list.direction;
        list.cell[at] = -(int64_t)below;
        list.upper[at] = up ? fmin(part * (1.0 + off) + off, 1.0)
                            : fmax(fmin(part, 1.0) * (1.0 - off) - off, 0.0);
    }
}

/* The places of all differences from `first` to `last`, if the spacing is far above what they are known to.
 */
static prv_status places_new(const prv_ratio_averaging *v, int64_t first, int64_t last, places *p)
{
    memset(p, 0, sizeof *p);
    const size_t down = first < 0 ? (size_t)-first : 0, up = last > 0 ? (size_t)last : 0;
    const size_t most = down > up ? down : up;
    const double spacing = v->a->spacing / (double)v->finer;
    const bool safe_up = prv_ratio_up_is_safe(v->side);
    if (!(error_of_average(v->a->spacing * (double)most) < 0x1p-6 * spacing && spacing < 0.5)) return PRV_OK;
    double *power = prv_allocate(most * v->finer + 2, sizeof *power);
    p->first = -(int64_t)down;
    p->cell = prv_allocate(down + up + 1, sizeof *p->cell);
    p->upper = prv_allocate(down + up + 1, sizeof *p->upper);
    const bool made = power != NULL && p->cell != NULL && p->upper != NULL;
    if (made) {
        falling_powers(spacing, most * v->finer + 2, power);
        const place_list backwards = {p->cell + down, p->upper + down, -1};
        const place_list forwards = {p->cell + down, p->upper + down, 1};
        find_places(v->weight, 1.0 - v->weight, down, v->finer, spacing, power, safe_up, backwards);
        find_places(1.0 - v->weight, v->weight, up, v->finer, spacing, power, safe_up, forwards);
        for (size_t d = 0; d <= up; d++) p->cell[down + d] += (int64_t)(d * v->finer); /* from point b to a */
    }
    prv_release(power);
    return made ? PRV_OK : PRV_ERR_MEMORY;
}

static void places_free(places *p)
{
    prv_release(p->cell);
    prv_release(p->upper);
}

/* ---- Runs of pairs --------------------------------------------------------------------------- */

/* Points of a and as many of b, whose averages lie in a run of cells, from `at` on. */
typedef struct run {
    const double *a, *b;
    size_t at, length;
    double factor, upper;
} run;

enum { TOGETHER = 4 };

/* Runs that end in the same cells are added up together, so that these are visited once. */
typedef struct waiting {
    size_t count;
    run runs[TOGETHER];
} waiting;

PRV_VECTOR static void add_one(const double *restrict a, const double *restrict b, size_t length,
                               double factor, double part, double *restrict mass, double *restrict upper)
{
    for (size_t i = 0; i < length; i++) {
        const double m = factor * (a[i] * b[i]);
        mass[i] += m;
        upper[i] += part * m;
    }
}

PRV_VECTOR static void add_four(const run *r, const size_t *skip, size_t length, double *restrict mass,
                                double *restrict upper)
{
    const double *restrict a0 = r[0].a + skip[0], *restrict b0 = r[0].b + skip[0];
    const double *restrict a1 = r[1].a + skip[1], *restrict b1 = r[1].b + skip[1];
    const double *restrict a2 = r[2].a + skip[2], *restrict b2 = r[2].b + skip[2];
    const double *restrict a3 = r[3].a + skip[3], *restrict b3 = r[3].b + skip[3];
    const double f = r[0].factor, u0 = r[0].upper, u1 = r[1].upper, u2 = r[2].upper, u3 = r[3].upper;
    for (size_t i = 0; i < length; i++) {
        const double m0 = a0[i] * b0[i], m1 = a1[i] * b1[i], m2 = a2[i] * b2[i], m3 = a3[i] * b3[i];
        mass[i] += f * ((m0 + m1) + (m2 + m3));
        upper[i] += f * ((u0 * m0 + u1 * m1) + (u2 * m2 + u3 * m3));
    }
}

static void add_part(const run *r, size_t from, size_t end, prv_ratio_cells *c)
{
    if (from < end)
        add_one(r->a + from, r->b + from, end - from, r->factor, r->upper, c->mass + r->at + from,
                c->upper + r->at + from);
}

/* All that wait: the cells which all four runs have in common at once, the others run by run. */
static void add_waiting(waiting *w, prv_ratio_cells *c)
{
    size_t low = 0, end = SIZE_MAX;
    for (size_t k = 0; k < w->count; k++) {
        const run *r = &w->runs[k];
        low = r->at > low ? r->at : low;
        end = r->at + r->length < end ? r->at + r->length : end;
    }
    const bool together = w->count == TOGETHER && end > low;
    size_t skip[TOGETHER];
    for (size_t k = 0; k < w->count; k++) {
        const run *r = &w->runs[k];
        skip[k] = together ? low - r->at : r->length;
        add_part(r, 0, skip[k], c);
        if (together) add_part(r, end - r->at, r->length, c);
    }
    if (together) add_four(w->runs, skip, end - low, c->mass + low, c->upper + low);
    w->count = 0;
}

/* ---- Pairs of stretches ---------------------------------------------------------------------- */

enum { STRIDES = 6 }; /* 1, 2, ..., PRV_WIDEST_STRIDE */

/* Sums of pairs, by the wider stride of both points: runs of averages are as far apart. */
typedef struct sums {
    const prv_ratio_averaging *v;
    places places;
    bool same;              /* both laws are one with equal weights: (i, j) and (j, i) have one average */
    prv_ratio_cells *cells; /* of stride 1, and of the whole */
    prv_ratio_cells wider[STRIDES]; /* of the other strides, when they are needed */
    waiting *waiting;               /* [planes] of the stride at work */
    double *scratch;                /* masses of both stretches, stride by stride */
    size_t since_check;
} sums;

/* Points of one law a stride apart, in a row. */
typedef struct row {
    const double *mass;
    int64_t first;
    size_t count;
} row;

static prv_status add_diagonals(sums *s, const row *a, const row *b, size_t stride, prv_ratio_cells *cells,
                                bool half)
{
    const int64_t n = (int64_t)a->count, m = (int64_t)b->count, step = (int64_t)stride;
    for (int64_t e = 1 - n; e < (half ? 1 : m); e++) {
        if (++s->since_check % 1024 == 0) {
            const prv_status status = prv_check_interrupt(s->v->side->options);
            if (status != PRV_OK) return status;
        }
        const int64_t low = e < 0 ? -e : 0, end = n < m - e ? n : m - e;
        if (low >= end) continue;
        const int64_t apart = b->first - a->first + e * step;
        const size_t length = (size_t)(end - low);
        const double factor = s->same && !(half && e == 0) ? 2.0 : 1.0;
        if (apart == 0) { /* an average of equal points is that point */
            prv_ratio_cells_add_on_points(s->cells, (a->first + low * step) * (int64_t)s->v->finer,
                                          stride * s->v->finer, a->mass + low, b->mass + low + e, length,
                                          factor);
            continue;
        }
        const prv_ratio_place p = place_at(s->v, &s->places, apart);
        const int64_t cell = (a->first + low * step) * (int64_t)s->v->finer + p.cell;
        size_t at;
        if (!prv_ratio_find_cells(cells, cell, length, &at)) continue;
        const run r = {a->mass + low, b->mass + low + e, at, length, factor, p.upper};
        waiting *w = &s->waiting[at / cells->length];
        if (w->count > 0 && w->runs[0].factor != r.factor) add_waiting(w, cells);
        w->runs[w->count++] = r;
        if (w->count == TOGETHER) add_waiting(w, cells);
    }
    return PRV_OK;
}

/* The masses of a stretch as rows a wider stride apart. */
static size_t rows_of(const prv_ratio_law *law, const prv_ratio_stretch *stretch, size_t stride,
                      double *masses, row *rows)
{
    const size_t every = stride / stretch->stride;
    size_t used = 0;
    for (size_t q = 0; q < every; q++) {
        rows[q].mass = masses + used;
        rows[q].first = stretch->first + (int64_t)(q * stretch->stride);
        prv_ratio_copy_stretch(law, stretch, q, every, masses + used, &rows[q].count);
        used += rows[q].count;
    }
    return every;
}

static prv_status cells_of_stride(sums *s, size_t stride, prv_ratio_cells **cells)
{
    *cells = s->cells;
    if (stride == 1) return PRV_OK;
    size_t n = 0;
    while (((size_t)1 << n) < stride) n++;
    *cells = &s->wider[n];
    return (*cells)->mass != NULL ? PRV_OK : prv_ratio_cells_like(s->cells, s->v->finer * stride, *cells);
}

static prv_status add_stretches(sums *s, const prv_ratio_stretch *of_a, const prv_ratio_stretch *of_b,
                                bool half)
{
    const size_t stride = of_a->stride > of_b->stride ? of_a->stride : of_b->stride;
    prv_ratio_cells *cells;
    prv_status status = cells_of_stride(s, stride, &cells);
    if (status != PRV_OK) return status;
    row a[PRV_WIDEST_STRIDE], b[PRV_WIDEST_STRIDE];
    const size_t a_rows = rows_of(s->v->a, of_a, stride, s->scratch, a);
    const size_t b_rows = rows_of(s->v->b, of_b, stride, s->scratch + of_a->count, b);
    for (size_t i = 0; i < a_rows; i++)
        for (size_t j = 0; j < b_rows && status == PRV_OK; j++)
            status = add_diagonals(s, &a[i], &b[j], stride, cells, half);
    for (size_t i = 0; i < cells->planes; i++) add_waiting(&s->waiting[i], cells);
    return status;
}

static prv_status add_all_stretches(sums *s)
{
    prv_ratio_stretch of_a[PRV_MOST_STRETCHES], of_b[PRV_MOST_STRETCHES];
    size_t a_count, b_count;
    prv_status status = prv_ratio_find_stretches(s->v->a, of_a, &a_count);
    if (status != PRV_OK) return status;
    status = prv_ratio_find_stretches(s->v->b, of_b, &b_count);
    if (status != PRV_OK) return status;
    for (size_t i = 0; i < a_count; i++)
        for (size_t j = s->same ? i : 0; j < b_count && status == PRV_OK; j++)
            status = add_stretches(s, &of_a[i], &of_b[j], s->same && i == j);
    for (int n = 0; n < STRIDES && status == PRV_OK; n++)
        if (s->wider[n].mass != NULL) prv_ratio_cells_join(s->cells, &s->wider[n]);
    return status;
}

/* ---- Few points ------------------------------------------------------------------------------ */

/* The numbers of the points with mass. NULL if there is no memory. */
static size_t *points_with_mass(const prv_ratio_law *law, size_t count)
{
    size_t *points = prv_allocate(count, sizeof *points);
    if (points == NULL) return NULL;
    size_t n = 0;
    for (size_t i = 0; i < law->length; i++)
        if (law->null[i] > 0.0) points[n++] = i;
    return points;
}

/* All pairs of points with mass, one by one. */
static prv_status add_one_by_one(const prv_ratio_averaging *v, size_t a_count, size_t b_count,
                                 prv_ratio_cells *cells)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    size_t *of_a = points_with_mass(a, a_count), *of_b = points_with_mass(b, b_count);
    prv_status status = of_a != NULL && of_b != NULL ? PRV_OK : PRV_ERR_MEMORY;
    for (size_t i = 0; i < a_count && status == PRV_OK; i++) {
        status = prv_check_interrupt(v->side->options);
        const int64_t at_a = a->first + (int64_t)of_a[i];
        for (size_t j = 0; j < b_count && status == PRV_OK; j++) {
            const int64_t apart = b->first + (int64_t)of_b[j] - at_a;
            if (apart == 0) {
                prv_ratio_cells_add_on_points(cells, at_a * (int64_t)v->finer, 1, &a->null[of_a[i]],
                                              &b->null[of_b[j]], 1, 1.0);
                continue;
            }
            const prv_ratio_place p = place_of_pair(v, apart);
            size_t at;
            if (!prv_ratio_find_cells(cells, at_a * (int64_t)v->finer + p.cell, 1, &at)) continue;
            const double m = a->null[of_a[i]] * b->null[of_b[j]];
            cells->mass[at] += m;
            cells->upper[at] += p.upper * m;
        }
    }
    prv_release(of_a);
    prv_release(of_b);
    return status;
}

/* Whether so few points have mass that their pairs are not worth runs. */
static bool are_few(const prv_ratio_law *law, size_t points)
{
    return points <= law->length / (2 * PRV_WIDEST_STRIDE);
}

/* ---- All pairs ------------------------------------------------------------------------------- */

prv_status prv_ratio_add_pairs(const prv_ratio_averaging *v, prv_ratio_cells *cells)
{
    const prv_ratio_law *a = v->a, *b = v->b;
    const size_t a_count = prv_ratio_point_count(a), b_count = prv_ratio_point_count(b);
    if (are_few(a, a_count) && are_few(b, b_count)) {
        cells->terms = a_count * b_count + 4;
        return add_one_by_one(v, a_count, b_count, cells);
    }
    const int64_t a_last = a->first + (int64_t)a->length - 1, b_last = b->first + (int64_t)b->length - 1;
    sums s = {.v = v, .same = a == b && v->weight == 0.5, .cells = cells};
    prv_status status = places_new(v, b->first - a_last, b_last - a->first, &s.places);
    if (status != PRV_OK) goto done;
    /* Of each difference one pair lies in a cell; and sums of strides are added up. */
    cells->terms = a->length + b->length + STRIDES + 4;
    status = PRV_ERR_MEMORY;
    s.scratch = prv_allocate(a->length + b->length, sizeof *s.scratch);
    s.waiting = prv_allocate((size_t)v->finer * PRV_WIDEST_STRIDE, sizeof *s.waiting);
    if (s.scratch == NULL || s.waiting == NULL) goto done;
    memset(s.waiting, 0, (size_t)v->finer * PRV_WIDEST_STRIDE * sizeof *s.waiting);
    status = add_all_stretches(&s);
done:
    for (int n = 0; n < STRIDES; n++) prv_ratio_cells_free(&s.wider[n]);
    places_free(&s.places);
    prv_release(s.scratch);
    prv_release(s.waiting);
    return status;
}
