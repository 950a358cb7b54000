/* Child processes: long sequences of C calls, and calls missing in Swift's Glibc module. */
#ifndef CLINUX_PROCESSES_H
#define CLINUX_PROCESSES_H
#include <stdint.h>

/* posix_spawn(3) that inherits nothing else: empty signal mask, default dispositions, its own process group,
   descriptors 0 to 2 from `streams` (each the number itself or above 2), all others closed; in `directory` unless
   that is -1. Returns an error number, or 0. */
int clinux_spawn(int32_t *child, const char *program, char *const arguments[], char *const environment[],
                 const int streams[3], int directory);

/* waitid(2) with P_PIDFD, WEXITED and WNOHANG: 1 if it ended, 0 while it runs, -1. Does not reap if `peek`. */
int clinux_wait_pidfd(int pidfd, int peek, int32_t *code, int32_t *status);
#define CLINUX_CLD_EXITED 1
#define CLINUX_CLD_KILLED 2
#define CLINUX_CLD_DUMPED 3

/* capget(2): the effective capabilities of this process as bits; none if that fails. */
uint64_t clinux_capabilities(void);

/* epoll_ctl(2), EPOLL_CTL_DEL. */
int clinux_epoll_forget(int epoll, int fd);
/* epoll_ctl(2), EPOLL_CTL_MOD. */
int clinux_epoll_change(int epoll, int fd, uint32_t events);
#endif
