/* TIFFs by libtiff directly, for those that libvips refuses; internal. */
#ifndef CPICTURES_TIFF_H
#define CPICTURES_TIFF_H
#include "cpictures.h"
#include <vips/vips.h>

int tiff_is(const void *bytes, size_t length);

/* The first picture of a TIFF in memory, with its orientation and profile: planes of their own, subsampled colours and
   whatever else libtiff converts to RGB with 8 bits. NULL, and the result in `result`, if it cannot be read. */
VipsImage *tiff_read(const void *bytes, size_t length, const struct cpictures_limits *limits,
                     struct cpictures_facts *facts, int *result);
#endif
