/* HTTP transfers by libcurl's multi_socket interface: what is variadic there, and its callbacks with fixed types. One
   thread at a time; nothing here waits. See libcurl-multi(3). */
#ifndef CTRANSFERS_H
#define CTRANSFERS_H
#include <stddef.h>
#include <stdint.h>

struct ctransfers;
struct ctransfer;

/* What a transfer asks and tells; called inside ctransfers_turn alone, where no other function of these may be called. */
struct ctransfer_calls {
    /* Whether to connect to these 4 or 16 bytes, in network order: the very address that is connected to. */
    int (*allow)(void *context, const uint8_t *address, size_t length);
    /* A line of a response's head, its end included; a new response begins with a status line. */
    int (*head)(void *context, const uint8_t *line, size_t length);
    /* Bytes of the body; 0 ends the transfer. */
    int (*body)(void *context, const uint8_t *bytes, size_t length);
};

struct ctransfer_order {
    void *context;
    const char *url;
    const char *agent;
    /* Whole header lines; NULL for none. */
    const char *range, *condition;
    int64_t deadline_ms, connect_ms;
    int redirects;
};

struct ctransfer_end {
    struct ctransfer *transfer;
    void *context;
    int code;      /* as libcurl-errors(3) has it */
    char place[2048];   /* where the redirects led; cut to nothing if it is longer */
};

struct ctransfers *ctransfers_make(void);
/* Readable when a turn is due; theirs. */
int ctransfers_descriptor(const struct ctransfers *all);
/* Does what is ready, or what time it is for. */
void ctransfers_turn(struct ctransfers *all, int is_time);
/* Whether the time of the next turn has changed since this was asked; in ms from now, -1 for none. */
int ctransfers_next_time(struct ctransfers *all, int64_t *ms);
/* NULL where memory is short or the address makes no sense. */
struct ctransfer *ctransfers_begin(
    struct ctransfers *all, const struct ctransfer_order *order, const struct ctransfer_calls *calls);
/* The next that has ended and is to be removed; 0 if there is none. */
int ctransfers_ended(struct ctransfers *all, struct ctransfer_end *end);
/* Ends one, whatever it does. */
void ctransfers_remove(struct ctransfers *all, struct ctransfer *transfer);
/* All must have been removed. */
void ctransfers_free(struct ctransfers *all);
/* What a code means, in English. */
const char *ctransfers_text(int code);
#endif
