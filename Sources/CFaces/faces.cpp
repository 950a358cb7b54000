#include "cfaces.h"
#include <cmath>
#include <cstdlib>
#include <opencv2/core/ocl.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>

namespace {

struct Cascades {
    cv::CascadeClassifier faces;
    cv::CascadeClassifier eyes;
};

Cascades *cascades = nullptr;

bool load(cv::CascadeClassifier &cascade, const char *name) {
    static const char *const places[] = {"/usr/share/opencv4/haarcascades/", "/usr/share/opencv/haarcascades/",
                                         "/usr/local/share/opencv4/haarcascades/"};
    for (const char *place : places)
        if (cascade.load(std::string(place) + name)) return true;
    return false;
}

/* The eyes of one face, whose left and right half have one each; one that is not seen mirrors the other. */
bool find_pair(const cv::Mat &picture, const cv::Rect &face, cfaces_pair &pair) {
    cv::Rect upper(face.x, face.y + face.height / 5, face.width, face.height * 2 / 5);
    std::vector<cv::Rect> found;
    int least = std::max(8, face.width / 8);
    cascades->eyes.detectMultiScale(picture(upper), found, 1.05, 2, 0, cv::Size(least, least),
                                    cv::Size(face.width / 2, face.width / 2));
    const cv::Rect *halves[2] = {nullptr, nullptr};
    for (const cv::Rect &eye : found) {
        const cv::Rect *&place = halves[eye.x + eye.width / 2 < face.width / 2 ? 0 : 1];
        if (!place || eye.area() > place->area()) place = &eye;
    }
    if (!halves[0] && !halves[1]) return false;
    double radius = face.width * 0.115;
    for (int side = 0; side < 2; side++) {
        const cv::Rect *eye = halves[side] ? halves[side] : halves[1 - side];
        double x = eye->x + eye->width / 2.0;
        if (!halves[side]) x = face.width - x;
        pair.eyes[side] = {upper.x + x, upper.y + eye->y + eye->height / 2.0, radius};
    }
    /* Heads lean, but not so far. */
    return std::abs(pair.eyes[0].y - pair.eyes[1].y) < face.height * 0.2;
}

} // namespace

int cfaces_start(void) {
    try {
        /* Neither threads, of which a confined process may have none when it begins, nor another device. */
        setenv("OPENCV_OPENCL_RUNTIME", "disabled", 1);
        cv::setNumThreads(1);
        cv::ocl::setUseOpenCL(false);
        auto *made = new Cascades;
        if (!load(made->faces, "haarcascade_frontalface_alt2.xml") ||
            !load(made->eyes, "haarcascade_eye_tree_eyeglasses.xml")) {
            delete made;
            return -1;
        }
        cascades = made;
        /* What is only made ready by the first picture is made ready now. */
        std::vector<uint8_t> nothing(128 * 128, 128);
        cfaces_pair pair;
        cfaces_find(nothing.data(), 128, 128, &pair, 1);
        return 0;
    } catch (...) { return -1; }
}

uint32_t cfaces_find(const uint8_t *samples, uint32_t width, uint32_t height, cfaces_pair *pairs, uint32_t most) {
    if (!cascades || width < 32 || height < 32) return 0;
    try {
        cv::Mat picture(int(height), int(width), CV_8UC1, const_cast<uint8_t *>(samples)), even;
        cv::equalizeHist(picture, even);
        std::vector<cv::Rect> faces;
        int least = int(std::max(32u, std::min(width, height) / 16));
        cascades->faces.detectMultiScale(even, faces, 1.1, 4, 0, cv::Size(least, least));
        uint32_t count = 0;
        for (const cv::Rect &face : faces) {
            if (count == most) break;
            if (find_pair(even, face & cv::Rect(0, 0, int(width), int(height)), pairs[count])) count++;
        }
        return count;
    } catch (...) { return 0; }
}
