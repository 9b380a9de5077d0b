/* Mechanisms from JSON: the types and parameters of the Python package's classes, as constructors of
 * prvcore.h. */
#ifndef PRV_MECHANISM_READING_H
#define PRV_MECHANISM_READING_H

#include "files/json.h"

/* Mechanisms within mechanisms, as the Python package has it: also what is written, so that it can be read.
 */
#define PRV_DEEPEST_MECHANISM 64

/* The names of prv_relation, in its order. */
enum { PRV_RELATION_COUNT = 3 };
extern const char *const prv_relation_names[PRV_RELATION_COUNT];

typedef struct prv_reading {
    const prv_json *json;
    uint32_t at; /* the part where reading ended, where it failed */
} prv_reading;

/* Makes *mechanism of an object, to be freed with prv_mechanism_free. If `count` is not NULL, the object may
 * have a count beside its parameters, 1 if it has none. If it fails, *mechanism is NULL and the status is
 * PRV_ERR_JSON, PRV_ERR_MEMORY or the constructor's. O(parts of the object). */
prv_status prv_read_mechanism(prv_reading *reading, uint32_t place, uint64_t *count,
                              prv_mechanism **mechanism);

/* Finds the members of an object: found[i] is the place of the value that has the name names[i], or 0 if
 * there is none. PRV_ERR_JSON, with reading->at there, if this is no object, or has another name or one
 * twice. */
prv_status prv_read_members(prv_reading *reading, uint32_t place, const char *const *names, size_t length,
                            uint32_t *found);

#endif
