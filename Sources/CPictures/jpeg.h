/* JPEGs by libjpeg-turbo itself, for this library alone. */
#ifndef CPICTURES_JPEG_H
#define CPICTURES_JPEG_H
#include <stddef.h>
#include <stdint.h>

/* A JPEG in grey or YCbCr as RGB, made as small as fits into a square of `size` pixels, and never larger; not turned.
   malloc(3) made the pixels, whose dimensions are set; NULL where it cannot be read, with the reason in `reason`. */
uint8_t *cpictures_read_jpeg(const void *bytes, size_t length, uint32_t size, uint32_t *width, uint32_t *height,
                             char *reason, size_t reason_size);
#endif
