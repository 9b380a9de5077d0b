/* A lattice on the circle of a transform: lattice index i stands at i modulo the length. */
#ifndef PRV_CIRCLE_H
#define PRV_CIRCLE_H

#include "lattices/lattice.h"

/* An integer modulo length, 0 .. length - 1. */
size_t prv_circle_place(double index, size_t length);

/* Fills real[length + 2] with the weights of the atoms, and 0 elsewhere. Atoms of `least` weight or more are
 * left out: HUGE_VAL for all of them. O(length + atoms). */
void prv_circle_fill(const prv_lattice *lattice, const double *weight, double least, double *real,
                     size_t length);

/* The relative error of these: atoms that lie whole turns apart are added up, with one addition for each
 * turn. */
double prv_circle_error(const prv_lattice *lattice, size_t length);

#endif
