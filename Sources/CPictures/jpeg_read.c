#include "jpeg_trouble.h"
#include "reduce.h"
#include <stdlib.h>
#include <string.h>

/* Everything that must be freed at every end. */
struct work {
    struct jpeg_decompress_struct info;
    struct jpeg_trouble trouble;
    /* The rows of each plane from one call of the codec. */
    uint8_t *rows[3];
    JSAMPROW places[3][2 * DCTSIZE * MAX_SAMP_FACTOR];
    struct reduction reduction[3];
    struct planes planes;
};

static int fail(struct work *work, const char *reason) {
    snprintf(work->trouble.text, sizeof work->trouble.text, "%s", reason);
    return JPEG_UNREADABLE;
}

/* The number of samples of a component that the picture covers, which may be fractional. */
static double covered(uint32_t side, int factor, int most, int scaled) {
    return (double)side * factor * scaled / ((double)most * DCTSIZE);
}

/* Colours are mirrored with the picture: if a side is odd, their first sample is then half
   outside. */
static struct side side(uint32_t samples, double covered, uint32_t small, uint32_t step, int is_mirrored) {
    double outside = is_mirrored ? (double)((small + step - 1) / step * step - small) : 0;
    double each = covered / small;
    return (struct side){samples, -outside * each, each * step};
}

/* Selects a scale of the codec for decoding, among those that it implements with SIMD. */
static void choose_scale(struct jpeg_decompress_struct *info, uint32_t width, uint32_t height) {
    info->scale_denom = DCTSIZE;
    for (info->scale_num = 1; info->scale_num < DCTSIZE; info->scale_num *= 2) {
        jpeg_calc_output_dimensions(info);
        if (info->output_width >= width && info->output_height >= height) return;
    }
}

static int begin(struct work *work, uint32_t width, uint32_t height, uint32_t step, int orientation) {
    struct jpeg_decompress_struct *info = &work->info;
    int is_right_left = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    int is_upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (planes_make(&work->planes, width, height, step)) return fail(work, "no memory");
    for (int i = 0; i < info->num_components; i++) {
        jpeg_component_info *component = &info->comp_info[i];
        uint32_t every = i == 0 ? 1 : step;
        double wide = covered(info->image_width, component->h_samp_factor, info->max_h_samp_factor,
                              component->DCT_scaled_size);
        double high = covered(info->image_height, component->v_samp_factor, info->max_v_samp_factor,
                              component->DCT_scaled_size);
        struct side across = side(component->downsampled_width, wide, width, every, is_right_left);
        struct side down = side(component->downsampled_height, high, height, every, is_upside_down);
        size_t row = (size_t)component->width_in_blocks * (size_t)component->DCT_scaled_size;
        size_t rows = (size_t)component->v_samp_factor * (size_t)component->DCT_scaled_size;
        if (rows > sizeof work->places[i] / sizeof work->places[i][0]) return fail(work, "a JPEG of an unusual kind");
        work->rows[i] = malloc(row * rows);
        if (!work->rows[i] || reduction_begin(&work->reduction[i], across, down, &work->planes.plane[i]))
            return fail(work, "no memory");
        for (size_t y = 0; y < rows; y++) work->places[i][y] = work->rows[i] + y * row;
    }
    return JPEG_READ;
}

/* Sets neutral colours, for grey pictures. */
static void fill_with_grey(struct planes *planes) {
    for (int i = 1; i < 3; i++) memset(planes->plane[i].samples, 128, planes->plane[i].stride * planes->plane[i].height);
}

static void reduce(struct work *work) {
    struct jpeg_decompress_struct *info = &work->info;
    JSAMPARRAY all[3] = {work->places[0], work->places[1], work->places[2]};
    JDIMENSION turn = (JDIMENSION)(info->max_v_samp_factor * info->min_DCT_scaled_size);
    while (info->output_scanline < info->output_height && jpeg_read_raw_data(info, all, turn) > 0)
        for (int i = 0; i < info->num_components; i++) {
            jpeg_component_info *component = &info->comp_info[i];
            int rows = component->v_samp_factor * component->DCT_scaled_size;
            for (int y = 0; y < rows; y++) reduction_add(&work->reduction[i], work->places[i][y]);
        }
    if (info->num_components == 1) fill_with_grey(&work->planes);
}

static int read_with(struct work *work, const void *bytes, size_t length, uint32_t size, uint32_t step,
                     int orientation) {
    struct jpeg_decompress_struct *info = &work->info;
    if (setjmp(work->trouble.back)) return JPEG_UNREADABLE;
    jpeg_create_decompress(info);
    jpeg_mem_src(info, bytes, length);
    jpeg_read_header(info, TRUE);
    int is_colour = info->jpeg_color_space == JCS_YCbCr && info->num_components == 3;
    int is_grey = info->jpeg_color_space == JCS_GRAYSCALE && info->num_components == 1;
    if (!is_colour && !is_grey) return JPEG_UNUSUAL;
    uint32_t width = info->image_width, height = info->image_height;
    planes_fit(size, &width, &height);
    info->out_color_space = info->jpeg_color_space;
    info->raw_data_out = TRUE;
    choose_scale(info, width, height);
    jpeg_start_decompress(info);
    int result = begin(work, width, height, step, orientation);
    if (result != JPEG_READ) return result;
    reduce(work);
    if (work->trouble.is_cut_short) return fail(work, "cut short");
    return planes_turn(&work->planes, orientation) ? fail(work, "no memory") : JPEG_READ;
}

int jpeg_read(const void *bytes, size_t length, uint32_t size, uint32_t step, int orientation, struct planes *planes,
              char *reason, size_t reason_size) {
    /* On the heap: changes in registers between setjmp(3) and longjmp(3) are lost. */
    struct work *work = calloc(1, sizeof *work);
    if (!work) return JPEG_UNREADABLE;
    work->info.err = jpeg_trouble_begin(&work->trouble);
    int result = read_with(work, bytes, length, size, step, orientation);
    if (result == JPEG_READ) {
        *planes = work->planes;
    } else {
        snprintf(reason, reason_size, "%s", work->trouble.text);
        planes_free(&work->planes);
    }
    jpeg_destroy_decompress(&work->info);
    for (int i = 0; i < 3; i++) {
        free(work->rows[i]);
        reduction_end(&work->reduction[i]);
    }
    free(work);
    return result;
}
