#define _GNU_SOURCE
#include "clinux.h"
#include <stddef.h>
#include <stdio.h>
#include <sys/inotify.h>
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
