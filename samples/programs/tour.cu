// The shortest tour through all cities by branch and bound. A thread has the tours that begin with three cities of its
// own; what it still has to look at lies on the device's heap. It looks at so many partial tours, then the host lets all
// threads know the shortest tour that anybody has found, until none has anything left. Distances need not be the same in
// both directions.
#include <cassert>
#include <cstdio>

#define MOST 16     // cities
#define GIVEN 3     // of a thread's tours, behind city 0

struct Search {
    int depth;                      // cities in the tour, city 0 with them
    int first;                      // at this depth the search ends
    int seen;                       // a bit for each of them
    int length;
    int floor;                      // no way through the other cities is shorter
    signed char tour[MOST];
    signed char next[MOST];         // the city to try at each depth
};

// The shortest way out of each city, and the beginning of each thread's search; threads whose cities are the same one
// twice have none.
extern "C" __global__ void begin(const int *distance, int *least, Search **searches, int cities, int starts)
{
    __shared__ int out[MOST];
    if (threadIdx.x < cities) {
        int shortest = 1 << 30;
        for (int to = 0; to < cities; ++to)
            if (to != threadIdx.x)
                shortest = min(shortest, distance[threadIdx.x * cities + to]);
        out[threadIdx.x] = shortest;
        if (blockIdx.x == 0)
            least[threadIdx.x] = shortest;
    }
    __syncthreads();
    int start = blockIdx.x * blockDim.x + threadIdx.x;
    if (start >= starts)
        return;
    searches[start] = 0;
    int left = start, seen = 1, length = 0, floor = 0, last = 0, given[GIVEN];
#pragma unroll
    for (int i = 0; i < GIVEN; ++i) {
        int city = 1 + left % (cities - 1);
        left /= cities - 1;
        if (seen >> city & 1)
            return;
        seen |= 1 << city;
        length += distance[last * cities + city];
        given[i] = last = city;
    }
    for (int city = 0; city < cities; ++city)
        if (city == last || !(seen >> city & 1))
            floor += out[city];
    Search *search = (Search *)malloc(sizeof(Search));
    assert(search != 0);
    search->depth = search->first = 1 + GIVEN;
    search->seen = seen;
    search->length = length;
    search->floor = floor;
    search->tour[0] = 0;
#pragma unroll
    for (int i = 0; i < GIVEN; ++i)
        search->tour[1 + i] = given[i];
    search->next[1 + GIVEN] = 1;
    searches[start] = search;
}

// `patience` steps of each search: one city forward, one back, or the next one to try. `bound` is what all knew at the
// end of the last round; found has length and thread of the shortest tour in this one, tours each thread's own.
extern "C" __global__ void look(
    const int *distance, const int *least, Search **searches, const int *bound, unsigned long long *found, int *open,
    signed char *tours, int cities, int starts, int patience)
{
    __shared__ int far[MOST * MOST], out[MOST];
    for (int i = threadIdx.x; i < cities * cities; i += blockDim.x)
        far[i] = distance[i];
    if (threadIdx.x < cities)
        out[threadIdx.x] = least[threadIdx.x];
    __syncthreads();
    int start = blockIdx.x * blockDim.x + threadIdx.x;
    Search *search = start < starts ? searches[start] : 0;
    if (!search)
        return;
    int depth = search->depth, first = search->first, seen = search->seen;
    int length = search->length, floor = search->floor, best = *bound, improved = 0;
    int city = search->next[depth], last = search->tour[depth - 1];
    for (int step = 0; step < patience && depth >= first; ++step) {
        assert(depth < cities && last < cities);
        while (city < cities && (seen >> city & 1))
            ++city;
        if (city == cities) {           // all tried: back
            --depth;
            if (depth < first)
                break;
            int gone = last;
            last = search->tour[depth - 1];
            seen &= ~(1 << gone);
            length -= far[last * cities + gone];
            floor += out[last];
            city = gone + 1;
            continue;
        }
        int there = length + far[last * cities + city];
        if (there + floor - out[last] >= best) {
            ++city;
            continue;
        }
        if (depth == cities - 1) {      // the last one, and home
            int whole = there + far[city * cities];
            if (whole < best) {
                best = whole;
                improved = 1;
                for (int i = 0; i < depth; ++i)
                    tours[start * cities + i] = search->tour[i];
                tours[start * cities + depth] = city;
            }
            ++city;
            continue;
        }
        search->next[depth] = city + 1;
        search->tour[depth] = city;
        seen |= 1 << city;
        length = there;
        floor -= out[last];
        last = city;
        city = 1;
        ++depth;
    }
    if (improved)
        atomicMin(found, (unsigned long long)best << 32 | start);
    if (depth < first) {
        free(search);
        searches[start] = 0;
        return;
    }
    search->depth = depth;
    search->seen = seen;
    search->length = length;
    search->floor = floor;
    search->next[depth] = city;
    atomicAdd(open, 1);
}

// What was found in this round is known to all in the next, and told.
extern "C" __global__ void agree(
    int *bound, const unsigned long long *found, const int *open, const signed char *tours, signed char *tour, int cities,
    int round)
{
    int length = (int)(*found >> 32), start = (int)(*found & 0xffffffff);
    if (length < *bound) {
        *bound = length;
        printf("round %d: a tour of %d, %d searches left: 0", round, length, *open);
        for (int i = 0; i < cities; ++i)
            tour[i] = tours[start * cities + i];
        for (int i = 1; i < cities; ++i)
            printf(" %d", tour[i]);
        printf("\n");
    }
    if (*open == 0)
        printf("round %d: nothing left, none is shorter than %d\n", round, *bound);
}
