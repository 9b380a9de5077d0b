#include "lattices/ratio_runs.h"

#include "numerics/dispatch.h"

PRV_VECTOR static void add_one(const double *restrict a, const double *restrict b, size_t length,
                               double factor, double part, double *restrict mass, double *restrict upper)
{
    for (size_t i = 0; i < length; i++) {
        const double m = factor * (a[i] * b[i]);
        mass[i] += m;
        upper[i] += part * m;
    }
}

PRV_VECTOR static void add_four(const prv_ratio_run *r, const size_t *skip, size_t length,
                                double *restrict mass, double *restrict upper)
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

static void add_part(const prv_ratio_run *r, size_t from, size_t end, prv_ratio_cells *c)
{
    if (from < end)
        add_one(r->a + from, r->b + from, end - from, r->factor, r->upper, c->mass + r->at + from,
                c->upper + r->at + from);
}

/* The cells which all four runs have in common are added to at once, the others run by run. */
void prv_ratio_runs_end(prv_ratio_runs *w, prv_ratio_cells *c)
{
    size_t low = 0, end = SIZE_MAX;
    for (size_t k = 0; k < w->count; k++) {
        const prv_ratio_run *r = &w->runs[k];
        low = r->at > low ? r->at : low;
        end = r->at + r->length < end ? r->at + r->length : end;
    }
    const bool together = w->count == PRV_RUNS_TOGETHER && end > low;
    size_t skip[PRV_RUNS_TOGETHER];
    for (size_t k = 0; k < w->count; k++) {
        const prv_ratio_run *r = &w->runs[k];
        skip[k] = together ? low - r->at : r->length;
        add_part(r, 0, skip[k], c);
        if (together) add_part(r, end - r->at, r->length, c);
    }
    if (together) add_four(w->runs, skip, end - low, c->mass + low, c->upper + low);
    w->count = 0;
}

void prv_ratio_runs_add(prv_ratio_runs *w, const prv_ratio_run *r, prv_ratio_cells *c)
{
    if (w->count > 0 && w->runs[0].factor != r->factor) prv_ratio_runs_end(w, c);
    w->runs[w->count++] = *r;
    if (w->count == PRV_RUNS_TOGETHER) prv_ratio_runs_end(w, c);
}
