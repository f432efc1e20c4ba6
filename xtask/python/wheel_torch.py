#!/usr/bin/env python3
"""Compile modules of PyTorch with the installed Python package:  wheel_torch.py REPOSITORY"""

import numpy as np
import strait_compiler as strait
import torch

torch.manual_seed(1)
module = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
    torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 10),
)
images = torch.rand(32, 3, 32, 32)
module(images)  # gives the normalisation statistics
data = torch.utils.data.TensorDataset(images, torch.zeros(32))
loader = torch.utils.data.DataLoader(data, batch_size=8)

built = strait.compile(module, loader, progress=False)
assert module.training, "the module is in another mode than before"
with torch.no_grad():
    expected = module.eval()(images).numpy()
(got,) = built.run(images).values()
noise = 10 * np.log10((expected**2).sum() / ((expected - got) ** 2).sum())
assert noise > 20, noise
forms = [images, images.numpy(), (part for part in images.split(8))]
for samples in forms:
    other = strait.compile(module, samples, progress=False)
    assert np.array_equal(next(iter(other.run(images).values())), got)


class Two(torch.nn.Module):
    def forward(self, left, right):
        return torch.relu(left) + right


pairs = {"left": torch.rand(8, 4, 6) - 0.5, "right": torch.rand(8, 4, 6)}
both = strait.compile(Two(), pairs, progress=False)
assert set(both.inputs) == set(pairs), both.inputs
try:
    strait.compile(module, "random:8", progress=False)
except TypeError as error:
    assert "samples" in str(error)
else:
    raise AssertionError("a module without samples is exported")
print(f"PyTorch {torch.__version__}: a module compiles from a loader, {noise:.1f} dB from float")
