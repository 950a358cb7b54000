/* Threads: calls missing in Swift's Glibc module. */
#ifndef CLINUX_THREADS_H
#define CLINUX_THREADS_H
#include <stdint.h>

void clinux_name_thread(const char *name);   /* pthread_setname_np(3) of the calling thread; 15 bytes at most */
/* unshare(2) with CLONE_FS: gives the calling thread its own working directory. */
int clinux_unshare_directory(void);
#endif
