/* Event descriptors: pidfd and the like. */
#ifndef CLINUX_EVENTS_H
#define CLINUX_EVENTS_H
#include <stdint.h>

int clinux_pidfd_open(int32_t pid);                          /* pidfd_open(2) */
int clinux_pidfd_send_signal(int pidfd, int signal);         /* pidfd_send_signal(2) */

int32_t clinux_gettid(void);                                 /* gettid(2) */

/* epoll_create1(2), closed on exec, holding `fd` with `events`, level-triggered; the values of epoll_ctl(2). */
int clinux_epoll_watching(int fd, uint32_t events);
/* EPOLL_CTL_ADD of epoll_ctl(2): `epoll` watches `fd`, too. */
int clinux_epoll_add(int epoll, int fd, uint32_t events);
#define CLINUX_EPOLLIN 0x001u
#define CLINUX_EPOLLPRI 0x002u
#define CLINUX_EPOLLOUT 0x004u

/* timerfd_create(2), non-blocking and closed on exec; `clock` is a clockid_t. */
int clinux_timerfd_create(int clock);
/* timerfd_settime(2) to one absolute time; `seconds` and `nanoseconds` both 0 disarm it. */
int clinux_timerfd_arm(int fd, int64_t seconds, int64_t nanoseconds, int cancel_on_set);

/* pipe2(2), non-blocking and closed on exec. */
int clinux_pipe(int ends[2]);

/* signalfd(2) for the `count` signals, non-blocking and closed on exec. */
int clinux_signalfd(const int *signals, int count);
/* What one signalfd_siginfo says. */
struct clinux_signal {
    uint32_t number;
    int32_t code;
    uint32_t sender;
    uint32_t user;
    int32_t value;
};
/* Reads one signal: 1, or −1 with EAGAIN where none is pending. */
int clinux_signalfd_read(int fd, struct clinux_signal *signal);
#endif
