#include "pixels.h"
#include <string.h>

/* The share of the blurred picture in a row, of 255: none in a band below the middle, where miniatures stand on a
   table, increasing towards the edges. */
static uint8_t blur_at(uint32_t row, uint32_t height) {
    double at = (row + 0.5) / height - 0.55;
    double outside = (at < 0 ? -at : at) - 0.08;
    if (outside <= 0) return 0;
    return outside >= 0.22 ? 255 : (uint8_t)(255 * outside / 0.22);
}

static VipsImage *mask(uint32_t width, uint32_t height) {
    uint8_t *samples = g_try_malloc((size_t)width * height);
    if (!samples) return NULL;
    for (uint32_t y = 0; y < height; y++) memset(samples + (size_t)y * width, blur_at(y, height), width);
    VipsImage *image = vips_image_new_from_memory_copy(samples, (size_t)width * height, (int)width, (int)height, 1,
                                                       VIPS_FORMAT_UCHAR);
    g_free(samples);
    return image;
}

/* Increases saturation, as of painted models. */
static VipsImage *coloured(VipsImage *image) {
    static const double more = 1.35, red = 0.30, green = 0.59, blue = 0.11;
    VipsImage *matrix = vips_image_new_matrixv(
        3, 3, red * (1 - more) + more, green * (1 - more), blue * (1 - more), red * (1 - more),
        green * (1 - more) + more, blue * (1 - more), red * (1 - more), green * (1 - more), blue * (1 - more) + more);
    VipsImage *mixed = NULL, *bytes = NULL;
    if (matrix && !vips_recomb(image, &mixed, matrix, NULL)) {
        vips_cast_uchar(mixed, &bytes, NULL);
        g_object_unref(mixed);
    }
    if (matrix) g_object_unref(matrix);
    return bytes;
}

static VipsImage *tilted(const uint8_t *pixels, uint32_t width, uint32_t height) {
    VipsImage *sharp = vips_image_new_from_memory(pixels, (size_t)width * height * 3, (int)width, (int)height, 3,
                                                  VIPS_FORMAT_UCHAR);
    VipsImage *shares = mask(width, height), *blurred = NULL, *both = NULL, *done = NULL;
    double sigma = (width > height ? width : height) / 170.0;
    if (sharp && shares && !vips_gaussblur(sharp, &blurred, sigma < 1 ? 1 : sigma, "precision", VIPS_PRECISION_INTEGER,
                                           NULL)) {
        if (!vips_ifthenelse(shares, blurred, sharp, &both, "blend", TRUE, NULL)) {
            done = coloured(both);
            g_object_unref(both);
        }
        g_object_unref(blurred);
    }
    if (shares) g_object_unref(shares);
    if (sharp) g_object_unref(sharp);
    return done;
}

int cpictures_tilt_shift(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *part,
                         struct cpictures_facts *facts) {
    memset(facts, 0, sizeof *facts);
    part->bytes = NULL;
    part->length = 0;
    int result;
    uint8_t *pixels = pixels_read(fd, limits, part, facts, &result);
    if (!pixels) return result;
    VipsImage *image = tilted(pixels, part->width, part->height);
    VipsImage *whole = NULL;
    if (image) {
        vips_copy(image, &whole, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
        g_object_unref(image);
    }
    result = whole ? pixels_save(whole, quality, part) : CPICTURES_UNREADABLE;
    g_free(pixels);
    return result;
}
