/* Mechanisms as JSON. */
#ifndef PRV_MECHANISM_WRITING_H
#define PRV_MECHANISM_WRITING_H

#include "prvcore.h"

/* A text of which the first bytes are kept, and all are counted. */
typedef struct prv_writing {
    char *text;
    size_t size, length; /* of text; of all that was written */
} prv_writing;

void prv_put(prv_writing *w, const char *text);
/* With as few digits as give the same double back. */
void prv_put_number(prv_writing *w, double number);
/* As a member of an object, behind others. */
void prv_put_named_number(prv_writing *w, const char *name, double number);
void prv_put_whole(prv_writing *w, uint64_t whole);
/* After the last byte, or instead of it if there is no room. */
void prv_end_writing(prv_writing *w);

/* As prv_read_mechanism takes it; if `count` is not NULL, with this count beside its parameters.
 * PRV_ERR_NO_JSON if there is no such text. */
prv_status prv_put_mechanism(prv_writing *w, const prv_mechanism *mechanism, const uint64_t *count);

#endif
