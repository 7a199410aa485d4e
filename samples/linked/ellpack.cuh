// Rows of a sparse matrix in ELLPACK: WIDTH entries each, entry k of all rows one after the other.
#pragma once

const int WIDTH = 8;

struct Row {
    float sum, diagonal;
};

extern __constant__ float damping[4];

__device__ Row multiply_row(const int *columns, const float *values, const float *x, int row, int rows);
