/* JSON read strictly: a text as a table of its parts, and what a part says.
 *
 * Strings are of printable ASCII without escapes, as all names are that the readers know. */
#ifndef PRV_JSON_H
#define PRV_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "prvcore.h"

typedef enum prv_json_kind {
    PRV_JSON_OBJECT,
    PRV_JSON_ARRAY,
    PRV_JSON_STRING,
    PRV_JSON_NUMBER,
    PRV_JSON_TRUE,
    PRV_JSON_FALSE,
    PRV_JSON_NULL
} prv_json_kind;

/* One value. The parts of an array follow it in their order, those of an object as name, value, name, ... */
typedef struct prv_json_part {
    prv_json_kind kind;
    uint32_t start, length; /* in the text; of a string without its quotes */
    uint32_t count;         /* elements of an array, members of an object */
    uint32_t next;          /* the place behind this value and all of its parts */
} prv_json_part;

typedef struct prv_json {
    const char *text; /* belongs to the caller */
    prv_json_part *parts;
    uint32_t length; /* of parts, of which the first is the whole text; never 0 */
} prv_json;

/* The longest text, in bytes, and how deep arrays and objects may lie within each other. */
#define PRV_JSON_LONGEST ((size_t)1 << 24)
#define PRV_JSON_DEEPEST 256

/* Fills *json, to be given back to prv_json_clear, also after an error. PRV_ERR_JSON if the text has another
 * form than RFC 8259 gives it, is longer or nested deeper than above, or has a string as above is refused;
 * *fault is the byte where this was seen. PRV_ERR_MEMORY. O(length). */
prv_status prv_json_parse(const char *text, size_t length, prv_json *json, size_t *fault);
void prv_json_clear(prv_json *json);

/* Whether a string is `expected`. */
bool prv_json_is(const prv_json *json, uint32_t place, const char *expected);

/* Which of these names a string is; `length` if none of them. */
size_t prv_json_choice(const prv_json *json, uint32_t place, const char *const *names, size_t length);

/* The double nearest to a number; false of anything else, and of numbers of more than 255 characters. */
bool prv_json_number(const prv_json *json, uint32_t place, double *number);

/* A number that is written with digits alone and is at most 2^53; false of anything else. */
bool prv_json_whole(const prv_json *json, uint32_t place, uint64_t *whole);

/* The decimal point of the thread's locale, as printf writes it and strtod reads it. */
#define PRV_POINT_SIZE 16
void prv_decimal_point(char point[PRV_POINT_SIZE]);

#endif
