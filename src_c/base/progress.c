#include "base/progress.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

static int pass_on(void *context, const prv_progress *heard)
{
    prv_layer *layer = context;
    prv_progress *now = &layer->now, told = *heard;
    double fraction = now->fraction;
    switch (layer->knows) {
    case PRV_KNOWS_PASSES:
        told.passes = now->passes;
        told.width = now->width;
        told.width_asked = now->width_asked;
        break;
    case PRV_KNOWS_QUESTIONS:
        told.question = now->question;
        told.questions = now->questions;
        fraction = ((double)now->question + heard->fraction) / (double)now->questions;
        break;
    case PRV_KNOWS_PARTS:
        fraction = ((double)now->question + heard->fraction) / (double)now->questions;
        break;
    case PRV_KNOWS_COMPOSITIONS: told.compositions = now->compositions; break;
    }
    now->fraction = fmin(fmax(fraction, now->fraction), 1.0);
    told.fraction = now->fraction;
    return layer->outer->progress(layer->outer->progress_context, &told);
}

const prv_options *prv_layer_over(prv_layer *layer, prv_knows knows, const prv_options *outer)
{
    memset(layer, 0, sizeof *layer);
    layer->knows = knows;
    layer->outer = outer;
    layer->now.width = HUGE_VAL;
    if (outer->progress == NULL) return outer;
    layer->inner = *outer;
    layer->inner.progress = pass_on;
    layer->inner.progress_context = layer;
    return &layer->inner;
}

prv_status prv_check_interrupt(const prv_options *options)
{
    static const prv_progress nothing = {0, 1, 0, 0, HUGE_VAL, 0.0, 0.0};
    if (options == NULL || options->progress == NULL) return PRV_OK;
    if (options->progress(options->progress_context, &nothing) != 0) return PRV_ERR_INTERRUPTED;
    return prv_check_arithmetic();
}
