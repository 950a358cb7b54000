/* Event descriptors. */
#ifndef CLINUX_EVENTS_H
#define CLINUX_EVENTS_H
#include <stdint.h>

int clinux_pidfd_open(int32_t pid);                          /* pidfd_open(2) */
int clinux_pidfd_send_signal(int pidfd, int signal);         /* pidfd_send_signal(2) */

int32_t clinux_gettid(void);                                 /* gettid(2) */

/* epoll_create1(2), closed on exec, with `fd` added for `events`; the values of epoll_ctl(2). */
int clinux_epoll_watching(int fd, uint32_t events);
/* epoll_wait(2) for one event, without waiting. */
int clinux_epoll_take(int epoll);
#define CLINUX_EPOLLIN 0x001u
#define CLINUX_EPOLLPRI 0x002u
#define CLINUX_EPOLLOUT 0x004u
#define CLINUX_EPOLLET 0x80000000u

/* eventfd(2) with value 0, non-blocking and closed on exec. */
int clinux_eventfd(void);
/* io_setup(2) for one request at a time; `context` starts as 0. */
int clinux_aio_setup(uint64_t *context);
/* io_submit(2) of IOCB_CMD_POLL: polls `fd` for `events`, now and at each wake-up, until one is ready, then adds 1 to
   `counter`, an eventfd. */
int clinux_aio_poll(uint64_t context, int fd, uint32_t events, int counter);
/* io_getevents(2): consumes the result, which makes room for the next request; does not block. */
int clinux_aio_reap(uint64_t context);
/* io_destroy(2): cancels the request and waits until the kernel has released its descriptors. */
int clinux_aio_destroy(uint64_t context);

/* timerfd_create(2), non-blocking and closed on exec; `clock` is a clockid_t. */
int clinux_timerfd_create(int clock);
/* timerfd_settime(2) to one absolute time; `seconds` and `nanoseconds` both 0 disarm it. */
int clinux_timerfd_arm(int fd, int64_t seconds, int64_t nanoseconds, int cancel_on_set);

/* pipe2(2), non-blocking and closed on exec. */
int clinux_pipe(int ends[2]);

/* signalfd(2) for the `count` signals, non-blocking and closed on exec. */
int clinux_signalfd(const int *signals, int count);
/* The fields of one signalfd_siginfo. */
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
