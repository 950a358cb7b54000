/* Faces and their eyes, by OpenCV's cascades; built with FACES=1 alone. Not for several threads at once. */
#ifndef CFACES_H
#define CFACES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Centre and radius, in pixels. */
struct cfaces_eye {
    double x;
    double y;
    double radius;
};

struct cfaces_pair {
    struct cfaces_eye eyes[2];
};

/* Reads the cascades; 0 or −1. Opens files, so it comes before any confinement. */
int cfaces_start(void);

/* Finds pairs of eyes in a picture of `width` times `height` samples of brightness, `most` at the most; how many. */
uint32_t cfaces_find(const uint8_t *samples, uint32_t width, uint32_t height, struct cfaces_pair *pairs, uint32_t most);

#ifdef __cplusplus
}
#endif
#endif
