#include "lattices/ratio_powers.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "lattices/ratio_average.h"
#include "lattices/ratio_list.h"
#include "lattices/ratio_means.h"
#include "lattices/ratio_mixture.h"
#include "lattices/ratio_product.h"
#include "lattices/ratio_thinning.h"

/* Points with mass on one lattice at most, since pairs of them are visited; and numbers of points, most of
 * them without mass. */
#define MOST_POINTS 60000.0
#define MOST_NUMBERS (16.0 * MOST_POINTS)

/* Pairs of points that lists of points may have; beyond, they are put onto lattices. */
#define MOST_PAIRS 1e5

double prv_fine_spacing(double share, double variance)
{
    return share * sqrt(fmax(variance, 1e-24));
}

static bool is_too_long(const prv_ratio_law *law)
{
    if ((double)law->length <= MOST_POINTS) return false;
    return (double)law->length > MOST_NUMBERS || (double)prv_ratio_point_count(law) > MOST_POINTS;
}

static bool are_lists(const prv_ratio_law *a, const prv_ratio_law *b)
{
    return a->at != NULL && b->at != NULL && (double)a->length * (double)b->length <= MOST_PAIRS;
}

prv_status prv_ratio_move_onto(prv_ratio_law *law, double spacing, const prv_ratio_side *s)
{
    prv_ratio_law moved;
    const prv_status status = prv_ratio_mixture(law, 1.0, spacing, s, &moved);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(law);
    *law = moved;
    return PRV_OK;
}

/* A list of points onto a lattice; a law on a lattice is left where it is. */
static prv_status onto_lattice(prv_ratio_law *law, double spacing, const prv_ratio_side *s)
{
    return law->at == NULL ? PRV_OK : prv_ratio_move_onto(law, spacing, s);
}

static prv_status product_of(prv_ratio_law *a, prv_ratio_law *b, double spacing, const prv_ratio_side *s,
                             prv_ratio_law *product)
{
    if (are_lists(a, b)) return prv_ratio_list_product(a, b, s, product);
    prv_status status = onto_lattice(a, spacing, s);
    if (status != PRV_OK) return status;
    status = onto_lattice(b, spacing, s);
    if (status != PRV_OK) return status;
    if (is_too_long(a) || is_too_long(b)) return PRV_ERR_ENGINE;
    return prv_ratio_product(a, b, s, product);
}

prv_status prv_ratio_multiply_powers(prv_ratio_law *power, uint64_t count, double spacing,
                                     const prv_ratio_side *s, prv_ratio_law *product)
{
    prv_status status = PRV_OK;
    for (; count > 0 && status == PRV_OK; count /= 2) {
        prv_ratio_law next;
        if (count % 2 == 1 && product->null == NULL) {
            status = prv_ratio_law_copy(power, product);
        } else if (count % 2 == 1) {
            status = product_of(product, power, spacing, s, &next);
            if (status != PRV_OK) break;
            prv_ratio_law_free(product);
            *product = next;
        }
        if (status != PRV_OK || count == 1) break;
        status = product_of(power, power, spacing, s, &next);
        if (status != PRV_OK) break;
        prv_ratio_law_free(power);
        *power = next;
    }
    return status;
}

/* Two averages of equal offsets on one spacing: the law of the coarser one is put onto the finer lattice as
 * it is. Spacings differ by powers of two, so that their quotient `times` is exact. */
static prv_status refine_lattice(prv_ratio_law *law, double times)
{
    if (times == 1.0) return PRV_OK;
    int exponent;
    if (frexp(times, &exponent) != 0.5) return PRV_ERR_BOUNDS; /* a fault: these points are on no lattice */
    if (!(((double)law->length - 1.0) * times + 1.0 <= MOST_NUMBERS &&
          fabs((double)law->first) * times < 0x1p50))
        return PRV_ERR_ENGINE;
    const int64_t finer = (int64_t)times;
    const size_t length = (law->length - 1) * (size_t)finer + 1;
    double *null = prv_allocate(length, sizeof *null);
    if (null == NULL) return PRV_ERR_MEMORY;
    memset(null, 0, length * sizeof *null);
    for (size_t i = 0; i < law->length; i++) null[i * (size_t)finer] = law->null[i];
    prv_release(law->null);
    law->null = null;
    law->length = length;
    law->first *= finer;
    law->spacing /= (double)finer;
    return PRV_OK;
}

/* The spacing of an average: the share of its deviation. */
static double spacing_of(double share, const prv_ratio_law *a, const prv_ratio_law *c, double weight)
{
    const double va = prv_ratio_variance(a), vc = c != a ? prv_ratio_variance(c) : va;
    const double of_ratio = weight * weight * expm1(fmin(va, 50.0)) +
                            (1.0 - weight) * (1.0 - weight) * expm1(fmin(vc, 50.0));
    return prv_fine_spacing(share, fmin(log1p(of_ratio), fmax(va, vc)));
}

/* How many times finer the lattice of an average is. */
static unsigned finer_of(double share, const prv_ratio_law *a, const prv_ratio_law *c, double weight)
{
    const double wanted = spacing_of(share, a, c, weight);
    return a->spacing > 2.8 * wanted ? 4 : a->spacing > 1.4 * wanted ? 2 : 1;
}

/* The spacing of the lattice that lists of points are put onto: that of the other law, or a new one. */
static double common_of(const prv_ratio_law *a, const prv_ratio_law *c, double share)
{
    if (a->at == NULL) return a->spacing;
    if (c->at == NULL) return c->spacing;
    return prv_fine_spacing(share, 0.5 * fmax(prv_ratio_variance(a), prv_ratio_variance(c)));
}

/* The average of two laws of the same mechanism, of `had` and of `more` batches, had <= more. */
static prv_status average_of(prv_ratio_law *a, uint64_t had, prv_ratio_law *c, uint64_t more, double share,
                             const prv_ratio_side *s, prv_ratio_law *average)
{
    const double weight = (double)had / ((double)had + (double)more);
    if (are_lists(a, c)) return prv_ratio_list_average(a, c, weight, s, average);
    if (s->side == PRV_DOMINATED && a->at != NULL && c->at != NULL && prv_ratio_have_means(a, c, weight, s)) {
        if (is_too_long(a) || is_too_long(c)) return PRV_ERR_ENGINE;
        return prv_ratio_average_means(a, c, weight, spacing_of(share, a, c, weight), s, average);
    }
    const double spacing = common_of(a, c, share);
    prv_status status = onto_lattice(a, spacing, s);
    if (status != PRV_OK) return status;
    status = c != a ? onto_lattice(c, spacing, s) : PRV_OK;
    if (status != PRV_OK) return status;
    if (a->spacing > c->spacing) status = refine_lattice(a, a->spacing / c->spacing);
    if (c->spacing > a->spacing) status = refine_lattice(c, c->spacing / a->spacing);
    if (status != PRV_OK) return status;
    if (is_too_long(a) || is_too_long(c)) return PRV_ERR_ENGINE;
    return prv_ratio_average(a, c, weight, finer_of(share, a, c, weight), share, s, average);
}

/* How many times coarser the law of `some` of the batches may be that is no block of many: what its points
 * add to the variance of the whole counts as some / batches. No bound relies on it. */
static double coarser_of(uint64_t some, uint64_t batches)
{
    return sqrt((double)batches / (double)some);
}

/* Lists from above are put onto lattices before they are long; those from below become lists of means. */
static bool is_list_from_above(const prv_ratio_law *law, const prv_ratio_side *s)
{
    return law->at != NULL && s->side == PRV_DOMINATING;
}

/* The average of a sum of `had` batches and of a block of `more` batches. A block stays as it is, and a copy
 * of it has fewer points; but a list from above is put onto the lattice of the sum, so that spacings differ
 * by powers of two. */
static prv_status joined_with(prv_ratio_law *sum, uint64_t had, prv_ratio_law *block, uint64_t more,
                              double share, double coarser, const prv_ratio_side *s, prv_ratio_law *joined)
{
    if (is_list_from_above(block, s) || !(coarser > 1.0))
        return average_of(sum, had, block, more, share, s, joined);
    prv_ratio_law copy;
    prv_status status = prv_ratio_law_copy(block, &copy);
    if (status != PRV_OK) return status;
    status = prv_ratio_thin(s, share, coarser, &copy);
    if (status == PRV_OK) status = average_of(sum, had, &copy, more, share * coarser, s, joined);
    prv_ratio_law_free(&copy);
    return status;
}

/* *sum becomes the average of its `had` batches and of a block of `more` batches. */
static prv_status join(prv_ratio_law *sum, uint64_t had, prv_ratio_law *block, uint64_t more,
                       uint64_t batches, double share, const prv_ratio_side *s)
{
    const double coarser = coarser_of(had + more, batches);
    const bool is_listed = is_list_from_above(block, s);
    prv_ratio_law joined;
    const prv_status status = joined_with(sum, had, block, more, share, coarser, s, &joined);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(sum);
    *sum = joined;
    return is_listed || had + more == batches ? PRV_OK : prv_ratio_thin(s, share, coarser, sum);
}

static prv_status double_batches(prv_ratio_law *block, double share, const prv_ratio_side *s)
{
    prv_ratio_law twice;
    const prv_status status = average_of(block, 1, block, 1, share, s, &twice);
    if (status != PRV_OK) return status;
    prv_ratio_law_free(block);
    *block = twice;
    return prv_ratio_thin(s, share, 1.0, block);
}

/* The first law of a sum, of a block of `size` batches. */
static prv_status begin_sum(const prv_ratio_law *block, uint64_t size, uint64_t batches, double share,
                            const prv_ratio_side *s, prv_ratio_law *sum)
{
    const prv_status status = prv_ratio_law_copy(block, sum);
    if (status != PRV_OK || size == batches) return status;
    return prv_ratio_thin(s, share, coarser_of(size, batches), sum);
}

prv_status prv_ratio_average_batches(prv_ratio_law *block, uint64_t batches, double share,
                                     const prv_ratio_side *s)
{
    prv_ratio_law sum = {0};
    uint64_t had = 0, size = 1;
    prv_status status = PRV_OK;
    for (uint64_t left = batches; status == PRV_OK; left /= 2) {
        if (left % 2 == 1) {
            status = had == 0 ? begin_sum(block, size, batches, share, s, &sum)
                              : join(&sum, had, block, size, batches, share, s);
            had += size;
        }
        if (left == 1 || status != PRV_OK) break;
        status = double_batches(block, share, s);
        size *= 2;
    }
    prv_ratio_law_free(block);
    if (status == PRV_OK)
        *block = sum;
    else
        prv_ratio_law_free(&sum);
    return status;
}
