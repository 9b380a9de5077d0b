#include "lattices/ratio_pairs.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "lattices/ratio_places.h"
#include "lattices/ratio_runs.h"
#include "lattices/ratio_stretches.h"
#include "lattices/ratio_thinning.h"

static prv_ratio_mesh mesh_of(const prv_ratio_averaging *v)
{
    return (prv_ratio_mesh){v->weight, v->a->spacing, v->finer, prv_ratio_up_is_safe(v->side)};
}

/* ---- Pairs of stretches ---------------------------------------------------------------------- */

/* Cells of averages are so many times closer than points that are thinned: the average of two points lies
 * where points may be half as far apart. */
#define CELLS_OF_THINNED 4

enum {
    STRIDES = 6,                                                   /* 1, 2, ..., PRV_WIDEST_STRIDE */
    ROOM_FOR_ENDS = 2 * PRV_WIDEST_STRIDE + 8 * PRV_MOST_STRETCHES /* rows end at multiples of a stride */
};

/* Pairs of stretches with this stride, the wider one of both. Points of the other one are thinned to it, so
 * that both lie on the lattice of its multiples, in whose cells averages are counted; or they make several
 * rows. */
typedef struct group {
    size_t stride;
    bool thinned;
} group;

/* Of each two stretches, the group; stride 0 of those that are others in another order. */
typedef struct groups {
    group of[PRV_MOST_STRETCHES][PRV_MOST_STRETCHES];
} groups;

/* A stretch as `every` rows, one after another in `mass`: of points 0, every, ..., of points 1, every + 1,
 * ..., and so on. */
typedef struct rows {
    const double *mass;
    int64_t first;        /* number of the first point */
    size_t count;         /* of points */
    size_t stride, every; /* of points, and how many rows */
} rows;

/* Sums of the pairs of a group. */
typedef struct sums {
    const prv_ratio_averaging *v;
    bool same; /* both laws are one with equal weights: (i, j) and (j, i) have one average */
    group group;
    int64_t unit; /* numbers of points are counted in this on the mesh */
    prv_ratio_mesh mesh;
    rows rows[2][PRV_MOST_STRETCHES]; /* of both laws */
    double *masses;                   /* of all rows */
    double shift;                     /* what means of rows miss their points by, at most */
    prv_ratio_places places;
    prv_ratio_cells *cells;
    prv_ratio_runs *waiting; /* [planes] */
    size_t since_check;
} sums;

/* |log R| of the point of a stretch that is nearest to 0. */
static double from_zero(const prv_ratio_law *law, const prv_ratio_stretch *s)
{
    const double low = law->offset + law->spacing * (double)s->first;
    const double high = low + law->spacing * (double)((s->count - 1) * s->stride);
    return prv_ratio_from_zero(low, high);
}

/* Points nearer to 0 than those with the wider stride may lie as far apart as these, if these may be thinned
 * to it: the logarithm of the average varies less with them. */
static group group_of(const prv_ratio_averaging *v, const prv_ratio_stretch *a, const prv_ratio_stretch *b)
{
    const bool a_is_wider = a->stride > b->stride;
    const size_t stride = a_is_wider ? a->stride : b->stride;
    const double away = a_is_wider ? from_zero(v->a, a) : from_zero(v->b, b);
    return (group){stride, a->stride == b->stride ||
                               (double)stride * v->a->spacing <= prv_ratio_thinned_spacing(v->share, away)};
}

static void find_groups(const prv_ratio_averaging *v, bool same, groups *all)
{
    const group none = {0, false};
    for (size_t i = 0; i < v->of_a.count; i++)
        for (size_t j = 0; j < v->of_b.count; j++)
            all->of[i][j] = same && j < i ? none : group_of(v, &v->of_a.at[i], &v->of_b.at[j]);
}

static bool is_in(const group *g, const sums *s)
{
    return g->stride == s->group.stride && g->thinned == s->group.thinned;
}

/* Writes the rows of a stretch to `masses`. */
static prv_status make_rows(sums *s, const prv_ratio_law *law, const prv_ratio_stretch *stretch,
                            double *masses, rows *r)
{
    if (s->group.thinned) {
        double shift;
        *r = (rows){.mass = masses, .stride = s->group.stride, .every = 1};
        const prv_status status = prv_ratio_thin_stretch(s->v->side, law, stretch, r->stride, masses,
                                                         &r->first, &r->count, &shift);
        s->shift = fmax(s->shift, shift);
        return status;
    }
    *r = (rows){masses, stretch->first, stretch->count, stretch->stride, s->group.stride / stretch->stride};
    const double *at = law->null + (stretch->first - law->first);
    for (size_t n = 0; n < r->every; n++)
        for (size_t i = n; i < r->count; i += r->every) *masses++ = at[i * r->stride];
    return PRV_OK;
}

/* Both laws' rows for the pairs of the group; `first` to `last` are the numbers of their points. */
static prv_status find_rows(sums *s, const groups *all, int64_t *first, int64_t *last)
{
    bool needed[2][PRV_MOST_STRETCHES] = {{false}};
    for (size_t i = 0; i < s->v->of_a.count; i++)
        for (size_t j = 0; j < s->v->of_b.count; j++)
            if (is_in(&all->of[i][j], s)) needed[0][i] = needed[!s->same][j] = true;
    double *masses = s->masses;
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (int law = 0; law < 2; law++) {
        const prv_ratio_stretches *in = law == 0 ? &s->v->of_a : &s->v->of_b;
        for (size_t i = 0; i < in->count; i++) {
            if (!needed[law][i]) continue;
            rows *r = &s->rows[law][i];
            const prv_status status = make_rows(s, law == 0 ? s->v->a : s->v->b, &in->at[i], masses, r);
            if (status != PRV_OK) return status;
            masses += r->count;
            const int64_t end = r->first + (int64_t)((r->count - 1) * r->stride);
            if (r->first < *first) *first = r->first;
            if (end > *last) *last = end;
        }
    }
    return PRV_OK;
}

/* One row, whose points are a stride apart. */
typedef struct row {
    const double *mass;
    int64_t first;
    size_t count;
} row;

/* The next row of a stretch, of row number n; `mass` is where it begins, and then where it ends. */
static row next_row(const rows *r, size_t n, const double **mass)
{
    const size_t count = n < r->count ? (r->count - 1 - n) / r->every + 1 : 0;
    const row next = {*mass, r->first + (int64_t)(n * r->stride), count};
    *mass += count;
    return next;
}

static prv_status add_diagonals(sums *s, const row *a, const row *b, bool half)
{
    const int64_t n = (int64_t)a->count, m = (int64_t)b->count, finer = s->mesh.finer;
    const int64_t a_first = a->first / s->unit, step = (int64_t)s->group.stride / s->unit;
    for (int64_t e = 1 - n; e < (half ? 1 : m); e++) {
        if (++s->since_check % 1024 == 0) {
            const prv_status status = prv_check_interrupt(s->v->side->options);
            if (status != PRV_OK) return status;
        }
        const int64_t low = e < 0 ? -e : 0, end = n < m - e ? n : m - e;
        if (low >= end) continue;
        const int64_t apart = b->first / s->unit - a_first + e * step,
                      lowest = (a_first + low * step) * finer;
        const size_t length = (size_t)(end - low);
        const double factor = s->same && !(half && e == 0) ? 2.0 : 1.0;
        if (apart == 0) { /* an average of equal points is that point */
            prv_ratio_cells_add_on_points(s->cells, lowest, (size_t)(step * finer), a->mass + low,
                                          b->mass + low + e, length, factor);
            continue;
        }
        const prv_ratio_place p = prv_ratio_place_at(&s->mesh, &s->places, apart);
        size_t at;
        if (!prv_ratio_find_cells(s->cells, lowest + p.cell, length, &at)) continue;
        const prv_ratio_run r = {a->mass + low, b->mass + low + e, at, length, factor, p.upper};
        prv_ratio_runs_add(&s->waiting[at / s->cells->length], &r, s->cells);
    }
    return PRV_OK;
}

static prv_status add_rows(sums *s, const rows *of_a, const rows *of_b, bool half)
{
    const double *a_mass = of_a->mass;
    for (size_t i = 0; i < of_a->every; i++) {
        const row a = next_row(of_a, i, &a_mass);
        const double *b_mass = of_b->mass;
        for (size_t j = 0; j < of_b->every; j++) {
            const row b = next_row(of_b, j, &b_mass);
            const prv_status status = add_diagonals(s, &a, &b, half);
            if (status != PRV_OK) return status;
        }
    }
    for (size_t i = 0; i < s->cells->planes; i++) prv_ratio_runs_end(&s->waiting[i], s->cells);
    return PRV_OK;
}

static prv_status add_all_rows(sums *s, const groups *all)
{
    for (size_t i = 0; i < s->v->of_a.count; i++)
        for (size_t j = 0; j < s->v->of_b.count; j++) {
            if (!is_in(&all->of[i][j], s)) continue;
            const prv_status status = add_rows(s, &s->rows[0][i], &s->rows[!s->same][j], s->same && i == j);
            if (status != PRV_OK) return status;
        }
    return PRV_OK;
}

/* Cells for the averages of points whose numbers on the mesh are `first` to `last`. */
static prv_status own_cells(const sums *s, int64_t first, int64_t last, const prv_ratio_cells *all,
                            prv_ratio_cells *own)
{
    const double closer = (double)s->mesh.finer;
    const double error = prv_ratio_error_of_pairs(s->v->weight, s->mesh.spacing * (double)(last - first));
    const size_t planes = s->mesh.finer * s->group.stride / (size_t)s->unit;
    const prv_status status = prv_ratio_cells_new((double)first * closer, (double)last * closer, error,
                                                  planes, all->offset, s->mesh.spacing / closer, own);
    own->terms = all->terms;
    return status;
}

/* All pairs of a group. Those of stride 1 are added to `cells`, others to cells of their own first. */
static prv_status add_group(sums *s, const groups *all, prv_ratio_cells *cells)
{
    const size_t stride = s->group.stride, closest = s->v->finer * stride;
    int64_t first, last;
    s->shift = 0.0;
    prv_status status = find_rows(s, all, &first, &last);
    if (status != PRV_OK || last < first) return status;
    s->unit = s->group.thinned ? (int64_t)stride : 1;
    s->mesh = mesh_of(s->v);
    s->mesh.spacing *= (double)s->unit;
    if (s->unit > 1) s->mesh.finer = closest < CELLS_OF_THINNED ? (unsigned)closest : CELLS_OF_THINNED;
    first /= s->unit;
    last /= s->unit;
    prv_ratio_cells own;
    s->cells = stride == 1 ? cells : &own;
    if (stride > 1) status = own_cells(s, first, last, cells, &own);
    if (status != PRV_OK) return status;
    status = prv_ratio_places_new(&s->mesh, (size_t)(last - first), &s->places);
    if (status == PRV_OK) status = add_all_rows(s, all);
    prv_ratio_places_free(&s->places);
    if (stride == 1) return status;
    if (status != PRV_OK) {
        prv_ratio_cells_free(&own);
        return status;
    }
    own.shift = s->shift;
    return prv_ratio_cells_join(cells, &own, s->unit * (int64_t)s->v->finer / (int64_t)s->mesh.finer,
                                s->v->side);
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
    const prv_ratio_mesh m = mesh_of(v);
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
            const prv_ratio_place p = prv_ratio_place_of_pair(&m, apart);
            size_t at;
            if (!prv_ratio_find_cells(cells, at_a * (int64_t)v->finer + p.cell, 1, &at)) continue;
            const double mass = a->null[of_a[i]] * b->null[of_b[j]];
            cells->mass[at] += mass;
            cells->upper[at] += p.upper * mass;
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
    sums s = {.v = v, .same = a == b && v->weight == 0.5};
    groups all;
    find_groups(v, s.same, &all);
    /* Of each difference one pair lies in a cell, or one for each of two rows that end at its points; and
     * groups are added up, of two cells beside a point. */
    cells->terms = 4 * (a->length + b->length) + 4 * STRIDES + 4;
    const size_t planes = (size_t)v->finer * PRV_WIDEST_STRIDE;
    prv_status status = PRV_ERR_MEMORY;
    s.masses = prv_allocate(2 * (a->length + b->length) + ROOM_FOR_ENDS, sizeof *s.masses);
    s.waiting = prv_allocate(planes, sizeof *s.waiting);
    if (s.masses == NULL || s.waiting == NULL) goto done;
    memset(s.waiting, 0, planes * sizeof *s.waiting);
    status = PRV_OK;
    for (size_t stride = 1; stride <= PRV_WIDEST_STRIDE && status == PRV_OK; stride *= 2)
        for (int thinned = 0; thinned < 2 && status == PRV_OK; thinned++) {
            s.group = (group){stride, thinned};
            status = add_group(&s, &all, cells);
        }
done:
    prv_release(s.masses);
    prv_release(s.waiting);
    return status;
}
