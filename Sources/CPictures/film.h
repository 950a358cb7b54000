/* Frames of films, by libavformat and libavcodec, which are loaded only when they are needed; internal. */
#ifndef CPICTURES_FILM_H
#define CPICTURES_FILM_H
#include "cpictures.h"
#include <vips/vips.h>

/* Loads the libraries; must be called before any confinement. What is missing is reported by film_frame(). */
void film_start(void);

/* The first frame that is not nearly black, or the brightest, or the picture of a JPEG; reduced to fit into a square of
   `size` pixels and upright. NULL, and the result in `result`, if there is none. */
VipsImage *film_frame(int fd, int is_jpeg, const struct cpictures_limits *limits, uint32_t size,
                      struct cpictures_facts *facts, int *result);
#endif
