/* Sums of exponentials whose terms need not be doubles: each term is given by its logarithm.
 *
 * Every error stated here is absolute, belongs to a logarithm, and counts roundings of u = PRV_UNIT. The
 * library's exp, expm1, log and log1p are trusted for PRV_LIBM_ERROR = 2 u (rounding.h). */
#ifndef PRV_LOG_SUM_H
#define PRV_LOG_SUM_H

/* The sum of the terms added so far is e^greatest * sum; greatest is +infinity once a term was infinite. */
typedef struct prv_log_sum {
    double greatest, sum;
    double terms; /* number of terms that are not 0 */
} prv_log_sum;

/* The sum without terms, whose logarithm is -infinity. */
#define PRV_EMPTY_LOG_SUM {-HUGE_VAL, 0.0, 0.0}

/* Adds the term e^logarithm; -infinity adds nothing. O(1). */
void prv_log_sum_add(prv_log_sum *sum, double logarithm);

/* The logarithm of the sum: rounded, not above it, and not below it. */
double prv_log_sum_value(const prv_log_sum *sum);
double prv_log_sum_below(const prv_log_sum *sum);
double prv_log_sum_above(const prv_log_sum *sum);

/* log(e^a - e^b), -infinity if the difference is not positive: rounded, and not above it. */
double prv_log_difference(double a, double b);
double prv_log_difference_below(double a, double b);

#endif
