# from prvcore._core cimport prv_epsilon, ...: every name of prvcore.h, as of prvcore.
from prvcore._core.core cimport *
