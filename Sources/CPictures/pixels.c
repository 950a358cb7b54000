#include "pixels.h"
#include "fingerprint.h"
#include <stdlib.h>

void pixels_tell(struct cpictures_facts *facts, uint32_t width, uint32_t height, int orientation) {
    int turned = orientation >= 5 && orientation <= 8;
    facts->width = turned ? height : width;
    facts->height = turned ? width : height;
    facts->orientation = (uint32_t)orientation;
}

int pixels_judge(uint64_t width, uint64_t height, const struct cpictures_limits *limits) {
    if (width == 0 || height == 0) return CPICTURES_UNREADABLE;
    if (width > limits->side || height > limits->side) return CPICTURES_TOO_LARGE;
    return width > limits->pixels / height ? CPICTURES_TOO_LARGE : CPICTURES_DONE;
}

int pixels_save(VipsImage *image, int quality, struct cpictures_part *part) {
    part->width = (uint32_t)image->Xsize;
    part->height = (uint32_t)image->Ysize;
    VipsArrayDouble *white = vips_array_double_newv(1, 255.0);
    int result = vips_jpegsave_buffer(image, &part->bytes, &part->length, "Q", quality, "optimize_coding", TRUE, "strip",
                                      TRUE, "background", white, NULL);
    vips_area_unref(VIPS_AREA(white));
    g_object_unref(image);
    return result ? CPICTURES_UNREADABLE : CPICTURES_DONE;
}

/* Each step consumes the previous picture. */
static VipsImage *opaque(VipsImage *image) {
    if (!vips_image_hasalpha(image)) return image;
    VipsArrayDouble *white = vips_array_double_newv(1, 255.0);
    VipsImage *flat = NULL;
    vips_flatten(image, &flat, "background", white, NULL);
    vips_area_unref(VIPS_AREA(white));
    g_object_unref(image);
    return flat;
}

uint8_t *pixels_of(VipsImage *image, uint32_t *width, uint32_t *height) {
    VipsImage *colours = NULL, *bytes = NULL;
    uint8_t *pixels = NULL;
    if (vips_colourspace(image, &colours, VIPS_INTERPRETATION_sRGB, NULL)) return NULL;
    colours = opaque(colours);
    if (colours && colours->Bands == 3 && !vips_cast_uchar(colours, &bytes, NULL)) {
        size_t length = 0;
        pixels = vips_image_write_to_memory(bytes, &length);
        *width = (uint32_t)bytes->Xsize;
        *height = (uint32_t)bytes->Ysize;
        g_object_unref(bytes);
    }
    if (colours) g_object_unref(colours);
    return pixels;
}

void pixels_describe(const uint8_t *pixels, uint32_t width, uint32_t height, struct cpictures_facts *facts) {
    struct plane plane = {width, height, width, malloc((size_t)width * height)};
    if (!plane.samples) return;
    /* The weights of JPEG's brightness. */
    for (size_t i = 0; i < (size_t)width * height; i++)
        plane.samples[i] = (uint8_t)((77 * pixels[3 * i] + 150 * pixels[3 * i + 1] + 29 * pixels[3 * i + 2]) >> 8);
    facts->is_described = fingerprint(&plane, &facts->description) == 0;
    free(plane.samples);
}

uint8_t *pixels_read(int fd, const struct cpictures_limits *limits, struct cpictures_part *part,
                     struct cpictures_facts *facts, int *result) {
    *result = CPICTURES_UNREADABLE;
    VipsSource *source = vips_source_new_from_descriptor(fd);
    VipsImage *image = source ? vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, NULL) : NULL;
    if (image) {
        facts->width = (uint32_t)image->Xsize;
        facts->height = (uint32_t)image->Ysize;
        *result = pixels_judge(facts->width, facts->height, limits);
        g_object_unref(image);
    }
    if (source) g_object_unref(source);
    if (*result != CPICTURES_DONE) return NULL;
    *result = CPICTURES_UNREADABLE;
    source = vips_source_new_from_descriptor(fd);
    VipsImage *small = NULL;
    uint8_t *pixels = NULL;
    if (source && !vips_thumbnail_source(source, &small, (int)part->size, "height", (int)part->size, "size",
                                         VIPS_SIZE_DOWN, "fail_on", VIPS_FAIL_ON_TRUNCATED, NULL)) {
        pixels = pixels_of(small, &part->width, &part->height);
        g_object_unref(small);
    }
    if (source) g_object_unref(source);
    if (pixels) *result = CPICTURES_DONE;
    return pixels;
}
