#include "cpictures.h"
#include "containers.h"
#include "film.h"
#include "fingerprint.h"
#include "jpeg.h"
#include "pixels.h"
#include "tiff.h"
#ifdef PHOTOINBOX_FACES
#include <cfaces.h>
#endif
#include <libraw/libraw.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vips/vips.h>
/* Not part of the header above. */
#include <vips/vector.h>

static void say_nothing(const char *domain, GLogLevelFlags level, const char *text, void *unused) {
    (void)domain, (void)level, (void)text, (void)unused;
}

int cpictures_start(void) {
    /* Warnings of the libraries contain untrusted text of the picture. */
    g_log_set_default_handler(say_nothing, NULL);
    /* Each arena reserves 64 MiB of address space, which is limited. */
    mallopt(M_ARENA_MAX, 2);
    if (vips_init("photoinbox-decoder")) return -1;
    /* liborc generates code at run time, which a confined process may not. */
    vips_vector_set_enabled(FALSE);
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    vips_block_untrusted_set(TRUE);
    vips_operation_block_set("VipsForeignLoad", TRUE);
    /* libvips trusts the last two less than the others: they are younger, and confined here like all. */
    static const char *const trusted[] = {"VipsForeignLoadJpeg",  "VipsForeignLoadPng",  "VipsForeignLoadWebp",
                                          "VipsForeignLoadTiff",  "VipsForeignLoadHeif", "VipsForeignLoadNsgif",
                                          "VipsForeignLoadJp2k", "VipsForeignLoadJxl"};
    for (size_t i = 0; i < G_N_ELEMENTS(trusted); i++) vips_operation_block_set(trusted[i], FALSE);
#ifdef PHOTOINBOX_FACES
    if (cfaces_start()) {
        vips_error("faces", "OpenCV's cascades are not to be had: install opencv-data");
        return -1;
    }
#endif
    return 0;
}

int cpictures_finds_faces(void) {
#ifdef PHOTOINBOX_FACES
    return 1;
#else
    return 0;
#endif
}

void cpictures_start_films(void) { film_start(); }

void cpictures_take_message(char *text, size_t size) {
    g_strlcpy(text, vips_error_buffer(), size);
    vips_error_clear();
}

/* Whether a profile is of the colours of the picture: libvips accepts a grey one for any. */
static int is_of(const uint8_t *profile, size_t length, VipsImage *image) {
    if (length < 20) return 0;
    int colours = memcmp(profile + 16, "GRAY", 4) == 0   ? 1
                  : memcmp(profile + 16, "RGB ", 4) == 0 ? 3
                  : memcmp(profile + 16, "CMYK", 4) == 0 ? 4
                                                         : 0;
    return colours == image->Bands - (vips_image_hasalpha(image) ? 1 : 0);
}

/* Whether its profile can be used. One that cannot is ignored, which `facts` say. */
static int has_profile(VipsImage *image, struct cpictures_facts *facts) {
    const void *bytes = NULL;
    size_t length = 0;
    if (!vips_image_get_typeof(image, VIPS_META_ICC_NAME)) return 0;
    if (!vips_image_get_blob(image, VIPS_META_ICC_NAME, &bytes, &length) && is_of(bytes, length, image) &&
        vips_icc_is_compatible_profile(image, bytes, length))
        return 1;
    if (facts) facts->is_profile_ignored = 1;
    vips_error_clear();
    return 0;
}

/* The target profile for vips_thumbnail(): with "srgb" it treats pictures without a profile as not sRGB
   and shifts their colours. */
static const char *profile_for(VipsImage *image, struct cpictures_facts *facts) {
    return has_profile(image, facts) || image->Type == VIPS_INTERPRETATION_CMYK ? "srgb" : NULL;
}

/* Checks only the header. */
static int look(VipsImage *image, const struct cpictures_limits *limits, struct cpictures_facts *facts) {
    if (facts) pixels_tell(facts, (uint32_t)image->Xsize, (uint32_t)image->Ysize, vips_image_get_orientation(image));
    return pixels_judge((uint64_t)image->Xsize, (uint64_t)image->Ysize, limits);
}

/* Describes the smallest part. */
static void describe(VipsImage *image, struct cpictures_facts *facts) {
    uint32_t width = 0, height = 0;
    uint8_t *pixels = pixels_of(image, &width, &height);
    if (!pixels) return;
    pixels_describe(pixels, width, height, facts);
    g_free(pixels);
}

/* The first part is `first`, which this consumes; the others are made from it. */
static int save_all(VipsImage *first, int quality, struct cpictures_part *parts, uint32_t count,
                    struct cpictures_facts *facts) {
    /* In memory, since it is read several times: written, reduced, described. */
    VipsImage *pixels = vips_image_copy_memory(first);
    g_object_unref(first);
    int result = pixels ? CPICTURES_DONE : CPICTURES_UNREADABLE;
    for (uint32_t i = 0; i < count && result == CPICTURES_DONE; i++) {
        VipsImage *smaller = NULL;
        if (i == 0) {
            smaller = g_object_ref(pixels);
        } else if (vips_thumbnail_image(pixels, &smaller, (int)parts[i].size, "height", (int)parts[i].size, "size",
                                        VIPS_SIZE_DOWN, "no_rotate", TRUE, NULL)) {
            result = CPICTURES_UNREADABLE;
            break;
        }
        if (i + 1 == count) describe(smaller, facts);
        result = pixels_save(smaller, quality, &parts[i]);
    }
    if (pixels) g_object_unref(pixels);
    return result;
}

/* Maps a file, or with `is_changed` a copy of it that is this process's own. Not with fstat(3), which calls fstatat(2): a
   confined process may not call functions with a path. */
static void *map(int fd, size_t *length, int is_changed) {
    off_t end = lseek(fd, 0, SEEK_END);
    if (end <= 0) return NULL;
    *length = (size_t)end;
    int protection = is_changed ? PROT_READ | PROT_WRITE : PROT_READ;
    void *bytes = mmap(NULL, *length, protection, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static int is_loaded_by(VipsImage *image, const char *name) {
    const char *loader = NULL;
    return vips_image_get_typeof(image, VIPS_META_LOADER) &&
           !vips_image_get_string(image, VIPS_META_LOADER, &loader) && strncmp(loader, name, strlen(name)) == 0;
}

/* Whether libjpeg-turbo can read it directly, which is faster: without a profile, in colours that count as sRGB. */
static int is_plain_jpeg(VipsImage *image) {
    return is_loaded_by(image, "jpegload") && !profile_for(image, NULL) && image->BandFmt == VIPS_FORMAT_UCHAR &&
           (image->Type == VIPS_INTERPRETATION_sRGB || image->Type == VIPS_INTERPRETATION_B_W);
}

/* Consumes `planes`, those of the first part; each other part is made from the one before. */
static int write_all(struct planes planes, int quality, struct cpictures_part *parts, uint32_t count,
                     struct cpictures_facts *facts) {
    int result = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        uint32_t width = planes.plane[0].width, height = planes.plane[0].height;
        planes_fit(parts[i].size, &width, &height);
        if (i > 0) {
            struct planes small;
            result = planes_make(&small, width, height, planes.step) || planes_reduce(&planes, &small);
            planes_free(&planes);
            planes = small;
        }
        parts[i].width = width;
        parts[i].height = height;
        result = result || jpeg_write(&planes, quality, &parts[i].bytes, &parts[i].length);
    }
    if (!result) facts->is_described = fingerprint(&planes.plane[0], &facts->description) == 0;
    planes_free(&planes);
    return result ? CPICTURES_UNREADABLE : CPICTURES_DONE;
}

static int make_of_jpeg(const void *bytes, size_t length, int quality, struct cpictures_part *parts, uint32_t count,
                        int orientation, int *is_unusual, struct cpictures_facts *facts) {
    /* As in libvips: from 90 on colours keep all their samples. */
    uint32_t step = quality < 90 ? 2 : 1;
    struct planes planes;
    char reason[256] = "";
    int read = jpeg_read(bytes, length, parts[0].size, step, orientation, &planes, reason, sizeof reason);
    *is_unusual = read == JPEG_UNUSUAL;
    if (read == JPEG_UNUSUAL) return CPICTURES_UNREADABLE;
    if (read != JPEG_READ) {
        vips_error("jpeg", "%s", reason);
        return CPICTURES_UNREADABLE;
    }
    return write_all(planes, quality, parts, count, facts);
}

/* A picture in a file, or in memory if `bytes` is not NULL. */
struct input {
    int fd;
    const void *bytes;
    size_t length;
};

static VipsSource *source_of(const struct input *input) {
    return input->bytes ? vips_source_new_from_memory(input->bytes, input->length)
                        : vips_source_new_from_descriptor(input->fd);
}

/* The smallest resolution of a JPEG 2000 that is not smaller than `size`, as libvips numbers them. vips_thumbnail()
   takes the smallest of all. */
static int resolution_for(VipsImage *image, uint32_t size) {
    int page = 0;
    while (page + 1 < vips_image_get_n_pages(image) && image->Xsize >> (page + 1) >= (int)size &&
           image->Ysize >> (page + 1) >= (int)size)
        page++;
    return page;
}

static VipsImage *reduced(VipsImage *image, uint32_t size, const char *profile) {
    VipsImage *small = NULL;
    vips_thumbnail_image(image, &small, (int)size, "height", (int)size, "size", VIPS_SIZE_DOWN, "export_profile",
                         profile, NULL);
    return small;
}

/* A thumbnail of this size, or NULL; `page` is that of a JPEG 2000, −1 for other formats. */
static VipsImage *small_of(VipsSource *source, int page, uint32_t size, const char *profile) {
    VipsImage *small = NULL;
    if (page < 0) {
        vips_thumbnail_source(source, &small, (int)size, "height", (int)size, "size", VIPS_SIZE_DOWN,
                              "export_profile", profile, "fail_on", VIPS_FAIL_ON_TRUNCATED, NULL);
        return small;
    }
    VipsImage *image =
        vips_image_new_from_source(source, "", "page", page, "fail_on", VIPS_FAIL_ON_TRUNCATED, NULL);
    if (!image) return NULL;
    small = reduced(image, size, profile);
    g_object_unref(image);
    return small;
}

static int make_of_input(const struct input *input, const struct cpictures_limits *limits, int quality,
                         struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts) {
    VipsSource *source = source_of(input);
    if (!source) return CPICTURES_UNREADABLE;
    int result = CPICTURES_UNREADABLE;
    const char *profile = NULL;
    int is_plain = 0, page = -1;
    VipsImage *image = vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    if (image) {
        result = look(image, limits, facts);
        profile = profile_for(image, facts);
        if (is_loaded_by(image, "jp2kload")) page = resolution_for(image, parts[0].size);
        is_plain = is_plain_jpeg(image);
        g_object_unref(image);
    }
    g_object_unref(source);
    if (result != CPICTURES_DONE) return result;
    if (is_plain) {
        size_t length = input->length;
        void *mapped = input->bytes ? NULL : map(input->fd, &length, 0);
        const void *bytes = mapped ? mapped : input->bytes;
        if (!bytes) return CPICTURES_UNREADABLE;
        int is_unusual = 0;
        result = make_of_jpeg(bytes, length, quality, parts, count, (int)facts->orientation, &is_unusual,
                              facts);
        if (mapped) munmap(mapped, length);
        if (!is_unusual) return result;
    }
    source = source_of(input);
    if (!source) return CPICTURES_UNREADABLE;
    VipsImage *small = small_of(source, page, parts[0].size, profile);
    result = small ? save_all(small, quality, parts, count, facts) : CPICTURES_UNREADABLE;
    g_object_unref(source);
    return result;
}

/* Another way, for what libvips cannot read: `bytes` may be changed. */
static int make_otherwise(uint8_t *bytes, size_t length, const struct cpictures_limits *limits, int quality,
                          struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts) {
    if (tiff_is(bytes, length)) {
        int result = CPICTURES_UNREADABLE;
        /* Its header was read, and its kind was not refused: it is damaged, and so it would be for libtiff, after as
           much work again. */
        if (facts->width > 0 && !strstr(vips_error_buffer(), "support")) return result;
        vips_error_clear();
        facts->is_profile_ignored = 0;
        VipsImage *image = tiff_read(bytes, length, limits, facts, &result);
        VipsImage *small = image ? reduced(image, parts[0].size, profile_for(image, facts)) : NULL;
        int is_read = image != NULL;
        if (is_read) g_object_unref(image);
        if (small) return save_all(small, quality, parts, count, facts);
        return is_read ? CPICTURES_UNREADABLE : result;
    }
    size_t at = 0, size = 0;
    uint32_t width = 0, height = 0;
    if (psd_thumbnail(bytes, length, &at, &size, &width, &height)) {
        struct input thumbnail = {-1, bytes + at, size};
        vips_error_clear();
        int result = make_of_input(&thumbnail, limits, quality, parts, count, facts);
        pixels_tell(facts, width, height, 1);
        return result;
    }
    if (length >= 4 && memcmp(bytes, "8BPS", 4) == 0) {
        vips_error_clear();
        vips_error("psd", "%s", "it holds no thumbnail of its own");
        return CPICTURES_UNREADABLE;
    }
    int heif = heif_repair(bytes, length), result = CPICTURES_UNREADABLE;
    if (heif & HEIF_REPAIRED) {
        struct input repaired = {-1, bytes, length};
        vips_error_clear();
        result = make_of_input(&repaired, limits, quality, parts, count, facts);
    }
    return result == CPICTURES_UNREADABLE && heif & HEIF_FILM ? CPICTURES_FILM : result;
}

static int make_of_picture(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *parts,
                           uint32_t count, struct cpictures_facts *facts) {
    struct input file = {fd, NULL, 0};
    int result = make_of_input(&file, limits, quality, parts, count, facts);
    if (result != CPICTURES_UNREADABLE) return result;
    cpictures_release(parts, count);
    size_t length = 0;
    uint8_t *bytes = map(fd, &length, 1);
    if (!bytes) return CPICTURES_UNREADABLE;
    result = make_otherwise(bytes, length, limits, quality, parts, count, facts);
    munmap(bytes, length);
    /* The last loader that libvips tries is one that is blocked here. */
    if (result == CPICTURES_UNREADABLE && strstr(vips_error_buffer(), "operation is blocked")) {
        vips_error_clear();
        vips_error("decoder", "%s", "it is in no format that is decoded");
    }
    return result;
}

static int make_of_film(int fd, int is_jpeg, const struct cpictures_limits *limits, int quality,
                        struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts) {
    int result = CPICTURES_UNREADABLE;
    VipsImage *frame = film_frame(fd, is_jpeg, limits, parts[0].size, facts, &result);
    return frame ? save_all(frame, quality, parts, count, facts) : result;
}

/* LibRaw numbers rotations as dcraw did. */
static int orientation_of_flip(int flip) { return flip == 3 ? 3 : flip == 5 ? 8 : flip == 6 ? 6 : 1; }

static VipsImage *upright(VipsImage *image, int orientation) {
    VipsAngle angle = orientation == 3   ? VIPS_ANGLE_D180
                      : orientation == 6 ? VIPS_ANGLE_D90
                      : orientation == 8 ? VIPS_ANGLE_D270
                                         : VIPS_ANGLE_D0;
    if (!image || angle == VIPS_ANGLE_D0) return image;
    VipsImage *pixels = vips_image_copy_memory(image);
    VipsImage *turned = NULL;
    if (pixels) {
        vips_rot(pixels, &turned, angle, NULL);
        g_object_unref(pixels);
    }
    g_object_unref(image);
    return turned;
}

/* Makes parts from a camera's preview, `thumbnail`, which rarely has its own orientation. */
static VipsImage *small_preview(const libraw_thumbnail_t *thumbnail, const struct cpictures_limits *limits,
                                uint32_t size, int orientation) {
    VipsImage *image = NULL;
    VipsImage *small = NULL;
    if (thumbnail->tformat == LIBRAW_THUMBNAIL_JPEG) {
        image = vips_image_new_from_buffer(thumbnail->thumb, thumbnail->tlength, "", NULL);
        if (!image || look(image, limits, NULL) != CPICTURES_DONE) {
            if (image) g_object_unref(image);
            return NULL;
        }
        const char *profile = profile_for(image, NULL);
        g_object_unref(image);
        vips_thumbnail_buffer(thumbnail->thumb, thumbnail->tlength, &small, (int)size, "height", (int)size, "size",
                              VIPS_SIZE_DOWN, "export_profile", profile, "no_rotate", TRUE, NULL);
    } else if (thumbnail->tformat == LIBRAW_THUMBNAIL_BITMAP) {
        size_t needed = (size_t)thumbnail->twidth * thumbnail->theight * 3;
        if (thumbnail->tlength < needed || pixels_judge(thumbnail->twidth, thumbnail->theight, limits) != CPICTURES_DONE)
            return NULL;
        image = vips_image_new_from_memory(thumbnail->thumb, needed, thumbnail->twidth, thumbnail->theight, 3,
                                           VIPS_FORMAT_UCHAR);
        if (!image) return NULL;
        vips_thumbnail_image(image, &small, (int)size, "height", (int)size, "size", VIPS_SIZE_DOWN, NULL);
        g_object_unref(image);
    }
    return upright(small, orientation);
}

/* For a preview as in most cameras: a JPEG without a profile. */
static int make_of_plain_preview(const libraw_thumbnail_t *thumbnail, const struct cpictures_limits *limits,
                                 int quality, struct cpictures_part *parts, uint32_t count, int orientation,
                                 int *is_unusual, struct cpictures_facts *facts) {
    VipsImage *image = vips_image_new_from_buffer(thumbnail->thumb, thumbnail->tlength, "", NULL);
    if (!image) return CPICTURES_UNREADABLE;
    int is_plain = look(image, limits, NULL) == CPICTURES_DONE && is_plain_jpeg(image);
    g_object_unref(image);
    if (!is_plain) return CPICTURES_UNREADABLE;
    return make_of_jpeg(thumbnail->thumb, thumbnail->tlength, quality, parts, count, orientation, is_unusual,
                        facts);
}

static int make_of_thumbnail(const libraw_thumbnail_t *thumbnail, const struct cpictures_limits *limits, int quality,
                             struct cpictures_part *parts, uint32_t count, int orientation,
                             struct cpictures_facts *facts) {
    if (thumbnail->tformat == LIBRAW_THUMBNAIL_JPEG) {
        int is_unusual = 1;
        int result =
            make_of_plain_preview(thumbnail, limits, quality, parts, count, orientation, &is_unusual, facts);
        if (!is_unusual) return result;
    }
    VipsImage *small = small_preview(thumbnail, limits, parts[0].size, orientation);
    return small ? save_all(small, quality, parts, count, facts) : CPICTURES_UNREADABLE;
}

static int make_of_preview(libraw_data_t *raw, const struct cpictures_limits *limits, int quality,
                           struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts) {
    int orientation = orientation_of_flip(raw->sizes.flip);
    pixels_tell(facts, raw->sizes.width, raw->sizes.height, orientation);
    int result = pixels_judge(raw->sizes.width, raw->sizes.height, limits);
    if (result != CPICTURES_DONE) return result;
    int code = libraw_unpack_thumb(raw);
    if (code) {
        vips_error("libraw", "%s", libraw_strerror(code));
        return CPICTURES_NO_PREVIEW;
    }
    return make_of_thumbnail(&raw->thumbnail, limits, quality, parts, count, orientation, facts);
}

/* Of Sigma's X3F, which Debian's LibRaw does not read. */
static int make_of_x3f(uint8_t *bytes, size_t length, const struct cpictures_limits *limits, int quality,
                       struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts) {
    size_t at = 0, size = 0;
    int orientation = 0;
    uint32_t width = 0, height = 0;
    if (!x3f_preview(bytes, length, &at, &size, &orientation, &width, &height)) {
        vips_error("x3f", "%s", "it holds no preview as JPEG");
        return CPICTURES_NO_PREVIEW;
    }
    int result;
    if (orientation > 0) {
        libraw_thumbnail_t preview = {
            .tformat = LIBRAW_THUMBNAIL_JPEG, .tlength = (unsigned)size, .thumb = (char *)bytes + at};
        result = make_of_thumbnail(&preview, limits, quality, parts, count, orientation, facts);
    } else {
        /* It has its own, or none. */
        struct input preview = {-1, bytes + at, size};
        result = make_of_input(&preview, limits, quality, parts, count, facts);
        orientation = (int)facts->orientation;
    }
    if (width > 0 && height > 0) pixels_tell(facts, width, height, orientation);
    return result;
}

static int make_of_raw(int fd, const struct cpictures_limits *limits, int quality, struct cpictures_part *parts,
                       uint32_t count, struct cpictures_facts *facts) {
    size_t length = 0;
    void *bytes = map(fd, &length, 0);
    if (!bytes) return CPICTURES_UNREADABLE;
    int result = CPICTURES_UNREADABLE;
    if (length >= 4 && memcmp(bytes, "FOVb", 4) == 0)
        result = make_of_x3f(bytes, length, limits, quality, parts, count, facts);
    /* LibRaw may read an X3F without a JPEG in it, if it was built with its X3F tools. */
    libraw_data_t *raw = result == CPICTURES_UNREADABLE || result == CPICTURES_NO_PREVIEW ? libraw_init(0) : NULL;
    if (raw) {
        cpictures_release(parts, count);
        int code = libraw_open_buffer(raw, bytes, length);
        if (code)
            vips_error("libraw", "%s", libraw_strerror(code));
        else
            result = make_of_preview(raw, limits, quality, parts, count, facts);
        libraw_close(raw);
    }
    munmap(bytes, length);
    return result;
}

int cpictures_make(int fd, int kind, const struct cpictures_limits *limits, int quality,
                   struct cpictures_part *parts, uint32_t count, struct cpictures_facts *facts) {
    memset(facts, 0, sizeof *facts);
    for (uint32_t i = 0; i < count; i++) {
        parts[i].bytes = NULL;
        parts[i].length = 0;
    }
    if (count == 0) return CPICTURES_UNREADABLE;
    switch (kind) {
    case CPICTURES_OF_RAW: return make_of_raw(fd, limits, quality, parts, count, facts);
    case CPICTURES_OF_FILM:
    case CPICTURES_OF_JPEG:
        return make_of_film(fd, kind == CPICTURES_OF_JPEG, limits, quality, parts, count, facts);
    default: return make_of_picture(fd, limits, quality, parts, count, facts);
    }
}

void cpictures_release(struct cpictures_part *parts, uint32_t count) {
    /* Allocated by malloc(3) or GLib, which is the same since version 2.46. */
    for (uint32_t i = 0; i < count; i++) {
        g_free(parts[i].bytes);
        parts[i].bytes = NULL;
        parts[i].length = 0;
    }
}
