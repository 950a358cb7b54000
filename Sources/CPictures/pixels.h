/* What the files of this library share of libvips. */
#ifndef CPICTURES_PIXELS_H
#define CPICTURES_PIXELS_H
#include "cpictures.h"
#include <vips/vips.h>

/* Red, green and blue of a picture in sRGB, a byte each, in memory that g_free() frees; NULL where it cannot be read. What
   is transparent is white. */
uint8_t *pixels_of(VipsImage *image, uint32_t *width, uint32_t *height);

/* Width times height within the limits: one of the results of cpictures_make(). */
int pixels_judge(uint64_t width, uint64_t height, const struct cpictures_limits *limits);

/* Writes `image`, which this takes, as the JPEG of `part`. */
int pixels_save(VipsImage *image, int quality, struct cpictures_part *part);

/* Tells what red, green and blue look like, in 64 bits. */
void pixels_describe(const uint8_t *pixels, uint32_t width, uint32_t height, struct cpictures_facts *facts);

/* The JPEG on `fd`, one of our own renditions, made as small as `part` wants it: red, green and blue as above, and what is
   told of it. NULL, and the result in `result`, where it cannot be read. */
uint8_t *pixels_read(int fd, const struct cpictures_limits *limits, struct cpictures_part *part,
                     struct cpictures_facts *facts, int *result);
#endif
