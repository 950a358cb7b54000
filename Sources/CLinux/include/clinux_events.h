/* Event descriptors: pidfd and the like. */
#ifndef CLINUX_EVENTS_H
#define CLINUX_EVENTS_H
#include <stdint.h>

int clinux_pidfd_open(int32_t pid);                          /* pidfd_open(2) */
int clinux_pidfd_send_signal(int pidfd, int signal);         /* pidfd_send_signal(2) */
#endif
