/* Common functions over libvips; internal. */
#ifndef CPICTURES_PIXELS_H
#define CPICTURES_PIXELS_H
#include "cpictures.h"
#include <vips/vips.h>

/* Red, green and blue of a picture in sRGB, a byte each, to be freed by g_free(); NULL if it cannot be read.
   Transparent parts are white. */
uint8_t *pixels_of(VipsImage *image, uint32_t *width, uint32_t *height);

/* Notes the stored size of a picture with this orientation. */
void pixels_tell(struct cpictures_facts *facts, uint32_t width, uint32_t height, int orientation);

/* Checks width times height against the limits; one of the results of cpictures_make(). */
int pixels_judge(uint64_t width, uint64_t height, const struct cpictures_limits *limits);

/* Writes `image`, which this consumes, as the JPEG of `part`. */
int pixels_save(VipsImage *image, int quality, struct cpictures_part *part);

/* Computes the perceptual hash of red, green and blue. */
void pixels_describe(const uint8_t *pixels, uint32_t width, uint32_t height, struct cpictures_facts *facts);

/* Reads a rendition, a JPEG on `fd`, reduced to the size of `part`: red, green and blue as above, and its
   facts. NULL, and the result in `result`, if it cannot be read. */
uint8_t *pixels_read(int fd, const struct cpictures_limits *limits, struct cpictures_part *part,
                     struct cpictures_facts *facts, int *result);
#endif
