// dxtc with blocks of 256 threads.
#define THREADS 256
#include "dxtc.cuh"
