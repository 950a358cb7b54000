#include "film.h"
#include "pixels.h"
#if __has_include(<libavformat/avformat.h>) && __has_include(<libavcodec/avcodec.h>) && \
    __has_include(<libswscale/swscale.h>)
#include <dlfcn.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_STREAMS = 64,
    /* Key frames among which a bright one is searched. */
    MOST_FRAMES = 48,
    MOST_PACKETS = 20000,
    /* Packets without a single key frame, after which any frame will do. */
    PATIENCE = 300,
    /* Of 255: what is darker on average is nearly black. */
    DARK = 24,
    BUFFER = 1 << 16,
    /* A frame of 8K has 33 million pixels. */
    MOST_PIXELS = 68 << 20,
};
/* Bytes that are read of one film, seconds of processor time, and how much of the limits, which kill, a search may use. */
static const int64_t most_bytes = INT64_C(512) << 20;
static const double most_seconds = 8, part_of_limits = 0.7;

/* Every function that is used, with its library. */
#define FUNCTIONS(F) \
    F(util, av_dict_free) F(util, av_dict_set) F(util, av_frame_alloc) F(util, av_frame_free) \
    F(util, av_frame_get_side_data) F(util, av_frame_move_ref) F(util, av_frame_unref) F(util, av_freep) \
    F(util, av_log_set_level) F(util, av_malloc) \
    F(codec, av_packet_alloc) F(codec, av_packet_free) F(codec, av_packet_unref) F(codec, avcodec_alloc_context3) \
    F(codec, avcodec_find_decoder_by_name) F(codec, avcodec_free_context) \
    F(codec, avcodec_open2) F(codec, avcodec_parameters_to_context) F(codec, avcodec_receive_frame) \
    F(codec, avcodec_send_packet) F(format, av_find_input_format) F(format, av_read_frame) \
    F(format, avformat_alloc_context) F(format, avformat_close_input) F(format, avformat_open_input) \
    F(format, avio_alloc_context) F(format, avio_context_free) F(scale, sws_freeContext) \
    F(scale, sws_getCoefficients) F(scale, sws_getContext) F(scale, sws_scale) F(scale, sws_setColorspaceDetails) \
    F(SIDE_DATA_LIBRARY, SIDE_DATA_FUNCTION)
#if LIBAVFORMAT_VERSION_MAJOR >= 61
#define SIDE_DATA_LIBRARY codec
#define SIDE_DATA_FUNCTION av_packet_side_data_get
#else
#define SIDE_DATA_LIBRARY format
#define SIDE_DATA_FUNCTION av_stream_get_side_data
#endif

#define POINTER(library, name) POINTER_OF(name)
#define POINTER_OF(name) __typeof__(name) *name;
static struct { FUNCTIONS(POINTER) } av;

#define STRING(x) STRING_OF(x)
#define STRING_OF(x) #x
/* Those of the headers: the layout of their structures belongs to one major version. */
#define UTIL "libavutil.so." STRING(LIBAVUTIL_VERSION_MAJOR)
#define CODEC "libavcodec.so." STRING(LIBAVCODEC_VERSION_MAJOR)
#define FORMAT "libavformat.so." STRING(LIBAVFORMAT_VERSION_MAJOR)
#define SCALE "libswscale.so." STRING(LIBSWSCALE_VERSION_MAJOR)

static int is_loaded;

static int load(void) {
    void *util = dlopen(UTIL, RTLD_NOW), *codec = dlopen(CODEC, RTLD_NOW), *format = dlopen(FORMAT, RTLD_NOW),
         *scale = dlopen(SCALE, RTLD_NOW);
    if (!util || !codec || !format || !scale) return -1;
#define FIND(library, name) FIND_IN(library, name)
#define FIND_IN(library, name) \
    if (!(av.name = (__typeof__(name) *)dlsym(library, #name))) return -1;
    FUNCTIONS(FIND)
    av.av_log_set_level(AV_LOG_QUIET);
    return 0;
}

void film_start(void) { is_loaded = load() == 0; }

/* Which demuxer reads it; no other is asked. */
static const char *demuxer(const uint8_t *head, size_t length) {
    static const char *const boxes[] = {"ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"};
    if (length < 200) return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(boxes); i++)
        if (memcmp(head + 4, boxes[i], 4) == 0) return "mp4";
    if (memcmp(head, "\x1A\x45\xDF\xA3", 4) == 0) return "matroska";
    if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "AVI", 3) == 0) return "avi";
    if ((head[0] == 0x47 && head[188] == 0x47) || (head[4] == 0x47 && head[196] == 0x47)) return "mpegts";
    return NULL;
}

/* Which decoders are used; no other is opened. */
static const char *decoder(enum AVCodecID codec) {
    switch (codec) {
    case AV_CODEC_ID_H264: return "h264";
    case AV_CODEC_ID_HEVC: return "hevc";
    case AV_CODEC_ID_AV1: return "libdav1d";
    case AV_CODEC_ID_MJPEG: return "mjpeg";
    case AV_CODEC_ID_MPEG4: return "mpeg4";
    case AV_CODEC_ID_MSMPEG4V3: return "msmpeg4";
    case AV_CODEC_ID_H263: return "h263";
    case AV_CODEC_ID_MPEG1VIDEO: return "mpeg1video";
    case AV_CODEC_ID_MPEG2VIDEO: return "mpeg2video";
    case AV_CODEC_ID_DVVIDEO: return "dvvideo";
    case AV_CODEC_ID_PRORES: return "prores";
    case AV_CODEC_ID_VP8: return "vp8";
    case AV_CODEC_ID_VP9: return "vp9";
    default: return NULL;
    }
}

/* Everything that must be freed at every end. */
struct film {
    int fd;
    int64_t position, length, left;
    /* When the search ends, by each clock. */
    double processor_end, end;
    AVFormatContext *format;
    AVIOContext *io;
    AVDictionary *options;
    AVCodecContext *codec;
    AVStream *stream;
    AVPacket *packet;
    /* The last one, and the brightest. */
    AVFrame *frame, *best;
    double brightness;
    int frames;
};

static double seconds(clockid_t clock) {
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int is_overdue(void *opaque) {
    const struct film *film = opaque;
    return seconds(CLOCK_PROCESS_CPUTIME_ID) > film->processor_end || seconds(CLOCK_MONOTONIC) > film->end;
}

static int read_some(void *opaque, uint8_t *bytes, int size) {
    struct film *film = opaque;
    if (film->left <= 0 || is_overdue(film)) return AVERROR_EXIT;
    ssize_t count = pread(film->fd, bytes, (size_t)size, film->position);
    if (count <= 0) return count == 0 ? AVERROR_EOF : AVERROR(EIO);
    film->position += count;
    film->left -= count;
    return (int)count;
}

static int64_t move(void *opaque, int64_t offset, int whence) {
    struct film *film = opaque;
    if (whence & AVSEEK_SIZE) return film->length;
    int64_t base = (whence & ~AVSEEK_FORCE) == SEEK_CUR   ? film->position
                   : (whence & ~AVSEEK_FORCE) == SEEK_END ? film->length
                                                          : 0;
    if (offset < -base || offset > film->length - base) return AVERROR(EINVAL);
    return film->position = base + offset;
}

/* A film may name other files. */
static int refuse_other_files(AVFormatContext *format, AVIOContext **io, const char *url, int flags,
                              AVDictionary **options) {
    (void)format, (void)io, (void)url, (void)flags, (void)options;
    return AVERROR(EACCES);
}

static const char *open_film(struct film *film) {
    uint8_t head[200];
    film->length = lseek(film->fd, 0, SEEK_END);
    ssize_t count = pread(film->fd, head, sizeof head, 0);
    const char *name = demuxer(head, count > 0 ? (size_t)count : 0);
    if (!name) return "it is no film that is decoded: MP4, QuickTime, Matroska, AVI or MPEG-TS";
    /* Without one, libav would try all. */
    const AVInputFormat *input = av.av_find_input_format(name);
    if (!input) return "libavformat lacks the demuxer for it";
    uint8_t *buffer = av.av_malloc(BUFFER);
    film->io = buffer ? av.avio_alloc_context(buffer, BUFFER, 0, film, read_some, NULL, move) : NULL;
    if (!film->io) {
        av.av_freep(&buffer);
        return "no memory";
    }
    film->format = av.avformat_alloc_context();
    if (!film->format) return "no memory";
    film->format->pb = film->io;
    film->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    film->format->io_open = refuse_other_files;
    film->format->interrupt_callback = (AVIOInterruptCB){is_overdue, film};
    film->format->max_streams = MOST_STREAMS;
    av.av_dict_set(&film->options, "protocol_whitelist", "none", 0);
    /* It is freed if it cannot be opened. */
    if (av.avformat_open_input(&film->format, "", input, &film->options) < 0)
        return "its index cannot be read";
    return NULL;
}

static const char *open_decoder(struct film *film, const char *name, const AVCodecParameters *said,
                                const struct cpictures_limits *limits) {
    const AVCodec *codec = av.avcodec_find_decoder_by_name(name);
    film->codec = codec ? av.avcodec_alloc_context3(codec) : NULL;
    if (!film->codec) return "libavcodec lacks the decoder for its pictures";
    if (said && av.avcodec_parameters_to_context(film->codec, said) < 0) return "no memory";
    film->codec->thread_count = 1;
    if (said) film->codec->skip_frame = AVDISCARD_NONKEY;
    film->codec->max_pixels = (int64_t)(limits->pixels < MOST_PIXELS ? limits->pixels : MOST_PIXELS);
    return av.avcodec_open2(film->codec, codec, NULL) < 0 ? "the decoder of its pictures does not start" : NULL;
}

/* Of the first stream of moving pictures, which a cover is not; all others are skipped. */
static const char *open_stream(struct film *film, const struct cpictures_limits *limits,
                               struct cpictures_facts *facts, int *result) {
    for (unsigned i = 0; i < film->format->nb_streams; i++) {
        AVStream *stream = film->format->streams[i];
        if (!film->stream && stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
            !(stream->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)))
            film->stream = stream;
        else
            stream->discard = AVDISCARD_ALL;
    }
    if (!film->stream) return "it has no picture";
    /* What the index says; the decoder checks each frame again. */
    const AVCodecParameters *said = film->stream->codecpar;
    if (said->width > 0 && said->height > 0) {
        pixels_tell(facts, (uint32_t)said->width, (uint32_t)said->height, 1);
        *result = pixels_judge((uint64_t)said->width, (uint64_t)said->height, limits);
        if (*result != CPICTURES_DONE) return "it is too large";
        *result = CPICTURES_UNREADABLE;
    }
    const char *name = decoder(said->codec_id);
    return name ? open_decoder(film, name, said, limits) : "its pictures are in a format that is not decoded";
}

/* Red, green and blue of a frame in this size, to be freed by g_free(). */
static uint8_t *converted(const AVFrame *frame, int width, int height) {
    /* Not SWS_FAST_BILINEAR, which generates code at run time: a confined process may not. */
    struct SwsContext *scale = av.sws_getContext(frame->width, frame->height, (enum AVPixelFormat)frame->format, width,
                                                 height, AV_PIX_FMT_RGB24, SWS_AREA, NULL, NULL, NULL);
    if (!scale) return NULL;
    int matrix = frame->colorspace == AVCOL_SPC_UNSPECIFIED || frame->colorspace == AVCOL_SPC_RGB
                     ? (frame->height > 576 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M)
                     : (int)frame->colorspace;
    int is_full = frame->color_range == AVCOL_RANGE_JPEG || frame->format == AV_PIX_FMT_YUVJ420P ||
                  frame->format == AV_PIX_FMT_YUVJ422P || frame->format == AV_PIX_FMT_YUVJ444P;
    /* It fails for what is in no YUV, and needs no matrix. */
    (void)av.sws_setColorspaceDetails(scale, av.sws_getCoefficients(matrix), is_full,
                                      av.sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
    /* With room for what vector instructions write beyond the end. */
    int stride = (3 * width + 63) / 64 * 64;
    uint8_t *wide = g_try_malloc((size_t)stride * (size_t)height + 64);
    uint8_t *planes[4] = {wide};
    int strides[4] = {stride};
    int rows = wide ? av.sws_scale(scale, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height,
                                   planes, strides)
                    : 0;
    av.sws_freeContext(scale);
    if (rows != height) {
        g_free(wide);
        return NULL;
    }
    for (int y = 1; y < height; y++)
        memmove(wide + (size_t)y * 3 * (size_t)width, wide + (size_t)y * (size_t)stride, 3 * (size_t)width);
    return wide;
}

static double brightness(const AVFrame *frame) {
    enum { SIDE = 32 };
    uint8_t *pixels = converted(frame, SIDE, SIDE);
    if (!pixels) return -1;
    double sum = 0;
    for (int i = 0; i < 3 * SIDE * SIDE; i++) sum += pixels[i];
    g_free(pixels);
    return sum / (3 * SIDE * SIDE);
}

/* Decodes what was sent; whether a good frame is found. A damaged frame is worse than any other. */
static int receive(struct film *film) {
    while (av.avcodec_receive_frame(film->codec, film->frame) >= 0) {
        int is_damaged = film->frame->decode_error_flags || film->frame->flags & AV_FRAME_FLAG_CORRUPT;
        double bright = brightness(film->frame);
        if (bright >= 0 && is_damaged) bright /= 1000;
        film->frames++;
        if (bright > film->brightness) {
            film->brightness = bright;
            av.av_frame_unref(film->best);
            av.av_frame_move_ref(film->best, film->frame);
        }
        av.av_frame_unref(film->frame);
        if (film->brightness >= DARK) return 1;
    }
    return film->frames >= MOST_FRAMES;
}

static const char *search(struct film *film) {
    film->packet = av.av_packet_alloc();
    film->frame = av.av_frame_alloc();
    film->best = av.av_frame_alloc();
    if (!film->packet || !film->frame || !film->best) return "no memory";
    film->brightness = -1;
    int is_done = 0;
    for (int i = 0, seen = 0; i < MOST_PACKETS && !is_done && !is_overdue(film); i++) {
        if (av.av_read_frame(film->format, film->packet) < 0) break;
        if (film->packet->stream_index == film->stream->index) {
            /* A packet that is refused costs its frame alone. */
            (void)av.avcodec_send_packet(film->codec, film->packet);
            is_done = receive(film);
            if (film->frames == 0 && ++seen == PATIENCE) film->codec->skip_frame = AVDISCARD_DEFAULT;
        }
        av.av_packet_unref(film->packet);
    }
    if (!is_done && !is_overdue(film)) {
        (void)av.avcodec_send_packet(film->codec, NULL);
        receive(film);
    }
    if (film->brightness >= 0) return NULL;
    return is_overdue(film) ? "none of its pictures was decoded in time" : "none of its pictures can be decoded";
}

/* The samples of a lossless JPEG in colour are left as small as they are stored. */
static void widen(AVFrame *frame, int bits) {
    if (frame->format != AV_PIX_FMT_BGR48 || bits <= 8 || bits >= 16) return;
    unsigned all = 0;
    for (int pass = 0; pass < 2 && all >> bits == 0; pass++)
        for (int y = 0; y < frame->height; y++) {
            uint16_t *row = (uint16_t *)(void *)(frame->data[0] + (ptrdiff_t)y * frame->linesize[0]);
            for (int x = 0; x < 3 * frame->width; x++)
                if (pass)
                    row[x] = (uint16_t)(row[x] << (16 - bits));
                else
                    all |= row[x];
        }
}

/* A JPEG as one frame: lossless, or with 12 bits a sample. */
static const char *decode_jpeg(struct film *film, const struct cpictures_limits *limits) {
    const char *reason = open_decoder(film, "mjpeg", NULL, limits);
    if (reason) return reason;
    off_t length = lseek(film->fd, 0, SEEK_END);
    film->packet = av.av_packet_alloc();
    film->best = av.av_frame_alloc();
    if (!film->packet || !film->best || length <= 0 || length > most_bytes) return "it does not fit into memory";
    void *bytes = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, film->fd, 0);
    if (bytes == MAP_FAILED) return "it does not fit into memory";
    film->packet->data = bytes;
    film->packet->size = (int)length;
    /* It is copied, for it belongs to no buffer. */
    int code = av.avcodec_send_packet(film->codec, film->packet);
    munmap(bytes, (size_t)length);
    film->packet->data = NULL;
    film->packet->size = 0;
    if (code < 0 || av.avcodec_receive_frame(film->codec, film->best) < 0)
        return "it is damaged, or has more than 71 million pixels";
    if (film->best->decode_error_flags || film->best->flags & AV_FRAME_FLAG_CORRUPT) return "it is damaged";
    film->best->color_range = AVCOL_RANGE_JPEG;
    film->best->colorspace = AVCOL_SPC_SMPTE170M;
    widen(film->best, film->codec->bits_per_raw_sample);
    return NULL;
}

/* As in EXIF; a matrix of 16.16 numbers. */
static int orientation_by(const uint8_t *data, size_t size) {
    int32_t matrix[9];
    if (!data || size < sizeof matrix) return 1;
    memcpy(matrix, data, sizeof matrix);
    int a = (matrix[0] > 0) - (matrix[0] < 0), b = (matrix[1] > 0) - (matrix[1] < 0);
    int c = (matrix[3] > 0) - (matrix[3] < 0), d = (matrix[4] > 0) - (matrix[4] < 0);
    if (b == 0 && c == 0) return a < 0 ? (d < 0 ? 3 : 2) : (d < 0 ? 4 : 1);
    if (a == 0 && d == 0) return b < 0 ? (c < 0 ? 7 : 8) : (c < 0 ? 6 : 5);
    return 1;
}

static int orientation_of(const struct film *film) {
    if (!film->stream) {
        const AVFrameSideData *of_frame = av.av_frame_get_side_data(film->best, AV_FRAME_DATA_DISPLAYMATRIX);
        return of_frame ? orientation_by(of_frame->data, of_frame->size) : 1;
    }
#if LIBAVFORMAT_VERSION_MAJOR >= 61
    const AVPacketSideData *side =
        av.av_packet_side_data_get(film->stream->codecpar->coded_side_data,
                                   film->stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    const uint8_t *data = side ? side->data : NULL;
    size_t size = side ? side->size : 0;
#else
    size_t size = 0;
    const uint8_t *data = av.av_stream_get_side_data(film->stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
#endif
    return orientation_by(data, size);
}

static VipsImage *picture(struct film *film, const struct cpictures_limits *limits, uint32_t size,
                          struct cpictures_facts *facts, int *result) {
    const AVFrame *frame = film->best;
    AVRational shape = !film->stream                        ? (AVRational){1, 1}
                       : frame->sample_aspect_ratio.num > 0 ? frame->sample_aspect_ratio
                                                            : film->stream->sample_aspect_ratio;
    double wide = frame->width, high = frame->height;
    double ratio = shape.num > 0 && shape.den > 0 ? (double)shape.num / shape.den : 1;
    if (ratio > 0.1 && ratio < 10) wide = round(wide * ratio);
    int orientation = orientation_of(film);
    pixels_tell(facts, (uint32_t)wide, (uint32_t)high, orientation);
    *result = pixels_judge((uint64_t)wide, (uint64_t)high, limits);
    if (*result != CPICTURES_DONE) return NULL;
    double factor = fmin(1, size / fmax(wide, high));
    int width = (int)fmax(1, round(wide * factor)), height = (int)fmax(1, round(high * factor));
    uint8_t *pixels = converted(frame, width, height);
    VipsImage *image = pixels ? vips_image_new_from_memory_copy(pixels, (size_t)width * (size_t)height * 3, width,
                                                                height, 3, VIPS_FORMAT_UCHAR)
                              : NULL;
    g_free(pixels);
    *result = CPICTURES_UNREADABLE;
    if (!image) return NULL;
    vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
    image->Type = VIPS_INTERPRETATION_sRGB;
    VipsImage *turned = NULL;
    if (!vips_autorot(image, &turned, NULL)) *result = CPICTURES_DONE;
    g_object_unref(image);
    return turned;
}

VipsImage *film_frame(int fd, int is_jpeg, const struct cpictures_limits *limits, uint32_t size,
                      struct cpictures_facts *facts, int *result) {
    *result = CPICTURES_UNSUPPORTED;
    if (!is_loaded) {
        vips_error(is_jpeg ? "JPEG that is lossless or of more than 8 bits" : "films", "%s",
                   "libavformat" STRING(LIBAVFORMAT_VERSION_MAJOR) ", libavcodec" STRING(LIBAVCODEC_VERSION_MAJOR)
                   " and libswscale" STRING(LIBSWSCALE_VERSION_MAJOR) " are not installed");
        return NULL;
    }
    struct film film = {.fd = fd, .left = most_bytes};
    film.processor_end =
        seconds(CLOCK_PROCESS_CPUTIME_ID) + fmin(most_seconds, part_of_limits * limits->processor_seconds);
    film.end = seconds(CLOCK_MONOTONIC) + part_of_limits * limits->seconds;
    *result = CPICTURES_UNREADABLE;
    const char *reason = NULL;
    if (is_jpeg) {
        reason = decode_jpeg(&film, limits);
    } else {
        reason = open_film(&film);
        if (!reason) reason = open_stream(&film, limits, facts, result);
        if (!reason) reason = search(&film);
    }
    VipsImage *image = NULL;
    if (reason)
        vips_error(is_jpeg ? "libavcodec" : "film", "%s", reason);
    else
        image = picture(&film, limits, size, facts, result);
    av.av_frame_free(&film.best);
    av.av_frame_free(&film.frame);
    av.av_packet_free(&film.packet);
    av.avcodec_free_context(&film.codec);
    av.avformat_close_input(&film.format);
    av.av_dict_free(&film.options);
    if (film.io) av.av_freep(&film.io->buffer);
    av.avio_context_free(&film.io);
    return image;
}
#else
void film_start(void) {}

VipsImage *film_frame(int fd, int is_jpeg, const struct cpictures_limits *limits, uint32_t size,
                      struct cpictures_facts *facts, int *result) {
    (void)fd, (void)is_jpeg, (void)limits, (void)size, (void)facts;
    vips_error("films", "%s", "this photoinbox-decoder was built without the headers of libavformat");
    *result = CPICTURES_UNSUPPORTED;
    return NULL;
}
#endif
