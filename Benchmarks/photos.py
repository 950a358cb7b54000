#!/usr/bin/python3
"""Makes photographs as a camera would write them: 12 megapixels, sensor noise, EXIF, about 4 MB each, no two alike.

usage: photos.py COUNT DIRECTORY SOURCE…    (SOURCE: pictures or directories of them)

They are made once: a directory that already holds as many from the same sources is left as it is.
Debian: python3-numpy python3-pil
"""
import hashlib
import multiprocessing
import os
import pathlib
import sys

import numpy
from PIL import Image

WIDTH, HEIGHT = 4000, 3000
QUALITY = 92
BYTES_WANTED = 4_000_000
VERSION = "1"  # changes with the generated content


def pictures(sources):
    """All given JPEG and PNG files and those below given directories, in a stable order."""
    found = []
    for source in map(pathlib.Path, sources):
        inside = sorted(source.rglob("*")) if source.is_dir() else [source]
        found += [path for path in inside if path.suffix.lower() in (".jpg", ".jpeg", ".png") and path.is_file()]
    return found


def scene(path):
    """A picture scaled and cropped to the sensor's size; None if it cannot be decoded."""
    try:
        with Image.open(path) as picture:
            picture = picture.convert("RGB")
    except OSError:
        return None
    if min(picture.size) < 200:
        return None
    scale = max(WIDTH / picture.width, HEIGHT / picture.height)
    size = (max(WIDTH, round(picture.width * scale)), max(HEIGHT, round(picture.height * scale)))
    return numpy.asarray(picture.resize(size, Image.Resampling.BICUBIC).crop((0, 0, WIDTH, HEIGHT)), numpy.float32)


def exposure(pixels, strength, number):
    """The scene with noise that grows with the square root of the light, as photons have it, the same in all colours
    for the most part, as it is once a camera has interpolated its colour filter."""
    random = numpy.random.default_rng(number)
    noise = random.standard_normal((HEIGHT, WIDTH, 1), numpy.float32)
    noisy = pixels + noise * numpy.sqrt(pixels + 4) * strength
    return Image.fromarray(numpy.clip(noisy, 0, 255).astype(numpy.uint8))


def exif(number):
    """Metadata with a capture date: 25 photographs a day."""
    day, minute = divmod(number, 25)
    taken = f"2026:05:{day % 28 + 1:02d} {8 + minute // 4:02d}:{minute % 4 * 15:02d}:{number % 60:02d}"
    data = Image.Exif()
    data[0x010F], data[0x0110], data[0x0132] = "photo-inbox", "Benchmark", taken  # Make, Model, DateTime
    data[0x8769] = {0x9003: taken, 0x9004: taken}  # DateTimeOriginal, DateTimeDigitized
    return data


def write(picture, path, number):
    picture.save(path, "JPEG", quality=QUALITY, subsampling=2, exif=exif(number))
    return os.path.getsize(path)


def make(task):
    """Makes the photographs of one scene, with the noise that gives them their size."""
    source, numbers, directory = task
    pixels = scene(source)
    scratch = directory / f".trial-{os.getpid()}.jpg"
    low, high = 0.0, 8.0
    for _ in range(7):
        strength = (low + high) / 2
        size = write(exposure(pixels, strength, numbers[0]), scratch, numbers[0])
        if abs(size - BYTES_WANTED) < 0.02 * BYTES_WANTED:
            break
        low, high = (strength, high) if size < BYTES_WANTED else (low, strength)
    scratch.unlink()
    for number in numbers:
        write(exposure(pixels, strength, number), directory / f"IMG_{number:04d}.JPG", number)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    count, directory = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    sources = pictures(sys.argv[3:])
    recipe = hashlib.sha256(VERSION.encode())
    for path in sources:
        recipe.update(path.read_bytes())
    stamp, mark = directory / ".recipe", f"{recipe.hexdigest()} {count}\n"
    if stamp.exists() and stamp.read_text() == mark:
        return
    sources = [path for path in sources if scene(path) is not None]
    if not sources:
        sys.exit("photos.py: no pictures to start from in " + " ".join(sys.argv[3:]))
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.JPG"):
        old.unlink()
    shares = [(source, list(range(count))[index :: len(sources)], directory) for index, source in enumerate(sources)]
    with multiprocessing.Pool() as pool:
        pool.map(make, [share for share in shares if share[1]], chunksize=1)
    stamp.write_text(mark)


if __name__ == "__main__":
    main()
