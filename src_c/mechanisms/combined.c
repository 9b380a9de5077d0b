#include "mechanisms/combined.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "numerics/rounding.h"
#include "mechanisms/noise.h"
#include "mechanisms/replace_one.h"
#include "mechanisms/scaling.h"
#include "mechanisms/selection_seen.h"
#include "mechanisms/subsampled.h"
#include "mechanisms/support.h"

/* ---- Copies ---------------------------------------------------------------------------------- */

static prv_status copy_atoms(const prv_mechanism *m, prv_mechanism *copy)
{
    for (int add = 0; add < 2 && m->atoms[0] != NULL; add++) {
        if (add == 1 && m->atoms[1] == m->atoms[0]) {
            copy->atoms[1] = copy->atoms[0];
            continue;
        }
        copy->atoms[add] = prv_atoms_copy(m->atoms[add]);
        if (copy->atoms[add] == NULL) return PRV_ERR_MEMORY;
    }
    if (m->base_atoms == NULL) return PRV_OK;
    copy->base_atoms = prv_atoms_copy(m->base_atoms);
    return copy->base_atoms != NULL ? PRV_OK : PRV_ERR_MEMORY;
}

static prv_status copy_parts(const prv_mechanism *m, prv_mechanism *copy)
{
    copy->part_count = 0;
    copy->parts = NULL;
    copy->part_counts = NULL;
    if (m->part_count == 0) return PRV_OK;
    copy->parts = prv_allocate(m->part_count, sizeof *copy->parts);
    copy->part_counts = prv_allocate(m->part_count, sizeof *copy->part_counts);
    if (copy->parts == NULL || copy->part_counts == NULL) return PRV_ERR_MEMORY;
    for (; copy->part_count < m->part_count; copy->part_count++) {
        const size_t i = copy->part_count;
        const prv_status status = prv_mechanism_copy(m->parts[i], &copy->parts[i]);
        if (status != PRV_OK) return status;
        copy->part_counts[i] = m->part_counts[i];
    }
    return PRV_OK;
}

prv_status prv_mechanism_copy(const prv_mechanism *m, prv_mechanism **copy)
{
    prv_mechanism *c = prv_mechanism_like(m);
    if (c == NULL) return PRV_ERR_MEMORY;
    prv_status status = copy_atoms(m, c);
    if (status == PRV_OK && m->mixture != NULL) status = prv_gaussian_mixture_copy(m->mixture, &c->mixture);
    if (status == PRV_OK && m->base_mixture != NULL)
        status = prv_gaussian_mixture_copy(m->base_mixture, &c->base_mixture);
    for (int i = 0; i < 2 && status == PRV_OK; i++)
        if (m->part[i] != NULL) status = prv_mechanism_copy(m->part[i], &c->part[i]);
    if (status == PRV_OK && m->attained != NULL) status = prv_mechanism_copy(m->attained, &c->attained);
    if (status == PRV_OK) status = copy_parts(m, c);
    return prv_mechanism_finish(status, c, copy);
}

/* ---- Constructors ---------------------------------------------------------------------------- */

/* Parts whose lower bounds are those of their own pairs, of which a combination is made; whoever has a pair
 * for groups, or for other data sets only, has none that may be combined. */
static prv_status check_part(const prv_mechanism *m)
{
    if (m->group_size > 1 || prv_has_two_pairs(m)) return PRV_ERR_PART;
    const int own = m->attained == NULL && m->base != PRV_BASE_CHOICE && m->base != PRV_BASE_BOUNDED_RANGE;
    return own ? PRV_OK : PRV_ERR_PART;
}

/* A combination with room for these parts, which are copied; parts with a count of 0 are left out. */
static prv_status combined_new(prv_combination kind, const prv_step *steps, size_t step_count,
                               prv_mechanism **mechanism)
{
    prv_mechanism *m = prv_mechanism_new(PRV_BASE_COMBINED);
    if (m == NULL) return PRV_ERR_MEMORY;
    m->combination = kind;
    m->parts = prv_allocate(step_count, sizeof *m->parts);
    m->part_counts = prv_allocate(step_count, sizeof *m->part_counts);
    prv_status status = m->parts != NULL && m->part_counts != NULL ? PRV_OK : PRV_ERR_MEMORY;
    for (size_t i = 0; i < step_count && status == PRV_OK; i++) {
        if (steps[i].count == 0) continue;
        status = check_part(steps[i].mechanism);
        if (status == PRV_OK) status = prv_mechanism_copy(steps[i].mechanism, &m->parts[m->part_count]);
        if (status == PRV_OK) m->part_counts[m->part_count++] = steps[i].count;
    }
    return prv_mechanism_finish(status, m, mechanism);
}

static prv_status make_composed(const prv_step *steps, size_t step_count, prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    uint64_t total = 0;
    const prv_mechanism *only = NULL;
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].count > PRV_MOST_STEPS - total) return PRV_ERR_COUNT;
        total += steps[i].count;
        if (steps[i].count > 0) only = steps[i].mechanism;
    }
    if (total == 0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    if (total == 1) return prv_mechanism_copy(only, mechanism);
    prv_status status = combined_new(PRV_COMBINED_PRODUCT, steps, step_count, mechanism);
    if (status != PRV_OK) return status;
    prv_mechanism *m = *mechanism;
    m->replacement = PRV_REPLACED_PARTS;
    for (size_t i = 0; i < m->part_count; i++) {
        /* Folded pairs are not attained, and no parts of others. */
        const prv_replacement of_part = m->parts[i]->replacement;
        const bool none = of_part == PRV_REPLACED_UNKNOWN || of_part == PRV_REPLACED_FOLDED;
        if (none) m->replacement = PRV_REPLACED_UNKNOWN;
        m->replaced_only = m->replaced_only || m->parts[i]->replaced_only;
    }
    if (!(m->replaced_only && m->replacement == PRV_REPLACED_UNKNOWN)) return PRV_OK;
    prv_mechanism_free(m);
    return PRV_ERR_NEIGHBORS; /* some parts have no pair for some neighbours, some none for the others */
}

/* Whether a sample has the folded pair of Lemma 2, for which all parts have to be their own reverses. */
static bool is_foldable(const prv_mechanism *base)
{
    if (base->replacement != PRV_REPLACED_PARTS) return false;
    for (size_t i = 0; i < base->part_count; i++)
        if (base->parts[i]->replacement == PRV_REPLACED_STATED ||
            (base->parts[i]->replacement == PRV_REPLACED_PARTS && !is_foldable(base->parts[i])))
            return false;
    return true;
}

prv_status prv_mechanism_composed(const prv_step *steps, size_t step_count, prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_COMPOSED,
        .part_count = step_count,
        .parts = steps,
    };
    return prv_described(make_composed(steps, step_count, mechanism), &made, mechanism);
}

prv_status prv_combined_sampled(const prv_mechanism *base, double p, prv_mechanism **mechanism)
{
    const prv_status status = combined_new(PRV_COMBINED_SAMPLE, &(prv_step){base, 1}, 1, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->sampled = 1;
    (*mechanism)->sampling_probability = p;
    if (is_foldable(base)) (*mechanism)->replacement = PRV_REPLACED_FOLDED;
    return PRV_OK;
}

prv_status prv_combined_fixed_size(const prv_mechanism *base, double p, prv_mechanism **mechanism)
{
    if (base->combination != PRV_COMBINED_PRODUCT || !is_foldable(base)) return PRV_ERR_NEIGHBORS;
    if (p == 0.0) return prv_mechanism_approximate_dp(0.0, 0.0, mechanism);
    const prv_status status = p < 1.0 ? prv_combined_sampled(base, p, mechanism)
                                      : prv_mechanism_copy(base, mechanism);
    if (status != PRV_OK) return status;
    (*mechanism)->without_replacement = (*mechanism)->replaced_only = true;
    return PRV_OK;
}

/* The folded pair of a sample, of which *replaced is the base where a record is replaced. Two data sets have
 * the pair of a sample of fixed size if all other records are alike, and of a Poisson sample if the record is
 * replaced by one that contributes nothing: then it is that of a removed one. */
static prv_status folded(const prv_mechanism *m, const prv_mechanism *replaced, prv_mechanism **pair)
{
    prv_status status = combined_new(PRV_COMBINED_FOLDED, &(prv_step){replaced, 1}, 1, pair);
    if (status != PRV_OK) return status;
    prv_mechanism *made = *pair;
    made->sampling_probability = m->sampling_probability;
    made->never_attained = !m->without_replacement;
    status = m->without_replacement ? prv_combined_sampled(replaced, m->sampling_probability, &made->attained)
                                    : prv_mechanism_copy(m, &made->attained);
    if (status != PRV_OK) prv_mechanism_free(made);
    return status;
}

static prv_status make_random_allocation(const prv_mechanism *base, uint64_t batches,
                                         prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (batches < 1 || batches > (uint64_t)1 << 32) return PRV_ERR_BATCHES;
    if (base->replaced_only) return PRV_ERR_NEIGHBORS;
    if (batches == 1) return prv_mechanism_copy(base, mechanism);
    const prv_status status = combined_new(PRV_COMBINED_AVERAGE, &(prv_step){base, 1}, 1, mechanism);
    if (status == PRV_OK) (*mechanism)->batches = batches;
    return status;
}

prv_status prv_mechanism_random_allocation(const prv_mechanism *base, uint64_t batches,
                                           prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_RANDOM_ALLOCATION,
        .batches = batches,
        .part_count = 1,
        .parts = &(prv_step){base, 1},
    };
    return prv_described(make_random_allocation(base, batches, mechanism), &made, mechanism);
}

static prv_status make_random_selection(const prv_mechanism *base, uint64_t batches, uint64_t selected,
                                        prv_mechanism **mechanism)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    if (selected < 1 || selected > batches || batches > (uint64_t)1 << 32) return PRV_ERR_BATCHES;
    if (selected == 1) return prv_mechanism_random_allocation(base, batches, mechanism);
    if (base->replaced_only) return PRV_ERR_NEIGHBORS;
    if (selected == batches) return prv_mechanism_composed(&(prv_step){base, batches}, 1, mechanism);
    /* So many blocks have one batch more than the others. */
    const uint64_t size = batches / selected, larger = batches % selected;
    prv_mechanism *block[2] = {NULL, NULL}, *m = NULL;
    prv_status status = prv_mechanism_random_allocation(base, size, &block[0]);
    if (status == PRV_OK) status = prv_mechanism_random_allocation(base, size + 1, &block[1]);
    if (status == PRV_OK) {
        const prv_step steps[2] = {{block[0], selected - larger}, {block[1], larger}};
        status = prv_mechanism_composed(steps, 2, &m);
    }
    if (status == PRV_OK) {
        m->batches = batches;
        m->selected = selected;
        m->never_attained = true;
        m->replacement = PRV_REPLACED_UNKNOWN;
        status = prv_selection_seen(base, batches, selected, &m->attained);
        status = prv_mechanism_finish(status, m, mechanism);
    }
    prv_mechanism_free(block[0]);
    prv_mechanism_free(block[1]);
    return status;
}

prv_status prv_mechanism_random_selection(const prv_mechanism *base, uint64_t batches, uint64_t selected,
                                          prv_mechanism **mechanism)
{
    const prv_description made = {
        .kind = PRV_KIND_RANDOM_SELECTION,
        .batches = batches,
        .selected = selected,
        .part_count = 1,
        .parts = &(prv_step){base, 1},
    };
    return prv_described(make_random_selection(base, batches, selected, mechanism), &made, mechanism);
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* The combination of other parts, in the place of those of m. `made` is freed. */
static prv_status combination_like(prv_status status, const prv_mechanism *m, prv_mechanism **made, double p,
                                   prv_mechanism **mechanism)
{
    prv_step *steps = prv_allocate(m->part_count, sizeof *steps);
    if (steps == NULL) status = status == PRV_OK ? PRV_ERR_MEMORY : status;
    for (size_t i = 0; i < m->part_count && status == PRV_OK; i++)
        steps[i] = (prv_step){made[i], m->part_counts[i]};
    if (status == PRV_OK) {
        switch (m->combination) {
        case PRV_COMBINED_PRODUCT: status = prv_mechanism_composed(steps, m->part_count, mechanism); break;
        case PRV_COMBINED_SAMPLE:
            status = m->without_replacement ? prv_combined_fixed_size(made[0], p, mechanism)
                                            : prv_mechanism_poisson_subsampled(made[0], p, mechanism);
            break;
        case PRV_COMBINED_FOLDED: status = PRV_ERR_PARAMETER; break; /* made of a sample, which changes */
        case PRV_COMBINED_AVERAGE:
            status = prv_mechanism_random_allocation(made[0], m->batches, mechanism);
            break;
        }
    }
    prv_release(steps);
    for (size_t i = 0; i < m->part_count && made != NULL; i++) prv_mechanism_free(made[i]);
    prv_release(made);
    return status;
}

static prv_mechanism **room_for_parts(const prv_mechanism *m)
{
    prv_mechanism **made = prv_allocate(m->part_count, sizeof *made);
    for (size_t i = 0; i < m->part_count && made != NULL; i++) made[i] = NULL;
    return made;
}

prv_status prv_combined_replaced(const prv_mechanism *m, prv_mechanism **pair)
{
    prv_mechanism **made = room_for_parts(m);
    if (made == NULL) return PRV_ERR_MEMORY;
    prv_status status = PRV_OK;
    for (size_t i = 0; i < m->part_count && status == PRV_OK; i++) {
        status = prv_mechanism_replaced(m->parts[i], &made[i]);
        if (status == PRV_OK && made[i] == NULL) status = prv_mechanism_copy(m->parts[i], &made[i]);
    }
    if (m->combination == PRV_COMBINED_SAMPLE) {
        if (status == PRV_OK) status = folded(m, made[0], pair);
        prv_mechanism_free(made[0]);
        prv_release(made);
    } else {
        status = combination_like(status, m, made, 1.0, pair);
    }
    if (status == PRV_OK) (*pair)->replaced_only = 1;
    return status;
}

bool prv_combined_has_averages(const prv_mechanism *m)
{
    if (m->base != PRV_BASE_COMBINED) return false;
    if (m->combination == PRV_COMBINED_AVERAGE) return true;
    for (size_t i = 0; i < m->part_count; i++)
        if (prv_combined_has_averages(m->parts[i])) return true;
    return false;
}

/* Takes `base`, the only part of an average. The probability is rounded down: a sample of a sample. */
static prv_status simpler_average(prv_mechanism *base, uint64_t batches, bool above, prv_mechanism **simpler)
{
    if (above) {
        *simpler = base;
        return PRV_OK;
    }
    const prv_status status = prv_mechanism_poisson_subsampled(base, prv_below(1.0 / (double)batches),
                                                               simpler);
    prv_mechanism_free(base);
    return status;
}

prv_status prv_combined_simpler(const prv_mechanism *m, bool above, prv_mechanism **simpler)
{
    if (!prv_combined_has_averages(m)) return prv_mechanism_copy(m, simpler);
    prv_mechanism **made = room_for_parts(m);
    if (made == NULL) return PRV_ERR_MEMORY;
    prv_status status = PRV_OK;
    for (size_t i = 0; i < m->part_count && status == PRV_OK; i++)
        status = prv_combined_simpler(m->parts[i], above, &made[i]);
    if (m->combination == PRV_COMBINED_AVERAGE && status == PRV_OK) {
        status = simpler_average(made[0], m->batches, above, simpler);
        prv_release(made);
        return status;
    }
    return combination_like(status, m, made, m->sampling_probability, simpler);
}

int prv_combined_has(const prv_mechanism *m, prv_parameter parameter)
{
    if (parameter == PRV_SAMPLING_PROBABILITY) return m->combination == PRV_COMBINED_SAMPLE;
    for (size_t i = 0; i < m->part_count; i++)
        if (prv_has_parameter(m->parts[i], parameter)) return 1;
    return 0;
}

/* Of a selection, whose first part is an average of its base, or the base itself. */
static prv_status selection_scaled(const prv_mechanism *m, prv_parameter parameter, double factor,
                                   prv_mechanism **mechanism)
{
    const prv_mechanism *first = m->parts[0];
    const bool averages = first->base == PRV_BASE_COMBINED && first->combination == PRV_COMBINED_AVERAGE &&
                          m->batches / m->selected > 1;
    prv_mechanism *base = NULL;
    prv_status status = prv_mechanism_scaled(averages ? first->parts[0] : first, parameter, factor, &base);
    if (status == PRV_OK) status = prv_mechanism_random_selection(base, m->batches, m->selected, mechanism);
    prv_mechanism_free(base);
    return status;
}

prv_status prv_combined_scaled(const prv_mechanism *m, prv_parameter parameter, double factor,
                               prv_mechanism **mechanism)
{
    if (m->selected > 0) return selection_scaled(m, parameter, factor, mechanism);
    prv_mechanism **made = room_for_parts(m);
    if (made == NULL) return PRV_ERR_MEMORY;
    const int of_parts = parameter == PRV_NOISE_SCALE;
    double p = m->sampling_probability * (of_parts ? 1.0 : factor);
    if (p > 1.0 && p <= 1.0 + 2.0 * DBL_EPSILON) p = 1.0; /* p * (1 / p) */
    prv_status status = PRV_OK;
    for (size_t i = 0; i < m->part_count && status == PRV_OK; i++) {
        const int scales = of_parts && prv_has_parameter(m->parts[i], parameter);
        status = scales ? prv_mechanism_scaled(m->parts[i], parameter, factor, &made[i])
                        : prv_mechanism_copy(m->parts[i], &made[i]);
    }
    return combination_like(status, m, made, p, mechanism);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

int prv_combined_is_symmetric(const prv_mechanism *m)
{
    if (m->combination == PRV_COMBINED_FOLDED) return 1;
    if (m->combination != PRV_COMBINED_PRODUCT) return 0;
    for (size_t i = 0; i < m->part_count; i++)
        if (!prv_is_symmetric(m->parts[i])) return 0;
    return 1;
}

double prv_combined_absolute_error(const prv_mechanism *m)
{
    double error = 0.0;
    for (size_t i = 0; i < m->part_count; i++)
        error += (double)m->part_counts[i] * prv_absolute_cdf_error(m->parts[i]);
    return m->combination == PRV_COMBINED_AVERAGE ? error * (double)m->batches : error;
}

/* A sample, or the losses above 0 that a folded pair has of one. */
static bool is_sample(const prv_mechanism *m)
{
    return m->combination == PRV_COMBINED_SAMPLE || m->combination == PRV_COMBINED_FOLDED;
}

/* A mass at infinity, and numbers that it lies between. */
typedef struct known_mass {
    double low, mass, high;
} known_mass;

/* x off by this part of itself, and by underflow, between its own bounds. */
static known_mass rounded(double low, double mass, double high, double relative)
{
    return (known_mass){fmax(prv_below(low - prv_error_of_product(low, relative)), 0.0), mass,
                        fmin(prv_above(high + prv_error_of_product(high, relative)), 1.0)};
}

static known_mass mass_of_part(const prv_mechanism *part, bool add)
{
    const double mass = fmin(prv_infinite_mass(part, add), 1.0), error = prv_infinite_mass_error(part, add);
    if (!(error > 0.0)) return (known_mass){mass, mass, mass};
    return (known_mass){fmax(prv_below(mass - error), 0.0), mass, fmin(prv_above(mass + error), 1.0)};
}

/* 1 - prod (1 - m_i)^k_i. A logarithm, a product and a sum are off by 4 u and u for each part, and the power
 * of e by 2 u: of a mass m that is a part of at most -(1 - m) log(1 - m) <= m. */
static known_mass mass_of_product(const prv_mechanism *m, bool add)
{
    double low = 0.0, mass = 0.0, high = 0.0; /* logarithms of the mass of finite losses */
    bool never = true, always = false;
    for (size_t i = 0; i < m->part_count; i++) {
        const double count = (double)m->part_counts[i];
        const known_mass part = mass_of_part(m->parts[i], add);
        low += count * prv_log_rest(part.low);
        mass += count * prv_log_rest(part.mass);
        high += count * prv_log_rest(part.high);
        never = never && part.high == 0.0;
        always = always || part.low == 1.0;
    }
    if (never) return (known_mass){0.0, 0.0, 0.0};
    if (always) return (known_mass){1.0, 1.0, 1.0};
    return rounded(prv_one_less_exp(low), prv_one_less_exp(mass), prv_one_less_exp(high),
                   16.0 * PRV_UNIT * (2.0 + (double)m->part_count));
}

/* Q is the special measure of 'remove', of which one batch has a part; of 'add' it is the null measure, and
 * only what no batch explains has an infinite loss. What is exactly 0 or 1 stays so. */
static known_mass mass_of_combination(const prv_mechanism *m, bool add)
{
    const known_mass none = {0.0, 0.0, 0.0};
    if (m->combination == PRV_COMBINED_PRODUCT) return mass_of_product(m, add);
    if (m->combination == PRV_COMBINED_FOLDED) add = false; /* both directions are one pair */
    const known_mass part = mass_of_part(m->parts[0], add);
    if (is_sample(m)) {
        const double p = m->sampling_probability;
        if (add || part.high == 0.0) return none;
        if (part.low == 1.0) return (known_mass){p, p, p};
        return rounded(p * part.low, p * part.mass, p * part.high, PRV_UNIT);
    }
    if (!add || part.high == 0.0 || part.low == 1.0) return part;
    const double t = (double)m->batches;
    return rounded(pow(part.low, t), pow(part.mass, t), pow(part.high, t), PRV_LIBM_ERROR);
}

double prv_combined_infinite_mass(const prv_mechanism *m, bool add, double *error)
{
    const known_mass k = mass_of_combination(m, add);
    const double off = fmax(k.high - k.mass, k.mass - k.low);
    *error = off > 0.0 ? prv_above(off) : 0.0;
    return k.mass;
}

double prv_combined_greatest_loss(const prv_mechanism *m, bool add, double *error)
{
    if (m->combination == PRV_COMBINED_FOLDED) add = 0;
    double greatest = 0.0;
    bool no_finite_loss = false;
    *error = 0.0;
    for (size_t i = 0; i < m->part_count; i++) {
        const double count = (double)m->part_counts[i], of_part = prv_greatest_loss(m->parts[i], add);
        no_finite_loss = no_finite_loss || of_part == -HUGE_VAL;
        greatest += count * of_part;
        *error += count * prv_greatest_loss_error(m->parts[i], add);
    }
    /* Outcomes of which one has an infinite loss have one, whatever the greatest losses of the others. */
    if (no_finite_loss) greatest = -HUGE_VAL;
    /* In the direction 'add' an infinite loss of a part is a finite one of the whole: that of a record which
     * is not sampled, or is in one of the other batches. */
    const int ends = add && m->combination != PRV_COMBINED_PRODUCT &&
                     (prv_infinite_mass(m->parts[0], add) > 0.0 ||
                      prv_infinite_mass_error(m->parts[0], add) > 0.0);
    if (ends && is_sample(m)) {
        const double never = -log1p(-m->sampling_probability);
        *error = 4.0 * PRV_UNIT * never;
        return never;
    }
    if (ends) greatest += log((double)m->batches);
    if (is_sample(m)) {
        const double p = m->sampling_probability;
        if (isfinite(greatest)) *error = *error * 1.5 + 16.0 * PRV_UNIT * (1.0 + fabs(greatest));
        greatest = add ? -prv_subsampled_loss(-greatest, p) : prv_subsampled_loss(greatest, p);
        /* What is below 0 in the sample is at 0 in its folded pair. */
        if (m->combination == PRV_COMBINED_FOLDED) greatest = fmax(greatest, 0.0);
    }
    /* Of an average, at most that of each batch, else: it lies between its terms. */
    *error = isfinite(greatest) ? *error + 4.0 * PRV_UNIT * fabs(greatest) * (double)(m->part_count + 1)
                                : 0.0;
    return greatest;
}
