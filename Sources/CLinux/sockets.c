#define _GNU_SOURCE
#include "clinux_sockets.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

int clinux_unix_stream(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

static int set_path(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

int clinux_unix_bind(int fd, const char *path) {
    struct sockaddr_un address;
    if (set_path(&address, path) < 0) return -1;
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}

int clinux_unix_connect(int fd, const char *path) {
    struct sockaddr_un address;
    if (set_path(&address, path) < 0) return -1;
    return connect(fd, (struct sockaddr *)&address, sizeof address);
}

int clinux_unix_name(int fd, char *path, uint32_t size) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    memset(&address, 0, sizeof address);
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) return -1;
    if (address.sun_family != AF_UNIX || size <= sizeof address.sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(path, address.sun_path, sizeof address.sun_path);
    path[sizeof address.sun_path] = 0;
    return 0;
}

int clinux_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int clinux_is_listening(int fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0) return -1;
    return listens != 0;
}

int clinux_peer(int fd, int32_t *process, uint32_t *user, uint32_t *group) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -1;
    *process = peer.pid;
    *user = peer.uid;
    *group = peer.gid;
    return 0;
}

int clinux_peer_groups(int fd, uint32_t *groups, uint32_t *count) {
    _Static_assert(sizeof(gid_t) == sizeof(uint32_t), "gid_t");
    socklen_t size = *count * sizeof *groups;
    int result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size);
    *count = size / sizeof *groups;
    return result;
}

int clinux_socket_patience(int fd, int64_t milliseconds) {
    struct timeval time = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) < 0) return -1;
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

int clinux_unix_message_pair(int ends[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends); }

union control {
    struct cmsghdr alignment;
    char room[CMSG_SPACE(CLINUX_MOST_DESCRIPTORS * sizeof(int))];
};

int64_t clinux_send_message(int fd, const void *bytes, uint64_t size, const int *descriptors, uint32_t count) {
    if (count > CLINUX_MOST_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    union control control;
    memset(&control, 0, sizeof control);
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

int64_t clinux_receive_message(int fd, void *bytes, uint64_t size, int *descriptors, uint32_t *count) {
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptors) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    /* With MSG_TRUNC the result is the message's full length, which shows truncation. */
    ssize_t length = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    uint32_t found = 0;
    if (length >= 0 && descriptors) {
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            found = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(descriptors, CMSG_DATA(header), found * sizeof(int));
        }
    }
    if (count) *count = found;
    return length;
}
