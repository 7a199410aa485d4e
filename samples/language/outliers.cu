// Readings of sensors, sorted out while they come in: what is far off goes into lists, a list for each group of sensors,
// on the device's heap; then a thread for each list adds it up, tells of groups with too many, and frees it.
#include <cassert>
#include <cstdio>

#define GROUPS 32

struct Reading {
    Reading *next;
    int sensor;
    int value;
};

extern "C" __global__ void outliers(
    const int *values, const int *centre, const int *spread, int *counts, long long *excess, int sensors, int rounds,
    int alarm)
{
    __shared__ Reading *lists[GROUPS];
    if (threadIdx.x < GROUPS)
        lists[threadIdx.x] = 0;
    __syncthreads();

    int first = blockIdx.x * blockDim.x;
    int sensor = first + threadIdx.x;
    if (sensor < sensors) {
        int middle = centre[sensor], width = spread[sensor];
        assert(width > 0);
        for (int round = 0; round < rounds; ++round) {
            int value = values[round * sensors + sensor];
            if (abs(value - middle) <= 3 * width)
                continue;
            Reading *reading = (Reading *)malloc(sizeof(Reading));
            assert(reading != 0);
            reading->sensor = sensor;
            reading->value = value;
            unsigned long long *head = (unsigned long long *)&lists[sensor % GROUPS];
            reading->next = (Reading *)atomicExch(head, (unsigned long long)reading);
        }
    }
    __syncthreads();

    if (threadIdx.x < GROUPS) {
        int count = 0, highest = -1;
        long long sum = 0;
        Reading *reading = lists[threadIdx.x];
        while (reading) {
            Reading *next = reading->next;
            sum += abs(reading->value - centre[reading->sensor]);
            highest = max(highest, reading->sensor);
            count += 1;
            free(reading);
            reading = next;
        }
        counts[blockIdx.x * GROUPS + threadIdx.x] = count;
        excess[blockIdx.x * GROUPS + threadIdx.x] = sum;
        if (count >= alarm)
            printf("block %d, group %2d: %3d readings off by %.1f on average, sensors up to %d\n", blockIdx.x,
                   threadIdx.x, count, (double)sum / count, highest);
    }
}
