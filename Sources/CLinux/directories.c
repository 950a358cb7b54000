#define _GNU_SOURCE
#include "clinux.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
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

int clinux_fstatfs(int fd, int64_t *type, uint64_t *identifier) {
    struct statfs status;
    if (fstatfs(fd, &status) != 0) return -1;
    *type = (int64_t)status.f_type;
    /* f_fsid is a structure of two integers whose member name differs between C libraries. */
    memcpy(identifier, &status.f_fsid, sizeof *identifier);
    return 0;
}
