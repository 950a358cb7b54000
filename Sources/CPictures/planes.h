/* A picture as its samples lie in a JPEG: brightness and two colours, each a plane of its own; for this library alone. */
#ifndef CPICTURES_PLANES_H
#define CPICTURES_PLANES_H
#include <stddef.h>
#include <stdint.h>

/* Rows of `stride` samples, of which `width` count. */
struct plane {
    uint32_t width;
    uint32_t height;
    size_t stride;
    uint8_t *samples;
};

/* The colours' planes have a sample for every `step` samples of the first one, in both directions. */
struct planes {
    uint32_t step;
    struct plane plane[3];
};

/* Planes for a picture of so many samples, with nothing in them; 0, or −1 without memory. */
int planes_make(struct planes *planes, uint32_t width, uint32_t height, uint32_t step);

void planes_free(struct planes *planes);

/* Turns and mirrors until a picture stored with this orientation, as EXIF counts, stands upright; 0, or −1 without
   memory. */
int planes_turn(struct planes *planes, int orientation);

/* How `width` and `height` have to be made smaller to fit into a square of `size`; what fits stays. */
void planes_fit(uint32_t size, uint32_t *width, uint32_t *height);

/* Makes smaller planes of it, whose dimensions they say; 0, or −1 without memory. */
int planes_reduce(const struct planes *from, struct planes *to);

#endif
