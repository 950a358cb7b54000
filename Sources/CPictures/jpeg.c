#include "jpeg.h"
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
/* It wants the headers above. */
#include <jerror.h>
#include <jpeglib.h>

struct trouble {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
    int is_cut_short;
};

static void give_up(j_common_ptr info) {
    struct trouble *trouble = (struct trouble *)info->err;
    trouble->base.format_message(info, trouble->text);
    longjmp(trouble->back, 1);
}

/* Warnings are of single bytes, but for one. */
static void note(j_common_ptr info, int level) {
    struct trouble *trouble = (struct trouble *)info->err;
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) trouble->is_cut_short = 1;
}

/* Everything that has to be freed whichever way it ends. */
struct work {
    struct jpeg_decompress_struct info;
    struct trouble trouble;
    uint8_t *row;
    float *sums;
    uint8_t *out;
};

/* Adds a row, made narrower by areas, to the sums. */
static void add_row(const struct work *work, uint32_t to_width, float weight) {
    const uint32_t from_width = work->info.output_width;
    const float step = (float)from_width / (float)to_width;
    for (uint32_t x = 0; x < to_width; x++) {
        float begin = (float)x * step, end = begin + step;
        uint32_t first = (uint32_t)begin, last = (uint32_t)end;
        if (last >= from_width) last = from_width - 1;
        if (first > last) first = last;
        float red = 0, green = 0, blue = 0, all = 0;
        for (uint32_t i = first; i <= last; i++) {
            float low = begin > (float)i ? begin : (float)i, high = end < (float)(i + 1) ? end : (float)(i + 1);
            float share = high > low ? high - low : 0;
            const uint8_t *pixel = work->row + 3 * (size_t)i;
            red += share * pixel[0], green += share * pixel[1], blue += share * pixel[2], all += share;
        }
        float scale = all > 0 ? weight / all : 0;
        float *sum = work->sums + 3 * (size_t)x;
        sum[0] += red * scale, sum[1] += green * scale, sum[2] += blue * scale;
    }
}

static void put_row(struct work *work, uint32_t y, uint32_t width, float all) {
    uint8_t *to = work->out + 3 * (size_t)y * width;
    for (size_t i = 0; i < 3 * (size_t)width; i++) {
        float value = all > 0 ? work->sums[i] / all + 0.5f : 0;
        to[i] = value >= 255 ? 255 : (uint8_t)value;
        work->sums[i] = 0;
    }
}

/* Each row of the picture belongs to one row of the small one, or to two that share it. */
static void reduce(struct work *work, uint32_t width, uint32_t height) {
    struct jpeg_decompress_struct *info = &work->info;
    const double step = (double)info->output_height / height;
    uint32_t y = 0;
    float all = 0;
    for (uint32_t line = 0; line < info->output_height; line++) {
        JSAMPROW rows[1] = {work->row};
        if (jpeg_read_scanlines(info, rows, 1) != 1) break;
        double end = (y + 1) * step;
        float before = (float)(end < line + 1.0 ? end - line : 1.0);
        if (before > 0) {
            add_row(work, width, before);
            all += before;
        }
        if (end <= line + 1.0 && y + 1 < height) {
            put_row(work, y++, width, all);
            all = 1 - before;
            if (all > 0) add_row(work, width, all);
        }
    }
    if (y < height) put_row(work, y, width, all);
}

static uint8_t *read_with(struct work *work, const void *bytes, size_t length, uint32_t size, uint32_t *width,
                          uint32_t *height) {
    struct jpeg_decompress_struct *info = &work->info;
    if (setjmp(work->trouble.back)) return NULL;
    jpeg_create_decompress(info);
    jpeg_mem_src(info, bytes, length);
    jpeg_read_header(info, TRUE);
    uint32_t longer = info->image_width > info->image_height ? info->image_width : info->image_height;
    double scale = longer > size ? (double)size / longer : 1;
    *width = (uint32_t)fmax(1, round(info->image_width * scale));
    *height = (uint32_t)fmax(1, round(info->image_height * scale));
    info->out_color_space = JCS_RGB;
    info->scale_denom = 8;
    /* The codec makes it smaller by eighths, while it decodes; the rest is done here. */
    for (info->scale_num = 1; info->scale_num < 8; info->scale_num++) {
        jpeg_calc_output_dimensions(info);
        if (info->output_width >= *width && info->output_height >= *height) break;
    }
    jpeg_start_decompress(info);
    if (info->output_components != 3 || info->output_width < *width || info->output_height < *height) {
        snprintf(work->trouble.text, sizeof work->trouble.text, "a JPEG of an unusual kind");
        return NULL;
    }
    work->row = malloc(3 * (size_t)info->output_width);
    work->sums = calloc(3 * (size_t)*width, sizeof *work->sums);
    work->out = malloc(3 * (size_t)*width * *height);
    if (!work->row || !work->sums || !work->out) {
        snprintf(work->trouble.text, sizeof work->trouble.text, "no memory");
        return NULL;
    }
    reduce(work, *width, *height);
    if (work->trouble.is_cut_short) {
        snprintf(work->trouble.text, sizeof work->trouble.text, "cut short");
        return NULL;
    }
    return work->out;
}

uint8_t *cpictures_read_jpeg(const void *bytes, size_t length, uint32_t size, uint32_t *width, uint32_t *height,
                             char *reason, size_t reason_size) {
    /* On the heap: what changes between setjmp(3) and longjmp(3) is lost in registers. */
    struct work *work = calloc(1, sizeof *work);
    if (!work) return NULL;
    work->info.err = jpeg_std_error(&work->trouble.base);
    work->trouble.base.error_exit = give_up;
    work->trouble.base.emit_message = note;
    uint8_t *pixels = read_with(work, bytes, length, size, width, height);
    if (!pixels) snprintf(reason, reason_size, "%s", work->trouble.text);
    jpeg_destroy_decompress(&work->info);
    if (!pixels) free(work->out);
    free(work->row);
    free(work->sums);
    free(work);
    return pixels;
}
