#!/usr/bin/env python3
"""Makes the fixtures again: make-fixtures.py PHOTOS OUTPUT

PHOTOS holds rocket.jpg and chelsea.png (see README.md). Needs ImageMagick, exiftool, webp, heif-enc, avifenc, jpegtran
and ffmpeg. The tests need none of these: what this writes is committed.
"""
import json, os, struct, subprocess, sys

photos, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
os.makedirs(out, exist_ok=True)
os.chdir(out)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def exif(file, *fields):
    run("exiftool", "-q", "-overwrite_original", *fields, file)


def ffmpeg(*arguments):
    run("ffmpeg", "-v", "error", "-y", "-fflags", "+bitexact", *arguments)


def copy(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        g.write(f.read())


CAMERA = [
    "-Make=Canon", "-Model=Canon EOS R6", "-DateTimeOriginal=2024:01:31 12:34:56", "-SubSecTimeOriginal=78",
    "-OffsetTimeOriginal=+01:00", "-CreateDate=2024:01:31 12:34:57", "-ModifyDate=2024:02:01 08:00:00",
    "-GPSDateStamp=2024:01:31", "-GPSTimeStamp=11:34:56",
]
FILM_DATE = ["-metadata", "creation_time=2024-01-31T11:34:56Z"]

# A real photograph at its real size.
copy(f"{photos}/rocket.jpg", "rocket.jpg")
exif("rocket.jpg", *CAMERA, "-Orientation#=6", "-XMP:CreateDate=2024:01:31 12:34:56+01:00")

# Small ones of every format.
run("convert", f"{photos}/chelsea.png", "-resize", "96x", "-strip", "plain.png")
run("convert", "plain.png", "-quality", "85", "plain.jpg")
copy("plain.jpg", "exif.jpg")
exif("exif.jpg", *CAMERA, "-Orientation#=6", "-XMP:CreateDate=2024:01:31 12:34:56+01:00")
run("convert", "plain.png", "-quality", "85", "-interlace", "JPEG", "progressive.jpg")
exif("progressive.jpg", "-XMP-photoshop:DateCreated=2023:05:06 07:08:09+02:00")
run("jpegtran", "-restart", "4B", "-outfile", "restart.jpg", "plain.jpg")
copy("plain.png", "exif.png")
exif("exif.png", *CAMERA, "-PNG:ModifyDate=2021:02:03 04:05:06")
run("convert", "plain.png", "-set", "Creation Time", "2020-02-03T04:05:06+02:00", "text.png")
run("convert", "plain.png", "-quality", "80", "plain.webp")
copy("plain.webp", "exif.webp")
exif("exif.webp", *CAMERA)
run("cwebp", "-quiet", "-lossless", "plain.png", "-o", "lossless.webp")
run("convert", "plain.png", "(", "+clone", "-flop", ")", "-set", "delay", "20", "animated.gif")
run("convert", "plain.png", "-compress", "lzw", "exif.tiff")
exif("exif.tiff", *CAMERA, "-Orientation#=3")
run("heif-enc", "-q", "40", "exif.jpg", "-o", "exif.heic")
run("avifenc", "--min", "30", "--max", "40", "-s", "9", "exif.jpg", "exif.avif")
h264 = ["-pix_fmt", "yuv420p", "-c:v", "libx264"]
ffmpeg("-loop", "1", "-i", "plain.png", "-t", "0.4", *h264, *FILM_DATE, "film.mp4")
ffmpeg("-i", "film.mp4", "-c", "copy", "-movflags", "+faststart", *FILM_DATE, "faststart.mp4")
ffmpeg("-i", "film.mp4", "-c", "copy", "-movflags", "frag_keyframe+empty_moov", "fragmented.mp4")
ffmpeg(
    "-i", "film.mp4", "-c", "copy", "-movflags", "use_metadata_tags", *FILM_DATE,
    "-metadata", "com.apple.quicktime.creationdate=2024-01-31T12:34:56+0100",
    "-metadata", "com.apple.quicktime.content.identifier=8B7C6D5E-1111-2222-3333-444455556666",
    "-metadata", "com.apple.quicktime.make=Apple", "-metadata", "com.apple.quicktime.model=iPhone 13", "live.mov")
exif("live.mov", "-Rotation=90")


# What no program at hand writes is put together here from its published layout, and read back by exiftool below.
def directory(entries, at, order=">"):
    """A TIFF directory at offset `at`: entries are (tag, type, count, value bytes)."""
    body, extra = struct.pack(order + "H", len(entries)), b""
    data = at + 2 + 12 * len(entries) + 4
    for tag, kind, count, value in entries:
        body += struct.pack(order + "HHI", tag, kind, count)
        if len(value) <= 4:
            body += value.ljust(4, b"\0")
        else:
            body += struct.pack(order + "I", data + len(extra))
            extra += value + b"\0" * (len(value) % 2)
    return body + struct.pack(order + "I", 0) + extra


def segment(code, body):
    return struct.pack(">BBH", 0xFF, code, len(body) + 2) + body


plain = open("plain.jpg", "rb").read()

# An Apple maker note with the identifier that the film above has: the picture of a Live Photo.
note = b"Apple iOS\0\0\x01MM" + directory([(0x11, 2, 37, b"8B7C6D5E-1111-2222-3333-444455556666\0")], 14)
make = (0x010F, 2, 6, b"Apple\0")
inner = lambda at: directory([(0x9003, 2, 20, b"2024:01:31 12:34:56\0"), (0x927C, 7, len(note), note)], at)
at = 8 + len(directory([make, (0x8769, 4, 1, b"\0" * 4)], 8))
block = b"MM\0*\0\0\0\x08" + directory([make, (0x8769, 4, 1, struct.pack(">I", at))], 8) + inner(at)
open("live.jpg", "wb").write(plain[:2] + segment(0xE1, b"Exif\0\0" + block) + plain[2:])

# A multi-picture file: the index stands behind JFIF's segment, the second picture behind the first.
jfif = 4 + struct.unpack(">H", plain[4:6])[0]


def index(first, second, offset):
    entries = struct.pack(">IIIHH", 0x20030000, first, 0, 0, 0) + struct.pack(">IIIHH", 0x10001, second, offset, 0, 0)
    fields = [(0xB000, 7, 4, b"0100"), (0xB001, 4, 1, struct.pack(">I", 2)), (0xB002, 7, len(entries), entries)]
    return segment(0xE2, b"MPF\0MM\0*\0\0\0\x08" + directory(fields, 8))


length = len(plain) + len(index(0, 0, 0))
picture = plain[:jfif] + index(length, len(plain), length - jfif - 8) + plain[jfif:]
open("multi-picture.jpg", "wb").write(picture + plain)

# Motion photos: Google's, with the film right behind the picture, and Samsung's, with its own directory at the end.
film = open("faststart.mp4", "rb").read()
xmp = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" GCamera:MicroVideo="1" '
    f'GCamera:MicroVideoVersion="1" GCamera:MicroVideoOffset="{len(film)}"/></rdf:RDF></x:xmpmeta>'
).encode()
open("motion.jpg", "wb").write(
    plain[:2] + segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp) + plain[2:] + film)
data = b"\0\0\x30\x0a" + struct.pack("<I", 16) + b"MotionPhoto_Data" + film
seft = b"SEFH" + struct.pack("<II", 101, 1) + b"\0\0\x30\x0a" + struct.pack("<II", len(data), len(data))
open("samsung.jpg", "wb").write(plain + data + seft + struct.pack("<I", len(seft)) + b"SEFT")


# RAW files with a few bytes for a sensor: a DNG, a NEF, and a RAF around a JPEG.
def raw(name, camera, *more):
    mosaic = bytes(range(96)) * 2
    base = sorted([
        (0x00FE, 4, 1, struct.pack("<I", 0)), (0x0100, 3, 1, struct.pack("<H", 16)),
        (0x0101, 3, 1, struct.pack("<H", 12)), (0x0106, 3, 1, struct.pack("<H", 32803)),
        (0x010F, 2, len(camera) + 1, camera + b"\0"), (0x0112, 3, 1, struct.pack("<H", 8)),
        (0x0132, 2, 20, b"2024:01:31 12:34:56\0"), (0x0111, 4, 1, b"\0" * 4),
        (0x0117, 4, 1, struct.pack("<I", len(mosaic))), *more,
    ])
    end = 8 + len(directory(base, 8, "<"))
    placed = [(t, k, c, struct.pack("<I", end)) if t == 0x0111 else (t, k, c, v) for t, k, c, v in base]
    open(name, "wb").write(b"II*\0\x08\0\0\0" + directory(placed, 8, "<") + mosaic)


raw("mosaic.dng", b"Leica Camera AG", (0xC612, 1, 4, b"\x01\x04\0\0"))
raw("mosaic.nef", b"NIKON CORPORATION")
preview = open("exif.jpg", "rb").read()
tags = struct.pack(">I", 1) + struct.pack(">HHHH", 0x0100, 4, 2432, 3664)
sensor = bytes(64)
head = b"FUJIFILMCCD-RAW 0201FF383501X-T1".ljust(60, b"\0") + b"0100".ljust(24, b"\0")
places = [160, len(preview), 160 + len(preview), len(tags), 160 + len(preview) + len(tags), len(sensor)]
open("preview.raf", "wb").write((head + struct.pack(">6I", *places)).ljust(160, b"\0") + preview + tags + sensor)

# What exiftool says of each; the tests hold the reader to it.
files = sorted(f for f in os.listdir(".") if not f.endswith((".py", ".md", ".json", ".txt")))
groups = {
    "File": ["FileType", "ImageWidth", "ImageHeight"], "IFD0": ["Make", "Model", "Orientation", "ModifyDate"],
    "ExifIFD": ["DateTimeOriginal", "OffsetTimeOriginal", "SubSecTimeOriginal", "CreateDate"],
    "GPS": ["GPSDateStamp", "GPSTimeStamp"], "Apple": ["MediaGroupUUID", "ContentIdentifier"],
    "XMP-xmp": ["CreateDate"], "XMP-photoshop": ["DateCreated"], "PNG": ["ModifyDate", "CreationTime"],
    "QuickTime": ["CreateDate"], "Keys": ["CreationDate", "ContentIdentifier", "Make", "Model"],
    "Composite": ["Rotation"], "MPF0": ["NumberOfImages"], "Samsung": ["EmbeddedVideoType"],
}
fields = [f"-{group}:{field}" for group, names in groups.items() for field in names]
fields += ["-ImageWidth", "-ImageHeight"]
said = json.loads(
    subprocess.run(["exiftool", "-json", "-n", "-G1", *fields, *files], check=True, capture_output=True).stdout)
with open("exiftool.json", "w") as f:
    json.dump(said, f, indent=1, sort_keys=True)
    f.write("\n")
