/* Long work asks the caller now and then whether to go on. */
#ifndef PRV_INTERRUPT_H
#define PRV_INTERRUPT_H

#include <stddef.h>

#include "prvcore.h"

/* PRV_ERR_INTERRUPTED if the caller wants to stop; options may be NULL. */
static inline prv_status prv_check_interrupt(const prv_options *options)
{
    return options != NULL && options->interrupted != NULL && options->interrupted(options->interrupted_context) != 0
               ? PRV_ERR_INTERRUPTED : PRV_OK;
}

#endif
