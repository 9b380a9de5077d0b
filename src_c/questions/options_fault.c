/* Which field of the options is out of range. */
#include <math.h>
#include <stdbool.h>

#include "prvcore.h"

#include "lattices/mesh.h"

static bool is_neighbors(prv_neighbors n)
{
    return n == PRV_ADD_OR_REMOVE || n == PRV_ADD || n == PRV_REMOVE || n == PRV_REPLACE_ONE;
}

/* Not those that are in reports only. */
static bool is_engine(prv_engine e)
{
    return e == PRV_ENGINE_AUTO || e == PRV_ENGINE_CONVOLUTION || e == PRV_ENGINE_SPECTRUM ||
           e == PRV_ENGINE_FIRST || e == PRV_ENGINE_SMALL;
}

const char *prv_options_fault(const prv_options *o)
{
    const bool bracketing = o->discretization == PRV_BRACKETING;
    if (!bracketing && o->discretization != PRV_MEAN_MATCHING) return "discretization";
    if (!is_engine(o->engine)) return "engine";
    if (!is_neighbors(o->neighbors)) return "neighbors";
    if (!(o->eps_error >= 0.0 && isfinite(o->eps_error))) return "eps_error";
    if (o->eps_error == 0.0 && !bracketing) return "eps_error"; /* mean-matching has no relative width */
    if (o->eps_error == 0.0 && !(o->eps_relative_error > 0.0)) return "eps_relative_error";
    if (o->eps_error == 0.0 && !(o->eps_floor > 0.0)) return "eps_floor";
    if (!bracketing && !(o->delta_error > 0.0 && o->delta_error < 1.0)) return "delta_error";
    if (!(o->delta_relative_error >= 0.0 && o->delta_relative_error < 1.0)) return "delta_relative_error";
    if (!(o->threshold >= 0.0 && isfinite(o->threshold))) return "threshold";
    if (o->threshold > 0.0 && !bracketing) return "threshold";
    if (!(o->mesh_size >= 0.0 && o->mesh_size <= PRV_WIDEST_CELL)) return "mesh_size";
    if (o->memory_limit == 0) return "memory_limit";
    for (size_t i = 0; i < sizeof o->reserved / sizeof *o->reserved; i++)
        if (o->reserved[i] != 0) return "reserved";
    return NULL;
}
