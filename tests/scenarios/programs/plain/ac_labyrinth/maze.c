/* A labyrinth: commands come by lines, each is answered by a line. `plan D` looks at all ways of D moves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 31 };
static char wall[SIDE][SIDE];
static int at_x = 15, at_y = 15;
static unsigned long long state = 88172645463325252ULL;

static unsigned draw(void) {
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return (unsigned)(state >> 11);
}

static void build(void) {
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) wall[y][x] = draw() % 5 == 0;
    at_x = at_y = 15;
    wall[15][15] = 0;
}

static int best(int x, int y, int depth) {
    if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || wall[y][x]) return -1;
    if (depth == 0) return abs(x - 15) + abs(y - 15);
    int found = best(x + 1, y, depth - 1), other;
    if ((other = best(x - 1, y, depth - 1)) > found) found = other;
    if ((other = best(x, y + 1, depth - 1)) > found) found = other;
    if ((other = best(x, y - 1, depth - 1)) > found) found = other;
    return found;
}

int main(int count, char **given) {
    char line[128];
    state += count > 1 ? (unsigned)atoi(given[1]) * 7919u : 0;
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "build", 5)) { build(); puts("ok"); }
        else if (!strncmp(line, "move", 4)) {
            int way = atoi(line + 5), x = at_x + (way == 0) - (way == 1), y = at_y + (way == 2) - (way == 3);
            if (x >= 0 && y >= 0 && x < SIDE && y < SIDE && !wall[y][x]) { at_x = x; at_y = y; }
            printf("%d %d\n", at_x, at_y);
        } else if (!strncmp(line, "plan", 4)) printf("%d\n", best(15, 15, atoi(line + 5)));
        fflush(stdout);
    }
    return 0;
}
