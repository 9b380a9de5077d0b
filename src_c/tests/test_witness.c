/* What prv_witness shows: lattices that enclose a step, and passes whose bounds are those that it returns. */
#include "asking.h"

typedef struct seen {
    long double mu; /* of the step, N(0, 1) against N(mu, 1) */
    int passes, directions[2], stop_at;
    double lower[2], upper[2];
    int encloses, in_order;
} seen;

static long double curve_of(const prv_witness_lattice *y, long double epsilon)
{
    long double sum = 0.0L;
    for (size_t i = y->length; i-- > 0;) {
        const long double loss = (long double)y->offset + (long double)y->spacing * (long double)y->index[i];
        if (loss > epsilon) sum -= y->mass[i] * expm1l(epsilon - loss);
    }
    return sum;
}

/* The contract of prv_witness_lattice at some epsilons, as far as long doubles tell. */
static int encloses(const prv_witness_pass *pass, long double mu)
{
    const prv_witness_lattice *above = &pass->above[0], *below = &pass->below[0];
    for (long double e = -2.0L; e < 4.0L; e += 0.0937L) {
        const long double truth = gaussian_delta(e, mu), room = 1e-17L;
        const long double high = (1.0L + above->relative) * curve_of(above, e - above->shift) +
                                 above->infinite_mass + above->infinite_error;
        const long double low = curve_of(below, e + below->shift) / (1.0L + below->relative) +
                                below->infinite_mass - below->infinite_error;
        if (!(low <= truth + room && truth <= high + room)) return 0;
    }
    return 1;
}

static int see(void *context, const prv_witness_pass *pass)
{
    seen *s = context;
    const int v = pass->direction == PRV_ADD;
    if (s->directions[v]++ == 0) {
        s->lower[v] = pass->bounds.lower;
        s->upper[v] = pass->bounds.upper;
    }
    s->lower[v] = fmax(s->lower[v], pass->bounds.lower);
    s->upper[v] = fmin(s->upper[v], pass->bounds.upper);
    s->encloses = s->encloses && pass->step_count == 1 && encloses(pass, s->mu);
    for (size_t i = 1; i < pass->above->length; i++)
        s->in_order = s->in_order && pass->above->index[i - 1] < pass->above->index[i];
    return ++s->passes == s->stop_at;
}

static void what_is_shown(void)
{
    prv_mechanism *m = gaussian(1.25);
    const prv_options o = options_of(1e-3);
    const prv_step step = {m, 30};
    const long double mu = sqrtl(30.0L) / 1.25L;
    seen s = {.mu = 1.0L / 1.25L, .encloses = 1, .in_order = 1};
    prv_bounds b;
    check(prv_witness(&step, 1, &o, 1, 1e-9, see, &s, &b) == PRV_OK, "a witness of an epsilon");
    check(s.passes > 0 && s.directions[1] == 0 && s.encloses && s.in_order,
          "%d passes over the one direction, of lattices that enclose", s.passes);
    check(b.lower == s.lower[0] && b.upper == s.upper[0] && b.upper - b.lower <= 1e-3,
          "the bounds are the best of the passes");
    check(gaussian_delta(b.lower, mu) >= 1e-9L && gaussian_delta(b.upper, mu) <= 1e-9L,
          "... and hold the truth");

    s = (seen){.mu = 1.0L / 1.25L, .encloses = 1, .in_order = 1};
    check(prv_witness(&step, 1, &o, 0, 20.0, see, &s, &b) == PRV_OK && s.encloses && s.in_order,
          "a witness of a delta");
    check(b.lower <= gaussian_delta(20.0L, mu) && gaussian_delta(20.0L, mu) <= b.upper,
          "... holds the truth");
    prv_mechanism_free(m);
}

static void both_directions(void)
{
    prv_mechanism *m = subsampled(1.0, 0.1);
    const prv_options o = options_of(1e-3);
    const prv_step step = {m, 50};
    seen s = {0};
    prv_bounds b;
    check(prv_witness(&step, 1, &o, 1, 1e-6, see, &s, &b) == PRV_OK, "a witness of a sample");
    check(s.directions[0] > 0 && s.directions[1] > 0, "has passes over both directions");
    check(b.upper == fmax(s.upper[0], s.upper[1]) && b.lower == fmax(s.lower[0], s.lower[1]),
          "... the worst of which bounds epsilon");
    prv_mechanism_free(m);
}

static void refusals(void)
{
    prv_mechanism *m = gaussian(1.25);
    prv_options o = options_of(1e-3);
    const prv_step step = {m, 30};
    prv_bounds b;
    seen s = {.stop_at = 1};
    check(prv_witness(&step, 1, &o, 1, 1e-9, see, &s, &b) == PRV_ERR_INTERRUPTED && s.passes == 1,
          "a callback ends the question");
    s = (seen){0};
    check(prv_witness(&step, 1, &o, 1, 1.0, see, &s, &b) == PRV_OK && s.passes == 0 && b.upper == 0.0,
          "nothing is shown of what is known at once");
    check(prv_witness(NULL, 0, &o, 1, 1e-9, see, &s, &b) == PRV_OK && s.passes == 0 && b.upper == 0.0,
          "... nor of no steps");
    check(prv_witness(&step, 1, &o, 1, 1.5, see, &s, &b) == PRV_ERR_DELTA, "a delta out of range");
    check(prv_witness(&step, 1, &o, 0, NAN, see, &s, &b) == PRV_ERR_EPSILON, "an epsilon that is none");
    o.discretization = PRV_MEAN_MATCHING;
    o.delta_error = 1e-10;
    check(prv_witness(&step, 1, &o, 1, 1e-9, see, &s, &b) == PRV_ERR_OPTIONS, "lattices that bracket alone");
    prv_mechanism_free(m);
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    what_is_shown();
    both_directions();
    refusals();
    prv_fft_provider_free(provider);
    return summary();
}
