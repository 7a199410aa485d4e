// What the files of this program know of each other.
#pragma once

#define WIDTH 5     // entries of a row: the cell itself, then its neighbours west, east, north and south
#define CELLS 8     // of a line

struct Line {
    float at[CELLS];
};

// ellpack.cu: a cell's flow through its faces under the pressures p.
struct Flow {
    float flow, diagonal;
};
extern __constant__ float walls[4];
__device__ Flow flow_of(const int *columns, const float *values, const float *p, int row, int rows);

// lines.cu: what solves a line for itself, without its neighbours above and below.
__device__ Line solve_line(Line diagonal, Line east, Line right);
