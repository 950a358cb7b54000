#define _GNU_SOURCE
#include "clinux.h"
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int clinux_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0u); }

int clinux_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0u);
}
