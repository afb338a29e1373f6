"""Two hunters explore, one learner sums up. The maze engine is not the most stable."""

import os
import random
import time

import ray


@ray.remote(num_cpus=0.5, max_restarts=3, max_task_retries=3)
class Hunter:
    def __init__(self, number: int) -> None:
        self.number = number
        again = ray.get_runtime_context().was_current_actor_reconstructed
        size = 7600 if again else 90
        self.restored = again
        self.paths = self.all_paths(size)
        print(f"hunter {number} has {len(self.paths)} distances, pid {os.getpid()}, restored={again}", flush=True)

    def all_paths(self, size: int) -> dict[tuple[int, int], int]:
        """Steps from each crossing to each other one; after a restart the whole maze is read anew."""
        random.seed(self.number)
        doors = {at: [random.randrange(size) for _ in range(3)] + [(at + 1) % size] for at in range(size)}
        found: dict[tuple[int, int], int] = {}
        for start in range(size):
            edge, seen = [start], {start: 0}
            for at in edge:
                for door in doors[at]:
                    if door not in seen:
                        seen[door] = seen[at] + 1
                        edge.append(door)
            found.update({(start, end): far for end, far in seen.items() if max(start, end) < 90})
        return found

    def hunt(self, episode: int) -> float:
        time.sleep(0.5)
        if episode == 12 and self.number == 1 and not self.restored:
            os.abort()
        return sum(self.paths.get((episode, other), 0) for other in range(90)) / 90


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="warning")
    hunters = [Hunter.remote(number) for number in range(2)]
    for episode in range(30):
        steps = ray.get([hunter.hunt.remote(episode) for hunter in hunters])
        print(f"[{time.strftime('%X')}] episode {episode} mean steps {sum(steps) / 2:.2f}", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
