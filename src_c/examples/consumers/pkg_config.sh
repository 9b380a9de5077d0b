# With prvcore installed: the shared library.
cc epsilon.c $(pkg-config --cflags --libs prvcore) -o my_program
