// dxtc with blocks of 512 threads.
#define THREADS 512
#include "dxtc.cuh"
