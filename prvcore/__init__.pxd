# from prvcore cimport prv_epsilon, ...: every name of prvcore.h. Include get_include() and link
# get_library_dir().
from prvcore._core.core cimport *
