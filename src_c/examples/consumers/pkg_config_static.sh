# With prvcore installed: the static library, and what it needs.
library=$(pkg-config --variable=libdir prvcore)/libprvcore.a
needs=$(pkg-config --static --libs prvcore | sed 's/-lprvcore//')
cc epsilon.c $(pkg-config --cflags prvcore) "$library" $needs -o my_program
