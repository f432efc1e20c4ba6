#!/usr/bin/env python3
"""Records what Pillow and OpenCV make of images, for crates/images/tests/recorded.

Usage: image_vectors.py FOLDER      (numpy, pillow and opencv-python-headless)

Each jpeg-NAME.jpg has beside it what Pillow decodes of it, and each kind-NAME.png, which is a PNG of another kind than plain
red, green and blue, what OpenCV decodes of it, as seen-NAME.png; Pillow decodes the same but where FEW_BITS says so. The source
of everything else is a PNG, so that both libraries and the tests begin with the same pixels. Each result is a PNG named
LIBRARY-WHAT-WIDTHxHEIGHT.png; WHAT is a filter of `resize`, or `gray`.
"""

import struct
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

WIDTH, HEIGHT = 48, 36
# Smaller, larger, one side kept, whole factors, half, and both directions at once.
SIZES = [(17, 11), (71, 50), (48, 20), (30, 36), (16, 12), (24, 18), (12, 9), (90, 7), (40, 15), (1, 1)]
PILLOW = {
    "nearest": Image.NEAREST,
    "box": Image.BOX,
    "bilinear": Image.BILINEAR,
    "hamming": Image.HAMMING,
    "bicubic": Image.BICUBIC,
    "lanczos": Image.LANCZOS,
}
OPENCV = {
    "nearest": cv2.INTER_NEAREST,
    "bilinear": cv2.INTER_LINEAR,
    "bicubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
}
# Gray of 16 bits becomes 255 in Pillow wherever it is more than that; OpenCV and we take the upper 8 bits.
FEW_BITS = {"gray-16"}
# Start and step of rows and columns in each pass of Adam7.
ADAM7 = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1)]


def source():
    """Noise on the left, an edge in the middle, slow gradients on the right."""
    random = np.random.default_rng(7)
    image = random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    slow = np.stack([x * 5, y * 7, (x + y) * 3], 2).clip(0, 255).astype(np.uint8)
    image[:, WIDTH // 3 :] = slow[:, WIDTH // 3 :]
    image[:, WIDTH // 3 : WIDTH // 2] = np.where((x + 2 * y)[:, WIDTH // 3 : WIDTH // 2, None] % 16 < 8, 0, 255)
    return image


def jpegs(image):
    """Each way in which a JPEG is coded: name, image, and settings."""
    small = image.crop((3, 5, 24, 22))
    odd = {"small": small, "line": image.crop((0, 0, 17, 1)), "pixel": image.crop((0, 0, 1, 1))}
    for sampling in ("4:4:4", "4:2:2", "4:2:0"):
        yield sampling.replace(":", ""), image, {"quality": 92, "subsampling": sampling}
        for name, part in odd.items():
            yield f"{name}-{sampling.replace(':', '')}", part, {"quality": 60, "subsampling": sampling}
    yield "progressive", image, {"quality": 75, "subsampling": "4:2:0", "progressive": True}
    yield "progressive-444", small, {"quality": 97, "subsampling": "4:4:4", "progressive": True}
    yield "restarts", image, {"quality": 75, "subsampling": "4:2:0", "restart_marker_blocks": 2}
    yield "gray", image.convert("L"), {"quality": 75}
    yield "cmyk", image.convert("CMYK"), {"quality": 85}
    yield "rgb", image, {"quality": 85, "keep_rgb": True}
    turned = Image.Exif()
    turned[0x0112] = 6
    yield "turned", small, {"quality": 75, "exif": turned}


def interlaced(path, levels):
    """A PNG in the seven passes of Adam7, which neither library writes."""
    height, width, _ = levels.shape
    passes = [levels[row::rows, column::columns] for row, rows, column, columns in ADAM7]
    lines = b"".join(b"\0" + line.tobytes() for part in passes if part.size for line in part)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    coded = (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(coded))


def pngs(image, path):
    """Writes a PNG of each kind, and answers with their names."""
    small = image.crop((9, 5, 30, 18))
    levels = np.asarray(small)
    alpha = Image.fromarray((levels[..., 0] // 2 + levels[..., 1] // 2).astype(np.uint8))
    palette = small.quantize(40)
    wide = levels.astype(np.uint16) * 257 ^ 0x5A
    kinds = {
        "palette": (palette, {}),
        "palette-alpha": (palette, {"transparency": bytes(range(100, 140))}),
        "palette-4": (small.quantize(11), {"bits": 4}),
        "palette-2": (small.quantize(4), {"bits": 2}),
        "gray": (small.convert("L"), {}),
        "gray-alpha": (Image.merge("LA", (small.convert("L"), alpha)), {}),
        "gray-transparent": (small.convert("L"), {"transparency": 90}),
        "gray-16": (Image.fromarray(np.ascontiguousarray(wide[..., 1])), {}),
        "gray-1": (small.convert("1"), {}),
        "rgb-alpha": (Image.merge("RGBA", (*small.split(), alpha)), {}),
        "rgb-transparent": (small, {"transparency": tuple(int(level) for level in levels[0, 0])}),
        "animated": (small, {"save_all": True, "append_images": [Image.fromarray(255 - levels)]}),
    }
    for name, (picture, settings) in kinds.items():
        picture.save(path(name), "PNG", **settings)
    cv2.imwrite(str(path("rgb-16")), wide[..., ::-1])
    cv2.imwrite(str(path("rgb-alpha-16")), np.dstack([wide[..., ::-1], wide[..., 0]]))
    interlaced(path("interlaced"), levels)
    return [*kinds, "rgb-16", "rgb-alpha-16", "interlaced"]


def main():
    folder = Path(sys.argv[1])
    for old in [*folder.glob("*.png"), *folder.glob("*.jpg")]:
        old.unlink()
    image = source()

    def save(name, levels):
        Image.fromarray(levels).save(folder / f"{name}.png", optimize=True)

    save("source", image)
    pillow = Image.fromarray(image)
    save(f"pillow-gray-{WIDTH}x{HEIGHT}", np.asarray(pillow.convert("L")))
    save(f"opencv-gray-{WIDTH}x{HEIGHT}", cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    for width, height in SIZES:
        for name, code in PILLOW.items():
            save(f"pillow-{name}-{width}x{height}", np.asarray(pillow.resize((width, height), code)))
        for name, code in OPENCV.items():
            save(f"opencv-{name}-{width}x{height}", cv2.resize(image, (width, height), interpolation=code))
    for name, part, settings in jpegs(pillow):
        path = folder / f"jpeg-{name}.jpg"
        part.save(path, "JPEG", **settings)
        save(f"jpeg-{name}", np.asarray(Image.open(path).convert("RGB")))
    def path(name):
        return folder / f"kind-{name}.png"

    for name in pngs(pillow, path):
        seen = cv2.cvtColor(cv2.imread(str(path(name)), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        same = np.array_equal(seen, np.asarray(Image.open(path(name)).convert("RGB")))
        if same == (name in FEW_BITS):
            sys.exit(f"{name}: Pillow decodes it {'as OpenCV' if same else 'otherwise'}")
        save(f"seen-{name}", seen)
    (folder / "libraries.txt").write_text(f"Pillow {Image.__version__}, OpenCV {cv2.__version__}\n")


main()
