/* libFuzzer: bytes are a text of JSON. Whatever it says, it is refused at a byte that it has, or read; and
 * what was read is written, and read back as equal mechanisms. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prvcore.h"

#include "../accountants.h"

/* Mechanisms of millions of atoms are refused for want of memory: inputs shall be many. */
static void *allocate(void *context, size_t size, size_t alignment)
{
    (void)context;
    return size <= (size_t)1 << 22 ? aligned_alloc(alignment, size) : NULL;
}

static void release(void *context, void *pointer, size_t size, size_t alignment)
{
    (void)context, (void)size, (void)alignment;
    free(pointer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prv_use_allocator((prv_allocator){NULL, allocate, release});
    prv_options options = prv_options_default();
    prv_accountant *a = NULL, *b = NULL, *c = NULL;
    size_t fault = 0, length = 0;
    const prv_status status = prv_accountant_from_json((const char *)data, size, &options, &fault, &a);
    if (status != PRV_OK) {
        if (a != NULL || fault > size) abort();
        return 0;
    }
    if (prv_options_fault(&options) != NULL) abort();
    if (prv_accountant_to_json(a, &options, NULL, 0, &length) != PRV_OK) abort();
    char *text = malloc(length + 1);
    if (text == NULL) abort();
    if (prv_accountant_to_json(a, &options, text, length + 1, &length) != PRV_OK) abort();
    if (prv_accountant_from_json(text, length, &options, NULL, &b) != PRV_OK || !equal(a, b)) abort();
    size_t again = 0;
    if (prv_accountant_to_json(b, &options, NULL, 0, &again) != PRV_OK || again != length) abort();
    free(text);
    size_t step_count;
    const prv_step *steps = prv_accountant_steps(a, &step_count);
    if (prv_steps_to_json(steps, step_count, NULL, 0, &length) != PRV_OK) abort();
    text = malloc(length + 1);
    if (text == NULL) abort();
    if (prv_steps_to_json(steps, step_count, text, length + 1, &length) != PRV_OK) abort();
    if (prv_accountant_from_json(text, length, NULL, NULL, &c) != PRV_OK || !equal(a, c)) abort();
    free(text);
    prv_accountant_free(a);
    prv_accountant_free(b);
    prv_accountant_free(c);
    return 0;
}
