/* libsystemd for Swift: the array form of the journal's sender. See sd_journal_sendv(3). */
#ifndef CSYSTEMD_SHIM_H
#define CSYSTEMD_SHIM_H
/* Without this the header's macros would add a CODE_FILE of their own to each entry, naming the C caller. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#endif
