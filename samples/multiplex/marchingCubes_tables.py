"""The tables of marching cubes, derived from the cube: `python marchingCubes_tables.py` prints
marchingCubes_tables.cuh.

Corner c of a cell lies at (c & 1, c >> 1 & 1, c >> 2 & 1); edge 4 a + k runs along axis a from the k-th corner whose
bit a is zero. Bit c of a case is set where corner c is inside. On every face, walked around counterclockwise as seen
from outside the cell, each run of inside corners is cut off by one directed segment, from the edge where the walk
enters the run to the edge where it leaves it. A face's segments depend on its own four corners alone, so that the
surfaces of neighbouring cells fit together (ambiguous faces separate the inside corners), and the segments of a
cell's six faces form closed loops. A loop is cut into a fan of triangles that see the outside counterclockwise.
"""

CORNERS = [(c & 1, c >> 1 & 1, c >> 2 & 1) for c in range(8)]
EDGES = [(c, c | 1 << axis) for axis in range(3) for c in range(8) if not c >> axis & 1]
NUMBER = {frozenset(ends): edge for edge, ends in enumerate(EDGES)}
MOST = 15


def faces():
    """The six faces, each as its four corners, counterclockwise as seen from outside."""
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        around = [0, 1 << u, 1 << u | 1 << v, 1 << v]
        yield around[::-1]
        yield [corner | 1 << axis for corner in around]


def loops(case):
    """The closed loops of crossed edges of a case."""
    follower = {}
    for face in faces():
        inside = [case >> corner & 1 for corner in face]
        crossed = [NUMBER[frozenset((face[i], face[(i + 1) % 4]))] for i in range(4)]
        for i in range(4):
            if inside[i] < inside[(i + 1) % 4]:
                j = next(j % 4 for j in range(i + 1, i + 4) if inside[j % 4] > inside[(j + 1) % 4])
                follower[crossed[i]] = crossed[j]
    while follower:
        loop = [min(follower)]
        while follower[loop[-1]] != loop[0]:
            loop.append(follower[loop[-1]])
        for edge in loop:
            del follower[edge]
        yield loop


def share_a_face(one, other):
    """Whether two edges lie in one face: then their four corners have a coordinate in common."""
    corners = [CORNERS[c] for c in EDGES[one] + EDGES[other]]
    return any(len({corner[axis] for corner in corners}) == 1 for axis in range(3))


def fan(loop):
    """Triangles of a loop, as the fan with the fewest diagonals in a face of the cell."""
    turns = [loop[i:] + loop[:i] for i in range(len(loop))]
    best = min(turns, key=lambda turn: sum(share_a_face(turn[0], edge) for edge in turn[2:-1]))
    return [edge for i in range(1, len(best) - 1) for edge in (best[0], best[i], best[i + 1])]


def triangles():
    """For each of the 256 cases the edges its triangles' corners lie on, three a triangle."""
    return [[edge for loop in loops(case) for edge in fan(loop)] for case in range(256)]


def text():
    """marchingCubes_tables.cuh."""
    table = triangles()
    assert max(map(len, table)) == MOST
    counts = [f"    {', '.join(f'{len(row):2}' for row in table[i : i + 16])}," for i in range(0, 256, 16)]
    rows = [f"    {{{', '.join(map(str, row))}}}," for row in table]
    return "\n".join(
        [
            "// Made by marchingCubes_tables.py, which says what corners, edges and cases are.",
            "",
            "#pragma once",
            "",
            "// How many corners a case's triangles have, three a triangle.",
            "__constant__ unsigned char vertex_counts[256] = {",
            *counts,
            "};",
            "",
            "// The edges they lie on.",
            f"__device__ const unsigned char vertex_edges[256][{MOST + 1}] = {{",
            *rows,
            "};",
            "",
        ]
    )


if __name__ == "__main__":
    print(text(), end="")
