"""Pictures of all formats that are filed, drawn from a seed, and where each may be cut so that only its maker could tell.

Built here byte by byte, or by vips and exiftool where they are installed; the same seed draws the same pictures. For the
campaign of writers; run nothing here by itself.
"""
import dataclasses
import os
import pathlib
import random
import shutil
import struct
import subprocess
import zlib

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"


@dataclasses.dataclass
class Picture:
    """A whole file. `borders` are where its parts begin; from `enough` bytes on a cut loses nothing.

    `blind` lists where a cut leaves a file in which nothing speaks of what is missing: (first length, end, why)."""
    kind: str
    ending: str
    content: bytes
    borders: list = dataclasses.field(default_factory=list)
    blind: list = dataclasses.field(default_factory=list)
    enough: int = None

    def __post_init__(self):
        self.enough = len(self.content) if self.enough is None else self.enough
        self.borders = sorted({border for border in [*self.borders, *find_borders(self.content)]
                               if 0 < border < len(self.content)})

    def why_blind(self, length):
        return next((why for start, end, why in self.blind if start <= length < end), None)


# --- where the parts of a file begin ---

def find_borders(content):
    """The borders of segments, chunks and boxes, to aim cuts at them."""
    if content[:2] == b"\xff\xd8":
        return jpeg_borders(content)
    if content[:4] == b"\x89PNG":
        return chunks(content, 8, lambda at: 12 + struct.unpack_from(">I", content, at)[0])
    if content[:4] == b"RIFF":
        return chunks(content, 12, lambda at: 8 + (struct.unpack_from("<I", content, at + 4)[0] + 1 & ~1))
    if content[4:8] in (b"ftyp", b"mdat", b"moov", b"wide"):
        return chunks(content, 0, lambda at: struct.unpack_from(">I", content, at)[0])
    return []


def chunks(content, start, length):
    found, at = [], start
    while at + 8 <= len(content) and len(found) < 2_000:
        found.append(at)
        step = length(at)
        if step < 8:
            break
        at += step
    return [*found, at]


def jpeg_borders(content):
    found, at = [], 2
    while at + 4 <= len(content) and content[at] == 0xFF and content[at + 1] != 0xDA:
        found.append(at)
        at += 2 + struct.unpack_from(">H", content, at + 2)[0]
    return [*found, at]


# --- pieces ---

def noise(rng, size):
    """Compressed pixels, without zeros and marker-like bytes."""
    return bytes(rng.randbytes(size).translate(NOISE))


NOISE = bytes((1 if byte == 0 else 0xFE if byte == 0xFF else byte) for byte in range(256))
SIZES = (700, 3_000, 12_000, 40_000, 90_000)


def amount(rng):
    return int(rng.choice(SIZES) * rng.uniform(0.7, 1.4))


def segment(code, body):
    return struct.pack(">BBH", 0xFF, code, len(body) + 2) + body


def directory(entries, at, order="<", big=False, following=0):
    """A TIFF directory at offset `at`, its long values behind it: entries are (tag, type, count, value bytes or number)."""
    word, count = ("Q", "Q") if big else ("I", "H")
    width = 8 if big else 4
    entries = sorted(entries, key=lambda entry: entry[0])
    body, extra = struct.pack(order + count, len(entries)), b""
    data = at + struct.calcsize(order + count) + len(entries) * (12 + 2 * (width - 4)) + width
    for tag, kind, number, value in entries:
        if isinstance(value, int):
            value = struct.pack(order + {1: "B", 3: "H", 4: "I", 16: "Q"}[kind], value)
        body += struct.pack(order + "HH" + word, tag, kind, number)
        if len(value) <= width:
            body += value.ljust(width, b"\0")
        else:
            body += struct.pack(order + word, data + len(extra))
            extra += value + b"\0" * (len(value) % 2)
    return body + struct.pack(order + word, following) + extra


def text(tag, words):
    return tag, 2, len(words) + 1, words.encode() + b"\0"


def exif_block(rng):
    order = rng.choice("<>")
    date = f"2024:{rng.randint(1, 12):02d}:{rng.randint(1, 28):02d} 10:{rng.randint(0, 59):02d}:00"
    head = b"II*\0\x08\0\0\0" if order == "<" else b"MM\0*\0\0\0\x08"
    return head + directory([text(0x10F, "Maker"), text(0x110, "Model"), text(0x132, date)], 8, order)


def jpeg(rng, *segments, size=None):
    """A frame and one scan, or the several of a progressive picture."""
    table = segment(0xC4, bytes([0, 2]) + bytes(15) + bytes([0, 3]))
    table += segment(0xC4, bytes([0x10, 2]) + bytes(15) + bytes([1, 2]))
    size = size or amount(rng)
    scans = rng.choice((1, 1, 3))
    frame = segment(0xC2 if scans > 1 else 0xC0, bytes([8, 0, 64, 0, 64, 1, 1, 0x11, 0]))
    head = b"\xff\xd8" + b"".join(segments) + table + frame
    scan = b"".join(
        segment(0xDA, bytes([1, 1, 0, 0 if number == 0 else 1, 0 if number == 0 and scans > 1 else 63, 0]))
        + noise(rng, max(64, size // scans)) for number in range(scans))
    return head + scan + b"\xff\xd9"


def jpeg_exif(rng):
    return segment(0xE1, b"Exif\0\0" + exif_block(rng))


def xmp(words):
    return segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + words.encode())


def box(kind, *bodies):
    body = b"".join(bodies)
    return struct.pack(">I", len(body) + 8) + kind + body


def full_box(kind, *bodies, version=0, flags=0):
    return box(kind, struct.pack(">I", version << 24 | flags), *bodies)


def film(rng, brand=b"isom", shape="end", size=None, codec=b"avc1"):
    """A track of a few chunks. `shape`: where `moov` lies; "open" leaves the length of the last box open."""
    chunk_count = rng.randint(1, 6)
    samples = [max(16, (size or amount(rng)) // chunk_count) for _ in range(chunk_count)]
    data = b"".join(noise(rng, sample) for sample in samples)
    head = box(b"ftyp", brand, bytes(4), brand, b"mp42")

    def moov(start):
        places, at = [], start
        for sample in samples:
            places.append(at)
            at += sample
        table = box(
            b"stbl", full_box(b"stsd", struct.pack(">I", 1), box(codec, bytes(78))),
            full_box(b"stsc", struct.pack(">IIII", 1, 1, 1, 1)),
            full_box(b"stsz", struct.pack(">II", 0, len(samples)), struct.pack(f">{len(samples)}I", *samples)),
            full_box(b"stco", struct.pack(">I", len(places)), struct.pack(f">{len(places)}I", *places)))
        matrix = struct.pack(">9I", 65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
        track = full_box(b"tkhd", struct.pack(">IIIII", 0, 0, 1, 0, 5000), bytes(16), matrix,
                         struct.pack(">II", 640 << 16, 480 << 16), flags=7)
        header = full_box(b"mvhd", struct.pack(">IIII", 3_800_000_000, 3_800_000_000, 1000, 5000), bytes(80))
        return box(b"moov", header, box(b"trak", track, box(b"mdia", box(b"minf", table))))
    if shape == "end":
        return head + box(b"mdat", data) + moov(len(head) + 8)
    first = head + moov(0)
    if shape == "open":
        return head + moov(len(first) + 8) + struct.pack(">I", 0) + b"mdat" + data
    return head + moov(len(first) + 8) + box(b"mdat", data)


# --- kinds; each function draws one picture ---

def plain_jpeg(rng):
    return Picture("JPEG", "jpg", jpeg(rng, *rng.choice(((), (jpeg_exif(rng),)))))


def jpeg_with_trailer(rng):
    """Undocumented data after the picture: a camera's raw data, an editor's notes."""
    picture = jpeg(rng, jpeg_exif(rng))
    return Picture("JPEG, unknown trailer", "jpg", picture + b"@BRCM" + noise(rng, amount(rng)),
                   [len(picture)], [(len(picture), len(picture) + 1, "nothing of the trailer is left")])


def padded_jpeg(rng):
    picture = jpeg(rng, jpeg_exif(rng))
    return Picture("JPEG, padded", "jpg", picture + bytes(rng.choice((1, 30, 1_000, 9_000))), [len(picture)], enough=len(picture))


def multi_picture(rng):
    """Two to four pictures with the index of CIPA DC-007."""
    others = [jpeg(rng, size=rng.choice((500, 4_000, 20_000))) for _ in range(rng.randint(1, 3))]
    order = rng.choice("<>")
    mark = b"II*\0\x08\0\0\0" if order == "<" else b"MM\0*\0\0\0\x08"

    def index(first, places):
        entries = struct.pack(order + "IIIHH", 0x20030000, first, 0, 0, 0) + b"".join(
            struct.pack(order + "IIIHH", 0x10001, len(other), place, 0, 0) for other, place in zip(others, places))
        fields = [(0xB000, 7, 4, b"0100"), (0xB001, 4, 1, len(others) + 1), (0xB002, 7, len(entries), entries)]
        return segment(0xE2, b"MPF\0" + mark + directory(fields, 8, order))
    base = jpeg(rng, jpeg_exif(rng))
    at = base.index(b"\xff\xc4")
    length = len(base) + len(index(0, [0] * len(others)))
    places, borders = [], []
    for other in others:
        borders.append(length + sum(len(earlier) for earlier in others[:len(places)]))
        places.append(borders[-1] - at - 8)
    return Picture("JPEG, several pictures", "jpg",
                   base[:at] + index(length, places) + base[at:] + b"".join(others), borders)


def motion_photo(rng):
    movie = film(rng, b"mp42", rng.choice(("end", "start")))
    words = (f'<x GCamera:MicroVideo="1" GCamera:MicroVideoOffset="{len(movie)}"/>' if rng.random() < 0.5
             else f'<x GCamera:MotionPhoto="1" Item:Length="{len(movie)}"/>')
    picture = jpeg(rng, jpeg_exif(rng), xmp(words))
    return Picture("JPEG, motion photo", "jpg", picture + movie,
                   [len(picture), *(len(picture) + border for border in find_borders(movie))])


def samsung(rng):
    picture, movie = jpeg(rng, jpeg_exif(rng)), film(rng, b"mp42", "start")
    data = b"\0\0\x30\x0a" + struct.pack("<I", 16) + b"MotionPhoto_Data" + movie
    end = b"SEFH" + struct.pack("<II", 101, 1) + b"\0\0\x30\x0a" + struct.pack("<II", len(data), len(data))
    return Picture("JPEG, Samsung's trailer", "jpg", picture + data + end + struct.pack("<I", len(end)) + b"SEFT",
                   [len(picture), len(picture) + len(data)],
                   [(len(picture), len(picture) + 1, "nothing of the trailer is left"),
                    (len(picture) + 1, len(picture) + 4, "a few zeros of the trailer are left, as padding has them")])


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rng):
    side = rng.choice((16, 60, 150))
    rows = b"".join(b"\0" + rng.randbytes(3 * side) for _ in range(side))
    packed = zlib.compress(rows, rng.choice((0, 1, 9)))
    step = rng.choice((500, 8_192, 1 << 20))
    pixels = b"".join(png_chunk(b"IDAT", packed[at:at + step]) for at in range(0, len(packed), step))
    more = png_chunk(b"eXIf", exif_block(rng)) if rng.random() < 0.5 else png_chunk(b"tEXt", b"Comment\0" + noise(rng, 300))
    content = (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + more + pixels
               + (png_chunk(b"fcTL", rng.randbytes(26)) if rng.random() < 0.3 else b"") + png_chunk(b"IEND", b""))
    if rng.random() < 0.3:
        return Picture("PNG, unknown trailer", "png", content + noise(rng, amount(rng)), [],
                       [(len(content), len(content) + 1, "nothing of the trailer is left")])
    return Picture("PNG", "png", content)


def gif(rng):
    frames = rng.randint(1, 5)
    content = b"GIF89a" + struct.pack("<HHBBB", 40, 40, 0x80 | 2, 0, 0) + rng.randbytes(24)
    borders = []
    for _ in range(frames):
        borders.append(len(content))
        data = noise(rng, amount(rng) // frames)
        content += b"\x21\xf9\x04\0\x0a\0\0\0" + b"\x2c" + struct.pack("<HHHHB", 0, 0, 40, 40, 0) + b"\x02"
        content += b"".join(bytes([len(data[at:at + 255])]) + data[at:at + 255] for at in range(0, len(data), 255)) + b"\0"
    return Picture("GIF", "gif", content + b"\x3b", borders)


def webp_chunk(kind, data):
    return kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def webp(rng):
    picture = b"\x30\0\0\x9d\x01\x2a" + struct.pack("<HH", 40, 40) + noise(rng, amount(rng))
    parts = [webp_chunk(b"VP8X", bytes([8, 0, 0, 0, 39, 0, 0, 39, 0, 0]))]
    if rng.random() < 0.4:
        half = len(picture) // 2
        frames = [webp_chunk(b"VP8 ", picture[:10] + part) for part in (picture[10:half], picture[half:])]
        parts += [webp_chunk(b"ANIM", bytes(6)), *(webp_chunk(b"ANMF", bytes(16) + frame) for frame in frames)]
    else:
        parts.append(webp_chunk(b"VP8 ", picture))
    parts += [webp_chunk(b"EXIF", exif_block(rng)),
              webp_chunk(rng.choice((b"XMP ", b"XMP\0")), b'<x xmp:CreateDate="2024-01-31T12:34:56"/>')]
    body = b"WEBP" + b"".join(parts)
    content = b"RIFF" + struct.pack("<I", len(body)) + body
    if rng.random() < 0.25:
        return Picture("WebP, unknown trailer", "webp", content + noise(rng, amount(rng)), [],
                       [(len(content), len(content) + 2, "at most one byte of the trailer is left")])
    return Picture("WebP", "webp", content)


TIFF_HEADS = {("<", False): b"II*\0", (">", False): b"MM\0*", ("<", True): b"II+\0\x08\0\0\0", (">", True): b"MM\0+\0\x08\0\0"}


def tiff(rng, pages=1, front=False, compression=None, length_of=len, following=0, kind="TIFF"):
    """Strips and directories, either of them first."""
    order, big = rng.choice("<>"), rng.random() < 0.25
    width = 8 if big else 4
    head = len(TIFF_HEADS[order, big]) + width
    body, borders = b"", []
    pixels = [[noise(rng, max(40, amount(rng) // pages // 3)) for _ in range(rng.randint(1, 3))] for _ in range(pages)]
    compression = compression if compression is not None else rng.choice((1, 5, 7, 8, 32773))

    def page(at, starts, strips, following):
        name = "Q" if big else "I"
        kind, offsets = (16 if big else 4), struct.pack(order + f"{len(strips)}{name}", *starts)
        lengths = struct.pack(order + f"{len(strips)}I", *map(length_of, strips))
        return directory(
            [(0x100, 3, 1, 64), (0x101, 3, 1, 64), (0x103, 3, 1, compression), text(0x10F, "Maker of scanners"),
             (0x111, kind, len(strips), offsets), (0x117, 4, len(strips), lengths)], at, order, big, following)
    # All sizes are determined before the places.
    sizes = [len(page(0, [0] * len(strips), strips, 0)) for strips in pixels]
    at, layout = head, []
    for strips, length in zip(pixels, sizes):
        places = []
        if front:
            where, at = at, at + length
        for strip in strips:
            places.append(at)
            at += len(strip) + len(strip) % 2
        if not front:
            where, at = at, at + length
        layout.append((where, places))
    for number, (where, places) in enumerate(layout):
        after = layout[number + 1][0] if number + 1 < pages else following
        strips = b"".join(strip + bytes(len(strip) % 2) for strip in pixels[number])
        entry = page(where, places, pixels[number], after)
        body += entry + strips if front else strips + entry
        borders += [where, *places, head + len(body)]
    content = TIFF_HEADS[order, big] + struct.pack(order + ("Q" if big else "I"), layout[0][0]) + body
    # The last strip may be followed by a byte that makes its length even.
    enough = len(content) - (len(pixels[-1][-1]) % 2 if front else 0)
    return Picture(kind, "tif", content, borders, enough=enough)


def one_page(rng):
    return tiff(rng, front=rng.random() < 0.5)


def pages(rng):
    return tiff(rng, pages=rng.randint(2, 5), front=rng.random() < 0.4, kind="TIFF, pages")


def old_scan(rng):
    """A fax whose strips have no lengths: a cut is not detectable, so it is not filed before patience."""
    return tiff(rng, front=rng.random() < 0.7, compression=4, length_of=lambda strip: 0, kind="TIFF, strips without length")


def stray_pointer(rng):
    return tiff(rng, following=rng.choice((0xFFFFFFFF, 0x41646F62, 3, 11)), front=rng.random() < 0.5,
                kind="TIFF, stray pointer")


def raw(rng):
    """A maker's RAW: a small picture in the main directory, the sensor's data in a sub-directory."""
    ending, make = rng.choice((("dng", "Leica Camera AG"), ("nef", "NIKON CORPORATION"), ("arw", "SONY"), ("pef", "PENTAX"),
                               ("srw", "SAMSUNG"), ("cr2", "Canon"), ("orf", "OLYMPUS")))
    magic = {"cr2": b"II*\0\x10\0\0\0CR\x02\0\0\0\0\0", "orf": b"IIRO\x08\0\0\0"}.get(ending, b"II*\0\x08\0\0\0")
    preview, sensor = jpeg(rng, size=rng.choice((600, 5_000))), noise(rng, amount(rng))
    at = len(magic)

    def build(inner, preview_at, sensor_at):
        main = [(0x100, 3, 1, 160), (0x101, 3, 1, 120), text(0x10F, make), text(0x110, "Model 1"), (0x14A, 4, 1, inner),
                (0x201, 4, 1, preview_at), (0x202, 4, 1, len(preview))]
        if ending == "dng":
            main.append((0xC612, 1, 4, b"\x01\x04\0\0"))
        sub = [(0xFE, 4, 1, 0), (0x100, 3, 1, 6000), (0x101, 3, 1, 4000), (0x103, 3, 1, 1), (0x106, 3, 1, 32803),
               (0x111, 4, 1, sensor_at), (0x117, 4, 1, len(sensor))]
        first = directory(main, at)
        return first, directory(sub, at + len(first))
    first, second = build(0, 0, 0)
    inner = at + len(first)
    if rng.random() < 0.6:
        preview_at = inner + len(second)
        sensor_at = preview_at + len(preview)
        parts = [preview, sensor]
    else:
        sensor_at = inner + len(second)
        preview_at = sensor_at + len(sensor)
        parts = [sensor, preview]
    first, second = build(inner, preview_at, sensor_at)
    content = magic + first + second + b"".join(parts)
    if rng.random() < 0.2:
        # Smaller than the known data, or the file's structure would not prove anything.
        tail = noise(rng, len(content) // 3)
        return Picture("RAW, private data behind", ending, content + tail, [inner, sensor_at, preview_at, len(content)],
                       [(len(content), len(content + tail), "private data that nothing points to")])
    return Picture(f"RAW, {ending.upper()}", ending, content, [inner, sensor_at, preview_at])


def panasonic(rng):
    length = rng.choice(("known", "known", "absent", "zero"))
    sensor = noise(rng, amount(rng))
    start = rng.choice((1_024, 2_048))
    entries = [(1, 7, 4, b"0310"), (4, 3, 1, 4), (5, 3, 1, 4), (6, 3, 1, 3004), (7, 3, 1, 4004), text(0x10F, "Panasonic"),
               (0x111, 4, 1, 0xFFFFFFFF), (0x118, 4, 1, start)]
    if length != "absent":
        entries.append((0x117, 4, 1, len(sensor) if length == "known" else 0))
    head = b"IIU\0\x18\0\0\0" + noise(rng, 16)
    content = (head + directory(entries, 24)).ljust(start, b"\0") + sensor
    return Picture("RAW, RW2" if length == "known" else "RAW, RW2 without length", "rw2", content, [start])


def fujifilm(rng):
    preview, tags, sensor = jpeg(rng, jpeg_exif(rng), size=3_000), struct.pack(">IHHHH", 1, 0x100, 4, 2432, 3664), noise(rng, amount(rng))
    head = b"FUJIFILMCCD-RAW 0201FF383501X-T1".ljust(60, b"\0") + b"0100".ljust(24, b"\0")
    places = [160, len(preview), 160 + len(preview), len(tags), 160 + len(preview) + len(tags), len(sensor)]
    return Picture("RAW, RAF", "raf", (head + struct.pack(">6I", *places)).ljust(160, b"\0") + preview + tags + sensor, places[::2])


def heif(rng):
    """Tiles and an Exif item in `mdat`, each at its place; in `idat` now and then; a film behind it, of which XMP speaks."""
    codec, brand, ending = rng.choice(((b"hvc1", b"heic", "heic"), (b"av01", b"avif", "avif"), (b"hvc1", b"mif1", "heif")))
    tiles = [noise(rng, max(60, amount(rng) // 4)) for _ in range(rng.choice((1, 4)))]
    has_film = rng.random() < 0.3
    packet = b'<x GCamera:MotionPhoto="1"/>' if has_film else b'<x xmp:CreateDate="2024-01-31T12:34:56"/>'
    items = [*((codec, tile) for tile in tiles), (b"Exif", bytes(4) + exif_block(rng)), (b"mime", packet)]
    in_meta = rng.random() < 0.2

    def meta(places):
        entries = b"".join(
            full_box(b"infe", struct.pack(">HH", number + 1, 0), kind, b"\0", version=2)
            for number, (kind, _) in enumerate(items))
        location = b"".join(
            struct.pack(">HHHHII", number + 1, 1 if in_meta else 0, 0, 1, place, len(data))
            for number, (place, (_, data)) in enumerate(zip(places, items)))
        properties = box(b"iprp", box(b"ipco", full_box(b"ispe", struct.pack(">II", 640, 480))),
                         full_box(b"ipma", struct.pack(">IHBB", 1, 1, 1, 1)))
        parts = [full_box(b"pitm", struct.pack(">H", 1)), full_box(b"iinf", struct.pack(">H", len(items)), entries),
                 full_box(b"iloc", struct.pack(">BBH", 0x44, 0, len(items)), location, version=1), properties]
        if in_meta:
            parts.append(box(b"idat", *(data for _, data in items)))
        return full_box(b"meta", *parts)
    head = box(b"ftyp", brand, bytes(4), brand, codec[:2] == b"av" and b"avif" or b"heic")
    start = 0 if in_meta else len(head) + len(meta([0] * len(items))) + 8
    places = []
    for _, data in items:
        places.append(start)
        start += len(data)
    content = head + meta(places)
    if not in_meta:
        content += box(b"mdat", *(data for _, data in items))
    borders = [] if in_meta else places
    if has_film:
        return Picture("HEIF, motion photo", ending, content + box(b"mpvd", film(rng, b"mp42")), [*borders, len(content)])
    return Picture("HEIF" if ending != "avif" else "AVIF", ending, content, borders)


def sequence(rng):
    codec, brand, ending = rng.choice(((b"hvc1", b"hevc", "heic"), (b"hvc1", b"msf1", "heic"), (b"av01", b"avis", "avif")))
    content = film(rng, brand, rng.choice(("end", "start")), codec=codec)
    return Picture("HEIF, sequence", ending, content.replace(b"mp42", b"hevc" if ending == "heic" else b"avif", 1))


def minimised(rng):
    codec, ending = rng.choice(((b"heic", "heic"), (b"avif", "avif")))
    return Picture("HEIF, low overhead", ending, box(b"ftyp", b"mif3", codec) + box(b"mini", noise(rng, amount(rng))))


def movie(rng):
    brand, ending = rng.choice(((b"isom", "mp4"), (b"qt  ", "mov"), (b"mp42", "m4v"), (b"3gp4", "3gp")))
    content = film(rng, brand, rng.choice(("end", "start")))
    if rng.random() < 0.25:
        return Picture("Film, unknown trailer", ending, content + b"\xee" * 8 + noise(rng, amount(rng)), [len(content)],
                       [(len(content), len(content) + 1, "nothing of the trailer is left")])
    if rng.random() < 0.25:
        tail = box(b"free", noise(rng, 300))
        return Picture("Film, boxes behind", ending, content + tail, [len(content)],
                       [(len(content), len(content) + 1, "a box that nothing speaks of")])
    return Picture("Film", ending, content)


def fragments(rng):
    parts = [box(b"moof", full_box(b"mfhd", struct.pack(">I", number))) + box(b"mdat", noise(rng, max(64, amount(rng) // 4)))
             for number in range(rng.randint(2, 5))]
    head = box(b"ftyp", b"iso6", bytes(4), b"iso6") + box(b"moov", full_box(b"mvhd", bytes(96)))
    end = box(b"mfra", full_box(b"mfro", struct.pack(">I", 24))) if rng.random() < 0.5 else b""
    return Picture("Film, fragments", "mp4", head + b"".join(parts) + end)


def open_film(rng):
    return Picture("Film, open length", "mp4", film(rng, shape="open"))


def canon(rng):
    content = film(rng, b"crx ", rng.choice(("end", "start")), codec=b"CRAW")
    return Picture("RAW, CR3", "cr3", content)


BUILT = [plain_jpeg, plain_jpeg, jpeg_with_trailer, padded_jpeg, multi_picture, motion_photo, samsung, png, png, gif, webp, webp,
         one_page, one_page, pages, pages, old_scan, stray_pointer, raw, raw, raw, panasonic, panasonic, fujifilm, heif, heif,
         sequence, minimised, movie, movie, fragments, open_film, canon]

# Formats of vips: ending, and options of its saver.
SAVED = [
    ("jpg", ""), ("jpg", "[Q=95,optimize-coding]"), ("jpg", "[interlace]"), ("jpg", "[Q=40,subsample-mode=off]"),
    ("png", ""), ("png", "[compression=0]"), ("png", "[interlace,compression=9]"), ("png", "[palette]"),
    ("webp", "[Q=70]"), ("webp", "[lossless]"), ("gif", ""),
    ("tif", ""), ("tif", "[compression=lzw]"), ("tif", "[compression=deflate,predictor=horizontal]"),
    ("tif", "[compression=packbits]"), ("tif", "[compression=jpeg]"), ("tif", "[tile,tile-width=64,tile-height=64]"),
    ("tif", "[tile,pyramid,compression=lzw,tile-width=64,tile-height=64]"), ("tif", "[bigtiff]"),
    ("tif", "[tile,pyramid,subifd,tile-width=64,tile-height=64]"), ("heic", "[compression=hevc,Q=60]"), ("avif", "[Q=50]"),
]
TAGS = ["-Make=Canon", "-Model=Canon EOS R6", "-DateTimeOriginal=2024:01:31 12:34:56", "-OffsetTimeOriginal=+01:00",
        "-XMP:CreateDate=2024:01:31 12:34:56+01:00"]


def saved(rng, count, directory):
    """Pictures by vips, half of them with fields by exiftool; none without vips."""
    if not shutil.which("vips"):
        return []
    bases = []
    for number in range(max(1, min(8, count // 12))):
        base = os.path.join(directory, f"base-{number}.v")
        side = rng.choice((40, 100, 200))
        run("vips", "perlin" if rng.random() < 0.5 else "worley", f"{base}.1.v", side, side // 2 + 20,
            "--seed", rng.randrange(1 << 30))
        run("vips", "gaussnoise", f"{base}.2.v", side, side // 2 + 20, "--sigma", 30, "--mean", 100, "--seed", rng.randrange(1 << 30))
        run("vips", "linear", f"{base}.1.v", f"{base}.3.v", rng.choice((20, 90)), 120)
        run("vips", "bandjoin", f"{base}.3.v {base}.2.v {base}.3.v", f"{base}.4.v")
        run("vips", "cast", f"{base}.4.v", base, "uchar")
        bases.append(base)
    made = []
    for number in range(count):
        ending, options = SAVED[number % len(SAVED)]
        file = os.path.join(directory, f"saved-{number}.{ending}")
        # This vips cannot write the format.
        if run("vips", "copy", rng.choice(bases), file + options, must=False):
            made.append((file, ending, options))
    tagged = [file for file, ending, _ in made if ending != "gif" and rng.random() < 0.5]
    if tagged and shutil.which("exiftool"):
        run("exiftool", "-q", "-m", "-overwrite_original", *TAGS, *tagged, must=False)
    found = []
    for file, ending, options in made:
        content = pathlib.Path(file).read_bytes()
        # exiftool pads a TIFF to an even length.
        enough = len(content) - (1 if ending == "tif" and content[-1:] == b"\0" and file in tagged else 0)
        found.append(Picture(f"vips: {ending}{options}{', exiftool' if file in tagged else ''}", ending, content, enough=enough))
    return found


def run(*command, must=True):
    ended = subprocess.run([str(word) for word in command], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if must and ended.returncode != 0:
        raise SystemExit(f"{command[0]}: {ended.stderr.decode(errors='replace').strip()}")
    return ended.returncode == 0


def draw(seed, count, directory):
    """`count` different pictures; a fifth are those of the tests and by vips."""
    rng = random.Random(f"pictures {seed}")
    found = [Picture(f"fixture {path.name}", path.suffix[1:], path.read_bytes(), *FIXTURE_FACTS.get(path.name, ()))
             for path in sorted(FIXTURES.iterdir()) if path.suffix not in (".py", ".md", ".json")]
    found = found[:count // 5]
    found += saved(rng, count // 4, directory)
    seen = {picture.content for picture in found}
    number = 0
    while len(found) < count:
        picture = BUILT[number % len(BUILT)](rng)
        number += 1
        if picture.content not in seen:
            seen.add(picture.content)
            found.append(picture)
    return found


def fixture_facts():
    plain, tiff_size = (FIXTURES / "plain.jpg").stat().st_size, (FIXTURES / "exif.tiff").stat().st_size
    samsung_cut = [(plain, plain + 1, "nothing of the trailer is left"),
                   (plain + 1, plain + 4, "a few zeros of the trailer are left, as padding has them")]
    return {"samsung.jpg": ([], samsung_cut), "exif.tiff": ([], [], tiff_size - 1)}


FIXTURE_FACTS = fixture_facts()


def cuts(picture, count, rng):
    """`count` distinct lengths for cuts, in descending order: random, near borders, and near the end."""
    size, found = len(picture.content), set()
    for attempt in range(count * 8):
        if len(found) >= min(count, size):
            break
        match attempt % 3:
            case 0: length = rng.randrange(size)
            case 1: length = size - rng.randint(1, 4_096)
            case _: length = (rng.choice(picture.borders) + rng.choice((-4, -2, -1, 0, 0, 0, 1, 2, 4, 8))
                              if picture.borders else size - rng.randint(1, 16))
        if 0 <= length < size:
            found.add(length)
    return sorted(found, reverse=True)
