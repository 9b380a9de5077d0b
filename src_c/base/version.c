/* Which prvcore this is. */
#include "prvcore.h"

const char *prv_version(void)
{
    return PRV_VERSION;
}
