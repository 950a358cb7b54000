/* Files: calls that are variadic, or missing in Swift's Glibc module. */
#ifndef CLINUX_FILES_H
#define CLINUX_FILES_H
#include <stdint.h>

int clinux_openat(int directory, const char *path, int flags, uint32_t mode);   /* openat(2) */
int clinux_set_read_lease(int fd);                                              /* fcntl(2), F_SETLEASE F_RDLCK */
int clinux_release_lease(int fd);                                               /* fcntl(2), F_SETLEASE F_UNLCK */
/* fcntl(2), F_OFD_SETLK with F_RDLCK: one byte, also of a directory, until the last descriptor of this open file is closed. */
int clinux_lock_byte(int fd, uint64_t offset);
/* fcntl(2), F_OFD_GETLK: 1 if another open file has a lock on any other byte than this, else 0; -1 on failure. */
int clinux_is_locked_elsewhere(int fd, uint64_t offset);
int clinux_clone_file(int destination, int source);                             /* ioctl_ficlone(2) */
int clinux_rename_noreplace(int from, const char *old_name, int to, const char *new_name);   /* renameat2(2) */
int clinux_rename_exchange(int directory, const char *one_name, const char *other_name);     /* renameat2(2) */
int64_t clinux_copy_range(int source, int destination, uint64_t offset, uint64_t length);  /* copy_file_range(2) */
int64_t clinux_next_hole(int fd, uint64_t from);                                /* lseek(2), SEEK_HOLE */
int64_t clinux_next_data(int fd, uint64_t from);                                /* lseek(2), SEEK_DATA */
int clinux_start_writing(int fd);              /* sync_file_range(2), SYNC_FILE_RANGE_WRITE, the whole file */
int clinux_sync_file_system(int fd);           /* syncfs(2) */
struct clinux_file_system { uint32_t magic; uint64_t identifier; uint64_t available; };
int clinux_file_system(int fd, struct clinux_file_system *out);                 /* fstatfs(2) */
/* ioctl FS_IOC_GETFSUUID (Linux 6.9): fills `uuid` and returns its length, at most 16. */
int clinux_file_system_uuid(int fd, uint8_t uuid[16]);
/* statx(2), STATX_MNT_ID_UNIQUE (Linux 6.8): the number of the mount, unique until the next boot. Returns 1, or 0 if
   unsupported. */
int clinux_mount_number(int fd, uint64_t *number);
int clinux_o_tmpfile(void);                                                     /* O_TMPFILE */
int clinux_o_path(void);                                                        /* O_PATH */
/* memfd_create(2), closed on exec, not executable if the kernel supports that. */
int clinux_memory_file(const char *name);
int clinux_seal(int fd);                                                        /* fcntl(2), F_ADD_SEALS, all of them */
int clinux_set_attribute(int fd, const char *name, const void *value, uint64_t length);     /* fsetxattr(2) */
int64_t clinux_attribute(int fd, const char *name, void *value, uint64_t room);             /* fgetxattr(2) */
int64_t clinux_attribute_names(int fd, void *names, uint64_t room);                         /* flistxattr(2) */
int clinux_remove_attribute(int fd, const char *name);                                      /* fremovexattr(2) */
#endif
