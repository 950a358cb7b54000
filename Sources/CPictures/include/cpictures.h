/* Small pictures of large ones, by libvips and LibRaw. Not for several threads at once.

   No header of these libraries is included here: Swift is shown nothing of them. */
#ifndef CPICTURES_H
#define CPICTURES_H
#include <stddef.h>
#include <stdint.h>

/* Starts the libraries, with all loaders blocked but those for JPEG, PNG, WebP, TIFF and HEIF; 0 or −1. May open
   files, so it comes before any confinement; reads no picture. */
int cpictures_start(void);

/* What is refused before anything is decoded. */
struct cpictures_limits {
    uint64_t pixels;
    uint32_t side;
};

/* What was found; width and height as the picture is shown, orientation as EXIF counts. */
struct cpictures_facts {
    uint32_t width;
    uint32_t height;
    uint32_t orientation;
};

/* One small picture: a JPEG that fits into a square of `size` pixels. `bytes` is to be given back. */
struct cpictures_part {
    uint32_t size;
    uint32_t width;
    uint32_t height;
    void *bytes;
    size_t length;
};

enum { CPICTURES_DONE = 0, CPICTURES_TOO_LARGE = 1, CPICTURES_UNREADABLE = 2, CPICTURES_NO_PREVIEW = 3 };

/* Reads the picture on `fd`, and makes `count` parts, whose sizes are given from large to small. `is_raw` takes the
   preview that a camera put into its raw file. In sRGB, turned upright. */
int cpictures_make(int fd, int is_raw, const struct cpictures_limits *limits, int quality,
                   struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts);

/* Gives back what cpictures_make() made. */
void cpictures_release(struct cpictures_part *parts, uint32_t count);

/* What the libraries said last, and forgets it; at most `size` bytes with the terminator. */
void cpictures_take_message(char *text, size_t size);
#endif
