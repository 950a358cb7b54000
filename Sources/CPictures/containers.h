/* What libvips and libheif need to be helped to find in a file in memory; internal. */
#ifndef CPICTURES_CONTAINERS_H
#define CPICTURES_CONTAINERS_H
#include <stddef.h>
#include <stdint.h>

/* The thumbnail of Photoshop in a PSD, a JPEG of `size` bytes at `at`, and the size of the picture; 0 if there is none. */
int psd_thumbnail(const uint8_t *bytes, size_t length, size_t *at, size_t *size, uint32_t *width, uint32_t *height);

/* The largest preview of Sigma's X3F, a JPEG of `size` bytes at `at`, and the photo's orientation and size, 0 where the
   header states none; 0 if there is none. */
int x3f_preview(const uint8_t *bytes, size_t length, size_t *at, size_t *size, int *orientation, uint32_t *width,
                uint32_t *height);

enum { HEIF_REPAIRED = 1, HEIF_FILM = 2 };

/* Changes a HEIF so that older libraries read its primary picture: one that is a sequence, too, is called a still
   picture, and references of metadata or gain maps to several pictures, as iPhones write them since iOS 18, are renamed.
   HEIF_REPAIRED if anything was changed, and HEIF_FILM if it holds a sequence or film. */
int heif_repair(uint8_t *bytes, size_t length);
#endif
