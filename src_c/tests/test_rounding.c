/* The rounding that convolutions certify, against the same transforms and powers in long double: never
 * exceeded, and not far larger than what happens. Meshes from 1e-8 to 10, tilts from nothing to very large.
 */
#include <complex.h>

#include "check.h"
#include "fft/plans.h"

#include "lattices/tilt.h"
#include "composition/convolution.h"

/* The error of long double itself must be far below what is tested. */
#define WIDE_ENOUGH (LDBL_EPSILON < 1e-3 * DBL_EPSILON)

enum { STEPS = 3, MOST_ATOMS = 40, LONGEST = 640 };

typedef struct problem {
    prv_lattice y[STEPS];
    const prv_lattice *list[STEPS];
    double count[STEPS];
    size_t steps, length;
    double tilt;
} problem;

/* Laws of many atoms (`smooth`), or of one heavy atom and rare jumps. */
static void problem_new(problem *p, double spacing, double tilt_by_spacing, double most_count, int smooth)
{
    p->steps = 1 + random_below(STEPS);
    p->length = prv_transform_length(uniform(48.0, 400.0), 0);
    if (p->length > LONGEST) abort();
    p->tilt = tilt_by_spacing / spacing;
    for (size_t j = 0; j < p->steps; j++) {
        const size_t atoms = smooth ? 20 + random_below(20) : 2 + random_below(6);
        if (prv_lattice_new(atoms, &p->y[j]) != PRV_OK) abort();
        prv_lattice *y = &p->y[j];
        y->offset = uniform(-1.0, 1.0) * spacing;
        y->spacing = spacing;
        double total = 0.0;
        for (size_t i = 0; i < atoms; i++) {
            y->index[i] = (int64_t)i - (int64_t)(atoms / 2) +
                          (smooth || i == 0 ? 0 : (int64_t)random_below(3));
            if (i > 0 && y->index[i] <= y->index[i - 1]) y->index[i] = y->index[i - 1] + 1;
            y->loss[i] = y->offset + spacing * (double)y->index[i];
            /* Masses that the tilt makes comparable. */
            const double share = smooth ? uniform(0.5, 1.0) : i == atoms / 2 ? 1.0 : log_uniform(1e-9, 1e-3);
            y->mass[i] = share * exp(-p->tilt * y->loss[i]);
            total += y->mass[i];
        }
        for (size_t i = 0; i < atoms; i++) y->mass[i] /= total;
        p->list[j] = y;
        p->count[j] = floor(log_uniform(1.0, most_count));
    }
}

static void problem_free(problem *p)
{
    for (size_t j = 0; j < p->steps; j++) prv_lattice_free(&p->y[j]);
}

/* Masses at lattice index i modulo length. */
static void reference(const problem *p, long double *mass)
{
    const size_t n = p->length;
    static long double complex turn[LONGEST], product[LONGEST];
    for (size_t i = 0; i < n; i++) {
        const long double angle = 6.28318530717958647692528676655900577L * (long double)i / (long double)n;
        turn[i] = cosl(angle) - I * sinl(angle);
        product[i] = 1.0L;
    }
    for (size_t j = 0; j < p->steps; j++) {
        const prv_lattice *y = &p->y[j];
        long double weight[MOST_ATOMS], total = 0.0L;
        for (size_t i = 0; i < y->length; i++) {
            weight[i] = (long double)y->mass[i] * expl((long double)p->tilt * (long double)y->loss[i]);
            total += weight[i];
        }
        for (size_t f = 0; f < n; f++) {
            long double complex sum = 0.0L;
            for (size_t i = 0; i < y->length; i++) {
                const int64_t period = (int64_t)n, at = (y->index[i] % period + period) % period;
                sum += weight[i] / total * turn[f * (size_t)at % n];
            }
            const long double modulus = cabsl(sum);
            const long double log_modulus = modulus > 0.0L ? logl(modulus) : -11000.0L;
            const long double angle = (long double)p->count[j] * cargl(sum);
            const long double power = expl(fmaxl((long double)p->count[j] * log_modulus, -11000.0L));
            product[f] *= power * (cosl(angle) + I * sinl(angle));
        }
    }
    for (size_t i = 0; i < n; i++) {
        long double sum = 0.0L;
        for (size_t f = 0; f < n; f++) sum += creall(product[f] * conjl(turn[f * i % n]));
        mass[i] = sum / (long double)n;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void against_long_double(int precise, int smooth, double most_count, const char *what)
{
    enum { TRIALS = 60 };
    static const double tilts[] = {0.0, 1e-300, 1e-12, 1e-3, 1.0, 15.0};
    double loose[TRIALS], most = 0.0;
    int tried = 0, refused = 0, norms = 1;
    prv_fft_provider *provider = NULL;
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    for (int trial = 0; trial < TRIALS; trial++) {
        problem p;
        problem_new(&p, log_uniform(1e-8, 10.0), tilts[trial % 6], most_count, smooth);
        const size_t n = p.length;
        const prv_window window = {.length = n, .shift_up = 1.0, .shift_down = 1.0, .precise = precise};
        prv_workspace work;
        prv_fft fft;
        if (prv_workspace_new(n, p.steps, MOST_ATOMS, &work) != PRV_OK) abort();
        if (provider->plan(provider->context, n, &fft) != PRV_OK) abort();
        prv_composed c;
        const prv_status status = prv_compose(p.list, p.count, p.steps, p.tilt, &window, &fft, &work, &c);
        if (status == PRV_OK) {
            long double *truth = malloc(n * sizeof *truth), square = 0.0L, whole = 0.0L;
            if (truth == NULL) abort();
            reference(&p, truth);
            for (size_t i = 0; i < n; i++) {
                const long double relative = (long double)c.tilted.relative_error * fabsl(truth[i]);
                const long double off = fabsl((long double)c.convolved.mass[i] - truth[i]),
                                  error = fmaxl(off - relative, 0.0L);
                most = fmax(most, (double)(error / (long double)c.convolved.rounding));
                square += error * error;
                whole += off * off;
            }
            norms = norms && sqrtl(square) <= (long double)c.convolved.rounding_norm;
            loose[tried++] = (double)((long double)c.convolved.rounding_norm / fmaxl(sqrtl(whole), 1e-300L));
            free(truth);
        } else {
            refused += status == PRV_ERR_PRECISION;
        }
        prv_workspace_free(&work);
        problem_free(&p);
    }
    prv_fft_provider_free(provider);
    qsort(loose, (size_t)tried, sizeof *loose, ascending);
    check(tried + refused == TRIALS && tried > TRIALS / 2, "%s%s: composed (%d of %d)", what,
          precise ? ", precise" : "", tried, TRIALS);
    check(most <= 1.0 && norms, "%s%s: rounding is within its bounds (at most %.2g of that of one mass)",
          what, precise ? ", precise" : "", most);
    check(loose[tried / 2] <= 1000.0, "%s%s: which are not far larger (usually %.3g times, at least %.3g)",
          what, precise ? ", precise" : "", loose[tried / 2], loose[0]);
}

int main(void)
{
    if (!WIDE_ENOUGH) {
        puts("long double is no wider than double here: nothing to compare with");
        return 0;
    }
    for (int precise = 0; precise <= 1; precise++) {
        against_long_double(precise, 1, 1.5, "single steps");
        against_long_double(precise, 1, 100.0, "few smooth steps");
        against_long_double(precise, 0, 100.0, "few rare jumps");
        against_long_double(precise, 0, 1e5, "many rare jumps");
    }
    return summary();
}
