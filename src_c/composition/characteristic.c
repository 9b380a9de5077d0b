#include "composition/characteristic.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/vector_math.h"

enum { GROUP = 16 }; /* atoms that are rotated together: four chains of four hide the latency */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

size_t prv_heaviest(const double *weight, size_t length)
{
    size_t heaviest = 0;
    for (size_t i = 0; i < length; i++)
        if (weight[i] > weight[heaviest]) heaviest = i;
    return heaviest;
}

int64_t prv_unit(const prv_lattice *y, const double *weight, int64_t divisor)
{
    const int64_t origin = y->index[prv_heaviest(weight, y->length)];
    for (size_t i = 0; i < y->length && divisor != 1; i++)
        if (weight[i] > 0.0) divisor = greatest_divisor(divisor, y->index[i] - origin);
    return divisor;
}

prv_status prv_source_new(const prv_lattice *y, const double *weight, size_t origin, double count,
                          prv_source *s)
{
    memset(s, 0, sizeof *s);
    size_t length = 0;
    for (size_t i = 0; i < y->length; i++) {
        length += weight[i] > 0.0;
        s->total += weight[i];
    }
    s->count = count;
    s->most_gap = 1.0;
    s->length = (length + GROUP - 1) / GROUP * GROUP;
    s->block = prv_allocate(2 * s->length, sizeof *s->block);
    if (s->block == NULL) return PRV_ERR_MEMORY;
    s->position = s->block;
    s->weight = s->block + s->length;
    size_t n = 0;
    for (size_t i = 0; i < y->length; i++)
        if (weight[i] > 0.0) {
            s->position[n] = (double)(y->index[i] - y->index[origin]);
            s->weight[n++] = weight[i];
        }
    for (; n < s->length; n++) {
        s->position[n] = n > 0 ? s->position[n - 1] : 0.0;
        s->weight[n] = 0.0;
    }
    return PRV_OK;
}

void prv_source_scale(prv_source *s, double divisor)
{
    for (size_t i = 0; i < s->length; i++) {
        s->position[i] /= divisor;
        s->spread += s->weight[i] * fabs(s->position[i]);
    }
}

/* ---- phi - 1 at a block of frequencies ------------------------------------------------------ */

/* sums[j] = sum of w (e^(i theta_(first + j) position) - 1) over a group of atoms, added. e^(i theta) - 1 is
 * rotated as d + r + d r, which keeps relative accuracy for small angles. */
PRV_VECTOR static void add_group(const double *restrict position, const double *restrict weight, double first,
                                 double points, size_t count, double (*restrict re)[GROUP],
                                 double (*restrict im)[GROUP])
{
    double dr[GROUP], di[GROUP], rr[GROUP], ri[GROUP], wr[GROUP], wi[GROUP];
    const double inverse = 1.0 / points;
    for (size_t a = 0; a < GROUP; a++) {
        const double part = prv_turns(position[a], points, inverse), within = part * points;
        const double nearest = (within + PRV_VM_SHIFTER) - PRV_VM_SHIFTER;
        prv_vm_turn(part, &rr[a], &ri[a]);
        prv_vm_turn(prv_turns(first * nearest, points, inverse), &dr[a], &di[a]);
        dr[a] *= weight[a];
        di[a] *= weight[a];
        wr[a] = weight[a] * rr[a];
        wi[a] = weight[a] * ri[a];
    }
    for (size_t j = 0; j < count; j++)
        for (size_t a = 0; a < GROUP; a++) {
            re[j][a] += dr[a];
            im[j][a] += di[a];
            const double next = dr[a] + wr[a] + (dr[a] * rr[a] - di[a] * ri[a]);
            di[a] = di[a] + wi[a] + (dr[a] * ri[a] + di[a] * rr[a]);
            dr[a] = next;
        }
}

void prv_characteristic(const prv_source *s, double first, size_t count, double points, double *re,
                        double *im)
{
    double sum_re[PRV_FREQUENCY_BLOCK][GROUP], sum_im[PRV_FREQUENCY_BLOCK][GROUP];
    memset(sum_re, 0, sizeof sum_re);
    memset(sum_im, 0, sizeof sum_im);
    for (size_t a = 0; a < s->length; a += GROUP)
        add_group(s->position + a, s->weight + a, first, points, count, sum_re, sum_im);
    for (size_t j = 0; j < count; j++) {
        re[j] = im[j] = 0.0;
        for (size_t a = 0; a < GROUP; a++) {
            re[j] += sum_re[j][a];
            im[j] += sum_im[j][a];
        }
    }
}

double prv_characteristic_error(const prv_source *s, double end, double points)
{
    const double angle = 2.0 * PRV_PI / points * s->spread;
    const double most = 2.0 * s->total;
    return PRV_UNIT *
           ((160.0 + (double)s->length / GROUP) * fmin(most, end * angle) + 1600.0 * fmin(most, angle));
}
