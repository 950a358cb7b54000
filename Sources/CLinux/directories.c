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

int clinux_statx_directory(int directory, const char *name, uint64_t *inode, int *is_mount_root) {
    struct statx status;
    if (statx(directory, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO, &status) != 0)
        return -1;
    *inode = status.stx_ino;
    *is_mount_root = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return 0;
}
