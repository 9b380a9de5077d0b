#include "lattices/ratio_product.h"

#include <float.h>
#include <math.h>

#include "base/progress.h"
#include "numerics/dispatch.h"
#include "numerics/rounding.h"
#include "numerics/wide.h"
#include "lattices/ratio_ends.h"

PRV_VECTOR static void add_scaled(const double *restrict a, size_t length, double factor,
                                  double *restrict sum)
{
    for (size_t i = 0; i < length; i++) sum[i] += factor * a[i];
}

static double special_total(const prv_ratio_law *a, const prv_ratio_side *s)
{
    prv_wide sum = prv_wide_of(0.0);
    for (size_t i = 0; i < a->length; i++) sum = prv_wide_add(sum, prv_wide_of(prv_ratio_special(a, i)));
    return prv_wide_value(sum) * prv_ratio_outwards(s, prv_ratio_special_error(a) + 4.0 * PRV_UNIT);
}

void prv_ratio_set_ends_of_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *s,
                                   prv_ratio_law *product)
{
    const double few = 16.0 * PRV_UNIT;
    if (s->add && (a->zero > 0.0 || b->zero > 0.0))
        product->zero = prv_ratio_safe_mass(s, a->zero + b->zero * (1.0 - a->zero), few);
    if (!s->add && (a->infinite > 0.0 || b->infinite > 0.0)) {
        const double with_a = a->infinite * special_total(b, s), with_b = b->infinite * special_total(a, s);
        product->infinite = prv_ratio_safe_mass(s, with_a + with_b + a->infinite * b->infinite, few);
    }
}

prv_status prv_ratio_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *s,
                             prv_ratio_law *product)
{
    /* Numbers of points fit in 53 bits (prv_ratio_point), after any number of products. */
    if (!(fabs((double)a->first + (double)b->first) < 0x1p50)) return PRV_ERR_PRECISION;
    const size_t length = a->length + b->length - 1;
    prv_status status = prv_ratio_check_memory(s, 2.0 * (double)length);
    if (status != PRV_OK) return status;
    status = prv_ratio_law_new(length, product);
    if (status != PRV_OK) return status;
    product->first = a->first + b->first;
    product->spacing = a->spacing;
    product->offset = a->offset + b->offset;
    for (size_t j = 0; j < b->length; j++) {
        if (j % 256 == 0) status = prv_check_interrupt(s->options);
        if (status != PRV_OK) goto done;
        if (b->null[j] > 0.0) add_scaled(a->null, a->length, b->null[j], product->null + j);
    }
    const double shorter = (double)(a->length < b->length ? a->length : b->length);
    const double error = PRV_UNIT * (shorter + 8.0) * PRV_SECOND_ORDER, least = 8.0 * DBL_TRUE_MIN * shorter;
    const bool dominates = s->side == PRV_DOMINATING;
    for (size_t i = 0; i < length; i++) {
        const double m = product->null[i];
        const double below = m > 0x1p80 * least ? m * (1.0 - error) : 0.0;
        product->null[i] = !dominates ? below : m > 0.0 ? m * (1.0 + error) + least : 0.0;
    }
    prv_ratio_set_ends_of_product(a, b, s, product);
    if (dominates) prv_ratio_allow_for_vanished(length, least, s, product);
    /* The sum of offsets rounds by u of itself. */
    product->shift = a->shift + b->shift + 2.0 * PRV_UNIT * fabs(product->offset);
    status = prv_ratio_close(s, product);
done:
    if (status != PRV_OK) prv_ratio_law_free(product);
    return status;
}
