#include "files/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"

#define LONGEST_NUMBER 255

typedef struct parser {
    const char *text;
    size_t length, at; /* `at` is where a fault is seen */
    prv_json *json;
    uint32_t capacity;
} parser;

/* ---- Characters -------------------------------------------------------------------------------------- */

static char here(const parser *p)
{
    return p->at < p->length ? p->text[p->at] : '\0'; /* which no JSON has */
}

static void skip_blanks(parser *p)
{
    while (here(p) == ' ' || here(p) == '\t' || here(p) == '\n' || here(p) == '\r') p->at++;
}

static bool accept(parser *p, char expected)
{
    if (here(p) != expected || p->at == p->length) return false;
    p->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool digits(parser *p)
{
    if (!is_digit(here(p))) return false;
    while (is_digit(here(p))) p->at++;
    return true;
}

/* ---- Values ------------------------------------------------------------------------------------------ */

/* Another part, at `place`. */
static prv_status add(parser *p, prv_json_kind kind, uint32_t *place)
{
    prv_json *json = p->json;
    if (json->length == p->capacity) {
        const uint32_t capacity = p->capacity > 0 ? 2 * p->capacity : 64;
        prv_json_part *parts = prv_allocate(capacity, sizeof *parts);
        if (parts == NULL) return PRV_ERR_MEMORY;
        if (json->length > 0) memcpy(parts, json->parts, json->length * sizeof *parts);
        prv_release(json->parts);
        json->parts = parts;
        p->capacity = capacity;
    }
    *place = json->length++;
    json->parts[*place] = (prv_json_part){kind, (uint32_t)p->at, 0, 0, json->length};
    return PRV_OK;
}

static void end(parser *p, uint32_t place)
{
    prv_json_part *part = &p->json->parts[place];
    part->length = (uint32_t)p->at - part->start;
    part->next = p->json->length;
}

static prv_status word(parser *p, const char *expected, prv_json_kind kind)
{
    const size_t length = strlen(expected);
    if (p->length - p->at < length || memcmp(p->text + p->at, expected, length) != 0) return PRV_ERR_JSON;
    uint32_t place;
    const prv_status status = add(p, kind, &place);
    if (status != PRV_OK) return status;
    p->at += length;
    end(p, place);
    return PRV_OK;
}

static prv_status string(parser *p)
{
    if (!accept(p, '"')) return PRV_ERR_JSON;
    uint32_t place;
    const prv_status status = add(p, PRV_JSON_STRING, &place);
    if (status != PRV_OK) return status;
    while (here(p) >= ' ' && here(p) <= '~' && here(p) != '"' && here(p) != '\\') p->at++;
    end(p, place);
    return accept(p, '"') ? PRV_OK : PRV_ERR_JSON;
}

static prv_status number(parser *p)
{
    uint32_t place;
    const prv_status status = add(p, PRV_JSON_NUMBER, &place);
    if (status != PRV_OK) return status;
    (void)accept(p, '-');
    if (!accept(p, '0') && !digits(p)) return PRV_ERR_JSON;
    if (accept(p, '.') && !digits(p)) return PRV_ERR_JSON;
    if (accept(p, 'e') || accept(p, 'E')) {
        if (!accept(p, '+')) (void)accept(p, '-');
        if (!digits(p)) return PRV_ERR_JSON;
    }
    end(p, place);
    return PRV_OK;
}

static prv_status value(parser *p, int depth);

/* An array, or an object, whose values have names. */
static prv_status parts_of(parser *p, int depth, bool named)
{
    const char closing = named ? '}' : ']';
    uint32_t place;
    prv_status status = depth < PRV_JSON_DEEPEST ? add(p, named ? PRV_JSON_OBJECT : PRV_JSON_ARRAY, &place)
                                                 : PRV_ERR_JSON;
    if (status != PRV_OK) return status;
    p->at++;
    skip_blanks(p);
    if (!accept(p, closing)) {
        do {
            skip_blanks(p);
            if (named) {
                status = string(p);
                if (status != PRV_OK) return status;
                skip_blanks(p);
                if (!accept(p, ':')) return PRV_ERR_JSON;
                skip_blanks(p);
            }
            status = value(p, depth + 1);
            if (status != PRV_OK) return status;
            p->json->parts[place].count++;
            skip_blanks(p);
        } while (accept(p, ','));
        if (!accept(p, closing)) return PRV_ERR_JSON;
    }
    end(p, place);
    return PRV_OK;
}

static prv_status value(parser *p, int depth)
{
    switch (here(p)) {
    case '{': return parts_of(p, depth, true);
    case '[': return parts_of(p, depth, false);
    case '"': return string(p);
    case 't': return word(p, "true", PRV_JSON_TRUE);
    case 'f': return word(p, "false", PRV_JSON_FALSE);
    case 'n': return word(p, "null", PRV_JSON_NULL);
    default: return number(p);
    }
}

prv_status prv_json_parse(const char *text, size_t length, prv_json *json, size_t *fault)
{
    *json = (prv_json){text, NULL, 0};
    *fault = 0;
    if (length > PRV_JSON_LONGEST) return PRV_ERR_JSON;
    parser p = {text, length, 0, json, 0};
    skip_blanks(&p);
    prv_status status = value(&p, 0);
    if (status == PRV_OK) {
        skip_blanks(&p);
        if (p.at < length) status = PRV_ERR_JSON;
    }
    *fault = p.at;
    return status;
}

void prv_json_clear(prv_json *json)
{
    prv_release(json->parts);
    json->parts = NULL;
}

/* ---- What a part says -------------------------------------------------------------------------------- */

bool prv_json_is(const prv_json *json, uint32_t place, const char *expected)
{
    const prv_json_part *part = &json->parts[place];
    return part->kind == PRV_JSON_STRING && part->length == strlen(expected) &&
           memcmp(json->text + part->start, expected, part->length) == 0;
}

size_t prv_json_choice(const prv_json *json, uint32_t place, const char *const *names, size_t length)
{
    size_t i = 0;
    while (i < length && !prv_json_is(json, place, names[i])) i++;
    return i;
}

void prv_decimal_point(char point[PRV_POINT_SIZE])
{
    char half[PRV_POINT_SIZE];
    const int length = snprintf(half, sizeof half, "%.1f", 0.5);
    const size_t of_point = (size_t)length - 2; /* between 0 and 5 */
    memcpy(point, half + 1, of_point);
    point[of_point] = '\0';
}

bool prv_json_number(const prv_json *json, uint32_t place, double *number_)
{
    const prv_json_part *part = &json->parts[place];
    if (part->kind != PRV_JSON_NUMBER || part->length > LONGEST_NUMBER) return false;
    char written[LONGEST_NUMBER + PRV_POINT_SIZE], point[PRV_POINT_SIZE];
    prv_decimal_point(point);
    const char *text = json->text + part->start;
    const char *behind = memchr(text, '.', part->length);
    const size_t before = behind != NULL ? (size_t)(behind - text) : part->length;
    memcpy(written, text, before);
    size_t length = before;
    if (behind != NULL) {
        memcpy(written + length, point, strlen(point));
        length += strlen(point);
        memcpy(written + length, behind + 1, part->length - before - 1);
        length += part->length - before - 1;
    }
    written[length] = '\0';
    char *last;
    *number_ = strtod(written, &last);
    return last == written + length;
}

bool prv_json_whole(const prv_json *json, uint32_t place, uint64_t *whole)
{
    const prv_json_part *part = &json->parts[place];
    if (part->kind != PRV_JSON_NUMBER) return false;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < part->length; i++) {
        const char c = json->text[part->start + i];
        if (!is_digit(c)) return false;
        sum = 10 * sum + (uint64_t)(c - '0');
        if (sum > UINT64_C(1) << 53) return false;
    }
    *whole = sum;
    return true;
}
