/* Makes small pictures of large ones and of films, by libvips, LibRaw and libav. Not thread-safe.

   Includes no header of these libraries, so that Swift does not import them. */
#ifndef CPICTURES_H
#define CPICTURES_H
#include <stddef.h>
#include <stdint.h>

/* Starts the libraries, with all loaders blocked except JPEG, PNG, WebP, TIFF, HEIF, GIF, JPEG 2000 and JPEG XL; 0 or
   −1. May open files, so it must be called before any confinement; reads no picture. */
int cpictures_start(void);

/* Loads the libraries that read films, if they are installed; before any confinement, too. */
void cpictures_start_films(void);

/* A digest of the builds of this program and of the libraries above: with another one, what was refused may be read. */
uint64_t cpictures_digest(void);

/* Limits that are checked before decoding. A film ends its search within the seconds, of processor time and in all, beyond
   which the process may be killed. */
struct cpictures_limits {
    uint64_t pixels;
    uint32_t side;
    uint32_t processor_seconds;
    uint32_t seconds;
};

/* Facts about a picture; width and height as displayed, orientation as in EXIF. If `is_described`, pictures
   that look alike have descriptions that differ in few bits. */
struct cpictures_facts {
    uint32_t width;
    uint32_t height;
    uint32_t orientation;
    int is_described;
    uint64_t description;
    /* It has a colour profile that cannot be used. */
    int is_profile_ignored;
};

/* One small picture: a JPEG that fits into a square of `size` pixels. `bytes` must be released. */
struct cpictures_part {
    uint32_t size;
    uint32_t width;
    uint32_t height;
    void *bytes;
    size_t length;
};

enum {
    CPICTURES_DONE = 0,
    CPICTURES_TOO_LARGE = 1,
    CPICTURES_UNREADABLE = 2,
    CPICTURES_NO_PREVIEW = 3,
    /* It contains no face. */
    CPICTURES_NOTHING_FOUND = 4,
    /* Not supported by this build. */
    CPICTURES_UNSUPPORTED = 5,
    /* It holds a film and no picture. */
    CPICTURES_FILM = 6,
};

/* How to read a file: a picture by its first bytes, the camera's preview in a raw file, a frame of a film, a JPEG that
   is lossless or has more than 8 bits a sample. The last two need what cpictures_start_films() loads. */
enum { CPICTURES_OF_PICTURE = 0, CPICTURES_OF_RAW = 1, CPICTURES_OF_FILM = 2, CPICTURES_OF_JPEG = 3 };

/* Reads the picture on `fd` and makes `count` parts, whose sizes must be in descending order. In sRGB, upright. */
int cpictures_make(int fd, int kind, const struct cpictures_limits *limits, int quality,
                   struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts);

/* Makes a miniature effect from a rendition on `fd`: sharp in a band, blurred above and below. */
int cpictures_tilt_shift(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *part,
                         struct cpictures_facts *facts);

/* Whether this build can find faces. */
int cpictures_finds_faces(void);

/* Draws googly eyes over each pair of eyes of a rendition; CPICTURES_UNSUPPORTED in a build without faces. */
int cpictures_googly(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *part,
                     struct cpictures_facts *facts);

/* A white page, in pixels; NULL if too large. Drawing beyond its edge is clipped. */
struct cpictures_page *cpictures_page_begin(uint32_t width, uint32_t height);
void cpictures_page_end(struct cpictures_page *page);
void cpictures_page_fill(struct cpictures_page *page, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                         uint8_t grey);
/* Characters of Unicode, in a built-in font of 8 by 13 pixels. */
void cpictures_page_text(struct cpictures_page *page, uint32_t x, uint32_t y, uint8_t grey, const uint32_t *characters,
                         uint32_t count);
/* A picture, reduced to fit into the square and centred. */
int cpictures_page_picture(struct cpictures_page *page, const void *bytes, size_t length,
                           const struct cpictures_limits *limits, uint32_t x, uint32_t y, uint32_t side);
int cpictures_page_save(const struct cpictures_page *page, int quality, struct cpictures_part *part);

/* Releases the parts of cpictures_make(). */
void cpictures_release(struct cpictures_part *parts, uint32_t count);

/* Copies and clears the libraries' last message; at most `size` bytes with the terminator. */
void cpictures_take_message(char *text, size_t size);
#endif
