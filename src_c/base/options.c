/* Options to begin with. */
#include "prvcore.h"

prv_options prv_options_default(void)
{
    const prv_options options = {
        .discretization = PRV_BRACKETING,
        .engine = PRV_ENGINE_AUTO,
        .neighbors = PRV_ADD_OR_REMOVE,
        .eps_relative_error = 1e-3,
        .eps_floor = 1e-3,
        .delta_relative_error = 1e-3,
        .memory_limit = (size_t)1 << 30,
    };
    return options;
}
