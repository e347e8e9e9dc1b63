"""What does an epoch of RankNet* cost beyond its matrix products?

180,000 documents of 136 features, layers 200-50-30-10-5, batches of 512, one thread. An epoch of
our loop, with batches and objective, is compared with a bare torch loop. That loop runs the same
network forward and backward over batches of the same size, from a given gradient, and takes the
same Adam steps. They run in turn; the smallest of three times counts.
"""

import sys
import time

import numpy as np
import torch

from treerank.baselines.neural.ranknet_star import RankNetStar
from treerank.feature_parts.networks.training import one_thread
from treerank.objectives import make_objective

N_DOCUMENTS, N_FEATURES, REPEATS = 180_000, 136, 3


def ours(part, X, objective):
    part.partial_fit(X, objective)


def bare(network, X, batch_size):
    optimizer = torch.optim.Adam(network.parameters())
    gradient = torch.randn(batch_size, 5) / batch_size
    for start in range(0, len(X), batch_size):
        batch = X[start : start + batch_size]
        optimizer.zero_grad()
        network(batch).backward(gradient[: len(batch)])
        optimizer.step()


def timed(function, *args):
    wall, cpu = time.perf_counter(), time.process_time()
    function(*args)
    return time.perf_counter() - wall, time.process_time() - cpu


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_DOCUMENTS, N_FEATURES)).astype(np.float32)
    y = rng.integers(5, size=N_DOCUMENTS)
    merged = make_objective(y, loss="half_squared_tanh", pairs="adjacent")
    within = make_objective(y, np.arange(len(y)) // 120, loss="half_squared_tanh", pairs="adjacent")
    part = RankNetStar(activation="tanh", device="cpu").feature_part.set_params(random_state=0)
    tensor = torch.from_numpy(X)
    parts = {"across queries": (part.partial_fit(X[:2048], make_objective(y[:2048])), merged)}
    parts["within queries"] = (parts["across queries"][0], within)
    print(f"python {sys.version.split()[0]}, torch {torch.__version__}")
    for objective_name, (fitted, objective) in parts.items():
        times = []
        for _ in range(REPEATS):
            with one_thread():
                floor = timed(bare, fitted.network_, tensor, fitted.batch_size)
            times.append((floor, timed(ours, fitted, X, objective)))
        for name, k in {"wall": 0, "cpu": 1}.items():
            floor, full = min(t[0][k] for t in times), min(t[1][k] for t in times)
            print(
                f"{objective_name}, {name}: {full:.2f} s, bare {floor:.2f} s, {full / floor:.2f}x"
            )


if __name__ == "__main__":
    main()
