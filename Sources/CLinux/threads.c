#define _GNU_SOURCE
#include "clinux.h"
#include <pthread.h>
#include <sched.h>

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int clinux_unshare_directory(void) { return unshare(CLONE_FS); }
