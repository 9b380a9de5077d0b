"""The modules of Cython: arguments go to the C core as they are, and results come back so."""
