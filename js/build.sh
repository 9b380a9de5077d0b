#!/bin/sh
# Compiles the core to WebAssembly: js/build.sh [FILE] writes it there (js/core.wasm if FILE is not given). Needs emscripten,
# which Debian has. The module stands alone: js/core.js loads it, and nothing of emscripten's JavaScript is used.
set -eu
cd "$(dirname "$0")/.."
to=${1:-js/core.wasm}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
rooms=$(cat src_c/rooms.txt)
compile() { # SOURCE
    emcc -c -O3 -std=c11 -fno-math-errno -fno-trapping-math -Wno-pass-failed -Isrc_c/include -Isrc_c \
        -DPRV_FFT_PLANNER=prv_portable_planner "$1" -o "$objects/$(echo "$1" | tr / -).o"
}
for source in js/bridge.c src_c/fft/portable.c src_c/fft/plans.c src_c/fft/provider.c; do compile "$source"; done
for room in $rooms; do
    for source in "src_c/$room"/*.c; do compile "$source"; done
done
exported=$(sed -n 's/^PRV_API .*[ *]\(prv_[a-z_]*\)(.*/"_\1",/p' src_c/include/prvcore.h | tr -d '\n')
emcc -O2 "$objects"/*.o -o "$to" --no-entry -sSTANDALONE_WASM=1 -sWASM_BIGINT=1 -sALLOW_MEMORY_GROWTH=1 \
    -sMAXIMUM_MEMORY=2147483648 -sEXPORTED_FUNCTIONS="[$exported\"_malloc\",\"_free\"]"
