#include "lattices/mesh.h"

#include <string.h>

#include "base/allocate.h"

prv_status prv_mesh_new(size_t length, prv_mesh *mesh)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->index = prv_allocate(length, sizeof *mesh->index);
    mesh->knot = prv_allocate(length, sizeof *mesh->knot);
    mesh->length = length;
    if (mesh->index != NULL && mesh->knot != NULL) return PRV_OK;
    prv_mesh_free(mesh);
    return PRV_ERR_MEMORY;
}

void prv_mesh_free(prv_mesh *mesh)
{
    prv_release(mesh->index);
    prv_release(mesh->knot);
    mesh->index = NULL;
    mesh->knot = NULL;
}
