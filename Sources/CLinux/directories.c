#define _GNU_SOURCE
#include "clinux.h"
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int64_t clinux_getdents64(int directory, void *buffer, uint64_t size) {
    return syscall(SYS_getdents64, directory, buffer, (size_t)size);
}

int clinux_inotify_watch_directory(int inotify, int directory, uint32_t mask) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
    return inotify_add_watch(inotify, path, mask);
}

int clinux_statx_directory(int directory, const char *name, struct clinux_directory_status *directory_status) {
    struct statx status;
    if (statx(directory, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME,
              &status) != 0)
        return -1;
    int has_birth = (status.stx_mask & STATX_BTIME) != 0;
    *directory_status = (struct clinux_directory_status){
        .inode = status.stx_ino,
        .born_seconds = has_birth ? status.stx_btime.tv_sec : 0,
        .born_nanoseconds = has_birth ? status.stx_btime.tv_nsec : 0,
        .is_mount_root = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
        .has_birth = has_birth,
    };
    return 0;
}
