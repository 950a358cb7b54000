/* JPEGs by libjpeg-turbo itself, for this library alone. */
#ifndef CPICTURES_JPEG_H
#define CPICTURES_JPEG_H
#include "planes.h"

enum { JPEG_READ = 0, JPEG_UNREADABLE = -1, JPEG_UNUSUAL = -2 };

/* A JPEG in grey or YCbCr, made as small as fits into a square of `size` pixels, never larger, and turned as
   `orientation` wants it. `step` is that of the planes, which are to be freed where it could be read; else the reason
   stands in `reason`. JPEG_UNUSUAL where its colours are others, and nothing is known against it. */
int jpeg_read(const void *bytes, size_t length, uint32_t size, uint32_t step, int orientation, struct planes *planes,
              char *reason, size_t reason_size);

/* Writes planes as a JPEG, which malloc(3) made; 0 or −1. */
int jpeg_write(const struct planes *planes, int quality, void **bytes, size_t *length);
#endif
