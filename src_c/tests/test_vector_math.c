/*
 * Checks vector_math.h against the long double libm on deterministic samples.
 *
 * Usage: test_vector_math [points per sample]
 *
 * Errors are in units of u = 2^-53.  Functions are evaluated through plain loops over arrays, so
 * that an optimised build tests the vectorised code and not only the scalar one.
 */
#include "check.h"

#include "numerics/vector_math.h"

#define BLOCK 1024

typedef void (*array_function)(const double *in, double *out);
typedef long double (*reference_function)(double x);

#define ARRAY_FUNCTION(name)                                                                                 \
    static void array_##name(const double *in, double *out)                                                  \
    {                                                                                                        \
        for (int i = 0; i < BLOCK; i++) out[i] = prv_vm_##name(in[i]);                                       \
    }

ARRAY_FUNCTION(exp)
ARRAY_FUNCTION(expm1)
ARRAY_FUNCTION(log1p)
ARRAY_FUNCTION(log)
ARRAY_FUNCTION(exp_near)
ARRAY_FUNCTION(expm1_near)
ARRAY_FUNCTION(log1p_near)
ARRAY_FUNCTION(mills)
ARRAY_FUNCTION(normal_density_exponent)

/* log1p close to -1 and log close to 1, where the interesting variable is the distance. */
static void array_log1p_near_minus_one(const double *in, double *out)
{
    for (int i = 0; i < BLOCK; i++) out[i] = prv_vm_log1p(in[i] - 1.0);
}

static void array_log_above_one(const double *in, double *out)
{
    for (int i = 0; i < BLOCK; i++) out[i] = prv_vm_log(1.0 + in[i]);
}

static void array_log_below_one(const double *in, double *out)
{
    for (int i = 0; i < BLOCK; i++) out[i] = prv_vm_log(1.0 - in[i]);
}

static void array_upper_tail(const double *in, double *out)
{
    for (int i = 0; i < BLOCK; i++)
        out[i] = prv_vm_normal_density_exponent(in[i]) * prv_vm_mills(in[i]) *
                 0x1.9884533d43651p-2; /* 1 / sqrt(2 pi) */
}

static long double ref_exp(double x)
{
    return expl((long double)x);
}

static long double ref_expm1(double x)
{
    return expm1l((long double)x);
}

static long double ref_log(double x)
{
    return logl((long double)x);
}

static long double ref_log1p(double x)
{
    return log1pl((long double)x);
}

static long double ref_log1p_near_minus_one(double x)
{
    return log1pl((long double)(x - 1.0));
}

static long double ref_log_above_one(double x)
{
    return logl((long double)(1.0 + x));
}

static long double ref_log_below_one(double x)
{
    return logl((long double)(1.0 - x));
}

static const long double sqrt_half = 0.707106781186547524400844362104849039L;
static const long double sqrt_half_pi = 1.25331413731550025120788264240552263L;

/* -z^2/2 does not fit a long double; the square of the head does, in a double even. */
static long double ref_density(double z)
{
    const double h = (double)(float)z;
    const double l = z - h;
    return expl(-0.5L * ((long double)h * h)) * expl(-0.5L * (long double)l * ((long double)z + h));
}

static long double mills_by_erfc(double z)
{
    return sqrt_half_pi * erfcl(z * sqrt_half) / ref_density(z);
}

/* R(z) = 1/(z + 1/(z + 2/(z + 3/(z + ...)))), evaluated backwards.  The number of terms for a
 * given accuracy falls like 1/z^2. */
static long double mills_by_fraction(double z)
{
    const int terms = 10 + (int)(500.0 / (z * z));
    long double f = (long double)z;
    for (int k = terms; k >= 1; k--) f = (long double)z + (long double)k / f;
    return 1.0L / f;
}

/* erfcl amplifies the rounding of z sqrt(1/2) by z^2, so it serves near 0 only. */
static long double ref_mills(double z)
{
    return z < 2.5 ? mills_by_erfc(z) : mills_by_fraction(z);
}

static long double ref_upper_tail(double z)
{
    return ref_density(z) * ref_mills(z) * 0.398942280401432677939946059934381868L;
}

/* Reference error allowed for, in u.  Negligible with a 64-bit significand; what makes the test
 * meaningful, if weaker, where long double is double. */
static double reference_slack(void)
{
    return (double)(LDBL_EPSILON * 8.0L) * 0x1p53;
}

/* Largest error of n points over [lo, hi], uniform or log-uniform in |x|.  In units of u, or for
 * subnormal != 0 of the subnormal spacing 2^-1074. */
static void sample(const char *name, array_function f, reference_function ref, double lo, double hi,
                   int logarithmic, int subnormal, long n, double bound)
{
    static double in[BLOCK];
    static double out[BLOCK];
    const int negative = lo < 0.0 && logarithmic;
    const double log_lo = logarithmic ? log(fabs(negative ? hi : lo)) : 0.0;
    const double log_hi = logarithmic ? log(fabs(negative ? lo : hi)) : 0.0;
    double worst = 0.0;
    double worst_at = lo;

    random_state = UINT64_C(0x853c49e6748fea9b);
    for (long done = 0; done < n; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            double x;
            if (logarithmic) {
                x = exp(uniform(log_lo, log_hi));
                x = negative ? -x : x;
            } else {
                x = uniform(lo, hi);
            }
            x = x < lo ? lo : x;
            in[i] = x > hi ? hi : x;
        }
        if (done == 0) {
            in[0] = lo;
            in[1] = hi;
        }
        f(in, out);
        for (int i = 0; i < BLOCK; i++) {
            const long double want = ref(in[i]);
            const long double diff = fabsl((long double)out[i] - want);
            double err;
            if (subnormal)
                err = (double)(diff / 0x1p-1074L);
            else if (want == 0.0L)
                err = diff == 0.0L ? 0.0 : (double)INFINITY;
            else
                err = (double)(diff / fabsl(want) * 0x1p53L);
            if (!(err <= worst)) { /* a NaN counts as worst */
                worst = err;
                worst_at = in[i];
            }
        }
    }
    check(worst <= bound + reference_slack(), "%s %s [%g, %g]: %.3f %s at %.17g (bound %g)", name,
          logarithmic ? "log-uniform" : "uniform", lo, hi, worst, subnormal ? "spacings" : "u", worst_at,
          bound);
}

static int same(double a, double b)
{
    if (a != a || b != b) return a != a && b != b;
    return a == b && signbit(a) == signbit(b);
}

static void special(const char *what, double got, double want)
{
    check(same(got, want), "%s = %g (expected %g)", what, got, want);
}

#define SPECIAL(call, want) special(#call, prv_vm_##call, (want))

static void special_values(void)
{
    const double inf = (double)INFINITY;
    const double nan = (double)NAN;
    const double tiny = 0x1p-1074;

    SPECIAL(exp(0.0), 1.0);
    SPECIAL(exp(-0.0), 1.0);
    SPECIAL(exp(tiny), 1.0);
    SPECIAL(exp(inf), inf);
    SPECIAL(exp(-inf), 0.0);
    SPECIAL(exp(nan), nan);
    SPECIAL(exp(709.79), inf);
    SPECIAL(exp(1e300), inf);
    SPECIAL(exp(-745.14), 0.0);
    SPECIAL(exp(-745.13), tiny);
    SPECIAL(exp(-1e300), 0.0);

    SPECIAL(expm1(0.0), 0.0);
    SPECIAL(expm1(-0.0), -0.0);
    SPECIAL(expm1(tiny), tiny);
    SPECIAL(expm1(-tiny), -tiny);
    SPECIAL(expm1(1e-300), 1e-300);
    SPECIAL(expm1(-40.0), -1.0);
    SPECIAL(expm1(-745.0), -1.0);
    SPECIAL(expm1(-inf), -1.0);
    SPECIAL(expm1(709.79), inf);
    SPECIAL(expm1(inf), inf);
    SPECIAL(expm1(nan), nan);

    SPECIAL(log1p(0.0), 0.0);
    SPECIAL(log1p(tiny), tiny);
    SPECIAL(log1p(-tiny), -tiny);
    SPECIAL(log1p(1e-300), 1e-300);
    SPECIAL(log1p(-1.0), -inf);
    SPECIAL(log1p(-1.5), nan);
    SPECIAL(log1p(-inf), nan);
    SPECIAL(log1p(inf), inf);
    SPECIAL(log1p(nan), nan);
    SPECIAL(log1p(DBL_MAX), (double)logl((long double)DBL_MAX));

    SPECIAL(log(1.0), 0.0);
    SPECIAL(log(0.0), -inf);
    SPECIAL(log(-0.0), -inf);
    SPECIAL(log(-1.0), nan);
    SPECIAL(log(-inf), nan);
    SPECIAL(log(inf), inf);
    SPECIAL(log(nan), nan);
    SPECIAL(log(tiny), (double)logl((long double)tiny));
    SPECIAL(log(DBL_MAX), (double)logl((long double)DBL_MAX));

    SPECIAL(normal_density_exponent(0.0), 1.0);
    SPECIAL(normal_density_exponent(-0.0), 1.0);
    SPECIAL(normal_density_exponent(tiny), 1.0);
    SPECIAL(normal_density_exponent(39.0), 0.0);
    SPECIAL(normal_density_exponent(-1e200), 0.0);
    SPECIAL(normal_density_exponent(inf), 0.0);
    SPECIAL(normal_density_exponent(-inf), 0.0);
    SPECIAL(normal_density_exponent(nan), nan);
    SPECIAL(normal_density_exponent(-3.1), prv_vm_normal_density_exponent(3.1));

    SPECIAL(mills(1e300), 1e-300);
    SPECIAL(mills(inf), 0.0);
    SPECIAL(mills(nan), nan);
}

/* The two references of the Mills ratio share no formula. */
static void references_agree(void)
{
    double worst = 0.0;
    for (int i = 0; i <= 1000; i++) {
        const double z = 2.0 + i * 0x1p-10;
        const long double a = mills_by_erfc(z);
        const long double b = mills_by_fraction(z);
        const double err = (double)(fabsl(a - b) / b * 0x1p53L);
        worst = err > worst ? err : worst;
    }
    check(worst <= 4.0 * reference_slack(), "Mills references agree over [2, 3]: %.4f u", worst);
}

/* |turn(r) - (e^(2 pi i r) - 1)| is at most 24 u |e^(2 pi i r) - 1|, as SPECTRUM.md, section 4, has it. */
static void turns(size_t n)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    uint64_t state = 1;
    double worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double part = (double)(state >> 11) * 0x1p-53, sign = state & 1024 ? 1.0 : -1.0;
        const double r = sign * (i % 2 ? 0.5 * part : exp2(-1.0 - 100.0 * part));
        double re, im;
        prv_vm_turn(r, &re, &im);
        const long double s = sinl(pi * (long double)r), c = cosl(pi * (long double)r);
        const long double off = hypotl((long double)re + 2.0L * s * s, (long double)im - 2.0L * s * c);
        worst = fmax(worst, (double)(off / (2.0L * fabsl(s))) * 0x1p53);
    }
    check(worst <= 24.0, "turn: %zu points, worst %.2f u", n, worst);
}

int main(int argc, char **argv)
{
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : trials_of(200000);
    const double max = DBL_MAX;

    special_values();
    references_agree();

#define SAMPLE(f, lo, hi, logarithmic, bound) sample(#f, array_##f, ref_##f, lo, hi, logarithmic, 0, n, bound)
    SAMPLE(exp, -708.0, 709.7, 0, 1.5);
    SAMPLE(exp, -1.0, 1.0, 0, 1.5);
    SAMPLE(exp, 1e-20, 709.7, 1, 1.5);
    SAMPLE(exp, -708.0, -1e-20, 1, 1.5);
    sample("exp_near", array_exp_near, ref_exp, -708.0, 708.0, 0, 0, n, 1.5);
    sample("exp_near", array_exp_near, ref_exp, 1e-20, 708.0, 1, 0, n, 1.5);
    sample("exp", array_exp, ref_exp, -746.0, -708.4, 0, 1, n, 1.0);

    SAMPLE(expm1, -2.0, 2.0, 0, 2.25);
    SAMPLE(expm1, -745.0, 709.0, 0, 2.25);
    SAMPLE(expm1, 1e-300, 709.0, 1, 2.25);
    SAMPLE(expm1, -745.0, -1e-300, 1, 2.25);
    SAMPLE(expm1, 1e-4, 50.0, 1, 2.25);
    SAMPLE(expm1, -50.0, -1e-4, 1, 2.25);
    sample("expm1_near", array_expm1_near, ref_expm1, -708.0, 708.0, 0, 0, n, 2.25);
    sample("expm1_near", array_expm1_near, ref_expm1, 1e-300, 708.0, 1, 0, n, 2.25);
    sample("expm1_near", array_expm1_near, ref_expm1, -64.0, -1e-300, 1, 0, n, 2.25);

    SAMPLE(log1p, -0.999, 2.0, 0, 2.25);
    SAMPLE(log1p, 0.0, 1000.0, 0, 2.25);
    SAMPLE(log1p, 1e-300, 1e300, 1, 2.25);
    SAMPLE(log1p, 1e-5, 1e5, 1, 2.25);
    SAMPLE(log1p, -0.9999, -1e-300, 1, 2.25);
    SAMPLE(log1p, -0.9999, -1e-5, 1, 2.25);
    sample("log1p_near", array_log1p_near, ref_log1p, 1e-300, 1e300, 1, 0, n, 2.25);
    sample("log1p_near", array_log1p_near, ref_log1p, -0.9999, -1e-300, 1, 0, n, 2.25);
    SAMPLE(log1p_near_minus_one, 0x1p-53, 0.5, 1, 2.25);

    SAMPLE(log, 0.5, 2.0, 0, 1.75);
    SAMPLE(log, 0.0625, 16.0, 1, 1.75);
    SAMPLE(log, DBL_MIN, max, 1, 1.75);
    SAMPLE(log, 0x1p-1074, DBL_MIN, 1, 1.75);
    SAMPLE(log_above_one, 0x1p-52, 1.0, 1, 1.75);
    SAMPLE(log_below_one, 0x1p-53, 0.5, 1, 1.75);

    SAMPLE(mills, 0.0, 5.0, 0, 2.75);
    SAMPLE(mills, 0.0, 100.0, 0, 2.75);
    SAMPLE(mills, 100.0, 1e8, 0, 2.75);
    SAMPLE(mills, 1e-20, 1e8, 1, 2.75);
    SAMPLE(mills, 0.01, 100.0, 1, 2.75);

#define DENSITY(lo, hi, logarithmic)                                                                         \
    sample("normal_density_exponent", array_normal_density_exponent, ref_density, lo, hi, logarithmic, 0, n, \
           1.5)
    DENSITY(-37.6, 37.6, 0);
    DENSITY(-2.0, 2.0, 0);
    DENSITY(1e-20, 37.6, 1);
    sample("normal_density_exponent", array_normal_density_exponent, ref_density, 37.641, 40.0, 0, 1, n, 1.0);

    SAMPLE(upper_tail, 0.0, 37.5, 0, 5.5);
    SAMPLE(upper_tail, 1e-10, 37.5, 1, 5.5);

    turns(n);

    return summary();
}
