/* JPEGs by libjpeg-turbo directly; internal. */
#ifndef CPICTURES_JPEG_H
#define CPICTURES_JPEG_H
#include "planes.h"

enum { JPEG_READ = 0, JPEG_UNREADABLE = -1, JPEG_UNUSUAL = -2 };

/* Reads a JPEG in grey or YCbCr, reduced to fit into a square of `size` pixels and rotated by
   `orientation`. `step` is that of the planes, which must be freed after success; otherwise the reason
   is in `reason`. JPEG_UNUSUAL if it is valid, but in other colours. */
int jpeg_read(const void *bytes, size_t length, uint32_t size, uint32_t step, int orientation, struct planes *planes,
              char *reason, size_t reason_size);

/* Writes planes as a JPEG, allocated by malloc(3); 0 or −1. */
int jpeg_write(const struct planes *planes, int quality, void **bytes, size_t *length);
#endif
