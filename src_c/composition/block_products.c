#include "composition/block_products.h"

#include <string.h>

#include "numerics/dispatch.h"

/* The functions that are compiled twice are static: the loader's choice would be an exported symbol
 * otherwise. */

PRV_VECTOR static void block_of_terms(const double *mass, const size_t *restrict at,
                                      const double *restrict weight, size_t count, double *restrict out)
{
    double s0[4] = {0}, s1[4] = {0}, s2[4] = {0}, s3[4] = {0}, s4[4] = {0}, s5[4] = {0}, s6[4] = {0},
           s7[4] = {0};
    for (size_t j = 0; j < count; j++) {
        const double *from = mass - at[j], w = weight[j];
        for (size_t l = 0; l < 4; l++) s0[l] += w * from[l];
        for (size_t l = 0; l < 4; l++) s1[l] += w * from[l + 4];
        for (size_t l = 0; l < 4; l++) s2[l] += w * from[l + 8];
        for (size_t l = 0; l < 4; l++) s3[l] += w * from[l + 12];
        for (size_t l = 0; l < 4; l++) s4[l] += w * from[l + 16];
        for (size_t l = 0; l < 4; l++) s5[l] += w * from[l + 20];
        for (size_t l = 0; l < 4; l++) s6[l] += w * from[l + 24];
        for (size_t l = 0; l < 4; l++) s7[l] += w * from[l + 28];
    }
    memcpy(out, s0, sizeof s0);
    memcpy(out + 4, s1, sizeof s1);
    memcpy(out + 8, s2, sizeof s2);
    memcpy(out + 12, s3, sizeof s3);
    memcpy(out + 16, s4, sizeof s4);
    memcpy(out + 20, s5, sizeof s5);
    memcpy(out + 24, s6, sizeof s6);
    memcpy(out + 28, s7, sizeof s7);
}

PRV_VECTOR static void block_of_product(const double *a, size_t first, size_t end, const double *b,
                                        double *restrict out)
{
    double s0[4] = {0}, s1[4] = {0}, s2[4] = {0}, s3[4] = {0}, s4[4] = {0}, s5[4] = {0}, s6[4] = {0},
           s7[4] = {0};
    for (size_t j = first; j < end; j++) {
        const double *from = b - j, w = a[j];
        for (size_t l = 0; l < 4; l++) s0[l] += w * from[l];
        for (size_t l = 0; l < 4; l++) s1[l] += w * from[l + 4];
        for (size_t l = 0; l < 4; l++) s2[l] += w * from[l + 8];
        for (size_t l = 0; l < 4; l++) s3[l] += w * from[l + 12];
        for (size_t l = 0; l < 4; l++) s4[l] += w * from[l + 16];
        for (size_t l = 0; l < 4; l++) s5[l] += w * from[l + 20];
        for (size_t l = 0; l < 4; l++) s6[l] += w * from[l + 24];
        for (size_t l = 0; l < 4; l++) s7[l] += w * from[l + 28];
    }
    memcpy(out, s0, sizeof s0);
    memcpy(out + 4, s1, sizeof s1);
    memcpy(out + 8, s2, sizeof s2);
    memcpy(out + 12, s3, sizeof s3);
    memcpy(out + 16, s4, sizeof s4);
    memcpy(out + 20, s5, sizeof s5);
    memcpy(out + 24, s6, sizeof s6);
    memcpy(out + 28, s7, sizeof s7);
}

void prv_block_of_terms(const double *mass, const size_t *at, const double *weight, size_t count, double *out)
{
    block_of_terms(mass, at, weight, count, out);
}

void prv_block_of_product(const double *a, size_t first, size_t end, const double *b, double *out)
{
    block_of_product(a, first, end, b, out);
}
