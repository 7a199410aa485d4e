#!/bin/sh
# Compiles samples/*.cu (or the sources named) to .ptx beside them: ptx.sh [SOURCE.cu ...]
#
# nvcc writes the source's full path into .file lines and hashes it into the names of inlined functions. Compiling a copy
# in one fixed folder and keeping only file names in .file lines gives the same bytes on every machine.
set -eu
cd "$(dirname "$0")"
here=$PWD
folder=/tmp/binalloc-ptx
mkdir "$folder"
trap 'rm -r "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cp ./*.cu ./*.cuh "$folder"
[ $# -gt 0 ] || set -- *.cu
cd "$folder"
for source in "$@"; do
    name=$(basename "$source" .cu)
    nvcc -ptx -arch=sm_75 -O3 -lineinfo "$name.cu" -o "$name.ptx"
    sed -E 's|^([[:space:]]*\.file[[:space:]]+[0-9]+ ")[^"]*/|\1|' "$name.ptx" >"$here/$name.ptx"
done
