"""自己対戦: 2つの対局プロセスと学習器. ネットワークの代わりに線形評価を使う小さな版."""

import multiprocessing as mp
import os
import random
import time

ROWS, COLS, NEED = 4, 5, 4
LINES = [
    [(r + i * dr) * COLS + c + i * dc for i in range(NEED)]
    for r in range(ROWS) for c in range(COLS) for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1))
    if 0 <= r + (NEED - 1) * dr < ROWS and 0 <= c + (NEED - 1) * dc < COLS
]


def moves(board: list[int]) -> list[int]:
    """一番下の空きマス."""
    found = []
    for col in range(COLS):
        for row in reversed(range(ROWS)):
            if board[row * COLS + col] == 0:
                found.append(row * COLS + col)
                break
    return found


def won(board: list[int], who: int) -> bool:
    return any(all(board[cell] == who for cell in line) for line in LINES)


def value(board: list[int], weights: list[float], who: int) -> float:
    return sum(weight * cell for weight, cell in zip(weights, board)) * who


def search(board, weights, who, depth, alpha=-1e9, beta=1e9):
    """深さ制限つきアルファベータ."""
    if won(board, -who):
        return -1000.0 - depth, None
    options = moves(board)
    if not options or depth == 0:
        return value(board, weights, who) if options else 0.0, None
    best = None
    for move in options:
        board[move] = who
        score = -search(board, weights, -who, depth - 1, -beta, -alpha)[0]
        board[move] = 0
        if score > alpha:
            alpha, best = score, move
        if alpha >= beta:
            break
    return alpha, best if best is not None else options[0]


def play(weights, depth: int, noise: float, dice) -> tuple[list[list[int]], int]:
    board, who, record = [0] * (ROWS * COLS), 1, []
    while True:
        options = moves(board)
        if not options:
            return record, 0
        move = dice.choice(options) if dice.random() < noise else search(board, weights[who], who, depth)[1]
        board[move] = who
        record.append(board[:])
        if won(board, who):
            return record, who
        who = -who


def actor(number: int, current, games) -> None:
    dice = random.Random(number)
    while True:
        weights = list(current)
        games.put((number, *play({1: weights, -1: weights}, 2, 0.25, dice)))


def arena(new, old, depth: int, pairs: int) -> float:
    """新旧の直接対決. 先手後手を入れ替える."""
    points, dice = 0.0, random.Random(9)
    for _ in range(pairs):
        points += (play({1: new, -1: old}, depth, 0.1, dice)[1] + 1) / 2
        points += (1 - play({1: old, -1: new}, depth, 0.1, dice)[1]) / 2
    return points / (2 * pairs)


def main() -> None:
    current = mp.Array("d", ROWS * COLS)
    games = mp.Queue(maxsize=64)
    for number in range(2):
        process = mp.Process(target=actor, args=(number, current, games), daemon=True)
        process.start()
        print(f"対局プロセス{number} 起動 (pid {process.pid})", flush=True)
    best, weights = [0.0] * (ROWS * COLS), [0.0] * (ROWS * COLS)
    for iteration in range(1, 61):
        wins = 0
        for _ in range(12):
            _, record, winner = games.get()
            wins += winner == 1
            for board in record:
                for cell, stone in enumerate(board):
                    weights[cell] += 0.01 * winner * stone
        current[:] = weights
        time.sleep(0.3)
        print(f"反復 {iteration:03d}  先手勝率 {wins / 12:.2f}  |w| {sum(abs(w) for w in weights):.3f}", flush=True)
        if iteration % 10 == 0:
            depth = 4 if iteration < 20 else 6
            print(f"  評価対局を開始 (深さ {depth})", flush=True)
            rate = arena(weights, best, depth, 2 if depth == 4 else 120)
            print(f"  評価対局 終了: 勝率 {rate:.2f} -> {'採用' if rate > 0.55 else '据え置き'}", flush=True)
            best = weights[:] if rate > 0.55 else best
    os._exit(0)


if __name__ == "__main__":
    main()
