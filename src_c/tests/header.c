/* The header stands alone in C99. */
#include "prvcore.h"

prv_status header_compiles(void);
prv_status header_compiles(void)
{
    return PRV_OK;
}
