#include "questions/reading.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "numerics/rounding.h"
#include "composition/spectrum.h"
#include "curve/certificate.h"

/* The part of the width (nats) by a window that ends below epsilon. */
#define BEYOND 1e300

prv_reading prv_reading_begin(double epsilon)
{
    prv_reading r;
    memset(&r, 0, sizeof r);
    r.resolved = true;
    r.epsilon = epsilon;
    return r;
}

double prv_underflown(const prv_totals *all, double delta)
{
    return delta < 0x1p-960 ? all->lost : 0.0;
}

static void read_epsilon(const prv_asked *a, prv_side side, const prv_composed *composed, prv_reading *r)
{
    const prv_enclosed *l = a->enclosed;
    const prv_slack_parts c = prv_certificate(composed, side == PRV_DOMINATING ? &l->above : &l->below);
    const double delta = prv_apart(a->value, l->absolute_error + prv_underflown(a->all, a->value),
                                   side == PRV_DOMINATING ? -1 : 1);
    /* Both sides cross near each other. */
    const bool is_found = side == PRV_DOMINATED && isfinite(r->bounds.estimate);
    const double guess = is_found ? r->bounds.estimate : r->epsilon;
    const prv_inverse e = prv_curve_epsilon(composed, delta, side, &c.slack, guess);
    const double greatest = fmax(a->all->greatest_loss, 0.0);
    if (side == PRV_DOMINATING) {
        r->bounds.upper = e.epsilon;
        r->slope = e.slope;
        r->bounds.estimate = fmin(e.plain, greatest);
    } else {
        r->bounds.lower = e.epsilon;
        r->bounds.estimate += (1.0 - prv_upper_weight(l)) * (fmin(e.plain, greatest) - r->bounds.estimate);
    }
    r->resolved = r->resolved && e.resolved;
    const double slack = fabs(e.epsilon - e.plain);
    if (!isfinite(slack)) return;
    /* From below nothing is known where images are not. */
    if (side == PRV_DOMINATED && c.slack.imaged && !(e.plain >= c.slack.low && e.plain <= c.slack.high)) {
        r->wrap_around += slack;
        r->off_aim = slack;
        return;
    }
    const double additive = c.slack.additive + (side == PRV_DOMINATED ? c.slack.images : 0.0);
    const double part = c.slack.additive > 0.0 ? e.additive * additive / c.slack.additive : 0.0;
    const double share = additive > 0.0 ? fmin(part / slack, 1.0) * fmin(c.outside / additive, 1.0) : 0.0;
    r->wrap_around += share * slack;
    r->rounding += (1.0 - share) * slack;
}

static void read_delta(const prv_asked *a, prv_side side, const prv_composed *composed, prv_reading *r)
{
    const prv_enclosed *l = a->enclosed;
    const prv_slack_parts c = prv_certificate(composed, side == PRV_DOMINATING ? &l->above : &l->below);
    const prv_value v = prv_curve_delta(composed, a->value, side, &c.slack);
    const double slope = fmin(fmax(v.slope, PRV_FINEST_DELTA / a->aim->asked), 1e300);
    const double finite = fmax(v.plain - composed->tilted.infinite.mass, 1e-300);
    if (side == PRV_DOMINATING) {
        r->bounds.upper = prv_apart(v.delta, l->absolute_error + prv_underflown(a->all, v.delta), 1);
        r->bounds.estimate = v.plain;
        r->slope = slope;
    } else {
        r->bounds.lower = prv_apart(v.delta, l->absolute_error + prv_underflown(a->all, v.delta), -1);
        const double above = r->bounds.estimate, below = v.plain;
        r->bounds.estimate = above > 0.0 && below > 0.0
                                 ? above * pow(below / above, 1.0 - prv_upper_weight(l))
                                 : 0.0;
    }
    /* A window that ends below epsilon has no slope there, and is to be widened. */
    const bool beyond = !(c.outside * v.scale < finite);
    const double noise = fmin(c.transforms * v.scale / finite, 1e300);
    r->noise = fmax(r->noise, noise);
    r->wrap_around += beyond ? BEYOND : c.outside * v.scale / finite / slope;
    r->rounding += noise / slope + c.slack.relative / slope + c.slack.shift;
}

void prv_read_side(const prv_asked *a, prv_side side, const prv_composed *composed, prv_reading *r)
{
    if (composed->engine == PRV_ENGINE_CONVOLUTION)
        r->transforms += composed->convolved.transforms;
    else if (composed->spectral.spectrum->count > r->frequencies)
        r->frequencies = composed->spectral.spectrum->count;
    if (a->question == PRV_ASK_EPSILON)
        read_epsilon(a, side, composed, r);
    else
        read_delta(a, side, composed, r);
    const double beyond = composed->tilted.infinite.mass - a->all->infinite.mass;
    if (side == PRV_DOMINATING && a->aim->saddle > 0.0 && beyond > 0.0)
        r->truncation = beyond * exp(-a->aim->log_delta) / (r->slope > 0.0 ? r->slope : a->aim->slope);
}

void prv_read_nothing(const prv_asked *a, prv_reading *r)
{
    const bool ask_epsilon = a->question == PRV_ASK_EPSILON;
    r->bounds.lower = -HUGE_VAL;
    r->bounds.upper = HUGE_VAL;
    r->bounds.estimate = ask_epsilon ? a->aim->epsilon : exp(a->aim->log_delta);
    r->slope = a->aim->slope;
    r->resolved = false;
}

prv_status prv_finish_reading(const prv_asked *a, prv_reading *r)
{
    prv_bounds *b = &r->bounds;
    const double asked = a->aim->asked;
    const prv_status status = prv_gate_close(a->all, a->question, a->value, b);
    if (status != PRV_OK) return status;
    r->log_delta = a->aim->log_delta;
    if (a->question == PRV_ASK_EPSILON) {
        r->width = b->upper == b->lower ? 0.0 : b->upper - b->lower;
        r->epsilon = isfinite(b->estimate) ? b->estimate : a->aim->epsilon;
    } else {
        const double slope = r->slope, infinite = a->all->infinite.mass;
        const double high = b->upper - infinite, low = b->lower - infinite;
        r->epsilon = a->value;
        r->width = b->upper == b->lower || b->upper - b->lower <= PRV_SAME_DELTA * b->upper ? 0.0
                   : low > 0.0 ? log(high / low) / slope
                               : HUGE_VAL;
        if (high > 0.0 && b->estimate > infinite) r->log_delta = log(b->estimate - infinite);
        /* No loss lies above the greatest one: a lower bound of 0 is off by the distance to it at most. */
        if (!(low > 0.0) && a->all->greatest_loss - a->value <= asked)
            r->width = fmax(a->all->greatest_loss - a->value, 0.0);
        /* Callbacks give values; their second differences, the masses, are that much less certain. */
        if (high <= 1e7 * a->enclosed->absolute_error) r->width = 0.0;
        if (b->upper <= PRV_LEAST_DELTA) r->width = 0.0;
        r->resolved = low > 0.0 || r->width <= asked;
        /* Its slope says nothing about the width. */
        if (r->wrap_around >= BEYOND && r->width > 0.0) {
            r->resolved = false;
            r->width = HUGE_VAL;
        }
    }
    r->discretization = fmax(r->width - r->wrap_around - r->rounding - r->truncation, 0.0);
    return PRV_OK;
}

void prv_report_reading(const prv_reading *reading, prv_neighbors asked, bool add, double width,
                        bool accurate, prv_report *r)
{
    memset(r, 0, sizeof *r);
    r->accurate = accurate;
    r->direction = prv_neighbors_of(add, asked);
    r->width = width;
    r->transforms = reading->transforms;
    r->frequencies = reading->frequencies;
    r->discretization = reading->discretization;
    r->truncation = reading->truncation;
    r->wrap_around = reading->wrap_around;
    r->rounding = reading->rounding;
}
