#include "containers.h"
#include <string.h>

static uint32_t number(const uint8_t *bytes, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value = value << 8 | bytes[i];
    return value;
}

int psd_thumbnail(const uint8_t *bytes, size_t length, size_t *at, size_t *size, uint32_t *width, uint32_t *height) {
    /* A PSB has up to 300,000 pixels a side. */
    enum { MOST = 300000, HEAD = 26, RESOURCE = 1036, THUMBNAIL_HEAD = 28, JPEG = 1 };
    if (length < HEAD + 8 || memcmp(bytes, "8BPS", 4) != 0) return 0;
    *height = number(bytes + 14, 4);
    *width = number(bytes + 18, 4);
    if (*width == 0 || *height == 0 || *width > MOST || *height > MOST) return 0;
    uint64_t place = HEAD + 4 + (uint64_t)number(bytes + HEAD, 4);
    if (place + 4 > length) return 0;
    uint64_t end = place + 4 + number(bytes + place, 4);
    if (end > length) end = length;
    place += 4;
    /* A signature, a number, a name with its length that is padded to even, and the length of the data. */
    while (place + 12 <= end && memcmp(bytes + place, "8BIM", 4) == 0) {
        uint32_t id = number(bytes + place + 4, 2);
        place += 6 + (bytes[place + 6] + 2u) / 2 * 2;
        if (place + 4 > end) return 0;
        uint64_t count = number(bytes + place, 4);
        place += 4;
        if (count > end - place) return 0;
        if (id == RESOURCE && count > THUMBNAIL_HEAD && number(bytes + place, 4) == JPEG) {
            *at = (size_t)place + THUMBNAIL_HEAD;
            *size = (size_t)count - THUMBNAIL_HEAD;
            return 1;
        }
        place += count + count % 2;
    }
    return 0;
}

static uint32_t little(const uint8_t *bytes) {
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

int x3f_preview(const uint8_t *bytes, size_t length, size_t *at, size_t *size, int *orientation, uint32_t *width,
                uint32_t *height) {
    enum { HEAD = 40, DIRECTORY_HEAD = 12, ENTRY = 12, MOST_ENTRIES = 256, IMAGE_HEAD = 28, JPEG = 18 };
    if (length < HEAD + DIRECTORY_HEAD + 4 || memcmp(bytes, "FOVb", 4) != 0) return 0;
    /* From version 4 on the header has other fields there. */
    int is_old = little(bytes + 4) < 0x40000;
    uint32_t turn = is_old ? little(bytes + 36) : 0;
    *orientation = turn == 90 ? 6 : turn == 180 ? 3 : turn == 270 ? 8 : 0;
    *width = is_old ? little(bytes + 28) : 0;
    *height = is_old ? little(bytes + 32) : 0;
    /* The last four bytes are the place of the directory. */
    size_t end = length - 4, directory = little(bytes + end);
    if (directory < HEAD || directory > end - DIRECTORY_HEAD || memcmp(bytes + directory, "SECd", 4) != 0) return 0;
    uint32_t count = little(bytes + directory + 8);
    uint64_t most = 0;
    for (uint32_t i = 0; i < count && i < MOST_ENTRIES; i++) {
        size_t entry = directory + DIRECTORY_HEAD + (size_t)i * ENTRY;
        if (entry > end - ENTRY) break;
        size_t place = little(bytes + entry), section = little(bytes + entry + 4);
        if (memcmp(bytes + entry + 8, "IMA", 3) != 0 || place > directory || section > directory - place ||
            section <= IMAGE_HEAD || memcmp(bytes + place, "SECi", 4) != 0 || little(bytes + place + 12) != JPEG)
            continue;
        uint64_t pixels = (uint64_t)little(bytes + place + 16) * little(bytes + place + 20);
        if (pixels <= most) continue;
        most = pixels;
        *at = place + IMAGE_HEAD;
        *size = section - IMAGE_HEAD;
    }
    return most > 0;
}

/* A box of ISO base media files. */
struct box {
    uint8_t *type;
    uint8_t *content;
    size_t length;
};

/* The next box of `*bytes`, which are moved behind it; 0 at the end. */
static int next_box(uint8_t **bytes, size_t *length, struct box *box) {
    if (*length < 8) return 0;
    uint64_t size = number(*bytes, 4);
    size_t head = 8;
    if (size == 1 && *length >= 16) {
        head = 16;
        size = (uint64_t)number(*bytes + 8, 4) << 32 | number(*bytes + 12, 4);
    } else if (size == 0) {
        size = *length;
    }
    if (size < head || size > *length) return 0;
    *box = (struct box){*bytes + 4, *bytes + head, (size_t)size - head};
    *bytes += size;
    *length -= (size_t)size;
    return 1;
}

static int is(const uint8_t *type, const char *name) { return memcmp(type, name, 4) == 0; }

/* libheif before 1.18 refuses a file in which one item of metadata, a gain map or a thumbnail refers to two pictures. */
static int rename_references(struct box references) {
    if (references.length < 4) return 0;
    size_t id = references.content[0] == 0 ? 2 : 4;
    uint8_t *rest = references.content + 4;
    size_t length = references.length - 4;
    int result = 0;
    for (struct box box; next_box(&rest, &length, &box);)
        if ((is(box.type, "cdsc") || is(box.type, "auxl") || is(box.type, "thmb")) && box.length >= id + 2 &&
            number(box.content + id, 2) > 1) {
            memcpy(box.type, "skip", 4);
            result = 1;
        }
    return result;
}

static int repair_meta(struct box meta) {
    if (meta.length < 4) return 0;
    uint8_t *rest = meta.content + 4;
    size_t length = meta.length - 4;
    int result = 0;
    for (struct box box; next_box(&rest, &length, &box);)
        if (is(box.type, "iref") && rename_references(box)) result = 1;
    return result;
}

/* libvips knows a HEIF by its main brand, and libheif by one of the others: of a sequence they may know none. */
static void rename_brands(struct box file_type, const char *still) {
    memcpy(file_type.content, still, 4);
    for (size_t at = 8; at + 4 <= file_type.length; at += 4)
        if (is(file_type.content + at, still)) return;
    memcpy(file_type.content + 8, still, 4);
}

int heif_repair(uint8_t *bytes, size_t length) {
    static const char *const sequences[] = {"msf1", "hevc", "hevx", "hevm", "hevs", "avis", "avcs", "mif3"};
    struct box file_type, box;
    if (!next_box(&bytes, &length, &file_type) || !is(file_type.type, "ftyp") || file_type.length < 12) return 0;
    int result = 0, is_sequence = 0, is_av1 = is(file_type.content, "avis");
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
        if (is(file_type.content, sequences[i])) is_sequence = 1;
    while (next_box(&bytes, &length, &box)) {
        if (is(box.type, "moov")) result |= HEIF_FILM;
        if (!is(box.type, "meta")) continue;
        if (repair_meta(box) || is_sequence) result |= HEIF_REPAIRED;
    }
    if (is_sequence && result & HEIF_REPAIRED) rename_brands(file_type, is_av1 ? "avif" : "mif1");
    return result;
}
