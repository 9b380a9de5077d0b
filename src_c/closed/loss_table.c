#include "closed/loss_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"

#define U ((long double)PRV_WIDE_LIBM_UNIT)

/* Mass that is left out is at most this part of what matters. No bound relies on it: it is counted. */
#define NEGLIGIBLE 0x1p-70L

/* e^epsilon, and quotients of masses, must be normal numbers. */
#define MOST_EPSILON (0.25L * LDBL_MAX_EXP * 0.69314718055994530942L)

static prv_status table_new(size_t length, prv_loss_table *t)
{
    memset(t, 0, sizeof *t);
    t->loss = prv_allocate(4 * length, sizeof *t->loss);
    if (t->loss == NULL) return PRV_ERR_MEMORY;
    t->length = length;
    t->mass = t->loss + length;
    t->delta = t->mass + length;
    t->ratio = t->delta + length;
    return PRV_OK;
}

void prv_loss_table_free(prv_loss_table *t)
{
    prv_release(t->loss);
    memset(t, 0, sizeof *t);
}

/* The two sums at each loss, from the last one down, with terms that are not negative: with d the distance of
 * neighbouring losses, ratio[i] = mass[i] + e^-d ratio[i + 1] and delta[i] = delta[i + 1] + (1 - e^-d)
 * ratio[i + 1]. An exponential is off by 2 U + d U, 1 - e^-d by 3 U (d itself is rounded), and each product
 * and sum by U / 2: the factors along a sum multiply to less than (4 length + range) U. */
static void sum_up(prv_loss_table *t)
{
    const size_t n = t->length;
    if (n == 0) return;
    t->ratio[n - 1] = t->mass[n - 1];
    t->delta[n - 1] = 0.0L;
    long double distance = -1.0L, decay = 0.0L, rest = 0.0L;
    for (size_t i = n - 1; i-- > 0;) {
        const long double next = t->loss[i + 1] - t->loss[i];
        if (next != distance) {
            distance = next;
            decay = expl(-distance);
            rest = -expm1l(-distance);
        }
        t->ratio[i] = t->mass[i] + decay * t->ratio[i + 1];
        t->delta[i] = t->delta[i + 1] + rest * t->ratio[i + 1];
    }
    t->value_error = t->mass_error +
                     (double)(U * (4.0L * (long double)n + (t->loss[n - 1] - t->loss[0]) + 8.0L));
}

/* ---- Responses ------------------------------------------------------------------------------- */

/* Weights of binomial probabilities from the mode outwards, in units of that of the mode. */
typedef struct walk {
    long double count, odds; /* of i + 1 against i, per trial: e^epsilon, or e^-epsilon downwards */
    long double from;        /* successes at the mode, or failures downwards */
} walk;

/* The quotient of the weights of i + 1 and i successes (or failures), i = from + steps. */
static long double quotient(const walk *w, size_t steps)
{
    const long double i = w->from + (long double)steps;
    return (w->count - i) / (i + 1.0L) * w->odds;
}

/* Writes the weights after that of the mode, until what follows is at most `enough`, which *rest becomes:
 * from there on quotients fall, so that it is at most a geometric series. Returns their number, or `room` if
 * there are too many. */
static size_t walk_out(const walk *w, long double enough, size_t room, long double *weights,
                       long double *rest)
{
    long double weight = 1.0L;
    for (size_t steps = 0; steps < room; steps++) {
        const long double q = quotient(w, steps);
        if (q < 1.0L) {
            *rest = 1.001L * weight * q / (1.0L - q);
            if (*rest <= enough) return steps;
        }
        weight *= q;
        weights[steps] = weight;
    }
    return room;
}

/* The sum of n losses, of which `high` are high ones. */
static long double sum_of_two(const prv_two_losses *two, long double n, long double high)
{
    if (two->opposite) return (2.0L * high - n) * two->high;
    return (n - high) * two->low + high * two->high;
}

/* What a sum of `count` of them is off by (nats), at most, if none of those kept is beyond `greatest`: of
 * opposite ones two factors are rounded, of others two products and their sum. */
static double sum_error(const prv_two_losses *two, double count, double greatest)
{
    if (two->opposite) return greatest * (two->loss_error + (double)U);
    return count * (double)fmaxl(fabsl(two->low), fabsl(two->high)) * (two->loss_error + (double)(2.0L * U));
}

prv_status prv_loss_table_of_two(const prv_two_losses *two, double count, double least, bool *known,
                                 prv_loss_table *t)
{
    *known = false;
    memset(t, 0, sizeof *t);
    const long double n = (long double)count, up = two->up, down = two->down;
    const long double most = expl(MOST_EPSILON);
    if (!(up > 0.0L && up <= most && down > 0.0L && down <= most)) return PRV_OK;
    /* Sums must increase when they are rounded, too. */
    const double most_error = sum_error(two, count, count * (double)fmaxl(fabsl(two->low), fabsl(two->high)));
    if (!(two->high - two->low > 4.0L * (long double)most_error)) return PRV_OK;
    const long double mode = fminl(floorl((n + 1.0L) / (1.0L + down)), n);
    /* Far too many atoms are not even counted. */
    if (n * down / ((1.0L + down) * (1.0L + down)) > (long double)PRV_MOST_TABLE_ATOMS * 64.0L) return PRV_OK;
    long double *weights = prv_allocate(2 * (size_t)PRV_MOST_TABLE_ATOMS, sizeof *weights);
    if (weights == NULL) return PRV_ERR_MEMORY;
    prv_status status = PRV_OK;
    long double *lower = weights, *upper = weights + PRV_MOST_TABLE_ATOMS, below = 0.0L, above = 0.0L;
    const walk downwards = {n, down, n - mode}, upwards = {n, up, mode};
    const size_t room = PRV_MOST_TABLE_ATOMS;
    const size_t fewer = walk_out(&downwards, NEGLIGIBLE, room, lower, &below);
    const size_t more = walk_out(&upwards, fmaxl(NEGLIGIBLE * (long double)least, 0x1p64L * LDBL_MIN), room,
                                 upper, &above);
    if (fewer == room || more == room || fewer + more + 1 > room) goto done;
    status = table_new(fewer + more + 1, t);
    if (status != PRV_OK) goto done;
    long double sum = 0.0L;
    for (size_t i = 0; i < t->length; i++) {
        t->mass[i] = i < fewer ? lower[fewer - 1 - i] : i == fewer ? 1.0L : upper[i - fewer - 1];
        t->loss[i] = sum_of_two(two, n, mode - (long double)fewer + (long double)i);
        sum += t->mass[i];
    }
    for (size_t i = 0; i < t->length; i++) t->mass[i] /= sum;
    /* A quotient is off by 2.5 roundings and what the odds are, and the product by one more; so is the sum of
     * weights, with its own additions and what was left out. */
    const double steps = (double)(fewer > more ? fewer : more);
    t->mass_error = 2.0 * steps * ((double)(2.0L * U) + two->odds_error) +
                    (double)(U * ((long double)t->length + 4.0L)) + (double)((below + above) / sum);
    t->above = (double)(1.001L * above / sum);
    t->below = (double)(1.001L * below / sum);
    const double greatest = (double)fmaxl(fabsl(t->loss[0]), fabsl(t->loss[t->length - 1]));
    t->loss_error = sum_error(two, count, greatest);
    sum_up(t);
    *known = true;
done:
    prv_release(weights);
    return status;
}

prv_two_losses prv_two_losses_of_response(long double epsilon, double error)
{
    /* An exponential is off by 2 U. */
    return (prv_two_losses){.low = -epsilon,
                            .high = epsilon,
                            .loss_error = error,
                            .opposite = true,
                            .up = expl(epsilon),
                            .down = expl(-epsilon),
                            .odds_error = (double)(2.0L * U) + error * (double)epsilon};
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

/* The relative error of each mass: what cells.c counts of masses of atoms and of their exponents. */
static double atom_mass_error(const prv_atoms *a, double density_error)
{
    double reach = 0.0;
    for (size_t i = 0; i < a->length; i++) reach = fmax(reach, fabs(a->loss[i]));
    return PRV_UNIT * (32.0 + 8.0 * reach + (a->unbounded ? PRV_CUT_OFF_ROUNDINGS : 0.0)) + density_error;
}

prv_two_losses prv_two_losses_of_atoms(const prv_atoms *a, double density_error)
{
    const long double low = (long double)a->q[0], high = (long double)a->q[1];
    const double reach = fmax(fabs(a->loss[0]), fabs(a->loss[1]));
    prv_two_losses two = {.low = (long double)a->loss[0],
                          .high = (long double)a->loss[1],
                          .up = low > 0.0L ? high / low : 0.0L,
                          .down = high > 0.0L ? low / high : 0.0L};
    /* As of a table of atoms; both masses may be off to opposite sides. */
    two.odds_error = 2.0 * atom_mass_error(a, density_error) * PRV_SECOND_ORDER + (double)U;
    two.loss_error = a->loss_error + 2.0 * density_error / reach;
    return two;
}

/* The atoms that are kept: all but a few at either end that hardly matter. */
typedef struct kept_atoms {
    size_t first, end;
    long double below, above; /* mass that is left out */
} kept_atoms;

static kept_atoms keep_atoms(const prv_atoms *a, double least)
{
    kept_atoms k = {0, a->length, 0.0L, 0.0L};
    const long double above = NEGLIGIBLE * (long double)least;
    while (k.first + 1 < k.end && k.below + (long double)a->q[k.first] <= NEGLIGIBLE)
        k.below += (long double)a->q[k.first++];
    while (k.end > k.first + 1 && k.above + (long double)a->q[k.end - 1] <= above)
        k.above += (long double)a->q[--k.end];
    return k;
}

prv_status prv_loss_table_of_atoms(const prv_atoms *a, double density_error, double least, bool *known,
                                   prv_loss_table *t)
{
    memset(t, 0, sizeof *t);
    const kept_atoms kept = keep_atoms(a, least);
    *known = kept.end - kept.first <= PRV_MOST_TABLE_ATOMS;
    if (!*known) return PRV_OK;
    prv_status status = table_new(kept.end - kept.first, t);
    if (status != PRV_OK) return status;
    double reach = 0.0;
    long double sum = 0.0L;
    for (size_t i = 0; i < t->length; i++) {
        t->loss[i] = (long double)a->loss[kept.first + i];
        t->mass[i] = (long double)a->q[kept.first + i];
        sum += t->mass[i];
        reach = fmax(reach, fabs(a->loss[kept.first + i]));
    }
    /* Densities within a factor of 1 +- e, e <= 1/4, of the true ones give masses within that factor, and
     * losses within -log(1 - e) < 2 e. */
    t->mass_error = atom_mass_error(a, density_error);
    t->loss_error = a->loss_error * reach + 2.0 * density_error;
    t->absolute = a->mass_error + (double)a->length * DBL_MIN;
    t->above = (double)(1.001L * kept.above);
    t->below = sum > 0.0L ? (double)(1.001L * kept.below / sum) : 0.0;
    sum_up(t);
    return PRV_OK;
}

/* ---- The curve ------------------------------------------------------------------------------- */

/* The first loss above epsilon, or `length`. */
static size_t first_above(const prv_loss_table *t, long double epsilon)
{
    size_t low = 0, high = t->length;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->loss[middle] > epsilon)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Between two losses delta is linear in e^epsilon. If losses or epsilon move by `moved`, delta moves by that
 * times its fall at most, which steps up at losses: those as near as that count as above. */
prv_closed_value prv_loss_table_at(const prv_loss_table *t, long double epsilon, long double blur)
{
    const size_t n = t->length, first = first_above(t, epsilon);
    const long double outside = (long double)t->above + (long double)t->absolute;
    prv_closed_value v = {0.0L, 0.0L, outside};
    if (n == 0) return v;
    const long double moved = blur + (long double)t->loss_error +
                              2.0L * U * (fabsl(epsilon) + fabsl(t->loss[first < n ? first : n - 1]));
    if (!(moved <= PRV_MOST_BLUR)) return prv_closed_nothing();
    long double steepest = 0.0L;
    if (first < n) {
        const long double down = epsilon - t->loss[first];
        v.delta = t->delta[first] - expm1l(down) * t->ratio[first];
        v.fall = steepest = expl(down) * t->ratio[first];
    }
    size_t near = first;
    while (near > 0 && t->loss[near - 1] > epsilon - 2.0L * moved) near--;
    if (near < first) steepest = t->ratio[near];
    v.error += ((long double)t->value_error + (long double)t->below + 6.0L * U) * v.delta +
               PRV_BLURRED * moved * steepest;
    return v;
}
