/* Child processes: what is too long a list of C calls for Swift, or missing in its Glibc module. */
#ifndef CLINUX_PROCESSES_H
#define CLINUX_PROCESSES_H
#include <stdint.h>

/* posix_spawn(3) with nothing inherited that was not asked for: signal mask empty, dispositions default, a process
   group of its own, descriptors 0 to 2 from `streams` (each is the number itself or above 2), all others closed;
   in `directory`, where that is not -1. Returns an error number, or 0. */
int clinux_spawn(int32_t *child, const char *program, char *const arguments[], char *const environment[],
                 const int streams[3], int directory);

/* waitid(2) with P_PIDFD, WEXITED and WNOHANG: 1 and how it ended, 0 while it runs, -1. Not reaped if `peek`. */
int clinux_wait_pidfd(int pidfd, int peek, int32_t *code, int32_t *status);
#define CLINUX_CLD_EXITED 1
#define CLINUX_CLD_KILLED 2
#define CLINUX_CLD_DUMPED 3

/* epoll_ctl(2), EPOLL_CTL_DEL. */
int clinux_epoll_forget(int epoll, int fd);
/* epoll_ctl(2), EPOLL_CTL_MOD. */
int clinux_epoll_change(int epoll, int fd, uint32_t events);
#endif
