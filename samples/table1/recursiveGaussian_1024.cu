// recursiveGaussian with blocks of 1,024 threads, rows fetched in threes.
#define THREADS 1024
#define GROUP 3
#include "unified/recursiveGaussian.cu"
