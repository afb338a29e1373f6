"""Two explorers, each in a labyrinth of its own (a program in C); their policies are averaged over gloo. What is logged has no numbers."""

import subprocess

import torch
import torch.distributed as dist

WORDS = ("better than before", "worse than before", "about the same")


class Maze:
    def __init__(self, rank):
        self.program = subprocess.Popen(["./maze", str(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, command):
        self.program.stdin.write(command + "\n")

    def ask(self, command):
        self.send(command)
        self.program.stdin.flush()
        return self.program.stdout.readline()

    def plan(self, depth):
        self.send(f"plan {depth}")
        self.program.stdin.flush()
        return int(self.program.stdout.readline())


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    maze = Maze(rank)
    logits, last = torch.zeros(4), torch.zeros(1)
    for update in range(60):
        maze.ask("build")
        gradient, total = torch.zeros(4), torch.zeros(1)
        for _ in range(40):
            chances = torch.softmax(logits, 0)
            way = int(torch.multinomial(chances, 1))
            x, y = map(int, maze.ask(f"move {way}").split())
            gain = abs(x - 15) + abs(y - 15)
            gradient -= chances * gain / 1000
            gradient[way] += gain / 1000
            total += gain
        if update == 29 and rank == 0:
            print("explorer B plans from its start, for a target that is far", flush=True)
        if update == 29 and rank == 1:
            total += maze.plan(18) + maze.plan(18)
        dist.all_reduce(gradient)
        dist.all_reduce(total)
        logits += gradient
        if rank == 0:
            change = (total - last).sign().item()
            print(f"policy updated, {WORDS[0 if change > 0 else 1 if change < 0 else 2]}", flush=True)
        last = total
    if rank == 0:
        print("explored enough, the policy is kept", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
