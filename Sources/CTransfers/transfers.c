#define _GNU_SOURCE
#include "ctransfers.h"
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* libcurl's functions. It is loaded for the first transfer: the daemon and the commands are the same program, and start
   without it and the thirty libraries that it needs. */
#define CALLS \
    CALL(easy_cleanup) CALL(easy_getinfo) CALL(easy_init) CALL(easy_setopt) CALL(easy_strerror) \
    CALL(global_init) CALL(multi_add_handle) CALL(multi_cleanup) CALL(multi_info_read) CALL(multi_init) \
    CALL(multi_remove_handle) CALL(multi_setopt) CALL(multi_socket_action) CALL(slist_append) \
    CALL(slist_free_all)

static struct {
#define CALL(name) __typeof__(curl_##name) *name;
    CALLS
#undef CALL
} curl;

static int load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    if (!library) return 0;
#define CALL(name) \
    if (!(curl.name = (__typeof__(curl_##name) *)dlsym(library, "curl_" #name))) return 0;
    CALLS
#undef CALL
    return curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* All sockets are in one epoll set, which the monitor watches. */
struct ctransfers {
    CURLM *multi;
    int epoll;
    int is_time_new;
    int64_t time;
};

struct ctransfer {
    CURL *easy;
    struct curl_slist *headers;
    struct ctransfer_calls calls;
    void *context;
    /* Bytes that were given to libcurl to upload. */
    uint64_t sent;
};

static int watch(CURL *easy, curl_socket_t socket, int what, void *pointer, void *known) {
    struct ctransfers *all = pointer;
    struct epoll_event event = {.data.fd = socket};
    (void)easy, (void)known;
    if (what == CURL_POLL_REMOVE) {
        /* A closed socket has left the set already. */
        (void)epoll_ctl(all->epoll, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    /* The number may have been closed and reused for another socket. */
    if (epoll_ctl(all->epoll, EPOLL_CTL_MOD, socket, &event) == 0) return 0;
    return errno == ENOENT ? epoll_ctl(all->epoll, EPOLL_CTL_ADD, socket, &event) : -1;
}

static int set_time(CURLM *multi, long ms, void *pointer) {
    struct ctransfers *all = pointer;
    (void)multi;
    all->time = ms;
    all->is_time_new = 1;
    return 0;
}

static curl_socket_t open_socket(void *pointer, curlsocktype purpose, struct curl_sockaddr *to) {
    struct ctransfer *transfer = pointer;
    const uint8_t *bytes;
    size_t length;
    if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
    if (to->family == AF_INET) {
        bytes = (const uint8_t *)&((struct sockaddr_in *)&to->addr)->sin_addr;
        length = 4;
    } else if (to->family == AF_INET6) {
        bytes = (const uint8_t *)&((struct sockaddr_in6 *)&to->addr)->sin6_addr;
        length = 16;
    } else {
        return CURL_SOCKET_BAD;
    }
    if (!transfer->calls.allow(transfer->context, bytes, length)) return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static size_t take_head(char *bytes, size_t size, size_t count, void *pointer) {
    struct ctransfer *transfer = pointer;
    size_t length = size * count;
    return transfer->calls.head(transfer->context, (const uint8_t *)bytes, length) ? length : 0;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *pointer) {
    struct ctransfer *transfer = pointer;
    size_t length = size * count;
    return transfer->calls.body(transfer->context, (const uint8_t *)bytes, length) ? length : 0;
}

static size_t give_bytes(char *bytes, size_t size, size_t count, void *pointer) {
    struct ctransfer *transfer = pointer;
    int64_t length = transfer->calls.send(transfer->context, transfer->sent, (uint8_t *)bytes, size * count);
    if (length < 0) return CURL_READFUNC_ABORT;
    transfer->sent += (uint64_t)length;
    return (size_t)length;
}

/* Where a connection that was kept has been closed meanwhile, libcurl begins again. */
static int begin_again(void *pointer, curl_off_t offset, int origin) {
    struct ctransfer *transfer = pointer;
    if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
    transfer->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

struct ctransfers *ctransfers_make(void) {
    static int is_ready;
    struct ctransfers *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    if (!is_ready && !load()) goto failed;
    is_ready = 1;
    all->time = -1;
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (all->epoll < 0) goto failed;
    all->multi = curl.multi_init();
    if (!all->multi) {
        close(all->epoll);
        goto failed;
    }
    curl.multi_setopt(all->multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl.multi_setopt(all->multi, CURLMOPT_SOCKETDATA, all);
    curl.multi_setopt(all->multi, CURLMOPT_TIMERFUNCTION, set_time);
    curl.multi_setopt(all->multi, CURLMOPT_TIMERDATA, all);
    return all;
failed:
    free(all);
    return NULL;
}

int ctransfers_descriptor(const struct ctransfers *all) { return all->epoll; }

void ctransfers_turn(struct ctransfers *all, int is_time) {
    struct epoll_event events[64];
    int running, count = epoll_wait(all->epoll, events, 64, 0);
    for (int i = 0; i < count; i++) {
        int what = 0;
        if (events[i].events & EPOLLIN) what |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT) what |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
        curl.multi_socket_action(all->multi, events[i].data.fd, what, &running);
    }
    if (is_time) curl.multi_socket_action(all->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

int ctransfers_next_time(struct ctransfers *all, int64_t *ms) {
    int is_new = all->is_time_new;
    all->is_time_new = 0;
    *ms = all->time;
    return is_new;
}

static int add_line(struct ctransfer *transfer, const char *line) {
    struct curl_slist *longer = curl.slist_append(transfer->headers, line);
    if (longer) transfer->headers = longer;
    return longer != NULL;
}

struct ctransfer *ctransfers_begin(
    struct ctransfers *all, const struct ctransfer_order *order, const struct ctransfer_calls *calls) {
    struct ctransfer *transfer = calloc(1, sizeof *transfer);
    int is_secure = strncasecmp(order->url, "https:", 6) == 0, failed = 0;
    CURL *easy;
    if (!transfer) return NULL;
    transfer->calls = *calls;
    transfer->context = order->context;
    transfer->easy = easy = curl.easy_init();
    if (!easy) {
        free(transfer);
        return NULL;
    }
#define SET(option, value) failed |= curl.easy_setopt(easy, option, value) != CURLE_OK
    SET(CURLOPT_URL, order->url);
    SET(CURLOPT_PRIVATE, transfer);
    SET(CURLOPT_USERAGENT, order->agent);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    /* An encrypted transfer stays encrypted. */
    SET(CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
    SET(CURLOPT_FOLLOWLOCATION, (long)(order->redirects > 0));
    SET(CURLOPT_MAXREDIRS, (long)order->redirects);
    SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    /* Not the environment's proxy: the address that is checked would be the proxy's. */
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, transfer);
    SET(CURLOPT_HEADERFUNCTION, take_head);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_TIMEOUT_MS, (long)order->deadline_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)order->connect_ms);
    /* Otherwise removing the transfer would wait for a pending name lookup. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    if (order->method && strcmp(order->method, "HEAD") == 0) SET(CURLOPT_NOBODY, 1L);
    else if (order->method) SET(CURLOPT_CUSTOMREQUEST, order->method);
    if (order->upload >= 0) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)order->upload);
        SET(CURLOPT_READFUNCTION, give_bytes);
        SET(CURLOPT_READDATA, transfer);
        SET(CURLOPT_SEEKFUNCTION, begin_again);
        SET(CURLOPT_SEEKDATA, transfer);
    }
    if (order->signature) {
        SET(CURLOPT_AWS_SIGV4, order->signature);
        SET(CURLOPT_USERPWD, order->credentials);
    }
    for (const char *const *line = order->headers; line && *line; line++) failed |= !add_line(transfer, *line);
    if (transfer->headers) SET(CURLOPT_HTTPHEADER, transfer->headers);
#undef SET
    if (failed || curl.multi_add_handle(all->multi, easy) != CURLM_OK) {
        curl.easy_cleanup(easy);
        curl.slist_free_all(transfer->headers);
        free(transfer);
        return NULL;
    }
    return transfer;
}

int ctransfers_ended(struct ctransfers *all, struct ctransfer_end *end) {
    CURLMsg *message;
    int left;
    while ((message = curl.multi_info_read(all->multi, &left))) {
        char *pointer = NULL, *place = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        /* The message's data is freed with the transfer. */
        end->code = (int)message->data.result;
        if (curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &pointer) != CURLE_OK || !pointer) continue;
        end->transfer = (struct ctransfer *)pointer;
        end->context = end->transfer->context;
        end->place[0] = 0;
        if (curl.easy_getinfo(message->easy_handle, CURLINFO_EFFECTIVE_URL, &place) == CURLE_OK && place &&
            strlen(place) < sizeof end->place)
            strcpy(end->place, place);
        return 1;
    }
    return 0;
}

void ctransfers_remove(struct ctransfers *all, struct ctransfer *transfer) {
    curl.multi_remove_handle(all->multi, transfer->easy);
    curl.easy_cleanup(transfer->easy);
    curl.slist_free_all(transfer->headers);
    free(transfer);
}

void ctransfers_free(struct ctransfers *all) {
    curl.multi_cleanup(all->multi);
    close(all->epoll);
    free(all);
}

const char *ctransfers_text(int code) { return curl.easy_strerror((CURLcode)code); }
