// An edge from its number, bit for bit as dgraph/graph/generators makes it on the host. ``whole`` and ``real`` are the
// numbers of a Formula, in its order. Each function returns whether the item is an edge.

DEVICE u64 draw(u64 key, u64 item, u64 k) { return mix(key + (item * 64 + k) * 0x9e3779b97f4a7c15ull); }

// Edges that are listed in memory: sources and targets.
DEVICE bool edge_listed(u64 item, u64& u, u64& v) {
    u = env.sources[item], v = env.entered[item];
    return true;
}

DEVICE double fraction(u64 bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }

DEVICE u64 scramble(u64 x, u64 bits, const u64* keys) {
    const u64 mask = (1ull << bits) - 1, half = (bits + 1) / 2;
    for (int i = 0; i < 3; i++) {
        x ^= x >> half;
        x = x * keys[2 * i] + keys[2 * i + 1] & mask;
    }
    return x ^ x >> half;
}

// whole: scale, key, permute, six keys of the permutation, 2**53 times a, a + b, a + b + c
DEVICE bool edge_rmat(u64 item, u64& u, u64& v) {
    const u64 *w = env.whole, scale = w[0], start = w[1], a = w[9], ab = w[10], abc = w[11];
    u = v = 0;
    for (u64 level = 0; level < scale; level++) {
        const u64 at = draw(start, item, level) >> 11;
        u = u << 1 | (at >= ab);
        v = v << 1 | (at >= a && at < ab || at >= abc);
    }
    if (w[2]) u = scramble(u, scale, w + 3), v = scramble(v, scale, w + 3);
    return true;
}

// whole: scale, key, permute, six keys of the permutation, key of the noise; real: a, b, c, noise
DEVICE bool edge_noisy(u64 item, u64& u, u64& v) {
    const u64 *w = env.whole, scale = w[0];
    const double a = env.real[0], b = env.real[1], c = env.real[2], noise = env.real[3];
    const double d = 1.0 - a - b - c, sixteenth = 2.0 * noise / 65535.0;
    u = v = 0;
    for (u64 level = 0; level < scale; level++) {
        const u64 bits = draw(w[9], item, level);
        const double na = a * (1.0 - noise + sixteenth * (double)(bits & 65535));
        const double nb = b * (1.0 - noise + sixteenth * (double)(bits >> 16 & 65535));
        const double nc = c * (1.0 - noise + sixteenth * (double)(bits >> 32 & 65535));
        const double nd = d * (1.0 - noise + sixteenth * (double)(bits >> 48));
        const double at = fraction(draw(w[1], item, level)) * (na + nb + nc + nd);
        u = u << 1 | (at >= na + nb);
        v = v << 1 | (at >= na && at < na + nb || at >= na + nb + nc);
    }
    if (w[2]) u = scramble(u, scale, w + 3), v = scramble(v, scale, w + 3);
    return true;
}

// whole: n - 1, key
DEVICE bool edge_uniform(u64 item, u64& u, u64& v) {
    u = draw(env.whole[1], item, 0) & env.whole[0];
    v = draw(env.whole[1], item, 1) & env.whole[0];
    return true;
}

// whole: left, right, key
DEVICE bool edge_bipartite(u64 item, u64& u, u64& v) {
    u = draw(env.whole[2], item, 0) % env.whole[0];
    v = env.whole[0] + draw(env.whole[2], item, 1) % env.whole[1];
    return true;
}

DEVICE void grid_edge(u64 item, u64 columns, u64 across, u64 n, u64& u, u64& v) {
    const u64 row = item / (across + columns), at = item % (across + columns);
    u = row * columns + (at < across ? at : at - across);
    v = at < across ? row * columns + (at + 1) % columns : (u + columns) % n;
}

// whole: rows, columns, edges across in a row
DEVICE bool edge_grid(u64 item, u64& u, u64& v) {
    grid_edge(item, env.whole[1], env.whole[2], env.whole[0] * env.whole[1], u, v);
    return true;
}

DEVICE void point(u64 vertex, u64 columns, u64 key, double& x, double& y) {
    const double spread = env.real[1];
    x = (double)(vertex % columns) + spread * (2 * fraction(draw(key, vertex, 0)) - 1);
    y = (double)(vertex / columns) + spread * (2 * fraction(draw(key, vertex, 1)) - 1);
}

DEVICE double length(u64 u, u64 v, u64 columns, u64 key) {
    double ux, uy, vx, vy;
    point(u, columns, key, ux, uy);
    point(v, columns, key, vx, vy);
    return sqrt((ux - vx) * (ux - vx) + (uy - vy) * (uy - vy));
}

// whole: columns, key of what is dropped, key of the points; real: share that is dropped, spread of the points, scale
DEVICE bool edge_road(u64 item, u64& u, u64& v) {
    const u64 columns = env.whole[0];
    grid_edge(item, columns, columns - 1, env.n, u, v);
    return !(fraction(draw(env.whole[1], item, 0)) < env.real[0]);
}

DEVICE int weight_road(u64 u, u64 v) {
    const u64 columns = env.whole[0], low = smaller(u, v), far = absolute((i64)(u - v));
    const bool across = far == 1 && columns > 1;
    const u64 item = low / columns * (2 * columns - 1) + low % columns + (across ? 0 : columns - 1);
    const double slowness = 0.1 + 0.9 * fraction(draw(env.whole[1], item, 1));
    return (int)(env.real[2] * slowness * length(low, larger(u, v), columns, env.whole[2]));
}

// whole: columns, key of the joins, key of the points; real: share of the joins beside the tree, spread, scale
DEVICE bool edge_roadnet(u64 item, u64& u, u64& v) {
    const u64 columns = env.whole[0], key = env.whole[1], way = item % 3;
    v = item / 3;
    const i64 row = (i64)(v / columns), column = (i64)(v % columns);
    const u64 bits = draw(key, v, 0);
    const i64 side = bits & 1 ? 1 : -1, aslant = column + side;
    const bool may[3] = {column > 0, row > 0, row > 0 && 0 <= aslant && aslant < (i64)columns};
    if (!may[way]) return false;
    const u64 k = (bits >> 1) % ((u64)may[0] + may[1] + may[2]);
    u64 rank = 0;
    for (u64 other = 0; other < way; other++) rank += may[other];
    if (rank != k && fraction(draw(key, v, 1 + way)) >= env.real[0]) return false;
    u = way == 0 ? v - 1 : way == 1 ? v - columns : v - columns + (u64)side;
    return true;
}

DEVICE int weight_roadnet(u64 a, u64 b) {
    const u64 columns = env.whole[0], u = smaller(a, b), v = larger(a, b);
    const u64 way = v - u == 1 && v % columns > 0 ? 0 : v - u == columns ? 1 : 2;
    const double slowness = 0.1 + 0.9 * fraction(draw(env.whole[1], v, 4 + way));
    return (int)(1 + env.real[2] * slowness * length(u, v, columns, env.whole[2]));
}

DEVICE bool edge_star(u64 item, u64& u, u64& v) {
    u = 0, v = item + 1;
    return true;
}

// whole: n, edges. Counted from the last edge, the k-th source from the end has k + 1 edges.
DEVICE bool edge_complete(u64 item, u64& u, u64& v) {
    const u64 n = env.whole[0], left = env.whole[1] - 1 - item;
    u64 k = (u64)((sqrt(8.0 * (double)left + 1.0) - 1.0) / 2.0);
    while (k * (k + 1) / 2 > left) k--;
    while ((k + 1) * (k + 2) / 2 <= left) k++;
    u = n - 2 - k;
    v = u + 1 + item - u * (2 * n - u - 1) / 2;
    return true;
}

DEVICE bool edge_path(u64 item, u64& u, u64& v) {
    u = item, v = item + 1;
    return true;
}

// whole: children of a vertex
DEVICE bool edge_tree(u64 item, u64& u, u64& v) {
    u = item / env.whole[0], v = item + 1;
    return true;
}

// whole: n, neighbours on one side, key; real: share that is rewired
DEVICE bool edge_smallworld(u64 item, u64& u, u64& v) {
    const u64 n = env.whole[0], side = env.whole[1], key = env.whole[2];
    u = item / side;
    u64 away = item % side + 1;
    if (fraction(draw(key, item, 0)) < env.real[0]) away = 1 + draw(key, item, 1) % (n - 1);
    v = (u + away) % n;
    return true;
}
