#!/bin/sh
# Compiles the core to WebAssembly: js/build.sh [FILE] writes it there (js/core.wasm if FILE is not given). Needs emscripten,
# which Debian has. The module stands alone: js/core.js loads it, and nothing of emscripten's JavaScript is used.
set -eu
cd "$(dirname "$0")/.."
to=${1:-js/core.wasm}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
rooms=$(cat src_c/rooms.txt)
root=$PWD
compile() { # FOLDER SOURCES...: at once, since emcc takes as long to start as to compile one of them
    mkdir "$objects/$1" && cd "$objects/$1" && shift
    emcc -c -O3 -std=c11 -fno-math-errno -fno-trapping-math -Wno-pass-failed -I"$root/src_c/include" -I"$root/src_c" \
        -DPRV_FFT_PLANNER=prv_portable_planner "$@"
    cd "$root"
}
fft=$root/src_c/fft
compile fft "$root/js/bridge.c" "$fft/portable.c" "$fft/plans.c" "$fft/provider.c"
for room in $rooms; do compile "$room" "$root/src_c/$room"/*.c; done
exported=$(sed -n 's/^PRV_API .*[ *]\(prv_[a-z_]*\)(.*/"_\1",/p' src_c/include/prvcore.h | tr -d '\n')
emcc -O2 "$objects"/*/*.o -o "$to" --no-entry -sSTANDALONE_WASM=1 -sWASM_BIGINT=1 -sALLOW_MEMORY_GROWTH=1 \
    -sMAXIMUM_MEMORY=2147483648 -sEXPORTED_FUNCTIONS="[$exported\"_malloc\",\"_free\"]"
