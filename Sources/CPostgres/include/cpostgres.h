/* libpq's functions, which are loaded with dlopen(3) for the first connection. They are declared here, as its interface
   is the same since version 14 (libpq.so.5), so that no header of it is needed. See the manual's chapter "libpq". */
#ifndef CPOSTGRES_H
#define CPOSTGRES_H
#include <stddef.h>
#include <stdint.h>

struct cpostgres_connection;
struct cpostgres_result;

/* What a connection string says, and what a connection uses; of PQconninfoParse and PQconninfo. */
struct cpostgres_option {
    char *_Nullable keyword, *_Nullable envvar, *_Nullable compiled, *_Nullable val;
    char *_Nullable label, *_Nullable dispchar;
    int dispsize;
};

/* What connecting waits for. */
enum {
    CPOSTGRES_POLLING_FAILED = 0, CPOSTGRES_POLLING_READING = 1, CPOSTGRES_POLLING_WRITING = 2, CPOSTGRES_POLLING_OK = 3
};
enum { CPOSTGRES_ERRORS_DEFAULT = 1, CPOSTGRES_ERRORS_VERBOSE = 2 };
enum {
    CPOSTGRES_COMMAND_OK = 1, CPOSTGRES_TUPLES_OK = 2, CPOSTGRES_FATAL_ERROR = 7,
    CPOSTGRES_SINGLE_TUPLE = 9, CPOSTGRES_PIPELINE_SYNC = 10, CPOSTGRES_PIPELINE_ABORTED = 11
};
/* Fields of an error. */
enum { CPOSTGRES_SEVERITY = 'V', CPOSTGRES_SQLSTATE = 'C', CPOSTGRES_MESSAGE = 'M', CPOSTGRES_DETAIL = 'D' };

typedef void (*cpostgres_notice)(void *_Nullable context, const struct cpostgres_result *_Nullable result);

/* Name in libpq, result, arguments. */
#define CPOSTGRES_CALLS \
    CALL(connectStartParams, struct cpostgres_connection *_Nullable, \
        (const char *_Nullable const *_Nonnull names, const char *_Nullable const *_Nonnull values, int expand)) \
    CALL(connectPoll, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(setErrorVerbosity, int, (struct cpostgres_connection *_Nonnull, int verbosity)) \
    CALL(conninfo, struct cpostgres_option *_Nullable, (struct cpostgres_connection *_Nonnull)) \
    CALL(conninfoParse, struct cpostgres_option *_Nullable, \
        (const char *_Nonnull text, char *_Nullable *_Nullable error)) \
    CALL(conninfoFree, void, (struct cpostgres_option *_Nonnull options)) \
    CALL(finish, void, (struct cpostgres_connection *_Nonnull)) \
    CALL(errorMessage, char *_Nonnull, (const struct cpostgres_connection *_Nonnull)) \
    CALL(socket, int, (const struct cpostgres_connection *_Nonnull)) \
    CALL(serverVersion, int, (const struct cpostgres_connection *_Nonnull)) \
    CALL(setnonblocking, int, (struct cpostgres_connection *_Nonnull, int on)) \
    CALL(setNoticeReceiver, cpostgres_notice _Nullable, \
        (struct cpostgres_connection *_Nonnull, cpostgres_notice _Nonnull receiver, void *_Nullable context)) \
    CALL(enterPipelineMode, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(pipelineSync, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(sendQueryParams, int, \
        (struct cpostgres_connection *_Nonnull, const char *_Nonnull sql, int count, const uint32_t *_Nullable types, \
            const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats, \
            int format)) \
    CALL(sendPrepare, int, \
        (struct cpostgres_connection *_Nonnull, const char *_Nonnull name, const char *_Nonnull sql, \
            int count, const uint32_t *_Nullable types)) \
    CALL(sendDescribePrepared, int, (struct cpostgres_connection *_Nonnull, const char *_Nonnull name)) \
    CALL(sendQueryPrepared, int, \
        (struct cpostgres_connection *_Nonnull, const char *_Nonnull name, int count, \
            const char *_Nullable const *_Nullable values, \
            const int *_Nullable lengths, const int *_Nullable formats, int format)) \
    CALL(setSingleRowMode, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(flush, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(consumeInput, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(isBusy, int, (struct cpostgres_connection *_Nonnull)) \
    CALL(getResult, struct cpostgres_result *_Nullable, (struct cpostgres_connection *_Nonnull)) \
    CALL(clear, void, (struct cpostgres_result *_Nonnull)) \
    CALL(resultStatus, int, (const struct cpostgres_result *_Nonnull)) \
    CALL(resultErrorField, char *_Nullable, (const struct cpostgres_result *_Nonnull, int field)) \
    CALL(cmdStatus, char *_Nullable, (struct cpostgres_result *_Nonnull)) \
    CALL(cmdTuples, char *_Nullable, (struct cpostgres_result *_Nonnull)) \
    CALL(nparams, int, (const struct cpostgres_result *_Nonnull)) \
    CALL(paramtype, uint32_t, (const struct cpostgres_result *_Nonnull, int number)) \
    CALL(ntuples, int, (const struct cpostgres_result *_Nonnull)) \
    CALL(nfields, int, (const struct cpostgres_result *_Nonnull)) \
    CALL(fname, char *_Nullable, (const struct cpostgres_result *_Nonnull, int column)) \
    CALL(ftype, uint32_t, (const struct cpostgres_result *_Nonnull, int column)) \
    CALL(fformat, int, (const struct cpostgres_result *_Nonnull, int column)) \
    CALL(getvalue, char *_Nullable, (const struct cpostgres_result *_Nonnull, int row, int column)) \
    CALL(getlength, int, (const struct cpostgres_result *_Nonnull, int row, int column)) \
    CALL(getisnull, int, (const struct cpostgres_result *_Nonnull, int row, int column))

struct cpostgres {
#define CALL(name, type, arguments) type (*_Nonnull name) arguments;
    CPOSTGRES_CALLS
#undef CALL
};

/* Loads `library` and finds its functions; it stays loaded. 0, and a text in `why`, if that fails. */
int cpostgres_load(
    struct cpostgres *_Nonnull calls, const char *_Nonnull library, char *_Nonnull why, size_t size);
/* How many bytes can be read from a socket now. */
int cpostgres_readable(int socket);

#endif
