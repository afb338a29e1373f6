"""Connect four on a small board."""

Cells = tuple[int, ...]
WIDTH, HEIGHT = 6, 5


def moves(cells: Cells) -> list[int]:
    return [column for column in range(WIDTH) if not cells[column]]


def drop(cells: Cells, column: int, who: int) -> Cells:
    row = max(row for row in range(HEIGHT) if not cells[row * WIDTH + column])
    place = row * WIDTH + column
    return (*cells[:place], who, *cells[place + 1 :])


def wins(cells: Cells, who: int) -> bool:
    for row in range(HEIGHT):
        for column in range(WIDTH):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + k * down, column + k * right) for k in range(4)]
                if all(0 <= y < HEIGHT and 0 <= x < WIDTH and cells[y * WIDTH + x] == who for y, x in line):
                    return True
    return False
