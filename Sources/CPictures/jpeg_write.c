#include "jpeg_trouble.h"
#include <stdlib.h>
#include <string.h>

struct work {
    struct jpeg_compress_struct info;
    struct jpeg_trouble trouble;
    unsigned char *bytes;
    unsigned long length;
};

/* The codec encodes whole blocks: samples beyond the picture repeat its edge, which needs the fewest bytes. */
static void extend(const struct plane *plane) {
    for (uint32_t y = 0; y < plane->height; y++) {
        uint8_t *row = plane->samples + y * plane->stride;
        memset(row + plane->width, row[plane->width - 1], plane->stride - plane->width);
    }
}

static void write_rows(struct work *work, const struct planes *planes) {
    struct jpeg_compress_struct *info = &work->info;
    JSAMPROW places[3][2 * DCTSIZE];
    JSAMPARRAY all[3] = {places[0], places[1], places[2]};
    for (uint32_t turn = 0; info->next_scanline < info->image_height; turn++) {
        for (int i = 0; i < 3; i++) {
            const struct plane *plane = &planes->plane[i];
            uint32_t rows = DCTSIZE * (i == 0 ? planes->step : 1);
            for (uint32_t y = 0; y < rows; y++) {
                uint32_t at = turn * rows + y;
                places[i][y] = plane->samples + (at < plane->height ? at : plane->height - 1) * plane->stride;
            }
        }
        jpeg_write_raw_data(info, all, DCTSIZE * planes->step);
    }
}

static int write_with(struct work *work, const struct planes *planes, int quality) {
    struct jpeg_compress_struct *info = &work->info;
    if (setjmp(work->trouble.back)) return -1;
    jpeg_create_compress(info);
    jpeg_mem_dest(info, &work->bytes, &work->length);
    info->image_width = planes->plane[0].width;
    info->image_height = planes->plane[0].height;
    info->input_components = 3;
    info->in_color_space = JCS_YCbCr;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, quality, TRUE);
    info->comp_info[0].h_samp_factor = info->comp_info[0].v_samp_factor = (int)planes->step;
    info->raw_data_in = TRUE;
    info->optimize_coding = TRUE;
    for (int i = 0; i < 3; i++) extend(&planes->plane[i]);
    jpeg_start_compress(info, TRUE);
    write_rows(work, planes);
    jpeg_finish_compress(info);
    return 0;
}

int jpeg_write(const struct planes *planes, int quality, void **bytes, size_t *length) {
    /* On the heap: changes in registers between setjmp(3) and longjmp(3) are lost. */
    struct work *work = calloc(1, sizeof *work);
    if (!work) return -1;
    work->info.err = jpeg_trouble_begin(&work->trouble);
    int result = write_with(work, planes, quality);
    jpeg_destroy_compress(&work->info);
    if (result) {
        free(work->bytes);
    } else {
        *bytes = work->bytes;
        *length = work->length;
    }
    free(work);
    return result;
}
