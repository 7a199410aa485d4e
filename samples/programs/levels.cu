// Breadth-first search level by level: one kernel looks at the neighbours of the frontier, the other makes the next
// frontier and says whether there is one. The host starts both until there is none.

struct Node {
    int first;
    int edges;
};

extern "C" __global__ void visit(const Node *nodes, const int *edges, const char *frontier, char *found,
                                 const char *seen, int *depth, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !frontier[i])
        return;
    Node node = nodes[i];
    for (int e = node.first; e < node.first + node.edges; e++) {
        int to = edges[e];
        if (!seen[to]) {
            depth[to] = depth[i] + 1;
            found[to] = 1;
        }
    }
}

extern "C" __global__ void advance(char *frontier, char *found, char *seen, int *more, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    frontier[i] = found[i];
    if (found[i]) {
        seen[i] = 1;
        found[i] = 0;
        *more = 1;
    }
}
