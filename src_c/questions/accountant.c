/* An accountant: what has run so far, with references to its mechanisms, and a history that answers for it.
 */
#include <string.h>

#include "base/allocate.h"
#include "questions/question.h"

struct prv_accountant {
    prv_history *history;
    prv_step
        *steps; /* [length] of different mechanisms, of which each holds a reference; room for capacity */
    size_t length, capacity;
    size_t *table; /* prv_place_of, of table_size */
    size_t table_size;
    uint64_t total; /* of the counts */
};

prv_status prv_accountant_new(prv_accountant **accountant)
{
    *accountant = NULL;
    prv_accountant *a = prv_allocate(1, sizeof *a);
    if (a == NULL) return PRV_ERR_MEMORY;
    memset(a, 0, sizeof *a);
    const prv_status status = prv_history_new(&a->history);
    if (status != PRV_OK) {
        prv_release(a);
        return status;
    }
    *accountant = a;
    return PRV_OK;
}

void prv_accountant_free(prv_accountant *a)
{
    if (a == NULL) return;
    prv_history_free(a->history);
    for (size_t i = 0; i < a->length; i++) prv_mechanism_free((prv_mechanism *)a->steps[i].mechanism);
    prv_release(a->steps);
    prv_release(a->table);
    prv_release(a);
}

/* Room for one step more, in a table of which at least half is empty. */
static prv_status reserve(prv_accountant *a)
{
    if (a->length < a->capacity) return PRV_OK;
    const size_t capacity = a->capacity > 0 ? 2 * a->capacity : 8, size = 2 * capacity;
    prv_step *steps = prv_allocate(capacity, sizeof *steps);
    size_t *table = prv_allocate(size, sizeof *table);
    if (steps == NULL || table == NULL) {
        prv_release(steps);
        prv_release(table);
        return PRV_ERR_MEMORY;
    }
    if (a->length > 0) memcpy(steps, a->steps, a->length * sizeof *steps);
    memset(table, 0, size * sizeof *table);
    for (size_t i = 0; i < a->length; i++)
        table[prv_place_of(table, size, steps, steps[i].mechanism)] = i + 1;
    prv_release(a->steps);
    prv_release(a->table);
    a->steps = steps;
    a->table = table;
    a->capacity = capacity;
    a->table_size = size;
    return PRV_OK;
}

prv_status prv_accountant_add(prv_accountant *a, const prv_mechanism *mechanism, uint64_t count)
{
    if (count == 0) return PRV_OK;
    const uint64_t total = prv_add_count(a->total, count);
    if (total > PRV_MOST_STEPS) return PRV_ERR_COUNT;
    const prv_status status = reserve(a);
    if (status != PRV_OK) return status;
    size_t *place = &a->table[prv_place_of(a->table, a->table_size, a->steps, mechanism)];
    if (*place == 0) {
        a->steps[a->length++] = (prv_step){prv_mechanism_retain(mechanism), 0};
        *place = a->length;
    }
    a->steps[*place - 1].count += count;
    a->total = total;
    return PRV_OK;
}

prv_status prv_accountant_copy(const prv_accountant *a, prv_accountant **copy)
{
    prv_accountant *c = NULL;
    prv_status status = prv_accountant_new(&c);
    for (size_t i = 0; i < a->length && status == PRV_OK; i++)
        status = prv_accountant_add(c, a->steps[i].mechanism, a->steps[i].count);
    if (status != PRV_OK) {
        prv_accountant_free(c);
        c = NULL;
    }
    *copy = c;
    return status;
}

const prv_step *prv_accountant_steps(const prv_accountant *a, size_t *step_count)
{
    *step_count = a->length;
    return a->steps;
}

prv_status prv_accountant_epsilon(prv_accountant *a, const prv_options *options, const double *deltas,
                                  size_t length, prv_bounds *bounds, prv_report *reports)
{
    return prv_history_epsilon(a->history, a->steps, a->length, options, deltas, length, bounds, reports);
}

prv_status prv_accountant_delta(prv_accountant *a, const prv_options *options, const double *epsilons,
                                size_t length, prv_bounds *bounds, prv_report *reports)
{
    return prv_history_delta(a->history, a->steps, a->length, options, epsilons, length, bounds, reports);
}
