// FDTD3d with blocks of 32 x 8 threads.
#define TILE_Y 8
#include "unified/FDTD3d.cu"
