/* Local sockets: calls with structures that Swift's Glibc module lacks or cannot lay out. */
#ifndef CLINUX_SOCKETS_H
#define CLINUX_SOCKETS_H
#include <stdint.h>

int clinux_unix_stream(void);                              /* socket(2): AF_UNIX, SOCK_STREAM, closed on exec */
int clinux_unix_bind(int fd, const char *path);            /* bind(2); ENAMETOOLONG if `path` is too long */
int clinux_unix_connect(int fd, const char *path);         /* connect(2), likewise */
int clinux_accept(int listener);                           /* accept4(2), non-blocking and closed on exec */
int clinux_is_listening(int fd);                           /* SO_ACCEPTCONN of socket(7): 1 or 0 */
/* getsockname(2): the path that it was connected to, empty if there is none. `size` is at least 109. */
int clinux_unix_name(int fd, char *path, uint32_t size);
/* SO_PEERCRED of unix(7): the client's credentials, as of its connect(2). */
int clinux_peer(int fd, int32_t *process, uint32_t *user, uint32_t *group);
/* SO_PEERGROUPS: the client's supplementary groups; fills at most `*count`, sets it to their number, ERANGE if too
   many. */
int clinux_peer_groups(int fd, uint32_t *groups, uint32_t *count);
/* SO_RCVTIMEO and SO_SNDTIMEO of socket(7). */
int clinux_socket_patience(int fd, int64_t milliseconds);

/* Messages with descriptors: socketpair(2) of SOCK_SEQPACKET, closed on exec; sendmsg(2), without SIGPIPE; recvmsg(2),
   which returns the message's whole length even if it exceeds `size`. Without `descriptors` the kernel closes those
   that were sent. */
#define CLINUX_MOST_DESCRIPTORS 4
int clinux_unix_message_pair(int ends[2]);
int64_t clinux_send_message(int fd, const void *bytes, uint64_t size, const int *descriptors, uint32_t count);
int64_t clinux_receive_message(int fd, void *bytes, uint64_t size, int *descriptors, uint32_t *count);
#endif
