#!/bin/sh
# Makes what nvcc 13.0 makes of main.cu and part.cu, in every form that holds fat binaries. Programs take the runtime
# from a shared library, so that nothing of it is in them. Names of translation units come from the folder's name.
set -e
cd "$(dirname "$0")"
out=$PWD
work=/tmp/binalloc-fatbin
rm -rf "$work"
mkdir "$work"
cp main.cu part.cu "$work"
cd "$work"
two="-gencode arch=compute_75,code=[compute_75,sm_75] -gencode arch=compute_90,code=compute_90"
one="-gencode arch=compute_75,code=compute_75"
for mode in none speed size; do
    nvcc -DWHOLE -frandom-seed=1 $two -c --compress-mode=$mode main.cu -o "$out/whole_$mode.o"
done
nvcc -DWHOLE -frandom-seed=1 $two -fatbin main.cu -o "$out/whole.fatbin"
nvcc -DWHOLE -frandom-seed=1 $one -shared -Xcompiler -fPIC -cudart shared -Xlinker -s main.cu -o "$out/libwhole.so"
nvcc -DWHOLE -frandom-seed=1 -gencode arch=compute_80,code=sm_80 -c main.cu -o "$out/machine.o"
nvcc -frandom-seed=1 -rdc=true -gencode arch=compute_75,code=[compute_75,sm_75] -c main.cu -o main.o
nvcc -frandom-seed=2 -rdc=true -gencode arch=compute_75,code=[compute_75,sm_75] -c part.cu -o part.o
cp main.o part.o "$out"
rm -f "$out/libparts.a"
ar rcsD "$out/libparts.a" main.o part.o
nvcc -arch=sm_75 -cudart shared -Xlinker -s main.o part.o -o "$out/program"
nvcc -frandom-seed=1 -rdc=true $one -fatbin main.cu -o "$out/main.fatbin"
nvcc -frandom-seed=2 -rdc=true $one -fatbin part.cu -o "$out/part.fatbin"
nvcc -frandom-seed=1 -rdc=true -ptx -arch=sm_75 main.cu -o "$out/main.ptx"
nvcc -frandom-seed=2 -rdc=true -ptx -arch=sm_75 part.cu -o "$out/part.ptx"
rm -rf "$work"
