#include "tiff.h"
#include "pixels.h"
#include <string.h>
#include <tiffio.h>

struct memory {
    const uint8_t *bytes;
    size_t length;
    size_t position;
};

static tmsize_t read_some(thandle_t handle, void *bytes, tmsize_t size) {
    struct memory *memory = handle;
    size_t rest = memory->length - memory->position;
    size_t count = size < 0 ? 0 : (size_t)size < rest ? (size_t)size : rest;
    memcpy(bytes, memory->bytes + memory->position, count);
    memory->position += count;
    return (tmsize_t)count;
}

static tmsize_t write_nothing(thandle_t handle, void *bytes, tmsize_t size) {
    (void)handle, (void)bytes, (void)size;
    return -1;
}

static toff_t move(thandle_t handle, toff_t offset, int whence) {
    struct memory *memory = handle;
    toff_t base = whence == SEEK_CUR ? memory->position : whence == SEEK_END ? memory->length : 0;
    if (base + offset > memory->length) return (toff_t)-1;
    return memory->position = (size_t)(base + offset);
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t length_of(thandle_t handle) { return ((struct memory *)handle)->length; }

static int map_all(thandle_t handle, void **bytes, toff_t *length) {
    struct memory *memory = handle;
    *bytes = (void *)(uintptr_t)memory->bytes;
    *length = memory->length;
    return 1;
}

static void unmap_nothing(thandle_t handle, void *bytes, toff_t length) { (void)handle, (void)bytes, (void)length; }

int tiff_is(const void *bytes, size_t length) {
    return length >= 8 && (memcmp(bytes, "II*\0", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0 ||
                           memcmp(bytes, "II+\0", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0);
}

/* libtiff converts colours to RGB, but knows nothing of profiles: one of RGB still belongs to the result. */
static void keep_profile(TIFF *tiff, VipsImage *image) {
    uint16_t colours = 0;
    uint32_t length = 0;
    void *profile = NULL;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PHOTOMETRIC, &colours);
    if ((colours == PHOTOMETRIC_RGB || colours == PHOTOMETRIC_YCBCR) &&
        TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &length, &profile))
        vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, length);
}

static VipsImage *read_pixels(TIFF *tiff, uint32_t width, uint32_t height) {
    char reason[1024] = "";
    if (!TIFFRGBAImageOK(tiff, reason)) {
        vips_error("tiff", "%s", reason);
        return NULL;
    }
    VipsImage *image = vips_image_new_memory();
    vips_image_init_fields(image, (int)width, (int)height, 4, VIPS_FORMAT_UCHAR, VIPS_CODING_NONE,
                           VIPS_INTERPRETATION_sRGB, 1, 1);
    /* libtiff undoes mirroring, but no rotation: libvips does both. */
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    /* 1: the first error ends it. */
    if (vips_image_write_prepare(image) ||
        !TIFFReadRGBAImageOriented(tiff, width, height, (uint32_t *)(void *)VIPS_IMAGE_ADDR(image, 0, 0),
                                   ORIENTATION_TOPLEFT, 1)) {
        g_object_unref(image);
        return NULL;
    }
    return image;
}

VipsImage *tiff_read(const void *bytes, size_t length, const struct cpictures_limits *limits,
                     struct cpictures_facts *facts, int *result) {
    struct memory memory = {bytes, length, 0};
    *result = CPICTURES_UNREADABLE;
    TIFF *tiff = TIFFClientOpen("picture", "r", &memory, read_some, write_nothing, move, close_nothing, length_of,
                                map_all, unmap_nothing);
    if (!tiff) return NULL;
    uint32_t width = 0, height = 0;
    uint16_t orientation = 1;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
    if (orientation < 1 || orientation > 8) orientation = 1;
    pixels_tell(facts, width, height, orientation);
    *result = pixels_judge(width, height, limits);
    VipsImage *image = *result == CPICTURES_DONE ? read_pixels(tiff, width, height) : NULL;
    if (image) {
        vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
        keep_profile(tiff, image);
    } else if (*result == CPICTURES_DONE) {
        *result = CPICTURES_UNREADABLE;
    }
    TIFFClose(tiff);
    return image;
}
