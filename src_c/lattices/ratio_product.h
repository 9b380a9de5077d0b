/* The product of two laws of likelihood ratios: two mechanisms on the same records. */
#ifndef PRV_RATIO_PRODUCT_H
#define PRV_RATIO_PRODUCT_H

#include "lattices/ratio_law.h"

/* The law of R_1 R_2. The spacings are equal. O(length^2). Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, those
 * of callbacks; PRV_ERR_PRECISION if doubles do not count the points exactly. */
prv_status prv_ratio_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *side,
                             prv_ratio_law *product);

/* `zero` and `infinite` of the product. */
void prv_ratio_set_ends_of_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *side,
                                   prv_ratio_law *product);

#endif
