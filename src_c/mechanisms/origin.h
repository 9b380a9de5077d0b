/* How a mechanism was made: its constructor and the arguments, for programs that read them and to find out
 * which mechanisms are equal; and how many references there are to it.
 *
 * Every mechanism that leaves the library has an origin. Mechanisms that the core makes for itself may have
 * none: nobody asks them for it, and they have one owner. */
#ifndef PRV_ORIGIN_H
#define PRV_ORIGIN_H

#include <stdbool.h>

#include "prvcore.h"

typedef struct prv_origin prv_origin;

/* Ends a public constructor that has returned `status`. On PRV_OK *mechanism gets this description in the
 * place of any that it has; its arrays are copied, and its parts retained. If a part has no origin, the
 * mechanism is one that the core makes for itself, and gets none. On errors *mechanism becomes NULL. */
prv_status prv_described(prv_status status, const prv_description *description, prv_mechanism **mechanism);

/* True if the caller had the last reference to a mechanism of this origin, which may be NULL. */
bool prv_origin_drop(prv_origin *origin);

/* Without a look at the references. NULL is allowed. */
void prv_origin_free(prv_origin *origin);

/* Equal mechanisms have equal hashes. O(1). */
uint64_t prv_mechanism_hash(const prv_mechanism *m);

#endif
