/* Threads: what Swift's Glibc module does not have. */
#ifndef CLINUX_THREADS_H
#define CLINUX_THREADS_H
#include <stdint.h>

void clinux_name_thread(const char *name);   /* pthread_setname_np(3) of the calling thread; 15 bytes at most */
/* unshare(2) with CLONE_FS: from now on the calling thread has a working directory of its own. */
int clinux_unshare_directory(void);
#endif
