/* Long work tells the caller now and then how far it is, and asks whether to go on.
 *
 * What is deep inside knows nothing of the call as a whole. So each layer that knows more hands down options
 * of its own, by which it hears from below, and passes on what it heard with what it knows. */
#ifndef PRV_PROGRESS_H
#define PRV_PROGRESS_H

#include "prvcore.h"

/* What a layer knows. */
typedef enum prv_knows {
    PRV_KNOWS_PASSES,
    PRV_KNOWS_QUESTIONS,
    PRV_KNOWS_PARTS, /* `questions` parts of the work, of which `question` is under way */
    PRV_KNOWS_COMPOSITIONS
} prv_knows;

typedef struct prv_layer {
    prv_knows knows;
    prv_progress now; /* the fields that it knows are kept up to date by its owner */
    const prv_options *outer;
    prv_options inner;
} prv_layer;

/* The options to be handed down, which live as long as the layer and `outer`. */
const prv_options *prv_layer_over(prv_layer *layer, prv_knows knows, const prv_options *outer);

/* PRV_ERR_INTERRUPTED if the caller wants to stop; options may be NULL. */
prv_status prv_check_interrupt(const prv_options *options);

#endif
