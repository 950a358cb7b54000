#define _GNU_SOURCE
#include "clinux.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>

int clinux_fanotify_init(void) {
    return fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
}

int clinux_fanotify_mark_file_system(int group, int add, uint64_t mask, int directory) {
    return fanotify_mark(group, (add ? FAN_MARK_ADD : FAN_MARK_REMOVE) | FAN_MARK_FILESYSTEM, mask, directory, NULL);
}

int clinux_directory_handle(int directory, void *bytes, uint32_t *count, int32_t *type) {
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } found = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount;
    if (name_to_handle_at(directory, "", &found.handle, &mount, AT_EMPTY_PATH) < 0) return -1;
    if (found.handle.handle_bytes > *count) {
        errno = EOVERFLOW;
        return -1;
    }
    *count = found.handle.handle_bytes;
    *type = found.handle.handle_type;
    memcpy(bytes, found.handle.f_handle, found.handle.handle_bytes);
    return 0;
}
