/* Compositions as JSON, and back: schedules and accountants in the forms that the Python package has. */
#include <stdbool.h>
#include <string.h>

#include "base/arithmetic.h"
#include "files/json.h"
#include "files/mechanism_reading.h"
#include "files/mechanism_writing.h"

#define FORMAT "prvcore accountant"
#define VERSION 1

/* The names of options, in the order of their enums. */
static const char *const neighbors_names[] = {"add-or-remove", "add", "remove", "replace-one"};
static const char *const discretizations[] = {"bracketing", "mean-matching"};
static const char *const engines[] = {"auto", "convolution", "spectrum"};
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* What the Python package takes for mean-matching if an accountant says nothing. */
#define MEAN_MATCHING_EPS_ERROR 0.1
#define MEAN_MATCHING_DELTA_ERROR 1e-10

/* ---- Writing ----------------------------------------------------------------------------------------- */

prv_status prv_steps_to_json(const prv_step *steps, size_t step_count, char *text, size_t size,
                             size_t *length)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    prv_writing w = {text, size, 0};
    prv_put(&w, "{\"steps\": [");
    bool first = true;
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].count == 0) continue;
        if (!first) prv_put(&w, ", ");
        first = false;
        const prv_status status = prv_put_mechanism(&w, steps[i].mechanism, &steps[i].count);
        if (status != PRV_OK) return status;
    }
    prv_put(&w, "]}");
    prv_end_writing(&w);
    *length = w.length;
    return PRV_OK;
}

static void put_choice(prv_writing *w, const char *name, const char *value)
{
    prv_put(w, name);
    prv_put(w, "\": \"");
    prv_put(w, value);
    prv_put(w, "\"");
}

static prv_status put_options(prv_writing *w, const prv_options *o)
{
    if (prv_options_fault(o) != NULL) return PRV_ERR_OPTIONS;
    if ((size_t)o->engine >= LENGTH(engines)) return PRV_ERR_NO_JSON;
    put_choice(w, "\"neighbors", neighbors_names[o->neighbors]);
    put_choice(w, ", \"discretization", discretizations[o->discretization]);
    put_choice(w, ", \"engine", engines[o->engine]);
    if (o->eps_error != 0.0) prv_put_named_number(w, "eps_error", o->eps_error);
    if (o->discretization == PRV_MEAN_MATCHING) prv_put_named_number(w, "delta_error", o->delta_error);
    if (o->mesh_size != 0.0) prv_put_named_number(w, "mesh_size", o->mesh_size);
    prv_put_named_number(w, "delta_relative_error", o->delta_relative_error);
    return PRV_OK;
}

prv_status prv_accountant_to_json(const prv_accountant *accountant, const prv_options *options, char *text,
                                  size_t size, size_t *length)
{
    prv_status status = prv_check_arithmetic();
    if (status != PRV_OK) return status;
    prv_writing w = {text, size, 0};
    prv_put(&w, "{\"format\": \"" FORMAT "\", \"version\": ");
    prv_put_whole(&w, VERSION);
    prv_put(&w, ", \"options\": {");
    if (options != NULL) status = put_options(&w, options);
    prv_put(&w, "}, \"history\": [");
    size_t step_count;
    const prv_step *steps = prv_accountant_steps(accountant, &step_count);
    for (size_t i = 0; i < step_count && status == PRV_OK; i++) {
        prv_put(&w, i > 0 ? ", {\"mechanism\": " : "{\"mechanism\": ");
        status = prv_put_mechanism(&w, steps[i].mechanism, NULL);
        prv_put(&w, ", \"count\": ");
        prv_put_whole(&w, steps[i].count);
        prv_put(&w, "}");
    }
    if (status != PRV_OK) return status;
    prv_put(&w, "]}");
    prv_end_writing(&w);
    *length = w.length;
    return PRV_OK;
}

/* ---- Reading ----------------------------------------------------------------------------------------- */

/* A number, or null, which leaves *number as it is; 0 stands for a value that was left out. */
static bool optional_number(prv_reading *r, uint32_t place, double *number)
{
    if (place == 0) return true;
    r->at = place;
    return r->json->parts[place].kind == PRV_JSON_NULL || prv_json_number(r->json, place, number);
}

static bool optional_choice(prv_reading *r, uint32_t place, const char *const *names, size_t length,
                            int *chosen)
{
    if (place == 0) return true;
    r->at = place;
    const size_t found = prv_json_choice(r->json, place, names, length);
    *chosen = (int)found;
    return found < length;
}

static prv_status read_options(prv_reading *r, uint32_t place, prv_options *options)
{
    static const char *const names[] = {"neighbors",           "discretization", "engine",
                                        "eps_error",           "delta_error",    "mesh_size",
                                        "delta_relative_error"};
    uint32_t found[LENGTH(names)];
    const prv_status status = prv_read_members(r, place, names, LENGTH(names), found);
    if (status != PRV_OK) return status;
    if (options == NULL) return r->json->parts[place].count == 0 ? PRV_OK : PRV_ERR_OPTIONS;
    prv_options o = *options;
    int neighbors = (int)o.neighbors, discretization = (int)o.discretization, engine = (int)o.engine;
    if (!optional_choice(r, found[0], neighbors_names, LENGTH(neighbors_names), &neighbors) ||
        !optional_choice(r, found[1], discretizations, LENGTH(discretizations), &discretization) ||
        !optional_choice(r, found[2], engines, LENGTH(engines), &engine))
        return PRV_ERR_JSON;
    if (discretization == PRV_MEAN_MATCHING) {
        if (o.eps_error == 0.0) o.eps_error = MEAN_MATCHING_EPS_ERROR;
        if (o.delta_error == 0.0) o.delta_error = MEAN_MATCHING_DELTA_ERROR;
    }
    if (!optional_number(r, found[3], &o.eps_error) || !optional_number(r, found[4], &o.delta_error) ||
        !optional_number(r, found[5], &o.mesh_size) || !optional_number(r, found[6], &o.delta_relative_error))
        return PRV_ERR_JSON;
    o.neighbors = (prv_neighbors)neighbors;
    o.discretization = (prv_discretization)discretization;
    o.engine = (prv_engine)engine;
    r->at = place;
    if (prv_options_fault(&o) != NULL) return PRV_ERR_OPTIONS;
    *options = o;
    return PRV_OK;
}

/* One step of a schedule, or one entry of a history. */
static prv_status add_step(prv_reading *r, uint32_t place, bool is_entry, prv_accountant *accountant)
{
    static const char *const names[] = {"mechanism", "count"};
    uint64_t count = 1;
    prv_mechanism *mechanism = NULL;
    prv_status status;
    if (is_entry) {
        uint32_t found[LENGTH(names)];
        status = prv_read_members(r, place, names, LENGTH(names), found);
        if (status != PRV_OK) return status;
        if (found[0] == 0 || found[1] == 0) return PRV_ERR_JSON;
        r->at = found[1];
        if (!prv_json_whole(r->json, found[1], &count)) return PRV_ERR_JSON;
        status = prv_read_mechanism(r, found[0], NULL, &mechanism);
    } else {
        status = prv_read_mechanism(r, place, &count, &mechanism);
    }
    if (status == PRV_OK) {
        r->at = place;
        status = prv_accountant_add(accountant, mechanism, count);
    }
    prv_mechanism_free(mechanism);
    return status;
}

static prv_status add_steps(prv_reading *r, uint32_t place, bool are_entries, prv_accountant *accountant)
{
    const prv_json_part *parts = r->json->parts;
    r->at = place;
    if (parts[place].kind != PRV_JSON_ARRAY) return PRV_ERR_JSON;
    prv_status status = PRV_OK;
    uint32_t each = place + 1;
    for (uint32_t i = 0; i < parts[place].count && status == PRV_OK; i++, each = parts[each].next)
        status = add_step(r, each, are_entries, accountant);
    return status;
}

/* A schedule has steps and nothing else, an accountant all of the others. */
static prv_status read_text(prv_reading *r, prv_options *options, prv_accountant *accountant)
{
    static const char *const names[] = {"steps", "format", "version", "options", "history"};
    uint32_t found[LENGTH(names)];
    prv_status status = prv_read_members(r, 0, names, LENGTH(names), found);
    if (status != PRV_OK) return status;
    const uint32_t count = r->json->parts[0].count;
    if (found[0] != 0) return count == 1 ? add_steps(r, found[0], false, accountant) : PRV_ERR_JSON;
    if (count != LENGTH(names) - 1) return PRV_ERR_JSON;
    uint64_t version = 0;
    r->at = found[1];
    if (!prv_json_is(r->json, found[1], FORMAT)) return PRV_ERR_JSON;
    r->at = found[2];
    if (!prv_json_whole(r->json, found[2], &version) || version != VERSION) return PRV_ERR_JSON;
    prv_options own; /* the caller's change only if all else can be read, too */
    if (options != NULL) own = *options;
    status = read_options(r, found[3], options != NULL ? &own : NULL);
    if (status == PRV_OK) status = add_steps(r, found[4], true, accountant);
    if (status == PRV_OK && options != NULL) *options = own;
    return status;
}

prv_status prv_accountant_from_json(const char *text, size_t length, prv_options *options, size_t *fault,
                                    prv_accountant **accountant)
{
    *accountant = NULL;
    size_t at = 0;
    prv_json json = {text, NULL, 0};
    prv_accountant *made = NULL;
    prv_status status = prv_check_arithmetic();
    if (status == PRV_OK) status = prv_accountant_new(&made);
    if (status == PRV_OK) status = prv_json_parse(text, length, &json, &at);
    if (status == PRV_OK) {
        prv_reading r = {&json, 0};
        status = read_text(&r, options, made);
        at = json.parts[r.at].start;
    }
    prv_json_clear(&json);
    if (status != PRV_OK) {
        prv_accountant_free(made);
        made = NULL;
        if (fault != NULL) *fault = at;
    }
    *accountant = made;
    return status;
}
