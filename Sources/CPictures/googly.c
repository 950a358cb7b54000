#include "pixels.h"

#ifdef PHOTOINBOX_FACES
#include <cfaces.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_PAIRS = 64 };

/* A disc with a smooth edge. */
static void disc(uint8_t *pixels, const struct cpictures_part *part, double x, double y, double radius, uint8_t grey) {
    int64_t left = (int64_t)floor(x - radius - 1), right = (int64_t)ceil(x + radius + 1);
    int64_t top = (int64_t)floor(y - radius - 1), bottom = (int64_t)ceil(y + radius + 1);
    for (int64_t row = top < 0 ? 0 : top; row <= bottom && row < part->height; row++)
        for (int64_t column = left < 0 ? 0 : left; column <= right && column < part->width; column++) {
            double inside = radius + 0.5 - hypot((double)column - x, (double)row - y);
            double share = inside < 0 ? 0 : inside > 1 ? 1 : inside;
            uint8_t *pixel = pixels + ((size_t)row * part->width + (size_t)column) * 3;
            for (int i = 0; i < 3; i++) pixel[i] = (uint8_t)(pixel[i] + (grey - pixel[i]) * share + 0.5);
        }
}

/* The pupil's position is pseudo-random, but always the same for the same place. */
static void eye(uint8_t *pixels, const struct cpictures_part *part, const struct cfaces_eye *eye) {
    double angle = fmod(eye->x * 12.9898 + eye->y * 78.233, 2 * M_PI), far = eye->radius * 0.4;
    disc(pixels, part, eye->x, eye->y, eye->radius * 1.08, 30);
    disc(pixels, part, eye->x, eye->y, eye->radius, 252);
    disc(pixels, part, eye->x + cos(angle) * far, eye->y + sin(angle) * far, eye->radius * 0.52, 8);
}

static uint32_t find(const uint8_t *pixels, const struct cpictures_part *part, struct cfaces_pair *pairs) {
    size_t count = (size_t)part->width * part->height;
    uint8_t *grey = malloc(count);
    if (!grey) return 0;
    for (size_t i = 0; i < count; i++)
        grey[i] = (uint8_t)((77 * pixels[3 * i] + 150 * pixels[3 * i + 1] + 29 * pixels[3 * i + 2]) >> 8);
    uint32_t found = cfaces_find(grey, part->width, part->height, pairs, MOST_PAIRS);
    free(grey);
    return found;
}

int cpictures_googly(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *part,
                     struct cpictures_facts *facts) {
    memset(facts, 0, sizeof *facts);
    part->bytes = NULL;
    part->length = 0;
    int result;
    uint8_t *pixels = pixels_read(fd, limits, part, facts, &result);
    if (!pixels) return result;
    struct cfaces_pair pairs[MOST_PAIRS];
    uint32_t count = find(pixels, part, pairs);
    result = CPICTURES_NOTHING_FOUND;
    if (count > 0) {
        for (uint32_t i = 0; i < count; i++)
            for (int side = 0; side < 2; side++) eye(pixels, part, &pairs[i].eyes[side]);
        VipsImage *image = vips_image_new_from_memory(pixels, (size_t)part->width * part->height * 3, (int)part->width,
                                                      (int)part->height, 3, VIPS_FORMAT_UCHAR);
        VipsImage *whole = NULL;
        if (image) {
            vips_copy(image, &whole, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
            g_object_unref(image);
        }
        result = whole ? pixels_save(whole, quality, part) : CPICTURES_UNREADABLE;
    }
    g_free(pixels);
    return result;
}
#else
int cpictures_googly(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *part,
                     struct cpictures_facts *facts) {
    (void)fd, (void)limits, (void)quality, (void)facts;
    part->bytes = NULL;
    part->length = 0;
    return CPICTURES_UNSUPPORTED;
}
#endif
