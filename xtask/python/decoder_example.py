#!/usr/bin/env python3
"""Write the small decoder of docs/deploy/decoders.md: a model for the first 16 tokens and one for the next token, with random weights,
and samples of the second, whose past the float model computes."""

import argparse
from pathlib import Path

import numpy as np
import onnx
from decoder_cache import fed, next_past
from decoder_graphs import Sizes, llama
from decoder_written import session

SEED, PREFILL, SAMPLES = 7, 16, 16


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (prefill, *_), (decode, *_) = (llama(SEED, count, past, sizes=Sizes(tied=False)) for count, past in ((PREFILL, 0), (1, PREFILL)))
    for name, model in (("prefill", prefill), ("decode", decode)):
        onnx.save(model, folder / f"{name}.onnx")
    random, run, samples = np.random.default_rng(3), session(prefill.SerializeToString()), []
    for _ in range(SAMPLES):
        words = random.integers(0, Sizes.words, (1, PREFILL + 1))
        past = next_past(prefill, run.run(None, fed(prefill, words[:, :PREFILL], 0, {})))
        samples.append(fed(decode, words[:, PREFILL:], PREFILL, past))
    np.savez(folder / "samples.npz", **{key: np.concatenate([one[key] for one in samples]) for key in samples[0]})


if __name__ == "__main__":
    main()
