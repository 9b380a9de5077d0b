/* What the platform's libm is trusted for (rounding.h): each function that bounds rest on against exact
 * values, and where long double has more than double, against that one's at many random arguments. A platform
 * whose libm is worse fails here. */
#include "check.h"

#include "numerics/rounding.h"

/* high + middle + low is the value to 150 bits or more. */
typedef struct value {
    double x, high, middle, low;
} value;
typedef struct value_of_two {
    double x, y, high, middle, low;
} value_of_two;

#include "libm.inc"

/* Relative errors. The difference of neighbouring numbers is exact. */
static double error_of(double found, double high, double middle)
{
    return fabs(((found - high) - middle) / high);
}
static double wide_error_of(long double found, double high, double middle, double low)
{
    return (double)fabsl(((found - (long double)high) - (long double)middle - (long double)low) /
                         (long double)high);
}

typedef struct named {
    const char *name;
    double (*narrow)(double);
    long double (*wide)(long double);
    double trusted, wide_trusted; /* for a relative error of that; expm1l for one that grows */
    const value *values;
    size_t count;
    double low, high; /* of random arguments */
    int signs;        /* 1: of both signs, evenly in the logarithm; 0: evenly */
} named;

#define VALUES(name) name##_values, sizeof name##_values / sizeof *name##_values
static const named functions[] = {
    {"exp", exp, expl, PRV_LIBM_ERROR, PRV_WIDE_LIBM_ERROR, VALUES(exp), -700.0, 700.0, 0},
    {"exp", exp, expl, PRV_LIBM_ERROR, PRV_WIDE_LIBM_ERROR, VALUES(exp), 1e-15, 2.0, 1},
    {"expm1", expm1, expm1l, PRV_LIBM_ERROR, PRV_WIDE_LIBM_EXPM1_ERROR(0.0), VALUES(expm1), -40.0, 40.0, 0},
    {"expm1", expm1, expm1l, PRV_LIBM_ERROR, PRV_WIDE_LIBM_EXPM1_ERROR(0.0), VALUES(expm1), 1e-15, 2.0, 1},
    {"log", log, logl, PRV_LIBM_ERROR, PRV_WIDE_LIBM_ERROR, VALUES(log), 1e-6, 100.0, 0},
    {"log", log, logl, PRV_LIBM_ERROR, PRV_WIDE_LIBM_ERROR, VALUES(log), 0.5, 2.0, 0},
    {"log1p", log1p, log1pl, PRV_LIBM_ERROR, PRV_WIDE_LIBM_ERROR, VALUES(log1p), -0.999999, 4.0, 0},
    {"log1p", log1p, log1pl, PRV_LIBM_ERROR, PRV_WIDE_LIBM_ERROR, VALUES(log1p), 1e-15, 0.9999, 1},
    {"erfc", erfc, erfcl, PRV_LIBM_ERFC_ERROR, PRV_WIDE_LIBM_ERFC_ERROR, VALUES(erfc), -5.0, 26.0, 0},
    {"erfc", erfc, erfcl, PRV_LIBM_ERFC_ERROR, PRV_WIDE_LIBM_ERFC_ERROR, VALUES(erfc), -1.0, 3.0, 0},
    {"erf", erf, erfl, PRV_LIBM_ERFC_ERROR, HUGE_VAL, VALUES(erf), -5.0, 5.0, 0},
    {"erf", erf, erfl, PRV_LIBM_ERFC_ERROR, HUGE_VAL, VALUES(erf), 1e-15, 1.0, 1},
    {"sin", sin, sinl, PRV_LIBM_ERROR, HUGE_VAL, VALUES(sin), -3.2, 3.2, 0},
    {"sin", sin, sinl, PRV_LIBM_ERROR, HUGE_VAL, VALUES(sin), 1e-15, 1e9, 1},
    {"cos", cos, cosl, PRV_LIBM_ERROR, HUGE_VAL, VALUES(cos), -3.2, 3.2, 0},
    {"cos", cos, cosl, PRV_LIBM_ERROR, HUGE_VAL, VALUES(cos), 1e-15, 1e9, 1},
};

typedef struct named_of_two {
    const char *name;
    double (*narrow)(double, double);
    long double (*wide)(long double, long double);
    double trusted;
    const value_of_two *values;
    size_t count;
    double low, high, low_y, high_y; /* of random arguments */
} named_of_two;

static const named_of_two functions_of_two[] = {
    {"atan2", atan2, atan2l, PRV_LIBM_ATAN2_ERROR, VALUES(atan2), -1.0, 1.0, -1.0, 1.0},
    {"atan2", atan2, atan2l, PRV_LIBM_ATAN2_ERROR, VALUES(atan2), 1e-3, 0.5, 0.5, 2.0},
    {"hypot", hypot, hypotl, PRV_LIBM_ERROR, VALUES(hypot), -1.0, 1.0, -1.0, 1.0},
    {"pow", pow, powl, PRV_LIBM_ERROR, VALUES(pow), 0.01, 100.0, -40.0, 40.0},
};

enum { TRIALS = 100000 };

/* Long double that is trusted for as much tells doubles' errors to a thousandth. */
static int is_reference(void)
{
    return PRV_WIDE_LIBM_UNIT < 0x1p-10 * DBL_EPSILON;
}

static double worst_random(const named *f)
{
    double worst = 0.0;
    for (int i = 0; i < TRIALS; i++) {
        double x = f->signs ? log_uniform(f->low, f->high) : uniform(f->low, f->high);
        if (f->signs && i % 2 == 1) x = -x;
        const long double truth = f->wide((long double)x);
        if (!(fabsl(truth) >= (long double)DBL_MIN)) continue;
        worst = fmax(worst, (double)fabsl(((long double)f->narrow(x) - truth) / truth));
    }
    return worst;
}

int main(void)
{
    const double u = 0.5 * DBL_EPSILON;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const named *f = &functions[i];
        double worst = 0.0, worst_wide = 0.0;
        for (size_t j = 0; j < f->count; j++) {
            const value *v = &f->values[j];
            worst = fmax(worst, error_of(f->narrow(v->x), v->high, v->middle));
            const double wide = wide_error_of(f->wide((long double)v->x), v->high, v->middle, v->low);
            const double growth = PRV_WIDE_LIBM_EXPM1_ERROR(v->x) / PRV_WIDE_LIBM_EXPM1_ERROR(0.0);
            worst_wide = fmax(worst_wide, f->wide == expm1l ? wide / growth : wide);
        }
        check(worst <= f->trusted, "%s, exact values: %.3f u of %.3f u", f->name, worst / u, f->trusted / u);
        if (isfinite(f->wide_trusted))
            check(worst_wide <= f->wide_trusted, "%sl, exact values: %.3f of %.3f units", f->name,
                  worst_wide / PRV_WIDE_LIBM_UNIT, f->wide_trusted / PRV_WIDE_LIBM_UNIT);
        if (!is_reference()) continue;
        const double random = worst_random(f);
        check(random <= f->trusted, "%s, in [%g, %g]: %.3f u of %.3f u", f->name, f->low, f->high, random / u,
              f->trusted / u);
    }
    for (size_t i = 0; i < sizeof functions_of_two / sizeof *functions_of_two; i++) {
        const named_of_two *f = &functions_of_two[i];
        double worst = 0.0;
        for (size_t j = 0; j < f->count; j++) {
            const value_of_two *v = &f->values[j];
            worst = fmax(worst, error_of(f->narrow(v->x, v->y), v->high, v->middle));
        }
        check(worst <= f->trusted, "%s, exact values: %.3f u of %.3f u", f->name, worst / u, f->trusted / u);
        if (!is_reference()) continue;
        worst = 0.0;
        for (int j = 0; j < TRIALS; j++) {
            const double x = uniform(f->low, f->high), y = uniform(f->low_y, f->high_y);
            const long double truth = f->wide((long double)x, (long double)y);
            if (truth != 0.0L)
                worst = fmax(worst, (double)fabsl(((long double)f->narrow(x, y) - truth) / truth));
        }
        check(worst <= f->trusted, "%s, random: %.3f u of %.3f u", f->name, worst / u, f->trusted / u);
    }
    return summary();
}
