/* A picture in the planes of a JPEG: brightness and two colours; internal. */
#ifndef CPICTURES_PLANES_H
#define CPICTURES_PLANES_H
#include <stddef.h>
#include <stdint.h>

/* Rows of `stride` samples, of which the first `width` are used. */
struct plane {
    uint32_t width;
    uint32_t height;
    size_t stride;
    uint8_t *samples;
};

/* The colours' planes have one sample per `step` samples of the first plane, in both directions. */
struct planes {
    uint32_t step;
    struct plane plane[3];
};

/* Allocates planes for a picture of this size; 0, or −1 without memory. */
int planes_make(struct planes *planes, uint32_t width, uint32_t height, uint32_t step);

void planes_free(struct planes *planes);

/* Rotates and mirrors a picture with this orientation, as in EXIF, upright; 0, or −1 without
   memory. */
int planes_turn(struct planes *planes, int orientation);

/* Reduces `width` and `height` to fit into a square of `size`; a picture that fits is unchanged. */
void planes_fit(uint32_t size, uint32_t *width, uint32_t *height);

/* Reduces to the dimensions of `to`; 0, or −1 without memory. */
int planes_reduce(const struct planes *from, struct planes *to);

#endif
