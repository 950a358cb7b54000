/* HTTP transfers by libcurl's multi_socket interface: its variadic calls, and its callbacks with fixed types. One
   thread at a time; nothing blocks. See libcurl-multi(3). */
#ifndef CTRANSFERS_H
#define CTRANSFERS_H
#include <stddef.h>
#include <stdint.h>

struct ctransfers;
struct ctransfer;

/* Callbacks of a transfer; called only inside ctransfers_turn, and may call no function of this header. */
struct ctransfer_calls {
    /* Whether to connect to this address of 4 or 16 bytes, in network order. */
    int (*allow)(void *context, const uint8_t *address, size_t length);
    /* A line of a response's head, with its end; a new response begins with a status line. */
    int (*head)(void *context, const uint8_t *line, size_t length);
    /* Bytes of the body; 0 ends the transfer. */
    int (*body)(void *context, const uint8_t *bytes, size_t length);
    /* Fills in bytes of what is uploaded, from this offset; their number, 0 at its end, or -1 to end the transfer. */
    int64_t (*send)(void *context, uint64_t offset, uint8_t *bytes, size_t length);
};

struct ctransfer_order {
    void *context;
    const char *url;
    const char *agent;
    /* NULL for GET. */
    const char *method;
    /* Complete header lines, up to NULL. */
    const char *const *headers;
    /* To sign with AWS's version 4: NAME:SECRET, and "aws:amz:REGION:s3"; NULL for none. */
    const char *credentials, *signature;
    /* The number of bytes to upload; -1 for none. */
    int64_t upload;
    int64_t deadline_ms, connect_ms;
    /* 0: a redirect is an answer like any other. */
    int redirects;
};

struct ctransfer_end {
    struct ctransfer *transfer;
    void *context;
    int code;      /* see libcurl-errors(3) */
    char place[2048];   /* the final address after redirects; empty if longer */
};

struct ctransfers *ctransfers_make(void);
/* A descriptor that is readable when a turn is due; owned by `all`. */
int ctransfers_descriptor(const struct ctransfers *all);
/* Handles ready sockets, or the expired timer. */
void ctransfers_turn(struct ctransfers *all, int is_time);
/* Whether the time of the next turn has changed since the last call; in ms from now, -1 for none. */
int ctransfers_next_time(struct ctransfers *all, int64_t *ms);
/* NULL without memory or for an invalid address. */
struct ctransfer *ctransfers_begin(
    struct ctransfers *all, const struct ctransfer_order *order, const struct ctransfer_calls *calls);
/* The next ended transfer, which must be removed; 0 if there is none. */
int ctransfers_ended(struct ctransfers *all, struct ctransfer_end *end);
/* Ends a transfer in any state. */
void ctransfers_remove(struct ctransfers *all, struct ctransfer *transfer);
/* All must have been removed. */
void ctransfers_free(struct ctransfers *all);
/* The English text of a code. */
const char *ctransfers_text(int code);
#endif
