#define _GNU_SOURCE
#include "clinux.h"
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>

int clinux_openat(int directory, const char *path, int flags, uint32_t mode) {
    return openat(directory, path, flags, (mode_t)mode);
}
int clinux_set_read_lease(int fd) { return fcntl(fd, F_SETLEASE, F_RDLCK); }
int clinux_release_lease(int fd) { return fcntl(fd, F_SETLEASE, F_UNLCK); }
int clinux_clone_file(int destination, int source) { return ioctl(destination, FICLONE, source); }
int clinux_rename_noreplace(int from, const char *old_name, int to, const char *new_name) {
    return renameat2(from, old_name, to, new_name, RENAME_NOREPLACE);
}
int clinux_o_tmpfile(void) { return O_TMPFILE; }
