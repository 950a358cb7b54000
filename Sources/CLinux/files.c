#define _GNU_SOURCE
#include "clinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

int clinux_openat(int directory, const char *path, int flags, uint32_t mode) {
    return openat(directory, path, flags, (mode_t)mode);
}
int clinux_set_read_lease(int fd) { return fcntl(fd, F_SETLEASE, F_RDLCK); }
int clinux_release_lease(int fd) { return fcntl(fd, F_SETLEASE, F_UNLCK); }
int clinux_lock_byte(int fd, uint64_t offset) {
    struct flock64 lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off64_t)offset, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock);
}
int clinux_is_locked_elsewhere(int fd, uint64_t offset) {
    off64_t byte = (off64_t)offset;
    /* What is in the way of a write lock; a length of 0 is up to the end. */
    struct flock64 before = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = byte};
    struct flock64 behind = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte + 1, .l_len = 0};
    if (byte > 0 && fcntl(fd, F_OFD_GETLK, &before) != 0) return -1;
    if (fcntl(fd, F_OFD_GETLK, &behind) != 0) return -1;
    return (byte > 0 && before.l_type != F_UNLCK) || behind.l_type != F_UNLCK;
}
int clinux_clone_file(int destination, int source) { return ioctl(destination, FICLONE, source); }
int clinux_rename_noreplace(int from, const char *old_name, int to, const char *new_name) {
    return renameat2(from, old_name, to, new_name, RENAME_NOREPLACE);
}
int clinux_rename_exchange(int directory, const char *one_name, const char *other_name) {
    return renameat2(directory, one_name, directory, other_name, RENAME_EXCHANGE);
}
int clinux_o_tmpfile(void) { return O_TMPFILE; }
int64_t clinux_copy_range(int source, int destination, uint64_t offset, uint64_t length) {
    off64_t from = (off64_t)offset, to = (off64_t)offset;
    return copy_file_range(source, &from, destination, &to, (size_t)length, 0);
}
int64_t clinux_next_hole(int fd, uint64_t from) { return lseek(fd, (off_t)from, SEEK_HOLE); }
int64_t clinux_next_data(int fd, uint64_t from) { return lseek(fd, (off_t)from, SEEK_DATA); }
int clinux_file_system(int fd, struct clinux_file_system *out) {
    struct statfs status;
    if (fstatfs(fd, &status) != 0) return -1;
    out->magic = (uint32_t)status.f_type;
    /* A structure of two integers; the member's name differs between C libraries. */
    memcpy(&out->identifier, &status.f_fsid, sizeof out->identifier);
    if (__builtin_mul_overflow((uint64_t)status.f_bavail, (uint64_t)status.f_bsize, &out->available))
        out->available = UINT64_MAX;
    return 0;
}

/* From linux/fs.h of Linux 6.9. */
struct file_system_uuid { uint8_t length, uuid[16]; };
#define GET_FILE_SYSTEM_UUID _IOR(0x15, 0, struct file_system_uuid)

int clinux_file_system_uuid(int fd, uint8_t uuid[16]) {
    struct file_system_uuid found = {0};
    if (ioctl(fd, GET_FILE_SYSTEM_UUID, &found) != 0) return -1;
    memcpy(uuid, found.uuid, sizeof found.uuid);
    return found.length;
}

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

int clinux_mount_number(int fd, uint64_t *number) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &status) != 0) return -1;
    *number = status.stx_mnt_id;
    return (status.stx_mask & STATX_MNT_ID_UNIQUE) != 0;
}

int clinux_o_path(void) { return O_PATH; }

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int clinux_memory_file(const char *name) {
    /* Linux before 6.3 rejects the flag; later ones may require it: see vm.memfd_noexec. */
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}
int clinux_seal(int fd) { return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE); }
int clinux_start_writing(int fd) { return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }
int clinux_sync_file_system(int fd) { return syncfs(fd); }
int clinux_set_attribute(int fd, const char *name, const void *value, uint64_t length) {
    return fsetxattr(fd, name, value, (size_t)length, 0);
}
int64_t clinux_attribute(int fd, const char *name, void *value, uint64_t room) {
    return fgetxattr(fd, name, value, (size_t)room);
}
int64_t clinux_attribute_names(int fd, void *names, uint64_t room) { return flistxattr(fd, names, (size_t)room); }
int clinux_remove_attribute(int fd, const char *name) { return fremovexattr(fd, name); }
