/* Directories and their file systems: calls and structures that Swift's Glibc module does not have. */
#ifndef CLINUX_DIRECTORIES_H
#define CLINUX_DIRECTORIES_H
#include <stdint.h>

int64_t clinux_getdents64(int directory, void *buffer, uint64_t size);          /* getdents64(2) */
int clinux_fstatfs(int fd, int64_t *type, uint64_t *identifier);                /* fstatfs(2): f_type, f_fsid */
#endif
